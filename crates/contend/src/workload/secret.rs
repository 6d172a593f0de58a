//! Secrets of a scenario: values that plans need and that are never kept. A workload holds their names; values are
//! filled in when a plan is made, and masked in every text that is shown.

use contend_wire::literal::Value;
use contend_wire::plan::{Source, Step};
use std::collections::BTreeMap;

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
        let mut written: Vec<String> = self.0.values().filter(|v| !v.is_empty()).flat_map(|v| spellings(v)).collect();
        // Longest first, because a value may be the beginning of another one.
        written.sort_by_key(|spelling| std::cmp::Reverse(spelling.len()));
        let mut text = text.to_string();
        for spelling in &written {
            let ends = spelling.char_indices().skip(LEAST_LEFT).map(|(end, _)| end);
            for end in ends.collect::<Vec<_>>().into_iter().rev() {
                text = text.replace(&format!("{}{CROPPED}", &spelling[..end]), &format!("{HIDDEN}{CROPPED}"));
            }
        }
        for spelling in &written {
            text = text.replace(spelling, HIDDEN);
        }
        text
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

/// Spellings of a value: plain, control characters as blanks, HTML, JSON with and without escaped slashes, percent-encoded in
/// upper and lower case with and without a plus for a blank.
fn spellings(value: &str) -> Vec<String> {
    let json = serde_json::Value::from(value).to_string();
    let json = json.trim_matches('"').to_string();
    let html = value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    let encoded = |upper: bool| {
        let byte = |byte: u8| match byte {
            b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
            _ if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
            _ if upper => format!("%{byte:02X}"),
            _ => format!("%{byte:02x}"),
        };
        value.bytes().map(byte).collect::<String>()
    };
    let percent = [encoded(true), encoded(false)];
    let plus = percent.each_ref().map(|text| text.replace("%20", "+"));
    let plain = [value.to_string(), value.replace(char::is_control, " "), html, json.replace('/', "\\/"), json];
    plain.into_iter().chain(percent).chain(plus).collect()
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
