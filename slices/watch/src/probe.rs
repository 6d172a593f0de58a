//! Probes on SQLite's functions inside programs: offsets of the functions in a file, and the kernel's lines to
//! register probes.
//!
//! A C function is probed at its beginning and with the kernel's return probe, which replaces the return address on
//! the stack. Go's runtime reads addresses on its stacks, so Go functions are probed at their beginning and at each
//! return instruction.

use crate::event::{CHECKPOINT_CALL, What};
use crate::function::{self, Called};
use crate::pclntab;
use crate::process::Mapped;
use crate::target::FileId;
use crate::text::STATEMENT_BYTES;
use anyhow::{Context, Result, ensure};
use gimli::UnwindSection;
use object::elf::PF_X;
use object::read::elf::{ElfFile64, Sym};
use object::{
    Endianness, Object, ObjectSection, ObjectSegment, ObjectSymbol, ReadCache, SectionKind, SegmentFlags, SymbolKind,
};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

/// Fields with the two parts of a text in UTF-16, and the units of each: the kernel copies no longer arrays.
pub const UTF16_FIELDS: [&str; 2] = ["utf16", "utf16_more"];
const UTF16_UNITS: usize = 64;
/// Fields with the first bytes of a statement's text when it is executed, if it is known where a statement has its text.
pub const BEGINNING_FIELDS: [&str; 2] = ["begins", "goes_on"];
/// Registers, as the kernel names them.
struct Registers {
    /// First two arguments and result of a C function.
    c: [&'static str; 3],
    /// Second and third argument and result of a Go function (1.17 or later), and the goroutine.
    go: [&'static str; 4],
}

const REGISTERS: Option<Registers> = if cfg!(target_arch = "x86_64") {
    Some(Registers { c: ["%di", "%si", "%ax"], go: ["%bx", "%cx", "%ax", "%r14"] })
} else if cfg!(target_arch = "aarch64") {
    Some(Registers { c: ["%x0", "%x1", "%x0"], go: ["%x1", "%x2", "%x0", "%x28"] })
} else {
    None
};

/// Event that a probe reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    PrepareBegins,
    /// The same with a text in UTF-16.
    Prepare16Begins,
    PrepareEnds,
    StepBegins,
    StepEnds,
    /// A checkpoint that a program asks for by a call, not by a statement.
    CheckpointBegins,
    /// A connection is opened.
    Opens,
}

impl Kind {
    /// The event of a call of SQLite.
    pub fn reports(self, statement: u64, sql: Option<String>, code: i32) -> What {
        match self {
            Kind::PrepareBegins | Kind::Prepare16Begins => What::PrepareBegins { sql },
            Kind::CheckpointBegins => What::StepBegins { statement, sql: Some(CHECKPOINT_CALL.to_string()) },
            Kind::PrepareEnds => What::PrepareEnds { code },
            Kind::StepBegins => What::StepBegins { statement, sql: None },
            Kind::StepEnds | Kind::Opens => What::StepEnds { code },
        }
    }
}

/// A function of SQLite in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    called: Called,
    /// Offsets of the return instructions of a Go function; `None` for C.
    returns: Option<Vec<u64>>,
}

/// A probe of one function in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    pub kind: Kind,
    /// Name, unique in the instance, such as `step_3`.
    pub name: String,
    /// Offset in the file.
    offset: u64,
    of_go: bool,
}

/// A program or library with probes.
pub struct Probed {
    /// Its path may lead through a process that has ended since.
    pub id: FileId,
    pub mapped: Mapped,
    pub probes: Vec<Probe>,
    /// As in [`Found`].
    pub text_at: Option<u64>,
}

/// Whether one of these files has probes.
pub fn has_probes(probed: &[Probed], files: &[FileId]) -> bool {
    probed.iter().any(|probed| files.contains(&probed.id))
}

/// Section that every Go program has.
const OF_GO: &str = ".gopclntab";

