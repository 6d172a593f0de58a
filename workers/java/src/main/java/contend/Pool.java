package contend;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.io.PrintWriter;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.util.Collection;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.logging.Logger;
import java.util.stream.Collectors;
import javax.sql.DataSource;

/**
 * Shared connections of the clients of one database: HikariCP at its maximum size, with all connections opened in
 * advance.
 */
final class Pool {
    /** A connection, and the pool's proxy for it. */
    record Lease(Connection proxy, Conn conn) {}

    /** Failed openings in a row after which a wait ends: a single one may be over at the next. */
    private static final int GONE_AFTER = 3;

    private final Run run;
    private final HikariDataSource inner;
    private final Map<Connection, Conn> opened = new ConcurrentHashMap<>();
    /** Threads that wait for a connection. */
    private final Map<Thread, Boolean> waiting = new ConcurrentHashMap<>();
    /** Openings that failed since the last one that did not; written by the pool's thread that opens. */
    private volatile int failures;
    private volatile SQLException failure;

    Pool(Run run, int database) {
        this.run = run;
        HikariConfig config = new HikariConfig();
        config.setDataSource(new Opening(database));
        config.setMaximumPoolSize(run.options.poolSize);
        config.setMinimumIdle(run.options.poolSize);
        config.setInitializationFailTimeout(-1);
        config.setRegisterMbeans(false);
        if (run.options.initString) {
            config.setConnectionInitSql(run.sessionStatements().stream().map(sql -> sql.text).collect(Collectors.joining("; ")));
        }
        inner = new HikariDataSource(config);
    }

    /** Opens connections for the pool. */
    private final class Opening implements DataSource {
        private final int database;

        Opening(int database) {
            this.database = database;
        }

        @Override
        public Connection getConnection() throws SQLException {
            try {
                return open();
            } catch (SQLException e) {
                failure = e;
                failures++;
                if (failures >= GONE_AFTER) {
                    interrupt();
                }
                throw e;
            }
        }

        private Connection open() throws SQLException {
            // The pool closes idle connections that are lost.
            opened.values().removeIf(conn -> !conn.open());
            try {
                // With an init string, the pool runs it after this call, and statements are prepared later.
                Conn conn = run.options.initString ? run.bare(database) : run.connect(database);
                opened.put(conn.raw, conn);
                failures = 0;
                return conn.raw;
            } catch (Failure | IllegalArgumentException e) {
                throw new SQLException(e.getMessage(), e);
            }
        }

        @Override
        public Connection getConnection(String user, String password) throws SQLException {
            return getConnection();
        }

        @Override
        public PrintWriter getLogWriter() {
            return null;
        }

        @Override
        public void setLogWriter(PrintWriter out) { }

        @Override
        public void setLoginTimeout(int seconds) { }

        @Override
        public int getLoginTimeout() {
            return 0;
        }

        @Override
        public Logger getParentLogger() {
            return Logger.getGlobal();
        }

        @Override
        public <T> T unwrap(Class<T> type) throws SQLException {
            throw new SQLException("nothing is behind it");
        }

        @Override
        public boolean isWrapperFor(Class<?> type) {
            return false;
        }
    }

    /** Takes a connection; the wait ends with the drain, or when none can be opened. */
    Lease take(Control control) throws SQLException {
        while (true) {
            try {
                Connection proxy = await();
                Conn conn = opened.get(proxy.unwrap(run.driver.connectionType()));
                run.prepareStatements(conn);
                return new Lease(proxy, conn);
            } catch (SQLTransientConnectionException e) {
                // The pool's own limit, 30 s. In the run the wait begins again.
                if (control == null) {
                    throw e.getCause() instanceof SQLException opening ? opening : e;
                }
            } catch (SQLException e) {
                if (!(e.getCause() instanceof InterruptedException)) {
                    throw e;
                }
                if (control != null && control.drainIsOver) {
                    throw run.driver.cutShort();
                }
                if (failures >= GONE_AFTER) {
                    throw failure;
                }
            }
        }
    }

    /** One wait, without a loss of the place in the queue: only {@link #interrupt} ends it early. */
    private Connection await() throws SQLException {
        Thread self = Thread.currentThread();
        waiting.put(self, true);
        try {
            return inner.getConnection();
        } finally {
            waiting.remove(self);
            // An interrupt that came late must not hit what the thread does next.
            Thread.interrupted();
        }
    }

    /** Ends all waits for a connection. */
    void interrupt() {
        for (Thread thread : waiting.keySet()) {
            // Not after the thread has removed itself.
            waiting.computeIfPresent(thread, (waits, yes) -> {
                waits.interrupt();
                return yes;
            });
        }
    }

    void giveBack(Lease lease) {
        try {
            if (lease.conn().lost) {
                opened.remove(lease.conn().raw);
                inner.evictConnection(lease.proxy());
            } else {
                lease.proxy().close();
            }
        } catch (SQLException e) {
            System.err.println("contend worker: giving a connection back: " + e.getMessage());
        }
    }

    /** All connections, once no client takes one any more. */
    Collection<Conn> connections() {
        return opened.values();
    }

    void close() {
        inner.close();
    }
}
