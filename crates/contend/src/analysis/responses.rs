//! Successful answers of services, as their clients counted them: status, content and length. Services whose answers differ
//! in meaning did not do the same work. Small differences are usual: identifiers, times, white space, compression.

use crate::analysis::cell::Cell;
use crate::analysis::estimate::Estimator;
use crate::analysis::metric::plain;
use crate::analysis::tally::Counts;
use crate::analysis::trial::TrialRow;
use crate::outcome::Outcome;
use crate::record::model::Trial;
use crate::stats::precision::Bytes;
use std::collections::{BTreeMap, BTreeSet};

/// Prefix of a client's facts with answers: `COUNT BYTES STATUS CONTENT METHOD TRANSACTION STEP`.
const FACT: &str = "response.";
/// Content of an answer without a body.
const EMPTY: &str = "empty";
/// Indented JSON has up to 2.5 times the bytes of the same values without white space.
const TIMES_SHORTER: f64 = 3.0;
/// A length with this many binary digits less is less than half as long, and usually less than a quarter.
const DIGITS_SHORTER: u32 = 2;
/// A compressed body is at most this much longer than the body itself: headers, checksums and blocks that are stored.
const BYTES_OF_ENCODING: f64 = 64.0;
/// Status of a part of the answer.
const PART: u16 = 206;
/// Compressed although the request did not have `Accept-Encoding`.
const UNASKED: &str = "unasked";
/// From how many times as many writes on, these explain longer lists.
const TIMES_WRITTEN: f64 = 1.5;
/// Fewest answers of each service for comparing lengths.
const LENGTHS_MIN: u64 = 20;
/// A request that may write is answered with nothing, with a sentence, or with the new object.
const BYTES_OF_WRITE: f64 = 1024.0;
/// By how much shares must differ where requests write: how much a client has written by then decides what it reads.
const BEYOND_WRITTEN: f64 = 0.5;
/// Standard deviations of a difference of shares that chance does not explain.
const BEYOND_CHANCE: f64 = 3.0;
/// Beyond this share, answers of a kind that the other service never gives are a difference.
const BEYOND_NEVER: f64 = 0.01;
/// Ends of operations that a service answered with an error, or did not answer.
const FAILED: [Outcome; 3] = [Outcome::Rejected, Outcome::Conflict, Outcome::Unknown];
/// Fewest answers of such a kind.
const NEW_MIN: f64 = 5.0;
/// A service with at most this share of answers of a kind never gives such answers.
const NEVER: f64 = 0.001;
/// Bodies of the same values are at most this many times as long: indented JSON, with a reserve.
const TIMES_ALIKE: f64 = 4.0;

/// Answers with one status, one content and about one length.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Group {
    status: u16,
    content: String,
    count: u64,
    bytes: u64,
}

/// Answers to the request at one place of the scenario.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Its method, such as `GET`.
    pub method: String,
    groups: Vec<Group>,
}

/// Answers of a cell by transaction and step.
#[derive(Debug, Clone, Default)]
pub struct Responses(BTreeMap<(u16, u16), Request>);

impl Responses {
    /// The answers in the valid trials of a cell; empty if its clients did not count them.
    pub fn of(rows: &[TrialRow<'_>], cell: &Cell) -> Self {
        Self::of_trials(cell.valid.iter().map(|&at| rows[at].trial))
    }

    /// The answers in these trials; empty if their clients did not count them.
    pub fn of_trials<'t>(trials: impl IntoIterator<Item = &'t Trial>) -> Self {
        let facts = trials.into_iter().flat_map(|trial| &trial.workers).flat_map(|worker| &worker.done);
        Self::read(facts.filter(|(name, _)| name.starts_with(FACT)).map(|(_, text)| text.as_str()))
    }

    fn read<'t>(facts: impl Iterator<Item = &'t str>) -> Self {
        let mut responses = Self::default();
        for (place, method, group) in facts.filter_map(read) {
            let request = responses.0.entry(place).or_default();
            request.method = method;
            let alike = |of: &&mut Group| of.key() == group.key();
            match request.groups.iter_mut().find(alike) {
                Some(of) => (of.count, of.bytes) = (of.count + group.count, of.bytes + group.bytes),
                None => request.groups.push(group),
            }
        }
        responses
    }

    /// The requests, in the order of the scenario, with transaction and step.
    pub fn requests(&self) -> impl Iterator<Item = (&(u16, u16), &Request)> {
        self.0.iter()
    }
}

