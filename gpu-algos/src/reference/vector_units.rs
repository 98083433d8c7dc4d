//! Loops compiled twice: for any processor, and for the wider vector units of most.
#![expect(unsafe_code, reason = "a function compiled for AVX2 is called where the processor was seen to have it")]

/// What `work` gives, compiled for AVX2 where the processor has it. Only what is inlined into `work` gains.
///
/// The bits are the same: no operation is added, left out or fused.
#[inline]
pub(super) fn with_vectors<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2; there is no other condition.
        return unsafe { for_avx2(work) };
    }
    work()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn for_avx2<R>(work: impl FnOnce() -> R) -> R {
    work()
}
