'use strict';
// Carries out a script on a connection of its own. Errors of the database end it and are part of the reply; a script that is
// not of the form, or whose driver or options are unknown, is refused.

const { SPACES } = require('./plan');
const connection = require('./connection');
const { failureOf, wrongValue } = require('./failure');
const { parseOptions } = require('./options');
const { Statement } = require('./sqltext');
const { FormatError, checkVersion, crop, escape, formatValue, parseValue, unescape } = require('./text');

const VERSION = 1;

/** The lines of a script: its opening at once, the rest one by one. */
class Lines {
  constructor(text) {
    this.lines = text.split('\n');
    this.number = 0;
    if (!text.endsWith('\nend\n')) throw new FormatError('script: cut off: its last line is not `end`');
    this.guard(() => checkVersion('contend-script', VERSION, this.lines[0]));
    this.number = 1;
    this.opening();
  }

  guard(read) {
    try {
      return read();
    } catch (error) {
      throw new FormatError(`script line ${this.number + 1}: ${error.message}`);
    }
  }

  opening() {
    this.options = [];
    this.session = [];
    for (; ; this.number++) {
      const [kind, ...fields] = this.lines[this.number].split('\t');
      if (!['driver', 'database', 'option', 'session'].includes(kind)) break;
      const texts = this.guard(() => fields.map(unescape));
      if (kind === 'option') this.options.push([texts[0], texts[1] ?? '']);
      else if (kind === 'session') this.session.push(texts[0]);
      else this[kind] = texts[0];
    }
    if (!this.driver || !this.database) throw new FormatError('script: it names no driver or no database');
  }

  /** The kind of the next line; undefined at the end. */
  get kind() {
    const line = this.lines[this.number];
    return line === 'end' ? undefined : line.slice(0, Math.max(line.indexOf('\t'), 0)) || line;
  }

  take() {
    const line = this.lines[this.number];
    const found = this.guard(() => {
      const rest = line.slice(line.indexOf('\t') + 1);
      if (this.kind === 'row') return { row: rest.split('\t').map(parseValue) };
      if (this.kind === 'sql' || this.kind === 'load') return { sql: unescape(rest) };
      throw new FormatError(`unknown kind of line \`${crop(this.kind)}\``);
    });
    this.number++;
    return { ...found, number: this.number };
  }

  *rows() {
    while (this.kind === 'row') yield this.take();
  }
}

class Script {
  constructor(lines, driver) {
    this.lines = lines;
    this.driver = driver;
    this.reply = [];
  }

  error(line, error) {
    const { space, code, message } = failureOf(error, this.driver);
    this.reply.push(`error\t${line}\t${SPACES[space]}\t${code}\t${escape(message ?? '')}`);
  }

  async carryOut(options) {
    let at = 0;
    let conn;
    try {
      conn = await connection.open(this.driver, this.lines.database, options, this.lines.session);
      while (this.lines.kind) {
        at = this.lines.number + 1;
        const { kind } = this.lines;
        if (kind === 'row') throw new FormatError(`script line ${at}: a row without a \`load\` before it`);
        const line = this.lines.take();
        if (kind === 'sql') await this.query(conn, line.sql);
        else await this.load(conn, line.sql, (number) => { at = number; });
      }
    } catch (error) {
      if (error instanceof FormatError) throw error;
      this.error(at, error);
    } finally {
      await conn?.close();
    }
    return `${this.reply.concat('end').join('\n')}\n`;
  }

  async query(conn, sql) {
    const rows = await connection.execute(conn, this.driver, sql);
    const count = typeof rows === 'number' ? 0 : rows.length;
    const lines = [`result\t${count}`];
    for (let i = 0; i < count; i++) {
      const values = conn.names(rows, i).map((_, column) => {
        const text = formatValue(conn.value(rows, i, column));
        if (text === undefined) throw wrongValue('a number that is not finite');
        return text;
      });
      lines.push(`row\t${values.join('\t')}`);
    }
    // Only now: a value without a form is the error of the statement, which then has no result.
    for (const line of lines) this.reply.push(line);
  }

  /** Inserts the rows that follow, in a transaction unless the script has begun one itself. */
  async load(conn, sql, at) {
    if (this.driver.load) {
      this.reply.push(`loaded\t${await this.driver.load(conn, sql, this.lines.rows(), at)}`);
      return;
    }
    const own = await this.begin(conn);
    try {
      this.reply.push(`loaded\t${await this.insert(conn, sql, at)}`);
      if (own) await connection.execute(conn, this.driver, 'COMMIT');
    } catch (error) {
      if (own) await connection.execute(conn, this.driver, 'ROLLBACK');
      throw error;
    }
  }

  async begin(conn) {
    try {
      await connection.execute(conn, this.driver, 'BEGIN');
      return true;
    } catch (error) {
      if (/within a transaction/.test(error.message)) return false;
      throw error;
    }
  }

  async insert(conn, sql, at) {
    const statement = new Statement(sql, this.driver.server);
    const prepared = await conn.prepare(statement, false);
    let count = 0;
    for (const { row, number } of this.lines.rows()) {
      at(number);
      if (row.length !== statement.params) {
        throw wrongValue(`${row.length} values for the ${statement.params} placeholders of \`load\``);
      }
      await conn.run(prepared, row);
      count++;
    }
    return count;
  }
}

/** The reply to the script in this text. */
async function carryOut(text, driver) {
  const lines = new Lines(text);
  if (lines.driver !== driver.name) throw new Error(`script: driver ${lines.driver}: this worker has only ${driver.name}`);
  return new Script(lines, driver).carryOut(parseOptions(driver, lines.options));
}

module.exports = { carryOut };
