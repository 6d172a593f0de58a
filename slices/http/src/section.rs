//! The report of a service: requests, times and errors. contend cannot test the promises of a service, read its
//! settings or load its data, so the report has no sections about those.

use contend::analysis::Findings;
use contend::analysis::cell::Cell;
use contend::analysis::messages::Message;
use contend::analysis::plain::Load;
use contend::analysis::reported::{self, ran_again};
use contend::analysis::requests::Sum;
use contend::analysis::responses::{self, Responses};
use contend::analysis::trial::Scope;
use contend::outcome::Outcome;
use contend::report::content::circumstances::{self, order};
use contend::report::content::words::{self, FEW, NOTHING};
use contend::report::content::{charts, course, detail, first, method, sweep};
use contend::report::document::{Block, Cell as TableCell, Id, Said, Section, Table, Tone};
use contend_stats::precision::{Bytes, Ns, Percent, Rate, counted};
use std::cmp::Ordering;

/// Most messages shown for a condition: the most frequent ones.
const MESSAGES: usize = 10;

/// A quantile is shown if this many values lie beyond it.
const BEYOND_MIN: f64 = 30.0;

/// An outcome in the words of a client.
pub fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Committed => "answered",
        Outcome::Rejected => "refused",
        Outcome::Conflict => "conflict",
        Outcome::Timeout => "no answer in time",
        Outcome::Unknown => "failed",
        Outcome::Unsent => "not sent",
    }
}

/// All sections.
pub fn sections(findings: &Findings<'_>) -> Vec<Option<Section>> {
    let sums = &findings.requests;
    vec![
        Some(answer(findings, sums)),
        sweep::section(findings),
        charts::latency(findings),
        detail::transactions(findings),
        outcomes(findings, sums),
        charts::over_time(findings),
        course::section(findings),
        client(findings),
        service(findings),
        detail::fairness(findings),
        (findings.study.contenders.len() > 1).then(|| method::comparisons(findings)),
        circumstances::invalid(findings),
        Some(machine(findings)),
        Some(settings(findings)),
        Some(schedule(findings)),
    ]
}

/// Condition and contender of the sum at this index.
pub fn place(findings: &Findings<'_>, at: usize) -> (usize, usize) {
    let services = findings.study.contenders.len().max(1);
    (at / services, at % services)
}

/// The condition, preceded by the service if there are several.
fn name(findings: &Findings<'_>, condition: usize, contender: usize) -> String {
    let condition = (findings.study.conditions.len(), words::condition(findings, condition));
    let label = &findings.study.contenders[contender].label;
    match (findings.study.contenders.len(), condition) {
        (..=1, (_, condition)) => condition,
        (_, (..=1, _)) => label.clone(),
        (_, (_, condition)) => format!("{label}, {condition}"),
    }
}

fn answer(findings: &Findings<'_>, sums: &[Sum]) -> Section {
    let several = sums.len() > 1;
    let said = |(at, sum): (usize, &Sum)| Said {
        condition: several.then(|| {
            let (condition, contender) = place(findings, at);
            name(findings, condition, contender)
        }),
        text: sentence(sum) + &lost(findings, place(findings, at)),
        tone: if sum.all_failed() > 0 { Tone::Worse } else { Tone::Plain },
    };
    let several_services = findings.study.contenders.len() > 1;
    let mut blocks = if several_services { first::plain_answers(findings) } else { vec![] };
    let changed = (0..sums.len()).filter_map(|at| changed(findings, at));
    let said = sums.iter().enumerate().map(said).chain(changed).collect();
    blocks.push(Block::Answer { ask: String::new(), said });
    blocks.push(Block::Table(table(findings, sums)));
    blocks.extend(
        responses(findings)
            .into_iter()
            .flat_map(|table| [Block::Heading("What was answered".to_string()), Block::Table(table)]),
    );
    if let Some(table) = messages(findings, sums) {
        blocks.push(Block::Heading("What went wrong".to_string()));
        blocks.push(Block::Table(table));
    }
    blocks.push(Block::Note(
        format!(
            "A request is a transaction of the scenario; one with several steps counts once. The rate is of the answers in \
             the window that were as expected, and the times are theirs, from when a request was due: what failed is in \
             none of them. {FEW} fewer than 30 requests took longer, so chance decides most of it."
        ),
    ));
    blocks.push(Block::Heading("What this does not show".to_string()));
    blocks.push(Block::List(limits(findings)));
    Section { id: Id::Answer, title: "The answer".to_string(), blocks }
}

