//! Prints the plan, the values that do not fit, and the proof.

use crate::ledger::Entry;
use crate::misfits::Misfit;
use crate::plan::{Left, Makes, Plan};
use crate::prove::Proof;
use anyhow::Result;
use contend::cli::{arguments, print, print_plain, quoted, style};
use contend::report::document::{Block, Cell, Document, Id, Section, Table, Tone};
use contend::report::text;
use contend::trial::server::attached::without_passwords;
use contend_sql::HIDDEN_ROWID;
use std::path::Path;

/// Source and destination, for people.
pub struct Way {
    pub from: String,
    pub to: String,
}

fn section(anchor: &'static str, title: &str, blocks: Vec<Block>) -> Section {
    Section { id: Id::Other(anchor), title: title.to_string(), blocks }
}

/// A number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let head = digits.len() % 3;
    let mut out = digits[..head].to_string();
    for at in (head..digits.len()).step_by(3) {
        if !out.is_empty() {
            out.push(',');
        }
        out.push_str(&digits[at..at + 3]);
    }
    out
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count as u64), if count == 1 { one } else { many })
}

/// Prints the plan of a migration to a server.
///
/// # Errors
/// Standard output cannot be written.
pub fn plan(way: &Way, plan: &Plan, misfits: &[Misfit], no_way_back: Vec<String>) -> Result<()> {
    let of = |makes: Makes| plan.steps.iter().filter(|step| step.makes == makes).count();
    let facts = vec![
        counted(plan.tables.len(), "table", "tables"),
        format!("{} rows", grouped(plan.tables.iter().map(|table| table.rows).sum())),
        counted(of(Makes::Index) + of(Makes::UniqueKey), "index", "indexes"),
        counted(of(Makes::ForeignKey), "foreign key", "foreign keys"),
        counted(of(Makes::View), "view", "views"),
        counted(of(Makes::Trigger), "trigger", "triggers"),
    ];
    let mut sections = vec![section("tables", "Carried over", tables(plan))];
    if !plan.held.is_empty() {
        let held = plan.held.iter().map(|held| format!("{}.{}: {}", held.table, held.column, held.holds.word()));
        let about =
            "The declared type of these columns does not say what they hold; the server's type follows their values:";
        let blocks = vec![Block::Text(about.to_string()), Block::List(held.collect())];
        sections.push(section("held", "Types from the data", blocks));
    }
    if !plan.left.is_empty() {
        let about = "Nothing on the server does this; `contend migrate` back restores what has no data of its own.";
        let blocks = vec![Block::List(plan.left.iter().map(left).collect()), Block::Note(about.to_string())];
        sections.push(section("left", "Not carried over", blocks));
    }
    if !no_way_back.is_empty() {
        let about = "SQLite makes these only with the functions and collations of the application, which contend does not \
                     have. The way back leaves indexes, views and triggers out. With a table among them there is no way \
                     back.";
        let blocks = vec![Block::List(no_way_back), Block::Note(about.to_string())];
        sections.push(section("back", "Does not come back", blocks));
    }
    if !plan.refused.is_empty() {
        let about = "Change these in the source, or leave them out with --without NAME. Nothing was written.";
        let blocks = vec![Block::List(plan.refused.iter().map(left).collect()), Block::Note(about.to_string())];
        sections.push(section("refused", "Cannot be carried over", blocks));
    }
    if !misfits.is_empty() {
        sections.push(section("misfits", "Does not fit", unfit(misfits)));
    }
    document("Migration", way, facts, sections)
}

fn tables(plan: &Plan) -> Vec<Block> {
    let mut tables = Table::new(&["table", "rows|", "columns|", "rowids in"]);
    for table in &plan.tables {
        let columns = table.columns.iter().filter(|column| column.name != HIDDEN_ROWID).count();
        let rowid = table.rowid().unwrap_or_default().to_string();
        tables.row([table.name.clone(), grouped(table.rows), columns.to_string(), rowid].map(Cell::new));
    }
    let about = format!(
        "{HIDDEN_ROWID} is a further column on the server, with SQLite's rowids: `contend shim` and the way back need it. \
         On PostgreSQL `SELECT *` shows it. --no-rowids leaves it out."
    );
    let is_hidden = plan.tables.iter().any(|table| table.rowid() == Some(HIDDEN_ROWID));
    let about = is_hidden.then_some(Block::Note(about));
    [Block::Table(tables)].into_iter().chain(about).collect()
}

