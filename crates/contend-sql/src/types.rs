//! Static properties of values: type, affinity, collation.
//!
//! SQLite decides comparisons by the storage class of the values and the affinity of the expressions
//! (<https://sqlite.org/datatype3.html>); a server decides by declared types. A translation is correct if both decide
//! alike. These properties are the basis for that.

/// The type of an expression's values, besides NULL.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Ty {
    /// Always NULL.
    Null,
    /// 64-bit integers.
    Int,
    /// IEEE doubles.
    Real,
    /// Integers or doubles, row by row.
    Number,
    /// Values of any type, row by row, each written as a text with a tag of its type.
    Tagged,
    Text,
    Blob,
    /// A truth value: 0 or 1 in SQLite and MariaDB, its own type in PostgreSQL.
    Bool,
    /// A parameter without a type so far.
    Param,
    /// Unknown.
    #[default]
    Any,
}

impl Ty {
    pub(crate) fn numeric(self) -> bool {
        matches!(self, Ty::Int | Ty::Real | Ty::Number | Ty::Bool)
    }

    pub(crate) fn for_parameter(self) -> crate::translation::ParamType {
        use crate::translation::ParamType;
        match self {
            Ty::Int | Ty::Bool => ParamType::Integer,
            Ty::Real => ParamType::Real,
            Ty::Number => ParamType::Number,
            Ty::Text => ParamType::Text,
            Ty::Blob => ParamType::Blob,
            Ty::Null | Ty::Param | Ty::Any | Ty::Tagged => ParamType::Unknown,
        }
    }

    /// The type of a bound value, if it is known.
    pub(crate) fn of_parameter(ty: crate::translation::ParamType) -> Option<Ty> {
        use crate::translation::ParamType;
        match ty {
            ParamType::Integer => Some(Ty::Int),
            ParamType::Real => Some(Ty::Real),
            ParamType::Text => Some(Ty::Text),
            ParamType::Blob => Some(Ty::Blob),
            ParamType::Number | ParamType::Null | ParamType::Unknown => None,
        }
    }

    /// The word for a message.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Ty::Null => "NULL",
            Ty::Int => "an integer",
            Ty::Real => "a real",
            Ty::Number => "an integer or a real",
            Ty::Tagged => "of a type that depends on the row",
            Ty::Text => "text",
            Ty::Blob => "a blob",
            Ty::Bool => "a truth value",
            Ty::Param => "a parameter",
            Ty::Any => "of unknown type",
        }
    }
}

/// The value bound for a placeholder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Slot {
    /// The source's parameter, or a session's value.
    pub number: u16,
    pub ty: Ty,
    /// Whether SQLite converts it to that type by an affinity.
    pub converted: bool,
}

/// The affinity of an expression. Only columns and casts have one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Affinity {
    /// A literal, a function, an operator's result.
    #[default]
    None,
    Integer,
    Real,
    Numeric,
    Text,
    Blob,
    /// The affinity of one of several queries; SQLite does not define which.
    Unsure,
}

impl Affinity {
    pub(crate) fn numeric(self) -> bool {
        matches!(self, Affinity::Integer | Affinity::Real | Affinity::Numeric)
    }

    /// The type of values of a column that CREATE TABLE AS makes of one with this affinity, as SQLite's own statement about
    /// the table declares it.
    pub(crate) fn declares(self) -> Option<Ty> {
        match self {
            Affinity::Integer => Some(Ty::Int),
            Affinity::Real => Some(Ty::Real),
            Affinity::Numeric => Some(Ty::Number),
            Affinity::Text => Some(Ty::Text),
            Affinity::None | Affinity::Blob => Some(Ty::Tagged),
            Affinity::Unsure => None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Collation {
    #[default]
    Binary,
    NoCase,
    Rtrim,
}

/// Properties of an expression that was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Val {
    pub ty: Ty,
    pub affinity: Affinity,
    pub collation: Collation,
    /// Whether the collation comes from COLLATE, which takes precedence over a column's.
    pub collation_explicit: bool,
    /// Whether it is a column, so that its collation applies in a comparison.
    pub column: bool,
    /// Whether PostgreSQL compares it by bytes: it contains a column created with COLLATE "C".
    pub bytewise: bool,
    /// Whether it has 32 bits on PostgreSQL.
    pub narrow: bool,
    /// Whether it is a text of digits, such as a year or seconds.
    pub digits: bool,
    /// Whether it is a text that is not numeric, so that NUMERIC affinity does not convert it.
    pub wordy: bool,
    /// Whether it may be NULL.
    pub nullable: bool,
    pub strength: Strength,
}

/// Precedence of an expression's outermost operator, weakest last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Strength {
    /// Literals, columns, calls, anything in parentheses.
    Atom,
    /// Arithmetic, concatenation, unary operators, COLLATE, casts with `::`.
    Operator,
    /// Comparisons, LIKE, IN, IS, BETWEEN.
    Comparison,
    Not,
    And,
    Or,
}

impl Val {
    /// An atom of this type without affinity that may be NULL.
    pub(crate) fn of(ty: Ty) -> Val {
        Val {
            ty,
            affinity: Affinity::None,
            collation: Collation::Binary,
            collation_explicit: false,
            column: false,
            bytewise: false,
            narrow: false,
            digits: false,
            wordy: false,
            nullable: true,
            strength: Strength::Atom,
        }
    }

