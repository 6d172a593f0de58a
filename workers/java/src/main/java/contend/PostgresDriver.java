package contend;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.Map;
import java.util.Properties;
import org.postgresql.PGConnection;
import org.postgresql.PGProperty;
import org.postgresql.PGStatement;
import org.postgresql.copy.CopyIn;
import org.postgresql.util.DriverInfo;
import org.postgresql.util.PGobject;
import org.postgresql.util.PSQLState;

/** pgjdbc. A value is sent with the parameter's type on the server if it fits, else as text. */
final class PostgresDriver implements Driver {
    private static final int CONNECT_S = 10;
    private static final int COPY_BYTES = 1 << 16;

    private final Failure interrupted = Failure.sqlstate("57014", "interrupted");

    @Override
    public String name() {
        return "java-postgres";
    }

    @Override
    public Map<String, Object> versions() {
        return Text.facts("driver", "postgresql " + DriverInfo.DRIVER_VERSION, "engine", "PostgreSQL", "statement_cache",
                PGProperty.PREPARED_STATEMENT_CACHE_QUERIES.getDefaultValue() + " after " + PGProperty.PREPARE_THRESHOLD.getDefaultValue()
                + " executions");
    }

    @Override
    public Connection connect(Database at, Options options) throws SQLException {
        Properties p = new Properties();
        PGProperty.USER.set(p, at.user());
        PGProperty.PASSWORD.set(p, at.password());
        PGProperty.APPLICATION_NAME.set(p, "contend");
        PGProperty.CONNECT_TIMEOUT.set(p, CONNECT_S);
        PGProperty.SSL_MODE.set(p, "disable");
        PGProperty.GSS_ENC_MODE.set(p, "disable");
        // Prepared by name at its first execution, or never.
        PGProperty.PREPARE_THRESHOLD.set(p, options.each ? 0 : 1);
        if (at.socket() != null) {
            PGProperty.SOCKET_FACTORY.set(p, UnixSockets.class.getName());
            PGProperty.SOCKET_FACTORY_ARG.set(p, at.socket());
        }
        String place = at.socket() != null ? "localhost" : at.host().contains(":") ? "[" + at.host() + "]:" + at.port() : at.host() + ":" + at.port();
        String encoded = java.net.URLEncoder.encode(at.name(), StandardCharsets.UTF_8);
        return new org.postgresql.Driver().connect("jdbc:postgresql://" + place + "/" + encoded, p);
    }

    @Override
    public Class<? extends Connection> connectionType() {
        return org.postgresql.jdbc.PgConnection.class;
    }

    @Override
    public Failure failure(SQLException error) {
        String state = error.getSQLState();
        return state != null && state.length() == 5 ? Failure.sqlstate(state, error.getMessage()) : null;
    }

    @Override
    public Failure interrupted() {
        return interrupted;
    }

    @Override
    public boolean lost(SQLException error) {
        String state = error.getSQLState();
        return PSQLState.isConnectionError(state) || state != null && (state.startsWith("08") || state.startsWith("57P"));
    }

    @Override
    public int[] parameterTypes(PreparedStatement statement, Sql sql) throws SQLException {
        int[] types = new int[sql.order.length];
        var told = sql.isPlain() ? null : statement.getParameterMetaData();
        for (int i = 0; i < types.length; i++) {
            types[i] = told.getParameterType(i + 1);
        }
        return types;
    }

    @Override
    public void bind(PreparedStatement statement, int at, Object value, int type) throws SQLException {
        if (value instanceof Long integer && bindInteger(statement, at, integer, type)
                || value instanceof Double real && bindReal(statement, at, real, type)) {
            return;
        }
        if (value instanceof String text && (type == Types.VARCHAR || type == Types.CHAR)) {
            statement.setString(at, text);
        } else if (value instanceof byte[] bytes && type == Types.BINARY) {
            statement.setBytes(at, bytes);
        } else {
            // Without a type, the server reads the value as it would read a literal.
            statement.setObject(at, value instanceof byte[] bytes ? "\\x" + HexFormat.of().formatHex(bytes) : value.toString(), Types.OTHER);
        }
    }

