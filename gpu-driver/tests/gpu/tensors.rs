//! Copies of boxes of tensors into shared memory, and products of the tiles there.

use std::{ffi::c_void, fmt::Debug, ops::Mul};

use gpu_driver::{
    Device, DevicePod, DeviceVec, DriverError, GeneratedKernel, KernelSpace, LaunchConfig, Module, Program,
    SHARED_ADDRESS, Swizzle, TENSOR_COPY, TensorLayout, TensorMap, WARP_PRODUCTS, WARPGROUP,
};
use testkit::{Outcome, ensure, ensure_eq};

static SPACE: KernelSpace = KernelSpace::new();

const TEXT: &str = "\
#include \"warpgroup.cuh\"
// Copies one box, and writes it to y as it lies in shared memory.
__global__ void box_of(const __grid_constant__ gpu::TensorMap map, int x, int y, int z, uint32_t bytes, unsigned char *to) {
    SHARED_DYNAMIC(unsigned char, memory);
    SHARED(gpu::CopyBarrier, arrived, [1]);
    unsigned char *stage = gpu::swizzle_base(memory);
    if (threadIdx.x == 0) arrived[0].init(1);
    gpu::publish_barriers();
    __syncthreads();
    // Two rounds: the second overwrites the first.
    for (uint32_t round = 0; round < 2; round++) {
        if (threadIdx.x == 0) {
            gpu::prefetch_map(map);
            arrived[0].expect(bytes);
            gpu::copy_box(stage, map, x, y, z, arrived[0]);
        }
        arrived[0].wait(round & 1);
        if (round == 1) {
            for (uint32_t at = threadIdx.x; at < bytes; at += blockDim.x) to[at] = stage[at];
        }
        __syncthreads();
    }
}

// Blocks of a cluster copy four rows of 128 bytes each to all of them, twice: the second round begins when all have read the first.
template <int BLOCKS> __global__ void __launch_bounds__(64) GPU_CLUSTER(BLOCKS)
shares_of_box(const __grid_constant__ gpu::TensorMap map, uint32_t *to) {
    typedef gpu::Cluster<BLOCKS> Cluster;
    SHARED_DYNAMIC(unsigned char, memory);
    SHARED(gpu::CopyBarrier, arrived, [1]);
    SHARED(gpu::CopyBarrier, released, [1]);
    unsigned char *stage = gpu::swizzle_base(memory);
    if (threadIdx.x == 0) {
        arrived[0].init(1);
        released[0].init(Cluster::REACHED * blockDim.x);
        gpu::publish_barriers();
    }
    Cluster::meet();
    for (uint32_t round = 0; round < 2; round++) {
        if (threadIdx.x == 0) {
            released[0].wait(round & 1 ^ 1);
            arrived[0].expect(BLOCKS * 512);
            for (int share = 0; share < BLOCKS; share++) {
                if (Cluster::copies(share))
                    Cluster::copy_box(stage + share * 512, map, 0, 4 * (BLOCKS * int(round) + share), 0, arrived[0]);
            }
        }
        arrived[0].wait(round & 1);
        uint32_t *const result = to + (round * gridDim.x + blockIdx.x) * BLOCKS * 128;
        for (uint32_t at = threadIdx.x; at < BLOCKS * 128; at += blockDim.x)
            result[at] = reinterpret_cast<uint32_t *>(stage)[at];
        Cluster::arrive(released[0]);
    }
    Cluster::meet();
}

