//! Bars: an SVG track in each row with the texts next to it, so that it reads the same on a phone.

use super::markup::{DATA, colour, escaped, for_condition};
use crate::report::document::{Bar, BarRow, Bars, Stack, StackRow};

/// Units of a track's width, which is stretched to the available width.
const WIDTH: f64 = 1000.0;
/// Least width of a part above 0, so that rare outcomes stay visible.
const SLIVER: f64 = 4.0;

/// Horizontal bars, each with its interval and rounds.
pub fn bars(chart: &Bars) -> String {
    let max = chart.max();
    let row = |row: &BarRow| match row {
        BarRow::Group(name, meaning) => {
            format!("<p class=\"tier\"><b>{}</b> <span>{}</span></p>\n", escaped(name), escaped(meaning))
        }
        BarRow::Bar(bar) => bar_row(bar, max),
    };
    let rows: String = chart.rows.iter().map(row).collect();
    format!(
        "<figure class=\"tracks\"{}>\n<figcaption>{}</figcaption>\n{rows}{DATA}</figure>\n",
        for_condition(Some(chart.condition)),
        escaped(&chart.title)
    )
}

fn bar_row(bar: &Bar, max: f64) -> String {
    let at = |value: f64| if max > 0.0 { value / max * WIDTH } else { 0.0 };
    let mut drawn = String::new();
    if let Some(value) = bar.value {
        let class = if bar.faint { "bar faint" } else { "bar" };
        drawn += &format!("<rect class=\"{class}\" width=\"{:.1}\" y=\"3\" height=\"18\"/>", at(value).max(1.0));
    }
    if let (Some(low), Some(high)) = (bar.low, bar.high) {
        let (low, high) = (at(low), at(high));
        drawn += &format!("<path class=\"interval\" d=\"M{low:.1} 12H{high:.1}M{low:.1} 7V17M{high:.1} 7V17\"/>");
    }
    // A line of length 0 with a round cap stays a dot when the track is stretched.
    let dots: String = bar.points.iter().map(|p| format!("M{:.1} 12h0", at(*p).clamp(3.0, WIDTH - 3.0))).collect();
    if !dots.is_empty() {
        drawn += &format!("<path class=\"dots\" d=\"{dots}\"/>");
    }
    track(bar.series, &bar.label, &bar.shown, &bar.tip, &drawn)
}

fn track(series: usize, label: &str, shown: &str, tip: &str, drawn: &str) -> String {
    format!(
        "<div class=\"track {}\" role=\"group\" tabindex=\"0\" data-tip=\"{}\"><span class=\"name\">{}</span>\
         <svg viewBox=\"0 0 1000 24\" preserveAspectRatio=\"none\" aria-hidden=\"true\">{drawn}</svg>\
         <span class=\"value\">{}</span></div>\n",
        colour(series),
        escaped(tip),
        escaped(label),
        escaped(shown)
    )
}

/// Parts of a whole; the legend says which is which.
pub fn stack(chart: &Stack) -> String {
    let used = |index: usize| chart.rows.iter().any(|row| row.parts.get(index).is_some_and(|part| *part > 0.0));
    let entry = |(index, word): (usize, &&str)| {
        used(index).then(|| format!("<li><i class=\"swatch o{index}\"></i>{}</li>", escaped(word)))
    };
    let legend: String = chart.legend.iter().enumerate().filter_map(entry).collect();
    let rows: String = chart.rows.iter().map(stack_row).collect();
    format!(
        "<figure class=\"tracks stack\"{}>\n<figcaption>{}</figcaption>\n<ul class=\"key\">{legend}</ul>\n{rows}{DATA}</figure>\n",
        for_condition(Some(chart.condition)),
        escaped(&chart.title)
    )
}

fn stack_row(row: &StackRow) -> String {
    let widths: Vec<f64> =
        row.parts.iter().map(|part| if *part > 0.0 { (part * WIDTH).max(SLIVER) } else { 0.0 }).collect();
    let total: f64 = widths.iter().sum::<f64>().max(1.0);
    let mut x = 0.0;
    let mut drawn = String::new();
    for (index, width) in widths.iter().enumerate().filter(|(_, width)| **width > 0.0) {
        let width = width / total * WIDTH;
        drawn += &format!("<rect class=\"o{index}\" x=\"{x:.1}\" width=\"{width:.1}\" y=\"3\" height=\"18\"/>");
        x += width;
    }
    track(row.series, &row.label, &row.shown, &row.tip, &drawn)
}
