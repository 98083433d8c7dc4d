//! Code that reductions, scans and selections share: sources, operators, axes, shapes, launches.

pub(crate) mod array_operand;
pub(crate) mod axes;
#[cfg(test)]
pub(crate) mod choices;
pub(crate) mod functions;
pub(crate) mod launch;
pub(crate) mod on_host;
pub(crate) mod operand;
pub(crate) mod operator;
pub(crate) mod samples;
pub(crate) mod shape;
pub(crate) mod source;
pub(crate) mod summable;
