//! The plan: the finished list of work for one worker, every choice already drawn.
//!
//! Text, one item a line, fields separated by tabs, the first field the kind of line. The order of
//! lines is fixed, as [`Plan::encode`] writes them; `docs/formats.md` lists them with an example.
//! A worker parses the whole plan into arrays before it says `ready`.

use crate::literal::{Value, escape, unescape};
use crate::sample::CodeSpace;
use crate::{FormatError, check_version};
use std::fmt::Write as _;

/// The version this crate reads and writes.
pub const PLAN_VERSION: u32 = 1;

/// `rows_max` without a bound.
pub const ANY_ROWS: u32 = u32::MAX;

/// How far apart the unique numbers of two clients are.
pub const UNIQUE_STRIDE: i64 = 1 << 40;

/// Everything one worker needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// What is common to all clients.
    pub head: Head,
    /// The clients of this worker, each with its operations.
    pub clients: Vec<Client>,
}

/// The part of a plan that does not depend on what was drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Head {
    /// Number of this worker in the trial.
    pub worker: u32,
    /// When operations count and when they stop.
    pub window: Window,
    /// Where `now` comes from.
    pub now: NowSource,
    /// The driver asked for, such as `rusqlite`.
    pub driver: String,
    /// How clients share connections, such as `thread`.
    pub model: String,
    /// Settings of driver and model that are not SQL, such as `busy_timeout_ms`.
    pub options: Vec<(String, String)>,
    /// Paths or connection strings, indexed by [`Client::database`].
    pub databases: Vec<String>,
    /// Statements run on every new connection, in order.
    pub session: Vec<String>,
    /// Settings read back from every connection after the session statements.
    pub readbacks: Vec<Readback>,
    /// SQL texts, in the dialect of the driver.
    pub statements: Vec<String>,
    /// Long texts that operations refer to.
    pub texts: Vec<String>,
    /// The transactions, indexed by [`Operation::transaction`].
    pub transactions: Vec<Transaction>,
    /// What happens after a failed attempt.
    pub retry: Retry,
}

/// When operations count and when they stop, relative to the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Time before the window; operations due in it do not count.
    pub run_in_ns: u64,
    /// Length of the window; 0 = until every client has done its limit of operations.
    pub length_ns: u64,
    /// How long operations in flight may take after the window, before they are interrupted.
    pub drain_ns: u64,
}

impl Window {
    /// Offset from the start at which no more operations begin.
    pub fn end_ns(&self) -> u64 {
        if self.length_ns == 0 { u64::MAX } else { self.run_in_ns.saturating_add(self.length_ns) }
    }
}

/// Where the argument `now` comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NowSource {
    /// The system clock.
    Clock,
    /// `base_ns + operation * step_ns`, so that equal plans leave equal data.
    Fixed {
        /// Nanoseconds since 1970 of operation 0.
        base_ns: u64,
        /// Added for every operation of the client.
        step_ns: u64,
    },
}

/// A setting to be read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readback {
    /// Name under which the worker reports the value.
    pub name: String,
    /// Query whose first column of its first row is the value.
    pub sql: String,
}

/// A named sequence of steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Transaction {
    /// Its name in the workload.
    pub name: String,
    /// SQL that begins it; none: every statement commits by itself.
    pub begin: Option<String>,
    /// How many unique numbers one operation uses.
    pub uniques: u16,
    /// How many slots for kept values it needs.
    pub slots: u16,
    /// What it does.
    pub steps: Vec<Step>,
}

/// One step of a transaction.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Execute a statement.
    Sql(SqlStep),
    /// Block for this long while holding the connection.
    Hold {
        /// Length in nanoseconds.
        ns: u64,
    },
    /// Wait for this long without needing the connection.
    Pause {
        /// Length in nanoseconds.
        ns: u64,
    },
    /// Close the connection and open a new one; only as the first step, before the begin.
    Connect,
}

/// A step that executes a statement.
#[derive(Debug, Clone, PartialEq)]
pub struct SqlStep {
    /// Index into [`Head::statements`].
    pub statement: u32,
    /// Fewest rows it may return (or, when it returns none by its nature, change).
    pub rows_min: u32,
    /// Most rows; [`ANY_ROWS`] for no bound.
    pub rows_max: u32,
    /// How often it is executed in a row.
    pub repeat: u32,
    /// Values kept for later steps.
    pub keep: Vec<Keep>,
    /// One per placeholder of the statement.
    pub args: Vec<Source>,
}