fn read(text: &str) -> Option<((u16, u16), String, Group)> {
    let fields: Vec<&str> = text.split(' ').collect();
    let [count, bytes, status, content, method, transaction, step] = fields[..] else { return None };
    let group = Group {
        status: status.parse().ok()?,
        content: content.to_string(),
        count: count.parse().ok().filter(|count| *count > 0)?,
        bytes: bytes.parse().ok()?,
    };
    Some(((transaction.parse().ok()?, step.parse().ok()?), method.to_string(), group))
}

impl Group {
    fn mean(&self) -> f64 {
        self.bytes as f64 / self.count as f64
    }

    fn is_encoded(&self) -> bool {
        self.content == "encoded" || self.content == UNASKED
    }

    fn key(&self) -> (u16, &str, u32) {
        (self.status, &self.content, digits(self.mean()))
    }
}

impl Request {
    fn count(&self, of: &dyn Fn(&Group) -> bool) -> u64 {
        self.groups.iter().filter(|group| of(group)).map(|group| group.count).sum()
    }

    /// Its answers with a status of 200 to 299.
    fn successes(&self) -> Request {
        let groups = self.groups.iter().filter(|group| group.status / 100 == 2).cloned().collect();
        Request { method: self.method.clone(), groups }
    }

    /// All answers.
    pub fn all(&self) -> u64 {
        self.count(&|_| true)
    }

    fn share(&self, of: &dyn Fn(&Group) -> bool) -> f64 {
        self.count(of) as f64 / self.all().max(1) as f64
    }

    /// Mean length of the bodies.
    pub fn mean_bytes(&self) -> f64 {
        self.groups.iter().map(|group| group.bytes).sum::<u64>() as f64 / self.all().max(1) as f64
    }

    /// Mean lengths of the bodies of about one length.
    fn lengths(&self) -> impl Iterator<Item = f64> {
        self.groups.iter().map(Group::mean)
    }

    /// Median length of the bodies, as the mean of the bodies of about that length.
    fn median_bytes(&self) -> f64 {
        let mut groups: Vec<&Group> = self.groups.iter().collect();
        groups.sort_by(|a, b| a.mean().total_cmp(&b.mean()));
        let mut left = self.all() / 2;
        let middle = groups.into_iter().find(|group| {
            let found = left < group.count;
            left = left.saturating_sub(group.count);
            found
        });
        middle.map_or(0.0, Group::mean)
    }

    /// Statuses and contents with their shares, such as `200 JSON` or `90.0 % 200 JSON, 10.0 % 204 empty`.
    pub fn kinds(&self) -> String {
        let mut kinds: BTreeMap<(u16, &str), u64> = BTreeMap::new();
        for group in &self.groups {
            *kinds.entry((group.status, &group.content)).or_default() += group.count;
        }
        let all = self.all().max(1);
        let shown = kinds.into_iter().map(|((status, content), count)| match count {
            count if count == all => format!("{status} {}", in_words(content)),
            count => format!("{} % {status} {}", percent(count as f64 / all as f64), in_words(content)),
        });
        shown.collect::<Vec<_>>().join(", ")
    }
}

fn in_words(content: &str) -> &str {
    match content {
        "json" => "JSON",
        "markup" => "HTML or XML",
        "encoded" => "compressed",
        UNASKED => "compressed without request",
        other => other,
    }
}

fn percent(share: f64) -> String {
    plain(share * 100.0)
}

/// Why two services, each with its name, did not give the same answers. A service whose answers were not counted, or that
/// never answered a request, is not compared; nor are databases that contend's own workers serve, whose rows are.
pub fn difference([(base, of_base), (other, of_other)]: [(Responses, &str); 2], on: &Estimator<'_>) -> Option<String> {
    if !on.study.is_of_service() {
        return None;
    }
    let written = written([&base, &other]);
    of_both([&base, &other]).find_map(|(place, requests)| {
        let (what, [here, there]) = of_services(requests, on.study.margin, written)?;
        Some(format!(
            "not the same answers: to {}: {there} {what} with {of_other}, {here} with {of_base}; let both send the same \
             content, and run again",
            named(place, requests[0], on.transactions),
        ))
    })
}

