package contend;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.EOFException;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** The worker's program: its side of the handshake (docs/formats.md). */
public final class Main {
    private static final long PROGRESS_NS = 200_000_000;
    private static final long AGAIN_NS = 10_000_000;
    private static final long STUCK_NS = 5_000_000_000L;
    private static final String USAGE = """
            usage: contend-worker-java-DRIVER [--plan FILE --samples FILE]

            A worker of contend: it reads requests from standard input and answers on standard output (docs/formats.md of the
            project). With --plan it carries out the plan in a file, and writes its samples to another.""";

    private record Request(String word, byte[] bytes, long time) {}

    private final Driver driver;
    private final OutputStream out = new BufferedOutputStream(System.out, 1 << 16);
    private final BlockingQueue<Request> requests = new LinkedBlockingQueue<>();
    private Run ready;

    private Main(Driver driver) {
        this.driver = driver;
    }

    /** The first argument is the driver, passed by the launcher. */
    public static void main(String[] args) throws Exception {
        Driver driver = args.length > 0 ? Drivers.of(args[0]) : null;
        if (driver == null) {
            System.err.println("the first argument is the name of a driver, such as java-sqlite");
            System.exit(2);
        } else if (args.length == 2 && (args[1].equals("--help") || args[1].equals("-h"))) {
            System.out.println(USAGE);
        } else if (args.length == 5 && args[1].equals("--plan") && args[3].equals("--samples")) {
            new Main(driver).byHand(Path.of(args[2]), Path.of(args[4]));
        } else if (args.length > 1) {
            System.err.println(args[1].equals("serve") ? "the workers in Java do not serve over HTTP" : USAGE);
            System.exit(2);
        } else {
            new Main(driver).serve();
        }
    }

    private synchronized void say(String line) {
        try {
            out.write((line + "\n").getBytes(StandardCharsets.UTF_8));
            out.flush();
        } catch (IOException e) {
            Runtime.getRuntime().halt(1); // the tool is gone
        }
    }

    private synchronized void sayBytes(String word, byte[] bytes, int length) {
        try {
            out.write((word + " " + length + "\n").getBytes(StandardCharsets.UTF_8));
            out.write(bytes, 0, length);
            out.flush();
        } catch (IOException e) {
            Runtime.getRuntime().halt(1);
        }
    }

    private void failed(Throwable e) {
        say("failed\t" + Text.escape(inWords(e)));
    }

    /** The message of an exception; for an error, such as exhausted memory, with its class. */
    private static String inWords(Throwable e) {
        return e instanceof Error || e.getMessage() == null ? e.toString() : e.getMessage();
    }

    /** Exits after an unrecoverable error: a client may still hold its database, and the memory may be exhausted. */
    private void leave(Throwable e) {
        try {
            e.printStackTrace();
            failed(e);
        } finally {
            Runtime.getRuntime().halt(1);
        }
    }

