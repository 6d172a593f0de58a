//! Who holds, or may hold, the locks for which clients of MariaDB wait. The server reports it for row locks only: for
//! others it follows from granted locks and from statements. Pure.

use super::look::{Client, State};
use std::collections::BTreeSet;

/// Locks for which clients wait. Further ones have the server's names.
pub const ROW: &str = "row";
pub const DEFINITION: &str = "table definition";
pub const NAMED: &str = "named lock";
/// What `FLUSH TABLES WITH READ LOCK` and `BACKUP` take.
const BACKUP: &str = "backup lock";
const TABLE: &str = "table level lock";

/// Kinds of granted locks, as the server names them.
pub const HELD_NAMED: &str = "User lock";
const HELD_TABLE: &str = "Table metadata lock";
const HELD_BACKUP: &str = "Backup lock";

/// Modes of the backup lock in which statements take it that change rows or definitions. The others keep such statements
/// out.
const OF_CHANGES: [&str; 6] = [
    "MDL_BACKUP_DML",
    "MDL_BACKUP_TRANS_DML",
    "MDL_BACKUP_SYS_DML",
    "MDL_BACKUP_DDL",
    "MDL_BACKUP_ALTER_COPY",
    "MDL_BACKUP_COMMIT",
];
/// Beginning of the modes that keep all of these statements out.
const OF_FLUSH: &str = "MDL_BACKUP_FTWRL";

/// A granted lock.
#[derive(Debug, Default)]
pub struct Held {
    pub client: u64,
    pub kind: String,
    pub mode: String,
    /// For a named lock its name.
    pub schema: String,
    pub table: String,
}

/// Clients that hold a lock.
#[derive(Debug, Default, PartialEq)]
pub struct Holders {
    pub clients: BTreeSet<u64>,
    /// Otherwise they may hold it.
    pub are_certain: bool,
    /// The locked object, if it is known better than from the wait.
    pub what: Option<String>,
}

impl Holders {
    fn certain_if_one(clients: BTreeSet<u64>) -> Holders {
        Holders { are_certain: clients.len() == 1, clients, what: None }
    }
}

/// Holders of the lock for which a client waits; of a named lock with its name, if that is known.
pub fn holders(waiter: &Client, name: Option<&str>, clients: &[Client], held: &[Held]) -> Holders {
    let what = waiter.wait.as_ref().map_or("", |wait| &wait.what);
    let of_others: Vec<&Held> = held.iter().filter(|lock| lock.client != waiter.id).collect();
    let found = match what {
        NAMED => {
            let is_it = |lock: &&&Held| lock.kind == HELD_NAMED && name.is_none_or(|name| lock.schema == name);
            Holders::certain_if_one(of_others.iter().filter(is_it).map(|lock| lock.client).collect())
        }
        BACKUP => of_backup(waiter, clients, &of_others),
        DEFINITION => of_definition(waiter, clients, &of_others),
        // A client that waits for a table has locked its definition.
        TABLE => {
            let its: Vec<&Held> = held.iter().filter(|l| l.client == waiter.id && l.kind == HELD_TABLE).collect();
            let is_same = |lock: &Held| its.iter().any(|own| (&own.schema, &own.table) == (&lock.schema, &lock.table));
            let waits = |id: u64| clients.iter().any(|client| client.id == id && waits_for(client, TABLE));
            let is_it = |lock: &&&Held| lock.kind == HELD_TABLE && is_same(lock) && !waits(lock.client);
            Holders::certain_if_one(of_others.iter().filter(is_it).map(|lock| lock.client).collect())
        }
        _ => Holders::default(),
    };
    if found.clients.is_empty() && [DEFINITION, TABLE].contains(&what) {
        return Holders { clients: at_same_table(waiter, clients), ..Holders::default() };
    }
    found
}

fn waits_for(client: &Client, what: &str) -> bool {
    client.wait.as_ref().is_some_and(|wait| wait.what == what)
}

