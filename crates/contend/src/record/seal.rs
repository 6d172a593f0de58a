//! The first line of each TOML file of a record, which shows whether the file was edited.

use sha2::{Digest as _, Sha256};

/// A comment, so that TOML readers ignore it.
const BEGINS: &str = "# SHA-256 of the lines below, which contend wrote: ";

fn digest(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn sealed(text: &str) -> String {
    format!("{BEGINS}{}\n{text}", digest(text))
}

/// Whether the text is unchanged; older records have no seal.
pub(super) fn is_whole(text: &str) -> bool {
    let Some(rest) = text.strip_prefix(BEGINS) else { return true };
    rest.split_once('\n').is_some_and(|(written, text)| written == digest(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_is_known_by_its_first_line() {
        let written = sealed("format = 3\ntier = \"bounded\"\n");
        assert!(is_whole(&written));
        assert!(!is_whole(&written.replace("bounded", "durable")));
        assert!(!is_whole(&written[..written.len() - 1]), "cut off");
        assert!(!is_whole(&written.replacen(": ", ": 0", 1)));
        assert!(is_whole("format = 3\n"), "older records have none");
    }
}
