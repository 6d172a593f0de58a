//! From a server back to SQLite. The ledger or the shim's relations have SQLite's statements.

use crate::kept;
use crate::ledger::{self, Kept, State};
use crate::look::{self, Kind, bound, listed};
use crate::plan::Table;
use crate::progress::Progress;
use crate::prove::Sides;
use crate::remake::{self, of_kind};
use crate::rows::untag;
use crate::server::Server;
use crate::show::{self, Way};
use anyhow::{Context, Result, bail, ensure};
use contend::cli::{INVALID, OK};
use contend::engine::wal::companion;
use contend::trial::stop::Cancelled;
use contend_sql::{Catalogue, HIDDEN_ROWID, HeldColumn, ParamType, table_columns};
use contend_wire::kept::{PREFIX, quoted};
use rusqlite::{Connection, params_from_iter};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, io};

/// What a user asks for.
pub struct Back<'b> {
    pub from: &'b str,
    pub schema: Option<&'b str>,
    pub file: &'b Path,
    pub dry_run: bool,
}

/// What the ledger and the shim's relations say of the database.
fn kept(server: &mut Server) -> Result<Kept> {
    kept::enter_only(server)?;
    let entries = ledger::read(server)?;
    let is_done = entries.first().is_none_or(|first| first.state == State::Done);
    ensure!(is_done, "the migration to {} is not finished: --resume continues and proves it", server.address);
    let of_ledger = ledger::kept(&entries);
    match kept::read(server, &of_ledger)? {
        Some(now) => Ok(now),
        None if entries.is_empty() => bail!(
            "{} has no table {}: only what came from SQLite, or what `contend shim` made, can go back",
            server.address,
            ledger::TABLE
        ),
        None => Ok(of_ledger),
    }
}

/// Carries it out; the exit status.
///
/// # Errors
/// What is wrong with server or file, and what to do.
pub fn migrate(asked: &Back<'_>, stop: &AtomicBool) -> Result<u8> {
    let Back { from, schema, file, dry_run } = *asked;
    ensure!(file.symlink_metadata().is_err(), "{} is there already; name a new file", file.display());
    has_no_log(file)?;
    let mut server = Server::connect(from, schema, true)?;
    // The schema is that of the rows.
    server.product.snapshot()?;
    let kept = kept(&mut server)?;
    let (tables, mut left) = tables(&mut server, &kept)?;
    let way = Way { from: format!("{}, {}", server.version, server.address), to: file.display().to_string() };
    if dry_run {
        let sqlite = Connection::open_in_memory()?;
        make_tables(&sqlite, &kept)?;
        left.extend(rest(&sqlite, &kept)?);
        show::back(&way, &kept.objects, &left)?;
        show::conclusion(&[], left.len(), &[])?;
        return Ok(OK);
    }
    let progress = Progress::new();
    let partial = Partial::new(file)?;
    let sqlite = Connection::open(&partial.0)?;
    // A statement that fails is undone, which needs a journal.
    sqlite.execute_batch("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF; BEGIN")?;
    make_tables(&sqlite, &kept)?;
    let schema = look::schema(&sqlite)?;
    progress.phase("reading the server");
    for table in &tables {
        progress.begin(&format!("table {}", table.name), None);
        let of = schema.tables.iter().find(|of| of.name == table.name).context("SQLite does not list it");
        let filled = of.and_then(|of| fill((&sqlite, of), &mut server, table, (&progress, stop)));
        filled.with_context(|| format!("table {}", table.name))?;
    }
    left.extend(rest(&sqlite, &kept)?);
    counters(&sqlite, &mut server, &kept, &tables)?;
    sqlite.execute_batch("COMMIT; BEGIN")?;
    progress.phase("reading both sides again");
    let mut sides = Sides { sqlite: &sqlite, tables: &schema.tables, server: &mut server, progress: &progress, stop };
    let proofs = sides.prove(&tables)?;
    sqlite.execute_batch("COMMIT")?;
    drop(sqlite);
    drop(progress);
    show::back(&way, &kept.objects, &left)?;
    let is_same = show::proof(&way, &proofs)?;
    if is_same {
        partial.keep(file)?;
    } else {
        contend::tell!("contend: {} was not made: it would not be the same", file.display());
    }
    Ok(if is_same { OK } else { INVALID })
}

