//! PostgreSQL: the messages of a batch are pipelined.

use super::message::{Cancel, Kind, Message, Reply, Said, Server, Trouble};
use crate::value::Value;
use futures_util::StreamExt;
use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio_postgres::types::Type;
use tokio_postgres::{CancelToken, Client, Config, NoTls, RowStream, Statement};

/// A statement is prepared at its third use, because preparing takes its own round trip.
const PREPARED_FROM: u32 = 3;
/// Most texts whose uses are counted.
const TEXTS_MAX: usize = 2_000;

type Waiting<'m> = Pin<Box<dyn Future<Output = Result<Reply, Trouble>> + Send + 'm>>;

pub struct Postgres {
    /// Dropped first: the end of the client ends the connection's task.
    client: Client,
    runtime: Runtime,
    task: tokio::task::JoinHandle<()>,
    prepared: HashMap<String, Known>,
    /// Whether texts that are used often are prepared.
    prepares: bool,
    round_trips: u64,
}

enum Known {
    Used(u32),
    Prepared(Statement),
}

impl Postgres {
    /// # Errors
    /// The server cannot be reached, or reports an error.
    pub fn connect(config: &Config, prepares: bool, within: Duration) -> Result<Postgres, Trouble> {
        let lost = |error: std::io::Error| Trouble::Lost(error.to_string());
        let runtime = Builder::new_current_thread().enable_all().build().map_err(lost)?;
        let mut config = config.clone();
        config.connect_timeout(within);
        let (client, connection) = wait(&runtime, config.connect(NoTls)).map_err(|error| trouble(&error))?;
        let task = runtime.spawn(async move { drop(connection.await) });
        Ok(Postgres { client, runtime, task, prepared: HashMap::new(), prepares, round_trips: 1 })
    }

    /// Whether a text should be prepared.
    fn is_due(&self, sql: &str) -> bool {
        matches!(self.prepared.get(sql), Some(Known::Used(times)) if *times >= PREPARED_FROM)
    }

    /// Counts a use of a text.
    fn count(&mut self, message: &Message) {
        let Message::Query { sql, .. } = message else { return };
        match self.prepared.get_mut(sql) {
            Some(Known::Prepared(_)) => {}
            Some(Known::Used(times)) => *times += 1,
            None => {
                if self.prepared.len() >= TEXTS_MAX {
                    self.prepared.clear();
                }
                self.prepared.insert(sql.clone(), Known::Used(1));
            }
        }
    }

    /// Sends the messages and then the text to prepare. Adds the answers, and returns the prepared statement.
    fn send(
        &mut self,
        messages: &[Message],
        due: Option<&str>,
        answers: &mut Vec<Result<Reply, Trouble>>,
    ) -> Option<Result<Statement, Trouble>> {
        self.round_trips += 1;
        let (client, known) = (&self.client, &self.prepared);
        let mut waiting: Vec<Waiting<'_>> =
            messages.iter().map(|message| Box::pin(answer(client, known, message)) as _).collect();
        let mut results: Vec<Option<Result<Reply, Trouble>>> = waiting.iter().map(|_| None).collect();
        let mut preparing = due.map(|sql| Box::pin(client.prepare(sql)));
        let mut prepared = None;
        // The first poll of each future sends it.
        let sent = poll_fn(|context| {
            for (answer, result) in waiting.iter_mut().zip(&mut results).filter(|(_, result)| result.is_none()) {
                if let Poll::Ready(done) = answer.as_mut().poll(context) {
                    *result = Some(done);
                }
            }
            if let (Some(preparing), None) = (&mut preparing, &prepared)
                && let Poll::Ready(done) = preparing.as_mut().poll(context)
            {
                prepared = Some(done.map_err(|error| trouble(&error)));
            }
            let is_done = results.iter().all(Option::is_some) && prepared.is_some() == preparing.is_some();
            if is_done { Poll::Ready(()) } else { Poll::Pending }
        });
        wait(&self.runtime, sent);
        drop(waiting);
        answers.extend(results.into_iter().flatten());
        prepared
    }
}

impl Server for Postgres {
    fn canceller(&self) -> Cancel {
        let token = self.client.cancel_token();
        Arc::new(move || cancel(&token))
    }

    fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    fn forget(&mut self) {
        self.prepared.clear();
    }

    fn round_trips(&self) -> u64 {
        self.round_trips
    }

