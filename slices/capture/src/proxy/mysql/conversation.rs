//! The messages of a client and its server as calls: statements with values, rows, results and times.

use super::asked::{Asked, Progress, What, status};
use super::greeting::{change, is_unsafe};
use super::packet::{Fields, Frames, Message};
use super::value::Statement;
use crate::mysql_text::{Mode, written};
use crate::proxy::given::Given;
use crate::proxy::spoken::{self, Pen};
use crate::proxy::writer::{Executed, Parsed, Writer, Writers};
use contend_interpose::format::{PENDING, note, state};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

/// Longest text or value that is read, and how much of the server's messages is needed.
const BODY_MAX: usize = 16 << 20;
const ANSWER_MAX: usize = 1 << 10;
/// Longest text whose literals are replaced: that takes some 70 times its length in memory.
const TEXT_MAX: usize = 1 << 20;

/// Stands for a longer text.
const TOO_LONG: &[u8] = b"a_text_of_more_than_1_MiB";

/// Stands in an execution for the statement that was prepared last.
const LAST: u32 = u32::MAX;

/// Numbers of commands.
mod command {
    pub const QUIT: u8 = 1;
    pub const INIT_DB: u8 = 2;
    pub const QUERY: u8 = 3;
    pub const FIELD_LIST: u8 = 4;
    pub const PROCESS_INFO: u8 = 10;
    pub const CHANGE_USER: u8 = 17;
    pub const BINLOG_DUMP: u8 = 18;
    pub const REGISTER_REPLICA: u8 = 21;
    pub const PREPARE: u8 = 22;
    pub const EXECUTE: u8 = 23;
    pub const LONG_DATA: u8 = 24;
    pub const CLOSE: u8 = 25;
    pub const RESET: u8 = 26;
    pub const SET_OPTION: u8 = 27;
    pub const FETCH: u8 = 28;
    pub const BINLOG_DUMP_GTID: u8 = 30;
    pub const RESET_CONNECTION: u8 = 31;

    /// Answered with one packet: databases, refresh, shutdown, statistics, kill, debug, ping.
    pub const SHORT: [u8; 8] = [5, 6, 7, 8, 9, 12, 13, 14];
}

/// A connection of a client.
pub struct Conversation {
    writer: Writer,
    writers: Arc<Writers>,
    id: u64,
    server: String,
    database: String,
    from_client: Frames,
    from_server: Frames,
    asked: VecDeque<Asked>,
    statements: HashMap<u32, Statement>,
    last_prepared: u32,
    opened_ns: u64,
    last_ns: u64,
    version: String,
    mode: Mode,
    /// Collation of the login, and whether texts cannot be read safely.
    collation: u16,
    is_unsafe: bool,
    deprecates_eof: bool,
    /// Of the login, those that change results.
    flags: u32,
    is_open: bool,
    is_outside: bool,
    is_sending_file: bool,
    /// Messages were not understood, or are not read; bytes are still passed on.
    is_blind: bool,
    notes: BTreeSet<u16>,
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
        self.open(now_ns, i32::from(!self.is_open));
        for mut asked in std::mem::take(&mut self.asked) {
            if matches!(asked.what, What::Query(_) | What::Execute(..)) {
                asked.rc = PENDING;
                self.write(&asked, now_ns, false);
            }
        }
        self.writer.close(self.id, now_ns);
        self.writers.give_back(self.writer);
    }
}