// sums = a b for 64 rows, 2 COUNT columns and one step along k, twice: the second adds to the first.
template <uint32_t TYPE, bool A_ACROSS, bool B_ACROSS, int COUNT>
__global__ void __launch_bounds__(128, 1) product(const __grid_constant__ gpu::TensorMap map_a,
                                                  const __grid_constant__ gpu::TensorMap map_b, float *c) {
    constexpr int N = 2 * COUNT, ROW = 128 / gpu::bytes_of(TYPE), STEP = ROW / 4;
    SHARED_DYNAMIC(unsigned char, memory);
    SHARED(gpu::CopyBarrier, arrived, [1]);
    unsigned char *a = gpu::swizzle_base(memory), *b = a + 64 * 128;
    if (threadIdx.x == 0) {
        arrived[0].init(1);
        gpu::publish_barriers();
        // Tiles of 128 bytes along k.
        arrived[0].expect((64 + N) * 128);
        gpu::copy_box(a, map_a, 0, 0, 0, arrived[0]);
        if (B_ACROSS) {
            for (int panel = 0; panel < N / 64; panel++) gpu::copy_box(b + panel * 8192, map_b, panel * 64, 0, 0, arrived[0]);
        } else {
            gpu::copy_box(b, map_b, 0, 0, 0, arrived[0]);
        }
    }
    __syncthreads();
    arrived[0].wait(0);
    const gpu::TilePlace left = A_ACROSS ? gpu::across_k(a, 8192) : gpu::along_k<128>(a);
    const gpu::TilePlace right = B_ACROSS ? gpu::across_k(b, 8192) : gpu::along_k<128>(b);
    typename gpu::SumOf<TYPE>::type sums[COUNT];
    gpu::warpgroup_begin();
    for (int step = 0; step < 4; step++) {
        gpu::multiply_add<TYPE, A_ACROSS, B_ACROSS>(sums, left.behind(step * (A_ACROSS ? STEP * 128 : 32)),
                                                    right.behind(step * (B_ACROSS ? STEP * 128 : 32)), step > 0);
    }
    gpu::warpgroup_commit();
    gpu::warpgroup_wait<0>();
    for (int k = 0; k < COUNT; k++) {
        const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + k / 2 % 2 * 8;
        float &to = c[row * N + k / 4 * 8 + threadIdx.x % 4 * 2 + k % 2];
        if constexpr (gpu::bytes_of(TYPE) == 1)
            to = float(int32_t(sums[k]));
        else
            to = sums[k];
    }
}

// c = a b in TF32, with a of 64 rows and 8 columns in registers.
__global__ void __launch_bounds__(128, 1) product_of_rows(const float *a, const __grid_constant__ gpu::TensorMap map_b, float *c) {
    SHARED_DYNAMIC(unsigned char, memory);
    SHARED(gpu::CopyBarrier, arrived, [1]);
    unsigned char *b = gpu::swizzle_base(memory);
    if (threadIdx.x == 0) {
        arrived[0].init(1);
        gpu::publish_barriers();
        arrived[0].expect(64 * 128);
        gpu::copy_box(b, map_b, 0, 0, 0, arrived[0]);
    }
    __syncthreads();
    arrived[0].wait(0);
    const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, k = threadIdx.x % 4;
    uint32_t rows[4];
    for (int at = 0; at < 4; at++) rows[at] = gpu::round_to_tf32(a[(row + at % 2 * 8) * 8 + k + at / 2 * 4]);
    float sums[32];
    gpu::warpgroup_begin();
    gpu::multiply_add_rows(sums, rows, gpu::along_k<128>(b), false);
    gpu::warpgroup_commit();
    gpu::warpgroup_wait<0>();
    for (int at = 0; at < 32; at++)
        c[(row + at / 2 % 2 * 8) * 64 + at / 4 * 8 + threadIdx.x % 4 * 2 + at % 2] = sums[at];
}
";

