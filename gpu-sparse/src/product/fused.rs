//! Fused multiply-adds by the processor's own instructions, where it has them.
#![expect(unsafe_code, reason = "one call of code that is compiled for more than the least processor")]

/// Work that consists of fused multiply-adds. `run` is to be `#[inline(always)]`, and so are the functions it calls for them.
pub(super) trait Work {
    type Output;
    fn run(self) -> Self::Output;
}

/// Runs the work. The least processor of x86-64 has no fused multiply-add, so that each is a call of a function; and where another crate
/// brings one of its own, which does not ask for the processor's instruction either, it takes some 60 ns. The bits are the same.
pub(super) fn fused<W: Work>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma")]
        fn by_instruction<W: Work>(work: W) -> W::Output {
            work.run()
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has the instructions that the function is compiled for.
            return unsafe { by_instruction(work) };
        }
    }
    work.run()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Polynomial(f64);

    impl Work for Polynomial {
        type Output = f64;
        #[inline(always)]
        fn run(self) -> f64 {
            (1..40).fold(1.0, |sum, k| self.0.mul_add(sum, 1.0 / f64::from(k)))
        }
    }

    #[test]
    fn instructions_have_the_bits_of_the_function() {
        for k in 0..1000 {
            let x = f64::from(k) / 501.7 - 1.0;
            assert_eq!(fused(Polynomial(x)).to_bits(), Polynomial(x).run().to_bits(), "{x}");
        }
        assert!(fused(Polynomial(f64::NAN)).is_nan());
    }
}
