//! Keys of kinds of study: merges their tables in the file and its overlays.

use super::file::{File, Layer};
use super::kind::{KINDS, Key, Kind, LOAD, find};
use crate::source::{FileError, Source, did_you_mean};
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table};

/// A mistake: path of keys and message.
pub(super) type Wrong = (Vec<String>, String);

fn wrong(place: &[&str], path: &[&str], message: String) -> Wrong {
    (place.iter().chain(path).map(ToString::to_string).collect(), message)
}

/// The values of a study's kind, from all layers of its file; `None` for [`LOAD`].
pub(super) fn read(layers: &[Layer], kind: &str) -> Result<Option<Table>, Wrong> {
    let found = find(kind);
    if found.is_none() && kind != LOAD {
        let known: Vec<&str> = [LOAD].into_iter().chain(KINDS.all().iter().map(|kind| kind.name)).collect();
        let advice = did_you_mean(kind, known.iter().copied());
        return Err(wrong(
            &[],
            &["kind"],
            format!("there is no kind `{kind}`{advice}; kinds are {}", known.join(", ")),
        ));
    }
    let mut values =
        found.map_or_else(|| Ok(Table::new()), Kind::defaults).map_err(|message| wrong(&[], &[kind], message))?;
    for layer in layers.iter().rev() {
        for (name, written) in layer.of_kinds {
            let Some(found) = found.filter(|found| found.name == name) else {
                return Err(wrong(layer.path, &[name], format!("belongs to a study of kind `{name}`")));
            };
            for (key, value) in written {
                let at_key = |message| wrong(layer.path, &[name, key], message);
                let key = found.key(key).map_err(at_key)?;
                values.insert(key.recorded.to_string(), key.takes.written(value).map_err(at_key)?);
            }
        }
    }
    Ok(found.map(|_| values))
}

/// The key that `--set NAME=...` changes in a study of this kind.
pub(super) fn settable(kind: &str, name: &str) -> Option<&'static Key> {
    find(kind)?.keys.iter().find(|key| key.settable && key.name == name)
}

/// Applies `--set` to a key.
pub(super) fn set(values: &mut Table, key: &Key, typed: &[String]) -> Result<(), String> {
    values.insert(key.recorded.to_string(), key.takes.typed(typed)?);
    Ok(())
}

/// Where a file may have tables of kinds.
const PLACES: [&[&str]; 4] = [&[], &["quick"], &["as_published"], &["as_published", "quick"]];

/// Reads a table as a study file: tables of kinds separately, everything else as the core's keys.
///
/// # Errors
/// As for [`Source::read`].
pub(super) fn read_file(source: &Source, mut table: Spanned<DeTable<'_>>) -> Result<File, FileError> {
    let mut taken = vec![];
    for place in PLACES {
        taken.push(take(source, table.get_mut(), place)?);
    }
    let names: Vec<String> = table.get_ref().keys().map(|key| key.get_ref().to_string()).collect();
    let mut file: File = source.read(table).map_err(|error| advised(source, &names, error))?;
    let [own, quick, published, published_quick] = taken.try_into().unwrap_or_default();
    file.of_kinds = own;
    if let Some(overlay) = &mut file.quick {
        overlay.of_kinds = quick;
    }
    if let Some(overlay) = &mut file.as_published {
        overlay.of_kinds = published;
        if let Some(overlay) = &mut overlay.quick {
            overlay.of_kinds = published_quick;
        }
    }
    Ok(file)
}

/// The tables of all kinds at a place of a file, removed from it.
fn take(source: &Source, table: &mut DeTable<'_>, place: &[&str]) -> Result<BTreeMap<String, Table>, FileError> {
    let mut at = table;
    for step in place {
        match at.get_mut(*step).map(Spanned::get_mut) {
            Some(DeValue::Table(inner)) => at = inner,
            _ => return Ok(BTreeMap::new()),
        }
    }
    let mut found = BTreeMap::new();
    for kind in KINDS.all() {
        let Some(value) = at.remove(kind.name) else { continue };
        let span = value.span();
        let DeValue::Table(own) = value.into_inner() else {
            return Err(source.error(&[place, &[kind.name]].concat(), "must be a table"));
        };
        found.insert(kind.name.to_string(), source.read(Spanned::new(span, own))?);
    }
    Ok(found)
}

/// Adds advice to an error: an unknown key may be a mistyped name of a kind.
fn advised(source: &Source, names: &[String], error: FileError) -> FileError {
    let kinds = || KINDS.all().iter().map(|kind| kind.name);
    let here = names.iter().filter(|name| source.error(&[name], "").line == error.line);
    let advice: String = here.map(|name| did_you_mean(name, kinds())).collect();
    FileError { message: error.message + &advice, ..error }
}

