//! Writes the record of watched SQLite databases.

use super::directory::make;
use super::list::{List, cell};
use super::saved::{
    Saved, SavedDatabase, SavedFinding, SavedProcess, SavedShape, SavedStatement, SavedWait, VERSION, save, unix_s,
};
use crate::event::WITHOUT_TEXT;
use crate::hold::{End, Hold, Wait};
use crate::lock::Lock;
use crate::tally::{Ended, Sums, Tally};
use crate::view::DatabaseView;
use crate::watch::Watch;
use crate::words::one_line;
use anyhow::Result;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// Interval of `shares.csv` and `log.csv`.
const SHARE_NS: u64 = 100_000_000;
/// Interval between two writes of `watch.json`.
const SAVE_NS: u64 = 10_000_000_000;
/// Most statements and shapes stored for each process.
const TEXTS_KEPT: usize = 50;

/// Writes a record.
pub struct Recorder {
    out: PathBuf,
    began_unix_s: u64,
    holds: List,
    waits: List,
    shares: List,
    log: List,
    statements: List,
    /// Number of each text.
    texts: HashMap<String, usize>,
    /// Numbers of holds and waits already written.
    written: (u64, u64),
    /// Sums at the last line of `shares.csv`, and its time.
    before: BTreeMap<(usize, u32), Sums>,
    shared_ns: u64,
    saved_ns: u64,
    /// Time of the last written sample of the log, for each database.
    sampled_ns: Vec<u64>,
}

impl Recorder {
    /// Creates the directory and its lists. `limit` is what they may grow in an hour, in bytes; `watch.json` is not counted.
    ///
    /// # Errors
    /// The directory is not empty, or cannot be created.
    pub fn make(out: &Path, limit: u64) -> Result<Recorder> {
        make(out)?;
        let list = |name, head, tenths| List::make(out, name, head, limit / 10 * tenths);
        Ok(Recorder {
            out: out.to_path_buf(),
            began_unix_s: unix_s(),
            holds: list(
                "holds.csv",
                "from_ns,to_ns,database,pid,tid,lock,statement_ns,sync_ns,gap_ns,longest_statement,purpose",
                5,
            )?,
            waits: list("waits.csv", "from_ns,to_ns,database,pid,tid,lock,tries,end,holder,statement", 2)?,
            shares: list("shares.csv", "at_ns,database,pid,writes,write_ns,refusals,wait_ns,syncs,sync_ns", 1)?,
            log: list("log.csv", "at_ns,database,database_bytes,log_bytes,frames,copied_frames", 1)?,
            statements: list("statements.csv", "statement,sql", 1)?,
            texts: HashMap::new(),
            written: (0, 0),
            before: BTreeMap::new(),
            shared_ns: 0,
            saved_ns: 0,
            sampled_ns: vec![],
        })
    }

    /// Writes new events since the last call.
    ///
    /// # Errors
    /// The disk is full.
    pub fn follow(&mut self, watch: &Watch, view: impl Fn() -> Vec<DatabaseView>) -> Result<()> {
        self.add_ended(watch)?;
        let now_ns = watch.timeline.now_ns;
        if now_ns >= self.shared_ns + SHARE_NS {
            self.shared_ns = now_ns;
            self.add_shares(watch)?;
            self.add_samples(watch)?;
        }
        if now_ns >= self.saved_ns + SAVE_NS {
            self.saved_ns = now_ns;
            self.save(watch, &view(), false)?;
        }
        Ok(())
    }

    /// Writes the end; returns the files of the record.
    ///
    /// # Errors
    /// The disk is full.
    pub fn end(mut self, watch: &Watch, view: &[DatabaseView]) -> Result<Vec<PathBuf>> {
        self.add_ended(watch)?;
        self.add_shares(watch)?;
        self.add_samples(watch)?;
        let open: Vec<&Hold> = watch.timeline.held().filter(|hold| hold.lock != Lock::Connected).collect();
        open.into_iter().try_for_each(|hold| self.add_hold(watch, hold))?;
        watch.timeline.waiting().try_for_each(|wait| self.add_wait(watch, wait))?;
        self.save(watch, view, true)?;
        let lists = [&self.holds, &self.waits, &self.shares, &self.log, &self.statements];
        Ok(lists.iter().map(|list| list.path().to_path_buf()).chain([self.out.join(super::saved::FILE)]).collect())
    }