/// How a service's answers differ from its own at the lowest load; `None` if they do not. A service with too much load may
/// answer with an error text and status 200. Its lengths are compared more strictly than those of two services, because
/// nothing but the load differs.
pub fn change([lowest, here]: [&Responses; 2], margin: f64, transactions: &[String]) -> Option<String> {
    let written = written([lowest, here]);
    of_both([lowest, here]).find_map(|(place, requests)| {
        let differ = of_request(requests, margin, written).is_some() || has_changed(requests, margin, written);
        let [low, high] = requests.map(|of| format!("{}, mean length {}", of.kinds(), Bytes(of.mean_bytes() as u64)));
        differ.then(|| format!("to {}: {high}; at the lowest load {low}", named(place, requests[1], transactions)))
    })
}

/// Whether other shares of the successful answers are of one content, or much shorter than most at the lowest load.
fn has_changed(requests: [&Request; 2], margin: f64, written: Option<[u64; 2]>) -> bool {
    let successes = requests.map(Request::successes);
    let requests = [&successes[0], &successes[1]];
    if requests[0].method != "GET" || requests.iter().any(|request| request.all() == 0) {
        return false;
    }
    let differ = |of: &dyn Fn(&Group) -> bool, margin| Shares::of(requests, of).differ(margin).is_some();
    let contents: BTreeSet<&str> = requests.iter().flat_map(|of| &of.groups).map(|of| of.content.as_str()).collect();
    if written.is_some() {
        // What was deleted is read as another content, or as a shorter list.
        return contents.into_iter().any(|content| differ(&|group| group.content == content, BEYOND_WRITTEN));
    }
    let most = digits(requests[0].median_bytes());
    contents.into_iter().any(|content| differ(&|group| group.content == content, margin))
        || differ(&|group| digits(group.mean()) + DIGITS_SHORTER <= most, margin)
}

/// Binary digits of a length, by which clients count answers of about one length.
fn digits(bytes: f64) -> u32 {
    u64::BITS - (bytes as u64).leading_zeros()
}

/// The requests that both have, with their transactions and steps.
fn of_both([base, other]: [&Responses; 2]) -> impl Iterator<Item = ((u16, u16), [&Request; 2])> {
    base.0.iter().filter_map(|(place, request)| Some((*place, [request, other.0.get(place)?])))
}

/// Successful requests of both that write; `None` if the scenario has no such request.
fn written(of: [&Responses; 2]) -> Option<[u64; 2]> {
    let writes = |request: &&Request| !["GET", "HEAD", "OPTIONS"].contains(&request.method.as_str());
    let has_writes = of.iter().flat_map(|of| of.0.values()).any(|request| writes(&request));
    let written = |of: &Responses| of.0.values().filter(writes).map(|request| request.successes().all()).sum();
    has_writes.then(|| of.map(written))
}

/// A request as `TRANSACTION, step 1: GET`.
fn named((transaction, step): (u16, u16), request: &Request, transactions: &[String]) -> String {
    let name = transactions.get(usize::from(transaction)).map_or("a transaction", String::as_str);
    format!("{name}, step {}: {}", step + 1, request.method)
}

/// How the answers of two services to one request differ, those that only one of them gives included.
fn of_services(requests: [&Request; 2], margin: f64, written: Option<[u64; 2]>) -> Option<(String, [String; 2])> {
    of_request(requests, margin, written).or_else(|| match written {
        None => of_statuses(requests, margin).or_else(|| more_shorter(requests, margin)),
        // What was deleted is read as a shorter list, or not found.
        Some(_) => None,
    })
}

