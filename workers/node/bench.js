'use strict';
// What the worker costs beside a bare loop on the same driver, reading rows by rowid: bare/worker, so 1 is no cost. In
// turns, so that both see the same machine. Without arguments all drivers of SQLite, and the floor: the null driver alone.

const fs = require('fs');
const os = require('os');
const path = require('path');
// Installed by scripts/build-workers-node.sh.
const home = process.env.CONTEND_NODE_WORKER ?? path.join(__dirname, '../../target/workers/node');
const { Run } = require(`${home}/src/run.js`);
const { parsePlan } = require(`${home}/src/plan.js`);
const load = (name) => require(`${home}/node_modules/${name}`);

const ROWS = 100000;
const READS = 20000;
const TURNS = Number(process.env.CONTEND_BENCH_TURNS ?? 101);
/** After so many reads a bare loop lets the event loop have its turn, about as often as the worker does. */
const AT_A_TIME = 1000;
const SQL = 'SELECT id, value, note FROM item WHERE rowid = ?';

function planText(driver, database, keys) {
  const ops = keys.map((key) => `op\t0\t0\ti${key}\n`).join('');
  return `contend-plan 2\nworker\t0\ndriver\t${driver}\tevent-loop\nconnections\tclient\nwindow\t0\t0\t1000000000\nnow\tclock\n`
    + `database\t${database}\nstatement\t0\t${SQL}\ntransaction\t0\tread\tread\t-\t0\t0\t1\nstep\tsql\t0\t1..1\t1\t-\tp0+0\n`
    + `retry\t1\t-\t-\t-\nclients\t1\nclient\t0\t0\tclosed\tcyclic\t${READS}\t0\t${keys.length}\n${ops}end\n`;
}

// Code is compiled for the shapes of objects: were all of the last turn's gone, it would have to be compiled again.
const kept = [];

/** What the reads take through the worker, its connection open. */
async function throughWorker(driver, text) {
  const run = new Run(parsePlan(text), driver);
  await run.prepare();
  kept.push(run);
  run.control.open(Infinity, 1e9);
  const close = run.close;
  run.close = () => {};
  let done;
  const took = await timed(async () => {
    done = await run.carryOut(process.hrtime.bigint());
  });
  await close.call(run);
  if (kept.length > 2) kept.shift();
  if (done.operations !== READS || done.failed !== 0) throw new Error(`${done.operations} reads, ${done.failed} failed`);
  return took;
}

/** The same with the driver alone: a new connection, and its reads. */
async function throughDriver(open, database, keys) {
  const bare = open(database, keys);
  const took = await bare.run();
  await bare.close();
  return took;
}

/** Time on the clock and of the processor, in nanoseconds. */
async function timed(work) {
  // As the worker does before it is ready: what made the plan is nobody's cost.
  global.gc();
  const cpu = process.cpuUsage();
  const begun = process.hrtime.bigint();
  await work();
  const wall = Number(process.hrtime.bigint() - begun);
  const { user, system } = process.cpuUsage(cpu);
  return { wall, cpu: (user + system) * 1000 };
}

/** A bare loop with the interface of better-sqlite3, integers as exact as in the worker. No program keeps the event loop to itself for
 * good, and it is there that what a library leaves behind with each query is cleared away. */
const blocking = (name) => (database, keys) => {
  const db = new (load(name))(database);
  const statement = db.prepare(SQL);
  statement.safeIntegers(true);
  statement.raw(true);
  const exact = keys.map(BigInt);
  const read = (from, to) => {
    for (let i = from; i < to; i++) if (statement.all([exact[i]]).length !== 1) throw new Error('a read without a row');
  };
  return {
    run: () => timed(async () => {
      for (let from = 0; from < exact.length; from += AT_A_TIME) {
        read(from, Math.min(from + AT_A_TIME, exact.length));
        await new Promise((resume) => setImmediate(resume));
      }
    }),
    close: () => db.close(),
  };
};

const callbacks = (database, keys) => {
  const { Database } = load('sqlite3');
  const db = new Database(database);
  const statement = db.prepare(SQL);
  const read = (key) => new Promise((resolve, reject) => {
    statement.all([key], (error, rows) => (error || rows.length !== 1 ? reject(error ?? new Error('a read without a row')) : resolve(rows)));
  });
  return {
    run: () => timed(async () => {
      for (let i = 0; i < READS; i++) await read(keys[i]);
    }),
    close: () => new Promise((resolve) => statement.finalize(() => db.close(resolve))),
  };
};

const BARE = { 'better-sqlite3': blocking('better-sqlite3'), libsql: blocking('libsql'), sqlite3: callbacks };

const median = (values) => values.slice().sort((a, b) => a - b)[Math.floor(values.length / 2)];

async function compare(name, database, keys) {
  const driver = require(`${home}/src/drivers/${name}.js`);
  const text = planText(driver.name, database, keys);
  const sides = [() => throughDriver(BARE[name], database, keys), () => throughWorker(driver, text)];
  for (const side of sides) await side();
  const walls = [];
  const cpus = [];
  const times = [[], []];
  for (let turn = 0; turn < TURNS; turn++) {
    const took = [];
    for (const side of turn % 2 ? [1, 0] : [0, 1]) took[side] = await sides[side]();
    walls.push(took[0].wall / took[1].wall);
    cpus.push(took[0].cpu / took[1].cpu);
    took.forEach(({ cpu }, side) => times[side].push(cpu / READS));
  }
  const [own, worker] = times.map((list) => Math.round(median(list)));
  const range = (list) => `${median(list).toFixed(3)} (${Math.min(...list).toFixed(3)} to ${Math.max(...list).toFixed(3)})`;
  console.log(`${driver.name.padEnd(20)} bare/worker ${range(walls)} on the clock, ${range(cpus)} of the processor; `
    + `${TURNS} turns of ${READS} reads; processor per read: bare ${own} ns, worker ${worker} ns`);
}

async function floor(keys) {
  const driver = require(`${home}/src/drivers/null.js`);
  const text = planText(driver.name, 'none', keys);
  const times = [];
  for (let turn = 0; turn < TURNS; turn++) times.push((await throughWorker(driver, text)).wall / READS);
  console.log(`${driver.name.padEnd(20)} floor ${Math.round(median(times))} ns per operation (median of ${TURNS} turns of ${READS})`);
}

async function main() {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'contend-bench-node-'));
  try {
    const database = path.join(dir, 'bench.db');
    const db = new (load('better-sqlite3'))(database);
    db.exec(`PRAGMA journal_mode = WAL; CREATE TABLE item (id INTEGER, value INTEGER, note TEXT);
      WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${ROWS - 1}) INSERT INTO item SELECT i, i % 100, 'item ' || i FROM n`);
    db.close();
    let state = 1;
    const keys = Array.from({ length: READS }, () => {
      state = (state * 48271) % 2147483647;
      return 1 + (state % ROWS);
    });
    const names = process.argv.slice(2);
    for (const name of names.length > 0 ? names : Object.keys(BARE)) await compare(name, database, keys);
    await floor(keys);
  } finally {
    fs.rmSync(dir, { recursive: true });
  }
}

main();
