//! What a scenario has beyond a workload: variables, filled in before it is parsed, and lists that a service returns
//! before the run. Both are written into the text, so that a record needs neither the command nor the service.

use crate::source::Source;
use crate::source::library::{Embedded, Library};
use anyhow::{Context as _, Result, bail};
use contend_wire::literal::Value;
use contend_wire::plan::http::Request;
use contend_wire::plan::{Source as ValueSource, Transaction};
use std::collections::BTreeMap;
use toml_edit::visit_mut::{VisitMut, visit_value_mut};

/// The scenarios that come with contend.
pub static LIBRARY: Library = Library { kind: "scenario", all: || BUILT_IN.to_vec() };

const BUILT_IN: &[Embedded] = &[
    ("gameplan", include_str!("../../../../scenarios/gameplan.toml")),
    ("wordpress", include_str!("../../../../scenarios/wordpress.toml")),
];

/// A request before the run that fills a list.
#[derive(Debug, Clone)]
pub struct Ask {
    /// Name of the list.
    pub name: String,
    pub request: Request,
    pub sources: Vec<ValueSource>,
    /// JSON pointer to the values.
    pub at: String,
    pub max: u16,
}

/// Host and path of an address.
pub fn address(text: &str) -> (String, String) {
    let begin = text.find("://").map_or(0, |at| at + 3);
    match text[begin..].find(['/', '?', '#']) {
        Some(at) => {
            let (url, path) = text.split_at(begin + at);
            // The fragment after # is for the client and never sent.
            let path = path.split('#').next().unwrap_or_default();
            (url.to_string(), if path.starts_with('/') { path.to_string() } else { format!("/{path}") })
        }
        None => (text.to_string(), "/".to_string()),
    }
}

/// A scenario whose every request gets this path.
pub fn of_path(path: &str) -> Source {
    // Braces would be names.
    let path = path.replace('{', "%7B").replace('}', "%7D");
    let request = toml::Value::String(format!("GET {path}"));
    let about = toml::Value::String(format!("Every request gets {path}"));
    let text = format!(
        "about = {about}\n\n[transaction.get]\nkind = \"read\"\n\n[[transaction.get.step]]\nrequest = {request}\n"
    );
    Source::new("one-request.toml", text)
}

/// The keys of a scenario that are read before anything is filled in.
#[derive(serde::Deserialize)]
struct Top {
    #[serde(default)]
    variable: BTreeMap<String, String>,
    #[serde(default)]
    secret: BTreeMap<String, String>,
}

/// Names of the values that are kept out of records.
///
/// # Errors
/// The file cannot be read as TOML.
pub fn secret_names(source: &Source) -> Result<Vec<String>> {
    Ok(source.parse::<Top>()?.secret.into_keys().collect())
}

/// Variables with their default values.
///
/// # Errors
/// The file cannot be read as TOML.
pub fn variables(source: &Source) -> Result<BTreeMap<String, String>> {
    Ok(source.parse::<Top>()?.variable)
}

/// The scenario without its values of secrets that the command line replaced: a later use of its text must provide them
/// again.
///
/// # Errors
/// The file cannot be read as TOML.
pub fn without_defaults<'n>(source: &Source, names: impl Iterator<Item = &'n String>) -> Result<Source> {
    let mut names = names.peekable();
    if names.peek().is_none() {
        return Ok(source.clone());
    }
    let mut file: toml_edit::DocumentMut = source.text.parse().with_context(|| source.name.clone())?;
    for name in names {
        file["secret"][name] = toml_edit::value("");
    }
    Ok(Source::new(source.name.clone(), file.to_string()))
}

/// The scenario with its variables filled in: `${name}` anywhere in a text of the file.
///
/// # Errors
/// An unknown variable, or one without a value.
pub fn filled_in(source: &Source, set: &[(String, String)]) -> Result<Source> {
    let Top { variable: mut variables, secret } = source.parse()?;
    for (name, value) in set {
        let known = variables.keys().chain(secret.keys()).cloned().collect::<Vec<_>>().join(", ");
        match variables.get_mut(name) {
            Some(old) => old.clone_from(value),
            None => bail!("{}: there is no variable `{name}` to set (it has {known})", source.name),
        }
    }
    let mut file: toml_edit::DocumentMut = source.text.parse().with_context(|| source.name.clone())?;
    let mut fills = Fills { variables: &variables, unknown: None };
    let texts = file.iter_mut().filter(|(key, _)| !["variable", "secret"].contains(&key.get()));
    texts.for_each(|(_, item)| fills.visit_item_mut(item));
    let Some(name) = fills.unknown else { return Ok(Source::new(source.name.clone(), file.to_string())) };
    let at = [format!("${{{name}}}"), "${".to_string()].iter().find_map(|text| source.text.find(text)).unwrap_or(0);
    let line = source.text[..at].matches('\n').count() + 1;
    match secret.contains_key(&name) {
        true => bail!("{}:{line}: `{name}` is a [secret]: write {{secret.{name}}}, in a request", source.name),
        false => bail!("{}:{line}: `${{{name}}}` is not a [variable] of this file", source.name),
    }
}

/// Fills variables into texts, whatever their quotes.
struct Fills<'v> {
    variables: &'v BTreeMap<String, String>,
    /// The first name that is no variable.
    unknown: Option<String>,
}

