'use strict';
// The loop of one client: which operation is next and when, what happens after a failed attempt, and the samples.

const { AwaitedAttempt, BEGIN, BlockingAttempt, NONE } = require('./attempt');
const { CODE_ROWS, Failure, WORKER, failureOf, isCut } = require('./failure');
const { Samples } = require('./samples');

const INTERRUPTED = 2;
/** Interval at which a client that runs alone lets timers run. */
const TURN_NS = 5e6;
const GONE_MS = 10;

const nextTurn = () => new Promise((resume) => setImmediate(resume));

/**
 * The description of a transaction of one statement, executed once, with the operation's arguments and nothing kept;
 * undefined for other transactions.
 */
function singleOf(t, statements) {
  const [step] = t.steps;
  if (t.begin || t.steps.length !== 1 || step.kind !== 'sql' || step.repeat !== 1 || step.keep.length > 0) return undefined;
  const same = step.args.length === t.arguments && step.args.every(({ kind, a }, i) => kind === 'p' && a === i);
  return same ? { statement: statements.steps[step.statement].index, min: step.min, max: step.max } : undefined;
}

class Client {
  constructor(run, spec) {
    this.run = run;
    this.spec = spec;
    this.samples = new Samples(spec.id);
    this.attempt = new (run.driver.blocks ? BlockingAttempt : AwaitedAttempt)(run, spec);
    this.singles = run.plan.transactions.map((t) => singleOf(t, run.statements));
    this.conn = undefined;
    this.operation = 0;
    this.next = 0;
    this.nextUnique = 0;
    this.jitterTurn = 0;
    this.previousEnd = 0;
    this.exhausted = false;
    this.over = false;
    this.turnBegan = 0;
    // Whether it need not yield between operations.
    this.alone = false;
  }

  /** Starts with a connection whose settings have been read. */
  use(conn) {
    this.conn = conn;
  }

  async carryOut() {
    this.previousEnd = this.spec.start;
    const { blocks } = this.run.driver;
    this.alone = !blocks || this.run.clients.length === 1;
    for (;;) {
      let failed;
      if (this.single()) failed = blocks ? this.inARow() : await this.inARowAwaited();
      // A promise for every operation that is already due would cost more than the operation's sample.
      const next = failed ?? this.nextOperation();
      const turn = next instanceof Promise ? await next : next;
      if (!turn) break;
      for (let again = turn; again; ) {
        const pending = again === failed ? undefined : this.make(again);
        if (pending) await pending;
        again = this.record(again);
        if (again) again = await this.backOff(again);
      }
    }
    this.over = true;
  }

  /**
   * The statement of the next operation, if it is a single one that begins at once; for others see `nextOperation`.
   */
  single() {
    const { conn, spec, previousEnd } = this;
    const op = spec.operations[this.next];
    if (op === undefined || op.time !== 0 || spec.open || this.operation === 0 || this.operation === spec.limit) return undefined;
    const { control } = this.run;
    if (previousEnd >= control.windowEnd || control.drainIsOver || conn === undefined || conn.lost) return undefined;
    if (!this.alone || (this.run.driver.blocks && previousEnd - this.turnBegan > TURN_NS)) return undefined;
    const single = this.singles[op.transaction];
    return single !== undefined && conn.statements[single.statement] !== undefined ? single : undefined;
  }

  /**
   * Carries out operations of a single statement, one after the other: besides the library's part this is the whole
   * cost of an operation. Returns the turn of an operation whose first attempt failed, or undefined.
   */
  inARow() {
    const { clock, driver } = this.run;
    for (let single = this.single(); single !== undefined; single = this.single()) {
      const { conn } = this;
      const { args, transaction } = this.spec.operations[this.next];
      let rows = 0;
      try {
        const found = driver.nothing ? single.min : conn.run(conn.statements[single.statement], args);
        rows = typeof found === 'number' ? found : found.length;
        if (rows < single.min || rows > single.max) throw new Failure(WORKER, CODE_ROWS);
      } catch (error) {
        this.attempt.rollBack(conn);
        return this.failed(rows, error);
      }
      this.succeeded(transaction, rows, clock.now());
    }
    return undefined;
  }

  /** As `inARow`, for a driver that answers asynchronously; one promise per operation, the driver's own. */
  async inARowAwaited() {
    const { clock, driver } = this.run;
    for (let single = this.single(); single !== undefined; single = this.single()) {
      const { conn } = this;
      const { args, transaction } = this.spec.operations[this.next];
      let rows = 0;
      conn.busy = true;
      try {
        const found = await conn.run(conn.statements[single.statement], args);
        conn.busy = false;
        rows = typeof found === 'number' ? found : found.length;
        if (rows < single.min || rows > single.max) throw new Failure(WORKER, CODE_ROWS);
      } catch (error) {
        conn.busy = false;
        if (!driver.server) await this.attempt.rollBack(conn);
        return this.failed(rows, error);
      }
      this.succeeded(transaction, rows, clock.now());
    }
    return undefined;
  }

  /** The sample of an operation that began at the end of the previous one, and succeeded at once. */
  succeeded(transaction, rows, finished) {
    const begun = this.previousEnd;
    this.samples.add(this.operation, transaction, NONE, 0, rows, begun, begun, finished);
    this.end(transaction, finished, false);
  }

