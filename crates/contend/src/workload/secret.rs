//! Secrets of a scenario: values that a plan needs and nothing that is kept may have. In a workload they stand under
//! their names; the values come in when a plan is made, and go out of every text that is shown.

use contend_wire::literal::Value;
use contend_wire::plan::{Source, Step};
use std::collections::BTreeMap;

/// What stands for a value in texts that are shown.
const HIDDEN: &str = "(secret)";

/// Values by name. One that is empty is not known.
#[derive(Clone, Default)]
pub struct Secrets(BTreeMap<String, String>);

/// What a source says until the value is known.
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

    /// Puts the values where their names stand.
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

    /// A text that others wrote, such as what a service answered, without the values, however they are written.
    pub fn hidden(&self, text: &str) -> String {
        let mut text = text.to_string();
        for value in self.0.values().filter(|value| !value.is_empty()) {
            for written in spellings(value) {
                text = text.replace(&written, HIDDEN);
            }
        }
        text
    }

    /// A command line without the values that it was given with `--set`.
    pub fn hidden_in_command(&self, args: impl Iterator<Item = String>) -> Vec<String> {
        let hide = |pair: &str| match pair.split_once('=') {
            Some((name, _)) if self.0.contains_key(name.trim()) => format!("{name}={HIDDEN}"),
            _ => pair.to_string(),
        };
        let hide_all = |list: &str| list.split(',').map(hide).collect::<Vec<_>>().join(",");
        let mut is_list = false;
        args.map(|arg| {
            let arg = match arg.strip_prefix("--set=") {
                Some(list) => format!("--set={}", hide_all(list)),
                None if is_list => hide_all(&arg),
                None => arg,
            };
            is_list = arg == "--set";
            arg
        })
        .collect()
    }
}

/// A value as it is, in JSON, and percent-encoded with and without a plus for a blank.
fn spellings(value: &str) -> Vec<String> {
    let json = serde_json::Value::from(value).to_string();
    let percent = |byte: u8| match byte {
        b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    let encoded: String = value.bytes().map(percent).collect();
    vec![value.to_string(), json.trim_matches('"').to_string(), encoded.replace("%20", "+"), encoded]
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
    fn a_command_line_keeps_everything_else() {
        let typed = ["contend", "http", "--set", "mode=x,pw=a b\"&c", "--set=token=t,user=eve", "pw=kept", "--set"];
        let shown = secrets().hidden_in_command(typed.into_iter().map(str::to_string));
        let expected =
            ["contend", "http", "--set", "mode=x,pw=(secret)", "--set=token=(secret),user=eve", "pw=kept", "--set"];
        assert_eq!(shown, expected);
    }
}
