//! The messages of a client and its server as calls: statements with values, rows, results and times.

use super::asked::{Asked, IS_ABORTED, Pending, Portal, Prepared, Tag, What, code, is_commit, values};
use super::frame::{Fields, Frames, Message};
use super::value::given;
use crate::postgres_text::written;
use crate::proxy::given::Given;
use crate::proxy::spoken::{self, Pen};
use crate::proxy::writer::{Executed, Parsed, Writer, Writers};
use crate::trace::ROW;
use contend_interpose::format::{PENDING, note, state};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Encodings in which no byte of a longer character looks like a quote or a backslash.
const SAFE_ENCODINGS: [&str; 4] = ["UTF8", "SQL_ASCII", "LATIN", "WIN12"];

/// Stands for a text of more than 16 MiB.
const TOO_LONG: &[u8] = b"a_text_of_more_than_16_MiB";

/// A connection of a client.
pub struct Conversation {
    writer: Writer,
    writers: Arc<Writers>,
    id: u64,
    /// Server and database.
    place: String,
    is_replication: bool,
    from_client: Frames,
    from_server: Frames,
    asked: VecDeque<Asked>,
    statements: HashMap<Vec<u8>, Arc<Prepared>>,
    portals: HashMap<Vec<u8>, Arc<Portal>>,
    /// Executions since the server was ready for the last time.
    flight: Vec<Pending>,
    opened_ns: u64,
    last_ns: u64,
    version: String,
    has_backslashes: bool,
    encoding: String,
    is_open: bool,
    is_outside: bool,
    is_copying: bool,
    /// The server ignores messages up to the next Sync, which has not been sent yet.
    is_skipping: bool,
    /// Messages were not understood, or are not read; bytes are still passed on.
    is_blind: bool,
    notes: BTreeSet<u16>,
}

/// The body of a message; `None` for one that is too long.
fn body<'b>(message: &Message<'b>) -> Option<Fields<'b>> {
    message.is_whole().then_some(Fields(message.body))
}

/// Types of messages whose bodies are read.
fn of_client(kind: u8) -> bool {
    matches!(kind, b'Q' | b'P' | b'B' | b'D' | b'E')
}

fn of_server(kind: u8) -> bool {
    matches!(kind, b'C' | b'E' | b'S' | b'Z' | b't')
}

impl spoken::Conversation for Conversation {
    fn client(&mut self, now_ns: u64, bytes: &[u8]) {
        self.read(now_ns, bytes, |this| &mut this.from_client, Conversation::asks);
    }

    fn server(&mut self, now_ns: u64, bytes: &[u8]) {
        self.read(now_ns, bytes, |this| &mut this.from_server, Conversation::answers);
    }

    fn flush(&mut self) {
        self.writer.flush();
    }

    fn finish(mut self: Box<Self>, now_ns: u64) {
        self.open(now_ns, i32::from(!self.is_open && !self.is_replication));
        self.settle(true);
        for asked in std::mem::take(&mut self.asked) {
            if let Asked::Query(mut pending) | Asked::Execute(mut pending) = asked {
                pending.rc = PENDING;
                self.write(&pending, false);
            }
        }
        self.writer.close(self.id, now_ns);
        self.writers.give_back(self.writer);
    }
}

impl Conversation {
    pub fn new(pen: Pen, is_replication: bool) -> Conversation {
        let Pen { writer, writers, server, database, opened_ns } = pen;
        Conversation {
            writer,
            id: writers.new_id(),
            writers,
            is_blind: is_replication,
            place: format!("{server}/{database}"),
            is_replication,
            from_client: Frames::new(of_client),
            from_server: Frames::new(of_server),
            asked: VecDeque::new(),
            statements: HashMap::new(),
            portals: HashMap::new(),
            flight: vec![],
            opened_ns,
            last_ns: opened_ns,
            version: String::new(),
            has_backslashes: false,
            encoding: String::new(),
            is_open: false,
            is_outside: true,
            is_copying: false,
            is_skipping: false,
            notes: BTreeSet::new(),
        }
    }

    fn read(
        &mut self,
        now_ns: u64,
        bytes: &[u8],
        frames: fn(&mut Conversation) -> &mut Frames,
        each: fn(&mut Conversation, u64, &Message) -> Option<()>,
    ) {
        if self.is_blind {
            return;
        }
        let mut own = std::mem::replace(frames(self), Frames::new(|_| false));
        let mut is_understood = true;
        let are_messages = own.read(bytes, |message| is_understood &= each(self, now_ns, message).is_some());
        *frames(self) = own;
        if !(are_messages && is_understood) {
            self.is_blind = true;
            self.note(now_ns, note::LOST);
        }
    }

