//! Jumps: the step of XORWOW's five words is a linear map `A` over GF(2), and `A^n v` is `p(A) v` for `p = x^n mod P`.

/// Words of the linear part.
pub(crate) type Words = [u32; 5];

/// The linear part of one step.
#[inline(always)]
pub(crate) const fn step([v0, v1, v2, v3, v4]: Words) -> Words {
    let t = v0 ^ (v0 >> 2);
    [v1, v2, v3, v4, (v4 ^ (v4 << 4)) ^ (t ^ (t << 1))]
}

/// A polynomial over GF(2) of degree below 160, modulo the characteristic polynomial `P` of the step; bit `k` is the coefficient of `x^k`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Polynomial([u64; 3]);

/// `P` without its leading term `x^160`, by Berlekamp and Massey from the outputs' lowest bits.
const REDUCTION: [u64; 3] = [0x0861_0030_0006_0001, 0x0f3c_0035_0006_2121, 0x0000_0000_0000_0f0e];
const LEADING: u64 = 1 << 32;

impl Polynomial {
    pub(crate) const ONE: Self = Self([1, 0, 0]);
    const X: Self = Self([2, 0, 0]);

    /// `x^-1 = (P - 1) / x`, since the constant term of `P` is 1.
    const INVERSE: Self = {
        let [low, middle, high] = REDUCTION;
        let high = high | LEADING;
        Self([low >> 1 | middle << 63, middle >> 1 | high << 63, high >> 1])
    };

    /// Times `x`.
    const fn shifted(self) -> Self {
        let [low, middle, high] = self.0;
        let next = [low << 1, middle << 1 | low >> 63, high << 1 | middle >> 63];
        let carry = ((next[2] >> 32) & 1).wrapping_neg();
        Self([
            next[0] ^ (REDUCTION[0] & carry),
            next[1] ^ (REDUCTION[1] & carry),
            (next[2] ^ (REDUCTION[2] & carry)) & (LEADING - 1),
        ])
    }

    /// The product.
    pub(crate) fn times(self, other: Self) -> Self {
        (0..160).rev().fold(Self([0; 3]), |sum, bit| {
            let sum = sum.shifted();
            let mask = self.bit(bit).wrapping_neg();
            Self(std::array::from_fn(|word| sum.0[word] ^ (other.0[word] & mask)))
        })
    }

    fn bit(self, bit: usize) -> u64 {
        self.0[bit / 64] >> (bit % 64) & 1
    }

    fn power(self, n: u128) -> Self {
        let digits = 128 - n.leading_zeros();
        (0..digits).rev().fold(Self::ONE, |power, bit| {
            let square = power.times(power);
            if n >> bit & 1 == 0 { square } else { square.times(self) }
        })
    }

    /// `x^n`: `n` steps.
    pub(crate) fn steps(n: u128) -> Self {
        Self::X.power(n)
    }

    /// `x^-n`: `n` steps back.
    pub(crate) fn steps_back(n: u128) -> Self {
        Self::INVERSE.power(n)
    }

    /// `x^(n 2^67)`: `n` subsequences.
    pub(crate) fn subsequences(n: u64) -> Self {
        (0..67).fold(Self::steps(n.into()), |power, _| power.times(power))
    }

    /// The state so many steps on: Horner's rule, 160 steps.
    pub(crate) fn apply(self, v: Words) -> Words {
        (0..160).rev().fold([0; 5], |sum, bit| {
            let sum = step(sum);
            let mask = (self.bit(bit) as u32).wrapping_neg();
            std::array::from_fn(|word| sum[word] ^ (v[word] & mask))
        })
    }

    /// The coefficients in 32 digits of five bits, lowest first, four to a word: the form that kernels take.
    pub(crate) fn digits(self) -> [u32; 8] {
        std::array::from_fn(|word| {
            (0..4).fold(0, |digits, at| {
                let first = 5 * (4 * word + at);
                let digit = (0..5).fold(0, |digit, bit| digit | self.bit(first + bit) << bit);
                digits | (digit as u32) << (8 * at)
            })
        })
    }
}

/// A jump for many states: the contributions of each five bits of a state. Made by 160 steps for each of 160 bits, taken in 32 lookups.
pub(crate) struct Table(Box<[Words]>);

