//! The budgets: the resources that each kernel took when they were recorded, and may take since.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs,
    path::Path,
};

use serde::{Deserialize, Serialize};

use super::{Kernel, Usage, in_order};
use crate::{Outcome, json_if_there};

/// The resources that a kernel may take on one architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Budget {
    registers: u64,
    shared_bytes: u64,
    spill_store_bytes: u64,
    spill_load_bytes: u64,
    /// The hash of the instructions.
    #[serde(default)]
    code: u64,
}

impl From<Usage> for Budget {
    fn from(usage: Usage) -> Self {
        let Usage { registers, shared_bytes, spill_store_bytes, spill_load_bytes, code, .. } = usage;
        Self { registers, shared_bytes, spill_store_bytes, spill_load_bytes, code }
    }
}

impl Budget {
    /// Each measure with its unit.
    fn measures(self) -> [(u64, &'static str); 4] {
        [
            (self.registers, "registers"),
            (self.shared_bytes, "bytes of shared memory"),
            (self.spill_store_bytes, "bytes of registers spilled"),
            (self.spill_load_bytes, "bytes of spilled registers read back"),
        ]
    }
}

/// The budgets of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
struct Recorded {
    /// The digest of the kernel's text, headers and options.
    #[serde(default)]
    digest: String,
    #[serde(flatten)]
    archs: BTreeMap<String, Budget>,
}

/// The file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Budgets {
    /// The compiler whose code these are.
    nvrtc: String,
    kernels: BTreeMap<String, Recorded>,
}

impl Budgets {
    /// Nothing where there is no file.
    pub(super) fn read(path: &Path) -> Outcome<Option<Self>> {
        json_if_there(path)
    }

    /// Whether a kernel's text, headers and options are those of the record. Then its budget is too.
    pub(super) fn have(&self, kernel: &Kernel) -> bool {
        self.kernels.get(&kernel.name()).is_some_and(|recorded| recorded.digest == kernel.digest)
    }

    pub(super) fn are_of(&self, nvrtc: &str) -> bool {
        self.nvrtc == nvrtc
    }

    /// Leaves out the budgets of kernels that are no more.
    pub(super) fn keep(&mut self, kernels: &[Kernel]) {
        let names: BTreeSet<_> = kernels.iter().map(Kernel::name).collect();
        self.kernels.retain(|name, _| names.contains(name));
    }

    /// Budgets of as much as these kernels take, and with `others` the budgets of those that were not looked at.
    pub(super) fn of(kernels: &[Kernel], nvrtc: &str, others: Option<Self>) -> Outcome<Self> {
        let mut all = others.unwrap_or_else(|| Self { nvrtc: nvrtc.to_owned(), kernels: BTreeMap::new() });
        if !kernels.is_empty() && !all.are_of(nvrtc) {
            let message = format!("the others are of NVRTC {}, this is {nvrtc}: record all, with `--all`", all.nvrtc);
            return Err(message.into());
        }
        for kernel in kernels {
            let mut archs = BTreeMap::new();
            for (arch, usage) in &kernel.archs {
                let usage = usage.ok_or_else(|| format!("NVRTC {nvrtc} makes no machine code for {arch}"))?;
                archs.insert(arch.clone(), usage.into());
            }
            all.kernels.insert(kernel.name(), Recorded { digest: kernel.digest.clone(), archs });
        }
        Ok(all)
    }

    /// One line for each kernel and architecture, so that a change is easy to review.
    pub(super) fn write(&self, path: &Path) -> Outcome {
        Ok(fs::write(path, self.to_text()?)?)
    }

