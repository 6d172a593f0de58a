'use strict';
// Reads a plan and checks every reference in it; an error names the line.

const { FormatError, TextRef, checkVersion, crop, integer, parseValue, unescape } = require('./text');

const VERSION = 2;
const U16 = 65535;
const U32 = 4294967295;
const SPACES = ['ok', 'sqlite', 'sqlstate', 'mysql', 'http', 'os', 'worker'];

/** The fields of one line after its kind. */
class Fields {
  constructor(decoder, kind, fields) {
    this.decoder = decoder;
    this.kind = kind;
    this.fields = fields;
    this.at = 0;
  }

  get more() {
    return this.at < this.fields.length;
  }

  fail(words) {
    this.decoder.fail(words);
  }

  raw(what) {
    if (!this.more) this.fail(`a \`${this.kind}\` line without its ${what}`);
    return this.fields[this.at++];
  }

  text(what) {
    return this.decoder.guard(() => unescape(this.raw(what)));
  }

  /** A whole number; of nanoseconds beyond 2^53 only their being very many matters. */
  number(what, most = Infinity) {
    const field = this.raw(what);
    const value = /^[0-9]+$/.test(field) ? Number(field) : NaN;
    if (!(value <= most) || value > 2 ** 64) this.fail(`${what} \`${crop(field)}\` is not a number that fits`);
    return value;
  }

  count(what) {
    return this.number(what, 2147483647);
  }

  index(expected) {
    const found = this.number('number');
    if (found !== expected) this.fail(`expected number ${expected}, found ${found}`);
  }

  /** Whether the field is the second of two words. */
  either(first, second) {
    const field = this.raw(`${first} or ${second}`);
    if (field !== first && field !== second) this.fail(`\`${crop(field)}\` is not ${first} or ${second}`);
    return field === second;
  }

  list(what, read) {
    const field = this.raw(what);
    if (field === '-') return [];
    return field.split(',').map((item) => {
      const found = read(item);
      if (found === undefined) this.fail(`\`${crop(item)}\` in the list of ${what}`);
      return found;
    });
  }

  end() {
    if (this.more) this.fail(`a field too many: \`${crop(this.fields[this.at])}\``);
  }
}

function small(text, most = U16) {
  return /^[0-9]+$/.test(text) && Number(text) <= most ? Number(text) : undefined;
}

class Decoder {
  constructor(text) {
    this.lines = text.split('\n');
    this.number = 0;
  }

  fail(words) {
    throw new FormatError(`plan line ${this.number}: ${words}`);
  }

  /** Whatever is wrong with a field is told with its line. */
  guard(read) {
    try {
      return read();
    } catch (e) {
      if (!(e instanceof FormatError) || e.message.startsWith('plan line')) throw e;
      return this.fail(e.message);
    }
  }

  get next() {
    return this.lines[this.number] ?? '';
  }

  nextIf(kind) {
    const line = this.next;
    if (line !== kind && !line.startsWith(`${kind}\t`)) return undefined;
    this.number++;
    return new Fields(this, kind, line === kind ? [] : line.slice(kind.length + 1).split('\t'));
  }

  expect(kind) {
    const fields = this.nextIf(kind);
    if (fields) return fields;
    this.number++;
    return this.fail(`expected a \`${kind}\` line, found \`${crop(this.lines[this.number - 1] ?? '')}\``);
  }

  all(kind, read) {
    const found = [];
    for (let f = this.nextIf(kind); f; f = this.nextIf(kind)) {
      found.push(read(f, found.length));
      f.end();
    }
    return found;
  }

  plan() {
    this.number = 1;
    this.guard(() => checkVersion('contend-plan', VERSION, this.lines[0]));
    const p = this.head();
    const f = this.expect('clients');
    const count = f.count('count');
    f.end();
    p.clients = [];
    for (let i = 0; i < count; i++) p.clients.push(this.client(p));
    this.expect('end').end();
    if (this.number !== this.lines.length - 1 || this.lines[this.number] !== '') {
      this.fail('cut off, or text after the `end` line');
    }
    return p;
  }

  head() {
    const p = {};
    const one = (kind, read) => {
      const f = this.expect(kind);
      read(f);
      f.end();
    };
    one('worker', (f) => f.number('number', U32));
    one('driver', (f) => Object.assign(p, { driver: f.text('driver'), model: f.text('model') }));
    one('connections', (f) => Object.assign(p, { shared: f.either('client', 'database') }));
    one('window', (f) => Object.assign(p, { runIn: f.number('run-in'), length: f.number('length'), drain: f.number('drain') }));
    one('now', (f) => {
      if (f.either('clock', 'fixed')) p.fixed = { base: BigInt(f.raw('base')), step: BigInt(f.raw('step')) };
    });
    const pair = (f) => [f.text('name'), f.text('text')];
    const numbered = (f, i) => {
      f.index(i);
      return f.text('text');
    };
    p.options = this.all('option', pair);
    p.databases = this.all('database', (f) => f.text('database'));
    p.session = this.all('session', (f) => f.text('SQL'));
    p.readbacks = this.all('readback', pair);
    p.statements = this.all('statement', numbered);
    p.texts = this.all('text', numbered);
    p.transactions = [];
    for (let f = this.nextIf('transaction'); f; f = this.nextIf('transaction')) this.transaction(p, f);
    this.retry(p);
    return p;
  }

  transaction(p, f) {
    f.index(p.transactions.length);
    const t = { name: f.text('name'), writes: f.either('read', 'write'), steps: [], arguments: 0 };
    const begin = f.text('begin');
    t.begin = begin === '-' ? undefined : begin;
    t.uniques = f.number('count of unique numbers', U16);
    t.slots = f.number('count of slots', U16);
    const steps = f.count('count of steps');
    f.end();
    for (let i = 0; i < steps; i++) t.steps.push(this.step(p, t, i));
    p.transactions.push(t);
  }

