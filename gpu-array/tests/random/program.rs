//! Random programs, and their values by definition.

use gpu_array::{DType, promote};
use testkit::Rng;

use super::value::{self, Grid, Value};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Math {
    Sqrt,
    Exp,
    Exp2,
    Expm1,
    Log,
    Log2,
    Log10,
    Log1p,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Cbrt,
}

impl Math {
    /// All but the special functions, with which a kernel compiles for seconds.
    pub const ALL: [Self; 18] = {
        use Math::*;
        [Sqrt, Exp, Exp2, Expm1, Log, Log2, Log10, Log1p, Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Tanh, Cbrt]
    };
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unary {
    Negate,
    Absolute,
    Sign,
    Square,
    Recip,
    Floor,
    Ceil,
    Round,
    Truncate,
    Not,
    IsNan,
    IsFinite,
    Powi(i32),
    Math(Math),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    FloorDivide,
    Fmod,
    Minimum,
    Maximum,
    Fmin,
    Fmax,
    Power,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Atan2,
    Hypot,
}

use Binary::*;

const ARITHMETIC: [Binary; 11] =
    [Add, Subtract, Multiply, Divide, Remainder, FloorDivide, Fmod, Minimum, Maximum, Fmin, Fmax];
const COMPARISONS: [Binary; 6] = [Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual];
const BITS: [Binary; 5] = [And, Or, Xor, ShiftLeft, ShiftRight];
/// Between two types.
const MIXED: [Binary; 7] = [Add, Subtract, Multiply, Divide, FloorDivide, Maximum, Less];

impl Binary {
    pub fn compares(self) -> bool {
        COMPARISONS.contains(&self)
    }

    /// Whether a scalar can stand on its left.
    pub fn is_operator(self) -> bool {
        matches!(self, Add | Subtract | Multiply | Divide | Remainder) || BITS.contains(&self)
    }

    /// The type that both operands are brought to, and that of the value.
    fn types(self, a: DType, b: DType) -> (DType, DType) {
        let common = promote(a, b);
        let float = if common.is_float() { common } else { DType::F64 };
        match self {
            Divide | Atan2 | Hypot => (float, float),
            _ if self.compares() => (common, DType::Bool),
            _ => (common, common),
        }
    }
}

/// The value of an earlier step, or a scalar of the type that the other operand has.
#[derive(Clone, Copy, Debug)]
pub enum Arg {
    Step(usize),
    Scalar(Value),
}

#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Leaf(usize),
    Unary(Unary, usize),
    Binary(Binary, Arg, Arg),
    /// At least one of the numbers is a step.
    Where(usize, Arg, Arg),
    Clamp(usize, Arg, Arg),
    Fma(usize, Arg, Arg),
    Cast(usize),
}

#[derive(Clone, Debug)]
pub struct Step {
    pub kind: Kind,
    pub dtype: DType,
}

/// Steps, each of which refers to earlier ones; the last one's value is the program's.
#[derive(Clone, Debug, Default)]
pub struct Program {
    pub steps: Vec<Step>,
}

/// The types and operations of random programs.
#[derive(Clone, Copy, Debug)]
pub struct Choice<'c> {
    pub dtypes: &'c [DType],
    /// Only operations with the same bits on every machine.
    pub exact: bool,
}

impl Program {
    pub fn random(choice: Choice<'_>, leaves: usize, size: usize, rng: &mut Rng) -> Self {
        let mut program = Self::default();
        for leaf in 0..leaves {
            let dtype = choice.dtypes[rng.below(choice.dtypes.len())];
            program.steps.push(Step { kind: Kind::Leaf(leaf), dtype });
        }
        for _ in 0..size {
            let step = program.next(choice, rng);
            program.steps.push(step);
        }
        program
    }

    pub fn dtype(&self) -> DType {
        self.steps.last().map_or(DType::Bool, |step| step.dtype)
    }

    /// The types of the leaves.
    pub fn leaves(&self) -> Vec<DType> {
        let leaves = self.steps.iter().filter(|step| matches!(step.kind, Kind::Leaf(_)));
        leaves.map(|step| step.dtype).collect()
    }

