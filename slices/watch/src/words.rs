//! Findings in words: what happens, how it was seen, and what to change. The one place that makes sentences of them.

use crate::finding::{Finding, Kind};

/// A finding for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    /// What happens, in one sentence.
    pub title: String,
    /// What was seen.
    pub evidence: String,
    /// What to change.
    pub change: String,
}

/// A finding in words. `name` names a process, such as `python3 (4711)`.
pub fn words(finding: &Finding, name: &dyn Fn(u32) -> String) -> Words {
    let who = name(finding.pid);
    let (title, evidence, change) = match &finding.kind {
        Kind::ProgramHoldsLock { holds, outside_ns, held_ns, longest_gap_ns, before, after, longest_wait_ns } => (
            format!("{who} holds the write lock while it does something else."),
            format!(
                "In {holds} transactions it held the lock for {} in all, {} of that outside of SQLite. Longest: {} after {} and \
                 before {}. Another process waited up to {}.",
                time(*held_ns),
                time(*outside_ns),
                time(*longest_gap_ns),
                quoted(before.as_deref()),
                quoted(after.as_deref()),
                time(*longest_wait_ns)
            ),
            "Do this work before BEGIN or after COMMIT.".to_string(),
        ),
        Kind::IdleInTransaction { held_ns, idle_ns, last } => (
            format!("{who} has left a transaction open and holds the write lock."),
            format!("Held for {}, no statement for {}. The last one was {}.", time(*held_ns), time(*idle_ns), quoted(last.as_deref())),
            "COMMIT or ROLLBACK on every path of the program, also after an exception; until then no other process can write."
                .to_string(),
        ),
        Kind::ReadThenWrite { refused, longest_ns, sql } => (
            format!("{who} reads first and writes later in one transaction, and is refused at once."),
            format!(
                "{refused} refusals without a second try while it held a read lock (up to {}); refused statement: {}. SQLite does \
                 not wait there, whatever busy_timeout says: waiting could never end.",
                time(*longest_ns),
                quoted(sql.as_deref())
            ),
            "Begin transactions that will write with BEGIN IMMEDIATE.".to_string(),
        ),
        Kind::NoBusyTimeout { refused, sql } => (
            format!("{who} has no busy timeout: it fails as soon as the lock is taken."),
            format!("{refused} refusals, none tried again; refused statement: {}.", quoted(sql.as_deref())),
            "Set PRAGMA busy_timeout = 5000 on every connection.".to_string(),
        ),
        Kind::RefusedAtOnce { refused } => (
            format!("{who} is refused the lock and does not try again."),
            format!("{refused} refusals, none tried again. Which of two causes it is cannot be seen without statements."),
            "If busy_timeout is 0: set it. If a transaction reads before it writes: begin it with BEGIN IMMEDIATE.".to_string(),
        ),
        Kind::TimeoutTooShort { gave_up, longest_ns, holder, held_ns_max } => (
            format!("{who} gives up before the lock is free: its busy timeout is too short."),
            format!(
                "{gave_up} times it tried for up to {} and stopped. Another process held the lock for up to {}{}.",
                time(*longest_ns),
                time(*held_ns_max),
                holder.map_or(String::new(), |pid| format!(" (then: {})", name(pid)))
            ),
            "Make the longest transaction shorter, or busy_timeout longer than it.".to_string(),
        ),
        Kind::Starvation { holder, held_permille, waited_ns, had_ns, gave_up } => (
            format!("{who} is starved of the write lock by {}.", name(*holder)),
            format!(
                "{} held it for {} of the time; {who} waited {} and had it for {}, and gave up {gave_up} times. SQLite has no queue: a \
                 process that tries again at once wins over one that pauses.",
                name(*holder),
                percent(*held_permille),
                time(*waited_ns),
                time(*had_ns)
            ),
            "Pause between transactions of the first, put several of them into one, or send all writes through one process.".to_string(),
        ),
        Kind::Disk { syncs, sync_permille, sync_ns_mean } => (
            format!("The write lock of {who} is held while the disk syncs."),
            format!("{} of the time of the lock is {syncs} syncs of {} each.", percent(*sync_permille), time(*sync_ns_mean)),
            "Put more work into each transaction, or use WAL with synchronous = NORMAL if the last commits may be lost in a power cut."
                .to_string(),
        ),
        Kind::ReadersBlockWriter { times, longest_ns, readers } => (
            format!("Readers keep {who} from committing."),
            format!(
                "{times} commits waited for readers, up to {}; new readers waited as well. Readers: {}.",
                time(*longest_ns),
                readers.iter().map(|pid| name(*pid)).collect::<Vec<_>>().join(", ")
            ),
            "Use WAL (PRAGMA journal_mode = WAL), in which readers and a writer do not block each other, or make reads shorter.".to_string(),
        ),
        Kind::ReaderPinsLog { reader, behind_frames, held_ns, log_bytes } => (
            format!("{} keeps an old snapshot open: the log cannot be reused and grows.", name(*reader)),
            format!(
                "It has read from the same snapshot for {}, {behind_frames} frames behind the end of a log of {}.",
                time(*held_ns),
                bytes(*log_bytes)
            ),
            "Finish or reset its statements and end its transaction; read long results in pieces.".to_string(),
        ),
        Kind::CheckpointInCommit { times, longest_ns, share_permille } => (
            format!("Checkpoints run inside commits of {who}."),
            format!("{times} commits, up to {} each, {} of the time of its lock.", time(*longest_ns), percent(*share_permille)),
            "Run PRAGMA wal_checkpoint from a thread of its own, or lower wal_autocheckpoint so that each is shorter.".to_string(),
        ),
        Kind::SmallCommits { commits_per_s, sync_permille } => (
            format!("{who} commits every change on its own."),
            format!("{commits_per_s} commits a second, each with a sync; {} of the time is syncs.", percent(*sync_permille)),
            "Put changes that belong together into one transaction.".to_string(),
        ),
        Kind::OpenCloseChurn { per_s, processes } => (
            "The database is opened and closed again and again.".to_string(),
            format!("{per_s} connections a second by {processes} processes, most by {who}."),
            "Keep connections open: the first to open and the last to close rebuild, copy and delete the log.".to_string(),
        ),
    };
    Words { title, evidence, change }
}

