//! An image: a directory tree in memory, which can be written to a directory.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::files::{Patch, apply};
use crate::log::{Attributes, Kind};
use crate::{Error, Result};

/// Files up to this size are assembled in memory and written at once; larger ones are patched on disk.
const WHOLE_MAX: usize = 8 << 20;
/// Runs of zeros of this length become holes in large files: logs of servers are mostly zeros.
const HOLE: usize = 64 << 10;

/// A directory tree. It is independent of the replayer, so another thread can write it.
#[derive(Default)]
pub struct Image {
    /// Directories precede their content.
    pub(super) items: Vec<Item>,
}

/// A file, directory or link of an image.
pub struct Item {
    pub path: PathBuf,
    pub kind: Kind,
    pub attributes: Attributes,
    pub(super) content: Content,
}

pub(super) enum Content {
    None,
    Target(OsString),
    /// Another name of the file at this path.
    SameAs(PathBuf),
    Bytes {
        durable: Arc<Vec<u8>>,
        patches: Vec<Patch>,
    },
}

impl Item {
    /// The bytes of a file; `None` for other kinds, and for further names of a file.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        let Content::Bytes { durable, patches } = &self.content else { return None };
        let mut bytes = durable.to_vec();
        apply(&mut bytes, patches);
        Some(bytes)
    }

    /// Whether an existing file can be overwritten in place: it has no other name, the same owner, and is small
    /// enough that holes do not matter.
    fn can_reuse(&self, data: &fs::Metadata) -> bool {
        let Content::Bytes { durable, .. } = &self.content else { return false };
        let Attributes { uid, gid, .. } = self.attributes;
        let same_owner = (data.uid(), data.gid()) == (uid, gid);
        data.is_file() && data.nlink() == 1 && same_owner && durable.len() <= WHOLE_MAX
    }
}

impl Image {
    /// In the order of their paths, directories before their content.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// The bytes of the file with this path, relative to the top.
    pub fn file(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        let item = self.items.iter().find(|item| item.path == path.as_ref())?;
        match &item.content {
            Content::SameAs(other) => self.file(other),
            _ => item.bytes(),
        }
    }

    /// Writes the image into a directory that is empty or does not exist.
    pub fn write(&self, dir: &Path) -> Result<()> {
        let failed = |e| Error::at(dir, "the image cannot be written", e);
        fs::create_dir_all(dir).map_err(failed)?;
        if fs::read_dir(dir).map_err(failed)?.next().is_some() {
            return Err(Error::at(dir, "the image is not written", "the directory is not empty"));
        }
        self.fill(dir, &HashSet::new())
    }

    /// As [`Image::write`], but replaces any content of the directory. Ordinary files of the same name are
    /// overwritten, which is much cheaper than creating them; everything else is removed.
    pub fn rewrite(&self, dir: &Path) -> Result<()> {
        let failed = |e| Error::at(dir, "the old image cannot be removed", e);
        fs::create_dir_all(dir).map_err(failed)?;
        let mut reused = HashSet::new();
        for entry in fs::read_dir(dir).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let data = entry.metadata().map_err(failed)?;
            let name = PathBuf::from(entry.file_name());
            if self.items.iter().any(|item| item.path == name && item.can_reuse(&data)) {
                reused.insert(name);
            } else if data.is_dir() {
                fs::remove_dir_all(entry.path()).map_err(failed)?;
            } else {
                fs::remove_file(entry.path()).map_err(failed)?;
            }
        }
        self.fill(dir, &reused)
    }

    fn fill(&self, dir: &Path, reused: &HashSet<PathBuf>) -> Result<()> {
        let mut scratch = vec![];
        let owner = Owner::own();
        for item in &self.items {
            let path = dir.join(&item.path);
            let reuse = reused.contains(&item.path);
            owner.put(dir, item, reuse, &mut scratch).map_err(|e| Error::at(&path, "cannot be written", e))?;
        }
        // Last, because a directory's mode may forbid writing into it.
        for item in self.items.iter().filter(|item| item.kind == Kind::Directory) {
            let path = dir.join(&item.path);
            let mode = fs::Permissions::from_mode(item.attributes.mode);
            fs::set_permissions(&path, mode).map_err(|e| Error::at(&path, "cannot be written", e))?;
        }
        Ok(())
    }
}

