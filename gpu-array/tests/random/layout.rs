//! Views of any layout, of arrays on either place.

use gpu_array::{Element, GpuView, GpuViewMut, Result};
use ndarray::{ArrayViewD, ArrayViewMutD, IxDyn, SliceInfoElem};
use testkit::Rng;

/// How an array becomes a view: its axes permuted, then sliced, then maybe repeated.
#[derive(Clone, Debug)]
pub struct View {
    /// Of the array.
    pub base: Vec<usize>,
    axes: Vec<usize>,
    slices: Vec<(isize, isize, isize)>,
    broadcast: Option<Vec<usize>>,
}

impl View {
    /// The whole of an array.
    pub fn whole(shape: &[usize]) -> Self {
        Self::of(shape, (0..shape.len()).collect(), &vec![(0, 1, 0); shape.len()])
    }

    /// A view of a shape whose axes lie in memory as `order` says, the outermost first, each with elements before, a step, elements after.
    pub fn of(shape: &[usize], order: Vec<usize>, cuts: &[(usize, isize, usize)]) -> Self {
        let span = |axis: usize| shape[axis].checked_sub(1).map_or(0, |last| last * cuts[axis].1.unsigned_abs() + 1);
        let slice = |axis: usize| {
            let (before, step, _) = cuts[axis];
            (before as isize, (before + span(axis)) as isize, step)
        };
        let base = order.iter().map(|&axis| cuts[axis].0 + span(axis) + cuts[axis].2).collect();
        let mut axes = vec![0; shape.len()];
        for (memory, &axis) in order.iter().enumerate() {
            axes[axis] = memory;
        }
        Self { base, axes, slices: (0..shape.len()).map(slice).collect(), broadcast: None }
    }

    /// A random view that can be broadcast to a shape.
    pub fn random(shape: &[usize], rng: &mut Rng) -> Self {
        let mut own = shape[if rng.below(4) == 0 { rng.below(shape.len() + 1) } else { 0 }..].to_vec();
        for length in &mut own {
            if rng.below(6) == 0 {
                *length = 1;
            }
        }
        let mut order: Vec<usize> = (0..own.len()).collect();
        match rng.below(4) {
            0 => rng.shuffle(&mut order),
            1 => order.reverse(),
            _ => {}
        }
        let gaps = rng.below(2) == 0;
        let cuts: Vec<_> = own
            .iter()
            .map(|_| if gaps { (rng.below(3), [1, 1, -1, 2, -2, 3][rng.below(6)], rng.below(2)) } else { (0, 1, 0) })
            .collect();
        let mut view = Self::of(&own, order, &cuts);
        if rng.below(5) == 0 {
            view.broadcast = Some(shape.to_vec());
        }
        view
    }

    fn slices(&self) -> Vec<SliceInfoElem> {
        let slices = self.slices.iter();
        slices.map(|&(start, end, step)| SliceInfoElem::Slice { start, end: Some(end), step }).collect()
    }

    pub fn of_host<'a, T: Element>(&self, array: ArrayViewD<'a, T>) -> ArrayViewD<'a, T> {
        let slices = self.slices();
        let view = array.permuted_axes(self.axes.clone()).slice_move(&slices[..]);
        match &self.broadcast {
            // Leaked, a few bytes: `broadcast` borrows from the view rather than from its elements.
            Some(shape) => Box::leak(Box::new(view)).broadcast(IxDyn(shape)).expect("a shape that fits"),
            None => view,
        }
    }

    pub fn of_gpu<'a, T: Element>(&self, array: GpuView<'a, T, IxDyn>) -> Result<GpuView<'a, T, IxDyn>> {
        let view = array.permuted_axes(self.axes.clone())?.slice(&self.slices()[..])?;
        match &self.broadcast {
            Some(shape) => view.broadcast(IxDyn(shape)),
            None => Ok(view),
        }
    }

    /// As [`View::of_host`], to write; nothing is repeated.
    pub fn of_host_mut<'a, T: Element>(&self, array: ArrayViewMutD<'a, T>) -> ArrayViewMutD<'a, T> {
        array.permuted_axes(self.axes.clone()).slice_move(&self.slices()[..])
    }

    /// Calls `write` with the view of an array, to write.
    pub fn with_gpu_mut<T: Element>(
        &self,
        array: &mut GpuViewMut<'_, T, IxDyn>,
        write: impl FnOnce(&mut GpuViewMut<'_, T, IxDyn>) -> Result<()>,
    ) -> Result<()> {
        write(&mut array.permuted_axes_mut(self.axes.clone())?.slice_mut(&self.slices()[..])?)
    }
}
