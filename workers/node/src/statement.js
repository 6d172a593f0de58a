'use strict';
// Statements with what plans and scripts say of them: nothing is learnt from the text of one.

const { items } = require('./text');

/** One statement of a plan, or of the worker itself. */
class Statement {
  /** `effect` and `placeholders` are the fields of the statement's line. */
  constructor(sql, effect = '-', placeholders = '-') {
    this.sql = sql;
    const words = effect.split(',');
    /** It changes rows, so their number is told. */
    this.changes = words.includes('changes');
    /** It returns rows. */
    this.returns = words.includes('rows');
    /** How many rows of values it has, if it replaces or changes those that are there already. */
    this.upserts = Number(words.find((word) => word.startsWith('upserts='))?.slice(8) ?? 0);
    /** Of each placeholder its first byte, and its number if it has one. */
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
