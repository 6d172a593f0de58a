//! Texts that a user names by path.

use std::path::Path;

/// Longest definition file; a longer one (a device or a dump) is rejected before it fills the memory.
const TEXT_BYTES_MAX: u64 = 16 << 20;

/// The text of a definition file.
pub fn read_text(path: impl AsRef<Path>) -> std::io::Result<String> {
    use std::io::Error;
    let path = path.as_ref();
    let file = std::fs::metadata(path)?;
    if !file.is_file() {
        return Err(Error::other("it is not a regular file"));
    }
    if file.len() > TEXT_BYTES_MAX {
        return Err(Error::other(format!(
            "it has {} bytes; a definition may have at most {TEXT_BYTES_MAX}",
            file.len()
        )));
    }
    std::fs::read_to_string(path)
}
