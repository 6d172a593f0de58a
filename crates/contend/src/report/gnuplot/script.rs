//! A gnuplot script, statement by statement.

use crate::report::content::axes::trimmed;
use crate::report::files::one_line;

/// A script being written.
pub struct Script(String);

impl Script {
    /// A script with these comments that reads `file` next to it, unless `datafile` is given.
    pub fn new(comments: &str, file: &str) -> Self {
        let mut script = Self(comments.to_string());
        script.line(&format!("if (!exists('datafile')) datafile = {}", quoted(file)));
        script.line("if (!exists('outdir')) outdir = '.'");
        script
    }

    pub fn line(&mut self, text: &str) {
        self.0 += text;
        self.0.push('\n');
    }

    /// Settings for reading the CSV, with any characters in its names.
    pub fn read_csv(&mut self) {
        self.line("set datafile separator comma\nset datafile columnheaders\nset datafile missing NaN");
        self.line("set termoption noenhanced\nset encoding utf8");
    }

    /// Begins a picture of charts in rows and columns, each of a width and height in pixels.
    pub fn picture(&mut self, file: &str, (rows, columns): (usize, usize), (width, height): (usize, usize)) {
        self.line(&format!("set terminal pngcairo noenhanced size {},{}", width * columns, height * rows));
        self.line(&format!("set output outdir.{}\nset multiplot layout {rows},{columns}", quoted(&format!("/{file}"))));
    }

    pub fn end_picture(&mut self) {
        self.line("unset multiplot\nunset output");
    }

    pub fn title(&mut self, title: &str) {
        self.line(&format!("set title {}", quoted(title)));
    }

    /// Marks at labelled places of the horizontal axis.
    pub fn marks(&mut self, marks: impl Iterator<Item = (String, String)>) {
        let marks: Vec<String> = marks.map(|(label, at)| format!("{} {at}", quoted(&label))).collect();
        self.line(&format!("set xtics ({})", marks.join(", ")));
    }

    /// Marks at numbers.
    pub fn numbers(&mut self, values: &[f64]) {
        self.marks(values.iter().map(|x| (trimmed(*x), format!("{x:e}"))));
    }

    /// One chart of these plots.
    pub fn plot(&mut self, plots: &[String]) {
        self.line(&format!("plot {}", plots.join(", \\\n     ")));
    }

    pub fn finish(self) -> String {
        self.0
    }
}

/// A line with points, where `x` is a number.
pub fn line_of(file: &str, x: &str, y: &str, title: &str) -> String {
    format!("{file} using ({x}):({y}) smooth unique with linespoints pt 7 title {}", quoted(title))
}

pub fn column(name: &str) -> String {
    format!("column({})", quoted(name))
}

/// A string of gnuplot, in which nothing is special but the quote.
pub fn quoted(text: &str) -> String {
    format!("'{}'", one_line(text).replace('\'', "''"))
}
