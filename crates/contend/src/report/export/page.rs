//! An imported CSV as a document: charts and tables, with a note that it was not measured here.

use crate::analysis::metric::plain;
use crate::analysis::plain::Holds;
use crate::report::content::axes::{short_count, trimmed};
use crate::report::content::charts::capitalised;
use crate::report::content::sweep::{Sweep, SweepPoint};
use crate::report::content::words;
use crate::report::document::{Bar, BarRow, Bars, Block, Cell, Document, Id, Section, Table};
use crate::report::export::sheet::{Role, Sheet};

/// The document; `file` is the name of the CSV.
pub fn document(sheet: &Sheet<'_>, file: &str) -> Document {
    let conditions = labels(sheet);
    let several = conditions.len() > 1;
    let name = &sheet.study.name;
    Document {
        chart: Id::default(),
        unanswered: vec![],
        title: format!("{name}, imported"),
        question: sheet.study.question.clone(),
        facts: facts(sheet, file),
        warnings: vec![format!(
            "Nothing of this was measured or checked by contend. It is drawn from {file} as it stands: no error was \
             counted, no setting read back, no repetition compared. So there are no intervals and no verdicts."
        )],
        conditions: if several { conditions.clone() } else { vec![] },
        origin: format!("Drawn by contend from {file}, which it did not measure; the same file gives the same page."),
        sections: vec![tables(sheet, &conditions), charts(sheet, &conditions), columns(sheet)],
    }
}

/// Heading of a column: `num_databases` becomes `num databases`.
fn title(sheet: &Sheet<'_>, column: usize) -> String {
    sheet.export.columns[column].name.replace('_', " ")
}

fn facts(sheet: &Sheet<'_>, file: &str) -> Vec<String> {
    let constant = |column: usize| match sheet.values(column).as_slice() {
        [only] => Some(format!("{} {}", title(sheet, column), trimmed(*only))),
        _ => None,
    };
    let mut facts = vec![
        format!("study {}", sheet.study.name),
        format!("imported from {file}"),
        words::counted(sheet.rows.len(), "row"),
    ];
    facts.extend(sheet.columns(Role::Set).into_iter().filter_map(constant));
    facts
}

/// Label of each condition; one empty label if only the axis varies.
fn labels(sheet: &Sheet<'_>) -> Vec<String> {
    let (columns, conditions) = sheet.conditions();
    let label = |values: &Vec<f64>| {
        let parts = columns.iter().zip(values);
        parts
            .map(|(column, value)| format!("{} {}", title(sheet, *column), trimmed(*value)))
            .collect::<Vec<_>>()
            .join(", ")
    };
    conditions.iter().map(label).collect()
}

/// Column and value of each condition.
fn conditions(sheet: &Sheet<'_>) -> Vec<Vec<(usize, f64)>> {
    let (columns, conditions) = sheet.conditions();
    conditions.into_iter().map(|values| columns.iter().copied().zip(values).collect()).collect()
}

fn tables(sheet: &Sheet<'_>, labels: &[String]) -> Section {
    let metrics = sheet.columns(Role::Metric);
    let titles: Vec<String> =
        std::iter::once(String::new()).chain(metrics.iter().map(|f| format!("{}|", title(sheet, *f)))).collect();
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    let mut blocks = vec![];
    for (index, condition) in conditions(sheet).into_iter().enumerate() {
        let mut table = Table::new(&titles);
        table.condition = (labels.len() > 1).then_some(index);
        let places = sheet.axis().map_or(vec![vec![]], |axis| {
            sheet.values(axis).into_iter().map(|value| vec![(axis, value)]).collect::<Vec<_>>()
        });
        for place in places {
            if let [(axis, value)] = place.as_slice() {
                table.group(format!("{} {}", title(sheet, *axis), trimmed(*value)), "");
            }
            let here = [condition.clone(), place].concat();
            for (series, contender) in sheet.series().iter().enumerate() {
                let value = |metric: &usize| sheet.mean(*metric, contender, &here);
                let shown = |value: Option<f64>| value.map_or(Cell::muted(words::NOTHING), |v| Cell::new(plain(v)));
                let cells: Vec<Cell> = metrics.iter().map(|metric| shown(value(metric))).collect();
                table.row(std::iter::once(Cell::new(contender).series(series)).chain(cells));
            }
        }
        if labels.len() > 1 {
            blocks.push(Block::Heading(labels[index].clone()));
        }
        blocks.push(Block::Table(table));
    }
    Section { id: Id::Answer, title: "What the file says".to_string(), blocks }
}

