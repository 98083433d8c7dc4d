//! Values at each place.
#![allow(unused_parens, clippy::double_parens, clippy::op_ref, reason = "lines as a user writes them")]

use gpu_algos::{
    gpu_array::{
        Complex, bf16,
        expression::{complex, where_},
        f16,
    },
    prelude::*,
};
use ndarray::Axis;

use super::{Lines, OnDevice, OnHost, lines};

pub fn arithmetic(lines: &mut Lines, gpu: Option<&OnDevice>, host: Option<&OnHost<'_>>) {
    lines! { lines, gpu, host, "Arithmetic", [x y u v c i j k n f z];
        "x + y" => x + y;
        "x - y" => x - y;
        "x * y" => x * y;
        "x / y" => x / y;
        "x + 2.0" => x + 2.0;
        "2.0 - x" => 2.0 - x;
        "1.0 / y" => 1.0 / y;
        "-x" => -x;
        "x + v" => x + v;
        "x * c" => x * c;
        "v + c" => v + c;
        "(x + y) * 0.5 - v" => (x + y) * 0.5 - v;
        "i + j" => i + j;
        "i - 3" => i - 3;
        "i * j" => i * j;
        "i / j" => i / j;
        "i // j" => i.floor_divide(j);
        "i % j" => i % j;
        "np.fmod(i, j)" => i.fmod(j);
        "x // y" => x.floor_divide(y);
        "x % y" => x % y;
        "x % 1.5" => x % 1.5;
        "k + v" => k + v;
        "k * 2" => k * 2;
        "k / 2" => k / 2;
        "n + 100" => n + 100;
        "n * n" => n * n;
        "n + k" => n + k;
        "f + x" => f + x;
        "f * 2.0" => f * 2.0f32;
        "f * 2.0 + 1" => f * 2.0 + 1;
        "2 * x + 1" => 2 * x + 1;
        "1 / y" => 1 / y;
        "i * 0.5" => i * 0.5;
        "1.5 - n" => 1.5 - n;
        "i + 1.0" => i + 1.0;
        "k % 2.5" => k % 2.5;
        "2 * z + 1" => 2 * z + 1;
        "z + z" => z + z;
        "z * z" => z * z;
        "z / (2 + 1j)" => z / Complex::new(2.0, 1.0);
        "2.0 * z" => 2.0 * z;
        "i & j" => i & j;
        "i | 1" => i | 1;
        "i ^ j" => i ^ j;
        "~i" => !i;
        "i << 3" => i << 3;
        "i >> 1" => i >> 1;
        "np.add(x, y)" => x + y;
        "np.subtract(x, v)" => x - v;
        "np.negative(v)" => -v;
        "np.reciprocal(y)" => y.recip();
        "np.square(x)" => x.square();
        "x ** 2" => x.powi(2);
        "y ** 0.5" => y.pow(0.5);
        "y ** x" => y.pow(x);
        "i ** 3" => i.powi(3);
        "3 * x ** 2 - 2 * x + 1" => 3.0 * x.powi(2) - 2.0 * x + 1.0;
        "(x + 1) / (u + 2)" => (x + 1.0) / (u + 2.0);
    }
}

