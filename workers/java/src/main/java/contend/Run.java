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
import java.util.concurrent.locks.LockSupport;

/** A plan whose connections are open and whose clients wait for the start. */
final class Run {
    static final String THREAD = "thread";
    static final String POOL = "pool";
    private static final long FREE_AGAIN_NS = 10_000_000;
    private static final long FREE_WITHIN_NS = 2_000_000_000;

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

    /** Adds the statement to an error, and keeps its code. */
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
                    whenFree(() -> openPool(client));
                }
                return;
            }
            whenFree(() -> openOwn(client));
        } catch (SQLException | RuntimeException e) {
            throw new IllegalArgumentException(where + e.getMessage(), e);
        }
    }

    private void openOwn(Client client) throws SQLException {
        client.close();
        client.conn = connect(client.spec.database());
        client.attempt.current = client.conn;
        look(client.conn, client.spec.id());
    }

    private void openPool(Client client) throws SQLException {
        int known = sessions.size();
        Pool pool = new Pool(this, client.spec.database());
        client.pool = pool;
        try {
            lookAtAll(client);
        } catch (SQLException | RuntimeException e) {
            pool.close();
            sessions.subList(known, sessions.size()).clear();
            throw e;
        }
        pools.put(client.spec.database(), pool);
    }

    private interface Opening {
        void open() throws SQLException;
    }

    /**
     * Retries what a lock of SQLite prevents before the measurement or after it, for 2 s at most: another process that opens
     * the same database at the same moment may lock it to recover its log, whatever the busy timeout.
     */
    private void whenFree(Opening opening) throws SQLException {
        for (long begun = System.nanoTime(); ; LockSupport.parkNanos(FREE_AGAIN_NS)) {
            try {
                opening.open();
                return;
            } catch (SQLException e) {
                Failure failure = driver.failure(e);
                if (failure == null || !failure.isLock() || System.nanoTime() - begun >= FREE_WITHIN_NS) {
                    throw e;
                }
            }
        }
    }

    /** Takes all connections at the same time, so that the settings of each are reported. */
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

    /** Reads back the settings of a connection; for the first one also checks whether the plan fits. */
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

    /** Compares a connection with the first one before the run, after its client's last measurement. */
    void readBack(Conn conn) {
        if (control.drainIsOver) {
            return;
        }
        try {
            // Other clients may still write.
            whenFree(() -> settings(conn).forEach((name, found) -> {
                Object first = sessions.get(0).get(name);
                if (!found.equals(first)) {
                    differs = "a connection reads back " + name + " = " + found + " after the start, the first one " + first + " before";
                }
            }));
            readBack.incrementAndGet();
        } catch (SQLException e) {
            // A lost connection has no settings any more.
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

    /** Statements to run on a new connection. */
    List<Sql> sessionStatements() {
        List<Sql> statements = new ArrayList<>(driver.server() ? List.of() : options.before());
        statements.addAll(plan.session);
        return statements;
    }

    /** A connection without any statements run. */
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

    /**
     * Prepares all statements before the run, so that errors show. A connection opened during the run prepares each
     * at its first use.
     */
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

    /** Whether every client has ended and closed its connection. */
    boolean isOver() {
        return threads.stream().noneMatch(Thread::isAlive);
    }

    /** Whether an operation is still being carried out. */
    boolean isStuck() {
        return clients.stream().anyMatch(client -> !client.over);
    }

    /**
     * Waits for the threads to end, so that all their writes are visible; then collects the connections that pools
     * opened meanwhile.
     */
    void finish() throws InterruptedException {
        for (Thread thread : threads) {
            thread.join();
        }
        for (Pool pool : pools.values()) {
            pool.connections().stream().filter(Conn::open).forEach(this::readBack);
        }
    }

    /**
     * Interrupts clients that are still executing or wait for a connection. Called repeatedly, because an interrupt only
     * affects a running statement.
     */
    void interrupt() {
        for (Client client : clients) {
            Conn conn = client.attempt.current;
            if (!client.over && conn != null) {
                conn.interrupt();
            }
        }
        pools.values().forEach(Pool::interrupt);
    }

    Map<String, Object> counts() {
        return Text.facts("operations", clients.stream().mapToLong(c -> c.operations).sum(),
                "failed", clients.stream().mapToLong(c -> c.failed).sum());
    }

    /** Totals of the run; an error if a client failed unexpectedly. */
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
