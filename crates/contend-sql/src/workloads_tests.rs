//! Tests that the project's own workloads can be translated in portable mode, for both servers.

use crate::{Catalogue, Options, Target, translate};

/// The schema of a workload file and its statements.
fn texts(file: &str) -> (Vec<String>, Vec<String>) {
    let file: toml::Table = file.parse().expect("a workload file");
    let text = |value: &toml::Value| value.as_str().expect("a text").to_string();
    let (mut schema, mut statements) = (vec![], vec![]);
    for table in file["table"].as_table().expect("tables").values() {
        schema.push(text(&table["ddl"]));
        schema.extend(table.get("indexes").and_then(|i| i.as_array()).into_iter().flatten().map(text));
    }
    statements.extend(file.get("after_load").and_then(|a| a.as_array()).into_iter().flatten().map(text));
    for transaction in file["transaction"].as_table().expect("transactions").values() {
        let steps = transaction["step"].as_array().expect("steps");
        statements.extend(steps.iter().map(|step| text(&step["sql"])));
    }
    statements.extend(file.get("invariant").and_then(|i| i.as_array()).into_iter().flatten().map(|i| text(&i["sql"])));
    (schema, statements)
}

fn all_translate(schema: &[String], statements: &[String]) {
    assert!(!schema.is_empty() && !statements.is_empty());
    for target in [Target::Postgres, Target::MariaDb] {
        let mut catalogue = Catalogue::default();
        for ddl in schema {
            catalogue.learn(ddl).unwrap_or_else(|e| panic!("{ddl}\n{e}"));
        }
        for sql in schema.iter().chain(statements) {
            let translation =
                translate(sql, &catalogue, &Options::to(target)).unwrap_or_else(|e| panic!("{target:?}: {sql}\n{e}"));
            let main: Vec<_> = translation.statements.iter().filter(|s| s.main).collect();
            assert_eq!(main.len(), 1, "{sql}");
            if std::env::var_os("SHOW").is_some() {
                println!("{target:?}: {}\n    {:?}", main[0].sql, main[0].params);
            }
        }
    }
}

#[test]
fn wordpress() {
    let (schema, statements) = texts(include_str!("../../../workloads/wordpress.toml"));
    all_translate(&schema, &statements);
}

#[test]
fn bank() {
    let (schema, statements) = texts(include_str!("../../../workloads/bank.toml"));
    all_translate(&schema, &statements);
}

fn lines(text: &str) -> Vec<String> {
    text.split(';').map(str::trim).filter(|s| !s.is_empty()).map(str::to_string).collect()
}

#[test]
fn plex() {
    let schema = lines(
        "CREATE TABLE metadata_items (id INTEGER PRIMARY KEY, library_section_id INTEGER, parent_id INTEGER,
           metadata_type INTEGER, guid TEXT, title TEXT, title_sort TEXT, rating REAL, added_at INTEGER,
           updated_at INTEGER, summary TEXT NOT NULL DEFAULT '');
         CREATE INDEX items_guid ON metadata_items (guid);
         CREATE INDEX items_title_sort ON metadata_items (title_sort);
         CREATE INDEX items_section ON metadata_items (library_section_id);
         CREATE INDEX items_parent ON metadata_items (parent_id);
         CREATE INDEX items_added ON metadata_items (added_at);
         CREATE TABLE views (id INTEGER PRIMARY KEY AUTOINCREMENT, item_id INTEGER, view_offset INTEGER,
           updated_at INTEGER)",
    );
    let statements = lines(
        "BEGIN EXCLUSIVE; BEGIN IMMEDIATE; BEGIN DEFERRED; COMMIT; ROLLBACK;
         INSERT INTO metadata_items (guid, title, added_at) VALUES (?, ?, ?);
         INSERT INTO metadata_items (guid, title, added_at) VALUES ('plex://' || ?, 'Movie ' || ?2, ?3);
         UPDATE metadata_items SET updated_at = ? WHERE id = ?;
         SELECT id, title, rating FROM metadata_items WHERE id = ?;
         SELECT id, title, rating FROM metadata_items WHERE id BETWEEN 100 AND 200;
         INSERT INTO views (item_id, view_offset, updated_at) VALUES (:item, :offset, :now);
         SELECT id FROM metadata_items ORDER BY random() LIMIT 1;
         SELECT count(*) FROM metadata_items;
         SELECT id, title FROM metadata_items WHERE library_section_id = ? AND metadata_type IN (1, 2)
           ORDER BY title_sort COLLATE NOCASE ASC LIMIT 50 OFFSET 100",
    );
    all_translate(&schema, &statements);
}

