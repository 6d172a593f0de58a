'use strict';
// Parses a plan. The tool has checked it, and the digest shows that it is unchanged, so its content is not checked
// again.

const { Database } = require('./database');
const { Statement } = require('./statement');
const { FormatError, TextRef, checkVersion, crop, items, opened, parseValue, unescape } = require('./text');

const VERSION = 3;
const U32 = 4294967295;
const SPACES = ['ok', 'sqlite', 'sqlstate', 'mysql', 'http', 'os', 'worker'];

function value(p, field) {
  const found = parseValue(field);
  return found instanceof TextRef ? p.texts[found.number] : found;
}

function source(p, t, field, repeat) {
  const kind = field[0];
  const rest = field.slice(1);
  if (kind === 'c') return { kind, unit: BigInt(rest) };
  if (!'pkKu'.includes(kind)) return { kind: 'v', value: value(p, field) };
  const plus = rest.indexOf('+');
  const a = Number(rest.slice(0, plus));
  const b = kind === 'k' ? BigInt(rest.slice(plus + 1)) : Number(rest.slice(plus + 1));
  if (kind === 'p') t.arguments = Math.max(t.arguments, a + b * (repeat - 1) + 1);
  return { kind, a, b };
}

function sqlStep(p, t, [statement, rows, times, keep, ...sources]) {
  const [low, high] = rows.split('..');
  const repeat = Number(times);
  return {
    kind: 'sql',
    statement: Number(statement),
    min: Number(low),
    max: high === '*' ? U32 : Number(high),
    repeat,
    keep: items(keep).map((item) => {
      const [slot, column, most] = item.split(':').map(Number);
      return { slot, column, rows: most };
    }),
    args: sources.map((field) => source(p, t, field, repeat)),
  };
}

/** Handlers of lines by kind. Durations beyond 2^53 ns need not be exact. */
const LINES = {
  worker() {},
  driver: (p, [driver, model]) => Object.assign(p, { driver: unescape(driver), model: unescape(model) }),
  connections: (p, [sharing]) => Object.assign(p, { shared: sharing === 'database' }),
  window: (p, [runIn, length, drain]) => Object.assign(p, { runIn: Number(runIn), length: Number(length), drain: Number(drain) }),
  now(p, [kind, base, step]) {
    if (kind === 'fixed') p.fixed = { base: BigInt(base), step: BigInt(step) };
  },
  option: (p, fields) => p.options.push(fields.map(unescape)),
  database: (p, fields) => p.databases.push(new Database(fields)),
  session: (p, [effect, sql]) => p.session.push(new Statement(unescape(sql), effect)),
  readback: (p, fields) => p.readbacks.push(fields.map(unescape)),
  statement: (p, [, effect, placeholders, sql]) => p.statements.push(new Statement(unescape(sql), effect, placeholders)),
  text: (p, [, text]) => p.texts.push(unescape(text)),
  transaction(p, [, name, kind, begin, uniques, slots]) {
    const t = { name: unescape(name), writes: kind === 'write', steps: [], arguments: 0 };
    t.begin = begin === '-' ? undefined : unescape(begin);
    p.transactions.push(Object.assign(t, { uniques: Number(uniques), slots: Number(slots) }));
  },
  step(p, [kind, ...fields]) {
    const t = p.transactions[p.transactions.length - 1];
    if (kind === 'http') throw new FormatError(`\`${t.name}\` sends HTTP requests, which only the driver http does`);
    if (kind === 'sql') t.steps.push(sqlStep(p, t, fields));
    else t.steps.push(kind === 'connect' ? { kind } : { kind, ns: Number(fields[0]) });
  },
  retry(p, [tries, backoff, jitter, codes]) {
    Object.assign(p, { tries: Number(tries), backoff: items(backoff).map(Number), jitter: items(jitter).map(Number) });
    const code = (item) => item.split(':');
    p.retryCodes = new Set(items(codes).map(code).map(([space, number]) => `${SPACES.indexOf(space)}:${number}`));
  },
  clients() {},
  client(p, [id, database, loop, cycle, limit, start]) {
    const c = { id: Number(id), database: Number(database), open: loop === 'open', cyclic: cycle === 'cyclic' };
    p.clients.push(Object.assign(c, { limit: Number(limit), start: Number(start), operations: [] }));
  },
  op(p, fields) {
    const args = new Array(fields.length - 2);
    for (let i = 0; i < args.length; i++) args[i] = value(p, fields[i + 2]);
    p.clients[p.clients.length - 1].operations.push({ time: Number(fields[0]), transaction: Number(fields[1]), args });
  },
};

/** Parses a plan, with all durations in nanoseconds. */
function parsePlan(text) {
  const fail = (number, words) => {
    throw new FormatError(`plan line ${number}: ${words}`);
  };
  try {
    checkVersion('contend-plan', VERSION, text.slice(0, Math.max(text.indexOf('\n'), 0)));
  } catch (error) {
    fail(1, error.message);
  }
  const lines = opened('plan', text).split('\n');
  const p = { options: [], databases: [], session: [], readbacks: [], statements: [], texts: [], transactions: [], clients: [] };
  for (let i = 1; i < lines.length - 1; i++) {
    const [kind, ...fields] = lines[i].split('\t');
    if (!LINES[kind]) fail(i + 1, `\`${crop(kind)}\` is a line of plans over HTTP, which databases know nothing of`);
    try {
      LINES[kind](p, fields);
    } catch (error) {
      fail(i + 1, error.message);
    }
  }
  return p;
}

module.exports = { SPACES, parsePlan };