pub fn functions(lines: &mut Lines, gpu: Option<&OnDevice>, host: Option<&OnHost<'_>>) {
    lines! { lines, gpu, host, "Functions", [x y u v i j k f z a];
        "abs(x)" => x.abs();
        "abs(i)" => i.abs();
        "np.sign(x)" => x.sign();
        "np.sign(i)" => i.sign();
        "np.sqrt(y)" => y.sqrt();
        "np.cbrt(x)" => x.cbrt();
        "np.exp(x)" => x.exp();
        "np.exp2(x)" => x.exp2();
        "np.expm1(u)" => u.expm1();
        "np.log(y)" => y.log();
        "np.log2(y)" => y.log2();
        "np.log10(y)" => y.log10();
        "np.log1p(u)" => u.log1p();
        "np.sin(x)" => x.sin();
        "np.cos(x)" => x.cos();
        "np.tan(u)" => u.tan();
        "np.arcsin(u)" => u.asin();
        "np.arccos(u)" => u.acos();
        "np.arctan(x)" => x.atan();
        "np.arctan2(x, y)" => x.atan2(y);
        "np.hypot(x, y)" => x.hypot(y);
        "np.sinh(u)" => u.sinh();
        "np.cosh(u)" => u.cosh();
        "np.tanh(x)" => x.tanh();
        "np.arcsinh(x)" => x.asinh();
        "np.arccosh(y + 1)" => (y + 1.0).acosh();
        "np.arctanh(u)" => u.atanh();
        "np.floor(x)" => x.floor();
        "np.ceil(x)" => x.ceil();
        "np.trunc(x)" => x.trunc();
        "np.round(x)" => x.round();
        "np.sqrt(k * k)" => (k * k).sqrt();
        "np.exp(f)" => f.exp();
        "np.minimum(x, y)" => x.minimum(y);
        "np.maximum(x, 0.0)" => x.maximum(0.0);
        "np.fmin(a, 1.0)" => a.fmin(1.0);
        "np.fmax(a, 1.0)" => a.fmax(1.0);
        "np.maximum(a, 1.0)" => a.maximum(1.0);
        "np.minimum(i, j)" => i.minimum(j);
        "np.clip(x, -1.0, 2.0)" => x.clamp(-1.0, 2.0);
        "np.clip(i, 0, 5)" => i.clamp(0, 5);
        "np.copysign(y, x)" => y.copysign(x);
        "np.nextafter(x, 10.0)" => x.nextafter(10.0);
        "np.ldexp(x, np.int32(3))" => x.ldexp(3);
        "np.frexp(x)[0]" => x.frexp().0;
        "np.frexp(x)[1]" => x.frexp().1;
        "np.modf(x)[0]" => x.modf().0;
        "np.modf(x)[1]" => x.modf().1;
        "z.real" => z.real();
        "z.imag" => z.imag();
        "np.conj(z)" => z.conj();
        "abs(z)" => z.abs();
        "np.angle(z)" => z.arg();
        "np.exp(z)" => z.exp();
        "np.sqrt(z)" => z.sqrt();
        "np.sin(z)" => z.sin();
        "np.log(z)" => z.log();
        "v + 1j * v" => complex(v, v);
        "v * 1j" => v * Complex::new(0.0, 1.0);
        "(2 + 1j) / v" => Complex::new(2.0, 1.0) / v;
        "1 / (1 + np.exp(-x))" => 1.0 / (1.0 + (-x).exp());
        "np.exp(-x ** 2 / 2)" => (-x.powi(2) / 2.0).exp();
        "np.log(np.cosh(u))" => u.cosh().log();
        "np.sin(x) ** 2 + np.cos(x) ** 2" => x.sin().square() + x.cos().square();
    }
}

pub fn masks(lines: &mut Lines, gpu: Option<&OnDevice>, host: Option<&OnHost<'_>>) {
    lines! { lines, gpu, host, "Comparisons and masks", [x y v i j m a];
        "x > y" => x.gt(y);
        "x >= 1.0" => x.ge(1.0);
        "x < v" => x.lt(v);
        "x <= y" => x.le(y);
        "x == 0.5" => x.eq(0.5);
        "x != y" => x.ne(y);
        "i == j" => i.eq(j);
        "i % 2 == 0" => (i % 2).eq(0);
        "(x > 0) & (y < 2)" => x.gt(0.0) & y.lt(2.0);
        "(x > 0) | m" => x.gt(0.0) | m;
        "m ^ (x > 1)" => m ^ x.gt(1.0);
        "~m" => !m;
        "np.isnan(a)" => a.is_nan();
        "np.isfinite(a)" => a.is_finite();
        "np.where(m, x, y)" => where_(m, x, y);
        "np.where(x > 0, x, 0.0)" => where_(x.gt(0.0), x, 0.0);
        "np.where(m, 1.0, -1.0)" => where_(m, 1.0, -1.0);
        "np.where(np.isnan(a), 0.0, a)" => where_(a.is_nan(), 0.0, a);
        "np.where(i > 0, i, -i)" => where_(i.gt(0), i, -i);
        "x * m" => x * m.cast::<f64>();
        "x * m - 1" => x * m - 1;
        "m + 1" => m + 1;
        "0.5 * m" => 0.5 * m;
        "np.where(x > 0, x, 0)" => where_(x.gt(0), x, 0);
        "np.where(i > 2, i, 0.5)" => where_(i.gt(2), i, 0.5);
        "np.where(m, 1, x)" => where_(m, 1, x);
        "np.where(m, x, i)" => where_(m, x, i);
        "np.clip(x, 0, 1)" => x.clamp(0, 1);
        "i > 1.5" => i.gt(1.5);
        "np.abs(x - y) < 1.0" => (x - y).abs().lt(1.0);
        "np.maximum(x, 0) / (y + 1)" => x.maximum(0.0) / (y + 1.0);
    }
}

