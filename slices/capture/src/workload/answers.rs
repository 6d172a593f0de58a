//! The questions of a capture's study.

use crate::finding::time;
use crate::literal::text;
use crate::program::Transaction;
use crate::summary::Known;
use crate::trace::Call;
use crate::workload::contenders::{CAPTURED, Settings, safer, tier};
use crate::workload::generator::plain;
use crate::workload::kinds::Kind;
use crate::workload::roles::SHORT;
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
    /// Whether the program writes.
    has_writes: bool,
    /// Why a run can be without lock errors, as sentences with blanks.
    why_none: String,
}

/// A call that was refused after it had waited for this time has given up; nothing else makes a refused call wait so long.
const LONG_WAIT_NS: u64 = 100_000_000;

/// Quick windows are multiples of this.
const STEP_NS: u64 = 100_000_000;

/// Name of the metric with the operations of the transaction that holds the lock longest.
const HOLDERS: &str = "holding_operations";

impl LockErrors {
    /// `longest`: the transaction that holds the lock longest, if any does, and the captured busy timeout.
    pub fn of(known: &Known, longest: Option<&Longest>, busy_timeout_ms: i64) -> LockErrors {
        let is_refused = |call: &Call| call.is_busy() && !call.is_locked();
        let count = known.trace.calls.iter().filter(|call| is_refused(call)).count();
        let never_waits = |call: &&Call| call.may_wait && call.waited_ns + call.prepare.1 == 0;
        let never_waited = known.trace.calls.iter().filter(|call| is_refused(call)).filter(never_waits).count();
        let waited_long = |call: &Call| is_refused(call) && call.waited_ns + call.prepare.1 >= LONG_WAIT_NS;
        let gave_up = known.trace.calls.iter().any(waited_long);
        let met = |attempt: &&Transaction| attempt.calls.iter().any(|&i| is_refused(&known.trace.calls[i]));
        let (failed, all) = (known.transactions.iter().filter(met).count(), known.transactions.len());
        let has_writes = known.groups.iter().any(|group| group.writes);
        let why_none = longest.map_or(String::new(), |longest| longest.why_none(busy_timeout_ms));
        let per_1000 = 1000.0 * failed as f64 / all.max(1) as f64;
        LockErrors { count, never_waited, gave_up, per_1000, has_writes, why_none }
    }

    /// Writes the question whether a contender removes them. The captured number is scaled with the ratio of both rates in
    /// the study, and rounded up: where some are left, it is not 0. Without failures as captured, all are left by a contender with
    /// failures. `is_timeout`: the contender has a longer busy timeout, and nothing else.
    pub fn write_answer(&self, out: &mut String, label: &str, is_timeout: bool) {
        let (count, least) = (self.count, if is_timeout { self.never_waited } else { 0 });
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
            0 => format!(
                "Yes: {label} would have removed {count} of {count} lock errors (at least {{this.{removed}}} with 95 % confidence, if failures are independent)."
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
        let all_gone = format!(
            "Yes: short transactions would have removed {count} of {count} lock errors (at least \
             {{this.removed_by_short_transactions}} with 95 % confidence, if failures are independent)."
        );
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
        *out += "\n[answer.facts]\n";
        for fact in ["neither", "only-this", "only-against", "both", "both-not-fewer"] {
            let in_this_run = format!(
                "In this run {{against.lock_errors_per_1000}} of 1,000 operations fail as captured (in the capture {per_1000}), and \
                 {{this.lock_errors_per_1000}} {with}: \
                 {{against.failed_operations}} of {{against.operations}}, and {{this.failed_operations}} of {{this.operations}}, in the \
                 mean of its rounds."
            );
            let times = match fact {
                "neither" => format!(
                    " A write takes {{against.write_ms}} ms in the mean as captured, and {{this.write_ms}} ms {with}."
                ),
                "only-against" => format!(" A write takes {{this.write_ms}} ms in the mean {with}."),
                // One that failed has no time, and then there is no mean.
                _ => String::new(),
            };
            let times = if self.has_writes { times } else { String::new() };
            let _ = writeln!(out, "{fact} = {}", text(&format!("{} {in_this_run}{times}", verdict(fact))));
        }
    }
}

/// The transaction whose longest execution holds the write lock longest.
pub struct Longest {
    pub name: String,
    /// Mean and longest time in the program under the lock.
    pub mean_ns: u64,
    pub longest_ns: u64,
    /// Length of the capture for each of its executions.
    pub every_ns: u64,
}

impl Longest {
    /// `None` if no transaction is held open.
    pub fn of(known: &Known, kinds: &[Kind]) -> Option<Longest> {
        let length_ns = known.trace.to_ns - known.trace.from_ns;
        let of = |kind: &Kind| Longest {
            every_ns: length_ns / kind.group.transactions.len().max(1) as u64,
            name: kind.name.clone(),
            mean_ns: kind.group.holds_ns().iter().sum(),
            longest_ns: kind.group.transactions.iter().map(|&i| known.transactions[i].held_ns).max().unwrap_or(0),
        };
        let held = kinds.iter().filter(|kind| kind.group.writes).map(of).filter(|longest| longest.mean_ns > 0);
        held.max_by_key(|longest| longest.longest_ns)
    }

