//! Which loop computes a step: the one table of operations by element types.

use std::ops::{BitAnd, BitOr, BitXor, Not};

use half::{bf16, f16};
use num_traits::Float;

use super::{
    frame::Frame,
    lane::{Lane, by_type},
    location::Location,
    loops,
    scalar::{self, Arithmetic, CastTo, ComplexScalar, Integral, SpecialScalar, functions},
};
use crate::{
    DType,
    element::{Half, ToOdd, c64, c128},
    expression::graph::{Op, Step},
};

impl Frame<'_, '_, '_, '_> {
    /// Computes a step for the chunk and writes its values; none where there is no such operation for its operands.
    pub(super) fn run(&mut self, step: Step, to: Location) -> Option<()> {
        match step.op {
            Op::Leaf => by_type!(step.dtype, T => self.read::<T>(step, to)),
            Op::Scalar => None,
            Op::Index => self.index(step, to),
            Op::Copy => by_type!(step.dtype, T => self.unary(step, to, |x: T| x)),
            Op::Cast => self.any_cast(step, to),
            Op::Select => by_type!(step.dtype, T => self.select::<T>(step, to)),
            Op::Gather => by_type!(step.dtype, T => self.gather::<T>(step, to)),
            Op::Source => by_type!(step.dtype, T => self.source::<T>(step, to)),
            Op::Wrap => self.binary_slow(step, to, scalar::wrap),
            Op::Clip => self.binary(step, to, scalar::clip),
            Op::Inside => self.binary(step, to, scalar::inside),
            _ => self.compute(step, to),
        }
    }

    /// Computes a step whose operands have one type.
    fn compute(&mut self, step: Step, to: Location) -> Option<()> {
        match self.dtype(step)? {
            DType::Bool => self.bits::<bool>(step, to),
            DType::I8 => self.integer::<i8>(step, to),
            DType::I16 => self.integer::<i16>(step, to),
            DType::I32 => self.integer::<i32>(step, to),
            DType::I64 => self.integer::<i64>(step, to),
            DType::U8 => self.integer::<u8>(step, to),
            DType::U16 => self.integer::<u16>(step, to),
            DType::U32 => self.integer::<u32>(step, to),
            DType::U64 => self.integer::<u64>(step, to),
            DType::F16 => self.half::<f16>(step, to),
            DType::BF16 => self.half::<bf16>(step, to),
            DType::F32 => self.float::<f32>(step, to),
            DType::F64 => self.float::<f64>(step, to),
            DType::C64 => self.complex::<c64>(step, to),
            DType::C128 => self.complex::<c128>(step, to),
        }
    }

    /// The type of the first operand.
    fn dtype(&self, step: Step) -> Option<DType> {
        Some(self.located.code.steps.get(step.args[0] as usize)?.dtype)
    }

    fn float<T: SpecialScalar + Lane>(&mut self, step: Step, to: Location) -> Option<()> {
        match step.op {
            Op::Add => self.sum(step, to, <T as Arithmetic>::add),
            Op::Subtract => self.sum(step, to, <T as Arithmetic>::subtract),
            Op::Divide => self.binary(step, to, T::divide),
            Op::Complex => self.binary(step, to, T::complex),
            Op::Fma => self.ternary(step, to, <T as Float>::mul_add),
            Op::IsNan => self.unary(step, to, <T as Float>::is_nan),
            Op::IsFinite => self.unary(step, to, <T as Float>::is_finite),
            Op::Floor => self.unary(step, to, <T as Float>::floor),
            Op::Ceil => self.unary(step, to, <T as Float>::ceil),
            Op::Round => self.unary(step, to, T::round_even),
            Op::Truncate => self.unary(step, to, <T as Float>::trunc),
            Op::Sqrt => self.unary(step, to, <T as Float>::sqrt),
            Op::Exp => self.unary(step, to, <T as Float>::exp),
            Op::Exp2 => self.unary(step, to, <T as Float>::exp2),
            Op::Expm1 => self.unary(step, to, <T as Float>::exp_m1),
            Op::Log => self.unary(step, to, <T as Float>::ln),
            Op::Log2 => self.unary(step, to, <T as Float>::log2),
            Op::Log10 => self.unary(step, to, <T as Float>::log10),
            Op::Log1p => self.unary(step, to, <T as Float>::ln_1p),
            Op::Sin => self.unary(step, to, <T as Float>::sin),
            Op::Cos => self.unary(step, to, <T as Float>::cos),
            Op::Tan => self.unary(step, to, <T as Float>::tan),
            Op::Asin => self.unary(step, to, <T as Float>::asin),
            Op::Acos => self.unary(step, to, <T as Float>::acos),
            Op::Atan => self.unary(step, to, <T as Float>::atan),
            Op::Sinh => self.unary(step, to, <T as Float>::sinh),
            Op::Cosh => self.unary(step, to, <T as Float>::cosh),
            Op::Tanh => self.unary(step, to, <T as Float>::tanh),
            Op::Cbrt => self.unary(step, to, <T as Float>::cbrt),
            Op::Atan2 => self.binary_slow(step, to, <T as Float>::atan2),
            Op::Hypot => self.binary_slow(step, to, <T as Float>::hypot),
            _ => self.special::<T>(step, to),
        }
    }

