//! The result of a gate, with the same sentences on a terminal, in Markdown and in JUnit XML.

use crate::judge::{COVERAGE, Judged, Judgement, is_decided, judge, judgement, rounds_min};
use crate::junit;
use crate::left;
use crate::saved::{By, Gate, Why};
use anyhow::{Context, Result};
use contend::analysis::metric::Metric;
use contend::report::document::{Block, Cell, Document, Id, Said, Section, Table, Tone};
use contend::report::markdown::markdown;
use contend_stats::drift::trend_of_ratios;
use contend_stats::interval::median;
use contend_stats::precision::{Ns, Percent, Ratio, alike, counted};
use contend_stats::verdict::{Comparison, Direction, ROUNDS_MAX, Verdict};
use std::fs;
use std::path::Path;

/// File names: text for a pull request, and test results.
const MARKDOWN: &str = "gate.md";
const JUNIT: &str = "junit.xml";

/// The whole result.
#[derive(Debug, Clone, Default)]
pub struct Page {
    pub title: String,
    pub question: String,
    pub facts: Vec<String>,
    pub warnings: Vec<String>,
    pub answers: Vec<Judged>,
    pub table: Table,
    pub note: String,
    pub origin: String,
}

impl Page {
    pub fn document(&self) -> Document {
        let said = |answer: &Judged| Said { condition: None, text: answer.line.clone(), tone: tone(answer.judgement) };
        let said = self.answers.iter().map(said).collect();
        let answer = Block::Answer { ask: self.question.clone(), said };
        let section = |id, title: &str, blocks| Section { id, title: title.to_string(), blocks };
        let times = vec![Block::Table(self.table.clone()), Block::Note(self.note.clone())];
        Document {
            title: self.title.clone(),
            question: self.title.clone(),
            facts: self.facts.clone(),
            warnings: self.warnings.clone(),
            origin: self.origin.clone(),
            sections: vec![section(Id::Answer, "Answer", vec![answer]), section(Id::Comparisons, "Figures", times)],
            ..Document::default()
        }
    }

    /// Writes the files for a pull request into a directory.
    ///
    /// # Errors
    /// One cannot be written.
    pub fn write(&self, dir: &Path) -> Result<()> {
        write(dir, MARKDOWN, &markdown(&self.document()))?;
        write(dir, JUNIT, &junit::of_answers(&self.answers))
    }

    /// The worst judgement of all answers: it decides the exit status.
    pub fn judgement(&self) -> Judgement {
        self.answers.iter().map(|answer| answer.judgement).max().unwrap_or(Judgement::Passes)
    }
}

/// A contender of records, compared.
pub struct Compared {
    pub name: String,
    /// The value of A in words, such as `the throughput of A, WAL/FULL`.
    pub of_a: String,
    pub direction: Direction,
    /// Cells of the table between the name and the ratio.
    pub cells: Vec<String>,
    pub rounds: String,
    pub comparison: Comparison,
    /// Why the rounds do not decide, unless B is slower: the ratio drifts.
    pub drift: Option<String>,
}

/// The page of one or two records, without the comparisons.
pub struct OfRecords<'p> {
    pub question: &'p str,
    pub columns: &'p [&'p str],
    pub metric: &'p Metric,
    pub margin: f64,
    pub warnings: Vec<String>,
    pub note: String,
}

impl OfRecords<'_> {
    /// The page with these comparisons, and the answers for contenders without values.
    pub fn page(self, compared: Vec<Compared>, untold: Vec<Judged>) -> Page {
        let mut table = Table::new(self.columns);
        let facts = vec![
            self.metric.label(),
            counted(compared.len(), "comparison"),
            format!("margin {}", Percent(self.margin)),
        ];
        let mut answers = vec![];
        for Compared { name, of_a, direction, cells, rounds, comparison, drift } in compared {
            let has = if direction == Direction::LowerIsBetter { "takes" } else { "has" };
            let ratio = comparison.ratio.map_or("-".to_string(), |ratio| Ratio(ratio).to_string());
            table.row(std::iter::once(name.clone()).chain(cells).chain([ratio, rounds]).map(Cell::new));
            let line = line(&comparison, (has, &of_a), self.margin, None);
            let (line, judgement) = match (drift, judgement(&comparison.verdict)) {
                (Some(why), Judgement::Slower) => (format!("{line} Note: {why}."), Judgement::Slower),
                (Some(why), Judgement::Passes | Judgement::CannotTell) => {
                    (format!("cannot tell: {why}."), Judgement::CannotTell)
                }
                (_, judgement) => (line, judgement),
            };
            answers.push(Judged { line: format!("{name}: {line}"), name, judgement });
        }
        answers.extend(untold);
        Page {
            title: "contend gate".to_string(),
            question: self.question.to_string(),
            facts,
            warnings: self.warnings,
            answers,
            table,
            note: self.note,
            origin: format!("Made by contend {}.", env!("CARGO_PKG_VERSION")),
        }
    }
}

