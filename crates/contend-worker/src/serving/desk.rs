//! Turns requests into operations of the plan and outcomes into answers, and counts both.

use crate::answer::{JsonRows, quote};
use crate::arguments::Asked;
use crate::control::Control;
use crate::failure::Failure;
use anyhow::{Result, ensure};
use contend_wire::literal::Value;
use contend_wire::plan::{Plan, Step};
use contend_wire::sample::{CodeSpace, code_to_sqlstate, worker_code};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// The header that carries the engine's own code.
pub const CODE_HEADER: &str = "contend-code";

/// Option of a plan: the secret that every request must carry. Without the option every request is answered.
pub const SECRET: &str = "secret";
/// Header of requests with the secret.
pub const SECRET_HEADER: &str = "contend-secret";

/// An answer.
pub type Answered = Response<Full<Bytes>>;

/// The plan of a serving worker, with its counts.
pub struct Desk {
    /// The plan whose transactions are served.
    pub plan: Arc<Plan>,
    /// Ends waits when the server is stopped.
    pub control: Arc<Control>,
    /// Transactions by name.
    routes: HashMap<String, u16>,
    next_number: AtomicU32,
    secret: Option<String>,
    requests: AtomicU64,
    failed: AtomicU64,
    opened: AtomicU64,
}

/// Why a request cannot be carried out.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused {
    status: StatusCode,
    words: String,
    /// Whether it does not come from the run's clients and is not counted.
    foreign: bool,
}

fn refused(status: StatusCode, words: impl Into<String>) -> Refused {
    Refused { status, words: words.into(), foreign: false }
}

impl Desk {
    /// For a plan with one database.
    ///
    /// # Errors
    /// It has another number of databases, or clients or an option that a serving worker does not use.
    pub fn new(plan: Plan, secret: Option<String>) -> Result<Arc<Self>> {
        let databases = plan.head.databases.len();
        ensure!(databases == 1, "a server serves one database, the plan has {databases}");
        ensure!(plan.clients.is_empty(), "the clients of a server are outside; the plan has {}", plan.clients.len());
        let memory = plan.head.options.iter().any(|(name, value)| name == "storage" && value == "memory");
        ensure!(
            !(memory && plan.head.model == "thread"),
            "option storage: model thread opens a connection for each HTTP connection, and data in memory has one"
        );
        let routes = plan.head.transactions.iter().zip(0..).map(|(t, number)| (t.name.clone(), number)).collect();
        let control = Arc::new(Control::new(plan.head.window.drain_ns));
        Ok(Arc::new(Self {
            plan: Arc::new(plan),
            control,
            routes,
            next_number: AtomicU32::new(0),
            secret,
            requests: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            opened: AtomicU64::new(0),
        }))
    }

    /// Counts a database connection that was opened for a request.
    pub fn note_opened(&self) {
        self.opened.fetch_add(1, Relaxed);
    }

    /// Numbers of answered requests, of those that failed or were refused, and of connections opened for them.
    pub fn counts(&self) -> (u64, u64, u64) {
        (self.requests.load(Relaxed), self.failed.load(Relaxed), self.opened.load(Relaxed))
    }

