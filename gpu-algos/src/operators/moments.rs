//! Variances, and their state for each kind of values.

use std::marker::PhantomData;

use gpu_array::Complex;

use super::{
    moments_state::{Moments, PartMoments},
    operand::{MomentsOf, Operand, Summand},
    operator::{Operator, Places, RUN},
};

impl<T: Operand<MeanAccumulator = f64>> MomentsOf<T> for Moments {
    #[inline(always)]
    fn with(self, value: T) -> Self {
        self.with(value.to_f64())
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        self.and(other)
    }
    #[inline(always)]
    fn of(run: &[T]) -> Self {
        Self::of_parts(run, T::to_f64)
    }
    fn mean(self) -> f64 {
        self.mean()
    }
    fn variance(self, ddof: u64) -> f64 {
        self.variance(ddof)
    }
}

impl<T: Summand<MeanAccumulator = Complex<f64>>> MomentsOf<T> for PartMoments {
    #[inline(always)]
    fn with(self, value: T) -> Self {
        let Complex { re, im } = value.of_mean();
        Self { re: self.re.with(re), im: self.im.with(im) }
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        Self { re: self.re.and(other.re), im: self.im.and(other.im) }
    }
    #[inline(always)]
    fn of(run: &[T]) -> Self {
        let (re, im) = (Moments::of_parts(run, |x| x.of_mean().re), Moments::of_parts(run, |x| x.of_mean().im));
        Self { re, im }
    }
    fn mean(self) -> Complex<f64> {
        Complex { re: self.re.mean(), im: self.im.mean() }
    }
    fn variance(self, ddof: u64) -> f64 {
        let squares = self.re.squares + self.im.squares;
        Moments { squares, ..self.re }.variance(ddof)
    }
}

macro_rules! spreads {
    ($($(#[$doc:meta])* $Name:ident -> $Output:ty, $name:literal, |$moments:ident, $ddof:ident| $finish:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $Name<T> {
            /// The number that is taken from `n` in the divisor.
            pub ddof: u64,
            element: PhantomData<fn() -> T>,
        }

        impl<T> $Name<T> {
            /// With the divisor `n - ddof`.
            pub const fn new(ddof: u64) -> Self {
                Self { ddof, element: PhantomData }
            }
        }
        impl<T> Clone for $Name<T> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T> Copy for $Name<T> {}

        impl<T: Summand> Operator for $Name<T> {
            type Value = T;
            type State = T::Moments;
            type Output = $Output;
            const NAME: &'static str = $name;
            const COMMUTATIVE: bool = true;
            #[inline(always)]
            fn identity(&self) -> T::Moments {
                T::Moments::default()
            }
            #[inline(always)]
            fn take(&self, state: T::Moments, value: T, _: i64) -> T::Moments {
                state.with(value)
            }
            #[inline(always)]
            fn combine(&self, earlier: T::Moments, later: T::Moments) -> T::Moments {
                earlier.and(later)
            }
            fn finalize(&self, $moments: T::Moments, _: u64) -> Option<$Output> {
                let $ddof = self.ddof;
                Some($finish)
            }
            #[inline(always)]
            fn take_run(&self, state: T::Moments, values: &[T], _: Places) -> T::Moments {
                values.chunks(RUN).fold(state, |moments, run| moments.and(T::Moments::of(run)))
            }
        }
    )*};
}
spreads! {
    /// `sum |x - mean|^2 / (n - ddof)`; NaN where `n <= ddof`, or where a value is not finite; infinite where a square of a distance is. In f64 and
    /// in one pass over memory, around values of the array, so that nothing cancels: the relative error is that of rounding, some `sqrt(n)` times
    /// 1e-16, wherever the values lie. A float gives its own type, a complex number that of its parts, all other types f64.
    Variance -> T::Real, "variance", |moments, ddof| T::real(moments.variance(ddof));
    /// The root of the [`Variance`].
    StandardDeviation -> T::Real, "standard deviation", |moments, ddof| T::real(moments.variance(ddof).sqrt());
    /// The mean (NaN of no values; NumPy's infinity or NaN where values are not finite) and the [`Variance`], in one pass over memory. The error of
    /// the mean is about 1e-15 times the greatest absolute value.
    MeanVariance -> (T::Mean, T::Real), "mean and variance", |moments, ddof| {
        (T::mean(moments.mean(), 1), T::real(moments.variance(ddof)))
    };
}