    /// Writes down the connection, once.
    fn open(&mut self, now_ns: u64, rc: i32) {
        if !self.is_open {
            self.is_open = true;
            self.writer.open(self.id, self.opened_ns, (&self.place, &self.version), (rc, 0));
            self.last_ns = now_ns;
            if self.is_replication {
                self.note(now_ns, note::REPLICATION);
            }
        }
    }

    fn note(&mut self, now_ns: u64, code: u16) {
        if self.notes.insert(code) {
            self.open(now_ns, 0);
            self.writer.note(self.id, now_ns, code);
        }
    }

    fn text(&mut self, now_ns: u64, sql: &[u8]) -> u64 {
        let encoding = self.encoding.to_ascii_uppercase();
        if !SAFE_ENCODINGS.iter().any(|safe| encoding.starts_with(safe)) {
            self.note(now_ns, note::ENCODING);
            return self.writer.text((0, b"a_text_in_another_encoding"), |sql, _, _| sql.into());
        }
        let has_backslashes = self.has_backslashes;
        self.writer
            .text((u8::from(has_backslashes), sql), |sql, key, is_full| written(sql, has_backslashes, key, is_full))
    }

    /// A message of the client. `None`: it has another form.
    fn asks(&mut self, now_ns: u64, message: &Message) -> Option<()> {
        // Passwords come before the server is ready: none of them is read.
        if !self.is_open || self.is_skipping && message.kind != b'S' {
            return Some(());
        }
        self.is_skipping = false;
        match message.kind {
            b'Q' => {
                let sql = match body(message) {
                    Some(mut fields) => fields.text()?,
                    None => TOO_LONG,
                };
                let text = self.text(now_ns, sql);
                self.asked.push_back(Asked::Query(Pending::new(What::Text(text), now_ns, is_commit(sql))));
            }
            b'F' => {
                self.note(now_ns, note::CALL);
                let sql = self.writer.text((0, b"a_function_called_by_number"), |sql, _, _| sql.into());
                self.asked.push_back(Asked::Query(Pending::new(What::Text(sql), now_ns, false)));
            }
            b'P' => self.parses(now_ns, message)?,
            b'B' => self.binds(now_ns, message)?,
            b'D' => {
                let mut fields = body(message)?;
                let (kind, name) = (fields.u8()?, fields.text()?);
                let statement = self.statements.get(name).filter(|_| kind == b'S').cloned();
                self.asked.push_back(Asked::Describe(statement));
            }
            b'E' => {
                let name = body(message)?.text()?;
                self.asked.push_back(Asked::Execute(Pending::of(self.portals.get(name).cloned(), now_ns)));
            }
            b'C' => self.asked.push_back(Asked::Close),
            b'S' if !self.is_copying => self.asked.push_back(Asked::Sync),
            // The end of the client's rows.
            b'c' | b'f' => self.is_copying = false,
            _ => {}
        }
        Some(())
    }

    fn parses(&mut self, now_ns: u64, message: &Message) -> Option<()> {
        let (mut name, mut types, mut sql) = (vec![], vec![], TOO_LONG);
        if let Some(mut fields) = body(message) {
            (name, sql) = (fields.text()?.to_vec(), fields.text()?);
            let count = fields.u16()?;
            types = (0..count).map(|_| fields.u32()).collect::<Option<Vec<u32>>>()?;
        }
        let (id, is_commit) = (self.writers.new_id(), is_commit(sql));
        let sql = self.text(now_ns, sql);
        let statement = Arc::new(Prepared { id, is_commit, types: Mutex::new(types) });
        self.statements.insert(name.clone(), Arc::clone(&statement));
        self.asked.push_back(Asked::Parse { at_ns: now_ns, name, statement, sql });
        Some(())
    }

    fn binds(&mut self, now_ns: u64, message: &Message) -> Option<()> {
        let (mut name, mut portal) = (vec![], None);
        if let Some(mut fields) = body(message) {
            name = fields.text()?.to_vec();
            let statement = self.statements.get(fields.text()?).cloned();
            let (bind, is_begun) = (fields.0.to_vec(), AtomicBool::new(false));
            portal = statement.map(|statement| Arc::new(Portal { statement, bind, is_begun }));
        }
        match &portal {
            Some(portal) => drop(self.portals.insert(name, Arc::clone(portal))),
            None => drop(self.portals.remove(&name)),
        }
        self.asked.push_back(Asked::Bind { at_ns: now_ns, portal });
        Some(())
    }

