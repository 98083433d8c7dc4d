//! Run-time tuning: of several variants of a kernel the fastest one is found by measuring, and kept on disk.
//!
//! `mod.rs` decides and measures, `variants.rs` has the lists of variants, `record.rs` the files of choices.

use std::{
    collections::HashMap,
    fmt, io,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    sync::Mutex,
};

use gpu_driver_core::{cache, lock};

use crate::{Device, DevicePod, DriverError, Result, Stream, context::not_forked, pod::bytes_of};

mod record;
mod variants;

use record::Record;
pub use variants::{Answer, Variants};

/// Device time that a measurement takes at least, so that the events' resolution and the host's launches matter little.
const LEAST_MS: f32 = 0.25;
/// The most runs of a variant in one measurement.
const MOST_RUNS: f32 = 32.0;

/// Finds the fastest of several variants of a kernel by measuring them on the device, as ATLAS and FFTW do, and keeps the choice on disk.
///
/// A choice is kept for the kernel's name, the device (name, compute capability, driver) and the size class: sizes from a power of two to the next
/// one share a choice. The files lie in the folder `tuned` of the cache of compiled kernels (`GPU_CACHE_DIR`), under the same rules: nobody else can
/// write them, a reader sees a whole file or none, and a broken one is measured anew. Without such a folder choices last as long as the tuner.
///
/// Variants must have equal answers, or [`Tuner::tune`] is an error. A variant that adds numbers in another order
/// ([`Variants::reorders_sums`]) takes no part unless [`Tuner::allow_reordered_sums`] was called, since the choice would change the program's
/// results from device to device.
///
/// ```no_run
/// use gpu_driver::{Device, DeviceVec, LaunchConfig, Tuner, Variants};
/// let device = Device::first()?;
/// let square = device.compile(r#"extern "C" __global__ void square(const float *x, float *y, unsigned long long n) {
///     for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = x[i] * x[i];
/// }"#)?.function("square")?;
/// let mut variants = Variants::new("square f32, version 1");
/// for threads in [64, 128, 256] {
///     let square = &square;
///     variants = variants.variant(format!("{threads} threads"), move |stream, x: &DeviceVec<f32>| {
///         let (n, mut y) = (x.len(), DeviceVec::<f32>::zeros(stream, x.len())?);
///         // SAFETY: the kernel reads x[..n] and writes y[..n].
///         unsafe { square.launch(LaunchConfig::new(1000, threads), (x.input(), y.output(), n), stream)? };
///         Ok(y)
///     });
/// }
/// let x = DeviceVec::from_slice(&device.stream(), &[3.0f32; 1 << 20])?;
/// let tuner = Tuner::new(&device)?;
/// let choice = tuner.tune(&variants, x.len(), &x, &device.stream())?; // measured once, then known
/// let y = variants.run(&choice.variant, &x, &device.stream())?;
/// # Ok::<(), gpu_driver::DriverError>(())
/// ```
/// # Sources
/// R. C. Whaley, A. Petitet, J. J. Dongarra: Automated empirical optimizations of software and the ATLAS project, Parallel Computing 27, 2001.
/// M. Frigo, S. G. Johnson: The design and implementation of FFTW3, Proceedings of the IEEE 93, 2005 (its "wisdom" are our choices).
pub struct Tuner {
    device: Device,
    /// Name, compute capability and driver.
    described: String,
    folder: Option<PathBuf>,
    rounds: usize,
    reordered: bool,
    records: Mutex<HashMap<[u8; 32], Record>>,
}

/// The variant to use for a kernel and a range of sizes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Choice {
    /// The kernel's name ([`Variants::new`]).
    pub kernel: String,
    /// The sizes that it is made for.
    pub sizes: RangeInclusive<usize>,
    /// The name of the variant.
    pub variant: String,
    /// Whether it was chosen by hand ([`Tuner::pin`]).
    pub is_pinned: bool,
    /// The measured variants with the milliseconds of a run, in the order of the list; empty for a choice by hand that was never measured.
    pub times_ms: Vec<(String, f32)>,
}

impl Tuner {
    /// A tuner for that device, with the choices that are on disk.
    ///
    /// # Errors
    /// The driver's error.
    pub fn new(device: &Device) -> Result<Self> {
        Self::over(device, cache::usable_part("tuned"))
    }

    /// A tuner whose choices lie in a folder of their own, which is made when it is needed.
    ///
    /// # Errors
    /// `UnsafeCache` for a folder that others can write; the driver's error.
    pub fn in_folder(device: &Device, folder: impl Into<PathBuf>) -> Result<Self> {
        Self::over(device, cache::checked(folder.into())?)
    }

    fn over(device: &Device, folder: Option<PathBuf>) -> Result<Self> {
        let ((major, minor), driver) = (device.compute_capability(), Device::driver_version()?);
        let described = format!("{} {major}.{minor} driver {driver}", device.name());
        let records = Mutex::default();
        Ok(Self { device: device.clone(), described, folder, rounds: 5, reordered: false, records })
    }

