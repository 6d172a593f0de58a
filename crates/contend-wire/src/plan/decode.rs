//! Text to plans, with every reference checked.

mod http;
mod reader;

use super::check::{Known, check_step, check_text, check_transaction};
use super::{
    Client, Connections, Head, Keep, Loop, NowSource, PLAN_VERSION, Plan, Readback, Retry, SqlStep, Step, Transaction,
    Window,
};
use crate::database::Database;
use crate::digest;
use crate::literal::{Value, unescape};
use crate::sample::CodeSpace;
use crate::statement::Statement;
use crate::{FormatError, check_version};
use reader::{Fields, Reader, bounds, expect_index, list, sources};

/// Reads a whole plan.
pub(super) fn plan(text: &str) -> Result<Plan, FormatError> {
    let first = text.split('\n').next().unwrap_or_default();
    check_version("plan", "contend-plan", PLAN_VERSION, first)?;
    Reader::new(digest::open("plan", text)?).plan()
}

impl<'a> Reader<'a> {
    fn plan(mut self) -> Result<Plan, FormatError> {
        self.lines.next();
        self.at = 1;
        let head = self.head()?;
        let mut count = self.expect("clients")?;
        let clients = count.number::<usize>("count")?;
        count.end()?;
        let clients = (0..clients).map(|_| self.client(&head)).collect::<Result<Vec<_>, _>>()?;
        match (self.lines.next(), self.lines.next()) {
            (Some(""), None) => {}
            _ => return Err(FormatError::new("plan", self.at + 1, "expected the `end` line")),
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
        let connections = self.connections()?;
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
        let databases = self.databases()?;
        let session = self.session()?;
        let mut readbacks = vec![];
        while let Some(mut f) = self.next_if("readback") {
            readbacks.push(Readback { name: f.unescaped("name")?, sql: f.unescaped("query")? });
            f.end()?;
        }
        let statements = self.statements()?;
        let requests = http::requests(self)?;
        let texts = self.texts()?;
        let mut transactions = vec![];
        let known = Known { statements: &statements, requests: &requests, texts: texts.len() };
        while let Some(f) = self.next_if("transaction") {
            let transaction = self.transaction(f, transactions.len(), known)?;
            transactions.push(transaction);
        }
        let login = http::login(self, &transactions)?;
        let retry = self.retry()?;
        Ok(Head {
            worker,
            window,
            now,
            driver,
            model,
            connections,
            options,
            databases,
            session,
            readbacks,
            statements,
            requests,
            texts,
            transactions,
            login,
            retry,
        })
    }

    fn connections(&mut self) -> Result<Connections, FormatError> {
        let mut f = self.expect("connections")?;
        let connections = match f.text("way of sharing")? {
            "client" => Connections::Client,
            "database" => Connections::Database,
            other => return Err(f.error(format!("`{}` is not `client` or `database`", crate::crop(other)))),
        };
        f.end()?;
        Ok(connections)
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

    fn databases(&mut self) -> Result<Vec<Database>, FormatError> {
        let mut databases = vec![];
        while let Some(f) = self.next_if("database") {
            let line = f.line;
            databases.push(Database::decode(f.fields).map_err(|m| FormatError::new("plan", line, m))?);
        }
        Ok(databases)
    }

    fn session(&mut self) -> Result<Vec<Statement>, FormatError> {
        let mut session = vec![];
        while let Some(mut f) = self.next_if("session") {
            let fields = [f.text("effect")?, f.text("text")?];
            session.push(Statement::command(fields).map_err(|m| f.error(m))?);
            f.end()?;
        }
        Ok(session)
    }

    fn statements(&mut self) -> Result<Vec<Statement>, FormatError> {
        let mut statements = vec![];
        while let Some(mut f) = self.next_if("statement") {
            expect_index(&mut f, statements.len())?;
            let fields = [f.text("effect")?, f.text("placeholders")?, f.text("text")?];
            statements.push(Statement::decode(fields).map_err(|m| f.error(m))?);
            f.end()?;
        }
        Ok(statements)
    }

    fn texts(&mut self) -> Result<Vec<String>, FormatError> {
        let mut texts = vec![];
        while let Some(mut f) = self.next_if("text") {
            expect_index(&mut f, texts.len())?;
            texts.push(f.unescaped("text")?);
            f.end()?;
        }
        Ok(texts)
    }

    fn transaction(&mut self, mut f: Fields<'a>, index: usize, known: Known<'_>) -> Result<Transaction, FormatError> {
        expect_index(&mut f, index)?;
        let name = f.unescaped("name")?;
        let writes = match f.text("kind")? {
            "read" => false,
            "write" => true,
            other => return Err(f.error(format!("`{}` is not `read` or `write`", crate::crop(other)))),
        };
        let begin = match f.text("begin")? {
            "-" => None,
            sql => Some(unescape(sql).map_err(|e| f.error(e))?),
        };
        let uniques = f.number("count of unique numbers")?;
        let slots = f.number("count of slots")?;
        let count = f.number::<usize>("count of steps")?;
        f.end()?;
        let mut transaction = Transaction { name, writes, begin, uniques, slots, steps: vec![] };
        for i in 0..count {
            let f = self.expect("step")?;
            let line = f.line;
            let step = step(f)?;
            check_step(&step, i, &transaction, known).map_err(|m| FormatError::new("plan", line, m))?;
            http::note_session_use(self, line, &step);
            transaction.steps.push(step);
        }
        check_transaction(&transaction).map_err(|m| self.error(m))?;
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

fn step(mut f: Fields<'_>) -> Result<Step, FormatError> {
    let step = match f.text("kind")? {
        "sql" => return sql_step(f),
        "http" => return http::step(f),
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
    let Some((rows_min, rows_max)) = bounds(rows) else {
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
    let args = sources(f)?;
    Ok(Step::Sql(SqlStep { statement, rows_min, rows_max, repeat, keep, args }))
}
