//! Tagged values: texts that begin with a letter for their type, where the type depends on the row.

/// A value read from a tagged text.
#[derive(Clone, Debug, PartialEq)]
pub enum Untagged<'t> {
    Integer(i64),
    Real(f64),
    Text(&'t [u8]),
    Blob(Vec<u8>),
}

/// Reads a tagged text: `i17`, `r0.5`, `tword`, `x00ff`. `None` if it has another form.
pub fn untagged(text: &[u8]) -> Option<Untagged<'_>> {
    let (tag, rest) = text.split_first()?;
    let number = || std::str::from_utf8(rest).ok();
    match tag {
        b'i' => number()?.parse().ok().map(Untagged::Integer),
        b'r' => number()?.parse().ok().map(Untagged::Real),
        b't' => Some(Untagged::Text(rest)),
        b'x' => {
            let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
            rest.chunks(2).map(byte).collect::<Option<Vec<u8>>>().map(Untagged::Blob)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tagged_texts_are_read() {
        assert_eq!(untagged(b"i-9223372036854775808"), Some(Untagged::Integer(i64::MIN)));
        assert_eq!(untagged(b"r1e+20"), Some(Untagged::Real(1e20)));
        assert_eq!(untagged(b"r-Infinity"), Some(Untagged::Real(f64::NEG_INFINITY)));
        assert_eq!(untagged(b"t"), Some(Untagged::Text(b"")));
        assert_eq!(untagged(b"x00FF"), Some(Untagged::Blob(vec![0, 255])));
        assert_eq!((untagged(b""), untagged(b"q1"), untagged(b"i1.5"), untagged(b"xg0")), (None, None, None, None));
    }
}