/// Writes the files of a gate that ended with an error.
///
/// # Errors
/// One cannot be written.
pub fn write_error(dir: &Path, by: By, error: &str) -> Result<()> {
    write(dir, MARKDOWN, &format!("**contend gate ended with an error.**\n\n{}\n", junit::quoted(error)))?;
    write(dir, JUNIT, &junit::of_error(by.words(), error))
}

fn write(dir: &Path, name: &str, text: &str) -> Result<()> {
    let path = dir.join(name);
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn tone(judgement: Judgement) -> Tone {
    match judgement {
        Judgement::Slower | Judgement::Failed => Tone::Worse,
        Judgement::Passes | Judgement::CannotTell | Judgement::NotComparable => Tone::Plain,
    }
}

/// The page of two commands.
pub fn of_gate(gate: &Gate) -> Page {
    let mut comparison = judge(gate.counting(), gate.by, gate.margin);
    let left = left::why_not(gate, &comparison.verdict);
    let mut warnings = warnings(gate, gate.rounds.len() - gate.counting().count());
    if let Some(why) = left {
        comparison.verdict = Verdict::NotComparable(why);
    } else {
        warnings.splice(0..0, left::warning(gate));
    }
    let counting = gate.counting().count();
    let mut facts = vec![counted(counting, "round"), why(gate).to_string(), format!("margin {}", Percent(gate.margin))];
    let again = gate.rounds.len() - counting;
    if again > 0 {
        facts.push(format!("{again} disturbed and run again"));
    }
    Page {
        title: "contend gate".to_string(),
        question: "Is B slower than A?".to_string(),
        facts,
        warnings,
        answers: vec![Judged {
            name: gate.by.words().to_string(),
            line: line(
                &comparison,
                ("takes", &format!("the {} of A", gate.by.words())),
                gate.margin,
                Some(each_ns(gate)),
            ) + &by_cpu(gate, &comparison),
            judgement: judgement(&comparison.verdict),
        }],
        table: table(gate),
        note: format!(
            "A: {}; B: {}. The interval holds with {:.0} % at all looks together. Only the {} decides.",
            gate.a,
            gate.b,
            100.0 * COVERAGE,
            gate.by.words()
        ),
        origin: format!("Made by contend {} from gate.toml.", gate.contend),
    }
}

/// The answer by CPU time, if wall time does not decide: other programs on the machine change it less.
fn by_cpu(gate: &Gate, by_wall: &Comparison) -> String {
    let by_cpu = judge(gate.counting(), By::Cpu, gate.margin);
    let is_open = gate.by == By::Wall && judgement(&by_wall.verdict) == Judgement::CannotTell;
    match by_cpu.ratio.filter(|_| is_open && is_decided(&by_cpu, gate.margin)) {
        Some(ratio) => {
            format!(
                " By CPU time: {}, {}. If the commands compute and do not wait, --by cpu decides by it.",
                by_cpu.verdict,
                Ratio(ratio)
            )
        }
        None => String::new(),
    }
}

/// Time of a round that counts, with its part of the preparations and of repeated rounds. Records of earlier versions have the
/// times of the runs alone.
fn each_ns(gate: &Gate) -> u64 {
    let runs_ns = || gate.rounds.iter().map(|round| round.a.wall_ns + round.b.wall_ns).sum::<u64>();
    let all_ns = if gate.rounds_ns > 0 { gate.rounds_ns } else { runs_ns() };
    all_ns / gate.counting().count().max(1) as u64
}

fn why(gate: &Gate) -> &'static str {
    match gate.ended {
        Why::Decided => "decided",
        Why::Budget => "the budget was used up",
        Why::Rounds => "no more rounds were allowed",
        Why::Stopped => "stopped by the user",
        Why::Failed => "a command failed",
    }
}