    fn special<T: SpecialScalar + Lane>(&mut self, step: Step, to: Location) -> Option<()> {
        match step.op {
            Op::Asinh => self.unary(step, to, <T as SpecialScalar>::asinh),
            Op::Acosh => self.unary(step, to, <T as SpecialScalar>::acosh),
            Op::Atanh => self.unary(step, to, <T as SpecialScalar>::atanh),
            Op::Erf => self.unary(step, to, T::erf),
            Op::Erfc => self.unary(step, to, T::erfc),
            Op::LogGamma => self.unary(step, to, T::log_gamma),
            Op::Gamma => self.unary(step, to, T::gamma),
            Op::J0 => self.unary(step, to, T::j0),
            Op::J1 => self.unary(step, to, T::j1),
            Op::Y0 => self.unary(step, to, T::y0),
            Op::Y1 => self.unary(step, to, T::y1),
            Op::Jn => self.binary_slow(step, to, T::jn),
            Op::Yn => self.binary_slow(step, to, T::yn),
            Op::Mantissa => self.unary(step, to, T::mantissa),
            Op::Exponent => self.unary(step, to, T::exponent),
            Op::Fraction => self.unary(step, to, T::fraction),
            Op::Ldexp => self.binary_slow(step, to, T::ldexp),
            Op::CopySign => self.binary(step, to, <T as Float>::copysign),
            Op::NextAfter => self.binary_slow(step, to, T::next_after),
            _ => self.number::<T>(step, to),
        }
    }

    fn complex<T: ComplexScalar>(&mut self, step: Step, to: Location) -> Option<()> {
        match step.op {
            Op::Real => self.unary(step, to, |x: T| x.part(false)),
            Op::Imag => self.unary(step, to, |x: T| x.part(true)),
            Op::Absolute => self.unary(step, to, |x: T| x.part(false).hypot(x.part(true))),
            Op::Arg => self.unary(step, to, |x: T| x.part(true).atan2(x.part(false))),
            Op::IsNan => self.unary(step, to, |x: T| x.part(false).is_nan() || x.part(true).is_nan()),
            Op::IsFinite => self.unary(step, to, |x: T| x.part(false).is_finite() && x.part(true).is_finite()),
            Op::Conj => self.unary(step, to, T::conj),
            Op::Negate => self.unary(step, to, T::negate),
            Op::Add => self.binary(step, to, T::add),
            Op::Subtract => self.binary(step, to, T::subtract),
            Op::Multiply => self.binary(step, to, T::multiply),
            Op::Divide => self.binary(step, to, T::divide),
            Op::Power => self.binary_slow(step, to, T::power),
            _ => self.complex_function::<T>(step, to),
        }
    }

