package contend;

import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32;

/**
 * Values and texts in plans, scripts and replies (docs/formats.md). A value is null, a Long, a Double, a String or a
 * byte[].
 */
final class Text {
    private Text() {}

    /** A format error; the reader of the lines adds the place. */
    static final class FormatError extends RuntimeException {
        FormatError(String words) {
            super(words);
        }
    }

    /** Number of a text in the plan's table, until the plan has been read. */
    record Reference(int number) {}

    static String unescape(String field) {
        int at = field.indexOf('\\');
        if (at < 0) {
            return field;
        }
        StringBuilder out = new StringBuilder(field.length());
        int from = 0;
        for (; at >= 0; at = field.indexOf('\\', from)) {
            int letter = at + 1 < field.length() ? "\\tnr0".indexOf(field.charAt(at + 1)) : -1;
            if (letter < 0) {
                throw new FormatError("unknown escape `" + field.substring(at, Math.min(at + 2, field.length())) + "`");
            }
            out.append(field, from, at).append("\\\t\n\r\0".charAt(letter));
            from = at + 2;
        }
        return out.append(field, from, field.length()).toString();
    }

    static String escape(String text) {
        StringBuilder out = null;
        for (int i = 0; i < text.length(); i++) {
            int letter = "\\\t\n\r\0".indexOf(text.charAt(i));
            if (letter >= 0 && out == null) {
                out = new StringBuilder(text.length() + 8).append(text, 0, i);
            }
            if (letter >= 0) {
                out.append('\\').append("\\tnr0".charAt(letter));
            } else if (out != null) {
                out.append(text.charAt(i));
            }
        }
        return out == null ? text : out.toString();
    }

    static String crop(String text) {
        return text.length() > 60 ? text.substring(0, 60) + "..." : text;
    }

    static Object parseValue(String field) {
        String rest = field.substring(1);
        return switch (field.charAt(0)) {
            case 'n' -> null;
            case 'i' -> Long.valueOf(rest);
            case 'r' -> Double.valueOf(rest);
            case 't' -> unescape(rest);
            case 'T' -> new Reference(Integer.parseInt(rest));
            case 'x' -> HexFormat.of().parseHex(rest);
            default -> throw new FormatError("`" + crop(field) + "` is not a value (it must start with one of n i r t T x)");
        };
    }

    /** The items of a list; {@code -} is the empty list. */
    static List<String> items(String field) {
        return field.equals("-") ? List.of() : List.of(field.split(","));
    }

    static String digest(String text) {
        CRC32 crc = new CRC32();
        crc.update(text.getBytes(StandardCharsets.UTF_8));
        return String.format("%08x", crc.getValue());
    }

    /** The text before its last line, which has the digest that the tool computed after its checks. */
    static String opened(String kind, String text) {
        int last = text.lastIndexOf("\nend\t");
        if (last < 0 || text.indexOf('\n', last + 1) != text.length() - 1) {
            throw new FormatError(kind + ": cut off: its last line is not `end` with a digest");
        }
        String body = text.substring(0, last + 1);
        String said = text.substring(last + 5, text.length() - 1);
        String found = digest(body);
        if (!found.equals(said)) {
            throw new FormatError(kind + ": changed after contend had checked it: its last line has the digest `" + crop(said)
                    + "`, the text before it " + found);
        }
        return body;
    }

    /** Appends the text form of a value. */
    static void appendValue(StringBuilder out, Object value) {
        if (value == null) {
            out.append('n');
        } else if (value instanceof Long integer) {
            out.append('i').append(integer.longValue());
        } else if (value instanceof Double real) {
            if (real.isNaN() || real.isInfinite()) {
                throw Failure.wrongValue("a number that is not finite");
            }
            out.append('r').append(real.doubleValue());
        } else if (value instanceof String text) {
            out.append('t').append(escape(text));
        } else {
            out.append('x').append(HexFormat.of().formatHex((byte[]) value));
        }
    }

    /** A value as the text of a setting that is read back. */
    static String inWords(Object value) {
        if (value == null) {
            return "";
        }
        return value instanceof byte[] bytes ? HexFormat.of().formatHex(bytes) : value.toString();
    }

    /** Checks a first line such as {@code contend-plan 3}; the error names a newer version. */
    static void checkVersion(String word, int known, String line) {
        if (!line.startsWith(word + " ")) {
            throw new FormatError("expected `" + word + " " + known + "` as the first line, found `" + crop(line) + "`");
        }
        String version = line.substring(word.length() + 1);
        int number = version.matches("[0-9]{1,9}") ? Integer.parseInt(version) : -1;
        if (number > known) {
            throw new FormatError("`" + line + "` is newer than the " + known
                    + " this program reads: use tool and worker of the same contend release");
        }
        if (number != known) {
            throw new FormatError("`" + crop(line) + "` is not a version this program reads (it reads " + known + ")");
        }
    }

    /** Facts in order, from alternating names and values. */
    static Map<String, Object> facts(Object... pairs) {
        Map<String, Object> facts = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            facts.put((String) pairs[i], pairs[i + 1]);
        }
        return facts;
    }

    /** The name of an isolation level of java.sql.Connection. */
    static String isolation(int level) {
        return switch (level) {
            case Connection.TRANSACTION_READ_UNCOMMITTED -> "read-uncommitted";
            case Connection.TRANSACTION_READ_COMMITTED -> "read-committed";
            case Connection.TRANSACTION_REPEATABLE_READ -> "repeatable-read";
            case Connection.TRANSACTION_SERIALIZABLE -> "serializable";
            default -> "none";
        };
    }

    /** A line of the handshake: a word and facts. */
    static String factsLine(String word, Map<String, Object> facts) {
        StringBuilder line = new StringBuilder(word);
        facts.forEach((name, value) -> line.append('\t').append(escape(name)).append('=').append(escape(String.valueOf(value))));
        return line.toString();
    }
}
