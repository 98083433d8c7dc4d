//! Rotates a picture by a texture with the linear filter: `cargo run -p gpu-driver --example rotate -- in.ppm 30 out.ppm`, with degrees
//! counterclockwise. Without arguments it rotates a small portrait by several angles and compares each with the CPU.
use std::{env, error::Error, fs};

use gpu_driver::{AddressMode, ArrayShape, CudaArray, Device, HostOut, LaunchConfig, Sampling, Texture};

#[allow(clippy::duplicate_mod, reason = "the tests hold all examples")]
mod picture;
use picture::{PORTRAIT, Picture};

/// The kernel.
pub const SOURCE: &str = r#"
extern "C" __global__ void rotate(cudaTextureObject_t picture, unsigned char *rotated, int columns, int rows, float cosine,
                                  float sine) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= columns || row >= rows) return;
    float x = column + 0.5f - columns * 0.5f, y = row + 0.5f - rows * 0.5f;
    float4 colour = tex2D<float4>(picture, cosine * x - sine * y + columns * 0.5f, sine * x + cosine * y + rows * 0.5f);
    unsigned char *pixel = rotated + 3 * (row * columns + column);
    pixel[0] = colour.x * 255 + 0.5f;
    pixel[1] = colour.y * 255 + 0.5f;
    pixel[2] = colour.z * 255 + 0.5f;
}
"#;

impl Picture {
    /// The picture turned about its middle on a device; corners that turn in are black.
    fn rotated(&self, device: &Device, degrees: f32) -> Result<Self, Box<dyn Error>> {
        let (stream, rotate) = (device.stream(), device.compile(SOURCE)?.function("rotate")?);
        // Arrays have 1, 2 or 4 channels, not 3.
        let pixels: Vec<u8> = self.bytes.chunks_exact(3).flat_map(|rgb| [rgb[0], rgb[1], rgb[2], 255]).collect();
        let shape = ArrayShape::plane(self.rows, self.columns).with_channels(4);
        let array = CudaArray::from_slice(&stream, shape, &pixels)?;
        let smooth = Sampling::new().linear().normalized_values().address(AddressMode::Border);
        let texture = Texture::of_array(&array, smooth)?;
        let (columns, rows) = (i32::try_from(self.columns)?, i32::try_from(self.rows)?);
        let blocks = |pixels: usize| pixels.div_ceil(16) as u32;
        let grid = (blocks(self.columns), blocks(self.rows));
        let config = LaunchConfig { grid: grid.into(), block: (16, 16).into(), shared_bytes: 0 };
        let (sine, cosine) = degrees.to_radians().sin_cos();
        let mut bytes = vec![0; self.bytes.len()];
        let arguments = (&texture, HostOut(&mut bytes), columns, rows, cosine, sine);
        // SAFETY: each thread writes its own pixel.
        unsafe { rotate.launch(config, arguments, &stream)? };
        Ok(Self { bytes, ..*self })
    }

    /// The value of a channel at a place by bilinear interpolation, in exact weights.
    fn at(&self, x: f64, y: f64, channel: usize) -> f64 {
        let (x, y) = (x - 0.5, y - 0.5);
        let value = |column: f64, row: f64| {
            let inside = column >= 0.0 && row >= 0.0 && column < self.columns as f64 && row < self.rows as f64;
            let index = 3 * (row as usize * self.columns + column as usize) + channel;
            if inside { f64::from(self.bytes[index]) } else { 0.0 }
        };
        let (column, row, right, down) = (x.floor(), y.floor(), x - x.floor(), y - y.floor());
        let upper = (1.0 - right) * value(column, row) + right * value(column + 1.0, row);
        let lower = (1.0 - right) * value(column, row + 1.0) + right * value(column + 1.0, row + 1.0);
        (1.0 - down) * upper + down * lower
    }

    /// Compares with a picture that was turned from this one.
    fn check(&self, rotated: &Self, degrees: f32) -> Result<(), Box<dyn Error>> {
        let (sine, cosine) = f64::from(degrees).to_radians().sin_cos();
        let (columns, rows) = (self.columns as f64, self.rows as f64);
        for (at, &got) in rotated.bytes.iter().enumerate() {
            let (column, row) = (at / 3 % self.columns, at / 3 / self.columns);
            let (x, y) = (column as f64 + 0.5 - columns / 2.0, row as f64 + 0.5 - rows / 2.0);
            let want = self.at(cosine * x - sine * y + columns / 2.0, sine * x + cosine * y + rows / 2.0, at % 3);
            // Two weights in steps of 1/256 of up to 255, and two roundings to whole numbers: the filter's and the kernel's.
            if (f64::from(got) - want).abs() > 2.0 + 1.1 {
                return Err(format!("row {row}, column {column} at {degrees} degrees: {got}, not {want}").into());
            }
        }
        Ok(())
    }
}

/// Rotates a portrait, and checks the results.
pub fn run(device: &Device) -> Result<(), Box<dyn Error>> {
    let portrait = Picture::read(PORTRAIT)?;
    for degrees in [0.0, 30.0, 90.0, -135.0] {
        let rotated = portrait.rotated(device, degrees)?;
        portrait.check(&rotated, degrees)?;
        let again = Picture::read(&rotated.to_file())?;
        if again != rotated || (degrees == 0.0) != (rotated == portrait) {
            return Err(format!("{degrees} degrees: not the picture that was expected").into());
        }
        println!("{} x {} pixels turned by {degrees} degrees", portrait.columns, portrait.rows);
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::first()?;
    match env::args().skip(1).collect::<Vec<_>>().as_slice() {
        [] => run(&device),
        [from, degrees, to] => {
            let rotated = Picture::read(&fs::read(from)?)?.rotated(&device, degrees.parse()?)?;
            Ok(fs::write(to, rotated.to_file())?)
        }
        _ => Err("usage: rotate [in.ppm degrees out.ppm]".into()),
    }
}
