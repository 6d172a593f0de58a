//! Plans, scripts, samples and lines of the handshake, drawn at random.

use super::*;

pub fn text() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[ -~]{0,12}", 1 => "[\\\\\t\n\r\0ntr0]{0,8}", 1 => any::<String>()]
}

/// A text that is not empty and not the sign for none.
pub fn word() -> impl Strategy<Value = String> {
    text().prop_map(|text| format!("w{text}"))
}

/// Values of a plan with `texts` texts; of a script with none.
pub fn value(texts: u32) -> impl Strategy<Value = Value> {
    let of_text = if texts == 0 { Just(Value::Null).boxed() } else { (0..texts).prop_map(Value::TextRef).boxed() };
    prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::Integer),
        any::<f64>().prop_filter("finite", |r| r.is_finite()).prop_map(Value::Real),
        text().prop_map(Value::Text),
        vec(any::<u8>(), 0..20).prop_map(Value::Blob),
        of_text,
    ]
}

pub const STATEMENTS: u32 = 3;
pub const TEXTS: u32 = 2;
pub const SLOTS: u16 = 3;
pub const UNIQUES: u16 = 40;

pub fn source() -> impl Strategy<Value = Source> {
    prop_oneof![
        value(TEXTS).prop_map(Source::Literal),
        (0..6u16, 0..4u16).prop_map(|(first, stride)| Source::Argument { first, stride }),
        (0..SLOTS, any::<i64>()).prop_map(|(slot, plus)| Source::Kept { slot, plus }),
        (0..SLOTS, any::<u16>()).prop_map(|(slot, row)| Source::KeptRow { slot, row }),
        (0..6u16, 0..4u16).prop_map(|(first, stride)| Source::Unique { first, stride }),
        (1..u64::MAX).prop_map(|unit_ns| Source::Now { unit_ns }),
        (0..SLOTS).prop_map(|slot| Source::Session { slot }),
    ]
}

pub fn sql_step() -> impl Strategy<Value = SqlStep> {
    let rows = (0..5u32, prop_oneof![5..9u32, Just(ANY_ROWS)]);
    let keep = (0..SLOTS, any::<u16>(), 1..u16::MAX).prop_map(|(slot, column, rows)| Keep { slot, column, rows });
    (0..STATEMENTS, rows, 1..6u32, vec(keep, 0..3), vec(source(), 0..4)).prop_map(
        |(statement, (rows_min, rows_max), repeat, keep, args)| SqlStep {
            statement,
            rows_min,
            rows_max,
            repeat,
            keep,
            args,
        },
    )
}

pub fn request() -> impl Strategy<Value = Request> {
    let header = ("[A-Z][a-z]{0,5}-[a-z]{1,3}", "[ -z]{0,9}");
    ("[A-Z]{1,7}", "/[!-\"$-z]{0,9}", option::of(word().prop_map(|text| literal(&text))), vec(header, 0..3))
        .prop_map(|(method, target, body, headers)| Request { method, target, body, headers })
}

pub fn pointer() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "(/[a-z:]{0,4}(~[01])?){1,3}"]
}

/// A step that sends request 0, whose number of places `with_places` makes fit.
pub fn http_step() -> impl Strategy<Value = HttpStep> {
    let status = (100..999u16, 0..9u16).prop_map(|(first, more)| (first, (first + more).min(999)));
    let rows = (0..5u32, prop_oneof![5..9u32, Just(ANY_ROWS)]);
    let count = (pointer(), rows).prop_map(|(pointer, (rows_min, rows_max))| Count { pointer, rows_min, rows_max });
    let keep = (0..SLOTS, 1..u16::MAX, pointer()).prop_map(|(slot, rows, pointer)| KeepAt { slot, rows, pointer });
    (vec(status.clone(), 1..3), vec(status, 0..3), option::of(count), vec(keep, 0..3), vec(source(), 0..4))
        .prop_map(|(status, refused, count, keep, args)| HttpStep { request: 0, status, refused, count, keep, args })
}

/// A transaction that sends requests; their places are made to fit in [`head`].
pub fn http_transaction() -> impl Strategy<Value = Transaction> {
    (text(), any::<bool>(), vec(http_step().prop_map(Step::Http), 0..3)).prop_map(|(name, writes, steps)| Transaction {
        name,
        writes,
        begin: None,
        uniques: UNIQUES,
        slots: SLOTS,
        steps,
    })
}

/// A transaction that keeps what session values need.
pub fn login() -> Transaction {
    Transaction { name: "login".into(), writes: true, begin: None, uniques: 0, slots: SLOTS, steps: vec![] }
}

