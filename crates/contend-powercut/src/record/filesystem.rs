//! Translates the kernel's requests. Requests that are not implemented here (flush, extended attributes, locks,
//! copy_file_range) are answered with ENOSYS or never sent; the kernel then does the work itself.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use rustix::fs::{OFlags, Timespec, Timestamps};

use super::changes::{New, Recorder};
use super::tree::kind_of;
use crate::log::{Ino, Kind};

/// Only the recorder changes files, and every change passes through the kernel, so its caches stay valid.
const FOREVER: Duration = Duration::from_secs(24 * 3600);

pub struct Passthrough(pub std::sync::Arc<Recorder>);

impl Passthrough {
    fn created(&self, parent: INodeNo, name: &OsStr, new: &New) -> Made {
        self.0.create(parent.0, name, new, None).map(|(ino, data)| attr(ino, &data))
    }
}

/// `target` is empty, except for a symbolic link.
fn new<'a>(req: &Request, kind: Kind, mode: u32, target: &'a Path) -> New<'a> {
    New { kind, mode, uid: req.uid(), gid: req.gid(), target }
}

type Made = io::Result<FileAttr>;

fn entry(reply: ReplyEntry, made: Made) {
    match made {
        Ok(attr) => reply.entry(&FOREVER, &attr, Generation(0)),
        Err(e) => reply.error(e.into()),
    }
}

fn empty(reply: ReplyEmpty, done: io::Result<()>) {
    match done {
        Ok(()) => reply.ok(),
        Err(e) => reply.error(e.into()),
    }
}

impl Filesystem for Passthrough {
    fn init(&mut self, _req: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // No FUSE_WRITEBACK_CACHE: a write must arrive when the program makes it. No lock flags: the kernel handles
        // locks. No FUSE_ATOMIC_O_TRUNC: a truncation then arrives as its own request.
        let _ = config.add_capabilities(InitFlags::FUSE_PARALLEL_DIROPS);
        let _ = config.set_max_background(64);
        Ok(())
    }

    /// All requests are answered: the log gets its last mark.
    fn destroy(&mut self) {
        self.0.log.end();
    }

    fn lookup(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        entry(reply, self.0.lookup(parent.0, name).map(|(ino, data)| attr(ino, &data)));
    }

    fn getattr(&self, _req: &Request, ino: INodeNo, _fh: Option<FileHandle>, reply: ReplyAttr) {
        match self.0.metadata(ino.0) {
            Ok(data) => reply.attr(&FOREVER, &attr(ino.0, &data)),
            Err(e) => reply.error(e.into()),
        }
    }

    fn setattr(
        &self,
        _req: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        _fh: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let change = || {
            if mode.is_some() || uid.is_some() || gid.is_some() {
                self.0.change_attributes(ino.0, mode, uid, gid)?;
            }
            if let Some(size) = size {
                self.0.truncate(ino.0, size)?;
            }
            if atime.is_some() || mtime.is_some() {
                let times = Timestamps { last_access: time(atime), last_modification: time(mtime) };
                self.0.set_times(ino.0, &times)?;
            }
            self.0.metadata(ino.0)
        };
        match change() {
            Ok(data) => reply.attr(&FOREVER, &attr(ino.0, &data)),
            Err(e) => reply.error(e.into()),
        }
    }

    fn readlink(&self, _req: &Request, ino: INodeNo, reply: ReplyData) {
        match self.0.backing(ino.0).and_then(std::fs::read_link) {
            Ok(target) => reply.data(target.as_os_str().as_bytes()),
            Err(e) => reply.error(e.into()),
        }
    }

    fn mknod(
        &self,
        req: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        _rdev: u32,
        reply: ReplyEntry,
    ) {
        let kind = match rustix::fs::FileType::from_raw_mode(mode) {
            rustix::fs::FileType::RegularFile => Kind::File,
            rustix::fs::FileType::Socket | rustix::fs::FileType::Fifo => Kind::Other,
            _ => return reply.error(Errno::EPERM),
        };
        entry(reply, self.created(parent, name, &new(req, kind, mode, Path::new(""))));
    }

    fn mkdir(&self, req: &Request, parent: INodeNo, name: &OsStr, mode: u32, _umask: u32, reply: ReplyEntry) {
        entry(reply, self.created(parent, name, &new(req, Kind::Directory, mode, Path::new(""))));
    }

    fn symlink(&self, req: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        entry(reply, self.created(parent, name, &new(req, Kind::Symlink, 0o777, target)));
    }

    fn unlink(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        empty(reply, self.0.remove(parent.0, name, false));
    }

    fn rmdir(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        empty(reply, self.0.remove(parent.0, name, true));
    }

    fn rename(
        &self,
        _req: &Request,
        parent: INodeNo,
        name: &OsStr,
        newparent: INodeNo,
        newname: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let flags = rustix::fs::RenameFlags::from_bits_retain(flags.bits());
        empty(reply, self.0.rename((parent.0, name), (newparent.0, newname), flags));
    }

    fn link(&self, _req: &Request, ino: INodeNo, newparent: INodeNo, newname: &OsStr, reply: ReplyEntry) {
        entry(reply, self.0.link(ino.0, newparent.0, newname).map(|data| attr(ino.0, &data)));
    }

