//! No circle of modules: of two files of a crate at most one uses the other, directly or through further files. A module and the modules within it
//! may use each other, and a way through both is not followed: names that a module brings in for others belong to the files that define them.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
    path::Path,
};

use regex::Regex;
use syn::{
    Attribute, Item, ItemMod, ItemUse, Macro, UseTree,
    visit::{self, Visit},
};

/// A module's path within its crate, or an item's.
type Names = Vec<String>;

/// The paths that a file names.
#[derive(Debug, Default)]
struct File {
    /// Names that the file brings in, for itself or for others, and the paths behind them.
    imports: HashMap<String, Names>,
    /// Modules of which it brings in all names.
    globs: Vec<Names>,
    /// Names that it defines.
    items: BTreeSet<String>,
    /// All paths, those behind names among them.
    paths: Vec<Names>,
    /// Modules within the file around the present place.
    depth: usize,
}

impl File {
    fn parse(text: &str) -> Self {
        let mut file = Self::default();
        file.visit_file(&syn::parse_file(text).expect("the file compiles"));
        file
    }

    /// A path as the file's outermost module names it.
    fn named_outermost(&self, path: Names) -> Names {
        let above = path.iter().take(self.depth).take_while(|name| *name == "super").count();
        match path[above..].first() {
            _ if above == 0 => path,
            Some(name) if name == "super" => path[above..].to_vec(),
            _ => [&["self".to_owned()], &path[above..]].concat(),
        }
    }