    pub(crate) fn never_null(mut self) -> Val {
        self.nullable = false;
        self
    }

    pub(crate) fn with(mut self, strength: Strength) -> Val {
        self.strength = strength;
        self
    }
}

/// A call's result: an atom without affinity that is NULL if its argument is.
pub(crate) fn plain_result(argument: Val, ty: Ty) -> Val {
    Val { nullable: argument.nullable, bytewise: argument.bytewise, ..Val::of(ty) }
}

/// Two operands in the output: the left one in `start..left_end`, the right one from `right_start` on.
#[derive(Clone, Copy)]
pub(crate) struct Sides {
    pub start: usize,
    pub left_end: usize,
    pub right_start: usize,
    pub l: Val,
    pub r: Val,
}

/// Properties of a declared column type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Declared {
    pub ty: Ty,
    pub affinity: Affinity,
}

/// The affinity of a declared type by SQLite's five rules
/// (<https://sqlite.org/datatype3.html#determination_of_column_affinity>), and the assumed type of its values. `None`
/// if the name does not imply one.
pub(crate) fn declared(name: &str) -> Option<Declared> {
    let has = |word: &str| contains_ignoring_case(name, word);
    let found = |ty, affinity| Some(Declared { ty, affinity });
    if has("INT") {
        found(Ty::Int, Affinity::Integer)
    } else if has("CHAR") || has("CLOB") || has("TEXT") {
        found(Ty::Text, Affinity::Text)
    } else if has("BLOB") {
        found(Ty::Blob, Affinity::Blob)
    } else if has("REAL") || has("FLOA") || has("DOUB") {
        found(Ty::Real, Affinity::Real)
    } else if has("BOOL") {
        found(Ty::Int, Affinity::Numeric)
    } else if has("DATE") || has("TIME") || has("JSON") || has("UUID") {
        // A text that is not numeric stays a text under numeric affinity.
        found(Ty::Text, Affinity::Numeric)
    } else if has("NUM") || has("DEC") {
        found(Ty::Number, Affinity::Numeric)
    } else {
        None
    }
}

/// The collation of a comparison: an explicit one, left before right; else a column's, left before right.
pub(crate) fn collation(l: Val, r: Val) -> Collation {
    if l.collation_explicit {
        l.collation
    } else if r.collation_explicit {
        r.collation
    } else if l.column {
        l.collation
    } else if r.column {
        r.collation
    } else {
        Collation::Binary
    }
}

pub(crate) fn contains_ignoring_case(text: &str, word: &str) -> bool {
    text.as_bytes().windows(word.len()).any(|w| w.eq_ignore_ascii_case(word.as_bytes()))
}

/// SQLite's white space.
const BLANKS: [char; 6] = [' ', '\t', '\n', '\r', '\x0b', '\x0c'];

/// The number that numeric affinity makes of a text, if the whole text is a number.
pub fn number_in_text(text: &str) -> Option<Number> {
    let trimmed = text.trim_matches(BLANKS);
    let bytes = trimmed.as_bytes();
    let unsigned = bytes.strip_prefix(b"-").or(bytes.strip_prefix(b"+")).unwrap_or(bytes);
    if !unsigned.first().is_some_and(|b| b.is_ascii_digit() || *b == b'.') {
        return None;
    }
    if unsigned.iter().all(u8::is_ascii_digit)
        && let Ok(number) = trimmed.parse()
    {
        return Some(Number::Int(number));
    }
    let looks_real = unsigned.iter().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
    if !looks_real || !unsigned.iter().any(u8::is_ascii_digit) {
        return None;
    }
    trimmed.parse::<f64>().ok().map(Number::Real)
}