fn left(left: &Left) -> String {
    format!("{}: {}", left.what, left.why)
}

fn unfit(misfits: &[Misfit]) -> Vec<Block> {
    let mut table = Table::new(&["table", "column", "values|", "first", "what"]);
    for misfit in misfits {
        let cells = [
            misfit.table.clone(),
            misfit.column.clone(),
            grouped(misfit.count),
            misfit.first.clone(),
            misfit.what.clone(),
        ];
        table.row(cells.map(Cell::new));
    }
    let mut remedies: Vec<String> = vec![];
    for misfit in misfits {
        let remedy = format!("{}.{}: {}", misfit.table, misfit.column, misfit.remedy);
        if !remedies.contains(&remedy) {
            remedies.push(remedy);
        }
    }
    let about = "Nothing was written. Change these values in the source, or in a copy of it (`VACUUM INTO 'copy.db'`); or \
                 leave the table out with --without TABLE.";
    vec![Block::Table(table), Block::List(remedies), Block::Note(about.to_string())]
}

fn document(title: &str, way: &Way, facts: Vec<String>, sections: Vec<Section>) -> Result<()> {
    let question = format!("{} to {}", way.from, way.to);
    let document = Document { title: title.to_string(), question, facts, sections, ..Document::default() };
    print(&format!("{}\n", text::text(&document, style())))
}

/// Prints all statements, in their order.
///
/// # Errors
/// Standard output cannot be written.
pub fn statements(plan: &Plan) -> Result<()> {
    let mut out = String::new();
    for step in plan.steps.iter().filter(|step| !step.sql.is_empty()) {
        out += &format!("-- {} {}\n", step.makes.word(), step.name);
        step.sql.iter().for_each(|sql| out += &format!("{sql};\n"));
    }
    print_plain(&out)
}

/// Prints the conclusion of `--dry-run` and the command that follows. `obstacles`: what keeps the migration from being begun;
/// `left`: what it would leave out. `addressed`: the options that have the address of a server.
///
/// # Errors
/// Standard output cannot be written.
pub fn conclusion(obstacles: &[String], left: usize, addressed: &[&str]) -> Result<()> {
    let is_ready = obstacles.is_empty();
    let words = arguments().skip(1).filter(|word| !is_ready || word != "--dry-run");
    let command = command(words, addressed);
    let conclusion = match (is_ready, left) {
        (true, 0) => "Everything fits; nothing was written. The migration:".to_string(),
        (true, _) => {
            let left = counted(left, "object is", "objects are");
            format!("Everything else fits: {left} not carried over, see above; nothing was written. The migration:")
        }
        _ => format!("Does not fit: {}; nothing was written. After the changes above:", obstacles.join(", ")),
    };
    print_plain(&format!("\n{conclusion} {command}\n"))
}

/// A command of contend for a shell, without a typed password.
fn command(words: impl Iterator<Item = String>, addressed: &[&str]) -> String {
    let words = without_passwords(words, addressed);
    ["contend".to_string()].into_iter().chain(words.iter().map(|word| quoted(word))).collect::<Vec<_>>().join(" ")
}

/// How many objects and values do not fit, in words; empty if everything fits.
pub fn obstacles(plan: &Plan, misfits: &[Misfit]) -> Vec<String> {
    let values = misfits.iter().map(|misfit| misfit.count).sum::<u64>();
    let refused = (!plan.refused.is_empty()).then(|| counted(plan.refused.len(), "object", "objects"));
    let values = (values > 0).then(|| counted(usize::try_from(values).unwrap_or(usize::MAX), "value", "values"));
    refused.into_iter().chain(values).collect()
}

