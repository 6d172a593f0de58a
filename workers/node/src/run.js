'use strict';
// A plan on its thread's event loop: connections, clients, and measurements of the loop itself.

const { PerformanceObserver, monitorEventLoopDelay, performance } = require('perf_hooks');
const { Client } = require('./client');
const { Clock, Sleeper } = require('./clock');
const connection = require('./connection');
const { Control } = require('./control');
const { isLock } = require('./failure');
const { parseOptions } = require('./options');

const MODEL = 'event-loop';
const LAG_EVERY_MS = 10;
const INTERRUPT_AGAIN_MS = 10;
const FREE_AGAIN_MS = 10;
const FREE_WITHIN_MS = 2000;

/** Garbage collections and timer delays during a run. */
class LoopFacts {
  constructor() {
    this.delay = monitorEventLoopDelay({ resolution: LAG_EVERY_MS });
    // A long run has hundreds of thousands of collections, so only totals are kept.
    this.pauses = 0;
    this.pausedMs = 0;
    this.longestMs = 0;
    this.observer = new PerformanceObserver((list) => this.note(list.getEntries()));
  }

  note(entries) {
    for (const { duration } of entries) {
      this.pauses++;
      this.pausedMs += duration;
      if (duration > this.longestMs) this.longestMs = duration;
    }
  }

  begin() {
    this.observer.observe({ entryTypes: ['gc'] });
    this.delay.enable();
    this.used = performance.eventLoopUtilization();
  }

  end() {
    this.delay.disable();
    this.note(this.observer.takeRecords());
    this.observer.disconnect();
    // The recorded value is the time between two timers, including the interval.
    const lag = (ns) => Math.max(0, Math.round(Number(ns) - LAG_EVERY_MS * 1e6)) || 0;
    const ns = (ms) => Math.round(ms * 1e6);
    const some = this.delay.max > 0;
    return {
      event_loop_lag_ns_p50: some ? lag(this.delay.percentile(50)) : 0,
      event_loop_lag_ns_p99: some ? lag(this.delay.percentile(99)) : 0,
      event_loop_lag_ns_max: some ? lag(this.delay.max) : 0,
      event_loop_busy_permille: Math.round(performance.eventLoopUtilization(this.used).utilization * 1000),
      gc_pauses: this.pauses,
      gc_pause_ns: ns(this.pausedMs),
      gc_pause_ns_max: ns(this.longestMs),
    };
  }
}

class Run {
  constructor(plan, driver) {
    this.plan = plan;
    this.driver = driver;
    if (plan.driver !== driver.name && plan.driver !== 'null') throw new Error(`driver ${plan.driver}: this worker has only ${driver.name}`);
    if (plan.driver === 'null' && !driver.nothing) throw new Error(`driver null: this worker has only ${driver.name}`);
    if (plan.model !== MODEL) throw new Error(`model ${plan.model}: this worker has only \`${MODEL}\``);
    if (plan.shared) throw new Error(`model ${MODEL}: every client has a connection of its own (connections client)`);
    this.options = parseOptions(driver, plan.options);
    for (const database of plan.databases) database.check(driver);
    this.statements = connection.statementsOf(plan);
    plan.transactions.forEach((t, i) => {
      t.number = i;
    });
    this.sqlSteps = plan.transactions.flatMap((t) => t.steps.filter((step) => step.kind === 'sql'));
    this.sqlSteps.forEach((step, i) => {
      step.number = i;
    });
    this.control = new Control();
    this.opened = 0;
    this.clients = plan.clients.map((spec) => new Client(this, spec));
  }

  /** Opens the connection of every client, one after the other; returns their settings. */
  async prepare() {
    const sessions = [];
    try {
      for (const client of this.clients) {
        sessions.push(await this.first(client, sessions.length === 0));
      }
      this.openedBefore = this.opened;
    } catch (error) {
      await this.close();
      throw error;
    }
    return sessions;
  }