pub fn transaction() -> impl Strategy<Value = Transaction> {
    let step = prop_oneof![
        4 => sql_step().prop_map(Step::Sql),
        1 => any::<u64>().prop_map(|ns| Step::Hold { ns }),
        1 => any::<u64>().prop_map(|ns| Step::Pause { ns }),
    ];
    (text(), any::<bool>(), option::of(word()), any::<bool>(), vec(step, 0..4)).prop_map(
        |(name, writes, begin, connect, mut steps)| {
            if connect {
                steps.insert(0, Step::Connect);
            }
            Transaction { name, writes, begin, uniques: UNIQUES, slots: SLOTS, steps }
        },
    )
}

/// A statement without placeholders.
pub fn command() -> impl Strategy<Value = Statement> {
    let effect = (any::<bool>(), any::<bool>(), option::of(0..9u32));
    (text(), effect).prop_map(|(sql, (rows, changes, upserts))| Statement {
        sql,
        effect: Effect { rows, changes, upserts },
        placeholders: vec![],
    })
}

pub fn database() -> impl Strategy<Value = Database> {
    let endpoint = prop_oneof![
        text().prop_map(Endpoint::Socket),
        (text(), 1..u16::MAX).prop_map(|(host, port)| Endpoint::Tcp(host, port))
    ];
    let password = prop_oneof![Just(Password::None), text().prop_map(Password::File), text().prop_map(Password::Env)];
    let server = (endpoint, text(), text(), password).prop_map(|(endpoint, user, database, password)| {
        Database::Server(Address { endpoint, user, database, password })
    });
    prop_oneof![text().prop_map(Database::File), text().prop_map(Database::Service), server]
}

pub fn retry() -> impl Strategy<Value = Retry> {
    let code = ((0..7usize).prop_map(|i| CodeSpace::ALL[i]), any::<u32>());
    (1..9u16, vec(any::<u64>(), 0..3), vec(any::<u16>(), 0..3), vec(code, 0..3))
        .prop_map(|(tries, backoff_ns, jitter_permille, codes)| Retry { tries, backoff_ns, jitter_permille, codes })
}

pub fn head() -> impl Strategy<Value = Head> {
    let now = prop_oneof![
        Just(NowSource::Clock),
        any::<(u64, u64)>().prop_map(|(base_ns, step_ns)| NowSource::Fixed { base_ns, step_ns })
    ];
    let window =
        any::<(u64, u64, u64)>().prop_map(|(run_in_ns, length_ns, drain_ns)| Window { run_in_ns, length_ns, drain_ns });
    let readback = (text(), text()).prop_map(|(name, sql)| Readback { name, sql });
    let connections = prop_oneof![Just(Connections::Client), Just(Connections::Database)];
    let names = (any::<u32>(), window, now, text(), text(), connections);
    let settings = (vec((text(), text()), 0..3), vec(database(), 1..3), vec(command(), 0..3), vec(readback, 0..3));
    let transactions = vec(prop_oneof![3 => transaction(), 1 => http_transaction()], 1..4);
    let work = (vec(command(), STATEMENTS as usize), vec(text(), TEXTS as usize), transactions, retry());
    (names, settings, work, vec(request(), 1..3)).prop_map(|(names, settings, mut work, mut requests)| {
        // A request for each step, with as many places as the step has values.
        for step in work.2.iter_mut().flat_map(|t| &mut t.steps) {
            if let Step::Http(step) = step {
                step.request = requests.len() as u32;
                let target = format!("/{}", "{}".repeat(step.args.len()));
                requests.push(Request { method: "GET".into(), target, body: None, headers: vec![] });
            }
        }
        // A statement for each step, with as many placeholders as the step has values.
        for step in work.2.iter_mut().flat_map(|t| &mut t.steps) {
            if let Step::Sql(step) = step {
                let mut statement = work.0[step.statement as usize].clone();
                let place = |at| Placeholder { at, number: (at % 2 == 1).then_some(at as u16 + 1) };
                statement.placeholders = (0..step.args.len() as u32).map(place).collect();
                step.statement = work.0.len() as u32;
                work.0.push(statement);
            }
        }
        work.2.push(login());
        let login = Some(work.2.len() as u16 - 1);
        assemble(names, settings, work, requests, login)
    })
}

pub type Names = (u32, Window, NowSource, String, String, Connections);
pub type Settings = (Vec<(String, String)>, Vec<Database>, Vec<Statement>, Vec<Readback>);
pub type Work = (Vec<Statement>, Vec<String>, Vec<Transaction>, Retry);