/// A column of the result that later steps use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// Slot it is kept in.
    pub slot: u16,
    /// Column of the result, from 0.
    pub column: u16,
    /// Kept rows at most: 1 keeps the first row's value, more keeps a column.
    pub rows: u16,
}

/// Where the value of a placeholder comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// The same value always.
    Literal(Value),
    /// An argument of the operation: `first + stride * repetition`.
    Argument {
        /// Index in the operation's arguments for repetition 0.
        first: u16,
        /// Added per repetition of the step.
        stride: u16,
    },
    /// A value kept from an earlier step, with a number added if `plus` is not 0.
    Kept {
        /// Slot it was kept in.
        slot: u16,
        /// Added to it.
        plus: i64,
    },
    /// Row `row` of a kept column, NULL beyond its end.
    KeptRow {
        /// Slot it was kept in.
        slot: u16,
        /// Row, from 0.
        row: u16,
    },
    /// A number no other use in the trial gets: `client * 2^40 + counter`.
    Unique {
        /// Which of the operation's unique numbers, for repetition 0.
        first: u16,
        /// Added per repetition of the step.
        stride: u16,
    },
    /// The current time as an integer, in units of this many nanoseconds.
    Now {
        /// 1,000,000,000 for seconds.
        unit_ns: u64,
    },
}

/// What happens after a failed attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// Attempts at most; 1 = never again.
    pub tries: u16,
    /// Wait before attempt k+1, in nanoseconds: entry k-1, or the last one.
    pub backoff_ns: Vec<u64>,
    /// Thousandths by which the waits are multiplied in turn; empty = always 1000.
    pub jitter_permille: Vec<u16>,
    /// The codes that are tried again.
    pub codes: Vec<(CodeSpace, u32)>,
}

/// Whether a client waits for its own previous operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loop {
    /// Due = end of the previous operation + pause.
    Closed,
    /// Due = offset from the start.
    Open,
}

/// One client and its operations.
#[derive(Debug, Clone, PartialEq)]
pub struct Client {
    /// Number of the client, unique in the trial.
    pub id: u32,
    /// Index into [`Head::databases`].
    pub database: u32,
    /// Closed or open loop.
    pub load: Loop,
    /// Begin again at the first operation after the last (closed loop only).
    pub cyclic: bool,
    /// Operations at most; 0 = no limit but the window.
    pub limit: u32,
    /// The client's first operation is due this long after the start.
    pub start_ns: u64,
    /// Its operations.
    pub operations: Vec<Operation>,
    /// The arguments of all its operations, one after the other.
    pub arguments: Vec<Value>,
}

/// One drawn operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// Closed loop: pause before it. Open loop: due time after the start. Nanoseconds.
    pub offset_ns: u64,
    /// Index into [`Head::transactions`].
    pub transaction: u16,
    /// Its arguments in [`Client::arguments`] start here.
    pub first_argument: u32,
    /// How many they are.
    pub arguments: u16,
}

impl Client {
    /// The arguments of one of the client's operations.
    pub fn arguments_of(&self, op: &Operation) -> &[Value] {
        &self.arguments[op.first_argument as usize..][..usize::from(op.arguments)]
    }

    /// Appends an operation.
    pub fn push(&mut self, offset_ns: u64, transaction: u16, arguments: impl IntoIterator<Item = Value>) {
        let first = self.arguments.len();
        self.arguments.extend(arguments);
        let count = self.arguments.len() - first;
        self.operations.push(Operation {
            offset_ns,
            transaction,
            first_argument: u32::try_from(first).expect("a client has fewer than 2^32 arguments"),
            arguments: u16::try_from(count).expect("an operation has at most 65535 arguments"),
        });
    }
}

impl Plan {
    /// The plan as text.
    pub fn encode(&self) -> String {
        let mut out = self.head.encode(self.clients.len());
        for client in &self.clients {
            client.encode_into(&mut out);
        }
        out.push_str("end\n");
        out
    }

    /// Reads a plan and checks that every reference in it leads somewhere.
    ///
    /// # Errors
    /// The line at fault, what is wrong with it, and for a newer version its number.
    pub fn decode(text: &str) -> Result<Self, FormatError> {
        Reader::new(text).plan()
    }
}

