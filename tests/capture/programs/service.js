// A service in Node: notes over HTTP, with the package sqlite3 or better-sqlite3.
const http = require("node:http");
const [kind, port] = process.argv.slice(2);
const CREATE = "CREATE TABLE IF NOT EXISTS note (id INTEGER PRIMARY KEY, author TEXT NOT NULL, body TEXT NOT NULL)";
const INSERT = "INSERT INTO note (author, body) VALUES (?, ?)";
const SELECT = "SELECT id, body FROM note WHERE author = ? ORDER BY id DESC LIMIT 20";

function open() {
  if (kind === "better-sqlite3") {
    const db = new (require("better-sqlite3"))("notes.db");
    db.pragma("journal_mode = WAL");
    db.exec(CREATE);
    const [insert, select] = [db.prepare(INSERT), db.prepare(SELECT)];
    return {
      add: (author, body, done) => done(null, insert.run(author, body)),
      all: (author, done) => done(null, select.all(author)),
      close: (done) => done(db.close()),
    };
  }
  const db = new (require("sqlite3").Database)("notes.db");
  db.configure("busyTimeout", 5000);
  db.serialize(() => db.run("PRAGMA journal_mode = WAL").run(CREATE));
  return {
    add: (author, body, done) => db.run(INSERT, [author, body], done),
    all: (author, done) => db.all(SELECT, [author], done),
    close: (done) => db.close(done),
  };
}

const db = open();
const server = http.createServer((request, response) => {
  const url = new URL(request.url, "http://localhost");
  const [author, body] = [url.searchParams.get("author"), url.searchParams.get("body")];
  const answer = (error, rows) => {
    response.statusCode = error ? 500 : 200;
    response.end(JSON.stringify(rows ?? {}));
  };
  request.method === "POST" ? db.add(author, body, answer) : db.all(author, answer);
});
server.listen(Number(port), "127.0.0.1");
process.on("SIGTERM", () => server.close(() => db.close(() => process.exit(0))));