/// A program or library, read on demand.
type Program<'f> = ElfFile64<'f, Endianness, &'f ReadCache<File>>;

/// A function of SQLite with its place in memory.
struct Named {
    name: String,
    called: Option<Called>,
    address: u64,
    bytes: u64,
}

/// SQLite in a program or library.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Probed functions by offset in the file. Empty if nothing names them.
    pub functions: BTreeMap<u64, Function>,
    /// Offset of the pointer to the text in a statement, if known.
    pub text_at: Option<u64>,
}

/// SQLite in a program or library.
///
/// # Errors
/// The file cannot be read or is not an ELF file; it is a Go program without symbols whose own table of functions does
/// not name them; a symbol is not a function.
pub fn look_into(path: &Path) -> Result<Found> {
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let cache = ReadCache::new(file);
    let program = Program::parse(&cache).with_context(|| format!("{} is not a 64-bit program", path.display()))?;
    let mut named = symbols(&program)?;
    if !named.is_empty() && is_capture(&program) {
        return Ok(Found::default());
    }
    let is_stripped_go = program.section_by_name(OF_GO).is_some() && program.symbols().next().is_none();
    if named.is_empty() && is_stripped_go {
        named = translated(&program);
        ensure!(!named.is_empty(), "a program of Go without names of its functions; build it without -ldflags=-s");
    }
    let names: Vec<String> = named.iter().map(|named| named.name.clone()).collect();
    named.retain(|named| !function::is_inlined(&named.name, &names));
    let mut found = Found::default();
    for Named { name, called, address, bytes } in named {
        let code = code(&program, address, bytes);
        let code = code.with_context(|| format!("its symbol table is wrong about {name}"))?;
        let is_go = name.starts_with(function::TRANSLATED);
        let Some(called) = called else {
            found.text_at = found.text_at.or_else(|| loaded_from(code.bytes, is_go));
            continue;
        };
        let places = is_go.then(|| Places::of(code.bytes)).transpose();
        let places = places.with_context(|| format!("cannot find the ends of {name}"))?;
        let begins = code.offset + places.as_ref().map_or(0, |places| places.work);
        let returns = places.map(|places| places.returns.into_iter().map(|place| code.offset + place).collect());
        // Several names of one function get one probe.
        found.functions.insert(begins, Function { called, returns });
    }
    Ok(found)
}

/// The offset from its first argument (in Go: its second) at which a short function loads its result; `None` for code
/// of another form.
fn loaded_from(code: &[u8], is_go: bool) -> Option<u64> {
    if cfg!(target_arch = "aarch64") { loaded_from_aarch64(code, is_go) } else { loaded_from_x86_64(code, is_go) }
}

fn loaded_from_x86_64(code: &[u8], is_go: bool) -> Option<u64> {
    use iced_x86::{Decoder, DecoderOptions, Mnemonic, OpKind, Register};
    let argument = if is_go { Register::RBX } else { Register::RDI };
    let loads = |instruction: &iced_x86::Instruction| {
        let memory = [instruction.memory_base(), instruction.memory_index()];
        instruction.mnemonic() == Mnemonic::Mov
            && instruction.op0_register().is_gpr64()
            && instruction.op1_kind() == OpKind::Memory
            && memory == [argument, Register::None]
    };
    let load = Decoder::new(64, code, DecoderOptions::NONE).into_iter().find(loads)?;
    Some(load.memory_displacement64()).filter(|at| *at < STATEMENT_BYTES as u64)
}

fn loaded_from_aarch64(code: &[u8], is_go: bool) -> Option<u64> {
    // ldr into any register, [x0, #8 * n], in Go from x1.
    let load = if is_go { 0xf940_0020 } else { 0xf940_0000 };
    let words = code.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap_or_default()));
    let at = words.into_iter().find(|word| word & 0xffc0_03e0 == load).map(|word| u64::from(word >> 10 & 0xfff) * 8)?;
    Some(at).filter(|at| *at < STATEMENT_BYTES as u64)
}

