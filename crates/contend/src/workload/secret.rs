//! Secrets of a scenario: values that plans need and that are never kept. A workload holds their names; values are
//! filled in when a plan is made, and masked in every text that is shown.

use contend_wire::literal::Value;
use contend_wire::plan::{Source, Step};
use std::collections::{BTreeMap, BTreeSet};

/// Replaces a value in texts that are shown.
const HIDDEN: &str = "(secret)";

/// End of a text that a worker cropped, and the fewest characters of a value before it that are masked.
const CROPPED: &str = "...";
const LEAST_LEFT: usize = 2;

/// Values by name; empty if unknown.
#[derive(Clone, Default, PartialEq)]
pub struct Secrets(BTreeMap<String, String>);

/// Placeholder source for the value.
pub fn place(name: &str) -> Source {
    Source::Literal(Value::Text(format!("{{secret.{name}}}")))
}

impl Secrets {
    pub fn new(values: BTreeMap<String, String>) -> Self {
        Self(values)
    }

    /// Names without a value.
    pub fn lacking(&self) -> Vec<String> {
        self.0.iter().filter(|(_, value)| value.is_empty()).map(|(name, _)| name.clone()).collect()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub fn tell(&mut self, name: &str, value: String) {
        self.0.insert(name.to_string(), value);
    }

    /// Replaces placeholders by the values.
    pub fn fill(&self, steps: &mut [Step]) {
        for step in steps {
            let Step::Http(http) = step else { continue };
            for source in &mut http.args {
                if let Some((_, value)) =
                    self.0.iter().find(|(name, value)| !value.is_empty() && *source == place(name))
                {
                    *source = Source::Literal(Value::Text(value.clone()));
                }
            }
        }
    }

    /// A foreign text, such as a service's answer, with the values masked: in every spelling, and also where the text
    /// was cropped in the middle of one.
    pub fn hidden(&self, text: &str) -> String {
        let spelled = |value: &String| value.chars().map(spellings).collect::<Vec<_>>();
        let values: Vec<Vec<Vec<String>>> = self.0.values().filter(|value| !value.is_empty()).map(spelled).collect();
        let (mut shown, mut rest) = (String::new(), text);
        while let Some(first) = rest.chars().next() {
            // The longest one, because a value may be the beginning of another one.
            let length = match values.iter().filter_map(|value| begins_with(rest, value)).max() {
                Some(length) => {
                    shown += HIDDEN;
                    length
                }
                None => {
                    shown.push(first);
                    first.len_utf8()
                }
            };
            rest = &rest[length..];
        }
        shown
    }

    /// A command line without the values that it was given with `--set` and `--password`.
    pub fn hidden_in_command(&self, args: impl Iterator<Item = String>) -> Vec<String> {
        let hide = |pair: &str| match pair.split_once('=') {
            Some((name, _)) if self.0.contains_key(name.trim()) => format!("{name}={HIDDEN}"),
            _ => pair.to_string(),
        };
        let hide_all = |list: &str| list.split(',').map(hide).collect::<Vec<_>>().join(",");
        let mut before = String::new();
        args.map(|arg| {
            let arg = match (before.as_str(), arg.split_once('=')) {
                ("--set", _) => hide_all(&arg),
                ("--password", _) => HIDDEN.to_string(),
                (_, Some(("--set", list))) => format!("--set={}", hide_all(list)),
                (_, Some(("--password", _))) => format!("--password={HIDDEN}"),
                _ => arg,
            };
            before.clone_from(&arg);
            arg
        })
        .collect()
    }
}

/// Length of a value at the beginning of a text, also of the part of a value before the end of a cropped text. A value is the
/// spellings of each of its characters, because frameworks escape some characters and leave others.
fn begins_with(text: &str, value: &[Vec<String>]) -> Option<usize> {
    let (mut ends, mut cropped) = (BTreeSet::from([0]), None);
    for spellings in value {
        let mut next = BTreeSet::new();
        for (end, spelling) in ends.iter().flat_map(|end| spellings.iter().map(move |spelling| (end, spelling))) {
            let (length, is_whole) = common(&text[*end..], spelling);
            let end = end + length;
            if is_whole {
                next.insert(end);
            } else if text[end..].starts_with(CROPPED) && text[..end].chars().count() >= LEAST_LEFT {
                cropped = cropped.max(Some(end));
            }
        }
        ends = next;
    }
    ends.last().copied().max(cropped)
}

/// Length of the part of a text that begins a spelling, in any case, and whether it is the whole spelling.
fn common(text: &str, spelling: &str) -> (usize, bool) {
    let same = |(a, b): &(char, char)| a == b || a.to_lowercase().eq(b.to_lowercase());
    let both = text.chars().zip(spelling.chars());
    let common: Vec<char> = both.take_while(same).map(|(of_text, _)| of_text).collect();
    (common.iter().map(|c| c.len_utf8()).sum(), common.len() == spelling.chars().count())
}

/// Spellings of a character, in any case: plain, control characters as blanks, in HTML, JSON, strings of programs, forms and
/// addresses, in UTF-8 and in Latin-1.
fn spellings(of: char) -> Vec<String> {
    let mut found = vec![of.to_string(), of.to_uppercase().to_string()];
    let named = match of {
        '&' => &["&amp;"][..],
        '<' => &["&lt;"],
        '>' => &["&gt;"],
        '"' => &["&quot;", "\\\""],
        '\'' => &["&apos;", "\\'"],
        '\\' => &["\\\\"],
        '/' => &["\\/"],
        ' ' => &["+"],
        '\n' => &["\\n", " "],
        '\r' => &["\\r", " "],
        '\t' => &["\\t", " "],
        '\u{8}' => &["\\b", " "],
        '\u{c}' => &["\\f", " "],
        _ if of.is_control() => &[" "],
        // As a text in Latin-1 is read.
        '\u{80}'.. => &["\u{fffd}"],
        _ => &[],
    };
    found.extend(named.iter().map(|name| name.to_string()));
    let number = u32::from(of);
    found.extend([
        format!("&#{number};"),
        format!("&#{number:03};"),
        format!("&#x{number:x};"),
        format!("&#x{number:02x};"),
    ]);
    found.push(of.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect());
    for escape in ["%", "\\x"] {
        found.push(of.to_string().bytes().map(|byte| format!("{escape}{byte:02x}")).collect());
        found.extend(u8::try_from(number).map(|latin| format!("{escape}{latin:02x}")));
    }
    found
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets() -> Secrets {
        Secrets::new([("pw".to_string(), "a b\"&c".to_string()), ("token".to_string(), String::new())].into())
    }

    #[test]
    fn nothing_shown_has_a_value() {
        let text = secrets().hidden("raw a b\"&c, JSON a b\\\"&c, form a+b%22%26c, query a%20b%22%26c, other a b");
        assert_eq!(text, "raw (secret), JSON (secret), form (secret), query (secret), other a b");
        assert_eq!(format!("{:?}", secrets()), "[\"pw\", \"token\"]");
        assert_eq!(secrets().lacking(), ["token"]);
    }

    #[test]
    fn a_value_is_hidden_as_frameworks_escape_it() {
        let secrets = Secrets::new([("pw".to_string(), "geh&im'ß<9\u{1f512}".to_string())].into());
        for spelled in [
            "geh&im'\\u00df<9\\ud83d\\udd12",
            "geh\\u0026im'ß\\u003c9🔒",
            "geh\\u0026im\\u0027\\u00DF\\u003C9\\uD83D\\uDD12",
            "geh&amp;im&#x27;ß&lt;9🔒",
            "geh&amp;im&#39;ß&lt;9🔒",
            "geh&amp;im&#039;&#223;&#x3C;9&#128274;",
            "GEH&IM'SS<9🔒",
            "geh&im'\u{fffd}<9\u{fffd}",
            "geh%26im%27%DF%3c9%F0%9F%94%92",
            "geh&im\\'\\xc3\\x9f<9\\xf0\\x9f\\x94\\x92",
        ] {
            assert_eq!(secrets.hidden(&format!("pwd={spelled};")), "pwd=(secret);");
        }
        assert_eq!(secrets.hidden("pwd=geh&amp;im&#x2..."), "pwd=(secret)...");
        assert_eq!(secrets.hidden("geh&im'ss<8 ß"), "geh&im'ss<8 ß");
        let slashes = Secrets::new([("pw".to_string(), "\\".repeat(40) + "x")].into());
        assert_eq!(slashes.hidden(&"\\".repeat(60)), "\\".repeat(60), "without trying every way to read them");
    }

    #[test]
    fn half_a_value_is_hidden_where_a_text_was_cropped() {
        let secrets = Secrets::new([("a", "hunter"), ("b", "hunter/two\t")].map(|(n, v)| (n.into(), v.into())).into());
        assert_eq!(
            secrets.hidden("pwd=hunter/two ; it answered: hunter/t..."),
            "pwd=(secret); it answered: (secret)..."
        );
        assert_eq!(
            secrets.hidden(r#"{"p":"hunter\/two\t"} hunter%2ftwo%09 hu... h..."#),
            r#"{"p":"(secret)"} (secret) (secret)... h..."#
        );
    }

    #[test]
    fn a_command_line_keeps_everything_else() {
        for (typed, expected) in [
            (
                "http --set mode=x,pw=a\"&c --set=token=t,user=eve",
                "http --set mode=x,pw=(secret) --set=token=(secret),user=eve",
            ),
            ("http pw=kept --set", "http pw=kept --set"),
            ("http --password a=b --user eve", "http --password (secret) --user eve"),
            ("http --password=a=b eve", "http --password=(secret) eve"),
        ] {
            let shown = secrets().hidden_in_command(typed.split(' ').map(str::to_string));
            assert_eq!(shown.join(" "), expected);
        }
    }
}
