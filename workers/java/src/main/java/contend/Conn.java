package contend;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.Map;

/** An open connection with its prepared statements. Used by one thread at a time, except for {@link #interrupt}. */
final class Conn {
    /** Receives each row while it can be read. */
    interface Rows {
        void row(ResultSet row, int columns) throws SQLException;
    }

    private static final class Prepared {
        PreparedStatement statement;
        int[] types;
        int columns = -1;
    }

    private static final long INTERRUPT_EVERY_NS = 100_000_000;

    final Driver driver;
    final Connection raw;
    private final boolean each;
    private final Map<Sql, Prepared> prepared = new HashMap<>();
    private volatile Statement running;
    private volatile boolean interrupting;
    private long interruptedAt;
    boolean lost;
    /** Whether the statements of the plan are prepared, except those that are prepared at their first use. */
    boolean ready;

    Conn(Driver driver, Connection raw, boolean each) {
        this.driver = driver;
        this.raw = raw;
        this.each = each;
    }

    /** Prepares a statement; with `each` also once now, so that an error shows before the window. */
    void prepare(Sql sql) throws SQLException {
        Prepared made = make(sql);
        if (!isText(sql)) {
            driver.validate(made.statement);
        }
        if (each) {
            made.statement.close();
        } else {
            prepared.put(sql, made);
        }
    }

    private boolean isText(Sql sql) {
        return sql.isPlain() && !driver.preparesPlain();
    }

    private Prepared make(Sql sql) throws SQLException {
        Prepared made = new Prepared();
        made.statement = raw.prepareStatement(sql.jdbc);
        if (sql.types == null) {
            sql.types = isText(sql) ? new int[0] : driver.parameterTypes(made.statement, sql);
        }
        made.types = sql.types;
        return made;
    }

    /** Number of columns that a statement returns. */
    int columns(Sql sql) throws SQLException {
        if (!sql.returns) {
            return 0;
        }
        try (PreparedStatement statement = raw.prepareStatement(sql.jdbc)) {
            var told = statement.getMetaData();
            // Not every server describes the result of INSERT ... RETURNING in advance.
            boolean untold = told == null || sql.changes && told.getColumnCount() == 0;
            return untold ? Integer.MAX_VALUE : told.getColumnCount();
        }
    }

    /** Executes a statement and reads every column of every row; returns the number of rows returned or changed. */
    long run(Sql sql, Object[] values, Rows rows) throws SQLException {
        try {
            if (isText(sql)) {
                return runText(sql);
            }
            Prepared known = prepared.get(sql);
            if (known == null && sql.keep && !each) {
                known = make(sql);
                prepared.put(sql, known);
            } else if (known != null && known.statement == null) {
                known.statement = raw.prepareStatement(sql.jdbc);
            }
            if (known != null) {
                return execute(known, sql, values, rows);
            }
            Prepared made = make(sql);
            try (PreparedStatement closed = made.statement) {
                return execute(made, sql, values, rows);
            }
        } catch (SQLException e) {
            lost |= driver.lost(e);
            replace(prepared.get(sql));
            throw e;
        }
    }

    /** Makes a statement that can no longer be used be prepared again at its next execution. */
    private void replace(Prepared failed) throws SQLException {
        if (failed != null && failed.statement != null && !driver.survivesErrors()) {
            PreparedStatement closed = failed.statement;
            failed.statement = null;
            closed.close();
        }
    }

    private long runText(Sql sql) throws SQLException {
        try (Statement statement = driver.statement(raw)) {
            running = statement;
            statement.execute(sql.text);
            return 0;
        } finally {
            running = null;
        }
    }

    private long execute(Prepared made, Sql sql, Object[] values, Rows rows) throws SQLException {
        PreparedStatement statement = made.statement;
        for (int i = 0; i < sql.order.length; i++) {
            Object value = values[sql.order[i]];
            if (value == null) {
                statement.setNull(i + 1, made.types[i]);
            } else {
                driver.bind(statement, i + 1, value, made.types[i]);
            }
        }
        running = statement;
        try {
            if (!sql.returns) {
                long changed = statement.executeUpdate();
                if (!sql.changes) {
                    return 0;
                }
                // A row that is replaced or changed may count twice.
                return sql.upserts > 0 ? Math.min(sql.upserts, changed) : changed;
            }
            return read(made, rows);
        } finally {
            running = null;
        }
    }

    private long read(Prepared made, Rows rows) throws SQLException {
        if (made.columns > 0) {
            try (ResultSet row = made.statement.executeQuery()) {
                return readAll(row, made.columns, rows);
            }
        }
        // A PRAGMA may return rows or not; the first execution shows it.
        if (!made.statement.execute()) {
            return 0;
        }
        try (ResultSet row = made.statement.getResultSet()) {
            made.columns = row.getMetaData().getColumnCount();
            return readAll(row, made.columns, rows);
        }
    }

    private static long readAll(ResultSet row, int columns, Rows rows) throws SQLException {
        long count = 0;
        while (row.next()) {
            if (rows != null) {
                rows.row(row, columns);
            } else {
                for (int i = 1; i <= columns; i++) {
                    row.getObject(i);
                }
            }
            count++;
        }
        return count;
    }

    /**
     * Interrupts what the connection executes now. For a server this takes a second connection, in parallel to the
     * caller.
     */
    void interrupt() {
        Statement target = running;
        long now = System.nanoTime();
        if (target == null || interrupting || driver.server() && now - interruptedAt < INTERRUPT_EVERY_NS) {
            return;
        }
        interruptedAt = now;
        if (!driver.server()) {
            interruptNow(target);
            return;
        }
        interrupting = true;
        Thread beside = new Thread(() -> {
            interruptNow(target);
            interrupting = false;
        });
        beside.setDaemon(true);
        beside.start();
    }

    private void interruptNow(Statement target) {
        try {
            driver.interrupt(raw, target);
        } catch (SQLException e) {
            // It may have ended meanwhile; the supervisor tries again.
        }
    }

    /** Whether the connection appears to be usable. */
    boolean open() {
        try {
            return !lost && (raw == null || !raw.isClosed());
        } catch (SQLException e) {
            return false;
        }
    }

    void close() {
        try {
            for (Prepared made : prepared.values()) {
                if (made.statement != null) {
                    made.statement.close();
                }
            }
            if (raw != null) {
                raw.close();
            }
        } catch (SQLException e) {
            System.err.println("contend worker: closing a connection: " + e.getMessage());
        }
    }
}