#[test]
fn gameplan() {
    let standard = "name TEXT PRIMARY KEY, creation TEXT, modified TEXT, modified_by TEXT, owner TEXT,
        docstatus INTEGER NOT NULL DEFAULT 0, idx INTEGER NOT NULL DEFAULT 0";
    let schema = lines(&format!(
        "CREATE TABLE gp_discussion ({standard}, project TEXT, team TEXT, title TEXT, content TEXT, status TEXT,
           slug TEXT, last_post_at TEXT, last_post_by TEXT, comments_count INTEGER NOT NULL DEFAULT 0,
           participants_count INTEGER NOT NULL DEFAULT 0, closed_at TEXT, pinned_at TEXT);
         CREATE INDEX discussion_project ON gp_discussion (project);
         CREATE INDEX discussion_last ON gp_discussion (project, last_post_at);
         CREATE TABLE gp_comment ({standard}, content TEXT, reference_doctype TEXT, reference_name TEXT);
         CREATE TABLE gp_unread (name INTEGER PRIMARY KEY AUTOINCREMENT, user TEXT, discussion TEXT, project TEXT,
           comment TEXT, is_unread INTEGER NOT NULL DEFAULT 1);
         CREATE INDEX unread_discussion ON gp_unread (user, discussion, is_unread);
         CREATE TABLE gp_visit ({standard}, user TEXT, discussion TEXT, last_visit TEXT, UNIQUE (discussion, user));
         CREATE TABLE gp_project ({standard}, title TEXT, is_private INTEGER NOT NULL DEFAULT 0);
         CREATE TABLE gp_member ({standard}, parent TEXT, parentfield TEXT, parenttype TEXT, user TEXT);
         CREATE INDEX member_parent ON gp_member (parent);
         CREATE TABLE series (name TEXT PRIMARY KEY, current INTEGER NOT NULL)"
    ));
    let statements = lines(
        "SELECT d.*, p.title AS project_title FROM gp_discussion AS d LEFT JOIN gp_project AS p ON p.name = d.project
           WHERE p.is_private = 0 OR EXISTS (SELECT 1 FROM gp_member AS m WHERE m.parent = p.name AND m.user = :user)
           ORDER BY d.last_post_at DESC LIMIT :limit;
         SELECT discussion, count(*) AS unread FROM gp_unread
           WHERE user = :user AND is_unread = 1 AND discussion IN (:d1, :d2) GROUP BY discussion;
         SELECT name FROM gp_comment WHERE reference_doctype = 'GP Discussion' AND reference_name = :name
           AND creation > :visit ORDER BY creation LIMIT 1;
         UPDATE series SET current = current + 1 WHERE name = :series RETURNING_PLACE;
         SELECT current FROM series WHERE name = :series;
         UPDATE gp_unread SET is_unread = 0 WHERE user = :user AND discussion = :d;
         INSERT INTO gp_visit (name, user, discussion, last_visit) VALUES (:n, :u, :d, :now)
           ON CONFLICT DO NOTHING;
         INSERT INTO gp_unread (user, discussion, project, comment) VALUES (:u1, :d, :p, :c), (:u2, :d, :p, :c);
         DELETE FROM gp_member WHERE parent = :d AND parentfield = 'tags';
         SELECT count(DISTINCT owner) FROM gp_comment WHERE reference_name = :d",
    );
    let statements: Vec<String> = statements.iter().map(|s| s.replace(" RETURNING_PLACE", "")).collect();
    all_translate(&schema, &statements);
}
