'use strict';
// node-sqlite3 (the package sqlite3): calls run on libuv's threads and answer through a callback. Integers are
// Numbers in both directions, so those beyond 2^53 are refused, and an integer cannot be distinguished from a real
// without a fraction.

const sqlite3 = require('sqlite3');
const { version } = require('sqlite3/package.json');
const { failure, wrongValue } = require('../failure');

// SQLITE_OPEN_EXRESCODE, which the library passes on: errors have extended codes.
const FLAGS = sqlite3.OPEN_READWRITE | sqlite3.OPEN_CREATE | 0x02000000;

const call = (work) => new Promise((resolve, reject) => work((error, value) => (error ? reject(error) : resolve(value))));

function bound(value) {
  if (typeof value !== 'bigint') return value;
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw wrongValue('an integer beyond 2^53, which this driver would change');
  return number;
}

class Connection {
  constructor(db) {
    this.db = db;
    this.busy = false;
    this.prepared = new Set();
  }

  async prepare(statement, each) {
    const made = await this.make(statement.sql);
    if (!each) this.prepared.add(made);
    else await call((done) => made.finalize(done));
    return { made, statement, each };
  }

  make(sql) {
    return new Promise((resolve, reject) => {
      const made = this.db.prepare(sql, (error) => (error ? reject(error) : resolve(made)));
    });
  }

  /** Without another promise if the statement is already prepared. */
  run(prepared, values) {
    const args = values.map(bound);
    return prepared.each ? this.prepareAndExecute(prepared, args) : this.execute(prepared.made, prepared.statement, args);
  }

  async prepareAndExecute(prepared, args) {
    const made = await this.make(prepared.statement.sql);
    try {
      return await this.execute(made, prepared.statement, args);
    } finally {
      await call((done) => made.finalize(done));
    }
  }

  execute(made, statement, args) {
    return new Promise((resolve, fail) => {
      // The library does not reset a failed statement; one that writes would then block commits of other connections.
      const reject = (error) => made.reset(() => fail(error));
      if (statement.returns) {
        made.all(args, (error, rows) => (error ? reject(error) : resolve(rows)));
      } else {
        made.run(args, function done(error) {
          if (error) reject(error);
          else resolve(statement.changes ? this.changes : 0);
        });
      }
    });
  }

  /** The library reports columns only with a row. SQLite reports their number when a missing column is requested. */
  async columns({ statement }) {
    if (statement.changes || !statement.returns) return Infinity;
    const names = Array.from({ length: 999 }, (_, i) => `c${i}`).join();
    try {
      const made = await this.make(`WITH asked(${names}) AS (${statement.sql}) SELECT * FROM asked`);
      await call((done) => made.finalize(done));
    } catch (error) {
      const found = /has ([0-9]+) values for/.exec(error.message);
      if (found) return Number(found[1]);
    }
    return Infinity;
  }

  value(rows, row, column) {
    const value = Object.values(rows[row])[column];
    if (value === undefined) throw wrongValue('a column that is not there, or has the name of another one');
    if (!Number.isInteger(value)) return value;
    if (!Number.isSafeInteger(value)) throw wrongValue('a number beyond 2^53, which this driver gives without its last digits');
    return BigInt(value);
  }

  names(rows, row) {
    return Object.keys(rows[row]);
  }

  interrupt() {
    this.db.interrupt();
  }

  async close() {
    for (const made of this.prepared) await call((done) => made.finalize(() => done()));
    await call((done) => this.db.close(done));
  }
}

function open({ path }) {
  return new Promise((resolve, reject) => {
    const db = new sqlite3.Database(path, FLAGS, (error) => (error ? reject(error) : resolve(new Connection(db))));
  });
}

async function versions() {
  const { db } = await open({ path: ':memory:' });
  const options = await call((done) => db.all('PRAGMA compile_options', done));
  // A transaction can begin after a write only if the write was committed.
  await call((done) => db.exec('CREATE TABLE probe (value); INSERT INTO probe VALUES (1)', done));
  const autocommit = await call((done) => db.exec('BEGIN', done)).then(() => 'on', () => 'off');
  await call((done) => db.close(done));
  return {
    driver: `sqlite3 ${version}`,
    engine: `SQLite ${sqlite3.VERSION}`,
    compileOptions: options.map((row) => row.compile_options).join(','),
    autocommit,
  };
}

module.exports = {
  name: 'node-sqlite3',
  interrupted: failure('sqlite', 9),
  versions,
  failure: (error) => (Number.isInteger(error.errno) && !error.syscall ? failure('sqlite', error.errno, error.message) : undefined),
  open,
};
