//! Makes values. A generator is first bound to the row counts of a scale, so that making a value needs no lookup.
//! Values overwrite those of the previous row, so that texts reuse their memory.

use super::file::TimeForm;
use super::generator::{Fields, FormatPiece, Generator, RefWay};
use super::model::Table;
use super::random::{Picker, Stream, Weighted};
use super::words::{Style, Words};
use crate::units::write_time;
use anyhow::{Result, ensure};
use contend_wire::literal::Value;
use std::fmt::Write as _;

/// Row for which a value is made, and number of rows.
#[derive(Debug, Clone, Copy)]
pub struct RowPosition {
    pub row: u64,
    pub rows: u64,
}

/// Fields bound to a scale.
pub struct BoundFields(Vec<BoundField>);

struct BoundField {
    bound: Bound,
    /// First text and number of texts to choose from instead.
    pool: Option<(u32, u32)>,
}

impl BoundFields {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Lets a field choose among texts made in advance.
    pub fn choose_from(&mut self, field: usize, first_text: u32, texts: u32) {
        self.0[field].pool = Some((first_text, texts));
    }

    /// Makes one value of one field, which must not refer to another field.
    pub fn single(&self, field: usize, stream: &mut Stream) -> Value {
        let mut value = Value::Null;
        self.0[field].bound.generate(RowPosition { row: 0, rows: 1 }, &[], stream, &mut value);
        value
    }

    /// Makes the values of one row, field `i` from stream `i` or the last one.
    pub fn fill(&self, place: RowPosition, streams: &mut [Stream], row: &mut [Value]) {
        let last = streams.len() - 1;
        for (i, field) in self.0.iter().enumerate() {
            let (before, rest) = row.split_at_mut(i);
            let stream = &mut streams[i.min(last)];
            match field.pool {
                Some((first, texts)) => rest[0] = Value::TextRef(first + stream.below(u64::from(texts)) as u32),
                None => field.bound.generate(place, before, stream, &mut rest[0]),
            }
        }
    }
}

/// Binds generators to the rows of all tables at a scale.
pub struct Binder<'a> {
    pub tables: &'a [Table],
    pub rows: Vec<u64>,
}