  step(p, t, index) {
    const f = this.expect('step');
    const kind = f.raw('kind');
    if (kind === 'sql') return this.sqlStep(p, t, f);
    if (kind === 'hold' || kind === 'pause') {
      const step = { kind, ns: f.number('length') };
      f.end();
      return step;
    }
    if (kind !== 'connect') this.fail(`\`${crop(kind)}\` is not a kind of step this worker knows`);
    if (index > 0) this.fail('`connect` must be the first step of a transaction');
    f.end();
    return { kind };
  }

  sqlStep(p, t, f) {
    const step = { kind: 'sql', statement: f.count('statement'), args: [] };
    const rows = f.raw('rows');
    const [low, high, more] = rows.split('..');
    step.min = small(low, U32);
    step.max = high === '*' ? U32 : small(high ?? '', U32);
    if (more !== undefined || step.min === undefined || step.max === undefined || step.min > step.max) {
      this.fail(`rows \`${crop(rows)}\` are not of the form MIN..MAX or MIN..*`);
    }
    step.repeat = f.count('repeat');
    if (step.repeat === 0) this.fail('a step is repeated at least once');
    step.keep = f.list('keep', (item) => {
      const n = item.split(':').map((part) => small(part));
      return n.length === 3 && !n.includes(undefined) && n[2] > 0 ? { slot: n[0], column: n[1], rows: n[2] } : undefined;
    });
    if (step.statement >= p.statements.length) this.fail(`statement ${step.statement} is not in the plan`);
    for (const keep of step.keep) this.checkSlot(t, keep.slot);
    while (f.more) step.args.push(this.source(p, t, f.raw('source'), step.repeat));
    return step;
  }

  checkSlot(t, slot) {
    if (slot >= t.slots) this.fail(`slot ${slot} is beyond the ${t.slots} of \`${t.name}\``);
  }

  source(p, t, field, repeat) {
    const kind = field[0];
    if (kind === undefined) this.fail('an empty field where the source of an argument was expected');
    const wrong = () => this.fail(`\`${crop(field)}\` is not the source of an argument`);
    if (!'pkKuc'.includes(kind)) {
      if (!'nirtTx'.includes(kind)) wrong();
      return { kind: 'v', value: this.value(p, field) };
    }
    const rest = field.slice(1);
    if (kind === 'c') {
      const unit = integer(rest);
      return unit > 0n ? { kind, unit } : wrong();
    }
    const plus = rest.indexOf('+');
    const a = small(rest.slice(0, Math.max(plus, 0)));
    const b = kind === 'k' ? integer(rest.slice(plus + 1)) : small(rest.slice(plus + 1));
    if (plus < 0 || a === undefined || b === undefined) wrong();
    if (kind === 'k' || kind === 'K') this.checkSlot(t, a);
    const last = kind === 'k' ? a : a + b * (repeat - 1);
    if (kind === 'u' && last >= t.uniques) {
      this.fail(`\`${t.name}\` announces ${t.uniques} unique numbers, this step needs more`);
    }
    if (kind === 'p') t.arguments = Math.max(t.arguments, last + 1);
    return { kind, a, b };
  }

  value(p, field) {
    const value = this.guard(() => parseValue(field));
    if (!(value instanceof TextRef)) return value;
    if (value.number >= p.texts.length) this.fail(`text ${value.number} is not in the plan`);
    return p.texts[value.number];
  }

  retry(p) {
    const f = this.expect('retry');
    p.tries = f.number('number of tries', U16);
    if (p.tries === 0) this.fail('the number of tries must be at least 1');
    p.backoff = f.list('back-off', (item) => small(item, Number.MAX_SAFE_INTEGER));
    p.jitter = f.list('jitter', (item) => small(item));
    const codes = f.list('codes', (item) => {
      const [space, number, more] = item.split(':');
      const known = SPACES.includes(space) && small(number ?? '', U32) !== undefined && more === undefined;
      return known ? `${SPACES.indexOf(space)}:${Number(number)}` : undefined;
    });
    p.retryCodes = new Set(codes);
    f.end();
  }

  client(p) {
    const f = this.expect('client');
    const c = { id: f.number('number', U32), database: f.count('database'), operations: [] };
    if (c.database >= p.databases.length) {
      this.fail(`client ${c.id} uses database ${c.database}; the plan has ${p.databases.length}`);
    }
    c.open = f.either('closed', 'open');
    c.cyclic = !f.either('cyclic', 'finite');
    if (c.open && c.cyclic) this.fail('an open loop cannot be cyclic: its due times are drawn in advance');
    c.limit = f.number('limit', U32);
    c.start = f.number('start');
    const count = f.count('count of operations');
    f.end();
    for (let i = 0, previous = 0; i < count; i++) {
      const op = this.operation(p);
      if (c.open && op.time < previous) this.fail('due times of an open loop must not go back');
      previous = op.time;
      c.operations.push(op);
    }
    return c;
  }

  operation(p) {
    const f = this.expect('op');
    const op = { time: f.number('time'), transaction: f.number('transaction', U16), args: [] };
    const t = p.transactions[op.transaction];
    if (!t) this.fail(`transaction ${op.transaction} is not in the plan`);
    while (f.more) op.args.push(this.value(p, f.raw('value')));
    if (op.args.length !== t.arguments) {
      this.fail(`\`${t.name}\` takes ${t.arguments} arguments, found ${op.args.length}`);
    }
    return op;
  }
}

/** The plan in this text, every duration in nanoseconds. */
function parsePlan(text) {
  return new Decoder(text).plan();
}

module.exports = { SPACES, parsePlan };
