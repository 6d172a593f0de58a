//! Requests as bytes: templates are split once before the run, and filled in for every operation without allocating.

use crate::argument::Argument;
use crate::failure::Failure;
use contend_wire::plan::Source;
use contend_wire::plan::http::{Piece, Request, pieces};
use contend_wire::sample::worker_code;
use std::io::Write as _;

/// A request for one service, ready to be filled in.
#[derive(Debug)]
pub struct Template {
    /// From the method to the last header that does not depend on the client.
    head: Vec<Part>,
    body: Body,
    /// Whether its answer has no body, whatever length the answer gives.
    pub is_head: bool,
    /// Whether it has `Accept-Encoding`.
    pub accepts_encodings: bool,
}

#[derive(Debug)]
enum Body {
    None,
    /// Known in advance; its length is in the head.
    Fixed(Vec<u8>),
    Filled(Vec<Part>),
}

#[derive(Debug)]
enum Part {
    Bytes(Vec<u8>),
    Value(Form),
}

/// How a value is written.
#[derive(Debug, Clone, Copy)]
enum Form {
    Percent,
    /// As in plans, percent-encoded.
    Plan,
    Json,
    Header,
    Plain,
}

const NOT_WRITABLE: Failure = Failure::worker(worker_code::VALUE);

impl Template {
    /// The request for a service with this `Host`.
    ///
    /// # Errors
    /// A malformed template.
    pub fn new(request: &Request, host: &str, keep_alive: bool) -> Result<Self, String> {
        let mut head = Parts::default();
        head.text(&request.method);
        head.text(" ");
        head.template(&request.target, Form::Percent)?;
        head.text(" HTTP/1.1\r\nHost: ");
        head.text(host);
        head.text("\r\n");
        if !keep_alive {
            head.text("Connection: close\r\n");
        }
        for (name, value) in &request.headers {
            head.text(name);
            head.text(": ");
            head.template(value, Form::Header)?;
            head.text("\r\n");
        }
        let body = match &request.body {
            None => None,
            Some(template) => {
                let mut parts = Parts::default();
                parts.template(template, body_form(request))?;
                Some(parts.0)
            }
        };
        let body = match body {
            // Methods that usually have a body must declare an empty one.
            None if matches!(request.method.as_str(), "POST" | "PUT" | "PATCH") => {
                head.text("Content-Length: 0\r\n");
                Body::None
            }
            None => Body::None,
            Some(parts) if parts.iter().all(|part| matches!(part, Part::Bytes(_))) => {
                let bytes: Vec<u8> = parts
                    .into_iter()
                    .flat_map(|part| match part {
                        Part::Bytes(bytes) => bytes,
                        Part::Value(_) => vec![],
                    })
                    .collect();
                head.text(&format!("Content-Length: {}\r\n", bytes.len()));
                Body::Fixed(bytes)
            }
            Some(parts) => Body::Filled(parts),
        };
        let accepts_encodings = request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("accept-encoding"));
        Ok(Self { head: head.0, body, is_head: request.method == "HEAD", accepts_encodings })
    }

    /// Appends the request to `out`. `cookies` are whole header lines.
    ///
    /// # Errors
    /// A value is not available, or cannot be written in its place.
    pub fn write<'v>(
        &self,
        out: &mut Vec<u8>,
        scratch: &mut Vec<u8>,
        cookies: &[u8],
        sources: &'v [Source],
        value: impl Fn(&'v Source) -> Result<Argument<'v>, Failure>,
    ) -> Result<(), Failure> {
        let mut sources = sources.iter();
        let mut fill = |parts: &[Part], out: &mut Vec<u8>| -> Result<(), Failure> {
            for part in parts {
                match part {
                    Part::Bytes(bytes) => out.extend_from_slice(bytes),
                    Part::Value(form) => {
                        let source = sources.next().ok_or(Failure::worker(worker_code::NOT_KEPT))?;
                        form.write(out, value(source)?)?;
                    }
                }
            }
            Ok(())
        };
        fill(&self.head, out)?;
        out.extend_from_slice(cookies);
        match &self.body {
            Body::None => out.extend_from_slice(b"\r\n"),
            Body::Fixed(bytes) => {
                out.extend_from_slice(b"\r\n");
                out.extend_from_slice(bytes);
            }
            Body::Filled(parts) => {
                scratch.clear();
                fill(parts, scratch)?;
                // Writing to a vector cannot fail.
                let _ = write!(out, "Content-Length: {}\r\n\r\n", scratch.len());
                out.extend_from_slice(scratch);
            }
        }
        Ok(())
    }
}

/// Form of values in the body, according to its content type.
fn body_form(request: &Request) -> Form {
    let kind = request.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let kind = kind.map_or(String::new(), |(_, value)| value.to_ascii_lowercase());
    let kind = kind.split(';').next().unwrap_or_default().trim();
    match kind {
        "application/x-www-form-urlencoded" => Form::Percent,
        _ if kind == "application/json" || kind.ends_with("+json") => Form::Json,
        _ => Form::Plain,
    }
}

#[derive(Default)]
struct Parts(Vec<Part>);

impl Parts {
    fn text(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(Part::Bytes(bytes)) => bytes.extend_from_slice(text.as_bytes()),
            _ => self.0.push(Part::Bytes(text.as_bytes().to_vec())),
        }
    }

    fn template(&mut self, template: &str, form: Form) -> Result<(), String> {
        for piece in pieces(template)? {
            match piece {
                Piece::Text(text) => self.text(&text),
                Piece::Value => self.0.push(Part::Value(form)),
                Piece::PlanValue => self.0.push(Part::Value(Form::Plan)),
            }
        }
        Ok(())
    }
}

