//! The settings of a server, read before the clients start and after they end. What connections read back at their
//! start misses a later change, and what they read back at their end misses a change that was undone.

use crate::engine::{Engine, Settings};
use crate::outcome::reason::{Invalid, Reason};
use crate::trial::data::fresh::Fresh;
use crate::trial::stage::Stage;
use crate::trial::workers::admin::{Admin, script_target};
use anyhow::Result;
use contend_wire::literal::Value;

/// Settings by name; empty without a server.
type Found = Result<Vec<(String, String)>>;

/// The contender's settings, and what any change of the configuration changes, as the server reports them.
///
/// # Errors
/// The server is dead, or refuses a query.
pub fn read(stage: &Stage<'_>, fresh: &Fresh<'_>, admin: &mut Admin<'_>) -> Found {
    let (Some(_), Some(inside)) = (stage.engine.server, fresh.inside.first()) else { return Ok(vec![]) };
    let (names, queries): (Vec<String>, Vec<String>) = queries(stage.engine, &stage.contender.settings).unzip();
    let answers = admin.sql(&script_target(stage.engine, inside), queries)?;
    let first = |rows: Vec<Vec<Value>>| rows.into_iter().next().and_then(|row| row.into_iter().next());
    let values = answers.into_iter().map(|rows| match first(rows) {
        Some(Value::Text(text)) => text,
        Some(Value::Integer(n)) => n.to_string(),
        other => format!("{other:?}"),
    });
    Ok(names.into_iter().zip(values).collect())
}

/// Names and queries in the server's own SQL, however the contender's driver sends statements; without settings that the
/// worker reports itself.
fn queries(engine: &Engine, settings: &Settings) -> impl Iterator<Item = (String, String)> {
    let readbacks = engine.setup_with(settings).readbacks.into_iter().filter(|read| !read.sql.is_empty());
    let configured = engine.server.map(|server| server.configured);
    let configured = configured.map(|(name, sql)| (name.to_string(), sql.to_string()));
    readbacks.map(|read| (read.name, read.sql)).chain(configured)
}

/// The first setting that has changed, or why that is unknown. A server that no longer answers in the end has its own
/// reason.
pub fn changed(before: &Found, after: &Found) -> Option<Reason> {
    let before = match before {
        Ok(before) => before,
        Err(e) => {
            let unread = format!("the server's settings could not be read before the clients began: {e:#}");
            return Some(Invalid::Settings.because(unread));
        }
    };
    let other = before.iter().zip(after.as_deref().unwrap_or_default()).find(|(before, after)| before != after);
    other.map(|((name, before), (_, after))| {
        Invalid::Settings
            .because(format!("the server's {name} was {before} before the clients began and {after} after"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine;
    use anyhow::anyhow;

    #[test]
    fn a_setting_that_changed_in_between_is_named() {
        let of =
            |value: &str| Ok(vec![("fsync".to_string(), value.to_string()), ("time".to_string(), "1".to_string())]);
        assert_eq!(changed(&of("on"), &of("on")), None);
        assert_eq!(changed(&of("on"), &Err(anyhow!("it is dead"))), None);
        let reason = changed(&of("on"), &of("off")).expect("another one");
        assert_eq!(reason.to_string(), "settings: the server's fsync was on before the clients began and off after");
        let unread = changed(&Err(anyhow!("no")), &of("on")).expect("unknown");
        assert!(unread.to_string().ends_with("could not be read before the clients began: no"), "{unread}");
    }

    #[test]
    fn a_server_is_asked_in_its_own_sql_for_what_it_knows() {
        let settings = Settings::from([("pool_size".to_string(), "3".to_string())]);
        for engine in engine::ENGINES.iter().filter(|engine| engine.server.is_some()) {
            let asked: Vec<String> = queries(engine, &settings).map(|(_, sql)| sql).collect();
            assert!(asked.len() > 3 && asked.iter().all(|sql| sql.starts_with("SELECT")), "{}: {asked:?}", engine.name);
        }
    }
}