    fn complex_function<T: ComplexScalar>(&mut self, step: Step, to: Location) -> Option<()> {
        match step.op {
            Op::Sqrt => self.unary(step, to, |z: T| z.apply(functions::sqrt)),
            Op::Exp => self.unary(step, to, |z: T| z.apply(functions::exp)),
            Op::Log => self.unary(step, to, |z: T| z.apply(functions::log)),
            Op::Log10 => self.unary(step, to, |z: T| z.apply(functions::log10)),
            Op::Sin => self.unary(step, to, |z: T| z.apply(functions::sin)),
            Op::Cos => self.unary(step, to, |z: T| z.apply(functions::cos)),
            Op::Tan => self.unary(step, to, |z: T| z.apply(functions::tan)),
            Op::Asin => self.unary(step, to, |z: T| z.apply(functions::asin)),
            Op::Acos => self.unary(step, to, |z: T| z.apply(functions::acos)),
            Op::Atan => self.unary(step, to, |z: T| z.apply(functions::atan)),
            Op::Sinh => self.unary(step, to, |z: T| z.apply(functions::sinh)),
            Op::Cosh => self.unary(step, to, |z: T| z.apply(functions::cosh)),
            Op::Tanh => self.unary(step, to, |z: T| z.apply(functions::tanh)),
            Op::Asinh => self.unary(step, to, |z: T| z.apply(functions::asinh)),
            Op::Acosh => self.unary(step, to, |z: T| z.apply(functions::acosh)),
            Op::Atanh => self.unary(step, to, |z: T| z.apply(functions::atanh)),
            _ => self.equality::<T>(step, to),
        }
    }

    fn integer<T>(&mut self, step: Step, to: Location) -> Option<()>
    where
        T: Integral + BitAnd<Output = T> + BitOr<Output = T> + BitXor<Output = T> + Not<Output = T>,
    {
        match step.op {
            Op::And | Op::Or | Op::Xor | Op::Not => self.bits::<T>(step, to),
            Op::ShiftLeft => self.binary(step, to, T::shift_left),
            Op::ShiftRight => self.binary(step, to, T::shift_right),
            _ => self.number::<T>(step, to),
        }
    }

    fn number<T: Arithmetic>(&mut self, step: Step, to: Location) -> Option<()> {
        match step.op {
            Op::Negate => self.unary(step, to, T::negate),
            Op::Absolute => self.unary(step, to, T::absolute),
            Op::Sign => self.unary(step, to, T::sign),
            Op::Add => self.binary(step, to, T::add),
            Op::Subtract => self.binary(step, to, T::subtract),
            Op::Multiply => self.binary(step, to, T::multiply),
            Op::FloorDivide => self.binary_slow(step, to, T::floor_divide),
            Op::Remainder => self.binary_slow(step, to, T::remainder),
            Op::Fmod => self.binary_slow(step, to, T::fmod),
            Op::Power => self.binary_slow(step, to, T::power),
            _ => self.order::<T>(step, to),
        }
    }

    fn bits<T>(&mut self, step: Step, to: Location) -> Option<()>
    where
        T: Lane + PartialOrd + BitAnd<Output = T> + BitOr<Output = T> + BitXor<Output = T> + Not<Output = T>,
    {
        match step.op {
            Op::And => self.binary(step, to, T::bitand),
            Op::Or => self.binary(step, to, T::bitor),
            Op::Xor => self.binary(step, to, T::bitxor),
            Op::Not => self.unary(step, to, T::not),
            _ => self.order::<T>(step, to),
        }
    }

    fn order<T: Lane + PartialOrd>(&mut self, step: Step, to: Location) -> Option<()> {
        match step.op {
            Op::Minimum => self.binary(step, to, scalar::minimum::<T>),
            Op::Maximum => self.binary(step, to, scalar::maximum::<T>),
            Op::Fmin => self.binary(step, to, scalar::fmin::<T>),
            Op::Fmax => self.binary(step, to, scalar::fmax::<T>),
            Op::Less => self.binary(step, to, |a: T, b: T| a < b),
            Op::LessEqual => self.binary(step, to, |a: T, b: T| a <= b),
            Op::Greater => self.binary(step, to, |a: T, b: T| a > b),
            Op::GreaterEqual => self.binary(step, to, |a: T, b: T| a >= b),
            _ => self.equality::<T>(step, to),
        }
    }

    fn equality<T: Lane>(&mut self, step: Step, to: Location) -> Option<()> {
        match step.op {
            Op::Equal => self.binary(step, to, |a: T, b: T| a == b),
            Op::NotEqual => self.binary(step, to, |a: T, b: T| a != b),
            _ => None,
        }
    }

    /// The operations of numbers of 16 bits that are not those of f32.
    fn half<T: Half + Lane>(&mut self, step: Step, to: Location) -> Option<()> {
        match step.op {
            Op::NextAfter => self.binary_slow(step, to, T::next_after),
            _ => None,
        }
    }

