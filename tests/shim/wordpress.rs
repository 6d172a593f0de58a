//! WordPress with its SQLite plugin, unchanged: it is installed on the server, and its pages are those of SQLite.

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

#[test]
fn wordpress_answers_the_same() {
    const TEST: &str = "WordPress through the shim";
    let wordpress = root().join("target/apps/wordpress/wordpress");
    let is_built = is_there(wordpress.join("wp-load.php").is_file(), "target/apps/wordpress (make apps)", TEST);
    if is_built && has("php", TEST) {
        let wordpress = wordpress.display().to_string();
        let stages = Stage::both();
        let sqlite = REQUESTS.map(|request| answer(&stages[0], &wordpress, request, false));
        for stage in stages {
            for (request, sqlite) in REQUESTS.iter().zip(&sqlite) {
                assert!(!sqlite.contains("failed: ") && sqlite.len() > 1_000, "{request}: {sqlite}");
                let shim = answer(&stage, &wordpress, request, true);
                for (one, other) in sqlite.lines().zip(shim.lines()) {
                    assert_eq!(other, one, "{request}");
                }
                assert_eq!(shim.lines().count(), sqlite.lines().count(), "{request}");
            }
            let tables = "SELECT count(*) FROM information_schema.tables WHERE table_name IN ('wp_posts', 'wp_users')";
            assert_eq!(stage.server.asked(tables), "2", "the tables are on the server");
        }
    }
}

/// What WordPress answers to a request; the first one installs the site.
fn answer(stage: &Stage, wordpress: &str, request: &str, by_shim: bool) -> String {
    let database = stage.path(if by_shim { "shim.db" } else { "sqlite.db" });
    if !database.exists() {
        // The plugin wants the file to be there.
        std::fs::write(&database, "").expect("written");
    }
    let database = database.display().to_string();
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
