'use strict';
// The monotonic clock (CLOCK_MONOTONIC on Linux), and sleeping on the event loop.

// The global of this name is a getter, which costs a call each time.
const { performance } = require('perf_hooks');

/**
 * Reading of the monotonic clock at which `performance.now()` was 0, with the accuracy of the closest of some pairs
 * of readings.
 */
function origin() {
  let closest;
  for (let i = 0; i < 50; i++) {
    const before = process.hrtime.bigint();
    const now = performance.now();
    const took = process.hrtime.bigint() - before;
    if (!closest || took < closest.took) closest = { took, at: before + took / 2n - BigInt(Math.round(now * 1e6)) };
  }
  return closest.at;
}

/**
 * Nanoseconds since the start of a run, exact as a Number. `performance.now()` reads the same clock as
 * `process.hrtime()` at a fraction of its cost, because it allocates nothing.
 */
class Clock {
  constructor(start) {
    this.offset = Number(start - origin());
  }

  now() {
    return Math.round(performance.now() * 1e6) - this.offset;
  }
}

const LONGEST_MS = 2147483647;

/** Sleeps that can be ended early. Timers of Node have millisecond resolution and may fire slightly too early. */
class Sleeper {
  constructor(clock) {
    this.clock = clock;
    this.sleeping = new Set();
  }

  /** Waits until `due`, or until `over()` holds after a call of `wake`; returns the time. */
  async until(due, over) {
    let now = this.clock.now();
    while (now < due && !over()) {
      const ms = Math.min(Math.ceil((due - now) / 1e6), LONGEST_MS);
      await new Promise((wake) => {
        const one = { wake, timer: setTimeout(() => this.end(one), ms) };
        this.sleeping.add(one);
      });
      now = this.clock.now();
    }
    return now;
  }

  end(one) {
    clearTimeout(one.timer);
    this.sleeping.delete(one);
    one.wake();
  }

  /** Makes all sleepers check their conditions. */
  wake() {
    for (const one of [...this.sleeping]) this.end(one);
  }
}

module.exports = { Clock, Sleeper };
