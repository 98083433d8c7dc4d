//! A user's program: it must build without CUDA, and say clearly which device it found.

use gpu_array::gpu_driver::Device;

fn main() {
    match Device::first() {
        Ok(device) => println!("found {device}"),
        Err(error) => println!("no device: {error}"),
    }
}