pub fn assemble(names: Names, settings: Settings, work: Work, requests: Vec<Request>, login: Option<u16>) -> Head {
    Head {
        worker: names.0,
        window: names.1,
        now: names.2,
        driver: names.3,
        model: names.4,
        connections: names.5,
        options: settings.0,
        databases: settings.1,
        session: settings.2,
        readbacks: settings.3,
        statements: work.0,
        requests,
        texts: work.1,
        transactions: work.2,
        login,
        retry: work.3,
    }
}

/// What is drawn of a client before its operations are known to fit the transactions.
pub type Drawn = (u32, (bool, bool), u32, u64, Vec<(u64, prop::sample::Index, Value)>);

pub fn client(head: &Head, (id, (open, cyclic), limit, start_ns, operations): Drawn) -> Client {
    let load = if open { Loop::Open } else { Loop::Closed };
    let mut client = Client {
        id,
        database: 0,
        load,
        cyclic: cyclic && !open,
        limit,
        start_ns,
        operations: vec![],
        arguments: vec![],
    };
    let mut due_ns = 0u64;
    for (offset_ns, index, value) in operations {
        due_ns = if open { due_ns.saturating_add(offset_ns) } else { offset_ns };
        let transaction = index.index(head.transactions.len());
        let needed = head.transactions[transaction].arguments_needed();
        client.push(due_ns, transaction as u16, vec![value; needed]);
    }
    client
}

pub fn plan() -> impl Strategy<Value = Plan> {
    let operation = (any::<u64>(), any::<prop::sample::Index>(), value(TEXTS));
    let drawn = (any::<u32>(), any::<(bool, bool)>(), any::<u32>(), any::<u64>(), vec(operation, 0..5));
    (head(), vec(drawn, 0..3)).prop_map(|(head, drawn)| {
        let clients = drawn.into_iter().map(|drawn| client(&head, drawn)).collect();
        Plan { head, clients }
    })
}

pub fn sample() -> impl Strategy<Value = Sample> {
    let numbers = any::<(u32, u32, u16, u16, u8, u32, u32)>();
    (numbers, 0..7usize, 0..STEP_NONE, any::<[u64; 5]>()).prop_map(|(n, space, step, t)| {
        let code_space = CodeSpace::ALL[space];
        Sample {
            client: n.0,
            operation: n.1,
            transaction: n.2,
            attempt: n.3,
            failed_step: if code_space == CodeSpace::Ok { STEP_NONE } else { step },
            code_space,
            flags: n.4,
            code: n.5,
            rows: n.6,
            due_ns: t[0],
            started_ns: t[1].min(t[2]),
            finished_ns: t[1].max(t[2]),
            lock_wait_ns: t[3],
            acquire_wait_ns: t[4],
        }
    })
}

pub fn facts() -> impl Strategy<Value = Vec<(String, String)>> {
    vec((text().prop_map(|key| key.replace('=', "")), text()), 0..4)
}

pub fn worker_line() -> impl Strategy<Value = WorkerLine> {
    prop_oneof![
        facts().prop_map(WorkerLine::Hello),
        facts().prop_map(WorkerLine::Session),
        facts().prop_map(WorkerLine::Progress),
        facts().prop_map(WorkerLine::Done),
        any::<u64>().prop_map(WorkerLine::Clock),
        any::<usize>().prop_map(WorkerLine::Samples),
        any::<usize>().prop_map(WorkerLine::Reply),
        text().prop_map(WorkerLine::Failed),
        Just(WorkerLine::Ready),
        Just(WorkerLine::End),
    ]
}

pub fn tool_line() -> impl Strategy<Value = ToolLine> {
    prop_oneof![
        any::<usize>().prop_map(ToolLine::Plan),
        any::<usize>().prop_map(ToolLine::Script),
        any::<u64>().prop_map(ToolLine::Start),
        Just(ToolLine::Clock),
        Just(ToolLine::Stop),
        Just(ToolLine::Quit),
    ]
}

pub fn reply() -> impl Strategy<Value = Reply> {
    let rows = vec(vec(value(0), 1..4), 0..4);
    let answer = prop_oneof![rows.prop_map(LineResult::Rows), any::<u64>().prop_map(LineResult::Loaded)];
    let error = (any::<usize>(), 0..7usize, any::<u32>(), text())
        .prop_map(|(line, space, code, message)| ScriptError { line, space: CodeSpace::ALL[space], code, message });
    (vec(answer, 0..4), option::of(error)).prop_map(|(answers, error)| Reply { answers, error })
}
