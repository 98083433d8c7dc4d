//! The methods of arrays and views for reading.

use gpu_driver::{Device, Stream};
use ndarray::{Array, ArrayBase, Axis, DataMut, Dimension, IntoDimension, Ix1, IxDyn, Order, RemoveAxis, SliceArg};

use crate::{
    ArrayError, Chunks, DType, Element, GpuArray, GpuView, GpuViewMut, Numeric, Result, dense, pending::Pending,
    transfer,
};

/// The methods of `$type` for reading; views of it live for `$life`. It has `layout()` and `data()`.
macro_rules! read_only {
    ([$($generics:tt)*] $type:ty, $life:lifetime) => {
        impl<$($generics)*> $type {
            /// The lengths of the axes.
            pub fn shape(&self) -> &[usize] {
                self.layout().shape()
            }

            /// The shape as ndarray's dimension type.
            pub fn raw_dim(&self) -> D {
                self.layout().dim().clone()
            }

            /// The distance in elements of neighbours along each axis; negative where an axis is reversed.
            pub fn strides(&self) -> &[isize] {
                self.layout().strides()
            }

            /// The element type as a value, which prints under its NumPy name.
            pub const fn dtype(&self) -> DType {
                T::DTYPE
            }

            /// Number of axes.
            pub fn ndim(&self) -> usize {
                self.layout().ndim()
            }

            /// Number of elements.
            pub fn len(&self) -> usize {
                self.layout().len()
            }

            /// The length of an axis.
            ///
            /// # Errors
            /// `Axis` where there is no such axis.
            pub fn len_of(&self, axis: Axis) -> Result<usize> {
                let missing = ArrayError::Axis { op: "len_of", axis: axis.0, ndim: self.ndim() };
                self.shape().get(axis.0).copied().ok_or(missing)
            }

            /// Whether it has no element.
            pub fn is_empty(&self) -> bool {
                self.layout().is_empty()
            }

            /// Whether the elements lie in C order without gaps.
            pub fn is_standard_layout(&self) -> bool {
                self.layout().is_c_contiguous()
            }

            /// Whether the elements lie in C or Fortran order without gaps.
            pub fn is_contiguous(&self) -> bool {
                self.layout().is_c_contiguous() || self.layout().is_f_contiguous()
            }

            /// The stream that orders the work on the array.
            pub fn stream(&self) -> &Stream {
                self.data().home()
            }

            /// The device that holds it.
            pub fn device(&self) -> &Device {
                self.stream().device()
            }

            /// All of it, to read.
            pub fn view(&self) -> GpuView<$life, T, D> {
                GpuView::new(self.data(), self.layout().clone(), self.pending())
            }

            /// The part that `s![…]` selects, by ndarray's rules: indices and ends below 0 count from the end of their axis, and a negative step
            /// takes the range backwards.
            ///
            /// # Errors
            /// `Index` or `Slice` where an axis does not reach so far, or for a step of 0; `Ndim` unless there is one index or range
            /// for each axis.
            ///
            /// ```no_run
            /// # let device = gpu_driver::Device::first()?;
            /// use ndarray::{array, s};
            /// let x = gpu_array::GpuArray::from_ndarray(&device, &array![[1, 2, 3], [4, 5, 6]])?;
            /// assert_eq!(x.slice(s![-1, ..;2])?.to_ndarray()?, array![4, 6]);
            /// assert!(x.slice(s![2, ..]).is_err());
            /// # Ok::<(), gpu_array::ArrayError>(())
            /// ```
            pub fn slice<I: SliceArg<D>>(&self, info: I) -> Result<GpuView<$life, T, I::OutDim>> {
                Ok(self.view().with(self.layout().slice(&info)?))
            }

            /// The axes in reverse order: the transpose of a matrix.
            pub fn t(&self) -> GpuView<$life, T, D> {
                self.view().with(self.layout().t())
            }

            /// The axes in another order: axis `i` of the result is axis `axes[i]`.
            ///
            /// # Errors
            /// `Permutation` unless each axis is named once.
            pub fn permuted_axes(&self, axes: impl IntoDimension<Dim = D>) -> Result<GpuView<$life, T, D>> {
                Ok(self.view().with(self.layout().permuted_axes(&axes.into_dimension())?))
            }

            /// Two axes exchanged.
            ///
            /// # Errors
            /// `Axis` where there is no such axis.
            pub fn swap_axes(&self, a: Axis, b: Axis) -> Result<GpuView<$life, T, D>> {
                Ok(self.view().with(self.layout().swap_axes(a, b)?))
            }

            /// An axis backwards.
            ///
            /// # Errors
            /// `Axis` where there is no such axis.
            pub fn invert_axis(&self, axis: Axis) -> Result<GpuView<$life, T, D>> {
                Ok(self.view().with(self.layout().invert_axis(axis)?))
            }

            /// The elements, counted in C order, in another shape, of which one length may be [`INFER`](crate::INFER).
            ///
            /// Borrows; [`GpuArray::into_shape`] keeps the array.
            ///
            /// # Errors
            /// `Reshape` for another number of elements; `Infer` where no length fits; `ReshapeNeedsCopy` where the strides of the array do
            /// not allow it without moving elements ([`to_standard_layout`](Self::to_standard_layout) makes a copy whose strides do).
            pub fn reshape<E: IntoDimension>(&self, shape: E) -> Result<GpuView<$life, T, E::Dim>> {
                self.reshape_with_order(shape, Order::RowMajor)
            }

            /// The elements in another shape, as by `reshape`, but counted in that order in both shapes.
            ///
            /// # Errors
            /// The errors of `reshape`.
            pub fn reshape_with_order<E: IntoDimension>(
                &self,
                shape: E,
                order: Order,
            ) -> Result<GpuView<$life, T, E::Dim>> {
                Ok(self.view().with(self.layout().reshape(shape.into_dimension(), order)?))
            }

            /// The elements at any distances, NumPy's `as_strided`, but checked and in elements: element `(i, j, …)` is the one that lies
            /// `i * strides[0] + j * strides[1] + …` elements of memory behind the first. An element may be part of the result many times, as in
            /// sliding windows.
            ///
            /// # Errors
            /// `Strided` where the result would lead out of the array; `Gaps` for a view among whose elements others lie; `Ndim` unless there is a
            /// stride for each axis; `TooLarge`.
            ///
            /// ```no_run
            /// # let device = gpu_driver::Device::first()?;
            /// let x = gpu_array::GpuArray::arange(&device, 0, 5, 1)?;
            /// let windows = x.as_strided((3, 3), &[1, 1])?;
            /// assert_eq!(windows.to_ndarray()?, ndarray::array![[0, 1, 2], [1, 2, 3], [2, 3, 4]]);
            /// assert!(x.as_strided((4, 3), &[1, 1]).is_err());
            /// # Ok::<(), gpu_array::ArrayError>(())
            /// ```
            #[doc(alias("sliding_window_view", "windows"))]
            pub fn as_strided<E: IntoDimension>(&self, shape: E, strides: &[isize]) -> Result<GpuView<$life, T, E::Dim>> {
                Ok(self.view().with(self.layout().as_strided(shape.into_dimension(), strides)?))
            }

            /// The bytes of the elements as elements of another number type, NumPy's `x.view(dtype)`; nothing is copied.
            ///
            /// # Shapes
            /// Types of one size: the shape stays. Else the last axis, which must be contiguous, has more elements of a smaller type or fewer of a larger
            /// one, and the others stay. Bytes are in the order of the device, the lowest first.
            ///
            /// # Errors
            /// `ViewAs` where the last axis is not contiguous, where it or the distance of rows is no whole number of the new elements, where the first
            /// element is not aligned to them, and for a single value without axes of another size.
            ///
            /// ```no_run
            /// # let device = gpu_driver::Device::first()?;
            /// let x = gpu_array::GpuArray::from_vec(&device, vec![1.0f32, -0.0])?;
            /// assert_eq!(x.view_as::<u32>()?.to_ndarray()?.to_vec(), [0x3f80_0000, 0x8000_0000]);
            /// assert_eq!(x.view_as::<u8>()?.shape(), [8]);
            /// # Ok::<(), gpu_array::ArrayError>(())
            /// ```
            #[doc(alias("view", "frombuffer", "bitcast", "transmute", "to_bits", "from_bits"))]
            pub fn view_as<U: Numeric>(&self) -> Result<GpuView<$life, U, D>> {
                self.view().cast_bytes()
            }

            /// Without the axes of length 1.
            pub fn squeeze(&self) -> GpuView<$life, T, IxDyn> {
                self.view().with(self.layout().squeeze())
            }

            /// With a new axis of length 1 that becomes axis number `axis`.
            ///
            /// # Errors
            /// `Axis` beyond the number of axes.
            pub fn insert_axis(&self, axis: Axis) -> Result<GpuView<$life, T, D::Larger>> {
                Ok(self.view().with(self.layout().insert_axis(axis)?))
            }

            /// The elements with one index of an axis, without that axis.
            ///
            /// # Errors
            /// `Axis` where there is no such axis, `Index` where it does not reach so far.
            #[doc(alias("row", "column"))]
            pub fn index_axis(&self, axis: Axis, index: usize) -> Result<GpuView<$life, T, D::Smaller>>
            where
                D: RemoveAxis,
            {
                Ok(self.view().with(self.layout().index_axis(axis, index)?))
            }

            /// The elements repeated to fill a shape, by NumPy's rules: axes are compared from the last, and one of length 1, or one
            /// that is missing, takes any length. Nothing is copied.
            ///
            /// # Errors
            /// `Broadcast` where a length is neither the wanted one nor 1; `TooLarge`.
            pub fn broadcast<E: IntoDimension>(&self, shape: E) -> Result<GpuView<$life, T, E::Dim>> {
                Ok(self.view().with(self.layout().broadcast(shape.into_dimension())?))
            }

            /// The elements whose indices are all the same. [`diagonal_of`](Self::diagonal_of) takes two axes, and others beside the main one.
            #[doc(alias("diag", "trace"))]
            pub fn diagonal(&self) -> GpuView<$life, T, Ix1> {
                self.view().with(self.layout().diagonal())
            }

            /// A diagonal of two axes, NumPy's `diagonal(offset, a, b)`: the elements `(.., i, .., i + offset, ..)` with i along `a` and
            /// `i + offset` along `b`. Nothing is copied.
            ///
            /// Its sum is the trace: `x.diagonal_of(1, Axis(0), Axis(1))?.sum()` with `gpu-algos`. `diagonal_of_mut` gives a view
            /// to write to.
            ///
            /// # Shapes
            /// The other axes in their order, then the diagonal: those of a stack of matrices are the rows of the result. A diagonal beyond the corner
            /// is empty.
            ///
            /// # Errors
            /// `Axis` where there is no such axis; `RepeatedAxis` for one axis twice.
            ///
            /// ```no_run
            /// # let device = gpu_driver::Device::first()?;
            /// use ndarray::{Axis, array};
            /// let x = gpu_array::GpuArray::from_ndarray(&device, &array![[1, 2, 3], [4, 5, 6]])?;
            /// assert_eq!(x.diagonal_of(1, Axis(0), Axis(1))?.to_ndarray()?, array![2, 6]);
            /// assert_eq!(x.diagonal_of(-1, Axis(0), Axis(1))?.to_ndarray()?, array![4]);
            /// # Ok::<(), gpu_array::ArrayError>(())
            /// ```
            #[doc(alias("diag", "trace", "diagonal"))]
            pub fn diagonal_of(&self, offset: isize, a: Axis, b: Axis) -> Result<GpuView<$life, T, D::Smaller>> {
                Ok(self.view().with(self.layout().diagonal_of(offset, a, b)?))
            }

            /// The elements before an index of an axis, and those from it on.
            ///
            /// # Errors
            /// `Axis` where there is no such axis, `Index` beyond its length.
            pub fn split_at(&self, axis: Axis, index: usize) -> Result<(GpuView<$life, T, D>, GpuView<$life, T, D>)> {
                let (before, after) = self.layout().split_at(axis, index)?;
                Ok(self.view().with_both(before, after))
            }

            /// Views of `parts` equal parts of an axis, as NumPy's `split`; nothing is copied.
            ///
            /// # Errors
            /// `Axis` where there is no such axis; `Split` for no parts, or where the parts do not divide its length; `TooManyParts` for more than
            /// 2^20.
            ///
            /// ```no_run
            /// # let device = gpu_driver::Device::first()?;
            /// use ndarray::{Axis, array};
            /// let x = gpu_array::GpuArray::arange(&device, 0, 6, 1)?;
            /// let thirds = x.split(Axis(0), 3)?;
            /// assert_eq!(thirds[1].to_ndarray()?, array![2, 3]);
            /// # Ok::<(), gpu_array::ArrayError>(())
            /// ```
            #[doc(alias("hsplit", "vsplit"))]
            pub fn split(&self, axis: Axis, parts: usize) -> Result<Vec<GpuView<$life, T, D>>> {
                Ok(self.view().with_each(self.layout().split(axis, parts)?))
            }

            /// Views of `parts` parts of an axis, of which the first ones have an index more where the parts do not divide its length, as NumPy's
            /// `array_split`; nothing is copied.
            ///
            /// # Errors
            /// `Axis` where there is no such axis; `Split` for no parts; `TooManyParts` for more than 2^20.
            pub fn array_split(&self, axis: Axis, parts: usize) -> Result<Vec<GpuView<$life, T, D>>> {
                Ok(self.view().with_each(self.layout().array_split(axis, parts)?))
            }

            /// Views of the parts of an axis before, between and behind some indices, as NumPy's `split` with indices; nothing is copied.
            ///
            /// There is a part more than there are indices. An index beyond the axis counts as its end; a part whose end is not behind its start
            /// is empty.
            ///
            /// # Errors
            /// `Axis` where there is no such axis.
            ///
            /// ```no_run
            /// # let device = gpu_driver::Device::first()?;
            /// use ndarray::{Axis, array};
            /// let x = gpu_array::GpuArray::arange(&device, 0, 6, 1)?;
            /// let parts = x.split_at_indices(Axis(0), &[1, 4])?;
            /// assert_eq!(parts[1].to_ndarray()?, array![1, 2, 3]);
            /// # Ok::<(), gpu_array::ArrayError>(())
            /// ```
            #[doc(alias = "split")]
            pub fn split_at_indices(&self, axis: Axis, indices: &[usize]) -> Result<Vec<GpuView<$life, T, D>>> {
                Ok(self.view().with_each(self.layout().split_at_indices(axis, indices)?))
            }

            /// Parts of `size` indices of an axis each, the last one maybe of fewer.
            ///
            /// # Errors
            /// `Axis` where there is no such axis, `Chunk` for a size of 0.
            #[doc(alias = "outer_iter")]
            pub fn chunks(&self, axis: Axis, size: usize) -> Result<Chunks<$life, T, D>> {
                Chunks::new(self.view(), axis, size)
            }

            /// The value of an array that has one element.
            ///
            /// # Cost
            /// A copy of one element; waits for the home stream.
            ///
            /// # Errors
            /// `NotOneElement`; `DeviceLost`.
            #[doc(alias = "item")]
            pub fn get(&self) -> Result<T> {
                self.pending().map_or(Ok(()), Pending::check)?;
                let missing = || ArrayError::NotOneElement { shape: self.shape().to_vec() };
                if self.len() != 1 {
                    return Err(missing());
                }
                let place = self.layout().offset();
                let stored = self.data().slice(place..place + 1)?.to_vec()?;
                stored.first().copied().map(T::from_storage).ok_or_else(missing)
            }

            /// A new array on the same stream with the same elements, in Fortran order where these are, else in C order.
            ///
            /// # Errors
            /// `OutOfMemory`, `DeviceLost`.
            #[track_caller]
            pub fn to_owned(&self) -> Result<GpuArray<T, D>> {
                dense::to_dense(&self.view())
            }

            /// A new array on the same stream with the same elements, in C order.
            ///
            /// # Cost
            /// A copy by the driver where the elements are in C order, else one kernel. Does not wait.
            ///
            /// # Errors
            /// `OutOfMemory`, `DeviceLost`; `NoNvrtc` where the kernel cannot be compiled.
            ///
            /// ```no_run
            /// # let device = gpu_driver::Device::first()?;
            /// let x = gpu_array::GpuArray::from_ndarray(&device, &ndarray::array![[1, 2, 3], [4, 5, 6]])?;
            /// let flat = x.t().to_standard_layout()?.into_shape(6)?; // `to_owned` keeps Fortran order
            /// assert_eq!(flat.to_ndarray()?.to_vec(), [1, 4, 2, 5, 3, 6]);
            /// # Ok::<(), gpu_array::ArrayError>(())
            /// ```
            #[doc(alias("as_standard_layout", "ascontiguousarray", "ravel", "flatten"))]
            #[track_caller]
            pub fn to_standard_layout(&self) -> Result<GpuArray<T, D>> {
                dense::to_standard_layout(&self.view())
            }

            /// The array on the host, after waiting for the home stream; in Fortran order where it is so on the device, else in
            /// C order.
            ///
            /// # Cost
            /// One copy from the device; of a view that is not contiguous a copy on the device before it.
            ///
            /// # Errors
            /// `DeviceLost` when a kernel faulted.
            #[doc(alias("asnumpy", "to_vec", "get"))]
            pub fn to_ndarray(&self) -> Result<Array<T, D>> {
                transfer::to_ndarray(&self.view())
            }

            /// Overwrites an ndarray array or view of any layout, after waiting for the home stream.
            ///
            /// # Cost
            /// The cost of [`to_ndarray`](Self::to_ndarray); a target that is not in the order of this array, or of `bool`, takes another
            /// copy on the host.
            ///
            /// # Errors
            /// `Shape` unless both have the same; `DeviceLost`.
            pub fn copy_to_ndarray<S: DataMut<Elem = T>>(&self, target: &mut ArrayBase<S, D>) -> Result<()> {
                transfer::copy_to_ndarray(&self.view(), target.view_mut())
            }
        }
    };
}

read_only!([T: Element, D: Dimension] GpuArray<T, D>, '_);
read_only!(['a, T: Element, D: Dimension] GpuView<'a, T, D>, 'a);
read_only!([T: Element, D: Dimension] GpuViewMut<'_, T, D>, '_);