/// The sentence about answers that differ from those at the lowest load.
fn changed(findings: &Findings<'_>, at: usize) -> Option<Said> {
    let (condition, contender) = place(findings, at);
    let how = how_changed(findings, at)?;
    let text = format!("! The answers differ from those at the lowest load: {how}.");
    Some(Said { condition: Some(name(findings, condition, contender)), text, tone: Tone::Worse })
}

/// How the answers of the sum at this index differ from the same service's under the condition with the lowest load.
pub fn how_changed(findings: &Findings<'_>, at: usize) -> Option<String> {
    let (condition, contender) = place(findings, at);
    let load = |condition: &usize| {
        let load = findings.load(*condition);
        (load.rate_per_s.unwrap_or(f64::MAX), load.clients)
    };
    let conditions = 0..findings.study.conditions.len();
    let lowest = conditions.filter(|of| findings.cell(*of, contender).is_some_and(Cell::has_data));
    let lowest = lowest.min_by(|a, b| load(a).partial_cmp(&load(b)).unwrap_or(Ordering::Equal))?;
    let answers = |condition| Some(Responses::of(&findings.rows, findings.cell(condition, contender)?));
    let of = [answers(lowest)?, answers(condition)?];
    responses::change([&of[0], &of[1]], findings.study.margin, &findings.transactions)
}

/// A sentence about one condition: requests answered, times, and the most frequent error.
fn sentence(sum: &Sum) -> String {
    let total = sum.total();
    if total == 0 {
        return "No request was sent in a trial that counts. The reasons are below.".to_string();
    }
    let ok = words::count(sum.ok);
    let how_many = match sum.all_failed() {
        0 => format!("All {ok} requests were answered as expected"),
        _ => format!("{ok} of {} requests were answered as expected", words::count(total)),
    };
    let per_s = sum.per_s().map_or(String::new(), |rate| format!(", {}", Rate(rate)));
    let mut text = format!("{how_many}{per_s}.");
    let within = |q: f64, share: &str| {
        let ns = sum.time_ns(q).filter(|_| !is_few(sum, q))?;
        Some(format!("{share} within {}", Ns(ns)))
    };
    let times: Vec<String> = [within(0.5, "half of them"), within(0.99, "99 %")].into_iter().flatten().collect();
    if !times.is_empty() {
        text += &format!(" {}.", charts::capitalised(&times.join(", ")));
    }
    if is_delayed(sum) {
        text += " Most take about 40 ms, as a delayed acknowledgement of TCP does: if the service writes an answer in several \
                 parts, let it write each answer at once, or set TCP_NODELAY.";
    }
    if let Some(Message { text: message, code, count }) = sum.most_frequent(1).pop() {
        let (failed, most) = (words::count(sum.all_failed()), words::count(count));
        text += &match count == sum.all_failed() {
            true => format!(" {failed} failed: {code}: {message}"),
            false => format!(" {failed} failed, {most} of them: {code}: {message}"),
        };
    }
    text
}

/// Whether most answers took Linux's shortest delay of an acknowledgement, and half of them little more.
fn is_delayed(sum: &Sum) -> bool {
    const DELAYED_NS: std::ops::Range<u64> = 39_500_000..46_000_000;
    [0.1, 0.5].iter().all(|q| sum.time_ns(*q).is_some_and(|ns| DELAYED_NS.contains(&ns)))
}

