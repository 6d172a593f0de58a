'use strict';
// The monotonic clock (CLOCK_MONOTONIC on Linux), and sleeping on the event loop.

/** Nanoseconds since the start of a run, exact as a Number. */
class Clock {
  constructor(start) {
    this.start = start;
    this.seconds = Number(start / 1000000000n);
    this.rest = Number(start % 1000000000n);
  }

  now() {
    const [seconds, rest] = process.hrtime();
    return (seconds - this.seconds) * 1e9 + (rest - this.rest);
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
