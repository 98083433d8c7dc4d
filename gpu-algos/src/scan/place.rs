//! The two places where scans are computed: by a kernel on a GPU, or by the functions of [`host`](mod@crate::host).

use gpu_array::{
    Complex, Element, GpuArray, GpuViewMut,
    expression::{Assembled, Expr, Gpu, Host, Lowered, LoweredLeaf, LoweredTarget, Scope, host},
    gpu_driver::{Header, Stream},
};
use ndarray::{Array, ArrayViewMut, Dimension};
use smallvec::SmallVec;

use super::{
    epilogue::{self, MAP, placeholders},
    families::{HostScan, OnHost, ScansOnHost, results_on_host, scan_on_host},
    launch::{Heads, ScanJob},
    lazy::{InPlace, Scan, ScanBackend, ScanMap},
    options::ScanOptions,
};
use crate::{
    AlgoError, Result,
    common::{
        launch::allocate,
        on_host,
        operator::DeviceOperator,
        shape::same_shape,
        source::{ValueSource, checked, identity},
    },
    operators::Operand,
    tiles::layout::TileTarget,
};

/// A place that scans arrays of `T`: [`Gpu`] for each element type, [`Host`] for those that are an [`Operand`], and for complex numbers.
///
/// Code that is generic over the place asks for it, or for [`Reduces`](crate::reduce::Reduces), which has it.
pub trait ScansOf<T: Element>: ScanBackend {
    /// The host's function of a family of scans, where this is the host.
    #[doc(hidden)]
    fn scan_on_host<F: ScansOnHost, O: 'static>() -> Option<HostScan<O>>;
}

impl<T: Element> ScansOf<T> for Gpu {
    fn scan_on_host<F: ScansOnHost, O: 'static>() -> Option<HostScan<O>> {
        None
    }
}

impl<T: Operand> ScansOf<T> for Host {
    fn scan_on_host<F: ScansOnHost, O: 'static>() -> Option<HostScan<O>> {
        Some(|lowered, heads, options| scan_on_host(F::scan::<T>, lowered, heads, options))
    }
}

macro_rules! complex {
    ($($part:ident)*) => {$(
        impl ScansOf<Complex<$part>> for Host {
            fn scan_on_host<F: ScansOnHost, O: 'static>() -> Option<HostScan<O>> {
                Some(|lowered, heads, options| {
                    scan_on_host(F::scan_summands::<Complex<$part>>, lowered, heads, options)
                })
            }
        }
    )*};
}
complex! { f32 f64 }

impl ScanBackend for Gpu {
    fn scan<O: Element, D: Dimension, K: Dimension>(scan: &Scan<'_, O, D, K>) -> Result<GpuArray<O, K>> {
        let (values, dim) = scan.prepare()?;
        let stream = match &scan.home {
            Some(home) => home,
            None => values.stream()?,
        };
        let array = allocate::<O, K>(stream, dim)?;
        let address = array.as_device_vec().as_raw();
        let strides = scan.options.strides(values.shape(), array.strides());
        let target = TileTarget { address, dtype: O::DTYPE, strides: &strides };
        scan.run(values, &target, None, stream)?;
        Ok(array)
    }

    fn scan_into<O: Element, D: Dimension, K: Dimension>(
        scan: &Scan<'_, O, D, K>,
        mut target: GpuViewMut<'_, O, K>,
    ) -> Result<()> {
        let (values, dim) = scan.prepare()?;
        let target = target.lower_mut()?;
        if target.shape != dim.slice() {
            return Err(AlgoError::OutShape { expected: dim.slice().to_vec(), got: target.shape.to_vec() });
        }
        let stream = scan.home.as_ref().unwrap_or(target.home);
        let strides = scan.options.strides(values.shape(), target.strides);
        let place = TileTarget { address: target.address, dtype: O::DTYPE, strides: &strides };
        scan.run(values, &place, Some(target.home), stream)
    }

    fn results<'a, O: Element, D: Dimension>(dim: D, scope: Scope) -> Expr<'a, O, D> {
        epilogue::results(dim, scope)
    }

    fn scan_in_place<T: Element, D: Dimension>(mut scan: InPlace<'_, T, D>) -> Result<()> {
        let ScanOptions { axis, reverse, .. } = scan.options;
        let target = scan.target.lower_mut()?;
        scan.options.check(target.shape)?;
        let source = OfTarget(target);
        let (mode, operator) = (scan.options.mode(), &scan.operator);
        let job = ScanJob { source: &source, heads: None, epilogue: None, operator, mode, axis, reverse };
        let place = TileTarget { address: target.address, dtype: T::DTYPE, strides: target.strides };
        job.run(&place, Some(target.home), target.home)
    }
}

