'use strict';
// The thread whose event loop runs the clients. It is controlled by the thread that talks to the tool.

const { parentPort, workerData } = require('worker_threads');
const { MODEL, Run } = require('./run');
const { parsePlan } = require('./plan');
const { BYTES } = require('./samples');
const script = require('./script');
const { factsLine } = require('./text');

/** Samples per message. */
const FRAME = Math.floor((1 << 20) / BYTES);
// eslint-disable-next-line import/no-dynamic-require
const driver = require(`./drivers/${workerData.driver}`);

let run;
let prepared = Promise.resolve();

const say = (line) => parentPort.postMessage({ kind: 'say', text: line });
const saySize = (word, bytes) => parentPort.postMessage({ kind: 'say', text: `${word} ${bytes.length}\n`, bytes });
const fail = (error) => say(`failed\t${require('./text').escape(String(error.message ?? error))}\n`);

async function hello() {
  const versions = await driver.versions();
  say(factsLine('hello', {
    protocol: 1,
    language: `Node ${process.versions.node}`,
    driver: versions.driver,
    engine: versions.engine,
    lock_wait: 'off',
    drivers: driver.nothing ? `${driver.name},null` : driver.name,
    models: MODEL,
    v8: process.versions.v8,
    uv_threads: process.env.UV_THREADPOOL_SIZE ?? '4',
    ...(versions.autocommit ? { autocommit: versions.autocommit } : {}),
    ...(versions.statementCache === undefined ? {} : { statement_cache: versions.statementCache }),
    ...(versions.compileOptions ? { compile_options: versions.compileOptions } : {}),
  }));
}

async function plan(text) {
  try {
    await run?.close();
    run = undefined;
    const made = new Run(parsePlan(text), driver);
    const sessions = await made.prepare();
    run = made;
    // Garbage of the preparation must not be collected in the window.
    global.gc?.();
    for (const facts of sessions) say(factsLine('session', facts));
    const { runIn, length, drain } = made.plan;
    parentPort.postMessage({ kind: 'ready', memory: made.control.memory, length: length === 0 ? Infinity : runIn + length, drain });
  } catch (error) {
    fail(error);
    parentPort.postMessage({ kind: 'refused' });
  }
}

async function start(at) {
  const running = run;
  const done = await running.carryOut(at);
  run = undefined;
  say(factsLine('done', done));
  for (const { samples } of running.clients) {
    for (let from = 0; from < samples.count; from += FRAME) {
      saySize('samples', samples.encode(at, from, Math.min(from + FRAME, samples.count)));
    }
  }
  say('end\n');
  parentPort.postMessage({ kind: 'over' });
}

async function carryOutScript(text) {
  try {
    saySize('reply', Buffer.from(await script.carryOut(text, driver)));
  } catch (error) {
    fail(error);
  }
}

const inOrder = {
  script: ({ text }) => carryOutScript(text),
  plan: ({ text }) => plan(text),
  start: ({ at }) => start(at),
};

parentPort.on('message', (message) => {
  if (message.kind === 'wake') run?.wake();
  else if (message.kind === 'drain') run?.interrupt();
  else prepared = prepared.then(() => inOrder[message.kind](message));
});
prepared = hello();
