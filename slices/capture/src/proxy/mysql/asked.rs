//! Requests of a client, and how far the server has answered the first of them.

use super::packet::{Fields, MORE, Message};
use crate::trace::{DONE, ROW};

/// Bits of the server's status.
pub mod status {
    pub const IN_TRANSACTION: u16 = 1;
    pub const MORE_RESULTS: u16 = 1 << 3;
    pub const CURSOR_EXISTS: u16 = 1 << 6;
    pub const LAST_ROW_SENT: u16 = 1 << 7;
    pub const NO_BACKSLASH_ESCAPES: u16 = 1 << 9;
    /// MariaDB's only.
    pub const ANSI_QUOTES: u16 = 1 << 15;
}

/// A request.
pub enum What {
    Login,
    /// The database and the collation.
    ChangeUser(String, u16),
    ResetConnection,
    InitDb(Vec<u8>),
    Query(Vec<u8>),
    Prepare(Vec<u8>),
    /// The number of a statement, and what follows it.
    Execute(u32, Vec<u8>),
    Fetch(u32),
    /// Answered with definitions up to a mark.
    FieldList,
    /// Answered with one packet, and not recorded.
    Other,
    ResetStatement(u32),
    /// Without an answer.
    Close(u32),
    LongData(u32, u16, Option<Vec<u8>>),
}

/// What the server sends next.
#[derive(Clone, Copy)]
enum Phase {
    Head,
    /// Definitions of columns that are still to come, before rows.
    Columns(u64),
    EndOfColumns,
    Rows,
    /// Packets of a prepared statement that are still to come.
    Definitions(u64),
}

/// How the answers look.
pub enum Progress {
    Goes,
    /// The server wants the rows of a file.
    WantsFile,
    Over,
}

pub struct Asked {
    pub what: What,
    pub at_ns: u64,
    phase: Phase,
    pub rows: u64,
    pub changes: u64,
    pub rc: i32,
    /// The number of the error.
    pub code: [u8; 5],
    /// The last that the server sent.
    pub status: Option<u16>,
    /// Number and parameters of a statement that was prepared.
    pub prepared: (u32, u16),
}

impl Asked {
    pub fn new(what: What, at_ns: u64) -> Asked {
        let phase = if matches!(what, What::Fetch(_) | What::FieldList) { Phase::Rows } else { Phase::Head };
        let (rows, changes, code) = (0, 0, [0; 5]);
        Asked { what, at_ns, phase, rows, changes, rc: DONE, code, status: None, prepared: (0, 0) }
    }

    pub fn is_silent(&self) -> bool {
        matches!(self.what, What::Close(_) | What::LongData(..))
    }

    pub fn has_failed(&self) -> bool {
        !matches!(self.rc, DONE | ROW)
    }

    /// Whether the server ended the transaction with the error.
    pub fn is_rolled_back(&self) -> bool {
        const DEADLOCK: &[u8] = b"1213";
        self.code.starts_with(DEADLOCK) && self.code[4] == 0
    }

    /// A message of the server. `None`: it has another form.
    pub fn is_answered(&mut self, message: &Message, deprecates_eof: bool) -> Option<Progress> {
        let (body, first) = (message.body, *message.body.first()?);
        let is_mark = first == 0xfe && message.length < if deprecates_eof { MORE } else { 9 };
        let is_definition = matches!(self.phase, Phase::Columns(_) | Phase::Definitions(_));
        if first == 0xff && !is_definition {
            self.fails(body)?;
            return Some(Progress::Over);
        }
        match self.phase {
            Phase::Head => return self.begins(message, deprecates_eof),
            Phase::Columns(left) if left > 1 => self.phase = Phase::Columns(left - 1),
            Phase::Columns(_) => self.phase = if deprecates_eof { Phase::Rows } else { Phase::EndOfColumns },
            Phase::EndOfColumns => {
                let status = self.ends(body, deprecates_eof)?;
                self.phase = Phase::Rows;
                if status & status::CURSOR_EXISTS != 0 {
                    return Some(self.result(status));
                }
            }
            Phase::Rows if is_mark => {
                let status = self.ends(body, deprecates_eof)?;
                return Some(self.result(status));
            }
            Phase::Rows => self.rows += 1,
            Phase::Definitions(left) if left > 1 => self.phase = Phase::Definitions(left - 1),
            Phase::Definitions(_) => return Some(Progress::Over),
        }
        Some(Progress::Goes)
    }

    /// The first packet of an answer or of a further result.
    fn begins(&mut self, message: &Message, deprecates_eof: bool) -> Option<Progress> {
        let mut fields = Fields(message.body);
        let first = fields.u8()?;
        match &self.what {
            What::Query(_) | What::Execute(..) => match first {
                0 => {
                    let status = self.is_well(fields)?;
                    Some(self.result(status))
                }
                0xfb => Some(Progress::WantsFile),
                _ => {
                    self.phase = Phase::Columns(Fields(message.body).long()?);
                    Some(Progress::Goes)
                }
            },
            What::Prepare(_) => {
                let (id, columns, parameters) = (fields.u32()?, fields.u16()?, fields.u16()?);
                self.prepared = (id, parameters);
                let mark = u64::from(!deprecates_eof);
                let list = |count: u16| if count == 0 { 0 } else { u64::from(count) + mark };
                self.phase = Phase::Definitions(list(columns) + list(parameters));
                Some(if columns == 0 && parameters == 0 { Progress::Over } else { Progress::Goes })
            }
            // Messages of the authentication come before.
            What::Login | What::ChangeUser(..) if first != 0 || message.length < 7 => Some(Progress::Goes),
            _ => {
                if first == 0 {
                    // Of statistics, which have no status, this is no answer.
                    self.is_well(fields);
                }
                Some(Progress::Over)
            }
        }
    }