    fn to_text(&self) -> Outcome<String> {
        let mut kernels = Vec::new();
        for (name, Recorded { digest, archs }) in &self.kernels {
            let mut lines = vec![format!("      \"digest\": {}", serde_json::to_string(digest)?)];
            for (arch, budget) in in_order(archs) {
                lines.push(format!("      \"{arch}\": {}", serde_json::to_string(budget)?));
            }
            kernels.push(format!("    {}: {{\n{}\n    }}", serde_json::to_string(name)?, lines.join(",\n")));
        }
        let nvrtc = serde_json::to_string(&self.nvrtc)?;
        Ok(format!("{{\n  \"nvrtc\": {nvrtc},\n  \"kernels\": {{\n{}\n  }}\n}}\n", kernels.join(",\n")))
    }
}

/// The differences between kernels and budgets, one sentence each.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Findings {
    /// Kernels that take more than their budgets.
    exceeded: Vec<String>,
    /// Why the excesses are no failure, if they are none.
    excused: Option<String>,
    without_budget: Vec<String>,
    /// Budgets of kernels that are no more.
    without_kernel: Vec<String>,
    /// How many take less than their budgets.
    below: usize,
    /// How many were looked at.
    kernels: usize,
    /// How many were not compiled, since they are those of the record.
    unchanged: usize,
    /// Instructions that are those of the record, whatever the kernel was called then; by architecture.
    recorded_code: usize,
    /// Instructions that are not.
    new_code: usize,
}

impl Findings {
    /// Of the kernels whose name contains the filter these were compiled. Budgets that the filter leaves out are not looked at.
    pub(super) fn of(compiled: &[Kernel], all: &[Kernel], nvrtc: &str, budgets: &Budgets, filter: &str) -> Self {
        let unchanged = all.len() - compiled.len();
        let mut findings = Self { kernels: all.len(), unchanged, ..Self::default() };
        if !compiled.is_empty() && !budgets.are_of(nvrtc) {
            findings.excused = Some(format!("the budgets are of NVRTC {}, this is {nvrtc}", budgets.nvrtc));
        }
        let codes: BTreeSet<(&str, u64)> = budgets
            .kernels
            .values()
            .flat_map(|recorded| &recorded.archs)
            .filter(|(_, budget)| budget.code != 0)
            .map(|(arch, budget)| (arch.as_str(), budget.code))
            .collect();
        for kernel in compiled {
            for (arch, usage) in &kernel.archs {
                let is_recorded = usage.is_some_and(|usage| codes.contains(&(arch.as_str(), usage.code)));
                *if is_recorded { &mut findings.recorded_code } else { &mut findings.new_code } += 1;
            }
            let name = kernel.name();
            let of_kernel = budgets.kernels.get(&name);
            for (arch, usage) in in_order(&kernel.archs) {
                match (usage, of_kernel.and_then(|recorded| recorded.archs.get(arch))) {
                    (_, None) => findings.without_budget.push(format!("{name} {arch}")),
                    (None, Some(_)) => findings.exceeded.push(format!("{name} {arch}: no machine code")),
                    (Some(usage), Some(budget)) => {
                        findings.compare(&format!("{name} {arch}"), (*usage).into(), *budget)
                    }
                }
            }
        }
        let gone = budgets.kernels.keys().filter(|name| name.contains(filter));
        findings.without_kernel =
            gone.filter(|name| all.iter().all(|kernel| kernel.name() != **name)).cloned().collect();
        findings
    }

    fn compare(&mut self, resource: &str, got: Budget, budget: Budget) {
        let pairs = || got.measures().into_iter().zip(budget.measures());
        for ((got, unit), (budget, _)) in pairs().filter(|((got, _), (budget, _))| got > budget) {
            self.exceeded.push(format!("{resource}: {got} {unit}, the budget is {budget}"));
        }
        self.below += usize::from(pairs().any(|((got, _), (budget, _))| got < budget));
    }

