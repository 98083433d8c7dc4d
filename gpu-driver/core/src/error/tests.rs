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
    assert!(no_kernel(&[]).contains("it has none by name. Write"), "{}", no_kernel(&[]));
    let text = DriverError::InCapture { op: "DeviceVec::to_vec" }.to_string();
    assert!(text.contains("DeviceVec::to_vec") && text.contains("before the capture or after it"), "{text}");
    let folder = std::path::PathBuf::from("/tmp/k");
    let text = DriverError::UnsafeCache { folder, why: "/tmp/k belongs to user 7".into() }.to_string();
    assert!(text.contains("/tmp/k belongs to user 7") && text.contains("GPU_CACHE_DIR"), "{text}");
    let lost = |code| DriverError::DeviceLost { code: CudaCode(code), kernel: None, report: None }.to_string();
    assert!(lost(700).contains("GPU_SYNC=1") && lost(709).contains("reset or destroyed"));
    let code = CudaCode(4242);
    assert!(code.to_string().contains("4242") && !code.is_fatal());
}
