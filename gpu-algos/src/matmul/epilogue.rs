//! Epilogues: the expression around a product, which the product's kernel evaluates before it stores.

use gpu_array::{
    DType,
    expression::{Around, CONSTANT, HALF_HEADERS, HEADERS, LoweredLeaf, MAX_AXES, PACKED, STRIDED},
    gpu_driver::{Header, Stream, joined_text, kernel_params, kernel_struct},
};
use smallvec::SmallVec;

use super::{
    params::ExtendedParams,
    problem::{Leaves, MatmulProblem, MatmulShape, Matrix},
};
use crate::common::{array_operand::ArrayLayout, launch::Words};

/// The most arrays and scalars of an epilogue. More would spill the sums.
const MOST_OPERANDS: usize = 8;

/// The most instructions of an epilogue, each of which the kernel has up to 256 times.
const MOST_INSTRUCTIONS: usize = 48;

kernel_struct! {
    /// A leaf of the expression, at the first element of the first matrix.
    pub(super) struct EpilogueLeaf {
        /// The address of the element, or the place itself.
        address: u64,
        /// From one row of c to the next.
        row: i64,
        /// From one column of c to the next.
        column: i64,
    }
}

kernel_params! {
    /// The parameters of an expression `E` around a product.
    pub(super) struct EpilogueParams<"class E">, EpilogueHead {
        /// The number of the product among the leaves.
        product: u64;
        /// The leaves.
        leaves: ["EpilogueLeaf"; "E::Leaves::SIZE"],
        /// The strides of the leaves along each axis of the stack.
        batch: ["int64_t"; "E::Leaves::SIZE * MAX_AXES"],
        /// The scalars of the expression.
        scalars: ["uint64_t"; "E::SCALARS"],
        /// Words that the expression has none of.
        extra: ["uint64_t"; "E::EXTRA"],
    }
}

const PARAMS: Header = Header {
    name: "epilogue_params.cuh",
    text: joined_text![
        "#pragma once\n#include \"expression_params.cuh\"\nnamespace gpu::algos::matmul {\n",
        EpilogueLeaf::DEFINITION,
        EpilogueHead::DEFINITION,
        "} // namespace gpu::algos::matmul\n",
    ],
};
/// The header of kernels without and with an epilogue.
pub(super) const EPILOGUE: Header = Header { name: "epilogue.cuh", text: include_str!("device/epilogue.cuh") };
const FUSED: Header = Header { name: "fused_epilogue.cuh", text: include_str!("device/fused_epilogue.cuh") };

/// The expression around a product.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProductEpilogue<'l, 'a> {
    around: &'l Around<'l, 'a>,
}

/// An epilogue with the leaves of one problem, of whose kernel the way in which these lie is a part.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlacedEpilogue<'l, 'a> {
    around: &'l Around<'l, 'a>,
    problem: &'l MatmulProblem,
    kinds: u32,
}

/// The parameters of an epilogue with the structure `Expression`, which has so many leaves and scalars.
fn extended(
    base: &str,
    structure: &str,
    headers: Vec<Header>,
    [leaves, scalars]: [usize; 2],
    [product, kinds]: [usize; 2],
) -> ExtendedParams {
    let check = EpilogueHead::check(
        "gpu::algos::matmul::EpilogueParams<Expression>",
        [leaves * EPILOGUE_LEAF_WORDS, leaves * MAX_AXES, scalars.max(1), 1],
    );
    let params = format!("gpu::algos::matmul::FusedParams<{base}, Expression, {product}, {kinds}>");
    let whole = format!(
        "static_assert(sizeof({params}) == sizeof({base}) + sizeof(gpu::algos::matmul::EpilogueParams<Expression>), \
         \"the parameters of the epilogue follow\");\n"
    );
    let text = format!("#include \"{}\"\n{structure}{check}{whole}", FUSED.name);
    let headers = HEADERS.into_iter().chain(headers).chain([PARAMS, FUSED]).collect();
    ExtendedParams { text, headers, params }
}

/// The larger one of 0 and the sum of a product and an array, of floats.
pub(super) fn sample(base: &str, dtype: DType) -> ExtendedParams {
    let name = dtype.cuda_name();
    let (include, further, wide) = match dtype.is_half() {
        true => ("#include \"half_operations.cuh\"\n", &HALF_HEADERS[..], "float"),
        false => ("", &[][..], name),
    };
    let structure = format!(
        "{include}struct Expression {{\n    typedef gpu::Tuple<{name}, {name}> Leaves;\n    typedef gpu::Tuple<{name}> Outputs;\n    \
         static constexpr int SCALARS = 1, EXTRA = 0;\n    static __device__ __forceinline__ void apply(const uint64_t *scalars, \
         const uint64_t *, const Leaves &x, Outputs &y) {{\n        const {name} sum = {name}(gpu::add({wide}(gpu::get<0>(x)), \
         {wide}(gpu::get<1>(x))));\n        gpu::get<0>(y) = {name}(gpu::maximum({wide}(sum), gpu::word_as<{wide}>(scalars[0])));\n    }}\n}};\n"
    );
    extended(base, &structure, further.to_vec(), [2, 1], [0, 0])
}

