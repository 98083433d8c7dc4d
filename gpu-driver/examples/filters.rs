//! Pictures made grey or blurred: `cargo run -p gpu-driver --example filters -- in.ppm grey out.ppm`, or `blur`. Without arguments it filters a small
//! portrait and compares with the CPU.
use std::{env, error::Error, fs};

use gpu_driver::{Device, HostOut, LaunchConfig};

#[allow(clippy::duplicate_mod, reason = "the tests hold all examples")]
mod picture;
use picture::{PORTRAIT, Picture};

const SOURCE: &str = r#"
// The weights of ITU-R BT.601, in steps of 1/256.
extern "C" __global__ void grey(const unsigned char *from, unsigned char *to, int pixels) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pixels) return;
    int value = (77 * from[3 * i] + 150 * from[3 * i + 1] + 29 * from[3 * i + 2] + 128) / 256;
    to[3 * i] = to[3 * i + 1] = to[3 * i + 2] = value;
}

// The mean of the pixels at most `radius` away, those within the picture.
extern "C" __global__ void blur(const unsigned char *from, unsigned char *to, int columns, int rows, int radius) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= columns || row >= rows) return;
    int left = max(column - radius, 0), right = min(column + radius, columns - 1);
    int top = max(row - radius, 0), bottom = min(row + radius, rows - 1), count = (right - left + 1) * (bottom - top + 1);
    for (int channel = 0; channel < 3; channel++) {
        int sum = count / 2;
        for (int y = top; y <= bottom; y++) {
            for (int x = left; x <= right; x++) sum += from[3 * (y * columns + x) + channel];
        }
        to[3 * (row * columns + column) + channel] = sum / count;
    }
}
"#;

const RADIUS: usize = 2;

impl Picture {
    fn grey(&self, device: &Device) -> Result<Self, Box<dyn Error>> {
        let (grey, pixels) = (device.compile(SOURCE)?.function("grey")?, self.bytes.len() / 3);
        let mut bytes = vec![0; self.bytes.len()];
        let arguments = (&self.bytes, HostOut(&mut bytes), i32::try_from(pixels)?);
        // SAFETY: each thread below the number of pixels writes its own pixel.
        unsafe { grey.launch(LaunchConfig::for_elements(pixels), arguments, &device.stream())? };
        Ok(Self { bytes, ..*self })
    }

    fn blurred(&self, device: &Device) -> Result<Self, Box<dyn Error>> {
        let blur = device.compile(SOURCE)?.function("blur")?;
        let (columns, rows) = (i32::try_from(self.columns)?, i32::try_from(self.rows)?);
        let grid = (self.columns.div_ceil(16) as u32, self.rows.div_ceil(16) as u32);
        let mut bytes = vec![0; self.bytes.len()];
        let arguments = (&self.bytes, HostOut(&mut bytes), columns, rows, RADIUS as i32);
        // SAFETY: each thread within the picture writes its own pixel, and reads pixels of the picture.
        unsafe { blur.launch(LaunchConfig::new(grid, (16, 16)), arguments, &device.stream())? };
        Ok(Self { bytes, ..*self })
    }

    /// The grey picture by the CPU.
    fn grey_by_host(&self) -> Self {
        let value = |rgb: &[u8]| 77 * u32::from(rgb[0]) + 150 * u32::from(rgb[1]) + 29 * u32::from(rgb[2]) + 128;
        Self { bytes: self.bytes.chunks_exact(3).flat_map(|rgb| [(value(rgb) / 256) as u8; 3]).collect(), ..*self }
    }

    /// The blurred picture by the CPU.
    fn blurred_by_host(&self) -> Self {
        let around = |at: usize, size: usize| at.saturating_sub(RADIUS)..(at + RADIUS + 1).min(size);
        let mean = |at: usize| {
            let (column, row) = (around(at / 3 % self.columns, self.columns), around(at / 3 / self.columns, self.rows));
            let count = column.len() * row.len();
            let values = row.flat_map(|y| column.clone().map(move |x| 3 * (y * self.columns + x) + at % 3));
            ((values.map(|at| usize::from(self.bytes[at])).sum::<usize>() + count / 2) / count) as u8
        };
        Self { bytes: (0..self.bytes.len()).map(mean).collect(), ..*self }
    }
}

/// Filters a portrait, and checks the results.
pub fn run(device: &Device) -> Result<(), Box<dyn Error>> {
    let portrait = Picture::read(PORTRAIT)?;
    if portrait.grey(device)? != portrait.grey_by_host() {
        return Err("the grey picture is not that of the CPU".into());
    }
    if portrait.blurred(device)? != portrait.blurred_by_host() {
        return Err("the blurred picture is not that of the CPU".into());
    }
    println!("{} x {} pixels, grey and blurred, are those of the CPU", portrait.columns, portrait.rows);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::first()?;
    match env::args().skip(1).collect::<Vec<_>>().as_slice() {
        [] => run(&device),
        [from, filter, to] if filter == "grey" || filter == "blur" => {
            let picture = Picture::read(&fs::read(from)?)?;
            let filtered = if filter == "grey" { picture.grey(&device)? } else { picture.blurred(&device)? };
            Ok(fs::write(to, filtered.to_file())?)
        }
        _ => Err("usage: filters [in.ppm grey|blur out.ppm]".into()),
    }
}
