//! cuBLASLt: products by the fastest of the algorithms that its heuristic proposes, each of which is timed before the figure.
#![expect(unsafe_code, reason = "calls of cuBLASLt")]

use std::{ffi::c_int, mem::MaybeUninit};

use cudarc::cublaslt::sys::{self, cublasComputeType_t as Compute, cudaDataType_t as Type};
use gpu_array::{Complex, Float, bf16, f16};
use gpu_driver::{CurrentGuard, DevicePod, DeviceVec, Stream};
use gpu_sparse::Scalar;

use super::library::{self, Library};
use crate::{
    algos::{Arithmetic, Product},
    data,
    harness::{Gpu, Harness, Outcome},
};

static LIBRARY: Library = Library {
    name: "cublasLt",
    is_present: sys::is_culib_present,
    opened: sys::culib,
    functions: &[
        "cublasLtCreate",
        "cublasLtDestroy",
        "cublasLtGetVersion",
        "cublasLtMatmul",
        "cublasLtMatmulAlgoGetHeuristic",
        "cublasLtMatmulDescCreate",
        "cublasLtMatmulDescDestroy",
        "cublasLtMatmulDescSetAttribute",
        "cublasLtMatmulPreferenceCreate",
        "cublasLtMatmulPreferenceDestroy",
        "cublasLtMatmulPreferenceSetAttribute",
        "cublasLtMatrixLayoutCreate",
        "cublasLtMatrixLayoutDestroy",
        "cublasLtMatrixLayoutSetAttribute",
    ],
};

/// The name of these figures.
const BY: &str = "cublaslt";
/// The memory that an algorithm may have for itself.
const WORKSPACE: usize = 64 << 20;
/// The most algorithms that are asked for, and the timed calls of each.
const MOST_ALGORITHMS: usize = 16;
const CALLS: usize = 5;

/// Products on the device.
pub(super) fn figures(harness: &mut Harness) {
    let Some(gpu) = harness.gpu() else { return };
    match LIBRARY.ready(gpu.device()) {
        // SAFETY: the function is there.
        Ok(()) => harness.version(BY, &version(unsafe { sys::cublasLtGetVersion() })),
        Err(reason) => return harness.gap(BY, None, &reason.to_string()),
    }
    for product in Product::cases(harness.set(), 4).into_iter().filter(has_no_vector) {
        let of = if product.arithmetic == Arithmetic::Tf32 { Types::TF32 } else { Types::F32 };
        let factors = move || product.factors::<f32>();
        figure(harness, product, data::dtype::<f32>(), of, factors, move |c| Ok(product.check::<f32>(&c)));
    }
    for product in Product::cases(harness.set(), 8).into_iter().filter(has_no_vector) {
        let factors = move || product.factors::<f64>();
        figure(harness, product, data::dtype::<f64>(), Types::F64, factors, move |c| Ok(product.check::<f64>(&c)));
    }
    halves::<f16>(harness, "f16", Arithmetic::F16, Types::F16);
    halves::<bf16>(harness, "bf16", Arithmetic::Bf16, Types::BF16);
    complex::<f32>(harness, "c64", Types::C64);
    complex::<f64>(harness, "c128", Types::C128);
}

/// cuBLASLt multiplies matrices alone, and emulates nothing.
fn has_no_vector(product: &Product) -> bool {
    product.n > 1 && product.arithmetic != Arithmetic::Emulated
}

fn version(version: usize) -> String {
    format!("{}.{}.{}", version / 10000, version / 100 % 100, version % 100)
}

fn halves<T: Float + DevicePod + Into<f64>>(
    harness: &mut Harness,
    dtype: &'static str,
    arithmetic: Arithmetic,
    types: Types,
) {
    for product in Product::half_cases(harness.set(), arithmetic) {
        let rounded = |value: f32| T::rounded_from_f64(value.into());
        let factors = move || product.factors::<f32>().map(|factor| factor.into_iter().map(rounded).collect());
        figure(harness, product, dtype, types, factors, move |c: Vec<T>| {
            let c: Vec<f32> = c.into_iter().map(|value| Into::<f64>::into(value) as f32).collect();
            Ok(product.check(&c))
        });
    }
}