  /** The turn of the next operation, whose first attempt has already failed. */
  failed(rows, error) {
    const { attempt, previousEnd } = this;
    attempt.reset(this.operation, this.spec.operations[this.next].args, this.nextUnique);
    attempt.rows = rows;
    attempt.fails(0, error);
    return { index: this.next, attempt: 0, due: previousEnd, started: previousEnd, until: 0 };
  }

  /** The first attempt of the next operation, once it is due: the turn, or a promise of it. */
  nextOperation() {
    const { spec, run } = this;
    if (spec.limit !== 0 && this.operation >= spec.limit) return undefined;
    if (this.next >= spec.operations.length) {
      this.exhausted = !spec.open && this.previousEnd < run.control.windowEnd;
      return undefined;
    }
    const due = (spec.open ? 0 : this.previousEnd) + spec.operations[this.next].time;
    if (due >= run.control.windowEnd) return undefined;
    // The previous operation ended a moment ago; reading the clock again would only cost time.
    const now = this.previousEnd;
    if (this.operation === 0 || now < due) return this.whenDue(due);
    if (run.driver.blocks && (run.clients.length > 1 || now - this.turnBegan > TURN_NS)) return this.inTurn(due);
    return this.turn(due, now);
  }

  async whenDue(due) {
    const { spec, run } = this;
    const over = () => due >= run.control.windowEnd || (spec.open && run.clock.now() >= run.control.windowEnd);
    return this.turn(due, await run.sleeper.until(due, over));
  }

  /** A client that blocks the event loop yields to the others between operations, as requests to a server do. */
  async inTurn(due) {
    await nextTurn();
    this.turnBegan = this.run.clock.now();
    return this.turn(due, this.turnBegan);
  }

  turn(due, now) {
    const end = this.run.control.windowEnd;
    if (now < due || due >= end || (this.spec.open && now >= end)) return undefined;
    return { index: this.next, attempt: 0, due, started: now, until: 0 };
  }

  /** Makes an attempt; returns a promise unless it is finished at once. */
  make(turn) {
    const op = this.spec.operations[turn.index];
    const t = this.run.plan.transactions[op.transaction];
    this.attempt.reset(this.operation, op.args, this.nextUnique);
    const connects = t.steps.length > 0 && t.steps[0].kind === 'connect';
    if (connects || !this.conn || this.conn.lost) return this.onNewConnection(t, connects || !t.begin ? 0 : BEGIN);
    return this.attempt.carryOut(this.conn, t);
  }

  /** Carries out the transaction on a new connection. */
  async onNewConnection(t, step) {
    try {
      if (this.conn) await this.close();
      this.conn = await this.run.connect(this.spec);
    } catch (error) {
      this.attempt.fails(step, error);
      // The failures of a client whose server is gone must not fill the memory.
      if (this.run.driver.server) await this.run.pause(GONE_MS * 1e6);
      return;
    }
    await this.attempt.carryOut(this.conn, t);
  }

  async close() {
    const { conn } = this;
    this.conn = undefined;
    await conn?.close();
  }

  /** Adds the sample of a finished attempt; returns the next attempt of the same operation, if there is one. */
  record(turn) {
    const { run, attempt } = this;
    const { transaction } = this.spec.operations[turn.index];
    const finished = run.clock.now();
    let space = 0;
    let code = 0;
    let flags = 0;
    const failed = attempt.failedStep !== NONE;
    if (failed) {
      ({ space, code } = failureOf(attempt.error, run.driver));
      if (run.control.drainIsOver && isCut(run.driver, space, code)) flags |= INTERRUPTED;
    }
    const which = transaction + turn.attempt * 0x10000;
    const outcome = attempt.failedStep + space * 0x10000 + flags * 0x1000000;
    this.samples.add(this.operation, which, outcome, code, attempt.rows, turn.due, turn.started, finished);
    if (failed && turn.attempt + 1 < run.plan.tries && run.plan.retryCodes.has(`${space}:${code}`)) {
      const until = finished + this.backoffNs(turn.attempt);
      if (run.control.inTime(until)) return { index: turn.index, attempt: turn.attempt + 1, due: turn.due, started: 0, until };
    }
    this.end(transaction, finished, failed);
    return undefined;
  }

  end(transaction, finished, failed) {
    this.nextUnique += this.run.plan.transactions[transaction].uniques;
    this.operation++;
    this.next++;
    if (this.spec.cyclic && this.next === this.spec.operations.length) this.next = 0;
    this.previousEnd = finished;
    this.run.control.count(failed);
  }

  backoffNs(attempt) {
    const { backoff, jitter } = this.run.plan;
    const wait = backoff.length > 0 ? backoff[Math.min(attempt, backoff.length - 1)] : 0;
    const permille = jitter.length > 0 ? jitter[this.jitterTurn % jitter.length] : 1000;
    this.jitterTurn++;
    return Math.floor((wait * permille) / 1000);
  }

  /** Waits before another attempt; undefined if the drain ends first. */
  async backOff(turn) {
    const { run } = this;
    let started = await run.sleeper.until(turn.until, () => run.control.drainIsOver);
    if (run.driver.blocks && started >= turn.until) {
      await nextTurn();
      started = run.clock.now();
    }
    // A busy loop may be too late here: attempts in flight must end with the drain.
    if (started >= turn.until && run.control.inTime(started)) {
      turn.started = started;
      return turn;
    }
    const { transaction } = this.spec.operations[turn.index];
    this.end(transaction, run.clock.now(), true);
    return undefined;
  }
}

module.exports = { Client };
