//! Examines a file with SQLite linked into it, and plans how the functions are replaced ([`crate::plan`]).
//!
//! SQLite's own calls must not be taken for the program's, and compilers adapt calls inside of one source file to the
//! function that is called (GCC's `-fipa-ra`). So a plan needs the place of all of SQLite's code, and a SQLite that is
//! compiled from a source file of its own.

use crate::hooks::tagged_by_name;
use crate::plan::{self, Fix, Function, JUMP};
use crate::real::{NAMES, TOTAL_CHANGES};
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic};
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SymbolKind};
use std::collections::{BTreeMap, BTreeSet};

/// A function of the file.
#[derive(Debug)]
struct Symbol<'f> {
    address: u64,
    size: u64,
    name: &'f str,
    /// Number of its source file, of those that the symbol table names; `None` for a global function.
    source: Option<usize>,
}

impl Symbol<'_> {
    /// A part that the compiler has put elsewhere, because it is rarely executed.
    fn is_cold(&self) -> bool {
        self.name.contains(".cold")
    }
}

/// The functions of the file in the order of their addresses, and the names of source files.
fn symbols<'f>(file: &object::File<'f>) -> (Vec<Symbol<'f>>, Vec<&'f str>) {
    let (mut functions, mut sources) = (vec![], vec![]);
    for symbol in file.symbols() {
        let Ok(name) = symbol.name() else { continue };
        match symbol.kind() {
            SymbolKind::File => sources.push(name),
            SymbolKind::Text if symbol.is_definition() => functions.push(Symbol {
                address: symbol.address(),
                size: symbol.size(),
                name,
                source: sources.len().checked_sub(1).filter(|_| symbol.is_local()),
            }),
            _ => {}
        }
    }
    functions.sort_by_key(|function| function.address);
    (functions, sources)
}

/// Whether a file defines `sqlite3_step` as a symbol that other files see.
pub fn is_exported(file: &object::File<'_>) -> bool {
    file.dynamic_symbols().any(|symbol| symbol.is_definition() && symbol.name() == Ok("sqlite3_step"))
}

/// The plan for a file; `None` if it has no SQLite, or one whose calls can be interposed. In a program its own symbols
/// come before the library's, so exported ones cannot.
///
/// # Errors
/// The reason why there is no plan, a clause that begins with a noun.
pub fn plan(bytes: &[u8]) -> Result<Option<Vec<u8>>, String> {
    let Ok(file) = object::File::parse(bytes) else { return Ok(None) };
    let is_program = file.section_by_name(".interp").is_some();
    if !is_program && is_exported(&file) {
        return Ok(None);
    }
    let (functions, sources) = symbols(&file);
    if !functions.iter().any(|function| function.name == "sqlite3_step") {
        return Ok(None);
    }
    if !is_program && file.section_by_name(".dynsym").is_none() {
        return Err("the C library is linked into it, too, so no library can be loaded into it".into());
    }
    let own = own_code(&functions, &sources)?;
    let is_hooked = |name: &str| tagged_by_name(name.as_bytes()).is_some();
    let named: BTreeMap<&str, &Symbol<'_>> = own.functions.iter().map(|function| (function.name, function)).collect();
    if let Some(missing) =
        NAMES.iter().find(|name| !is_hooked(name) && **name != TOTAL_CHANGES && !named.contains_key(*name))
    {
        return Err(format!("its SQLite has no function {missing}, which contend calls"));
    }
    let code = Code { file: &file };
    let mut planned = vec![];
    for (name, function) in NAMES.iter().filter_map(|name| Some((*name, *named.get(name)?))) {
        let mut entry = Function::called(name, function.address);
        if is_hooked(name) {
            let body = code.of(function).ok_or_else(|| format!("the code of {name} is not in the file"))?;
            replace(&mut entry, body).map_err(|why| format!("{name} {why}"))?;
        }
        planned.push(entry);
    }
    code.check_entries(&own, &planned)?;
    let low = own.functions.iter().map(|function| function.address).min().unwrap_or(0);
    let high = own.functions.iter().map(|function| function.address + function.size).max().unwrap_or(0);
    let offset = code.offset(low).filter(|_| code.offset(high - 1).is_some()).ok_or("its code is not in the file")?;
    Ok(Some(plan::file((low, high), offset, &planned)))
}

