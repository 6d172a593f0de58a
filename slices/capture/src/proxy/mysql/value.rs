//! Values of parameters in MariaDB's binary form.

use super::packet::Fields;
use crate::proxy::given::{Given, integer, real};
use contend_interpose::format::value;
use std::collections::HashMap;

/// Numbers of types.
mod kind {
    pub const TINY: u8 = 1;
    pub const SHORT: u8 = 2;
    pub const LONG: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const DOUBLE: u8 = 5;
    pub const NULL: u8 = 6;
    pub const TIMESTAMP: u8 = 7;
    pub const LONGLONG: u8 = 8;
    pub const INT24: u8 = 9;
    pub const DATE: u8 = 10;
    pub const TIME: u8 = 11;
    pub const DATETIME: u8 = 12;
    pub const YEAR: u8 = 13;
    pub const BLOBS: std::ops::RangeInclusive<u8> = 249..=252;
}

/// A prepared statement.
#[derive(Default)]
pub struct Statement {
    pub id: u64,
    pub parameters: u16,
    /// Type and flags of each parameter, from the last execution that had them.
    pub types: Vec<[u8; 2]>,
    /// Values that were sent before the execution; `None` if too long.
    pub long: HashMap<u16, Option<Vec<u8>>>,
}

impl Statement {
    /// A part of a long value, `None` if it is too long itself. `most`: bytes of all values together.
    pub fn add(&mut self, place: u16, part: Option<&[u8]>, most: usize) {
        if place >= self.parameters {
            return;
        }
        let room = most - self.long.values().flatten().map(Vec::len).sum::<usize>();
        let whole = self.long.entry(place).or_insert_with(|| Some(vec![]));
        match (whole.as_mut(), part) {
            (Some(bytes), Some(part)) if part.len() <= room => bytes.extend_from_slice(part),
            _ => *whole = None,
        }
    }

    /// The values of an execution: its body behind the statement's number. `each` gets the place from 1.
    pub fn values(&mut self, body: &[u8], mut each: impl FnMut(u16, Given)) -> Option<()> {
        // Flags, and a number that is always 1.
        const FLAGS: usize = 1 + 4;
        let mut fields = Fields(body);
        fields.bytes(FLAGS)?;
        if self.parameters == 0 {
            return Some(());
        }
        let nulls = fields.bytes(usize::from(self.parameters).div_ceil(8))?;
        if fields.u8()? == 1 {
            let pair = |_| fields.bytes(2).map(|pair| [pair[0], pair[1]]);
            self.types = (0..self.parameters).map(pair).collect::<Option<_>>()?;
        }
        for place in 0..self.parameters {
            let [kind, flags] = *self.types.get(usize::from(place))?;
            let given = match self.long.get(&place) {
                Some(Some(bytes)) => text_or_blob(kind, bytes),
                Some(None) => Given::Opaque,
                None if nulls[usize::from(place / 8)] & 1 << (place % 8) != 0 => Given::Number(value::NULL, 0),
                None => given(kind, flags & 0x80 != 0, &mut fields)?,
            };
            each(place + 1, given);
        }
        Some(())
    }
}

fn text_or_blob(kind: u8, bytes: &[u8]) -> Given<'_> {
    let is_text = !kind::BLOBS.contains(&kind) && std::str::from_utf8(bytes).is_ok();
    Given::Bytes(if is_text { value::TEXT } else { value::BLOB }, bytes.into())
}

fn given<'b>(kind: u8, is_unsigned: bool, fields: &mut Fields<'b>) -> Option<Given<'b>> {
    let mut whole = |bytes: usize| {
        let number = fields.number(bytes)?.cast_signed();
        let rest = 64 - 8 * bytes;
        Some(integer(if is_unsigned { number } else { number << rest >> rest }))
    };
    Some(match kind {
        kind::NULL => Given::Number(value::NULL, 0),
        kind::TINY => whole(1)?,
        kind::SHORT | kind::YEAR => whole(2)?,
        kind::LONG | kind::INT24 => whole(4)?,
        // A capture has no larger whole numbers than those with a sign.
        kind::LONGLONG => match fields.number(8)? {
            large @ 0x8000_0000_0000_0000.. if is_unsigned => text(large.to_string()),
            number => integer(number.cast_signed()),
        },
        kind::FLOAT => real(f64::from(f32::from_bits(fields.u32()?))),
        kind::DOUBLE => Given::Number(value::REAL, fields.number(8)?),
        kind::DATE | kind::DATETIME | kind::TIMESTAMP => text(date(kind, fields)?),
        kind::TIME => text(time(fields)?),
        _ => text_or_blob(kind, fields.counted()?),
    })
}

fn text(text: String) -> Given<'static> {
    Given::Bytes(value::TEXT, text.into_bytes().into())
}