/// What the sentence about a service does not include, as further sentences.
fn lost(findings: &Findings<'_>, (condition, contender): (usize, usize)) -> String {
    let cell = findings.cell(condition, contender);
    if let Some(cell) = cell.filter(|cell| cell.has_data()) {
        let (lost, all) = (cell.invalid.len(), cell.valid.len() + cell.invalid.len());
        return match lost {
            0 => String::new(),
            _ => format!(" (Without {lost} of {}, which do not count.)", counted(all, "trial")),
        };
    }
    let mut again = ran_again(findings);
    again.retain(|of| (of.slot.condition, of.slot.contender) == (condition, contender));
    let answers: u64 = again.iter().flat_map(|of| of.responses.requests()).map(|(_, request)| request.all()).sum();
    match answers {
        0 => String::new(),
        _ => format!(
            " It gave {} in the window of a trial that was disturbed and ran again.",
            counted(answers as usize, "answer")
        ),
    }
}

/// Whether too few values lie beyond a quantile.
fn is_few(sum: &Sum, q: f64) -> bool {
    sum.times() as f64 * (1.0 - q) < BEYOND_MIN
}

fn table(findings: &Findings<'_>, sums: &[Sum]) -> Table {
    let head = ["requests", "sent|", "answered|", "rate|", "p50|", "p95|", "p99|", "max|", "failed|", "rounds|"];
    let mut table = Table::new(&head);
    for (at, sum) in sums.iter().enumerate() {
        let (condition, contender) = place(findings, at);
        let Some(cell) = findings.cell(condition, contender) else { continue };
        let mut cells = vec![
            TableCell::new(name(findings, condition, contender)).series(contender),
            TableCell::new(words::count(sum.total() - sum.unsent)),
            TableCell::new(words::count(sum.ok)),
        ];
        let throughput = findings.metric("throughput_ops_per_s").filter(|_| cell.has_data());
        cells.push(throughput.map_or(TableCell::muted("invalid"), |metric| {
            words::estimate(&metric, &findings.estimator().estimate(cell, &metric))
        }));
        cells.extend([0.5, 0.95, 0.99, 1.0].map(|q| match sum.time_ns(q) {
            Some(ns) if q < 1.0 && is_few(sum, q) => TableCell::new(format!("{} {FEW}", Ns(ns))),
            Some(ns) => TableCell::new(Ns(ns).to_string()),
            None => TableCell::muted(NOTHING),
        }));
        let tone = if sum.all_failed() > 0 { Tone::Worse } else { Tone::Plain };
        cells.push(TableCell::new(words::share(sum.all_failed(), sum.total())).tone(tone));
        cells.push(TableCell::new(words::rounds(cell)));
        table.row(cells);
    }
    table
}