impl Conversation {
    pub fn new(pen: Pen, version: &str, (collation, deprecates_eof, flags): (u16, bool, u32)) -> Conversation {
        let Pen { writer, writers, server, database, opened_ns } = pen;
        Conversation {
            writer,
            id: writers.new_id(),
            writers,
            server,
            database,
            from_client: Frames::new(BODY_MAX),
            from_server: Frames::new(ANSWER_MAX),
            asked: VecDeque::from([Asked::new(What::Login, opened_ns)]),
            statements: HashMap::new(),
            last_prepared: 0,
            opened_ns,
            last_ns: opened_ns,
            version: product(version),
            mode: Mode { has_backslashes: true, has_ansi_quotes: false },
            collation,
            is_unsafe: is_unsafe(collation),
            deprecates_eof,
            flags,
            is_open: false,
            is_outside: true,
            is_sending_file: false,
            is_blind: false,
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
        let mut own = std::mem::replace(frames(self), Frames::new(0));
        own.read(bytes, |message| {
            if !self.is_blind && each(self, now_ns, message).is_none() {
                self.is_blind = true;
                self.note(now_ns, note::LOST);
            }
        });
        *frames(self) = own;
    }

    /// Writes down the connection, once.
    fn open(&mut self, now_ns: u64, rc: i32) {
        if !self.is_open {
            self.is_open = true;
            let place = format!("{}/{}", self.server, self.database);
            self.writer.open(self.id, self.opened_ns, (&place, &self.version), (rc, self.flags));
            self.last_ns = now_ns;
        }
    }

    fn note(&mut self, now_ns: u64, code: u16) {
        if self.notes.insert(code) {
            self.open(now_ns, 0);
            self.writer.note(self.id, now_ns, code);
        }
    }

    /// A message of the client. `None`: it has another form.
    fn asks(&mut self, now_ns: u64, message: &Message) -> Option<()> {
        if self.is_sending_file {
            self.is_sending_file = message.length > 0;
            return Some(());
        }
        // Answers during an authentication, with passwords: none of them is read.
        if message.number != 0 {
            return Some(());
        }
        // A request before the login is answered: the next answer would be taken for its own.
        if !self.is_open {
            return None;
        }
        let (number, body) = message.body.split_first()?;
        let mut fields = Fields(body);
        let text = || if body.len() <= TEXT_MAX { body.to_vec() } else { TOO_LONG.to_vec() };
        let what = match *number {
            command::QUIT => return Some(()),
            command::INIT_DB => What::InitDb(text()),
            command::QUERY => What::Query(text()),
            command::PROCESS_INFO => What::Query(b"SHOW PROCESSLIST".to_vec()),
            command::FIELD_LIST => What::FieldList,
            command::CHANGE_USER => {
                let (database, collation) = change(body)?;
                What::ChangeUser(database, collation)
            }
            command::BINLOG_DUMP | command::BINLOG_DUMP_GTID => {
                self.note(now_ns, note::REPLICATION);
                self.is_blind = true;
                return Some(());
            }
            command::PREPARE => What::Prepare(text()),
            command::EXECUTE => What::Execute(fields.u32()?, fields.0.to_vec()),
            command::LONG_DATA => {
                let (statement, place) = (fields.u32()?, fields.u16()?);
                What::LongData(statement, place, message.is_whole().then(|| fields.0.to_vec()))
            }
            command::CLOSE => What::Close(fields.u32()?),
            command::RESET => What::ResetStatement(fields.u32()?),
            command::FETCH => What::Fetch(fields.u32()?),
            command::RESET_CONNECTION => What::ResetConnection,
            command::SET_OPTION | command::REGISTER_REPLICA => What::Other,
            short if command::SHORT.contains(&short) => What::Other,
            _ => return None,
        };
        self.asked.push_back(Asked::new(what, now_ns));
        self.apply_silent();
        Some(())
    }

    /// Requests without an answer count when those before them are answered.
    fn apply_silent(&mut self) {
        while self.asked.front().is_some_and(Asked::is_silent) {
            match self.asked.pop_front().map(|asked| asked.what) {
                Some(What::Close(number)) => drop(self.statements.remove(&number)),
                Some(What::LongData(number, place, part)) => {
                    if let Some(statement) = self.statements.get_mut(&number) {
                        statement.add(place, part.as_deref(), BODY_MAX);
                    }
                }
                _ => {}
            }
        }
    }

    /// A message of the server.
    fn answers(&mut self, now_ns: u64, message: &Message) -> Option<()> {
        // Without a request: why the server ends the connection.
        let Some(asked) = self.asked.front_mut() else { return Some(()) };
        match asked.is_answered(message, self.deprecates_eof)? {
            Progress::Goes => {}
            Progress::WantsFile => {
                self.is_sending_file = true;
                self.note(now_ns, note::COPY);
            }
            Progress::Over => {
                let asked = self.asked.pop_front()?;
                self.complete(now_ns, &asked);
                self.apply_silent();
            }
        }
        Some(())
    }

    /// The server has answered a request.
    fn complete(&mut self, now_ns: u64, asked: &Asked) {
        if !self.is_open {
            self.open(now_ns, if asked.has_failed() { asked.rc } else { 0 });
            self.is_blind = asked.has_failed();
        }
        let now = asked.status.map_or(self.is_outside, |status| status & status::IN_TRANSACTION == 0);
        let is_outside = now || asked.is_rolled_back();
        match &asked.what {
            What::ChangeUser(database, collation) if !asked.has_failed() => {
                self.resets(asked, now_ns);
                self.writer.close(self.id, now_ns);
                self.id = self.writers.new_id();
                (self.database, self.collation) = (database.clone(), *collation);
                self.is_unsafe = is_unsafe(*collation);
                (self.is_open, self.opened_ns) = (false, now_ns);
                self.notes.clear();
                self.open(now_ns, 0);
            }
            What::ResetConnection if !asked.has_failed() => self.resets(asked, now_ns),
            What::ResetStatement(number) => {
                self.statements.get_mut(number).into_iter().for_each(|statement| statement.long.clear());
            }
            What::Prepare(sql) => self.is_prepared(asked, sql, now_ns),
            _ => self.write(asked, now_ns, is_outside),
        }
        self.is_outside = is_outside;
        if let Some(status) = asked.status {
            self.mode.has_backslashes = status & status::NO_BACKSLASH_ESCAPES == 0;
            self.mode.has_ansi_quotes = status & status::ANSI_QUOTES != 0;
        }
    }

    /// The session is as at its begin: what was open is rolled back, and prepared statements are gone.
    fn resets(&mut self, asked: &Asked, now_ns: u64) {
        if !self.is_outside {
            let sql = self.writer.text((0, b"ROLLBACK of a reset connection"), |sql, _, _| sql.into());
            let executed = self.executed(asked, now_ns, true);
            self.writer.exec(self.id, sql, &executed);
        }
        self.statements.clear();
        self.is_unsafe = is_unsafe(self.collation);
    }

    fn is_prepared(&mut self, asked: &Asked, sql: &[u8], now_ns: u64) {
        let sql = self.text(now_ns, sql);
        let begin_ns = asked.at_ns.max(self.last_ns);
        let times = (begin_ns, now_ns.saturating_sub(begin_ns));
        self.last_ns = now_ns;
        if asked.has_failed() {
            self.last_prepared = 0;
            return self.writer.prepare(0, (self.id, sql), times, &Parsed::refused(asked.rc, asked.code));
        }
        let (number, parameters) = asked.prepared;
        let id = self.writers.new_id();
        self.writer.prepare(id, (self.id, sql), times, &Parsed { rc: 0, code: [0; 5], types: &[] });
        self.statements.insert(number, Statement { id, parameters, ..Statement::default() });
        self.last_prepared = number;
    }

    fn text(&mut self, now_ns: u64, sql: &[u8]) -> u64 {
        let names_encoding = sets_encoding(sql);
        if self.is_unsafe || names_encoding == Some(true) {
            self.note(now_ns, note::ENCODING);
            // A text alone does not show that a later encoding is in effect.
            self.is_unsafe = true;
            return self.writer.text((0, b"a_text_in_another_encoding"), |sql, _, _| sql.into());
        }
        let mode = self.mode;
        self.writer.text((mode.number(), sql), |sql, key, is_full| written(sql, mode, key, is_full))
    }

    fn executed(&mut self, asked: &Asked, now_ns: u64, after: bool) -> Executed {
        let at_ns = asked.at_ns.max(self.last_ns);
        let bit = |is: bool, bit: u8| if is { bit } else { 0 };
        self.last_ns = self.last_ns.max(now_ns);
        Executed {
            state: bit(self.is_outside, state::AUTOCOMMIT_BEFORE) | bit(after, state::AUTOCOMMIT_AFTER),
            is_rest: matches!(asked.what, What::Fetch(_)),
            at_ns,
            duration_ns: if asked.rc == PENDING { 0 } else { now_ns.saturating_sub(at_ns) },
            rows: asked.rows,
            changes: asked.changes,
            rc: asked.rc,
            sqlstate: asked.code,
        }
    }

    fn write(&mut self, asked: &Asked, now_ns: u64, after: bool) {
        let executed = self.executed(asked, now_ns, after);
        let text = match &asked.what {
            What::Query(sql) => self.text(now_ns, sql),
            What::InitDb(name) => self.text(now_ns, &[b"USE `", &name[..], b"`"].concat()),
            What::Execute(number, _) | What::Fetch(number) => {
                let number = if *number == LAST { self.last_prepared } else { *number };
                match self.statements.get_mut(&number) {
                    Some(statement) => {
                        if let What::Execute(_, body) = &asked.what {
                            write_values(&mut self.writer, statement, body);
                        }
                        return self.writer.step(statement.id, &executed);
                    }
                    None => self.writer.text((0, b"a_statement_that_was_not_seen"), |sql, _, _| sql.into()),
                }
            }
            _ => return,
        };
        self.writer.exec(self.id, text, &executed);
    }
}

fn write_values(writer: &mut Writer, statement: &mut Statement, body: &[u8]) {
    let id = statement.id;
    writer.clear(id);
    if statement.values(body, |place, given| writer.bind(id, place, &given)).is_none() {
        writer.bind(id, 1, &Given::Opaque);
    }
    statement.long.clear();
}

/// Product and version, from the greeting's: MariaDB of before 11 puts `5.5.5-` before it.
pub fn product(version: &str) -> String {
    let version = version.strip_prefix("5.5.5-").unwrap_or(version);
    match version.split_once("-MariaDB") {
        Some((number, _)) => format!("MariaDB {number}"),
        None => format!("MySQL {version}"),
    }
}

/// Whether a text sets an encoding, and whether one that cannot be read safely.
fn sets_encoding(sql: &[u8]) -> Option<bool> {
    const SETS: [&[u8]; 4] = [b"names", b"character_set_client", b"charset", b"character"];
    const UNSAFE: [&[u8]; 5] = [b"gbk", b"big5", b"sjis", b"cp932", b"gb18030"];
    let lower = sql.to_ascii_lowercase();
    let has = |part: &&[u8]| memchr::memmem::find(&lower, part).is_some();
    let is_set = memchr::memmem::find(&lower, b"set").is_some() && SETS.iter().any(has);
    is_set.then(|| UNSAFE.iter().any(has))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_and_encodings_are_recognised() {
        assert_eq!(product("5.5.5-10.11.6-MariaDB-0+deb12u1"), "MariaDB 10.11.6");
        assert_eq!(product("8.4.2"), "MySQL 8.4.2");
        assert_eq!(sets_encoding(b"SET NAMES gbk"), Some(true));
        assert_eq!(sets_encoding(b"set character_set_client = 'utf8mb4'"), Some(false));
        assert_eq!(sets_encoding(b"SELECT names FROM t"), None);
    }
}
