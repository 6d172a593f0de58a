//! The settings of a server, read before the clients start and after they end. What connections read back at their
//! start misses a later change, and what they read back at their end misses a change that was undone.

use crate::outcome::reason::{Invalid, Reason};
use crate::trial::data::fresh::Fresh;
use crate::trial::stage::Stage;
use crate::trial::workers::admin::{Admin, script_target};
use contend_wire::literal::Value;

/// The contender's settings, and what any change of the configuration changes, as the server reports them; empty
/// without a server, or if it is dead.
pub fn read(stage: &Stage<'_>, fresh: &Fresh<'_>, admin: &mut Admin<'_>) -> Vec<(String, String)> {
    let Some((server, inside)) = stage.engine.server.zip(fresh.inside.first()) else { return vec![] };
    let asked = stage.setup.readbacks.iter().map(|read| (read.name.as_str(), read.sql.as_str()));
    let asked = asked.chain([server.configured]);
    let (names, queries): (Vec<&str>, Vec<&str>) = asked.unzip();
    let Ok(answers) = admin.sql(&script_target(stage.engine, inside), queries) else { return vec![] };
    let first = |rows: Vec<Vec<Value>>| rows.into_iter().next().and_then(|row| row.into_iter().next());
    let values = answers.into_iter().map(|rows| match first(rows) {
        Some(Value::Text(text)) => text,
        Some(Value::Integer(n)) => n.to_string(),
        other => format!("{other:?}"),
    });
    names.into_iter().map(str::to_string).zip(values).collect()
}

/// The first setting that has changed. A server that no longer answers has its own reason.
pub fn changed(before: &[(String, String)], after: &[(String, String)]) -> Option<Reason> {
    let other = before.iter().zip(after).find(|(before, after)| before != after);
    other.map(|((name, before), (_, after))| {
        Invalid::Settings
            .because(format!("the server's {name} was {before} before the clients began and {after} after"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_changed_in_between_is_named() {
        let of = |value: &str| vec![("fsync".to_string(), value.to_string()), ("time".to_string(), "1".to_string())];
        assert_eq!(changed(&of("on"), &of("on")), None);
        assert_eq!(changed(&of("on"), &[]), None, "it is dead");
        let reason = changed(&of("on"), &of("off")).expect("another one");
        assert_eq!(reason.to_string(), "settings: the server's fsync was on before the clients began and off after");
    }
}
