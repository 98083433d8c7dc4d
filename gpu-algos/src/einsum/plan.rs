//! The order in which an einsum is computed: views of the operands, then sums, products and contractions of them, one after the other.

use std::cmp::Reverse;

use super::subscripts::{Label, Subscripts};
use crate::Result;

/// Lists of axes, each for one axis of a view or of a factor.
pub(crate) type Axes = Vec<Vec<usize>>;

/// The computation of an einsum, for any place of the arrays. The result has the axes in their order after the last step, or, without steps,
/// those of the view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EinsumPlan {
    /// For each operand, the axes of which each axis of its view is the diagonal. Axes of length 1 that are broadcast are in none.
    pub(crate) views: Vec<Axes>,
    pub(crate) steps: Vec<Step>,
    /// The shape of the result.
    pub(crate) shape: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The operand in place of which its sums over some axes are put.
    Sum {
        operand: usize,
        axes: Vec<usize>,
    },
    Product(Product),
    Contract(Contract),
}

/// The broadcast product of operands, which are taken out of the list. It is put at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Product {
    pub(crate) operands: Vec<usize>,
    /// For each operand, the axes of the product that its axes are.
    pub(crate) axes: Axes,
    pub(crate) shape: Vec<usize>,
}

/// The stack of matrix products of two operands, which are taken out of the list. It is put at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Contract {
    pub(crate) operands: [usize; 2],
    /// Axes that both have and the result too.
    stack: Vec<[usize; 2]>,
    /// Axes that are summed.
    summed: Vec<[usize; 2]>,
    /// Axes of one operand, which the result has.
    free: [Vec<usize>; 2],
    /// Axis i of the result is axis `order[i]` of those of the stack, then the free ones.
    pub(crate) order: Vec<usize>,
}

/// The axes of a contraction in the order of the matrix products.
pub(crate) struct Matrices {
    /// The axes of each operand: stack, rows, columns.
    pub(crate) orders: [Vec<usize>; 2],
    /// The shape of each operand with rows and columns joined.
    pub(crate) shapes: [Vec<usize>; 2],
    /// The shape of the result with rows and columns joined, and as they are.
    pub(crate) joined: Vec<usize>,
    pub(crate) result: Vec<usize>,
}

impl Contract {
    /// The sums over the last axes of two operands, which are these.
    pub(crate) fn of_pair(last: [usize; 2]) -> Self {
        Self {
            operands: [0, 1],
            stack: Vec::new(),
            summed: vec![last],
            free: last.map(|last| (0..last).collect()),
            order: (0..last[0] + last[1]).collect(),
        }
    }

    /// The matrices of two operands of these shapes and strides. The strides of the larger one sort the summed axes, the largest first, so that axes that
    /// can be joined are neighbours.
    pub(crate) fn matrices(&self, shapes: [&[usize]; 2], strides: [&[isize]; 2]) -> Matrices {
        let elements = shapes.map(|shape| shape.iter().product::<usize>());
        let larger = usize::from(elements[1] > elements[0]);
        let mut summed = self.summed.clone();
        summed.sort_by_key(|pair| Reverse(strides[larger][pair[larger]].unsigned_abs()));
        let of = |pairs: &[[usize; 2]], operand: usize| pairs.iter().map(|pair| pair[operand]).collect::<Vec<_>>();
        let lengths =
            |operand: usize, axes: &[usize]| axes.iter().map(|&axis| shapes[operand][axis]).collect::<Vec<_>>();
        let (stack, [rows, columns]) = ([0, 1].map(|operand| of(&self.stack, operand)), &self.free);
        let (of_stack, of_rows, of_columns) = (lengths(0, &stack[0]), lengths(0, rows), lengths(1, columns));
        let terms: usize = lengths(0, &of(&summed, 0)).iter().product();
        let (m, n): (usize, usize) = (of_rows.iter().product(), of_columns.iter().product());
        let matrix = |last: [usize; 2]| [&of_stack[..], &last].concat();
        Matrices {
            orders: [
                [&stack[0][..], rows, &of(&summed, 0)].concat(),
                [&stack[1][..], &of(&summed, 1), columns].concat(),
            ],
            shapes: [matrix([m, terms]), matrix([terms, n])],
            joined: matrix([m, n]),
            result: [&of_stack[..], &of_rows, &of_columns].concat(),
        }
    }
}

