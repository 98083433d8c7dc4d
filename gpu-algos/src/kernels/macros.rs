//! Macros that declare kernels as functions of Rust.

/// Declares a kernel, run for each place of arrays, as a function.
///
/// ```
/// gpu_algos::elementwise_kernel! {
///     /// `z = sqrt(x)` where `x` is positive; elsewhere `z` stays as it is.
///     pub fn positive_roots(x: &[f64], z: &mut [f64]) {
///         unsafe { "if (x[i] > 0) z[i] = sqrt(x[i])" }
///     }
/// }
///
/// gpu_algos::elementwise_kernel! {
///     /// `z[i] = x[at[i]]`.
///     ///
///     /// # Safety
///     /// Each number in `at` is that of an element of `x`.
///     pub unsafe fn gather(x: &[f32; _], at: &[i64], z: &mut [f32]) {
///         preamble: "float twice(float x) { return 2 * x; }";
///         "z[i] = twice(x[at[i]])"
///     }
/// }
/// ```
/// `&[T]` is an array that the kernel reads, `const T *` in C++; `&mut [T]` is one that it may write, `T *`. They have an element for each place, all
/// one length; `&[T; _]` and `&mut [T; _]` have any length. Arrays are in C order without gaps, and nothing is broadcast:
/// [`to_standard_layout`](gpu_array::GpuView::to_standard_layout) copies a view of another layout, and a broadcast one.
/// Any other type is a value. `T` is a number (also `f16`, `bf16` and `Complex`), `bool`, or a structure with [`DevicePod`](gpu_array::gpu_driver::DevicePod).
///
/// The arguments of a call are arrays, views and buffers, by way of [`Input`](crate::kernels::Input)
/// and [`Output`](crate::kernels::Output). The C++ parameters are made of the Rust types, so both agree.
///
/// Texts `preamble: …;`, `loop_prep: …;` and `after_loop: …;` may precede the operation, in this order.
/// [`ElementwiseKernel`](crate::kernels::ElementwiseKernel) describes them; each is a `&str`.
///
/// A kernel `f` gives:
/// * `f(…)`: the call for all places, which returns `Result<()>` (cost and errors:
///   [`ElementwiseKernel::call`](crate::kernels::ElementwiseKernel::call));
/// * `f::over(places, …)`: the call for some [`IndexRange`](crate::kernels::IndexRange);
/// * `f::kernel()`: the kernel itself, for instance to compile it ahead.
///
/// # Safety
/// The text fulfils the [requirements](crate::kernels#requirements-on-the-text). If it stands in an `unsafe` block, its author promises that for all
/// arguments of a call, and the functions are safe. If the function is `unsafe`, each caller promises it for the given arguments. One of the two is
/// needed:
/// ```compile_fail
/// gpu_algos::elementwise_kernel! {
///     fn unchecked(z: &mut [f64]) { "z[i] = 0" }
/// }
/// ```
///
/// The types of a call are checked:
/// ```compile_fail,E0277
/// # use gpu_array::GpuArray;
/// # fn test(x: GpuArray<f64, ndarray::Ix1>, mut z: GpuArray<f32, ndarray::Ix1>) -> gpu_algos::Result<()> {
/// gpu_algos::elementwise_kernel! {
///     fn copy(x: &[f32], z: &mut [f32]) { unsafe { "z[i] = x[i]" } }
/// }
/// copy(&x, &mut z)
/// # }
/// ```
/// The written array is borrowed exclusively:
/// ```compile_fail,E0502
/// # use gpu_array::GpuArray;
/// # fn test(mut z: GpuArray<f32, ndarray::Ix1>) -> gpu_algos::Result<()> {
/// gpu_algos::elementwise_kernel! {
///     fn copy(x: &[f32], z: &mut [f32]) { unsafe { "z[i] = x[i]" } }
/// }
/// copy(&z, &mut z)
/// # }
/// ```
#[macro_export]
macro_rules! elementwise_kernel {
    ($(#[$meta:meta])* $vis:vis unsafe fn $name:ident($($arguments:tt)*) { $($body:tt)* }) => {
        $crate::__elementwise_kernel! { @read
            { [$(#[$meta])*] [$vis] [unsafe] [unsafe] $name, $crate::kernels::ElementwiseKernel, (), text [] [$($body)*] } [] [] [] $($arguments)*, }
    };
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arguments:tt)*) { unsafe { $($body:tt)* } }) => {
        $crate::__elementwise_kernel! { @read
            { [$(#[$meta])*] [$vis] [] [unsafe] $name, $crate::kernels::ElementwiseKernel, (), text [] [$($body)*] } [] [] [] $($arguments)*, }
    };
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arguments:tt)*) { $($body:tt)* }) => {
        ::core::compile_error!("nothing checks the text of a kernel: put it into `unsafe { … }`, or make the function `unsafe`");
    };
}

/// Declares a reduction over places of arrays, as a function.
///
/// ```
/// gpu_algos::reduction_kernel! {
///     /// `sum x y`.
///     pub fn dot(x: &[f32], y: &[f32]) -> f32 {
///         unsafe { identity: "0"; reduce: "a + b"; commutative: true; map: "x[i] * y[i]" }
///     }
/// }
/// ```
/// The arguments are those of [`elementwise_kernel!`](crate::elementwise_kernel), and arrays are only read. The result is one value of all places,
/// and nothing is computed from it: there are no axes and no text after the reduction. [`Reductions`](crate::reduce::Reductions) of expressions have
/// axes, and an expression computes from their result.
///
/// The texts are those of [`ReductionKernel`](crate::kernels::ReductionKernel); `preamble: …;` may precede them. Without `commutative: true;` values
/// are combined in the order of their places.
///
/// A kernel `f` with a result of type `T` gives:
/// * `f(…)`: the result over all places, a [`DeviceVec<T>`](gpu_array::gpu_driver::DeviceVec) of one element;
/// * `f::over(places, …)`: the result over some [`IndexRange`](crate::kernels::IndexRange);
/// * `f::kernel()`: the kernel itself.
///
/// # Safety
/// As of [`elementwise_kernel!`](crate::elementwise_kernel).
#[macro_export]
macro_rules! reduction_kernel {
    ($(#[$meta:meta])* $vis:vis unsafe fn $name:ident($($arguments:tt)*) -> $output:ty { $($body:tt)* }) => {
        $crate::__elementwise_kernel! { @read
            { [$(#[$meta])*] [$vis] [unsafe] [unsafe] $name, $crate::kernels::ReductionKernel<$output>, $crate::gpu_array::gpu_driver::DeviceVec<$output>,
              reduction $output, [$($body)*] } [] [] [] $($arguments)*, }
    };
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arguments:tt)*) -> $output:ty { unsafe { $($body:tt)* } }) => {
        $crate::__elementwise_kernel! { @read
            { [$(#[$meta])*] [$vis] [] [unsafe] $name, $crate::kernels::ReductionKernel<$output>, $crate::gpu_array::gpu_driver::DeviceVec<$output>,
              reduction $output, [$($body)*] } [] [] [] $($arguments)*, }
    };
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arguments:tt)*) -> $output:ty { $($body:tt)* }) => {
        ::core::compile_error!("nothing checks the text of a kernel: put it into `unsafe { … }`, or make the function `unsafe`");
    };
}

/// Declares a scan over places of arrays, as a function.
///
/// ```
/// gpu_algos::scan_kernel! {
///     /// `y[i] = c[i] y[i - 1] + d[i]`, from `first` on.
///     pub fn recurrence(first: f32, c: &[f32], d: &[f32], y: &mut [f32]) {
///         unsafe {
///             state: Affine;
///             identity: "Affine{1, 0}";
///             scan: "Affine{a.c * b.c, a.d * b.c + b.d}";
///             input: "Affine{c[i], d[i]}";
///             output: "y[i] = item.c * first + item.d"
///         }
///     }
/// }
///
/// gpu_algos::scan_kernel! {
///     /// Sums of the values before each place, from where `starts` is true on.
///     pub fn sums_before(x: &[f64], starts: &[bool], sums: &mut [f64]) {
///         unsafe { state: f64; identity: "0"; scan: "a + b"; segments: "starts[i]"; input: "x[i]"; output: "sums[i] = prev_item" }
///     }
/// }
///
/// /// `y` becomes `c y + d`.
/// #[repr(C)]
/// #[derive(Clone, Copy, Debug, gpu_array::gpu_driver::DevicePod)]
/// # #[device_pod(crate = gpu_array::gpu_driver)]
/// pub struct Affine {
///     c: f32,
///     d: f32,
/// }
/// ```
/// The arguments are those of [`elementwise_kernel!`](crate::elementwise_kernel). `state` is the type of the scanned values, a number or a structure
/// with [`DevicePod`](gpu_array::gpu_driver::DevicePod). The texts are those of [`ScanKernel`](crate::kernels::ScanKernel), in the order of the
/// examples; `preamble: …;` may follow `state`, and `segments: …;` may follow `scan`.
///
/// A kernel `f` gives:
/// * `f(…)`: the scan of all places, which returns `Result<()>` ([`ScanKernel::call`](crate::kernels::ScanKernel::call) tells cost and errors);
/// * `f::over(places, …)`: the scan of some [`IndexRange`](crate::kernels::IndexRange), in their order;
/// * `f::kernel()`: the kernel itself.
///
/// # Safety
/// As of [`elementwise_kernel!`](crate::elementwise_kernel). Either the function is `unsafe` or its text stands in an `unsafe` block:
/// ```compile_fail
/// gpu_algos::scan_kernel! {
///     fn unchecked(x: &mut [f64]) { state: f64; identity: "0"; scan: "a + b"; input: "x[i]"; output: "x[i] = item" }
/// }
/// ```
///
/// The types of a call are checked:
/// ```compile_fail,E0277
/// # use gpu_array::GpuArray;
/// # fn test(x: GpuArray<f64, ndarray::Ix1>, mut z: GpuArray<f32, ndarray::Ix1>) -> gpu_algos::Result<()> {
/// gpu_algos::scan_kernel! {
///     fn sums(x: &[f32], z: &mut [f32]) { unsafe { state: f32; identity: "0"; scan: "a + b"; input: "x[i]"; output: "z[i] = item" } }
/// }
/// sums(&x, &mut z)
/// # }
/// ```
/// The written array is borrowed exclusively:
/// ```compile_fail,E0502
/// # use gpu_array::GpuArray;
/// # fn test(mut z: GpuArray<f32, ndarray::Ix1>) -> gpu_algos::Result<()> {
/// gpu_algos::scan_kernel! {
///     fn sums(x: &[f32], z: &mut [f32]) { unsafe { state: f32; identity: "0"; scan: "a + b"; input: "x[i]"; output: "z[i] = item" } }
/// }
/// sums(&z, &mut z)
/// # }
/// ```
/// A state is plain data of the device:
/// ```compile_fail,E0277
/// gpu_algos::scan_kernel! {
///     fn sums(x: &[f32], z: &mut [f32]) { unsafe { state: String; identity: "0"; scan: "a + b"; input: "x[i]"; output: "z[i] = item" } }
/// }
/// ```
#[macro_export]
macro_rules! scan_kernel {
    ($(#[$meta:meta])* $vis:vis unsafe fn $name:ident($($arguments:tt)*) { state: $state:ty; $($body:tt)* }) => {
        $crate::__elementwise_kernel! { @read
            { [$(#[$meta])*] [$vis] [unsafe] [unsafe] $name, $crate::kernels::ScanKernel<$state>, (), scan $state, [$($body)*] } [] [] [] $($arguments)*, }
    };
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arguments:tt)*) { unsafe { state: $state:ty; $($body:tt)* } }) => {
        $crate::__elementwise_kernel! { @read
            { [$(#[$meta])*] [$vis] [] [unsafe] $name, $crate::kernels::ScanKernel<$state>, (), scan $state, [$($body)*] } [] [] [] $($arguments)*, }
    };
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arguments:tt)*) { unsafe { $($body:tt)* } }) => {
        ::core::compile_error!("a scan begins with the type of its state: `state: f32;`");
    };
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arguments:tt)*) { $($body:tt)* }) => {
        ::core::compile_error!("nothing checks the text of a kernel: put it into `unsafe { … }`, or make the function `unsafe`");
    };
}

/// Reads arguments one by one into parameters, values and declarations; then the texts. The word `unsafe` of the calls comes with the arguments: whoever
/// calls this macro in place of the others writes it too:
/// ```compile_fail,E0133
/// gpu_algos::__elementwise_kernel! {
///     @read { [] [] [] [] wild, gpu_algos::kernels::ElementwiseKernel, (), text [] ["z[i] = 0"] } [] [] [] z: &mut [f32],
/// }
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! __elementwise_kernel {
    (@read $head:tt [$($parameters:tt)*] [$($values:tt)*] [$($declared:tt)*] $name:ident: &mut [$type:ty; _], $($rest:tt)*) => {
        $crate::__elementwise_kernel! { @read $head
            [$($parameters)* $name: impl ::core::convert::Into<$crate::kernels::Output<'gpu, $type>>,]
            [$($values)* $crate::kernels::KernelArg::from(::core::convert::Into::<$crate::kernels::Output<'gpu, $type>>::into($name)),]
            [$($declared)* .output_table::<$type>(::core::stringify!($name))]
            $($rest)*
        }
    };
    (@read $head:tt [$($parameters:tt)*] [$($values:tt)*] [$($declared:tt)*] $name:ident: &[$type:ty; _], $($rest:tt)*) => {
        $crate::__elementwise_kernel! { @read $head
            [$($parameters)* $name: impl ::core::convert::Into<$crate::kernels::Input<'gpu, $type>>,]
            [$($values)* $crate::kernels::KernelArg::from(::core::convert::Into::<$crate::kernels::Input<'gpu, $type>>::into($name)),]
            [$($declared)* .input_table::<$type>(::core::stringify!($name))]
            $($rest)*
        }
    };
    (@read $head:tt [$($parameters:tt)*] [$($values:tt)*] [$($declared:tt)*] $name:ident: &mut [$type:ty], $($rest:tt)*) => {
        $crate::__elementwise_kernel! { @read $head
            [$($parameters)* $name: impl ::core::convert::Into<$crate::kernels::Output<'gpu, $type>>,]
            [$($values)* $crate::kernels::KernelArg::from(::core::convert::Into::<$crate::kernels::Output<'gpu, $type>>::into($name)),]
            [$($declared)* .output::<$type>(::core::stringify!($name))]
            $($rest)*
        }
    };
    (@read $head:tt [$($parameters:tt)*] [$($values:tt)*] [$($declared:tt)*] $name:ident: &[$type:ty], $($rest:tt)*) => {
        $crate::__elementwise_kernel! { @read $head
            [$($parameters)* $name: impl ::core::convert::Into<$crate::kernels::Input<'gpu, $type>>,]
            [$($values)* $crate::kernels::KernelArg::from(::core::convert::Into::<$crate::kernels::Input<'gpu, $type>>::into($name)),]
            [$($declared)* .input::<$type>(::core::stringify!($name))]
            $($rest)*
        }
    };
    (@read $head:tt [$($parameters:tt)*] [$($values:tt)*] [$($declared:tt)*] $name:ident: $type:ty, $($rest:tt)*) => {
        $crate::__elementwise_kernel! { @read $head
            [$($parameters)* $name: $type,]
            [$($values)* $crate::kernels::KernelArg::value::<$type>($name),]
            [$($declared)* .value::<$type>(::core::stringify!($name))]
            $($rest)*
        }
    };
    (@read { [$(#[$meta:meta])*] [$vis:vis] [$($unsafe:tt)*] [$($block:tt)*] $name:ident, $Kernel:ty, $output:ty, $texts:ident $($body:tt)* }
        [$($parameters:tt)*] [$($values:tt)*] [$($declared:tt)*] $(,)?
    ) => {
        $(#[$meta])*
        #[allow(clippy::too_many_arguments)]
        $vis $($unsafe)* fn $name<'gpu>($($parameters)*) -> $crate::Result<$output> {
            let arguments = [$($values)*];
            // SAFETY: promised where the kernel is declared, or by the caller.
            $($block)* { $name::kernel()?.call(&arguments) }
        }

        #[doc = ::core::concat!("The kernel of [`", ::core::stringify!($name), "()`].")]
        #[allow(non_camel_case_types)]
        #[derive(Debug)]
        $vis struct $name {}

        #[allow(dead_code)]
        impl $name {
            /// The kernel itself.
            ///
            /// # Errors
            /// The error of its declaration, if it has one.
            $vis fn kernel() -> $crate::Result<&'static $Kernel> {
                static KERNEL: ::std::sync::LazyLock<$crate::Result<$Kernel>> = ::std::sync::LazyLock::new(|| {
                    let declared = $crate::kernels::Declaration::default()$($declared)*;
                    $crate::__elementwise_kernel! { @$texts declared $name $($body)* }
                });
                ::core::result::Result::as_ref(&KERNEL).map_err(::core::clone::Clone::clone)
            }

            #[doc = ::core::concat!("As [`", ::core::stringify!($name), "()`], for these places.")]
            ///
            /// # Errors
            /// As there, and `IndexRange` if an array lacks some of them.
            ///
            /// # Safety
            /// As there.
            #[allow(clippy::too_many_arguments, clippy::unnecessary_safety_doc)]
            $vis $($unsafe)* fn over<'gpu>(places: $crate::kernels::IndexRange, $($parameters)*) -> $crate::Result<$output> {
                let arguments = [$($values)*];
                // SAFETY: promised where the kernel is declared, or by the caller.
                $($block)* { Self::kernel()?.call_over(places, &arguments) }
            }
        }
    };
    (@reduction $declared:ident $name:ident $output:ty, [
        $(preamble: $preamble:expr;)? identity: $identity:expr; reduce: $reduce:expr; $(commutative: $commutative:literal;)? map: $map:expr $(;)?
    ]) => {
        ::core::result::Result::map($declared.reduction::<$output>(::core::stringify!($name), $identity, $reduce, $map), |kernel| {
            $(let kernel = kernel.preamble($preamble);)?
            $(let kernel = if $commutative { kernel.commutative() } else { kernel };)?
            kernel
        })
    };
    (@scan $declared:ident $name:ident $state:ty, [
        $(preamble: $preamble:expr;)? identity: $identity:expr; scan: $scan:expr; $(segments: $segments:expr;)? input: $input:expr; output: $output:expr $(;)?
    ]) => {
        ::core::result::Result::map($declared.scan::<$state>(::core::stringify!($name), $identity, $scan, $input, $output), |kernel| {
            $(let kernel = kernel.preamble($preamble);)?
            $(let kernel = kernel.segments($segments);)?
            kernel
        })
    };
    (@text $declared:ident $name:ident [$($texts:tt)*] [preamble: $text:expr; $($rest:tt)*]) => {
        $crate::__elementwise_kernel! { @text $declared $name [$($texts)* .preamble($text)] [$($rest)*] }
    };
    (@text $declared:ident $name:ident [$($texts:tt)*] [loop_prep: $text:expr; $($rest:tt)*]) => {
        $crate::__elementwise_kernel! { @text $declared $name [$($texts)* .loop_prep($text)] [$($rest)*] }
    };
    (@text $declared:ident $name:ident [$($texts:tt)*] [after_loop: $text:expr; $($rest:tt)*]) => {
        $crate::__elementwise_kernel! { @text $declared $name [$($texts)* .after_loop($text)] [$($rest)*] }
    };
    (@text $declared:ident $name:ident [$($texts:tt)*] [$operation:expr]) => {
        ::core::result::Result::map($declared.kernel(::core::stringify!($name), $operation), |kernel| kernel$($texts)*)
    };
}
