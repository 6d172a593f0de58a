//! A gnuplot script that draws from the CSVs beside it: throughput, response time and failures of every
//! trial, a row of charts per condition. Run it where it lies: `gnuplot charts.gnuplot`.

use crate::report::content::words;
use crate::report::one_line;
use crate::report::summary::Summary;
use crate::report::summary::cell::Cell;
use crate::report::summary::trial::Scope;
use std::fmt::Write as _;

const HEAD: &str = "\
# Draws charts.png from trials.csv.
# Elsewhere: gnuplot -e \"datadir='DIR'; outdir='DIR'\" charts.gnuplot
if (!exists('datadir')) datadir = '.'
if (!exists('outdir')) outdir = '.'
trials = datadir.'/trials.csv'
set datafile separator comma
set datafile columnheaders
set termoption noenhanced
set encoding utf8
set grid ytics
set xtics rotate by -30 noenhanced
set style fill solid 0.6
# Where the row of a trial is drawn; 0: not in this chart. By number, as gnuplot cuts names at their commas.
place(row) = real(word(places, int(row) + 1)) > 0 ? real(word(places, int(row) + 1)) : NaN
";

/// The script.
pub fn script(summary: &Summary<'_>) -> String {
    let conditions: Vec<(usize, Vec<&Cell>)> = (0..summary.record.run.study.conditions.len())
        .map(|c| (c, summary.cells.iter().filter(|cell| cell.condition == c && has_points(cell)).collect()))
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
        row(&mut out, summary, *condition, cells);
    }
    out + "unset multiplot\nunset output\n"
}

/// gnuplot stops at a chart without a point.
fn has_points(cell: &Cell) -> bool {
    cell.has_data() && cell.pool(Scope::All).response.n > cell.pool(Scope::All).response.censored
}

fn row(out: &mut String, summary: &Summary<'_>, condition: usize, cells: &[&Cell]) {
    let label = words::condition(summary, condition);
    let tic = |(place, cell): (usize, &&Cell)| format!("{} {place}", quoted(words::label(summary, cell.contender)));
    let tics: Vec<String> = (1..).zip(cells).map(tic).collect();
    let _ = writeln!(out, "\n# {}", one_line(&label));
    let _ = writeln!(out, "places = '{}'", places(summary, cells));
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
fn places(summary: &Summary<'_>, cells: &[&Cell]) -> String {
    let place = |row: usize| cells.iter().position(|cell| cell.valid.contains(&row)).map_or(0, |at| at + 1);
    (0..summary.rows.len()).map(|row| place(row).to_string()).collect::<Vec<_>>().join(" ")
}

fn panel(out: &mut String, title: &str, settings: &str) {
    let _ = writeln!(out, "set title {}", quoted(title));
    let _ = writeln!(out, "{settings}");
}

/// A string of gnuplot, in which nothing is special but the quote.
fn quoted(text: &str) -> String {
    format!("'{}'", one_line(text).replace('\'', "''"))
}
