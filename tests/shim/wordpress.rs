//! WordPress with its SQLite plugin, unchanged: it is installed on the server, or goes there from a file that it used, and its
//! pages are those of SQLite.

use super::{Stage, fed, fixture, has, is_there, text};
use crate::support::root;
use std::process::Command;

/// What is done and printed first, then lists, a search, a post with its comments, a category, a month; and in the
/// administration an overview, posts, a search, comments.
const REQUESTS: [&str; 10] = [
    "actions",
    "/",
    "/?s=sailing",
    "/?p=4",
    "/?cat=2",
    "/?m=202601",
    "/wp-admin/index.php",
    "/wp-admin/edit.php",
    "/wp-admin/edit.php?s=sailing",
    "/wp-admin/edit-comments.php",
];

/// What is asked of a site that goes on elsewhere.
const LATER: [&str; 4] = ["actions", "/", "/?s=sailing", "/wp-admin/edit.php"];

#[test]
fn wordpress_answers_the_same() {
    const TEST: &str = "WordPress through the shim";
    let wordpress = root().join("target/apps/wordpress/wordpress");
    let is_built = is_there(wordpress.join("wp-load.php").is_file(), "target/apps/wordpress (make apps)", TEST);
    if is_built && has("php", TEST) {
        let wordpress = wordpress.display().to_string();
        let stages = Stage::both();
        // The plugin wants the file to be there.
        let [file, moved, new] = ["sqlite.db", "moved.db", "new.db"];
        stages.iter().for_each(|stage| std::fs::write(stage.path(new), "").expect("written"));
        std::fs::write(stages[0].path(file), "").expect("written");
        let sqlite = |request: &&str| {
            let said = answer(&stages[0], &wordpress, request, (file, false));
            assert!(!said.contains("failed: ") && said.len() > 1_000, "{request}: {said}");
            said
        };
        let first = REQUESTS.each_ref().map(sqlite);
        for stage in &stages {
            std::fs::copy(stages[0].path(file), stage.path(moved)).expect("copied");
        }
        let later = LATER.each_ref().map(sqlite);
        for stage in &stages {
            same(stage, &wordpress, new, REQUESTS.iter().zip(&first));
            let tables = "SELECT count(*) FROM information_schema.tables WHERE table_name IN ('wp_posts', 'wp_users')";
            assert_eq!(stage.server.asked(tables), "2", "the tables are on the server");
            let (from, dsn) = (stage.path(moved).display().to_string(), stage.dsn());
            let output = fed(stage.place.bench.command(&["migrate", &from, "--to", &dsn]), "");
            assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
            same(stage, &wordpress, moved, LATER.iter().zip(&later));
        }
    }
}

/// Through the shim WordPress answers what it answered with SQLite.
fn same<'a>(stage: &Stage, wordpress: &str, database: &str, asked: impl Iterator<Item = (&'a &'a str, &'a String)>) {
    for (request, sqlite) in asked {
        let shim = answer(stage, wordpress, request, (database, true));
        for (one, other) in sqlite.lines().zip(shim.lines()) {
            assert_eq!(other, one, "{database}{request}");
        }
        assert_eq!(shim.lines().count(), sqlite.lines().count(), "{database}{request}");
    }
}

/// What WordPress answers to a request; the first one installs the site.
fn answer(stage: &Stage, wordpress: &str, request: &str, (database, by_shim): (&str, bool)) -> String {
    let database = stage.path(database).display().to_string();
    let program = ["php", &fixture("wordpress.php"), wordpress, &database, request];
    let command = if by_shim {
        // WordPress makes its tables in a transaction.
        let options: &[&str] = if stage.is_mariadb() { &["--ddl", "commit"] } else { &[] };
        stage.shim(options, &program)
    } else {
        let mut command = Command::new(program[0]);
        command.args(&program[1..]);
        command
    };
    let output = fed(command, "");
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{request}: {said}{}", text(&output.stderr));
    said
}
