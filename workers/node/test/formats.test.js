'use strict';
// Formats, texts of statements, and addresses: details that conformance cases do not cover.

const assert = require('assert');
const { test } = require('node:test');
const { Database } = require('../src/database');
const { codeOf } = require('../src/drivers/sqlite-codes');
const { parsePlan } = require('../src/plan');
const { BYTES, Samples } = require('../src/samples');
const { Statement } = require('../src/statement');
const { digest, formatValue, parseValue } = require('../src/text');

test('values keep all their bits', () => {
  for (const text of ['n', 'i9223372036854775807', 'i-9223372036854775808', 'r-0.0', 'r5e-324', 'tline\\nnext\\ttab\\r\\\\ nul\\0 🐘', 'x', 'x00ff']) {
    assert.strictEqual(formatValue(parseValue(text)), text);
  }
  for (const text of ['', 'i1.5', 't\\x', 'q1']) {
    assert.throws(() => parseValue(text), undefined, text);
  }
  assert.strictEqual(formatValue(NaN), undefined);
});

test('a statement is what is said of it', () => {
  const what = (s) => [s.params, s.returns, s.changes, s.upserts, s.parts()];
  const parts = ["SELECT 'é?', ", ' + ', ''];
  const sql = parts.join('?');
  const [first, second] = [Buffer.byteLength(parts[0]), Buffer.byteLength(sql) - 1];
  assert.deepStrictEqual(what(new Statement(sql, 'rows', `${first},${second}`)), [2, true, false, 0, parts]);
  assert.strictEqual(new Statement('SELECT $2, $2', 'rows', '7:2,11:2').params, 2);
  const replace = new Statement('REPLACE INTO t VALUES (?), (?)', 'changes,upserts=2', '23,28');
  assert.deepStrictEqual(what(replace), [2, false, true, 2, ['REPLACE INTO t VALUES (', '), (', ')']]);
  assert.deepStrictEqual(new Statement('INSERT INTO t VALUES (?, ?)', 'changes', '22,25').parts(21), ['(', ', ', ')']);
});

test('codes have the numbers of SQLite', () => {
  const known = { SQLITE_BUSY: 5, SQLITE_BUSY_SNAPSHOT: 517, SQLITE_CONSTRAINT_PRIMARYKEY: 1555, SQLITE_CONSTRAINT_UNIQUE: 2067,
    SQLITE_CONSTRAINT_TRIGGER: 1811, SQLITE_CONSTRAINT_FOREIGNKEY: 787, SQLITE_IOERR_CORRUPTFS: 8458, SQLITE_CANTOPEN_SYMLINK: 1550,
    SQLITE_ABORT_ROLLBACK: 516, SQLITE_READONLY_DIRECTORY: 1544, UNKNOWN_SQLITE_ERROR_4874: 4874 };
  for (const [name, code] of Object.entries(known)) assert.strictEqual(codeOf(name), code, name);
  assert.strictEqual(codeOf('ENOENT'), undefined);
});

// All workers that parse addresses have the same table.
test('databases have their address in fields', () => {
  const at = new Database(['tcp', '::1', '5433', 'me', 'd\\t', '-']);
  assert.deepStrictEqual([at.host, at.port, at.user, at.database, at.password()], ['::1', 5433, 'me', 'd\t', undefined]);
  assert.strictEqual(new Database(['socket', '/s', 'me', '', '-']).socket, '/s');
  for (const found of ['env:CONTEND_NOT_SET', 'file:/no/pw']) {
    const where = found.split(':')[1];
    assert.throws(() => new Database(['socket', '/s', 'me', 'd', found]).password(), (e) => e.message.includes(where));
  }
});

test('a sample is the one of the format', () => {
  const samples = new Samples(0);
  const base = 4690000000000n;
  const at = (hex) => Number(Buffer.from(hex, 'hex').readBigUInt64LE() - base);
  samples.add(1, 1, 65535, 0, 4, at('ced5d43444040000'), at('9e6bd53444040000'), at('3a1ee73444040000'));
  const bytes = samples.encode(base);
  assert.strictEqual(bytes.length, BYTES);
  assert.strictEqual(bytes.subarray(0, 48).toString('hex'), '00000000010000000100' + '0000ffff0000' + '0000000004000000' + 'ced5d434440400009e6bd534440400003a1ee73444040000');
  for (let i = 1; i < 10000; i++) samples.add(i, 0, 65535, 0, 1, i, i, i);
  assert.strictEqual(samples.count, 10000);
  assert.strictEqual(samples.encode(0n).readUInt32LE(9999 * BYTES + 4), 9999);
});

test('a plan that is cut off, goes on or was changed is refused', () => {
  const body = 'contend-plan 3\nworker\t0\ndriver\tx\ty\nconnections\tclient\nwindow\t0\t0\t1\nnow\tclock\ndatabase\tfile\td\nretry\t1\t-\t-\t-\nclients\t0\n';
  const plan = `${body}end\t${digest(body)}\n`;
  assert.strictEqual(parsePlan(plan).databases[0].path, 'd');
  for (let cut = 15; cut < plan.length; cut++) assert.throws(() => parsePlan(plan.slice(0, cut)), /cut off/);
  assert.throws(() => parsePlan(`${plan}more\n`), /cut off/);
  assert.throws(() => parsePlan(plan.replace('worker\t0', 'worker\t1')), /changed after/);
});