impl Binder<'_> {
    /// Binds fields that are filled for `rows` rows.
    ///
    /// # Errors
    /// A reference to a table that has no rows at this scale.
    pub fn fields(&self, fields: &Fields, rows: u64) -> Result<BoundFields> {
        let bound = fields.0.iter().map(|field| {
            let bound = self.bind(&field.generator, rows, None)?;
            Ok(BoundField { bound, pool: None })
        });
        Ok(BoundFields(bound.collect::<Result<_>>()?))
    }

    /// `inline`: the fields that formats refer to, when there is no row to take them from.
    fn bind(&self, generator: &Generator, rows: u64, inline: Option<&Fields>) -> Result<Bound> {
        Ok(match generator {
            Generator::Null => Bound::Null,
            Generator::Serial { start, step } => Bound::Serial { start: *start, step: *step },
            Generator::Integer { low, high, zipf: None, .. } => Bound::Integer { low: *low, high: *high },
            Generator::Integer { low, high, zipf, hot } => {
                let n = high.abs_diff(*low).saturating_add(1);
                Bound::Skewed { low: *low, picker: Picker::new(n, *zipf, *hot) }
            }
            Generator::Real { low, high } => Bound::Real { low: *low, high: *high },
            Generator::Constant(value) => Bound::Constant(value.clone()),
            Generator::Choice { values, weights: None } => Bound::Choice { values: values.clone() },
            Generator::Choice { values, weights: Some(weights) } => {
                Bound::Weighted { values: values.clone(), weights: Weighted::new(weights.iter().copied()) }
            }
            Generator::Words(words) => Bound::Words(words.clone()),
            Generator::Time { low, high, form, ordered } => {
                Bound::Time { low: *low, high: *high, form: *form, ordered: *ordered }
            }
            Generator::Format(pieces) => Bound::Format(self.pieces(pieces, rows, inline)?),
            Generator::Ref { table, column, way, part } => self.reference(*table, *column, *way, *part)?,
            Generator::Blob { bytes, fill } => Bound::Blob { bytes: *bytes as usize, fill: *fill },
            Generator::Cycle(all) => {
                Bound::Cycle(all.iter().map(|g| self.bind(g, rows, inline)).collect::<Result<_>>()?)
            }
            Generator::Blocks(all) => {
                let mut end = 0.0;
                let blocks = all.iter().map(|(share, g)| {
                    end += share;
                    Ok(((rows as f64 * end).round() as u64, self.bind(g, rows, inline)?))
                });
                Bound::Blocks(blocks.collect::<Result<_>>()?)
            }
            Generator::Maybe { null, inner } => {
                Bound::Maybe { null: *null, inner: Box::new(self.bind(inner, rows, inline)?) }
            }
        })
    }

    fn pieces(&self, pieces: &[FormatPiece], rows: u64, inline: Option<&Fields>) -> Result<Vec<Piece>> {
        let bind = |piece: &FormatPiece| {
            Ok(match piece {
                FormatPiece::Text(text) => Piece::Text(text.clone()),
                FormatPiece::Field(i) => match inline {
                    None => Piece::Field(*i),
                    Some(fields) => Piece::Inline(self.bind(&fields.0[*i].generator, rows, inline)?),
                },
                FormatPiece::Serial(start) => Piece::Serial(*start),
                FormatPiece::Integer(low, high) => Piece::Integer(*low, *high),
                FormatPiece::Hex(digits) => Piece::Hex(*digits),
                FormatPiece::Words(count) => Piece::Words(Words::exactly(*count, Style::Plain)),
            })
        };
        pieces.iter().map(bind).collect()
    }

    fn reference(&self, table: usize, column: usize, way: RefWay, part: [f64; 2]) -> Result<Bound> {
        let (parent, rows) = (&self.tables[table], self.rows[table]);
        ensure!(rows > 0, "`{}` has no rows at this scale, but others refer to its rows", parent.name);
        let first = ((rows as f64 * part[0]).round() as u64).min(rows - 1);
        let end = ((rows as f64 * part[1]).round() as u64).clamp(first + 1, rows);
        let n = end - first;
        let way = match way {
            RefWay::Random { zipf, hot } => Way::Random(Picker::new(n, zipf, hot)),
            RefWay::InTurn { each } => Way::InTurn { each, n },
        };
        let generator = &parent.columns.0[column].generator;
        let value = Box::new(self.bind(generator, rows, Some(&parent.columns))?);
        Ok(Bound::Ref { value, way, first, rows })
    }
}

/// A generator bound to a scale.
enum Bound {
    Null,
    Serial { start: i64, step: i64 },
    Integer { low: i64, high: i64 },
    Skewed { low: i64, picker: Picker },
    Real { low: f64, high: f64 },
    Constant(Value),
    Choice { values: Vec<Value> },
    Weighted { values: Vec<Value>, weights: Weighted },
    Words(Words),
    Time { low: i64, high: i64, form: TimeForm, ordered: bool },
    Format(Vec<Piece>),
    Ref { value: Box<Bound>, way: Way, first: u64, rows: u64 },
    Blob { bytes: usize, fill: Option<u8> },
    Cycle(Vec<Bound>),
    Blocks(Vec<(u64, Bound)>),
    Maybe { null: f64, inner: Box<Bound> },
}

enum Way {
    Random(Picker),
    InTurn { each: u64, n: u64 },
}

enum Piece {
    Text(String),
    Field(usize),
    Inline(Bound),
    Serial(u32),
    Integer(i64, i64),
    Hex(u32),
    Words(Words),
}

