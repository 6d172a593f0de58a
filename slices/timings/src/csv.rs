//! Reads the lines of a table of timings: group, variant, pair and value.
//!
//! Two columns have a fixed meaning if they exist. `excluded`: any text in it is the reason why the line is not used.
//! `runs`: number of runs of which the value is the median. Lines that begin with `#` are comments.

use super::model::{CsvOptions, Pairing, UnusedLine};
use super::value::{self, Measured, Per, Unit};
use contend::study::check_label;
use std::fmt;

const EXCLUDED: &str = "excluded";
const RUNS: &str = "runs";
const COMMENT: char = '#';
const PAIR_COLUMNS: [&str; 3] = ["pair", "round", "run"];

/// An error in a table, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvError {
    pub line: Option<u64>,
    pub column: Option<String>,
    pub message: String,
}

impl CsvError {
    pub(super) fn of_table(message: String) -> Self {
        CsvError { line: None, column: None, message }
    }

    pub(super) fn in_line(line: u64, message: String) -> Self {
        CsvError { line: Some(line), column: None, message }
    }
}

impl fmt::Display for CsvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}")?;
            match &self.column {
                Some(column) => write!(f, ", column `{column}`: ")?,
                None => write!(f, ": ")?,
            }
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for CsvError {}

/// A line that is used.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub line: u64,
    pub group: Option<String>,
    pub variant: String,
    pub pair: Option<String>,
    pub value: Measured,
    /// Number of runs of which the value is the median, if the table has it.
    pub runs: Option<u64>,
}

impl Row {
    pub(super) fn unused(self, reason: String) -> UnusedLine {
        UnusedLine { line: self.line, group: self.group, variant: self.variant, reason }
    }
}

/// The table as read.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    pub pair_column: Option<String>,
    pub rows: Vec<Row>,
    pub excluded: Vec<UnusedLine>,
    pub comments: usize,
}

/// Indexes of the columns.
struct Columns {
    variant: usize,
    value: usize,
    by: Option<usize>,
    pair: Option<usize>,
    excluded: Option<usize>,
    runs: Option<usize>,
    /// Unit of durations that are plain numbers.
    unit: Option<Unit>,
    /// Time of rates that are plain numbers; `None` if the column's name is not that of a rate.
    per: Option<Per>,
}

/// Index of the column with this name, or with one that differs in case alone.
///
/// # Errors
/// Two columns have the name.
fn only_column(name: &str, header: &csv::StringRecord) -> Result<Option<usize>, CsvError> {
    let of = |is: &dyn Fn(&str) -> bool| {
        let found: Vec<usize> = header.iter().enumerate().filter(|(_, column)| is(column)).map(|(at, _)| at).collect();
        found
    };
    let (exact, any) = (of(&|column| column == name), of(&|column| column.eq_ignore_ascii_case(name)));
    match if exact.is_empty() { &any[..] } else { &exact[..] } {
        [first, second, ..] => Err(CsvError::of_table(format!(
            "there are two columns `{name}`, {} and {} of the header; rename one of them",
            first + 1,
            second + 1
        ))),
        found => Ok(found.first().copied()),
    }
}

impl Columns {
    fn find(header: &csv::StringRecord, options: &CsvOptions) -> Result<Columns, CsvError> {
        let position = |name: &str| only_column(name, header);
        let required = |name: &String| position(name)?.ok_or_else(|| unknown_column(name, header));
        let mut pair = None;
        match &options.pairing {
            Pairing::Column(name) => pair = Some(required(name)?),
            Pairing::Auto => {
                for name in PAIR_COLUMNS {
                    pair = pair.or(position(name)?);
                }
            }
            Pairing::Unpaired => {}
        }
        Ok(Columns {
            variant: required(&options.variant)?,
            value: required(&options.value)?,
            by: options.by.as_ref().map(required).transpose()?,
            pair,
            excluded: position(EXCLUDED)?,
            runs: position(RUNS)?,
            unit: unit(options)?,
            per: value::rate(&options.value),
        })
    }
}

/// The unit of plain numbers: as asked for, or as the column's name says.
///
/// # Errors
/// The name says another one, or that of a rate where times are read, or the opposite.
fn unit(options: &CsvOptions) -> Result<Option<Unit>, CsvError> {
    let (name, own) = (&options.value, Unit::in_header(&options.value));
    let (rate, higher) = (value::rate(name), options.higher_is_better);
    if rate.is_some() && !higher {
        let message = format!("the column `{name}` seems to hold rates, which are read with --higher-is-better");
        return Err(CsvError::of_table(message + "; rename it if its values are times"));
    }
    if rate.is_none() && own.is_some() && higher {
        let message = format!("the column `{name}` seems to hold times, and --higher-is-better is for rates");
        return Err(CsvError::of_table(message + "; leave it out, or rename the column if its values are rates"));
    }
    match (options.unit, own) {
        (Some(asked), Some(own)) if asked != own => Err(CsvError::of_table(format!(
            "--unit contradicts the name of the column `{name}`; leave --unit out, or rename the column"
        ))),
        (asked, own) => Ok(asked.or(own)),
    }
}

