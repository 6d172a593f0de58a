'use strict';
// The worker's cost compared with a bare loop on the same driver, reading rows by rowid from SQLite, and by primary
// key from the servers that the environment names: bare/worker, so 1 means no cost. The sides alternate, so that both
// have the same machine, and each has its own process, as outside of a benchmark: in one process, V8 would compile
// the library for the objects of both, and collect each side's garbage with the other's heap. The argument is a
// driver; `null` measures the overhead. Started by scripts/bench-workers-node.sh.

const { fork } = require('child_process');
const { once } = require('events');
const fs = require('fs');
const os = require('os');
const path = require('path');
// Installed by scripts/build-workers-node.sh.
const home = process.env.CONTEND_NODE_WORKER ?? path.join(__dirname, '../../target/workers/node');
const { Run } = require(`${home}/src/run.js`);
const { parsePlan } = require(`${home}/src/plan.js`);
const load = (name) => require(`${home}/node_modules/${name}`);
const driverOf = (name) => require(`${home}/src/drivers/node-${name}.js`);

const ROWS = 100000;
/** Number of reads after which a bare loop yields to the event loop, about as often as the worker does. */
const AT_A_TIME = 1000;
const SQL = 'SELECT id, value, note FROM item WHERE rowid = ?';
const NUMBERED = SQL.replace('?', '$1');
/** PostgreSQL's number of the type BIGINT. */
const INT8 = 20;
/** Reads per turn, number of turns, and turns of both sides before that, so that both are compiled. */
const EMBEDDED = { reads: 20000, turns: Number(process.env.CONTEND_BENCH_TURNS ?? 101), before: 1 };
const SERVER = { reads: 2000, turns: Number(process.env.CONTEND_BENCH_TURNS ?? 31), before: 10 };

function planText(driver, database, sql, keys) {
  const ops = keys.map((key) => `op\t0\t0\ti${key}\n`).join('');
  const body = `contend-plan 3\nworker\t0\ndriver\t${driver.name}\tevent-loop\nconnections\tclient\nwindow\t0\t0\t1000000000\nnow\tclock\n`
    + `database\t${database}\nstatement\t0\trows\t${sql === NUMBERED ? `${sql.length - 2}:1` : sql.length - 1}\t${sql}\ntransaction\t0\tread\tread\t-\t0\t0\t1\nstep\tsql\t0\t1..1\t1\t-\tp0+0\n`
    + `retry\t1\t-\t-\t-\nclients\t1\nclient\t0\t0\tclosed\tcyclic\t${keys.length}\t0\t${keys.length}\n${ops}`;
  return `${body}end\t${digest(body)}\n`;
}

// Code is compiled for object shapes: if all objects of the last turn were gone, it would be compiled again.
const kept = [];

/**
 * A turn through the worker: a run of its own, on the connection that the first run opened. With a new connection
 * each time, both sides would measure how the library is compiled for it.
 */
function workerSide(driver, text, reads) {
  let conn;
  return async () => {
    const run = new Run(parsePlan(text), driver);
    const [client] = run.clients;
    if (conn) client.use(conn);
    else await run.prepare();
    conn = client.conn;
    kept.push(run);
    run.control.open(Infinity, 1e9);
    run.close = () => {};
    let done;
    const took = await timed(async () => {
      done = await run.carryOut(process.hrtime.bigint());
    });
    if (kept.length > 2) kept.shift();
    if (done.operations !== reads || done.failed !== 0) throw new Error(`${done.operations} reads, ${done.failed} failed`);
    return took;
  };
}

/** Elapsed and processor time, in nanoseconds. */
async function timed(work) {
  // As the worker does before it is ready: preparing the plan is no side's cost.
  global.gc();
  const cpu = process.cpuUsage();
  const begun = process.hrtime.bigint();
  await work();
  const wall = Number(process.hrtime.bigint() - begun);
  const { user, system } = process.cpuUsage(cpu);
  return { wall, cpu: (user + system) * 1000 };
}

/**
 * A bare loop with the interface of better-sqlite3, with integers as exact as in the worker. It yields to the event
 * loop regularly, as programs do; the library frees its per-query objects there.
 */
