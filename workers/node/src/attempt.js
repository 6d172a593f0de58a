'use strict';
// One attempt of an operation: its steps, the values of their placeholders, the values they keep, and the rollback. A
// driver whose calls block the event loop is called without promises; other drivers are awaited.

const { CODE_NOT_KEPT, CODE_ROWS, Failure, SQLSTATE, WORKER, cutShort, failureOf, wrongValue } = require('./failure');

const NONE = 65535;
const BEGIN = 65534;
const COMMIT = 65533;
const MOST_ROWS = 4294967295;
const UNIQUES = 2n ** 40n;
/** Time since 1970 at which `performance.now()` was 0. */
const ORIGIN = BigInt(Math.round(performance.timeOrigin * 1e3)) * 1000n;

/** A kept value plus a number; NULL stays NULL. */
function plus(value, number) {
  if (number === 0n || value === null) return value;
  if (typeof value === 'number') return value + Number(number);
  const sum = typeof value === 'bigint' ? value + number : undefined;
  if (sum === undefined || BigInt.asIntN(64, sum) !== sum) throw wrongValue();
  return sum;
}

/** State that both kinds of attempts share; a client reuses it. */
class Attempt {
  constructor(run, client) {
    this.run = run;
    this.plan = run.plan;
    this.driver = run.driver;
    this.control = run.control;
    this.statements = run.statements;
    this.unique = BigInt(client.id) * UNIQUES;
    // The values of each step, in reused memory: drivers have copied them when they answer.
    this.bound = this.run.sqlSteps.map((step) => new Array(step.args.length).fill(null));
    const slots = this.plan.transactions.map((t) => t.slots);
    this.kept = Array.from({ length: Math.max(0, ...slots) }, () => []);
  }

  /** Resets the state of the previous attempt. */
  reset(operation, args, unique) {
    this.operation = operation;
    this.args = args;
    this.firstUnique = unique;
    this.rows = 0;
    this.failedStep = NONE;
    this.error = undefined;
    for (const slot of this.kept) slot.length = 0;
  }

  fails(step, error) {
    this.failedStep = step;
    this.error = error;
  }

  resolve(source, repetition) {
    switch (source.kind) {
      case 'v':
        return source.value;
      case 'p':
        return this.args[source.a + source.b * repetition];
      case 'k':
        if (this.kept[source.a].length === 0) throw new Failure(WORKER, CODE_NOT_KEPT);
        return plus(this.kept[source.a][0], source.b);
      case 'K':
        return this.kept[source.a][source.b] ?? null;
      case 'u':
        return this.unique + BigInt(this.firstUnique + source.a + source.b * repetition);
      default:
        return this.time() / source.unit;
    }
  }

  /** Nanoseconds since 1970; `Date.now()` has only milliseconds. */
  time() {
    const { fixed } = this.plan;
    return fixed ? fixed.base + fixed.step * BigInt(this.operation) : ORIGIN + BigInt(Math.round(performance.now() * 1e6));
  }

  values(step, repetition) {
    // An interrupt only affects a running statement, so each statement checks first.
    if (this.control.drainIsOver) throw cutShort(this.driver);
    const values = this.bound[step.number];
    for (let i = 0; i < values.length; i++) values[i] = this.resolve(step.args[i], repetition);
    return values;
  }

  /** Counts and keeps the result of a statement: its rows, or the number of changed rows. */
  take(conn, step, found) {
    const count = typeof found === 'number' ? found : found.length;
    if (step.keep.length > 0) this.keep(conn, step, found);
    this.rows = Math.min(this.rows + count, MOST_ROWS);
    if (count < step.min || count > step.max) throw new Failure(WORKER, CODE_ROWS);
  }

  keep(conn, step, found) {
    for (const { slot, column, rows } of step.keep) {
      const kept = this.kept[slot];
      kept.length = 0;
      if (this.driver.nothing) kept.push(1n);
      for (let i = 0; typeof found !== 'number' && i < Math.min(rows, found.length); i++) {
        kept.push(conn.value(found, i, column));
      }
    }
  }
}

/** For a driver whose calls block. A pause yields to the event loop, unless a transaction is open. */
class BlockingAttempt extends Attempt {
  /** Carries out the whole transaction; returns a promise if there is a pause to wait for. */
  carryOut(conn, t) {
    const next = this.from(conn, t, 0);
    return next >= 0 ? this.afterPauses(conn, t, next) : undefined;
  }

