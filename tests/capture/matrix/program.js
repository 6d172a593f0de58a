// A program for each package of Node: 20 INSERTs with bound values in a transaction, 10 SELECTs.
const [kind, path] = process.argv.slice(2);
const INSERT = "INSERT INTO thing (name) VALUES (?)";
const SELECT = "SELECT name FROM thing WHERE id = ?";
const CREATE = "CREATE TABLE thing (id INTEGER PRIMARY KEY, name TEXT)";
const VERSION = "SELECT sqlite_version() AS version";

if (kind === "sqlite3") {
  const sqlite3 = require("sqlite3");
  const db = new sqlite3.Database(path);
  db.serialize(() => {
    db.run(CREATE).run("BEGIN");
    for (let i = 0; i < 20; i++) db.run(INSERT, `thing ${i}`);
    db.run("COMMIT");
    for (let i = 1; i <= 10; i++) db.all(SELECT, i, () => {});
    db.get(VERSION, (_, row) => console.log(row.version));
  });
} else {
  const db = kind === "node" ? new (require("node:sqlite").DatabaseSync)(path) : new (require(kind))(path);
  db.exec(CREATE);
  db.exec("BEGIN");
  const insert = db.prepare(INSERT);
  for (let i = 0; i < 20; i++) insert.run(`thing ${i}`);
  db.exec("COMMIT");
  const select = db.prepare(SELECT);
  for (let i = 1; i <= 10; i++) select.all(i);
  console.log(db.prepare(VERSION).get().version);
}
setTimeout(() => {}, 1000);
