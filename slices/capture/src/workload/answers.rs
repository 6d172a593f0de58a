//! The questions of a capture's study.

use crate::literal::text;
use crate::program::Transaction;
use crate::summary::Known;
use crate::trace::Call;
use crate::workload::contenders::{CAPTURED, Settings, Waits, safer, tier};
use crate::workload::generator::plain;
use crate::workload::kinds::Kind;
use crate::workload::longest::Longest;
use crate::workload::roles::{MoreLoad, SHORT};
use crate::workload::timeouts::Timeouts;
use crate::workload::unmet::Unmet;
use contend::stats::precision::{count as whole, plain as number};
use std::fmt::Write as _;

/// Failures as captured, of all rounds.
const FAILURES: &str = "(rounds * (conflict@[as captured] + timeout@[as captured]))";

/// The upper end of the 95 % interval of the ratio of two failure rates, of which the second one is 0: with `k` failures,
/// `0.05 ^ (-1 / k) - 1` times the ratio of the operations. Its first terms are 1 % off at 5 failures, and above 1 with fewer.
fn most_left() -> String {
    let k = FAILURES;
    format!("3 / {k} * (1 + 1.5 / {k} * (1 + 1 / {k})) * planned@[as captured] / planned")
}

/// Captured calls that another connection's lock ended, and the attempts with such a call per 1,000. An operation of the study
/// is one attempt.
pub struct LockErrors {
    count: usize,
    /// Those of calls that did not wait although they had a busy timeout: a longer one changes nothing for them.
    never_waited: usize,
    /// Whether some waited for long: these may need a longer busy timeout.
    pub gave_up: bool,
    per_1000: f64,
    /// Whether the program writes, and the mean time of its transactions that do and do not fail.
    has_writes: bool,
    write_ms: Option<f64>,
    /// Why a run can be without lock errors, as sentences with blanks.
    why_none: String,
    /// Those of calls that gave up sooner than those of the study do, and why that leaves an answer open.
    sooner: (usize, String),
    /// Transactions that can end before they meet a lock.
    pub unmet: Option<Unmet>,
}

/// A call that was refused after it had waited for this time has given up; nothing else makes a refused call wait so long.
const LONG_WAIT_NS: u64 = 100_000_000;

impl LockErrors {
    /// `kinds`: the transactions of the study; `longest`: the one of them that holds the lock longest, if any does.
    pub fn of(
        known: &Known,
        kinds: &[Kind],
        longest: Option<&Longest>,
        (timeouts, unmet): (&Timeouts, Option<Unmet>),
    ) -> LockErrors {
        let is_refused = |call: &Call| call.is_busy() && !call.is_locked();
        let count = known.trace.calls.iter().filter(|call| is_refused(call)).count();
        let never_waits = |call: &&Call| call.may_wait && call.waited_ns + call.prepare.1 == 0;
        let never_waited = known.trace.calls.iter().filter(|call| is_refused(call)).filter(never_waits).count();
        let waited_long = |call: &Call| is_refused(call) && call.waited_ns + call.prepare.1 >= LONG_WAIT_NS;
        let gave_up = known.trace.calls.iter().any(waited_long);
        let met = |attempt: &&Transaction| attempt.calls.iter().any(|&i| is_refused(&known.trace.calls[i]));
        let (failed, all) = (known.transactions.iter().filter(met).count(), known.transactions.len());
        let has_writes = known.groups.iter().any(|group| group.writes);
        let why_none = longest.map_or(String::new(), |longest| longest.why_none(timeouts.used_ms));
        let per_1000 = 1000.0 * failed as f64 / all.max(1) as f64;
        let (sooner, write_ms) = ((timeouts.gave_up_sooner(), timeouts.why_open()), write_ms(known, kinds));
        LockErrors { count, never_waited, gave_up, per_1000, has_writes, write_ms, why_none, sooner, unmet }
    }

