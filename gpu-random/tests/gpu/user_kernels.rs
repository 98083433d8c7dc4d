//! Generators in kernels of users: the numbers of cuRAND's device API, as the host makes them.

use std::{marker::PhantomData, sync::LazyLock};

use approx::abs_diff_eq;
use gpu_driver::{Device, DeviceVec, Dim3, DriverError, Entry, Out, Registry, Source};
use gpu_random::{
    HEADERS, PhiloxRng, XorwowRng,
    distribution::{normal_f32, normal_f64, uniform_f32, uniform_f64},
};
use rand::Rng;
use testkit::{Outcome, ensure, ensure_eq};

const THREADS: usize = 64;

static SOURCE: Source = Source { name: "user_kernels.cu", text: include_str!("user_kernels.cu"), headers: &HEADERS };

/// A host generator, and the name of its twin.
trait Twin: Rng + 'static {
    const CUDA: &'static str;
    fn init(seed: u64, subsequence: u64, offset: u64) -> Self;
    /// What `uniform_double` is of.
    fn uniform_double(&mut self) -> f64;
}

impl Twin for XorwowRng {
    const CUDA: &'static str = "gpu_random::Xorwow";
    fn init(seed: u64, subsequence: u64, offset: u64) -> Self {
        Self::new(seed, subsequence, offset)
    }
    fn uniform_double(&mut self) -> f64 {
        uniform_f64(self.next_u32(), self.next_u32())
    }
}

impl Twin for PhiloxRng {
    const CUDA: &'static str = "gpu_random::Philox";
    fn init(seed: u64, subsequence: u64, offset: u64) -> Self {
        Self::new(seed, subsequence, offset)
    }
    fn uniform_double(&mut self) -> f64 {
        (f64::from(self.next_u32()) + 1.0) / 4_294_967_296.0
    }
}

struct Numbers<R>(PhantomData<R>);

impl<R: Twin> Entry for Numbers<R> {
    type Policy = ();
    type Args<'a> = (u64, u64, Out<'a, u32>, Out<'a, f32>, Out<'a, f64>);
    const SOURCE: &'static Source = &SOURCE;
    const NAME: &'static str = "numbers";
    fn template(_: &()) -> String {
        R::CUDA.to_owned()
    }
    fn block(_: &()) -> Dim3 {
        (THREADS as u32).into()
    }
}

/// The kernels of these tests, which the group `kernels` compiles too.
pub static KERNELS: LazyLock<Registry> =
    LazyLock::new(|| Registry::new("gpu-random tests").with::<Numbers<XorwowRng>>(&()).with::<Numbers<PhiloxRng>>(&()));

fn normal_pair(rng: &mut impl Rng) -> [f32; 2] {
    normal_f32(rng.next_u32(), rng.next_u32())
}

fn wide_pair(rng: &mut impl Rng) -> [f64; 2] {
    normal_f64(std::array::from_fn(|_| rng.next_u32()))
}

/// What a thread draws.
fn of_thread<R: Twin>(mut rng: R) -> Drawn {
    let (mut w, mut s, mut d) = ([0; 4], [0.0; 8], [0.0; 7]);
    let log = |z: [f32; 2]| z.map(|z| (0.5 + 0.25 * z).exp());
    let wide_log = |z: [f64; 2]| z.map(|z| (0.5 + 0.25 * z).exp());
    w[0] = rng.next_u32();
    s[0] = uniform_f32(rng.next_u32());
    d[0] = rng.uniform_double();
    [s[1], s[2]] = normal_pair(&mut rng);
    [d[1], d[2]] = wide_pair(&mut rng);
    w[1] = rng.next_u32();
    // The second ones of these are dropped by the log-normal ones.
    s[3] = normal_pair(&mut rng)[0];
    d[3] = wide_pair(&mut rng)[0];
    [s[4], s[5]] = log(normal_pair(&mut rng));
    [d[4], d[5]] = wide_log(wide_pair(&mut rng));
    w[2] = rng.next_u32();
    s[6] = normal_pair(&mut rng)[0];
    d[6] = wide_pair(&mut rng)[0];
    s[7] = log(normal_pair(&mut rng))[0];
    w[3] = rng.next_u32();
    (w, s, d)
}

/// What all threads of the kernel draw.
#[expect(clippy::type_complexity, reason = "three arrays")]
fn draw<R: Twin>(device: &Device, seed: u64, offset: u64) -> Result<(Vec<u32>, Vec<f32>, Vec<f64>), DriverError> {
    let stream = device.stream();
    let mut words = DeviceVec::zeros(&stream, 4 * THREADS)?;
    let mut single = DeviceVec::zeros(&stream, 8 * THREADS)?;
    let mut wide = DeviceVec::zeros(&stream, 7 * THREADS)?;
    let kernel = KERNELS.kernel::<Numbers<R>>(device, &())?;
    let arguments = (seed, offset, words.output(), single.output(), wide.output());
    // SAFETY: one block; the buffers have 4, 8 and 7 elements for each thread.
    unsafe { kernel.launch(1, arguments, &stream)? };
    Ok((words.to_vec()?, single.to_vec()?, wide.to_vec()?))
}