    /// Measures each variant that many times, 5 where this is not called; the median counts. From 1 to 1000.
    #[must_use]
    pub fn rounds(self, rounds: usize) -> Self {
        Self { rounds: rounds.clamp(1, 1000), ..self }
    }

    /// Lets variants that add in another order take part ([`Variants::reorders_sums`]). Their bits differ, so [`Tuner::tune_with`] is the method for
    /// them, with a comparison that has a bound.
    #[must_use]
    pub fn allow_reordered_sums(self) -> Self {
        Self { reordered: true, ..self }
    }

    /// The fastest of the variants for inputs of `n` elements. Where it is not known yet, each runs once, the answers are compared bit by bit,
    /// and each is measured on `stream` with events, in turns.
    ///
    /// # Cost
    /// A known choice costs a look into a table, the first time a small file. A measurement runs each variant some 10 times, or up to 32
    /// times as often where a run takes microseconds; the time includes allocations and copies of the variant.
    ///
    /// # Errors
    /// `VariantsDiffer` with the variant whose answer differs from the first one's; `NoVariant` for an empty list, and for a choice by hand that is not
    /// among the variants that take part; `Length` for a name that is there twice; `WrongDevice`; `InCapture` where it would have to measure within
    /// a capture; the errors of the variants.
    pub fn tune<I: ?Sized, O: Answer>(
        &self,
        variants: &Variants<'_, I, O>,
        n: usize,
        input: &I,
        stream: &Stream,
    ) -> Result<Choice> {
        self.tune_with(variants, n, input, stream, same_bits)
    }

    /// [`Tuner::tune`] with a comparison of answers, told the first variant's and another's: for sums of floats one with a bound.
    ///
    /// # Errors
    /// Those of [`Tuner::tune`].
    pub fn tune_with<I: ?Sized, O: Answer>(
        &self,
        variants: &Variants<'_, I, O>,
        n: usize,
        input: &I,
        stream: &Stream,
        are_equal: impl Fn(&[O::Element], &[O::Element]) -> bool,
    ) -> Result<Choice> {
        if stream.device() != &self.device {
            let (expected, got) = (self.device.ordinal(), stream.device().ordinal());
            return Err(DriverError::WrongDevice { op: "Tuner::tune", expected, got });
        }
        not_forked()?;
        let taking_part = variants.taking_part(self.reordered)?;
        let names: Vec<&str> = taking_part.iter().map(|&at| variants.name(at)).collect();
        if let Some(record) = self.decided(variants.kernel(), n, &names)? {
            return Ok(record.into());
        }
        if self.device.0.captures_here() || stream.is_capturing()? {
            return Err(DriverError::InCapture { op: "Tuner::tune" });
        }
        self.compare(variants, &taking_part, input, stream, are_equal)?;
        let times = self.measure(taking_part.len(), |which, runs| {
            let start = stream.record()?;
            for _ in 0..runs {
                drop(variants.call(taking_part[which], input, stream)?);
            }
            stream.record()?.elapsed_ms_since(&start)
        })?;
        let times_ms: Vec<_> = names.iter().map(|&name| name.to_owned()).zip(times).collect();
        Ok(self.keep(Record::measured(variants.kernel(), &self.described, n, times_ms)).into())
    }

    /// Runs each variant once, and compares its answer with the first one's.
    fn compare<I: ?Sized, O: Answer>(
        &self,
        variants: &Variants<'_, I, O>,
        taking_part: &[usize],
        input: &I,
        stream: &Stream,
        are_equal: impl Fn(&[O::Element], &[O::Element]) -> bool,
    ) -> Result<()> {
        let mut first = None;
        for &at in taking_part {
            let got = variants.call(at, input, stream)?.elements()?;
            // A variant whose answer is no output of its stream has to have run before the next one changes anything.
            stream.synchronize()?;
            let (reference, want) = first.get_or_insert_with(|| (at, got.clone()));
            if *reference != at && !are_equal(want, &got) {
                return Err(variants.differ(at, *reference, where_they_differ(want, &got)));
            }
        }
        Ok(())
    }

    /// The medians of the milliseconds of one run of each variant; `time` runs one of them so many times.
    fn measure(&self, variants: usize, time: impl Fn(usize, usize) -> Result<f32>) -> Result<Vec<f32>> {
        let runs = |ms: f32| (LEAST_MS / ms.max(f32::MIN_POSITIVE)).ceil().clamp(1.0, MOST_RUNS) as usize;
        let runs = (0..variants).map(|which| time(which, 1).map(runs)).collect::<Result<Vec<usize>>>()?;
        let mut all = vec![Vec::with_capacity(self.rounds); variants];
        for _ in 0..self.rounds {
            for (which, times) in all.iter_mut().enumerate() {
                times.push(time(which, runs[which])? / runs[which] as f32);
            }
        }
        Ok(all.into_iter().map(median).collect())
    }