impl Form {
    fn write(self, out: &mut Vec<u8>, value: Argument<'_>) -> Result<(), Failure> {
        // Writing to a vector cannot fail, so results of `write!` are of no interest.
        match (self, value) {
            (Form::Plan, Argument::Null) => out.push(b'n'),
            (Form::Plan, Argument::Integer(i)) => drop(write!(out, "i{i}")),
            (Form::Plan, Argument::Real(r)) => drop(write!(out, "r{r:?}")),
            (Form::Plan, Argument::Text(text)) => {
                out.push(b't');
                // A field of a plan's line, with the same escapes.
                for byte in text {
                    match byte {
                        b'\\' => percent(out, b"\\\\"),
                        b'\t' => percent(out, b"\\t"),
                        b'\n' => percent(out, b"\\n"),
                        b'\r' => percent(out, b"\\r"),
                        b'\0' => percent(out, b"\\0"),
                        other => percent(out, &[*other]),
                    }
                }
            }
            (Form::Plan, Argument::Blob(bytes)) => {
                out.push(b'x');
                bytes.iter().for_each(|byte| drop(write!(out, "{byte:02x}")));
            }
            (Form::Json, Argument::Null) => out.extend_from_slice(b"null"),
            (Form::Json, Argument::Text(text)) => {
                let text = std::str::from_utf8(text).map_err(|_| NOT_WRITABLE)?;
                serde_json::to_writer(out, text).map_err(|_| NOT_WRITABLE)?;
            }
            (Form::Json, Argument::Blob(_)) => return Err(NOT_WRITABLE),
            (_, Argument::Null) => {}
            (_, Argument::Integer(i)) => drop(write!(out, "{i}")),
            (_, Argument::Real(r)) => drop(write!(out, "{r:?}")),
            (Form::Percent, Argument::Text(bytes) | Argument::Blob(bytes)) => percent(out, bytes),
            (Form::Header, Argument::Text(bytes) | Argument::Blob(bytes)) => {
                if bytes.iter().any(|b| matches!(b, b'\r' | b'\n' | b'\0')) {
                    return Err(NOT_WRITABLE);
                }
                out.extend_from_slice(bytes);
            }
            (Form::Plain, Argument::Text(bytes) | Argument::Blob(bytes)) => out.extend_from_slice(bytes),
        }
        Ok(())
    }
}

/// Percent-encodes everything except unreserved characters of RFC 3986.
fn percent(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(byte) {
            out.push(*byte);
        } else {
            out.extend_from_slice(&[b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contend_wire::literal::Value;

    fn request(method: &str, target: &str, headers: &[(&str, &str)], body: Option<&str>) -> Request {
        let headers = headers.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        Request { method: method.into(), target: target.into(), headers, body: body.map(str::to_string) }
    }

    fn written(request: &Request, values: &[Value]) -> Result<String, Failure> {
        let template = Template::new(request, "h", true).unwrap();
        let sources: Vec<Source> = values.iter().cloned().map(Source::Literal).collect();
        let mut out = vec![];
        template.write(&mut out, &mut vec![], b"Cookie: a=b\r\n", &sources, |source| {
            let Source::Literal(value) = source else { unreachable!() };
            Ok(match value {
                Value::Integer(i) => Argument::Integer(*i),
                Value::Real(r) => Argument::Real(*r),
                Value::Text(text) => Argument::Text(text.as_bytes()),
                Value::Blob(bytes) => Argument::Blob(bytes),
                _ => Argument::Null,
            })
        })?;
        Ok(String::from_utf8(out).unwrap())
    }

    fn text(text: &str) -> Value {
        Value::Text(text.to_string())
    }

    #[test]
    fn values_are_written_as_their_place_needs() {
        let get = request("GET", "/a?b={}&c={v}&d={v}&e={v}", &[], None);
        let values = [text("ä &"), text("x\ty%"), Value::Null, Value::Blob(vec![0, 255])];
        let said = written(&get, &values).unwrap();
        assert_eq!(said, "GET /a?b=%C3%A4%20%26&c=tx%5Cty%25&d=n&e=x00ff HTTP/1.1\r\nHost: h\r\nCookie: a=b\r\n\r\n");
        let json = [("Content-Type", "application/json; charset=utf-8")];
        let post = request("POST", "/", &json, Some("{{\"a\":{},\"b\":[{},{},{}]}}"));
        let said = written(&post, &[text("q\"\n"), Value::Integer(-1), Value::Real(0.5), Value::Null]).unwrap();
        let body = "{\"a\":\"q\\\"\\n\",\"b\":[-1,0.5,null]}";
        assert!(said.ends_with(&format!("Content-Length: {}\r\n\r\n{body}", body.len())), "{said}");
        let form = [("content-type", "application/x-www-form-urlencoded")];
        let said = written(&request("POST", "/", &form, Some("a={}&b={}")), &[text("1 2"), Value::Null]).unwrap();
        assert!(said.ends_with("\r\n\r\na=1%202&b="), "{said}");
        let said = written(&request("PUT", "/", &[], Some("{}")), &[text("as it is\n")]).unwrap();
        assert!(said.ends_with("Content-Length: 9\r\n\r\nas it is\n"), "{said}");
        assert!(written(&request("POST", "/", &[], None), &[]).unwrap().contains("Content-Length: 0\r\n"));
    }

    #[test]
    fn what_does_not_fit_its_place_is_refused() {
        let header = request("GET", "/", &[("X-A", "{}")], None);
        assert_eq!(written(&header, &[text("a\r\nb: c")]), Err(NOT_WRITABLE));
        let json = request("POST", "/", &[("Content-Type", "application/json")], Some("{}"));
        assert_eq!(written(&json, &[Value::Blob(vec![1])]), Err(NOT_WRITABLE));
    }
}
