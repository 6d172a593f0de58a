//! Notices between the answers and the figures: contenders that all kept up with the load, conflicts that clients cause
//! themselves, too few operations, other work than the baseline's; and above the answers: starved clients. Each kind is said
//! once, with a list of the rows that it is about.

use crate::analysis::Findings;
use crate::analysis::cell::{Cell, Starved};
use crate::analysis::compare::{Compared, not_the_same_work};
use crate::analysis::reported;
use crate::analysis::trial::Scope;
use crate::outcome::Outcome;
use crate::report::content::words;
use crate::report::kind;
use crate::stats::interval::MIN_ROUNDS;
use crate::stats::precision::{Percent, Rate};
use crate::stats::quantile::{Quantile, QuantileValue};
use crate::stats::verdict::Verdict;

/// Share of the operations from which conflicts need an explanation.
const MANY_CONFLICTS: f64 = 0.1;

/// Most rows that a notice lists.
const LISTED_MOST: usize = 12;

/// Clients count as without pauses if they are busy for at least one part in this many of their time.
const AT_WORK: u64 = 4;

pub fn sentences(findings: &Findings<'_>) -> Vec<String> {
    if kind::of(findings).is_some() {
        return vec![];
    }
    let of_all = [self_made(findings), kept_up(findings), other_work(findings), few(findings), few_rounds(findings)];
    of_all.into_iter().flatten().collect()
}

/// The cells for which `of` has a value, largest first.
fn worst<'f>(findings: &'f Findings<'_>, of: impl Fn(&Cell) -> Option<f64>) -> Vec<(&'f Cell, f64)> {
    let with_data = findings.cells.iter().filter(|cell| cell.has_data());
    let mut found: Vec<(&Cell, f64)> = with_data.filter_map(|cell| Some((cell, of(cell)?))).collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    found
}

/// A contender's label, with its condition if there are several.
fn name(findings: &Findings<'_>, cell: &Cell) -> String {
    let label = words::label(findings, cell.contender);
    match findings.study.conditions.len() {
        1 => label.to_string(),
        _ => format!("{label} ({})", words::condition(findings, cell.condition)),
    }
}

/// A suffix: the sentence also holds for these rows.
fn others<'f>(findings: &'f Findings<'_>, rows: impl Iterator<Item = &'f Cell>) -> String {
    let mut rows: Vec<&Cell> = rows.collect();
    rows.sort_by_key(|row| (row.condition, row.contender));
    let mut groups: Vec<(Vec<&str>, Vec<String>)> = vec![];
    for row in rows.chunk_by(|a, b| a.condition == b.condition) {
        let labels: Vec<&str> = row.iter().map(|row| words::label(findings, row.contender)).collect();
        let condition = words::condition(findings, row[0].condition);
        match groups.iter_mut().find(|(known, _)| *known == labels) {
            Some((_, conditions)) => conditions.push(condition),
            None => groups.push((labels, vec![condition])),
        }
    }
    let group = |(labels, conditions): &(Vec<&str>, Vec<String>)| match findings.study.conditions.len() {
        1 => words::labels(labels),
        _ => format!("{} ({})", words::labels(labels), conditions.join(", ")),
    };
    match rows.len() {
        0 => String::new(),
        1..=LISTED_MOST => {
            format!(" The same holds for {}.", groups.iter().map(group).collect::<Vec<_>>().join("; "))
        }
        more => format!(" The same holds for {} more rows below.", words::count(more as u64)),
    }
}

/// Whether a contender did not do the same work as its baseline, and so is not compared with it.
fn did_other_work(findings: &Findings<'_>, compared: &Compared) -> bool {
    let cell = |contender| Some((findings.cell(compared.condition, contender)?, words::label(findings, contender)));
    let Verdict::NotComparable(why) = &compared.comparison.verdict else { return false };
    let Some(arms) = cell(compared.baseline).zip(cell(compared.candidate)) else { return false };
    not_the_same_work(&findings.estimator(), [arms.0, arms.1], &compared.metric).as_ref() == Some(why)
}

/// The rows that [`did_other_work`], by the headline.
fn all_with_other_work<'f>(findings: &'f Findings<'_>) -> impl Iterator<Item = &'f Compared> {
    let headline = findings.headline.as_ref().map_or("", |headline| &headline.name);
    let rows = findings.cells.iter().filter_map(|cell| findings.compared(cell.condition, cell.contender, headline));
    rows.filter(|compared| did_other_work(findings, compared))
}