impl Head {
    /// The head as text, announcing `clients` clients; [`Client::encode_into`] and a line `end` complete
    /// a plan. Apart from [`Plan::encode`] so that drawn operations can be encoded once and reused.
    pub fn encode(&self, clients: usize) -> String {
        let mut out = format!("contend-plan {PLAN_VERSION}\n");
        let w = &self.window;
        let _ = writeln!(out, "worker\t{}", self.worker);
        let _ = writeln!(out, "driver\t{}\t{}", escape(&self.driver), escape(&self.model));
        let _ = writeln!(out, "window\t{}\t{}\t{}", w.run_in_ns, w.length_ns, w.drain_ns);
        match self.now {
            NowSource::Clock => out.push_str("now\tclock\n"),
            NowSource::Fixed { base_ns, step_ns } => {
                let _ = writeln!(out, "now\tfixed\t{base_ns}\t{step_ns}");
            }
        }
        for (key, value) in &self.options {
            let _ = writeln!(out, "option\t{}\t{}", escape(key), escape(value));
        }
        for database in &self.databases {
            let _ = writeln!(out, "database\t{}", escape(database));
        }
        for sql in &self.session {
            let _ = writeln!(out, "session\t{}", escape(sql));
        }
        for readback in &self.readbacks {
            let _ = writeln!(out, "readback\t{}\t{}", escape(&readback.name), escape(&readback.sql));
        }
        for (i, sql) in self.statements.iter().enumerate() {
            let _ = writeln!(out, "statement\t{i}\t{}", escape(sql));
        }
        for (i, text) in self.texts.iter().enumerate() {
            let _ = writeln!(out, "text\t{i}\t{}", escape(text));
        }
        for (i, transaction) in self.transactions.iter().enumerate() {
            transaction.encode_into(i, &mut out);
        }
        self.retry.encode_into(&mut out);
        let _ = writeln!(out, "clients\t{clients}");
        out
    }
}

impl Transaction {
    fn encode_into(&self, index: usize, out: &mut String) {
        let begin = self.begin.as_deref().map_or("-".to_string(), escape);
        let _ = writeln!(
            out,
            "transaction\t{index}\t{}\t{begin}\t{}\t{}\t{}",
            escape(&self.name),
            self.uniques,
            self.slots,
            self.steps.len()
        );
        for step in &self.steps {
            match step {
                Step::Sql(sql) => sql.encode_into(out),
                Step::Hold { ns } => {
                    let _ = writeln!(out, "step\thold\t{ns}");
                }
                Step::Pause { ns } => {
                    let _ = writeln!(out, "step\tpause\t{ns}");
                }
                Step::Connect => out.push_str("step\tconnect\n"),
            }
        }
    }
}

impl SqlStep {
    fn encode_into(&self, out: &mut String) {
        let max = if self.rows_max == ANY_ROWS { "*".to_string() } else { self.rows_max.to_string() };
        let _ = write!(out, "step\tsql\t{}\t{}..{max}\t{}\t", self.statement, self.rows_min, self.repeat);
        for (i, keep) in self.keep.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            let _ = write!(out, "{comma}{}:{}:{}", keep.slot, keep.column, keep.rows);
        }
        if self.keep.is_empty() {
            out.push('-');
        }
        for arg in &self.args {
            out.push('\t');
            arg.encode_into(out);
        }
        out.push('\n');
    }
}

impl Source {
    fn encode_into(&self, out: &mut String) {
        let _ = match self {
            Source::Literal(value) => {
                value.encode_into(out);
                Ok(())
            }
            Source::Argument { first, stride } => write!(out, "p{first}+{stride}"),
            Source::Kept { slot, plus } => write!(out, "k{slot}+{plus}"),
            Source::KeptRow { slot, row } => write!(out, "K{slot}+{row}"),
            Source::Unique { first, stride } => write!(out, "u{first}+{stride}"),
            Source::Now { unit_ns } => write!(out, "c{unit_ns}"),
        };
    }

