'use strict';
// Options of driver and model that are not SQL; an unknown one is an error.

const { Statement } = require('./statement');

const OF_SQLITE = ['busy_timeout_ms', 'foreign_keys'];

function oneOf(name, value, words) {
  if (!words.includes(value)) {
    throw new Error(`option ${name}: \`${value}\` is not one of its values (${words.join(', ')})`);
  }
  return value;
}

function parseOptions(driver, pairs) {
  const options = { busyTimeoutMs: undefined, each: false, foreignKeys: undefined };
  for (const [name, value] of pairs) {
    if (driver.server && OF_SQLITE.includes(name)) {
      throw new Error(`option ${name}: it is SQLite's, and driver ${driver.name} connects to a server`);
    }
    switch (name) {
      case 'busy_timeout_ms':
        if (!/^[0-9]+$/.test(value) || Number(value) > 2147483647) {
          throw new Error(`option ${name}: \`${value}\` is not a number from 0 to 2147483647`);
        }
        options.busyTimeoutMs = Number(value);
        break;
      case 'statements':
        options.each = oneOf(name, value, ['prepared', 'each']) === 'each';
        break;
      case 'foreign_keys':
        options.foreignKeys = oneOf(name, value, ['on', 'off']);
        break;
      case 'lock_wait':
        if (oneOf(name, value, ['measured', 'off']) === 'measured') {
          throw new Error(`option lock_wait: driver ${driver.name} cannot measure what it waits for locks`);
        }
        break;
      default:
        throw new Error(`option ${name}: this worker does not know it`);
    }
  }
  return options;
}

/** Statements for the options, run on a new SQLite connection before those of the session. */
function before(options) {
  const statements = [];
  if (options.busyTimeoutMs !== undefined) statements.push(`PRAGMA busy_timeout = ${options.busyTimeoutMs}`);
  if (options.foreignKeys) statements.push(`PRAGMA foreign_keys = ${options.foreignKeys}`);
  return statements.map((sql) => new Statement(sql, 'rows'));
}

module.exports = { before, parseOptions };
