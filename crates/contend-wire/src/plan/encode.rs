//! Plans to text.

use super::http::{HttpStep, Request};
use super::{
    ANY_ROWS, Client, Connections, Head, Loop, NowSource, PLAN_VERSION, Retry, Source, SqlStep, Step, Transaction,
};
use crate::literal::escape;
use std::fmt::Write as _;

impl Head {
    /// The head as text, announcing `clients` clients; [`Client::encode_into`] and the line of
    /// [`crate::digest::Digest::end_line`] complete a plan. Apart from [`Plan::encode`] so that drawn operations can be encoded once and reused.
    pub fn encode(&self, clients: usize) -> String {
        let mut out = format!("contend-plan {PLAN_VERSION}\n");
        let w = &self.window;
        let _ = writeln!(out, "worker\t{}", self.worker);
        let _ = writeln!(out, "driver\t{}\t{}", escape(&self.driver), escape(&self.model));
        let connections = match self.connections {
            Connections::Client => "client",
            Connections::Database => "database",
        };
        let _ = writeln!(out, "connections\t{connections}");
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
            let _ = writeln!(out, "database\t{}", database.fields());
        }
        for statement in &self.session {
            let _ = writeln!(out, "session\t{}", statement.command_fields());
        }
        for readback in &self.readbacks {
            let _ = writeln!(out, "readback\t{}\t{}", escape(&readback.name), escape(&readback.sql));
        }
        for (i, statement) in self.statements.iter().enumerate() {
            let _ = writeln!(out, "statement\t{i}\t{}", statement.fields());
        }
        for (i, request) in self.requests.iter().enumerate() {
            request.encode_into(i, &mut out);
        }
        for (i, text) in self.texts.iter().enumerate() {
            let _ = writeln!(out, "text\t{i}\t{}", escape(text));
        }
        for (i, transaction) in self.transactions.iter().enumerate() {
            transaction.encode_into(i, &mut out);
        }
        if let Some(login) = self.login {
            let _ = writeln!(out, "login\t{login}");
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
            "transaction\t{index}\t{}\t{}\t{begin}\t{}\t{}\t{}",
            escape(&self.name),
            if self.writes { "write" } else { "read" },
            self.uniques,
            self.slots,
            self.steps.len()
        );
        for step in &self.steps {
            match step {
                Step::Sql(sql) => sql.encode_into(out),
                Step::Http(http) => http.encode_into(out),
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

/// Bounds as `MIN..MAX`, or `MIN..*` without a most.
fn rows_into(out: &mut String, min: u32, max: u32) {
    let _ = match max {
        ANY_ROWS => write!(out, "{min}..*"),
        max => write!(out, "{min}..{max}"),
    };
}

fn sources_into(out: &mut String, sources: &[Source]) {
    for source in sources {
        out.push('\t');
        source.encode_into(out);
    }
    out.push('\n');
}

impl Request {
    fn encode_into(&self, index: usize, out: &mut String) {
        let body = self.body.as_deref().map_or("-".to_string(), escape);
        let _ = writeln!(out, "request\t{index}\t{}\t{}\t{body}", escape(&self.method), escape(&self.target));
        for (name, value) in &self.headers {
            let _ = writeln!(out, "header\t{index}\t{}\t{}", escape(name), escape(value));
        }
    }
}

impl HttpStep {
    fn encode_into(&self, out: &mut String) {
        let _ = write!(out, "step\thttp\t{}\t", self.request);
        let expected = self.status.iter().map(|range| ("", range));
        for (i, (sign, (first, last))) in expected.chain(self.refused.iter().map(|range| ("!", range))).enumerate() {
            let comma = if i == 0 { "" } else { "," };
            let _ = write!(out, "{comma}{sign}{first}");
            let _ = if first == last { Ok(()) } else { write!(out, "-{last}") };
        }
        out.push('\t');
        match &self.count {
            None => out.push('-'),
            Some(count) => {
                let _ = write!(out, "{}=", escape(&count.pointer));
                rows_into(out, count.rows_min, count.rows_max);
            }
        }
        out.push('\t');
        for (i, keep) in self.keep.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            let _ = write!(out, "{comma}{}:{}:{}", keep.slot, keep.rows, escape(&keep.pointer));
        }
        if self.keep.is_empty() {
            out.push('-');
        }
        sources_into(out, &self.args);
    }
}

impl SqlStep {
    fn encode_into(&self, out: &mut String) {
        let _ = write!(out, "step\tsql\t{}\t", self.statement);
        rows_into(out, self.rows_min, self.rows_max);
        let _ = write!(out, "\t{}\t", self.repeat);
        for (i, keep) in self.keep.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            let _ = write!(out, "{comma}{}:{}:{}", keep.slot, keep.column, keep.rows);
        }
        if self.keep.is_empty() {
            out.push('-');
        }
        sources_into(out, &self.args);
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
            Source::Session { slot } => write!(out, "s{slot}"),
            Source::Now { unit_ns } => write!(out, "c{unit_ns}"),
        };
    }
}

impl Retry {
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