impl Bound {
    fn generate(&self, place: RowPosition, row: &[Value], stream: &mut Stream, out: &mut Value) {
        match self {
            Bound::Null => *out = Value::Null,
            Bound::Serial { start, step } => {
                *out = Value::Integer(start.wrapping_add(step.wrapping_mul(place.row as i64)));
            }
            Bound::Integer { low, high } => *out = Value::Integer(stream.between(*low, *high)),
            Bound::Skewed { low, picker } => {
                *out = Value::Integer(low.wrapping_add_unsigned(picker.draw(stream)));
            }
            Bound::Real { low, high } => *out = Value::Real(low + (high - low) * stream.unit()),
            Bound::Constant(value) => assign(out, value),
            Bound::Choice { values } => assign(out, &values[stream.below(values.len() as u64) as usize]),
            Bound::Weighted { values, weights } => assign(out, &values[weights.draw(stream)]),
            Bound::Words(words) => words.write(stream, text_in(out)),
            Bound::Time { low, high, form, ordered } => {
                let seconds = if *ordered { rising(*low, *high, place, stream) } else { stream.between(*low, *high) };
                match form {
                    TimeForm::Unix => *out = Value::Integer(seconds),
                    TimeForm::Text => write_time(seconds, text_in(out)),
                }
            }
            Bound::Format(pieces) => {
                let text = text_in(out);
                for piece in pieces {
                    piece.write(place, row, stream, text);
                }
            }
            Bound::Ref { value, way, first, rows } => {
                let index = match way {
                    Way::Random(picker) => picker.draw(stream),
                    Way::InTurn { each, n } => place.row / each % n,
                };
                value.generate(RowPosition { row: first + index, rows: *rows }, &[], stream, out);
            }
            Bound::Blob { bytes, fill } => {
                let blob = blob_in(out);
                blob.resize(*bytes, fill.unwrap_or(0));
                if fill.is_none() {
                    stream.fill(blob);
                }
            }
            Bound::Cycle(all) => {
                all[(place.row % all.len() as u64) as usize].generate(place, row, stream, out);
            }
            Bound::Blocks(blocks) => {
                let block = blocks.partition_point(|(end, _)| *end <= place.row).min(blocks.len() - 1);
                blocks[block].1.generate(place, row, stream, out);
            }
            Bound::Maybe { null, inner } => {
                if stream.chance(*null) {
                    *out = Value::Null;
                } else {
                    inner.generate(place, row, stream, out);
                }
            }
        }
    }
}

impl Piece {
    fn write(&self, place: RowPosition, row: &[Value], stream: &mut Stream, out: &mut String) {
        match self {
            Piece::Text(text) => out.push_str(text),
            Piece::Field(i) => write_value(&row[*i], out),
            Piece::Inline(bound) => {
                let mut value = Value::Null;
                bound.generate(place, &[], stream, &mut value);
                write_value(&value, out);
            }
            Piece::Serial(start) => {
                write_value(&Value::Integer(i64::from(*start).wrapping_add_unsigned(place.row)), out)
            }
            Piece::Integer(low, high) => write_value(&Value::Integer(stream.between(*low, *high)), out),
            Piece::Hex(digits) => {
                for _ in 0..*digits {
                    out.push(char::from(b"0123456789abcdef"[stream.below(16) as usize]));
                }
            }
            Piece::Words(words) => words.write(stream, out),
        }
    }
}

/// A point in the row's own slice of the range, so that later rows have later times.
fn rising(low: i64, high: i64, place: RowPosition, stream: &mut Stream) -> i64 {
    let share = (place.row as f64 + stream.unit()) / place.rows.max(1) as f64;
    low + ((high - low) as f64 * share) as i64
}

fn write_value(value: &Value, out: &mut String) {
    let _ = match value {
        Value::Null => Ok(()),
        Value::Integer(i) => write!(out, "{i}"),
        Value::Real(r) => write!(out, "{r:?}"),
        Value::Text(text) => out.write_str(text),
        Value::TextRef(_) => unreachable!("a format refers to no pooled text: checked when the file is read"),
        Value::Blob(bytes) => bytes.iter().try_for_each(|byte| write!(out, "{byte:02x}")),
    };
}

/// The text of `out`, emptied, its memory kept.
fn text_in(out: &mut Value) -> &mut String {
    if !matches!(out, Value::Text(_)) {
        *out = Value::Text(String::new());
    }
    let Value::Text(text) = out else { unreachable!("made a text just above") };
    text.clear();
    text
}

fn blob_in(out: &mut Value) -> &mut Vec<u8> {
    if !matches!(out, Value::Blob(_)) {
        *out = Value::Blob(vec![]);
    }
    let Value::Blob(bytes) = out else { unreachable!("made a blob just above") };
    bytes.clear();
    bytes
}

fn assign(out: &mut Value, value: &Value) {
    match (&mut *out, value) {
        (Value::Text(old), Value::Text(new)) => old.clone_from(new),
        (_, value) => *out = value.clone(),
    }
}
