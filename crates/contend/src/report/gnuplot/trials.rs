//! Throughput, response time and failures of every trial, a row of charts per condition; and lines over every axis of numbers.

use super::script::{Script, column, line_of, quoted};
use crate::analysis::Findings;
use crate::analysis::axis::{self, Row};
use crate::analysis::cell::Cell;
use crate::analysis::trial::Scope;
use crate::report::content::axes::{fitting, trimmed};
use crate::report::content::words;
use crate::report::files::one_line;
use std::collections::BTreeSet;

const COMMENTS: &str = "\
# Draws charts.png from trials.csv, and lines.png where something was varied.
# Elsewhere: gnuplot -e \"datafile='DIR/trials.csv'; outdir='DIR'\" charts.gnuplot
";

const STYLE: &str = "\
set grid ytics
set xtics rotate by -30 noenhanced
set style fill solid 0.6
# Where the row of a trial is drawn; 0: not in this chart. By number, as gnuplot cuts names at their commas.
place(row) = real(word(places, int(row) + 1)) > 0 ? real(word(places, int(row) + 1)) : NaN";

/// The script.
pub fn script(findings: &Findings<'_>) -> String {
    let conditions: Vec<(usize, Vec<&Cell>)> = (0..findings.study.conditions.len())
        .map(|c| (c, cells(findings, c).collect()))
        .filter(|(_, cells): &(usize, Vec<&Cell>)| !cells.is_empty())
        .collect();
    if conditions.is_empty() {
        return "print 'No trial of this run counts: there is nothing to draw.'\n".to_string();
    }
    let mut out = Script::new(COMMENTS, "trials.csv");
    out.line("trials = datafile");
    out.read_csv();
    out.line(STYLE);
    out.picture("charts.png", (conditions.len(), 3), (500, 480));
    for (condition, cells) in &conditions {
        row(&mut out, findings, *condition, cells);
    }
    out.end_picture();
    lines(&mut out, findings);
    out.finish()
}

/// Mean of the trials over every axis of numbers, a line per contender.
fn lines(out: &mut Script, findings: &Findings<'_>) {
    let study = &findings.study;
    let with_points = |row: &Row| row.conditions.iter().any(|(_, c)| cells(findings, *c).next().is_some());
    let rows: Vec<Row> = axis::rows(&study.conditions).into_iter().filter(with_points).collect();
    if rows.is_empty() {
        return;
    }
    let own = study.metrics.iter().map(|own| (own.name.replace('_', " "), column(&own.name)));
    let mut metrics = vec![
        ("throughput, operations/s".to_string(), column("throughput_ops_per_s")),
        ("p99 response time, ms".to_string(), format!("{} / 1e6", column("response_ns_p99"))),
    ];
    metrics.extend(own);
    out.line("\n# Over what was varied; a number for each trial says on which line it is.");
    out.line("on(row) = int(word(on_line, int(row) + 1))");
    out.picture("lines.png", (rows.len(), metrics.len()), (560, 420));
    out.line("set xrange [*:*]\nset yrange [*:*]\nset key top left\nset xtics auto norotate");
    for row in &rows {
        over(out, findings, row, &metrics);
    }
    out.end_picture();
}

fn over(out: &mut Script, findings: &Findings<'_>, row: &Row, metrics: &[(String, String)]) {
    let here: Vec<&Cell> = row.conditions.iter().flat_map(|(_, condition)| cells(findings, *condition)).collect();
    let line = |trial: usize| here.iter().find(|cell| cell.valid.contains(&trial)).map_or(0, |cell| cell.contender + 1);
    let on: Vec<String> = (0..findings.rows.len()).map(|trial| line(trial).to_string()).collect();
    let values: Vec<f64> = row.conditions.iter().map(|(x, _)| *x).collect();
    out.line(&format!("\non_line = '{}'\nunset logscale", on.join(" ")));
    out.numbers(&values);
    if fitting(values.iter().copied(), &trimmed).is_some_and(|axis| axis.log) {
        out.line("set logscale x");
    }
    let contenders: BTreeSet<usize> = here.iter().map(|cell| cell.contender).collect();
    let x = column(&format!("axis_{}", row.axis));
    for (name, value) in metrics {
        let common = if row.common.is_empty() { String::new() } else { format!(": {}", row.common) };
        out.title(&format!("{name} over {}{common}", row.axis));
        let plot = |contender: &usize| {
            let on_line = format!("on($0) == {} ? {x} : NaN", contender + 1);
            line_of("trials", &on_line, value, words::label(findings, *contender))
        };
        out.plot(&contenders.iter().map(plot).collect::<Vec<_>>());
    }
}

/// Cells of a condition with something to draw.
fn cells<'s>(findings: &'s Findings<'_>, condition: usize) -> impl Iterator<Item = &'s Cell> {
    findings.cells.iter().filter(move |cell| cell.condition == condition && has_points(cell))
}

/// Whether a cell has points: gnuplot stops at a chart without any.
fn has_points(cell: &Cell) -> bool {
    cell.has_data() && cell.pool(Scope::All).response.n > cell.pool(Scope::All).response.censored
}

fn row(out: &mut Script, findings: &Findings<'_>, condition: usize, cells: &[&Cell]) {
    let label = words::condition(findings, condition);
    out.line(&format!("\n# {}", one_line(&label)));
    out.line(&format!("places = '{}'", places(findings, cells)));
    out.line(&format!("set xrange [0.5:{}.5]", cells.len()));
    let mark = |(place, cell): (usize, &&Cell)| (words::label(findings, cell.contender).to_string(), place.to_string());
    out.marks((1..).zip(cells).map(mark));
    let points = |y: &str| format!("trials using (place($0)):({y}) with points pt 7 ps 1.2");
    out.title(&format!("{label}: throughput, operations/s"));
    out.line("unset key; unset logscale; set yrange [0:*]");
    out.plot(&[points("column('throughput_ops_per_s')")]);
    let quantile = |(name, shift, pt): (&str, &str, u8)| {
        format!(
            "trials using (place($0) + {shift}):(column('response_ns_{name}') / 1e6) with points pt {pt} ps 1.2 \
             title {}",
            quoted(name)
        )
    };
    out.title(&format!("{label}: response time, ms"));
    out.line("set key top left; set logscale y; set yrange [*:*]");
    out.plot(&[("p50", "-0.15", 7), ("p95", "0", 9), ("p99", "0.15", 2)].map(quantile));
    out.title(&format!("{label}: not committed, % of due"));
    out.line("unset key; unset logscale; set yrange [0:*]");
    out.plot(&[points("100.0 * (column('planned') - column('committed')) / column('planned')")]);
}

/// The cell to which each row of `trials.csv` belongs.
fn places(findings: &Findings<'_>, cells: &[&Cell]) -> String {
    let place = |row: usize| cells.iter().position(|cell| cell.valid.contains(&row)).map_or(0, |at| at + 1);
    (0..findings.rows.len()).map(|row| place(row).to_string()).collect::<Vec<_>>().join(" ")
}
