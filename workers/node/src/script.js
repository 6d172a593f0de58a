'use strict';
// Carries out a script on its own connection. Errors of the database end it and are part of the reply. A malformed
// script, or one with an unknown driver or option, is refused.

const { SPACES } = require('./plan');
const connection = require('./connection');
const { failureOf, wrongValue } = require('./failure');
const { parseOptions } = require('./options');
const { Database } = require('./database');
const { Statement } = require('./statement');
const { FormatError, checkVersion, crop, escape, formatValue, opened, parseValue, unescape } = require('./text');

const VERSION = 2;

/** The lines of a script: its opening at once, the rest one by one. */
class Lines {
  constructor(text) {
    this.number = 0;
    this.guard(() => checkVersion('contend-script', VERSION, text.slice(0, Math.max(text.indexOf('\n'), 0))));
    this.lines = opened('script', text).split('\n');
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
      if (kind === 'option') this.options.push(fields.map(unescape));
      else if (kind === 'session') this.session.push(new Statement(unescape(fields[1]), fields[0]));
      else if (kind === 'database') this.database = new Database(fields);
      else this.driver = unescape(fields[0]);
    }
  }

  /** The kind of the next line; undefined at the end. */
  get kind() {
    const line = this.lines[this.number];
    return line === '' ? undefined : line.slice(0, Math.max(line.indexOf('\t'), 0)) || line;
  }

  take() {
    const line = this.lines[this.number];
    const found = this.guard(() => {
      const rest = line.slice(line.indexOf('\t') + 1);
      if (this.kind === 'row') return { row: rest.split('\t').map(parseValue) };
      const fields = rest.split('\t');
      if (this.kind === 'sql') return { statement: new Statement(unescape(fields[1]), fields[0]) };
      if (this.kind === 'load') {
        const statement = new Statement(unescape(fields[2]), 'changes', fields[1]);
        statement.group = fields[0] === '-' ? undefined : Number(fields[0]);
        return { statement };
      }
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
        if (kind === 'sql') await this.query(conn, line.statement);
        else await this.load(conn, line.statement, (number) => { at = number; });
      }
    } catch (error) {
      if (error instanceof FormatError) throw error;
      this.error(at, error);
    } finally {
      await conn?.close();
    }
    return `${this.reply.concat('end').join('\n')}\n`;
  }

  async query(conn, statement) {
    const rows = await connection.execute(conn, statement);
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
    // Only now: a value that cannot be formatted is an error of the statement, which then has no result.
    for (const line of lines) this.reply.push(line);
  }

  /** Inserts the rows that follow, in a transaction unless the script has begun one itself. */
  async load(conn, statement, at) {
    if (this.driver.load) {
      this.reply.push(`loaded\t${await this.driver.load(conn, statement, this.lines.rows(), at)}`);
      return;
    }
    const own = await this.begin(conn);
    try {
      this.reply.push(`loaded\t${await this.insert(conn, statement, at)}`);
      if (own) await connection.execute(conn, new Statement('COMMIT'));
    } catch (error) {
      if (own) await connection.execute(conn, new Statement('ROLLBACK'));
      throw error;
    }
  }

  async begin(conn) {
    try {
      await connection.execute(conn, new Statement('BEGIN'));
      return true;
    } catch (error) {
      if (/within a transaction/.test(error.message)) return false;
      throw error;
    }
  }

  async insert(conn, statement, at) {
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

/** The reply to a script. */
async function carryOut(text, driver) {
  const lines = new Lines(text);
  if (lines.driver !== driver.name) throw new Error(`script: driver ${lines.driver}: this worker has only ${driver.name}`);
  return new Script(lines, driver).carryOut(parseOptions(driver, lines.options));
}

module.exports = { carryOut };
