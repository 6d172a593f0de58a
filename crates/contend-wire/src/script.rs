//! The script: statements and rows for one connection, outside any measurement. contend loads data,
//! applies persistent settings, checks invariants and measures footprints with it.
//!
//! ```text
//! contend-script 2
//! driver<TAB>rusqlite
//! database<TAB>file<TAB>/path/to/app.db
//! option<TAB>busy_timeout_ms<TAB>10000
//! session<TAB>-<TAB>PRAGMA synchronous = OFF
//! sql<TAB>-<TAB>CREATE TABLE t (a INTEGER, b TEXT)
//! load<TAB>21<TAB>22,25<TAB>INSERT INTO t VALUES (?, ?)
//! row<TAB>i1<TAB>tone
//! row<TAB>i2<TAB>n
//! sql<TAB>rows<TAB>SELECT count(*) FROM t
//! end<TAB>DIGEST
//! ```
//!
//! Every `load` runs in one transaction. The reply has, for each `sql`, a line `result<TAB>ROWS` and
//! that many `row` lines; for each `load` a line `loaded<TAB>ROWS`. The first error ends it:
//! `error<TAB>LINE<TAB>SPACE<TAB>CODE<TAB>MESSAGE`. The last line is `end`.

use crate::database::Database;
use crate::digest::{self, Digest};
use crate::literal::{Scratch, Value, ValueRef, escape, unescape};
use crate::sample::CodeSpace;
use crate::statement::{Placeholder, Statement, decode_placeholders, encode_placeholders};
use crate::{FormatError, check_version};
use std::fmt::Write as _;

/// The version this crate reads and writes.
pub const SCRIPT_VERSION: u32 = 2;

/// The statement that inserts the rows of a load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// Its text, in the dialect of the driver.
    pub sql: String,
    /// First byte of the `(...)` with the placeholders of a row, which ends the text. None of a `COPY`.
    pub group: Option<u32>,
    /// Its placeholders.
    pub placeholders: Vec<Placeholder>,
}

impl Load {
    /// The text before the values of a row, those values, and their placeholders within them.
    pub fn cut(&self) -> Option<(&str, &str, Vec<Placeholder>)> {
        let at = self.group?;
        let (opening, group) = self.sql.split_at_checked(at as usize)?;
        let inside = |p: &Placeholder| Some(Placeholder { at: p.at.checked_sub(at)?, ..*p });
        Some((opening, group, self.placeholders.iter().map(inside).collect::<Option<_>>()?))
    }

    /// `GROUP`, tab, `PLACEHOLDERS`, tab, `SQL`.
    pub fn fields(&self) -> String {
        let group = self.group.map_or("-".to_string(), |at| at.to_string());
        format!("{group}\t{}\t{}", encode_placeholders(&self.placeholders), escape(&self.sql))
    }

    fn decode([group, placeholders, sql]: [&str; 3]) -> Result<Self, String> {
        let group = match group {
            "-" => None,
            at => Some(at.parse().map_err(|_| format!("`{}` is not a place in the statement", crate::crop(at)))?),
        };
        Ok(Self { sql: unescape(sql)?, group, placeholders: decode_placeholders(placeholders)? })
    }
}

/// Splits a line into exactly this number of fields.
fn fields<const N: usize>(rest: &str) -> Result<[&str; N], String> {
    let found: Vec<&str> = rest.split('\t').collect();
    <[&str; N]>::try_from(found).map_err(|found| format!("{} fields where {N} were expected", found.len()))
}

/// The opening of a script: which driver and database, with which options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Driver asked for.
    pub driver: String,
    /// Where the database is.
    pub database: Database,
    /// Options as in a plan.
    pub options: Vec<(String, String)>,
    /// Statements run on the connection first, without an answer.
    pub session: Vec<Statement>,
}

/// Builds the text of a script.
#[derive(Debug, Clone)]
pub struct ScriptWriter {
    text: String,
}

impl ScriptWriter {
    /// A script for `target`.
    pub fn new(target: &Target) -> Self {
        let mut text = format!("contend-script {SCRIPT_VERSION}\n");
        let _ = writeln!(text, "driver\t{}", escape(&target.driver));
        let _ = writeln!(text, "database\t{}", target.database.fields());
        for (key, value) in &target.options {
            let _ = writeln!(text, "option\t{}\t{}", escape(key), escape(value));
        }
        for statement in &target.session {
            let _ = writeln!(text, "session\t{}", statement.command_fields());
        }
        Self { text }
    }

    /// Adds a statement.
    pub fn sql(&mut self, statement: &Statement) -> &mut Self {
        let _ = writeln!(self.text, "sql\t{}", statement.command_fields());
        self
    }

