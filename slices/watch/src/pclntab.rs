//! The table of functions in every Go program (`.gopclntab`), from which Go's runtime prints stacks. It is there without
//! symbols, too. Pure: bytes in, functions out.
//!
//! Sources: Go's `internal/abi/symtab.go`, `runtime/symtab.go` and `debug/gosym/pclntab.go`, since Go 1.18.

/// First bytes of the table, since Go 1.18 and since Go 1.20.
const MAGIC: [u32; 2] = [0xffff_fff0, 0xffff_fff1];
/// Bytes of a pointer in the programs that are read.
const POINTER_BYTES: u8 = 8;
/// Words of the module's data within which lowest and highest address of its functions are.
const MODULE_WORDS: usize = 40;

/// A function of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    pub address: u64,
    /// Bytes up to the next function.
    pub bytes: u64,
}

/// Positions of the table's parts.
struct Table<'t> {
    bytes: &'t [u8],
    count: usize,
    names: usize,
    /// Entries: offsets of a function's code and of its data.
    entries: usize,
}

impl Table<'_> {
    fn read(bytes: &[u8]) -> Option<Table<'_>> {
        let mut table = Table { bytes, count: 0, names: 0, entries: 0 };
        if !MAGIC.contains(&table.number(0)?) || *bytes.get(7)? != POINTER_BYTES {
            return None;
        }
        let place = |word: usize| usize::try_from(words(bytes.get(8 + 8 * word..16 + 8 * word)?).next()?).ok();
        (table.count, table.names, table.entries) = (place(0)?, place(3)?, place(7)?);
        Some(table)
    }

    fn number(&self, at: usize) -> Option<u32> {
        Some(u32::from_le_bytes(self.bytes.get(at..at + 4)?.try_into().ok()?))
    }

    /// Offset of a function's code from that of the first one. The number after the last function is the end.
    fn code(&self, function: usize) -> Option<u64> {
        self.number(self.entries + 8 * function).map(u64::from)
    }

    fn name(&self, function: usize) -> Option<&str> {
        let data = self.entries + self.number(self.entries + 8 * function + 4)? as usize;
        let name = self.bytes.get(self.names + self.number(data + 4)? as usize..)?;
        std::str::from_utf8(name.split(|byte| *byte == 0).next()?).ok()
    }
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()))
}

/// Functions that `is_wanted` selects by name. `address` is where the table is loaded, `data` the program's initialised
/// data. `None` if the table is of another version, or the address of the first function is not known.
pub fn functions(
    bytes: &[u8],
    address: u64,
    data: &[&[u8]],
    is_wanted: impl Fn(&str) -> bool,
) -> Option<Vec<Function>> {
    let table = Table::read(bytes)?;
    let (first, end) = (table.code(0)?, table.code(table.count)?);
    let base = data.iter().find_map(|data| base(data, address, first, end))?;
    let function = |at: usize| {
        let name = table.name(at).filter(|name| is_wanted(name))?.to_string();
        let (from, to) = (table.code(at)?, table.code(at + 1)?);
        Some(Function { name, address: base + from, bytes: to.checked_sub(from)? })
    };
    Some((0..table.count).filter_map(function).collect())
}

/// Address from which the offsets of code count. The data of the module begins with the address of the table; lowest and
/// highest address of its functions are next to each other in it.
fn base(data: &[u8], table: u64, first: u64, end: u64) -> Option<u64> {
    let words: Vec<u64> = words(data).collect();
    let modules = words.iter().enumerate().filter(|(_, word)| **word == table).map(|(at, _)| at);
    let of_module = |at: usize| {
        let mut pairs = words[at..].windows(2).take(MODULE_WORDS);
        pairs
            .find(|pair| pair[0] > first && pair[1].checked_sub(pair[0]) == Some(end - first))
            .map(|pair| pair[0] - first)
    };
    modules.into_iter().find_map(of_module)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table of two functions, `a.Step` of 32 bytes and `b.Other` of 16.
    fn table() -> Vec<u8> {
        const NAMES: u64 = 72;
        const ENTRIES: u64 = 88;
        let mut bytes = MAGIC[1].to_le_bytes().to_vec();
        bytes.extend([0, 0, 1, POINTER_BYTES]);
        for word in [2, 0, 0, NAMES, 0, 0, 0, ENTRIES] {
            bytes.extend(u64::to_le_bytes(word));
        }
        bytes.extend(b"a.Step\0b.Other\0\0");
        // Code and data of both, then the end; the data has the code again, and the offset of the name.
        for number in [0_u32, 20, 32, 28, 48, 0, 0, 32, 7] {
            bytes.extend(number.to_le_bytes());
        }
        bytes
    }

    /// The data of a module: the address of its table, something, and lowest and highest address of its functions.
    fn module(words: [u64; 4]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn functions_are_found_by_name_without_symbols() {
        let data = module([0x9000, 77, 0x40_1000, 0x40_1030]);
        let found = functions(&table(), 0x9000, &[&[], &data], |name| name.ends_with(".Other")).expect("a table");
        assert_eq!(found, [Function { name: "b.Other".to_string(), address: 0x40_1020, bytes: 16 }]);
    }

    #[test]
    fn what_is_not_certain_is_nothing() {
        let all = |bytes: &[u8], data: &[u8]| functions(bytes, 0x9000, &[data], |_| true);
        let data = module([0x9000, 77, 0x40_1000, 0x40_1030]);
        assert_eq!(all(&table(), &data).map(|found| found.len()), Some(2));
        assert_eq!(all(&table(), &module([0x9008, 77, 0x40_1000, 0x40_1030])), None, "another table");
        assert_eq!(all(&table(), &module([0x9000, 77, 0x40_1000, 0x40_1031])), None, "another end");
        let mut other = table();
        other[0] = 0xfa;
        assert_eq!(all(&other, &data), None, "of Go 1.16");
        for length in 0..table().len() {
            // A table that ends early panics nowhere.
            all(&table()[..length], &data);
        }
    }
}
