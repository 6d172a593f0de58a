'use strict';
// pg (node-postgres), with its JavaScript client. Values are sent as text, as the library does; rows arrive as
// arrays.

const path = require('path');
const pg = require('pg');
const { version } = require('pg/package.json');
const { sqlstate, wrongValue } = require('../failure');
const { integer } = require('../text');

const CONNECT_MS = 10000;
const INTERRUPT_EVERY_MS = 100;
const CANCELED = '57014';
const NOT_CONNECTED = '08001';
const LOST = '08006';

/** A value of a type without a counterpart in SQLite. */
class Foreign {
  constructor(oid) {
    this.oid = oid;
  }
}

/** A number with a fraction is a real, one without an integer; one too large for an integer is a real. */
const decimal = (text) => integer(text) ?? Number(text);
const text = (value) => value;
const PARSERS = new Map([
  [20, BigInt], [21, BigInt], [23, BigInt], [26, BigInt],
  [16, (value) => (value === 't' ? 1n : 0n)],
  [700, Number], [701, Number], [1700, decimal],
  [17, (value) => Buffer.from(value.slice(2), 'hex')],
  [25, text], [1043, text], [1042, text], [19, text], [705, text], [18, text], [114, text],
  [2278, () => null],
]);
const types = { getTypeParser: (oid) => PARSERS.get(oid) ?? (() => new Foreign(oid)) };

function bound(value) {
  if (typeof value === 'bigint') return value.toString();
  return Object.is(value, -0) ? '-0' : value;
}

/** Prepares a statement and reads its columns, without executing it. */
class Describe {
  constructor(name, sql, done) {
    Object.assign(this, { name, text: sql, done, columns: 0 });
  }

  submit(connection) {
    connection.parse({ name: this.name, text: this.text, types: [] });
    connection.describe({ type: 'S', name: this.name });
    connection.sync();
  }

  handleRowDescription(message) {
    this.columns = message.fields.length;
  }

  /** The library drops a query after its error. */
  handleError(error) {
    this.done(error);
  }

  handleReadyForQuery() {
    this.done(undefined, this.columns);
  }
}

/** A COPY ... FROM STDIN with this text. */
class Copy {
  constructor(sql, bytes, done) {
    Object.assign(this, { sql, bytes, done, count: 0 });
  }

  submit(connection) {
    connection.query(this.sql);
  }

  handleCopyInResponse(connection) {
    connection.sendCopyFromChunk(this.bytes);
    connection.endCopyFrom();
  }

  handleCommandComplete(message) {
    this.count = Number(/[0-9]+$/.exec(message.text)?.[0] ?? 0);
  }

  handleRowDescription() {}

  handleDataRow() {}

  /** The library drops a query after its error. */
  handleError(error) {
    this.done(error);
  }

  handleReadyForQuery() {
    this.done(undefined, this.count);
  }
}

/** Whether the server closes the connection after this error; the severity may be in the server's language. */
const isLast = ({ severity, code }) => severity === 'FATAL' || severity === 'PANIC' || /^57P/.test(code);

class Connection {
  constructor(client, config) {
    this.client = client;
    this.config = config;
    this.made = 0;
    this.busy = false;
    this.lost = false;
    this.interrupted = -Infinity;
    client.on('error', () => this.lose());
    client.on('end', () => this.lose());
  }

  lose() {
    this.lost = true;
  }

  submit(make) {
    return new Promise((resolve, reject) => {
      this.client.query(make((error, found) => (error ? reject(error) : resolve(found))));
    });
  }

  /** During the run a statement is sent to the server at its first execution. */
  async prepare(statement, each, inRun) {
    // BEGIN and COMMIT are sent as text, as programs do.
    const plain = statement.params === 0 && !statement.returns && !statement.changes;
    const name = each || plain ? '' : `s${this.made++}`;
    const columns = plain || inRun ? 0 : await this.submit((done) => new Describe(name, statement.sql, done));
    return { name: name || undefined, statement, columns };
  }

