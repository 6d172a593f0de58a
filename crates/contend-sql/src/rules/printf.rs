//! printf() and format() with a literal format: the text is put together from its parts.

use crate::emit::{Tr, plain};
use crate::names::push_text;
use crate::parse::tree::{Expr, Literal};
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::rules::compare::INTEGER_TEXT;
use crate::rules::expr::{bare, literal_number};
use crate::types::{Number, Strength, Ty, Val};

/// One conversion of a format.
struct Conversion {
    left: bool,
    zero: bool,
    thousands: bool,
    width: usize,
    precision: Option<usize>,
    kind: char,
}

/// Whether a conversion is as wide as it is to be.
#[derive(PartialEq)]
enum Padding {
    Done,
    Left,
}

impl Conversion {
    fn refused<T>(&self, token: &str, word: &str) -> R<T> {
        no(Id::Functions, token, format!("%{} of {word}", self.kind))
    }
}

impl<'a> Tr<'a> {
    pub(crate) fn printf(&mut self, token: &'a str, args: &'a [Expr<'a>]) -> R<Val> {
        let Some(Expr::Literal(Literal::String(format))) = args.first().map(bare) else {
            return no(Id::Functions, token, "a format that is not a text literal");
        };
        let format = plain(format);
        let mut values = args[1..].iter();
        let (mut text, mut parts) = (String::new(), 0);
        let start = self.at();
        let mut rest = format.chars().peekable();
        while let Some(c) = rest.next() {
            if c != '%' {
                text.push(c);
                continue;
            }
            if rest.next_if_eq(&'%').is_some() {
                text.push('%');
                continue;
            }
            let Some(conversion) = conversion(&mut rest) else {
                return no(Id::Functions, token, "a conversion of printf() that is not understood");
            };
            self.part(&mut parts, &mut text);
            self.either(" || ", ", ");
            match (values.next(), conversion.kind) {
                (Some(value), _) => self.converted(token, &conversion, value)?,
                // A value that is not there is 0 or nothing.
                (None, 's') if conversion.width == 0 => self.put("''"),
                (None, 'd' | 'i') if conversion.width == 0 => self.put("'0'"),
                (None, _) => return no(Id::Functions, token, "printf() with fewer values than conversions"),
            }
        }
        if values.next().is_some() {
            return no(Id::Functions, token, "printf() with more values than conversions");
        }
        self.part(&mut parts, &mut text);
        if self.postgres {
            return Ok(Val::of(Ty::Text).never_null().with(Strength::Operator));
        }
        self.wrap(start, "CONCAT(", ")");
        Ok(Val::of(Ty::Text).never_null())
    }

    /// Writes the text before, between or after conversions.
    fn part(&mut self, parts: &mut usize, text: &mut String) {
        if *parts > 0 {
            self.either(" || ", ", ");
        }
        push_text(&mut self.sql, &std::mem::take(text));
        *parts += 1;
    }

    fn converted(&mut self, token: &str, conversion: &Conversion, expr: &'a Expr<'a>) -> R<()> {
        let start = self.at();
        if conversion.thousands && !matches!(conversion.kind, 'd' | 'i') {
            return conversion.refused(token, "anything but an integer with separators");
        }
        match conversion.kind {
            'd' | 'i' => {
                if self.integer(token, conversion, expr)? == Padding::Done {
                    return Ok(());
                }
            }
            's' => {
                if conversion.precision.is_some() {
                    return conversion.refused(token, "a precision");
                }
                self.text_operand(expr)?;
                self.wrap(start, "COALESCE(", ", '')");
            }
            'f' => {
                let digits = conversion.precision.unwrap_or(6);
                let value = self.numeric_operand(expr, Ty::Real)?;
                if !self.options.pack || !value.ty.numeric() || digits > 15 {
                    return conversion.refused(token, "a real, whose digits the function pack writes");
                }
                self.wrap(start, "contend_sql.fixed(", &format!(", {digits})"));
            }
            'x' | 'X' => self.hexadecimal(token, conversion, expr)?,
            'o' => self.octal(token, conversion, expr)?,
            'q' if conversion.precision.is_none() => {
                self.replaced_operand(expr)?;
                self.wrap(start, "COALESCE(replace(", ", '''', ''''''), '(NULL)')");
            }
            // Of an empty text the first character is NUL.
            'c' if conversion.precision.is_none()
                && matches!(bare(expr), Expr::Literal(Literal::String(t)) if !plain(t).is_empty()) =>
            {
                self.text_operand(expr)?;
                self.wrap(start, "COALESCE(left(", ", 1), '')");
            }
            _ => return no(Id::Functions, token, format!("the conversion %{}", conversion.kind)),
        }
        self.padded(token, conversion, start)
    }

    /// `%d`: padded with zeros and with separators it is written as a whole.
    fn integer(&mut self, token: &str, conversion: &Conversion, expr: &'a Expr<'a>) -> R<Padding> {
        let start = self.at();
        let value = self.value(expr, Ty::Int)?;
        if value.ty == Ty::Null && conversion.width == 0 {
            self.sql.truncate(start);
            self.put("'0'");
            return Ok(Padding::Done);
        }
        if value.ty != Ty::Int || conversion.precision.is_some() {
            return conversion.refused(token, value.ty.word());
        }
        if conversion.thousands {
            if conversion.width > 0 {
                return conversion.refused(token, "a number with separators and a width");
            }
            if self.postgres {
                self.wrap(start, "COALESCE(to_char((", ")::bigint, 'FM9,999,999,999,999,999,999'), '0')");
            } else {
                self.wrap(start, "COALESCE(FORMAT(", ", 0, 'en_US'), '0')");
            }
            return Ok(Padding::Done);
        }
        if conversion.zero && !conversion.left && conversion.width > 0 {
            self.with_zeros(conversion.width, start);
            return Ok(Padding::Done);
        }
        if self.postgres {
            self.wrap(start, "COALESCE((", ")::text, '0')");
        } else {
            self.wrap(start, INTEGER_TEXT.0, INTEGER_TEXT.1);
            self.wrap(start, "COALESCE(", ", '0')");
        }
        Ok(Padding::Left)
    }

    /// The sign stands before the zeros.
    fn with_zeros(&mut self, width: usize, start: usize) {
        let n = self.sql.split_off(start);
        let digits = if self.postgres {
            format!("abs({n})::text")
        } else {
            format!("{}ABS({n}){}", INTEGER_TEXT.0, INTEGER_TEXT.1)
        };
        let short = width - 1;
        let negative = format!("CONCAT('-', lpad({digits}, GREATEST({short}, char_length({digits})), '0'))");
        let positive = format!("lpad({digits}, GREATEST({width}, char_length({digits})), '0')");
        self.sql.push_str(&format!(
            "(CASE WHEN {n} < 0 THEN {negative} ELSE COALESCE({positive}, '{}') END)",
            "0".repeat(width)
        ));
    }

    fn hexadecimal(&mut self, token: &str, conversion: &Conversion, expr: &'a Expr<'a>) -> R<()> {
        let start = self.at();
        let value = self.value(expr, Ty::Int)?;
        if value.ty != Ty::Int {
            return conversion.refused(token, value.ty.word());
        }
        if self.postgres {
            self.wrap(start, "to_hex((", ")::bigint)");
        } else {
            self.wrap(start, "LOWER(HEX(", "))");
        }
        if conversion.kind == 'X' {
            self.wrap(start, "upper(", ")");
        }
        self.wrap(start, "COALESCE(", ", '0')");
        Ok(())
    }

    fn octal(&mut self, token: &str, conversion: &Conversion, expr: &'a Expr<'a>) -> R<()> {
        let start = self.at();
        match literal_number(expr) {
            Some(Number::Int(n)) => push_text(&mut self.sql, &format!("{n:o}")),
            _ if self.postgres => return conversion.refused(token, "anything but a literal number"),
            _ => {
                let value = self.value(expr, Ty::Int)?;
                if value.ty != Ty::Int {
                    return conversion.refused(token, value.ty.word());
                }
                self.wrap(start, "COALESCE(OCT(", "), '0')");
            }
        }
        Ok(())
    }

    /// As wide as the conversion says.
    fn padded(&mut self, token: &str, conversion: &Conversion, start: usize) -> R<()> {
        if conversion.width == 0 {
            return Ok(());
        }
        let text = self.sql.split_off(start);
        let (pad, width) = (if conversion.left { "rpad" } else { "lpad" }, conversion.width);
        let fill = if conversion.zero && !conversion.left && conversion.kind != 's' { "0" } else { " " };
        if fill == "0" && conversion.kind == 'f' {
            return no(Id::Functions, token, "%0f: the sign stands before the zeros");
        }
        self.sql.push_str(&format!("{pad}({text}, GREATEST({width}, char_length({text})), '{fill}')"));
        Ok(())
    }
}

fn conversion(rest: &mut std::iter::Peekable<std::str::Chars>) -> Option<Conversion> {
    let mut found = Conversion { left: false, zero: false, thousands: false, width: 0, precision: None, kind: ' ' };
    loop {
        match rest.peek()? {
            '-' => found.left = true,
            '0' => found.zero = true,
            ',' => found.thousands = true,
            _ => break,
        }
        rest.next();
    }
    let number = |rest: &mut std::iter::Peekable<std::str::Chars>| {
        let mut number = None;
        while let Some(digit) = rest.peek().and_then(|c| c.to_digit(10)) {
            rest.next();
            number = Some((number.unwrap_or(0) * 10 + digit as usize).min(10_000));
        }
        number
    };
    found.width = number(rest).unwrap_or(0);
    if rest.next_if_eq(&'.').is_some() {
        found.precision = Some(number(rest).unwrap_or(0));
    }
    found.kind = rest.next()?;
    Some(found)
}
