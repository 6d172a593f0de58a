//! Whole workloads: errors with their lines, data and plans from a seed, and real SQLite.

mod data;
mod draw;
mod errors;
mod own;
mod preset;
mod sqlite;

use super::model::Workload;
use super::{LIBRARY, parse};
use crate::load::{Arrivals, Load};
use crate::source::Source;
use contend_wire::database::Database;
use contend_wire::script::Target;

/// A workload small enough to change one line of.
pub const SMALL: &str = r#"about = "small"

[scale]
items = 10
batch = { fixed = 3 }

[table.item]
ddl = "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, price REAL, note TEXT, data BLOB)"
indexes = ["CREATE INDEX item_name ON item (name)"]
rows = "items"

[table.item.columns]
id = { serial = 100, step = 2 }
name = { format = "item-{id}" }
price = { range = [0.5, 9.5] }
note = { words = 3, null = 0.5 }
data = { blob = 4, fill = 0 }

[transaction.look]
kind = "read"
args = { name = { ref = "item.name", zipf = 1.0 } }

[[transaction.look.step]]
sql = "SELECT id FROM item WHERE name = :name"
rows = 1

[transaction.add]
kind = "write"
begin = "immediate"

[transaction.add.args]
price = { range = [1.0, 2.0] }
note = { words = 4, pool = 5 }

[[transaction.add.step]]
sql = "INSERT INTO item (name, price, note) VALUES ('new-' || :serial, :price + :share, :note) RETURNING id"
rows = 1
repeat = "batch"
args = { serial = { unique = true }, share = { range = [0, 1] } }
keep = { id = 0 }

[[transaction.add.step]]
sql = "SELECT id FROM item ORDER BY id DESC LIMIT 5"
rows = [1, 5]
keep = { ids = { column = 0, max = 5 } }

[[transaction.add.step]]
sql = "SELECT count(*) FROM item WHERE id IN (:ids) AND id < :next"
rows = 1
args = { next = { kept = "id", plus = 1 } }

[[transaction.add.step]]
pause = "1ms"

[profile.mixed]
mix = { look = 3, add = 1 }

[role.worker]
processes = 2
clients = 2
pause = { exponential = "1ms" }

[[invariant]]
name = "items"
sql = "SELECT count(*) FROM item"
equals = "rows.item + 3*committed.add"
"#;

pub fn small() -> Workload {
    parse(&Source::new("small.toml", SMALL)).unwrap()
}

pub fn built_in(name: &str) -> Workload {
    parse(&LIBRARY.find(name).unwrap()).unwrap_or_else(|e| panic!("{e}"))
}

/// Opens nothing: no built-in workload has a file of rows.
fn no_file(path: &std::path::Path) -> std::io::Result<Box<dyn std::io::BufRead>> {
    panic!("{} is opened", path.display())
}

pub fn target() -> Target {
    Target { driver: "rusqlite".into(), database: Database::File("app.db".into()), options: vec![], session: vec![] }
}

pub fn load(operations: Option<u32>) -> Load {
    Load {
        processes: None,
        clients: None,
        operations,
        window_ns: 1_000_000_000,
        run_in_ns: 200_000_000,
        drain_ns: 0,
        rate_per_s: None,
        arrivals: Arrivals::Poisson,
        cycle: 200,
        scale: 1.0,
        seed: 1,
    }
}
