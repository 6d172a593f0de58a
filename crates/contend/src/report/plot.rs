//! Lines over an axis, drawn with characters.

use crate::report::document::{Lines, Point};

/// Height of the plot without its axis.
const ROWS: usize = 15;
/// Marks of the lines in order; after them they repeat.
const MARKS: [char; 8] = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
/// Mark for several lines in one place.
const SEVERAL: char = '*';
const BETWEEN: char = '.';

/// The plot, of this width without its axis, with its legend below; no title.
pub fn plot(chart: &Lines, columns: usize) -> String {
    let mut grid = vec![vec![' '; columns]; ROWS];
    for series in &chart.series {
        for pair in series.points.windows(2) {
            connect(&mut grid, chart, &pair[0], &pair[1]);
        }
    }
    for (index, series) in chart.series.iter().enumerate() {
        for (column, row) in series.points.iter().filter_map(|point| place(chart, columns, point)) {
            let there = &mut grid[row][column];
            *there = if [' ', BETWEEN].contains(there) { MARKS[index % MARKS.len()] } else { SEVERAL };
        }
    }
    let labels = labels(chart);
    let width = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for (row, label) in labels.iter().enumerate() {
        let line: String = grid[row].iter().collect();
        out += format!("    {label:>width$} |{line}").trim_end();
        out.push('\n');
    }
    out += &format!("    {:width$} +{}\n", "", "-".repeat(columns));
    out += format!("    {:width$}  {}", "", under(chart, columns)).trim_end();
    out.push('\n');
    out + &legend(chart)
}

/// Column and row of a point.
fn place(chart: &Lines, columns: usize, point: &Point) -> Option<(usize, usize)> {
    let at = |share: f64, cells: usize| (share * (cells - 1) as f64).round() as usize;
    Some((at(chart.x.place(point.x), columns), ROWS - 1 - at(chart.y.place(point.y?), ROWS)))
}

fn connect(grid: &mut [Vec<char>], chart: &Lines, from: &Point, to: &Point) {
    let columns = grid[0].len();
    let (Some((x0, y0)), Some((x1, y1))) = (place(chart, columns, from), place(chart, columns, to)) else { return };
    let slope = (y1 as f64 - y0 as f64) / (x1 as f64 - x0 as f64);
    for step in 1..x1.saturating_sub(x0) {
        let y = (y0 as f64 + slope * step as f64).round() as usize;
        let there = &mut grid[y][x0 + step];
        if *there == ' ' {
            *there = BETWEEN;
        }
    }
}

/// Labels to the left of each row.
fn labels(chart: &Lines) -> Vec<String> {
    let mut labels = vec![String::new(); ROWS];
    for tick in chart.y.ticks.iter().rev().filter(|tick| !tick.minor) {
        let row = ROWS - 1 - (chart.y.place(tick.at) * (ROWS - 1) as f64).round() as usize;
        labels[row].clone_from(&tick.label);
    }
    labels
}

/// Labels below the axis, as many as fit, and the axis's name.
fn under(chart: &Lines, columns: usize) -> String {
    let mut line = String::new();
    for tick in chart.x.ticks.iter().filter(|tick| !tick.minor) {
        let at = (chart.x.place(tick.at) * (columns - 1) as f64).round() as usize;
        let length = line.chars().count();
        if length == 0 || at > length {
            line += &" ".repeat(at.saturating_sub(length));
            line += &tick.label;
        }
    }
    format!("{line}  {}", chart.x.label)
}

fn legend(chart: &Lines) -> String {
    let entry = |(index, series): (usize, &crate::report::document::Series)| {
        format!("      {} {}\n", MARKS[index % MARKS.len()], series.label)
    };
    chart.series.iter().enumerate().map(entry).collect()
}