/// Functions of SQLite translated to Go, from the table of functions that a program without symbols has, too.
fn translated(program: &Program<'_>) -> Vec<Named> {
    let Some(table) = program.section_by_name(OF_GO) else { return vec![] };
    let data = program.sections().filter(|section| section.kind() == SectionKind::Data);
    let data: Vec<&[u8]> = data.filter_map(|section| section.data().ok()).collect();
    let bytes = table.data().unwrap_or_default();
    let found = pclntab::functions(bytes, table.address(), &data, |name| function::called(name).is_some());
    let named = |pclntab::Function { name, address, bytes }| {
        Some(Named { called: function::called(&name)?, name, address, bytes })
    };
    found.unwrap_or_default().into_iter().filter_map(named).collect()
}

/// Symbols of SQLite's functions, with their names. Names are compared by their offsets in the string table, which is
/// searched once: a program may have hundreds of thousands of symbols.
fn symbols(program: &Program<'_>) -> Result<Vec<Named>> {
    let mut found = vec![];
    for (section, symbols) in [(".strtab", program.symbols()), (".dynstr", program.dynamic_symbols())] {
        let names = program.section_by_name(section).and_then(|section| section.data().ok()).unwrap_or_default();
        let places = function::places_of_names(names);
        for symbol in symbols {
            // Whether a symbol is a definition is checked last, because that looks up its name.
            let known = places.get(&symbol.elf_symbol().st_name(program.endian()));
            let Some((name, called)) = known.filter(|_| symbol.is_definition()) else { continue };
            let is_function = symbol.kind() == SymbolKind::Text;
            ensure!(is_function, "its symbol table is wrong about {name}: it is not a function");
            let (address, bytes) = (symbol.address(), symbol.size());
            found.push(Named { name: name.clone(), called: *called, address, bytes });
        }
    }
    Ok(found)
}

/// Whether this is the library of `contend capture`, which calls SQLite. SQLite's own functions show all, and a probe of a
/// return changes the return address, by which the library knows SQLite's inner calls.
fn is_capture(program: &Program<'_>) -> bool {
    program.dynamic_symbols().any(|symbol| symbol.name() == Ok("CONTEND_INTERPOSE"))
}

/// The instructions of a function, and their offset in the file.
struct Code<'f> {
    offset: u64,
    bytes: &'f [u8],
}

/// Finds a function at an address. A probe inside an instruction or function would change what the program does. So
/// the place must be executable, and begin a function if the program has an unwind table that covers it. Functions of Go
/// have none.
fn code<'f>(program: &'f Program<'f>, address: u64, bytes: u64) -> Result<Code<'f>> {
    let holds = |from: u64, bytes: u64| (from..from.saturating_add(bytes)).contains(&address);
    let is_executed = |flags| matches!(flags, SegmentFlags::Elf { p_flags, .. } if p_flags.contains(PF_X));
    let segment = program.segments().find(|s| holds(s.address(), s.file_range().1) && is_executed(s.flags()));
    let segment = segment.context("it is not where the program is executed")?;
    let unwind = ["", "_hdr"].map(|end| program.section_by_name(&format!(".eh_frame{end}")));
    if let [Some(frames), Some(header)] = unwind {
        ensure!(begins_function(&frames, &header, address), "it is not the beginning of a function");
    }
    let bytes = segment.data_range(address, bytes).ok().flatten();
    Ok(Code { offset: address - segment.address() + segment.file_range().0, bytes: bytes.unwrap_or_default() })
}

