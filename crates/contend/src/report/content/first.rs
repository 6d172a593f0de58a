//! The first screen: the answer in words, the table that supports it, and what it does not show.

use crate::analysis::cell::Cell;
use crate::analysis::compare::Compared;
use crate::analysis::metric::{Metric, plain};
use crate::analysis::plain::{Absence, Contender, LeftOut, Tier};
use crate::analysis::trial::{Scope, failed};
use crate::analysis::{Answered, Findings};
use crate::outcome::Outcome;
use crate::report::content::unclear::{Row, folded};
use crate::report::content::words::{self, NOTHING};
use crate::report::content::{along, charts, evidence, grid, method, notice, readback};
use crate::report::document::{Block, Cell as TableCell, Id, Said, Section, Table, Tone};
use crate::report::kind;
use crate::stats::interval::Interval;
use crate::stats::precision::{Percent, Ratio, alike};
use crate::stats::quantile::Quantile;
use crate::stats::verdict::Verdict;

/// Promise of a tier with null drivers only.
const NO_PROMISE: &str = "of drivers that do nothing, so nothing is promised";

pub fn answer(findings: &Findings<'_>) -> Section {
    let mut blocks: Vec<Block> = driver_of_all(findings).map(Block::Note).into_iter().collect();
    blocks.extend(readback::answers(findings));
    blocks.extend(grid::answers(findings));
    blocks.extend(answers(findings));
    blocks.extend(along::answers(findings));
    blocks.extend(asked_effects(findings));
    blocks.extend(readback::tables(findings));
    for condition in 0..findings.study.conditions.len() {
        if findings.study.conditions.len() > 1 {
            blocks.push(Block::Heading(words::condition(findings, condition)));
        }
        blocks.extend(grid::tables(findings, condition));
        match kind::of(findings) {
            Some(report) => blocks.extend((report.table)(findings, condition)),
            None => blocks.push(Block::Table(table(findings, condition))),
        }
    }
    let note = kind::of(findings).map_or_else(|| table_note(findings), |report| Some(report.note.to_string()));
    blocks.extend(note.map(Block::Note));
    blocks.push(Block::Heading("What this does not show".to_string()));
    blocks.push(Block::List(limits(findings)));
    Section { id: Id::Answer, title: "The answer".to_string(), blocks }
}

/// A note on the driver if all contenders use the same one and it is not their engine's usual one.
fn driver_of_all(findings: &Findings<'_>) -> Option<String> {
    let contenders = &findings.study.contenders;
    let first = contenders.first().filter(|first| !first.resolved.usual_driver)?;
    let alike = contenders.iter().all(|contender| contender.driver == first.driver);
    alike.then(|| format!("All figures are of the driver {} ({}).", first.driver, first.resolved.language))
}

fn answers(findings: &Findings<'_>) -> Vec<Block> {
    if let Some(report) = kind::of(findings) {
        return (report.answers)(findings);
    }
    if findings.cells.iter().all(|cell| !cell.has_data()) {
        let text = "No trial of this run counts, so there is no answer. The reasons are below.".to_string();
        return vec![Block::Answer {
            ask: String::new(),
            said: vec![Said { condition: None, text, tone: Tone::Worse }],
        }];
    }
    if findings.answers.is_empty() {
        // A study that asks what connections report has its answer already,
        let told = findings.study.readbacks.iter().any(|table| table.ask.is_some());
        // and so has one that asks for the course of a metric, if this run has one.
        return if told || !findings.alongs.is_empty() { vec![] } else { plain_answers(findings) };
    }
    let row = |a: &Answered| Row {
        said: Said {
            condition: a.condition.filter(|_| several_conditions(findings)).map(|c| words::condition(findings, c)),
            text: words::answer(a),
            tone: a.compared().map_or(Tone::Plain, |c| words::tone(&c.comparison.verdict)),
        },
        unclear: a.compared().filter(|c| is_unclear(c) && is_listed(findings, c)).map(|_| String::new()),
    };
    let questions = findings.answers.chunk_by(|a, b| a.ask == b.ask);
    let said = |same: &[Answered]| folded(same.iter().map(row).collect(), "", method::COMPARISONS);
    questions.map(|same| Block::Answer { ask: same[0].ask.clone(), said: said(same) }).collect()
}

fn is_unclear(compared: &Compared) -> bool {
    compared.comparison.verdict == Verdict::CannotTell
}

