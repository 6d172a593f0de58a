package contend;

import contend.Plan.Keep;
import contend.Plan.Kind;
import contend.Plan.Pair;
import contend.Plan.Step;
import contend.Plan.Transaction;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/** A plan whose connections are open and whose clients wait for the start. */
final class Run {
    static final String THREAD = "thread";
    static final String POOL = "pool";

    final Plan plan;
    final Driver driver;
    final Options options;
    final Control control;
    final Sql[] steps;
    final Sql[] begins;
    final Sql commit;
    final Sql rollback;
    final List<Client> clients = new ArrayList<>();
    final List<Map<String, Object>> sessions = new ArrayList<>();
    private final List<Thread> threads = new ArrayList<>();
    private final Map<Integer, Pool> pools = new HashMap<>();
    private final AtomicLong opened = new AtomicLong();
    private long openedBefore;
    private volatile boolean started;
    private final AtomicLong readBack = new AtomicLong();
    private volatile String differs;

    Run(Plan plan, Driver driver) throws SQLException {
        this.plan = plan;
        this.driver = driver;
        boolean known = plan.driver.equals(driver.name()) || driver.nothing() && plan.driver.equals("null");
        if (!known) {
            throw new IllegalArgumentException("driver " + plan.driver + ": this worker has only " + driver.name());
        }
        checkModel();
        options = Options.parse(driver, plan.options);
        options.checkModel(plan.model);
        control = new Control(plan.drain, threads);
        steps = plan.statements.stream().map(Sql::kept).toArray(Sql[]::new);
        begins = plan.transactions.stream().map(t -> t.begin() == null ? null : Sql.plain(t.begin()).kept()).toArray(Sql[]::new);
        commit = Sql.plain("COMMIT").kept();
        rollback = Sql.plain("ROLLBACK").kept();
        plan.databases.forEach(database -> database.check(driver));
        try {
            for (Plan.Client spec : plan.clients) {
                Client client = new Client(this, spec);
                clients.add(client);
                prepare(client);
            }
        } catch (SQLException | RuntimeException e) {
            close();
            throw e;
        }
        openedBefore = opened.get();
        clients.forEach(client -> threads.add(new Thread(client, "client " + client.spec.id())));
    }

    private void checkModel() {
        boolean pool = plan.model.equals(POOL);
        if (!pool && !plan.model.equals(THREAD)) {
            throw new IllegalArgumentException("model " + plan.model + ": this worker has only `thread` and `pool`");
        }
        if (pool && driver.nothing()) {
            throw new IllegalArgumentException("model pool: driver " + driver.name() + " has no connections to share");
        }
        if (plan.shared != pool) {
            throw new IllegalArgumentException(
                    "model " + plan.model + ": the clients of a database share connections in `pool`, and only there");
        }
        for (Transaction t : plan.transactions) {
            if (pool && !t.steps().isEmpty() && t.steps().get(0).kind() == Kind.CONNECT) {
                throw new IllegalArgumentException(
                        "model pool: `" + t.name() + "` reconnects, but a pool decides itself when it does that");
            }
        }
    }

    private void checkColumns(Conn conn) throws SQLException {
        for (Transaction t : plan.transactions) {
            for (Step step : t.steps()) {
                if (step.kind() != Kind.SQL || step.keep().length == 0 || driver.nothing()) {
                    continue;
                }
                Sql sql = steps[step.statement()];
                int columns = onSql(sql.text, () -> conn.columns(sql));
                for (Keep keep : step.keep()) {
                    if (keep.column() >= columns) {
                        throw new IllegalArgumentException(
                                "`" + sql.text + "` has " + columns + " columns, the plan keeps column " + keep.column());
                    }
                }
            }
        }
    }

    interface Work<T> {
        T work() throws SQLException;
    }

    /** Says which statement an error happened on, and keeps its code. */
    static <T> T onSql(String sql, Work<T> work) throws SQLException {
        try {
            return work.work();
        } catch (SQLException e) {
            SQLException told = new SQLException("`" + sql + "`: " + e.getMessage(), e.getSQLState(), e.getErrorCode());
            told.initCause(e);
            throw told;
        }
    }

    private void prepare(Client client) throws SQLException {
        Plan.Client spec = client.spec;
        String where = "client " + spec.id() + ", database " + plan.databases.get(spec.database()) + ": ";
        try {
            if (plan.model.equals(POOL)) {
                client.pool = pools.get(spec.database());
                if (client.pool == null) {
                    client.pool = new Pool(this, spec.database());
                    pools.put(spec.database(), client.pool);
                    lookAtAll(client);
                }
                return;
            }
            client.conn = connect(spec.database());
            client.attempt.current = client.conn;
            look(client.conn, spec.id());
        } catch (SQLException | RuntimeException e) {
            throw new IllegalArgumentException(where + e.getMessage(), e);
        }
    }

    /** All connections are taken at once, so that each tells its settings. */
    private void lookAtAll(Client client) throws SQLException {
        List<Pool.Lease> taken = new ArrayList<>();
        try {
            for (int i = 0; i < options.poolSize; i++) {
                taken.add(client.pool.take(null));
                look(taken.get(i).conn(), client.spec.id());
            }
        } finally {
            taken.forEach(client.pool::giveBack);
        }
    }

    /** Reads the settings of a connection back; the first one tells as well whether the plan fits. */
    private void look(Conn conn, long client) throws SQLException {
        if (sessions.isEmpty()) {
            checkColumns(conn);
        }
        Map<String, Object> facts = Text.facts("client", client);
        facts.putAll(settings(conn));
        options.tell(facts);
        sessions.add(facts);
    }