    /// Writes the question whether a contender removes them. The captured number is scaled with the ratio of both rates in
    /// the study, and rounded up: where some are left, it is not 0. Without failures as captured, all are left by a contender with
    /// failures.
    pub fn write_answer(&self, out: &mut String, label: &str, waits: Waits) {
        let (count, least) = (self.count, if waits == Waits::OnlyLonger { self.never_waited } else { 0 });
        let (metric, removed) = (format!("left_by_{}", plain(label)), format!("removed_by_{}", plain(label)));
        let rate = "(conflict + timeout) / planned";
        let captured = "max((conflict@[as captured] + timeout@[as captured]) / planned@[as captured], 1e-9)";
        let most_left = most_left();
        let left = format!("floor({count} * {rate} / {captured} + 0.999)");
        // Those that never wait are left where any are: where none are, the answer says so.
        let left = if least == 0 { left } else { format!("max(min({least}, {least} * {left}), {left})") };
        let _ = write!(
            out,
            "\n[[metric]]\nname = \"{metric}\"\nabout = \"of the {} lock errors of the capture, those that would be left\"\n\
             value = \"min({count}, {left})\"\nhigher_is_better = false\n\
             \n[[metric]]\nname = \"{removed}\"\nabout = \"of the {} lock errors of the capture, those that would be gone with 95 % \
             confidence if no operation of the run fails\"\nvalue = \"{count} - min({count}, floor({count} * {most_left}))\"\n\
             higher_is_better = true\n",
            whole(count as u64),
            whole(count as u64)
        );
        let decides = if count == 0 { "lock_errors_per_1000" } else { &metric };
        let _ = write!(
            out,
            "\n[[answer]]\nask = {}\nmetric = \"{decides}\"\ncondition = \"load=captured\"\nthis = {}\nagainst = \"{CAPTURED}\"\n",
            text(&match count {
                0 => format!("What would {label} have changed?"),
                _ => format!("Would {label} have removed the lock errors?"),
            }),
            text(label)
        );
        let count = whole(count as u64);
        let all_gone = match least {
            0 if waits == Waits::AsCaptured && self.sooner.0 > 0 => self.perhaps(label),
            0 => format!(
                "Yes: {label} would have removed {count} of {count} lock errors (at least {{this.{removed}}} with 95 % confidence, if failures are independent)."
            ),
            all if all == self.count => format!(
                "No: all {count} lock errors came at once: SQLite does not wait there, whatever the busy timeout."
            ),
            _ => format!(
                "Not all: {} of {count} lock errors came at once: SQLite does not wait there, whatever the busy timeout.",
                whole(least as u64),
            ),
        };
        self.write_facts(
            out,
            (label, "with it"),
            (&all_gone, &format!("{label} would have left about {{this.{metric}}}")),
        );
    }

    /// The answer if no operation fails in a run whose clients wait longer than some of the program.
    fn perhaps(&self, change: &str) -> String {
        let (sooner, why) = &self.sooner;
        format!(
            "This run cannot tell for {} of {} lock errors, because {why}. With {change} none of the others would be left.",
            whole(*sooner as u64),
            whole(self.count as u64)
        )
    }

    /// Writes the question whether short transactions remove them, with the captured settings.
    pub fn write_short(&self, out: &mut String) {
        let ask = "Would the lock errors have gone if the program did its own work before its transactions, and not inside of them?";
        // Of operations without a failure, at most 3 of their number fail, with 95 % confidence.
        let (count, rate) = (self.count, (self.per_1000 / 1000.0).max(1e-9));
        let _ = write!(
            out,
            "\n[[metric]]\nname = \"removed_by_short_transactions\"\nabout = \"of the {} lock errors of the capture, those that \
             would be gone with 95 % confidence if no operation of the run fails\"\n\
             value = \"{count} - min({count}, floor({count} * 3 / (rounds * planned) / {rate}))\"\nhigher_is_better = true\n",
            whole(count as u64)
        );
        let _ = write!(
            out,
            "\n[[answer]]\nask = {}\nmetric = \"lock_errors_per_1000\"\ncondition = \"load={SHORT}\"\nthis = \"{CAPTURED}\"\n\
             against = \"{CAPTURED}\"\nagainst_condition = \"load=captured\"\n",
            text(ask)
        );
        let left = "short transactions would have left some";
        let count = whole(self.count as u64);
        let all_gone = match self.sooner.0 {
            0 => format!(
                "Yes: short transactions would have removed {count} of {count} lock errors (at least \
             {{this.removed_by_short_transactions}} with 95 % confidence, if failures are independent)."
            ),
            _ => self.perhaps("short transactions"),
        };
        self.write_facts(out, ("short transactions", "with short transactions"), (&all_gone, left));
    }

