//! Planted lies of the disk: what a checker that deserves trust must find. The replayer applies them, so one recording
//! serves all.

/// One way in which a disk (or the program above it) breaks its word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lie {
    /// Every `every`th sync is answered and not done; 1: none is done.
    IgnoreSync { every: u32 },
    /// A sync takes the file that was written last before this one instead.
    SyncOtherFile,
    /// Syncs of directories are answered and not done.
    NoDirectorySync,
    /// A sync is answered at once, and done when this many further entries were logged.
    LateSync { entries: usize },
    /// Syncs of files whose name ends like this are not done (of the log, say: the checkpoint comes before it).
    IgnoreSyncOf { suffix: String },
    /// A sync takes the content, but not its creation or renaming, nor anything before it in the journal.
    NoMetadata,
}
