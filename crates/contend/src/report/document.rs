//! The content of a report without its layout: sections of texts, tables and charts. Markdown, plain text and HTML are
//! written from the same document, so they cannot disagree.

/// A report.
#[derive(Debug, Clone, Default)]
pub struct Document {
    pub title: String,
    pub question: String,
    /// Short facts about the run, shown in one line.
    pub facts: Vec<String>,
    /// What forbids to rely on the answer, shown before it.
    pub warnings: Vec<String>,
    /// Labels of the conditions, if there are several.
    pub conditions: Vec<String>,
    /// Questions of the study that this run does not answer, each once.
    pub unanswered: Vec<String>,
    /// Last line: what the report was made from.
    pub origin: String,
    pub sections: Vec<Section>,
    /// The section whose charts the end of a run shows; if it is missing, those of throughput.
    pub chart: Id,
}

impl Document {
    /// Blocks of a section; empty if it is missing.
    pub fn blocks(&self, id: Id) -> impl Iterator<Item = &Block> {
        self.sections.iter().filter(move |section| section.id == id).flat_map(|section| &section.blocks)
    }

    pub fn has(&self, id: Id) -> bool {
        self.sections.iter().any(|section| section.id == id)
    }

    /// Whether a block is the heading of a condition.
    pub fn is_condition(&self, block: &Block) -> bool {
        matches!(block, Block::Heading(text) if self.conditions.contains(text))
    }
}

/// Identity of a section. Some sections are also shown in other places.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Id {
    Answer,
    #[default]
    Throughput,
    OverAxis,
    Latency,
    Effects,
    Published,
    Comparisons,
    /// Any other section, by its anchor.
    Other(&'static str),
}

impl Id {
    pub fn anchor(self) -> &'static str {
        match self {
            Id::Answer => "answer",
            Id::Throughput => "throughput",
            Id::OverAxis => "over-axis",
            Id::Latency => "latency",
            Id::Effects => "effects",
            Id::Published => "published",
            Id::Comparisons => "comparisons",
            Id::Other(anchor) => anchor,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Section {
    /// Unique.
    pub id: Id,
    pub title: String,
    pub blocks: Vec<Block>,
}

#[derive(Debug, Clone)]
pub enum Block {
    /// A question, with an answer under each condition.
    Answer {
        ask: String,
        said: Vec<Said>,
    },
    Heading(String),
    Text(String),
    /// Notes on the whole run, after its answers.
    Notes(Vec<String>),
    /// A remark below a table or chart.
    Note(String),
    List(Vec<String>),
    /// Short items that few readers need, behind a title.
    Folded(String, Vec<String>),
    Table(Table),
    Bars(Bars),
    Lines(Lines),
    Stack(Stack),
    Lanes(Lanes),
}

/// One answer.
#[derive(Debug, Clone)]
pub struct Said {
    /// Named if there are several.
    pub condition: Option<String>,
    pub text: String,
    pub tone: Tone,
}

impl Section {
    /// Whether plain text could show only its introduction.
    pub fn is_drawn_only(&self) -> bool {
        let is_drawing =
            |block: &Block| matches!(block, Block::Lanes(_)) || matches!(block, Block::Lines(lines) if !lines.in_text);
        let charts = self.blocks.iter().any(is_drawing);
        charts && self.blocks.iter().all(|block| is_drawing(block) || matches!(block, Block::Text(_)))
    }
}

/// Meaning of a text, which colour may support.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    #[default]
    Plain,
    Better,
    Worse,
    Muted,
}

#[derive(Debug, Clone, Default)]
pub struct Table {
    pub head: Vec<Head>,
    pub rows: Vec<Row>,
    /// Its condition, for the page's choice of conditions.
    pub condition: Option<usize>,
}

#[derive(Debug, Clone)]
pub struct Head {
    pub title: String,
    /// Whether its cells are aligned right, as numbers are.
    pub right: bool,
}

#[derive(Debug, Clone)]
pub enum Row {
    /// Heading of a group over all columns: a name and its meaning.
    Group(String, String),
    Cells(Vec<Cell>),
}

#[derive(Debug, Clone, Default)]
pub struct Cell {
    pub text: String,
    /// Small print after the text.
    pub small: String,
    pub tone: Tone,
    /// The contender whose colour it has.
    pub series: Option<usize>,
}

impl Cell {
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    pub fn small(mut self, small: impl Into<String>) -> Self {
        self.small = small.into();
        self
    }

    pub fn tone(mut self, tone: Tone) -> Self {
        self.tone = tone;
        self
    }

    pub fn series(mut self, series: usize) -> Self {
        self.series = Some(series);
        self
    }

