//! The captured activity of a program: processes, connections, and calls with values, results and times.

pub use crate::connection::{Connection, Process};
use crate::manifest::Manifest;
use crate::raw::{Raw, Who};
use crate::segment::{self, Lost, Recorded, SEGMENTS};
use crate::statement::settings;
pub use crate::value::Value;
use crate::value::value_of;
use anyhow::Result;
use contend_interpose::format::{PENDING, kind, note, prepared, record, state};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// SQLite's result codes for a finished statement, and for a row.
pub const DONE: i32 = 101;
pub const ROW: i32 = 100;

pub struct Trace {
    pub processes: BTreeMap<u64, Process>,
    pub connections: BTreeMap<u64, Connection>,
    /// Calls, ordered by start.
    pub calls: Vec<Call>,
    pub lost: Lost,
    /// Texts of statements that were not UTF-8, with U+FFFD in place of the other bytes.
    pub not_utf8: BTreeSet<Rc<str>>,
    /// Whether clients of a server were captured: their waits are not known.
    pub is_of_server: bool,
    /// Difference of the segment files from those at the end of the capture, as a sentence.
    pub damage: Option<String>,
    pub from_ns: u64,
    pub to_ns: u64,
    /// End of the capture: the program may make no calls for long before it.
    pub end_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    Statement,
    /// `sqlite3_exec`: one text, possibly with several statements.
    Exec,
    /// A statement that could not be prepared.
    Prepare,
}

/// Shorter times between the rows of a call are those of the program's own loop.
const BETWEEN_NS_MIN: u64 = 1_000_000;

/// One execution of a statement.
#[derive(Debug, Clone)]
pub struct Call {
    pub who: Who,
    pub connection: u64,
    pub how: How,
    pub sql: Rc<str>,
    pub is_readonly: bool,
    pub values: Vec<(u16, Value)>,
    pub at_ns: u64,
    pub duration_ns: u64,
    /// Time inside of SQLite, and asleep there.
    pub inside_ns: u64,
    pub waited_ns: u64,
    /// Time of other calls of the connection between its rows.
    pub nested_ns: u64,
    /// The same of its preparation, if this is the first execution.
    pub prepare: (u64, u64),
    pub rows: u64,
    /// -1 if they are not known: the program did not read it to its end, and an older contend captured it.
    pub changes: i64,
    /// Of a server: the code of the failure, in the first five bytes.
    pub rowid: u64,
    pub rc: i32,
    /// Whether the connection was outside of a transaction before and after.
    pub before: bool,
    pub after: bool,
    /// Whether the program read fewer rows than there were.
    pub is_cut: bool,
    /// Whether its connection had a busy timeout or handler.
    pub may_wait: bool,
    /// Of PostgreSQL: numbers of the parameters' types that the client declared.
    pub types: Rc<[u32]>,
}

impl Call {
    pub fn end_ns(&self) -> u64 {
        self.at_ns + self.duration_ns
    }

    /// Time in the program between the rows of this call, if that is long: a lock is held meanwhile.
    pub fn between_ns(&self) -> u64 {
        let ns = self.duration_ns.saturating_sub(self.inside_ns).saturating_sub(self.nested_ns);
        if ns < BETWEEN_NS_MIN || self.is_pending() { 0 } else { ns }
    }

    /// Time in the program between another call and this one.
    pub fn pause_ns(&self, before: &Call) -> u64 {
        self.at_ns.saturating_sub(before.end_ns()).saturating_sub(self.prepare.0)
    }

    /// Whether the process ended during the statement.
    pub fn is_pending(&self) -> bool {
        self.rc == PENDING
    }

    pub fn is_busy(&self) -> bool {
        matches!(self.rc & 0xff, 5 | 6) && !self.is_pending()
    }

    /// Whether it met a lock on a table that its own process holds: nothing waits for that.
    pub fn is_locked(&self) -> bool {
        self.rc & 0xff == 6 && !self.is_pending()
    }

