//! `contend new --from app.db`: a workload and a study from a database, for those who cannot capture their program.

use crate::alike::folded;
use crate::allowed::Allowed;
use crate::content::{look, open};
use crate::literal::{CHOICES, text, wrapped};
use crate::manifest::{Column, Table, write_private};
use crate::workload::generator::{line, of_column, plain};
use crate::workload::naming::Names;
use crate::workload::servers::{self, Server};
use crate::workload::tables::Tables;
use anyhow::{Context, Result, bail, ensure};
use clap::{ArgMatches, FromArgMatches, Parser, ValueHint};
use contend::cli::say;
use contend::cli::{OK, print};
use contend::slice::Verb;
use contend::workload::sql::quoted;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

/// Tables that get transactions, at most, those with the most rows.
const TABLES_MAX: usize = 6;

/// Make a workload and a study from a SQLite database: its schema, row counts, lengths and frequent values
#[derive(Parser)]
#[command(after_help = "Examples:
  contend new --from app.db            writes app/workload.toml and study.toml
  contend run app --quick              SQLite or a server for these tables?
  contend new --from app.db --without-values   all texts and numbers made up

The database is only read; a journal that a crash left is rolled back, as by any reader. Columns with at most 20 different texts or whole numbers get these values and
their shares, unless --without-values is given. What the program does with its tables is not known: the transactions are a beginning to edit.
If the program can be started here, `contend capture -- COMMAND` records the real ones.

Exit status: 0 written, 2 usage or environment.")]
struct NewArgs {
    /// The database
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    from: PathBuf,
    /// Directory for the two files [default: the database's name without its ending]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,
    /// Copy no values
    #[arg(long)]
    without_values: bool,
}

pub const VERB: Verb = Verb {
    name: "new",
    after: "replay",
    run: |matches: &ArgMatches| run(&NewArgs::from_arg_matches(matches)?),
    questions: &[("SQLite or a server for my tables?", "contend new --from app.db")],
    ..Verb::of::<NewArgs>()
};

fn run(args: &NewArgs) -> Result<u8> {
    ensure!(args.from.is_file(), "there is no file {}", args.from.display());
    let name = args.from.file_stem().context("name a database file")?;
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from(name));
    for file in ["workload.toml", "study.toml"] {
        ensure!(!out.join(file).exists(), "{} is there already; name another --out", out.join(file).display());
    }
    if out.exists() && !out.is_dir() {
        bail!("{} is a file; name a directory with --out", out.display());
    }
    let db = open(&args.from)?;
    let content = look(&db, None).with_context(|| format!("cannot read {}", args.from.display()))?;
    let tables = Tables::of(&content, Some(&db).filter(|_| !args.without_values));
    let mut left_out = vec![];
    let title = name.to_string_lossy();
    let workload = workload(&title, &tables, &mut left_out)?;
    let servers = servers::of(&title, &workload, None, &mut left_out)?;
    fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
    for (file, text) in [("workload.toml", &wrapped(&workload)), ("study.toml", &study(&title, &servers))] {
        let path = out.join(file);
        write_private(&path, text.as_bytes())?;
    }
    folded(&left_out).iter().for_each(|sentence| say(sentence));
    if !args.without_values {
        contend::tell!(
            "contend: Columns with at most {CHOICES} different texts or whole numbers have these values in workload.toml, and every record of it has \
             them too: --without-values leaves them out."
        );
    }
    let dir = out.display();
    print(&format!("{dir}/workload.toml\n{dir}/study.toml\nRun it: contend run {dir} --quick\n"))?;
    Ok(OK)
}

fn workload(name: &str, tables: &Tables, left_out: &mut Vec<String>) -> Result<String> {
    let mut out = format!(
        "# Made by contend new. The tables are those of the database; the transactions are a beginning: write those of your\n\
         # program, with their shares. docs/workload-file.md explains every key.\n\nabout = {}\n\n[scale]\n",
        text(&format!("Reads and writes of single rows of {name}"))
    );
    tables.write_scale(&mut out);
    tables.write(&mut out, &Names::default(), left_out)?;
    let mut all: Vec<(&Table, &Column)> =
        tables.all().into_iter().filter_map(|table| Some((table, id_of(table)?))).collect();
    all.retain(|(table, _)| table.rows > 0);
    all.sort_by_key(|(table, _)| std::cmp::Reverse(table.rows));
    ensure!(
        !all.is_empty(),
        "no table has rows and a primary key of one integer column: write the transactions by hand"
    );
    for (table, _) in all.iter().skip(TABLES_MAX) {
        left_out.push(format!("No transaction is made for table {}: others have more rows.", table.name));
    }
    let mut mix = vec![];
    for (table, id) in all.into_iter().take(TABLES_MAX) {
        transactions(&mut out, tables, (table, id), (&mut mix, left_out))?;
    }
    let _ = write!(out, "\n[profile.day]\nmix = {{ {} }}\n", mix.join(", "));
    Ok(out)
}

/// The column that is the rowid.
fn id_of(table: &Table) -> Option<&Column> {
    table.columns.iter().find(|column| crate::workload::generator::is_serial(table, column))
}

/// The generator of a value that a statement stores. It has no row, so it cannot rise with the rows.
fn of_value(tables: &Tables, table: &Table, column: &Column) -> Result<String> {
    let column = Column { rises: false, ..column.clone() };
    let allowed = Allowed::of(table, &column);
    Ok(of_column(tables.content, table, (&column, &allowed), tables.choices(table, &column)?))
}