impl ScanBackend for Host {
    fn scan<O: Element, D: Dimension, K: Dimension>(scan: &Scan<'_, O, D, K, Self>) -> Result<Array<O, K>> {
        let (values, dim) = scan.prepare()?;
        let heads = match &scan.heads {
            Some((heads, (_, of))) => Some((checked(heads)?.ready(None)?, *of)),
            None => None,
        };
        let heads = heads.as_ref().map(|(heads, of)| (&**heads, *of));
        let epilogue = scan.epilogue.as_ref().map(ScanMap::assembled).transpose()?;
        let epilogue = epilogue.as_ref().map(|epilogue| epilogue.ready(None)).transpose()?;
        let values = &*values.ready(None)?;
        let results = results_on_host(scan.host.as_ref(), values, heads, epilogue.as_deref(), scan.options)?;
        on_host::shaped(results, dim)
    }

    fn results<'a, O: Element, D: Dimension>(dim: D, scope: Scope) -> Expr<'a, O, D, Self> {
        epilogue::results_on_host(dim, scope)
    }

    fn scan_into<O: Element, D: Dimension, K: Dimension>(
        scan: &Scan<'_, O, D, K, Self>,
        target: ArrayViewMut<'_, O, K>,
    ) -> Result<()> {
        on_host::write(target, &scan.eval()?)
    }

    fn scan_in_place<T: Element, D: Dimension>(mut scan: InPlace<'_, T, D, Self>) -> Result<()> {
        scan.options.check(scan.target.shape())?;
        let results = {
            let values = host(scan.target.view()).lower_deferred()?;
            let by = scan.host.map(OnHost::Results);
            results_on_host(by.as_ref(), &*values.ready(None)?, None, None, scan.options)?
        };
        let results = on_host::shaped(results, scan.target.raw_dim())?;
        scan.target.assign(&results);
        Ok(())
    }
}

impl<'a, O: Element, D: Dimension, K: Dimension> Scan<'a, O, D, K> {
    fn run(
        &self,
        values: &Assembled<'a>,
        target: &TileTarget<'_>,
        home: Option<&Stream>,
        stream: &Stream,
    ) -> Result<()> {
        let values = &*values.ready(Some(stream))?;
        let heads = match &self.heads {
            Some((heads, (kind, _))) => Some((checked(heads)?.ready(Some(stream))?, *kind)),
            None => None,
        };
        let heads = heads.as_ref().map(|(heads, kind)| (&**heads as &dyn ValueSource, *kind));
        let epilogue = self.epilogue.as_ref().map(ScanMap::assembled).transpose()?;
        let epilogue = epilogue.as_ref().map(|epilogue| epilogue.ready(Some(stream))).transpose()?;
        let operation = ScanOperation { operator: &self.operator, options: self.options };
        operation.run(values, heads, epilogue.as_deref(), target, home, stream)
    }
}

/// A scan without its expressions.
#[derive(Clone, Copy)]
pub(super) struct ScanOperation<'o> {
    pub(super) operator: &'o DeviceOperator,
    pub(super) options: ScanOptions,
}

impl ScanOperation<'_> {
    /// Enqueues the scan of `values`, with segments by `heads`, mapped by `epilogue`.
    pub(super) fn run(
        self,
        values: &Lowered<'_>,
        heads: Option<(&dyn ValueSource, Heads)>,
        epilogue: Option<&Lowered<'_>>,
        target: &TileTarget<'_>,
        home: Option<&Stream>,
        stream: &Stream,
    ) -> Result<()> {
        if let Some(epilogue) = epilogue {
            same_shape(MAP, values.shape(), epilogue.shape())?;
        }
        let placeholders = epilogue.map(placeholders);
        let epilogue = epilogue.zip(placeholders.as_deref());
        let epilogue = epilogue.map(|(epilogue, placeholders)| (epilogue as &dyn ValueSource, placeholders));
        let (mode, ScanOptions { axis, reverse, .. }) = (self.options.mode(), self.options);
        let job = ScanJob { source: values, heads, epilogue, operator: self.operator, mode, axis, reverse };
        job.run(target, home, stream)
    }
}

/// The values of an array, as a source.
struct OfTarget<'t>(LoweredTarget<'t>);

impl ValueSource for OfTarget<'_> {
    fn shape(&self) -> &[usize] {
        self.0.shape
    }
    fn leaves(&self) -> SmallVec<[LoweredLeaf<'_>; 4]> {
        let LoweredTarget { address, dtype, strides, .. } = self.0;
        SmallVec::from_iter([LoweredLeaf { address, dtype, is_place: false, strides }])
    }
    fn scalars(&self) -> &[u64] {
        &[]
    }
    fn extra(&self) -> SmallVec<[u64; 4]> {
        SmallVec::new()
    }
    fn homes(&self) -> SmallVec<[&Stream; 4]> {
        SmallVec::from_iter([self.0.home])
    }
    fn add_key(&self, key: &mut SmallVec<[u64; 64]>) {
        key.push(u64::from_be_bytes(*b"in place"));
        key.push(self.0.dtype as u64);
    }
    fn text(&self, name: &str) -> (String, Vec<Header>) {
        identity(name, self.0.dtype)
    }
}