    fn add_ended(&mut self, watch: &Watch) -> Result<()> {
        let timeline = &watch.timeline;
        let fresh = |ended: u64, written: u64, kept: usize| kept - kept.min((ended - written.min(ended)) as usize);
        let holds = timeline.holds.iter().skip(fresh(timeline.ended.0, self.written.0, timeline.holds.len()));
        holds.into_iter().try_for_each(|hold| self.add_hold(watch, hold))?;
        let waits = timeline.waits.iter().skip(fresh(timeline.ended.1, self.written.1, timeline.waits.len()));
        waits.into_iter().try_for_each(|wait| self.add_wait(watch, wait))?;
        self.written = timeline.ended;
        Ok(())
    }

    /// Times in the lists are nanoseconds since the beginning of the watch.
    fn add_hold(&mut self, watch: &Watch, hold: &Hold) -> Result<()> {
        let from_ns = hold.from_ns.saturating_sub(watch.timeline.from_ns);
        let to = hold.to_ns.map_or(String::new(), |ns| ns.saturating_sub(watch.timeline.from_ns).to_string());
        let sql = hold.longest().cloned();
        let (database, who, lock) = (hold.database, hold.who, hold.lock);
        let Hold { statement_ns, sync_ns, gap, .. } = hold;
        let sql = self.number(from_ns, sql.as_deref())?;
        let purpose = if hold.is_rebuild { "rebuild" } else { "" };
        let line = format!(
            "{from_ns},{to},{database},{},{},{lock},{statement_ns},{sync_ns},{},{sql},{purpose}\n",
            who.pid, who.tid, gap.ns
        );
        self.holds.add(from_ns, &line)
    }

    fn add_wait(&mut self, watch: &Watch, wait: &Wait) -> Result<()> {
        let since = |ns: u64| ns.saturating_sub(watch.timeline.from_ns);
        let end = match wait.end {
            End::Open => "open",
            End::Granted => "granted",
            End::GaveUp => "gave-up",
            End::ProcessEnded => "process-ended",
        };
        let sql = self.number(since(wait.from_ns), wait.sql.as_deref())?;
        let holder = wait.holder.map_or(String::new(), |pid| pid.to_string());
        let Wait { database, who, lock, tries, .. } = wait;
        let line = format!(
            "{},{},{database},{},{},{lock},{tries},{end},{holder},{sql}\n",
            since(wait.from_ns),
            since(wait.to_ns),
            who.pid,
            who.tid
        );
        self.waits.add(since(wait.from_ns), &line)
    }

    /// The number of a text in `statements.csv`; empty without a text.
    fn number(&mut self, at_ns: u64, sql: Option<&str>) -> Result<String> {
        /// Most texts with a number.
        const TEXTS_MAX: usize = 10_000;
        let Some(sql) = sql else { return Ok(String::new()) };
        let next = self.texts.len();
        if let Some(number) = self.texts.get(sql) {
            return Ok(number.to_string());
        }
        if next >= TEXTS_MAX {
            return Ok(String::new());
        }
        self.texts.insert(sql.to_string(), next);
        self.statements.add(at_ns, &format!("{next},{}\n", cell(sql)))?;
        Ok(next.to_string())
    }

    /// Writes the activity of each process since the last line, if there was any.
    fn add_shares(&mut self, watch: &Watch) -> Result<()> {
        let timeline = &watch.timeline;
        let at_ns = timeline.now_ns.saturating_sub(timeline.from_ns);
        let sums = timeline.sums_now();
        for (key @ (database, pid), now) in &sums {
            let before = self.before.get(key).cloned().unwrap_or_default();
            let part = [
                now.writes.saturating_sub(before.writes),
                now.write_ns.saturating_sub(before.write_ns),
                now.refusals.saturating_sub(before.refusals),
                now.wait_ns.saturating_sub(before.wait_ns),
                now.syncs.saturating_sub(before.syncs),
                now.sync_ns.saturating_sub(before.sync_ns),
            ];
            if part.iter().any(|&value| value > 0) {
                let part = part.map(|value| value.to_string()).join(",");
                self.shares.add(at_ns, &format!("{at_ns},{database},{pid},{part}\n"))?;
            }
        }
        self.before = sums;
        Ok(())
    }