    /// One of the steps, the last ones more often.
    fn any(&self, rng: &mut Rng) -> usize {
        let n = self.steps.len();
        if rng.below(3) > 0 { n - 1 - rng.below(n.min(2)) } else { rng.below(n) }
    }

    /// A step of a type, or a scalar.
    fn like(&self, dtype: DType, rng: &mut Rng) -> Arg {
        let steps: Vec<usize> = (0..self.steps.len()).filter(|&step| self.steps[step].dtype == dtype).collect();
        if steps.is_empty() || rng.below(3) == 0 {
            Arg::Scalar(Value::random(dtype, rng))
        } else {
            Arg::Step(steps[rng.below(steps.len())])
        }
    }

    fn next(&self, choice: Choice<'_>, rng: &mut Rng) -> Step {
        let x = self.any(rng);
        let dtype = self.steps[x].dtype;
        match rng.below(10) {
            0 => Step { kind: Kind::Cast(x), dtype: choice.dtypes[rng.below(choice.dtypes.len())] },
            1 | 2 => self.unary(x, choice, rng),
            3 => self.mixed(x, rng),
            4 if dtype == DType::Bool => self.choose(x, choice, rng),
            4 if dtype.is_float() => Step { kind: Kind::Fma(x, self.like(dtype, rng), self.like(dtype, rng)), dtype },
            4 | 5 if dtype != DType::Bool => {
                Step { kind: Kind::Clamp(x, self.like(dtype, rng), self.like(dtype, rng)), dtype }
            }
            _ => self.binary(x, choice, rng),
        }
    }

    fn choose(&self, condition: usize, choice: Choice<'_>, rng: &mut Rng) -> Step {
        let other = self.any(rng);
        let dtype =
            if rng.below(4) == 0 { choice.dtypes[rng.below(choice.dtypes.len())] } else { self.steps[other].dtype };
        Step { kind: Kind::Where(condition, self.like(dtype, rng), self.like(dtype, rng)), dtype }
    }

    fn unary(&self, x: usize, choice: Choice<'_>, rng: &mut Rng) -> Step {
        use Unary::*;
        let dtype = self.steps[x].dtype;
        let of_number = [Negate, Absolute, Sign, Square, Recip, Floor, Ceil, Round, Truncate];
        let math = if choice.exact { self::Math::Sqrt } else { self::Math::ALL[rng.below(18)] };
        let op = match (dtype, rng.below(13)) {
            (DType::Bool, _) => Not,
            (_, i @ 0..9) => of_number[i],
            (_, 9) => Powi(rng.below(13) as i32 - 4),
            (_, 10) => Math(math),
            (dtype, i) if dtype.is_float() => [IsNan, IsFinite][i - 11],
            _ => Not,
        };
        let dtype = match op {
            IsNan | IsFinite => DType::Bool,
            Recip | Math(_) if !dtype.is_float() => DType::F64,
            _ => dtype,
        };
        Step { kind: Kind::Unary(op, x), dtype }
    }

    fn mixed(&self, x: usize, rng: &mut Rng) -> Step {
        let (y, op) = (rng.below(self.steps.len()), MIXED[rng.below(MIXED.len())]);
        let (a, b) = (self.steps[x].dtype, self.steps[y].dtype);
        if (a, b) == (DType::Bool, DType::Bool) {
            return Step { kind: Kind::Binary(Xor, Arg::Step(x), Arg::Step(y)), dtype: DType::Bool };
        }
        Step { kind: Kind::Binary(op, Arg::Step(x), Arg::Step(y)), dtype: op.types(a, b).1 }
    }

    fn binary(&self, x: usize, choice: Choice<'_>, rng: &mut Rng) -> Step {
        let dtype = self.steps[x].dtype;
        let mut ops: Vec<Binary> = Vec::new();
        if dtype == DType::Bool {
            ops.extend([And, Or, Xor, Equal, NotEqual]);
        } else {
            ops.extend(ARITHMETIC);
            ops.push(COMPARISONS[rng.below(6)]);
        }
        if dtype.is_float() && !choice.exact {
            ops.extend([Power, Atan2, Hypot]);
        }
        if dtype != DType::Bool && !dtype.is_float() {
            ops.extend(BITS);
            ops.push(Power);
        }
        let op = ops[rng.below(ops.len())];
        let (mut a, mut b) = (Arg::Step(x), self.like(dtype, rng));
        if op.is_operator() && rng.below(2) == 0 {
            (a, b) = (b, a);
        }
        Step { kind: Kind::Binary(op, a, b), dtype: op.types(dtype, dtype).1 }
    }

