'use strict';
// libsql, Turso's fork of SQLite, through its interface like that of better-sqlite3, on a file.

const fs = require('fs');
const path = require('path');
const Database = require('libsql');
const { Connection, blocking } = require('./blocking');
const { wrongValue } = require('../failure');

// The package does not export its own description.
const { version } = JSON.parse(fs.readFileSync(path.join(path.dirname(require.resolve('libsql')), 'package.json'), 'utf8'));

/** The library ends a text at its first NUL when it reads it: one that it is given would not come back as it was. */
class Whole extends Connection {
  run(prepared, values) {
    for (const value of values) {
      if (typeof value === 'string' && value.includes('\0')) throw wrongValue('a text with a NUL, which this driver would cut there');
    }
    return super.run(prepared, values);
  }
}

module.exports = blocking({
  name: 'node-libsql',
  module: 'libsql',
  version,
  open: (database) => new Database(database),
  code(error) {
    if (Number.isInteger(error.rawCode)) return error.rawCode;
    // A file that cannot be opened has its code in the words only.
    const found = /ConnectionFailed\(.*: ([0-9]+)"\)/.exec(error.message);
    return found ? Number(found[1]) : undefined;
  },
  plain: (value) => value,
}, Whole);