    /// Sends all messages and waits for all answers in one round trip, plus one to prepare a statement. After an
    /// error there are no further answers.
    fn exchange(&mut self, messages: &[Message]) -> Vec<Result<Reply, Trouble>> {
        if self.prepares {
            messages.iter().for_each(|message| self.count(message));
        }
        let (mut answers, mut rest) = (vec![], messages);
        loop {
            let is_due = |message: &Message| matches!(message, Message::Query { sql, .. } if self.is_due(sql));
            let (now, later) = rest.split_at(rest.iter().position(is_due).unwrap_or(rest.len()));
            let due = later.first().and_then(|message| match message {
                Message::Query { sql, .. } => Some(sql.as_str()),
                Message::Plain(_) => None,
            });
            let prepared = self.send(now, due, &mut answers);
            let (Some(sql), true) = (due, answers.iter().all(Result::is_ok)) else { return answers };
            match prepared {
                Some(Ok(statement)) => drop(self.prepared.insert(sql.to_string(), Known::Prepared(statement))),
                Some(Err(trouble)) => {
                    answers.push(Err(trouble));
                    return answers;
                }
                None => return answers,
            }
            rest = later;
        }
    }

    fn close(self: Box<Self>) {
        let Postgres { client, runtime, task, .. } = *self;
        drop(client);
        // Waits for the closing message. If the server does not accept it, nothing is lost.
        let _ = wait(&runtime, async { tokio::time::timeout(Duration::from_secs(1), task).await });
    }
}

/// Waits for a future. A program may call SQLite in destructors that run after those of the thread's variables, which tokio
/// needs: then another thread waits.
fn wait<F: Future<Output: Send> + Send>(runtime: &Runtime, future: F) -> F::Output {
    if !Handle::try_current().is_err_and(|error| error.is_thread_local_destroyed()) {
        return runtime.block_on(future);
    }
    let waited = std::thread::scope(|scope| scope.spawn(|| runtime.block_on(future)).join());
    waited.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn cancel(token: &CancelToken) {
    let token = token.clone();
    // In another thread: a signal handler may call this while this thread waits for the server, and runtimes cannot
    // be nested.
    let asked = std::thread::Builder::new().spawn(move || {
        if let Ok(runtime) = Builder::new_current_thread().enable_all().build() {
            let _ = runtime.block_on(token.cancel_query(NoTls));
        }
    });
    if let Ok(thread) = asked {
        let _ = thread.join();
    }
}

async fn answer(client: &Client, prepared: &HashMap<String, Known>, message: &Message) -> Result<Reply, Trouble> {
    let stream = match message {
        Message::Plain(sql) => {
            client.batch_execute(sql).await.map_err(|error| trouble(&error))?;
            return Ok(Reply::default());
        }
        Message::Query { sql, values } => match prepared.get(sql) {
            Some(Known::Prepared(statement)) => client.query_raw(statement, values).await,
            _ => client.query_typed_raw(sql, values.iter().map(|value| (value, Type::UNKNOWN))).await,
        },
    };
    rows(stream.map_err(|error| trouble(&error))?).await
}

async fn rows(stream: RowStream) -> Result<Reply, Trouble> {
    let mut stream = pin!(stream);
    let mut rows = vec![];
    while let Some(row) = stream.next().await {
        let row = row.map_err(|error| trouble(&error))?;
        let values: Result<Vec<Value>, _> = (0..row.len()).map(|i| row.try_get(i)).collect();
        rows.push(values.map_err(|error| trouble(&error))?);
    }
    let count = stream.rows_affected().unwrap_or(rows.len() as u64);
    Ok(Reply { rows, count })
}

fn trouble(error: &tokio_postgres::Error) -> Trouble {
    use std::error::Error as _;
    if let Some(said) = error.as_db_error() {
        let text = |field: Option<&str>| field.map(str::to_string);
        let state = said.code().code().to_string();
        // The server is shutting down, or ended this connection.
        if state.starts_with("57P") || state.starts_with("08") {
            return Trouble::Lost(said.message().to_string());
        }
        return Trouble::Server(Box::new(Said {
            kind: kind(&state, said.message()),
            code: state,
            message: said.message().to_string(),
            table: text(said.table()),
            column: text(said.column()),
            constraint: text(said.constraint()),
        }));
    }
    let words = match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    };
    let io = error.source().is_some_and(|source| source.is::<std::io::Error>());
    if error.is_closed() || io || words.contains("connect") { Trouble::Lost(words) } else { Trouble::Value(words) }
}

fn kind(state: &str, message: &str) -> Kind {
    match state {
        "23505" => Kind::Unique,
        "23502" => Kind::NotNull,
        "23514" => Kind::Check,
        "23503" => Kind::ForeignKey,
        "23T01" => Kind::Raised,
        "55P03" => Kind::Locked,
        "40001" | "40P01" => Kind::Conflict,
        "25P02" => Kind::Follows,
        "57014" => Kind::Interrupted,
        "22021" => Kind::BadText,
        "54000" | "22001" => Kind::TooBig,
        "22003" if message.contains("bigint") => Kind::Overflow,
        "42P01" if message.contains("_contend_v") => Kind::Outdated,
        _ => Kind::Other,
    }
}
