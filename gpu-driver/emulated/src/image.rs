//! Loaded modules: shared objects made of kernels, mapped into this process.

use std::{
    collections::HashSet,
    ffi::{CStr, c_void},
    io::Write,
    ops::Range,
    path::{Path, PathBuf},
    sync::Mutex,
};

use gpu_driver_core::{cache, lock, private};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::{
    abi,
    code::{INVALID_IMAGE, OPERATING_SYSTEM},
    elf::{self, Elf},
};

/// Variables of the headers, which the driver writes.
const BUILT_IN: [&str; 4] = ["threadIdx", "blockIdx", "blockDim", "gridDim"];

/// A mapped module.
pub(super) struct Image {
    module: *const abi::AbiModule,
    bytes: Vec<u8>,
    base: usize,
    segments: Vec<Range<usize>>,
    /// The ranges that hold writable variables, as offsets from `base`.
    variables_at: Vec<Range<usize>>,
    /// Each of them, and whether it is the program's own.
    variables: Vec<(Range<usize>, bool)>,
    path: PathBuf,
    /// Unmapped before the file goes, and before another load may use it.
    _library: Library,
    _own_copy: Option<tempfile::TempPath>,
    _path_in_use: Option<PathInUse>,
}

// SAFETY: the module's variables are touched only with the emulated driver's lock held.
unsafe impl Send for Image {}
// SAFETY: as above.
unsafe impl Sync for Image {}

/// Files that are mapped now. The dynamic linker gives one mapping for one file, and two loads of one image are two
/// modules with variables of their own.
static MAPPED: Mutex<Option<HashSet<PathBuf>>> = Mutex::new(None);

impl Image {
    /// Maps the shared object that starts at `image`; its kernels call the functions of `runtime`.
    ///
    /// # Safety
    /// `image` points to an image that [`crate::compile()`] made, or to at least 64 readable bytes that are none.
    pub(super) unsafe fn load(image: *const c_void, runtime: &'static abi::Runtime) -> Result<Self, i32> {
        // SAFETY: as the caller promises.
        let header = unsafe { &*image.cast::<[u8; 64]>() };
        let bytes = elf::file_bytes(header).ok_or(INVALID_IMAGE)?;
        // SAFETY: a whole file, as the caller promises.
        let bytes = unsafe { std::slice::from_raw_parts(image.cast::<u8>(), bytes) }.to_vec();
        let elf = Elf::new(&bytes).ok_or(INVALID_IMAGE)?;
        let (segments, variables_at) = (elf.segments(), elf.variables_at());
        let own =
            |(name, _): &(String, Range<usize>)| !name.contains("gpu_emulated_") && !BUILT_IN.contains(&name.as_str());
        let variables = elf.objects().into_iter().map(|entry| (entry.1.clone(), own(&entry))).collect();
        let (offset, _) = elf.symbol("gpu_emulated_module").ok_or(INVALID_IMAGE)?;
        let (path, own_copy, in_use) = place(&bytes).map_err(|_| OPERATING_SYSTEM)?;
        // SAFETY: a module of our own compiler step, which refuses programs that would run anything when they are loaded.
        let library = unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_LOCAL) }.map_err(|_| INVALID_IMAGE)?;
        // SAFETY: the symbol has this type in every module; the version tells whether it is this layout.
        let module = unsafe { library.get::<*const abi::AbiModule>(abi::MODULE_SYMBOL) }.map_err(|_| INVALID_IMAGE)?;
        // `get` reads the symbol's address as the value.
        let module = *module;
        let base = (module as usize).wrapping_sub(offset);
        let image = Self {
            module,
            bytes,
            base,
            segments,
            variables_at,
            variables,
            path,
            _library: library,
            _own_copy: own_copy,
            _path_in_use: in_use,
        };
        if image.module().version != abi::VERSION {
            return Err(INVALID_IMAGE);
        }
        // SAFETY: the module's own variable, which nothing reads before its first kernel runs.
        unsafe { *image.module().runtime = runtime };
        Ok(image)
    }

    pub(super) fn module(&self) -> &abi::AbiModule {
        // SAFETY: mapped as long as `self`.
        unsafe { &*self.module }
    }

    pub(super) fn kernels(&self) -> &[abi::AbiKernel] {
        let module = self.module();
        if module.kernel_count == 0 {
            return &[];
        }
        // SAFETY: the module's table has that many entries.
        unsafe { std::slice::from_raw_parts(module.kernels, module.kernel_count as usize) }
    }

    /// The number of the kernel of that name. Those without a name are left out by an `#if` of their text.
    pub(super) fn find(&self, name: &CStr) -> Option<usize> {
        if name.is_empty() {
            return None;
        }
        // SAFETY: the names are literals of the module.
        self.kernels().iter().position(|kernel| unsafe { CStr::from_ptr(kernel.name) } == name)
    }

    /// Address and size of a device variable.
    pub(super) fn variable(&self, name: &str) -> Option<(usize, usize)> {
        let (offset, bytes) = Elf::new(&self.bytes)?.symbol(name)?;
        Some((self.base + offset, bytes))
    }

    /// Whether `bytes` at `address` are the module's own constants, or lie within one of its variables.
    pub(super) fn holds(&self, address: usize, bytes: usize, write: bool) -> bool {
        let offset = address.wrapping_sub(self.base);
        let within = |range: &Range<usize>| range.contains(&offset) && bytes <= range.end - offset;
        if self.variables_at.iter().any(|range| range.contains(&offset)) {
            return self.variables.iter().any(|(range, own)| within(range) && (*own || !write));
        }
        // Beside them, data that the linker lays out in writable pages is constant once it is loaded.
        !write && self.segments.iter().any(within)
    }

    /// The file, and the offset in it that debug information counts by, of a code address.
    pub(super) fn locate(&self, pc: usize) -> (&Path, usize) {
        (&self.path, pc.wrapping_sub(self.base))
    }

    /// Whether the address lies in the module's code or data.
    pub(super) fn contains(&self, address: usize) -> bool {
        let offset = address.wrapping_sub(self.base);
        self.segments.iter().any(|segment| segment.contains(&offset))
    }
}

