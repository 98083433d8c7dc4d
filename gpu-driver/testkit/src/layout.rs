//! Layouts of arrays: strided, reversed, broadcast, transposed, unaligned; listed or random.

use ndarray::{ArrayViewD, ArrayViewMutD, IxDyn, SliceInfoElem};

use crate::Rng;

/// How an array becomes a view: its axes permuted, then sliced, then maybe broadcast.
///
/// Arrays on a device take the same three steps from [`Layout::axes`], [`Layout::slices`] and [`Layout::broadcast`].
#[derive(Clone, Debug)]
pub struct Layout {
    /// The shape of the array.
    pub base: Vec<usize>,
    axes: Vec<usize>,
    slices: Vec<(isize, isize, isize)>,
    broadcast: Option<Vec<usize>>,
}

impl Layout {
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

    /// Views of a shape of one axis at least, each with its name: in C order, permuted, reversed, strided, not aligned, and several of these at once.
    pub fn each(shape: &[usize]) -> Vec<(&'static str, Self)> {
        let rank = shape.len();
        let (c_order, plain) = ((0..rank).collect::<Vec<_>>(), vec![(0, 1, 0); rank]);
        let (mut rotated, mut first, mut last) = (c_order.clone(), plain.clone(), plain.clone());
        rotated.rotate_left(1);
        first[0].1 = -1;
        last[rank - 1].1 = 2;
        let mut mixed = last.clone();
        mixed[rank / 2].1 = if rank / 2 == rank - 1 { -2 } else { -1 };
        let from_1 = [&plain[..rank - 1], &[(1, 1, 2)]].concat();
        vec![
            ("in C order", Self::whole(shape)),
            ("axes rotated", Self::of(shape, rotated, &plain)),
            ("in Fortran order", Self::of(shape, (0..rank).rev().collect(), &plain)),
            ("first axis reversed", Self::of(shape, c_order.clone(), &first)),
            ("all axes reversed", Self::of(shape, c_order.clone(), &vec![(0, -1, 0); rank])),
            ("last axis by 2", Self::of(shape, c_order.clone(), &last)),
            ("reversed, last axis by 2", Self::of(shape, c_order.clone(), &mixed)),
            ("last axis from 1", Self::of(shape, c_order, &from_1)),
        ]
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
        let mut layout = Self::of(&own, order, &cuts);
        if rng.below(5) == 0 {
            layout.broadcast = Some(shape.to_vec());
        }
        layout
    }

    /// A random view of any shape: up to four axes, awkward lengths, mostly under 3000 elements and sometimes 40,000, maybe none.
    pub fn random_of_any_shape(rng: &mut Rng) -> Self {
        let most = if rng.below(10) == 0 { 40_000 } else { 3000 };
        let mut shape = Vec::new();
        for _ in 0..rng.below(5) {
            let length = [0, 1, 2, 3, 4, 5, 7, 16, 31, 32, 33, 64, 101, 257, 1021, 2053][rng.below(16)];
            let length = if length == 0 && rng.below(3) > 0 { 17_011 } else { length };
            // An axis without elements stands beside others as if it had one.
            let others: usize = shape.iter().map(|&length: &usize| length.max(1)).product();
            shape.push(if others * length > most { 1 + rng.below(3) } else { length });
        }
        let mut own = shape.clone();
        own.iter_mut().for_each(|length| *length = if rng.below(8) == 0 { 1 } else { *length });
        let mut memory: Vec<usize> = (0..shape.len()).collect();
        match rng.below(4) {
            0 => rng.shuffle(&mut memory),
            1 => memory.reverse(),
            _ => {}
        }
        let mut order = vec![0; shape.len()];
        memory.iter().enumerate().for_each(|(axis, &place)| order[place] = axis);
        let gaps = rng.below(2) == 0;
        let cut = |rng: &mut Rng| {
            let step = [1, 1, -1, 2, -2, 3][rng.below(6)];
            (rng.below(3), step, rng.below(2))
        };
        let cuts: Vec<_> = own.iter().map(|_| if gaps { cut(rng) } else { (0, 1, 0) }).collect();
        Self { broadcast: Some(shape), ..Self::of(&own, order, &cuts) }
    }

    /// The axes of the array in the view's order, the first step.
    pub fn axes(&self) -> Vec<usize> {
        self.axes.clone()
    }

    /// The slice of each axis, the second step.
    pub fn slices(&self) -> Vec<SliceInfoElem> {
        let slices = self.slices.iter();
        slices.map(|&(start, end, step)| SliceInfoElem::Slice { start, end: Some(end), step }).collect()
    }

    /// The shape that the view is broadcast to, the last step; None where it is not.
    pub fn broadcast(&self) -> Option<&[usize]> {
        self.broadcast.as_deref()
    }

    /// The view of an array of the shape [`Layout::base`].
    ///
    /// # Panics
    /// For an array of another shape.
    pub fn of_host<'a, T>(&self, array: ArrayViewD<'a, T>) -> ArrayViewD<'a, T> {
        let view = array.permuted_axes(self.axes()).slice_move(&self.slices()[..]);
        match &self.broadcast {
            // Leaked, a few bytes: `broadcast` borrows from the view rather than from its elements.
            Some(shape) => Box::leak(Box::new(view)).broadcast(IxDyn(shape)).expect("a shape that fits"),
            None => view,
        }
    }

    /// The view of an array as by [`Layout::of_host`], to write; nothing is broadcast.
    ///
    /// # Panics
    /// For an array of another shape.
    pub fn of_host_mut<'a, T>(&self, array: ArrayViewMutD<'a, T>) -> ArrayViewMutD<'a, T> {
        array.permuted_axes(self.axes()).slice_move(&self.slices()[..])
    }
}

#[cfg(test)]
mod tests {
    use ndarray::ArrayD;

    use super::*;

    fn numbered(layout: &Layout) -> ArrayD<usize> {
        let n = layout.base.iter().product();
        ArrayD::from_shape_vec(IxDyn(&layout.base), (0..n).collect()).unwrap()
    }

    #[test]
    fn views_have_their_shapes() {
        for shape in [&[3usize, 5, 7][..], &[4, 6], &[9], &[2, 0, 3]] {
            for (name, layout) in Layout::each(shape) {
                let array = numbered(&layout);
                let view = layout.of_host(array.view());
                assert_eq!(view.shape(), shape, "{name}");
                let plain = name == "in C order" || view.is_empty();
                assert!(shape.len() == 1 || view.is_standard_layout() == plain, "{name}");
            }
        }
    }

    #[test]
    fn random_views_are_of_all_kinds() {
        let mut rng = Rng(1);
        let (mut reversed, mut gaps, mut broadcast, mut empty) = (0, 0, 0, 0);
        for _ in 0..500 {
            let layout = Layout::random_of_any_shape(&mut rng);
            let array = numbered(&layout);
            let view = layout.of_host(array.view());
            assert_eq!(Some(view.shape()), layout.broadcast());
            let any = |is: fn(isize) -> bool| view.strides().iter().any(|&stride| is(stride));
            reversed += usize::from(any(|stride| stride < 0));
            broadcast += usize::from(any(|stride| stride == 0));
            gaps += usize::from(any(|stride| stride.unsigned_abs() > 1));
            empty += usize::from(view.is_empty());
            let narrow = Layout::random(view.shape(), &mut rng);
            let array = numbered(&narrow);
            assert!(narrow.of_host(array.view()).broadcast(view.raw_dim()).is_some());
        }
        assert!(reversed > 50 && gaps > 50 && broadcast > 50 && empty > 5, "{reversed} {gaps} {broadcast} {empty}");
    }
}