  async afterPauses(conn, t, at) {
    for (let next = at; next >= 0; ) {
      if (!(await this.run.pause(t.steps[next].ns))) {
        this.fails(next, cutShort(this.driver));
        return;
      }
      next = this.from(conn, t, next + 1);
    }
  }

  /** Carries out the steps from `first` on; returns the number of a pause to wait for, or -1 at the end. */
  from(conn, t, first) {
    let at = BEGIN;
    try {
      if (t.begin && first === 0) conn.run(this.ready(conn, this.statements.begins[t.number]), []);
      for (at = first; at < t.steps.length; at++) {
        const step = t.steps[at];
        if (step.kind === 'pause' && !conn.inTransaction) return at;
        this.step(conn, step);
      }
      at = COMMIT;
      if (t.begin) conn.run(this.ready(conn, this.statements.commit), []);
    } catch (error) {
      this.fails(at, error);
      this.rollBack(conn);
    }
    return -1;
  }

  step(conn, step) {
    if (step.kind === 'sql') {
      for (let repetition = 0; repetition < step.repeat; repetition++) {
        const values = this.values(step, repetition);
        const statement = this.ready(conn, this.statements.steps[step.statement]);
        this.take(conn, step, this.driver.nothing ? step.min : conn.run(statement, values));
      }
    } else if (step.kind !== 'connect' && !this.block(step.ns)) {
      throw cutShort(this.driver);
    }
  }

  /** The statement prepared by this connection; a connection opened during the run prepares it now. */
  ready(conn, statement) {
    return conn.statements[statement.index] ?? (conn.statements[statement.index] = conn.prepare(statement, false));
  }

  /** Blocks the thread this long; false if the end of the drain interrupted it. */
  block(ns) {
    const { clock } = this.run;
    const until = clock.now() + ns;
    for (let now = clock.now(); now < until; now = clock.now()) {
      if (this.control.block(until - now)) return false;
    }
    return true;
  }

  rollBack(conn) {
    try {
      if (conn.inTransaction) conn.run(this.ready(conn, this.statements.rollback), []);
    } catch {
      // The next begin fails and reports it.
    }
  }
}

/** For a driver that answers asynchronously: other clients run while it works. */
class AwaitedAttempt extends Attempt {
  async carryOut(conn, t) {
    let at = BEGIN;
    let begun = false;
    try {
      if (t.begin) {
        await this.execute(conn, this.statements.begins[t.number], []);
        begun = true;
      }
      for (at = 0; at < t.steps.length; at++) await this.step(conn, t.steps[at]);
      at = COMMIT;
      if (t.begin) await this.execute(conn, this.statements.commit, []);
    } catch (error) {
      this.fails(at, error);
      // PostgreSQL has ended a transaction whose COMMIT it rejects.
      const ended = at === COMMIT && failureOf(error, this.driver).space === SQLSTATE;
      // On a server this is a round trip, which belongs to the attempt.
      if ((begun && !ended) || !this.driver.server) await this.rollBack(conn);
    }
  }

  /** Executes a statement, which the supervisor may interrupt. */
  async execute(conn, statement, values) {
    conn.busy = true;
    try {
      return await conn.run(conn.statements[statement.index] ?? (await this.first(conn, statement)), values);
    } finally {
      conn.busy = false;
    }
  }

  /** A connection opened during the run prepares a statement at its first use. */
  async first(conn, statement) {
    const prepared = await conn.prepare(statement, false, true);
    conn.statements[statement.index] = prepared;
    return prepared;
  }

  async step(conn, step) {
    if (step.kind === 'sql') {
      for (let repetition = 0; repetition < step.repeat; repetition++) {
        const values = this.values(step, repetition);
        this.take(conn, step, await this.execute(conn, this.statements.steps[step.statement], values));
      }
    } else if (step.kind !== 'connect' && !(await this.run.pause(step.ns))) {
      throw cutShort(this.driver);
    }
  }

  async rollBack(conn) {
    const { rollback } = this.statements;
    // An interrupt in progress may still hit the first attempt; a lock that stays blocks all other clients.
    for (let tries = 0; tries < 3 && !conn.lost; tries++) {
      try {
        await conn.run(conn.statements[rollback.index] ?? (await this.first(conn, rollback)), []);
        return;
      } catch {
        if (!this.driver.server) return;
      }
    }
  }
}

module.exports = { AwaitedAttempt, BEGIN, BlockingAttempt, NONE };
