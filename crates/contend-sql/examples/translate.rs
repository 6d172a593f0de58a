//! Translates SQL from standard input, statements apart by a line with `;;`. DDL is learned on the way.
//! `cargo run -p contend-sql --example translate -- postgres|mariadb`

use std::io::Read;

use contend_sql::{Catalogue, Options, Target, translate};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let target = match std::env::args().nth(1).as_deref() {
        Some("mariadb") => Target::MariaDb,
        _ => Target::Postgres,
    };
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let mut catalogue = Catalogue::default();
    for sql in text.split(";;").map(str::trim).filter(|s| !s.is_empty()) {
        match translate(sql, &catalogue, &Options::to(target)) {
            Ok(translation) => translation.statements.iter().for_each(|s| println!("{};", s.sql)),
            Err(refusal) => println!("-- refused: {sql}\n-- {refusal}"),
        }
        if let Err(refusal) = catalogue.learn(sql) {
            println!("-- not learned: {refusal}");
        }
    }
    Ok(())
}
