//! Functions of texts and blobs.

use std::iter;

use crate::emit::Tr;
use crate::parse::tree::Expr;
use crate::refuse::{R, no};
use crate::rules::Id;
use crate::rules::compare::INTEGER_TEXT;
use crate::rules::expr::{bare, literal_number};
use crate::types::{Number, Ty, Val};

/// Bytes of SQLite's longest text (SQLITE_MAX_LENGTH, as it is built by default): what substr() takes where no length is
/// said, from wherever it begins. PostgreSQL's functions of texts take no number of more than 32 bits.
const LENGTH_MAX: i64 = 1_000_000_000;

impl<'a> Tr<'a> {
    pub(crate) fn length(&mut self, name: &str, one: &'a Expr<'a>) -> R<Val> {
        let start = self.at();
        let value = self.value(one, Ty::Text)?;
        let (pg, my) = match (name, value.ty) {
            ("length", Ty::Blob) | ("octet_length", Ty::Blob | Ty::Text) => ("octet_length(", "OCTET_LENGTH("),
            ("length", Ty::Text | Ty::Null | Ty::Param) => ("char_length(", "CHAR_LENGTH("),
            ("length", Ty::Int) => {
                if self.postgres {
                    self.wrap(start, "(", ")::text");
                }
                ("char_length(", "CHAR_LENGTH(")
            }
            ("length", Ty::Real) if self.options.pack => {
                self.wrap(start, "contend_sql.real_text(", ")");
                ("char_length(", "CHAR_LENGTH(")
            }
            _ => return no(Id::Functions, name, format!("{name}() of {}", value.ty.word())),
        };
        let before = if self.postgres { pg } else { my };
        self.wrap(start, before, ")");
        Ok(Val { narrow: true, ..self.plain_result(value, Ty::Int) })
    }