/// Shares of a status, if one service mixes it with others. Whether all is answered with 200, 201 or 204 is a matter of taste;
/// 206 is a part of the answer.
fn of_statuses(requests: [&Request; 2], margin: f64) -> Option<(String, [String; 2])> {
    let differ = |shares: Shares| shares.differ_or_are_new(margin);
    let successes = requests.map(Request::successes);
    let statuses: BTreeSet<u16> = successes.iter().flat_map(|of| &of.groups).map(|group| group.status).collect();
    let has_one = |of: &Request| statuses.iter().any(|one| of.share(&|group| group.status == *one) >= 1.0 - NEVER);
    let mixed = requests[0].method == "GET" && !successes.iter().all(has_one);
    let mut counted = statuses.iter().rev().filter(|status| mixed || **status == PART);
    let found = counted.find_map(|status| {
        let values = differ(Shares::of(requests, &|group| group.status == *status))?;
        Some((format!("have a status of {status}"), values))
    });
    of_classes(requests, &differ).or(found)
}

/// Shares of a class of statuses, if they differ.
fn of_classes(
    requests: [&Request; 2],
    differ: &dyn Fn(Shares) -> Option<[String; 2]>,
) -> Option<(String, [String; 2])> {
    let class = |group: &Group| group.status / 100;
    let classes: BTreeSet<u16> = requests.iter().flat_map(|request| request.groups.iter().map(class)).collect();
    classes.into_iter().find_map(|one| {
        let values = differ(Shares::of(requests, &|group| class(group) == one))?;
        Some((format!("have a status of {one}00 to {one}99"), values))
    })
}

/// Shares of short bodies, if one service has more of them than the other one has of bodies of up to four times that length.
/// Each body of the same values is within that factor, however the lengths of a service vary.
fn more_shorter(requests: [&Request; 2], margin: f64) -> Option<(String, [String; 2])> {
    let successes = requests.map(Request::successes);
    if requests[0].method != "GET" || successes.iter().any(|request| request.all() < LENGTHS_MIN) {
        return None;
    }
    [[0, 1], [1, 0]].into_iter().find_map(|[at, against]| {
        let (of, other) = (&successes[at], &successes[against]);
        let all_encoded = other.share(&Group::is_encoded) == 1.0;
        // How long a compressed body is decompressed is unknown.
        let counts = |group: &Group| all_encoded || !group.is_encoded();
        let added = if other.groups.iter().any(Group::is_encoded) { BYTES_OF_ENCODING } else { 0.0 };
        let longest = |group: &Group| (1_u64 << digits(group.mean()).min(u64::BITS - 1)) - 1;
        of.groups.iter().filter(|group| counts(group)).map(longest).find_map(|most| {
            let alike = digits((most + 1) as f64 * TIMES_ALIKE - 1.0 + added);
            let more = of.share(&|group| counts(group) && longest(group) <= most);
            let there = other.share(&|group| digits(group.mean()) <= alike);
            let shares = Shares { all: [of.all(), other.all()], are: [more, there] };
            let differ = more > there && shares.differ_or_are_new(margin).is_some();
            let both = || successes.each_ref().map(|request| request.share(&|group| longest(group) <= most));
            let said = || format!("have a body of at most {}", Bytes(most));
            differ.then(|| (said(), both().map(|share| format!("{} %", percent(share)))))
        })
    })
}

/// How the answers to one request differ: the difference, and its value on both sides. `written`: successful writes of both,
/// with which lists grow; `None` if no request of the scenario writes.
fn of_request(requests: [&Request; 2], margin: f64, written: Option<[u64; 2]>) -> Option<(String, [String; 2])> {
    let margin = if written.is_some() { BEYOND_WRITTEN } else { margin };
    let class = of_classes(requests, &|shares| shares.differ(margin));
    if class.is_some() {
        return class;
    }
    let is_get = requests[0].method == "GET";
    let least = if is_get { 0.0 } else { BYTES_OF_WRITE };
    if requests[0].method == "HEAD" || requests.iter().all(|request| request.mean_bytes() <= least) {
        return None;
    }
    // The body of a redirection or an error is a framework's own.
    let successes = requests.map(Request::successes);
    let requests = [&successes[0], &successes[1]];
    if requests.iter().any(|request| request.all() == 0) {
        return None;
    }
    let of_content =
        |content: &'static str| Shares::of(requests, &move |group: &Group| group.content == content).differ(margin);
    if let Some(values) = of_content(EMPTY) {
        return Some(("have no body".to_string(), values));
    }
    if let (Some(values), Some(_)) = (of_content("markup"), of_content("json")) {
        return Some(("are HTML or XML in place of JSON".to_string(), values));
    }
    if let Some(values) = of_content(UNASKED) {
        return Some(("are compressed without Accept-Encoding in the request".to_string(), values));
    }
    of_lengths(requests, written)
}

