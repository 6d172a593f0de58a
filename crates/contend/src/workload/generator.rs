//! Generators of columns and arguments, as in the workload file. `generate` binds them to the number of rows and makes
//! the values.

use super::file::TimeForm;
use super::random::Hot;
use super::words::{WORD_BYTES, Words};
use contend_sql::ValueCounts;
use contend_wire::literal::Value;

/// Columns of a table, or arguments drawn together, each after those it refers to.
#[derive(Debug, Clone, Default)]
pub struct Fields(pub Vec<Field>);

#[derive(Debug, Clone)]
pub struct Field {
    pub name: String,
    pub generator: Generator,
    /// Arguments only: draw from this many texts made in advance; 0 = make one each time.
    pub pool: u32,
}

#[derive(Debug, Clone)]
pub enum Generator {
    Null,
    Serial {
        start: i64,
        step: i64,
    },
    /// Both ends included.
    Integer {
        low: i64,
        high: i64,
        zipf: Option<f64>,
        hot: Hot,
    },
    Real {
        low: f64,
        high: f64,
    },
    Constant(Value),
    Choice {
        values: Vec<Value>,
        weights: Option<Vec<f64>>,
    },
    Words(Words),
    /// Seconds since 1970, both ends included.
    Time {
        low: i64,
        high: i64,
        form: TimeForm,
        /// Rises with the row.
        ordered: bool,
    },
    Format(Vec<FormatPiece>),
    /// A value of a column that follows from its row number.
    Ref {
        table: usize,
        column: usize,
        way: RefWay,
        /// The fractions of the parent's rows between which the value lies.
        part: [f64; 2],
    },
    Blob {
        bytes: u32,
        /// Value of every byte; `None` for random bytes.
        fill: Option<u8>,
    },
    /// Row i takes number i modulo their count.
    Cycle(Vec<Generator>),
    /// The rows are cut into consecutive blocks of these shares.
    Blocks(Vec<(f64, Generator)>),
    /// NULL with a probability.
    Maybe {
        null: f64,
        inner: Box<Generator>,
    },
}

/// How a row of the parent is chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RefWay {
    Random {
        zipf: Option<f64>,
        hot: Hot,
    },
    /// `each` rows for the first parent, then as many for the next, and so on in turn.
    InTurn {
        each: u64,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub enum FormatPiece {
    Text(String),
    /// Value of an earlier field of the same row.
    Field(usize),
    /// Number of the row, counted from this one.
    Serial(u32),
    Integer(i64, i64),
    /// Random hexadecimal digits.
    Hex(u32),
    Words(u64),
}

impl Fields {
    pub fn position(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|field| field.name == name)
    }

    /// Whether the column's value follows from its row number alone, so that references to it can be computed.
    pub fn follows_from_row(&self, column: usize) -> bool {
        self.0[column].generator.follows_from_row(self)
    }
}

impl Generator {
    /// One value of each type that it draws, besides NULL. A reference has the type of the column that it refers to, and counts as
    /// none.
    pub fn types(&self) -> ValueCounts {
        let one = |integers, reals, texts, blobs| ValueCounts { integers, reals, texts, blobs };
        let of_value = |value: &Value| match value {
            Value::Null => one(0, 0, 0, 0),
            Value::Integer(_) => one(1, 0, 0, 0),
            Value::Real(_) => one(0, 1, 0, 0),
            Value::Text(_) | Value::TextRef(_) => one(0, 0, 1, 0),
            Value::Blob(_) => one(0, 0, 0, 1),
        };
        let most = |a: ValueCounts, b: ValueCounts| {
            one(a.integers.max(b.integers), a.reals.max(b.reals), a.texts.max(b.texts), a.blobs.max(b.blobs))
        };
        let none = one(0, 0, 0, 0);
        match self {
            Generator::Null | Generator::Ref { .. } => none,
            Generator::Serial { .. } | Generator::Integer { .. } => one(1, 0, 0, 0),
            Generator::Time { form: TimeForm::Unix, .. } => one(1, 0, 0, 0),
            Generator::Real { .. } => one(0, 1, 0, 0),
            Generator::Words(_) | Generator::Format(_) | Generator::Time { .. } => one(0, 0, 1, 0),
            Generator::Blob { .. } => one(0, 0, 0, 1),
            Generator::Constant(value) => of_value(value),
            Generator::Choice { values, .. } => values.iter().map(of_value).fold(none, most),
            Generator::Cycle(all) => all.iter().map(Generator::types).fold(none, most),
            Generator::Blocks(all) => all.iter().map(|(_, inner)| inner.types()).fold(none, most),
            Generator::Maybe { inner, .. } => inner.types(),
        }
    }

    /// Bytes of a value in addition to the fixed part, about; a reference to a text of the loaded data counts as none.
    pub fn bytes(&self, fields: &Fields) -> f64 {
        let of_words = |count: f64| count * WORD_BYTES as f64;
        match self {
            Generator::Constant(Value::Text(text)) => text.len() as f64,
            Generator::Choice { values, .. } => {
                let texts =
                    values.iter().filter_map(|value| if let Value::Text(text) = value { Some(text) } else { None });
                texts.map(String::len).max().unwrap_or(0) as f64
            }
            Generator::Words(words) => of_words(words.median.clamp(words.min as f64, words.max as f64)),
            Generator::Format(pieces) => {
                let of = |piece: &FormatPiece| match piece {
                    FormatPiece::Text(text) => text.len() as f64,
                    FormatPiece::Field(i) => fields.0[*i].generator.bytes(fields),
                    FormatPiece::Serial(_) | FormatPiece::Integer(..) => 8.0,
                    FormatPiece::Hex(digits) => f64::from(*digits),
                    FormatPiece::Words(count) => of_words(*count as f64),
                };
                pieces.iter().map(of).sum()
            }
            Generator::Blob { bytes, .. } => f64::from(*bytes),
            Generator::Maybe { inner, .. } => inner.bytes(fields),
            _ => 0.0,
        }
    }

    fn follows_from_row(&self, fields: &Fields) -> bool {
        match self {
            Generator::Null | Generator::Serial { .. } | Generator::Constant(_) => true,
            Generator::Ref { way, .. } => matches!(way, RefWay::InTurn { .. }),
            Generator::Format(pieces) => pieces.iter().all(|piece| match piece {
                FormatPiece::Text(_) | FormatPiece::Serial(_) => true,
                FormatPiece::Field(i) => fields.follows_from_row(*i),
                FormatPiece::Integer(..) | FormatPiece::Hex(_) | FormatPiece::Words(_) => false,
            }),
            Generator::Cycle(all) => all.iter().all(|generator| generator.follows_from_row(fields)),
            Generator::Blocks(all) => all.iter().all(|(_, generator)| generator.follows_from_row(fields)),
            Generator::Integer { .. }
            | Generator::Real { .. }
            | Generator::Choice { .. }
            | Generator::Words(_)
            | Generator::Time { .. }
            | Generator::Blob { .. }
            | Generator::Maybe { .. } => false,
        }
    }
}