    /// `all_gone`: what to say where no operation fails in the run; `left`: what a change that removes some of them leaves.
    fn write_facts(&self, out: &mut String, (label, with): (&str, &str), (all_gone, left): (&str, &str)) {
        let (count, per_1000) = (whole(self.count as u64), number(self.per_1000));
        let verdict = |fact: &str| match (fact, self.count) {
            ("only-this", _) => "No: it adds lock errors.".to_string(),
            (_, 0) => "The capture has no lock error.".to_string(),
            ("neither", _) => {
                let why = &self.why_none;
                format!("This run cannot tell: as captured it has none of the {count} lock errors of the capture.{why}")
            }
            ("only-against", _) => all_gone.to_string(),
            ("both", _) => format!("Not all: {left} of {count} lock errors."),
            (_, _) => format!(
                "No: {label} would have removed none of the {count} lock errors; they are as frequent with it, or more so."
            ),
        };
        facts(out, self.unmet.as_ref());
        for fact in ["neither", "only-this", "only-against", "both", "both-not-fewer"] {
            let in_this_run = format!(
                "In this run {{against.lock_errors_per_1000}} of 1,000 operations fail as captured (in the capture {per_1000}), and \
                 {{this.lock_errors_per_1000}} {with}: \
                 {{against.failed_operations}} of {{against.operations}}, and {{this.failed_operations}} of {{this.operations}}, in the \
                 mean of its rounds."
            );
            let captured =
                self.write_ms.map_or(String::new(), |ms| format!("; in the capture it took {} ms", number(ms)));
            let times = match fact {
                "neither" => format!(
                    " A write takes {{against.write_ms}} ms in the mean as captured, and {{this.write_ms}} ms {with}{captured}."
                ),
                "only-against" => format!(" A write takes {{this.write_ms}} ms in the mean {with}{captured}."),
                // One that failed has no time, and then there is no mean.
                _ => String::new(),
            };
            let times = if self.has_writes { times } else { String::new() };
            let _ = writeln!(out, "{fact} = {}", text(&format!("{} {in_this_run}{times}", verdict(fact))));
        }
    }
}

/// Mean time of the captured transactions of a study that write and do not fail, as `write_ms` of its runs; `None` without any.
fn write_ms(known: &Known, kinds: &[Kind]) -> Option<f64> {
    let all = kinds.iter().filter(|kind| kind.group.writes).flat_map(|kind| &kind.group.transactions);
    let committed = all.map(|&i| &known.transactions[i]).filter(|transaction| transaction.has_succeeded());
    let times: Vec<f64> = committed.map(|transaction| transaction.duration_ns() as f64 / 1e6).collect();
    (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64)
}

/// Share of a multiple of the load that must be possible. Otherwise a run with shorter pauses is not about that multiple.
const IS_THAT_LOAD: f64 = 0.75;
/// Least load without pauses that is called more load.
const IS_MORE_LOAD: f64 = 1.25;

/// Begins the sentences of an answer.
fn facts(out: &mut String, unmet: Option<&Unmet>) {
    *out += &unmet.map_or(String::new(), |_| Unmet::key());
    *out += "\n[answer.facts]\n";
    *out += &unmet.map_or(String::new(), |unmet| format!("cannot-tell = {}\n", text(&unmet.sentence())));
}

/// Writes the question about lock errors with pauses that are shorter by a factor, 0 for none. What that does to the load depends on
/// the program: clients that hardly pause, or hold the lock most of the time, cannot do more.
pub fn write_more_load(
    out: &mut String,
    label: &str,
    (load, times): (&str, u64),
    more: &MoreLoad,
    unmet: Option<&Unmet>,
) {
    let (ask, varied) = match times {
        0 => ("if clients never pause".to_string(), "Clients do not pause here".to_string()),
        _ => (
            format!("if clients pause {times} times shorter"),
            format!("Each pause of a client is {times} times shorter here, and its transactions are the same"),
        ),
    };
    let most = number(more.most());
    let why = match more.by_lock < more.by_pauses {
        true => format!(
            "the program has the write lock for at least {} % of the captured time, so at most {most} times as many of its transactions find \
             time for it",
            number(100.0 / more.by_lock.max(1.0))
        ),
        false => format!("clients hardly pause in the capture, so this is at most {most} times the captured load"),
    };
    let is_it = more.most() >= if times == 0 { IS_MORE_LOAD } else { IS_THAT_LOAD * times as f64 };
    let about = match (is_it, times) {
        (true, _) => format!("{varied}: at most {most} times the captured load."),
        (false, 0) => format!("This run cannot tell what more load does: {why}."),
        (false, _) => format!("This run cannot tell what {times} times the load does: {why}."),
    };
    let sentence = format!(
        "{about} Of 1,000 operations {{against_value}} fail at a lock with the captured settings, and {{this_value}} with {{this}}."
    );
    let _ = write!(
        out,
        "\n[[answer]]\nask = {}\nmetric = \"lock_errors_per_1000\"\ncondition = \"load={load}\"\nthis = {}\nagainst = \"{CAPTURED}\"\n",
        text(&format!("What about locks {ask}?")),
        text(label)
    );
    facts(out, unmet);
    for fact in ["neither", "only-this", "only-against", "both"] {
        let _ = writeln!(out, "{fact} = {}", text(&sentence));
    }
}

