package contend;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.sql.Blob;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.nio.charset.StandardCharsets;
import org.mariadb.jdbc.Configuration;
import org.mariadb.jdbc.util.VersionFactory;

/** MariaDB Connector/J. */
final class MariadbDriver implements Driver {
    private static final int CONNECT_MS = 10_000;
    private static final int NOT_CONNECTED = 2003;
    private static final int LOST = 2013;
    private static final int INTERRUPTED = 1317;
    private static final int KILLED = 1927;
    private static final String NO_CONNECTION = "08001";
    /** Errors with which the server announces the end of a connection: gone, lost, killed, shut down. */
    private static final Set<Integer> LAST_WORDS = Set.of(2006, LOST, KILLED, 1053);
    /** Approximate number of characters of an INSERT in a load. */
    private static final int CHUNK = 1 << 20;

    private final Failure interrupted = new Failure("mysql", INTERRUPTED, "interrupted");

    @Override
    public String name() {
        return "java-mariadb";
    }

    @Override
    public Map<String, Object> versions() throws SQLException {
        return Text.facts("driver", "mariadb-java-client " + VersionFactory.getInstance().getVersion(), "engine", "MariaDB",
                "statement_cache", keeps(Configuration.parse("jdbc:mariadb://localhost/")));
    }

    /** Number of statements that a connection with this configuration keeps prepared on the server. */
    private static int keeps(Configuration configuration) {
        return configuration.useServerPrepStmts() && configuration.cachePrepStmts() ? configuration.prepStmtCacheSize() : 0;
    }

    @Override
    public Connection connect(Database at, Options options) throws SQLException {
        Properties p = new Properties();
        p.setProperty("user", at.user());
        p.setProperty("password", at.password());
        p.setProperty("connectTimeout", String.valueOf(CONNECT_MS));
        p.setProperty("useServerPrepStmts", String.valueOf(!options.each));
        // Numbers stay numbers: a TINYINT(1) is not a boolean.
        p.setProperty("tinyInt1isBit", "false");
        p.setProperty("useAffectedRows", "false");
        p.setProperty("prepStmtCacheSize", "10000");
        String place;
        if (at.socket() != null) {
            p.setProperty("socketFactory", MariadbSockets.class.getName());
            p.setProperty(MariadbSockets.PATH, at.socket());
            place = "localhost";
        } else {
            place = (at.host().contains(":") ? "[" + at.host() + "]" : at.host()) + ":" + at.port();
        }
        try {
            Connection connection = new org.mariadb.jdbc.Driver().connect("jdbc:mariadb://" + place + "/" + at.name(), p);
            if (connection == null) {
                throw new SQLException("the driver does not know this address", NO_CONNECTION);
            }
            return connection;
        } catch (SQLException e) {
            // The library uses one SQLSTATE for a connection that cannot be opened and for one that breaks.
            boolean unmade = e.getErrorCode() == 0 && Driver.super.lost(e);
            throw unmade ? new SQLException(e.getMessage(), NO_CONNECTION, e) : e;
        }
    }

    @Override
    public Class<? extends Connection> connectionType() {
        return org.mariadb.jdbc.Connection.class;
    }

    @Override
    public Failure failure(SQLException error) {
        if (error.getErrorCode() > 0) {
            return new Failure("mysql", error.getErrorCode(), error.getMessage());
        }
        String state = error.getSQLState();
        if (state != null && state.startsWith("08")) {
            return new Failure("mysql", state.equals(NO_CONNECTION) ? NOT_CONNECTED : LOST, error.getMessage());
        }
        return null;
    }

    @Override
    public Failure interrupted() {
        return interrupted;
    }

    /** A connection may be killed or lost together with its statement. */
    @Override
    public boolean cut(Failure failure) {
        boolean mysql = failure.space == interrupted.space;
        return mysql && (failure.code == INTERRUPTED || failure.code == LOST || failure.code == KILLED);
    }

    @Override
    public boolean lost(SQLException error) {
        return Driver.super.lost(error) || LAST_WORDS.contains(error.getErrorCode());
    }

    @Override
    public void validate(PreparedStatement statement) throws SQLException {
        statement.getParameterMetaData();
    }

    @Override
    public Object plain(Object value, ResultSet row, int column) throws SQLException {
        if (value == null || value instanceof Long || value instanceof Double || value instanceof String || value instanceof byte[]) {
            return value;
        }
        if (value instanceof BigDecimal number) {
            return decimal(number);
        }
        if (value instanceof BigInteger number) {
            return number.bitLength() < 64 ? (Object) number.longValue() : number.doubleValue();
        }
        if (value instanceof Float real) {
            return real.doubleValue();
        }
        if (value instanceof Number number) {
            return number.longValue();
        }
        if (value instanceof Boolean yes) {
            return yes ? 1L : 0L;
        }
        if (value instanceof Blob blob) {
            return blob.getBytes(1, (int) blob.length());
        }
        // Dates and times in the server's notation.
        return row.getString(column);
    }

    /** A DECIMAL has all digits after the point; without a fraction it is an integer. */
    private static Object decimal(BigDecimal number) {
        BigDecimal plain = number.stripTrailingZeros();
        boolean integer = plain.scale() <= 0 && plain.toBigInteger().bitLength() < 64;
        return integer ? (Object) plain.longValue() : (Object) number.doubleValue();
    }

    /** Inserts the rows of a script, many per statement, in one transaction. */
    @Override
    public long load(Connection connection, Sql sql, int from, Iterator<Row> rows) throws SQLException {
        if (from < 0) {
            throw Failure.wrongValue("a `load` is an INSERT ... VALUES (?, ...)");
        }
        String opening = sql.before(from);
        String[] group = sql.parts(from);
        long count = 0;
        StringBuilder text = new StringBuilder();
        try (Statement statement = connection.createStatement()) {
            statement.execute("BEGIN");
            try {
                for (; rows.hasNext(); count++) {
                    Object[] values = rows.next().values();
                    if (values.length != group.length - 1) {
                        throw Failure.wrongValue(values.length + " values for the " + (group.length - 1) + " placeholders of `load`");
                    }
                    text.append(text.isEmpty() ? opening : ",").append(group[0]);
                    for (int i = 0; i < values.length; i++) {
                        text.append(literal(values[i])).append(group[i + 1]);
                    }
                    if (text.length() >= CHUNK) {
                        flush(statement, text);
                    }
                }
                flush(statement, text);
                statement.execute("COMMIT");
            } catch (SQLException | RuntimeException e) {
                statement.execute("ROLLBACK");
                throw e;
            }
        }
        return count;
    }

    private static void flush(Statement statement, StringBuilder text) throws SQLException {
        if (!text.isEmpty()) {
            statement.execute(text.toString());
            text.setLength(0);
        }
    }

    /** A literal with the same meaning under all of the session's settings for quotes and backslashes. */
    private static String literal(Object value) {
        if (value == null) {
            return "NULL";
        }
        if (value instanceof byte[] bytes) {
            return "X'" + HexFormat.of().formatHex(bytes) + "'";
        }
        if (value instanceof String text) {
            return "_utf8mb4 X'" + HexFormat.of().formatHex(text.getBytes(StandardCharsets.UTF_8)) + "'";
        }
        // With an exponent; without one it would be a decimal number.
        return value instanceof Double real ? (real.toString().contains("E") ? real.toString() : real + "E0") : value.toString();
    }
}
