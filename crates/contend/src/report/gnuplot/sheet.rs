//! A CSV in the columns of an export: ours, or the original's own.

use super::script::{Script, column, line_of, quoted};
use crate::report::content::axes::trimmed;
use crate::report::export::sheet::{Role, Row, Sheet};

/// From this factor on an axis is logarithmic.
const WIDE: f64 = 20.0;

/// The script; `file` is next to it.
pub fn script(sheet: &Sheet<'_>, file: &str) -> String {
    let stem = file.strip_suffix(".csv").unwrap_or(file);
    let (columns, conditions) = sheet.conditions();
    let metrics = sheet.columns(Role::Metric);
    let comments = format!(
        "# Draws {stem}_charts.png from {file}, or from any CSV with its columns:\n\
         # gnuplot -e \"datafile='FILE.csv'; outdir='DIR'\" {stem}.gnuplot\n"
    );
    let mut out = Script::new(&comments, file);
    out.read_csv();
    out.line("set grid\nset key top left\nset style fill solid 0.6");
    out.picture(&format!("{stem}_charts.png"), (metrics.len().max(1), conditions.len().max(1)), (560, 380));
    for metric in metrics {
        for condition in &conditions {
            let condition: Vec<(usize, f64)> = columns.iter().copied().zip(condition.iter().copied()).collect();
            panel(&mut out, sheet, metric, &condition);
        }
    }
    out.end_picture();
    out.finish()
}

fn panel(out: &mut Script, sheet: &Sheet<'_>, metric: usize, condition: &[(usize, f64)]) {
    let name = |column: usize| &sheet.export.columns[column].name;
    let parts: Vec<String> = condition.iter().map(|(c, value)| format!("{} {}", name(*c), trimmed(*value))).collect();
    out.line("");
    out.title(&std::iter::once(name(metric).clone()).chain(parts).collect::<Vec<_>>().join(", "));
    let axis = sheet.axis();
    let values = axis.map_or(vec![], |axis| sheet.values(axis));
    out.line("unset logscale\nset yrange [*:*]");
    out.numbers(&values);
    if wide(&values) {
        out.line("set logscale x");
    }
    out.line(if wide(&sheet.values(metric)) { "set logscale y" } else { "set yrange [0:*]" });
    let drawn = sheet.series().into_iter().filter(|series| {
        let here = |row: &&Row| {
            row.contender == *series && condition.iter().all(|(column, value)| row.values[*column] == Some(*value))
        };
        sheet.rows.iter().filter(here).any(|row| row.values[metric].is_some())
    });
    let contender = sheet.columns(Role::Contender).first().copied();
    let x = axis.map_or("1".to_string(), |axis| column(name(axis)));
    let plot = |series: String| {
        let equals = |(c, value): &(usize, f64)| format!("{} == {value:e}", column(name(*c)));
        let mut wanted: Vec<String> = condition.iter().map(equals).collect();
        wanted.extend(contender.map(|c| format!("strcol({}) eq {}", quoted(name(c)), quoted(&series))));
        let wanted = if wanted.is_empty() { "1".to_string() } else { wanted.join(" && ") };
        line_of("datafile", &format!("({wanted}) ? {x} : NaN"), &column(name(metric)), &series)
    };
    let plots: Vec<String> = drawn.map(plot).collect();
    if plots.is_empty() {
        out.line("set multiplot next");
    } else {
        out.plot(&plots);
    }
}

fn wide(values: &[f64]) -> bool {
    match (values.first(), values.last()) {
        (Some(low), Some(high)) => *low > 0.0 && high / low >= WIDE,
        _ => false,
    }
}
