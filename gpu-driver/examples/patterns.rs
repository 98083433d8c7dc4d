//! The patterns that most programs are made of, from texts: a sum of two arrays of the host, a map, a reduction and a scan.
//! `cargo run -p gpu-driver --example patterns -- 1000000`, with the number of elements; without a GPU with `GPU_DEVICE=emulated`.
//!
//! The crate gpu-algos has fast ones for arrays.
use std::{env, error::Error};

use gpu_driver::{Device, DeviceVec, HostOut, LaunchConfig, Module};

const THREADS: u32 = 256;

const ADD: &str = r#"
extern "C" __global__ void add(const int *x, const int *y, int *sum, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) sum[i] = x[i] + y[i];
}
"#;

/// The text of a kernel that sets each element of `y` to an expression of the element `x`.
fn map_text(expression: &str) -> String {
    format!(
        r#"
extern "C" __global__ void map(const int *input, int *y, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int x = input[i];
    y[i] = {expression};
}}
"#
    )
}

/// The text of kernels that combine elements by an associative expression of `a` and `b`; `identity` combined with any `x` is `x`.
fn combination_text(identity: &str, expression: &str) -> String {
    format!(
        r#"
__device__ int combine(int a, int b) {{ return {expression}; }}

// result[block] is the combination of the block's share of x.
extern "C" __global__ void reduce(const int *x, int *result, int n) {{
    __shared__ int shared[{THREADS}];
    int mine = {identity}, share = (n + gridDim.x - 1) / gridDim.x, first = blockIdx.x * share;
    for (int i = first + threadIdx.x; i < n && i < first + share; i += {THREADS}) mine = combine(mine, x[i]);
    shared[threadIdx.x] = mine;
    for (int half = {THREADS} / 2; half > 0; half /= 2) {{
        __syncthreads();
        if (threadIdx.x < half) shared[threadIdx.x] = combine(shared[threadIdx.x], shared[threadIdx.x + half]);
    }}
    if (threadIdx.x == 0) result[blockIdx.x] = shared[0];
}}

// y[i] is the combination of the elements of i's block up to i, totals[block] that of all of them.
extern "C" __global__ void scan(const int *x, int *y, int *totals, int n) {{
    __shared__ int shared[2][{THREADS}];
    int i = blockIdx.x * {THREADS} + threadIdx.x, now = 0;
    shared[now][threadIdx.x] = i < n ? x[i] : {identity};
    for (int distance = 1; distance < {THREADS}; distance *= 2) {{
        __syncthreads();
        int value = shared[now][threadIdx.x];
        if (threadIdx.x >= distance) value = combine(shared[now][threadIdx.x - distance], value);
        now = 1 - now;
        shared[now][threadIdx.x] = value;
    }}
    if (i < n) y[i] = shared[now][threadIdx.x];
    if (threadIdx.x == {THREADS} - 1) totals[blockIdx.x] = shared[now][threadIdx.x];
}}

// Puts the combination of all blocks before it before each element.
extern "C" __global__ void put_before(int *y, const int *scanned_totals, int n) {{
    int i = blockIdx.x * {THREADS} + threadIdx.x;
    if (blockIdx.x > 0 && i < n) y[i] = combine(scanned_totals[blockIdx.x - 1], y[i]);
}}
"#
    )
}

/// The combination of all elements.
fn reduce(combination: &Module, x: &DeviceVec<i32>) -> Result<i32, Box<dyn Error>> {
    let (stream, kernel, n) = (x.home(), combination.function("reduce")?, i32::try_from(x.len())?);
    let blocks = x.len().div_ceil(THREADS as usize).clamp(1, 64);
    let mut parts = DeviceVec::<i32>::zeros(stream, blocks)?;
    let mut whole = [0];
    // SAFETY: each block writes its own part.
    unsafe { kernel.launch(LaunchConfig::new(blocks as u32, THREADS), (x.input(), parts.output(), n), stream)? };
    // SAFETY: one block writes one value.
    unsafe {
        kernel.launch(LaunchConfig::new(1, THREADS), (parts.input(), HostOut(&mut whole), blocks as i32), stream)?
    };
    Ok(whole[0])
}

