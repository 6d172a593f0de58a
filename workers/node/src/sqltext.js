'use strict';
// What the text of a statement tells of it: drivers do not say it before they execute one, or not at all.

const CHANGING = ['INSERT', 'UPDATE', 'DELETE', 'REPLACE'];
const READING = ['SELECT', 'VALUES', 'WITH', 'PRAGMA', 'EXPLAIN', 'SHOW', 'TABLE', 'CALL'];
// A quoted text, a quoted name (brackets quote names in SQLite only), a comment, a placeholder, a word, a parenthesis.
const TOKENS = /'(?:[^']|'')*'|"[^"]*"|`[^`]*`|(\[[^\]]*\])|--[^\n]*|\/\*[\s\S]*?\*\/|\?\d*|\$\d+|[\w\u0080-\uffff]+|[()]/g;

/** One statement of a plan, or of the worker itself. */
class Statement {
  constructor(sql, server = false) {
    this.sql = sql;
    this.params = 0;
    let depth = 0;
    let groups = 0;
    let ended = false;
    const words = [];
    for (const [token, brackets] of sql.matchAll(TOKENS)) {
      const last = words[words.length - 1];
      if (brackets && server) continue;
      if (token[0] === '?' || token[0] === '$') {
        const number = Number(token.slice(1));
        this.params = number ? Math.max(this.params, number) : this.params + 1;
      } else if (token === '(') {
        if (depth === 0 && !ended && (last === 'VALUES' || groups > 0)) groups++;
        depth++;
      } else if (token === ')') {
        depth--;
      } else if (/^[\w\u0080-\uffff]/.test(token)) {
        words.push(token.toUpperCase());
        ended ||= depth === 0 && words[words.length - 1] === 'ON';
      }
    }
    const first = words[0] ?? '';
    /** It changes rows, so their number is told. */
    this.changes = CHANGING.includes(first) || (first === 'WITH' && words.some((w) => CHANGING.slice(0, 3).includes(w)));
    /** It returns rows. */
    this.returns = this.changes ? words.includes('RETURNING') : READING.includes(first);
    const upserts = first === 'REPLACE' || words.some((word, i) => word === 'DUPLICATE' && words[i - 1] === 'ON');
    /** How many rows of values it has, if it replaces or changes those that are there already. */
    this.upserts = upserts ? groups : 0;
  }
}

module.exports = { Statement };