    fn decode(field: &str) -> Result<Self, String> {
        let bad = || format!("`{}` is not the source of an argument", crate::crop(field));
        let Some(kind) = field.chars().next() else { return Err(bad()) };
        let rest = &field[kind.len_utf8()..];
        fn pair<A: std::str::FromStr, B: std::str::FromStr>(text: &str) -> Option<(A, B)> {
            let (a, b) = text.split_once('+')?;
            Some((a.parse().ok()?, b.parse().ok()?))
        }
        match kind {
            'p' => pair(rest).map(|(first, stride)| Source::Argument { first, stride }).ok_or_else(bad),
            'k' => pair(rest).map(|(slot, plus)| Source::Kept { slot, plus }).ok_or_else(bad),
            'K' => pair(rest).map(|(slot, row)| Source::KeptRow { slot, row }).ok_or_else(bad),
            'u' => pair(rest).map(|(first, stride)| Source::Unique { first, stride }).ok_or_else(bad),
            'c' => match rest.parse() {
                Ok(unit_ns) if unit_ns > 0 => Ok(Source::Now { unit_ns }),
                _ => Err(bad()),
            },
            _ => Value::decode(field).map(Source::Literal),
        }
    }
}

impl Retry {
    /// One attempt, whatever comes of it.
    pub fn never() -> Self {
        Self { tries: 1, backoff_ns: vec![], jitter_permille: vec![], codes: vec![] }
    }

    fn encode_into(&self, out: &mut String) {
        fn list<T: ToString>(items: &[T]) -> String {
            if items.is_empty() {
                return "-".to_string();
            }
            items.iter().map(T::to_string).collect::<Vec<_>>().join(",")
        }
        let codes: Vec<String> = self.codes.iter().map(|(space, code)| format!("{}:{code}", space.word())).collect();
        let _ = writeln!(
            out,
            "retry\t{}\t{}\t{}\t{}",
            self.tries,
            list(&self.backoff_ns),
            list(&self.jitter_permille),
            list(&codes)
        );
    }
}

impl Client {
    /// Appends the client and its operations as text.
    pub fn encode_into(&self, out: &mut String) {
        let load = match self.load {
            Loop::Closed => "closed",
            Loop::Open => "open",
        };
        let _ = writeln!(
            out,
            "client\t{}\t{}\t{load}\t{}\t{}\t{}\t{}",
            self.id,
            self.database,
            if self.cyclic { "cyclic" } else { "finite" },
            self.limit,
            self.start_ns,
            self.operations.len()
        );
        for op in &self.operations {
            let _ = write!(out, "op\t{}\t{}", op.offset_ns, op.transaction);
            for value in self.arguments_of(op) {
                out.push('\t');
                value.encode_into(out);
            }
            out.push('\n');
        }
    }
}

/// Reads the lines of a plan in their order, knowing which one it is at.
struct Reader<'a> {
    lines: std::iter::Peekable<std::str::Split<'a, char>>,
    at: usize,
}

/// The fields of one line after its kind.
struct Fields<'a> {
    line: usize,
    kind: &'static str,
    fields: std::str::Split<'a, char>,
}

impl<'a> Fields<'a> {
    fn error(&self, message: impl Into<String>) -> FormatError {
        FormatError::new("plan", self.line, message)
    }