fn fraction(micros: u32) -> String {
    if micros == 0 { String::new() } else { format!(".{micros:06}") }
}

fn date(kind: u8, fields: &mut Fields) -> Option<String> {
    let length = fields.u8()?;
    let mut fields = Fields(fields.bytes(usize::from(length))?);
    let (year, month, day) = if length == 0 { (0, 0, 0) } else { (fields.u16()?, fields.u8()?, fields.u8()?) };
    let day = format!("{year:04}-{month:02}-{day:02}");
    if kind == kind::DATE {
        return Some(day);
    }
    let (hour, minute, second) = if length <= 4 { (0, 0, 0) } else { (fields.u8()?, fields.u8()?, fields.u8()?) };
    let micros = if length <= 7 { 0 } else { fields.u32()? };
    Some(format!("{day} {hour:02}:{minute:02}:{second:02}{}", fraction(micros)))
}

fn time(fields: &mut Fields) -> Option<String> {
    let length = fields.u8()?;
    let mut fields = Fields(fields.bytes(usize::from(length))?);
    if length == 0 {
        return Some("00:00:00".into());
    }
    let (is_negative, days) = (fields.u8()? == 1, u64::from(fields.u32()?));
    let (hour, minute, second) = (u64::from(fields.u8()?), fields.u8()?, fields.u8()?);
    let micros = if length <= 8 { 0 } else { fields.u32()? };
    let sign = if is_negative { "-" } else { "" };
    Some(format!("{sign}{:02}:{minute:02}:{second:02}{}", days * 24 + hour, fraction(micros)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(statement: &mut Statement, body: &[u8]) -> Option<Vec<String>> {
        let mut found = vec![];
        let whole = [&[0, 1, 0, 0, 0][..], body].concat();
        statement.values(&whole, |place, given| found.push(format!("{place} {given:?}")))?;
        Some(found)
    }

    #[test]
    fn types_are_remembered_and_long_values_take_their_places() {
        let mut statement = Statement { parameters: 3, ..Statement::default() };
        let types =
            [&[0b010, 1][..], &[kind::LONG, 0, kind::LONG, 0, 253, 0], &[254, 255, 255, 255, 2], b"it"].concat();
        let first = read(&mut statement, &types).expect("values");
        assert_eq!(first[0], format!("1 {:?}", integer(-2)));
        assert!(first[1].starts_with("2 Number(0") && first[2].contains("105, 116"), "{first:?}");
        assert_eq!(read(&mut statement, &[&[0b011, 0][..], b"\x02it"].concat()).expect("values").len(), 3);
        statement.add(2, Some(b"lo"), 4);
        statement.add(2, Some(b"ng"), 4);
        assert!(read(&mut statement, &[0b011, 0]).expect("values")[2].contains("108, 111, 110, 103"));
        statement.add(2, Some(b"er"), 4);
        assert_eq!(read(&mut statement, &[0b011, 0]).expect("values")[2], "3 Opaque");
        assert_eq!(read(&mut Statement { parameters: 1, ..Statement::default() }, &[0, 0]), None, "unknown types");
        for end in 0..types.len() {
            read(&mut Statement { parameters: 3, ..Statement::default() }, &types[..end]);
        }
    }

    #[test]
    fn numbers_and_dates_are_as_in_texts() {
        let of = |kind, is_unsigned, bytes: &[u8]| format!("{:?}", given(kind, is_unsigned, &mut Fields(bytes)));
        let shown = |value: Given| format!("{:?}", Some(value));
        assert_eq!(of(kind::TINY, false, &[255]), shown(integer(-1)));
        assert_eq!(of(kind::TINY, true, &[255]), shown(integer(255)));
        assert_eq!(of(kind::LONGLONG, false, &[1, 0, 0, 0, 0, 0, 0, 0]), shown(integer(1)));
        assert_eq!(of(kind::LONGLONG, false, &[255; 8]), shown(integer(-1)));
        assert_eq!(of(kind::LONGLONG, true, &[255; 8]), shown(text(u64::MAX.to_string())));
        assert_eq!(of(kind::FLOAT, false, &1.5f32.to_le_bytes()), shown(real(1.5)));
        let day = [11, 0xea, 7, 11, 27, 15, 0, 9, 1, 0, 0, 0];
        assert_eq!(of(kind::DATETIME, false, &day), shown(text("2026-11-27 15:00:09.000001".into())));
        assert_eq!(of(kind::DATE, false, &[4, 0xea, 7, 11, 27]), shown(text("2026-11-27".into())));
        assert_eq!(of(kind::TIME, false, &[8, 1, 1, 0, 0, 0, 2, 3, 4]), shown(text("-26:03:04".into())));
        assert_eq!(of(252, false, b"\x01a"), shown(Given::Bytes(value::BLOB, b"a"[..].into())));
    }
}
