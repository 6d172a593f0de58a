//! An unmodified Django project on its SQLite backend: its file goes to a server with `contend migrate`, the project goes on
//! there through `contend shim`, and its file comes back. The pages are the same at each step.

use super::{Stage, fed, fixture, text};
use crate::support::django::python;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A project in a directory, and a server.
struct Project {
    stage: Stage,
    dir: PathBuf,
    python: String,
}

impl Project {
    fn make(stage: Stage) -> Project {
        let dir = stage.path("project");
        let copied = Command::new("cp").arg("-r").args([&fixture("django")]).arg(&dir).status().expect("cp");
        assert!(copied.success());
        std::fs::create_dir(dir.join("shop/migrations")).expect("created");
        std::fs::write(dir.join("shop/migrations/__init__.py"), "").expect("written");
        let project = Project { stage, dir, python: python().display().to_string() };
        project.alone("none.db", &["manage.py", "makemigrations", "shop", "-v0"]);
        project
    }

    fn run(&self, mut command: Command, database: &str) -> String {
        command.current_dir(&self.dir).env("SHOP_DB", self.dir.join(database));
        let output = fed(command, "");
        assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
        text(&output.stdout)
    }

    /// What the project prints with SQLite.
    fn alone(&self, database: &str, args: &[&str]) -> String {
        let mut command = Command::new(&self.python);
        command.args(args);
        self.run(command, database)
    }

    /// What it prints through the shim.
    fn shim(&self, database: &str, args: &[&str]) -> String {
        let command: Vec<&str> = [self.python.as_str()].iter().chain(args).copied().collect();
        let options: &[&str] = if self.stage.is_mariadb() { &["--ddl", "commit"] } else { &[] };
        self.run(self.stage.shim(options, &command), database)
    }

    /// The same in both ways; what is printed.
    fn both(&self, databases: [&str; 2], args: &[&str]) -> String {
        let (alone, shim) = (self.alone(databases[0], args), self.shim(databases[1], args));
        // Pages are long: the first line that differs says enough.
        let differs = alone.lines().zip(shim.lines()).find(|(one, other)| one != other);
        assert_eq!(differs, None, "{args:?}");
        assert_eq!(alone, shim, "{args:?}");
        alone
    }

    fn migrate(&self, from: &str, to: &str) {
        let mut command = self.stage.place.bench.command(&["migrate", from, "--to", to]);
        command.current_dir(&self.dir);
        let output = fed(command, "");
        let said = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{said}{}", text(&output.stderr));
        assert!(said.contains("every row is the same"), "{said}");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::copy(from, to).expect("copied");
}

#[test]
#[ignore = "installs Django; make verify runs it"]
fn a_django_project_goes_to_postgresql_and_back() {
    there_and_back(&Project::make(Stage::start()));
}

#[test]
#[ignore = "installs Django; make verify runs it"]
fn a_django_project_goes_to_mariadb_and_back() {
    there_and_back(&Project::make(Stage::mariadb()));
}

fn there_and_back(project: &Project) {
    let server = project.stage.dsn();
    project.alone("app.db", &["manage.py", "migrate", "-v0"]);
    project.alone("app.db", &["pages.py", "fill"]);
    let first = project.alone("app.db", &["pages.py", "read"]);
    assert_eq!(first.matches("\n=== ").count() + 1, 25, "{first}");
    assert_eq!(first.matches(" 200 ").count(), 24, "{first}");
    // The same file stays with SQLite for comparison.
    copy(&project.path("app.db"), &project.path("sqlite.db"));

    project.migrate("app.db", &server);
    let file = std::fs::read(project.path("app.db")).expect("read");
    let databases = ["sqlite.db", "app.db"];
    assert_eq!(project.both(databases, &["pages.py", "read"]), first);
    let written = project.both(databases, &["pages.py", "write"]);
    assert!(
        written.contains("FOREIGN KEY constraint failed") && written.contains("unique IntegrityError"),
        "{written}"
    );
    let second = project.both(databases, &["pages.py", "read"]);
    assert_ne!(second, first);
    assert_eq!(std::fs::read(project.path("app.db")).expect("read"), file, "nothing went into the file");

    project.migrate(&server, "back.db");
    assert_eq!(project.alone("back.db", &["pages.py", "read"]), second);

    // Django changes the schema on the server.
    copy(&project.path("0002_later.py"), &project.path("shop/migrations/0002_later.py"));
    project.both(databases, &["manage.py", "migrate"]);
    let rows = project.both(databases, &["pages.py", "rows"]);
    assert!(rows.contains("'isbn 5'") && !rows.contains("shop_tag"), "{rows}");
    project.migrate(&server, "later.db");
    assert_eq!(project.alone("later.db", &["pages.py", "rows"]), rows);
}

#[test]
#[ignore = "installs Django; make verify runs it"]
fn a_django_project_begins_on_postgresql() {
    begins(&Project::make(Stage::start()));
}

#[test]
#[ignore = "installs Django; make verify runs it"]
fn a_django_project_begins_on_mariadb() {
    begins(&Project::make(Stage::mariadb()));
}

fn begins(project: &Project) {
    let databases = ["sqlite.db", "new.db"];
    for args in [
        ["manage.py", "migrate"],
        ["pages.py", "fill"],
        ["pages.py", "read"],
        ["pages.py", "write"],
        ["pages.py", "rows"],
    ] {
        project.both(databases, &args);
    }
    let functions = project.both(databases, &["pages.py", "functions"]);
    assert_eq!((functions.lines().count(), functions.matches(" fails\n").count()), (217, 111), "{functions}");
    // What only `contend shim` made goes back as well.
    let server = match project.stage.is_mariadb() {
        false => project.stage.dsn(),
        true => {
            let named = "SELECT TABLE_SCHEMA FROM information_schema.TABLES WHERE TABLE_NAME = '_contend_schema'";
            let name = project.stage.server.asked(named).replace('/', "%2F");
            project.stage.dsn().replace("/app", &format!("/{name}"))
        }
    };
    project.migrate(&server, "back.db");
    let args = ["pages.py", "rows"];
    assert_eq!(project.alone("back.db", &args), project.alone("sqlite.db", &args));
}