impl Fills<'_> {
    fn filled(&mut self, text: &str) -> String {
        let (mut out, mut rest) = (String::with_capacity(text.len()), text);
        while let Some(at) = rest.find("${") {
            let (before, after) = rest.split_at(at);
            out.push_str(before);
            let name = after[2..].split_once('}').map_or("", |(name, _)| name);
            let Some(value) = self.variables.get(name) else {
                self.unknown.get_or_insert(name.to_string());
                break;
            };
            out.push_str(value);
            rest = &after[name.len() + 3..];
        }
        out + rest
    }
}

impl VisitMut for Fills<'_> {
    fn visit_value_mut(&mut self, value: &mut toml_edit::Value) {
        if let Some(text) = value.as_str().filter(|text| text.contains("${")) {
            let filled = self.filled(text);
            let decor = value.decor().clone();
            *value = filled.into();
            *value.decor_mut() = decor;
        }
        visit_value_mut(self, value);
    }
}

/// The scenario with the lists that a service returned.
///
/// # Errors
/// A list that is empty, or holds a value that cannot be drawn.
pub fn with_lists(source: &Source, lists: &[(String, Vec<Value>)]) -> Result<Source> {
    let mut table = toml::Table::new();
    for (name, values) in lists {
        if values.is_empty() {
            bail!(
                "{}: setup.{name}: the service answered with an empty list, so there is nothing to draw from",
                source.name
            );
        }
        let value = |value: &Value| match value {
            Value::Integer(i) => Ok(toml::Value::Integer(*i)),
            Value::Real(r) => Ok(toml::Value::Float(*r)),
            Value::Text(text) => Ok(toml::Value::String(text.clone())),
            other => bail!("{}: setup.{name}: `{}` cannot be drawn from", source.name, other.encode()),
        };
        table.insert(name.clone(), toml::Value::Array(values.iter().map(value).collect::<Result<_>>()?));
    }
    if table.is_empty() {
        return Ok(source.clone());
    }
    let list = toml::Table::from_iter([("list".to_string(), toml::Value::Table(table))]);
    Ok(Source::new(
        source.name.clone(),
        format!("{}\n# What the service answered before the run.\n{list}", source.text),
    ))
}

impl Ask {
    /// The transaction that sends the request with this index.
    pub fn transaction(&self, request: u32) -> Transaction {
        use contend_wire::plan::Step;
        use contend_wire::plan::http::{HttpStep, KeepAt};
        let keep = vec![KeepAt { slot: 0, rows: self.max, pointer: self.at.clone() }];
        let step = HttpStep {
            request,
            status: vec![(200, 299)],
            refused: vec![],
            count: None,
            keep,
            args: self.sources.clone(),
        };
        let steps = vec![Step::Http(step)];
        Transaction { name: format!("setup.{}", self.name), writes: false, begin: None, uniques: 0, slots: 1, steps }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "about = 'x'\n[variable]\nuser = \"eve\"\n[a]\nb = \"x ${user} y\"\n";

    #[test]
    fn variables_are_filled_in_where_they_stand() {
        let source = Source::new("s.toml", TEXT);
        let set = |value: &str| filled_in(&source, &[("user".to_string(), value.to_string())]).unwrap().text;
        assert!(filled_in(&source, &[]).unwrap().text.contains("\"x eve y\""));
        for value in ["a\"b\\c'd\n", "plain", "it's \"\"\""] {
            let table: toml::Table = set(value).parse().unwrap();
            assert_eq!(table["a"]["b"].as_str(), Some(format!("x {value} y").as_str()));
        }
        let literal = Source::new("s.toml", TEXT.replace("\"x ${user} y\"", "'x ${user} y' # ${comment}"));
        let said = filled_in(&literal, &[("user".to_string(), "it's \\ \"".to_string())]).unwrap().text;
        let table: toml::Table = said.parse().unwrap();
        assert_eq!(table["a"]["b"].as_str(), Some("x it's \\ \" y"));
        let unknown = filled_in(&source, &[("usr".to_string(), String::new())]).unwrap_err().to_string();
        assert!(unknown.contains("no variable `usr`") && unknown.contains("user"), "{unknown}");
        let bad = Source::new("s.toml", TEXT.replace("${user}", "${usr}"));
        let message = filled_in(&bad, &[]).unwrap_err().to_string();
        assert!(message.contains("s.toml:5") && message.contains("usr"), "{message}");
    }

    #[test]
    fn a_secret_that_was_given_is_in_no_text() {
        let source = Source::new("s.toml", format!("{TEXT}[secret]\npassword = \"admin\" # for tests\n"));
        assert_eq!(secret_names(&source).unwrap(), ["password"]);
        assert_eq!(without_defaults(&source, std::iter::empty()).unwrap().text, source.text);
        let without = without_defaults(&source, ["password".to_string()].iter()).unwrap();
        assert!(!without.text.contains("admin") && without.text.lines().count() == source.text.lines().count());
        let bad = Source::new("s.toml", source.text.replace("${user}", "${password}"));
        let message = filled_in(&bad, &[]).unwrap_err().to_string();
        assert!(message.contains("s.toml:5") && message.contains("write {secret.password}"), "{message}");
    }

    #[test]
    fn lists_become_part_of_the_text() {
        let source = Source::new("s.toml", TEXT);
        let lists = [("ids".to_string(), vec![Value::Integer(7), Value::Text("a\"b".into())])];
        let table: toml::Table = with_lists(&source, &lists).unwrap().text.parse().unwrap();
        assert_eq!(table["list"]["ids"].as_array().map(Vec::len), Some(2));
        let message = with_lists(&source, &[("ids".to_string(), vec![])]).unwrap_err().to_string();
        assert!(message.contains("setup.ids") && message.contains("empty list"), "{message}");
    }
}