/// Creates the tables.
fn make_tables(sqlite: &Connection, kept: &Kept) -> Result<()> {
    let failed = remake::tables(sqlite, kept).into_iter().next();
    failed.map_or(Ok(()), |e| Err(e.context("SQLite does not take the schema, so there is no way back")))
}

/// Creates everything else; the objects that are missing.
fn rest(sqlite: &Connection, kept: &Kept) -> Result<Vec<String>> {
    let remake::Missing { gone, failed } = remake::rest(sqlite, kept)?;
    Ok([gone, failed].concat())
}

/// Checks that no log of an earlier database has the name that SQLite expects: it would replay it into the new one.
fn has_no_log(file: &Path) -> Result<()> {
    for ending in ["-wal", "-shm", "-journal"] {
        let log = companion(file, ending);
        ensure!(
            log.symlink_metadata().is_err(),
            "{} is left of an earlier database, and SQLite would write what it holds into the new one; delete it, or \
             name another file",
            log.display()
        );
    }
    Ok(())
}

/// The new database under a temporary name until its rows are proved; removed unless it is kept.
struct Partial(PathBuf);

impl Partial {
    fn new(file: &Path) -> Result<Partial> {
        // Another way back may write the same file.
        let random = RandomState::new().build_hasher().finish();
        let partial = Partial(companion(file, &format!(".contend-partial-{random:016x}")));
        // Rows that the server protects are not readable for other users.
        let made = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&partial.0);
        made.with_context(|| format!("{}: cannot be made", file.display()))?;
        Ok(partial)
    }

    fn keep(self, file: &Path) -> Result<()> {
        fs::File::open(&self.0)?.sync_all()?;
        has_no_log(file)?;
        give_name(&self.0, file).with_context(|| format!("{}: cannot be made", file.display()))?;
        let dir = file.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Ok(fs::File::open(dir)?.sync_all()?)
    }
}

/// Gives a file a new name, which no other file has.
fn give_name(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => by_rename(from, to),
        done => done,
    }
}

/// The same on a file system without hard links, such as vfat.
fn by_rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::File::create_new(to)?;
    fs::rename(from, to).inspect_err(|_| drop(fs::remove_file(to)))
}