    /// Begins a load; the rows follow.
    pub fn load(&mut self, load: &Load) -> &mut Self {
        let _ = writeln!(self.text, "load\t{}", load.fields());
        self
    }

    /// Adds a row to the load begun last.
    pub fn row<'v>(&mut self, values: impl IntoIterator<Item = &'v Value>) -> &mut Self {
        self.text.push_str("row");
        for value in values {
            self.text.push('\t');
            value.encode_into(&mut self.text);
        }
        self.text.push('\n');
        self
    }

    /// Bytes so far.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Whether nothing but the opening was written; never true, as the opening is text.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The finished script.
    pub fn finish(mut self) -> String {
        let mut digest = Digest::default();
        digest.update(self.text.as_bytes());
        self.text.push_str(&digest.end_line());
        self.text
    }
}

/// One line of a script, for the program that carries it out.
#[derive(Debug, Clone, PartialEq)]
pub enum ScriptLine {
    /// Execute it and answer with its rows.
    Sql(Statement),
    /// The rows that follow are inserted with this statement.
    Load(Load),
    /// Values of one row.
    Row(Vec<Value>),
}

/// As [`ScriptLine`], but a row stays the text it is: what a bulk load reads, value by value, without an
/// allocation for any of them.
#[derive(Debug, Clone)]
pub enum RawLine<'a> {
    /// Execute it and answer with its rows.
    Sql(Statement),
    /// The rows that follow are inserted with this statement.
    Load(Load),
    /// Values of one row.
    Row(RawRow<'a>),
}

/// The values of one row, not yet read.
#[derive(Debug, Clone)]
pub struct RawRow<'a> {
    line: usize,
    fields: std::str::Split<'a, char>,
}

impl<'a> RawRow<'a> {
    /// The next value; it may live in `scratch` until the one after it is read.
    ///
    /// # Errors
    /// A field that is not a value, with its line.
    pub fn next_value<'s>(&mut self, scratch: &'s mut Scratch) -> Option<Result<ValueRef<'s>, FormatError>>
    where
        'a: 's,
    {
        let line = self.line;
        let field = self.fields.next()?;
        Some(ValueRef::decode(field, scratch).map_err(|m| FormatError::new("script", line, m)))
    }
}

/// Reads a script: its opening at once, its lines one by one, so that a load needs no second copy.
pub struct ScriptReader<'a> {
    /// The opening.
    pub target: Target,
    lines: std::iter::Peekable<std::iter::Enumerate<std::str::Split<'a, char>>>,
}

impl<'a> ScriptReader<'a> {
    /// Reads the opening.
    ///
    /// # Errors
    /// Wrong version, missing driver or database, with the line.
    pub fn new(text: &'a str) -> Result<Self, FormatError> {
        let first = text.split('\n').next().unwrap_or_default();
        check_version("script", "contend-script", SCRIPT_VERSION, first)?;
        let body = digest::open("script", text)?;
        let mut lines = body.strip_suffix('\n').unwrap_or(body).split('\n').enumerate().peekable();
        lines.next();
        let (mut driver, mut database) = (String::new(), None);
        let (mut options, mut session) = (vec![], vec![]);
        while let Some((i, line)) = lines.peek() {
            let fail = |m: String| FormatError::new("script", i + 1, m);
            let mut fields = line.split('\t');
            let kind = fields.next().unwrap_or_default();
            if !matches!(kind, "driver" | "database" | "option" | "session") {
                break;
            }
            if kind == "database" {
                database = Some(Database::decode(fields).map_err(fail)?);
                lines.next();
                continue;
            }
            let mut field = || fields.next().ok_or_else(|| fail("a field is missing".into()));
            match kind {
                "driver" => driver = unescape(field()?).map_err(fail)?,
                "session" => session.push(Statement::command([field()?, field()?]).map_err(fail)?),
                _ => options.push((unescape(field()?).map_err(fail)?, unescape(field()?).map_err(fail)?)),
            }
            lines.next();
        }
        match database {
            Some(database) if !driver.is_empty() => {
                Ok(Self { target: Target { driver, database, options, session }, lines })
            }
            _ => Err(FormatError::new("script", 0, "it names no driver or no database")),
        }
    }
}

