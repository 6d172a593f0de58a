package contend;

import contend.Text.FormatError;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;

/**
 * Carries out a script on its own connection. Errors of the database end it and are part of the reply. A malformed
 * script, or one with an unknown driver or option, is refused.
 */
final class Script {
    private static final int VERSION = 2;

    private final String text;
    private final Driver driver;
    private final StringBuilder reply = new StringBuilder();
    private final List<Plan.Pair> options = new ArrayList<>();
    private final List<Sql> session = new ArrayList<>();
    private String ofDriver;
    private Database database;
    private int at;
    private int number;
    private String line;
    private int current;

    private Script(String text, Driver driver) {
        Text.checkVersion("contend-script", VERSION, text.lines().findFirst().orElse(""));
        this.text = Text.opened("script", text) + "end\n";
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

    private void opening() {
        next();
        for (next(); ; next()) {
            String[] fields = line.split("\t", -1);
            switch (fields[0]) {
                case "driver" -> ofDriver = Text.unescape(fields[1]);
                case "database" -> database = Database.of(Arrays.copyOfRange(fields, 1, fields.length));
                case "session" -> session.add(new Sql(Text.unescape(fields[2]), fields[1], "-"));
                case "option" -> options.add(new Plan.Pair(Text.unescape(fields[1]), Text.unescape(fields[2])));
                default -> {
                    return;
                }
            }
        }
    }

    private void lines(Options options) {
        Conn conn = null;
        try {
            conn = new Conn(driver, driver.connect(database, options), false);
            for (Sql sql : driver.server() ? List.<Sql>of() : options.before()) {
                execute(conn, sql);
            }
            for (Sql sql : session) {
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
            String[] fields = line.split("\t", -1);
            query(conn, new Sql(Text.unescape(fields[2]), fields[1], "-"));
            next();
        } else if (line.startsWith("load\t")) {
            String[] fields = line.split("\t", -1);
            load(conn, new Sql(Text.unescape(fields[3]), "changes", fields[2]), fields[1].equals("-") ? -1 : Integer.parseInt(fields[1]));
        } else if (line.startsWith("row\t")) {
            throw wrong("a row without a `load` before it");
        } else {
            throw wrong("unknown kind of line `" + Text.crop(line) + "`");
        }
    }

    private void execute(Conn conn, Sql sql) throws SQLException {
        conn.run(sql, new Object[0], null);
    }

    private void query(Conn conn, Sql sql) throws SQLException {
        StringBuilder rows = new StringBuilder();
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
    private void load(Conn conn, Sql sql, int group) throws SQLException {
        next();
        long count = driver.load(conn.raw, sql, group, rows());
        if (count < 0) {
            boolean own = begin(conn);
            try {
                count = insert(conn, sql);
                if (own) {
                    execute(conn, Sql.plain("COMMIT"));
                }
            } catch (SQLException | Failure e) {
                if (own) {
                    execute(conn, Sql.plain("ROLLBACK"));
                }
                throw e;
            }
        }
        reply.append("loaded\t").append(count).append('\n');
    }

    private boolean begin(Conn conn) throws SQLException {
        try {
            execute(conn, Sql.plain("BEGIN"));
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
                    values.add(Text.parseValue(field));
                }
                Script.this.next();
                return new Driver.Row(values.toArray(), current);
            }
        };
    }
}