    /// Counts of an OK behind its first byte; returns the status.
    fn is_well(&mut self, mut fields: Fields) -> Option<u16> {
        let (changes, _, status) = (fields.long()?, fields.long()?, fields.u16()?);
        self.changes = self.changes.saturating_add(changes);
        self.status = Some(status);
        Some(status)
    }

    /// The mark behind definitions or rows; returns the status.
    fn ends(&mut self, body: &[u8], deprecates_eof: bool) -> Option<u16> {
        let mut fields = Fields(body.get(1..)?);
        if deprecates_eof {
            return self.is_well(fields);
        }
        let (_, status) = (fields.u16()?, fields.u16()?);
        self.status = Some(status);
        Some(status)
    }

    /// After a result: whether another one follows.
    fn result(&mut self, status: u16) -> Progress {
        if matches!(self.what, What::Execute(..) | What::Fetch(_)) {
            let has_more = status & (status::CURSOR_EXISTS | status::LAST_ROW_SENT) == status::CURSOR_EXISTS;
            self.rc = if has_more { ROW } else { DONE };
        }
        if status & status::MORE_RESULTS == 0 {
            return Progress::Over;
        }
        self.phase = Phase::Head;
        Progress::Goes
    }

    fn fails(&mut self, body: &[u8]) -> Option<()> {
        let mut fields = Fields(body.get(1..)?);
        let number = fields.u16()?;
        let class = fields.0.strip_prefix(b"#").and_then(|state| state.first_chunk::<2>());
        self.rc = code(number, class);
        self.code = [0; 5];
        let digits = number.to_string();
        self.code[..digits.len()].copy_from_slice(digits.as_bytes());
        Some(())
    }
}

/// SQLite's code for a failure, so that all captures read alike: locks, interruptions, constraints, others. `class`: of
/// its SQLSTATE.
fn code(number: u16, class: Option<&[u8; 2]>) -> i32 {
    match (number, class) {
        // Also NOWAIT of MySQL, and a row that has changed since the snapshot.
        (1205 | 1213 | 3572 | 1020, _) => 5,
        (1317 | 1969 | 3024, _) => 9,
        (_, Some(b"22" | b"23")) => 19,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(asked: &mut Asked, deprecates_eof: bool, bodies: &[&[u8]]) -> Vec<bool> {
        let one = |body: &&[u8]| {
            let message = Message { number: 1, body, length: body.len() };
            matches!(asked.is_answered(&message, deprecates_eof), Some(Progress::Over))
        };
        bodies.iter().map(one).collect()
    }

    #[test]
    fn results_are_counted_to_the_last() {
        let (column, row) = (&b"\x03def..."[..], &b"\x0142"[..]);
        let (more, last): (&[u8], &[u8]) = (&[0xfe, 0, 0, 8, 0], &[0xfe, 0, 0, 1, 0]);
        let mut query = Asked::new(What::Query(vec![]), 0);
        let bodies = [&[1][..], column, more, row, row, more, &[0, 3, 0, 8, 0, 0, 0], &[1], column, last, row, last];
        assert_eq!(over(&mut query, false, &bodies).iter().position(|over| *over), Some(11));
        assert_eq!((query.rows, query.changes, query.status), (3, 3, Some(1)));
        let mut query = Asked::new(What::Query(vec![]), 0);
        let end = [0xfe, 0, 0, 2, 0, 0, 0];
        assert_eq!(over(&mut query, true, &[&[1], column, row, &end]), [false, false, false, true]);
        assert_eq!((query.rows, query.status), (1, Some(2)));
    }

    #[test]
    fn cursors_and_errors_end_an_answer() {
        let (column, cursor, sent): (&[u8], &[u8], &[u8]) = (b"\x03def", &[0xfe, 0, 0, 64, 0], &[0xfe, 0, 0, 128, 0]);
        let mut execute = Asked::new(What::Execute(1, vec![]), 0);
        assert_eq!(over(&mut execute, false, &[&[1], column, cursor]), [false, false, true]);
        assert_eq!(execute.rc, ROW);
        let mut fetch = Asked::new(What::Fetch(1), 0);
        assert_eq!(over(&mut fetch, false, &[&[0, 0, 1], sent]), [false, true]);
        assert_eq!((fetch.rc, fetch.rows), (DONE, 1));
        let mut query = Asked::new(What::Query(vec![]), 0);
        assert_eq!(over(&mut query, true, &[b"\xff\xbd\x04#40001Deadlock"]), [true]);
        assert!(query.has_failed() && query.is_rolled_back() && query.rc == 5 && query.code == *b"1213\0");
        assert_eq!((code(1062, Some(b"23")), code(1146, Some(b"42")), code(1317, None)), (19, 1, 9));
        let mut prepare = Asked::new(What::Prepare(vec![]), 0);
        let ok = [0, 7, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0];
        assert_eq!(over(&mut prepare, false, &[&ok, column, column, sent, column, sent]).len(), 6);
        assert_eq!(prepare.prepared, (7, 2));
    }
}
