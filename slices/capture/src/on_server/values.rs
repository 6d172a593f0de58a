//! Captured values as a translation takes them.

use crate::trace::Value;
use contend_sql::{Number, ParamType, is_exact, number_in_text, real_text};
use contend_worker::argument::Argument;

/// The type of a bound value, for its translation; unknown for NULL.
pub fn type_of(value: &Value) -> ParamType {
    match value {
        Value::Integer(_) => ParamType::Integer,
        Value::Real(real) if real.is_nan() => ParamType::Unknown,
        Value::Real(_) => ParamType::Real,
        Value::Text(_) => ParamType::Text,
        Value::Blob(_) | Value::Zeros(_) => ParamType::Blob,
        Value::Null | Value::Opaque | Value::Hash(..) => ParamType::Unknown,
    }
}

/// What a placeholder takes.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    pub ty: ParamType,
    /// Whether SQLite first converts the value by a column's affinity.
    pub is_converted: bool,
    /// Whether a text that is a number is another value to SQLite.
    pub wants_words: bool,
    /// The version of SQLite.
    pub version: u32,
}

impl Place {
    /// The value for the server; `None` if the translation is not for its type.
    pub fn bound(self, value: &Value) -> Option<Value> {
        let value = match value {
            Value::Zeros(length) => Value::Blob(vec![0; usize::try_from(*length).ok()?].into()),
            value if type_of(value) == ParamType::Unknown => return Some(Value::Null),
            value if self.is_converted => self.converted(value),
            value => value.clone(),
        };
        let is_word = |text: &str| number_in_text(text).is_none();
        let ty = type_of(&value);
        let fits = match &value {
            Value::Text(bytes) => {
                // A value converted to a text is for a text column, where numbers are allowed.
                let may_be_number = !self.wants_words || self.is_converted;
                let is_text = std::str::from_utf8(bytes).is_ok_and(|text| may_be_number || is_word(text));
                is_text && [ty, ParamType::Unknown].contains(&self.ty)
            }
            Value::Integer(_) | Value::Real(_) => [ty, ParamType::Number, ParamType::Unknown].contains(&self.ty),
            _ => [ty, ParamType::Unknown].contains(&self.ty),
        };
        fits.then_some(value)
    }

    fn converted(self, value: &Value) -> Value {
        let number = |number: Number| match number {
            Number::Int(n) => Value::Integer(n),
            Number::Real(n) if self.ty == ParamType::Integer && n == n.trunc() && n.abs() < 9e15 => {
                Value::Integer(n as i64)
            }
            Number::Real(n) => Value::Real(n),
        };
        match (value, self.ty) {
            (Value::Integer(n), ParamType::Text) => Value::Text(n.to_string().into_bytes().into()),
            (Value::Real(n), ParamType::Text) => Value::Text(real_text(*n, self.version).into_bytes().into()),
            (Value::Real(n), ParamType::Integer) => number(Number::Real(*n)),
            // SQLite compares another one exactly, and the server would not.
            (Value::Integer(n), ParamType::Real) if is_exact(*n) => Value::Real(*n as f64),
            (Value::Text(bytes), ParamType::Integer | ParamType::Real | ParamType::Number) => {
                let read = std::str::from_utf8(bytes).ok().and_then(number_in_text);
                read.map_or_else(|| value.clone(), number)
            }
            _ => value.clone(),
        }
    }
}

/// The value as workers bind it.
pub fn argument(value: &Value) -> Argument<'_> {
    match value {
        Value::Integer(number) => Argument::Integer(*number),
        Value::Real(number) => Argument::Real(*number),
        Value::Text(text) => Argument::Text(text),
        Value::Blob(bytes) => Argument::Blob(bytes),
        Value::Null | Value::Opaque | Value::Zeros(_) | Value::Hash(..) => Argument::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_fits_its_type_or_is_converted_to_it() {
        let place = |ty, is_converted| Place { ty, is_converted, wants_words: false, version: contend_sql::SQLITE };
        let text = |text: &str| Value::Text(text.as_bytes().into());
        for (value, ty, is_converted, bound) in [
            (text("17"), ParamType::Integer, true, Some(Value::Integer(17))),
            (text("17"), ParamType::Integer, false, None),
            (Value::Integer(5), ParamType::Text, true, Some(text("5"))),
            (Value::Real(2.0), ParamType::Integer, true, Some(Value::Integer(2))),
            (Value::Integer(2), ParamType::Real, true, Some(Value::Real(2.0))),
            (Value::Integer(2), ParamType::Number, false, Some(Value::Integer(2))),
            (Value::Real(f64::NAN), ParamType::Text, false, Some(Value::Null)),
            (Value::Zeros(2), ParamType::Blob, false, Some(Value::Blob([0, 0].into()))),
            (Value::Blob([1].into()), ParamType::Text, true, None),
        ] {
            assert_eq!(place(ty, is_converted).bound(&value), bound, "{value:?}");
        }
        let words = Place { wants_words: true, ..place(ParamType::Text, false) };
        assert_eq!((words.bound(&text("12")), words.bound(&text("x"))), (None, Some(text("x"))));
    }
}
