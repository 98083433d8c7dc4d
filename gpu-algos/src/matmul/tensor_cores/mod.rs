//! Products on tensor cores: of f16 and bf16, of integers of 8 bits, and of f32 in TF32 or emulated by bf16 ([`Precision`](super::Precision)).
//!
//! `plan.rs` decides whether a product is computed so, and which operands are copied first: those that no tensor map describes (for `matmul_mma`:
//! whose rows are no whole chunks of 16 bytes), and all whose elements are split into parts (`device/matmul_split.cuh`).
//! `device/matmul_warpgroup.cuh` multiplies on Hopper, `device/matmul_mma.cuh` on other architectures from 8.0 on. All run on the
//! emulated device too, where each thread copies and multiplies by itself.

mod launch;
mod operand;
mod params;
mod plan;
mod policy;
pub(super) mod samples;

pub(super) use launch::{BOX_STAGES, run};
pub(super) use operand::{BoxOrder, FactorLayout, MappedOperand};
pub(super) use params::PARAMS;
pub(super) use plan::HOPPER;
#[cfg(test)]
pub(super) use plan::described;
pub(super) use policy::{Products, copy_time};