    pub(super) fn fails(&self) -> bool {
        !self.without_budget.is_empty() || (self.excused.is_none() && !self.exceeded.is_empty())
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { exceeded, excused, without_budget, without_kernel, below, .. } = self;
        let Self { kernels, unchanged, recorded_code, new_code, .. } = self;
        for resource in exceeded {
            writeln!(f, "exceeded: {resource}")?;
        }
        for kernel in without_budget {
            writeln!(f, "no budget: {kernel} (`cargo xtask kernels --record` makes one)")?;
        }
        for kernel in without_kernel {
            writeln!(f, "no kernel: there is a budget for {kernel} (`--record` drops it)")?;
        }
        write!(f, "kernels: {kernels}; unchanged since the record: {unchanged}")?;
        if unchanged == kernels {
            return writeln!(f);
        }
        write!(f, "; of the others excesses: {}, without a budget: {}", exceeded.len(), without_budget.len())?;
        if *below > 0 {
            write!(f, "; below their budgets, which `--record` tightens: {below}")?;
        }
        write!(f, "; machine code as recorded: {recorded_code} of {}", recorded_code + new_code)?;
        if let Some(why) = excused {
            write!(f, "; excesses are no failure, for {why}")?;
        }
        writeln!(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(kernels: &[Kernel], nvrtc: &str, budgets: &Budgets, filter: &str) -> Findings {
        Findings::of(kernels, kernels, nvrtc, budgets, filter)
    }

    fn kernel(name: &str, registers: u64, spill_store_bytes: u64) -> Kernel {
        let usage = Usage { registers, spill_store_bytes, ..Usage::default() };
        let archs = ["sm_80", "sm_100"].map(|arch| (arch.to_owned(), Some(usage)));
        let (package, kernel) = ("c".to_owned(), name.to_owned());
        Kernel { package, kernel, digest: String::new(), nvrtc: Some("13.0".into()), archs: archs.into() }
    }

    fn budgets(kernels: &[Kernel]) -> Budgets {
        Budgets::of(kernels, "13.0", None).unwrap()
    }

    #[test]
    fn a_file_comes_back_and_orders_architectures() -> Outcome {
        let folder = tempfile::tempdir()?;
        let (path, budgets) =
            (folder.path().join("kernels.json"), budgets(&[kernel("f<\"x\">", 10, 4), kernel("g", 7, 0)]));
        assert_eq!(Budgets::read(&path)?, None);
        budgets.write(&path)?;
        assert_eq!(Budgets::read(&path)?, Some(budgets));
        let text = fs::read_to_string(&path)?;
        assert!(text.find("sm_80") < text.find("sm_100"), "{text}");
        fs::write(&path, "{}")?;
        assert!(Budgets::read(&path).unwrap_err().to_string().contains("kernels.json"));
        Ok(())
    }

    #[test]
    fn each_excess_is_named_and_fails() {
        let recorded = budgets(&[kernel("f", 10, 4), kernel("g", 10, 4)]);
        let findings = found(&[kernel("f", 11, 5), kernel("g", 10, 3)], "13.0", &recorded, "");
        assert!(findings.fails() && findings.exceeded.len() == 4 && findings.below == 2, "{findings}");
        let text = findings.to_string();
        assert!(text.contains("exceeded: c::f sm_80: 11 registers, the budget is 10\n"), "{text}");
        assert!(text.contains("exceeded: c::f sm_100: 5 bytes of registers spilled, the budget is 4\n"), "{text}");
        let same = found(&[kernel("f", 10, 4), kernel("g", 10, 4)], "13.0", &recorded, "");
        assert!(!same.fails() && same.below == 0, "{same}");
    }

    #[test]
    fn machine_code_is_known_again_under_another_name() {
        let of = |name: &str, code: u64| {
            let mut kernel = kernel(name, 10, 4);
            kernel.archs.values_mut().flatten().for_each(|usage| usage.code = code);
            kernel
        };
        let recorded = budgets(&[of("f", 7), of("g", 8)]);
        let findings = found(&[of("renamed", 7), of("g", 9)], "13.0", &recorded, "");
        assert_eq!((findings.recorded_code, findings.new_code), (2, 2));
        assert!(findings.to_string().contains("machine code as recorded: 2 of 4"), "{findings}");
        // A record of before has no hashes.
        let old = budgets(&[of("f", 0)]);
        assert_eq!(found(&[of("f", 0)], "13.0", &old, "").recorded_code, 0);
    }

    #[test]
    fn another_compiler_s_excess_is_told_and_excused() {
        let recorded = budgets(&[kernel("f", 10, 4)]);
        let findings = found(&[kernel("f", 11, 4)], "13.1", &recorded, "");
        assert!(!findings.fails() && findings.exceeded.len() == 2, "{findings}");
        assert!(findings.to_string().contains("of NVRTC 13.0, this is 13.1"), "{findings}");
    }

    #[test]
    fn kernels_and_budgets_without_each_other_are_named() {
        let recorded = budgets(&[kernel("f", 10, 4)]);
        let renamed = found(&[kernel("g", 10, 4)], "13.0", &recorded, "");
        assert!(renamed.fails() && renamed.without_kernel == ["c::f"], "{renamed}");
        assert!(renamed.to_string().contains("c::g sm_80 (`cargo xtask kernels --record`"), "{renamed}");
        let gone = found(&[], "13.0", &recorded, "");
        assert!(!gone.fails() && gone.without_kernel == ["c::f"]);
        assert!(found(&[], "13.0", &recorded, "g").without_kernel.is_empty());
        assert!(found(&[kernel("f", 1, 1)], "13.0", &Budgets::default(), "").fails());
    }

    #[test]
    fn no_machine_code_exceeds_every_budget() {
        let recorded = budgets(&[kernel("f", 10, 4)]);
        let mut ptx = kernel("f", 10, 4);
        ptx.archs.insert("sm_100".into(), None);
        let findings = found(std::slice::from_ref(&ptx), "13.0", &recorded, "");
        assert!(findings.fails() && findings.exceeded == ["c::f sm_100: no machine code"]);
        assert!(Budgets::of(&[ptx], "13.0", None).is_err());
    }

    #[test]
    fn unchanged_kernels_are_not_compiled_again() {
        let of = |name: &str, digest: &str, registers| Kernel { digest: digest.into(), ..kernel(name, registers, 0) };
        let recorded = budgets(&[of("f", "1", 10), of("g", "2", 10)]);
        assert!(
            recorded.have(&of("f", "1", 0)) && !recorded.have(&of("f", "2", 0)) && !recorded.have(&of("h", "1", 0))
        );
        let all = [of("f", "1", 0), of("g", "3", 11)];
        let one = Findings::of(&all[1..], &all, "13.0", &recorded, "");
        assert!(one.fails() && one.without_kernel.is_empty() && one.exceeded.len() == 2, "{one}");
        assert!(one.to_string().contains("kernels: 2; unchanged since the record: 1; of the others"), "{one}");
        // The compiler is not asked where there is nothing to compile.
        let none = Findings::of(&[], &all[..1], "", &recorded, "f");
        assert!(!none.fails() && none.excused.is_none(), "{none}");
        assert_eq!(none.to_string(), "kernels: 1; unchanged since the record: 1\n");
    }

    #[test]
    fn kernels_that_are_no_more_are_left_out() {
        let mut recorded = budgets(&[kernel("f", 10, 4), kernel("g", 10, 4)]);
        recorded.keep(&[kernel("g", 0, 0), kernel("h", 0, 0)]);
        assert_eq!(recorded, budgets(&[kernel("g", 10, 4)]));
    }

    #[test]
    fn recording_some_keeps_the_others_of_the_same_compiler() -> Outcome {
        let recorded = budgets(&[kernel("f", 10, 4), kernel("g", 10, 4)]);
        let some = Budgets::of(&[kernel("g", 9, 4)], "13.0", Some(recorded.clone()))?;
        assert_eq!(some, budgets(&[kernel("f", 10, 4), kernel("g", 9, 4)]));
        assert!(Budgets::of(&[kernel("g", 9, 4)], "13.1", Some(recorded)).is_err());
        Ok(())
    }
}