/// Writes the questions about a server against the best settings of SQLite. At the captured load the clients' pauses decide how much
/// gets done, so the time of an operation is compared, and throughput where clients never pause.
pub fn write_server(out: &mut String, server: &str, best: &str) {
    let than = if best == CAPTURED { String::new() } else { format!(" than SQLite with {best}") };
    let sqlite = if best == CAPTURED { "SQLite".to_string() } else { format!("SQLite with {best}") };
    let times =
        format!("an operation takes {{this_value}} with {server}, and {{against_value}} with {sqlite}, in the mean");
    let pauses = "How much gets done is no answer there: the clients' pauses decide it.";
    let speed = format!(
        "{server} would have been {{ratio}} times as fast ({{low}} to {{high}}), with clients that never pause"
    );
    let of_load = [
        (
            ("captured", "at the captured load", "response_ns_mean"),
            [
                format!("Yes, at the captured load: {times}. {pauses}"),
                format!("No, at the captured load: {times}. {pauses}"),
                format!("No: both keep up with the captured load, and {times}."),
                format!("This run cannot tell: {times}, and the rounds disagree."),
            ],
        ),
        (
            ("full", "with clients that never pause", "throughput_ops_per_s"),
            [
                format!("Yes: {speed}."),
                format!("No: {speed}."),
                "No: with clients that never pause there is no difference.".to_string(),
                "This run cannot tell: anything from {low} to {high} times fits.".to_string(),
            ],
        ),
    ];
    for ((load, words, metric), [faster, slower, same, cannot_tell]) in of_load {
        let _ = write!(
            out,
            "\n[[answer]]\nask = {}\nmetric = \"{metric}\"\ncondition = \"load={load}\"\nthis = \"{server}\"\nagainst = {}\n\n\
             [answer.words]\nfaster = {}\nslower = {}\nno-difference = {}\ncannot-tell = {}\n\
             not-comparable = \"The two cannot be compared in this run: {{reason}}.\"\n",
            text(&format!("Is {server} faster{than}, {words}?")),
            text(best),
            text(&faster),
            text(&slower),
            text(&same),
            text(&cannot_tell)
        );
    }
}