    fn import(&mut self, tree: &UseTree, before: &[String]) {
        let with = |name: String| [before, &[name]].concat();
        let (name, path) = match tree {
            UseTree::Path(path) => return self.import(&path.tree, &with(path.ident.to_string())),
            UseTree::Group(group) => return group.items.iter().for_each(|tree| self.import(tree, before)),
            UseTree::Glob(_) => {
                let path = self.named_outermost(before.to_vec());
                self.globs.push(path.clone());
                return self.paths.push(path);
            }
            UseTree::Name(name) if name.ident == "self" => {
                (before.last().cloned().unwrap_or_default(), before.to_vec())
            }
            UseTree::Name(name) => (name.ident.to_string(), with(name.ident.to_string())),
            UseTree::Rename(name) => (name.rename.to_string(), with(name.ident.to_string())),
        };
        let path = self.named_outermost(path);
        self.paths.push(path.clone());
        // Modules within the file have names of their own.
        if self.depth == 0 {
            self.imports.insert(name, path);
        }
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg") && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    })
}

impl Visit<'_> for File {
    fn visit_item(&mut self, item: &Item) {
        let name = match item {
            Item::Const(item) => Some(&item.ident),
            Item::Enum(item) => Some(&item.ident),
            Item::Fn(item) => Some(&item.sig.ident),
            Item::Static(item) => Some(&item.ident),
            Item::Struct(item) => Some(&item.ident),
            Item::Trait(item) => Some(&item.ident),
            Item::Type(item) => Some(&item.ident),
            Item::Macro(item) => item.ident.as_ref(),
            _ => None,
        };
        if let Some(name) = name.filter(|_| self.depth == 0) {
            self.items.insert(name.to_string());
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, item: &ItemMod) {
        if !is_test(&item.attrs) {
            self.depth += 1;
            visit::visit_item_mod(self, item);
            self.depth -= 1;
        }
    }

    fn visit_item_use(&mut self, item: &ItemUse) {
        if !is_test(&item.attrs) {
            self.import(&item.tree, &[]);
        }
    }

    fn visit_path(&mut self, path: &syn::Path) {
        let names = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.paths.push(self.named_outermost(names));
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &Macro) {
        visit::visit_macro(self, item);
        // Spaces stand between the tokens: `crate :: device :: f (`. Docs are strings.
        let strings = Regex::new(r#""(\\.|[^"\\])*""#).unwrap();
        let text = item.tokens.to_string().replace(" :: ", "::");
        let text = strings.replace_all(&text, "");
        let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
        for word in words.filter(|word| word.contains("::")) {
            // `crate::a::f::<T>` and `crate::a::{b, c}` end in colons here.
            let names: Names = word.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect();
            if !names.is_empty() {
                self.paths.push(self.named_outermost(names));
            }
        }
    }
}

/// The modules of a crate that are files.
struct Crate(BTreeMap<Names, File>);

impl Crate {
    fn read(source: &Path) -> Self {
        let mut files = BTreeMap::new();
        let mut folders = vec![(source.to_owned(), Names::new())];
        while let Some((folder, module)) = folders.pop() {
            for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
                let inner = if matches!(&*stem, "mod" | "lib" | "main") {
                    module.clone()
                } else {
                    [&*module, std::slice::from_ref(&stem)].concat()
                };
                if path.is_dir() && stem != "bin" {
                    folders.push((path, inner));
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    files.insert(inner, File::parse(&fs::read_to_string(&path).unwrap()));
                }
            }
        }
        Self(files)
    }

    /// The path from the crate's root of a path that a module names; None for one of another crate.
    fn absolute(&self, module: &Names, path: &[String]) -> Option<Names> {
        let (first, rest) = path.split_first()?;
        let mut base = match &**first {
            "crate" => Names::new(),
            "self" | "super" => module.clone(),
            _ => {
                let inner = [&**module, std::slice::from_ref(first)].concat();
                return match self.0[module].imports.get(first) {
                    _ if self.0.contains_key(&inner) => Some([&*inner, rest].concat()),
                    // A crate and a module of one name: `use rand::rand`.
                    Some(brought) if brought.first() != Some(first) => {
                        Some([&*self.absolute(module, brought)?, rest].concat())
                    }
                    Some(_) => None,
                    None => self.behind_globs(module, first, 0).map(|module| [&*module, path].concat()),
                };
            }
        };
        let above = path.iter().take_while(|name| *name == "super").count();
        base.truncate(base.len().checked_sub(above)?);
        Some([&*base, &path[above.max(1)..]].concat())
    }

    /// The module among those that one brings in whole which defines a name, or brings it in.
    fn behind_globs(&self, module: &Names, name: &String, depth: usize) -> Option<Names> {
        let file = &self.0[module];
        if depth > 9 || file.items.contains(name) {
            return None;
        }
        file.globs.iter().find_map(|glob| {
            // A glob of names from a glob is not followed: none is there.
            let named = glob.first().is_some_and(|first| matches!(first.as_str(), "crate" | "self" | "super"));
            let inner = [&**module, &**glob].concat();
            let target = if named { self.absolute(module, glob)? } else { inner };
            let file = self.0.get(&target)?;
            let is_there = file.items.contains(name) || file.imports.contains_key(name);
            if is_there { Some(target) } else { self.behind_globs(&target, name, depth + 1) }
        })
    }

    /// The module of the item behind a path, through the names that modules bring in.
    fn module_of(&self, path: &[String], depth: usize) -> Option<Names> {
        let length = (0..=path.len()).rev().find(|&length| self.0.contains_key(&path[..length]))?;
        let (module, rest) = (path[..length].to_vec(), &path[length..]);
        let name = rest.first().filter(|_| depth < 9);
        let brought = name.and_then(|name| self.absolute(&module, self.0[&module].imports.get(name)?));
        let behind = brought.and_then(|target| self.module_of(&[&*target, &rest[1..]].concat(), depth + 1));
        let in_glob = || self.module_of(&[self.behind_globs(&module, name?, 0)?, rest.to_vec()].concat(), depth + 1);
        let behind = behind.or_else(in_glob);
        Some(behind.unwrap_or(module))
    }

    /// The modules that each module uses, less those around it and within it.
    fn uses(&self) -> BTreeMap<&Names, BTreeSet<Names>> {
        let of = |(module, file): (&'_ Names, &File)| {
            let used = file.paths.iter().filter_map(|path| self.module_of(&self.absolute(module, path)?, 0));
            used.filter(|used| !used.starts_with(module) && !module.starts_with(used)).collect()
        };
        self.0.iter().map(|(module, file)| (module, of((module, file)))).collect()
    }

    /// The pairs of modules that use each other, directly or through others.
    fn circles(&self) -> Vec<String> {
        let uses = self.uses();
        let reached = |from: &Names| {
            let (mut reached, mut next) = (BTreeSet::new(), vec![from.clone()]);
            while let Some(module) = next.pop() {
                next.extend(uses[&module].iter().filter(|used| reached.insert((*used).clone())).cloned());
            }
            reached
        };
        let reached: BTreeMap<_, _> = self.0.keys().map(|module| (module, reached(module))).collect();
        let edges = uses.iter().flat_map(|(module, used)| used.iter().map(move |used| (*module, used)));
        let edges = edges.filter(|(module, used)| reached[used].contains(*module));
        edges.map(|(module, used)| format!("{} uses {}", module.join("::"), used.join("::"))).collect()
    }
}

#[test]
fn no_modules_use_each_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let sources = [
        "gpu-driver/src",
        "gpu-driver/core/src",
        "gpu-driver/emulated/src",
        "gpu-driver/derive/src",
        "gpu-driver/testkit/src",
        "gpu-array/src",
        "gpu-algos/src",
        "gpu-random/src",
        "gpu-sparse/src",
        "benches/src",
        "xtask/src",
    ];
    // One generated list has the driver's functions, which ask the table of addresses, and the names that fill it.
    let allowed = ["sys::loader uses sys::symbols", "sys::symbols uses sys::loader"];
    for source in sources {
        let circles = Crate::read(&root.join(source)).circles();
        let found: Vec<_> = circles.iter().filter(|circle| !allowed.contains(&circle.as_str())).collect();
        assert!(found.is_empty(), "{source}: {found:#?}");
    }
}