const OF_WARPS: &str = "\
#include \"warp_products.cuh\"
// The tile of 64 rows of 128 bytes.
__device__ void copy_tile(unsigned char *to, const unsigned char *from) {
    for (int at = threadIdx.x; at < 512; at += 32)
        gpu::copy_to_shared<16>(to + gpu::swizzled<128>(at * 16), from + at * 16);
}
// c = a b for 64 rows, 64 columns and 128 bytes along k.
template <uint32_t TYPE, bool A_ACROSS, bool B_ACROSS>
__global__ void product_of_warp(const unsigned char *a, const unsigned char *b, float *c) {
    typedef typename gpu::SumOf<TYPE>::type Sum;
    SHARED_DYNAMIC(unsigned char, memory);
    unsigned char *left = gpu::swizzle_base(memory), *right = left + 8192;
    copy_tile(left, a);
    copy_tile(right, b);
    gpu::end_batch_of_copies();
    gpu::wait_for_copies<0>();
    __syncthreads();
    const gpu::TilePlace rows = A_ACROSS ? gpu::across_k(left, 8192) : gpu::along_k<128>(left);
    const gpu::TilePlace columns = B_ACROSS ? gpu::across_k(right, 8192) : gpu::along_k<128>(right);
    // Columns in two halves.
    for (int half = 0; half < 2; half++) {
        Sum sums[4][16] = {};
        gpu::WarpFactors<TYPE, A_ACROSS, B_ACROSS, 4, 16> factors;
        for (int step = 0; step < 4; step++) {
            factors.load(rows, 0, columns, half * 32, step);
            factors.add_products(sums);
        }
        for (int at = 0; at < 64; at++) {
            const int row = at / 16 * 16 + threadIdx.x / 4 + at / 2 % 2 * 8;
            const int column = half * 32 + at % 16 / 4 * 8 + threadIdx.x % 4 * 2 + at % 2;
            const Sum sum = sums[at / 16][at % 16];
            c[row * 64 + column] = gpu::bytes_of(TYPE) == 1 ? float(int32_t(sum)) : float(sum);
        }
    }
}
";

fn kernel(device: &Device, number: u64, name: &str) -> Result<GeneratedKernel, DriverError> {
    let program = || {
        let program = Program::new("tensors.cu", TEXT).name_expression(name).option("-default-device");
        Ok([TENSOR_COPY, WARPGROUP]
            .into_iter()
            .fold(program.architecture_specific(), |program, header| program.header(header.name, header.text)))
    };
    device.generated_kernel(&SPACE, &[SPACE.word(), number], program)
}

/// A device with tensor maps, which architectures before 9.0 lack.
pub fn device_with_maps() -> Result<Device, String> {
    let device = Device::for_tests().map_err(|error| error.to_string())?;
    let arch = device.arch();
    if arch.major >= 9 { Ok(device) } else { Err(format!("tensor maps need architecture 9.0, got {arch}")) }
}

pub fn boxes_are_copied_with_zeros_around_the_tensor(device: &Device) -> Outcome {
    let stream = device.stream();
    let lengths = [50usize, 7, 3];
    let pitch = 56; // whole 16 bytes of u16
    let values: Vec<u16> = (0..lengths[2] * lengths[1] * pitch).map(|at| at as u16 + 1).collect();
    let x = DeviceVec::from_slice(&stream, &values)?;
    for (swizzle, width) in [(Swizzle::None, 40usize), (Swizzle::Rows64, 32), (Swizzle::Rows128, 64)] {
        let box_lengths = [width, 9, 2];
        let map = TensorMap::new(
            device,
            &TensorLayout {
                address: x.as_raw(),
                element_bytes: 2,
                lengths: lengths.map(|length| length as u64),
                strides: [2 * pitch as u64, (2 * pitch * lengths[1]) as u64],
                box_lengths: box_lengths.map(|length| length as u32),
                swizzle,
            },
        )?;
        for at in [[0i32, 0, 0], [16, 3, 2], [-8, -2, 1], [48, 6, -1], [200, 0, 0]] {
            let bytes = box_lengths.iter().product::<usize>() * 2;
            let y = DeviceVec::<u8>::zeros(&stream, bytes)?;
            let (mut map, mut at, mut bytes_word, mut to) = (map, at, bytes as u32, y.as_raw());
            let [one, two, three] = at.each_mut().map(|at| (&raw mut *at).cast::<c_void>());
            let mut arguments =
                [(&raw mut map).cast(), one, two, three, (&raw mut bytes_word).cast(), (&raw mut to).cast()];
            let config = LaunchConfig { grid: 1.into(), block: 64.into(), shared_bytes: bytes as u32 + 1024 };
            // SAFETY: the arguments are those of the kernel, and `y` has the bytes of a box.
            unsafe { kernel(device, 0, "box_of")?.launch_with(config, &mut arguments, &[&stream], &stream)? };
            let got = y.to_vec()?;
            for z in 0..box_lengths[2] {
                for row in 0..box_lengths[1] {
                    for column in 0..width {
                        let place = [column, row, z].into_iter().zip(at).map(|(k, at)| k as i64 + i64::from(at));
                        let place: Vec<i64> = place.collect();
                        let inside = place.iter().zip(lengths).all(|(&k, length)| (0..length as i64).contains(&k));
                        let index = || (place[2] as usize * lengths[1] + place[1] as usize) * pitch + place[0] as usize;
                        let want = if inside { values[index()] } else { 0 };
                        let offset = ((z * box_lengths[1] + row) * width + column) * 2;
                        let mask = match swizzle {
                            Swizzle::None => 0,
                            Swizzle::Rows64 => 3,
                            Swizzle::Rows128 => 7,
                        };
                        let offset = offset ^ ((offset >> 7 & mask) << 4);
                        let got = u16::from_le_bytes([got[offset], got[offset + 1]]);
                        ensure!(got == want, "{swizzle:?} at {at:?}, {column} {row} {z}: {got}, want {want}");
                    }
                }
            }
        }
    }
    Ok(())
}