impl Table {
    pub(crate) fn new(jump: Polynomial) -> Self {
        let columns: Vec<Words> = (0..160)
            .map(|bit| {
                let mut unit = [0; 5];
                unit[bit / 32] = 1 << (bit % 32);
                jump.apply(unit)
            })
            .collect();
        let entry = |at: usize| {
            (0..5).filter(|bit| at >> bit & 1 == 1).fold([0; 5], |sum: Words, bit| {
                let column = columns[5 * (at / 32) + bit];
                std::array::from_fn(|word| sum[word] ^ column[word])
            })
        };
        Self((0..1024).map(entry).collect())
    }

    pub(crate) fn apply(&self, v: Words) -> Words {
        let at = |bit: usize| {
            let (word, shift) = (bit / 32, bit % 32);
            let above = v.get(word + 1).copied().unwrap_or(0);
            ((u64::from(above) << 32 | u64::from(v[word])) >> shift) as usize & 31
        };
        (0..32).fold([0; 5], |sum: Words, window| {
            let entry = &self.0[32 * window + at(5 * window)];
            std::array::from_fn(|word| sum[word] ^ entry[word])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const V: Words = [123_456_789, 362_436_069, 521_288_629, 88_675_123, 5_783_321];

    fn stepped(n: usize) -> Words {
        (0..n).fold(V, |v, _| step(v))
    }

    /// The matrix of `n` steps, by squaring: column `i` is where bit `i` goes.
    fn matrix(n: u128) -> Vec<Words> {
        let unit = |bit: usize| std::array::from_fn(|word| u32::from(word == bit / 32) << (bit % 32));
        let times = |matrix: &[Words], v: Words| {
            (0..160)
                .filter(|bit| v[bit / 32] >> (bit % 32) & 1 == 1)
                .fold([0; 5], |sum: Words, bit| std::array::from_fn(|word| sum[word] ^ matrix[bit][word]))
        };
        let identity: Vec<Words> = (0..160).map(unit).collect();
        let one: Vec<Words> = identity.iter().map(|&v| step(v)).collect();
        let mut square = one;
        let mut power = identity;
        for bit in 0..128 - n.leading_zeros() {
            if n >> bit & 1 == 1 {
                power = power.iter().map(|&v| times(&square, v)).collect();
            }
            square = square.iter().map(|&v| times(&square, v)).collect();
        }
        power
    }

    #[test]
    fn a_subsequence_is_the_known_polynomial() {
        // x^(2^67) mod P = 0x947e6dd2930052d41a87dad077bbc24826294934.
        let want = Polynomial([0x77bb_c248_2629_4934, 0x9300_52d4_1a87_dad0, 0x947e_6dd2]);
        assert_eq!(Polynomial::subsequences(1), want);
        assert_eq!(Polynomial::subsequences(1), Polynomial::steps(1 << 67));
        assert_eq!(Polynomial::subsequences(0), Polynomial::ONE);
    }

    #[test]
    fn jumps_are_steps() {
        for n in [0, 1, 2, 5, 31, 32, 159, 160, 161, 1000, 4097] {
            let jump = Polynomial::steps(n as u128);
            assert_eq!(jump.apply(V), stepped(n), "{n} steps");
            assert_eq!(Table::new(jump).apply(V), stepped(n), "{n} steps by table");
            assert_eq!(Polynomial::steps_back(n as u128).apply(stepped(n)), V, "{n} steps back");
        }
    }

    #[test]
    fn jumps_by_polynomials_are_those_by_matrices() {
        for n in [1, 5, 1000, 1 << 67, 4095 * (1 << 67) + 12_345_678_901_234_567] {
            let columns = matrix(n);
            let jump = Polynomial::steps(n);
            for bit in [0, 1, 31, 32, 100, 159] {
                let unit = std::array::from_fn(|word| u32::from(word == bit / 32) << (bit % 32));
                assert_eq!(jump.apply(unit), columns[bit], "{n} steps, bit {bit}");
            }
        }
    }

    #[test]
    fn the_period_is_that_of_the_published_generator() {
        // x^(2^160) = x: 160 squarings give back x, and no factor of 160 does.
        let mut power = Polynomial::X;
        for squarings in 1..=160 {
            power = power.times(power);
            assert_eq!(power == Polynomial::X, squarings == 160, "{squarings}");
        }
    }

    #[test]
    fn digits_hold_every_coefficient() {
        let jump = Polynomial::steps(0x1234_5678_9abc_def0_1357_9bdf_0246_8ace);
        let digits = jump.digits();
        for bit in 0..160 {
            let digit = digits[bit / 20] >> (8 * (bit / 5 % 4)) & 0xff;
            assert_eq!(u64::from(digit >> (bit % 5) & 1), jump.bit(bit));
        }
    }
}