/// Whether a function begins at the address; also true if the unwind table does not cover it.
fn begins_function<'f>(frames: &impl ObjectSection<'f>, header: &impl ObjectSection<'f>, address: u64) -> bool {
    let bases = gimli::BaseAddresses::default().set_eh_frame(frames.address()).set_eh_frame_hdr(header.address());
    let (Ok(frame_bytes), Ok(header_bytes)) = (frames.data(), header.data()) else { return true };
    let frames = gimli::EhFrame::new(frame_bytes, gimli::NativeEndian);
    let header = gimli::EhFrameHdr::new(header_bytes, gimli::NativeEndian);
    let Ok(header) = header.parse(&bases, size_of::<u64>() as u8) else { return true };
    let Some(table) = header.table() else { return true };
    let frame = table.fde_for_address(&frames, &bases, address, gimli::EhFrame::cie_from_offset);
    frame.map_or(true, |frame| frame.initial_address() == address)
}

/// Places in a Go function, which consists only of instructions: where its work begins, and its return instructions.
/// At its beginning a function checks the size of its stack; if it is too small, the function starts again on a
/// larger one.
#[derive(Debug, PartialEq, Eq)]
struct Places {
    work: u64,
    returns: Vec<u64>,
}

impl Places {
    /// Number of instructions within which the stack check occurs.
    const CHECK: usize = 5;

    fn of(code: &[u8]) -> Result<Places> {
        let places = if cfg!(target_arch = "aarch64") { Places::of_aarch64(code) } else { Places::of_x86_64(code)? };
        ensure!(!places.returns.is_empty(), "it has no return instruction");
        Ok(places)
    }

    fn of_x86_64(code: &[u8]) -> Result<Places> {
        use iced_x86::{Decoder, DecoderOptions, Mnemonic};
        let mut places = Places { work: 0, returns: vec![] };
        for (number, instruction) in Decoder::new(64, code, DecoderOptions::NONE).into_iter().enumerate() {
            ensure!(!instruction.is_invalid(), "an instruction is not known");
            match instruction.mnemonic() {
                Mnemonic::Ret => places.returns.push(instruction.ip()),
                Mnemonic::Jbe if number < Self::CHECK => places.work = instruction.next_ip(),
                _ => {}
            }
        }
        Ok(places)
    }

    /// Every instruction has four bytes.
    fn of_aarch64(code: &[u8]) -> Places {
        const RET: u32 = 0xd65f_03c0;
        // Branch if lower or same.
        let is_check = |word: u32| word & 0xff00_001f == 0x5400_0009;
        let words = code.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap_or_default()));
        let words: Vec<(u64, u32)> = words.enumerate().map(|(at, word)| (4 * at as u64, word)).collect();
        let check = words.iter().take(Self::CHECK).find(|(_, word)| is_check(*word));
        let returns = words.iter().filter(|(_, word)| *word == RET).map(|(at, _)| *at).collect();
        Places { work: check.map_or(0, |(at, _)| at + 4), returns }
    }
}

/// The probes of a file's functions. `first` is the number of the first function.
pub fn probes(functions: &BTreeMap<u64, Function>, first: usize) -> Vec<Probe> {
    let mut probes = vec![];
    for ((&offset, function), number) in functions.iter().zip(first..) {
        let (begins, ends, word) = match function.called {
            Called::Step => (Kind::StepBegins, Some(Kind::StepEnds), "step"),
            Called::Prepare => (Kind::PrepareBegins, Some(Kind::PrepareEnds), "prepare"),
            Called::Prepare16 => (Kind::Prepare16Begins, Some(Kind::PrepareEnds), "prepare16"),
            Called::Checkpoint => (Kind::CheckpointBegins, Some(Kind::StepEnds), "checkpoint"),
            Called::Open => (Kind::Opens, None, "open"),
        };
        let of_go = function.returns.is_some();
        // Ends are registered first: an end without a beginning is ignored, but a call without an end would never
        // finish.
        let returns = function.returns.clone().unwrap_or(vec![offset]).into_iter().enumerate();
        for ((at, offset), kind) in returns.filter_map(|place| Some((place, ends?))) {
            probes.push(Probe { kind, name: format!("{word}_{number}_ends_{at}"), offset, of_go });
        }
        probes.push(Probe { kind: begins, name: format!("{word}_{number}"), offset, of_go });
    }
    probes
}

