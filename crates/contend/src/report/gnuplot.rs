//! A gnuplot script that draws from the CSVs beside it: throughput, response time and failures of every
//! trial, a row of charts per condition; and lines over every axis of numbers. Run it where it lies:
//! `gnuplot charts.gnuplot`.

use crate::analysis::Findings;
use crate::analysis::axis::{self, Row};
use crate::analysis::cell::Cell;
use crate::analysis::trial::Scope;
use crate::report::content::axes::{fitting, trimmed};
use crate::report::content::words;
use crate::report::files::one_line;
use std::collections::BTreeSet;
use std::fmt::Write as _;

const HEAD: &str = "\
# Draws charts.png from trials.csv, and lines.png where something was varied.
# Elsewhere: gnuplot -e \"datafile='DIR/trials.csv'; outdir='DIR'\" charts.gnuplot
if (!exists('datafile')) datafile = 'trials.csv'
if (!exists('outdir')) outdir = '.'
trials = datafile
set datafile separator comma
set datafile columnheaders
set datafile missing NaN
set termoption noenhanced
set encoding utf8
set grid ytics
set xtics rotate by -30 noenhanced
set style fill solid 0.6
# Where the row of a trial is drawn; 0: not in this chart. By number, as gnuplot cuts names at their commas.
place(row) = real(word(places, int(row) + 1)) > 0 ? real(word(places, int(row) + 1)) : NaN
";

/// The script.
pub fn script(findings: &Findings<'_>) -> String {
    let conditions: Vec<(usize, Vec<&Cell>)> = (0..findings.study.conditions.len())
        .map(|c| (c, cells(findings, c).collect()))
        .filter(|(_, cells): &(usize, Vec<&Cell>)| !cells.is_empty())
        .collect();
    if conditions.is_empty() {
        return "print 'No trial of this run counts: there is nothing to draw.'\n".to_string();
    }
    let mut out = HEAD.to_string();
    let rows = conditions.len();
    let _ = writeln!(out, "set terminal pngcairo noenhanced size 1500,{}", 480 * rows);
    let _ = writeln!(out, "set output outdir.'/charts.png'");
    let _ = writeln!(out, "set multiplot layout {rows},3");
    for (condition, cells) in &conditions {
        row(&mut out, findings, *condition, cells);
    }
    out += "unset multiplot\nunset output\n";
    lines(&mut out, findings);
    out
}

/// Mean of the trials over every axis of numbers, a line per contender.
fn lines(out: &mut String, findings: &Findings<'_>) {
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
    let _ = writeln!(out, "\n# Over what was varied; a number for each trial says on which line it is.");
    let _ = writeln!(out, "on(row) = int(word(on_line, int(row) + 1))");
    let _ = writeln!(out, "set terminal pngcairo noenhanced size {},{}", 560 * metrics.len(), 420 * rows.len());
    let _ = writeln!(out, "set output outdir.'/lines.png'\nset multiplot layout {},{}", rows.len(), metrics.len());
    let _ = writeln!(out, "set xrange [*:*]\nset yrange [*:*]\nset key top left\nset xtics auto norotate");
    for row in &rows {
        over(out, findings, row, &metrics);
    }
    *out += "unset multiplot\nunset output\n";
}

fn column(name: &str) -> String {
    format!("column({})", quoted(name))
}