    /// A message of the server.
    fn answers(&mut self, now_ns: u64, message: &Message) -> Option<()> {
        match message.kind {
            b'D' | b'd' => {
                if let Some(Asked::Query(pending) | Asked::Execute(pending)) = self.asked.front_mut() {
                    pending.rows += 1;
                }
            }
            b'C' => self.completes(now_ns, body(message)?.text()?),
            b'I' => self.completes(now_ns, b""),
            b's' => self.suspends(now_ns),
            b'1' => self.is_parsed(now_ns),
            b'2' | b'3' => drop(self.asked.pop_front()),
            b't' => {
                let mut fields = body(message)?;
                let count = fields.u16()?;
                let types = (0..count).map(|_| fields.u32()).collect::<Option<Vec<u32>>>()?;
                if let Some(Asked::Describe(Some(statement))) = self.asked.front() {
                    *statement.types.lock().unwrap_or_else(PoisonError::into_inner) = types;
                }
            }
            b'T' | b'n' if matches!(self.asked.front(), Some(Asked::Describe(_))) => drop(self.asked.pop_front()),
            b'E' => self.fails(now_ns, message)?,
            b'Z' => self.is_ready(now_ns, body(message)?.u8()? == b'I'),
            b'S' => {
                let mut fields = body(message)?;
                let (name, value) = (fields.text()?, String::from_utf8_lossy(fields.text()?).into_owned());
                match name {
                    b"server_version" => self.version = format!("PostgreSQL {value}"),
                    b"standard_conforming_strings" => self.has_backslashes = value == "off",
                    b"client_encoding" => self.encoding = value,
                    _ => {}
                }
            }
            b'G' => self.copies_in(now_ns),
            b'H' => self.note(now_ns, note::COPY),
            b'W' => {
                self.note(now_ns, note::REPLICATION);
                self.is_blind = true;
            }
            _ => {}
        }
        Some(())
    }

    /// The server takes rows of COPY, and ignores Sync until they have ended.
    fn copies_in(&mut self, now_ns: u64) {
        self.note(now_ns, note::COPY);
        self.is_copying = true;
        self.asked.retain(|asked| !matches!(asked, Asked::Sync));
        if let Some(Asked::Query(pending) | Asked::Execute(pending)) = self.asked.front_mut() {
            pending.is_copied_in = true;
        }
    }

    fn is_parsed(&mut self, now_ns: u64) {
        // Its time belongs to the execution that was sent with it, if there is one.
        let until = |asked: &&Asked| !matches!(asked, Asked::Sync);
        let is_executed = self.asked.iter().take_while(until).any(|asked| matches!(asked, Asked::Execute(_)));
        if let Some(Asked::Parse { at_ns, statement, sql, .. }) = self.asked.pop_front() {
            let begin_ns = at_ns.max(self.last_ns);
            let duration_ns = if is_executed { 0 } else { now_ns.saturating_sub(begin_ns) };
            let types = statement.types.lock().unwrap_or_else(PoisonError::into_inner);
            let parsed = Parsed { rc: 0, code: [0; 5], types: &types };
            self.writer.prepare(statement.id, (self.id, sql), (begin_ns, duration_ns), &parsed);
            self.last_ns = if is_executed { self.last_ns } else { now_ns };
        }
    }

    /// A statement has ended; a text may have several.
    fn completes(&mut self, now_ns: u64, tag: &[u8]) {
        let Some(Asked::Query(pending) | Asked::Execute(pending)) = self.asked.front_mut() else { return };
        let tag = Tag::of(tag);
        match tag.word {
            "COPY" if pending.is_copied_in => pending.changes += tag.count,
            "COMMIT" => pending.has_committed = true,
            // The server rolls back what has failed, and reports no error.
            "ROLLBACK" if pending.is_commit => pending.fail(*IS_ABORTED, now_ns),
            _ => pending.changes += tag.changes(),
        }
        pending.end_ns = now_ns;
        self.end_of_execution();
    }

    /// An Execute message has been answered.
    fn end_of_execution(&mut self) {
        if matches!(self.asked.front(), Some(Asked::Execute(_)))
            && let Some(Asked::Execute(pending)) = self.asked.pop_front()
        {
            self.flight.push(pending);
        }
    }

    /// The client asked for a number of rows, and there are more.
    fn suspends(&mut self, now_ns: u64) {
        if let Some(Asked::Execute(pending)) = self.asked.front_mut() {
            (pending.rc, pending.end_ns) = (ROW, now_ns);
        }
        self.end_of_execution();
    }