/// One line for a pull request. `each_ns` is the duration of a round; `None` if the rounds are those of records.
pub fn line(comparison: &Comparison, (takes, of_a): (&str, &str), margin: f64, each_ns: Option<u64>) -> String {
    if let Verdict::NotComparable(why) = &comparison.verdict {
        return format!("not comparable: {why}.");
    }
    let rounds = counted(comparison.rounds as usize, "round");
    let Some(ratio) = comparison.ratio else { return "cannot tell: no round was finished.".to_string() };
    let in_words = |ratio: &str| format!("B {takes} {ratio} times {of_a}");
    let (Some(low), Some(high)) = (comparison.low, comparison.high) else {
        let why = match each_ns {
            None => "there are too few for an interval".to_string(),
            Some(_) => format!("an interval needs {}{}", rounds_min(), time_of(u64::from(rounds_min()), each_ns)),
        };
        return format!("cannot tell: {} in {rounds}, and {why}.", in_words(&bare(ratio)));
    };
    let [ratio, low, high] = alike([ratio, low, high].map(bare));
    let takes = in_words(&ratio);
    let interval = format!("{low} to {high}, {:.0} % interval, {rounds}", 100.0 * COVERAGE);
    match &comparison.verdict {
        Verdict::CannotTell | Verdict::NoWords | Verdict::AsAsked | Verdict::NotComparable(_) => {
            let open = if comparison.low > Some(1.0) || comparison.high < Some(1.0) {
                format!(" B is slower; whether by more than {} is open.", Percent(margin))
            } else {
                needed(comparison.rounds_needed, each_ns)
            };
            format!("cannot tell: {takes} ({interval}).{open}")
        }
        Verdict::NoDifference => format!("no difference beyond {}: {takes} ({interval}).", Percent(margin)),
        Verdict::SlightlyFaster | Verdict::SlightlySlower => {
            format!("{}: the median ratio is within {}: {takes} ({interval}).", comparison.verdict, Percent(margin))
        }
        Verdict::Faster | Verdict::Slower => format!("{}: {takes} ({interval}).", comparison.verdict),
    }
}

fn bare(ratio: f64) -> String {
    Ratio(ratio).to_string().replace(" x", "")
}

fn needed(rounds: Option<u32>, each_ns: Option<u64>) -> String {
    match rounds {
        None => String::new(),
        Some(rounds) if rounds > ROUNDS_MAX => {
            format!(
                " More than {ROUNDS_MAX} rounds would be needed: the machine is too noisy, or the difference too small."
            )
        }
        Some(rounds) => {
            format!(" At least {rounds} rounds would be needed{}.", time_of(u64::from(rounds), each_ns))
        }
    }
}

fn time_of(rounds: u64, each_ns: Option<u64>) -> String {
    each_ns.map_or(String::new(), |ns| format!(" ({} at this pace)", Ns(ns.saturating_mul(rounds))))
}

fn warnings(gate: &Gate, again: usize) -> Vec<String> {
    let mut warnings = vec![];
    let disturbed = gate.counting().filter(|round| !round.marks.is_empty()).count();
    if disturbed > 0 {
        let were = if disturbed == 1 { "was" } else { "were" };
        warnings.push(format!(
            "{disturbed} of {} {were} disturbed and {} nevertheless ({}){}. A server that the commands use counts as a \
             disturbance: contend does not know that it belongs to them.",
            counted(gate.counting().count(), "round"),
            if disturbed == 1 { "counts" } else { "count" },
            gate.counting().flat_map(|round| &round.marks).next().map_or(String::new(), ToString::to_string),
            if again > 0 { format!(", after {} run again", counted(again, "round")) } else { String::new() },
        ));
    }
    let ratios: Vec<f64> =
        gate.counting().map(|round| gate.by.of(round.b) as f64 / gate.by.of(round.a).max(1) as f64).collect();
    if trend_of_ratios(&ratios).is_some_and(|trend| trend.drifting) {
        warnings.push("The ratio of B to A changes from the first rounds to the last.".to_string());
    }
    warnings
}