/// SQLite's own code.
#[derive(Debug)]
struct Own<'s, 'f> {
    functions: &'s [Symbol<'f>],
    /// Rarely executed parts of them that lie elsewhere.
    parts: Vec<&'s Symbol<'f>>,
}

/// SQLite's own functions: those with its names, and the local ones of its source file, which lie together.
fn own_code<'s, 'f>(functions: &'s [Symbol<'f>], sources: &[&str]) -> Result<Own<'s, 'f>, String> {
    let machine = functions.iter().find(|function| function.name.starts_with("sqlite3VdbeExec"));
    let source = machine.and_then(|machine| machine.source).ok_or("SQLite's own functions have no names in it")?;
    let is_own = |function: &Symbol<'_>| function.source == Some(source) || function.name.starts_with("sqlite3");
    let name = sources[source];
    if !name.to_lowercase().contains("sqlite3") {
        return Err(format!("its SQLite is compiled together with other code ({name})"));
    }
    let step = functions.iter().position(|function| function.name == "sqlite3_step").ok_or("it has no sqlite3_step")?;
    let start = functions[..step].iter().rposition(|function| !is_own(function)).map_or(0, |last| last + 1);
    let after = functions[step..].iter().position(|function| !is_own(function));
    let own = start..after.map_or(functions.len(), |count| step + count);
    let outside = || functions[..own.start].iter().chain(&functions[own.end..]);
    let is_needed = |function: &&Symbol<'_>| {
        !function.is_cold() && (function.source == Some(source) || NAMES.contains(&function.name))
    };
    match outside().find(is_needed) {
        Some(function) => Err(format!("other code lies between the functions of its SQLite ({})", function.name)),
        None => {
            let parts = outside().filter(|function| function.source == Some(source)).collect();
            Ok(Own { functions: &functions[own], parts })
        }
    }
}

struct Code<'f, 'd> {
    file: &'f object::File<'d>,
}

impl Code<'_, '_> {
    /// The instructions of a function.
    fn of(&self, function: &Symbol<'_>) -> Option<&[u8]> {
        let section = self.file.sections().find(|section| {
            let from = section.address();
            (from..from + section.size()).contains(&function.address)
        })?;
        section.data_range(function.address, function.size).ok().flatten()
    }

    /// Place in the file of the byte at an address.
    fn offset(&self, address: u64) -> Option<u64> {
        self.file.segments().find_map(|segment| {
            let (start, size) = segment.file_range();
            let within = address.checked_sub(segment.address()).filter(|within| *within < size)?;
            Some(start + within)
        })
    }

    /// Checks that no code jumps to the first instructions of a function, which move, and that no part that lies
    /// elsewhere calls one.
    fn check_entries(&self, own: &Own<'_, '_>, planned: &[Function]) -> Result<(), String> {
        let replaced: Vec<&Function> = planned.iter().filter(|function| function.length > 0).collect();
        let starts: BTreeSet<u64> = replaced.iter().map(|function| function.address).collect();
        // In its new place it is no call from SQLite's own code.
        if let Some(caller) = replaced.iter().find(|function| function.calls_first().any(|to| starts.contains(&to))) {
            let name = String::from_utf8_lossy(caller.name());
            return Err(format!("{name} begins with a call of another function that is replaced"));
        }
        let moves = |target: u64| replaced.iter().any(|f| f.address < target && target < f.rest());
        let bodies = own.functions.iter().filter(|function| starts.contains(&function.address));
        for (part, is_elsewhere) in own.parts.iter().map(|part| (*part, true)).chain(bodies.map(|body| (body, false))) {
            for (target, is_call) in self.of(part).into_iter().flat_map(|code| targets(code, part.address)) {
                if moves(target) || (target == part.address && !is_call) {
                    return Err(format!("{} has a loop at the beginning of a function", part.name));
                }
                if is_elsewhere && starts.contains(&target) {
                    return Err(format!("{} is a part of its SQLite that lies elsewhere, and calls it", part.name));
                }
            }
        }
        Ok(())
    }
}

/// Places to which code jumps, or which it calls.
fn targets(code: &[u8], address: u64) -> impl Iterator<Item = (u64, bool)> {
    let instructions = Decoder::with_ip(64, code, address, DecoderOptions::NONE).into_iter();
    let targets = instructions
        .map(|instruction| (instruction.near_branch_target(), instruction.flow_control() == FlowControl::Call));
    targets.filter(|(target, _)| *target != 0)
}