/// Whether the list of comparisons has it.
fn is_listed(findings: &Findings<'_>, compared: &Compared) -> bool {
    let listed = findings.compared(compared.condition, compared.candidate, &compared.metric.name);
    listed.is_some_and(|listed| listed.baseline == compared.baseline)
}

/// Effects that a question of the study asks for.
fn asked_effects(findings: &Findings<'_>) -> Vec<Block> {
    let mut asked: Vec<(&str, String, Vec<Row>)> = vec![];
    for effect in &findings.effects {
        let Some(ask) = &effect.factor.ask else { continue };
        let metric = effect.metric.as_ref().map_or(effect.factor.metric.clone(), Metric::label);
        let (said, interval, tone) = match &effect.result {
            Ok(found) => (effect_in_words(&metric, found.ratio, found.interval), found.interval, Tone::Plain),
            Err(why) => (format!("this run does not answer it ({why})"), None, Tone::Muted),
        };
        let text = format!("{}: {said}.", effect.about);
        let condition = several_conditions(findings).then(|| words::condition(findings, effect.condition));
        let unclear = interval.filter(includes_one).map(|_| effect.about.clone());
        let row = Row { said: Said { condition, text, tone }, unclear };
        match asked.iter_mut().find(|(known, of, _)| known == ask && *of == metric) {
            Some((_, _, rows)) => rows.push(row),
            None => asked.push((ask, metric, vec![row])),
        }
    }
    let block = |(ask, metric, rows): (&str, String, Vec<Row>)| Block::Answer {
        ask: ask.to_string(),
        said: folded(rows, &format!(" whether it changes {metric}"), method::EFFECTS),
    };
    asked.into_iter().map(block).collect()
}

fn includes_one(interval: &Interval) -> bool {
    interval.low <= 1.0 && interval.high >= 1.0
}

/// Effect of a factor on a metric, in words. If the interval includes 1, only its ends are shown.
fn effect_in_words(metric: &str, ratio: f64, interval: Option<Interval>) -> String {
    match interval {
        Some(i) if includes_one(&i) => {
            let [low, high] = alike([i.low, i.high].map(|end| Ratio(end).to_string()));
            format!("cannot tell whether it changes {metric}: anything from {low} to {high} fits")
        }
        Some(i) => {
            let [ratio, low, high] = alike([ratio, i.low, i.high].map(plain));
            format!("{metric} x {ratio} ({low} to {high})")
        }
        None => format!("{metric} x {} (too few rounds for an interval)", plain(ratio)),
    }
}

fn several_conditions(findings: &Findings<'_>) -> bool {
    findings.study.conditions.len() > 1
}

/// Answers for a study without its own sentences: one per tier, comparing the others with the baseline.
pub fn plain_answers(findings: &Findings<'_>) -> Vec<Block> {
    let Some(headline) = &findings.headline else { return vec![] };
    let own = findings.study.metrics.iter().find(|own| own.name == headline.name);
    let metric = own.map_or_else(|| headline.label(), |own| own.about.clone());
    let mut blocks = vec![];
    for tier in Tier::GROUPS {
        let Some(baseline) = findings.baseline(tier) else { continue };
        let under = |condition: usize| {
            let compared =
                findings.of_tier(tier).into_iter().filter_map(|c| findings.compared(condition, c, &headline.name));
            let compared: Vec<&Compared> = compared.collect();
            let said: Vec<String> = compared.iter().map(|c| plain_sentence(findings, c)).collect();
            let condition = several_conditions(findings).then(|| words::condition(findings, condition));
            let unclear = compared.iter().all(|c| is_unclear(c)).then(String::new);
            let said = Said { condition, text: said.join(" "), tone: Tone::Plain };
            (!compared.is_empty()).then_some(Row { said, unclear })
        };
        let rows = (0..findings.study.conditions.len()).filter_map(under).collect();
        let said = folded(rows, "", method::COMPARISONS);
        if !said.is_empty() {
            let against = words::label(findings, baseline);
            let ask = match tier {
                // A driver that executes nothing promises nothing, whatever its settings.
                tier if tier == Tier::Unknown || nothing_executes(findings, tier) => {
                    format!("{}: against {against}", charts::capitalised(&metric))
                }
                _ => format!("Where {}: {metric}, against {against}", words::tier(findings, tier).1),
            };
            blocks.push(Block::Answer { ask, said });
        }
    }
    blocks
}