/// Effects of single settings on throughput, also between contenders with different promises.
pub fn effects(out: &mut String, now: &Settings) {
    let mode = format!("journal_mode = {}", text(&now.journal_mode));
    let sync = format!("synchronous = {}", text(&now.synchronous));
    let (begin, timeout) =
        (format!("begin = \"{}\"", now.begin.unwrap_or("deferred")), format!("busy_timeout = {}", now.busy_timeout));
    let mut effect = |about: &str, (factor, from, to): (&str, &str, &str), at: [&String; 3]| {
        let at = at.map(String::as_str).join(", ");
        let _ = write!(
            out,
            "\n[[effect]]\nabout = {}\nask = \"What does it do to throughput?\"\nfactor = \"{factor}\"\nfrom = {}\nto = {}\nat = {{ {at} }}\nmetric = \"throughput_ops_per_s\"\n",
            text(about),
            text(from),
            text(to)
        );
    };
    if now.journal_mode != "wal" {
        effect(
            "WAL instead of the captured journal",
            ("journal_mode", &now.journal_mode, "wal"),
            [&begin, &sync, &timeout],
        );
    }
    if now.begin == Some("deferred") {
        effect("BEGIN IMMEDIATE instead of BEGIN", ("begin", "deferred", "immediate"), [&mode, &sync, &timeout]);
    }
    if let Some(safer) = safer(now) {
        let about = format!("{} instead of {}", tier(&safer), tier(now));
        effect(&about, ("synchronous", &now.synchronous, &safer.synchronous), [&mode, &begin, &timeout]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_no_where_no_lock_error_is_gone_and_has_one_form_of_numbers() {
        let mut out = String::new();
        let longest =
            Longest { name: "pay".into(), mean_ns: 2_900_000_000, longest_ns: 6_500_000_000, every_ns: 4_700_000_000 };
        assert_eq!(longest.quick_window_ms(6), 2_400, "three in 14.1 s");

        let why_none = longest.why_none(5_000);
        let (count, never_waited, gave_up) = (1_060, 1_000, true);
        let (per_1000, has_writes, write_ms) = (557.308, true, Some(61.2345));
        let (sooner, unmet) = ((0, String::new()), None);
        let errors =
            LockErrors { count, never_waited, gave_up, per_1000, has_writes, write_ms, why_none, sooner, unmet };
        errors.write_answer(&mut out, "WAL", Waits::AsCaptured);
        let answer: Vec<&str> = out.lines().collect();
        let of =
            |key: &str| answer.iter().find_map(|line| line.strip_prefix(&format!("{key} = "))).expect("a sentence");
        assert!(
            of("both-not-fewer").contains("No: WAL would have removed none of the 1,060 lock errors; they"),
            "{out}"
        );
        assert!(
            of("both").contains("Not all: WAL would have left about {this.left_by_wal} of 1,060 lock errors"),
            "{out}"
        );
        assert!(of("both").contains("(in the capture 557)") && !out.contains("557.308"), "{out}");
        assert!(
            of("only-against").contains(
                "removed 1,060 of 1,060 lock errors (at least {this.removed_by_wal} with 95 % confidence, if"
            ),
            "{out}"
        );
        for fact in ["neither", "only-against"] {
            assert!(of(fact).contains(" with it; in the capture it took 61.2 ms."), "{out}");
        }
        assert!(out.contains(" + 0.999))"), "some are left, so not 0: {out}");
        let neither = of("neither");
        assert!(
            neither
                .contains("It has {against.holding_operations} of {against.operations} operations of pay, which holds"),
            "{out}"
        );
        assert!(
            neither.contains("holds the lock for 2.90 s, the mean") && neither.contains("up to 5.00 s; the longest"),
            "{out}"
        );
        assert!(neither.contains("longer --window or another --seed"), "{out}");
        assert!(!longest.why_none(8_000).contains("Each"), "a call waits longer than the longest");
        let mut timeout = String::new();
        errors.write_answer(&mut timeout, "a busy timeout", Waits::OnlyLonger);
        assert!(timeout.contains("min(1060, max(min(1000, 1000 * floor("), "{timeout}");
        assert!(timeout.contains("only-against = \"Not all: 1,000 of 1,060 lock errors came at once"), "{timeout}");
        let (all, mut timeout) = (LockErrors { never_waited: count, ..errors }, String::new());
        all.write_answer(&mut timeout, "a busy timeout", Waits::OnlyLonger);
        assert!(timeout.contains("only-against = \"No: all 1,060 lock errors came at once"), "{timeout}");
    }

    #[test]
    fn a_question_about_more_load_says_what_is_varied_and_where_it_cannot_answer() {
        let sentence = |times, by_pauses, by_lock| {
            let mut out = String::new();
            write_more_load(&mut out, "WAL", ("x", times), &MoreLoad { by_pauses, by_lock }, None);
            out
        };
        let paced = sentence(4, 3.9, 50.0);
        assert!(paced.contains("Each pause of a client is 4 times shorter here"), "{paced}");
        assert!(paced.contains("at most 3.9") && !paced.contains("cannot tell"), "{paced}");
        let loop_of_work = sentence(4, 1.02, 50.0);
        assert!(
            loop_of_work.contains("cannot tell what 4 times the load does: clients hardly pause"),
            "{loop_of_work}"
        );
        let holds = sentence(8, 7.5, 1.25);
        assert!(
            holds.contains("has the write lock for at least 80") && holds.contains("cannot tell what 8 times"),
            "{holds}"
        );
        assert!(sentence(0, 1.1, 9.0).contains("cannot tell what more load does"));
        assert!(sentence(0, 30.0, 9.0).contains("Clients do not pause here: at most 9"));
    }

    #[test]
    fn speed_at_the_captured_load_is_the_time_of_an_operation() {
        let mut out = String::new();
        write_server(&mut out, "PostgreSQL", "WAL");
        let (captured, full) = out.split_once("with clients that never pause?").expect("two questions");
        assert!(captured.contains("metric = \"response_ns_mean\"") && !captured.contains("throughput"), "{captured}");
        assert!(full.contains("metric = \"throughput_ops_per_s\""), "{full}");
    }
}
