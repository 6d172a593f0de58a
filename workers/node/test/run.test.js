'use strict';
// A plan on the event loop with the null driver: properties that conformance cases do not reach on every machine.

const assert = require('assert');
const { test } = require('node:test');
const { BlockingAttempt } = require('../src/attempt');
const nothing = require('../src/drivers/node-null');
const { failure, isCut } = require('../src/failure');
const { parsePlan } = require('../src/plan');
const { LoopFacts, Run } = require('../src/run');
const { digest } = require('../src/text');

const BODY = `contend-plan 3
worker	0
driver	null	event-loop
connections	client
window	0	1000000	60000000
now	clock
database	file	x
statement	0	rows	7	SELECT ?
transaction	0	never kept	read	-	0	1	1
step	sql	0	1..1	1	-	k0+0
retry	9	50000000	-	worker:2
clients	1
client	0	0	closed	finite	1	0	1
op	0	0
`;
const PLAN = `${BODY}end\t${digest(BODY)}\n`;

/** Runs the plan; while it waits for its second attempt, the event loop is blocked until the drain is over. */
async function ran() {
  const run = new Run(parsePlan(PLAN), nothing);
  await run.prepare();
  run.control.open(1e6, 60e6);
  const done = run.carryOut(process.hrtime.bigint());
  const until = Date.now() + 150;
  while (Date.now() < until);
  return { done: await done, samples: run.clients[0].samples };
}

test('no attempt begins after the drain, however late the loop comes to it', async () => {
  const { done, samples } = await ran();
  assert.deepStrictEqual([samples.count, done.operations, done.failed], [1, 1, 1]);
});

test('the thread that talks to the tool learns that only closing remains', async () => {
  const run = new Run(parsePlan(PLAN), nothing);
  await run.prepare();
  run.control.open(1e6, 60e6);
  const overWhileClosing = new Promise((resolve) => {
    run.clients[0].close = async () => resolve(run.control.isOver);
  });
  assert.ok(!run.control.isOver);
  await run.carryOut(process.hrtime.bigint());
  assert.ok(await overWhileClosing);
});

test('a long run may have any number of collections', () => {
  const facts = new LoopFacts();
  facts.begin();
  facts.note(Array.from({ length: 300000 }, (_, i) => ({ duration: i === 7 ? 1000 : 0.5 })));
  const { gc_pauses: count, gc_pause_ns: total, gc_pause_ns_max: longest } = facts.end();
  // The collector may also have run on its own.
  assert.ok(count >= 300000 && count < 300100, `${count}`);
  assert.ok(total >= 1000e6 + 299999 * 0.5e6 && total < 160000e6, `${total}`);
  assert.strictEqual(longest, 1000e6);
});

test('the time is that since 1970, finer than milliseconds', () => {
  const run = new Run(parsePlan(PLAN), nothing);
  const attempt = new BlockingAttempt(run, run.plan.clients[0]);
  const times = Array.from({ length: 50 }, () => {
    const before = BigInt(Date.now() - 1000) * 1000000n;
    const now = attempt.time();
    assert.ok(before < now && now < BigInt(Date.now() + 1000) * 1000000n, `${now}`);
    return now;
  });
  assert.ok(times.some((now) => now % 1000000n !== 0n));
});

test('what the end of the drain cuts short has the codes of the driver, and those of the worker', () => {
  const errno = (number) => failure('mysql', number);
  const driver = { server: true, interrupted: errno(1317), cuts: [errno(2013), errno(1927)] };
  const cut = ({ space, code }) => isCut(driver, space, code);
  assert.deepStrictEqual([1317, 2013, 1927, 1205].map((number) => cut(errno(number))), [true, true, true, false]);
  assert.ok(cut(failure('os', 125)) && !cut(failure('sqlite', 1317)));
  const { space } = failure('os', 125);
  assert.ok(!isCut({ interrupted: failure('sqlite', 9) }, space, 125), 'SQLite has a code of its own for it');
});