    fn open(&self, _req: &Request, ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        match self.0.open(ino.0) {
            // Not FOPEN_DIRECT_IO: shared mappings must work. Cached pages stay valid, as no other process changes
            // the file.
            Ok(()) => reply.opened(FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE),
            Err(e) => reply.error(e.into()),
        }
    }

    fn create(
        &self,
        req: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let new = new(req, Kind::File, mode, Path::new(""));
        match self.0.create(parent.0, name, &new, Some(flags)) {
            Ok((ino, data)) => {
                reply.created(&FOREVER, &attr(ino, &data), Generation(0), FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE)
            }
            Err(e) => reply.error(e.into()),
        }
    }

    fn read(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let mut buffer = vec![0; size as usize];
        match self.0.read_at(ino.0, &mut buffer, offset) {
            Ok(n) => reply.data(&buffer[..n]),
            Err(e) => reply.error(e.into()),
        }
    }

    fn write(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        // O_SYNC contains the bit of O_DSYNC. Newer kernels also send an fsync after such a write, older ones do not.
        let sync = OFlags::from_bits_retain(flags.0 as u32).contains(OFlags::DSYNC);
        match self.0.write_at(ino.0, data, offset, sync) {
            Ok(()) => reply.written(data.len() as u32),
            Err(e) => reply.error(e.into()),
        }
    }

    fn fallocate(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        empty(reply, self.0.allocate(ino.0, offset, length, mode));
    }

    fn release(
        &self,
        _req: &Request,
        ino: INodeNo,
        _fh: FileHandle,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        self.0.close(ino.0);
        reply.ok();
    }

    fn fsync(&self, _req: &Request, ino: INodeNo, _fh: FileHandle, datasync: bool, reply: ReplyEmpty) {
        self.0.sync(ino.0, datasync);
        reply.ok();
    }

    fn fsyncdir(&self, _req: &Request, ino: INodeNo, _fh: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        self.0.sync_directory(ino.0);
        reply.ok();
    }

    fn opendir(&self, _req: &Request, ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        match self.0.open_directory(ino.0) {
            Ok(handle) => reply.opened(FileHandle(handle), FopenFlags::empty()),
            Err(e) => reply.error(e.into()),
        }
    }

    fn readdir(&self, _req: &Request, _ino: INodeNo, fh: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let Some(listed) = self.0.listing(fh.0) else { return reply.error(Errno::EBADF) };
        for (i, (ino, kind, name)) in listed.iter().enumerate().skip(offset as usize) {
            if reply.add(INodeNo(*ino), i as u64 + 1, file_type(*kind), name) {
                break;
            }
        }
        reply.ok();
    }

    fn releasedir(&self, _req: &Request, _ino: INodeNo, fh: FileHandle, _flags: OpenFlags, reply: ReplyEmpty) {
        self.0.close_directory(fh.0);
        reply.ok();
    }

    fn statfs(&self, _req: &Request, _ino: INodeNo, reply: ReplyStatfs) {
        let asked = self.0.backing(crate::log::ROOT).and_then(|path| Ok(rustix::fs::statvfs(path)?));
        match asked {
            Ok(s) => reply.statfs(
                s.f_blocks,
                s.f_bfree,
                s.f_bavail,
                s.f_files,
                s.f_ffree,
                s.f_bsize as u32,
                s.f_namemax as u32,
                s.f_frsize as u32,
            ),
            Err(e) => reply.error(e.into()),
        }
    }
}

fn time(asked: Option<TimeOrNow>) -> Timespec {
    const NOW: i64 = (1 << 30) - 1;
    const KEEP: i64 = (1 << 30) - 2;
    match asked {
        None => Timespec { tv_sec: 0, tv_nsec: KEEP },
        Some(TimeOrNow::Now) => Timespec { tv_sec: 0, tv_nsec: NOW },
        Some(TimeOrNow::SpecificTime(at)) => {
            let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            Timespec { tv_sec: since.as_secs() as i64, tv_nsec: i64::from(since.subsec_nanos()) }
        }
    }
}

fn file_type(kind: Kind) -> FileType {
    match kind {
        Kind::File => FileType::RegularFile,
        Kind::Directory => FileType::Directory,
        Kind::Symlink => FileType::Symlink,
        Kind::Other => FileType::Socket,
    }
}

fn attr(ino: Ino, data: &Metadata) -> FileAttr {
    let instant = |seconds: i64, ns: i64| {
        SystemTime::UNIX_EPOCH + Duration::new(seconds.max(0) as u64, u32::try_from(ns).unwrap_or(0))
    };
    FileAttr {
        ino: INodeNo(ino),
        size: data.size(),
        blocks: data.blocks(),
        atime: instant(data.atime(), data.atime_nsec()),
        mtime: instant(data.mtime(), data.mtime_nsec()),
        ctime: instant(data.ctime(), data.ctime_nsec()),
        crtime: SystemTime::UNIX_EPOCH,
        kind: FileType::from_std(data.file_type()).unwrap_or_else(|| file_type(kind_of(data))),
        perm: (data.mode() & 0o7777) as u16,
        nlink: data.nlink() as u32,
        uid: data.uid(),
        gid: data.gid(),
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}
