'use strict';
// Values and texts in plans, scripts and replies (docs/formats.md), and messages of errors.
//
// In this program a value is null, a BigInt (integer), a Number (real), a string or a Buffer.

const { crc32 } = require('zlib');

const ESCAPES = { '\\': '\\', t: '\t', n: '\n', r: '\r', 0: '\0' };
const ESCAPED = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r', '\0': '\\0' };
const INTEGER_MIN = -(2n ** 63n);
const INTEGER_MAX = 2n ** 63n - 1n;

/** A format error; the reader of the lines adds the place. */
class FormatError extends Error {}

function unescape(field) {
  if (!field.includes('\\')) return field;
  return field.replace(/\\(.?)/gs, (whole, letter) => {
    const plain = letter === '' ? undefined : ESCAPES[letter];
    if (plain === undefined) throw new FormatError(`unknown escape \`${whole}\``);
    return plain;
  });
}

function escape(text) {
  // eslint-disable-next-line no-control-regex
  return /[\\\t\n\r\0]/.test(text) ? text.replace(/[\\\t\n\r\0]/g, (c) => ESCAPED[c]) : text;
}

function crop(text) {
  return text.length > 60 ? `${text.slice(0, 60)}...` : text;
}

/** A 64-bit integer as a BigInt; undefined if the text is not one. */
function integer(text) {
  if (!/^[+-]?[0-9]+$/.test(text)) return undefined;
  const value = BigInt(text);
  return value >= INTEGER_MIN && value <= INTEGER_MAX ? value : undefined;
}

/** Number of a text in the plan's table, until the plan has been read. */
class TextRef {
  constructor(number) {
    this.number = number;
  }
}

function parseValue(field) {
  const rest = field.slice(1);
  switch (field[0]) {
    case 'n':
      return null;
    case 'i':
      return BigInt(rest);
    case 'r':
      return Number(rest);
    case 't':
      return unescape(rest);
    case 'T':
      return new TextRef(Number(rest));
    case 'x':
      return Buffer.from(rest, 'hex');
    default:
  }
  throw new FormatError(`\`${crop(field)}\` is not a value (it must start with one of n i r t T x)`);
}

/** The text form of a value; undefined if it has none. */
function formatValue(value) {
  if (value === null) return 'n';
  switch (typeof value) {
    case 'bigint':
      return `i${value}`;
    case 'number':
      if (!Number.isFinite(value)) return undefined;
      return Object.is(value, -0) ? 'r-0.0' : `r${value}`;
    case 'string':
      return `t${escape(value)}`;
    default:
      return Buffer.isBuffer(value) ? `x${value.toString('hex')}` : undefined;
  }
}

/** A value as the text of a setting that is read back. */
function inWords(value) {
  if (value === null || value === undefined) return '';
  return Buffer.isBuffer(value) ? value.toString('hex') : String(value);
}

/** Checks a first line such as `contend-plan 3`; the error names a newer version. */
function checkVersion(word, known, line) {
  const [found, version] = line.split(' ');
  if (found !== word || line.split(' ').length !== 2) {
    throw new FormatError(`expected \`${word} ${known}\` as the first line, found \`${crop(line)}\``);
  }
  const number = /^[0-9]+$/.test(version) ? Number(version) : -1;
  if (number > known) {
    throw new FormatError(
      `\`${word} ${version}\` is newer than the ${known} this program reads: use tool and worker of the same contend release`,
    );
  }
  if (number !== known) throw new FormatError(`\`${line}\` is not a version this program reads (it reads ${known})`);
}

/** The items of a list; `-` is the empty list. */
function items(field) {
  return field === '-' ? [] : field.split(',');
}

function digest(text) {
  return crc32(text).toString(16).padStart(8, '0');
}

/** The text before its last line, which has the digest that the tool computed after its checks. */
function opened(kind, text) {
  const last = text.lastIndexOf('\nend\t');
  if (last < 0 || text.indexOf('\n', last + 1) !== text.length - 1) {
    throw new FormatError(`${kind}: cut off: its last line is not \`end\` with a digest`);
  }
  const body = text.slice(0, last + 1);
  const said = text.slice(last + 5, -1);
  if (digest(body) !== said) {
    throw new FormatError(
      `${kind}: changed after contend had checked it: its last line has the digest \`${crop(said)}\`, the text before it ${digest(body)}`,
    );
  }
  return body;
}

/** A line of the handshake: a word and facts. */
function factsLine(word, facts) {
  const fields = Object.entries(facts).map(([name, value]) => `\t${escape(name)}=${escape(String(value))}`);
  return `${word}${fields.join('')}\n`;
}

module.exports = {
  FormatError, TextRef, checkVersion, crop, digest, escape, factsLine, formatValue, inWords, integer, items, opened, parseValue, unescape,
};
