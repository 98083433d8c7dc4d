//! Samples of expressions, for checks without a device: the kernels that run are made from the same texts.

use gpu_driver::{Arch, Registry};
use ndarray::{Array1, ArrayD, Axis, IxDyn};

use super::{
    device::{
        policy::{Loop, Policy},
        text::Text,
    },
    graph::{Code, assemble},
    syntax::{Expr, Host, Outside, constant, host, index, roll, take, take_axis, where_},
};
use crate::{Complex, Element, bf16, f16};

/// Adds samples of the kernels, one of each kind.
pub(crate) fn with_samples(registry: Registry) -> Registry {
    Samples(registry).arithmetic().copies().functions().complex().halves().0
}

struct Samples(Registry);

impl Samples {
    fn with<T: Element>(mut self, name: &str, which: Loop, value: &Expr<'_, T, IxDyn, Host>) -> Self {
        // The operands of the samples fit together.
        let mut code = Code::default();
        if assemble(&mut code, &[&value.value], 0).is_err() {
            return self;
        }
        let mut text = Text::new();
        // The newest architecture has no policy of its own.
        text.add_named(name, &code, which, &Policy::of(Arch::new(9, 0), which, &code));
        self.0 = self.0.with_sample(which.header().name, text.program());
        self
    }

    fn arithmetic(self) -> Self {
        let (x, y) = (array::<f32>(), array::<f32>());
        let (x, y) = (host(&x), host(&y));
        let all: Vec<ArrayD<f32>> = (0..8).map(|_| array()).collect();
        let sum = all.iter().skip(1).fold(host(&all[0]), |sum, next| sum + host(next));
        self.with("lincomb", Loop::Linear, &(5.0 * &x + 6.0 * &y))
            .with("wave", Loop::Linear, &(x.exp() * y.sin() + x.abs().sqrt()))
            .with("sum", Loop::Strided, &(&x + &y))
            .with("sum", Loop::Rows { same: 0 }, &(&x + &y))
            .with("sum", Loop::Tiled, &(&x + &y))
            .with("sum_of_8", Loop::Linear, &sum)
            .with("sum_of_8", Loop::Strided, &sum)
            .with("constant", Loop::Linear, &constant::<u8, Host>(7).broadcast(IxDyn(&[5])))
    }

    fn copies(self) -> Self {
        fn of<T: Element>(samples: Samples, name: &str) -> Samples {
            let x = array::<T>();
            let copy = host(&x);
            let samples = samples.with(name, Loop::Linear, &copy).with(name, Loop::Strided, &copy);
            samples.with(name, Loop::Tiled, &copy)
        }
        let samples = of::<f64>(of::<f32>(of::<u16>(of::<u8>(self, "copy_u8"), "copy_u16"), "copy_f32"), "copy_f64");
        let x = array::<u8>();
        samples.with("u8_to_f64", Loop::Linear, &host(&x).cast::<f64>())
    }

    fn functions(self) -> Self {
        let (x, i, n) = (array::<f64>(), array::<i64>(), array::<i32>());
        let (x, i, n) = (host(&x), host(&i), host(&n));
        let f = array::<f32>();
        let f = host(&f);
        let flat = Array1::<f32>::from_elem(2, 1.0);
        let rolled = roll(host(&flat), 1, Axis(0)).broadcast(IxDyn(&[2]));
        let taken = take(host(&flat), &i, Outside::Value(0.0));
        let (table, places) = (ArrayD::<f32>::zeros(IxDyn(&[2, 8])), Array1::<i64>::zeros(2));
        let rows = take_axis(host(&table), host(&places), Axis(0), Outside::Wrap);
        self.with("roll", Loop::Linear, &rolled)
            .with("take_rows", Loop::Rows { same: 1 }, &rows)
            .with("take", Loop::Linear, &taken)
            .with("special_f32", Loop::Linear, &(f.erfc() + f.gamma() * f.j0()))
            .with("special_f64", Loop::Linear, &(x.acosh() * x.log_gamma() + x.yn(3)))
            .with("parts", Loop::Linear, &x.modf().0.ldexp(x.frexp().1).nextafter(x.copysign(1.0)))
            .with("power", Loop::Linear, &x.pow(x.tanh()))
            .with("floor_divide", Loop::Linear, &(n.floor_divide(3) + &n % 5))
            .with("mask", Loop::Linear, &where_(x.gt(0.0) & x.is_finite(), x.sqrt(), 0.0))
            .with("places", Loop::Strided, &(index::<IxDyn, Host>(Axis(0)) + &i))
    }
}

impl Samples {
    fn complex(self) -> Self {
        let (z, w, x) = (array::<Complex<f32>>(), array::<Complex<f64>>(), array::<f32>());
        let (z, w, x) = (host(&z), host(&w), host(&x));
        self.with("complex64", Loop::Linear, &(&z * &x / z.conj()))
            .with("complex128", Loop::Linear, &(&w * &z + Complex::new(0.5, 2.0)))
            .with("complex128", Loop::Strided, &w)
            .with("complex128", Loop::Tiled, &w)
            .with("complex_abs", Loop::Linear, &z.abs())
            .with("complex_functions64", Loop::Linear, &(z.acosh() + z.tan().sqrt()))
            .with("complex_functions128", Loop::Linear, &w.pow(w.atanh()))
    }
}

impl Samples {
    fn halves(self) -> Self {
        let (x, b, d, i) = (array::<f16>(), array::<bf16>(), array::<f64>(), array::<i64>());
        let (x, b, d, i) = (host(&x), host(&b), host(&d), host(&i));
        let map = &x * f16::from_bits(0x3800) + f16::ONE;
        self.with("float16", Loop::Linear, &map)
            .with("float16", Loop::Strided, &map)
            .with("float16", Loop::Tiled, &map)
            .with("bfloat16", Loop::Linear, &(&b * &b + bf16::ONE))
            .with("half_functions", Loop::Linear, &x.exp().nextafter(&x).cast::<bf16>())
            .with("half_casts", Loop::Linear, &where_(b.gt(bf16::ZERO), d.cast::<f16>(), i.cast::<f16>()).cast::<f64>())
            .with("i64_to_bf16", Loop::Linear, &i.cast::<bf16>())
    }
}

/// Any array: samples are never computed.
fn array<T: Element>() -> ArrayD<T> {
    ArrayD::from_elem(IxDyn(&[2]), T::ZERO)
}