    /// Whether it failed for a reason outside of the database, such as a lock, an interruption or an authorizer. A statement had no
    /// effect then, and would succeed elsewhere.
    pub fn was_refused(&self) -> bool {
        const CODES: [i32; 11] = [3, 4, 7, 8, 9, 10, 13, 14, 15, 18, 23];
        self.is_busy() || CODES.contains(&(self.rc & 0xff)) && self.has_failed()
    }

    pub fn has_failed(&self) -> bool {
        !matches!(self.rc, DONE | ROW) && !self.is_pending()
    }

    /// A server's code of the failure: SQLSTATE, or MariaDB's number.
    pub fn code_of_server(&self) -> String {
        String::from_utf8_lossy(&self.rowid.to_ne_bytes()[..5]).trim_end_matches('\0').to_string()
    }
}

struct Statement {
    connection: u64,
    sql: Rc<str>,
    is_readonly: bool,
    values: BTreeMap<u16, Value>,
    types: Rc<[u32]>,
    /// Time of its preparation and asleep there, until it is executed.
    prepare: (u64, u64),
    /// Its last execution.
    call: Option<usize>,
}

struct Reader<'m> {
    manifest: &'m Manifest,
    trace: Trace,
    texts: HashMap<u64, Rc<str>>,
    libraries: HashMap<(u64, u64), String>,
    statements: HashMap<u64, Statement>,
    /// The last call on each connection.
    last: HashMap<u64, usize>,
    /// Settings in each text.
    settings: HashMap<*const u8, Vec<(String, Option<i64>)>>,
}

impl Trace {
    /// # Errors
    /// A segment cannot be read.
    pub fn read(dir: &Path, manifest: &Manifest) -> Result<Trace> {
        let Recorded { records, lost, damage } = segment::read(&dir.join(SEGMENTS), manifest.segments.as_ref())?;
        let trace = Trace {
            processes: BTreeMap::new(),
            connections: BTreeMap::new(),
            calls: vec![],
            lost,
            not_utf8: BTreeSet::new(),
            is_of_server: manifest.server.is_some(),
            damage,
            from_ns: 0,
            to_ns: 0,
            end_ns: 0,
        };
        let mut reader = Reader {
            manifest,
            trace,
            texts: HashMap::new(),
            libraries: HashMap::new(),
            statements: HashMap::new(),
            last: HashMap::new(),
            settings: HashMap::new(),
        };
        // Texts are stored once for the whole capture; another thread may have used one first.
        for raw in &records {
            match raw.kind() {
                kind::TEXT => {
                    let read = String::from_utf8_lossy(raw.bytes(record::HEAD, raw.t()));
                    let (is_changed, text) = (matches!(read, Cow::Owned(_)), Rc::from(read));
                    if is_changed {
                        reader.trace.not_utf8.insert(Rc::clone(&text));
                    }
                    reader.texts.insert(raw.id(), text);
                }
                kind::LIBRARY => {
                    let text = String::from_utf8_lossy(raw.bytes(record::HEAD, raw.t())).into_owned();
                    reader.libraries.insert((raw.who.process, raw.id()), text);
                }
                _ => {}
            }
        }
        for raw in &records {
            reader.take(raw);
        }
        let mut trace = reader.trace;
        trace.mend_overlaps();
        let times = || trace.calls.iter();
        (trace.from_ns, trace.to_ns) = (
            times().map(|call| call.at_ns.saturating_sub(call.prepare.0)).min().unwrap_or(0),
            times().map(Call::end_ns).max().unwrap_or(0),
        );
        // The clock of a capture that was killed has no end.
        trace.end_ns = trace.to_ns.max(manifest.clock.to.1);
        Ok(trace)
    }

    /// Whether a call is one on the database of this file.
    pub fn is_on(&self, call: &Call, path: &Path) -> bool {
        self.connections.get(&call.connection).is_some_and(|connection| connection.path == path)
    }

