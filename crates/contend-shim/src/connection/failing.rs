//! Errors of the server, and what follows from them.

use super::State;
use crate::c::front::{Failed, Front};
use crate::fault::{self, Key};
use crate::server::{Kind, Message, Said, Trouble};
use crate::value::Value;
use contend_wire::kept::literal;

impl State {
    /// Converts the server's error to SQLite's, and applies its consequences.
    pub fn fails(&mut self, front: &Front, trouble: &Trouble) -> Failed {
        let key = match trouble {
            Trouble::Server(said) if said.kind == Kind::Unique => self.key(said, front),
            _ => None,
        };
        let failed = fault::failed(trouble, self.link.is_in_transaction(), key.as_ref());
        if fault::ends_transaction(trouble) && self.link.is_in_transaction() {
            let _ = self.link.end("ROLLBACK");
            self.left(front);
        }
        failed
    }

    /// The unique key that an index on the server implements.
    fn key(&mut self, said: &Said, front: &Front) -> Option<Key> {
        let index = said.constraint.as_deref()?;
        let table = said.table.as_deref().unwrap_or_default();
        let ask = self.library.dialect.ask_key(&self.name, table, index);
        let answers = self.link.perform(vec![Message::query(ask)]).ok()?;
        let mut key = Key { index: index.to_string(), ..Key::default() };
        for row in &answers.first()?.rows {
            let [Value::Text(table), column] = row.as_slice() else { return None };
            key.table = String::from_utf8_lossy(table).into_owned();
            match column {
                Value::Text(name) => key.columns.push(String::from_utf8_lossy(name).into_owned()),
                _ => {
                    key.columns.clear();
                    return Some(key);
                }
            }
        }
        let sql = format!("SELECT name FROM pragma_table_info({}) WHERE pk > 0 ORDER BY pk", literal(&key.table));
        let primary: Vec<Value> = front.rows(&sql).ok()?.into_iter().flatten().collect();
        key.is_primary = primary == key.columns.iter().map(|column| Value::text(column)).collect::<Vec<_>>();
        Some(key)
    }
}
