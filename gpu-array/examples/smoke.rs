use gpu_array::{GpuArray, expression::*};
use ndarray::{Array1, Array2, Axis, s};
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = gpu_array::gpu_driver::Device::for_tests()?;
    for n in [0usize, 1, 3, 5, 1025, 5000] {
        let (x, y) =
            (Array1::from_iter((0..n).map(|i| i as f32 * 0.5)), Array1::from_iter((0..n).map(|i| 3.0 - i as f32)));
        let (dx, dy) = (GpuArray::from_ndarray(&device, &x)?, GpuArray::from_ndarray(&device, &y)?);
        let t = std::time::Instant::now();
        let z = (5.0 * &dx + &dy * 6.0).eval()?;
        assert_eq!(z.to_ndarray()?, 5.0 * &x + 6.0 * &y);
        println!("{n} {:?}", t.elapsed());
        if n > 10 {
            let z = (dx.slice(s![1..])? * dy.slice(s![..-1])?).eval()?;
            assert_eq!(z.to_ndarray()?, &x.slice(s![1..]) * &y.slice(s![..-1]));
        }
    }
    let x = Array2::from_shape_fn((67, 130), |(i, j)| (i * 1000 + j) as f32);
    let v = Array1::from_iter((0..130).map(|i| i as f32));
    let (dx, dv) = (GpuArray::from_ndarray(&device, &x)?, GpuArray::from_ndarray(&device, &v)?);
    assert_eq!((&dx + &dv).eval()?.to_ndarray()?, &x + &v);
    let t = (dx.t() + 0.0).eval()?;
    println!("{:?}", t.strides());
    assert_eq!(t.to_ndarray()?, x.t());
    let sq = dx.slice(s![..67, ..67])?;
    let sum = (sq + sq.t()).eval()?;
    assert_eq!(sum.to_ndarray()?, &x.slice(s![..67, ..67]) + &x.slice(s![..67, ..67]).t());
    let r = roll(&dx, 3, Axis(1)).eval()?;
    assert_eq!(r.to_ndarray()?, roll(host(&x), 3, Axis(1)).eval()?);
    let (a, b) = eval_all((dx.sqrt(), (&dx).gt(5000.0)))?;
    println!("{} {}", a.slice(s![..2, ..4])?, b.slice(s![4..6, ..4])?);
    let mut y = GpuArray::zeros(&device, (67, 130))?;
    y.assign(&dx)?;
    y += &dx;
    y.update(|y| y * 0.5 + where_(dx.lt(10.0), 1.0f32, 0.0))?;
    assert_eq!(y.to_ndarray()?, &x + &x.mapv(|x| if x < 10.0 { 1.0 } else { 0.0 }));
    y += &dv.slice(s![..5])?;
    println!("{:?}", y.to_ndarray().map(|_| ()));
    assert!(y.to_ndarray().is_ok());
    println!("{}", GpuArray::arange(&device, 0.0f32, 1.0, 0.1)?);
    println!("{}", eye::<i32, Gpu>(3).eval_on(&device)?);
    Ok(())
}
