'use strict';
// Where a database server is (docs/formats.md). An address never carries a password, only where one is found, and no error
// repeats it.

const fs = require('fs');

function decode(text) {
  if (/%(?![0-9A-Fa-f]{2})/.test(text)) throw new Error('a `%` in the address of a server without two hexadecimal digits after it');
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error('the address of a server is not UTF-8');
  }
}

/** A text before and after the first separator; after it is nothing where there is none. */
function cut(text, separator) {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + separator.length)];
}

function passwordIn(path) {
  try {
    return fs.readFileSync(path, 'utf8').split('\n')[0].replace(/\r$/, '');
  } catch (error) {
    throw new Error(`the password is to be in ${path}, which cannot be read: ${error.code}`);
  }
}

function passwordOf(name) {
  const password = process.env[name];
  if (password === undefined) throw new Error(`the password is to be in the variable ${name}, which is not set for the worker`);
  return password;
}

function parameters(at, query) {
  for (const pair of query.split('&').filter((one) => one !== '')) {
    const [key, value] = cut(pair, '=');
    const text = decode(value);
    if (key === 'socket') at.socket = text;
    else if (key === 'password_file') at.password = passwordIn(text);
    else if (key === 'password_env') at.password = passwordOf(text);
    else throw new Error(`\`${key}\` is no part of a server's address; parts are socket, password_file and password_env`);
  }
  if (at.socket === '') throw new Error('socket= names no path');
}

/** `postgres://USER@HOST:PORT/DATABASE?password_file=PATH` and its relatives. */
function parseAddress(text, scheme, port) {
  if (!text.startsWith(`${scheme}://`)) throw new Error(`the address of a server of this driver begins with ${scheme}://`);
  const [rest, query] = cut(text.slice(scheme.length + 3), '?');
  const [authority, database] = cut(rest, '/');
  const sign = authority.lastIndexOf('@');
  if (sign < 1) throw new Error('the address of a server names the user: SCHEME://USER@HOST/DATABASE');
  if (authority.slice(0, sign).includes(':')) {
    throw new Error('the address of a server must not carry a password; name a file or variable that has it (password_file=PATH, password_env=NAME)');
  }
  const at = { user: decode(authority.slice(0, sign)), database: decode(database) };
  parameters(at, query);
  if (at.socket) return at;
  const place = /^(\[[^\]]*\]|[^:]*)(?::([0-9]+))?$/.exec(authority.slice(sign + 1));
  if (!place || place[1] === '') throw new Error('the address of a server names a host or a socket');
  at.host = decode(place[1].replace(/^\[|\]$/g, ''));
  at.port = place[2] === undefined ? port : Number(place[2]);
  if (at.port < 1 || at.port > 65535) throw new Error('the port of the server is no number from 1 to 65535');
  return at;
}

module.exports = { parseAddress };
