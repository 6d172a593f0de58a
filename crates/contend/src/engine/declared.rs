//! Settings declared in the manifest of a worker or an app.

use super::catalogue::ENGINES;
use super::setting::{Setting, Values};
use crate::source::{FileError, Source};
use serde::Deserialize;

/// Option with the name of the site, for an app and its clients.
pub const HOST: &str = "host";

/// A table `[setting.NAME]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SettingFile {
    about: String,
    least: Option<i64>,
    most: Option<i64>,
    values: Option<Vec<String>>,
    default: Given,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Given {
    Number(i64),
    Word(String),
}

/// A declared setting: a number from `least` to `most`, or one of `values`.
pub(super) fn setting(name: &str, file: &SettingFile, source: &Source) -> Result<Setting, FileError> {
    let wrong = |key: &[&str], message: String| Err(source.error(&[&["setting", name], key].concat(), message));
    let default = match &file.default {
        Given::Number(number) => number.to_string(),
        Given::Word(word) => word.clone(),
    };
    let values = match (file.least, file.most, &file.values) {
        (Some(least), Some(most), None) => {
            if !default.parse().is_ok_and(|number| (least..=most).contains(&number)) {
                return wrong(&["default"], format!("{default} is not between {least} and {most}"));
            }
            Values::Integer(least, most)
        }
        (None, None, Some(words)) => {
            if !words.contains(&default) {
                return wrong(&["default"], format!("`{default}` is not one of {}", words.join(", ")));
            }
            Values::Words(kept_all(words))
        }
        _ => return wrong(&[], "a setting has either `least` and `most`, or `values`".to_string()),
    };
    if ENGINES.iter().any(|engine| engine.setting_of_its_own(name).is_some()) || name == HOST {
        return wrong(&[], "an engine has a setting of this name".to_string());
    }
    Ok(Setting { name: kept(name), values, default: kept(&default), about: kept(&file.about) })
}

/// A static copy of a text, because tables of engines and drivers are static.
pub(super) fn kept(text: &str) -> &'static str {
    String::leak(text.to_string())
}

/// The same of several texts.
pub(super) fn kept_all(texts: &[String]) -> &'static [&'static str] {
    Vec::leak(texts.iter().map(|text| kept(text)).collect())
}
