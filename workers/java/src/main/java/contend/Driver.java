package contend;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Iterator;
import java.util.Map;

/** A JDBC driver, and what differs between them. */
interface Driver {
    /** As plans name it. */
    String name();

    /** Name and version of the library, engine and compile options, as {@code hello} tells them. */
    Map<String, Object> versions() throws SQLException;

    default boolean server() {
        return true;
    }

    /** It executes nothing. */
    default boolean nothing() {
        return false;
    }

    Connection connect(Database database, Options options) throws SQLException;

    /** What its connections are, for callers that have to look behind a pool's. */
    Class<? extends Connection> connectionType();

    /** The engine's own code of an error; null if it has none. */
    Failure failure(SQLException error);

    /** The engine's code of what it was told to stop. */
    Failure interrupted();

    /** Whether it is what a statement fails with that was interrupted at the end of the drain. */
    default boolean cut(Failure failure) {
        return failure.is(interrupted());
    }

    /**
     * What a wait of the worker's own fails with when it is cut short, and a step that may not begin any more: a server never
     * heard of it.
     */
    default Failure cutShort() {
        return server() ? Failure.CANCELED : interrupted();
    }

    /** Whether it is unknown what the connection will say after this error. */
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

    /** Types of the parameters of a prepared statement, from {@link java.sql.Types}, if binding needs them; else all are NULL, 0. */
    default int[] parameterTypes(PreparedStatement statement, Sql sql) throws SQLException {
        return new int[sql.order.length];
    }

    /** What {@code getObject} gave for a column, as one of the five kinds. */
    Object plain(Object value, ResultSet row, int column) throws SQLException;

    /** A value of a row as one of the five kinds. */
    default Object value(ResultSet row, int column) throws SQLException {
        return plain(row.getObject(column), row, column);
    }

    /** Has the server look at a statement now, where the library would leave that to its first execution. */
    default void validate(PreparedStatement statement) throws SQLException { }

    /** Whether a prepared statement can be executed again after an error. */
    default boolean survivesErrors() {
        return true;
    }

    /** Whether BEGIN and COMMIT are prepared like everything else. */
    default boolean preparesPlain() {
        return !server();
    }

    /** Interrupts what a connection executes. */
    default void interrupt(Connection connection, PreparedStatement running) throws SQLException {
        running.cancel();
    }

    /** A row of a script, and the line it stands on. */
    record Row(Object[] values, int line) {}

    /** Loads rows in the driver's own way; below 0 if it has none. The values of a row begin at byte {@code group}; below 0: nowhere. */
    default long load(Connection connection, Sql sql, int group, Iterator<Row> rows) throws SQLException {
        return -1;
    }
}