/// The user and group of this process, which own what it writes.
struct Owner {
    uid: u32,
    gid: u32,
}

impl Owner {
    fn own() -> Owner {
        Owner { uid: rustix::process::geteuid().as_raw(), gid: rustix::process::getegid().as_raw() }
    }

    fn put(&self, dir: &Path, item: &Item, reuse: bool, scratch: &mut Vec<u8>) -> std::io::Result<()> {
        let path = dir.join(&item.path);
        let path = path.as_path();
        match &item.content {
            Content::SameAs(other) => return fs::hard_link(dir.join(other), path),
            Content::Target(target) => std::os::unix::fs::symlink(target, path)?,
            Content::Bytes { durable, patches } if reuse => {
                scratch.clear();
                scratch.extend_from_slice(durable);
                apply(scratch, patches);
                return put_over(path, item.attributes.mode, scratch);
            }
            Content::Bytes { durable, patches } => put_file(path, item.attributes.mode, durable, patches, scratch)?,
            Content::None => fs::DirBuilder::new().mode(0o700).create(path)?,
        }
        let Attributes { uid, gid, .. } = item.attributes;
        if self.uid == 0 && (uid, gid) != (self.uid, self.gid) {
            std::os::unix::fs::lchown(path, Some(uid), Some(gid))?;
        }
        Ok(())
    }
}

fn put_file(path: &Path, mode: u32, durable: &[u8], patches: &[Patch], scratch: &mut Vec<u8>) -> std::io::Result<()> {
    let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    if mode & 0o022 != 0 {
        // The umask of this process may have removed bits.
        file.set_permissions(fs::Permissions::from_mode(mode))?;
    }
    if durable.len() <= WHOLE_MAX {
        if patches.is_empty() {
            return file.write_all_at(durable, 0);
        }
        scratch.clear();
        scratch.extend_from_slice(durable);
        apply(scratch, patches);
        return put_sparse(&file, scratch);
    }
    put_sparse(&file, durable)?;
    for patch in patches {
        match patch {
            Patch::Write { offset, data, from, to } => file.write_all_at(&data[*from..*to], *offset)?,
            Patch::Zero { offset, length } => put_zeros(&file, *offset, *length)?,
            Patch::Resize(size) => file.set_len(*size)?,
        }
    }
    Ok(())
}

fn put_over(path: &Path, mode: u32, bytes: &[u8]) -> std::io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    file.write_all_at(bytes, 0)?;
    file.set_len(bytes.len() as u64)
}

fn put_sparse(file: &File, bytes: &[u8]) -> std::io::Result<()> {
    if bytes.len() <= HOLE {
        return file.write_all_at(bytes, 0);
    }
    file.set_len(bytes.len() as u64)?;
    let mut start = 0;
    while start < bytes.len() {
        let zero = |at: usize| is_zero(&bytes[at..(at + HOLE).min(bytes.len())]);
        let mut end = start;
        while end < bytes.len() && !zero(end) {
            end += HOLE;
        }
        let end_of_data = end.min(bytes.len());
        file.write_all_at(&bytes[start..end_of_data], start as u64)?;
        start = end + HOLE;
    }
    Ok(())
}

fn is_zero(bytes: &[u8]) -> bool {
    // Most blocks with data have a non-zero byte near their start.
    bytes.iter().take(64).all(|b| *b == 0)
        && bytes.chunks(4096).all(|chunk| chunk.iter().fold(0, |sum, byte| sum | byte) == 0)
}

fn put_zeros(file: &File, offset: u64, length: u64) -> std::io::Result<()> {
    let zeros = vec![0; length.min(1 << 20) as usize];
    let mut done = 0;
    while done < length {
        let n = (length - done).min(zeros.len() as u64);
        file.write_all_at(&zeros[..n as usize], offset + done)?;
        done += n;
    }
    Ok(())
}
