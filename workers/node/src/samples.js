'use strict';
// The samples of one client, stored as numbers until the run is over. Times are nanoseconds since the start of the
// run, so that they are exact as Numbers.

const BYTES = 64;
const FIELDS = 8;
const WORD = 2 ** 32;
const NOT_MEASURED = WORD - 1;
const CHUNK = 4096;

class Samples {
  constructor(client) {
    this.client = client;
    this.chunks = [new Float64Array(CHUNK * FIELDS)];
    this.at = 0;
  }

  /** Number of samples. */
  get count() {
    return (this.chunks.length - 1) * CHUNK + this.at / FIELDS;
  }

  /** `which`: transaction and attempt; `outcome`: failed step, code space and flags; 32 bits each, as in a sample. */
  add(operation, which, outcome, code, rows, due, started, finished) {
    let chunk = this.chunks[this.chunks.length - 1];
    let at = this.at;
    if (at === chunk.length) {
      chunk = new Float64Array(CHUNK * FIELDS);
      this.chunks.push(chunk);
      at = 0;
    }
    chunk[at] = operation;
    chunk[at + 1] = which;
    chunk[at + 2] = outcome;
    chunk[at + 3] = code;
    chunk[at + 4] = rows;
    chunk[at + 5] = due;
    chunk[at + 6] = started;
    chunk[at + 7] = finished;
    this.at = at + FIELDS;
  }

  /**
   * The bytes of samples `first` to `last`, with times as readings of the monotonic clock; `start` is that of the
   * run.
   */
  encode(start, first = 0, last = this.count) {
    // 32-bit words: a BigInt for every time would take longer than the run did.
    const words = new Uint32Array(((last - first) * BYTES) / 4);
    const [high, low] = [Number(start >> 32n), Number(start & 0xffffffffn)];
    let to = 0;
    for (let i = first; i < last; i++) {
      const from = this.chunks[Math.floor(i / CHUNK)];
      const at = (i % CHUNK) * FIELDS;
      words[to++] = this.client;
      for (let word = 0; word < 5; word++) words[to++] = from[at + word];
      for (let time = 5; time < FIELDS; time++) {
        const sum = low + from[at + time];
        const carry = Math.floor(sum / WORD);
        words[to++] = sum - carry * WORD;
        words[to++] = high + carry;
      }
      words[to++] = NOT_MEASURED;
      words[to++] = NOT_MEASURED;
      to += 2;
    }
    return Buffer.from(words.buffer);
  }
}

module.exports = { BYTES, Samples };