    private Map<String, Object> settings(Conn conn) throws SQLException {
        Map<String, Object> facts = Text.facts();
        if (!driver.nothing()) {
            List<Pair> asked = new ArrayList<>(plan.readbacks);
            if (!driver.server() && asked.stream().noneMatch(pair -> pair.name().equals("busy_timeout"))) {
                asked.add(new Pair("busy_timeout", "PRAGMA busy_timeout"));
            }
            for (Pair pair : asked) {
                facts.put(pair.name(), onSql(pair.text(), () -> firstValue(conn, pair.text())));
            }
        }
        return facts;
    }

    /** Holds a connection against the first one before the run, once its client measures nothing any more. */
    void readBack(Conn conn) {
        if (control.drainIsOver) {
            return;
        }
        try {
            settings(conn).forEach((name, found) -> {
                Object first = sessions.get(0).get(name);
                if (!found.equals(first)) {
                    differs = "a connection reads back " + name + " = " + found + " after the start, the first one " + first + " before";
                }
            });
            readBack.incrementAndGet();
        } catch (SQLException e) {
            // One that is lost has no settings any more.
            if (!control.drainIsOver && !conn.lost) {
                differs = "a connection cannot be read back after the run: " + e.getMessage();
            }
        }
    }

    private String firstValue(Conn conn, String text) throws SQLException {
        String[] first = {null};
        conn.run(Sql.query(text), new Object[0], (row, columns) -> {
            if (first[0] == null) {
                first[0] = Text.inWords(driver.value(row, 1));
            }
        });
        return first[0] == null ? "" : first[0];
    }

    /** What a new connection is told. */
    List<Sql> sessionStatements() {
        List<Sql> statements = new ArrayList<>(driver.server() ? List.of() : options.before());
        statements.addAll(plan.session);
        return statements;
    }

    /** A connection that was told nothing yet. */
    Conn bare(int database) throws SQLException {
        Connection raw = driver.connect(plan.databases.get(database), options);
        opened.incrementAndGet();
        Conn conn = new Conn(driver, raw, options.each);
        return conn;
    }

    Conn connect(int database) throws SQLException {
        Conn conn = bare(database);
        if (driver.nothing()) {
            return conn;
        }
        try {
            for (Sql sql : sessionStatements()) {
                onSql(sql.text, () -> conn.run(sql, new Object[0], null));
            }
            prepareStatements(conn);
        } catch (SQLException | RuntimeException e) {
            conn.close();
            throw e;
        }
        return conn;
    }

    /** Before the run all of them, so that a mistake shows; on a connection opened in it each is prepared when it is first used. */
    void prepareStatements(Conn conn) throws SQLException {
        if (conn.ready || started) {
            return;
        }
        for (Sql sql : steps) {
            prepareOne(conn, sql);
        }
        for (Sql sql : begins) {
            if (sql != null) {
                prepareOne(conn, sql);
            }
        }
        prepareOne(conn, commit);
        prepareOne(conn, rollback);
        conn.ready = true;
    }

    private void prepareOne(Conn conn, Sql sql) throws SQLException {
        onSql(sql.text, () -> {
            conn.prepare(sql);
            return null;
        });
    }

    /** Lets the clients begin, at a reading of the monotonic clock. */
    void start(long at) {
        control.open(at, plan.end());
        started = true;
        threads.forEach(Thread::start);
    }

    /** Every client has come to its end and closed its connection. */
    boolean isOver() {
        return threads.stream().noneMatch(Thread::isAlive);
    }

    /** Somebody still carries out an operation. */
    boolean isStuck() {
        return clients.stream().anyMatch(client -> !client.over);
    }

    /** Waits for the threads to end, so that everything they did is seen here; then pools tell of what they opened meanwhile. */
    void finish() throws InterruptedException {
        for (Thread thread : threads) {
            thread.join();
        }
        for (Pool pool : pools.values()) {
            pool.connections().stream().filter(Conn::open).forEach(this::readBack);
        }
    }

    /** Interrupts clients that still execute something, again and again: an interrupt reaches only what runs at that moment. */
    void interrupt() {
        for (Client client : clients) {
            Conn conn = client.attempt.current;
            if (!client.over && conn != null) {
                conn.interrupt();
            }
        }
    }

    Map<String, Object> counts() {
        return Text.facts("operations", clients.stream().mapToLong(c -> c.operations).sum(),
                "failed", clients.stream().mapToLong(c -> c.failed).sum());
    }

    /** What the run came to; a client that broke is an error. */
    Map<String, Object> done() {
        for (Client client : clients) {
            if (client.broken != null) {
                throw new IllegalStateException("client " + client.spec.id() + ": " + client.broken, client.broken);
            }
        }
        Map<String, Object> facts = counts();
        facts.put("attempts", clients.stream().mapToLong(c -> c.samples.count).sum());
        facts.put("exhausted", clients.stream().filter(c -> c.exhausted).count());
        facts.put("connections_opened", opened.get() - openedBefore);
        if (readBack.get() > 0) {
            facts.put("connections_read_back", readBack.get());
        }
        if (differs != null) {
            facts.put("settings_differ", differs);
        }
        return facts;
    }

    void close() {
        clients.forEach(Client::close);
        pools.values().forEach(Pool::close);
    }
}
