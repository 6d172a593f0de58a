//! Planted faults of the disk, which a trustworthy checker must find. The replayer applies them, so one recording
//! serves all of them.

/// One way in which a disk (or the program above it) breaks its promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lie {
    /// Every `every`th sync is acknowledged and not carried out; 1: none is.
    IgnoreSync { every: u32 },
    /// A sync concerns the file that was written last before this one.
    SyncOtherFile,
    /// Syncs of directories are acknowledged and not carried out.
    NoDirectorySync,
    /// A sync is acknowledged at once, and carried out after this many further log entries.
    LateSync { entries: usize },
    /// Syncs of files whose name has this ending are not carried out, such as those of a write-ahead log.
    IgnoreSyncOf { suffix: String },
    /// A sync persists the content of a file, but not its creation or renaming, nor earlier entries of the journal.
    NoMetadata,
}
