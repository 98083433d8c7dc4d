//! Expressions and arrays with their element types as values.

use gpu_array::{
    DType, Element, GpuArray, Result,
    expression::{Backend, Expr, Gpu, Host, host},
};
use gpu_driver::Device;
use ndarray::{ArrayD, IxDyn};
use testkit::Rng;

use super::{
    Grid, Layout, Value,
    layout::{of_gpu, with_gpu_mut},
    value,
};

/// An element type that is one of [`Value`]'s.
pub trait Known: Element {
    fn value(self) -> Value;
    fn of(value: Value) -> Self;
}

macro_rules! types {
    ($($name:ident $type:ident, $known:ident, |$x:ident| $into:expr, $from:expr;)*) => {
        #[derive(Clone)]
        pub enum Any<'a, P: Backend> { $($name(Expr<'a, $type, IxDyn, P>),)* }

        #[derive(Clone, Debug)]
        pub enum AnyArray { $($name(ArrayD<$type>),)* }

        pub enum AnyGpu { $($name(GpuArray<$type, IxDyn>),)* }

        $(
            impl<'a, P: Backend> From<Expr<'a, $type, IxDyn, P>> for Any<'a, P> {
                fn from(expr: Expr<'a, $type, IxDyn, P>) -> Self {
                    Self::$name(expr)
                }
            }

            impl From<ArrayD<$type>> for AnyArray {
                fn from(array: ArrayD<$type>) -> Self {
                    Self::$name(array)
                }
            }

            impl Known for $type {
                fn value(self) -> Value {
                    let $x = self;
                    Value::$known($into)
                }
                fn of(value: Value) -> Self {
                    match value {
                        Value::$known($x) => $from,
                        _ => unreachable!("{value:?} as {}", Self::DTYPE),
                    }
                }
            }
        )*

        impl<P: Backend> Any<'_, P> {
            pub fn dtype(&self) -> DType {
                match self { $(Self::$name(_) => DType::$name,)* }
            }
        }

        impl<P: Backend> std::fmt::Debug for Any<'_, P> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self { $(Self::$name(x) => write!(f, "{x:?}"),)* }
            }
        }

        impl Any<'_, Host> {
            pub fn eval(&self) -> Result<Grid> {
                Ok(match self { $(Self::$name(x) => AnyArray::$name(x.eval()?).grid(),)* })
            }
        }

        impl<'a> Any<'a, Gpu> {
            pub fn eval(&self) -> Result<Grid> {
                Ok(match self { $(Self::$name(x) => AnyArray::$name(x.eval()?.to_ndarray()?).grid(),)* })
            }

            pub fn as_precompile(&self) -> &dyn gpu_array::expression::Precompile {
                match self { $(Self::$name(x) => x,)* }
            }
        }

        impl AnyArray {
            /// Random elements, many of them special.
            pub fn random(dtype: DType, shape: &[usize], rng: &mut Rng) -> Self {
                match dtype {
                    $(DType::$name => {
                        Self::$name(ArrayD::from_shape_simple_fn(IxDyn(shape), || $type::of(Value::random(dtype, rng))))
                    })*
                    _ => unreachable!("{dtype}"),
                }
            }

            pub fn to_gpu(&self, device: &Device) -> Result<AnyGpu> {
                Ok(match self { $(Self::$name(x) => AnyGpu::$name(GpuArray::from_ndarray(device, x)?),)* })
            }

            pub fn grid(&self) -> Grid {
                match self {
                    $(Self::$name(x) => Grid {
                        dtype: DType::$name,
                        shape: x.shape().to_vec(),
                        values: x.iter().map(|x| x.value()).collect(),
                    },)*
                }
            }

            /// The view's elements as a new array, by ndarray.
            pub fn viewed(&self, view: &Layout) -> Self {
                match self { $(Self::$name(x) => Self::$name(view.of_host(x.view()).to_owned()),)* }
            }

            pub fn leaf<'a>(&'a self, view: &Layout) -> Any<'a, Host> {
                match self { $(Self::$name(x) => Any::$name(host(view.of_host(x.view()))),)* }
            }
        }

        impl AnyArray {
            /// Overwrites the view of the array with values.
            pub fn write(&mut self, view: &Layout, values: &Self) {
                match (self, values) {
                    $((Self::$name(x), Self::$name(values)) => view.of_host_mut(x.view_mut()).assign(values),)*
                    _ => unreachable!("another type"),
                }
            }
        }

        impl Any<'_, Host> {
            pub fn eval_array(&self) -> Result<AnyArray> {
                Ok(match self { $(Self::$name(x) => AnyArray::$name(x.eval()?),)* })
            }
        }

        impl AnyGpu {
            /// Overwrites the view of the array with an expression.
            pub fn assign(&mut self, view: &Layout, value: &Any<'_, Gpu>) -> Result<()> {
                match (self, value) {
                    $((Self::$name(x), Any::$name(value)) => with_gpu_mut(view, &mut x.view_mut(), |x| x.assign(value)),)*
                    _ => unreachable!("another type"),
                }
            }

            pub fn to_host(&self) -> Result<AnyArray> {
                Ok(match self { $(Self::$name(x) => AnyArray::$name(x.to_ndarray()?),)* })
            }

            pub fn leaf<'a>(&'a self, view: &Layout) -> Result<Any<'a, Gpu>> {
                use gpu_array::expression::IntoExpr;
                Ok(match self { $(Self::$name(x) => Any::$name(of_gpu(view, x.view())?.into_expr()),)* })
            }
        }
    };
}

