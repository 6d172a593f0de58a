package contend;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Location of a database: a file with a path, or a server, through a socket or at host and port; the other fields
 * are null. It contains the place of the password, not the password.
 */
record Database(String path, String socket, String host, int port, String user, String name, String found) {
    /** Parses the fields of its line. */
    static Database of(String[] fields) {
        String[] f = new String[fields.length];
        for (int i = 0; i < f.length; i++) {
            f[i] = Text.unescape(fields[i]);
        }
        return switch (f[0]) {
            case "file" -> new Database(f[1], null, null, 0, null, null, "-");
            case "socket" -> new Database(null, f[1], null, 0, f[2], f[3], f[4]);
            case "tcp" -> new Database(null, null, f[1], Integer.parseInt(f[2]), f[3], f[4], f[5]);
            default -> throw new Text.FormatError("database " + f[0] + ": this worker opens files and connects to servers");
        };
    }

    String password() {
        if (found.startsWith("file:")) {
            String file = found.substring(5);
            try {
                return Files.readString(Path.of(file)).split("\r?\n", 2)[0];
            } catch (IOException e) {
                throw new IllegalArgumentException("the password is expected in " + file + ", which cannot be read");
            }
        }
        if (found.startsWith("env:")) {
            String name = found.substring(4);
            String password = System.getenv(name);
            if (password == null) {
                throw new IllegalArgumentException(
                        "the password is expected in the variable " + name + ", which is not set for the worker");
            }
            return password;
        }
        return "";
    }

    /** Fails if a driver cannot use a database at such a place. */
    void check(Driver driver) {
        if (driver.server() && path != null) {
            throw new IllegalArgumentException("database " + this + ": this driver connects to a server");
        }
        if (!driver.server() && !driver.nothing() && path == null) {
            throw new IllegalArgumentException("database " + this + ": this driver opens files");
        }
    }

    @Override
    public String toString() {
        return path != null ? path : user + "@" + (socket != null ? socket : host + ":" + port) + "/" + name;
    }
}
