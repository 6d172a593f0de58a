// A client of MariaDB in Node. mariadb.js PORT: prepared statements, whose texts the driver keeps.
const mysql = require("mysql2/promise");

async function main() {
  const db = await mysql.createConnection({
    host: "127.0.0.1", port: Number(process.argv[2]), user: "me", password: "geheim", database: "shop",
  });
  await db.query("CREATE TABLE word (id int PRIMARY KEY, t varchar(40), at datetime(6))");
  for (let id = 0; id < 30; id++) {
    await db.execute("INSERT INTO word VALUES (?, ?, ?)", [id, `secret-word-${id % 3}`, new Date(1e12)]);
  }
  await db.beginTransaction();
  const [rows] = await db.execute("SELECT t FROM word WHERE id >= ? FOR UPDATE", [10]);
  if (rows.length !== 20) throw new Error("rows");
  await db.commit();
  await db.end();
}

main();
