//! Where the values of a step come from.

use crate::literal::Value;

/// Where the value of a placeholder comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// The same value always.
    Literal(Value),
    /// An argument of the operation: `first + stride * repetition`.
    Argument {
        /// Index in the operation's arguments for repetition 0.
        first: u16,
        /// Added per repetition of the step.
        stride: u16,
    },
    /// A value kept from an earlier step, with a number added if `plus` is not 0.
    Kept {
        /// Slot it was kept in.
        slot: u16,
        /// Added to it.
        plus: i64,
    },
    /// Row `row` of a kept column, NULL beyond its end.
    KeptRow {
        /// Slot it was kept in.
        slot: u16,
        /// Row, from 0.
        row: u16,
    },
    /// A number no other use in the trial gets: `client * 2^40 + counter`.
    Unique {
        /// Which of the operation's unique numbers, for repetition 0.
        first: u16,
        /// Added per repetition of the step.
        stride: u16,
    },
    /// A value the login kept.
    Session {
        /// Slot of the login's transaction it was kept in.
        slot: u16,
    },
    /// The current time as an integer, in units of this many nanoseconds.
    Now {
        /// 1,000,000,000 for seconds.
        unit_ns: u64,
    },
}

impl Source {
    /// Reads the field of a step's line.
    pub(super) fn decode(field: &str) -> Result<Self, String> {
        let bad = || format!("`{}` is not the source of an argument", crate::crop(field));
        let Some(kind) = field.chars().next() else { return Err(bad()) };
        let rest = &field[kind.len_utf8()..];
        fn pair<A: std::str::FromStr, B: std::str::FromStr>(text: &str) -> Option<(A, B)> {
            let (a, b) = text.split_once('+')?;
            Some((a.parse().ok()?, b.parse().ok()?))
        }
        match kind {
            'p' => pair(rest).map(|(first, stride)| Source::Argument { first, stride }).ok_or_else(bad),
            'k' => pair(rest).map(|(slot, plus)| Source::Kept { slot, plus }).ok_or_else(bad),
            'K' => pair(rest).map(|(slot, row)| Source::KeptRow { slot, row }).ok_or_else(bad),
            'u' => pair(rest).map(|(first, stride)| Source::Unique { first, stride }).ok_or_else(bad),
            's' => rest.parse().map(|slot| Source::Session { slot }).map_err(|_| bad()),
            'c' => match rest.parse() {
                Ok(unit_ns) if unit_ns > 0 => Ok(Source::Now { unit_ns }),
                _ => Err(bad()),
            },
            _ => Value::decode(field).map(Source::Literal),
        }
    }
}
