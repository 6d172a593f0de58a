package contend;

import java.sql.Connection;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Values and texts as plans, scripts and replies have them (docs/formats.md). A value is null, a Long, a Double, a String or
 * a byte[].
 */
final class Text {
    private Text() {}

    /** An error of a format; the reader of the lines adds where. */
    static final class FormatError extends RuntimeException {
        FormatError(String words) {
            super(words);
        }
    }

    /** Text number N of the plan's table, until the plan has been read. */
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
        if (field.isEmpty()) {
            throw new FormatError("an empty field where a value was expected");
        }
        String rest = field.substring(1);
        try {
            switch (field.charAt(0)) {
                case 'n':
                    if (rest.isEmpty()) {
                        return null;
                    }
                    break;
                case 'i':
                    return Long.valueOf(rest);
                case 'r':
                    return real(rest);
                case 't':
                    return unescape(rest);
                case 'T':
                    return new Reference(Integer.parseInt(rest));
                case 'x':
                    return HexFormat.of().parseHex(rest);
                default:
            }
        } catch (IllegalArgumentException e) {
            String what = switch (field.charAt(0)) {
                case 'i' -> "an integer of 64 bits";
                case 'r' -> "a finite real";
                case 'x' -> "a blob in hexadecimal";
                default -> "the number of a text";
            };
            throw new FormatError("`" + crop(field) + "` is not " + what);
        }
        throw new FormatError("`" + crop(field) + "` is not a value (it must start with one of n i r t T x)");
    }

    private static Double real(String text) {
        double value = Double.parseDouble(text);
        // Java also reads suffixes and hexadecimal reals.
        if (Double.isNaN(value) || Double.isInfinite(value) || !text.chars().allMatch(c -> "+-.eE0123456789".indexOf(c) >= 0)) {
            throw new IllegalArgumentException(text);
        }
        return value;
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

    /** Checks a first line such as {@code contend-plan 2}; a newer version is refused by name. */
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

    /** Facts in the order in which they are told, from names and values in turn. */
    static Map<String, Object> facts(Object... pairs) {
        Map<String, Object> facts = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            facts.put((String) pairs[i], pairs[i + 1]);
        }
        return facts;
    }

    /** The name of a level of java.sql.Connection. */
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
