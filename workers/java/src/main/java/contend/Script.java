package contend;

import contend.Text.FormatError;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;

/**
 * Carries out a script on a connection of its own. Errors of the database end it and are part of the reply; a script that is
 * not of the form, or whose driver or options are unknown, is refused.
 */
final class Script {
    private static final int VERSION = 1;

    private final String text;
    private final Driver driver;
    private final StringBuilder reply = new StringBuilder();
    private final List<Plan.Pair> options = new ArrayList<>();
    private final List<String> session = new ArrayList<>();
    private String ofDriver;
    private String database;
    private int at;
    private int number;
    private String line;
    private int current;

    private Script(String text, Driver driver) {
        this.text = text;
        this.driver = driver;
    }

    /** The reply to the script in this text. */
    static String carryOut(String text, Driver driver) {
        Script script = new Script(text, driver);
        script.opening();
        if (!driver.name().equals(script.ofDriver)) {
            throw new IllegalArgumentException("script: driver " + script.ofDriver + ": this worker has only " + driver.name());
        }
        Options options = Options.parse(driver, script.options);
        script.lines(options);
        return script.reply.append("end\n").toString();
    }

    private void next() {
        int end = text.indexOf('\n', at);
        line = text.substring(at, end);
        at = end + 1;
        number++;
    }

    private FormatError wrong(String words) {
        return new FormatError("script line " + number + ": " + words);
    }

    private String unescape(String field) {
        try {
            return Text.unescape(field);
        } catch (FormatError e) {
            throw wrong(e.getMessage());
        }
    }

    private void opening() {
        if (!text.endsWith("\nend\n")) {
            throw new FormatError("script: cut off: its last line is not `end`");
        }
        next();
        try {
            Text.checkVersion("contend-script", VERSION, line);
        } catch (FormatError e) {
            throw wrong(e.getMessage());
        }
        for (next(); ; next()) {
            String[] fields = line.split("\t", -1);
            String first = fields.length > 1 ? unescape(fields[1]) : "";
            switch (fields[0]) {
                case "driver" -> ofDriver = first;
                case "database" -> database = first;
                case "session" -> session.add(first);
                case "option" -> options.add(new Plan.Pair(first, fields.length > 2 ? unescape(fields[2]) : ""));
                default -> {
                    if (ofDriver == null || database == null) {
                        throw new FormatError("script: it names no driver or no database");
                    }
                    return;
                }
            }
        }
    }

    private void lines(Options options) {
        Conn conn = null;
        try {
            conn = new Conn(driver, driver.connect(database, options), false);
            for (String sql : driver.server() ? List.<String>of() : options.before()) {
                execute(conn, sql);
            }
            for (String sql : session) {
                execute(conn, sql);
            }
            while (!line.equals("end")) {
                one(conn);
            }
        } catch (SQLException | Failure e) {
            Failure failure = Attempt.failureOf(e, driver);
            reply.append("error\t").append(current).append('\t').append(Failure.SPACES.get(failure.space)).append('\t')
                    .append(Integer.toUnsignedString(failure.code)).append('\t').append(Text.escape(String.valueOf(failure.getMessage())))
                    .append('\n');
        } finally {
            if (conn != null) {
                conn.close();
            }
        }
    }

    private void one(Conn conn) throws SQLException {
        current = number;
        if (line.startsWith("sql\t")) {
            query(conn, unescape(line.substring(4)));
            next();
        } else if (line.startsWith("load\t")) {
            load(conn, unescape(line.substring(5)));
        } else if (line.startsWith("row\t")) {
            throw wrong("a row without a `load` before it");
        } else {
            throw wrong("unknown kind of line `" + Text.crop(line) + "`");
        }
    }

    private void execute(Conn conn, String sql) throws SQLException {
        conn.run(new Sql(sql, driver.server()), new Object[0], null);
    }

    private void query(Conn conn, String text) throws SQLException {
        StringBuilder rows = new StringBuilder();
        Sql sql = new Sql(text, driver.server());
        long count = conn.run(sql, new Object[0], (row, columns) -> {
            rows.append("row");
            for (int i = 1; i <= columns; i++) {
                rows.append('\t');
                Text.appendValue(rows, driver.value(row, i));
            }
            rows.append('\n');
        });
        reply.append("result\t").append(sql.returns ? count : 0).append('\n').append(rows);
    }

    /** Inserts the rows that follow, in a transaction unless the script has begun one itself. */
    private void load(Conn conn, String text) throws SQLException {
        next();
        long count = driver.load(conn.raw, text, rows());
        if (count < 0) {
            boolean own = begin(conn);
            try {
                count = insert(conn, new Sql(text, driver.server()));
                if (own) {
                    execute(conn, "COMMIT");
                }
            } catch (SQLException | Failure e) {
                if (own) {
                    execute(conn, "ROLLBACK");
                }
                throw e;
            }
        }
        reply.append("loaded\t").append(count).append('\n');
    }

    private boolean begin(Conn conn) throws SQLException {
        try {
            execute(conn, "BEGIN");
            return true;
        } catch (SQLException e) {
            if (String.valueOf(e.getMessage()).contains("within a transaction")) {
                return false;
            }
            throw e;
        }
    }

    private long insert(Conn conn, Sql sql) throws SQLException {
        conn.prepare(sql);
        long count = 0;
        for (Iterator<Driver.Row> rows = rows(); rows.hasNext(); count++) {
            Object[] values = rows.next().values();
            if (values.length != sql.params) {
                throw Failure.wrongValue(values.length + " values for the " + sql.params + " placeholders of `load`");
            }
            conn.run(sql, values, null);
        }
        return count;
    }

    private Iterator<Driver.Row> rows() {
        return new Iterator<>() {
            @Override
            public boolean hasNext() {
                return line.startsWith("row\t");
            }

            @Override
            public Driver.Row next() {
                if (!hasNext()) {
                    throw new NoSuchElementException();
                }
                current = number;
                List<Object> values = new ArrayList<>();
                for (String field : line.substring(4).split("\t", -1)) {
                    try {
                        values.add(Text.parseValue(field));
                    } catch (FormatError e) {
                        throw wrong(e.getMessage());
                    }
                }
                Script.this.next();
                return new Driver.Row(values.toArray(), current);
            }
        };
    }
}
