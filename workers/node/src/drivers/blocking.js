'use strict';
// Drivers with the interface of better-sqlite3: every call blocks the event loop until SQLite answers. Integers are
// BigInt in both directions, to keep all 64 bits.

const { failure, wrongValue } = require('../failure');

/** A prepared statement, with the properties needed to execute it. */
class Prepared {
  constructor(made, statement, each) {
    this.made = made;
    this.statement = statement;
    this.each = each;
    // Stored because reading it is a call into the library.
    this.returns = made.reader;
  }
}

class Connection {
  constructor(db, library) {
    this.db = db;
    this.library = library;
  }

  get inTransaction() {
    return this.db.inTransaction;
  }

  make(sql) {
    const made = this.db.prepare(sql);
    made.safeIntegers(true);
    if (made.reader) made.raw(true);
    return made;
  }

  /**
   * With `each` it is prepared again for every execution, and once here, so that an error shows before the window.
   */
  prepare(statement, each) {
    return new Prepared(this.make(statement.sql), statement, each);
  }

  run(prepared, values) {
    const made = prepared.each ? this.make(prepared.statement.sql) : prepared.made;
    if (prepared.returns) return made.all(values);
    const { changes } = made.run(values);
    return prepared.statement.changes ? Number(changes) : 0;
  }

  columns(prepared) {
    return prepared.returns ? prepared.made.columns().length : 0;
  }

  value(rows, row, column) {
    const value = this.library.plain(rows[row][column]);
    if (value === undefined) throw wrongValue('a value of a type that SQLite does not have');
    return value;
  }

  names(rows, row) {
    return Object.keys(rows[row]);
  }

  close() {
    this.db.close();
  }
}

/** SQLite's versions, queried from a database in memory. */
function versions(open, driver) {
  const db = open(':memory:');
  const ask = (sql) => db.prepare(sql).raw(true).all([]);
  const engine = `SQLite ${ask('SELECT sqlite_version()')[0][0]}`;
  const compileOptions = ask('PRAGMA compile_options').map(([option]) => option).join(',');
  // Whether a write is committed at once.
  db.exec('CREATE TABLE probe (value); INSERT INTO probe VALUES (1)');
  const autocommit = db.inTransaction ? 'off' : 'on';
  db.close();
  return { driver, engine, compileOptions, autocommit };
}

/**
 * A driver with this interface. `library` has the differences: name, version, `open`, `code` of an error, `plain`
 * values.
 */
function blocking(library, Opened = Connection) {
  return {
    name: library.name,
    blocks: true,
    interrupted: failure('sqlite', 9),
    versions: () => versions(library.open, `${library.module} ${library.version}`),
    failure(error) {
      const code = library.code(error);
      return code === undefined ? undefined : failure('sqlite', code, error.message);
    },
    open: ({ path }) => new Opened(library.open(path), library),
  };
}

module.exports = { Connection, blocking };