fn compare<R: Twin>(device: &Device, seed: u64, offset: u64) -> Outcome {
    let (words, single, wide) = draw::<R>(device, seed, offset)?;
    for thread in 0..THREADS {
        let (w, s, d) = of_thread(R::init(seed, thread as u64 * 0x1_0000_0001, offset));
        ensure_eq!((thread, &words[4 * thread..][..4]), (thread, &w[..]));
        let single = &single[8 * thread..][..8];
        ensure!(
            single[0] == s[0] && single.iter().zip(s).all(|(&got, want)| abs_diff_eq!(got, want, epsilon = 1e-5)),
            "{single:?}, {s:?}"
        );
        let wide = &wide[7 * thread..][..7];
        ensure!(
            wide[0] == d[0] && wide.iter().zip(d).all(|(&got, want)| abs_diff_eq!(got, want, epsilon = 1e-13)),
            "{wide:?}, {d:?}"
        );
    }
    Ok(())
}

pub fn generators_in_kernels_are_those_of_the_host(device: &Device) -> Outcome {
    for (seed, offset) in [(0, 0), (1234, 7), ((1 << 63) + 9, (1 << 50) + 1)] {
        compare::<XorwowRng>(device, seed, offset)?;
        compare::<PhiloxRng>(device, seed, offset)?;
    }
    Ok(())
}

/// Words, f32 and f64 numbers of a thread.
type Drawn = ([u32; 4], [f32; 8], [f64; 7]);
const OFFSETS: [u64; 3] = [0, 7, (1 << 50) + 1];
/// What cuRAND's device API gives for seed 1234, subsequence 5 times 2^32 + 1 and these offsets (curand_kernel.h of 10.4, compiled for the host).
#[expect(clippy::excessive_precision, reason = "as they were printed")]
const OF_XORWOW: [Drawn; 3] = [
    (
        [4233946410, 880442820, 956591333, 2949677131],
        [0.210734442, 1.6251, -0.861413, 0.695153, 2.51308, 1.43795, -0.698805, 1.27219],
        [
            0.34250322033140906,
            -0.245649215839,
            0.231989727227,
            -0.865454485665,
            1.43368674959,
            1.83637968144,
            1.62496819459,
        ],
    ),
    (
        [4056670984, 892632991, 2507685995, 3066047452],
        [0.905083954, 0.695153, 1.0944, 1.50137, 1.38444, 1.39158, -0.706099, 2.12269],
        [
            0.20499391543707152,
            -0.865454485665,
            0.395598494301,
            1.67366069527,
            2.47500409026,
            1.62619330518,
            0.81978291588,
        ],
    ),
    (
        [4177575584, 3272825612, 802904657, 2337345528],
        [0.61818248, 1.12709, 0.14759, 0.336091, 1.28707, 1.34206, -0.862176, 1.85901],
        [
            0.94661554417619898,
            -0.286260232173,
            -0.739667257613,
            0.422237674729,
            1.49656913527,
            1.5323876844,
            -0.817312603267,
        ],
    ),
];
/// The same of Philox.
#[expect(clippy::excessive_precision, reason = "as they were printed")]
const OF_PHILOX: [Drawn; 3] = [
    (
        [3879732876, 2854679053, 1685604764, 473667682],
        [0.0531502068, -0.303071, -1.02613, 0.572696, 2.05824, 1.86543, -0.683894, 2.49869],
        [
            0.83452649600803852,
            1.84761548659,
            -0.818284534908,
            -0.0152086322084,
            1.37664499924,
            1.77964227073,
            0.618763251616,
        ],
    ),
    (
        [885728102, 2564316161, 721103764, 821915160],
        [0.316355258, 0.572696, 0.206016, -1.06844, 1.38961, 0.699554, 1.19989, 2.00204],
        [
            0.66465676156803966,
            -0.0152086322084,
            0.298310798183,
            0.974458784528,
            1.92454738016,
            2.86775717258,
            -0.484743418803,
        ],
    ),
    (
        [2103720758, 1332438832, 83642357, 2372116245],
        [0.0704567432, 2.32394, -1.69299, 0.824033, 1.71128, 1.47244, 0.181218, 1.55351],
        [0.95556473103351891, 1.00556041358, 1.84017105893, 0.478077645014, 1.30363594222, 1.6876676643, 1.18794487686],
    ),
];

pub fn generators_in_kernels_are_those_of_curand(device: &Device) -> Outcome {
    fn known<R: Twin>(device: &Device, want: &[Drawn; 3]) -> Outcome {
        const THREAD: usize = 5;
        for (offset, (w, s, d)) in OFFSETS.into_iter().zip(want) {
            let (words, single, wide) = draw::<R>(device, 1234, offset)?;
            ensure_eq!(words[4 * THREAD..][..4], w[..]);
            let near =
                single[8 * THREAD..][..8].iter().zip(s).all(|(got, want)| abs_diff_eq!(got, want, epsilon = 1e-5));
            let wide_near =
                wide[7 * THREAD..][..7].iter().zip(d).all(|(got, want)| abs_diff_eq!(got, want, epsilon = 1e-11));
            ensure!(near && wide_near, "{}, offset {offset}", R::CUDA);
        }
        Ok(())
    }
    known::<XorwowRng>(device, &OF_XORWOW)?;
    known::<PhiloxRng>(device, &OF_PHILOX)
}