/// Median lengths if those of one service are much shorter. The means must agree: a median of short and long bodies can be
/// either.
fn of_lengths(requests: [&Request; 2], written: Option<[u64; 2]>) -> Option<(String, [String; 2])> {
    let medians = requests.map(Request::median_bytes);
    let shorter = usize::from(medians[1] < medians[0]);
    let [short, long] = [requests[shorter], requests[1 - shorter]];
    let encoded = [short, long].map(|request| request.share(&|group| group.content == "encoded"));
    // A compressed body is at least as long decompressed, and how much longer is unknown.
    let added = match encoded {
        [0.0, 0.0] | [1.0, 1.0] => 0.0,
        [0.0, _] => BYTES_OF_ENCODING,
        _ => return None,
    };
    let much_shorter = |of: [f64; 2]| of[0] * TIMES_SHORTER + added < of[1];
    let explained = written.is_some_and(|written| {
        let grown = written[1 - shorter] as f64 > written[shorter] as f64 * TIMES_WRITTEN;
        // Lists of the same data that grow or shrink with the writes have some lengths in common.
        grown || !much_shorter([short.lengths().fold(0.0, f64::max), long.lengths().fold(f64::MAX, f64::min)])
    });
    let known = !explained && requests.iter().all(|request| request.all() >= LENGTHS_MIN);
    let differ = known
        && much_shorter([short, long].map(Request::median_bytes))
        && much_shorter([short, long].map(Request::mean_bytes));
    differ.then(|| ("is the median of the bodies".to_string(), medians.map(|bytes| Bytes(bytes as u64).to_string())))
}

/// Shares of the operations that failed other than by a timeout, if they differ. A service that answers with an error at once
/// what takes the other one long would be the faster one.
pub fn failed(of: &[Counts; 2], margin: f64) -> Option<[String; 2]> {
    let failed = |of: &Counts| FAILED.iter().map(|outcome| of.outcome(*outcome)).sum::<u64>();
    let all = of.each_ref().map(|of| failed(of) + of.outcome(Outcome::Committed));
    let are = [0, 1].map(|side| failed(&of[side]) as f64 / all[side].max(1) as f64);
    Shares { all: all.map(|all| all.max(1)), are }.differ(margin)
}

/// Shares of the answers of two services.
struct Shares {
    all: [u64; 2],
    are: [f64; 2],
}

impl Shares {
    fn of(requests: [&Request; 2], of: &dyn Fn(&Group) -> bool) -> Self {
        Shares { all: requests.map(Request::all), are: requests.map(|request| request.share(of)) }
    }

    /// Both in per cent, if they differ by more than the margin and by more than chance explains.
    fn differ(&self, margin: f64) -> Option<[String; 2]> {
        let all = self.all.map(|all| all as f64);
        let pooled = (self.are[0] * all[0] + self.are[1] * all[1]) / (all[0] + all[1]);
        let deviation = (pooled * (1.0 - pooled) * (1.0 / all[0] + 1.0 / all[1])).sqrt();
        let beyond = (self.are[0] - self.are[1]).abs() > margin + BEYOND_CHANCE * deviation;
        beyond.then(|| self.are.map(|share| format!("{} %", percent(share))))
    }

    /// The same, with a smaller margin if one of the services never gives such answers.
    fn differ_or_are_new(&self, margin: f64) -> Option<[String; 2]> {
        let several = (0..2).any(|at| self.are[at] * self.all[at] as f64 >= NEW_MIN);
        let is_new = several && self.are.iter().any(|share| *share <= NEVER);
        self.differ(if is_new { margin.min(BEYOND_NEVER) } else { margin })
    }
}

#[cfg(test)]
#[path = "responses_tests.rs"]
mod tests;