fn over(out: &mut String, findings: &Findings<'_>, row: &Row, metrics: &[(String, String)]) {
    let here: Vec<&Cell> = row.conditions.iter().flat_map(|(_, condition)| cells(findings, *condition)).collect();
    let line = |trial: usize| here.iter().find(|cell| cell.valid.contains(&trial)).map_or(0, |cell| cell.contender + 1);
    let on: Vec<String> = (0..findings.rows.len()).map(|trial| line(trial).to_string()).collect();
    let _ = writeln!(out, "\non_line = '{}'", on.join(" "));
    let values: Vec<f64> = row.conditions.iter().map(|(x, _)| *x).collect();
    let wide = fitting(values.iter().copied(), &trimmed).is_some_and(|axis| axis.log);
    let tics: Vec<String> = values.iter().map(|x| format!("{} {x:e}", quoted(&trimmed(*x)))).collect();
    let _ = writeln!(out, "unset logscale\nset xtics ({})", tics.join(", "));
    if wide {
        let _ = writeln!(out, "set logscale x");
    }
    for (name, value) in metrics {
        let common = if row.common.is_empty() { String::new() } else { format!(": {}", row.common) };
        let _ = writeln!(out, "set title {}", quoted(&format!("{name} over {}{common}", row.axis)));
        let contenders: BTreeSet<usize> = here.iter().map(|cell| cell.contender).collect();
        let x = column(&format!("axis_{}", row.axis));
        let plot = |contender: usize| {
            format!(
                "trials using (on($0) == {} ? {x} : NaN):({value}) smooth unique with linespoints pt 7 title {}",
                contender + 1,
                quoted(words::label(findings, contender))
            )
        };
        let plots: Vec<String> = contenders.into_iter().map(plot).collect();
        let _ = writeln!(out, "plot {}", plots.join(", \\\n     "));
    }
}

/// Cells of a condition with something to draw.
fn cells<'s>(findings: &'s Findings<'_>, condition: usize) -> impl Iterator<Item = &'s Cell> {
    findings.cells.iter().filter(move |cell| cell.condition == condition && has_points(cell))
}

/// gnuplot stops at a chart without a point.
fn has_points(cell: &Cell) -> bool {
    cell.has_data() && cell.pool(Scope::All).response.n > cell.pool(Scope::All).response.censored
}

fn row(out: &mut String, findings: &Findings<'_>, condition: usize, cells: &[&Cell]) {
    let label = words::condition(findings, condition);
    let tic = |(place, cell): (usize, &&Cell)| format!("{} {place}", quoted(words::label(findings, cell.contender)));
    let tics: Vec<String> = (1..).zip(cells).map(tic).collect();
    let _ = writeln!(out, "\n# {}", one_line(&label));
    let _ = writeln!(out, "places = '{}'", places(findings, cells));
    let _ = writeln!(out, "set xrange [0.5:{}.5]", cells.len());
    let _ = writeln!(out, "set xtics ({})", tics.join(", "));
    panel(out, &format!("{label}: throughput, operations/s"), "unset key; unset logscale; set yrange [0:*]");
    let _ = writeln!(out, "plot trials using (place($0)):(column('throughput_ops_per_s')) with points pt 7 ps 1.2");
    panel(out, &format!("{label}: response time, ms"), "set key top left; set logscale y; set yrange [*:*]");
    let quantile = |(name, shift, pt): &(&str, f64, u8)| {
        format!(
            "trials using (place($0) + {shift}):(column('response_ns_{name}') / 1e6) with points pt {pt} ps 1.2 \
             title '{name}'"
        )
    };
    let quantiles: Vec<String> = [("p50", -0.15, 7), ("p95", 0.0, 9), ("p99", 0.15, 2)].iter().map(quantile).collect();
    let _ = writeln!(out, "plot {}", quantiles.join(", \\\n     "));
    panel(out, &format!("{label}: not committed, % of due"), "unset key; unset logscale; set yrange [0:*]");
    let failed = "100.0 * (column('planned') - column('committed')) / column('planned')";
    let _ = writeln!(out, "plot trials using (place($0)):({failed}) with points pt 7 ps 1.2");
}

/// For each row of `trials.csv`, which of these cells it belongs to.
fn places(findings: &Findings<'_>, cells: &[&Cell]) -> String {
    let place = |row: usize| cells.iter().position(|cell| cell.valid.contains(&row)).map_or(0, |at| at + 1);
    (0..findings.rows.len()).map(|row| place(row).to_string()).collect::<Vec<_>>().join(" ")
}

fn panel(out: &mut String, title: &str, settings: &str) {
    let _ = writeln!(out, "set title {}", quoted(title));
    let _ = writeln!(out, "{settings}");
}

/// A string of gnuplot, in which nothing is special but the quote.
pub fn quoted(text: &str) -> String {
    format!("'{}'", one_line(text).replace('\'', "''"))
}