/// Whether all contenders of a tier have null drivers.
fn nothing_executes(findings: &Findings<'_>, tier: Tier) -> bool {
    let contenders = &findings.study.contenders;
    findings.of_tier(tier).iter().all(|&contender| contenders[contender].resolved.executes_nothing)
}

fn plain_sentence(findings: &Findings<'_>, compared: &Compared) -> String {
    let label = words::label(findings, compared.candidate);
    let ratio = compared.comparison.ratio.map_or(NOTHING.to_string(), |r| Ratio(r).to_string());
    // A ratio alone does not say which way is better: half the time is faster.
    let metric = compared.metric.label();
    let ratio = format!("its {metric} is {ratio} that of {}", words::label(findings, compared.baseline));
    match &compared.comparison.verdict {
        Verdict::NotComparable(reason) => format!("{label}: not comparable ({reason})."),
        Verdict::NoWords => {
            let rounds = words::counted(compared.comparison.rounds as usize, "round");
            format!("{label}: {ratio} ({rounds}, so no verdict).")
        }
        verdict => format!("{label}: {}; {ratio}.", words::word(findings, verdict)),
    }
}

fn table(findings: &Findings<'_>, condition: usize) -> Table {
    let metrics = findings.shown_metrics();
    let titles: Vec<String> = metrics.iter().map(|f| format!("{}|", f.label())).collect();
    let mut head = vec!["contender"];
    head.extend(titles.iter().map(String::as_str));
    head.extend(["against baseline|", "verdict", "p50|", "p99|", "not committed|", "rounds|"]);
    let mut table = Table::new(&head);
    table.condition = Some(condition);
    for tier in Tier::GROUPS {
        let contenders = findings.of_tier(tier);
        if contenders.is_empty() {
            continue;
        }
        let (name, promise) = words::tier(findings, tier);
        match nothing_executes(findings, tier) {
            true => table.group(format!("set as {name}"), NO_PROMISE),
            false => table.group(name, promise),
        }
        for contender in contenders {
            if let Some(cell) = findings.cell(condition, contender) {
                table.row(row(findings, cell, &metrics, tier));
            }
        }
    }
    table
}

fn row(findings: &Findings<'_>, cell: &Cell, metrics: &[Metric], tier: Tier) -> Vec<TableCell> {
    let mut cells = vec![TableCell::new(words::label(findings, cell.contender)).series(cell.contender)];
    if !cell.has_data() {
        let why = if cell.invalid.is_empty() { "not run" } else { "invalid" };
        cells.extend(metrics.iter().map(|_| TableCell::muted(why)));
        cells.resize(cells.len() + 5, TableCell::muted(NOTHING));
        cells.push(TableCell::new(words::rounds(cell)));
        return cells;
    }
    for metric in metrics {
        cells.push(words::estimate(metric, &findings.estimator().estimate(cell, metric)));
    }
    cells.extend(against_baseline(findings, cell, tier));
    let pool = cell.pool(Scope::All);
    let times = if findings.as_published() { &pool.service } else { &pool.response };
    cells.push(words::quantile(times.quantile(Quantile::P50)));
    cells.push(words::quantile(times.quantile(Quantile::P99)));
    cells.push(not_committed(cell));
    cells.push(TableCell::new(words::rounds(cell)));
    cells
}

fn against_baseline(findings: &Findings<'_>, cell: &Cell, tier: Tier) -> [TableCell; 2] {
    let headline = findings.headline.as_ref().map_or("", |f| &f.name);
    match (findings.baseline(tier), findings.compared(cell.condition, cell.contender, headline)) {
        (Some(baseline), _) if baseline == cell.contender => [TableCell::muted(NOTHING), TableCell::muted("baseline")],
        (_, Some(compared)) => {
            let c = &compared.comparison;
            let mut verdict = words::verdict(findings, compared);
            if let Some(noted) = notice::other_work_of(findings, compared) {
                verdict.small = noted.to_string();
            }
            [words::compared_ratio(c), verdict]
        }
        (None, _) => [TableCell::muted(NOTHING), TableCell::muted("no baseline in this tier")],
        _ => [TableCell::muted(NOTHING), TableCell::muted(NOTHING)],
    }
}