/// A file that no other load of this process uses, until it is dropped.
struct PathInUse(PathBuf);

impl PathInUse {
    /// None when the file is in use.
    fn of(path: &Path) -> Option<Self> {
        lock(&MAPPED).get_or_insert_default().insert(path.to_owned()).then(|| Self(path.to_owned()))
    }
}

impl Drop for PathInUse {
    fn drop(&mut self) {
        if let Some(mapped) = lock(&MAPPED).as_mut() {
            mapped.remove(&self.0);
        }
    }
}

type Placed = (PathBuf, Option<tempfile::TempPath>, Option<PathInUse>);

/// A file with these bytes that is mapped nowhere in this process. Named by its contents where there is a cache, so that a
/// debugger finds it again.
fn place(bytes: &[u8]) -> std::io::Result<Placed> {
    let loaded = cache::usable_part("emulated").map(|folder| folder.join("loaded"));
    if let Some(place) = loaded.and_then(|folder| place_in(&folder, bytes)) {
        return Ok(place);
    }
    let mut file = tempfile::Builder::new().prefix("gpu-emulated-").suffix(".so").tempfile()?;
    file.write_all(bytes)?;
    let path = file.into_temp_path();
    Ok((path.to_path_buf(), Some(path), None))
}

/// Places the image in a folder of the cache; None if the folder cannot be used or the file is in use.
///
/// The dynamic linker opens the file by its name, after it was read here. Both see the same file: the folder is looked at first,
/// and its path has no links, so that nobody but this user and root can give that name to another file. To open
/// `/proc/self/fd/…` in its place would be no safer, and two images could share a name: numbers of open files are used again, and
/// the dynamic linker takes equal names for one library. Debuggers would look in their own `/proc/self`.
fn place_in(folder: &Path, bytes: &[u8]) -> Option<Placed> {
    let folder = private::make_folder(folder).ok()?;
    let name = cache::Key::of_bytes([bytes]).hex() + ".so";
    let path = folder.join(&name);
    let in_use = PathInUse::of(&path)?;
    if !private::read(&path).is_ok_and(|there| there == bytes) {
        cache::write_whole(&folder, &name, bytes).ok()?;
    }
    Some((path, None, Some(in_use)))
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{MetadataExt, PermissionsExt},
    };

    use super::*;

    #[test]
    fn images_are_mapped_from_folders_of_this_user_alone() {
        let cache = tempfile::tempdir().unwrap();
        let folder = cache.path().canonicalize().unwrap().join("loaded");
        let (path, ..) = place_in(&folder, b"image").unwrap();
        assert!(path.starts_with(&folder) && folder.metadata().unwrap().mode() & 0o777 == 0o700);
        // A file that is not the image is written anew.
        fs::write(&path, "other").unwrap();
        assert!(place_in(&folder, b"image").is_some());
        assert_eq!(fs::read(&path).unwrap(), b"image");
        // A link is not where the image is looked for.
        let link = cache.path().join("link");
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        assert_eq!(place_in(&link, b"image").unwrap().0, path);
        // Nor does it lie where others can write, be the folder there already or not.
        for open in [folder.as_path(), cache.path()] {
            fs::set_permissions(open, fs::Permissions::from_mode(0o777)).unwrap();
            assert!(place_in(&folder, b"image").is_none(), "{}", open.display());
            fs::set_permissions(open, fs::Permissions::from_mode(0o700)).unwrap();
        }
    }

    #[test]
    fn one_file_is_mapped_once() {
        let cache = tempfile::tempdir().unwrap();
        let first = place_in(cache.path(), b"image");
        assert!(first.is_some() && place_in(cache.path(), b"image").is_none());
        drop(first);
        assert!(place_in(cache.path(), b"image").is_some());
    }
}
