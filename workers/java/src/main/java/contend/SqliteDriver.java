package contend;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Stream;
import org.sqlite.SQLiteConnection;
import org.sqlite.SQLiteErrorCode;
import org.sqlite.SQLiteException;
import org.sqlite.SQLiteJDBCLoader;

/** sqlite-jdbc of xerial, which contains SQLite. */
final class SqliteDriver implements Driver {
    static {
        loadLibrary();
    }

    private final Failure interrupted = new Failure("sqlite", SQLiteErrorCode.SQLITE_INTERRUPT.code, "interrupted");

    /**
     * Loads SQLite from its own temporary directory and removes that at once: the loaded library stays. Otherwise
     * the library removes it at the virtual machine's regular exit, which a worker that is stopped or killed never
     * reaches.
     */
    private static void loadLibrary() {
        try {
            Path dir = Files.createTempDirectory("contend-java-sqlite-");
            System.setProperty("org.sqlite.tmpdir", dir.toString());
            try {
                SQLiteJDBCLoader.initialize();
            } finally {
                try (Stream<Path> files = Files.list(dir)) {
                    for (Path file : files.toList()) {
                        Files.delete(file);
                    }
                }
                Files.delete(dir);
            }
        } catch (Exception e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    @Override
    public String name() {
        return "java-sqlite";
    }

    @Override
    public boolean server() {
        return false;
    }

    @Override
    public Map<String, Object> versions() throws SQLException {
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite::memory:"); Statement ask = connection.createStatement()) {
            List<String> options = new ArrayList<>();
            try (ResultSet rows = ask.executeQuery("PRAGMA compile_options")) {
                while (rows.next()) {
                    options.add(rows.getString(1));
                }
            }
            try (ResultSet row = ask.executeQuery("SELECT sqlite_version()")) {
                row.next();
                return Text.facts("driver", "sqlite-jdbc " + SQLiteJDBCLoader.getVersion(), "engine", "SQLite " + row.getString(1),
                        "compile_options", String.join(",", options), "autocommit", connection.getAutoCommit() ? "on" : "off",
                        "isolation", Text.isolation(connection.getTransactionIsolation()));
            }
        }
    }

    @Override
    public Connection connect(Database database, Options options) throws SQLException {
        return DriverManager.getConnection("jdbc:sqlite:" + database.path(), new Properties());
    }

    @Override
    public Class<? extends Connection> connectionType() {
        return SQLiteConnection.class;
    }

    @Override
    public Failure failure(SQLException error) {
        // An error reported with its statement: only the library's own exception has the extended code.
        if (error.getCause() instanceof SQLException own) {
            return failure(own);
        }
        if (error instanceof SQLiteException own && own.getResultCode() != SQLiteErrorCode.UNKNOWN_ERROR) {
            return new Failure("sqlite", own.getResultCode().code, error.getMessage());
        }
        // The library itself checks the directory of a file.
        if (error.getMessage() != null && error.getMessage().startsWith("path to ")) {
            return new Failure("sqlite", SQLiteErrorCode.SQLITE_CANTOPEN.code, error.getMessage());
        }
        return error.getErrorCode() > 0 ? new Failure("sqlite", error.getErrorCode(), error.getMessage()) : null;
    }

    @Override
    public Failure interrupted() {
        return interrupted;
    }

    /** A failed statement reports from then on that it is not executing. */
    @Override
    public boolean survivesErrors() {
        return false;
    }

    @Override
    public boolean lost(SQLException error) {
        return false;
    }

    @Override
    public Object plain(Object value, ResultSet row, int column) {
        return value instanceof Integer integer ? Long.valueOf(integer) : value;
    }

    @Override
    public void interrupt(Connection connection, Statement running) throws SQLException {
        ((SQLiteConnection) connection).getDatabase().interrupt();
    }
}
