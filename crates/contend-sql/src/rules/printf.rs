//! printf() and format() with a literal format: the text is concatenated from its parts.

use crate::emit::INTEGER_TEXT;
use crate::emit::{Tr, plain};
use crate::names::push_text;
use crate::parse::tree::{Expr, Literal};
use crate::refuse::{R, no};
use crate::rules::literals::{bare, literal_number};
use crate::rules::{Id, arithmetic, texts};
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

/// Whether a conversion is padded already.
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

pub(crate) fn printf<'a>(tr: &mut Tr<'a>, token: &'a str, args: &'a [Expr<'a>]) -> R<Val> {
    let Some(Expr::Literal(Literal::String(format))) = args.first().map(bare) else {
        return no(Id::Functions, token, "a format that is not a text literal");
    };
    let format = plain(format);
    let mut values = args[1..].iter();
    let (mut text, mut parts) = (String::new(), 0);
    let start = tr.at();
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
        part(tr, &mut parts, &mut text);
        tr.either(" || ", ", ");
        match (values.next(), conversion.kind) {
            (Some(value), _) => converted(tr, token, &conversion, value)?,
            // A missing argument counts as 0 or an empty text.
            (None, 's') if conversion.width == 0 => tr.put("''"),
            (None, 'd' | 'i') if conversion.width == 0 => tr.put("'0'"),
            (None, _) => return no(Id::Functions, token, "printf() with fewer values than conversions"),
        }
    }
    if values.next().is_some() {
        return no(Id::Functions, token, "printf() with more values than conversions");
    }
    part(tr, &mut parts, &mut text);
    if tr.postgres {
        return Ok(Val::of(Ty::Text).never_null().with(Strength::Operator));
    }
    tr.wrap(start, "CONCAT(", ")");
    Ok(Val::of(Ty::Text).never_null())
}

/// Writes the literal text before, between or after conversions.
fn part(tr: &mut Tr, parts: &mut usize, text: &mut String) {
    if *parts > 0 {
        tr.either(" || ", ", ");
    }
    push_text(&mut tr.out.sql, &std::mem::take(text));
    *parts += 1;
}

fn converted<'a>(tr: &mut Tr<'a>, token: &str, conversion: &Conversion, expr: &'a Expr<'a>) -> R<()> {
    let start = tr.at();
    if conversion.thousands && !matches!(conversion.kind, 'd' | 'i') {
        return conversion.refused(token, "anything but an integer with separators");
    }
    match conversion.kind {
        'd' | 'i' => {
            if integer(tr, token, conversion, expr)? == Padding::Done {
                return Ok(());
            }
        }
        's' => {
            if conversion.precision.is_some() {
                return conversion.refused(token, "a precision");
            }
            arithmetic::text_operand(tr, expr)?;
            tr.wrap(start, "COALESCE(", ", '')");
        }
        'f' => {
            let digits = conversion.precision.unwrap_or(6);
            let value = arithmetic::numeric_operand(tr, expr, Ty::Real)?;
            if !tr.input.options.pack || !value.ty.numeric() || digits > 15 {
                return conversion.refused(token, "a real, whose digits the function pack writes");
            }
            arithmetic::sure(tr, start, digits as i64);
            tr.wrap(start, "contend_sql.fixed(", &format!(", {digits})"));
        }
        'x' | 'X' => hexadecimal(tr, token, conversion, expr)?,
        'o' => octal(tr, token, conversion, expr)?,
        'q' if conversion.precision.is_none() => {
            texts::replaced_operand(tr, expr)?;
            tr.wrap(start, "COALESCE(replace(", ", '''', ''''''), '(NULL)')");
        }
        // The first character of an empty text is NUL.
        'c' if conversion.precision.is_none()
            && matches!(bare(expr), Expr::Literal(Literal::String(t)) if !plain(t).is_empty()) =>
        {
            arithmetic::text_operand(tr, expr)?;
            tr.wrap(start, "COALESCE(left(", ", 1), '')");
        }
        _ => return no(Id::Functions, token, format!("the conversion %{}", conversion.kind)),
    }
    padded(tr, token, conversion, start)
}