#[cfg(test)]
mod tests {
    use crate::source::Source;
    use crate::study::model::{Extent, Study, Variant};
    use crate::study::tests::kind::KIND;
    use crate::study::{Choices, StudyError};
    use toml::Value;

    fn text(more: &str) -> String {
        format!(
            "question = 'q'\nworkload = 'w'\nkind = '{}'\nheadline = 'throughput_ops_per_s'\nrounds = 1\n\
             load = {{ window = '1s' }}\n{more}\n[[contender]]\nengine = 'sqlite'\n",
            KIND.name
        )
        .replace("KIND", KIND.name)
    }

    fn resolve(text: &str, set: &[(&str, &str)]) -> Result<Study, StudyError> {
        let set = set.iter().map(|(k, v)| ((*k).to_string(), v.split(',').map(str::to_string).collect())).collect();
        let choices = Choices { set, ..Choices::new(Variant::Corrected, Extent::Quick) };
        crate::study::resolve(&Source::new("s.toml", text), &choices)
    }

    fn value(study: &Study, key: &str) -> Value {
        study.of_kind().expect("its keys")[key].clone()
    }

    #[test]
    fn layers_and_the_command_line_change_the_defaults() {
        let text = text("[KIND]\npoints = 70\nkills = 4\n[quick.KIND]\npoints = 7\ncrash = ['drop']\n");
        let study = resolve(&text, &[]).expect("a study");
        assert_eq!(
            ["points", "kills", "window_ns"].map(|key| value(&study, key)),
            [7, 4, 300_000_000].map(Value::from)
        );
        assert_eq!(value(&study, "crashes"), Value::from(vec!["drop"]));
        let study = resolve(&text, &[("points", "3"), ("crash", "kill,drop")]).expect("a study");
        assert_eq!(
            (value(&study, "points"), value(&study, "crashes")),
            (Value::from(3), Value::from(vec!["kill", "drop"]))
        );
    }

    #[test]
    fn values_out_of_range_are_refused_with_their_key() {
        for (key, most) in [("points", 1_000_000_i64), ("kills", 10_000)] {
            let of = |n: i64| resolve(&text(&format!("[KIND]\n{key} = {n}\n")), &[]);
            assert!(of(most).is_ok(), "{key}");
            let error = of(most + 1).expect_err("too many").to_string();
            assert!(error.contains(&format!("s.toml:8: {}.{key}: must be at most {most}", KIND.name)), "{error}");
        }
        for (key, value) in [("points", "4294967295"), ("points", "0"), ("kills", "10001")] {
            let error = resolve(&text(""), &[(key, value)]).expect_err("refused");
            assert!(error.to_string().contains(&format!("--set {key}: must be at")), "{error}");
        }
    }

    #[test]
    fn mistakes_are_named_with_their_line_and_the_nearest_name() {
        let messages = [
            ("[KIND]\ncrash = ['dropp']\n", "s.toml:8: KIND.crash: `dropp` is not one of kill, drop"),
            ("[KIND]\ncrash = ['dropp']\n", "(did you mean `drop`?)"),
            ("[KIND]\ncrash = []\n", "needs at least one of kill, drop"),
            ("[KIND]\ncrash = 'drop'\n", "must be a list of words"),
            (
                "[KIND]\npoint = 3\n",
                "s.toml:8: KIND.point: there is no such key (did you mean `points`?); keys are crash",
            ),
            ("[KIND]\npoints = 'x'\n", "must be a whole number"),
            ("[KIND]\nwindow = '0s'\n", "s.toml:8: KIND.window: must be longer than 0"),
            ("[quick.KIND]\nwindow = 5\n", "s.toml:8: quick.KIND.window: must be a duration"),
            ("[KINDs]\npoints = 3\n", "(did you mean `KIND`?)"),
        ];
        for (more, message) in messages {
            let error = resolve(&text(more), &[]).expect_err(more).to_string();
            assert!(error.contains(&message.replace("KIND", KIND.name)), "{more}: {error}");
        }
        let other =
            text("[KIND]\npoints = 1\n").replace(&format!("'{}'", KIND.name), "'load'").replace("= 1\nl", "= 6\nl");
        let error = resolve(&other, &[]).expect_err("another kind").to_string();
        assert!(error.contains(&format!("belongs to a study of kind `{}`", KIND.name)), "{error}");
        let error = resolve(&text(""), &[("crash", "x")]).expect_err("unknown").to_string();
        assert!(error.contains("--set crash: `x` is not one of"), "{error}");
        let error = resolve(&text("").replace(KIND.name, "lod"), &[]).expect_err("no kind").to_string();
        assert!(
            error.contains("s.toml:3: kind: there is no kind `lod` (did you mean `load`?); kinds are load"),
            "{error}"
        );
    }
}
