//! Variances.

use std::marker::PhantomData;

use super::{
    operand::Operand,
    operator::{Operator, Places, RUN, sum_of},
};

/// `n`, the mean, and the sum of the squared distances from it.
///
/// Sources: B. P. Welford, Technometrics 4 (1962) 419, for one value; T. F. Chan, G. H. Golub, R. J. LeVeque, The American Statistician 37 (1983)
/// 242, for two sets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    /// Of values.
    pub count: f64,
    /// Of the values.
    pub mean: f64,
    /// `sum (x - mean)^2`.
    pub squares: f64,
}

/// The mean of two where the later one has that share: of infinities, and of what lies so far apart that the distance is infinite, too.
#[inline(always)]
fn mean_of(earlier: f64, later: f64, distance: f64, share: f64) -> f64 {
    if distance.is_finite() { earlier + distance * share } else { earlier * (1.0 - share) + later * share }
}

impl Moments {
    #[inline(always)]
    fn with(self, value: f64) -> Self {
        let count = self.count + 1.0;
        let distance = value - self.mean;
        let mean = mean_of(self.mean, value, distance, 1.0 / count);
        Self { count, mean, squares: self.squares + distance * (value - mean) }
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        if self.count == 0.0 || other.count == 0.0 {
            return if self.count == 0.0 { other } else { self };
        }
        let count = self.count + other.count;
        let share = other.count / count;
        let distance = other.mean - self.mean;
        Self {
            count,
            mean: mean_of(self.mean, other.mean, distance, share),
            squares: self.squares + other.squares + distance * distance * self.count * share,
        }
    }

    /// Of a run that is short enough to be read twice.
    #[inline(always)]
    fn of<T: Operand>(run: &[T]) -> Self {
        let count = run.len() as f64;
        let mean = sum_of(run, |x: T| x.to_f64()) / count;
        Self { count, mean, squares: sum_of(run, |x| (x.to_f64() - mean) * (x.to_f64() - mean)) }
    }

    #[inline(always)]
    fn and_run<T: Operand>(self, values: &[T]) -> Self {
        let mut moments = self;
        for run in values.chunks(RUN) {
            moments = moments.and(Self::of(run));
        }
        moments
    }

    fn variance(self, ddof: u64) -> f64 {
        let freedom = self.count - ddof as f64;
        if freedom > 0.0 { self.squares / freedom } else { f64::NAN }
    }
}

macro_rules! spreads {
    ($($(#[$doc:meta])* $Name:ident -> $Output:ty, $name:literal, |$moments:ident, $ddof:ident| $finish:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $Name<T> {
            /// What is taken from `n` in the divisor.
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

        impl<T: Operand> Operator for $Name<T> {
            type Value = T;
            type State = Moments;
            type Output = $Output;
            const NAME: &'static str = $name;
            const COMMUTATIVE: bool = true;
            #[inline(always)]
            fn neutral(&self) -> Moments {
                Moments::default()
            }
            #[inline(always)]
            fn take(&self, state: Moments, value: T, _: i64) -> Moments {
                state.with(value.to_f64())
            }
            #[inline(always)]
            fn join(&self, earlier: Moments, later: Moments) -> Moments {
                earlier.and(later)
            }
            fn finish(&self, $moments: Moments, _: u64) -> Option<$Output> {
                let $ddof = self.ddof;
                Some($finish)
            }
            #[inline(always)]
            fn take_run(&self, state: Moments, values: &[T], _: Places) -> Moments {
                state.and_run(values)
            }
        }
    )*};
}
spreads! {
    /// `sum (x - mean)^2 / (n - ddof)`; NaN where `n <= ddof`. In f64 and in one pass over memory, without the cancellation of
    /// `sum x^2 - n mean^2`. f32 gives f32, all other types f64.
    Variance -> T::Real, "variance", |moments, ddof| T::real(moments.variance(ddof));
    /// The root of the [`Variance`].
    StandardDeviation -> T::Real, "standard deviation", |moments, ddof| T::real(moments.variance(ddof).sqrt());
    /// The mean (NaN of no values) and the [`Variance`], in one pass over memory.
    MeanVariance -> (T::Real, T::Real), "mean and variance", |moments, ddof| {
        let mean = if moments.count > 0.0 { moments.mean } else { f64::NAN };
        (T::real(mean), T::real(moments.variance(ddof)))
    };
}
