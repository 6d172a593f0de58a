//! BEGIN, COMMIT, ROLLBACK and savepoints: in the front and on the server.

use crate::c::front::Failed;
use crate::c::{DONE, MISUSE, ROW};
use crate::connection::{Connection, State};
use crate::does::Does;
use crate::server::Trouble;

/// The result of a step in the front.
pub fn done(code: i32, connection: &Connection) -> Result<(), Failed> {
    match code {
        DONE | ROW => Ok(()),
        _ => Err(connection.front.failed()),
    }
}

/// BEGIN, COMMIT, ROLLBACK, SAVEPOINT, RELEASE: in the front with `step`, and on the server.
pub fn transaction(
    does: &Does,
    state: &mut State,
    connection: &Connection,
    step: &dyn Fn() -> i32,
) -> Result<(), Failed> {
    let front = &connection.front;
    let fails = |state: &mut State, trouble: &Trouble| state.fails(front, trouble);
    match does {
        Does::Begin { with_lock } => {
            let begins = front.is_autocommit();
            if begins {
                state.link.begin(*with_lock).map_err(|trouble| fails(state, &trouble))?;
            }
            let stepped = done(step(), connection);
            if begins && stepped.is_err() {
                let _ = state.link.end("ROLLBACK");
            }
            stepped
        }
        Does::Commit | Does::Rollback if front.is_autocommit() => done(step(), connection),
        Does::Commit => end(state, connection, step),
        Does::Rollback => {
            let kept = state.kept_by_server();
            let ended = state.link.end("ROLLBACK");
            let code = step();
            state.left(front);
            ended.map_err(|trouble| fails(state, &trouble))?;
            kept.map_or_else(|| done(code, connection), Err)
        }
        Does::Savepoint(what, name) if what == "BEGIN" => {
            if front.is_autocommit() {
                state.link.begin(false).map_err(|trouble| fails(state, &trouble))?;
                state.began_by_savepoint = true;
            }
            state.link.savepoint(state.savepoints.len());
            state.savepoints.push(name.to_ascii_lowercase());
            done(step(), connection)
        }
        Does::Savepoint(what, name) => to_savepoint(state, connection, step, (what, name)),
        _ => Err(Failed::new(MISUSE, "bad parameter or other API misuse")),
    }
}

/// Ends the transaction on the server, then in the front.
fn end(state: &mut State, connection: &Connection, step: &dyn Fn() -> i32) -> Result<(), Failed> {
    match state.link.end("COMMIT") {
        Ok(()) => {
            let code = step();
            state.has_defined = false;
            state.left(&connection.front);
            done(code, connection)
        }
        Err(trouble) => {
            let mut failed = state.fails(&connection.front, &trouble);
            if crate::fault::is_conflict(&trouble) {
                failed.code = crate::fault::BUSY_SNAPSHOT;
            }
            // The server rolled it back, so it cannot be repeated.
            state.left(&connection.front);
            Err(failed)
        }
    }
}

fn to_savepoint(
    state: &mut State,
    connection: &Connection,
    step: &dyn Fn() -> i32,
    (what, name): (&str, &str),
) -> Result<(), Failed> {
    let name = name.to_ascii_lowercase();
    let Some(at) = state.savepoints.iter().rposition(|known| *known == name) else {
        return done(step(), connection);
    };
    if what == "RELEASE" && at == 0 && state.began_by_savepoint {
        return end(state, connection, step);
    }
    let word = if what == "RELEASE" { "RELEASE SAVEPOINT" } else { "ROLLBACK TO" };
    state.link.back_to(word, at).map_err(|trouble| state.fails(&connection.front, &trouble))?;
    state.savepoints.truncate(if what == "RELEASE" { at } else { at + 1 });
    if what != "RELEASE" && state.has_defined {
        state.doubt();
    }
    done(step(), connection)
}
