'use strict';
// mysql2, for MariaDB and MySQL, through its promise interface: `execute` with prepared statements, `query` for text
// that contains the values.

const mysql = require('mysql2/promise');
const { ConnectionConfig, Types } = require('mysql2');
const { version } = require('mysql2/package.json');
const { failure, wrongValue } = require('../failure');
const { integer } = require('../text');

const CONNECT_MS = 10000;
const INTERRUPT_EVERY_MS = 100;
const INTERRUPTED = 1317;
const KILLED = 1927;
const NOT_CONNECTED = 2003;
const LOST = 2013;
// Errors after which the server closes the connection, which the library notices only at the next use: gone, lost,
// killed, shut down.
const LAST_WORDS = new Set([2006, LOST, KILLED, 1053]);
const CHUNK = 1 << 20;
const BINARY = 63;
const INTEGERS = new Set([Types.TINY, Types.SHORT, Types.INT24, Types.LONG, Types.LONGLONG, Types.YEAR]);
const REALS = new Set([Types.FLOAT, Types.DOUBLE]);
const DECIMALS = new Set([Types.DECIMAL, Types.NEWDECIMAL]);

/** A DECIMAL has all digits after the point; without a fraction it is an integer. */
function decimal(text) {
  const whole = text.includes('.') ? text.replace(/\.?0*$/, '') : text;
  return integer(whole) ?? Number(text);
}

function plain(value, field) {
  if (value === null) return null;
  if (INTEGERS.has(field.columnType)) return integer(String(value)) ?? Number(value);
  if (REALS.has(field.columnType)) return Number(value);
  if (DECIMALS.has(field.columnType)) return decimal(String(value));
  if (Buffer.isBuffer(value)) return field.characterSet === BINARY ? value : value.toString('utf8');
  if (typeof value === 'string') return value;
  throw wrongValue(`a value of type ${field.columnType}, which has no counterpart in SQLite`);
}

/** A literal with the same meaning under all of the session's settings for quotes and backslashes. */
function literal(value) {
  if (value === null) return 'NULL';
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'number') return value.toExponential();
  if (Buffer.isBuffer(value)) return `X'${value.toString('hex')}'`;
  return `_utf8mb4 X'${Buffer.from(value).toString('hex')}'`;
}

class Connection {
  constructor(inner, config) {
    this.inner = inner;
    this.config = config;
    this.busy = false;
    this.lost = false;
    this.interrupted = -Infinity;
    /** Fields of the statement that last returned rows; its values are read before the next one. */
    this.fields = undefined;
    inner.connection.on('error', () => {
      this.lost = true;
    });
  }

  /** The library prepares a statement at its first execution. */
  async prepare(statement, each, inRun) {
    // BEGIN and COMMIT are sent as text, as programs do.
    const simple = statement.params === 0 && !statement.returns && !statement.changes;
    let columns = 0;
    if (!simple && !inRun) {
      // The library's cache key is the text and the row format: without the format, the first execution would prepare
      // the statement again.
      const made = await this.inner.prepare({ sql: statement.sql, rowsAsArray: true });
      columns = made.statement.columns.length;
      if (each) await made.close();
    }
    return { statement, columns, text: each || simple, parts: statement.parts() };
  }

  async run({ statement, text, parts }, values) {
    const args = text && values.length > 0 ? values : undefined;
    const how = { sql: statement.sql, rowsAsArray: true };
    try {
      const [found, fields] = text
        ? await this.inner.query(args ? { ...how, sql: this.written(parts, args) } : how)
        : await this.inner.execute(how, values);
      if (statement.returns) {
        this.fields = fields;
        return found;
      }
      if (!statement.changes) return 0;
      // A row that is replaced or updated counts twice.
      return statement.upserts > 0 ? Math.min(found.affectedRows, statement.upserts) : found.affectedRows;
    } catch (error) {
      if (error.fatal || LAST_WORDS.has(error.errno) || /closed state/.test(error.message)) this.lost = true;
      throw error;
    }
  }

  /** The text with its values; the library would format BigInt and bytes differently. */
  written(parts, values) {
    return parts.map((part, i) => (i < values.length ? part + literal(values[i]) : part)).join('');
  }

  /** The result of INSERT ... RETURNING is not described in advance. */
  columns(prepared) {
    return prepared.text || prepared.statement.changes ? Infinity : prepared.columns;
  }

  value(rows, row, column) {
    if (column >= this.fields.length) throw wrongValue('a column that is not there');
    return plain(rows[row][column], this.fields[column]);
  }

  names() {
    return this.fields;
  }

  /** Over a second connection, because the server does not read from this one while it works. */
  interrupt() {
    if (performance.now() - this.interrupted < INTERRUPT_EVERY_MS) return;
    this.interrupted = performance.now();
    const id = this.inner.threadId;
    mysql.createConnection(this.config)
      .then(async (second) => {
        if (this.busy) await second.query(`KILL QUERY ${id}`);
        await second.end();
      })
      .catch(() => {});
  }

  async close() {
    if (this.lost) this.inner.destroy();
    else await this.inner.end().catch(() => this.inner.destroy());
  }
}

function config(at) {
  return {
    user: at.user,
    password: at.password() ?? '',
    database: at.database,
    ...(at.socket ? { socketPath: at.socket } : { host: at.host, port: at.port }),
    connectTimeout: CONNECT_MS,
    charset: 'utf8mb4',
    // 64-bit integers arrive as text if a Number would change them; times always do.
    supportBigNumbers: true,
    dateStrings: true,
    maxPreparedStatements: 10000,
  };
}

async function open(database) {
  const where = config(database);
  try {
    return new Connection(await mysql.createConnection(where), where);
  } catch (error) {
    error.connecting = true;
    throw error;
  }
}

/** Inserts the rows of a script in one transaction, many per statement. */
async function load(conn, statement, rows, at) {
  if (statement.group === undefined) throw wrongValue('a `load` is an INSERT ... VALUES (?, ...)');
  const opening = Buffer.from(statement.sql).toString('utf8', 0, statement.group);
  const group = statement.parts(statement.group);
  const count = statement.params;
  let loaded = 0;
  let size = 0;
  let groups = [];
  const flush = async () => {
    if (groups.length > 0) await conn.inner.query(opening + groups.join());
    groups = [];
    size = 0;
  };
  await conn.inner.query('BEGIN');
  try {
    for (const { row, number } of rows) {
      at(number);
      if (row.length !== count) throw wrongValue(`${row.length} values for the ${count} placeholders of \`load\``);
      groups.push(conn.written(group, row));
      size += groups[groups.length - 1].length;
      loaded++;
      if (size >= CHUNK) await flush();
    }
    await flush();
    await conn.inner.query('COMMIT');
  } catch (error) {
    await conn.inner.query('ROLLBACK').catch(() => {});
    throw error;
  }
  return loaded;
}

const errno = (number, words) => failure('mysql', number, words);

module.exports = {
  name: 'node-mysql2',
  server: true,
  interrupted: errno(INTERRUPTED),
  // A connection may be killed or lost together with its statement.
  cuts: [errno(LOST), errno(KILLED)],
  versions: () => ({
    driver: `mysql2 ${version}`,
    engine: 'MariaDB',
    statementCache: new ConnectionConfig({}).maxPreparedStatements,
  }),
  failure(error) {
    if (error.sqlState && error.errno > 0) return errno(error.errno, error.message);
    if (error.connecting) return errno(NOT_CONNECTED, error.message);
    return error.fatal || /closed state/.test(error.message) ? errno(LOST, error.message) : undefined;
  },
  open,
  load,
};