/// A small integer and its bits in a type.
fn bits(kind: &str, integer: i32) -> Vec<u8> {
    let value = integer as f32;
    match kind {
        "gpu::S8" | "gpu::U8" => vec![integer as u8],
        "gpu::TF32" => value.to_bits().to_le_bytes().to_vec(),
        "gpu::BF16" => ((value.to_bits() >> 16) as u16).to_le_bytes().to_vec(),
        _ => {
            // An integer below 2048 is a half with its exponent shifted.
            let bits = value.to_bits();
            let half = if value == 0.0 { 0 } else { (bits >> 16 & 0x8000) | ((bits >> 13 & 0x3ffff) - (112 << 10)) };
            (half as u16).to_le_bytes().to_vec()
        }
    }
}

/// Bytes of an element of a type.
fn bytes_of(kind: &str) -> usize {
    match kind {
        "gpu::TF32" => 4,
        "gpu::S8" | "gpu::U8" => 1,
        _ => 2,
    }
}

/// 64 rows of a and `n` columns of b, of 128 bytes along k. Bytes are all that there are, the others few, so that sums are integers of f32.
fn factors(kind: &str, n: usize) -> [Vec<i32>; 2] {
    let along = 128 / bytes_of(kind);
    let [a_span, b_span] = if bytes_of(kind) == 1 { [256; 2] } else { [17, 13] };
    let least = |span: i32| if kind == "gpu::U8" { 0 } else { span / 2 };
    let a = (0..64 * along).map(|at| (at * 7 + at / 13) as i32 % a_span - least(a_span)).collect();
    let b = (0..n * along).map(|at| (at * 5 + at / 11) as i32 % b_span - least(b_span)).collect();
    [a, b]
}

/// Whether `got` holds the products of the rows of a with the columns of b.
fn are_products(got: &[f32], [a, b]: [&[i32]; 2], along: usize, name: &str) -> Outcome {
    let n = b.len() / along;
    ensure_eq!((name, got.len()), (name, a.len() / along * n));
    for (at, &got) in got.iter().enumerate() {
        let (row, column) = (at / n, at % n);
        let want: i32 = (0..along).map(|k| a[row * along + k] * b[column * along + k]).sum();
        ensure_eq!((name, row, column, got), (name, row, column, want as f32));
    }
    Ok(())
}