/// The result of CAST AS NUMERIC of a text: the number at its beginning, or 0.
pub(crate) fn number_prefix(text: &str) -> Number {
    let trimmed = text.trim_start_matches(BLANKS);
    let digits = |from: usize| trimmed[from..].bytes().take_while(u8::is_ascii_digit).count();
    let sign = usize::from(trimmed.starts_with(['+', '-']));
    let whole = digits(sign);
    let mut end = sign + whole;
    let fraction = if trimmed[end..].starts_with('.') { digits(end + 1) } else { 0 };
    if whole + fraction == 0 {
        return Number::Int(0);
    }
    if trimmed[end..].starts_with('.') {
        end += 1 + fraction;
    }
    if trimmed[end..].starts_with(['e', 'E']) {
        let sign = usize::from(trimmed[end + 1..].starts_with(['+', '-']));
        let exponent = digits(end + 1 + sign);
        end += if exponent > 0 { 1 + sign + exponent } else { 0 };
    }
    number_in_text(&trimmed[..end]).unwrap_or(Number::Int(0))
}

/// The result of CAST AS INTEGER of a text: the integer at its beginning, clamped to 64 bits. An exponent is ignored.
pub(crate) fn integer_prefix(text: &str) -> i64 {
    let trimmed = text.trim_start_matches(BLANKS);
    let sign = usize::from(trimmed.starts_with(['+', '-']));
    let digits = trimmed[sign..].bytes().take_while(u8::is_ascii_digit).count();
    let number = &trimmed[..sign + digits];
    match number.parse() {
        Ok(number) => number,
        Err(_) if digits == 0 => 0,
        Err(_) if number.starts_with('-') => i64::MIN,
        Err(_) => i64::MAX,
    }
}

/// Integers below are doubles, too.
pub(crate) const EXACT: f64 = 9_007_199_254_740_992.0;

/// A number in SQLite.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    Int(i64),
    Real(f64),
}

/// The value of a numeric literal: decimal or hexadecimal, with `_` between digits. A literal too large for an
/// integer is a real.
pub(crate) fn number_literal(text: &str) -> Option<Number> {
    if let Ok(number) = text.parse() {
        return Some(Number::Int(number));
    }
    let plain: String = text.chars().filter(|c| *c != '_').collect();
    if let Some(hex) = plain.strip_prefix("0x").or(plain.strip_prefix("0X")) {
        return u64::from_str_radix(hex, 16).ok().map(|bits| Number::Int(bits as i64));
    }
    if let Ok(number) = plain.parse() {
        return Some(Number::Int(number));
    }
    plain.parse::<f64>().ok().map(Number::Real)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn affinities_follow_the_five_rules() {
        let affinity = |name| declared(name).map(|d| d.affinity);
        assert_eq!(affinity("UNSIGNED BIG INT"), Some(Affinity::Integer));
        assert_eq!(affinity("CHARINT"), Some(Affinity::Integer));
        assert_eq!(affinity("nvarchar"), Some(Affinity::Text));
        assert_eq!(affinity("FLOATING POINT"), Some(Affinity::Integer), "POINT contains INT");
        assert_eq!(affinity("DOUBLE PRECISION"), Some(Affinity::Real));
        assert_eq!(affinity("NUMBER"), Some(Affinity::Numeric));
        assert_eq!(affinity("DATETIME"), Some(Affinity::Numeric));
        assert_eq!(affinity("STRING"), None);
    }

    #[test]
    fn numbers_in_text_are_whole_or_nothing() {
        assert_eq!(number_in_text(" 12 "), Some(Number::Int(12)));
        assert_eq!(number_in_text("-1.5e3"), Some(Number::Real(-1500.0)));
        assert_eq!(number_in_text("12abc"), None);
        assert_eq!(number_in_text("0x10"), None);
        assert_eq!(number_in_text(""), None);
        assert_eq!(number_in_text("inf"), None);
        assert_eq!(number_prefix("\x0b-1.5e3x"), Number::Real(-1500.0));
        assert_eq!(
            (number_prefix("1e"), number_prefix("1.e"), number_prefix(".")),
            (Number::Int(1), Number::Real(1.0), Number::Int(0))
        );
        assert_eq!(integer_prefix("\t123e+5"), 123);
        assert_eq!(integer_prefix("-99999999999999999999"), i64::MIN);
        assert_eq!((integer_prefix("9007199254740993.5"), integer_prefix("- 1")), (9007199254740993, 0));
        assert_eq!(number_literal("0x1F"), Some(Number::Int(31)));
        assert_eq!(number_literal("0xFFFFFFFFFFFFFFFF"), Some(Number::Int(-1)));
        assert_eq!(number_literal("1_000"), Some(Number::Int(1000)));
        assert_eq!(number_literal("9223372036854775808"), Some(Number::Real(9223372036854775808.0)));
    }
}
