'use strict';
// The worker's program: talks to the tool, keeps the time of a run, and ends the process if nothing else helps.
// Clients run in another thread, so that the tool is answered while a driver blocks their event loop.

const { Worker } = require('worker_threads');
const fs = require('fs');
const path = require('path');
const { Control } = require('./control');
const { escape, factsLine } = require('./text');

const PROGRESS_EVERY_MS = 200;
const STUCK_NS = 5e9;
const LONGEST_MS = 1000;
/** A driver is a module with its name. */
const isDriver = (name) => /^[a-z0-9-]+$/.test(name) && fs.existsSync(path.join(__dirname, 'drivers', `${name}.js`));

class Server {
  constructor(driver, listens = true) {
    this.input = Buffer.alloc(0);
    this.parts = [];
    this.loop = new Worker(path.join(__dirname, 'loop.js'), { workerData: { driver } });
    this.loop.on('message', (message) => this.hear(message));
    this.loop.on('error', (error) => {
      console.error(error);
      this.leave(`an uncaught exception: ${error.message}`);
    });
    // Without the clients' thread nothing would be answered.
    this.loop.on('exit', (code) => this.leave(`the thread of the clients ended by itself (${code})`));
    process.stdout.on('error', () => this.leave());
    if (!listens) return;
    process.stdin.on('data', (bytes) => this.read(bytes));
    process.stdin.on('end', () => this.leave());
  }

  say(text, bytes) {
    process.stdout.write(text);
    if (bytes) process.stdout.write(bytes);
  }

  /** Ends the process, whatever the other thread is doing. */
  leave(reason) {
    if (reason) this.say(`failed\t${escape(reason)}\n`);
    process.kill(process.pid, 'SIGKILL');
  }

  read(bytes) {
    this.parts.push(bytes);
    // A plan arrives in many pieces, which are joined once, when all have arrived.
    if (this.missing > 0) {
      this.missing -= bytes.length;
      if (this.missing > 0) return;
    }
    this.input = Buffer.concat([this.input, ...this.parts]);
    this.parts = [];
    while (this.readOne());
  }

  readOne() {
    const end = this.input.indexOf(10);
    if (end < 0) return false;
    const line = this.input.toString('utf8', 0, end);
    const sized = /^(plan|script) ([0-9]+)$/.exec(line);
    const length = sized ? Number(sized[2]) : 0;
    this.missing = end + 1 + length - this.input.length;
    if (this.missing > 0) return false;
    const text = this.input.toString('utf8', end + 1, end + 1 + length);
    this.input = this.input.subarray(end + 1 + length);
    if (sized) this.loop.postMessage({ kind: sized[1], text });
    else this.command(line.split('\t'));
    return true;
  }

  command([word, time]) {
    switch (word) {
      case 'clock':
        this.say(`clock\t${process.hrtime.bigint()}\n`);
        break;
      case 'start':
        this.start(/^[0-9]+$/.test(time) ? BigInt(time) : undefined);
        break;
      case 'stop':
        if (this.running) {
          this.control.stop(this.now());
          this.loop.postMessage({ kind: 'wake' });
          this.watch();
        }
        break;
      case 'quit':
        process.exit(0);
        break;
      default:
        this.say(`failed\t${escape(`\`${word}\` is not a request of contend's`)}\n`);
    }
  }

  hear(message) {
    switch (message.kind) {
      case 'say':
        // Nothing may come between `done` and `end`, and the timer may be due.
        if (message.text.startsWith('done')) this.finish();
        this.say(message.text, message.bytes && Buffer.from(message.bytes));
        break;
      case 'ready':
        this.ready = message;
        this.say('ready\n');
        break;
      case 'refused':
        this.ready = undefined;
        break;
      default:
        this.finish();
    }
  }

  finish() {
    this.running = false;
    clearInterval(this.progress);
    clearTimeout(this.watcher);
  }

  now() {
    return Number(process.hrtime.bigint() - this.startedAt);
  }

  start(at) {
    if (!this.ready || at === undefined) {
      this.say('failed\tthere is nothing to start\n');
      return;
    }
    this.startedAt = at;
    this.control = new Control(this.ready.memory);
    this.control.open(this.ready.length, this.ready.drain);
    this.ready = undefined;
    this.running = true;
    this.loop.postMessage({ kind: 'start', at });
    this.progress = setInterval(() => this.tell(), PROGRESS_EVERY_MS);
    this.watch();
  }

  tell() {
    if (this.running) this.say(factsLine('progress', { elapsed_ns: Math.max(0, this.now()), ...this.control.counts }));
  }

  /** Ends the drain when it is due, and the process if that does not help. */
  watch() {
    clearTimeout(this.watcher);
    if (!this.running) return;
    const left = this.control.drainEnd - this.now();
    if (left > 0) {
      this.watcher = setTimeout(() => this.watch(), Math.min(Math.ceil(left / 1e6), LONGEST_MS));
      return;
    }
    if (!this.control.drainIsOver) {
      this.control.endDrain();
      this.loop.postMessage({ kind: 'drain' });
    }
    if (left < -STUCK_NS && !this.control.isOver) this.leave('clients did not return 5 s after they were interrupted; a call of the driver keeps the event loop');
    this.watcher = setTimeout(() => this.watch(), 100);
  }
}

/** Carries out a plan from a file, without the tool; writes the samples to another file, without a header. */
class ByHand extends Server {
  constructor(driver, plan, samples) {
    super(driver, false);
    this.samples = fs.openSync(samples, 'w');
    this.loop.postMessage({ kind: 'plan', text: fs.readFileSync(plan, 'utf8') });
  }

  say(text, bytes) {
    if (text.startsWith('failed')) {
      console.error(text.trim().replace('\t', ': '));
      process.exitCode = 1;
      process.exit();
    }
    if (bytes) fs.writeSync(this.samples, bytes);
    else if (/^(session|done)/.test(text)) process.stdout.write(text.replaceAll('\t', ' '));
    if (text === 'ready\n') this.start(process.hrtime.bigint());
    if (text === 'end\n') process.exit(0);
  }
}

const USAGE = `usage: contend-worker-node-DRIVER [--plan FILE --samples FILE]

A worker of contend: it reads requests from standard input and answers on standard output (docs/formats.md of the
project). With --plan it carries out the plan in a file, and writes its samples to another.`;

const [driver, ...more] = process.argv.slice(2);
if (more.length === 1 && (more[0] === '--help' || more[0] === '-h')) {
  console.log(USAGE);
} else if (isDriver(driver) && more.length === 0) {
  new Server(driver);
} else if (isDriver(driver) && more.length === 4 && more[0] === '--plan' && more[2] === '--samples') {
  new ByHand(driver, more[1], more[3]);
} else {
  console.error(more[0] === 'serve' ? 'the workers for Node do not serve over HTTP' : USAGE);
  process.exit(2);
}