    fn any_cast(&mut self, step: Step, to: Location) -> Option<()> {
        match (self.dtype(step)?, step.dtype) {
            (DType::F16, _) => self.unary(step, to, f16::widened),
            (DType::BF16, _) => self.unary(step, to, bf16::widened),
            (_, DType::F16) => self.narrow::<f16>(step, to),
            (_, DType::BF16) => self.narrow::<bf16>(step, to),
            (from, _) => by_type!(@wide from, T => self.cast::<T>(step, to), None),
        }
    }

    fn narrow<H: Half + Lane>(&mut self, step: Step, to: Location) -> Option<()> {
        match self.dtype(step)? {
            DType::F32 => self.unary(step, to, H::narrowed),
            DType::F64 => self.unary(step, to, |x: f64| H::narrowed(x.to_odd())),
            DType::I32 => self.unary(step, to, |x: i32| H::narrowed(x.to_odd())),
            DType::I64 => self.unary(step, to, |x: i64| H::narrowed(x.to_odd())),
            DType::U32 => self.unary(step, to, |x: u32| H::narrowed(x.to_odd())),
            DType::U64 => self.unary(step, to, |x: u64| H::narrowed(x.to_odd())),
            _ => None,
        }
    }

    fn cast<T>(&mut self, step: Step, to: Location) -> Option<()>
    where
        T: Lane + CastTo<bool> + CastTo<i8> + CastTo<i16> + CastTo<i32> + CastTo<i64>,
        T: CastTo<u8>
            + CastTo<u16>
            + CastTo<u32>
            + CastTo<u64>
            + CastTo<f32>
            + CastTo<f64>
            + CastTo<c64>
            + CastTo<c128>,
    {
        by_type!(@wide step.dtype, U => self.unary(step, to, <T as CastTo<U>>::cast), None)
    }

    fn select<T: Lane>(&mut self, step: Step, to: Location) -> Option<()> {
        let [condition, a, b] = step.args;
        self.write(step, to, |frame, out: &mut [T]| {
            loops::select(frame.value(condition)?, frame.value(a)?, frame.value(b)?, out);
            Some(())
        })
    }

    fn read<T: Lane>(&mut self, step: Step, to: Location) -> Option<()> {
        self.write(step, to, |frame, out: &mut [T]| frame.read_leaf(step.args[0], out))
    }

    fn index(&mut self, step: Step, to: Location) -> Option<()> {
        self.write(step, to, |frame, out: &mut [i64]| {
            frame.located.rows.get(step.args[0] as usize)?.for_each(
                frame.start,
                out.len(),
                |places, offset, stride| {
                    for (i, out) in out[places].iter_mut().enumerate() {
                        *out = offset.wrapping_add(stride.wrapping_mul(i as isize)) as i64;
                    }
                },
            );
            Some(())
        })
    }

    fn gather<T: Lane>(&mut self, step: Step, to: Location) -> Option<()> {
        let [table, offset, inside] = step.args;
        self.write(step, to, |frame, out: &mut [T]| {
            let (offsets, inside) = (frame.value::<i64>(offset)?, frame.value::<bool>(inside)?);
            let read = frame.table::<T>(table)?;
            for (i, out) in out.iter_mut().enumerate() {
                *out = if inside.at(i) { read(offsets.at(i)).unwrap_or_default() } else { T::default() };
            }
            Some(())
        })
    }

    fn source<T: Lane>(&mut self, step: Step, to: Location) -> Option<()> {
        self.write(step, to, |frame, out: &mut [T]| {
            let source = frame.located.code.sources.get(step.args[0] as usize)?;
            if source.dtype() != T::DTYPE {
                return None;
            }
            match frame.value::<i64>(step.args[1])? {
                loops::LoopOperand::Each(places) => source.fill(places, T::host_slice_mut(out)),
                loops::LoopOperand::Same(place) => source.fill(&vec![place; out.len()], T::host_slice_mut(out)),
            }
            Some(())
        })
    }

    /// Writes an earlier step's values once more.
    pub(super) fn copy(&mut self, i: u32, to: Location) -> Option<()> {
        let step = *self.located.code.steps.get(i as usize)?;
        by_type!(step.dtype, T => self.write(step, to, |frame, out: &mut [T]| {
            frame.value(i)?.copy_to(out);
            Some(())
        }))
    }
}
