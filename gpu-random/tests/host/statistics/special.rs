//! The functions that turn statistics into probabilities.

use std::f64::consts::{PI, TAU};

/// ln Gamma(x) for x > 0, by Stirling's series from 10 on.
pub fn ln_gamma(mut x: f64) -> f64 {
    let mut shift = 0.0;
    while x < 10.0 {
        shift -= x.ln();
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series = (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0))) / x;
    shift + (x - 0.5) * x.ln() - x + 0.5 * TAU.ln() + series
}

/// The probability that a chi-square variable of so many degrees of freedom is at least `x`: the upper incomplete gamma function Q(k / 2, x / 2),
/// by its series below the mean and by its continued fraction above.
pub fn chi_square_above(x: f64, degrees: f64) -> f64 {
    let (a, x) = (degrees / 2.0, x / 2.0);
    if x <= 0.0 {
        return 1.0;
    }
    let factor = (a * x.ln() - x - ln_gamma(a)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum, mut n) = (1.0 / a, 1.0 / a, a);
        while term > sum * 1e-17 {
            n += 1.0;
            term *= x / n;
            sum += term;
        }
        return (1.0 - factor * sum).clamp(0.0, 1.0);
    }
    // Lentz's method.
    let mut b = x + 1.0 - a;
    let (mut c, mut d) = (1e300, 1.0 / b);
    let mut fraction = d;
    for i in 1..100_000 {
        let i = f64::from(i);
        let an = -i * (i - a);
        b += 2.0;
        d = 1.0 / (an * d + b);
        c = b + an / c;
        fraction *= d * c;
        if (d * c - 1.0).abs() < 1e-15 {
            break;
        }
    }
    (factor * fraction).clamp(0.0, 1.0)
}

/// The probability that a standard normal variable is at most `x`.
pub fn normal_below(x: f64) -> f64 {
    let half = 0.5 * chi_square_above(x * x, 1.0);
    if x < 0.0 { half } else { 1.0 - half }
}

/// The probability that a standard normal variable is at least that far from 0.
pub fn beyond(z: f64) -> f64 {
    chi_square_above(z * z, 1.0)
}

/// Kolmogorov's distribution: the probability that the greatest distance of an empirical distribution of `n` values is at least `distance`.
pub fn kolmogorov_above(distance: f64, n: f64) -> f64 {
    // Stephens' correction of the limit.
    let x = distance * (n.sqrt() + 0.12 + 0.11 / n.sqrt());
    if x < 1.0 {
        // The other form of the theta function, which converges for small x.
        let terms = (1..20).map(|k| (-(f64::from(2 * k - 1) * PI).powi(2) / (8.0 * x * x)).exp());
        return (1.0 - TAU.sqrt() / x * terms.sum::<f64>()).clamp(0.0, 1.0);
    }
    let terms = (1..20).map(|k| (if k % 2 == 1 { 2.0 } else { -2.0 }) * (-2.0 * (f64::from(k) * x).powi(2)).exp());
    terms.sum::<f64>().clamp(0.0, 1.0)
}

#[test]
fn known_probabilities() {
    let near = |got: f64, want: f64| assert!((got - want).abs() < 1e-6, "{got}, {want}");
    near(chi_square_above(3.841_458_8, 1.0), 0.05);
    near(chi_square_above(293.247_8, 255.0), 0.05);
    near(chi_square_above(0.454_936_4, 1.0), 0.5);
    near(chi_square_above(13.815_51, 2.0), 0.001);
    near(normal_below(1.644_853_6), 0.95);
    near(normal_below(-1.0), 0.158_655_25);
    near(beyond(1.959_964), 0.05);
    near(ln_gamma(0.5), PI.sqrt().ln());
    // The limit's 5 % and 50 % points.
    let n = 1e12_f64;
    near(kolmogorov_above(1.358_099 / n.sqrt(), n), 0.05);
    near(kolmogorov_above(0.827_574 / n.sqrt(), n), 0.5);
}
