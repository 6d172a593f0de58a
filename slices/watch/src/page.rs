//! Parses pages of the kernel's ring buffer, as `trace_pipe_raw` returns them, and the fields of events.
//!
//! Source: the kernel's `ring_buffer.c`. A page is a timestamp (u64), the number of used bytes (u64, with flags in
//! the upper bits), and events. Each event has a header of four bytes: 5 bits of type or length, 27 bits of time
//! since the previous event.

use std::collections::BTreeMap;

/// Bytes before the first event.
const PAGE_HEADER: usize = 16;
/// Bits of a page's second word that are its length.
const LENGTH_MASK: u64 = 0xf_ffff;

/// An event in the buffer.
#[derive(Debug, PartialEq, Eq)]
pub struct Raw<'p> {
    pub at_ns: u64,
    pub data: &'p [u8],
}

/// The events of a page. Parsing stops at the end of a truncated page.
pub fn events(page: &[u8]) -> Vec<Raw<'_>> {
    let mut found = vec![];
    let (Some(mut at_ns), Some(commit)) = (u64_at(page, 0), u64_at(page, 8)) else { return found };
    let used = page.len().min(PAGE_HEADER + (commit & LENGTH_MASK) as usize);
    let mut place = PAGE_HEADER;
    while let Some(header) = u32_at(&page[..used], place) {
        let (kind, delta) = (header & 0x1f, u64::from(header >> 5));
        let array = u32_at(&page[..used], place + 4);
        let (data_at, next) = match (kind, array) {
            (29, _) if delta == 0 => break,
            (29, Some(length)) => (None, place + 4 + length as usize),
            (30, Some(high)) => {
                at_ns += (u64::from(high) << 27) + delta;
                (None, place + 8)
            }
            (31, Some(high)) => {
                // An absolute timestamp has 59 bits; the upper bits are unchanged.
                at_ns = (at_ns & (0x1f << 59)) | (u64::from(high) << 27) | delta;
                (None, place + 8)
            }
            (0, Some(length)) => (Some(place + 8), place + 4 + length as usize),
            (1..=28, _) => (Some(place + 4), place + 4 + 4 * kind as usize),
            _ => break,
        };
        if next <= place || next > used {
            break;
        }
        if let Some(data_at) = data_at {
            at_ns += delta;
            found.push(Raw { at_ns, data: page.get(data_at..next).unwrap_or_default() });
        }
        place = next;
    }
    found
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Positions of an event's fields, from its `format` file.
#[derive(Debug, Clone, Default)]
pub struct Format {
    /// Number at the beginning of its data.
    pub id: u16,
    fields: BTreeMap<String, Field>,
}

/// Position of a field in an event's data.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    offset: usize,
    size: usize,
    signed: bool,
    /// Whether it is a `__data_loc`: the field has offset and length of the text.
    is_text: bool,
}

impl Format {
    /// Reads lines such as `field:unsigned long i_ino; offset:16; size:8; signed:0;`.
    pub fn read(text: &str) -> Option<Format> {
        let mut format = Format::default();
        for line in text.lines().map(str::trim) {
            if let Some(id) = line.strip_prefix("ID:") {
                format.id = id.trim().parse().ok()?;
            }
            let Some(rest) = line.strip_prefix("field:") else { continue };
            let mut parts = rest.split(';').map(str::trim);
            let declaration = parts.next()?;
            let name = declaration.split_whitespace().last()?.split('[').next()?.to_string();
            let mut number = |key: &str| parts.next()?.strip_prefix(key)?.parse::<usize>().ok();
            let (offset, size, signed) = (number("offset:")?, number("size:")?, number("signed:")? == 1);
            let field = Field { offset, size, signed, is_text: declaration.starts_with("__data_loc") };
            format.fields.insert(name, field);
        }
        (format.id != 0).then_some(format)
    }

    /// A numeric field. `None` if there is no such field, or the data is truncated.
    pub fn number(&self, data: &[u8], name: &str) -> Option<i64> {
        self.field(name)?.number(data)
    }

    /// Position of a field, for frequent events, where looking up names takes too long.
    pub fn field(&self, name: &str) -> Option<Field> {
        self.fields.get(name).copied()
    }

    /// Text of UTF-16 in arrays of numbers, one after the other, up to its terminator. `None` without any.
    pub fn text_utf16(&self, data: &[u8], names: &[&str]) -> Option<String> {
        let fields = names.iter().filter_map(|name| self.fields.get(*name));
        let bytes = fields.filter_map(|field| data.get(field.offset..field.offset + field.size)).flatten().copied();
        let bytes: Vec<u8> = bytes.collect();
        let units = bytes.chunks_exact(2).map(|pair| u16::from_ne_bytes(pair.try_into().unwrap_or_default()));
        let text: Vec<u16> = units.take_while(|unit| *unit != 0).collect();
        (!text.is_empty()).then(|| String::from_utf16_lossy(&text))
    }

    /// A text field, without its terminator. Bytes that are not UTF-8 are replaced. `None` if the kernel could not read it, or
    /// left it out because it is longer than 4,095 bytes: then not even the terminator is there.
    pub fn text(&self, data: &[u8], name: &str) -> Option<String> {
        let field = self.fields.get(name).filter(|field| field.is_text)?;
        let location = u32_at(data, field.offset)?;
        let (offset, length) = ((location & 0xffff) as usize, (location >> 16) as usize);
        let bytes = data.get(offset..offset + length).filter(|bytes| !bytes.is_empty())?;
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }
}