/// Holders of the server-wide lock. A statement that changes something is kept out by clients that took the lock for a
/// backup, or wait to do so; those wait for the statements that change something.
fn of_backup(waiter: &Client, clients: &[Client], of_others: &[&Held]) -> Holders {
    let holding = |is_it: &dyn Fn(&Held) -> bool| -> BTreeSet<u64> {
        let its = of_others.iter().filter(|lock| lock.kind == HELD_BACKUP && is_it(lock));
        its.map(|lock| lock.client).collect()
    };
    let is_of_change = |lock: &Held| OF_CHANGES.contains(&&*lock.mode);
    let all_of = |clients: BTreeSet<u64>| Holders { are_certain: !clients.is_empty(), clients, what: None };
    if begins_with(waiter, &["FLUSH"]) {
        return all_of(holding(&is_of_change));
    }
    if begins_with(waiter, &["BACKUP"]) {
        return Holders::certain_if_one(holding(&|_| true));
    }
    let flushed = holding(&|lock| lock.mode.starts_with(OF_FLUSH));
    if !flushed.is_empty() {
        return all_of(flushed);
    }
    let backed_up = holding(&|lock| !is_of_change(lock));
    if !backed_up.is_empty() {
        return Holders::certain_if_one(backed_up);
    }
    let is_ahead = |client: &&Client| {
        client.id != waiter.id && waits_for(client, BACKUP) && begins_with(client, &["FLUSH", "BACKUP"])
    };
    Holders::certain_if_one(clients.iter().filter(is_ahead).map(|client| client.id).collect())
}

/// Holders of the lock of a table's definition. The server does not report for which table a client waits: it is known if
/// the waiting statement names one locked table only.
fn of_definition(waiter: &Client, clients: &[Client], of_others: &[&Held]) -> Holders {
    let words = words(waiter.statement.as_deref().unwrap_or_default());
    let is_change = begins_with(waiter, &CHANGES);
    let is_in_way = |lock: &&&Held| {
        lock.kind == HELD_TABLE
            && names(&words, &waiter.database, &lock.schema, &lock.table)
            && (is_change || lock.keeps_out_readers_or_writers(clients))
    };
    let its: Vec<&&Held> = of_others.iter().filter(is_in_way).collect();
    let tables: BTreeSet<(&str, &str)> = its.iter().map(|lock| (&*lock.schema, &*lock.table)).collect();
    let what = match (tables.len(), tables.first()) {
        (1, Some((schema, table))) => Some(format!("definition of {schema}.{table}")),
        _ => None,
    };
    Holders { clients: its.iter().map(|lock| lock.client).collect(), are_certain: what.is_some(), what }
}

impl Held {
    /// Whether the lock may keep out a statement that does not change definitions: it is exclusive to some extent, or its
    /// holder waits to make it so.
    fn keeps_out_readers_or_writers(&self, clients: &[Client]) -> bool {
        let is_exclusive =
            ["EXCLUSIVE", "NO_READ_WRITE", "NO_WRITE", "READ_ONLY"].iter().any(|end| self.mode.ends_with(end));
        let waits = |client: &Client| client.id == self.client && waits_for(client, DEFINITION);
        is_exclusive && !self.mode.ends_with("INTENTION_EXCLUSIVE") || clients.iter().any(waits)
    }
}

/// Clients that execute a statement on a table that the waiting statement names, too.
fn at_same_table(waiter: &Client, clients: &[Client]) -> BTreeSet<u64> {
    let its = tables(waiter);
    let works = |client: &&Client| client.state == State::Active && client.wait.is_none() && client.id != waiter.id;
    let is_at_one = |client: &&Client| !tables(client).is_disjoint(&its);
    clients.iter().filter(works).filter(is_at_one).map(|client| client.id).collect()
}

/// First words of statements that wait for every other lock of their table.
const CHANGES: [&str; 5] = ["ALTER", "DROP", "OPTIMIZE", "RENAME", "TRUNCATE"];

fn begins_with(client: &Client, verbs: &[&str]) -> bool {
    let words = words(client.statement.as_deref().unwrap_or_default());
    words.first().is_some_and(|first| is_one_of(first, verbs))
}

fn is_one_of(word: &str, all: &[&str]) -> bool {
    all.iter().any(|one| one.eq_ignore_ascii_case(word))
}