fn charts(sheet: &Sheet<'_>, labels: &[String]) -> Section {
    let mut blocks = vec![];
    for metric in sheet.columns(Role::Metric) {
        for (index, condition) in conditions(sheet).iter().enumerate() {
            let of = labels.get(index).filter(|_| labels.len() > 1);
            blocks.extend(match sheet.axis() {
                Some(axis) => lines(sheet, metric, axis, condition, (index, of)),
                None => bars(sheet, metric, condition, (index, of)),
            });
        }
    }
    Section { id: Id::Other("charts"), title: "Charts".to_string(), blocks }
}

fn named(what: &str, condition: Option<&String>) -> String {
    capitalised(&condition.map_or(what.to_string(), |label| format!("{what}: {label}")))
}

fn lines(
    sheet: &Sheet<'_>,
    metric: usize,
    axis: usize,
    condition: &[(usize, f64)],
    (index, of): (usize, Option<&String>),
) -> Option<Block> {
    let what = format!("{} over {}", title(sheet, metric), title(sheet, axis));
    let point = |contender: &String, x: f64| {
        let y = sheet.mean(metric, contender, &[condition, &[(axis, x)]].concat());
        SweepPoint { x, y, shown: y.map_or(words::NOTHING.to_string(), plain), weak: false }
    };
    let series = sheet.series().into_iter().enumerate().map(|(series, contender)| {
        let points = sheet.values(axis).into_iter().map(|x| point(&contender, x)).collect();
        (series, contender, points)
    });
    let sweep = Sweep {
        title: named(&what, of),
        condition: of.map(|_| index),
        axis: title(sheet, axis),
        metric: title(sheet, metric),
        series: series.collect(),
    };
    sweep.lines(&short_count).map(Block::Lines)
}

fn bars(
    sheet: &Sheet<'_>,
    metric: usize,
    condition: &[(usize, f64)],
    (index, of): (usize, Option<&String>),
) -> Option<Block> {
    let bar = |(series, contender): (usize, String)| {
        let value = sheet.mean(metric, &contender, condition);
        let shown = value.map_or(words::NOTHING.to_string(), plain);
        let tip = format!("{contender}\n{}: {shown}", title(sheet, metric));
        BarRow::Bar(Bar { series, label: contender, value, shown, tip, ..Bar::default() })
    };
    let rows: Vec<BarRow> = sheet.series().into_iter().enumerate().map(bar).collect();
    let chart = Bars { title: named(&title(sheet, metric), of), condition: index, rows };
    let any = chart.bars().any(|bar| bar.value.is_some());
    any.then_some(Block::Bars(chart))
}

/// What each column holds in an export of contend.
fn columns(sheet: &Sheet<'_>) -> Section {
    let meaning = |column: &crate::analysis::plain::Column| match &column.holds {
        Holds::Contender { .. } => format!("{}: the contender", column.name),
        Holds::Value { value, .. } => format!("{}: {value}", column.name),
    };
    let mut items: Vec<String> = sheet.export.columns.iter().map(meaning).collect();
    if !sheet.unused.is_empty() {
        items.push(format!("not used: {}", sheet.unused.join(", ")));
    }
    let blocks = vec![
        Block::Text(format!(
            "These are the columns of {} as study {} defines them; its author may have meant something else. \
             Where several rows have the same circumstances their mean is shown.",
            sheet.export.file, sheet.study.name
        )),
        Block::List(items),
    ];
    Section { id: Id::Other("columns"), title: "The columns".to_string(), blocks }
}