    private static boolean bindInteger(PreparedStatement statement, int at, long value, int type) throws SQLException {
        switch (type) {
            case Types.BIGINT -> statement.setLong(at, value);
            case Types.DOUBLE -> statement.setDouble(at, value);
            case Types.BIT, Types.BOOLEAN -> statement.setBoolean(at, value != 0);
            default -> {
                if (type == Types.INTEGER && value == (int) value) {
                    statement.setInt(at, (int) value);
                } else if (type == Types.SMALLINT && value == (short) value) {
                    statement.setShort(at, (short) value);
                } else {
                    return false;
                }
            }
        }
        return true;
    }

    private static boolean bindReal(PreparedStatement statement, int at, double value, int type) throws SQLException {
        boolean whole = value == Math.rint(value) && Math.abs(value) < 9e15;
        if (whole && (type == Types.BIGINT || type == Types.INTEGER || type == Types.SMALLINT)) {
            // An integer for an integer column: SQLite would store it as one too.
            return bindInteger(statement, at, (long) value, type);
        }
        if (type != Types.DOUBLE) {
            return false;
        }
        statement.setDouble(at, value);
        return true;
    }

    /** The library would prepare it by another name at each execution, and those stay at the server. */
    @Override
    public Statement statement(Connection connection) throws SQLException {
        Statement statement = connection.createStatement();
        statement.unwrap(PGStatement.class).setPrepareThreshold(0);
        return statement;
    }

    @Override
    public Object plain(Object value, ResultSet row, int column) throws SQLException {
        if (value == null || value instanceof Long || value instanceof Double || value instanceof String || value instanceof byte[]) {
            return value;
        }
        if (value instanceof Integer || value instanceof Short) {
            return ((Number) value).longValue();
        }
        if (value instanceof Boolean yes) {
            return yes ? 1L : 0L;
        }
        if (value instanceof Float real) {
            return real.doubleValue();
        }
        if (value instanceof BigDecimal number) {
            return number.scale() <= 0 && number.toBigInteger().bitLength() < 64 ? (Object) number.longValue() : number.doubleValue();
        }
        if (value instanceof PGobject object && object.getType().equals("json")) {
            return object.getValue();
        }
        throw Failure.wrongValue("a value of the type " + row.getMetaData().getColumnTypeName(column) + ", which has no counterpart in SQLite");
    }

    @Override
    public long load(Connection connection, Sql sql, int from, Iterator<Row> rows) throws SQLException {
        if (from >= 0 || sql.params > 0) {
            throw Failure.wrongValue("on PostgreSQL a `load` is a COPY ... FROM STDIN");
        }
        CopyIn copy = connection.unwrap(PGConnection.class).getCopyAPI().copyIn(sql.text);
        try {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            while (rows.hasNext()) {
                out.write(line(rows.next().values()));
                if (out.size() >= COPY_BYTES) {
                    copy.writeToCopy(out.toByteArray(), 0, out.size());
                    out.reset();
                }
            }
            copy.writeToCopy(out.toByteArray(), 0, out.size());
            return copy.endCopy();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        } finally {
            if (copy.isActive()) {
                copy.cancelCopy();
            }
        }
    }

    private static byte[] line(Object[] values) {
        StringBuilder line = new StringBuilder();
        for (int i = 0; i < values.length; i++) {
            line.append(i == 0 ? "" : "\t");
            if (values[i] == null) {
                line.append("\\N");
            } else if (values[i] instanceof byte[] bytes) {
                line.append("\\\\x").append(HexFormat.of().formatHex(bytes));
            } else if (values[i] instanceof String text) {
                if (text.indexOf('\0') >= 0) {
                    throw Failure.wrongValue("a text with a NUL character, which PostgreSQL cannot store");
                }
                // The escapes of a script are those of COPY, except for NUL.
                line.append(Text.escape(text));
            } else {
                line.append(values[i]);
            }
        }
        return line.append('\n').toString().getBytes(StandardCharsets.UTF_8);
    }
}