/// Prints the parts of a database that cannot go back to SQLite.
///
/// # Errors
/// Standard output cannot be written.
pub fn back(way: &Way, objects: &[Entry], left: &[String]) -> Result<()> {
    let mut sections = vec![];
    if !left.is_empty() {
        sections.push(section("left", "Not carried over", vec![Block::List(left.to_vec())]));
    }
    let facts = vec![counted(objects.len(), "statement of the schema", "statements of the schema")];
    document("Migration", way, facts, sections)
}

/// Prints the proof. Returns whether all tables are the same.
///
/// # Errors
/// Standard output cannot be written.
pub fn proof(way: &Way, proofs: &[Proof]) -> Result<bool> {
    let is_same = proofs.iter().all(|proof| proof.differs.is_none());
    let mut table = Table::new(&["table", "SQLite's rows|", "digest", "server's rows|", "digest", ""]);
    for proof in proofs {
        let (sqlite, server) = (&proof.sqlite, &proof.server);
        let (said, tone) = if proof.differs.is_none() { ("the same", Tone::Better) } else { ("DIFFERS", Tone::Worse) };
        table.row([
            Cell::new(&*proof.table),
            Cell::new(grouped(sqlite.rows)),
            Cell::new(&*sqlite.digest),
            Cell::new(grouped(server.rows)),
            Cell::new(&*server.digest),
            Cell::new(said).tone(tone),
        ]);
    }
    let mut blocks = vec![Block::Table(table)];
    let differ = proofs.iter().filter_map(|proof| Some(format!("{}: {}", proof.table, proof.differs.as_ref()?)));
    let differ: Vec<String> = differ.collect();
    if !differ.is_empty() {
        blocks.push(Block::List(differ));
    }
    let facts = vec![if is_same { "every row is the same" } else { "NOT THE SAME" }.to_string()];
    document("Proof", way, facts, vec![section("proof", "Read back, as SQLite has it", blocks)])?;
    Ok(is_same)
}

/// Prints whether `contend shim` can go on with the database on the server of this address.
///
/// # Errors
/// Standard output cannot be written.
pub fn shim(file: &Path, to: &str, obstacles: &[String]) -> Result<()> {
    let file = file.display();
    if obstacles.is_empty() {
        let words = "runs a program that opens this file on the server's rows (docs/shim.md)";
        let first = "Try it under load first: a server runs transactions at the same time that SQLite runs one after the other. A program \
                     that does not retry refused transactions (SQLITE_BUSY_SNAPSHOT) can fail more often.";
        return print_plain(&format!("`{} -- COMMAND` {words}: {file}\n{first}\n", shim_command(to)));
    }
    print_plain(&format!("`contend shim` cannot go on with {file}: {}\n", obstacles.join("; ")))
}

/// The beginning of the command, without the address's password.
fn shim_command(to: &str) -> String {
    command(["shim", "--to", to].map(str::to_string).into_iter(), &["--to"])
}

#[cfg(test)]
mod tests {
    use super::{command, shim_command};

    #[test]
    fn a_command_is_shown_for_a_shell_and_without_a_password() {
        assert_eq!(shim_command("mysql://me:secret@db/app"), "contend shim --to mysql://me@db:3306/app");
        let shown = |addressed: &[&str], words: &str| command(words.split(' ').map(str::to_string), addressed);
        for typed in ["--to postgres://me:secret@db/app", "--to=postgres://me:secret@db/app"] {
            let expected = format!(r"contend migrate 'it'\''s.db' {}", typed.replace(":secret@db", "@db:5432"));
            assert_eq!(shown(&["--to"], &format!("migrate it's.db {typed}")), expected);
        }
        let typed = "migrate app.db --to mysql://me@db/app?password_env=PW";
        let expected = "contend migrate app.db --to 'mysql://me@db/app?password_env=PW'";
        assert_eq!(shown(&["--to"], typed), expected);
        let back = shown(&[], "migrate mysql://me:secret@db/app --to '' --schema=''");
        assert_eq!(back, r"contend migrate mysql://me@db:3306/app --to ''\'''\''' '--schema='\'''\'''");
    }
}
