//! Loops compiled twice: for any processor, and for the wider vector units of most.

/// The value of the block, compiled for AVX2 where the processor has it. Only code that is inlined into the block gains, so loops are written out and
/// the functions that they call are `inline(always)`. The bits are the same: no operation is added, left out or fused.
macro_rules! with_vectors {
    (<$G:ident: [$($bound:tt)+] $(, const $C:ident: $Const:ty)*>($($argument:ident: $Type:ty),*) -> $R:ty $body:block) => {{
        #[inline(always)]
        fn anywhere<$G: $($bound)+ $(, const $C: $Const)*>($($argument: $Type),*) -> $R $body

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2")]
        fn with_avx2<$G: $($bound)+ $(, const $C: $Const)*>($($argument: $Type),*) -> $R {
            anywhere::<$G $(, $C)*>($($argument),*)
        }

        #[inline(never)]
        #[expect(unsafe_code, reason = "a function for AVX2 is called where the processor was seen to have it")]
        fn wherever_it_is<$G: $($bound)+ $(, const $C: $Const)*>($($argument: $Type),*) -> $R {
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has AVX2; there is no other condition.
                return unsafe { with_avx2::<$G $(, $C)*>($($argument),*) };
            }
            anywhere::<$G $(, $C)*>($($argument),*)
        }
        wherever_it_is::<$G $(, $C)*>($($argument),*)
    }};
}
pub(crate) use with_vectors;
