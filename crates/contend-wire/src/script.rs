//! The script: statements and rows for one connection, outside any measurement. contend loads data,
//! applies persistent settings, checks invariants and measures footprints with it.
//!
//! ```text
//! contend-script 1
//! driver<TAB>rusqlite
//! database<TAB>/path/to/app.db
//! option<TAB>busy_timeout_ms<TAB>10000
//! session<TAB>PRAGMA synchronous = OFF
//! sql<TAB>CREATE TABLE t (a INTEGER, b TEXT)
//! load<TAB>INSERT INTO t VALUES (?, ?)
//! row<TAB>i1<TAB>tone
//! row<TAB>i2<TAB>n
//! sql<TAB>SELECT count(*) FROM t
//! end
//! ```
//!
//! Every `load` runs in one transaction. The reply has, for each `sql`, a line `result<TAB>ROWS` and
//! that many `row` lines; for each `load` a line `loaded<TAB>ROWS`. The first error ends it:
//! `error<TAB>LINE<TAB>SPACE<TAB>CODE<TAB>MESSAGE`. The last line is `end`.

use crate::literal::{Scratch, Value, ValueRef, escape, unescape};
use crate::sample::CodeSpace;
use crate::{FormatError, check_version};
use std::fmt::Write as _;

/// The version this crate reads and writes.
pub const SCRIPT_VERSION: u32 = 1;

/// The opening of a script: which driver and database, with which options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Driver asked for.
    pub driver: String,
    /// Path or connection string.
    pub database: String,
    /// Options as in a plan.
    pub options: Vec<(String, String)>,
    /// Statements run on the connection first, without an answer.
    pub session: Vec<String>,
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
        let _ = writeln!(text, "database\t{}", escape(&target.database));
        for (key, value) in &target.options {
            let _ = writeln!(text, "option\t{}\t{}", escape(key), escape(value));
        }
        for sql in &target.session {
            let _ = writeln!(text, "session\t{}", escape(sql));
        }
        Self { text }
    }

    /// Adds a statement.
    pub fn sql(&mut self, sql: &str) -> &mut Self {
        let _ = writeln!(self.text, "sql\t{}", escape(sql));
        self
    }

    /// Begins a load; the rows follow.
    pub fn load(&mut self, insert: &str) -> &mut Self {
        let _ = writeln!(self.text, "load\t{}", escape(insert));
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
        self.text.push_str("end\n");
        self.text
    }
}

/// One line of a script, for the program that carries it out.
#[derive(Debug, Clone, PartialEq)]
pub enum ScriptLine {
    /// Execute it and answer with its rows.
    Sql(String),
    /// The rows that follow are inserted with this statement.
    Load(String),
    /// Values of one row.
    Row(Vec<Value>),
}

/// As [`ScriptLine`], but a row stays the text it is: what a bulk load reads, value by value, without an
/// allocation for any of them.
#[derive(Debug, Clone)]
pub enum RawLine<'a> {
    /// Execute it and answer with its rows.
    Sql(String),
    /// The rows that follow are inserted with this statement.
    Load(String),
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
        if !text.ends_with("\nend\n") {
            return Err(FormatError::new("script", 0, "cut off: its last line is not `end`"));
        }
        let mut lines = text.split('\n').enumerate().peekable();
        let first = lines.next().map_or("", |(_, line)| line);
        check_version("script", "contend-script", SCRIPT_VERSION, first)?;
        let mut target = Target { driver: String::new(), database: String::new(), options: vec![], session: vec![] };
        while let Some((i, line)) = lines.peek() {
            let fail = |m: String| FormatError::new("script", i + 1, m);
            let mut fields = line.split('\t');
            let kind = fields.next().unwrap_or_default();
            if !matches!(kind, "driver" | "database" | "option" | "session") {
                break;
            }
            let mut field = || {
                fields.next().ok_or_else(|| fail("a field is missing".into())).and_then(|f| unescape(f).map_err(fail))
            };
            match kind {
                "driver" => target.driver = field()?,
                "database" => target.database = field()?,
                "session" => target.session.push(field()?),
                _ => target.options.push((field()?, field()?)),
            }
            lines.next();
        }
        if target.driver.is_empty() || target.database.is_empty() {
            return Err(FormatError::new("script", 0, "it names no driver or no database"));
        }
        Ok(Self { target, lines })
    }
}

impl<'a> ScriptReader<'a> {
    /// The number of the next line and what it says, rows unread; none after the last.
    ///
    /// # Errors
    /// An unknown kind of line or a broken escape.
    pub fn next_raw(&mut self) -> Option<Result<(usize, RawLine<'a>), FormatError>> {
        let (i, line) = self.lines.next()?;
        if line == "end" {
            return None;
        }
        let (kind, rest) = line.split_once('\t').unwrap_or((line, ""));
        let read = match kind {
            "row" => Ok(RawLine::Row(RawRow { line: i + 1, fields: rest.split('\t') })),
            "sql" => unescape(rest).map(RawLine::Sql),
            "load" => unescape(rest).map(RawLine::Load),
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
pub enum Answer {
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
    pub answers: Vec<Answer>,
    /// What ended the script early.
    pub error: Option<ScriptError>,
}

impl Reply {
    /// The reply as text.
    pub fn encode(&self) -> String {
        let mut out = String::new();
        for answer in &self.answers {
            match answer {
                Answer::Loaded(n) => {
                    let _ = writeln!(out, "loaded\t{n}");
                }
                Answer::Rows(rows) => {
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
                "loaded" => reply.answers.push(Answer::Loaded(rest.parse().map_err(|_| bad())?)),
                "result" => {
                    let rows: usize = rest.parse().map_err(|_| bad())?;
                    reply.answers.push(Answer::Rows(Vec::with_capacity(rows.min(1024))));
                }
                "row" => {
                    let Some(Answer::Rows(rows)) = reply.answers.last_mut() else { return Err(bad()) };
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