/// Reads a row by its key, a list by a foreign key, changes a row, adds one.
fn transactions(
    out: &mut String,
    tables: &Tables,
    (table, id): (&Table, &Column),
    (mix, left_out): (&mut Vec<String>, &mut Vec<String>),
) -> Result<()> {
    let (name, table_name, id_name) = (plain(&table.name), quoted(&table.name), quoted(&id.name));
    let row = format!("{{ ref = {} }}", text(&format!("{}.{}", table.name, id.name)));
    let mut add =
        |out: &mut String, verb: &str, share: u32, (kind, sql, args): (&str, String, Vec<(String, String)>)| {
            let transaction = format!("{verb}_{name}");
            let _ = write!(out, "\n[transaction.{transaction}]\nkind = \"{kind}\"\n");
            if !args.is_empty() {
                let args: Vec<String> =
                    args.into_iter().map(|(name, generator)| format!("{name} = {generator}")).collect();
                line(out, "args", &format!("{{ {} }}", args.join(", ")));
            }
            let _ = write!(out, "\n[[transaction.{transaction}.step]]\nsql = {}\n", text(&sql));
            mix.push(format!("{transaction} = {share}"));
        };
    let by_id = format!("SELECT * FROM {table_name} WHERE {id_name} = :id");
    add(out, "read", 80, ("read", by_id, vec![("id".into(), row.clone())]));
    let target = |column: &Column| crate::workload::generator::target(tables.content, column).map(|(to, _)| to);
    let refers = |column: &&Column| target(column).is_some();
    if let Some(column) = table.columns.iter().find(refers) {
        let sql =
            format!("SELECT * FROM {table_name} WHERE {} = :of ORDER BY {id_name} DESC LIMIT 20", quoted(&column.name));
        let of = format!("{{ ref = {} }}", text(&target(column).unwrap_or_default()));
        add(out, "list", 10, ("read", sql, vec![("of".into(), of)]));
    }
    let is_free = |column: &&Column| *column != id && !column.is_unique() && !refers(column);
    if let Some(column) = table.columns.iter().find(is_free) {
        let sql = format!("UPDATE {table_name} SET {} = :value WHERE {id_name} = :id", quoted(&column.name));
        let value = of_value(tables, table, column)?;
        add(out, "change", 5, ("write", sql, vec![("id".into(), row), ("value".into(), value)]));
    }
    if table.columns.iter().any(|column| column.is_unique() && refers(&column)) {
        left_out
            .push(format!("No transaction adds rows to {}: which pairs of rows are free is not known.", table.name));
        return Ok(());
    }
    let (mut names, mut values, mut args) = (vec![], vec![], vec![]);
    for (i, column) in table.columns.iter().enumerate().filter(|(_, column)| *column != id) {
        let arg = format!("a{i}");
        let is_text = column.kind == "text";
        let generator = if column.is_unique() { "{ unique = true }".into() } else { of_value(tables, table, column)? };
        values.push(if column.is_unique() && is_text {
            format!("'u' || CAST(:{arg} AS TEXT)")
        } else {
            format!(":{arg}")
        });
        names.push(quoted(&column.name));
        args.push((arg, generator));
    }
    let sql = format!("INSERT INTO {table_name} ({}) VALUES ({})", names.join(", "), values.join(", "));
    if !names.is_empty() {
        add(out, "add", 5, ("write", sql, args));
    }
    Ok(())
}

fn study(name: &str, servers: &[Server]) -> String {
    let mut out = format!(
        "# Made by contend new. docs/study-file.md explains every key.\n\n\
         question = {}\nworkload = \"workload.toml\"\nkind = \"load\"\nheadline = \"throughput_ops_per_s\"\nbaseline = [\"SQLite\"]\n\
         limits = [\"The transactions are made from the schema, not from what a program does.\", \
         \"Programs and database share this machine.\"]\n\n\
         [settings]\nbegin = \"immediate\"\nbusy_timeout = 5000\nstatements = \"prepared\"\n\n[axes]\nprocesses = [1, 8]\n\n\
         [[contender]]\nengine = \"sqlite\"\nlabel = \"SQLite\"\ntier = \"durable\"\n\n\
         [load]\nclients = 1\nwindow = \"5s\"\n\n[quick]\nrounds = 6\nload = {{ window = \"1s\", run_in = \"200ms\" }}\n",
        text(&format!("SQLite or a server for {name}?"))
    );
    for Server { engine, title } in servers {
        let _ = write!(out, "\n[[contender]]\nengine = \"{engine}\"\nlabel = \"{title}\"\ntier = \"durable\"\n");
    }
    if servers.is_empty() {
        return out;
    }
    let list = |of: &mut dyn Iterator<Item = &str>| of.map(text).collect::<Vec<_>>().join(", ");
    let _ = write!(
        out,
        "\n[[answer]]\nask = \"Does a server get more done?\"\nmetric = \"throughput_ops_per_s\"\n\
         this = [{}]\nagainst = [{}]\n\n\
         [answer.words]\nfaster = \"Yes: {{this}} gets {{ratio}} times as much done ({{low}} to {{high}}).\"\n\
         slower = \"No: {{this}} gets {{ratio}} times as much done ({{low}} to {{high}}).\"\n\
         no-difference = \"{{this}} and SQLite get the same done.\"\n\
         cannot-tell = \"This run cannot tell {{this}}: anything from {{low}} to {{high}} times fits.\"\n\
         not-comparable = \"{{this}} cannot be compared in this run: {{reason}}.\"\n",
        list(&mut servers.iter().map(|server| server.title)),
        list(&mut servers.iter().map(|_| "SQLite"))
    );
    out
}