    fn fails(&mut self, now_ns: u64, message: &Message) -> Option<()> {
        let mut fields = body(message)?;
        let mut sqlstate = [b'0'; 5];
        while let Some(kind) = fields.u8().filter(|kind| *kind != 0) {
            let text = fields.text()?;
            if kind == b'C' {
                sqlstate = text.try_into().unwrap_or(sqlstate);
            }
        }
        if !self.is_open {
            self.open(now_ns, code(&sqlstate));
            self.is_blind = true;
            return Some(());
        }
        self.is_copying = false;
        match self.asked.pop_front() {
            Some(Asked::Query(mut pending)) => {
                pending.fail(sqlstate, now_ns);
                self.asked.push_front(Asked::Query(pending));
                return Some(());
            }
            Some(Asked::Execute(mut pending)) => {
                pending.fail(sqlstate, now_ns);
                self.flight.push(pending);
            }
            Some(Asked::Bind { at_ns, portal }) => {
                let mut pending = Pending::of(portal, at_ns);
                pending.fail(sqlstate, now_ns);
                self.flight.push(pending);
            }
            Some(Asked::Parse { at_ns, name, statement, sql }) => {
                let begin_ns = at_ns.max(self.last_ns);
                let times = (begin_ns, now_ns.saturating_sub(begin_ns));
                self.writer.prepare(0, (self.id, sql), times, &Parsed::refused(code(&sqlstate), sqlstate));
                self.last_ns = now_ns;
                if self.statements.get(&name).is_some_and(|known| known.id == statement.id) {
                    self.statements.remove(&name);
                }
            }
            Some(Asked::Sync) => {
                self.asked.push_front(Asked::Sync);
                return Some(());
            }
            Some(Asked::Describe(_) | Asked::Close) => {}
            None => return Some(()),
        }
        // The server ignores what follows, up to the next Sync.
        while self.asked.front().is_some_and(|asked| !matches!(asked, Asked::Sync)) {
            self.asked.pop_front();
        }
        self.is_skipping = self.asked.is_empty();
        Some(())
    }

    fn is_ready(&mut self, now_ns: u64, is_outside: bool) {
        if !self.is_open {
            self.open(now_ns, 0);
            return;
        }
        match self.asked.pop_front() {
            Some(Asked::Query(mut pending)) => {
                pending.end_ns = if pending.end_ns == 0 { now_ns } else { pending.end_ns };
                self.flight.push(pending);
            }
            Some(Asked::Sync) | None => {}
            // A message that this proxy does not know.
            Some(_) => {
                self.is_blind = true;
                self.note(now_ns, note::LOST);
            }
        }
        self.settle(is_outside);
    }

    /// Writes down the executions before the server was ready. Those sent together are one transaction.
    fn settle(&mut self, is_outside: bool) {
        let flight = std::mem::take(&mut self.flight);
        let count = flight.len();
        for (i, pending) in flight.iter().enumerate() {
            let is_last = i + 1 == count;
            let after = if is_last { is_outside } else { pending.has_committed };
            self.write(pending, after);
            self.is_outside = after;
        }
        self.is_outside = is_outside;
    }

    fn write(&mut self, pending: &Pending, after: bool) {
        let at_ns = pending.at_ns.max(self.last_ns);
        let bit = |is: bool, bit: u8| if is { bit } else { 0 };
        let mut executed = Executed {
            state: bit(self.is_outside, state::AUTOCOMMIT_BEFORE) | bit(after, state::AUTOCOMMIT_AFTER),
            is_rest: false,
            at_ns,
            duration_ns: pending.end_ns.saturating_sub(at_ns),
            rows: pending.rows,
            changes: pending.changes,
            rc: pending.rc,
            sqlstate: pending.sqlstate,
        };
        self.last_ns = self.last_ns.max(pending.end_ns);
        match &pending.what {
            What::Text(sql) => self.writer.exec(self.id, *sql, &executed),
            What::Portal(portal) => {
                executed.is_rest = portal.is_begun.swap(true, Ordering::Relaxed);
                if !executed.is_rest {
                    self.write_values(portal);
                }
                self.writer.step(portal.statement.id, &executed);
            }
            What::Unknown => {
                let sql = self.writer.text((0, b"a_statement_that_was_not_seen"), |sql, _, _| sql.into());
                self.writer.exec(self.id, sql, &executed);
            }
        }
    }

    fn write_values(&mut self, portal: &Portal) {
        let id = portal.statement.id;
        let types = portal.statement.types.lock().unwrap_or_else(PoisonError::into_inner);
        self.writer.clear(id);
        let read = values(&portal.bind, |place, bytes, is_binary| {
            let oid = types.get(usize::from(place) - 1).copied().unwrap_or(0);
            self.writer.bind(id, place, &given(oid, is_binary, bytes));
        });
        if read.is_none() {
            self.writer.bind(id, 1, &Given::Opaque);
        }
    }
}