    private void serve() throws Exception {
        Thread reader = new Thread(this::read, "reader");
        reader.setDaemon(true);
        reader.start();
        Map<String, Object> versions = driver.versions();
        Map<String, Object> hello = Text.facts("protocol", 1, "language", "Java " + System.getProperty("java.version"),
                "driver", versions.get("driver"), "engine", versions.get("engine"), "lock_wait", "off",
                "drivers", driver.nothing() ? driver.name() + ",null" : driver.name(),
                "models", driver.nothing() ? Run.THREAD : Run.THREAD + "," + Run.POOL,
                "vm", System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version"));
        for (String fact : List.of("compile_options", "autocommit", "isolation", "statement_cache")) {
            if (versions.containsKey(fact)) {
                hello.put(fact, versions.get(fact));
            }
        }
        say(Text.factsLine("hello", hello));
        while (true) {
            answer(requests.take());
        }
    }

    /** Passes requests on until the input ends, then exits. */
    private void read() {
        try (InputStream in = new BufferedInputStream(System.in, 1 << 16)) {
            while (true) {
                String line = line(in);
                if (line.equals("clock")) {
                    say("clock\t" + System.nanoTime());
                } else if (line.startsWith("plan ") || line.startsWith("script ")) {
                    int length = Integer.parseInt(line.substring(line.indexOf(' ') + 1));
                    byte[] bytes = in.readNBytes(length);
                    if (bytes.length < length) {
                        throw new EOFException();
                    }
                    requests.put(new Request(line.substring(0, line.indexOf(' ')), bytes, 0));
                } else if (line.matches("start\t[0-9]{1,18}")) {
                    requests.put(new Request("start", null, Long.parseLong(line.substring(6))));
                } else if (line.equals("quit")) {
                    Runtime.getRuntime().halt(0);
                } else {
                    requests.put(new Request(line, null, 0));
                }
            }
        } catch (EOFException e) {
            Runtime.getRuntime().halt(1);
        } catch (IOException | InterruptedException | NumberFormatException e) {
            System.err.println("contend worker: cannot read requests: " + e);
            Runtime.getRuntime().halt(1);
        } catch (Throwable e) {
            // The tool could no longer be heard.
            leave(e);
        }
    }

    private static String line(InputStream in) throws IOException {
        java.io.ByteArrayOutputStream line = new java.io.ByteArrayOutputStream();
        for (int c = in.read(); c != '\n'; c = in.read()) {
            if (c < 0) {
                throw new EOFException();
            }
            line.write(c);
        }
        return line.toString(StandardCharsets.UTF_8);
    }

    private void answer(Request request) throws InterruptedException {
        switch (request.word) {
            case "script" -> {
                try {
                    String reply = Script.carryOut(new String(request.bytes, StandardCharsets.UTF_8), driver);
                    byte[] bytes = reply.getBytes(StandardCharsets.UTF_8);
                    sayBytes("reply", bytes, bytes.length);
                } catch (RuntimeException e) {
                    failed(e);
                } catch (Error e) {
                    leave(e);
                }
            }
            case "plan" -> plan(new String(request.bytes, StandardCharsets.UTF_8));
            case "start" -> {
                if (ready == null) {
                    say("failed\tthere is nothing to start");
                } else {
                    start(request.time);
                }
            }
            case "stop" -> { }
            default -> say("failed\t" + Text.escape("`" + Text.crop(request.word) + "` is not a request of contend's"));
        }
    }

    private void plan(String text) {
        try {
            if (ready != null) {
                ready.close();
                ready = null;
            }
            ready = new Run(PlanReader.read(text), driver);
            // Garbage of the preparation must not be collected in the window.
            System.gc();
            ready.sessions.forEach(facts -> say(Text.factsLine("session", facts)));
            say("ready");
        } catch (Exception e) {
            failed(e);
        } catch (Error e) {
            leave(e);
        }
    }

    private void start(long at) {
        Run run = ready;
        ready = null;
        try {
            JvmFacts machine = new JvmFacts(Plan.saturatingAdd(at, run.plan.runIn));
            run.start(at);
            watch(run, at, machine);
            // The tool continues after `done`: before that every connection must be closed and its data written.
            run.finish();
            Map<String, Object> done = run.done();
            machine.end(done);
            run.close();
            say(Text.factsLine("done", done));
            for (Client client : run.clients) {
                client.samples.frames((bytes, length) -> sayBytes("samples", bytes, length));
            }
            say("end");
        } catch (Throwable e) {
            leave(e);
        }
    }

    /** Answers the tool until every client is done, and ends the drain. */
    private void watch(Run run, long at, JvmFacts machine) throws InterruptedException {
        long progress = System.nanoTime() + PROGRESS_NS;
        while (!run.isOver()) {
            long now = System.nanoTime();
            machine.look(now);
            if (now >= progress) {
                sayProgress(run, now - at);
                progress = now + PROGRESS_NS;
            }
            long drainEnd = run.control.drainEnd();
            if (now >= drainEnd) {
                if (!run.control.drainIsOver) {
                    run.control.endDrain();
                }
                if (now >= drainEnd + STUCK_NS && run.isStuck()) {
                    say("failed\tclients did not return 5 s after they were interrupted");
                    Runtime.getRuntime().halt(1);
                }
                run.interrupt();
            }
            Request request = requests.poll(AGAIN_NS, TimeUnit.NANOSECONDS);
            if (request != null && request.word.equals("stop")) {
                run.control.stop(System.nanoTime());
            } else if (request != null) {
                say("failed\ta run is going on");
            }
        }
        // All clients are done: closing connections may take time.
        sayProgress(run, System.nanoTime() - at);
    }

    private void sayProgress(Run run, long elapsed) {
        Map<String, Object> facts = Text.facts("elapsed_ns", Math.max(0, elapsed));
        facts.putAll(run.counts());
        say(Text.factsLine("progress", facts));
    }

    private void byHand(Path plan, Path samples) throws Exception {
        try (OutputStream file = new FileOutputStream(samples.toFile())) {
            Run run = new Run(PlanReader.read(Files.readString(plan)), driver);
            run.sessions.forEach(facts -> say(Text.factsLine("session", facts).replace('\t', ' ')));
            System.gc(); // as before `ready`
            long at = System.nanoTime();
            run.start(at);
            while (!run.isOver()) {
                if (System.nanoTime() >= run.control.drainEnd()) {
                    run.control.endDrain();
                    run.interrupt();
                }
                Thread.sleep(1);
            }
            run.finish();
            run.close();
            say(Text.factsLine("done", run.done()).replace('\t', ' '));
            for (Client client : run.clients) {
                client.samples.frames((bytes, length) -> file.write(bytes, 0, length));
            }
        } catch (RuntimeException e) {
            System.err.println(e.getMessage());
            System.exit(1);
        }
        Runtime.getRuntime().halt(0);
    }
}
