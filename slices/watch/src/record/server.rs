//! Writes the record of a watched server.

use super::directory::make;
use super::list::List;
use super::saved::{Saved, SavedFinding, SavedServer, SavedStatement, VERSION, save, unix_s};
use crate::server::{self, Server};
use anyhow::Result;
use std::path::{Path, PathBuf};

/// Interval between two lines of `looks.csv`, and between two writes of `watch.json`.
const LINE_NS: u64 = 100_000_000;
const SAVE_NS: u64 = 10_000_000_000;
/// Most statements whose waits are stored, and width of the tree.
const WAITS_KEPT: usize = 100;
const TREE_CHARS: usize = 300;

/// Writes a record.
pub struct ServerRecorder {
    out: PathBuf,
    began_unix_s: u64,
    looks: List,
    line_ns: u64,
    saved_ns: u64,
}

impl ServerRecorder {
    /// Creates the directory and its list. `limit` is in bytes, for each hour.
    ///
    /// # Errors
    /// The directory is not empty, or cannot be created.
    pub fn make(out: &Path, limit: u64) -> Result<ServerRecorder> {
        make(out)?;
        let head = "at_ns,clients,active,idle_in_transaction,waiting,longest_wait_ns,old_versions,deadlocks";
        let looks = List::make(out, "looks.csv", head, limit)?;
        Ok(ServerRecorder { out: out.to_path_buf(), began_unix_s: unix_s(), looks, line_ns: 0, saved_ns: 0 })
    }

    /// Writes new events since the last call.
    ///
    /// # Errors
    /// The disk is full.
    pub fn follow(&mut self, server: &Server) -> Result<()> {
        let now_ns = server.history.now_ns;
        if now_ns >= self.line_ns + LINE_NS {
            self.line_ns = now_ns;
            let at_ns = now_ns.saturating_sub(server.history.from_ns);
            self.looks
                .add(at_ns, &format!("{at_ns},{}\n", server::figures(server).map(|n| n.to_string()).join(",")))?;
        }
        if now_ns >= self.saved_ns + SAVE_NS {
            self.saved_ns = now_ns;
            self.save(server, false)?;
        }
        Ok(())
    }

    /// Writes the end; returns the files of the record.
    ///
    /// # Errors
    /// The disk is full.
    pub fn end(mut self, server: &Server) -> Result<Vec<PathBuf>> {
        self.save(server, true)?;
        Ok(vec![self.looks.path().to_path_buf(), self.out.join(super::saved::FILE)])
    }

    fn save(&mut self, server: &Server, complete: bool) -> Result<()> {
        self.looks.flush()?;
        let history = &server.history;
        let found = server::found(server).into_iter().zip(server.findings());
        let waits = history.waits.by_statement().into_iter().take(WAITS_KEPT).map(|(sql, waits)| SavedStatement {
            pid: 0,
            sql,
            count: waits.count,
            total_ns: waits.total_ns,
            max_ns: waits.max_ns,
        });
        let saved = Saved {
            version: VERSION,
            began_unix_s: self.began_unix_s,
            began_ns: history.from_ns,
            watched_ns: history.now_ns.saturating_sub(history.from_ns),
            not_sealed: false,
            complete,
            depth: "sampled".to_string(),
            lost_events: 0,
            missing: server.missing(),
            left_out: self.looks.left_out().into_iter().collect(),
            findings: found.map(|((_, words), finding)| SavedFinding::new(words, &finding)).collect(),
            databases: vec![],
            server: Some(SavedServer {
                address: server.address.clone(),
                product: server.version.clone(),
                tree: server::tree(server, TREE_CHARS),
                waits: waits.collect(),
            }),
        };
        save(&self.out, &saved)
    }
}
