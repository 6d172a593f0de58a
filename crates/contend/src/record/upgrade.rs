//! Records of older formats, brought into the form of the newest as they are read. What version 1 said differently:
//! a worker had one role, in fields of its own instead of in a list.

use toml::{Table, Value};

/// Brings a `trial.toml` up to date. What does not look as expected is left for the reader to refuse.
pub fn trial(table: &mut Table) {
    if table.get("format").and_then(Value::as_integer) != Some(1) {
        return;
    }
    for worker in table.get_mut("workers").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(worker) = worker.as_table_mut() else { continue };
        let only: Table = ["role", "first_client", "clients"]
            .into_iter()
            .filter_map(|key| Some((key.to_string(), worker.remove(key)?)))
            .collect();
        worker.insert("roles".to_string(), Value::Array(vec![Value::Table(only)]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_role_of_a_worker_becomes_a_list_of_one() {
        let old = "format = 1\n[[workers]]\nnumber = 0\nrole = \"site\"\nfirst_client = 3\nclients = 2\n";
        let new =
            "format = 1\n[[workers]]\nnumber = 0\n[[workers.roles]]\nrole = \"site\"\nfirst_client = 3\nclients = 2\n";
        let mut table: Table = old.parse().unwrap();
        trial(&mut table);
        assert_eq!(table, new.parse().unwrap());
        let mut newest: Table = new.replacen('1', "2", 1).parse().unwrap();
        let before = newest.clone();
        trial(&mut newest);
        assert_eq!(newest, before);
    }
}
