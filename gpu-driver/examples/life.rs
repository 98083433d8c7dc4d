//! Conway's game of life on a torus: `cargo run -p gpu-driver --example life -- 800 600 1000 out.ppm`, with columns, rows, generations and the picture to
//! write. Without arguments it compares a small world with the CPU; without a GPU with `GPU_DEVICE=emulated`.
use std::{env, error::Error, fs, mem};

use gpu_driver::{Device, DeviceVec, LaunchConfig};

#[allow(clippy::duplicate_mod, reason = "the tests hold all examples")]
mod picture;
use picture::Picture;

const SOURCE: &str = r#"
extern "C" __global__ void life(const unsigned char *now, unsigned char *next, int columns, int rows) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= columns || y >= rows) return;
    int alive = 0;
    for (int down = rows - 1; down <= rows + 1; down++) {
        for (int right = columns - 1; right <= columns + 1; right++) {
            alive += now[(y + down) % rows * columns + (x + right) % columns];
        }
    }
    // The cell itself is among the nine.
    unsigned char own = now[y * columns + x];
    next[y * columns + x] = alive == 3 || (alive == 4 && own);
}
"#;

/// A world of cells, in rows: 1 where one is alive.
#[derive(Clone, PartialEq)]
struct World {
    columns: usize,
    rows: usize,
    cells: Vec<u8>,
}

impl World {
    /// Cells of which about a third is alive.
    fn new(columns: usize, rows: usize) -> Self {
        let mut state = 1u32;
        let cell = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            u8::from(state >> 16 < 21_845)
        };
        Self { columns, rows, cells: (0..columns * rows).map(cell).collect() }
    }

    fn after(&self, device: &Device, generations: usize) -> Result<Self, Box<dyn Error>> {
        let (life, stream) = (device.compile(SOURCE)?.function("life")?, device.stream());
        let mut now = DeviceVec::from_slice(&stream, &self.cells)?;
        let mut next = DeviceVec::<u8>::zeros(&stream, self.cells.len())?;
        let (columns, rows) = (i32::try_from(self.columns)?, i32::try_from(self.rows)?);
        let config = LaunchConfig::new((self.columns.div_ceil(16) as u32, self.rows.div_ceil(16) as u32), (16, 16));
        for _ in 0..generations {
            // SAFETY: each thread within the world writes its own cell of the next generation.
            unsafe { life.launch(config, (now.input(), next.output(), columns, rows), &stream)? };
            mem::swap(&mut now, &mut next);
        }
        Ok(Self { cells: now.to_vec()?, ..*self })
    }

    /// The next generation by the CPU.
    fn next_by_host(&self) -> Self {
        let cell = |at: usize| {
            let (x, y) = (at % self.columns, at / self.columns);
            let around = |at: usize, size: usize| [at + size - 1, at, at + 1].map(|at| at % size);
            let rows = around(y, self.rows).into_iter();
            let alive =
                rows.flat_map(|y| around(x, self.columns).map(|x| self.cells[y * self.columns + x])).sum::<u8>();
            u8::from(alive == 3 || (alive == 4 && self.cells[at] == 1))
        };
        Self { cells: (0..self.cells.len()).map(cell).collect(), ..*self }
    }

    fn picture(&self) -> Picture {
        let bytes = self.cells.iter().flat_map(|cell| [cell * 255; 3]).collect();
        Picture { rows: self.rows, columns: self.columns, bytes }
    }
}

/// Compares generations of a small world with the CPU.
pub fn run(device: &Device) -> Result<(), Box<dyn Error>> {
    let first = World::new(45, 30);
    let mut want = first.clone();
    for _ in 0..5 {
        want = want.next_by_host();
    }
    let got = first.after(device, 5)?;
    if got != want || got == first {
        return Err("the fifth generation is not that of the CPU".into());
    }
    if Picture::read(&got.picture().to_file())? != want.picture() {
        return Err("the picture is not that of the world".into());
    }
    println!("{} cells are alive after 5 generations", got.cells.iter().filter(|cell| **cell == 1).count());
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::first()?;
    match env::args().skip(1).collect::<Vec<_>>().as_slice() {
        [] => run(&device),
        [columns, rows, generations, to] => {
            let last = World::new(columns.parse()?, rows.parse()?).after(&device, generations.parse()?)?;
            Ok(fs::write(to, last.picture().to_file())?)
        }
        _ => Err("usage: life [columns rows generations out.ppm]".into()),
    }
}
