//! A client's cookies, by name and value. Attributes other than an age of 0 are ignored, because a client uses one
//! service only.

/// The cookies of one client, and the header line they make.
#[derive(Debug, Default)]
pub struct Jar {
    cookies: Vec<(Vec<u8>, Vec<u8>)>,
    line: Vec<u8>,
}

impl Jar {
    /// The header line with its end; empty if there are none.
    #[inline]
    pub fn line(&self) -> &[u8] {
        &self.line
    }

    /// Takes the value of a `Set-Cookie` header.
    pub fn set(&mut self, header: &[u8]) {
        let mut parts = header.split(|b| *b == b';');
        let pair = parts.next().unwrap_or_default();
        let Some(at) = pair.iter().position(|b| *b == b'=') else { return };
        let (name, value) = (pair[..at].trim_ascii(), pair[at + 1..].trim_ascii());
        let deleted = parts.any(|part| {
            let mut fields = part.splitn(2, |b| *b == b'=').map(<[u8]>::trim_ascii);
            let is_age = fields.next().is_some_and(|name| name.eq_ignore_ascii_case(b"max-age"));
            is_age && fields.next().is_some_and(|age| age == b"0" || age.starts_with(b"-"))
        });
        let known = self.cookies.iter_mut().find(|(known, _)| known == name);
        match (known, deleted) {
            (Some((_, old)), false) if old == value => return,
            (Some((_, old)), false) => value.clone_into(old),
            (None, false) => self.cookies.push((name.to_vec(), value.to_vec())),
            (_, true) => self.cookies.retain(|(known, _)| known != name),
        }
        self.write_line();
    }

    fn write_line(&mut self) {
        self.line.clear();
        for (i, (name, value)) in self.cookies.iter().enumerate() {
            self.line.extend_from_slice(if i == 0 { b"Cookie: " } else { b"; " });
            self.line.extend_from_slice(name);
            self.line.push(b'=');
            self.line.extend_from_slice(value);
        }
        if !self.cookies.is_empty() {
            self.line.extend_from_slice(b"\r\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_are_set_replaced_and_deleted() {
        let mut jar = Jar::default();
        jar.set(b"sid=abc; Path=/; HttpOnly");
        jar.set(b"lang = de");
        jar.set(b"no pair");
        assert_eq!(jar.line(), b"Cookie: sid=abc; lang=de\r\n");
        jar.set(b"sid=a=b; Max-Age=60");
        assert_eq!(jar.line(), b"Cookie: sid=a=b; lang=de\r\n");
        jar.set(b"sid=; max-age=0");
        jar.set(b"lang=; Max-Age=-1");
        assert_eq!(jar.line(), b"");
    }
}