/// Plans the jump at the beginning of a function with these instructions.
fn replace(function: &mut Function, body: &[u8]) -> Result<(), &'static str> {
    const SHORT: &str = "is too short for a jump";
    let mut decoder = Decoder::with_ip(64, body, function.address, DecoderOptions::NONE);
    let mut moved = Moved::default();
    let (mut at, mut length) = (0, 0);
    while length < JUMP {
        if !decoder.can_decode() {
            return Err(SHORT);
        }
        let from = decoder.position();
        let instruction = decoder.decode();
        let bytes = &body[from..decoder.position()];
        if from == 0 && instruction.mnemonic() == Mnemonic::Endbr64 {
            at = bytes.len();
            continue;
        }
        let displacement = decoder.get_constant_offsets(&instruction);
        moved.add(&instruction, bytes, displacement.displacement_offset())?;
        length += bytes.len();
        let goes_on = matches!(
            instruction.flow_control(),
            FlowControl::Next | FlowControl::ConditionalBranch | FlowControl::Call | FlowControl::IndirectCall
        );
        if !goes_on && length < JUMP {
            return Err(SHORT);
        }
    }
    let original = &body[at..at + length];
    if original.len() > function.original.len() || moved.bytes.len() > function.moved.len() || moved.fixes.len() > 4 {
        return Err("begins with instructions that are too long to be moved");
    }
    function.original[..original.len()].copy_from_slice(original);
    function.moved[..moved.bytes.len()].copy_from_slice(&moved.bytes);
    function.fixes[..moved.fixes.len()].copy_from_slice(&moved.fixes);
    (function.at, function.length) = (at as u8, length as u8);
    (function.moved_length, function.fix_count) = (moved.bytes.len() as u8, moved.fixes.len() as u8);
    Ok(())
}

/// Instructions for another place.
#[derive(Default)]
struct Moved {
    bytes: Vec<u8>,
    fixes: Vec<Fix>,
}

impl Moved {
    fn add(&mut self, instruction: &Instruction, bytes: &[u8], displacement: usize) -> Result<(), &'static str> {
        const UNKNOWN: &str = "begins with instructions that cannot be moved";
        let start = self.bytes.len();
        match (bytes, instruction.flow_control()) {
            _ if instruction.is_invalid() => return Err(UNKNOWN),
            _ if instruction.is_ip_rel_memory_operand() => {
                self.bytes.extend(bytes);
                self.fix(start + displacement, instruction.ip_rel_memory_address());
            }
            ([0x70..=0x7f, _], FlowControl::ConditionalBranch) => {
                self.branch(&[0x0f, bytes[0] + 0x10], instruction.near_branch_target());
            }
            ([0x0f, 0x80..=0x8f, ..], FlowControl::ConditionalBranch) => {
                self.branch(&bytes[..2], instruction.near_branch_target());
            }
            ([0xeb | 0xe9, ..], FlowControl::UnconditionalBranch) => {
                self.branch(&[0xe9], instruction.near_branch_target());
            }
            ([0xe8, ..], FlowControl::Call) => self.branch(&[0xe8], instruction.near_branch_target()),
            (_, FlowControl::Next | FlowControl::Return | FlowControl::IndirectBranch | FlowControl::IndirectCall) => {
                self.bytes.extend(bytes);
            }
            _ => return Err(UNKNOWN),
        }
        Ok(())
    }

    fn branch(&mut self, code: &[u8], target: u64) {
        self.bytes.extend(code);
        let at = self.bytes.len();
        self.bytes.extend([0; 4]);
        self.fix(at, target);
    }

    /// Notes a distance in the last instruction, which has all its bytes.
    fn fix(&mut self, at: usize, target: u64) {
        self.fixes.push(Fix { at: at as u32, end: self.bytes.len() as u32, target });
    }
}

#[cfg(test)]
mod tests {
    use super::{Function, Symbol, own_code, replace};