/// A matrix of `across` rows of `along` elements, in an order.
fn matrix(
    device: &Device,
    kind: &str,
    values: &[i32],
    [across, along]: [usize; 2],
    is_across: bool,
) -> Result<DeviceVec<u8>, DriverError> {
    let at = |row: usize, k: usize| values[row * along + k];
    let bytes: Vec<u8> = if is_across {
        (0..along)
            .flat_map(|k| (0..across).map(move |row| (row, k)))
            .flat_map(|(row, k)| bits(kind, at(row, k)))
            .collect()
    } else {
        (0..across)
            .flat_map(|row| (0..along).map(move |k| (row, k)))
            .flat_map(|(row, k)| bits(kind, at(row, k)))
            .collect()
    };
    DeviceVec::from_slice(&device.stream(), &bytes)
}

/// The matrix, and a map of it with boxes as `product` takes them.
fn operand(
    device: &Device,
    kind: &str,
    values: &[i32],
    [across, along]: [usize; 2],
    is_across: bool,
) -> Result<(DeviceVec<u8>, TensorMap), DriverError> {
    let memory = matrix(device, kind, values, [across, along], is_across)?;
    let element_bytes = bytes_of(kind);
    let (columns, rows) = if is_across { (across, along) } else { (along, across) };
    let box_lengths = if is_across { [64, along as u32, 1] } else { [128 / element_bytes as u32, across as u32, 1] };
    let map = TensorMap::new(
        device,
        &TensorLayout {
            address: memory.as_raw(),
            element_bytes,
            lengths: [columns as u64, rows as u64, 1],
            strides: [(columns * element_bytes) as u64, (columns * rows * element_bytes) as u64],
            box_lengths,
            swizzle: Swizzle::Rows128,
        },
    )?;
    Ok((memory, map))
}

/// Each block of a cluster has the shares that all of them copied.
pub fn shares_of_boxes_reach_all_blocks_of_a_cluster(device: &Device) -> Outcome {
    let stream = device.stream();
    for (key, blocks) in [(1 << 20, 1), (2 << 20, 2), (3 << 20, 4)] {
        let (rows, grid) = (8 * blocks, 2 * blocks);
        let values: Vec<u32> = (0..32 * rows as u32).collect();
        let x = DeviceVec::from_slice(&stream, &values)?;
        let y = DeviceVec::<u32>::zeros(&stream, grid * values.len())?;
        let layout = TensorLayout {
            address: x.as_raw(),
            element_bytes: 4,
            lengths: [32, rows as u64, 1],
            strides: [128, 128 * rows as u64],
            box_lengths: [32, 4, 1],
            swizzle: Swizzle::None,
        };
        let (mut map, mut to) = (TensorMap::new(device, &layout)?, y.as_raw());
        let mut arguments = [(&raw mut map).cast(), (&raw mut to).cast()];
        let config =
            LaunchConfig { grid: (grid as u32).into(), block: 64.into(), shared_bytes: 512 * blocks as u32 + 1024 };
        let kernel = kernel(device, key, &format!("shares_of_box<{blocks}>"))?;
        // SAFETY: the arguments are those of the kernel, and `y` has all shares of both rounds for each block.
        unsafe { kernel.launch_with(config, &mut arguments, &[&stream], &stream)? };
        let want: Vec<u32> = values.chunks(values.len() / 2).flat_map(|round| round.repeat(grid)).collect();
        ensure_eq!((blocks, y.to_vec()?), (blocks, want));
    }
    Ok(())
}

pub fn tiles_are_multiplied_exactly(device: &Device) -> Outcome {
    let stream = device.stream();
    let mut number = 1;
    for (kind, orders) in [("gpu::BF16", 4), ("gpu::F16", 4), ("gpu::TF32", 1), ("gpu::S8", 1), ("gpu::U8", 1)] {
        for order in 0..orders {
            for n in [64usize, 128, 256] {
                number += 1;
                // Each order of each type once, and each number of columns once for each type.
                if order != 0 && n != 64 + 64 * (order & 1) {
                    continue;
                }
                let (a_across, b_across) = (order & 1 != 0, order & 2 != 0);
                let along = 128 / bytes_of(kind);
                let [a, b] = factors(kind, n);
                let (_left, mut map_a) = operand(device, kind, &a, [64, along], a_across)?;
                let (_right, mut map_b) = operand(device, kind, &b, [n, along], b_across)?;
                let c = DeviceVec::<f32>::zeros(&stream, 64 * n)?;
                let mut to = c.as_raw();
                let mut arguments = [(&raw mut map_a).cast(), (&raw mut map_b).cast(), (&raw mut to).cast()];
                let config =
                    LaunchConfig { grid: 1.into(), block: 128.into(), shared_bytes: ((64 + n) * 128 + 1024) as u32 };
                let name = format!("product<{kind}, {a_across}, {b_across}, {}>", n / 2);
                // SAFETY: the arguments are those of the kernel; the maps describe memory that is alive, and c has 64 n elements.
                unsafe { kernel(device, number, &name)?.launch_with(config, &mut arguments, &[&stream], &stream)? };
                are_products(&c.to_vec()?, [&a, &b], along, &name)?;
            }
        }
    }
    Ok(())
}

