//! Carries out requests: the change in the backing directory, then its entry in the log. The caller then answers the
//! kernel.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use rustix::fs::{AtFlags, CWD, FallocateFlags, Mode, OFlags, RenameFlags, Timestamps};
use rustix::io::Errno;

use super::tree::{OpenFile, Tree, attributes_of};
use crate::log::{Attributes, Ino, Kind, Op, Writer};

/// The recorder's state, shared by its threads.
pub struct Recorder {
    tree: RwLock<Tree>,
    pub log: Arc<Writer>,
    /// Snapshots of open directories, so that reading one can continue.
    listings: Mutex<HashMap<u64, Arc<Vec<Listed>>>>,
    next_listing: AtomicU64,
    /// Whether owners can be changed, which only root can.
    gives_away: bool,
}

pub type Listed = (Ino, Kind, OsString);

/// Attributes of a new file, directory or link: owner, mode, and target of a link.
pub struct New<'a> {
    pub kind: Kind,
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    /// Empty, except for a symbolic link.
    pub target: &'a Path,
}

impl Recorder {
    pub fn new(tree: Tree, log: Arc<Writer>) -> Recorder {
        let gives_away = rustix::process::geteuid().is_root();
        Recorder {
            tree: RwLock::new(tree),
            log,
            listings: Mutex::default(),
            next_listing: AtomicU64::new(1),
            gives_away,
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Tree> {
        self.tree.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Tree> {
        self.tree.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn listings(&self) -> MutexGuard<'_, HashMap<u64, Arc<Vec<Listed>>>> {
        self.listings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn lookup(&self, parent: Ino, name: &OsStr) -> io::Result<(Ino, Metadata)> {
        let tree = self.read();
        let ino = tree.child(parent, name).ok_or(Errno::NOENT)?;
        Ok((ino, metadata(&tree, ino)?))
    }

    pub fn metadata(&self, ino: Ino) -> io::Result<Metadata> {
        metadata(&self.read(), ino)
    }

    pub fn backing(&self, ino: Ino) -> io::Result<PathBuf> {
        Ok(self.read().path(ino).ok_or(Errno::STALE)?)
    }

    /// Opens a handle for the kernel. All openers of a file share one.
    pub fn open(&self, ino: Ino) -> io::Result<()> {
        open(&mut self.write(), ino)
    }

    pub fn close(&self, ino: Ino) {
        let mut tree = self.write();
        if let Some(node) = tree.get_mut(ino) {
            node.opens = node.opens.saturating_sub(1);
            if node.opens == 0 {
                node.file = None;
            }
        }
        tree.forget_unused(ino);
    }

    /// The handle of an open file, or a temporary one.
    fn handle(&self, ino: Ino) -> io::Result<Arc<OpenFile>> {
        let tree = self.read();
        if let Some(file) = tree.get(ino).and_then(|node| node.file.clone()) {
            return Ok(file);
        }
        let file = open_file(&tree.path(ino).ok_or(Errno::STALE)?)?;
        Ok(Arc::new(OpenFile { file, order: Mutex::new(()) }))
    }

    pub fn read_at(&self, ino: Ino, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let handle = self.handle(ino)?;
        let mut done = 0;
        while done < buffer.len() {
            match handle.file.read_at(&mut buffer[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(done)
    }

    pub fn write_at(&self, ino: Ino, data: &[u8], offset: u64, sync: bool) -> io::Result<()> {
        let handle = self.handle(ino)?;
        let _order = handle.order.lock().unwrap_or_else(PoisonError::into_inner);
        let (written, done) = write_all(&mut |part, at| handle.file.write_at(part, at), data, offset);
        if written > 0 {
            self.log.write(ino, offset, &data[..written], sync);
        }
        self.noted(done)
    }

    /// Marks the recording as failed if the backing file system was full or broken: no program has to survive that.
    fn noted<T>(&self, done: Result<T, impl Into<io::Error>>) -> io::Result<T> {
        done.map_err(|error| {
            let error = error.into();
            match error.raw_os_error().map(Errno::from_raw_os_error) {
                Some(Errno::NOSPC | Errno::DQUOT) => self.log.fail("the recorder's file system was full"),
                Some(Errno::IO) => self.log.fail("the recorder's file system reported an input/output error"),
                _ => {}
            }
            error
        })
    }

    pub fn truncate(&self, ino: Ino, size: u64) -> io::Result<()> {
        let handle = self.handle(ino)?;
        let _order = handle.order.lock().unwrap_or_else(PoisonError::into_inner);
        self.noted(handle.file.set_len(size))?;
        self.log.append(&Op::Truncate { ino, size });
        Ok(())
    }

    pub fn allocate(&self, ino: Ino, offset: u64, length: u64, mode: i32) -> io::Result<()> {
        let flags = FallocateFlags::from_bits_retain(mode as u32);
        let known = FallocateFlags::KEEP_SIZE | FallocateFlags::PUNCH_HOLE | FallocateFlags::ZERO_RANGE;
        if !known.contains(flags) {
            return Err(Errno::OPNOTSUPP.into());
        }
        let handle = self.handle(ino)?;
        let _order = handle.order.lock().unwrap_or_else(PoisonError::into_inner);
        self.noted(rustix::fs::fallocate(&handle.file, flags, offset, length))?;
        if flags.intersects(FallocateFlags::PUNCH_HOLE | FallocateFlags::ZERO_RANGE) {
            self.log.append(&Op::Zero { ino, offset, length });
        }
        if !flags.contains(FallocateFlags::KEEP_SIZE) {
            self.log.append(&Op::Allocate { ino, size: offset + length });
        }
        Ok(())
    }

    /// Records a sync. The backing directory is not synced: only the recorded disk fails, not the machine.
    pub fn sync(&self, ino: Ino, data_only: bool) {
        self.log.append(&Op::Sync { ino, data_only });
    }

    pub fn sync_directory(&self, ino: Ino) {
        self.log.append(&Op::SyncDirectory { ino });
    }

    /// Creates a file, directory, link or socket. `open_it`: flags of open(2) with O_CREAT, which also opens an
    /// existing file.
    pub fn create(&self, parent: Ino, name: &OsStr, new: &New, open_it: Option<i32>) -> io::Result<(Ino, Metadata)> {
        let mut tree = self.write();
        if let Some(ino) = tree.child(parent, name) {
            let exclusive = open_it.is_none_or(|flags| OFlags::from_bits_retain(flags as u32).contains(OFlags::EXCL));
            if exclusive {
                return Err(Errno::EXIST.into());
            }
            open(&mut tree, ino)?;
            return Ok((ino, metadata(&tree, ino)?));
        }
        let path = tree.path_of(parent, name).ok_or(Errno::STALE)?;
        self.noted(self.make(&path, new))?;
        let data = path.symlink_metadata()?;
        let ino = tree.add(parent, name, new.kind);
        let attributes = attributes_of(&data);
        let (name, target) = (name.to_os_string(), new.target.as_os_str().to_os_string());
        self.log.append(&Op::Create { parent, name, ino, kind: new.kind, attributes, target });
        if open_it.is_some() {
            open(&mut tree, ino)?;
        }
        Ok((ino, data))
    }

    fn make(&self, path: &Path, new: &New) -> io::Result<()> {
        let mode = Mode::from_raw_mode(new.mode & 0o7777);
        match new.kind {
            Kind::File => {
                let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
                drop(rustix::fs::open(path, flags, mode)?);
            }
            Kind::Directory => rustix::fs::mkdir(path, mode)?,
            Kind::Symlink => rustix::fs::symlink(new.target, path)?,
            Kind::Other => {
                rustix::fs::mknodat(CWD, path, rustix::fs::FileType::from_raw_mode(new.mode), mode, 0)?;
            }
        }
        if self.gives_away {
            give(path, Some(new.uid), Some(new.gid))?;
        }
        if new.kind != Kind::Symlink {
            // The kernel has applied the program's umask; that of this process must not be applied too.
            rustix::fs::chmod(path, mode)?;
        }
        Ok(())
    }

    pub fn link(&self, ino: Ino, parent: Ino, name: &OsStr) -> io::Result<Metadata> {
        let mut tree = self.write();
        let (from, to) = (tree.path(ino).ok_or(Errno::NOENT)?, tree.path_of(parent, name).ok_or(Errno::STALE)?);
        self.noted(rustix::fs::linkat(CWD, from, CWD, to, AtFlags::empty()))?;
        tree.link(parent, name, ino);
        self.log.append(&Op::Link { ino, parent, name: name.to_os_string() });
        metadata(&tree, ino)
    }

    pub fn remove(&self, parent: Ino, name: &OsStr, directory: bool) -> io::Result<()> {
        let mut tree = self.write();
        let path = tree.path_of(parent, name).ok_or(Errno::STALE)?;
        let flags = if directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        rustix::fs::unlinkat(CWD, path, flags)?;
        tree.unlink(parent, name);
        self.log.append(&Op::Remove { parent, name: name.to_os_string() });
        Ok(())
    }

    pub fn rename(&self, from: (Ino, &OsStr), to: (Ino, &OsStr), flags: RenameFlags) -> io::Result<()> {
        if !(RenameFlags::NOREPLACE | RenameFlags::EXCHANGE).contains(flags) {
            return Err(Errno::INVAL.into());
        }
        let mut tree = self.write();
        let path = |(parent, name): (Ino, &OsStr)| tree.path_of(parent, name).ok_or(Errno::STALE);
        self.noted(rustix::fs::renameat_with(CWD, path(from)?, CWD, path(to)?, flags))?;
        let exchange = flags.contains(RenameFlags::EXCHANGE);
        tree.rename(from, to, exchange);
        self.log.append(&Op::Rename {
            parent: from.0,
            name: from.1.to_os_string(),
            to_parent: to.0,
            to_name: to.1.to_os_string(),
            exchange,
        });
        Ok(())
    }

    pub fn change_attributes(&self, ino: Ino, mode: Option<u32>, uid: Option<u32>, gid: Option<u32>) -> io::Result<()> {
        let tree = self.write();
        let path = reachable(&tree, ino)?;
        if uid.is_some() || gid.is_some() {
            give(&path, uid, gid)?;
        }
        if let Some(mode) = mode {
            rustix::fs::chmod(&path, Mode::from_raw_mode(mode & 0o7777))?;
        }
        let attributes: Attributes = attributes_of(&metadata(&tree, ino)?);
        self.log.append(&Op::Attributes { ino, attributes });
        Ok(())
    }

    /// Sets times. They are not part of the log: no model loses them and no image has them.
    pub fn set_times(&self, ino: Ino, times: &Timestamps) -> io::Result<()> {
        let path = reachable(&self.read(), ino)?;
        Ok(rustix::fs::utimensat(CWD, path, times, AtFlags::empty())?)
    }

    pub fn open_directory(&self, ino: Ino) -> io::Result<u64> {
        let tree = self.read();
        let node = tree.get(ino).ok_or(Errno::STALE)?;
        let parent = node.names.first().map_or(ino, |(parent, _)| *parent);
        let mut listed = vec![(ino, Kind::Directory, ".".into()), (parent, Kind::Directory, "..".into())];
        let kind = |child: &Ino| tree.get(*child).map_or(Kind::File, |node| node.kind);
        listed.extend(node.children.iter().map(|(name, child)| (*child, kind(child), name.clone())));
        let handle = self.next_listing.fetch_add(1, Ordering::Relaxed);
        self.listings().insert(handle, Arc::new(listed));
        Ok(handle)
    }

    pub fn listing(&self, handle: u64) -> Option<Arc<Vec<Listed>>> {
        self.listings().get(&handle).cloned()
    }

    pub fn close_directory(&self, handle: u64) {
        self.listings().remove(&handle);
    }
}

/// Writes everything, and returns how much was written before an error.
fn write_all(
    write: &mut dyn FnMut(&[u8], u64) -> io::Result<usize>,
    data: &[u8],
    offset: u64,
) -> (usize, io::Result<()>) {
    let mut done = 0;
    while done < data.len() {
        match write(&data[done..], offset + done as u64) {
            Ok(0) => return (done, Err(io::ErrorKind::WriteZero.into())),
            Ok(n) => done += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return (done, Err(e)),
        }
    }
    (done, Ok(()))
}

fn open(tree: &mut Tree, ino: Ino) -> io::Result<()> {
    let path = tree.path(ino);
    let node = tree.get_mut(ino).ok_or(Errno::STALE)?;
    if node.file.is_none() {
        let file = open_file(&path.ok_or(Errno::STALE)?)?;
        node.file = Some(Arc::new(OpenFile { file, order: Mutex::new(()) }));
    }
    node.opens += 1;
    Ok(())
}

/// Opens for reading and writing: the kernel has checked the program's rights. An ordinary user's read-only file
/// allows reading only.
fn open_file(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW.bits() as i32;
    let both = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path);
    both.or_else(|_| OpenOptions::new().read(true).custom_flags(flags).open(path))
}

fn metadata(tree: &Tree, ino: Ino) -> io::Result<Metadata> {
    match tree.get(ino).and_then(|node| node.file.as_ref()) {
        Some(open) => open.file.metadata(),
        None => tree.path(ino).ok_or(Errno::STALE)?.symlink_metadata(),
    }
}

/// A path to the file, even if its last name is gone.
fn reachable(tree: &Tree, ino: Ino) -> io::Result<PathBuf> {
    use std::os::fd::AsRawFd;
    let open = tree.get(ino).and_then(|node| node.file.as_ref());
    let by_handle = || open.map(|open| PathBuf::from(format!("/proc/self/fd/{}", open.file.as_raw_fd())));
    Ok(tree.path(ino).or_else(by_handle).ok_or(Errno::STALE)?)
}

fn give(path: &Path, uid: Option<u32>, gid: Option<u32>) -> io::Result<()> {
    let (uid, gid) = (uid.map(rustix::fs::Uid::from_raw), gid.map(rustix::fs::Gid::from_raw));
    let flags = if path.starts_with("/proc/self/fd") { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW };
    Ok(rustix::fs::chownat(CWD, path, uid, gid, flags)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Log;

    #[test]
    fn what_was_written_before_an_error_is_counted() {
        let mut disk: Vec<u8> = vec![];
        let mut write = |part: &[u8], at: u64| {
            assert_eq!(at, 7 + disk.len() as u64);
            // It takes three bytes at a time and is full after six.
            let taken = part.len().min(3).min(6 - disk.len());
            disk.extend(&part[..taken]);
            if taken == 0 { Err(Errno::NOSPC.into()) } else { Ok(taken) }
        };
        let (written, done) = write_all(&mut write, b"abcdefgh", 7);
        assert_eq!((written, done.expect_err("full").raw_os_error()), (6, Some(Errno::NOSPC.raw_os_error())));
        assert_eq!(disk, b"abcdef");
    }

    #[test]
    fn a_full_file_system_fails_the_recording_and_a_programs_own_error_does_not() {
        let dir = tempfile::tempdir().expect("a directory");
        let (backing, log) = (dir.path().join("backing"), dir.path().join("log"));
        std::fs::create_dir(&backing).expect("a directory");
        let writer = Arc::new(Writer::create(&log, 1 << 20).expect("a log"));
        let recorder = Recorder::new(Tree::load(&backing).expect("a tree").0, writer.clone());
        recorder.noted::<()>(Err(Errno::NOENT)).expect_err("an error");
        recorder.sync(1, true);
        assert_eq!(writer.recorded().failed, None);
        recorder.noted::<()>(Err(Errno::NOSPC)).expect_err("an error");
        recorder.noted::<()>(Err(Errno::IO)).expect_err("an error");
        recorder.sync(1, true);
        assert_eq!(writer.end().failed.as_deref(), Some("the recorder's file system was full"));
        let read = Log::read(&log).expect("a log");
        assert!(!read.complete && read.len() == 1, "nothing is recorded after it");
    }
}