impl<'a> ScriptReader<'a> {
    /// The number of the next line and what it says, rows unread; none after the last.
    ///
    /// # Errors
    /// An unknown kind of line or a broken escape.
    pub fn next_raw(&mut self) -> Option<Result<(usize, RawLine<'a>), FormatError>> {
        let (i, line) = self.lines.next()?;
        let (kind, rest) = line.split_once('\t').unwrap_or((line, ""));
        let read = match kind {
            "row" => Ok(RawLine::Row(RawRow { line: i + 1, fields: rest.split('\t') })),
            "sql" => fields(rest).and_then(Statement::command).map(RawLine::Sql),
            "load" => fields(rest).and_then(Load::decode).map(RawLine::Load),
            _ => Err(format!("unknown kind of line `{}`", crate::crop(kind))),
        };
        Some(read.map(|line| (i + 1, line)).map_err(|m| FormatError::new("script", i + 1, m)))
    }
}

impl Iterator for ScriptReader<'_> {
    /// The number of the line and what it says.
    type Item = Result<(usize, ScriptLine), FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = |(number, line)| {
            let line = match line {
                RawLine::Sql(sql) => ScriptLine::Sql(sql),
                RawLine::Load(sql) => ScriptLine::Load(sql),
                RawLine::Row(mut row) => {
                    let mut scratch = Scratch::default();
                    let mut values = vec![];
                    while let Some(value) = row.next_value(&mut scratch) {
                        values.push(value?.into());
                    }
                    ScriptLine::Row(values)
                }
            };
            Ok((number, line))
        };
        Some(self.next_raw()?.and_then(read))
    }
}

/// What one line of a script led to.
#[derive(Debug, Clone, PartialEq)]
pub enum LineResult {
    /// Rows of a statement.
    Rows(Vec<Vec<Value>>),
    /// Rows inserted by a load.
    Loaded(u64),
}

/// The error that ended a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptError {
    /// Line of the script.
    pub line: usize,
    /// Whose code.
    pub space: CodeSpace,
    /// The engine's own code.
    pub code: u32,
    /// The engine's own words.
    pub message: String,
}

/// Answers in order, and the error that ended the script, if one did.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reply {
    /// One per `sql` and `load` that succeeded.
    pub answers: Vec<LineResult>,
    /// What ended the script early.
    pub error: Option<ScriptError>,
}

impl Reply {
    /// The reply as text.
    pub fn encode(&self) -> String {
        let mut out = String::new();
        for answer in &self.answers {
            match answer {
                LineResult::Loaded(n) => {
                    let _ = writeln!(out, "loaded\t{n}");
                }
                LineResult::Rows(rows) => {
                    let _ = writeln!(out, "result\t{}", rows.len());
                    for row in rows {
                        out.push_str("row");
                        for value in row {
                            out.push('\t');
                            value.encode_into(&mut out);
                        }
                        out.push('\n');
                    }
                }
            }
        }
        if let Some(e) = &self.error {
            let _ = writeln!(out, "error\t{}\t{}\t{}\t{}", e.line, e.space.word(), e.code, escape(&e.message));
        }
        out.push_str("end\n");
        out
    }

    /// Reads a reply.
    ///
    /// # Errors
    /// The line that is not of the form, or a missing `end`.
    pub fn decode(text: &str) -> Result<Self, FormatError> {
        let mut reply = Reply::default();
        let mut ended = false;
        for (i, line) in text.split('\n').enumerate() {
            if ended {
                break;
            }
            let bad = || FormatError::new("script", i + 1, format!("`{}` is not a line of a reply", crate::crop(line)));
            let (kind, rest) = line.split_once('\t').unwrap_or((line, ""));
            match kind {
                "loaded" => reply.answers.push(LineResult::Loaded(rest.parse().map_err(|_| bad())?)),
                "result" => {
                    let rows: usize = rest.parse().map_err(|_| bad())?;
                    reply.answers.push(LineResult::Rows(Vec::with_capacity(rows.min(1024))));
                }
                "row" => {
                    let Some(LineResult::Rows(rows)) = reply.answers.last_mut() else { return Err(bad()) };
                    rows.push(rest.split('\t').map(Value::decode).collect::<Result<_, _>>().map_err(|_| bad())?);
                }
                "error" => reply.error = Some(decode_error(rest).ok_or_else(bad)?),
                "end" => ended = true,
                _ => return Err(bad()),
            }
        }
        if ended { Ok(reply) } else { Err(FormatError::new("script", 0, "the reply is cut off")) }
    }
}

fn decode_error(rest: &str) -> Option<ScriptError> {
    let mut f = rest.splitn(4, '\t');
    Some(ScriptError {
        line: f.next()?.parse().ok()?,
        space: CodeSpace::from_word(f.next()?)?,
        code: f.next()?.parse().ok()?,
        message: unescape(f.next()?).ok()?,
    })
}
