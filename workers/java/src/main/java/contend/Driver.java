package contend;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Iterator;
import java.util.Map;

/** A JDBC driver, and the differences between drivers. */
interface Driver {
    /** Name in plans. */
    String name();

    /** Name and version of the library, engine and compile options, for {@code hello}. */
    Map<String, Object> versions() throws SQLException;

    default boolean server() {
        return true;
    }

    /** Whether it executes nothing. */
    default boolean nothing() {
        return false;
    }

    Connection connect(Database database, Options options) throws SQLException;

    /** Type of its connections, for callers that have to unwrap a pool's. */
    Class<? extends Connection> connectionType();

    /** The engine's own code of an error; null if it has none. */
    Failure failure(SQLException error);

    /** The engine's code for an interrupted statement. */
    Failure interrupted();

    /** Whether this is a possible failure of a statement that was interrupted at the end of the drain. */
    default boolean cut(Failure failure) {
        return failure.is(interrupted());
    }

    /**
     * Failure of the worker's own interrupted waits, and of a step that may not begin any more. On a server such
     * work was never received.
     */
    default Failure cutShort() {
        return server() ? Failure.CANCELED : interrupted();
    }

    /** Whether the state of the connection is unknown after this error. */
    default boolean lost(SQLException error) {
        return error.getSQLState() != null && error.getSQLState().startsWith("08");
    }

    /** Sets a parameter, from 1 on, that is not null; {@code type} is what {@link #parameterTypes} says. */
    default void bind(PreparedStatement statement, int at, Object value, int type) throws SQLException {
        if (value instanceof Long integer) {
            statement.setLong(at, integer);
        } else if (value instanceof Double real) {
            statement.setDouble(at, real);
        } else if (value instanceof String text) {
            statement.setString(at, text);
        } else {
            statement.setBytes(at, (byte[]) value);
        }
    }

    /**
     * Types of the parameters of a prepared statement, from {@link java.sql.Types}, if binding needs them; otherwise
     * all are NULL, 0.
     */
    default int[] parameterTypes(PreparedStatement statement, Sql sql) throws SQLException {
        return new int[sql.order.length];
    }

    /** Converts the result of {@code getObject} to one of the five types. */
    Object plain(Object value, ResultSet row, int column) throws SQLException;

    /** A value of a row as one of the five types. */
    default Object value(ResultSet row, int column) throws SQLException {
        return plain(row.getObject(column), row, column);
    }

    /** Makes the server check a statement now, where the library would defer that to its first execution. */
    default void validate(PreparedStatement statement) throws SQLException { }

    /** Whether a prepared statement can be executed again after an error. */
    default boolean survivesErrors() {
        return true;
    }

    /** Whether BEGIN and COMMIT are prepared like other statements. */
    default boolean preparesPlain() {
        return !server();
    }

    /** A statement without values, such as BEGIN, which is sent as text. */
    default Statement statement(Connection connection) throws SQLException {
        return connection.createStatement();
    }

    /** Interrupts what a connection executes. */
    default void interrupt(Connection connection, Statement running) throws SQLException {
        running.cancel();
    }

    /** A row of a script, and its line number. */
    record Row(Object[] values, int line) {}

    /**
     * Loads rows with the driver's bulk method; negative if there is none. The values of a row begin at byte {@code
     * group}; negative: unknown.
     */
    default long load(Connection connection, Sql sql, int group, Iterator<Row> rows) throws SQLException {
        return -1;
    }
}