/// A time with three digits and its unit, such as `1.24 s`.
pub fn time(ns: u64) -> String {
    let (value, unit) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (ns as f64 / 1e3, "us"),
        1_000_000..1_000_000_000 => (ns as f64 / 1e6, "ms"),
        1_000_000_000..120_000_000_000 => (ns as f64 / 1e9, "s"),
        _ => (ns as f64 / 60e9, "min"),
    };
    format!("{} {unit}", digits(value))
}

/// Bytes with three digits and their unit, such as `37.6 MB`.
pub fn bytes(bytes: u64) -> String {
    let units = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
    let unit = units.iter().find(|(_, size)| bytes as f64 >= *size);
    unit.map_or(format!("{bytes} B"), |(unit, size)| format!("{} {unit}", digits(bytes as f64 / size)))
}

/// Thousandths as percent, such as `97 %`.
pub fn percent(permille: u64) -> String {
    if permille < 100 { format!("{}.{} %", permille / 10, permille % 10) } else { format!("{} %", (permille + 5) / 10) }
}

fn digits(value: f64) -> String {
    let decimals = match value {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

/// A statement on one line, cut; without control characters, which could steer a terminal.
pub fn one_line(sql: &str, chars: usize) -> String {
    let flat: String = sql.split_whitespace().collect::<Vec<_>>().join(" ");
    let clean: String = flat.chars().map(|c| if c.is_control() || is_bidi(c) { '?' } else { c }).collect();
    if clean.chars().count() <= chars { clean } else { clean.chars().take(chars.saturating_sub(3)).collect::<String>() + "..." }
}

/// Characters that change the direction of text.
fn is_bidi(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn quoted(sql: Option<&str>) -> String {
    const CHARS: usize = 100;
    sql.map_or("a statement whose text is unknown".to_string(), |sql| format!("\"{}\"", one_line(sql, CHARS)))
}
