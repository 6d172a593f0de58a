package contend;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A statement, and what its text tells of it: JDBC does not say it before a statement is executed, or not alike everywhere. */
final class Sql {
    private static final Set<String> CHANGING = Set.of("INSERT", "UPDATE", "DELETE", "REPLACE");
    private static final Set<String> READING = Set.of("SELECT", "VALUES", "WITH", "PRAGMA", "EXPLAIN", "SHOW", "TABLE", "CALL");
    /** A quoted text or name (brackets only in SQLite), a comment, a placeholder, a word, a parenthesis. */
    private static final Pattern TOKENS = Pattern.compile(
            "'(?:[^']|'')*+'|\"[^\"]*+\"|`[^`]*+`|(\\[[^\\]]*+\\])|--[^\\n]*+|/\\*.*?\\*/|\\?\\d*+|\\$\\d++|[\\w\\x{80}-\\x{10ffff}]++|[()]",
            Pattern.DOTALL);

    final String text;
    /** As JDBC wants it: every placeholder a plain question mark. */
    final String jdbc;
    /** For each question mark the position of its value. */
    final int[] order;
    final int params;
    /** It changes rows, so their number is told. */
    final boolean changes;
    final boolean returns;
    /** How many rows of values it has, if it replaces or changes those that are there already. */
    final int upserts;
    /** It is one of the plan's, executed again and again: worth keeping prepared. */
    boolean keep;
    /** Types of its parameters once a connection has told them: they are the same on every other one. */
    volatile int[] types;

    Sql(String text, boolean server) {
        this.text = text;
        List<String> words = new ArrayList<>();
        List<Integer> values = new ArrayList<>();
        StringBuilder plain = new StringBuilder(text.length());
        int depth = 0;
        int groups = 0;
        boolean ended = false;
        int from = 0;
        Matcher tokens = TOKENS.matcher(text);
        while (tokens.find()) {
            String token = tokens.group();
            char first = token.charAt(0);
            if (first == '?' || first == '$' && server) {
                values.add(token.length() > 1 ? Integer.parseInt(token.substring(1)) - 1 : values.size());
                plain.append(text, from, tokens.start()).append('?');
                from = tokens.end();
            } else if (first == '(') {
                boolean group = depth == 0 && !ended && (groups > 0 || !words.isEmpty() && words.get(words.size() - 1).equals("VALUES"));
                groups += group ? 1 : 0;
                depth++;
            } else if (first == ')') {
                depth--;
            } else if (Character.isLetterOrDigit(first) || first == '_' || first >= 0x80) {
                words.add(token.toUpperCase(Locale.ROOT));
                ended |= depth == 0 && words.get(words.size() - 1).equals("ON");
            }
        }
        jdbc = plain.append(text, from, text.length()).toString();
        order = values.stream().mapToInt(i -> i).toArray();
        params = values.stream().mapToInt(i -> i + 1).max().orElse(0);
        String word = words.isEmpty() ? "" : words.get(0);
        changes = CHANGING.contains(word)
                || word.equals("WITH") && words.stream().anyMatch(w -> CHANGING.contains(w) && !w.equals("REPLACE"));
        returns = changes ? words.contains("RETURNING") : READING.contains(word);
        int duplicate = words.indexOf("DUPLICATE");
        boolean replaces = word.equals("REPLACE") || duplicate > 0 && words.get(duplicate - 1).equals("ON");
        upserts = replaces ? groups : 0;
    }

    Sql kept() {
        keep = true;
        return this;
    }

    /** A BEGIN or COMMIT, say: nothing that takes or gives values. */
    boolean isPlain() {
        return params == 0 && !returns && !changes;
    }
}