    /// What the program did to one database.
    pub fn only(mut self, path: &Path) -> Trace {
        self.connections.retain(|_, connection| connection.path == path);
        self.calls.retain(|call| self.connections.contains_key(&call.connection));
        self
    }

    /// A statement that the program reads to its end after a later COMMIT has seen the state after that COMMIT. Its own is
    /// that before the next call.
    fn mend_overlaps(&mut self) {
        let (mut last, mut open): (HashMap<u64, usize>, HashMap<u64, Vec<usize>>) = Default::default();
        for i in 0..self.calls.len() {
            let (at_ns, end_ns) = (self.calls[i].at_ns, self.calls[i].end_ns());
            let open = open.entry(self.calls[i].connection).or_default();
            while open.pop_if(|outer| self.calls[*outer].end_ns() <= at_ns).is_some() {}
            if let Some(&outer) = open.last() {
                let until_ns = end_ns.min(self.calls[outer].end_ns());
                self.calls[outer].nested_ns += until_ns - at_ns + self.calls[i].prepare.0;
            }
            open.push(i);
            if let Some(before) = last.insert(self.calls[i].connection, i)
                && self.calls[before].end_ns() > self.calls[i].at_ns
            {
                self.calls[before].after = self.calls[i].before;
            }
        }
    }

    /// All gaps: damage, those that the capture noted, and that of a contend that was killed.
    pub fn missing(&self, manifest: &Manifest) -> Vec<String> {
        self.damage.iter().cloned().chain(manifest.missing_in_all()).collect()
    }

    pub fn process(&self, id: u64) -> &str {
        self.processes.get(&id).map_or("?", Process::role)
    }
}