const blocking = (name) => (database, keys) => {
  const db = new (load(name))(database);
  const statement = db.prepare(SQL);
  statement.safeIntegers(true);
  statement.raw(true);
  const exact = keys.map(BigInt);
  const read = (from, to) => {
    for (let i = from; i < to; i++) if (statement.all([exact[i]]).length !== 1) throw new Error('a read without a row');
  };
  return () => timed(async () => {
    for (let from = 0; from < exact.length; from += AT_A_TIME) {
      read(from, Math.min(from + AT_A_TIME, exact.length));
      await new Promise((resume) => setImmediate(resume));
    }
  });
};

const callbacks = (database, keys) => {
  const { Database } = load('sqlite3');
  const db = new Database(database);
  const statement = db.prepare(SQL);
  const read = (key) => new Promise((resolve, reject) => {
    statement.all([key], (error, rows) => (error || rows.length !== 1 ? reject(error ?? new Error('a read without a row')) : resolve(rows)));
  });
  return () => timed(async () => {
    for (const key of keys) await read(key);
  });
};

/**
 * A bare loop of a server's client, whose connection is opened as in the worker, with integers as exact. `reader`
 * returns the function that queries a key, and the one that extracts the rows of an answer.
 */
const server = (name, reader) => async (database, keys) => {
  const conn = await driverOf(name).open(new Database(database.split('\t')));
  const { ask, rowsOf } = reader(conn);
  const exact = keys.map(BigInt);
  // The library prepares the statement at its first execution; the worker does so before the start.
  await ask(exact[0]);
  return () => timed(async () => {
    for (const key of exact) if (rowsOf(await ask(key)).length !== 1) throw new Error('a read without a row');
  });
};

const pg = server('pg', ({ client }) => {
  const parsers = load('pg').types;
  const types = { getTypeParser: (oid, format) => (oid === INT8 ? BigInt : parsers.getTypeParser(oid, format)) };
  return {
    ask: (key) => client.query({ name: 'read', text: NUMBERED, values: [key], rowMode: 'array', types }),
    rowsOf: (answer) => answer.rows,
  };
});

const mysql2 = server('mysql2', ({ inner }) => ({
  ask: (key) => inner.execute({ sql: SQL, rowsAsArray: true }, [key]),
  rowsOf: ([rows]) => rows,
}));

/**
 * Bare loop and numbers of reads of each driver; for a server also the variable with the fields of its `database`
 * line, and the plan's statement.
 */
const DRIVERS = {
  'better-sqlite3': { bare: blocking('better-sqlite3'), sql: SQL, ...EMBEDDED },
  libsql: { bare: blocking('libsql'), sql: SQL, ...EMBEDDED },
  sqlite3: { bare: callbacks, sql: SQL, ...EMBEDDED },
  pg: { bare: pg, at: 'CONTEND_BENCH_POSTGRES', sql: NUMBERED, ...SERVER },
  mysql2: { bare: mysql2, at: 'CONTEND_BENCH_MARIADB', sql: SQL, ...SERVER },
};

const sorted = (values) => values.slice().sort((a, b) => a - b);
const median = (values) => sorted(values)[Math.floor(values.length / 2)];
/** The slowest of the fastest tenth, which other processes disturbed least. */
const fastest = (values) => sorted(values)[Math.ceil(values.length / 10) - 1];

/** Keys to read, the same in every process. */
function keysOf(reads) {
  let state = 1;
  return Array.from({ length: reads }, () => {
    state = (state * 48271) % 2147483647;
    return 1 + (state % ROWS);
  });
}

/** The process of one side: carries out a turn at each request, until its input ends. */
async function serve(name, side, database) {
  const { at, bare, sql, reads } = DRIVERS[name];
  const keys = keysOf(reads);
  const driver = driverOf(name);
  const turn = side === 'bare' ? await bare(at ? database : database.split('\t')[1], keys) : workerSide(driver, planText(driver, database, sql, keys), reads);
  process.on('message', async () => process.send(await turn()));
  process.on('disconnect', () => process.exit());
  process.send('ready');
}