  /** Opens a client's connection; for the very first one also checks whether the plan fits. */
  async first(client, veryFirst) {
    const { spec } = client;
    const open = async () => {
      const conn = await this.connect(spec);
      client.use(conn);
      if (veryFirst) await connection.check(conn, this.plan, this.statements);
      return connection.session(conn, this.driver, this.plan, spec.id);
    };
    try {
      const settings = await this.whenFree(open, () => client.close());
      this.settings ??= settings;
      return settings;
    } catch (error) {
      throw new Error(`client ${spec.id}, database ${this.plan.databases[spec.database]}: ${error.message}`);
    }
  }

  async connect(spec) {
    const conn = await connection.open(this.driver, this.plan.databases[spec.database], this.options, this.plan.session);
    this.opened++;
    if (this.running) {
      // During the run a statement is prepared at its first use. Statements prepared per execution belong to no
      // connection.
      if (this.options.each) conn.statements = this.known;
      return conn;
    }
    try {
      await connection.prepare(conn, this.statements, this.options.each);
    } catch (error) {
      await conn.close();
      throw error;
    }
    this.known = conn.statements;
    return conn;
  }

  /** Reads the settings of the connections after the measurement, so that a change during the run is found. */
  async readBack() {
    const open = this.clients.filter(({ conn }) => conn && !conn.lost);
    if (open.length === 0 || this.control.drainIsOver) return {};
    const facts = { connections_read_back: 0 };
    for (const { conn, spec } of open) {
      try {
        const found = await this.whenFree(() => connection.session(conn, this.driver, this.plan, spec.id));
        facts.connections_read_back++;
        const other = Object.keys(found).find((name) => name !== 'client' && found[name] !== this.settings[name]);
        if (other) facts.settings_differ = `a connection reads back ${other} = ${found[other]} after the start, the first one ${this.settings[other]} before`;
      } catch (error) {
        facts.settings_differ = `a connection cannot be read back after the run: ${error.message}`;
      }
    }
    return facts;
  }

  /**
   * Retries what a lock of SQLite prevents, whatever the busy timeout, for 2 s at most and not beyond the drain: another
   * process that opens the same database at the same moment may lock it to recover its log, and after the measurement
   * other clients may still write. `undo` runs before each further try.
   */
  async whenFree(act, undo = () => {}) {
    for (const until = performance.now() + FREE_WITHIN_MS; ; await new Promise((resume) => setTimeout(resume, FREE_AGAIN_MS))) {
      try {
        return await act();
      } catch (error) {
        if (!isLock(error, this.driver) || this.control.drainIsOver || performance.now() >= until) throw error;
        await undo();
      }
    }
  }

  async close() {
    for (const client of this.clients) await client.close();
  }

  /** Waits without blocking; false if the end of the drain interrupted it. */
  async pause(ns) {
    const until = this.clock.now() + ns;
    return (await this.sleeper.until(until, () => this.control.drainIsOver)) >= until;
  }

  /** Makes sleepers check the window. */
  wake() {
    this.sleeper?.wake();
  }

  /** Interrupts running statements. Called repeatedly, because an interrupt only affects a running statement. */
  interrupt() {
    this.wake();
    const running = this.clients.filter((client) => !client.over);
    for (const { conn } of running) {
      if (conn?.busy) conn.interrupt();
    }
    if (running.length > 0) setTimeout(() => this.interrupt(), INTERRUPT_AGAIN_MS);
  }

  /** Carries out the plan from `start` on, a reading of the monotonic clock. */
  async carryOut(start) {
    this.running = true;
    this.clock = new Clock(start);
    this.sleeper = new Sleeper(this.clock);
    const loop = new LoopFacts();
    loop.begin();
    await Promise.all(this.clients.map((client) => client.carryOut()));
    this.control.setOver();
    const facts = { ...loop.end(), ...(await this.readBack()) };
    await this.close();
    const { operations, failed } = this.control.counts;
    const attempts = this.clients.reduce((sum, client) => sum + client.samples.count, 0);
    const exhausted = this.clients.filter((client) => client.exhausted).length;
    return { operations, attempts, failed, exhausted, connections_opened: this.opened - this.openedBefore, ...facts };
  }
}

module.exports = { LoopFacts, MODEL, Run };