/// `%d`. With zero padding and separators it is written as a whole.
fn integer<'a>(tr: &mut Tr<'a>, token: &str, conversion: &Conversion, expr: &'a Expr<'a>) -> R<Padding> {
    let start = tr.at();
    let value = tr.value(expr, Ty::Int)?;
    if value.ty == Ty::Null && conversion.width == 0 {
        tr.wrap(start, "CASE WHEN (", ") IS NULL THEN '0' END");
        return Ok(Padding::Done);
    }
    if value.ty != Ty::Int || conversion.precision.is_some() {
        return conversion.refused(token, value.ty.word());
    }
    if conversion.thousands {
        if conversion.width > 0 {
            return conversion.refused(token, "a number with separators and a width");
        }
        if tr.postgres {
            tr.wrap(start, "COALESCE(to_char((", ")::bigint, 'FM9,999,999,999,999,999,999'), '0')");
        } else {
            tr.wrap(start, "COALESCE(FORMAT(", ", 0, 'en_US'), '0')");
        }
        return Ok(Padding::Done);
    }
    // Zeros stand left even with `-`.
    if conversion.zero && conversion.width > 0 {
        with_zeros(tr, conversion.width, start);
        return Ok(Padding::Done);
    }
    if tr.postgres {
        tr.wrap(start, "COALESCE((", ")::text, '0')");
    } else {
        tr.wrap(start, INTEGER_TEXT.0, INTEGER_TEXT.1);
        tr.wrap(start, "COALESCE(", ", '0')");
    }
    Ok(Padding::Left)
}

/// The sign precedes the zeros.
fn with_zeros(tr: &mut Tr, width: usize, start: usize) {
    let n = tr.out.sql.split_off(start);
    let digits =
        if tr.postgres { format!("abs({n})::text") } else { format!("{}ABS({n}){}", INTEGER_TEXT.0, INTEGER_TEXT.1) };
    let short = width - 1;
    let negative = format!("CONCAT('-', lpad({digits}, GREATEST({short}, char_length({digits})), '0'))");
    let positive = format!("lpad({digits}, GREATEST({width}, char_length({digits})), '0')");
    tr.out.sql.push_str(&format!(
        "(CASE WHEN {n} < 0 THEN {negative} ELSE COALESCE({positive}, '{}') END)",
        "0".repeat(width)
    ));
}

fn hexadecimal<'a>(tr: &mut Tr<'a>, token: &str, conversion: &Conversion, expr: &'a Expr<'a>) -> R<()> {
    let start = tr.at();
    let value = tr.value(expr, Ty::Int)?;
    if value.ty != Ty::Int {
        return conversion.refused(token, value.ty.word());
    }
    if tr.postgres {
        tr.wrap(start, "to_hex((", ")::bigint)");
    } else {
        tr.wrap(start, "LOWER(HEX(", "))");
    }
    if conversion.kind == 'X' {
        tr.wrap(start, "upper(", ")");
    }
    tr.wrap(start, "COALESCE(", ", '0')");
    Ok(())
}

fn octal<'a>(tr: &mut Tr<'a>, token: &str, conversion: &Conversion, expr: &'a Expr<'a>) -> R<()> {
    let start = tr.at();
    match literal_number(expr) {
        Some(Number::Int(n)) => push_text(&mut tr.out.sql, &format!("{n:o}")),
        _ if tr.postgres => return conversion.refused(token, "anything but a literal number"),
        _ => {
            let value = tr.value(expr, Ty::Int)?;
            if value.ty != Ty::Int {
                return conversion.refused(token, value.ty.word());
            }
            tr.wrap(start, "COALESCE(OCT(", "), '0')");
        }
    }
    Ok(())
}

/// Pads to the width of the conversion.
fn padded(tr: &mut Tr, token: &str, conversion: &Conversion, start: usize) -> R<()> {
    if conversion.width == 0 {
        return Ok(());
    }
    let text = tr.out.sql.split_off(start);
    let (zeros, width) = (conversion.zero && matches!(conversion.kind, 'x' | 'X' | 'o' | 'f'), conversion.width);
    if zeros && conversion.kind == 'f' {
        return no(Id::Functions, token, "%0f: the sign stands before the zeros");
    }
    if matches!(conversion.kind, 's' | 'q') {
        // The width of a text is in bytes.
        let blanks = format!("repeat(' ', GREATEST({width} - octet_length({text}), 0))");
        tr.put(&if conversion.left { format!("{text} || {blanks}") } else { format!("{blanks} || {text}") });
        return Ok(());
    }
    let (pad, fill) = (if conversion.left && !zeros { "rpad" } else { "lpad" }, if zeros { "0" } else { " " });
    tr.put(&format!("{pad}({text}, GREATEST({width}, char_length({text})), '{fill}')"));
    Ok(())
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
