'use strict';
// better-sqlite3.

const Database = require('better-sqlite3');
const { version } = require('better-sqlite3/package.json');
const { blocking } = require('./blocking');
const { codeOf } = require('./sqlite-codes');

const CANTOPEN = 14;

module.exports = blocking({
  name: 'node-better-sqlite3',
  module: 'better-sqlite3',
  version,
  open: (database) => new Database(database),
  code(error) {
    // The library checks the directory before it calls SQLite.
    if (error instanceof TypeError && /directory does not exist/.test(error.message)) return CANTOPEN;
    return typeof error.code === 'string' ? codeOf(error.code) : undefined;
  },
  plain: (value) => value,
});
