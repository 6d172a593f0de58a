//! Probes on SQLite's functions inside programs: where the functions are in a file, and the lines that register a probe.

use crate::process::Mapped;
use anyhow::{Context, Result, bail};
use object::{Object, ObjectSegment, ObjectSymbol, ReadCache};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

/// Functions that compile a statement: `(connection, text, ...)`.
const PREPARE: [&str; 3] = ["sqlite3_prepare_v2", "sqlite3_prepare_v3", "sqlite3_prepare"];
/// The function that executes a statement: `(statement)`.
const STEP: &str = "sqlite3_step";

/// Registers of the first two arguments and of the result, as the kernel names them.
const REGISTERS: Option<[&str; 3]> = if cfg!(target_arch = "x86_64") {
    Some(["%di", "%si", "%ax"])
} else if cfg!(target_arch = "aarch64") {
    Some(["%x0", "%x1", "%x0"])
} else {
    None
};

/// What a probe reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    PrepareBegins,
    PrepareEnds,
    StepBegins,
    StepEnds,
}

/// A probe of one function in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    pub kind: Kind,
    /// Unique within the instance, such as `step_3`.
    pub name: String,
    /// Offset of the function in the file.
    offset: u64,
}

/// Section that every program of Go has.
const OF_GO: &str = ".gopclntab";

/// Where SQLite's functions are in a program or library: offsets in the file, by name. Empty if it has none by name.
///
/// # Errors
/// The file cannot be read or is not an ELF file, or is a program of Go: the kernel's return probes exchange return addresses on
/// the stack, which the runtime of Go reads when it moves or inspects a stack.
pub fn functions(path: &Path) -> Result<BTreeMap<&'static str, u64>> {
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let cache = ReadCache::new(file);
    let object = object::File::parse(&cache).with_context(|| format!("{} is not a program", path.display()))?;
    if object.section_by_name(OF_GO).is_some() {
        bail!("a program of Go, whose functions are not probed: it could crash");
    }
    let mut found = BTreeMap::new();
    for symbol in object.symbols().chain(object.dynamic_symbols()) {
        let known = PREPARE.iter().chain([&STEP]).find(|name| symbol.name() == Ok(**name));
        let Some(name) = known.filter(|_| symbol.is_definition()) else { continue };
        let segment = object.segments().find(|s| (s.address()..s.address() + s.size()).contains(&symbol.address()));
        if let Some(segment) = segment {
            found.insert(*name, symbol.address() - segment.address() + segment.file_range().0);
        }
    }
    Ok(found)
}

/// The probes for a file's functions. `first` is the number of the first of them.
pub fn probes(functions: &BTreeMap<&'static str, u64>, first: usize) -> Vec<Probe> {
    let mut offsets = BTreeMap::new();
    for (name, &offset) in functions {
        // Names of the same function are one probe.
        offsets.entry(offset).or_insert(*name);
    }
    let pairs = offsets.into_iter().zip(first..).flat_map(|((offset, name), number)| {
        let (begins, ends, word) = match name {
            STEP => (Kind::StepBegins, Kind::StepEnds, "step"),
            _ => (Kind::PrepareBegins, Kind::PrepareEnds, "prepare"),
        };
        [
            Probe { kind: begins, name: format!("{word}_{number}"), offset },
            Probe { kind: ends, name: format!("{word}_{number}_ends"), offset },
        ]
    });
    pairs.collect()
}

/// The line that registers a probe under `full_name` (group and name). `None` on processors whose registers are not known here.
pub fn line(probe: &Probe, full_name: &str, mapped: &Mapped) -> Option<String> {
    let [first, second, result] = REGISTERS?;
    let place = format!("{}:0x{:x}", mapped.reached.display(), probe.offset);
    Some(match probe.kind {
        Kind::PrepareBegins => format!("p:{full_name} {place} sql=+0({second}):ustring"),
        Kind::StepBegins => format!("p:{full_name} {place} statement={first}:x64"),
        Kind::PrepareEnds | Kind::StepEnds => format!("r:{full_name} {place} code={result}:s32"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn names_of_one_function_are_one_probe() {
        let functions = BTreeMap::from([("sqlite3_prepare", 16), ("sqlite3_prepare_v2", 16), ("sqlite3_step", 64)]);
        let found = probes(&functions, 3);
        let names: Vec<&str> = found.iter().map(|probe| probe.name.as_str()).collect();
        assert_eq!(names, ["prepare_3", "prepare_3_ends", "step_4", "step_4_ends"]);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_line_names_file_offset_and_registers() {
        let mapped = Mapped { path: PathBuf::from("/l"), reached: PathBuf::from("/reached/l") };
        let line = |kind| {
            line(&Probe { kind, name: String::new(), offset: 0x1f0 }, "g/n", &mapped).expect("a known processor")
        };
        assert_eq!(line(Kind::StepBegins), "p:g/n /reached/l:0x1f0 statement=%di:x64");
        assert_eq!(line(Kind::PrepareBegins), "p:g/n /reached/l:0x1f0 sql=+0(%si):ustring");
        assert_eq!(line(Kind::StepEnds), "r:g/n /reached/l:0x1f0 code=%ax:s32");
    }
}
