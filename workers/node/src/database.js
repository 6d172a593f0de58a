'use strict';
// Location of a database: the fields of its line in plans and scripts, with the place of the password instead of the
// password.

const fs = require('fs');
const { unescape } = require('./text');

function passwordIn(path) {
  try {
    return fs.readFileSync(path, 'utf8').split('\n')[0].replace(/\r$/, '');
  } catch (error) {
    throw new Error(`the password is expected in ${path}, which cannot be read: ${error.code}`);
  }
}

function passwordOf(name) {
  const password = process.env[name];
  if (password === undefined) {
    throw new Error(`the password is expected in the variable ${name}, which is not set for the worker`);
  }
  return password;
}

/** A file with a `path`, or a database of a server, through `socket` or at `host` and `port`. */
class Database {
  constructor([kind, ...escaped]) {
    const fields = escaped.map(unescape);
    this.found = '-';
    if (kind === 'file') [this.path] = fields;
    else if (kind === 'socket') [this.socket, this.user, this.database, this.found] = fields;
    else if (kind === 'tcp') [this.host, this.port, this.user, this.database, this.found] = fields;
    else throw new Error(`database ${kind}: this worker opens files and connects to servers`);
    if (this.port) this.port = Number(this.port);
  }

  /** Reads the password from its place. */
  password() {
    const [kind] = this.found.split(':', 1);
    const where = this.found.slice(kind.length + 1);
    if (kind === 'file') return passwordIn(where);
    return kind === 'env' ? passwordOf(where) : undefined;
  }

  toString() {
    return this.path ?? `${this.user}@${this.socket ?? `${this.host}:${this.port}`}/${this.database}`;
  }

  /** Fails if a driver cannot use a database at such a place. */
  check(driver) {
    if (driver.server && this.path !== undefined) throw new Error(`database ${this}: this driver connects to a server`);
    if (!driver.server && !driver.nothing && this.path === undefined) throw new Error(`database ${this}: this driver opens files`);
  }
}

module.exports = { Database };
