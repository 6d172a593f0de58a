//! Plans to text.

use super::{
    ANY_ROWS, Client, Connections, Head, Loop, NowSource, PLAN_VERSION, Retry, Source, SqlStep, Step, Transaction,
};
use crate::literal::escape;
use std::fmt::Write as _;

impl Head {
    /// The head as text, announcing `clients` clients; [`Client::encode_into`] and a line `end` complete
    /// a plan. Apart from [`Plan::encode`] so that drawn operations can be encoded once and reused.
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
