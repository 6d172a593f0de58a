'use strict';
// Executes nothing. What remains is the worker's own cost per operation: arguments are still looked up, rows counted,
// samples recorded.

const { CODE_DRIVER, failure } = require('../failure');

const conn = {
  inTransaction: false,
  prepare: () => ({}),
  run: () => 0,
  columns: () => Infinity,
  value: () => null,
  names: () => [],
  close: () => undefined,
};

module.exports = {
  name: 'node-null',
  blocks: true,
  nothing: true,
  interrupted: failure('worker', CODE_DRIVER),
  versions: () => ({ driver: 'null', engine: 'none' }),
  failure: () => undefined,
  open: () => ({ ...conn }),
};