    /// The operation of a request.
    ///
    /// # Errors
    /// Why the request cannot be carried out.
    pub fn read<B>(&self, request: &Request<B>) -> Result<Asked, Refused> {
        let (method, uri) = (request.method(), request.uri());
        if !self.is_of_the_run(request) {
            let words = format!("the header {SECRET_HEADER} of this run is missing");
            return Err(Refused { foreign: true, ..refused(StatusCode::FORBIDDEN, words) });
        }
        if method != Method::GET {
            return Err(refused(StatusCode::METHOD_NOT_ALLOWED, "only GET is answered"));
        }
        let bad = |words: String| refused(StatusCode::BAD_REQUEST, words);
        let name = unescape(uri.path().strip_prefix('/').unwrap_or_default()).map_err(bad)?;
        let Some(&transaction) = self.routes.get(&name) else {
            return Err(refused(StatusCode::NOT_FOUND, format!("the plan has no transaction `{name}`")));
        };
        let of_plan = &self.plan.head.transactions[usize::from(transaction)];
        let (mut drawn, mut uniques) = (vec![], vec![]);
        for pair in uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').ok_or_else(|| bad(format!("`{pair}` is not KEY=VALUE")))?;
            let list = match key.as_bytes().first() {
                Some(b'p') => &mut drawn,
                Some(b'u') => &mut uniques,
                _ => return Err(bad(format!("`{key}` is neither p0, p1, ... nor u0, u1, ..."))),
            };
            if key[1..] != list.len().to_string() {
                return Err(bad(format!("`{key}` where number {} was expected", list.len())));
            }
            let value = Value::decode(&unescape(value).map_err(bad)?).map_err(bad)?;
            if matches!(value, Value::TextRef(_)) {
                return Err(bad(format!("`{key}`: a text number means nothing here; send the text")));
            }
            list.push(value);
        }
        let needed = [of_plan.arguments_needed(), usize::from(of_plan.uniques)];
        let found = [drawn.len(), uniques.len()];
        if needed != found {
            return Err(bad(format!(
                "`{name}` takes {} arguments and {} unique numbers, found {} and {}",
                needed[0], needed[1], found[0], found[1]
            )));
        }
        let first_unique = in_a_row(&uniques).map_err(bad)?;
        Ok(Asked { transaction, drawn, first_unique, number: self.next_number.fetch_add(1, Relaxed) })
    }

    /// The answer for the outcome of an operation.
    pub fn answer(&self, transaction: u16, outcome: Result<JsonRows, Failure>) -> Answered {
        self.requests.fetch_add(1, Relaxed);
        let body = outcome.and_then(|rows| rows.finish().ok_or(Failure::worker(worker_code::VALUE)));
        match body {
            Ok(body) => json(StatusCode::OK, body),
            Err(failure) => {
                self.failed.fetch_add(1, Relaxed);
                let code = code_in_words(failure);
                let name = &self.plan.head.transactions[usize::from(transaction)].name;
                let mut answer = error(StatusCode::INTERNAL_SERVER_ERROR, &format!("{name} failed with {code}"));
                if let Ok(code) = HeaderValue::from_str(&code) {
                    answer.headers_mut().insert(CODE_HEADER, code);
                }
                answer
            }
        }
    }

    /// The answer to a request that cannot be carried out.
    pub fn refuse(&self, refused: &Refused) -> Answered {
        let counted = u64::from(!refused.foreign);
        self.requests.fetch_add(counted, Relaxed);
        self.failed.fetch_add(counted, Relaxed);
        refusal(refused)
    }

    /// Whether a request carries the secret: every user of the machine can connect to the port.
    fn is_of_the_run<B>(&self, request: &Request<B>) -> bool {
        let Some(secret) = &self.secret else { return true };
        let brought = request.headers().get(SECRET_HEADER).map_or(&[][..], HeaderValue::as_bytes);
        // Takes equally long for every wrong secret.
        let differing = brought.iter().zip(secret.as_bytes()).fold(0, |all, (a, b)| all | (a ^ b));
        brought.len() == secret.len() && differing == 0
    }

    /// Whether a transaction begins with a new connection.
    pub fn connects(&self, transaction: u16) -> bool {
        matches!(self.plan.head.transactions[usize::from(transaction)].steps.first(), Some(Step::Connect))
    }
}

fn refusal(refused: &Refused) -> Answered {
    let mut answer = error(refused.status, &refused.words);
    if refused.status == StatusCode::METHOD_NOT_ALLOWED {
        answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET"));
    }
    answer
}

fn error(status: StatusCode, words: &str) -> Answered {
    let mut body = b"{\"error\":".to_vec();
    quote(&mut body, words);
    body.push(b'}');
    json(status, body)
}