    /// Window of a quick run in which about three of its operations begin in all rounds.
    pub fn quick_window_ms(&self, rounds: u64) -> u64 {
        const OPERATIONS: u64 = 3;
        (OPERATIONS * self.every_ns / rounds).div_ceil(STEP_NS).saturating_mul(STEP_NS / 1_000_000)
    }

    /// Writes the metric with its operations.
    pub fn write(&self, out: &mut String) {
        let name = &self.name;
        let _ = write!(
            out,
            "\n[[metric]]\nname = \"{HOLDERS}\"\nabout = \"operations of {name}, which holds the lock longest\"\n\
             value = \"planned.{name}\"\nhigher_is_better = false\n"
        );
    }

    fn why_none(&self, busy_timeout_ms: i64) -> String {
        let Longest { name, mean_ns, longest_ns, .. } = self;
        let timeout_ns = busy_timeout_ms.max(0).cast_unsigned().saturating_mul(1_000_000);
        let mean = match (*mean_ns..*longest_ns).contains(&timeout_ns) {
            true => format!(
                " Each holds the lock for {}, the mean of the capture, and a call waits up to {}; the longest in the \
                 capture was {}.",
                time(*mean_ns),
                time(timeout_ns),
                time(*longest_ns)
            ),
            false => String::new(),
        };
        format!(
            " It has {{against.{HOLDERS}}} of {{against.operations}} operations of {name}, which holds the lock longest, in the mean \
             of its rounds.{mean} A longer --window or another --seed can have more of them."
        )
    }
}

/// Writes the question about lock errors at a multiple of the captured load.
pub fn write_more_load(out: &mut String, label: &str, load: &str, times: u64) {
    let ask = if times == 0 { "with clients that never pause".into() } else { format!("at {times} times the load") };
    let _ = write!(
        out,
        "\n[[answer]]\nask = \"What about locks {ask}?\"\nmetric = \"lock_errors_per_1000\"\ncondition = \"load={load}\"\nthis = {}\nagainst = \"{CAPTURED}\"\n\n[answer.facts]\n",
        text(label)
    );
    for fact in ["neither", "only-this", "only-against", "both"] {
        let _ = writeln!(
            out,
            "{fact} = \"{{against_value}} of 1,000 operations fail at a lock as captured, and {{this_value}} with {{this}}.\""
        );
    }
}

/// Writes the questions about a server against the best settings of SQLite: at the captured load, and with clients that never
/// pause.
pub fn write_server(out: &mut String, server: &str, best: &str) {
    let than = if best == CAPTURED { String::new() } else { format!(" than SQLite with {best}") };
    let of_load = [
        ("captured", "at the captured load", "both get the same done"),
        ("full", "with clients that never pause", "there is no difference"),
    ];
    for (load, words, same) in of_load {
        let speed = format!("{server} would have been {{ratio}} times as fast ({{low}} to {{high}}), {words}");
        let _ = write!(
            out,
            "\n[[answer]]\nask = {}\nmetric = \"throughput_ops_per_s\"\ncondition = \"load={load}\"\nthis = \"{server}\"\nagainst = {}\n\n\
             [answer.words]\nfaster = \"Yes: {speed}.\"\nslower = \"No: {speed}.\"\nno-difference = \"No: {words} {same}.\"\n\
             cannot-tell = \"This run cannot tell: anything from {{low}} to {{high}} times fits.\"\n\
             not-comparable = \"The two cannot be compared in this run: {{reason}}.\"\n",
            text(&format!("Is {server} faster{than}, {words}?")),
            text(best)
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
        let errors = LockErrors { count, never_waited, gave_up, per_1000: 557.308, has_writes: true, why_none };
        errors.write_answer(&mut out, "WAL", false);
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
        errors.write_answer(&mut timeout, "a busy timeout", true);
        assert!(timeout.contains("min(1060, max(min(1000, 1000 * floor("), "{timeout}");
        assert!(timeout.contains("only-against = \"Not all: 1,000 of 1,060 lock errors came at once"), "{timeout}");
    }
}
