package contend;

import java.io.IOException;
import java.net.URLDecoder;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Where a database server is (docs/formats.md). An address never carries a password, only where one is found, and no error
 * repeats it.
 */
final class Address {
    private static final Pattern BROKEN = Pattern.compile("%(?![0-9A-Fa-f]{2})");
    private static final Pattern PLACE = Pattern.compile("(\\[[^\\]]*\\]|[^:]*)(?::([0-9]{1,5}))?");

    String user;
    String password = "";
    String host;
    int port;
    /** Path of the Unix socket; if there is one, host and port are none. */
    String socket;
    String database;

    static Address parse(String text, String scheme, int port) {
        if (!text.startsWith(scheme + "://")) {
            throw new IllegalArgumentException("the address of a server of this driver begins with " + scheme + "://");
        }
        Address at = new Address();
        String[] parts = text.substring(scheme.length() + 3).split("\\?", 2);
        int slash = parts[0].indexOf('/');
        String authority = slash < 0 ? parts[0] : parts[0].substring(0, slash);
        int sign = authority.lastIndexOf('@');
        if (sign < 1) {
            throw new IllegalArgumentException("the address of a server names the user: SCHEME://USER@HOST/DATABASE");
        }
        if (authority.substring(0, sign).contains(":")) {
            throw new IllegalArgumentException("the address of a server must not carry a password; name a file or variable that has it"
                    + " (password_file=PATH, password_env=NAME)");
        }
        at.user = decode(authority.substring(0, sign));
        at.database = slash < 0 ? "" : decode(parts[0].substring(slash + 1));
        if (parts.length > 1) {
            for (String pair : parts[1].split("&")) {
                at.parameter(pair);
            }
        }
        if (at.socket == null) {
            at.place(authority.substring(sign + 1), port);
        }
        return at;
    }

    private static String decode(String text) {
        // The library takes digits of every script.
        if (BROKEN.matcher(text).find()) {
            throw new IllegalArgumentException("a `%` in the address of a server without two hexadecimal digits after it");
        }
        // Of each byte a character, and back: the library puts a sign of its own in the place of what is not UTF-8.
        ByteBuffer bytes = StandardCharsets.ISO_8859_1.encode(URLDecoder.decode(escaped(text), StandardCharsets.ISO_8859_1));
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(bytes).toString();
        } catch (CharacterCodingException e) {
            throw new IllegalArgumentException("the address of a server is not UTF-8");
        }
    }

    /** With everything escaped that is not ASCII, and the plus, which is no space here. */
    private static String escaped(String text) {
        StringBuilder all = new StringBuilder();
        for (byte b : text.getBytes(StandardCharsets.UTF_8)) {
            all.append(b < 0 || b == '+' ? String.format("%%%02x", b & 0xff) : String.valueOf((char) b));
        }
        return all.toString();
    }

    private void parameter(String pair) {
        String[] parts = pair.split("=", 2);
        String value = parts.length > 1 ? decode(parts[1]) : "";
        switch (parts[0]) {
            case "" -> { }
            case "socket" -> {
                socket = value;
                if (value.isEmpty()) {
                    throw new IllegalArgumentException("socket= names no path");
                }
            }
            case "password_file" -> {
                try {
                    password = Files.readString(Path.of(value)).split("\r?\n", 2)[0];
                } catch (IOException e) {
                    throw new IllegalArgumentException("the password is to be in " + value + ", which cannot be read");
                }
            }
            case "password_env" -> {
                password = System.getenv(value);
                if (password == null) {
                    throw new IllegalArgumentException("the password is to be in the variable " + value + ", which is not set for the worker");
                }
            }
            default -> throw new IllegalArgumentException(
                    "`" + parts[0] + "` is no part of a server's address; parts are socket, password_file and password_env");
        }
    }

    private void place(String text, int standard) {
        Matcher place = PLACE.matcher(text);
        if (!place.matches() || place.group(1).isEmpty()) {
            throw new IllegalArgumentException("the address of a server names a host or a socket");
        }
        host = decode(place.group(1).replaceAll("^\\[|\\]$", ""));
        port = place.group(2) == null ? standard : Integer.parseInt(place.group(2));
        if (port < 1 || port > 65535) {
            throw new IllegalArgumentException("the port of the server is no number from 1 to 65535");
        }
    }
}
