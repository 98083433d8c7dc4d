//! The Mandelbrot set: `cargo run -p gpu-driver --example mandelbrot -- 1200 out.ppm`, with the columns of the picture to write. Without arguments it
//! compares a small picture with the CPU; without a GPU with `GPU_DEVICE=emulated`.
use std::{env, error::Error, fs};

use gpu_driver::{Device, HostOut, LaunchConfig};

#[allow(clippy::duplicate_mod, reason = "the tests hold all examples")]
mod picture;
use picture::Picture;

/// The arithmetic is spelled out, so that no multiplication is fused with an addition: the CPU's counts are the same.
const SOURCE: &str = r#"
extern "C" __global__ void mandelbrot(unsigned *steps, int columns, int rows, float spacing, unsigned most) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= columns || row >= rows) return;
    float real = __fadd_rn(-2.25f, __fmul_rn(column, spacing)), imaginary = __fadd_rn(-1.25f, __fmul_rn(row, spacing));
    float x = 0, y = 0;
    unsigned count = 0;
    for (; count < most; count++) {
        float xx = __fmul_rn(x, x), yy = __fmul_rn(y, y);
        if (__fadd_rn(xx, yy) > 4.0f) break;
        y = __fadd_rn(__fmul_rn(__fmul_rn(2.0f, x), y), imaginary);
        x = __fadd_rn(__fsub_rn(xx, yy), real);
    }
    steps[row * columns + column] = count;
}
"#;

const MOST: u32 = 100;

/// Points of the plane, from -2.25 - 1.25 i to 0.75 + 1.25 i.
struct Grid {
    columns: usize,
    rows: usize,
    spacing: f32,
}

impl Grid {
    fn new(columns: usize) -> Self {
        Self { columns, rows: columns * 5 / 6, spacing: 3.0 / columns as f32 }
    }

    /// The number of steps z -> z^2 + c from 0, at most 100, until |z| > 2, for each point c.
    fn steps(&self, device: &Device) -> Result<Vec<u32>, Box<dyn Error>> {
        let mandelbrot = device.compile(SOURCE)?.function("mandelbrot")?;
        let mut steps = vec![0u32; self.columns * self.rows];
        let config = LaunchConfig::new((self.columns.div_ceil(16) as u32, self.rows.div_ceil(16) as u32), (16, 16));
        let (columns, rows) = (i32::try_from(self.columns)?, i32::try_from(self.rows)?);
        let arguments = (HostOut(&mut steps), columns, rows, self.spacing, MOST);
        // SAFETY: each thread within the grid writes its own count.
        unsafe { mandelbrot.launch(config, arguments, &device.stream())? };
        Ok(steps)
    }

    /// The steps of one point by the CPU.
    fn steps_by_host(&self, column: usize, row: usize) -> u32 {
        let (real, imaginary) = (-2.25 + column as f32 * self.spacing, -1.25 + row as f32 * self.spacing);
        let (mut x, mut y) = (0.0f32, 0.0f32);
        for count in 0..MOST {
            let (xx, yy) = (x * x, y * y);
            if xx + yy > 4.0 {
                return count;
            }
            y = 2.0 * x * y + imaginary;
            x = xx - yy + real;
        }
        MOST
    }

    /// Points of the set are black; those outside have the colour of their steps.
    fn picture(&self, steps: &[u32]) -> Picture {
        let colour = |&count: &u32| {
            let level = (255 * count / MOST) as u8;
            if count == MOST { [0; 3] } else { [level, level.saturating_mul(4), 128 + level / 2] }
        };
        Picture { rows: self.rows, columns: self.columns, bytes: steps.iter().flat_map(colour).collect() }
    }
}

/// Compares the steps of a small grid with the CPU.
pub fn run(device: &Device) -> Result<(), Box<dyn Error>> {
    let grid = Grid::new(48);
    let steps = grid.steps(device)?;
    let wrong = (0..steps.len()).find(|at| steps[*at] != grid.steps_by_host(at % grid.columns, at / grid.columns));
    if let Some(at) = wrong {
        return Err(format!("row {}, column {}: {} steps", at / grid.columns, at % grid.columns, steps[at]).into());
    }
    let picture = grid.picture(&steps);
    if Picture::read(&picture.to_file())? != picture {
        return Err("the picture's file does not hold the picture".into());
    }
    println!("{} of {} points are in the set", steps.iter().filter(|count| **count == MOST).count(), steps.len());
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::first()?;
    match env::args().skip(1).collect::<Vec<_>>().as_slice() {
        [] => run(&device),
        [columns, to] => {
            let grid = Grid::new(columns.parse()?);
            Ok(fs::write(to, grid.picture(&grid.steps(&device)?).to_file())?)
        }
        _ => Err("usage: mandelbrot [columns out.ppm]".into()),
    }
}