fn table(gate: &Gate) -> Table {
    let mut table = Table::new(&["time", "A|", "B|", "B / A|", "interval", ""]);
    for by in [By::Wall, By::Cpu] {
        let of = |side: fn(&crate::saved::Round) -> crate::saved::Took| {
            let all: Vec<f64> = gate.counting().map(|round| by.of(side(round)) as f64).collect();
            median(&all).map_or("-".to_string(), |ns| Ns(ns as u64).to_string())
        };
        let comparison = judge(gate.counting(), by, gate.margin);
        let interval = comparison.low.zip(comparison.high);
        table.row([
            Cell::new(by.words()),
            Cell::new(of(|round| round.a)),
            Cell::new(of(|round| round.b)),
            Cell::new(comparison.ratio.map_or("-".to_string(), |ratio| Ratio(ratio).to_string())),
            Cell::new(interval.map_or("-".to_string(), |(low, high)| {
                alike([low, high].map(|end| Ratio(end).to_string())).join(" to ")
            })),
            if by == gate.by { Cell::new("decides") } else { Cell::muted("for information") },
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::saved::{Round, Side, Took};
    use crate::simulation::gate;

    fn of_ratios(ratios: &[f64]) -> Page {
        of_gate(&of_rounds(ratios))
    }

    fn of_rounds(ratios: &[f64]) -> Gate {
        let round = |ratio: &f64| {
            let took = |ns: f64| Took { wall_ns: ns as u64, cpu_ns: ns as u64 / 2 };
            let (left_a, left_b) = (vec![], vec![]);
            Round { first: Side::A, a: took(1e9), b: took(1e9 * ratio), left_a, left_b, marks: vec![], again: false }
        };
        Gate { rounds: ratios.iter().map(round).collect(), ..gate() }
    }

    #[test]
    fn the_time_of_a_round_has_its_preparations_and_repeats() {
        let mut gate = of_rounds(&[2.0; 4]);
        (gate.rounds[0].again, gate.rounds_ns) = (true, 30_000_000_000);
        let line = of_gate(&gate).answers[0].line.clone();
        assert!(line.contains("an interval needs 11 (110 s at this pace)"), "{line}");
    }

    #[test]
    fn one_line_says_what_a_pull_request_needs() {
        let alternating = |a: f64, b: f64| (0..20).map(|i| if i % 2 == 0 { a } else { b }).collect::<Vec<_>>();
        for (ratios, line) in [
            (
                alternating(1.10, 1.14),
                "slower: B takes 1.12 times the wall time of A (1.10 to 1.14, 99 % interval, 20 rounds).",
            ),
            (
                alternating(1.02, 1.04),
                "slightly slower: the median ratio is within 5.0 %: B takes 1.03 times the wall time of A (1.02 to 1.04, 99 % \
                 interval, 20 rounds).",
            ),
            (
                alternating(1.01, 1.08),
                "cannot tell: B takes 1.04 times the wall time of A (1.01 to 1.08, 99 % interval, 20 rounds). B is slower; \
                 whether by more than 5.0 % is open.",
            ),
            (
                alternating(0.90, 0.92),
                "faster: B takes 0.910 times the wall time of A (0.900 to 0.920, 99 % interval, 20 rounds).",
            ),
            (
                alternating(0.99, 1.01),
                "no difference beyond 5.0 %: B takes 1.00 times the wall time of A (0.99 to 1.01, 99 % \
                 interval, 20 rounds).",
            ),
        ] {
            assert_eq!(of_ratios(&ratios).answers[0].line, line);
        }
        let unsure = of_ratios(&alternating(0.8, 1.25)).answers[0].line.clone();
        assert!(
            unsure.starts_with("cannot tell: B takes 1.00 times") && unsure.contains("would be needed"),
            "{unsure}"
        );
        let few = of_ratios(&[2.0; 4]).answers[0].line.clone();
        assert!(few.contains("in 4 rounds, and an interval needs 11 (33.0 s at this pace)"), "{few}");
        assert_eq!(of_ratios(&[]).answers[0].line, "cannot tell: no round was finished.");
    }

    #[test]
    fn cpu_time_that_tells_is_named_where_wall_time_does_not() {
        let mut gate = of_rounds(&[0.8, 1.25].repeat(10));
        for round in &mut gate.rounds {
            (round.a.cpu_ns, round.b.cpu_ns) = (1_000, 1_100);
        }
        let line = |gate: &Gate| of_gate(gate).answers[0].line.clone();
        let words = " By CPU time: slower, 1.10 x. If the commands compute and do not wait, --by cpu decides by it.";
        assert!(line(&gate).ends_with(words), "{}", line(&gate));
        gate.by = By::Cpu;
        assert!(!line(&gate).contains("--by cpu"));
    }

    #[test]
    fn markdown_says_the_same() {
        let page = of_ratios(&[1.2; 12]);
        let text = markdown(&page.document());
        assert!(text.contains(&page.answers[0].line) && text.contains("| wall time |"), "{text}");
    }
}