impl Reader<'_> {
    fn take(&mut self, raw: &Raw) {
        match raw.kind() {
            kind::PROCESS => self.process(raw),
            kind::OPEN => self.open(raw),
            kind::CLOSE => {
                let at = self.manifest.clock.ns(raw.t());
                if let Some(connection) = self.trace.connections.get_mut(&raw.id()) {
                    connection.closed_ns = Some(at);
                }
            }
            kind::PREPARE => self.prepare(raw),
            kind::BIND => {
                if let Some(statement) = self.statements.get_mut(&raw.id()) {
                    statement.values.insert(raw.b(), value_of(raw, self.manifest));
                }
            }
            kind::CLEAR => {
                if let Some(statement) = self.statements.get_mut(&raw.id()) {
                    statement.values.clear();
                }
            }
            kind::TRANSFER => {
                let given =
                    self.statements.get_mut(&raw.u64(record::NUMBER)).map(|from| std::mem::take(&mut from.values));
                if let Some(statement) = self.statements.get_mut(&raw.id()) {
                    statement.values = given.unwrap_or_default();
                }
            }
            kind::STEP => self.step(raw),
            kind::RESET => self.cut(raw),
            kind::EXEC => {
                let sql = self.text(raw.u64(record::EXEC_SQL));
                let call = self.call(raw, raw.id(), How::Exec, &sql);
                // The result of a call whose first segment was full before it ended.
                let is_begun = |known: &&mut Call| {
                    known.how == How::Exec && known.is_pending() && (known.connection, known.who) == (raw.id(), raw.who)
                };
                let begun = (raw.b() == 1).then(|| self.trace.calls.iter_mut().rev().find(is_begun)).flatten();
                match begun {
                    Some(known) => *known = Call { before: known.before, ..call },
                    None => drop(self.push(call)),
                }
            }
            kind::TIMEOUT => {
                if let Some(connection) = self.trace.connections.get_mut(&raw.id()) {
                    connection.has_timeout(raw.u64(record::NUMBER).cast_signed());
                }
            }
            kind::NOTE => self.note(raw),
            _ => {}
        }
    }

    fn note(&mut self, raw: &Raw) {
        let Some(connection) = self.trace.connections.get_mut(&raw.id()) else { return };
        connection.notes.insert(raw.b());
        match raw.b() {
            note::FUNCTION => {
                let name = raw.bytes(record::NUMBER_BYTES, raw.u64(record::NUMBER));
                connection.functions.insert(String::from_utf8_lossy(name).to_lowercase());
            }
            note::BUSY_HANDLER => connection.busy_timeout_ms = None,
            _ => {}
        }
    }

    fn process(&mut self, raw: &Raw) {
        let text = String::from_utf8_lossy(raw.bytes(record::NUMBER_BYTES, raw.t())).into_owned();
        let (program, script) = text.split_once('\0').unwrap_or((&text, ""));
        let process = Process { program: program.into(), script: script.into() };
        self.trace.processes.insert(raw.who.process, process);
    }

    fn open(&mut self, raw: &Raw) {
        let text = raw.bytes(record::OPEN_BYTES, u64::MAX);
        let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
        let library = self.libraries.get(&(raw.who.process, raw.u64(record::OPEN_LIBRARY)));
        let connection = Connection {
            process: raw.who.process,
            path: PathBuf::from(OsString::from_vec(text[..end].to_vec())),
            opened_ns: self.manifest.clock.ns(raw.t()),
            file: Some((raw.u64(record::OPEN_DEVICE), raw.u64(record::OPEN_INODE))).filter(|(_, inode)| *inode != 0),
            closed_ns: None,
            rc: raw.i32(record::OPEN_RC),
            version: library.cloned().unwrap_or_default(),
            busy_timeout_ms: None,
            pragmas: vec![],
            notes: BTreeSet::new(),
            functions: BTreeSet::new(),
            flags: raw.u32(record::OPEN_FLAGS),
        };
        let process = self.trace.processes.entry(raw.who.process).or_default();
        if connection.path.ends_with(&process.script) {
            process.script.clear(); // `sqlite3 app.db` runs no script.
        }
        self.trace.connections.insert(raw.id(), connection);
    }

    fn text(&self, hash: u64) -> Rc<str> {
        self.texts.get(&hash).cloned().unwrap_or_else(|| "?".into())
    }

    fn prepare(&mut self, raw: &Raw) {
        let (connection, sql) = (raw.u64(record::PREPARE_CONNECTION), self.text(raw.u64(record::PREPARE_SQL)));
        let is_readonly = raw.u32(record::PREPARE_FLAGS) & prepared::READONLY != 0;
        let (rc, clock) = (raw.i32(record::PREPARE_RC), self.manifest.clock);
        if rc == 0 {
            let prepare = (clock.span(raw.u64(record::DURATION)), clock.span(raw.u64(record::PREPARE_WAITED)));
            let (values, types) = (BTreeMap::new(), raw.declared_types().into());
            let statement = Statement { connection, sql, is_readonly, values, types, prepare, call: None };
            self.statements.insert(raw.id(), statement);
            return;
        }
        let is_outside = self.is_outside(connection);
        let call = Call {
            rc,
            rows: 0,
            changes: 0,
            rowid: raw.prepare_code(),
            inside_ns: clock.span(raw.u64(record::DURATION)),
            waited_ns: clock.span(raw.u64(record::PREPARE_WAITED)),
            before: is_outside,
            after: is_outside,
            ..self.call(raw, connection, How::Prepare, &sql)
        };
        self.push(call);
    }

    /// Whether the connection is outside of a transaction after the last call.
    fn is_outside(&self, connection: u64) -> bool {
        let last = self.last.get(&connection).map(|&index| &self.trace.calls[index]);
        last.is_none_or(|call| call.after)
    }

    fn call(&self, raw: &Raw, connection: u64, how: How, sql: &Rc<str>) -> Call {
        let clock = self.manifest.clock;
        Call {
            who: raw.who,
            connection,
            how,
            sql: Rc::clone(sql),
            is_readonly: false,
            values: vec![],
            at_ns: clock.ns(raw.t()),
            duration_ns: clock.span(raw.u64(record::DURATION)),
            // Older versions estimated it from some of the rows.
            inside_ns: clock.span(raw.u64(record::INSIDE).min(raw.u64(record::DURATION))),
            waited_ns: clock.span(raw.u64(record::WAITED)),
            nested_ns: 0,
            prepare: (0, 0),
            rows: raw.u64(record::ROWS),
            changes: raw.u64(record::CHANGES).cast_signed(),
            rowid: raw.u64(record::ROWID),
            rc: raw.i32(record::RC),
            before: raw.a() & state::AUTOCOMMIT_BEFORE != 0,
            after: raw.a() & state::AUTOCOMMIT_AFTER != 0,
            is_cut: false,
            may_wait: self.trace.connections.get(&connection).is_some_and(Connection::waits),
            types: Rc::default(),
        }
    }

    fn step(&mut self, raw: &Raw) {
        let Some(statement) = self.statements.get(&raw.id()) else { return };
        let connection = statement.connection;
        let mut call = self.call(raw, connection, How::Statement, &statement.sql);
        (call.is_readonly, call.types) = (statement.is_readonly, Rc::clone(&statement.types));
        if raw.b() == 1
            && let Some(before) = statement.call
        {
            // The rest of an execution that another thread, or another segment, recorded.
            let first = &mut self.trace.calls[before];
            (first.rows, first.inside_ns) = (first.rows + call.rows, first.inside_ns + call.inside_ns);
            first.waited_ns += call.waited_ns;
            first.duration_ns = call.end_ns().saturating_sub(first.at_ns);
            (first.rc, first.after, first.changes, first.rowid) = (call.rc, call.after, call.changes, call.rowid);
            return;
        }
        call.values = statement.values.iter().map(|(place, value)| (*place, value.clone())).collect();
        // A read with rows left has changed nothing.
        if call.rc == ROW {
            call.after = call.before;
        }
        let index = self.push(call);
        if let Some(statement) = self.statements.get_mut(&raw.id()) {
            statement.call = Some(index);
            self.trace.calls[index].prepare = std::mem::take(&mut statement.prepare);
        }
    }

    fn cut(&mut self, raw: &Raw) {
        let end = self.manifest.clock.ns(raw.t());
        let Some(index) = self.statements.get(&raw.id()).and_then(|statement| statement.call) else { return };
        let clock = self.manifest.clock;
        let call = &mut self.trace.calls[index];
        if call.rc == ROW {
            call.inside_ns += clock.span(raw.u64(record::RESET_INSIDE));
            call.waited_ns += clock.span(raw.u64(record::RESET_WAITED));
            // The commit of a statement that returns rows is in its reset, and can be refused there.
            let result = raw.u64(record::NUMBER) as i32;
            (call.is_cut, call.rc) = (true, if result == 0 { DONE } else { result });
            call.duration_ns = end.saturating_sub(call.at_ns);
            (call.changes, call.rowid) = match raw.bytes.len() < record::RESET_BYTES {
                true => (-1, 0),
                false => (raw.u64(record::RESET_CHANGES).cast_signed(), raw.u64(record::RESET_ROWID)),
            };
            // After a later COMMIT the state is the COMMIT's.
            if self.last.get(&call.connection) == Some(&index) {
                call.after = raw.a() & state::AUTOCOMMIT_AFTER != 0;
            }
        }
    }

    fn push(&mut self, call: Call) -> usize {
        if !call.has_failed()
            && let Some(connection) = self.trace.connections.get_mut(&call.connection)
        {
            let settings = self.settings.entry(call.sql.as_ptr()).or_insert_with(|| settings(&call.sql));
            for (text, timeout_ms) in settings {
                if connection.pragmas.last() != Some(text) {
                    connection.pragmas.push(text.clone());
                }
                timeout_ms.iter().for_each(|ms| connection.has_timeout(*ms));
            }
        }
        self.last.insert(call.connection, self.trace.calls.len());
        self.trace.calls.push(call);
        self.trace.calls.len() - 1
    }
}