types! {
    Bool bool, Bool, |x| x, x;
    I8 i8, Int, |x| x.into(), x as Self;
    I16 i16, Int, |x| x.into(), x as Self;
    I32 i32, Int, |x| x.into(), x as Self;
    I64 i64, Int, |x| x.into(), x as Self;
    U8 u8, Int, |x| x.into(), x as Self;
    U16 u16, Int, |x| x.into(), x as Self;
    U32 u32, Int, |x| x.into(), x as Self;
    U64 u64, Int, |x| x.into(), x as Self;
    F32 f32, F32, |x| x, x;
    F64 f64, F64, |x| x, x;
}

impl Value {
    /// A value of a type, often one at an edge.
    pub fn random(dtype: DType, rng: &mut Rng) -> Self {
        const EDGES: [f64; 20] = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            -0.5,
            1.5,
            2.5,
            -2.5,
            3.0,
            -3.0,
            7.0,
            127.5,
            128.0,
            255.0,
            65536.0,
            -32769.0,
            2147483648.0,
            -9223372036854775808.0,
            18446744073709551616.0,
        ];
        match dtype {
            DType::Bool => Self::Bool(rng.below(2) == 1),
            DType::F32 => Self::F32(match rng.below(8) {
                0 => [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN_POSITIVE, 1e-45, -1e-40]
                    [rng.below(7)],
                1 => EDGES[rng.below(20)] as f32,
                2 => f32::from_bits(rng.next_u64() as u32),
                3 => rng.below(20) as f32 - 10.0,
                _ => (rng.uniform() * 20.0 - 10.0) as f32,
            }),
            DType::F64 => Self::F64(match rng.below(8) {
                0 => [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN_POSITIVE, 5e-324, -1e-310]
                    [rng.below(7)],
                1 => EDGES[rng.below(20)],
                2 => f64::from_bits(rng.next_u64()),
                3 => rng.below(20) as f64 - 10.0,
                _ => rng.uniform() * 20.0 - 10.0,
            }),
            _ => Self::Int(match rng.below(6) {
                0 => value::least(dtype),
                1 => value::most(dtype),
                2 => value::wrap(dtype, rng.next_u64().into()),
                _ => value::wrap(dtype, rng.below(16) as i128 - 5),
            }),
        }
    }
}