/// Schema and name, in small letters, of tables that the statement of a client names: the words after those that precede
/// a table. Of a list only the first.
fn tables(client: &Client) -> BTreeSet<(String, String)> {
    const BEFORE: [&str; 7] = ["FROM", "JOIN", "UPDATE", "INTO", "TABLE", "TABLES", "TRUNCATE"];
    /// Words between those and the table.
    const BETWEEN: [&str; 6] = ["LOW_PRIORITY", "IGNORE", "QUICK", "IF", "EXISTS", "TABLE"];
    /// `FOR UPDATE`, `ON DUPLICATE KEY UPDATE`, `FROM (SELECT`.
    const OTHER_UPDATES: [&str; 2] = ["FOR", "KEY"];
    const NO_TABLES: [&str; 2] = ["SELECT", "WITH"];
    let words = words(client.statement.as_deref().unwrap_or_default());
    let mut found = BTreeSet::new();
    for (at, word) in words.iter().enumerate() {
        let is_other = at.checked_sub(1).is_some_and(|before| is_one_of(words[before], &OTHER_UPDATES));
        if !is_one_of(word, &BEFORE) || is_other {
            continue;
        }
        let mut rest = words[at + 1..].iter().skip_while(|word| is_one_of(word, &BETWEEN)).copied();
        let Some(first) = rest.next().filter(|first| !is_one_of(first, &NO_TABLES)) else { continue };
        let (schema, table) = match (rest.next(), rest.next()) {
            (Some("."), Some(table)) => (first, table),
            _ => (&*client.database, first),
        };
        found.insert((schema.to_lowercase(), table.to_lowercase()));
    }
    found
}

/// The names, keywords and points of a statement without values.
fn words(sql: &str) -> Vec<&str> {
    let (mut words, mut rest) = (vec![], sql);
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let quoted = rest.strip_prefix('`').and_then(|rest| Some((rest, rest.find('`')?)));
        let (word, length) = match quoted {
            Some((inner, end)) => (&inner[..end], end + 2),
            None => {
                let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len()).max(first.len_utf8());
                (&rest[..end], end)
            }
        };
        if first == '.' || first == '`' || is_word(first) {
            words.push(word);
        }
        rest = &rest[length..];
    }
    words
}

/// Whether a statement names this table, with its schema or in a session that uses it.
fn names(words: &[&str], database: &str, schema: &str, table: &str) -> bool {
    let is_named = |(at, _): (usize, &&str)| match at.checked_sub(2).map(|before| (words[before], words[at - 1])) {
        Some((qualifier, ".")) => qualifier.eq_ignore_ascii_case(schema),
        _ => database.eq_ignore_ascii_case(schema),
    };
    words.iter().enumerate().filter(|(_, word)| word.eq_ignore_ascii_case(table)).any(is_named)
}

#[cfg(test)]
mod tests {
    use super::super::look::Wait;
    use super::*;

    fn waits_at(what: &str, id: u64, statement: &str) -> Client {
        let wait = Some(Wait { ns: 1, what: what.to_string(), ..Wait::default() });
        Client { wait, ..works(id, statement) }
    }

    fn waits(id: u64, statement: &str) -> Client {
        waits_at(DEFINITION, id, statement)
    }

    fn works(id: u64, statement: &str) -> Client {
        let statement = Some(statement.to_string());
        Client { id, database: "shop".into(), state: State::Active, statement, ..Client::default() }
    }

    fn held(client: u64, mode: &str, schema: &str, table: &str) -> Held {
        let mode = format!("MDL_{mode}");
        Held { client, mode, schema: schema.into(), table: table.into(), kind: HELD_TABLE.into() }
    }

    fn backup(client: u64, mode: &str) -> Held {
        Held { kind: HELD_BACKUP.into(), ..held(client, &format!("BACKUP_{mode}"), "", "") }
    }

    /// The clients that certainly hold the lock for which the first client waits, and those that may.
    fn of_first(clients: &[Client], name: Option<&str>, locks: &[Held]) -> (Vec<u64>, Vec<u64>) {
        let found = holders(&clients[0], name, clients, locks);
        let all = found.clients.into_iter().collect();
        if found.are_certain { (all, vec![]) } else { (vec![], all) }
    }

    /// The clients that block one which waits with this statement.
    fn blockers(statement: &str, locks: &[Held]) -> Vec<u64> {
        of_first(&[waits(1, statement)], None, locks).0
    }

    #[test]
    fn the_holder_of_a_metadata_lock_has_locked_the_table_that_the_statement_names() {
        let locks = || {
            vec![
                held(2, "SHARED_READ", "shop", "order"),
                held(3, "SHARED_WRITE", "shop", "e"),
                held(4, "SHARED_READ", "tenant2", "orders"),
                held(5, "SHARED_READ", "tenant1", "orders"),
            ]
        };
        assert_eq!(blockers("ALTER TABLE tenant1.orders ADD COLUMN ?", &locks()), [5]);
        assert_eq!(blockers("ALTER TABLE `tenant1`.`orders` ADD x INT", &locks()), [5]);
        assert_eq!(blockers("ALTER TABLE orders ADD x INT", &locks()), [0; 0], "of the schema shop, which holds none");
        assert_eq!(blockers("DROP TABLE `order`", &locks()), [2]);
        let two = "ALTER TABLE tenant1.orders ADD COLUMN e INT";
        assert_eq!(of_first(&[waits(1, two)], None, &locks()), (vec![], vec![3, 5]), "it names two locked tables");
        assert_eq!(blockers("SELECT * FROM tenant1.orders", &locks()), [0; 0], "readers do not keep out readers");
    }

