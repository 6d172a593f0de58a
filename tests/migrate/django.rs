//! A database that Django made: its own migrations, its own types, there and back; then Django itself on the server.

use super::{Server, contents};
use crate::support::django::python;
use crate::support::place::Own;
use crate::support::root;
use rusqlite::Connection;
use std::process::Command;

#[test]
#[ignore = "installs Django; make verify runs it"]
fn a_database_of_django_goes_there_and_back() {
    let python = python();
    for start in [Own::postgres, Own::mariadb] {
        let server = Server::start(start);
        let shop = server.path("shop");
        std::fs::create_dir_all(shop.join("migrations")).expect("made");
        let files = root().join("tests/migrate/django");
        for (from, to) in [("models.py", "shop/models.py"), ("project.py", "project.py")] {
            std::fs::copy(files.join(from), server.path(to)).expect("copied");
        }
        for empty in ["__init__.py", "migrations/__init__.py"] {
            std::fs::write(shop.join(empty), "").expect("written");
        }
        let django = |args: &[&str]| {
            let mut command = Command::new(&python);
            let said = command.arg("project.py").args(args).current_dir(server.path("")).output().expect("Python");
            assert!(said.status.success(), "{args:?}: {said:?}");
            String::from_utf8(said.stdout).expect("text")
        };
        django(&["app.db", "makemigrations", "shop", "-v0"]);
        django(&["app.db", "migrate", "-v0"]);
        django(&["app.db", "fill"]);

        let said = server.migrates(&[]).exits(0);
        assert!(said.out.contains("every row is the same"), "{said:?}");
        assert!(!said.out.contains("left out with") && !said.out.contains("index "), "{said:?}");
        server.migrates_back("back.db").exits(0);
        let [there, back] = ["app.db", "back.db"].map(|file| Connection::open(server.path(file)).expect("a database"));
        for (there, back) in contents(&there).iter().zip(&contents(&back)) {
            assert!(there == back, "{} differs", there.0);
        }
        assert_eq!(django(&["app.db", "dumpdata"]), django(&["back.db", "dumpdata"]));

        if !server.is_mariadb {
            // Tables without booleans and times have the types that Django's own backend wants.
            let port = server.own.port.to_string();
            assert_eq!(django(&[&port, "more"]).trim(), "2 6", "the keys go on");
            django(&[&port, "migrate", "--check"]);
        }
    }
}