    /// The value by definition, from the values of the leaves.
    pub fn compute(&self, leaves: &[Grid]) -> Grid {
        self.compute_all(leaves).pop().expect("a step")
    }

    /// The values of all steps.
    pub fn compute_all(&self, leaves: &[Grid]) -> Vec<Grid> {
        let mut grids: Vec<Grid> = Vec::new();
        for step in &self.steps {
            let grid = self.step(step, &grids, leaves);
            grids.push(grid);
        }
        grids
    }

    fn step(&self, step: &Step, grids: &[Grid], leaves: &[Grid]) -> Grid {
        let dtype = step.dtype;
        let scalar = |value| Grid { dtype, shape: vec![], values: vec![value] };
        let arg = |arg: Arg| match arg {
            Arg::Step(step) => grids[step].clone(),
            Arg::Scalar(value) => scalar(value),
        };
        match step.kind {
            Kind::Leaf(leaf) => leaves[leaf].clone(),
            Kind::Unary(op, x) => {
                let of = self.steps[x].dtype;
                each(dtype, &[&grids[x]], |v| value::unary(op, v[0], of))
            }
            Kind::Cast(x) => each(dtype, &[&grids[x]], |v| value::cast(v[0], dtype)),
            Kind::Binary(op, a, b) => {
                let type_of = |arg: Arg| if let Arg::Step(step) = arg { Some(self.steps[step].dtype) } else { None };
                let (left, right) = (type_of(a).or(type_of(b)), type_of(b).or(type_of(a)));
                let (common, _) = op.types(left.expect("a step"), right.expect("a step"));
                each(dtype, &[&arg(a), &arg(b)], |v| {
                    value::binary(op, value::cast(v[0], common), value::cast(v[1], common), common)
                })
            }
            Kind::Where(c, a, b) => each(dtype, &[&grids[c], &arg(a), &arg(b)], |v| value::select(v[0], v[1], v[2])),
            Kind::Fma(x, a, b) => each(dtype, &[&grids[x], &arg(a), &arg(b)], |v| value::fma(v[0], v[1], v[2])),
            Kind::Clamp(x, a, b) => each(dtype, &[&grids[x], &arg(a), &arg(b)], |v| {
                value::binary(Minimum, value::binary(Maximum, v[0], v[1], dtype), v[2], dtype)
            }),
        }
    }
}

/// A function of one value of each operand at each place of their common shape.
fn each(dtype: DType, operands: &[&Grid], function: impl Fn(&[Value]) -> Value) -> Grid {
    let rank = operands.iter().map(|operand| operand.shape.len()).max().unwrap_or(0);
    let length = |operand: &Grid, axis: usize| match (axis + operand.shape.len()).checked_sub(rank) {
        Some(own) => operand.shape[own],
        None => 1,
    };
    let shape: Vec<usize> = (0..rank)
        .map(|axis| operands.iter().map(|operand| length(operand, axis)).find(|&length| length != 1).unwrap_or(1))
        .collect();
    let place = |operand: &Grid, place: &[usize]| {
        (0..rank).fold(0, |at, axis| match length(operand, axis) {
            1 => at,
            length => at * length + place[axis],
        })
    };
    let mut values = Vec::new();
    let mut at = vec![0; rank];
    for _ in 0..shape.iter().product() {
        let args: Vec<Value> = operands.iter().map(|operand| operand.values[place(operand, &at)]).collect();
        values.push(function(&args));
        for axis in (0..rank).rev() {
            at[axis] += 1;
            if at[axis] < shape[axis] {
                break;
            }
            at[axis] = 0;
        }
    }
    Grid { dtype, shape, values }
}