    #[test]
    fn a_reader_waits_for_the_change_that_waits_itself() {
        let clients = [waits(1, "SELECT * FROM t"), waits(2, "ALTER TABLE t ADD x INT")];
        let locks = [held(2, "SHARED_UPGRADABLE", "shop", "t"), held(3, "SHARED_READ", "shop", "t")];
        let of = |waiter| holders(waiter, None, &clients, &locks).clients.into_iter().collect::<Vec<_>>();
        assert_eq!((of(&clients[0]), of(&clients[1])), (vec![2], vec![3]));
        assert_eq!(blockers("UPDATE t SET a = ?", &[held(7, "EXCLUSIVE", "shop", "t")]), [7]);
        assert_eq!(blockers("UPDATE t SET a = ?", &[held(7, "INTENTION_EXCLUSIVE", "shop", "t")]), [0; 0]);
    }

    #[test]
    fn a_named_lock_has_the_holder_of_that_name() {
        let named = |client, name| Held { kind: HELD_NAMED.into(), ..held(client, "SHARED_NO_WRITE", name, "") };
        let (waiter, locks) = ([waits_at(NAMED, 1, "SELECT GET_LOCK(?, ?)")], [named(2, "a"), named(3, "b")]);
        assert_eq!(of_first(&waiter, Some("b"), &locks), (vec![3], vec![]));
        assert_eq!(of_first(&waiter, None, &locks), (vec![], vec![2, 3]));
        assert_eq!(of_first(&waiter, None, &locks[..1]), (vec![2], vec![]), "there is no other");
        assert_eq!(of_first(&waiter, Some("c"), &locks), (vec![], vec![]));
    }

    #[test]
    fn the_server_wide_lock_is_held_by_a_backup_or_by_the_changes_before_it() {
        let change = |id| waits_at(BACKUP, id, "INSERT INTO t VALUES (?)");
        let flush = |id| waits_at(BACKUP, id, "FLUSH TABLES WITH READ LOCK");
        let all = [backup(2, "FTWRL2"), backup(3, "TRANS_DML"), backup(4, "BLOCK_DDL"), backup(5, "COMMIT")];
        assert_eq!(of_first(&[change(1)], None, &all), (vec![2], vec![]), "it keeps out all that is changed");
        assert_eq!(of_first(&[change(1)], None, &all[1..]), (vec![4], vec![]));
        assert_eq!(of_first(&[flush(1)], None, &all[1..]), (vec![3, 5], vec![]));
        assert_eq!(of_first(&[change(1), flush(6)], None, &all[1..2]), (vec![6], vec![]), "it waits ahead");
        let stages = [backup(2, "WAIT_FLUSH"), backup(4, "BLOCK_DDL")];
        assert_eq!(of_first(&[change(1)], None, &stages), (vec![], vec![2, 4]), "one of them");
        assert_eq!(of_first(&[change(1)], None, &[]), (vec![], vec![]), "without the plugin");
    }

    #[test]
    fn a_table_is_locked_by_a_client_that_uses_it_and_does_not_wait() {
        let waiter = |id| waits_at(TABLE, id, "INSERT INTO ar VALUES (?)");
        let of = |client| held(client, "SHARED_WRITE", "shop", "ar");
        let other = held(4, "SHARED_READ", "shop", "ib");
        assert_eq!(of_first(&[waiter(1), waiter(2)], None, &[of(1), of(2), of(3), other]), (vec![3], vec![]));
        // Without the plugin: by statements.
        let clients = [
            waiter(1),
            waiter(2),
            works(3, "UPDATE LOW_PRIORITY shop.AR SET v = SLEEP(?)"),
            works(4, "SELECT * FROM (SELECT ? FROM ib) x FOR UPDATE"),
            works(5, "SELECT ar FROM other.ar"),
            Client { state: State::Idle, ..works(6, "UPDATE ar SET v = ?") },
        ];
        assert_eq!(of_first(&clients, None, &[]), (vec![], vec![3]));
        let changes = [waits(1, "LOCK TABLES ar WRITE"), works(2, "INSERT INTO t SELECT * FROM `ar`")];
        assert_eq!(of_first(&changes, None, &[]), (vec![], vec![2]));
    }
}