impl<'l, 'a> ProductEpilogue<'l, 'a> {
    /// The epilogue of an expression; None for one that is evaluated apart: long ones, and those of another type than the product.
    pub(super) fn of(around: &'l Around<'l, 'a>) -> Option<Self> {
        let expression = around.expression();
        let fits = around.dtype() == around.target().dtype
            && expression.extra().is_empty()
            && expression.leaves().len() + expression.scalars().len() <= MOST_OPERANDS
            && around.instructions() <= MOST_INSTRUCTIONS;
        fits.then_some(Self { around })
    }

    /// The leaves of the expression. That of the product is not read.
    pub(super) fn leaves(&self, shape: &MatmulShape) -> Leaves {
        let leaves = self.around.expression().leaves().enumerate();
        let matrix = |(number, leaf): (usize, LoweredLeaf<'_>)| {
            if number == self.around.leaf() {
                return Matrix::none(shape.batch.len());
            }
            shape.target(&ArrayLayout { address: leaf.address, shape: &shape.result(), strides: leaf.strides })
        };
        leaves.map(matrix).collect()
    }

    /// The streams of the arrays that it reads.
    pub(super) fn homes(&self) -> impl Iterator<Item = &'l Stream> {
        self.around.expression().homes()
    }

    /// The epilogue of a kernel that stores packs of `width` elements of the problem's c.
    pub(super) fn placed(self, problem: &'l MatmulProblem, width: usize) -> PlacedEpilogue<'l, 'a> {
        let kind = |(number, leaf): (usize, LoweredLeaf<'_>)| match problem.leaves[number].column {
            _ if number == self.around.leaf() => PACKED,
            _ if leaf.is_place => STRIDED,
            0 => CONSTANT,
            _ if problem.is_leaf_packed(number, width, leaf.dtype.bytes()) => PACKED,
            _ => STRIDED,
        };
        let leaves = self.around.expression().leaves().enumerate();
        let kinds = leaves.map(|leaf| (kind(leaf) as u32) << (2 * leaf.0)).sum();
        PlacedEpilogue { around: self.around, problem, kinds }
    }
}

impl PlacedEpilogue<'_, '_> {
    /// All that the program depends on.
    pub(super) fn key(&self) -> SmallVec<[u64; 32]> {
        let mut key = SmallVec::from_slice(&[u64::from(self.kinds) << 32 | self.around.leaf() as u64]);
        self.around.expression().write_key(&mut key);
        key
    }

    /// Its part of a kernel's program, whose parameters without it are `base`.
    pub(super) fn text(&self, base: &str) -> ExtendedParams {
        let expression = self.around.expression();
        let lengths = [expression.leaves().len(), expression.scalars().len()];
        let numbers = [self.around.leaf(), self.kinds as usize];
        extended(base, &expression.functor("Expression"), expression.headers(), lengths, numbers)
    }

    /// Appends the parameters to those of the product's kernel.
    pub(super) fn write(&self, params: &mut Words) {
        let (expression, problem) = (self.around.expression(), self.problem);
        let leaf = |&Matrix { address, row, column, .. }: &Matrix| EpilogueLeaf {
            address,
            row: row as i64,
            column: column as i64,
        };
        let leaves: SmallVec<[EpilogueLeaf; 8]> = problem.leaves.iter().map(leaf).collect();
        let steps = |axis: usize| problem.batch.get(axis).map(|axis| &axis.steps[3..]);
        let batch = (0..MAX_AXES).flat_map(|axis| {
            (0..problem.leaves.len()).map(move |leaf| steps(axis).map_or(0, |steps| steps[leaf] as i64))
        });
        EpilogueParams {
            head: EpilogueHead { product: self.around.leaf() as u64 },
            leaves,
            batch,
            scalars: expression.scalars().iter().copied(),
            extra: expression.extra(),
        }
        .write(params);
    }
}

/// Words of a leaf.
const EPILOGUE_LEAF_WORDS: usize = size_of::<EpilogueLeaf>() / size_of::<u64>();
