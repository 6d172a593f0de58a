//! A gnuplot script that draws a CSV in the columns of an export: ours, or the original's own.

use crate::report::content::axes::trimmed;
use crate::report::export::sheet::{Role, Sheet};
use crate::report::gnuplot::quoted;
use std::fmt::Write as _;

/// From this factor on an axis is logarithmic.
const WIDE: f64 = 20.0;

/// The script; `file` stands beside it.
pub fn script(sheet: &Sheet<'_>, file: &str) -> String {
    let stem = file.strip_suffix(".csv").unwrap_or(file);
    let (columns, conditions) = sheet.conditions();
    let metrics = sheet.columns(Role::Metric);
    let mut out = format!(
        "# Draws {stem}_charts.png from {file}, or from any CSV with its columns:\n\
         # gnuplot -e \"datafile='FILE.csv'; outdir='DIR'\" {stem}.gnuplot\n\
         if (!exists('datafile')) datafile = {}\n\
         if (!exists('outdir')) outdir = '.'\n\
         set datafile separator comma\nset datafile columnheaders\nset datafile missing NaN\nset termoption noenhanced\n\
         set encoding utf8\n\
         set grid\nset key top left\nset style fill solid 0.6\n\
         set terminal pngcairo noenhanced size {},{}\n\
         set output outdir.{}\nset multiplot layout {},{}\n",
        quoted(file),
        560 * conditions.len().max(1),
        380 * metrics.len().max(1),
        quoted(&format!("/{stem}_charts.png")),
        metrics.len().max(1),
        conditions.len().max(1)
    );
    for metric in metrics {
        for condition in &conditions {
            let condition: Vec<(usize, f64)> = columns.iter().copied().zip(condition.iter().copied()).collect();
            panel(&mut out, sheet, metric, &condition);
        }
    }
    out + "unset multiplot\nunset output\n"
}

fn panel(out: &mut String, sheet: &Sheet<'_>, metric: usize, condition: &[(usize, f64)]) {
    let name = |column: usize| &sheet.export.columns[column].name;
    let contender = sheet.columns(Role::Contender).first().copied();
    let parts: Vec<String> = condition.iter().map(|(c, value)| format!("{} {}", name(*c), trimmed(*value))).collect();
    let title = std::iter::once(name(metric).clone()).chain(parts).collect::<Vec<_>>().join(", ");
    let _ = writeln!(out, "\nset title {}", quoted(&title));
    let axis = sheet.axis();
    let ticks: Vec<String> = axis
        .map_or(vec![], |axis| sheet.values(axis))
        .into_iter()
        .map(|x| format!("{} {x:e}", quoted(&trimmed(x))))
        .collect();
    let _ = writeln!(out, "unset logscale\nset yrange [*:*]\nset xtics ({})", ticks.join(", "));
    if axis.is_some_and(|axis| wide(&sheet.values(axis))) {
        let _ = writeln!(out, "set logscale x");
    }
    if wide(&sheet.values(metric)) {
        let _ = writeln!(out, "set logscale y");
    } else {
        let _ = writeln!(out, "set yrange [0:*]");
    }
    let x = axis.map_or("1".to_string(), |axis| format!("column({})", quoted(name(axis))));
    let drawn = sheet.series().into_iter().filter(|series| {
        let here = |row: &&crate::report::export::sheet::Row| {
            row.contender == *series && condition.iter().all(|(column, value)| row.values[*column] == Some(*value))
        };
        sheet.rows.iter().filter(here).any(|row| row.values[metric].is_some())
    });
    let plots: Vec<String> = drawn
        .map(|series| {
            let mut wanted: Vec<String> = condition
                .iter()
                .map(|(column, value)| format!("column({}) == {value:e}", quoted(name(*column))))
                .collect();
            wanted.extend(contender.map(|c| format!("strcol({}) eq {}", quoted(name(c)), quoted(&series))));
            let wanted = if wanted.is_empty() { "1".to_string() } else { wanted.join(" && ") };
            let y = quoted(name(metric));
            format!(
                "datafile using (({wanted}) ? {x} : NaN):(column({y})) smooth unique with linespoints pt 7 title {}",
                quoted(&series)
            )
        })
        .collect();
    if plots.is_empty() {
        let _ = writeln!(out, "set multiplot next");
    } else {
        let _ = writeln!(out, "plot {}", plots.join(", \\\n     "));
    }
}

fn wide(values: &[f64]) -> bool {
    match (values.first(), values.last()) {
        (Some(low), Some(high)) => *low > 0.0 && high / low >= WIDE,
        _ => false,
    }
}
