//! Parameters with named fields, in kernels that are made at run time.

use gpu_driver::{
    Device, DeviceVec, DriverError, GeneratedKernel, KernelSpace, LIST, LaunchConfig, Program, joined_text,
    kernel_constants, kernel_params, kernel_struct,
};
use testkit::{Outcome, ensure, ensure_eq};

static SPACE: KernelSpace = KernelSpace::new();

kernel_constants! {
    const FLAGS: &str;
    /// Adds 1000 to each sum.
    const WITH_OFFSET: u32 = 2;
}

kernel_struct! {
    /// A row of floats.
    struct Row {
        /// The address of the first one.
        address: u64,
        /// Elements from one to the next.
        stride: i64,
    }
}

kernel_params! {
    /// The parameters of a weighted sum of rows.
    struct RowsParams<"int ROWS, int WEIGHTS">, RowsHead {
        /// The address of the sums.
        target: u64,
        /// Elements of a row.
        count: u32,
        /// Of the constants above.
        flags: u32;
        /// The rows.
        rows: ["Row"; "ROWS"],
        /// A weight for each row; none for weights of 1.
        weights: ["double"; "WEIGHTS"],
    }
}

const PARAMS: &str =
    joined_text!["#pragma once\n#include \"list.cuh\"\n", FLAGS, Row::DEFINITION, RowsHead::DEFINITION];

const KERNEL: &str = "#include \"params.cuh\"\n\
    template <int ROWS, int WEIGHTS> __global__ void add_rows(const __grid_constant__ RowsParams<ROWS, WEIGHTS> params) {\n\
        if (threadIdx.x >= params.count) return;\n\
        double sum = (params.flags & WITH_OFFSET) != 0 ? 1000 : 0;\n\
        for (int k = 0; k < ROWS; k++) {\n\
            const float x = reinterpret_cast<const float *>(params.rows[k].address)[threadIdx.x * params.rows[k].stride];\n\
            sum += WEIGHTS > 0 ? params.weights[k] * x : x;\n\
        }\n\
        reinterpret_cast<float *>(params.target)[threadIdx.x] = float(sum);\n\
    }\n";

/// The program for so many rows and weights, with a header of the parameters.
fn program(rows: usize, weights: usize, params: &'static str) -> Program {
    let check = RowsHead::check(&format!("RowsParams<{rows}, {weights}>"), [2 * rows.max(1), weights.max(1)]);
    let program = Program::new("rows.cu", format!("{KERNEL}{check}"));
    let program = program.header(LIST.name, LIST.text).header("params.cuh", params);
    program.name_expression(format!("add_rows<{rows}, {weights}>"))
}

fn kernel(device: &Device, rows: usize, weights: usize) -> Result<GeneratedKernel, DriverError> {
    let key = [SPACE.word(), rows as u64, weights as u64];
    device.generated_kernel(&SPACE, &key, || Ok(program(rows, weights, PARAMS)))
}

pub fn parameters_have_names(device: &Device) -> Outcome {
    let stream = device.stream();
    let x = DeviceVec::from_slice(&stream, &(0..24).map(|i| i as f32).collect::<Vec<_>>())?;
    let sums = |rows: &[Row], weights: &[f64], flags: u32| -> Result<Vec<f32>, DriverError> {
        let y = DeviceVec::<f32>::zeros(&stream, 8)?;
        let mut words: Vec<u64> = Vec::new();
        let head = RowsHead { target: y.as_raw(), count: 8, flags };
        RowsParams { head, rows: rows.iter().copied(), weights: weights.iter().copied() }.write(&mut words);
        let config = LaunchConfig { grid: 1.into(), block: 32.into(), shared_bytes: 0 };
        let kernel = kernel(device, rows.len(), weights.len())?;
        // SAFETY: the words are the parameters; each row has eight elements of `x`, and `y` has eight.
        unsafe { kernel.launch(config, &words, &[x.home(), y.home()], &stream)? };
        y.to_vec()
    };
    let forward = Row { address: x.as_raw(), stride: 3 };
    let backward = Row { address: x.as_raw() + 4 * 23, stride: -1 };
    let all = |of: fn(f32) -> f32| (0..8).map(|i| of(i as f32)).collect::<Vec<_>>();
    ensure_eq!(sums(&[forward, backward], &[2.0, 10.0], 0)?, all(|i| 6.0 * i + 230.0 - 10.0 * i));
    ensure_eq!(sums(&[forward, backward, forward], &[], WITH_OFFSET)?, all(|i| 1000.0 + 6.0 * i + 23.0 - i));
    ensure_eq!(sums(&[], &[], WITH_OFFSET)?, all(|_| 1000.0));
    Ok(())
}

/// A field that one side alone has, or has elsewhere, does not compile.
pub fn error_parameters_that_differ_do_not_compile(device: &Device) -> Outcome {
    let changes = [
        ("    uint32_t flags;\n", ""),
        ("    uint32_t count;\n    uint32_t flags;\n", "    uint32_t flags;\n    uint32_t count;\n"),
        ("    uint32_t count;\n", "    uint64_t count;\n"),
        ("gpu::List<Row, ROWS> rows;", "gpu::List<Row, ROWS + 1> rows;"),
        ("    uint64_t address;\n", "    uint64_t address, length;\n"),
    ];
    ensure!(program(2, 1, PARAMS).compile(device.arch()).is_ok());
    for (from, to) in changes {
        let params: &'static str = PARAMS.replacen(from, to, 1).leak();
        ensure!(params != PARAMS, "{from} is not there");
        let error = program(2, 1, params).compile(device.arch()).map(drop);
        let Err(DriverError::Compile(error)) = error else { return Err(format!("{from} -> {to}: {error:?}").into()) };
        ensure!(error.to_string().contains("static"), "{from} -> {to}: {error}");
    }
    Ok(())
}