  async run({ name, statement }, values) {
    const args = values.length > 0 || name ? values.map(bound) : undefined;
    // Written out: a copy with an added property has a shape that no object keeps alive, so code compiled for it
    // would be discarded at the next full garbage collection.
    try {
      const { rows, rowCount } = await this.client.query({ name, text: statement.sql, values: args, rowMode: 'array', types });
      if (statement.returns) return rows;
      return statement.changes ? rowCount : 0;
    } catch (error) {
      if (isLast(error)) this.lose();
      throw error;
    }
  }

  columns(prepared) {
    return prepared.columns;
  }

  value(rows, row, column) {
    const value = rows[row][column];
    if (value instanceof Foreign) throw wrongValue(`a value of the type with number ${value.oid}, which has no counterpart in SQLite`);
    if (value === undefined) throw wrongValue('a column that is not there');
    return value;
  }

  names(rows, row) {
    return Object.keys(rows[row]);
  }

  /** Over a second connection, because the server does not read from this one while it works. */
  interrupt() {
    if (performance.now() - this.interrupted < INTERRUPT_EVERY_MS) return;
    this.interrupted = performance.now();
    const second = new pg.Client(this.config);
    second.on('error', () => {});
    second.connect()
      .then(() => (this.busy ? second.query('SELECT pg_cancel_backend($1)', [this.client.processID]) : undefined))
      .catch(() => {})
      .finally(() => second.end().catch(() => {}));
  }

  async close() {
    await this.client.end().catch(() => {});
  }
}

function config(at) {
  const found = { user: at.user, password: at.password() ?? '', database: at.database, host: at.host, port: at.port };
  if (at.socket) {
    const port = /^\.s\.PGSQL\.([0-9]+)$/.exec(path.basename(at.socket))?.[1];
    if (!port) throw new Error(`the socket ${at.socket} is not named .s.PGSQL.PORT`);
    Object.assign(found, { host: path.dirname(at.socket), port: Number(port) });
  }
  return { ...found, application_name: 'contend', connectionTimeoutMillis: CONNECT_MS, ssl: false };
}

async function open(database) {
  const where = config(database);
  const client = new pg.Client(where);
  const conn = new Connection(client, where);
  try {
    await client.connect();
  } catch (error) {
    error.connecting = true;
    throw error;
  }
  return conn;
}

const COPY_ESCAPES = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

function copied(value) {
  if (value === null) return '\\N';
  if (Buffer.isBuffer(value)) return `\\\\x${value.toString('hex')}`;
  if (typeof value !== 'string') return String(bound(value));
  if (value.includes('\0')) throw wrongValue('a text with a NUL character, which PostgreSQL cannot store');
  return value.replace(/[\\\t\n\r]/g, (c) => COPY_ESCAPES[c]);
}

async function load(conn, { sql, params }, rows, at) {
  if (params > 0) throw wrongValue('on PostgreSQL a `load` is a COPY ... FROM STDIN');
  const lines = [];
  for (const { row, number } of rows) {
    at(number);
    lines.push(`${row.map(copied).join('\t')}\n`);
  }
  return conn.submit((done) => new Copy(sql, Buffer.from(lines.join('')), done));
}

module.exports = {
  name: 'node-pg',
  server: true,
  interrupted: sqlstate(CANCELED),
  versions: () => ({ driver: `pg ${version}`, engine: 'PostgreSQL' }),
  failure(error) {
    if (error instanceof pg.DatabaseError && error.code) return sqlstate(error.code, `${error.message}${error.where ? ` ${error.where}` : ''}`);
    if (error.connecting) return sqlstate(NOT_CONNECTED, error.message);
    const gone = error.syscall || /terminated|not queryable|Connection ended/i.test(error.message);
    return gone ? sqlstate(LOST, error.message) : undefined;
  },
  open,
  load,
};
