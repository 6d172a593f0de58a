'use strict';
// The window of a run, shared by the thread that talks to the tool and the thread with the event loop. Times are
// nanoseconds since the start of the run.

// Flags.
const DRAIN_OVER = 0;
const OVER = 1;
// Numbers.
const WINDOW_END = 0;
const DRAIN = 1;
const OPERATIONS = 2;
const FAILED = 3;
const NUMBERS = 4;

class Control {
  /** With `memory`, the same window as in the other thread. */
  constructor(memory = new SharedArrayBuffer(4 + 4 + NUMBERS * 8)) {
    this.memory = memory;
    this.flag = new Int32Array(memory, 0, 2);
    this.numbers = new Float64Array(memory, 8, NUMBERS);
  }

  open(end, drain) {
    this.numbers[WINDOW_END] = end;
    this.numbers[DRAIN] = drain;
  }

  get windowEnd() {
    return this.numbers[WINDOW_END];
  }

  get drainEnd() {
    return this.numbers[WINDOW_END] + this.numbers[DRAIN];
  }

  /** Whether an attempt may still begin at this time. */
  inTime(at) {
    return !this.drainIsOver && at < this.drainEnd;
  }

  /** Ends the window now, unless it is over already. */
  stop(now) {
    if (now < this.windowEnd) this.numbers[WINDOW_END] = now;
  }

  get drainIsOver() {
    return Atomics.load(this.flag, DRAIN_OVER) === 1;
  }

  /** Whether no client begins anything more. What remains is closing the connections, which may take time. */
  get isOver() {
    return Atomics.load(this.flag, OVER) === 1;
  }

  setOver() {
    Atomics.store(this.flag, OVER, 1);
  }

  /** Ends the drain, and holds that block the event loop. */
  endDrain() {
    Atomics.store(this.flag, DRAIN_OVER, 1);
    Atomics.notify(this.flag, DRAIN_OVER);
  }

  /** Blocks the thread for this many nanoseconds; true if the end of the drain interrupted it. */
  block(ns) {
    return Atomics.wait(this.flag, DRAIN_OVER, 0, ns / 1e6) !== 'timed-out';
  }

  count(failed) {
    this.numbers[OPERATIONS]++;
    if (failed) this.numbers[FAILED]++;
  }

  get counts() {
    return { operations: this.numbers[OPERATIONS], failed: this.numbers[FAILED] };
  }
}

module.exports = { Control };
