//! The GPU that tests run on.

use std::{env, process::Command};

use crate::provenance::answer;

/// As nvidia-smi names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Gpu {
    pub(super) device: String,
    pub(super) driver: String,
}

/// The machine's first GPU; none where there is none, or where `GPU_DEVICE` keeps the tests from it.
pub(super) fn real() -> Option<Gpu> {
    let asked = env::var("GPU_DEVICE").unwrap_or_default();
    if !matches!(asked.as_str(), "" | "cuda") {
        return None;
    }
    let mut nvidia_smi = Command::new("nvidia-smi");
    parse(&answer(nvidia_smi.args(["--query-gpu=name,driver_version", "--format=csv,noheader"])))
}

fn parse(text: &str) -> Option<Gpu> {
    let (device, driver) = text.lines().next()?.rsplit_once(',')?;
    let (device, driver) = (device.trim().to_owned(), driver.trim().to_owned());
    // What it prints without a device is a sentence.
    let is_version = driver.starts_with(|first: char| first.is_ascii_digit());
    (is_version && !device.is_empty()).then_some(Gpu { device, driver })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_gpu_counts_and_sentences_do_not() {
        let gpu = parse("NVIDIA H200, 580.95.05\nNVIDIA L4, 580.95.05\n").unwrap();
        assert_eq!((gpu.device.as_str(), gpu.driver.as_str()), ("NVIDIA H200", "580.95.05"));
        for text in ["", "No devices were found", "NVIDIA-SMI has failed, because it is so\n", ", 580.1"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