impl Drop for Partial {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// The tables on the server, which must have their original columns, and the names of all other tables.
fn tables(server: &mut Server, kept: &Kept) -> Result<(Vec<Table>, Vec<String>)> {
    let mut catalogue = Catalogue::default();
    if kept.rowids {
        catalogue.keep_rowids();
    }
    kept.held.iter().for_each(|held| catalogue.set_held(&held.table, &held.column, held.holds));
    let (mut tables, mut known) = (vec![], vec![ledger::TABLE.to_string()]);
    for object in of_kind(kept, Kind::Table).filter(|object| object.state == State::Done) {
        catalogue.learn(&object.sql).with_context(|| format!("table {}", object.name))?;
        let columns = table_columns(&catalogue, &object.name).context("its columns are not understood")?;
        is_as_it_was(server, &object.name, &columns, catalogue.has_hidden_rowid(&object.name))?;
        known.push(object.name.clone());
        tables.push(Table::new(&object.name, 0, columns, &catalogue));
    }
    known.extend(of_kind(kept, Kind::View).map(|view| view.name.clone()));
    let is_other = |name: &String| !known.contains(name) && !name.starts_with(PREFIX);
    let left = server.product.tables()?.into_iter().filter(is_other);
    Ok((tables, left.map(|name| format!("{name}: it did not come from SQLite")).collect()))
}

fn is_as_it_was(server: &mut Server, table: &str, columns: &[HeldColumn], hides_rowid: bool) -> Result<()> {
    let mut there = server.product.columns(table)?;
    // A column without a type has tagged values, which are texts.
    let stored = |column: &HeldColumn| if column.is_tagged() { ParamType::Text } else { column.holds };
    let mut wanted: Vec<(String, Option<ParamType>)> =
        columns.iter().map(|column| (column.name.clone(), Some(stored(column)))).collect();
    if hides_rowid {
        // A column that was added later stands after it.
        wanted.push((HIDDEN_ROWID.to_string(), Some(ParamType::Integer)));
        there.sort_by_key(|(name, _)| name == HIDDEN_ROWID);
    }
    if there == wanted {
        return Ok(());
    }
    ensure!(
        !there.is_empty(),
        "table {table} is not on the server any more; --without {table} is for the way there only"
    );
    let changed = wanted.iter().find(|column| !there.contains(column));
    let name = changed.or_else(|| there.iter().find(|column| !wanted.contains(column)));
    let name = name.map_or("the order of columns", |(name, _)| name);
    bail!(
        "table {table} was changed on the server since it came from SQLite ({name}); undo that change, and migrate then"
    )
}

/// Copies the rows of a table.
fn fill(
    (sqlite, of): (&Connection, &look::Table),
    server: &mut Server,
    table: &Table,
    (progress, stop): (&Progress, &AtomicBool),
) -> Result<()> {
    let stored: Vec<&str> = table.stored().collect();
    let places = vec!["?"; stored.len()].join(", ");
    let (own, columns) = (of.listed(table.stored()), listed(stored));
    let name = quoted(&table.name);
    let mut insert = sqlite.prepare(&format!("INSERT INTO {name} ({own}) VALUES ({places})"))?;
    let order = table.rowid().map_or(String::new(), |rowid| format!(" ORDER BY {}", quoted(rowid)));
    let mut rows = 0;
    let tagged = table.tagged(table.stored());
    server.product.read(&format!("SELECT {columns} FROM {name}{order}"), &mut |values| {
        untag(values, &tagged, |values| Ok(insert.execute(params_from_iter(values.iter().map(bound)))?))?;
        rows += 1;
        progress.at(rows);
        if stop.load(Ordering::Relaxed) { Err(Cancelled.into()) } else { Ok(()) }
    })
}

/// Restores what SQLite stores outside of tables: next keys, `user_version` and `application_id`.
fn counters(sqlite: &Connection, server: &mut Server, kept: &Kept, tables: &[Table]) -> Result<()> {
    for table in tables {
        let Some(rowid) = table.rowid() else { continue };
        // A hidden column is none of SQLite's.
        let Ok((.., true)) = sqlite.column_metadata(None, table.name.as_str(), rowid) else { continue };
        let given = server.product.counter(&table.name, rowid)?;
        let known = kept.last_keys.iter().find(|(name, _)| *name == table.name).map(|(_, last)| *last);
        // SQLite notes the first key when it gives it.
        let Some(last) = known.or(Some(given).filter(|given| *given > 0)) else { continue };
        let (name, last) = (&table.name, last.max(given));
        let set = sqlite.execute("UPDATE sqlite_sequence SET seq = max(seq, ?2) WHERE name = ?1", (name, last))?;
        if set == 0 {
            sqlite.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)", (name, last))?;
        }
    }
    for (name, value) in &kept.pragmas {
        sqlite.pragma_update(None, name, value)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn no_log_of_an_earlier_database_becomes_the_new_ones() {
        for ending in ["-wal", "-shm", "-journal"] {
            let dir = tempfile::tempdir().expect("a directory");
            let file = dir.path().join("a.db");
            has_no_log(&file).expect("nothing is there");
            let partial = Partial::new(&file).expect("made");
            assert_ne!(partial.0, Partial::new(&file).expect("made").0, "two at a time");
            symlink("nowhere", companion(&file, ending)).expect("linked");
            let refused = partial.keep(&file).expect_err("a log is there").to_string();
            assert!(refused.contains(&format!("a.db{ending} is left of an earlier database")), "{refused}");
            assert_eq!(fs::read_dir(dir.path()).expect("read").count(), 1, "only the link is left");
        }
    }

    #[test]
    fn a_new_file_gets_a_free_name_and_is_its_owners() {
        let dir = tempfile::tempdir().expect("a directory");
        for (name, give) in [("a.db", give_name as fn(&Path, &Path) -> io::Result<()>), ("b.db", by_rename)] {
            let file = dir.path().join(name);
            let partial = Partial::new(&file).expect("made");
            let elsewhere = dir.path().join(format!("{name}.link"));
            symlink("nowhere", &elsewhere).expect("linked");
            let refused = give(&partial.0, &elsewhere).expect_err("the name is taken");
            assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
            give(&partial.0, &file).expect("renamed");
            drop(partial);
            assert_eq!(file.metadata().expect("there").permissions().mode() & 0o777, 0o600);
        }
    }
}