pub fn tiles_are_multiplied_by_a_warp_exactly(device: &Device) -> Outcome {
    let stream = device.stream();
    const EACH: [(&str, &[usize]); 5] = [
        ("gpu::BF16", &[0, 1, 2, 3]),
        ("gpu::F16", &[0, 3]),
        ("gpu::TF32", &[0]),
        ("gpu::S8", &[0]),
        ("gpu::U8", &[0]),
    ];
    let expression = |kind: &str, order: usize| {
        let (a_across, b_across) = (order & 1 != 0, order & 2 != 0);
        format!("product_of_warp<{kind}, {a_across}, {b_across}>")
    };
    let program = [TENSOR_COPY, WARPGROUP, WARP_PRODUCTS]
        .into_iter()
        .fold(Program::new("warps.cu", OF_WARPS).option("-default-device"), |program, header| {
            program.header(header.name, header.text)
        });
    let names = EACH.iter().flat_map(|&(kind, orders)| orders.iter().map(move |&order| expression(kind, order)));
    let program = names.fold(program, Program::name_expression);
    let module = Module::load(device, &program.compile(device.arch())?)?;
    for (kind, orders) in EACH {
        for &order in orders {
            let name = expression(kind, order);
            let along = 128 / bytes_of(kind);
            let [a, b] = factors(kind, 64);
            let left = matrix(device, kind, &a, [64, along], order & 1 != 0)?;
            let right = matrix(device, kind, &b, [64, along], order & 2 != 0)?;
            let mut c = DeviceVec::<f32>::zeros(&stream, 64 * 64)?;
            let kernel = module.function(&name)?;
            let config = LaunchConfig { grid: 1.into(), block: 32.into(), shared_bytes: 2 * 8192 + 1024 };
            // SAFETY: the factors have 64 rows or columns of 128 bytes, c has 64 x 64 elements, and the shared memory holds both tiles.
            unsafe { kernel.launch(config, (left.input(), right.input(), c.output()), &stream)? };
            are_products(&c.to_vec()?, [&a, &b], along, &name)?;
        }
    }
    Ok(())
}

pub fn rows_in_registers_are_multiplied_exactly(device: &Device) -> Outcome {
    let stream = device.stream();
    let a: Vec<i32> = (0..64 * 8).map(|at| (at * 7 + at / 13) % 17 - 8).collect();
    let b: Vec<i32> = (0..64 * 32).map(|at| (at * 5 + at / 11) % 13 - 6).collect();
    // Half a step of TF32 less, which is rounded away from zero; cut, it would be a whole step less.
    let less = |value: f32| f32::from_bits(value.to_bits() - if value == 0.0 { 0 } else { 0x1000 });
    let floats: Vec<f32> = a.iter().map(|&value| less(value as f32)).collect();
    let left = DeviceVec::from_slice(&stream, &floats)?;
    let (_right, mut map_b) = operand(device, "gpu::TF32", &b, [64, 32], false)?;
    let c = DeviceVec::<f32>::zeros(&stream, 64 * 64)?;
    let (mut from, mut to) = (left.as_raw(), c.as_raw());
    let mut arguments = [(&raw mut from).cast(), (&raw mut map_b).cast(), (&raw mut to).cast()];
    let config = LaunchConfig { grid: 1.into(), block: 128.into(), shared_bytes: 64 * 128 + 1024 };
    // SAFETY: the arguments are those of the kernel; a has 64 rows of 8 elements, and c 64 of 64.
    unsafe { kernel(device, 1, "product_of_rows")?.launch_with(config, &mut arguments, &[&stream], &stream)? };
    let got = c.to_vec()?;
    for row in 0..64 {
        for column in 0..64 {
            let want: i32 = (0..8).map(|k| a[row * 8 + k] * b[column * 32 + k]).sum();
            ensure_eq!((row, column, got[row * 64 + column]), (row, column, want as f32));
        }
    }
    Ok(())
}

