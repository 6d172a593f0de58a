//! Where the values of placeholders come from: literals, the operation's own arguments, values kept from
//! earlier steps, unique numbers and the time. Nothing here allocates once its buffers have grown.

use crate::argument::Argument;
use crate::clock::wall_ns;
use crate::failure::Failure;
use crate::kept::Kept;
use contend_wire::literal::Value;
use contend_wire::plan::{Head, NowSource, Source};
use contend_wire::sample::worker_code;

/// An operation that a request names, with its arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The transaction, by its number in the plan.
    pub transaction: u16,
    /// Its arguments.
    pub drawn: Vec<Value>,
    /// The first of its unique numbers.
    pub first_unique: i64,
    /// Number of the request, from 0.
    pub number: u32,
}

impl Asked {
    /// The arguments for an attempt.
    pub fn arguments<'a>(&'a self, head: &'a Head) -> Arguments<'a> {
        Arguments { head, drawn: &self.drawn, first_unique: self.first_unique, operation: self.number }
    }
}

/// The arguments of one operation.
#[derive(Debug, Clone, Copy)]
pub struct Arguments<'a> {
    /// The plan's head, for its texts and its `now`.
    pub head: &'a Head,
    /// Values drawn for this operation.
    pub drawn: &'a [Value],
    /// The first of the operation's unique numbers.
    pub first_unique: i64,
    /// Number of the operation.
    pub operation: u32,
}

impl<'a> Arguments<'a> {
    /// The value of one placeholder.
    ///
    /// # Errors
    /// A kept value that is missing, or to which no number can be added.
    #[inline(always)]
    pub fn resolve<'v>(&self, source: &'v Source, repetition: u32, kept: &'v Kept) -> Result<Argument<'v>, Failure>
    where
        'a: 'v,
    {
        match source {
            Source::Literal(value) => Ok(self.value(value)),
            Source::Argument { first, stride } => {
                let index = usize::from(*first) + usize::from(*stride) * repetition as usize;
                Ok(self.value(&self.drawn[index]))
            }
            Source::Kept { slot, plus } => {
                let value = kept.get(*slot, 0).ok_or(Failure::worker(worker_code::NOT_KEPT))?;
                add(value, *plus).ok_or(Failure::worker(worker_code::VALUE))
            }
            Source::KeptRow { slot, row } => Ok(kept.get(*slot, usize::from(*row)).unwrap_or(Argument::Null)),
            Source::Unique { first, stride } => {
                let index = i64::from(*first) + i64::from(*stride) * i64::from(repetition);
                Ok(Argument::Integer(self.first_unique.wrapping_add(index)))
            }
            // Values of a login occur only in plans of requests, which look them up themselves.
            Source::Session { .. } => Err(Failure::worker(worker_code::NOT_KEPT)),
            Source::Now { unit_ns } => Ok(Argument::Integer((self.now_ns() / unit_ns) as i64)),
        }
    }

    #[inline(always)]
    fn value<'v>(&self, value: &'v Value) -> Argument<'v>
    where
        'a: 'v,
    {
        match value {
            Value::Null => Argument::Null,
            Value::Integer(i) => Argument::Integer(*i),
            Value::Real(r) => Argument::Real(*r),
            Value::Text(text) => Argument::Text(text.as_bytes()),
            Value::TextRef(n) => Argument::Text(self.head.texts[*n as usize].as_bytes()),
            Value::Blob(bytes) => Argument::Blob(bytes),
        }
    }

    fn now_ns(&self) -> u64 {
        match self.head.now {
            NowSource::Clock => wall_ns(),
            NowSource::Fixed { base_ns, step_ns } => {
                base_ns.wrapping_add(step_ns.wrapping_mul(u64::from(self.operation)))
            }
        }
    }
}

/// NULL plus anything is NULL, as in SQL; `None` for an overflow.
fn add(value: Argument<'_>, plus: i64) -> Option<Argument<'_>> {
    match (value, plus) {
        (value, 0) => Some(value),
        (Argument::Null, _) => Some(Argument::Null),
        (Argument::Integer(i), plus) => i.checked_add(plus).map(Argument::Integer),
        (Argument::Real(r), plus) => Some(Argument::Real(r + plus as f64)),
        (Argument::Text(_) | Argument::Blob(_), _) => None,
    }
}
