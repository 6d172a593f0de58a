//! Texts that a user names by path.

use std::path::Path;

/// Longest definition file or table; a longer one (a device or a dump) is rejected before it fills the memory.
const TEXT_BYTES_MAX: u64 = 16 << 20;

/// The text of a definition file or a table.
pub fn read_text(path: impl AsRef<Path>) -> std::io::Result<String> {
    use std::io::Error;
    let path = path.as_ref();
    let file = std::fs::metadata(path)?;
    if !file.is_file() {
        return Err(Error::other("it is not a regular file"));
    }
    if file.len() > TEXT_BYTES_MAX {
        return Err(Error::other(format!("it has {} bytes; a file may have at most {TEXT_BYTES_MAX}", file.len())));
    }
    String::from_utf8(std::fs::read(path)?).map_err(|_| Error::other("it is not UTF-8; save it as UTF-8"))
}
