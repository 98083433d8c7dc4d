//! Many expressions in one program, compiled ahead.

use gpu_driver::Stream;

use super::{Key, axes::Axes, check, key, plan, policy::Policy, text::Text};
use crate::{
    Result,
    expression::{Code, Strides},
};

/// Compiles the kernels of many values at once, so that evaluating them later compiles nothing.
pub(crate) fn compile_together(codes: &[(Code<'_>, Strides)], stream: &Stream) -> Result<()> {
    let device = stream.device();
    let (mut text, mut keys) = (Text::new(), Vec::<Key>::new());
    for (code, strides) in codes {
        let Some(mut axes) = Axes::of(code, strides, 0) else { continue };
        check(code, stream)?;
        let which = plan::choose(code, &mut axes);
        let key = key(code, which);
        if keys.contains(&key) || device.has_generated_kernel(&key) {
            continue;
        }
        text.add(code, which, &Policy::of(device.arch(), which, code));
        keys.push(key);
    }
    let keys: Vec<&[u64]> = keys.iter().map(|key| key.as_slice()).collect();
    Ok(device.generate_kernels(&keys, &text.program())?)
}