pub fn types(lines: &mut Lines, gpu: Option<&OnDevice>, host: Option<&OnHost<'_>>) {
    lines! { lines, gpu, host, "Types", [x y v i k m n f z];
        "x.astype(np.float32)" => x.cast::<f32>();
        "x.astype(np.int64)" => x.cast::<i64>();
        "i.astype(np.float64)" => i.cast::<f64>();
        "i.astype(np.int8)" => i.cast::<i8>();
        "n.astype(np.int16)" => n.cast::<i16>();
        "m.astype(np.int32)" => m.cast::<i32>();
        "i.astype(bool)" => i.cast::<bool>();
        "f.astype(np.float64)" => f.cast::<f64>();
        "v.astype(np.complex128)" => v.cast::<Complex<f64>>();
        "k.astype(np.uint8)" => k.cast::<u8>();
        "x.astype(np.float16).astype(np.float32)" => x.cast::<f16>().cast::<f32>();
        "(x.astype(np.float16) + np.float16(1)).astype(np.float32)" => (x.cast::<f16>() + f16::ONE).cast::<f32>();
        "(2.0 * x.astype(np.float16) + 1).astype(np.float32)" => (2.0 * x.cast::<f16>() + 1).cast::<f32>();
        "np.maximum(x.astype(np.float16), 0.1).astype(np.float32)" => x.cast::<f16>().maximum(0.1).cast::<f32>();
        "np.where(x > 0, x.astype(np.float16), 0.1).astype(np.float32)" => where_(x.gt(0), x.cast::<f16>(), 0.1).cast::<f32>();
        "np.where(x > 0, 0.1, x.astype(np.float16)).astype(np.float32)" => where_(x.gt(0), 0.1, x.cast::<f16>()).cast::<f32>();
        "(f.astype(np.float64) * 3).astype(np.float32)" => (f.cast::<f64>() * 3.0).cast::<f32>();
        "z.astype(np.complex64).real" => z.cast::<Complex<f32>>().real();
        "abs(z.astype(np.complex64))" => z.cast::<Complex<f32>>().abs();
        "(2 * z.astype(np.complex64) + 1).imag" => (2 * z.cast::<Complex<f32>>() + 1).imag();
        "np.exp(z.astype(np.complex64)).real" => z.cast::<Complex<f32>>().exp().real();
        "z.astype(np.complex64).astype(np.complex128)" => z.cast::<Complex<f32>>().cast::<Complex<f64>>();
        "x.astype(np.float16).max(axis=0).astype(np.float32)" => x.cast::<f16>().max().axis(Axis(0)).cast::<f32>();
        "x.astype(np.float16).sum().astype(np.float32)" => x.cast::<f16>().sum().cast::<f32>();
        "x.astype(np.float16).mean(axis=1).astype(np.float32)" => x.cast::<f16>().mean().axis(Axis(1)).cast::<f32>();
        "x.astype(np.float16) > 1" => x.cast::<f16>().gt(1);
        "np.sqrt(y.astype(np.float16)).astype(np.float32)" => y.cast::<f16>().sqrt().cast::<f32>();
        "x.astype(np.float16) * f" => x.cast::<f16>() * f;
        "x.astype(np.float32)  # exact in bfloat16" => x.cast::<bf16>().cast::<f32>();
    }
}

pub fn special(lines: &mut Lines, gpu: Option<&OnDevice>, host: Option<&OnHost<'_>>) {
    lines! { lines, gpu, host, "Special functions, of SciPy", [x y u k f];
        "special.erf(x)" => x.erf();
        "special.erfc(x)" => x.erfc();
        "special.erf(f)" => f.erf();
        "special.gamma(y)" => y.gamma();
        "special.gammaln(y)" => y.log_gamma();
        "special.gammaln(u)" => u.log_gamma();
        "special.j0(x)" => x.j0();
        "special.j1(x)" => x.j1();
        "special.jn(3, x)" => x.jn(3);
        "special.y0(y)" => y.y0();
        "special.y1(y)" => y.y1();
        "special.yn(3, y)" => y.yn(3);
        "special.j0(k)" => k.j0();
        "special.expit(x)" => 1 / (1 + (-x).exp());
        "special.logit(y / 5)" => (y / 5 / (1 - y / 5)).log();
        "special.ndtr(x)" => 0.5 * (-x * 0.5f64.sqrt()).erfc();
        "special.xlogy(x, y)" => where_(x.eq(0), 0, x * y.log());
        "special.softmax(x, axis=1)" => (x - x.max().axis(Axis(1)).keep_dims()).exp()
            / (x - x.max().axis(Axis(1)).keep_dims()).exp().sum().axis(Axis(1)).keep_dims();
        "special.logsumexp(x, axis=0)" => x.max().axis(Axis(0)) + (x - x.max().axis(Axis(0))).exp().sum().axis(Axis(0)).log();
    }
}