fn unknown_column(name: &str, header: &csv::StringRecord) -> CsvError {
    let there: Vec<String> = header.iter().map(|column| format!("`{column}`")).collect();
    let is_one = header.len() == 1 && header[0].contains([';', '\t', '|']);
    let advice = if is_one { "; fields are separated by commas" } else { "" };
    CsvError::of_table(format!("there is no column `{name}`; the columns are {}{advice}", there.join(", ")))
}

/// Reads every line. The error names the first line that cannot be read.
pub fn read(text: &str, options: &CsvOptions) -> Result<Table, CsvError> {
    // Spreadsheets write a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader =
        csv::ReaderBuilder::new().comment(Some(COMMENT as u8)).trim(csv::Trim::All).from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| unreadable(text, error))?.clone();
    if header.is_empty() {
        return Err(CsvError::of_table("it is empty".into()));
    }
    one_line_each(text, &header)?;
    let columns = Columns::find(&header, options)?;
    let pair_column = columns.pair.map(|index| header[index].to_owned());
    let comments = text.lines().filter(|line| line.starts_with(COMMENT)).count();
    let mut table = Table { pair_column, rows: Vec::new(), excluded: Vec::new(), comments };
    for record in reader.records() {
        let record = record.map_err(|error| unreadable(text, error))?;
        let line = one_line_each(text, &record)?;
        read_line(line, &record, &columns, options, &mut table)?;
    }
    // A column has one unit: what its name or one of its cells says holds for all.
    let is_per_second = |row: &Row| matches!(row.value, Measured::PerSecond(_));
    if columns.per == Some(Per::Second) || table.rows.iter().any(is_per_second) {
        table.rows.iter_mut().for_each(|row| row.value = row.value.per_second());
    }
    Ok(table)
}

/// Line number of a record.
///
/// # Errors
/// A field has a line break: without a quote's end, the rest of the file would be one field.
fn one_line_each(text: &str, record: &csv::StringRecord) -> Result<u64, CsvError> {
    let line = record.position().map_or(0, |position| line_number(text, position));
    match record.iter().any(|field| field.contains(['\n', '\r'])) {
        true => Err(CsvError::in_line(line, "a field goes over several lines; is a quote not closed?".into())),
        false => Ok(line),
    }
}

fn read_line(
    line: u64,
    record: &csv::StringRecord,
    columns: &Columns,
    options: &CsvOptions,
    table: &mut Table,
) -> Result<(), CsvError> {
    let cell = |index: usize| record[index].to_owned();
    let (group, variant) = (columns.by.map(cell), cell(columns.variant));
    let at = |column: &str, message| CsvError { line: Some(line), column: Some(column.to_owned()), message };
    // An excluded line may lack a value, such as that of a cancelled run.
    let excluded = columns.excluded.map(cell).filter(|reason| !reason.is_empty());
    let pair = columns.pair.map(cell);
    let is_without_pair = pair.as_ref().is_some_and(String::is_empty);
    if let Some(reason) = excluded.or_else(|| is_without_pair.then(|| "no pair is named".to_string())) {
        table.excluded.push(UnusedLine { line, group, variant, reason });
        return Ok(());
    }
    if variant.is_empty() {
        return Err(at(&options.variant, "no variant is named".into()));
    }
    check_label(&variant).map_err(|message| at(&options.variant, message))?;
    let text = &record[columns.value];
    let value = match options.higher_is_better {
        true => value::parse_rate(text),
        false => value::parse_duration(text, columns.unit),
    };
    let value = value.map_err(|message| at(&options.value, message))?;
    if matches!(value, Measured::PerSecond(_)) && columns.per == Some(Per::OtherTime) {
        let message = format!("`{text}` is a rate per second, and the column's name says another time");
        return Err(at(&options.value, message + "; write all values in one unit, and name the column after it"));
    }
    let not_runs = |cell: &String| at(RUNS, format!("`{cell}` is not a number of runs"));
    let runs = columns.runs.map(cell).filter(|cell| !cell.is_empty());
    let runs = runs.map(|cell| cell.parse().map_err(|_| not_runs(&cell))).transpose()?;
    table.rows.push(Row { line, group, variant, pair, value, runs });
    Ok(())
}

/// Line number of a record. The reader's position is before the comments and empty lines that it skipped.
fn line_number(text: &str, position: &csv::Position) -> u64 {
    let from = usize::try_from(position.byte()).ok().and_then(|byte| text.get(byte..)).unwrap_or("");
    let skipped = from.lines().take_while(|line| line.is_empty() || line.starts_with(COMMENT)).count();
    position.line() + skipped as u64
}

fn unreadable(text: &str, error: csv::Error) -> CsvError {
    let line = error.position().map(|position| line_number(text, position));
    let message = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("{len} fields, but the header has {expected_len}")
        }
        _ => error.to_string(),
    };
    CsvError { line, column: None, message }
}
