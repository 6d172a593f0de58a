'use strict';
// Statements with their description in plans and scripts; nothing is derived from their text.

const { items } = require('./text');

/** One statement of a plan, or of the worker itself. */
class Statement {
  /** `effect` and `placeholders` are the fields of the statement's line. */
  constructor(sql, effect = '-', placeholders = '-') {
    this.sql = sql;
    const words = effect.split(',');
    /** Whether it changes rows, so that their number is reported. */
    this.changes = words.includes('changes');
    /** Whether it returns rows. */
    this.returns = words.includes('rows');
    /** Number of rows of values, if it replaces or updates existing rows. */
    this.upserts = Number(words.find((word) => word.startsWith('upserts='))?.slice(8) ?? 0);
    /** For each placeholder its byte offset, and its number if it has one. */
    this.places = items(placeholders).map((item) => item.split(':').map(Number));
    this.params = this.places.reduce((most, [, number]) => (number ? Math.max(most, number) : most + 1), 0);
  }

  /** The texts between the placeholders `?`, from this byte on: one more than there are placeholders. */
  parts(from = 0) {
    const bytes = Buffer.from(this.sql);
    const cuts = this.places.map(([at]) => at);
    return [...cuts, bytes.length].map((end, i) => bytes.toString('utf8', i === 0 ? from : cuts[i - 1] + 1, end));
  }
}

module.exports = { Statement };