    pub fn muted(text: impl Into<String>) -> Self {
        Self::new(text).tone(Tone::Muted)
    }
}

impl Table {
    /// A table with these columns; those whose title ends in `|` are aligned right.
    pub fn new(titles: &[&str]) -> Self {
        let head = |title: &&str| Head { title: title.trim_end_matches('|').to_string(), right: title.ends_with('|') };
        Self { head: titles.iter().map(head).collect(), ..Self::default() }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(Row::Cells(cells.into_iter().collect()));
    }

    pub fn group(&mut self, name: impl Into<String>, meaning: impl Into<String>) {
        self.rows.push(Row::Group(name.into(), meaning.into()));
    }
}

/// Horizontal bars with intervals.
#[derive(Debug, Clone, Default)]
pub struct Bars {
    pub title: String,
    pub condition: usize,
    pub rows: Vec<BarRow>,
}

#[derive(Debug, Clone)]
pub enum BarRow {
    Group(String, String),
    Bar(Bar),
}

#[derive(Debug, Clone, Default)]
pub struct Bar {
    pub series: usize,
    pub label: String,
    /// `None` if it was not measured.
    pub value: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Single rounds.
    pub points: Vec<f64>,
    pub shown: String,
    pub tip: String,
    /// Drawn faintly, because it is not comparable with the others.
    pub faint: bool,
}

impl Bars {
    pub fn bars(&self) -> impl Iterator<Item = &Bar> {
        self.rows.iter().filter_map(|row| if let BarRow::Bar(bar) = row { Some(bar) } else { None })
    }

    /// The largest value that is drawn.
    pub fn max(&self) -> f64 {
        let values = |bar: &Bar| bar.points.iter().copied().chain(bar.value).chain(bar.high).fold(0.0, f64::max);
        self.bars().map(values).fold(0.0, f64::max)
    }
}

/// Lines over an axis.
#[derive(Debug, Clone)]
pub struct Lines {
    pub title: String,
    /// `None` if it is about several conditions.
    pub condition: Option<usize>,
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
    /// Whether it is one of several small charts in a row.
    pub small: bool,
    /// Whether plain text shows it too.
    pub in_text: bool,
}

#[derive(Debug, Clone)]
pub struct Axis {
    pub label: String,
    pub log: bool,
    pub low: f64,
    pub high: f64,
    pub ticks: Vec<Tick>,
}

impl Axis {
    /// Position of a value between the ends, from 0 to 1.
    pub fn place(&self, value: f64) -> f64 {
        let (low, high, value) = if self.log {
            (self.low.ln(), self.high.ln(), value.max(f64::MIN_POSITIVE).ln())
        } else {
            (self.low, self.high, value)
        };
        if high > low { ((value - low) / (high - low)).clamp(0.0, 1.0) } else { 0.0 }
    }
}

#[derive(Debug, Clone)]
pub struct Tick {
    pub at: f64,
    pub label: String,
    /// Whether it may be left out if there is little room.
    pub minor: bool,
}

#[derive(Debug, Clone)]
pub struct Series {
    pub series: usize,
    pub label: String,
    pub points: Vec<Point>,
}

#[derive(Debug, Clone)]
pub struct Point {
    pub x: f64,
    /// `None` interrupts the line.
    pub y: Option<f64>,
    /// Whether the line is dotted from here on: a lower bound, or too few observations.
    pub weak: bool,
    pub tip: String,
}

/// Bars of parts that make up a whole.
#[derive(Debug, Clone, Default)]
pub struct Stack {
    pub title: String,
    pub condition: usize,
    pub legend: Vec<&'static str>,
    pub rows: Vec<StackRow>,
}

#[derive(Debug, Clone)]
pub struct StackRow {
    pub series: usize,
    pub label: String,
    /// Share of the whole, in the order of the legend.
    pub parts: Vec<f64>,
    pub shown: String,
    pub tip: String,
}

/// What each of several parties did over a common time. Drawn on pages only.
#[derive(Debug, Clone, Default)]
pub struct Lanes {
    pub title: String,
    /// Ends of the time, in the unit of the spans.
    pub low: f64,
    pub high: f64,
    pub ticks: Vec<Tick>,
    pub lanes: Vec<Lane>,
}

#[derive(Debug, Clone, Default)]
pub struct Lane {
    pub series: usize,
    pub label: String,
    pub spans: Vec<Span>,
}

#[derive(Debug, Clone, Default)]
pub struct Span {
    pub from: f64,
    pub to: f64,
    /// Part of the lane's height, from 0 to 1.
    pub height: f64,
    /// Drawn as an outline: the party waited.
    pub hollow: bool,
    pub tip: String,
}
