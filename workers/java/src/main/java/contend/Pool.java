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

    /** Interval at which a wait checks for the end of the drain; the shortest that the pool permits. */
    private static final long WAIT_MS = 250;

    private final Run run;
    private final HikariDataSource inner;
    private final Map<Connection, Conn> opened = new ConcurrentHashMap<>();

    Pool(Run run, int database) {
        this.run = run;
        HikariConfig config = new HikariConfig();
        config.setDataSource(new Opening(database));
        config.setMaximumPoolSize(run.options.poolSize);
        config.setMinimumIdle(run.options.poolSize);
        config.setConnectionTimeout(WAIT_MS);
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
                // With an init string, the pool runs it after this call, and statements are prepared later.
                Conn conn = run.options.initString ? run.bare(database) : run.connect(database);
                opened.put(conn.raw, conn);
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

    /** Takes a connection; the wait ends with the drain. */
    Lease take(Control control) throws SQLException {
        SQLException opening = null;
        for (int tries = 0; ; tries++) {
            try {
                Connection proxy = inner.getConnection();
                Conn conn = opened.get(proxy.unwrap(run.driver.connectionType()));
                run.prepareStatements(conn);
                return new Lease(proxy, conn);
            } catch (SQLTransientConnectionException e) {
                // No connection was returned in time, unless opening one failed.
                if (control != null && control.drainIsOver) {
                    throw run.driver.cutShort();
                }
                opening = e.getCause() instanceof SQLException cause ? cause : null;
                boolean hopeless = opening != null && opened.isEmpty() && tries > 2;
                if (hopeless || control == null && tries > 40) {
                    throw opening != null ? opening : e;
                }
            }
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