/** The process of one side, seen from the bench. */
class Side {
  constructor(name, side, database) {
    this.child = fork(__filename, [name, side, database]);
    this.ended = once(this.child, 'exit').then(([code, signal]) => {
      throw new Error(`the process of the side ${side} of ${name} ended by itself (${code ?? signal})`);
    });
    // Between two turns nothing waits for the process, and after the last one it ends.
    this.ended.catch(() => {});
  }

  /** Its next message. If it ends instead, with any status, the bench fails. */
  async answer() {
    const [answer] = await Promise.race([this.ended, once(this.child, 'message')]);
    return answer;
  }

  /** Makes it carry out a turn; returns the times. */
  turn() {
    // If the send fails, its end and status are reported elsewhere.
    this.child.send('turn', () => {});
    return this.answer();
  }

  /** Waits for its end: its database is removed next. */
  async leave() {
    if (this.child.connected) this.child.disconnect();
    await this.ended.catch(() => {});
  }
}

async function compare(name, database) {
  const sides = [];
  try {
    for (const side of ['bare', 'worker']) {
      sides.push(new Side(name, side, database));
      await sides.at(-1).answer();
    }
    report(name, await measured(name, sides));
  } finally {
    for (const side of sides) await side.leave();
  }
}

/** Ratios of both sides by turn, in elapsed and in processor time, and processor time of a read by side. */
async function measured(name, sides) {
  const { reads, turns, before } = DRIVERS[name];
  for (let turn = 0; turn < before; turn++) for (const side of sides) await side.turn();
  const walls = [];
  const cpus = [];
  const times = [[], []];
  for (let turn = 0; turn < turns; turn++) {
    const took = [];
    for (const side of turn % 2 ? [1, 0] : [0, 1]) took[side] = await sides[side].turn();
    walls.push(took[0].wall / took[1].wall);
    cpus.push(took[0].cpu / took[1].cpu);
    took.forEach(({ cpu }, side) => times[side].push(cpu / reads));
  }
  return { walls, cpus, times };
}

function report(name, { walls, cpus, times }) {
  const { reads, turns } = DRIVERS[name];
  const [own, worker] = times.map((list) => Math.round(median(list)));
  const [ownFastest, workerFastest] = times.map((list) => Math.round(fastest(list)));
  const range = (list) => `${median(list).toFixed(3)} (${Math.min(...list).toFixed(3)} to ${Math.max(...list).toFixed(3)})`;
  console.log(`${driverOf(name).name.padEnd(20)} bare/worker ${range(walls)} on the clock, ${range(cpus)} of the processor, `
    + `${(ownFastest / workerFastest).toFixed(3)} between the fastest tenths; ${turns} turns of ${reads} reads; `
    + `processor per read: bare ${own} ns, worker ${worker} ns; fastest tenths ${ownFastest} ns, ${workerFastest} ns`);
}

async function floor() {
  const driver = driverOf('null');
  const { turns, reads } = EMBEDDED;
  const turn = workerSide(driver, planText(driver, 'none', SQL, keysOf(reads)), reads);
  const times = [];
  for (let i = 0; i < turns; i++) times.push((await turn()).wall / reads);
  const middle = Math.round(median(times));
  console.log(`${driver.name.padEnd(20)} floor ${middle} ns per operation (median of ${turns} turns of ${reads})`);
}

/** Creates a SQLite database with the table. */
function fill(database) {
  const db = new (load('better-sqlite3'))(database);
  db.exec(`PRAGMA journal_mode = WAL; CREATE TABLE item (id INTEGER, value INTEGER, note TEXT);
    WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${ROWS - 1})
    INSERT INTO item SELECT i, i % 100, 'item ' || i FROM n`);
  db.close();
}

async function main(name, side, database) {
  if (side) return serve(name, side, database);
  if (name === 'null') return floor();
  const { at } = DRIVERS[name];
  if (at) {
    if (process.env[at]) return compare(name, process.env[at]);
    return console.log(`${`node-${name}`.padEnd(20)} left out: ${at} names no server; scripts/bench-workers-node.sh starts one`);
  }
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'contend-bench-node-'));
  try {
    const made = path.join(dir, 'bench.db');
    fill(made);
    return await compare(name, `file\t${made}`);
  } finally {
    fs.rmSync(dir, { recursive: true });
  }
}

main(...process.argv.slice(2));
