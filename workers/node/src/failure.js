'use strict';
// Why a part of an attempt failed: code and code space, as in samples.

const { SPACES } = require('./plan');

const WORKER = SPACES.indexOf('worker');
const SQLSTATE = SPACES.indexOf('sqlstate');
const CODE_ROWS = 1;
const CODE_NOT_KEPT = 2;
const CODE_VALUE = 3;
const CODE_DRIVER = 4;

class Failure extends Error {
  constructor(space, code, words) {
    super(words ?? `${SPACES[space]} ${code}`);
    this.space = space;
    this.code = code;
  }
}

const failure = (space, code, words) => new Failure(SPACES.indexOf(space), code, words);
const wrongValue = (words) => new Failure(WORKER, CODE_VALUE, words ?? 'a value that this driver cannot represent');

/** SQLSTATE's five characters as digits in base 36. */
const sqlstate = (state, words) => failure('sqlstate', parseInt(state, 36), words);

// ECANCELED: for requests that a server never received.
const canceled = failure('os', 125);

/** Failure of the worker's own interrupted waits, and of a step that may not begin any more. */
const cutShort = (driver) => (driver.server ? canceled : driver.interrupted);

/** Whether this is a possible failure of a statement interrupted at the end of the drain. */
const isCut = (driver, space, code) =>
  [driver.interrupted, cutShort(driver), ...(driver.cuts ?? [])].some((one) => space === one.space && code === one.code);

/** Whether a connection that opens met SQLITE_BUSY or SQLITE_LOCKED, with their extended codes. */
function isLock(error, driver) {
  const found = error instanceof Failure ? error : driver.failure(error);
  return found !== undefined && SPACES[found.space] === 'sqlite' && [5, 6].includes(found.code & 0xff);
}

let told = 0;

/** The failure for an error of a driver. Errors without a code of the engine are printed, a few times. */
function failureOf(error, driver) {
  if (error instanceof Failure) return error;
  const found = driver.failure(error);
  if (found) return found;
  if (told++ < 20) console.error(`contend worker: an error of ${driver.name} itself: ${error.stack ?? error}`);
  return new Failure(WORKER, CODE_DRIVER, error.message);
}

module.exports = { CODE_DRIVER, CODE_NOT_KEPT, CODE_ROWS, CODE_VALUE, Failure, SQLSTATE, WORKER, cutShort, failure, failureOf, isCut, isLock, sqlstate, wrongValue };