/// Values of each type come back from where they lie in shared memory, also from behind another address and after they were overwritten.
pub fn shared_memory_is_read_by_addresses_of_32_bits(device: &Device) -> Outcome {
    const TEXT: &str = "\
#include \"shared_address.cuh\"
template <class T> __device__ void read(const T *x, T *y) {
    SHARED_DYNAMIC(T, memory);
    const gpu::SharedAddress first(memory);
    for (int round = 1; round <= 2; round++) {
        memory[threadIdx.x] = x[threadIdx.x] * T(round);
        __syncthreads();
        // That of the neighbour, around the end.
        first.behind((threadIdx.x + 1) % blockDim.x * sizeof(T)).load(y[threadIdx.x + (round - 1) * blockDim.x]);
        __syncthreads();
    }
}
extern \"C\" __global__ void of_f32(const float *x, float *y) { read(x, y); }
extern \"C\" __global__ void of_f64(const double *x, double *y) { read(x, y); }
extern \"C\" __global__ void of_u32(const uint32_t *x, uint32_t *y) { read(x, y); }
extern \"C\" __global__ void of_u64(const uint64_t *x, uint64_t *y) { read(x, y); }
";
    fn check<T: DevicePod + PartialEq + Debug + From<u16> + Mul<Output = T> + Default>(
        device: &Device,
        name: &str,
    ) -> Outcome {
        let binary = Program::new("shared.cu", TEXT)
            .header(SHARED_ADDRESS.name, SHARED_ADDRESS.text)
            .option("-default-device")
            .compile(device.arch())?;
        let (kernel, stream) = (Module::load(device, &binary)?.function(name)?, device.stream());
        let values: Vec<T> = (1..=96_u16).map(T::from).collect();
        let x = DeviceVec::from_slice(&stream, &values)?;
        let mut y = DeviceVec::<T>::zeros(&stream, 192)?;
        let config = LaunchConfig { grid: 1.into(), block: 96.into(), shared_bytes: 96 * size_of::<T>() as u32 };
        // SAFETY: reads x[..96], writes y[..192], in as much shared memory as 96 values take.
        unsafe { kernel.launch(config, (x.input(), y.output()), &stream)? };
        let want: Vec<T> = (1..=2_u16)
            .flat_map(|round| (0..96_u16).map(move |at| T::from((at + 1) % 96 + 1) * T::from(round)))
            .collect();
        ensure_eq!((name, y.to_vec()?), (name, want));
        Ok(())
    }
    check::<f32>(device, "of_f32")?;
    check::<f64>(device, "of_f64")?;
    check::<u32>(device, "of_u32")?;
    check::<u64>(device, "of_u64")
}

pub fn error_a_map_that_breaks_a_rule(device: &Device) -> Outcome {
    let layout = TensorLayout {
        address: 0x1008,
        element_bytes: 4,
        lengths: [64, 64, 1],
        strides: [256, 256 * 64],
        box_lengths: [32, 64, 1],
        swizzle: Swizzle::Rows128,
    };
    let error = TensorMap::new(device, &layout).err().ok_or("an address of 8 bytes")?;
    ensure_eq!(error.to_string(), "TensorMap::new: expected an address that is a multiple of 16, got 0x1008");
    Ok(())
}
