'use strict';
// Opens connections for a plan: runs options and session statements, prepares statements and checks them against the
// plan, reads back settings.

const { before } = require('./options');
const { Statement } = require('./statement');
const { inWords } = require('./text');

/** All statements of a plan. Each has an index into the prepared statements of a connection. */
function statementsOf(plan) {
  const all = [];
  const placed = (statement) => {
    statement.index = all.push(statement) - 1;
    return statement;
  };
  const simple = (sql) => placed(new Statement(sql));
  return {
    all,
    steps: plan.statements.map(placed),
    begins: plan.transactions.map((t) => (t.begin ? simple(t.begin) : undefined)),
    commit: simple('COMMIT'),
    rollback: simple('ROLLBACK'),
  };
}

async function onSql(sql, work) {
  try {
    return await work();
  } catch (error) {
    error.message = `\`${sql}\`: ${error.message}`;
    throw error;
  }
}

/** Executes a statement outside of the plan's transactions. */
async function execute(conn, statement) {
  return onSql(statement.sql, async () => conn.run(await conn.prepare(statement, true, true), []));
}

/** Opens a connection, and runs its options and session statements. */
async function open(driver, database, options, session) {
  const conn = await driver.open(database, options);
  conn.statements = [];
  try {
    const statements = driver.server || driver.nothing ? session : [...before(options), ...session];
    for (const statement of driver.nothing ? [] : statements) await execute(conn, statement);
  } catch (error) {
    await conn.close();
    throw error;
  }
  return conn;
}

/** Prepares a plan's statements on a connection opened before the run, so that errors show. */
async function prepare(conn, statements, each) {
  for (const statement of statements.all) {
    conn.statements.push(await onSql(statement.sql, () => conn.prepare(statement, each)));
  }
}

/** Checks that steps keep only existing columns. */
async function check(conn, plan, statements) {
  for (const t of plan.transactions) {
    for (const step of t.steps.filter((s) => s.kind === 'sql')) {
      const { sql } = statements.steps[step.statement];
      const last = Math.max(-1, ...step.keep.map((keep) => keep.column));
      const columns = last < 0 ? Infinity : await conn.columns(conn.statements[statements.steps[step.statement].index]);
      if (last >= columns) throw new Error(`\`${sql}\` has ${columns} columns, the plan keeps column ${last}`);
    }
  }
}

/** The first column of the first row, as text. */
async function readBack(conn, sql) {
  const rows = await execute(conn, new Statement(sql, 'rows'));
  return typeof rows === 'number' || rows.length === 0 ? '' : inWords(await onSql(sql, () => conn.value(rows, 0, 0)));
}

/** The settings that a connection reports. */
async function session(conn, driver, plan, client) {
  const facts = { client };
  if (driver.nothing) return facts;
  const asked = plan.readbacks.map(([name, sql]) => [name, sql]);
  if (!driver.server && !asked.some(([name]) => name === 'busy_timeout')) asked.push(['busy_timeout', 'PRAGMA busy_timeout']);
  for (const [name, sql] of asked) facts[name] = await readBack(conn, sql);
  return facts;
}

module.exports = { check, execute, open, prepare, session, statementsOf };