/// The short reason of a row, if a note has the reasons of several.
pub fn other_work_of(findings: &Findings<'_>, compared: &Compared) -> Option<&'static str> {
    let is_noted = did_other_work(findings, compared) && all_with_other_work(findings).nth(1).is_some();
    is_noted.then_some("not the same work: see the note above")
}

fn other_work(findings: &Findings<'_>) -> Option<String> {
    let found: Vec<&Compared> = all_with_other_work(findings).collect();
    // The row of a single one says it.
    let first = found.first().filter(|_| found.len() > 1)?;
    let Verdict::NotComparable(why) = &first.comparison.verdict else { return None };
    let cell = |compared: &&Compared| findings.cell(compared.condition, compared.candidate);
    Some(format!(
        "{} is not comparable with {} ({why}).{}",
        name(findings, cell(first)?),
        words::label(findings, first.baseline),
        others(findings, found[1..].iter().filter_map(cell))
    ))
}

/// Clients that committed nothing: the figures are of the others.
pub fn starved(findings: &Findings<'_>) -> Option<String> {
    if kind::of(findings).is_some() {
        return None;
    }
    let found = worst(findings, |cell| Some(cell.starved.as_ref()?.share()));
    let Starved { role, starved, clients } = found.first().and_then(|(cell, _)| cell.starved.as_ref())?;
    let of_role = role.as_ref().map_or(String::new(), |role| format!(" of the role {role}"));
    let times = match starved == clients {
        true => "There are hardly any times of that window.",
        false => "All times of that window are of the clients that got through.",
    };
    let done = if findings.of_service() { "got no answer" } else { "committed nothing" };
    Some(format!(
        "{}: {} of {} clients{of_role} {done} in a whole window. {times}{}",
        name(findings, found[0].0),
        words::count(*starved as u64),
        words::count(*clients as u64),
        others(findings, found[1..].iter().map(|(cell, _)| *cell))
    ))
}

/// Whether the clients are busy most of the time and do not pause.
fn without_pauses(findings: &Findings<'_>, cell: &Cell) -> bool {
    let run_in_ns = findings.study.load.run_in_ns;
    let clients = reported::clients(findings, Some(cell.condition)).into_iter().max().map_or(1, u64::from);
    let measured = || cell.valid.iter().filter_map(|row| findings.rows[*row].measured.as_ref());
    let busy_ns: u64 = measured().map(|measured| measured.busy_ns).sum();
    let clients_ns: u64 = measured().map(|measured| clients * measured.clients_ns(run_in_ns)).sum();
    busy_ns * AT_WORK > clients_ns
}

/// Notice of conflicts in a closed loop, where a client that fails begins the next operation at once and fails again.
fn self_made(findings: &Findings<'_>) -> Option<String> {
    let contenders = &findings.study.contenders;
    let at_once = |cell: &Cell| contenders[cell.contender].settings.get("retry").is_none_or(|retry| retry != "backoff");
    let share = |cell: &Cell| {
        let counts = &cell.pool(Scope::All).counts;
        let share = counts.outcome(Outcome::Conflict) as f64 / counts.planned().max(1) as f64;
        let closed = cell.rate_per_s(&findings.rows).is_none() && at_once(cell) && without_pauses(findings, cell);
        (share > MANY_CONFLICTS && closed && !findings.of_service()).then_some(share)
    };
    let found = worst(findings, share);
    let (cell, share) = found.first()?;
    Some(format!(
        "{}: {} of the operations ended in a conflict. A client that fails begins its next operation at once, in a closed \
         loop without back-off: clients that try again at once make this share. Compare with `--set retry=backoff`.{}",
        name(findings, cell),
        Percent(*share),
        others(findings, found[1..].iter().map(|(cell, _)| *cell))
    ))
}

/// Notice that all contenders kept up with the load: their throughput is equal, so only their times can differ.
fn kept_up(findings: &Findings<'_>) -> Option<String> {
    let kept_up = |condition: usize| {
        let cells: Vec<&Cell> = findings.cells.iter().filter(|cell| cell.condition == condition).collect();
        let rate = |cell: &&Cell| cell.has_data().then(|| cell.rate_per_s(&findings.rows)).flatten();
        let asked = cells.iter().map(rate).reduce(|a, b| a.filter(|_| a == b))??;
        let all_did = cells.len() > 1 && cells.iter().all(|cell| cell.has_data() && cell.kept_up());
        all_did.then(|| (condition, Rate(asked).to_string()))
    };
    let conditions = findings.study.conditions.len();
    let all: Vec<(usize, String)> = (0..conditions).filter_map(kept_up).collect();
    let is_everywhere = all.len() == conditions;
    let name = |(condition, rate)| if is_everywhere { rate } else { words::condition(findings, condition).to_string() };
    let mut asked: Vec<String> = all.into_iter().map(name).collect();
    asked.dedup();
    let preposition = if is_everywhere { "at" } else { "under" };
    (!asked.is_empty()).then(|| {
        format!(
            "All contenders did all that was asked of them {preposition} {}: their throughput says nothing about which is faster; \
             compare the times.",
            asked.join("; ")
        )
    })
}

fn few(findings: &Findings<'_>) -> Option<String> {
    if findings.as_published() {
        return None;
    }
    let lacking = |cell: &Cell| match cell.pool(Scope::All).response.quantile(Quantile::P99).value {
        QuantileValue::TooFew { n, needed } if n > 0 => Some((n, needed)),
        _ => None,
    };
    let found: Vec<(u64, u64)> = findings.cells.iter().filter(|cell| cell.has_data()).filter_map(lacking).collect();
    let (n, needed) = found.iter().min()?;
    Some(format!(
        "Too few operations for a p99 in {} (fewest: {} of {}): use a longer --window.",
        words::counted(found.len(), "row"),
        words::count(*n),
        words::count(*needed)
    ))
}

fn few_rounds(findings: &Findings<'_>) -> Option<String> {
    let rounds = findings.study.rounds as usize;
    let compared = findings.study.contenders.len() > 1 && !findings.as_published();
    (compared && rounds < MIN_ROUNDS).then(|| {
        format!(
            "{} of the {MIN_ROUNDS} that a verdict needs: which is faster is not said, because chance could have made the \
             difference. Run it with --rounds {MIN_ROUNDS}.",
            words::counted(rounds, "round")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contender::Tier;
    use crate::outcome::reason::Invalid;
    use crate::record::model::Mount;
    use crate::record::store::Record;
    use crate::report::content;
    use crate::report::testing::Story;
    use crate::report::text::{self, Style};

    fn record(story: &Story) -> (tempfile::TempDir, Record) {
        let dir = tempfile::tempdir().unwrap();
        let record = Story { invalid: vec![], window_ns: 60_000_000, ..story.clone() }.write(dir.path());
        (dir, record)
    }

    fn all(findings: &Findings<'_>) -> String {
        sentences(findings).join("\n")
    }

    /// The report, with one space between two words.
    fn text(findings: &Findings<'_>) -> String {
        let text = text::text(&content::document(findings), Style::FILE);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn clients_that_got_nothing_are_at_the_top() {
        let (_dir, record) = record(&Story::default());
        let mut findings = Findings::new(&record);
        findings.cells.iter_mut().for_each(|cell| cell.starved = None);
        assert!(!text(&findings).contains("committed nothing"), "{}", text(&findings));
        findings.cells[0].starved = Some(Starved { role: None, starved: 7, clients: 8 });
        findings.cells[1].starved = Some(Starved { role: Some("admin".to_string()), starved: 1, clients: 8 });
        let text = text(&findings);
        let said = "WAL/FULL (public): 7 of 8 clients committed nothing in a whole window.";
        assert!(text.find(said).expect("a sentence") < text.find("The answer").expect("an answer"), "{text}");
        assert!(text.contains("clients that got through. The same holds for DELETE/EXTRA (public)."), "{text}");
    }

    #[test]
    fn who_tries_again_at_once_makes_the_share_of_conflicts() {
        let (_dir, mut record) = record(&Story { deferred_conflicts: 0.6, ..Story::default() });
        let text = all(&Findings::new(&record));
        assert!(text.contains("% of the operations ended in a conflict. A client that fails begins"), "{text}");
        assert!(text.contains("WAL/NORMAL deferred (write-burst)"), "{text}");
        for contender in &mut record.run.study.contenders {
            contender.settings.insert("retry".to_string(), "backoff".to_string());
        }
        assert!(!all(&Findings::new(&record)).contains("ended in a conflict"));
    }

    #[test]
    fn other_work_is_said_once_with_the_rows_that_it_is_about() {
        let (_dir, record) = record(&Story { deferred_conflicts: 0.9, ..Story::default() });
        let mut findings = Findings::new(&record);
        let both = text(&findings);
        let said = "! WAL/NORMAL deferred (public) is not comparable with DELETE/FULL (not the same work: of ";
        assert!(
            both.contains(said) && both.contains("The same holds for WAL/NORMAL deferred (write-burst)."),
            "{both}"
        );
        let (answers, rest) = both.split_once("! WAL/NORMAL").expect("a note");
        assert!(answers.contains("The answer ===") && answers.contains(" > "), "the answers come first: {both}");
        let tables = rest.split_once("What this does not show").expect("limits").0;
        assert_eq!(tables.matches("[1] not the same work: see the note above").count(), 2, "{tables}");
        assert_eq!(tables.matches("% were committed").count(), 1, "{tables}");
        // A single row says it itself.
        findings.comparisons.retain(|compared| compared.condition == 0);
        let one = text(&findings);
        assert!(one.contains("[1] not the same work: of ") && !one.contains("see the note above"), "{one}");
    }

    #[test]
    fn what_forbids_to_rely_on_the_answers_comes_before_them() {
        let (_dir, mut record) = record(&Story { rounds: 2, ..Story::default() });
        record.trials[0].invalid = vec![Invalid::Invariant.because("")];
        let text = text::text(&content::document(&Findings::new(&record)), Style::FILE);
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
        assert!(at("! 1 trial of ") < at("\n> ") && at("\n> ") < at("! 2 rounds of the 6"), "{text}");
    }

    #[test]
    fn where_all_kept_up_their_throughput_says_nothing() {
        let (_dir, record) = record(&Story::default());
        let mut findings = Findings::new(&record);
        findings.cells.retain(|cell| [0, 3].contains(&cell.contender) && cell.condition == 0);
        assert!(!all(&findings).contains("All contenders did"), "{}", all(&findings));
        for row in &mut findings.rows {
            row.load.rate_per_s = Some(200.0);
        }
        let text = all(&findings);
        assert!(text.contains("All contenders did all that was asked of them under public:"), "{text}");
        findings.cells.iter_mut().filter(|cell| cell.contender == 3).for_each(|cell| cell.valid.clear());
        assert!(!all(&findings).contains("All contenders did"), "one of them has no trial that counts");
    }

    #[test]
    fn where_a_sync_keeps_nothing_durable_is_not_shown() {
        let (_dir, mut record) = record(&Story::default());
        let words = "The data was on a file system over /dev/shm, which is in memory (tmpfs): a power cut can lose";
        let all = |record: &Record| crate::report::content::circumstances::warnings(&Findings::new(record)).join("\n");
        let tier = |record: &Record| words::tier(&Findings::new(record), Tier::Durable).1;
        assert!(!all(&record).contains("power cut") && !tier(&record).contains("not on"));
        let why = Some("over /dev/shm, which is in memory (tmpfs)".to_string());
        record.run.disk.mount = Some(Mount { source: "/dev/loop0".into(), options: vec![], model: None, no_sync: why });
        assert!(all(&record).contains(words), "{}", all(&record));
        assert_eq!(tier(&record), "every acknowledged commit survives a power cut (not on this file system)");
        (record.run.disk.file_system, record.run.disk.mount) = ("tmpfs".to_string(), None);
        assert!(all(&record).contains("a file system in memory (tmpfs): a power"), "an older record: {}", all(&record));
        record.trials.iter_mut().for_each(|trial| trial.server_unwatched = true);
        assert!(!all(&record).contains("power cut"), "an attached server has its data elsewhere");
    }

    #[test]
    fn syncs_that_a_server_only_reports_are_named_with_its_tier() {
        let (_dir, mut record) = record(&Story::default());
        let tier = |record: &Record| words::tier(&Findings::new(record), Tier::Durable).1;
        assert!(!tier(&record).contains("report"), "SQLite has no server");
        let mut with = |server: &str| {
            for trial in record.trials.iter_mut().filter(|trial| trial.slot.contender == 0) {
                trial.server = Some(toml::from_str(server).unwrap());
            }
            tier(&record)
        };
        let said = "every acknowledged commit survives a power cut (WAL/FULL: syncs not seen from outside)";
        assert_eq!(with("version = '1'\nsyncs = { count = 1, commits = 1 }"), said);
        assert_eq!(with("version = '1'"), said, "it reports no syncs, or contend did not start it");
        assert!(!with("version = '1'\nsyncs = { count = 1, commits = 1, flushes = 1 }").contains("not seen"));
        assert!(!with("version = '1'\nserving = { cpu_ns = 1, rss_bytes = 1 }").contains("not seen"), "SQLite, served");
    }

    #[test]
    fn too_few_operations_and_rounds_are_at_the_top() {
        let (_dir, record) = record(&Story { rounds: 2, ..Story::default() });
        let text = all(&Findings::new(&record));
        assert!(text.contains("Too few operations for a p99 in 10 rows (fewest: "), "{text}");
        assert!(text.contains("2 rounds of the 6 that a verdict needs") && text.contains("--rounds 6"), "{text}");
    }
}