fn json(status: StatusCode, body: Vec<u8>) -> Answered {
    let mut answer = Response::new(Full::new(Bytes::from(body)));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

/// `SPACE:CODE`, the code as its engine writes it.
fn code_in_words(failure: Failure) -> String {
    match failure.space {
        CodeSpace::Sqlstate => format!("{}:{}", failure.space.word(), code_to_sqlstate(failure.code)),
        space => format!("{}:{}", space.word(), failure.code),
    }
}

/// The first of consecutive unique numbers.
fn in_a_row(uniques: &[Value]) -> Result<i64, String> {
    let mut numbers = vec![];
    for (i, value) in uniques.iter().enumerate() {
        let Value::Integer(number) = value else { return Err(format!("`u{i}` is not an integer")) };
        numbers.push(*number);
    }
    if numbers.windows(2).any(|pair| pair[0].checked_add(1) != Some(pair[1])) {
        return Err("unique numbers must follow one another".to_string());
    }
    Ok(numbers.first().copied().unwrap_or(0))
}

/// Decodes a percent-encoded text.
fn unescape(text: &str) -> Result<String, String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if byte == b'%' {
            let digits = bytes.get(at + 1..at + 3).and_then(|two| std::str::from_utf8(two).ok());
            let decoded = digits.filter(|two| !two.starts_with('+')).and_then(|two| u8::from_str_radix(two, 16).ok());
            out.push(decoded.ok_or_else(|| format!("`{text}`: % must be followed by two hexadecimal digits"))?);
            at += 3;
        } else {
            out.push(byte);
            at += 1;
        }
    }
    String::from_utf8(out).map_err(|_| format!("`{text}` is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use contend_wire::digest::sealed;

    const PLAN: &str = "contend-plan 3\nworker\t0\ndriver\tnull\tthread\nconnections\tclient\nwindow\t0\t0\t0\n\
        now\tclock\ndatabase\tfile\tnowhere\nstatement\t0\tchanges\t22,25,28\tINSERT INTO t VALUES (?, ?, ?)\n\
        transaction\t0\tadd one\twrite\t-\t2\t0\t1\nstep\tsql\t0\t1..1\t1\t-\tu0+0\tu1+0\tp0+0\n\
        retry\t1\t-\t-\t-\nclients\t0\nend\n";

    fn desk() -> Arc<Desk> {
        Desk::new(Plan::decode(&sealed(PLAN)).unwrap(), None).unwrap()
    }

    fn read(target: &str) -> Result<Asked, Refused> {
        desk().read(&Request::get(target).body(()).unwrap())
    }

    #[test]
    fn a_request_is_an_operation() {
        let asked = read("/add%20one?p0=tx%26y%3D%25%C3%A9&u0=i5&u1=i6").unwrap();
        assert_eq!((asked.transaction, asked.first_unique), (0, 5));
        assert_eq!(asked.drawn, [Value::Text("x&y=%é".to_string())]);
    }

    #[test]
    fn what_cannot_be_carried_out_is_refused_with_the_reason() {
        for (target, status, words) in [
            ("/other?p0=i1&u0=i1&u1=i2", 404, "no transaction `other`"),
            ("/add%20one?u0=i1&u1=i2", 400, "takes 1 arguments and 2 unique numbers, found 0 and 2"),
            ("/add%20one?p0=i1&p1=i1&u0=i1&u1=i2", 400, "found 2 and 2"),
            ("/add%20one?p1=i1&u0=i1&u1=i2", 400, "`p1` where number 0"),
            ("/add%20one?p0=7&u0=i1&u1=i2", 400, "is not a value"),
            ("/add%20one?p0=T0&u0=i1&u1=i2", 400, "text number"),
            ("/add%20one?p0=i1&u0=i1&u1=i3", 400, "follow one another"),
            ("/add%20one?p0=i1&u0=n&u1=i3", 400, "`u0` is not an integer"),
            ("/add%20one?q=1", 400, "neither p0"),
            ("/add%20one?p0", 400, "not KEY=VALUE"),
            ("/add%2", 400, "two hexadecimal digits"),
            ("/%ff", 400, "not UTF-8"),
        ] {
            let found = read(target).unwrap_err();
            assert_eq!(found.status.as_u16(), status, "{target}");
            assert!(found.words.contains(words), "{target}: {}", found.words);
        }
        let post = Request::post("/add%20one").body(()).unwrap();
        assert_eq!(desk().read(&post).unwrap_err().status.as_u16(), 405);
    }

    #[test]
    fn only_clients_of_the_run_are_answered_and_counted() {
        let plan = Plan::decode(&sealed(PLAN)).unwrap();
        let desk = Desk::new(plan, Some("0123456789abcdef".to_string())).unwrap();
        let ask = |secret: Option<&str>| {
            let request = Request::get("/add%20one?p0=i1&u0=i5&u1=i6");
            let request = secret.iter().fold(request, |request, secret| request.header(SECRET_HEADER, *secret));
            desk.read(&request.body(()).unwrap())
        };
        assert!(ask(Some("0123456789abcdef")).is_ok());
        for secret in [None, Some(""), Some("0123456789abcdeF"), Some("0123456789abcde"), Some("0123456789abcdef0")] {
            let refused = ask(secret).unwrap_err();
            assert_eq!(refused.status.as_u16(), 403, "{secret:?}");
            assert_eq!(desk.refuse(&refused).status().as_u16(), 403);
        }
        assert_eq!(desk.counts(), (0, 0, 0));
    }

    #[test]
    fn failures_carry_the_engines_own_code() {
        let desk = desk();
        for (space, code, header) in [
            (CodeSpace::Sqlite, 517, "sqlite:517"),
            (CodeSpace::Sqlstate, 6_718_465, "sqlstate:40001"),
            (CodeSpace::Worker, 1, "worker:1"),
        ] {
            let answer = desk.answer(0, Err(Failure { space, code }));
            assert_eq!(answer.status().as_u16(), 500);
            assert_eq!(answer.headers()[CODE_HEADER], header);
        }
        assert_eq!(desk.answer(0, Ok(JsonRows::default())).status().as_u16(), 200);
        assert_eq!(desk.counts(), (4, 3, 0));
    }
}