fn complex<T: Scalar>(harness: &mut Harness, dtype: &'static str, types: Types)
where
    Complex<T>: DevicePod,
{
    for product in Product::complex_cases(harness.set()) {
        let factors = move || product.complex_factors::<T>();
        figure(harness, product, dtype, types, factors, move |c| Ok(product.check_complex(&c)));
    }
}

/// One product of elements of type `T`, from factors in the order of memory.
fn figure<T: DevicePod>(
    harness: &mut Harness,
    product: Product,
    dtype: &'static str,
    types: Types,
    factors: impl FnOnce() -> [Vec<T>; 2],
    check: impl FnOnce(Vec<T>) -> Outcome<crate::harness::Check>,
) {
    let is_complex = matches!(types.element, Type::CUDA_C_32F | Type::CUDA_C_64F);
    let work = if is_complex { product.complex_work() } else { product.work::<T>() };
    harness.figure(product.operation(), dtype, product.name(), BY).work(work).on_gpu(
        |gpu| {
            let ([a, b], stream) = (factors(), gpu.stream());
            let (a, b) = (DeviceVec::from_slice(stream, &a)?, DeviceVec::from_slice(stream, &b)?);
            let c = DeviceVec::<T>::zeros(stream, product.matrices * product.m * product.n)?;
            let plan = Plan::fastest(gpu, &product, types, [a.as_raw(), b.as_raw(), c.as_raw()])?;
            Ok((a, b, c, plan))
        },
        |(a, b, c, plan)| plan.multiply([a.as_raw(), b.as_raw(), c.as_raw()]),
        |(_, _, c, _), ()| check(c.to_vec()?),
    );
}

/// The types of a product: of elements, of sums, and of the scalars beside them, with 1 in it.
#[derive(Clone, Copy)]
struct Types {
    element: Type,
    compute: Compute,
    scale: Type,
    one: [u64; 2],
}

impl Types {
    const F32: Self = Self::of(Type::CUDA_R_32F, Compute::CUBLAS_COMPUTE_32F, Type::CUDA_R_32F);
    const TF32: Self = Self::of(Type::CUDA_R_32F, Compute::CUBLAS_COMPUTE_32F_FAST_TF32, Type::CUDA_R_32F);
    const F16: Self = Self::of(Type::CUDA_R_16F, Compute::CUBLAS_COMPUTE_32F, Type::CUDA_R_32F);
    const BF16: Self = Self::of(Type::CUDA_R_16BF, Compute::CUBLAS_COMPUTE_32F, Type::CUDA_R_32F);
    const F64: Self = Self::of(Type::CUDA_R_64F, Compute::CUBLAS_COMPUTE_64F, Type::CUDA_R_64F);
    const C64: Self = Self::of(Type::CUDA_C_32F, Compute::CUBLAS_COMPUTE_32F, Type::CUDA_C_32F);
    const C128: Self = Self::of(Type::CUDA_C_64F, Compute::CUBLAS_COMPUTE_64F, Type::CUDA_C_64F);

    const fn of(element: Type, compute: Compute, scale: Type) -> Self {
        let is_wide = matches!(scale, Type::CUDA_R_64F | Type::CUDA_C_64F);
        let one = if is_wide { 1f64.to_bits() } else { 1f32.to_bits() as u64 };
        Self { element, compute, scale, one: [one, 0] }
    }
}

fn ok(call: &str, status: sys::cublasStatus_t) -> Outcome {
    library::check(call, status, sys::cublasStatus_t::CUBLAS_STATUS_SUCCESS)
}

/// An object of the library, with the function that destroys it.
struct Object<T: Copy> {
    raw: T,
    destroy: unsafe fn(T) -> sys::cublasStatus_t,
}

impl<T: Copy> Object<T> {
    fn new(
        call: &str,
        create: impl FnOnce(*mut T) -> sys::cublasStatus_t,
        destroy: unsafe fn(T) -> sys::cublasStatus_t,
    ) -> Outcome<Self> {
        let mut raw = MaybeUninit::uninit();
        ok(call, create(raw.as_mut_ptr()))?;
        // SAFETY: written by the call that succeeded.
        Ok(Self { raw: unsafe { raw.assume_init() }, destroy })
    }
}

impl<T: Copy> Drop for Object<T> {
    fn drop(&mut self) {
        // SAFETY: made by the call that belongs to this function, destroyed once.
        unsafe { (self.destroy)(self.raw) };
    }
}

/// A stack of matrices in memory, by columns: the layout, and whether it is to be transposed.
fn layout(types: Types, is_transposed: bool, [rows, columns]: [usize; 2], matrices: usize) -> Outcome<Layout> {
    use sys::cublasLtMatrixLayoutAttribute_t::{
        CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
    };
    let [rows, columns] = if is_transposed { [columns, rows] } else { [rows, columns] };
    // SAFETY: the pointer is valid for the call.
    let create =
        |raw| unsafe { sys::cublasLtMatrixLayoutCreate(raw, types.element, rows as u64, columns as u64, rows as i64) };
    let layout = Object::new("cublasLtMatrixLayoutCreate", create, sys::cublasLtMatrixLayoutDestroy)?;
    let (count, offset) = (c_int::try_from(matrices)?, (rows * columns) as i64);
    // SAFETY: the layout is alive; the attributes have these types.
    ok("cublasLtMatrixLayoutSetAttribute", unsafe {
        sys::cublasLtMatrixLayoutSetAttribute(
            layout.raw,
            CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
            (&raw const count).cast(),
            size_of_val(&count),
        )
    })?;
    // SAFETY: as above.
    ok("cublasLtMatrixLayoutSetAttribute", unsafe {
        sys::cublasLtMatrixLayoutSetAttribute(
            layout.raw,
            CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
            (&raw const offset).cast(),
            size_of_val(&offset),
        )
    })?;
    Ok(layout)
}

type Layout = Object<sys::cublasLtMatrixLayout_t>;

/// A product that is prepared: its description, and the algorithm that was fastest.
struct Plan {
    handle: Object<sys::cublasLtHandle_t>,
    description: Object<sys::cublasLtMatmulDesc_t>,
    /// The layouts of b, a and c, as cuBLASLt sees them: c' = b' a'.
    layouts: [Layout; 3],
    algorithm: sys::cublasLtMatmulAlgo_t,
    types: Types,
    stream: Stream,
    workspace: DeviceVec<u8>,
    _current: CurrentGuard,
}

impl Plan {
    /// Times each algorithm that the heuristic proposes on the matrices a, b and c at these addresses.
    fn fastest(gpu: &Gpu, product: &Product, types: Types, addresses: [u64; 3]) -> Outcome<Self> {
        let current = gpu.device().make_current()?;
        // SAFETY: the pointers are valid for the calls.
        let handle = Object::new("cublasLtCreate", |raw| unsafe { sys::cublasLtCreate(raw) }, sys::cublasLtDestroy)?;
        let description = describe(product, types)?;
        let Product { matrices, m, k, n, .. } = *product;
        let layouts = [
            layout(types, product.is_right_transposed, [n, k], matrices)?,
            layout(types, product.is_left_transposed, [k, m], matrices)?,
            layout(types, false, [n, m], matrices)?,
        ];
        let proposed = propose(&handle, &description, &layouts)?;
        let (stream, workspace) = (gpu.stream().clone(), DeviceVec::zeros(gpu.stream(), WORKSPACE)?);
        let Some(first) = proposed.first() else { return Err("cuBLASLt proposes no algorithm".into()) };
        let algorithm = first.algo;
        let mut plan = Self { handle, description, layouts, algorithm, types, stream, workspace, _current: current };
        let mut fastest = (f32::INFINITY, algorithm);
        for result in proposed {
            plan.algorithm = result.algo;
            let Ok(time) = plan.time(addresses) else { continue };
            if time < fastest.0 {
                fastest = (time, result.algo);
            }
        }
        plan.algorithm = fastest.1;
        Ok(plan)
    }

    /// Milliseconds of a few calls behind one that is not timed.
    fn time(&self, addresses: [u64; 3]) -> Outcome<f32> {
        self.multiply(addresses)?;
        let start = self.stream.record()?;
        for _ in 0..CALLS {
            self.multiply(addresses)?;
        }
        Ok(self.stream.record()?.elapsed_ms_since(&start)?)
    }

    /// The product of the matrices a and b, into c, at these addresses.
    fn multiply(&self, [a, b, c]: [u64; 3]) -> Outcome {
        let (zero, [of_b, of_a, of_c]) = ([0u64; 2], self.layouts.each_ref().map(|layout| layout.raw));
        // SAFETY: matrices of these layouts on the device, and the algorithm's workspace; the scalars are read before the call returns.
        ok("cublasLtMatmul", unsafe {
            sys::cublasLtMatmul(
                self.handle.raw,
                self.description.raw,
                (&raw const self.types.one).cast(),
                b as *const _,
                of_b,
                a as *const _,
                of_a,
                (&raw const zero).cast(),
                c as *const _,
                of_c,
                c as *mut _,
                of_c,
                &self.algorithm,
                self.workspace.as_raw() as *mut _,
                WORKSPACE,
                self.stream.as_raw().cast(),
            )
        })
    }
}

fn describe(product: &Product, types: Types) -> Outcome<Object<sys::cublasLtMatmulDesc_t>> {
    use sys::cublasLtMatmulDescAttributes_t::{CUBLASLT_MATMUL_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSB};
    // SAFETY: the pointer is valid for the call.
    let create = |raw| unsafe { sys::cublasLtMatmulDescCreate(raw, types.compute, types.scale) };
    let description = Object::new("cublasLtMatmulDescCreate", create, sys::cublasLtMatmulDescDestroy)?;
    let sides = [
        (CUBLASLT_MATMUL_DESC_TRANSA, product.is_right_transposed),
        (CUBLASLT_MATMUL_DESC_TRANSB, product.is_left_transposed),
    ];
    for (side, is_transposed) in sides {
        let operation = i32::from(is_transposed);
        // SAFETY: the description is alive; CUBLAS_OP_N is 0 and CUBLAS_OP_T is 1, of four bytes.
        ok("cublasLtMatmulDescSetAttribute", unsafe {
            let value = (&raw const operation).cast();
            sys::cublasLtMatmulDescSetAttribute(description.raw, side, value, size_of_val(&operation))
        })?;
    }
    Ok(description)
}

/// The algorithms that the library's heuristic proposes for a workspace of [`WORKSPACE`], the best first.
fn propose(
    handle: &Object<sys::cublasLtHandle_t>,
    description: &Object<sys::cublasLtMatmulDesc_t>,
    layouts: &[Layout; 3],
) -> Outcome<Vec<sys::cublasLtMatmulHeuristicResult_t>> {
    use sys::cublasLtMatmulPreferenceAttributes_t::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES;
    // SAFETY: the pointer is valid for the call.
    let create = |raw| unsafe { sys::cublasLtMatmulPreferenceCreate(raw) };
    let preference = Object::new("cublasLtMatmulPreferenceCreate", create, sys::cublasLtMatmulPreferenceDestroy)?;
    let most = WORKSPACE;
    // SAFETY: the preference is alive; the attribute is a size.
    ok("cublasLtMatmulPreferenceSetAttribute", unsafe {
        let value = (&raw const most).cast();
        sys::cublasLtMatmulPreferenceSetAttribute(
            preference.raw,
            CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
            value,
            size_of_val(&most),
        )
    })?;
    let [of_b, of_a, of_c] = layouts.each_ref().map(|layout| layout.raw);
    let mut results = Vec::<sys::cublasLtMatmulHeuristicResult_t>::with_capacity(MOST_ALGORITHMS);
    let mut count = 0;
    // SAFETY: there is room for as many results as are asked for.
    ok("cublasLtMatmulAlgoGetHeuristic", unsafe {
        sys::cublasLtMatmulAlgoGetHeuristic(
            handle.raw,
            description.raw,
            of_b,
            of_a,
            of_c,
            of_c,
            preference.raw,
            MOST_ALGORITHMS as c_int,
            results.as_mut_ptr(),
            &mut count,
        )
    })?;
    // SAFETY: the library wrote so many.
    unsafe { results.set_len((count.max(0) as usize).min(MOST_ALGORITHMS)) };
    results.retain(|result| result.state == sys::cublasStatus_t::CUBLAS_STATUS_SUCCESS);
    Ok(results)
}