    fn text(&mut self, what: &str) -> Result<&'a str, FormatError> {
        self.fields.next().ok_or_else(|| self.error(format!("a `{}` line without its {what}", self.kind)))
    }

    fn unescaped(&mut self, what: &str) -> Result<String, FormatError> {
        let field = self.text(what)?;
        unescape(field).map_err(|e| self.error(e))
    }

    fn number<T: std::str::FromStr>(&mut self, what: &str) -> Result<T, FormatError> {
        let field = self.text(what)?;
        field.parse().map_err(|_| self.error(format!("{what} `{}` is not a number that fits", crate::crop(field))))
    }

    fn end(mut self) -> Result<(), FormatError> {
        match self.fields.next() {
            None => Ok(()),
            Some(extra) => Err(self.error(format!("a field too many: `{}`", crate::crop(extra)))),
        }
    }
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        Self { lines: text.split('\n').peekable(), at: 0 }
    }

    fn error(&self, message: impl Into<String>) -> FormatError {
        FormatError::new("plan", self.at, message)
    }

    /// The next line if it is of this kind.
    fn next_if(&mut self, kind: &'static str) -> Option<Fields<'a>> {
        let line = self.lines.peek()?;
        let mut fields = line.split('\t');
        if fields.next() != Some(kind) {
            return None;
        }
        self.lines.next();
        self.at += 1;
        Some(Fields { line: self.at, kind, fields })
    }

    fn expect(&mut self, kind: &'static str) -> Result<Fields<'a>, FormatError> {
        match self.next_if(kind) {
            Some(fields) => Ok(fields),
            None => {
                let found = self.lines.peek().map_or("the end of the text", |line| *line);
                Err(FormatError::new(
                    "plan",
                    self.at + 1,
                    format!("expected a `{kind}` line, found `{}`", crate::crop(found)),
                ))
            }
        }
    }

    fn plan(mut self) -> Result<Plan, FormatError> {
        let first = self.lines.next().unwrap_or_default();
        self.at = 1;
        check_version("plan", "contend-plan", PLAN_VERSION, first)?;
        let head = self.head()?;
        let mut count = self.expect("clients")?;
        let clients = count.number::<usize>("count")?;
        count.end()?;
        let clients = (0..clients).map(|_| self.client(&head)).collect::<Result<Vec<_>, _>>()?;
        self.expect("end")?.end()?;
        match (self.lines.next(), self.lines.next()) {
            (Some(""), None) => {}
            (None, _) => return Err(self.error("cut off: the `end` line has no line end")),
            _ => return Err(self.error("text after the `end` line")),
        }
        Ok(Plan { head, clients })
    }

    fn head(&mut self) -> Result<Head, FormatError> {
        let mut f = self.expect("worker")?;
        let worker = f.number("number")?;
        f.end()?;
        let mut f = self.expect("driver")?;
        let (driver, model) = (f.unescaped("driver")?, f.unescaped("model")?);
        f.end()?;
        let mut f = self.expect("window")?;
        let window =
            Window { run_in_ns: f.number("run-in")?, length_ns: f.number("length")?, drain_ns: f.number("drain")? };
        f.end()?;
        let now = self.now()?;
        let mut options = vec![];
        while let Some(mut f) = self.next_if("option") {
            options.push((f.unescaped("name")?, f.unescaped("value")?));
            f.end()?;
        }
        let databases = self.texts("database", false)?;
        let session = self.texts("session", false)?;
        let mut readbacks = vec![];
        while let Some(mut f) = self.next_if("readback") {
            readbacks.push(Readback { name: f.unescaped("name")?, sql: f.unescaped("query")? });
            f.end()?;
        }
        let statements = self.texts("statement", true)?;
        let texts = self.texts("text", true)?;
        let mut transactions = vec![];
        while let Some(f) = self.next_if("transaction") {
            let transaction = self.transaction(f, transactions.len(), statements.len(), texts.len())?;
            transactions.push(transaction);
        }
        let retry = self.retry()?;
        Ok(Head {
            worker,
            window,
            now,
            driver,
            model,
            options,
            databases,
            session,
            readbacks,
            statements,
            texts,
            transactions,
            retry,
        })
    }

    fn now(&mut self) -> Result<NowSource, FormatError> {
        let mut f = self.expect("now")?;
        let now = match f.text("source")? {
            "clock" => NowSource::Clock,
            "fixed" => NowSource::Fixed { base_ns: f.number("base")?, step_ns: f.number("step")? },
            other => return Err(f.error(format!("`{other}` is not `clock` or `fixed`"))),
        };
        f.end()?;
        Ok(now)
    }

    /// All following lines of one kind that carry one text each.
    fn texts(&mut self, kind: &'static str, numbered: bool) -> Result<Vec<String>, FormatError> {
        let mut texts = vec![];
        while let Some(mut f) = self.next_if(kind) {
            if numbered {
                expect_index(&mut f, texts.len())?;
            }
            texts.push(f.unescaped("text")?);
            f.end()?;
        }
        Ok(texts)
    }

    fn transaction(
        &mut self,
        mut f: Fields<'a>,
        index: usize,
        statements: usize,
        texts: usize,
    ) -> Result<Transaction, FormatError> {
        expect_index(&mut f, index)?;
        let name = f.unescaped("name")?;
        let begin = match f.text("begin")? {
            "-" => None,
            sql => Some(unescape(sql).map_err(|e| f.error(e))?),
        };
        let uniques = f.number("count of unique numbers")?;
        let slots = f.number("count of slots")?;
        let count = f.number::<usize>("count of steps")?;
        f.end()?;
        let mut transaction = Transaction { name, begin, uniques, slots, steps: vec![] };
        for i in 0..count {
            let f = self.expect("step")?;
            let line = f.line;
            let step = step(f)?;
            check_step(&step, i, &transaction, statements, texts).map_err(|m| FormatError::new("plan", line, m))?;
            transaction.steps.push(step);
        }
        let needed = transaction.arguments_needed();
        if needed > usize::from(u16::MAX) {
            return Err(self.error(format!("`{}` takes {needed} arguments; 65535 are the most", transaction.name)));
        }
        Ok(transaction)
    }

    fn retry(&mut self) -> Result<Retry, FormatError> {
        let mut f = self.expect("retry")?;
        let tries: u16 = f.number("number of tries")?;
        if tries == 0 {
            return Err(f.error("the number of tries must be at least 1"));
        }
        let backoff_ns = list(&mut f, "back-off", |s| s.parse().ok())?;
        let jitter_permille = list(&mut f, "jitter", |s| s.parse().ok())?;
        let codes = list(&mut f, "codes", |s| {
            let (space, code) = s.split_once(':')?;
            Some((CodeSpace::from_word(space)?, code.parse().ok()?))
        })?;
        f.end()?;
        Ok(Retry { tries, backoff_ns, jitter_permille, codes })
    }

    fn client(&mut self, head: &Head) -> Result<Client, FormatError> {
        let mut f = self.expect("client")?;
        let id = f.number("number")?;
        let database = f.number("database")?;
        if database as usize >= head.databases.len() {
            return Err(f.error(format!("client {id} uses database {database}; the plan has {}", head.databases.len())));
        }
        let load = match f.text("loop")? {
            "closed" => Loop::Closed,
            "open" => Loop::Open,
            other => return Err(f.error(format!("`{other}` is not `closed` or `open`"))),
        };
        let cyclic = match f.text("cycle")? {
            "cyclic" => true,
            "finite" => false,
            other => return Err(f.error(format!("`{other}` is not `cyclic` or `finite`"))),
        };
        if cyclic && load == Loop::Open {
            return Err(f.error("an open loop cannot be cyclic: its due times are drawn in advance"));
        }
        let limit = f.number("limit")?;
        let start_ns = f.number("start")?;
        let count = f.number::<usize>("count of operations")?;
        f.end()?;
        let mut client = Client { id, database, load, cyclic, limit, start_ns, operations: vec![], arguments: vec![] };
        let mut previous_due = 0;
        for _ in 0..count {
            self.operation(&mut client, head)?;
            let offset = client.operations[client.operations.len() - 1].offset_ns;
            if load == Loop::Open && offset < previous_due {
                return Err(self.error("due times of an open loop must not go back"));
            }
            previous_due = offset;
        }
        Ok(client)
    }

    fn operation(&mut self, client: &mut Client, head: &Head) -> Result<(), FormatError> {
        let mut f = self.expect("op")?;
        let offset_ns = f.number("time")?;
        let transaction: u16 = f.number("transaction")?;
        let Some(t) = head.transactions.get(usize::from(transaction)) else {
            return Err(f.error(format!("transaction {transaction} is not in the plan")));
        };
        let (line, fields) = (f.line, f.fields);
        let fail = |message: String| FormatError::new("plan", line, message);
        let values = fields.map(Value::decode).collect::<Result<Vec<_>, _>>().map_err(fail)?;
        for value in &values {
            check_text(value, head.texts.len()).map_err(fail)?;
        }
        let needed = t.arguments_needed();
        if values.len() != needed {
            return Err(fail(format!("`{}` takes {needed} arguments, found {}", t.name, values.len())));
        }
        client.push(offset_ns, transaction, values);
        Ok(())
    }
}

fn expect_index(f: &mut Fields<'_>, index: usize) -> Result<(), FormatError> {
    let found: usize = f.number("number")?;
    if found == index { Ok(()) } else { Err(f.error(format!("expected number {index}, found {found}"))) }
}

fn list<T>(f: &mut Fields<'_>, what: &str, read: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, FormatError> {
    let field = f.text(what)?;
    if field == "-" {
        return Ok(vec![]);
    }
    field
        .split(',')
        .map(|item| read(item).ok_or_else(|| f.error(format!("`{}` in the list of {what}", crate::crop(item)))))
        .collect()
}

fn step(mut f: Fields<'_>) -> Result<Step, FormatError> {
    let step = match f.text("kind")? {
        "sql" => return sql_step(f),
        "hold" => Step::Hold { ns: f.number("length")? },
        "pause" => Step::Pause { ns: f.number("length")? },
        "connect" => Step::Connect,
        other => return Err(f.error(format!("`{other}` is not a kind of step this worker knows"))),
    };
    f.end()?;
    Ok(step)
}

fn sql_step(mut f: Fields<'_>) -> Result<Step, FormatError> {
    let statement = f.number("statement")?;
    let rows = f.text("rows")?;
    let parsed = rows.split_once("..").and_then(|(min, max)| {
        let max = if max == "*" { ANY_ROWS } else { max.parse().ok()? };
        Some((min.parse::<u32>().ok()?, max))
    });
    let Some((rows_min, rows_max)) = parsed.filter(|(min, max)| min <= max) else {
        return Err(f.error(format!("rows `{}` are not of the form MIN..MAX or MIN..*", crate::crop(rows))));
    };
    let repeat: u32 = f.number("repeat")?;
    if repeat == 0 {
        return Err(f.error("a step is repeated at least once"));
    }
    let keep = list(&mut f, "keep", |item| {
        let mut parts = item.split(':').map(|part| part.parse::<u16>().ok());
        let keep = Keep { slot: parts.next()??, column: parts.next()??, rows: parts.next()?? };
        (parts.next().is_none() && keep.rows > 0).then_some(keep)
    })?;
    let (line, fields) = (f.line, f.fields);
    let args =
        fields.map(Source::decode).collect::<Result<Vec<_>, _>>().map_err(|m| FormatError::new("plan", line, m))?;
    Ok(Step::Sql(SqlStep { statement, rows_min, rows_max, repeat, keep, args }))
}

fn check_text(value: &Value, texts: usize) -> Result<(), String> {
    match value {
        Value::TextRef(n) if *n as usize >= texts => Err(format!("text {n} is not in the plan")),
        _ => Ok(()),
    }
}

fn check_step(step: &Step, index: usize, t: &Transaction, statements: usize, texts: usize) -> Result<(), String> {
    let sql = match step {
        Step::Sql(sql) => sql,
        Step::Connect if index > 0 => return Err("`connect` must be the first step of a transaction".to_string()),
        Step::Connect | Step::Hold { .. } | Step::Pause { .. } => return Ok(()),
    };
    if sql.statement as usize >= statements {
        return Err(format!("statement {} is not in the plan", sql.statement));
    }
    let slot_error = |slot: u16| format!("slot {slot} is beyond the {} of `{}`", t.slots, t.name);
    if let Some(keep) = sql.keep.iter().find(|keep| keep.slot >= t.slots) {
        return Err(slot_error(keep.slot));
    }
    let last_repetition = sql.repeat as usize - 1;
    for arg in &sql.args {
        match arg {
            Source::Literal(value) => check_text(value, texts)?,
            Source::Kept { slot, .. } | Source::KeptRow { slot, .. } if *slot >= t.slots => {
                return Err(slot_error(*slot));
            }
            Source::Unique { first, stride }
                if usize::from(*first) + usize::from(*stride) * last_repetition >= usize::from(t.uniques) =>
            {
                return Err(format!("`{}` announces {} unique numbers, this step needs more", t.name, t.uniques));
            }
            _ => {}
        }
    }
    Ok(())
}

impl Transaction {
    /// How many arguments an operation of this transaction carries.
    pub fn arguments_needed(&self) -> usize {
        let sql_steps = self.steps.iter().filter_map(|step| match step {
            Step::Sql(sql) => Some(sql),
            _ => None,
        });
        let ends = sql_steps.flat_map(|sql| {
            sql.args.iter().filter_map(|arg| match arg {
                Source::Argument { first, stride } => {
                    Some(usize::from(*first) + usize::from(*stride) * (sql.repeat as usize - 1) + 1)
                }
                _ => None,
            })
        });
        ends.max().unwrap_or(0)
    }
}