impl EinsumPlan {
    pub(crate) fn new(subscripts: &Subscripts, shapes: &[&[usize]]) -> Self {
        let mut planner = Planner { subscripts, labels: Vec::new(), steps: Vec::new() };
        let views = shapes.iter().enumerate().map(|(operand, shape)| planner.view(operand, shape)).collect();
        planner.sum_alone();
        while planner.labels.len() > 1 {
            planner.join();
        }
        Self { views, steps: planner.steps, shape: subscripts.shape() }
    }
}

/// The labels of the operands that are left, and the steps so far.
struct Planner<'s> {
    subscripts: &'s Subscripts,
    labels: Vec<Vec<Label>>,
    steps: Vec<Step>,
}

impl Planner<'_> {
    /// Sorts labels by their place in the result; others stand behind, as they stood.
    fn sort(&self, labels: &mut [Label]) {
        let output = &self.subscripts.output;
        labels.sort_by_key(|label| output.iter().position(|other| other == label).unwrap_or(usize::MAX));
    }

    /// The axes of an operand's view, whose labels are noted: each label once, without axes that are broadcast.
    fn view(&mut self, operand: usize, shape: &[usize]) -> Axes {
        let all = &self.subscripts.operands[operand];
        let is_broadcast = |axis: usize| shape[axis] == 1 && self.subscripts.length(all[axis]) != 1;
        let mut labels: Vec<Label> = Vec::new();
        for (axis, &label) in all.iter().enumerate() {
            if !labels.contains(&label) && !is_broadcast(axis) {
                labels.push(label);
            }
        }
        self.sort(&mut labels);
        let axes_of = |label: &Label| (0..all.len()).filter(|&axis| all[axis] == *label).collect();
        let axes = labels.iter().map(axes_of).collect();
        self.labels.push(labels);
        axes
    }

    /// Whether a label is still needed when these operands are joined: by the result, or by another operand.
    fn is_needed(&self, label: Label, joined: &[usize]) -> bool {
        let by_others = |(operand, labels): (usize, &Vec<Label>)| !joined.contains(&operand) && labels.contains(&label);
        self.subscripts.output.contains(&label) || self.labels.iter().enumerate().any(by_others)
    }

    /// Sums each operand over the labels that it has alone.
    fn sum_alone(&mut self) {
        for operand in 0..self.labels.len() {
            let labels = self.labels[operand].clone();
            let (needed, summed): (Vec<usize>, Vec<usize>) =
                (0..labels.len()).partition(|&axis| self.is_needed(labels[axis], &[operand]));
            if !summed.is_empty() {
                self.labels[operand] = needed.into_iter().map(|axis| labels[axis]).collect();
                self.steps.push(Step::Sum { operand, axes: summed });
            }
        }
    }

    /// Joins two operands, or all of them if nothing is to be summed.
    fn join(&mut self) {
        if self.labels.iter().flatten().all(|label| self.subscripts.output.contains(label)) {
            return self.multiply((0..self.labels.len()).collect());
        }
        let pair = self.cheapest_pair();
        if self.is_contraction(&pair) { self.contract(pair) } else { self.multiply(pair.to_vec()) }
    }

    /// The labels of the product of some operands: those that are needed after it.
    fn joined(&self, operands: &[usize]) -> Vec<Label> {
        let mut labels: Vec<Label> = Vec::new();
        for &label in operands.iter().flat_map(|&operand| &self.labels[operand]) {
            if !labels.contains(&label) && self.is_needed(label, operands) {
                labels.push(label);
            }
        }
        labels
    }

    /// Number of elements of an array with these labels, as a float, which nothing overflows.
    fn elements(&self, labels: &[Label]) -> f64 {
        labels.iter().map(|&label| self.subscripts.length(label) as f64).product()
    }

    /// Whether the product of two operands is summed over a label.
    fn is_contraction(&self, pair: &[usize; 2]) -> bool {
        self.labels[pair[0]].iter().any(|&label| !self.is_needed(label, pair))
    }

    /// The pair with the fewest multiplications, then the smallest product, then the first; such that are summed come before others.
    fn cheapest_pair(&self) -> [usize; 2] {
        let count = self.labels.len();
        let pairs = (0..count).flat_map(|left| (left + 1..count).map(move |right| [left, right]));
        let cost = |pair: &[usize; 2]| {
            let [left, right] = pair.map(|operand| &self.labels[operand]);
            let others = right.iter().filter(|label| !left.contains(label));
            let all: Vec<Label> = left.iter().chain(others).copied().collect();
            (!self.is_contraction(pair), self.elements(&all), self.elements(&self.joined(pair)))
        };
        let cheaper = |a: &[usize; 2], b: &[usize; 2]| {
            let (a, b) = (cost(a), cost(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.total_cmp(&b.2))
        };
        pairs.min_by(cheaper).unwrap_or([0, 1])
    }

    /// Takes operands out of the list, and puts their product at the end.
    fn replace(&mut self, operands: &[usize], product: Vec<Label>) {
        let left = self.labels.iter().enumerate().filter(|(operand, _)| !operands.contains(operand));
        self.labels = left.map(|(_, labels)| labels.clone()).chain([product]).collect();
    }

    fn multiply(&mut self, operands: Vec<usize>) {
        let mut product = self.joined(&operands);
        self.sort(&mut product);
        let place = |label: &Label| product.iter().position(|other| other == label).unwrap_or_default();
        let axes = operands.iter().map(|&operand| self.labels[operand].iter().map(place).collect()).collect();
        let shape = product.iter().map(|&label| self.subscripts.length(label)).collect();
        self.replace(&operands, product);
        self.steps.push(Step::Product(Product { operands, axes, shape }));
    }

    fn contract(&mut self, mut pair: [usize; 2]) {
        let is_last = self.labels.len() == 2;
        let mut product = self.joined(&pair);
        self.sort(&mut product);
        // The rows of the result are those of the left operand.
        let is_free =
            |label: &&Label| pair.iter().filter(|&&operand| self.labels[operand].contains(label)).count() == 1;
        if product.iter().find(is_free).is_some_and(|first| self.labels[pair[1]].contains(first)) {
            pair.reverse();
        }
        let [left, right] = pair.map(|operand| &self.labels[operand]);
        let axis = |labels: &[Label], label: &Label| labels.iter().position(|other| other == label);
        let (mut stack, mut summed, mut free, mut natural) =
            (Vec::new(), Vec::new(), [Vec::new(), Vec::new()], [const { Vec::new() }; 3]);
        for label in product.iter().chain(left.iter().filter(|label| !product.contains(label))) {
            match (axis(left, label), axis(right, label)) {
                (Some(i), Some(j)) if product.contains(label) => {
                    stack.push([i, j]);
                    natural[0].push(*label);
                }
                (Some(i), Some(j)) => summed.push([i, j]),
                (Some(i), None) => {
                    free[0].push(i);
                    natural[1].push(*label);
                }
                (None, Some(j)) => {
                    free[1].push(j);
                    natural[2].push(*label);
                }
                (None, None) => {}
            }
        }
        let natural = natural.concat();
        let product = if is_last { product } else { natural.clone() };
        let order = product.iter().filter_map(|label| axis(&natural, label)).collect();
        self.replace(&pair, product);
        self.steps.push(Step::Contract(Contract { operands: pair, stack, summed, free, order }));
    }
}