    fn add_samples(&mut self, watch: &Watch) -> Result<()> {
        self.sampled_ns.resize(watch.samples.len(), 0);
        for (database, samples) in watch.samples.iter().enumerate() {
            let from_ns = self.sampled_ns[database];
            for sample in samples.iter().filter(|sample| sample.at_ns > from_ns) {
                let (at_ns, state) = (sample.at_ns.saturating_sub(watch.timeline.from_ns), &sample.state);
                let (frames, copied) = state.log.as_ref().map_or((0, 0), |log| (log.frames, log.copied));
                let (file, log) = (state.database_bytes, state.log_bytes);
                self.log.add(at_ns, &format!("{at_ns},{database},{file},{log},{frames},{copied}\n"))?;
                self.sampled_ns[database] = sample.at_ns;
            }
        }
        Ok(())
    }

    fn save(&mut self, watch: &Watch, view: &[DatabaseView], complete: bool) -> Result<()> {
        let mut lists = [&mut self.holds, &mut self.waits, &mut self.shares, &mut self.log, &mut self.statements];
        lists.iter_mut().try_for_each(|list| list.flush())?;
        let left_out = lists.iter().filter_map(|list| list.left_out()).collect();
        let findings = watch.findings();
        let saved = Saved {
            version: VERSION,
            began_unix_s: self.began_unix_s,
            began_ns: watch.timeline.from_ns,
            watched_ns: watch.timeline.now_ns.saturating_sub(watch.timeline.from_ns),
            not_sealed: false,
            complete,
            depth: watch.depth.word().to_string(),
            lost_events: watch.lost(),
            missing: watch.missing(),
            left_out,
            findings: findings.iter().map(|finding| SavedFinding::new(watch.words(finding), finding)).collect(),
            databases: view.iter().enumerate().map(|(index, view)| database(watch, index, view)).collect(),
            server: None,
        };
        save(&self.out, &saved)
    }
}

fn database(watch: &Watch, index: usize, view: &DatabaseView) -> SavedDatabase {
    let of_database = watch.timeline.tallies.iter().filter(|((database, _), _)| *database == index);
    let tallies: BTreeMap<u32, &Tally> = of_database.map(|((_, pid), tally)| (*pid, tally)).collect();
    let process = |row: &crate::view::Row| SavedProcess {
        pid: row.pid,
        program: row.program.clone(),
        writes: row.sums.writes,
        write_ns: row.sums.write_ns,
        write_ns_max: row.sums.write_ns_max,
        waits: row.sums.waits,
        waited_for: tallies.get(&row.pid).map_or(vec![], |tally| waited_for(tally)),
    };
    let (mut statements, mut shapes) = (vec![], vec![]);
    for (&pid, tally) in &tallies {
        statements.extend(of_statements(pid, tally));
        shapes.extend(of_shapes(pid, tally));
    }
    statements.sort_by_key(|statement: &SavedStatement| std::cmp::Reverse(statement.total_ns));
    shapes.sort_by_key(|shape: &SavedShape| std::cmp::Reverse(shape.held_ns));
    statements.truncate(TEXTS_KEPT);
    shapes.truncate(TEXTS_KEPT);
    SavedDatabase {
        path: view.path.clone(),
        journal: view.journal.to_string(),
        processes: view.processes.iter().map(process).collect(),
        statements,
        shapes,
    }
}

fn waited_for(tally: &Tally) -> Vec<SavedWait> {
    let wait = |(&holder, Ended { times, gave_up }): (&u32, &Ended)| SavedWait {
        holder,
        count: times.count,
        total_ns: times.total_ns,
        max_ns: times.max_ns,
        gave_up: *gave_up,
    };
    tally.waited.iter().map(wait).collect()
}

fn of_statements(pid: u32, tally: &Tally) -> impl Iterator<Item = SavedStatement> {
    tally.statements.iter().map(move |(sql, times)| SavedStatement {
        pid,
        sql: one_line(sql.as_deref().unwrap_or(WITHOUT_TEXT), 1_000),
        count: times.count,
        total_ns: times.total_ns,
        max_ns: times.max_ns,
    })
}

fn of_shapes(pid: u32, tally: &Tally) -> impl Iterator<Item = SavedShape> {
    tally.shapes.iter().map(move |(statements, shape)| SavedShape {
        pid,
        statements: one_line(statements, 1_000),
        count: shape.held.count,
        held_ns: shape.held.total_ns,
        held_ns_max: shape.held.max_ns,
        outside_ns: shape.outside_ns,
        gap_ns_max: shape.gap.ns,
    })
}
