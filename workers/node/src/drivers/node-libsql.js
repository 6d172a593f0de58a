'use strict';
// libsql, Turso's fork of SQLite, through its interface compatible with better-sqlite3, on a file.

const fs = require('fs');
const path = require('path');
const Database = require('libsql');
const { Connection, blocking } = require('./blocking');
const { wrongValue } = require('../failure');

// The package does not export its package.json.
const { version } = JSON.parse(fs.readFileSync(path.join(path.dirname(require.resolve('libsql')), 'package.json'), 'utf8'));

/** When it reads, the library ends a text at its first NUL, so a text with NUL would be changed. */
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
    // If a file cannot be opened, only the message has the code.
    const found = /ConnectionFailed\(.*: ([0-9]+)"\)/.exec(error.message);
    return found ? Number(found[1]) : undefined;
  },
  plain: (value) => value,
}, Whole);
