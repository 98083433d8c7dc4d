use super::*;

#[test]
fn debug_shows_the_variant_and_the_text() {
    let (error, code) = (DriverError::NoSuchDevice { ordinal: 2, count: 1 }, CudaCode(700));
    assert_eq!(format!("{error:?}"), format!("NoSuchDevice: {error}"));
    let lost = DriverError::DeviceLost { code, kernel: None, report: None };
    let in_drop = DriverError::InDrop { object: "a stream", source: Box::new(lost) };
    assert_eq!(format!("{:?}", Some(&in_drop)), format!("Some(InDrop: {in_drop})"));
    let boxed: Box<dyn std::error::Error> = DriverError::NoNvrtc { searched: vec!["a".into()] }.into();
    assert!(format!("{boxed:?}").starts_with("NoNvrtc: no NVRTC") && format!("{boxed:#?}").contains("GPU_NVRTC"));
}

#[test]
fn every_error_prints_and_names_its_remedy() {
    let text = DriverError::NoDriver { searched: vec!["libcuda.so.1 (no such file)".into()] }.to_string();
    assert!(text.contains("libcuda.so.1 (no such file)") && text.contains("GPU_LIBCUDA"), "{text}");
    let text = DriverError::NoNvrtc { searched: vec!["a".into(), "b".into()] }.to_string();
    assert!(text.contains("GPU_NVRTC") && text.contains("pip install"), "{text}");
    let text = DriverError::NoNvcc { searched: vec!["a".into()] }.to_string();
    assert!(text.contains("GPU_NVCC") && text.contains("pip install"), "{text}");
    let no_kernel = |known: &[&str]| {
        let known = known.iter().map(|&name| name.to_owned()).collect();
        DriverError::NoKernel { name: "g".into(), known, hint: "Write `extern`.".into() }.to_string()
    };
    let text = no_kernel(&["f<1>", "h"]);
    assert!(text.contains("kernel `g`; it has `f<1>`, `h`. Write `extern`."), "{text}");
    assert!(no_kernel(&[]).contains("it has none by name, or"), "{}", no_kernel(&[]));
    let text = DriverError::InCapture { op: "DeviceVec::to_vec" }.to_string();
    assert!(text.contains("DeviceVec::to_vec") && text.contains("before the capture or after it"), "{text}");
    let folder = std::path::PathBuf::from("/tmp/k");
    let text = DriverError::UnsafeCache { folder, why: "/tmp/k belongs to user 7".into() }.to_string();
    assert!(text.contains("/tmp/k belongs to user 7") && text.contains("GPU_CACHE_DIR"), "{text}");
    let lost = |code| DriverError::DeviceLost { code: CudaCode(code), kernel: None, report: None }.to_string();
    assert!(lost(700).contains("GPU_SYNC=1") && lost(709).contains("reset or destroyed"));
    let launch = |grid, block, code| {
        let (kernel, code) = ("k".to_owned(), CudaCode(code));
        DriverError::Launch { kernel, grid, block, shared_bytes: 0, code }.to_string()
    };
    assert!(launch([1; 3], [33, 33, 1], 1).contains("at most 1024 threads (1089 were asked for)"));
    assert!(launch([1; 3], [4, 4, 65], 1).contains("at most 64 along z"));
    assert!(launch([1, 65536, 1], [32, 1, 1], 1).contains("65535 along y and z"));
    assert!(launch([0, 1, 1], [32, 1, 1], 1).contains("at least 1 along each axis"));
    assert!(launch([1; 3], [1024, 1, 1], 701).contains("__launch_bounds__"));
    assert!(launch([1; 3], [32, 1, 1], 1).ends_with(&CudaCode(1).to_string()));
    let shared = DriverError::SharedMemory { kernel: "k".into(), shared_bytes: 1 << 20, code: CudaCode(1) }.to_string();
    assert!(shared.contains("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"), "{shared}");
    let memory = DriverError::OutOfMemory { requested_bytes: 1 << 40, free_bytes: Some(7) }.to_string();
    assert!(memory.contains("7 are free") && memory.contains("work in parts"), "{memory}");
    assert!(DriverError::OutOfPinnedMemory { requested_bytes: 9 }.to_string().contains("smaller buffer"));
    assert!(DriverError::NestedScratch.to_string().contains("ask once"));
    let two = DriverError::WrongDevice { op: "copy", expected: 0, got: 1 }.to_string();
    assert!(two.contains("copy_from_peer"), "{two}");
    let code = CudaCode(4242);
    assert!(code.to_string().contains("4242") && !code.is_fatal());
}

#[test]
fn errors_are_small_enough_to_be_returned() {
    // A tag within a byte of a longer error makes the compiler move each `Result` in more steps: a program of many calls compiles a tenth longer.
    assert!(size_of::<DriverError>() <= 80, "{} bytes", size_of::<DriverError>());
}