impl Field {
    /// Its number. `None` if the data is truncated.
    pub fn number(self, data: &[u8]) -> Option<i64> {
        let bytes = data.get(self.offset..self.offset + self.size)?;
        let mut wide = [0u8; 8];
        wide.get_mut(..bytes.len())?.copy_from_slice(bytes);
        let bits = i64::from_ne_bytes(wide);
        let unused = 64 - 8 * bytes.len() as u32;
        Some(if self.signed && unused < 64 { (bits << unused) >> unused } else { bits })
    }
}

/// Fields of a lock call: a busy database has hundreds of thousands of them a second.
#[derive(Clone, Copy)]
pub struct LockFields {
    pub tid: Field,
    /// Device, inode, first and last byte.
    pub range: [Field; 4],
    pub pid: Field,
    /// Type and return value.
    pub change: [Field; 2],
}

impl LockFields {
    /// `None` if the event has other fields.
    pub fn of(format: &Format) -> Option<LockFields> {
        let field = |name| format.field(name);
        Some(LockFields {
            tid: field("common_pid")?,
            range: [field("s_dev")?, field("i_ino")?, field("fl_start")?, field("fl_end")?],
            pid: field("pid")?,
            change: [field("type")?, field("ret")?],
        })
    }
}

/// The event number at the beginning of the data.
pub fn id(data: &[u8]) -> Option<u16> {
    Some(u16::from_ne_bytes(data.get(..2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(events: &[u8]) -> Vec<u8> {
        let mut page = 1_000u64.to_ne_bytes().to_vec();
        page.extend((events.len() as u64).to_ne_bytes());
        page.extend(events);
        page.resize(4096, 0);
        page
    }

    fn header(kind: u32, delta: u32) -> [u8; 4] {
        (kind | (delta << 5)).to_ne_bytes()
    }

    #[test]
    fn times_add_up_over_all_kinds_of_headers() {
        let mut bytes = vec![];
        bytes.extend(header(2, 5)); // 8 bytes of data, 5 ns later
        bytes.extend([1u8; 8]);
        bytes.extend(header(30, 3)); // time goes on by 2^27 + 3
        bytes.extend(1u32.to_ne_bytes());
        bytes.extend(header(29, 7)); // padding of 4 + 4 bytes
        bytes.extend(4u32.to_ne_bytes());
        bytes.extend(header(0, 1)); // long form: 12 bytes of data
        bytes.extend(16u32.to_ne_bytes());
        bytes.extend([2u8; 12]);
        let page = page(&bytes);
        let found: Vec<(u64, usize)> = events(&page).iter().map(|event| (event.at_ns, event.data.len())).collect();
        assert_eq!(found, [(1_005, 8), (1_005 + (1 << 27) + 3 + 1, 12)]);
    }

    #[test]
    fn a_page_cut_short_or_full_of_nonsense_ends_and_does_not_panic() {
        let mut bytes = vec![];
        bytes.extend(header(28, 1));
        bytes.extend([3u8; 20]); // says 112 bytes
        assert_eq!(events(&page(&bytes)), []);
        for length in 0..64 {
            events(&vec![0xff; length]);
        }
    }

    #[test]
    fn fields_are_found_by_name() {
        let text = "name: posix_lock_inode\nID: 1128\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
            \tfield:int ret;\toffset:4;\tsize:4;\tsigned:1;\n\tfield:__data_loc char[] sql;\toffset:8;\tsize:4;\tsigned:1;\n";
        let format = Format::read(text).expect("a format");
        let mut data = vec![0x68, 0x04, 0, 0];
        data.extend((-11i32).to_ne_bytes());
        data.extend((12u32 | (9 << 16)).to_ne_bytes());
        data.extend(b"SELECT 1\0");
        assert_eq!((format.id, id(&data)), (1128, Some(1128)));
        assert_eq!(format.number(&data, "ret"), Some(-11));
        assert_eq!(format.text(&data, "sql").as_deref(), Some("SELECT 1"));
        let text = |length: u32| {
            data[8..12].copy_from_slice(&(12u32 | (length << 16)).to_ne_bytes());
            data[12] = 0;
            format.text(&data, "sql")
        };
        assert_eq!([1, 0].map(text), [Some(String::new()), None], "an empty text, and one that was left out");
        assert_eq!(format.number(&data[..5], "ret"), None, "cut short");
        assert_eq!(format.text(&data, "ret"), None, "no text");
        let text = "ID: 9\n\tfield:u16 sql16[4];\toffset:0;\tsize:8;\tsigned:0;\n\tfield:u16 more[2];\toffset:8;\tsize:4;\tsigned:0;\n";
        let format = Format::read(text).expect("a format");
        let utf16 = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_ne_bytes).collect() };
        let read = |text: &str| format.text_utf16(&utf16(text), &["sql16", "more"]);
        assert_eq!(read("COMMIT").as_deref(), Some("COMMIT"));
        assert_eq!((read("END\0xx").as_deref(), read("\0END")), (Some("END"), None));
    }
}