fn not_committed(cell: &Cell) -> TableCell {
    let counts = &cell.pool(Scope::All).counts;
    let (failed, planned) = (failed(counts), counts.planned());
    let worst = Outcome::ALL[1..].iter().max_by_key(|o| counts.outcome(**o)).filter(|_| failed > 0);
    let small = worst.map_or(String::new(), |outcome| {
        let of = counts.outcome(*outcome);
        if of == failed { outcome.shown().to_string() } else { format!("most: {}", outcome.shown()) }
    });
    let tone = if failed * 100 > planned { Tone::Worse } else { Tone::Plain };
    TableCell::new(words::share(failed, planned)).small(small).tone(tone)
}

fn table_note(findings: &Findings<'_>) -> Option<String> {
    let study = &findings.study;
    let is_quantile = findings.headline.as_ref().is_some_and(|metric| metric.quantile().is_some());
    let how = match is_quantile {
        true => "of the operations of all rounds, with an approximate interval of 95 % from drawing rounds",
        false => "round by round, with an interval that holds at least 95 % of the time",
    };
    let mut notes = vec![format!(
        "Ratios are of {}, the contender over its tier's baseline, {how}. Faster or slower means that the interval excludes 1; slightly, that the ratio itself is within \
         {}. Tiers promise different things after a crash, so no \
         row is ranked against one of another tier. {}",
        findings.headline.as_ref().map_or("the headline".to_string(), Metric::label),
        Percent(study.margin),
        if findings.as_published() {
            "Times are service times: the clock starts when the work does, as the original's."
        } else {
            "Times are response times: from when the work was due."
        }
    )];
    notes.extend(evidence::sentence(findings));
    if findings.as_published() {
        notes.push(words::FEW_NOTE.to_string());
    }
    (!findings.cells.is_empty()).then(|| notes.join(" "))
}

/// A question that this run cannot answer, in words.
fn left_out(what: &LeftOut) -> String {
    match what {
        LeftOut::Answer { ask, label, why: Absence::NotPart } => {
            format!("“{ask}” has no answer here: `{label}` is not part of this run.")
        }
        LeftOut::Answer { ask, label, why: Absence::Several } => format!(
            "“{ask}” has no answer here: `{label}` is part of this run more than once; vary nothing, or give one value."
        ),
        LeftOut::Effect { factor, from, to } => format!(
            "The effect of {factor} from {from} to {to} is not shown: no two contenders of this run differ in just that."
        ),
    }
}

/// Where SQLite enforces foreign keys, translated tables of servers have none.
fn foreign_keys(findings: &Findings<'_>) -> Option<&'static str> {
    let contenders = &findings.study.contenders;
    let enforces = |of: &&Contender| of.settings.get("foreign_keys").is_some_and(|value| value == "on");
    let engine = &contenders.iter().find(enforces)?.engine;
    let is_without = |of: &Contender| of.engine != *engine && of.driver != "shim" && !of.resolved.executes_nothing;
    contenders.iter().any(is_without).then_some(
        "Foreign keys are enforced on SQLite (`foreign_keys=on`) and on no server, whose tables are made without REFERENCES. If the \
         workload has some, a server does less work for a row, and accepts rows that SQLite refuses.",
    )
}

/// The study's own limits, and those of the run.
fn limits(findings: &Findings<'_>) -> Vec<String> {
    let run = &findings.circumstances;
    let virtual_machine = if run.virtual_machine { ", a virtual machine," } else { "" };
    let mut limits = findings.study.limits.clone();
    limits.extend(findings.study.left_out.iter().map(left_out));
    limits.extend(foreign_keys(findings).map(str::to_string));
    limits.push(format!(
        "Absolute figures belong to this machine ({}, {}){virtual_machine} and to a disk on which a sync takes {}; \
         orderings and ratios travel better than rates.",
        run.cpu,
        words::counted(run.cores, "core"),
        crate::stats::precision::Ns(run.syncs.fsync_ns_p50)
    ));
    if !findings.as_published() && (findings.study.rounds as usize) < crate::stats::interval::MIN_ROUNDS {
        limits.push(format!(
            "With fewer than {} rounds there is a ratio but no word: chance cannot be distinguished from an effect.",
            crate::stats::interval::MIN_ROUNDS
        ));
    }
    if findings.as_published() {
        limits.push(
            "This is the original's way of measuring, repeated on this machine; its flaws are part of it, and it gets \
             no verdicts. The corrected variant asks the same question fairly."
                .into(),
        );
    }
    limits
}