    /// SQLite counts from 1, from the end if negative; a negative length takes the characters before.
    pub(crate) fn substr(&mut self, token: &str, args: &'a [Expr<'a>]) -> R<Val> {
        let from = literal_number(&args[1]);
        let length = args.get(2).map(literal_number);
        let simple = match (from, length) {
            (Some(Number::Int(n)), None) if n >= 1 => Some((n, None)),
            (Some(Number::Int(n)), Some(Some(Number::Int(m)))) if n >= 1 && m >= 0 => Some((n, Some(m))),
            _ => None,
        };
        let reads = self.query_reads;
        if let Some((place, count)) = simple {
            let start = self.at();
            let blob = self.probe(&args[0])?.ty == Ty::Blob;
            let value = if blob { self.value(&args[0], Ty::Blob)? } else { self.text_operand(&args[0])? };
            for n in iter::once(place).chain(count) {
                self.put(", ");
                self.number(Number::Int(n.min(LENGTH_MAX + 1)));
            }
            self.wrap(start, if self.postgres { "substr(" } else { "SUBSTRING(" }, ")");
            self.keep_part(start, &args[0], value, reads);
            return Ok(self.plain_result(value, value.ty));
        }
        match (from, length) {
            (Some(Number::Int(n)), None) if (-LENGTH_MAX..0).contains(&n) => {
                let start = self.at();
                let value = self.text_operand(&args[0])?;
                // The last -n characters, or all if there are fewer, as RIGHT has it.
                self.put(", ");
                self.number(Number::Int(-n));
                self.wrap(start, "right(", ")");
                self.keep_part(start, &args[0], value, reads);
                Ok(self.plain_result(value, Ty::Text))
            }
            _ => self.substr_any(token, args),
        }
    }

    /// With parts only known at run time: place and length are computed, as SQLite's substr does.
    pub(crate) fn substr_any(&mut self, token: &str, args: &'a [Expr<'a>]) -> R<Val> {
        let (at, reads) = (self.at(), self.query_reads);
        let text = self.text_operand(&args[0])?;
        let x = self.sql.split_off(at);
        let mut parts = vec![];
        let mut nullable = text.nullable;
        for arg in &args[1..] {
            let value = self.numeric_operand(arg, Ty::Int)?;
            if value.ty != Ty::Int {
                return no(Id::Functions, token, "substr() with a place that is no integer");
            }
            nullable |= value.nullable;
            parts.push(self.sql.split_off(at));
        }
        let sql = self.part_of(&x, &parts);
        let sql = if nullable {
            let tests: Vec<String> = parts.iter().map(|part| format!("({part}) IS NOT NULL")).collect();
            format!("(CASE WHEN {} THEN {sql} END)", tests.join(" AND "))
        } else {
            sql
        };
        self.put(&sql);
        self.keep_part(at, &args[0], text, reads);
        Ok(Val { nullable, ..self.plain_result(text, Ty::Text) })
    }

    /// substr() of a text from a place, and of a length if there are two parts, none of them NULL. Either may be any integer,
    /// and on PostgreSQL one of 32 bits, so nothing is added that could leave its type: what is added to a length is never
    /// positive, what is added to a place is negative or comes to at most [`LENGTH_MAX`].
    fn part_of(&self, x: &str, parts: &[String]) -> String {
        let (len, cast) = if self.postgres { ("char_length", "::int") } else { ("CHAR_LENGTH", "") };
        let y = &parts[0];
        let sub = |from: &str, count: &str| {
            let from = format!("LEAST({from}, {})", LENGTH_MAX + 1);
            match self.postgres {
                true => format!("substr({x}, ({from}){cast}, ({count}){cast})"),
                false => format!("SUBSTRING({x}, {from}, {count})"),
            }
        };
        // First position, 1-based, perhaps below 1: a negative y counts from the end. Characters below 1 do not exist, but
        // count as ones of the length.
        let first = format!("(CASE WHEN {y} < 0 THEN {len}({x}) + {y} + 1 ELSE {y} END)");
        let begin = format!("GREATEST({first}, 1)");
        let Some(z) = parts.get(1) else {
            return sub(&begin, &format!("GREATEST(LEAST({first}, 1) + {}, 0)", LENGTH_MAX - 1));
        };
        let forward = sub(&begin, &format!("LEAST(GREATEST({z} + (LEAST({first}, 1) - 1), 0), {LENGTH_MAX})"));
        let before = format!("GREATEST({begin} + {z}, 1)");
        let backward = sub(&before, &format!("LEAST({begin} - {before}, {LENGTH_MAX})"));
        format!("(CASE WHEN {z} >= 0 THEN {forward} ELSE {backward} END)")
    }

    /// MariaDB's SUBSTRING() and RIGHT() are a place in their argument's memory. Where a query in FROM is merged, all who
    /// read its column share one such place, so that in `x <= CONCAT(x, 'a')` the right side writes over the left. COALESCE()
    /// copies. A table's column has memory of its own, which nobody writes over.
    fn keep_part(&mut self, start: usize, of: &Expr, value: Val, reads_before: u32) {
        let own = value.column && self.query_reads == reads_before || matches!(bare(of), Expr::Literal(_));
        if !self.postgres && !own {
            self.wrap(start, "COALESCE(", ")");
        }
    }

    pub(crate) fn hex(&mut self, one: &'a Expr<'a>) -> R<Val> {
        let start = self.at();
        let value = self.value(one, Ty::Text)?;
        match (value.ty, self.postgres) {
            (Ty::Text | Ty::Param, true) => self.wrap(start, "upper(encode(convert_to(", ", 'UTF8'), 'hex'))"),
            (Ty::Blob, true) => self.wrap(start, "upper(encode(", ", 'hex'))"),
            (Ty::Text | Ty::Blob | Ty::Param, false) => self.wrap(start, "HEX(", ")"),
            (Ty::Int, true) => self.wrap(start, "upper(encode(convert_to((", ")::text, 'UTF8'), 'hex'))"),
            (Ty::Int, false) => self.wrap(start, "HEX(CAST(", " AS CHAR))"),
            (Ty::Real, true) if self.options.pack => {
                self.wrap(start, "upper(encode(convert_to(contend_sql.real_text(", "), 'UTF8'), 'hex'))");
            }
            (Ty::Real, false) if self.options.pack => self.wrap(start, "HEX(contend_sql.real_text(", "))"),
            (Ty::Null, _) => {
                self.sql.truncate(start);
                self.put("''");
            }
            (other, _) => return no(Id::Functions, "hex", format!("hex() of {}", other.word())),
        }
        if value.nullable {
            // hex(NULL) is an empty text.
            self.wrap(start, "COALESCE(", ", '')");
        }
        Ok(Val::of(Ty::Text).never_null())
    }

    pub(crate) fn char(&mut self, token: &str, args: &'a [Expr<'a>]) -> R<Val> {
        let mut text = String::new();
        for arg in args {
            match literal_number(arg) {
                Some(Number::Int(n)) if n > 0 => {
                    text.extend(u32::try_from(n).ok().and_then(char::from_u32));
                }
                _ => return no(Id::Functions, token, "char() of anything but literal code points"),
            }
        }
        if text.chars().count() != args.len() {
            return no(Id::Functions, token, "char() of a number that is no code point");
        }
        crate::names::push_text(&mut self.sql, &text);
        Ok(Val::of(Ty::Text).never_null())
    }

    /// zeroblob() and randomblob() of a literal length.
    pub(crate) fn made_blob(&mut self, name: &str, token: &str, length: &'a Expr<'a>) -> R<Val> {
        let largest = if name == "zeroblob" { 1_000_000 } else { 1024 };
        let Some(n) = crate::rules::arithmetic::constant(length).filter(|n| (1..=largest).contains(n)) else {
            if name == "zeroblob" && literal_number(length) == Some(Number::Int(0)) {
                self.either("''::bytea", "x''");
                return Ok(Val::of(Ty::Blob).never_null());
            }
            return no(Id::Functions, token, "a length that is not a literal number from 1 to 1024");
        };
        let sql = match (name, self.postgres) {
            ("zeroblob", true) => format!("decode(repeat('00', {n}), 'hex')"),
            ("zeroblob", false) => format!("CAST(REPEAT(CHAR(0), {n}) AS BINARY)"),
            (_, true) => {
                // Of a UUID's sixteen bytes twelve are all random.
                let one = "substr(uuid_send(gen_random_uuid()), 1, 6) || substr(uuid_send(gen_random_uuid()), 11, 6)";
                format!("substr({}, 1, {n})", vec![one; (n as usize).div_ceil(12)].join(" || "))
            }
            (_, false) => format!("RANDOM_BYTES({n})"),
        };
        self.put(&sql);
        Ok(Val::of(Ty::Blob).never_null())
    }

    /// The first argument of replace().
    pub(crate) fn replaced_operand(&mut self, expr: &'a Expr<'a>) -> R<Val> {
        let (start, reads) = (self.at(), self.query_reads);
        let value = self.text_operand(expr)?;
        self.copy_read(start, reads);
        Ok(value)
    }

    /// MariaDB's REPLACE() replaces in place, and all who read one column of a query in FROM then see the replaced
    /// text: `x = REPLACE(x, 'a', 'b')` is true. A CAST to a character set of several bytes always copies.
    fn copy_read(&mut self, start: usize, reads_before: u32) {
        if !self.postgres && self.query_reads > reads_before {
            self.wrap(start, "CAST(", " AS CHAR) COLLATE utf8mb4_nopad_bin");
        }
    }

    pub(crate) fn quote(&mut self, one: &'a Expr<'a>) -> R<Val> {
        let (start, reads) = (self.at(), self.query_reads);
        let value = self.value(one, Ty::Text)?;
        if value.ty == Ty::Text {
            self.copy_read(start, reads);
        }
        match (value.ty, self.postgres) {
            (Ty::Text, true) => self.wrap(start, "'''' || replace(", ", '''', '''''') || ''''"),
            (Ty::Text, false) => self.wrap(start, "CONCAT('''', REPLACE(", ", '''', ''''''), '''')"),
            (Ty::Int, true) => self.wrap(start, "(", ")::text"),
            (Ty::Int, false) => self.wrap(start, INTEGER_TEXT.0, INTEGER_TEXT.1),
            (Ty::Blob, true) => self.wrap(start, "'X''' || upper(encode(", ", 'hex')) || ''''"),
            (Ty::Blob, false) => self.wrap(start, "CONCAT('X''', HEX(", "), '''')"),
            (Ty::Null, true) => self.put("::text"),
            (Ty::Null, false) => {}
            (other, _) => return no(Id::Functions, "quote", format!("quote() of {}", other.word())),
        }
        self.wrap(start, "COALESCE(", ", 'NULL')");
        Ok(Val::of(Ty::Text).never_null())
    }

    pub(crate) fn type_of(&mut self, one: &'a Expr<'a>) -> R<Val> {
        let start = self.at();
        let value = self.value(one, Ty::Any)?;
        if value.ty == Ty::Number {
            self.fire(Id::NumericColumns);
            let x = self.sql.split_off(start);
            let whole = if self.postgres { format!("trunc({x})") } else { format!("TRUNCATE({x}, 0)") };
            self.put(&format!(
                "CASE WHEN ({x}) IS NULL THEN 'null' WHEN ({x}) = {whole} THEN 'integer' ELSE 'real' END"
            ));
            return Ok(Val::of(Ty::Text).never_null());
        }
        let word = match value.ty {
            Ty::Int => "integer",
            Ty::Real => "real",
            Ty::Text => "text",
            Ty::Blob => "blob",
            Ty::Null => "null",
            other => return no(Id::Functions, "typeof", format!("typeof() of {}", other.word())),
        };
        self.fire(Id::DeclaredTypes);
        if value.nullable && value.ty != Ty::Null {
            self.wrap(start, "CASE WHEN (", &format!(") IS NULL THEN 'null' ELSE '{word}' END"));
        } else {
            self.sql.truncate(start);
            self.sql.push_str(&format!("'{word}'"));
        }
        Ok(Val::of(Ty::Text).never_null())
    }
}
