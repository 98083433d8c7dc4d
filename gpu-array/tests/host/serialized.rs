//! The feature `serde`: here, because serde_json has numbers that compare with others, which hides types from tests of devices.

use std::error::Error;

use gpu_array::{GpuArray, f16};
use gpu_driver::emulated::Emulated;
use ndarray::{Array1, Array2, array};

#[test]
fn json_has_the_form_of_ndarray() -> Result<(), Box<dyn Error>> {
    let device = Emulated::new().open()?;
    let host = array![[1.5f32, 2.0], [3.0, -4.0]];
    let x = GpuArray::from_ndarray(&device, &host.t())?;
    let text = serde_json::to_string(&x)?;
    assert_eq!(text, serde_json::to_string(&host.t().as_standard_layout().to_owned())?);
    let back: Array2<f32> = serde_json::from_str(&text)?;
    assert_eq!(back, host.t());
    let halves = array![f16::from_f32(1.5), f16::NEG_INFINITY];
    let text = serde_json::to_string(&GpuArray::from_ndarray(&device, &halves)?)?;
    assert_eq!(serde_json::from_str::<Array1<f16>>(&text)?, halves);
    // A copy that fails is an error of the serializer.
    let mut broken = GpuArray::<f32, _>::zeros(&device, 3)?;
    broken += &GpuArray::<f32, _>::zeros(&device, 5)?;
    let error = serde_json::to_string(&broken).err().ok_or("no error")?;
    assert!(error.to_string().contains("+="), "{error}");
    Ok(())
}