    /// The record of a kernel and a size, where it is good for a list of variants.
    fn decided(&self, kernel: &str, n: usize, names: &[&str]) -> Result<Option<Record>> {
        let Some(record) = self.find(kernel, n) else { return Ok(None) };
        if record.is_pinned {
            if !names.contains(&record.winner.as_str()) {
                let known = names.iter().map(|&name| name.to_owned()).collect();
                return Err(DriverError::NoVariant { kernel: kernel.to_owned(), variant: record.winner, known });
            }
            return Ok(Some(record));
        }
        // A variant that has come or gone may change the winner.
        let same = record.times_ms.len() == names.len() && record.times_ms.iter().zip(names).all(|((a, _), b)| a == b);
        Ok(same.then_some(record))
    }

    /// The choice for a kernel and inputs of `n` elements, where there is one. Nothing is measured.
    pub fn choice(&self, kernel: &str, n: usize) -> Option<Choice> {
        self.find(kernel, n).map(Choice::from)
    }

    /// Chooses a variant by hand, for inputs of the size class of `n`: it is taken without measuring until [`Tuner::forget`].
    pub fn pin(&self, kernel: &str, n: usize, variant: &str) {
        let times_ms = self.find(kernel, n).map(|record| record.times_ms).unwrap_or_default();
        self.keep(Record::pinned(kernel, &self.described, n, variant, times_ms));
    }

    /// All choices for this device, measured or made by hand, by kernel and size.
    pub fn known(&self) -> Vec<Choice> {
        let mut known: HashMap<_, _> = self.on_disk().map(|(_, record)| (record.key(), record)).collect();
        self.in_memory(|records| known.extend(records.iter().map(|(key, record)| (*key, record.clone()))));
        let mut known: Vec<Record> = known.into_values().collect();
        known.sort_by(|a, b| (&a.kernel, a.class).cmp(&(&b.kernel, b.class)));
        known.into_iter().map(Choice::from).collect()
    }

    /// Forgets the choices for a kernel on this device, of all sizes; those made by hand too.
    ///
    /// # Errors
    /// The system's error where a file cannot be removed.
    pub fn forget(&self, kernel: &str) -> io::Result<()> {
        self.in_memory(|records| records.retain(|_, record| record.kernel != kernel));
        self.on_disk().filter(|(_, record)| record.kernel == kernel).try_for_each(|(path, _)| remove(&path))
    }

    /// Forgets all choices for all devices, and removes broken files.
    ///
    /// # Errors
    /// The system's error where a file cannot be removed.
    pub fn clear(&self) -> io::Result<()> {
        self.in_memory(HashMap::clear);
        self.folder.iter().flat_map(|folder| record::files(folder)).try_for_each(|path| remove(&path))
    }

    fn find(&self, kernel: &str, n: usize) -> Option<Record> {
        let key = record::key(kernel, &self.described, record::class(n));
        if let Some(record) = self.in_memory(|records| records.get(key.bytes()).cloned()).flatten() {
            return Some(record);
        }
        let read = record::load(self.folder.as_deref()?, key)?;
        self.in_memory(|records| records.insert(*key.bytes(), read.clone()));
        Some(read)
    }

    /// Reads or changes the choices in memory. Not in the child of a fork, where another thread of the parent may have locked them for ever: choices on
    /// disk are all that it has.
    fn in_memory<T>(&self, of: impl FnOnce(&mut HashMap<[u8; 32], Record>) -> T) -> Option<T> {
        not_forked().ok().map(|()| of(&mut lock(&self.records)))
    }

    /// Keeps a record for later calls and, where that can be, for later programs.
    fn keep(&self, record: Record) -> Record {
        if let Some(folder) = &self.folder {
            record::store(folder, &record);
        }
        self.in_memory(|records| records.insert(record.key(), record.clone()));
        record
    }

    /// The records for this device with their files.
    fn on_disk(&self) -> impl Iterator<Item = (PathBuf, Record)> {
        let read = |path: PathBuf| record::read(&path).map(|record| (path, record));
        let all = self.folder.iter().flat_map(|folder| record::files(folder)).filter_map(read);
        all.filter(|(_, record)| record.device == self.described)
    }
}

impl fmt::Debug for Tuner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tuner({}, {:?})", self.described, self.folder)
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn median(mut times: Vec<f32>) -> f32 {
    times.sort_by(f32::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f32::INFINITY)
}

fn same_bits<T: DevicePod>(a: &[T], b: &[T]) -> bool {
    bytes_of(a) == bytes_of(b)
}

/// The first difference of two answers, in words.
fn where_they_differ<T: DevicePod>(want: &[T], got: &[T]) -> String {
    if want.len() != got.len() {
        return format!("{} elements, not {}", got.len(), want.len());
    }
    match want.iter().zip(got).position(|(want, got)| !same_bits(&[*want], &[*got])) {
        Some(at) => format!("element {at} is {:?}, not {:?}", got[at], want[at]),
        None => "the comparison finds equal bits unequal".to_owned(),
    }
}