/// The operations of the steps, on a GPU or on the host.
pub(crate) trait Evaluator {
    type Array;
    fn sum(&self, array: &Self::Array, axes: &[usize]) -> Result<Self::Array>;
    fn product(&self, factors: &[Self::Array], product: &Product) -> Result<Self::Array>;
    /// The contraction of two factors.
    fn contract(&self, factors: &[Self::Array], contract: &Contract) -> Result<Self::Array>;
}

/// Computes the steps, from the views of the operands on.
pub(crate) fn run<E: Evaluator>(evaluator: &E, plan: &EinsumPlan, mut arrays: Vec<E::Array>) -> Result<E::Array> {
    for step in &plan.steps {
        match step {
            Step::Sum { operand, axes } => arrays[*operand] = evaluator.sum(&arrays[*operand], axes)?,
            Step::Product(product) => {
                let factors = take(&mut arrays, &product.operands);
                arrays.push(evaluator.product(&factors, product)?);
            }
            Step::Contract(contract) => {
                let factors = take(&mut arrays, &contract.operands);
                arrays.push(evaluator.contract(&factors, contract)?);
            }
        }
    }
    Ok(arrays.pop().unwrap_or_else(|| unreachable!("an einsum has an operand")))
}

/// Takes arrays out of a list, in the order of the numbers.
fn take<A>(arrays: &mut Vec<A>, numbers: &[usize]) -> Vec<A> {
    let mut slots: Vec<Option<A>> = arrays.drain(..).map(Some).collect();
    let taken = numbers.iter().filter_map(|&number| slots[number].take()).collect();
    arrays.extend(slots.into_iter().flatten());
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str, shapes: &[&[usize]]) -> EinsumPlan {
        EinsumPlan::new(&Subscripts::new(text, shapes).unwrap(), shapes)
    }

    /// The names of the steps, with the operands that they take.
    fn steps(text: &str, shapes: &[&[usize]]) -> String {
        let name = |step: &Step| match step {
            Step::Sum { operand, axes } => format!("sum {operand} over {axes:?}"),
            Step::Product(product) => format!("multiply {:?}", product.operands),
            Step::Contract(contract) => format!("contract {:?} into {:?}", contract.operands, contract.order),
        };
        plan(text, shapes).steps.iter().map(name).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn steps_are_few_and_the_cheapest_come_first() {
        assert_eq!(steps("ij->ji", &[&[2, 3]]), "");
        assert_eq!(steps("ii->i", &[&[3, 3]]), "");
        assert_eq!(steps("ijk->ki", &[&[2, 3, 4]]), "sum 0 over [2]");
        assert_eq!(steps("i,j,k->kij", &[&[2], &[3], &[4]]), "multiply [0, 1, 2]");
        assert_eq!(steps("ij,jk->ik", &[&[2, 3], &[3, 4]]), "contract [0, 1] into [0, 1]");
        assert_eq!(steps("ij,jk->ki", &[&[2, 3], &[3, 4]]), "contract [1, 0] into [0, 1]");
        assert_eq!(steps("ij,kl->ik", &[&[2, 3], &[4, 5]]), "sum 0 over [1], sum 1 over [1], multiply [0, 1]");
        assert_eq!(steps("bij,bjk->ikb", &[&[7, 2, 3], &[7, 3, 4]]), "contract [0, 1] into [1, 2, 0]");
        // A chain from its short end.
        let chain: [&[usize]; 3] = [&[50, 40], &[40, 30], &[30, 1]];
        assert_eq!(steps("ij,jk,kl->il", &chain), "contract [2, 1] into [0, 1], contract [0, 1] into [0, 1]");
        assert_eq!(steps("i,ij,j->", &[&[9], &[9, 8], &[8]]), "contract [1, 0] into [0], contract [0, 1] into []");
        assert_eq!(steps("i,i,i->", &[&[9], &[9], &[9]]), "multiply [0, 1], contract [0, 1] into []");
        // Products that are summed come before others, which may be small at first.
        assert_eq!(
            steps("i,j,ijk->k", &[&[9], &[8], &[9, 8, 7]]),
            "contract [2, 0] into [0, 1], contract [1, 0] into [0]"
        );
        // Of two ways of one cost the first.
        let cube: [&[usize]; 3] = [&[4, 4], &[4, 4], &[4, 4]];
        assert_eq!(steps("ij,jk,kl->il", &cube), "contract [0, 1] into [0, 1], contract [1, 0] into [0, 1]");
    }

    #[test]
    fn views_are_diagonals_without_broadcast_axes() {
        let of = |text: &str, shapes: &[&[usize]]| plan(text, shapes).views;
        assert_eq!(of("iji->ji", &[&[3, 2, 3]]), [[vec![1], vec![0, 2]]]);
        assert_eq!(of("ij,jk->ik", &[&[2, 1], &[5, 3]]), [vec![vec![0]], vec![vec![1], vec![0]]]);
        assert_eq!(of("ii,i->i", &[&[1, 1], &[3]]), [vec![], vec![vec![0]]]);
        assert_eq!(of("ij,ij->", &[&[1, 1], &[1, 1]]), [[vec![0], vec![1]], [vec![0], vec![1]]]);
    }
}