/// The combinations of all elements up to each, inclusive.
fn scan(combination: &Module, x: &DeviceVec<i32>) -> Result<DeviceVec<i32>, Box<dyn Error>> {
    let (stream, n) = (x.home(), i32::try_from(x.len())?);
    let shape = LaunchConfig::for_elements(x.len());
    let mut y = DeviceVec::<i32>::zeros(stream, x.len())?;
    let mut totals = DeviceVec::<i32>::zeros(stream, shape.grid.x as usize)?;
    // SAFETY: each thread writes its own element, and the last of each block the block's total.
    unsafe { combination.function("scan")?.launch(shape, (x.input(), y.output(), totals.output(), n), stream)? };
    if totals.len() > 1 {
        let before = scan(combination, &totals)?;
        // SAFETY: each thread changes its own element.
        unsafe { combination.function("put_before")?.launch(shape, (y.in_out(), before.input(), n), stream)? };
    }
    Ok(y)
}

fn ensure<T: PartialEq>(pattern: &str, got: T, want: T) -> Result<(), Box<dyn Error>> {
    if got == want { Ok(()) } else { Err(format!("{pattern}: not the values of the CPU").into()) }
}

/// Runs each pattern on `n` elements, and compares with the CPU.
fn patterns(device: &Device, n: usize) -> Result<(), Box<dyn Error>> {
    let stream = device.stream();
    let x: Vec<i32> = (0..n).map(|i| (i * 7919 % 2003) as i32 - 1000).collect();
    let y: Vec<i32> = (0..n).map(|i| (i * 104_729 % 1009) as i32).collect();

    let mut sums = vec![0i32; n];
    let (add, len) = (device.compile(ADD)?.function("add")?, i32::try_from(n)?);
    // SAFETY: each thread below n writes its own element.
    unsafe { add.launch(LaunchConfig::for_elements(n), (&x, &y, HostOut(&mut sums), len), &stream)? };
    ensure("sum of two arrays", sums, x.iter().zip(&y).map(|(x, y)| x + y).collect())?;

    let mut mapped = vec![0i32; n];
    let map = device.compile(map_text("x % 2 == 0 ? x / 2 : 3 * x + 1"))?.function("map")?;
    // SAFETY: as above.
    unsafe { map.launch(LaunchConfig::for_elements(n), (&x, HostOut(&mut mapped), len), &stream)? };
    ensure("map", mapped, x.iter().map(|x| if x % 2 == 0 { x / 2 } else { 3 * x + 1 }).collect())?;

    let on_device = DeviceVec::from_slice(&stream, &x)?;
    let sum = device.compile(combination_text("0", "a + b"))?;
    ensure("reduction, sum", reduce(&sum, &on_device)?, x.iter().sum())?;
    let greatest = device.compile(combination_text("-2147483647 - 1", "a > b ? a : b"))?;
    ensure("reduction, greatest", reduce(&greatest, &on_device)?, x.iter().copied().max().unwrap_or(i32::MIN))?;

    let mut total = 0;
    let want = x.iter().map(|x| {
        total += x;
        total
    });
    ensure("scan", scan(&sum, &on_device)?.to_vec()?, want.collect())?;
    println!("{n} elements: the sums, map, reductions and scan are those of the CPU");
    Ok(())
}

/// Runs each pattern on lengths of several blocks, and on one element.
pub fn run(device: &Device) -> Result<(), Box<dyn Error>> {
    [1, 1000].into_iter().try_for_each(|n| patterns(device, n))
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::first()?;
    match env::args().nth(1) {
        None => run(&device),
        Some(n) => patterns(&device, n.parse()?),
    }
}