/// The line that registers a probe under `full_name` (group and name). `None` for processors whose registers are not
/// listed here.
pub fn line(probe: &Probe, full_name: &str, of: &Probed) -> Option<String> {
    let Registers { c: [first, second, result], go: [after_state, then, go_result, goroutine] } = REGISTERS?;
    let place = format!("{}:0x{:x}", of.mapped.reached.display(), probe.offset);
    let (first, second) = if probe.of_go { (after_state, then) } else { (first, second) };
    let fields = match probe.kind {
        Kind::PrepareBegins => format!("connection={first}:x64 sql=+0({second}):ustring stack=%sp:x64"),
        Kind::Opens => format!("sql=+0({first}):ustring"),
        Kind::CheckpointBegins => format!("connection={first}:x64 stack=%sp:x64"),
        Kind::Prepare16Begins => {
            let [one, two] = UTF16_FIELDS;
            let text = format!(
                "{one}=+0({second}):x16[{UTF16_UNITS}] {two}=+{}({second}):x16[{UTF16_UNITS}]",
                2 * UTF16_UNITS
            );
            format!("connection={first}:x64 {text} stack=%sp:x64")
        }
        // A statement's first field is the address of its connection.
        Kind::StepBegins => {
            let [begins, goes_on] = BEGINNING_FIELDS;
            let text = |at| format!(" {begins}=+0(+{at}({first})):x64 {goes_on}=+8(+{at}({first})):x64");
            let text = of.text_at.map_or(String::new(), text);
            format!("connection=+0({first}):x64 statement={first}:x64 stack=%sp:x64{text}")
        }
        Kind::PrepareEnds | Kind::StepEnds if probe.of_go => format!("code={go_result}:s32"),
        Kind::PrepareEnds | Kind::StepEnds => return Some(format!("r:{full_name} {place} code={result}:s32")),
    };
    let goroutine = if probe.of_go { format!(" goroutine={goroutine}:x64") } else { String::new() };
    Some(format!("p:{full_name} {place} {fields}{goroutine}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn a_function_in_go_has_a_probe_at_each_return() {
        let in_c = Function { called: Called::Prepare, returns: None };
        let in_go = Function { called: Called::Step, returns: Some(vec![70, 90]) };
        let found = probes(&BTreeMap::from([(16, in_c), (64, in_go)]), 3);
        let found: Vec<(&str, u64)> = found.iter().map(|probe| (probe.name.as_str(), probe.offset)).collect();
        assert_eq!(found[..2], [("prepare_3_ends_0", 16), ("prepare_3", 16)]);
        assert_eq!(found[2..], [("step_4_ends_0", 70), ("step_4_ends_1", 90), ("step_4", 64)]);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_line_names_file_offset_and_registers() {
        let mapped = Mapped { path: PathBuf::from("/l"), reached: PathBuf::from("/reached/l") };
        let mut of = Probed { id: FileId { device: 1, inode: 7 }, mapped, probes: vec![], text_at: Some(248) };
        let probe = |kind, of_go| Probe { kind, name: String::new(), offset: 0x1f0, of_go };
        let step = "p:g/n /reached/l:0x1f0 connection=+0(%di):x64 statement=%di:x64 stack=%sp:x64";
        let with_text = format!("{step} begins=+0(+248(%di)):x64 goes_on=+8(+248(%di)):x64");
        assert_eq!(line(&probe(Kind::StepBegins, false), "g/n", &of), Some(with_text));
        of.text_at = None;
        let line = |kind, of_go| line(&probe(kind, of_go), "g/n", &of).expect("a known processor");
        assert_eq!(line(Kind::StepBegins, false), step);
        let prepare = "p:g/n /reached/l:0x1f0 connection=%di:x64 sql=+0(%si):ustring stack=%sp:x64";
        assert_eq!(line(Kind::PrepareBegins, false), prepare);
        assert_eq!(line(Kind::StepEnds, false), "r:g/n /reached/l:0x1f0 code=%ax:s32");
        let checkpoint = "p:g/n /reached/l:0x1f0 connection=%di:x64 stack=%sp:x64";
        assert_eq!(line(Kind::CheckpointBegins, false), checkpoint);
        let prepare16 = "p:g/n /reached/l:0x1f0 connection=%di:x64 utf16=+0(%si):x16[64] utf16_more=+128(%si):x16[64] stack=%sp:x64";
        assert_eq!(line(Kind::Prepare16Begins, false), prepare16);
        let step = "p:g/n /reached/l:0x1f0 connection=+0(%bx):x64 statement=%bx:x64 stack=%sp:x64 goroutine=%r14:x64";
        assert_eq!(line(Kind::StepBegins, true), step);
        assert_eq!(line(Kind::StepEnds, true), "p:g/n /reached/l:0x1f0 code=%ax:s32 goroutine=%r14:x64");
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_byte_inside_of_an_instruction_is_no_return() {
        // mov eax, 0xc3; ret; add rsp, 16; ret
        let code = [0xb8, 0xc3, 0, 0, 0, 0xc3, 0x48, 0x83, 0xc4, 0x10, 0xc3];
        assert_eq!(Places::of_x86_64(&code).expect("instructions"), Places { work: 0, returns: vec![5, 10] });
        assert!(Places::of(&code[..5]).is_err(), "it never returns");
    }

    #[test]
    fn the_place_of_a_statements_text_is_in_the_code_that_returns_it() {
        // test rdi, rdi; je; mov rax, [rdi + 0xf8]; ret; xor eax, eax; ret
        let of_c = [0x48, 0x85, 0xff, 0x74, 0x08, 0x48, 0x8b, 0x87, 0xf8, 0, 0, 0, 0xc3, 0x31, 0xc0, 0xc3];
        assert_eq!((loaded_from_x86_64(&of_c, false), loaded_from_x86_64(&of_c, true)), (Some(0xf8), None));
        // mov rax, [rbx + 0xf8]; ret
        assert_eq!(loaded_from_x86_64(&[0x48, 0x8b, 0x83, 0xf8, 0, 0, 0, 0xc3], true), Some(0xf8));
        // test rbx, rbx; je; mov rcx, [rbx + 0xf8]; jmp; xor ecx, ecx; mov rax, rcx; ret
        let of_go =
            [0x48, 0x85, 0xdb, 0x74, 9, 0x48, 0x8b, 0x8b, 0xf8, 0, 0, 0, 0xeb, 2, 0x31, 0xc9, 0x48, 0x89, 0xc8, 0xc3];
        assert_eq!(loaded_from_x86_64(&of_go, true), Some(0xf8));
        // mov rax, [rdi + rax * 8 + 0xf8]; ret
        assert_eq!(loaded_from_x86_64(&[0x48, 0x8b, 0x84, 0xc7, 0xf8, 0, 0, 0, 0xc3], false), None);
        // cbz x0; ldr x0, [x0, #248]; ret
        let words = [0xb400_0040_u32, 0xf940_7c00, 0xd65f_03c0];
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!((loaded_from_aarch64(&code, false), loaded_from_aarch64(&code, true)), (Some(248), None));
        assert_eq!(loaded_from_x86_64(&[], false), None);
    }

    #[test]
    fn work_begins_after_the_look_at_the_stack() {
        // cmp rsp, [r14 + 16]; jbe; ret
        let code = [0x49, 0x3b, 0x66, 0x10, 0x76, 0x01, 0xc3];
        assert_eq!(Places::of_x86_64(&code).expect("instructions"), Places { work: 6, returns: vec![6] });
        // ldr x16, [x28, #16]; cmp sp, x16; b.ls; ret
        let words = [0xf940_0b90_u32, 0xeb30_63ff, 0x5400_0069, 0xd65f_03c0];
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(Places::of_aarch64(&code), Places { work: 12, returns: vec![12] });
    }
}
