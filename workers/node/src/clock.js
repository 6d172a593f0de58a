'use strict';
// The monotonic clock (CLOCK_MONOTONIC on Linux), and sleeping on the event loop.

// The global of this name is looked up by a function each time.
const { performance } = require('perf_hooks');

/** When `performance.now()` was 0, on the monotonic clock; known to within the time that the closest of some readings took. */
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

/** Nanoseconds since the start of a run, exact as a Number. `performance.now()` reads the same clock as `process.hrtime()` at a
 * fraction of its cost, as nothing has to be allocated. */
class Clock {
  constructor(start) {
    this.offset = Number(start - origin());
  }

  now() {
    return Math.round(performance.now() * 1e6) - this.offset;
  }
}

const LONGEST_MS = 2147483647;

/** Sleeps that can be ended early. A timer of Node counts in milliseconds and may fire a little too early. */
class Sleeper {
  constructor(clock) {
    this.clock = clock;
    this.sleeping = new Set();
  }

  /** Waits until `due`, or until `over()` holds after a call of `wake`; what time it is then. */
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

  /** Has everybody look again. */
  wake() {
    for (const one of [...this.sleeping]) this.end(one);
  }
}

module.exports = { Clock, Sleeper };