    /// Functions of 16 bytes one after the other: name, and number of the source file, or -1 for a global function.
    fn functions<'f>(named: &[(&'f str, i32)]) -> Vec<Symbol<'f>> {
        let each = named.iter().zip(1u64..);
        let each = each.map(|((name, source), i)| Symbol {
            address: i * 16,
            size: 16,
            name,
            source: usize::try_from(*source).ok(),
        });
        each.collect()
    }

    const SOURCES: [&str; 2] = ["main.c", "sqlite3-binding.c"];

    #[test]
    fn the_code_of_sqlite_is_between_that_of_others() {
        let all = functions(&[
            ("run", 0),
            ("sqlite3_open", -1),
            ("sqlite3VdbeExec.isra.0", 1),
            ("sqlite3_step", -1),
            ("fts5Close", 1),
            ("main", -1),
            ("sqlite3VdbeExec.cold", 1),
        ]);
        let own = own_code(&all, &SOURCES).expect("is apart");
        assert_eq!((own.functions[0].name, own.functions.len(), own.parts.len()), ("sqlite3_open", 4, 1));
    }

    #[test]
    fn code_that_cannot_be_told_from_the_programs_is_not_replaced() {
        let refused =
            |named: &[(&str, i32)], sources: &[&str]| own_code(&functions(named), sources).expect_err("refused");
        let names = refused(&[("sqlite3_step", -1), ("main", -1)], &SOURCES);
        assert!(names.contains("no names"), "{names}");
        let together = refused(&[("sqlite3VdbeExec", 0), ("sqlite3_step", -1), ("run", 0)], &["app.c"]);
        assert!(together.contains("together with other code (app.c)"), "{together}");
        let between = [("sqlite3_open", -1), ("run", 0), ("sqlite3VdbeExec", 1), ("sqlite3_step", -1)];
        assert!(refused(&between, &SOURCES).contains("other code lies between"), "sqlite3_open is apart");
        let apart = [("sqlite3_step", -1), ("run", 0), ("sqlite3VdbeExec", 1)];
        assert!(refused(&apart, &SOURCES).contains("other code lies between"), "sqlite3VdbeExec is apart");
    }

    fn replaced(body: &[u8]) -> Result<Function, &'static str> {
        let mut function = Function::called("sqlite3_step", 0x1000);
        replace(&mut function, body).map(|()| function)
    }

    #[test]
    fn a_short_jump_gets_a_long_distance() {
        // endbr64; test rdi, rdi; je +0x20; push rbx
        let function = replaced(b"\xf3\x0f\x1e\xfa\x48\x85\xff\x74\x20\x53").expect("can be moved");
        assert_eq!((function.at, function.length, function.moved_length), (4, 5, 9));
        assert_eq!(function.original[..5], *b"\x48\x85\xff\x74\x20");
        assert_eq!(function.moved[..9], *b"\x48\x85\xff\x0f\x84\0\0\0\0");
        assert_eq!(function.fix_count, 1);
        let fix = function.fixes[0];
        assert_eq!((fix.at, fix.end, fix.target), (5, 9, 0x1000 + 9 + 0x20));
    }

    #[test]
    fn a_distance_to_data_is_corrected_where_it_is() {
        // push rbx; cmp byte [rip + 0x100], 7: a constant follows the distance
        let function = replaced(b"\x53\x80\x3d\x00\x01\x00\x00\x07\xc3").expect("can be moved");
        assert_eq!((function.length, function.moved_length, function.fix_count), (8, 8, 1));
        let fix = function.fixes[0];
        assert_eq!((fix.at, fix.end, fix.target), (3, 8, 0x1000 + 8 + 0x100));
    }

    #[test]
    fn a_moved_call_is_known() {
        // call +0x20
        let function = replaced(b"\xe8\x20\0\0\0\xc3").expect("can be moved");
        assert_eq!(function.calls_first().collect::<Vec<u64>>(), [0x1000 + 5 + 0x20]);
        // mov rax, [rip + 0xe8]
        let function = replaced(b"\x48\x8b\x05\xe8\0\0\0\xc3").expect("can be moved");
        assert_eq!(function.calls_first().count(), 0);
    }

    #[test]
    fn what_cannot_be_moved_is_named() {
        assert_eq!(replaced(b"\x31\xc0\xc3").err(), Some("is too short for a jump"), "xor eax, eax; ret");
        assert_eq!(replaced(b"\x53\xc3\x90\x90\x90\x90").err(), Some("is too short for a jump"), "push rbx; ret; nop");
        let unknown = Some("begins with instructions that cannot be moved");
        assert_eq!(replaced(b"\x53\xe3\x10\x90\x90\x90").err(), unknown, "push rbx; jrcxz");
        assert_eq!(replaced(b"\x53\x06\x90\x90\x90\x90").err(), unknown, "an invalid instruction");
    }
}