/// Status, content and length of the successful answers to each request of the scenario.
fn responses(findings: &Findings<'_>) -> Option<Table> {
    let mut table = Table::new(&["requests", "request", "answers|", "status and content", "mean length|"]);
    for cell in &findings.cells {
        for (&(transaction, step), request) in Responses::of(&findings.rows, cell).requests() {
            let of = findings.transactions.get(usize::from(transaction));
            let of = of.map_or(NOTHING, String::as_str);
            table.row([
                TableCell::new(name(findings, cell.condition, cell.contender)).series(cell.contender),
                TableCell::new(format!("{of}, step {}: {}", step + 1, request.method)),
                TableCell::new(words::count(request.all())),
                TableCell::new(request.kinds()),
                TableCell::new(Bytes(request.mean_bytes() as u64).to_string()),
            ]);
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

/// The most frequent messages of each condition, in the service's own words if its clients kept them.
fn messages(findings: &Findings<'_>, sums: &[Sum]) -> Option<Table> {
    let mut table = Table::new(&["code", "what was answered, or happened", "requests|"]);
    for (at, sum) in sums.iter().enumerate() {
        let found = sum.most_frequent(MESSAGES);
        if sums.len() > 1 && !found.is_empty() {
            let (condition, contender) = place(findings, at);
            table.group(name(findings, condition, contender), "");
        }
        for Message { text, code, count } in found {
            let count = TableCell::new(words::share(count, sum.total()));
            table.row([TableCell::new(code).tone(Tone::Worse), TableCell::new(text), count]);
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

fn limits(findings: &Findings<'_>) -> Vec<String> {
    let run = &findings.circumstances;
    let virtual_machine = if run.virtual_machine { ", virtual" } else { "" };
    let mut limits = vec![
        format!(
            "Absolute figures belong to the service's machine, to the way there, and to this machine of its clients ({}, \
             {}{virtual_machine}).",
            run.cpu,
            words::counted(run.cores, "core"),
        ),
        "What the service did with a request is known only by its answer; its data was not checked.".to_string(),
    ];
    limits.extend(method::drifts(findings));
    limits
}

fn outcomes(findings: &Findings<'_>, sums: &[Sum]) -> Option<Section> {
    if sums.iter().all(|sum| sum.total() == 0) {
        return None;
    }
    let mut head = vec!["requests due in the window".to_string(), "due|".to_string()];
    head.extend(Outcome::ALL.map(|outcome| format!("{}|", word(outcome))));
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let mut table = Table::new(&head);
    for cell in findings.cells.iter().filter(|cell| cell.has_data()) {
        let counts = &cell.pool(Scope::All).counts;
        let mut cells = vec![TableCell::new(name(findings, cell.condition, cell.contender)).series(cell.contender)];
        cells.push(TableCell::new(words::count(counts.planned())));
        cells.extend(Outcome::ALL.map(|outcome| match counts.outcome(outcome) {
            0 => TableCell::muted("0"),
            n => TableCell::new(words::count(n)),
        }));
        table.row(cells);
    }
    let note = "Refused: the service answered that it has done nothing. Failed: it answered with an error, the connection was \
                lost, or the request was given up in the end; what writes may have been done all the same. Not sent: due by \
                the rate, while all clients were still busy.";
    let blocks = vec![Block::Table(table), Block::Note(note.to_string())];
    Some(Section { id: Id::Other("outcomes"), title: "What became of the requests".to_string(), blocks })
}

/// Resources of the clients, which must not limit the rate.
fn client(findings: &Findings<'_>) -> Option<Section> {
    let mut table = Table::new(&["requests", "CPU, of one core|", "CPU per answer|", "memory|"]);
    for cell in findings.cells.iter().filter(|cell| cell.has_data()) {
        let rows = || cell.valid.iter().map(|&at| &findings.rows[at]);
        let cpu_ns: Option<u64> = rows().map(|row| row.cpu_ns()).sum();
        let elapsed_ns: u64 = rows().filter_map(|row| row.measured.as_ref()).map(|m| m.elapsed_ns).sum();
        let answers: u64 = rows().filter_map(|row| row.measured.as_ref()).map(|m| m.counts.committed_inside).sum();
        let of = |text: Option<String>| text.map_or(TableCell::muted(NOTHING), TableCell::new);
        let share = cpu_ns.filter(|_| elapsed_ns > 0).map(|ns| Percent(ns as f64 / elapsed_ns as f64).to_string());
        table.row([
            TableCell::new(name(findings, cell.condition, cell.contender)).series(cell.contender),
            of(share),
            of(cpu_ns.and_then(|ns| ns.checked_div(answers)).map(|ns| Ns(ns).to_string())),
            of(rows().filter_map(|row| row.rss_bytes()).max().map(|bytes| Bytes(bytes).to_string())),
        ]);
    }
    let note = charts::foreign(findings);
    (!table.rows.is_empty()).then(|| Section {
        id: Id::Other("resources"),
        title: "What the clients took".to_string(),
        blocks: vec![Block::Table(table), Block::Note(note)],
    })
}

/// Resources of services of which the process is known; `None` without one.
fn service(findings: &Findings<'_>) -> Option<Section> {
    let mut table = Table::new(&["service", "found", "CPU, of one core|", "memory|", "written per second|"]);
    for server in reported::servers(findings) {
        let of = |text: Option<String>| text.map_or(TableCell::muted(NOTHING), TableCell::new);
        table.row([
            TableCell::new(words::label(findings, server.contender)).series(server.contender),
            TableCell::new(&server.version),
            of(server.cpu_ns_per_s.map(|ns| Percent(ns as f64 / 1e9).to_string())),
            of(server.rss_bytes.map(|bytes| Bytes(bytes).to_string())),
            of(server.written_bytes_per_s.map(|bytes| Bytes(bytes).to_string())),
        ]);
    }
    let note = "Medians over trials, of the process and all its children. Memory is what they have for themselves, and \
                once what they share.";
    (!table.rows.is_empty()).then(|| Section {
        id: Id::Other("service-resources"),
        title: "What the service took".to_string(),
        blocks: vec![Block::Table(table), Block::Note(note.to_string())],
    })
}

fn machine(findings: &Findings<'_>) -> Section {
    let (run, mut table) = (&findings.circumstances, Table::new(&["what", "found"]));
    let mut fact = |what: &str, found: String| table.row([TableCell::new(what), TableCell::new(found)]);
    circumstances::system(run).into_iter().for_each(|(what, found)| fact(what, found));
    fact("the client's own cost", format!("{} per request, without sending it", Ns(run.overhead_ns)));
    // Other facts about the client program do not matter here.
    for said in reported::hello(findings).into_iter().filter(|said| ["language", "driver"].contains(&said.name)) {
        fact(&format!("the client's {}", said.name), said.value.to_string());
    }
    let blocks = vec![Block::Table(table)];
    Section { id: Id::Other("machine"), title: "The clients' machine".to_string(), blocks }
}

fn settings(findings: &Findings<'_>) -> Section {
    let mut table = Table::new(&["what", "as asked, or found"]);
    for (at, contender) in findings.study.contenders.iter().enumerate() {
        if findings.study.contenders.len() > 1 {
            table.group(&contender.label, "");
        }
        for (name, value) in &contender.settings {
            table.row([TableCell::new(name), TableCell::new(value)]);
        }
        for (name, values) in reported::settings(findings, at) {
            let values: Vec<String> = values.into_iter().collect();
            table.row([TableCell::new(name), TableCell::new(values.join("; "))]);
        }
    }
    Section {
        id: Id::Other("settings"),
        title: "The service, and how it was asked".to_string(),
        blocks: vec![Block::Table(table)],
    }
}

fn schedule(findings: &Findings<'_>) -> Section {
    let run = &findings.circumstances;
    let mut facts = vec![format!("Scenario {}: {}.", run.workload, run.about.trim_end_matches('.'))];
    for at in 0..findings.study.conditions.len() {
        facts.push(load(findings, at, &findings.load(at)));
    }
    facts.extend([
        format!(
            "{} under every condition, in an order drawn by chance; every other round runs in reverse. What a trial wrote is \
             there in the next one: contend neither fills the service nor empties it. Seed {}.",
            words::counted(findings.study.rounds as usize, "round"),
            findings.study.load.seed
        ),
        format!("Scenario file SHA-256 {}.", run.sha256),
        format!("contend {}, command: {}", run.contend, run.command.join(" ")),
    ]);
    if let Some(finished) = &run.finished {
        facts.push(format!(
            "It took {}, of which {} were measured.",
            Ns(finished.elapsed_ns),
            Ns(finished.measured_ns)
        ));
    }
    let mut blocks = vec![Block::List(facts)];
    blocks.extend(circumstances::listed(findings));
    if run.schedule.len() > 1 {
        blocks.push(Block::Heading("Order of the trials".to_string()));
        blocks.push(Block::Table(order(findings)));
    }
    Section { id: Id::Other("schedule"), title: "Load and schedule".to_string(), blocks }
}

fn load(findings: &Findings<'_>, at: usize, load: &Load) -> String {
    let clients = reported::clients(findings, Some(at)).last().copied().unwrap_or(0);
    let how = match load.rate_per_s {
        Some(rate) => format!("{} are due, whatever was answered before", Rate(rate)),
        None => "each client sends its next request when it has the answer to the last one".to_string(),
    };
    let length = match load.operations {
        Some(each) => format!("{} of each client", words::counted(each as usize, "request")),
        None => format!("for {}, after {} that are not counted", Ns(load.window_ns), Ns(load.run_in_ns)),
    };
    let clients = words::counted(clients as usize, "client");
    format!("{}: {clients}; {how}; {length}.", charts::capitalised(&words::condition(findings, at)))
}