/// The modules of gpu-driver, each of which uses only earlier ones.
const LAYERS: [&str; 39] = [
    "raw",
    "environment",
    "nvtx",
    "sys",
    "nvrtc",
    "pod",
    "context",
    "device",
    "attributes",
    "profiler",
    "stream",
    "arguments",
    "capture",
    "ipc",
    "event",
    "pinned",
    "pool",
    "scratch",
    "memory",
    "pointer",
    "tensor_map",
    "texture",
    "gl",
    "graph",
    "signature",
    "launch_arguments",
    "module",
    "cust_handles",
    "cust_memory",
    "global",
    "occupancy",
    "loaded",
    "kernel",
    "params",
    "generated",
    "preload",
    "tuner",
    "emulated",
    "pages",
];

#[test]
fn modules_of_gpu_driver_use_earlier_ones_alone() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let found = Crate::read(&root.join("gpu-driver/src"));
    let layer = |module: &Names| {
        let name = module.first()?;
        Some(LAYERS.iter().position(|layer| layer == name).unwrap_or_else(|| panic!("{name} has no place in LAYERS")))
    };
    for (module, used) in found.uses() {
        let later: Vec<_> = used.iter().filter(|used| layer(used) > layer(module)).collect();
        assert!(module.is_empty() || later.is_empty(), "{module:?} uses {later:?} of later layers");
    }
}

#[test]
fn circles_are_found_behind_names_for_others_and_within_macros() {
    let of = |files: &[(&str, &str)]| {
        let module =
            |path: &str| path.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect::<Names>();
        Crate(files.iter().map(|(path, text)| (module(path), File::parse(text))).collect()).circles()
    };
    let root = ("", "mod a; mod b; pub use b::B; pub use a::A;");
    assert_eq!(of(&[root, ("a", "use crate::B;"), ("b", "use super::a::A;")]), ["a uses b", "b uses a"]);
    assert_eq!(
        of(&[root, ("a", "fn f() { m!(1, crate::b::f()); }"), ("b", "mod c { use super::super::A; }")]).len(),
        2
    );
    assert_eq!(of(&[root, ("a", "use crate::b; fn f() { b::g() }"), ("b", "")]), [""; 0]);
    assert_eq!(of(&[root, ("a", "use crate::B;"), ("b", "pub use super::a::A;")]).len(), 2);
    let by_glob = [("", "mod a; mod b; pub use a::*;"), ("a", "pub struct A; use crate::b::B;")];
    assert_eq!(of(&[by_glob[0], by_glob[1], ("b", "use super::A;")]).len(), 2);
    assert_eq!(of(&[by_glob[0], by_glob[1], ("b", "use super::*; pub struct B; fn f(_: A) {}")]).len(), 2);
    assert_eq!(of(&[by_glob[0], by_glob[1], ("b", "fn f() { m!(crate::A::f::<u8>()) }")]).len(), 2);
    // A test and a module within are no uses.
    assert_eq!(of(&[root, ("a", "use crate::B;"), ("b", "#[cfg(test)] mod tests { use crate::A; }")]), [""; 0]);
    assert_eq!(of(&[root, ("b", "mod c; use c::C;"), ("b::c", "use super::B;")]), [""; 0]);
}
