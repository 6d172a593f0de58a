'use strict';
// The samples of one client, kept as numbers until the run is over. Times are nanoseconds since the start of the run,
// so that they are exact in a Number however long the machine has been up.

const BYTES = 64;
const FIELDS = 11;
const NOT_MEASURED = 2n ** 64n - 1n;
const CHUNK = 4096;

class Samples {
  constructor(client) {
    this.client = client;
    this.chunks = [new Float64Array(CHUNK * FIELDS)];
    this.at = 0;
  }

  /** How many there are. */
  get count() {
    return (this.chunks.length - 1) * CHUNK + this.at / FIELDS;
  }

  add(operation, transaction, attempt, failedStep, space, flags, code, rows, due, started, finished) {
    let chunk = this.chunks[this.chunks.length - 1];
    let at = this.at;
    if (at === chunk.length) {
      chunk = new Float64Array(CHUNK * FIELDS);
      this.chunks.push(chunk);
      at = 0;
    }
    chunk[at] = operation;
    chunk[at + 1] = transaction;
    chunk[at + 2] = attempt;
    chunk[at + 3] = failedStep;
    chunk[at + 4] = space;
    chunk[at + 5] = flags;
    chunk[at + 6] = code;
    chunk[at + 7] = rows;
    chunk[at + 8] = due;
    chunk[at + 9] = started;
    chunk[at + 10] = finished;
    this.at = at + FIELDS;
  }

  /** The bytes of all samples, times as readings of the monotonic clock; `start`: that of the run. */
  encode(start) {
    const out = Buffer.alloc(this.count * BYTES);
    for (let i = 0; i < this.count; i++) {
      const from = this.chunks[Math.floor(i / CHUNK)];
      const at = (i % CHUNK) * FIELDS;
      const to = i * BYTES;
      out.writeUInt32LE(this.client, to);
      out.writeUInt32LE(from[at], to + 4);
      out.writeUInt16LE(from[at + 1], to + 8);
      out.writeUInt16LE(from[at + 2], to + 10);
      out.writeUInt16LE(from[at + 3], to + 12);
      out.writeUInt8(from[at + 4], to + 14);
      out.writeUInt8(from[at + 5], to + 15);
      out.writeUInt32LE(from[at + 6], to + 16);
      out.writeUInt32LE(from[at + 7], to + 20);
      for (let time = 0; time < 3; time++) out.writeBigUInt64LE(start + BigInt(from[at + 8 + time]), to + 24 + time * 8);
      out.writeBigUInt64LE(NOT_MEASURED, to + 48);
      out.writeBigUInt64LE(0n, to + 56);
    }
    return out;
  }
}

module.exports = { BYTES, Samples };
