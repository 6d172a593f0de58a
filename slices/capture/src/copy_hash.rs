//! Whether the copies of databases in a capture are those of its end.

use crate::manifest::{Content, Manifest};
use anyhow::{Context as _, Result, ensure};
use contend_interpose::hash::Sip;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

impl Content {
    /// The copy in a capture's directory; `None` if there never was one.
    ///
    /// # Errors
    /// It is gone, or another one than at the end of the capture.
    pub fn copied_in(&self, dir: &Path) -> Result<Option<PathBuf>> {
        let Some(copy) = &self.copy else { return Ok(None) };
        let path = dir.join(copy);
        let shown = path.display();
        ensure!(
            path.exists(),
            "{shown} is missing, a part of the capture. Copy the whole capture again, or capture again"
        );
        if let Some(hash) = self.copy_hash {
            let found = hash_of(&path).with_context(|| format!("cannot read {shown}"))?;
            ensure!(found == hash, "{shown} was changed after the capture. Restore the file, or capture again");
        }
        Ok(Some(path))
    }
}

impl Manifest {
    /// Notes the hashes of all copies. One that cannot be read has none.
    pub fn hash_copies(&mut self, dir: &Path) {
        for content in
            self.databases.iter_mut().flat_map(|database| database.content.iter_mut().chain(&mut database.end))
        {
            content.copy_hash = content.copy.as_ref().and_then(|copy| hash_of(&dir.join(copy)).ok());
        }
    }
}

/// The hash of a file.
fn hash_of(path: &Path) -> std::io::Result<u64> {
    const PIECE: u64 = 1 << 20;
    let (mut file, mut hash, mut piece) = (fs::File::open(path)?, Sip::new([0, 0]), vec![]);
    while file.by_ref().take(PIECE).read_to_end(&mut piece)? > 0 {
        let words = piece.chunks_exact(8);
        let rest = words.remainder();
        words.for_each(|word| hash.word(u64::from_le_bytes(word.try_into().unwrap_or_default())));
        rest.iter().for_each(|byte| hash.byte(*byte));
        piece.clear();
    }
    Ok(hash.end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use contend_interpose::hash;

    #[test]
    fn the_hash_of_a_file_is_that_of_its_bytes() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        for length in [0, 7, 4_096, (1 << 20) + 5] {
            let bytes: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            fs::write(file.path(), &bytes).expect("written");
            assert_eq!(hash_of(file.path()).expect("read"), hash::bytes([0, 0], &bytes), "{length} bytes");
        }
    }
}
