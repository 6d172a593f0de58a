package contend;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Map;

/**
 * Executes nothing. What remains is the worker's own cost per operation: arguments are still looked up, rows
 * counted, samples recorded.
 */
final class NullDriver implements Driver {
    private final Failure interrupted = Failure.worker(Failure.DRIVER);

    @Override
    public String name() {
        return "java-null";
    }

    @Override
    public Map<String, Object> versions() {
        return Text.facts("driver", "null", "engine", "none");
    }

    @Override
    public boolean server() {
        return false;
    }

    @Override
    public boolean nothing() {
        return true;
    }

    @Override
    public Connection connect(Database database, Options options) {
        return null;
    }

    @Override
    public Class<? extends Connection> connectionType() {
        return Connection.class;
    }

    @Override
    public Failure failure(SQLException error) {
        return null;
    }

    @Override
    public Failure interrupted() {
        return interrupted;
    }

    @Override
    public void bind(PreparedStatement statement, int at, Object value, int type) {
        throw new IllegalStateException("nothing is bound");
    }

    @Override
    public Object plain(Object value, ResultSet row, int column) {
        throw new IllegalStateException("nothing is read");
    }
}
