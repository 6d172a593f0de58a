'use strict';
// Formats, the text of statements, and addresses: what conformance cases do not reach one by one.

const assert = require('assert');
const fs = require('fs');
const path = require('path');
const { test } = require('node:test');
const { parseAddress } = require('../src/address');
const { codeOf } = require('../src/drivers/sqlite-codes');
const { parsePlan } = require('../src/plan');
const { BYTES, Samples } = require('../src/samples');
const { Statement } = require('../src/sqltext');
const { formatValue, parseValue, unescape } = require('../src/text');

test('values keep all their bits', () => {
  for (const text of ['n', 'i9223372036854775807', 'i-9223372036854775808', 'r-0.0', 'r5e-324', 'tline\\nnext\\ttab\\r\\\\ nul\\0 🐘', 'x', 'x00ff']) {
    assert.strictEqual(formatValue(parseValue(text)), text);
  }
  for (const text of ['', 'i', 'i1.5', 'i9223372036854775808', 'r', 'rnan', 'r1e999', 't\\x', 'x0', 'xg0', 'q1', 'n1']) {
    assert.throws(() => parseValue(text), undefined, text);
  }
  assert.strictEqual(formatValue(NaN), undefined);
});

// The table is that of all workers which look into the text of a statement.
test('the text of a statement tells what it does', () => {
  const table = fs.readFileSync(path.join(__dirname, '../../../conformance/statements.tsv'), 'utf8');
  let tested = 0;
  for (const [dialect, ...fields] of table.split('\n').map((line) => line.split('\t')).filter((line) => line.length === 6)) {
    const expected = fields.slice(0, 4).map(Number);
    const sql = unescape(fields[4]);
    for (const server of [false, true].filter((one) => dialect === 'any' || dialect === (one ? 'server' : 'sqlite'))) {
      const s = new Statement(sql, server);
      assert.deepStrictEqual([s.params, Number(s.returns), Number(s.changes), s.upserts], expected, `${dialect}: ${sql}`);
      tested++;
    }
  }
  assert.ok(tested >= 40, `only ${tested} lines were found`);
});

test('codes have the numbers of SQLite', () => {
  const known = { SQLITE_BUSY: 5, SQLITE_BUSY_SNAPSHOT: 517, SQLITE_CONSTRAINT_PRIMARYKEY: 1555, SQLITE_CONSTRAINT_UNIQUE: 2067,
    SQLITE_CONSTRAINT_TRIGGER: 1811, SQLITE_CONSTRAINT_FOREIGNKEY: 787, SQLITE_IOERR_CORRUPTFS: 8458, SQLITE_CANTOPEN_SYMLINK: 1550,
    SQLITE_ABORT_ROLLBACK: 516, SQLITE_READONLY_DIRECTORY: 1544, UNKNOWN_SQLITE_ERROR_4874: 4874 };
  for (const [name, code] of Object.entries(known)) assert.strictEqual(codeOf(name), code, name);
  assert.strictEqual(codeOf('ENOENT'), undefined);
});

// The table is that of all workers that read addresses.
test('addresses are read, passwords in them refused and never repeated', () => {
  const table = fs.readFileSync(path.join(__dirname, '../../../conformance/addresses.tsv'), 'utf8');
  const rows = table.split('\n').filter((line) => line !== '' && !line.startsWith('#')).map((line) => line.split('\t'));
  assert.ok(rows.length > 20, `only ${rows.length} lines were found`);
  for (const [text, ...expected] of rows) {
    if (expected[0] === 'refused') {
      assert.throws(() => parseAddress(text, 'mysql', 3306), (e) => e.message.includes(expected[1]) && !e.message.includes('geheim'), text);
      continue;
    }
    const at = parseAddress(text, 'mysql', 3306);
    const place = at.socket ? ['', '', at.socket] : [at.host, String(at.port), ''];
    assert.deepStrictEqual([at.user, ...place, at.database], expected, text);
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

test('a plan that is cut off, or goes on, names a line', () => {
  const plan = 'contend-plan 2\nworker\t0\ndriver\tx\ty\nconnections\tclient\nwindow\t0\t0\t1\nnow\tclock\ndatabase\td\nretry\t1\t-\t-\t-\nclients\t0\nend\n';
  assert.strictEqual(parsePlan(plan).databases[0], 'd');
  for (let cut = 0; cut < plan.length; cut++) assert.throws(() => parsePlan(plan.slice(0, cut)), /line [0-9]+/);
  assert.throws(() => parsePlan(`${plan}more\n`), /after the `end`/);
});
