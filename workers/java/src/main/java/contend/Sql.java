package contend;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A statement with its description in plans and scripts; nothing is derived from its text. */
final class Sql {
    final String text;
    /** The text for JDBC: every placeholder is a plain question mark. */
    final String jdbc;
    /** For each question mark, the index of its value. */
    final int[] order;
    final int params;
    /** Whether it changes rows, so that their number is reported. */
    final boolean changes;
    final boolean returns;
    /** Number of rows of values, if it replaces or updates existing rows. */
    final int upserts;
    /** Whether it belongs to the plan and is executed repeatedly, so that it is kept prepared. */
    boolean keep;
    /** Types of its parameters, once a connection has reported them: they are the same on all connections. */
    volatile int[] types;
    /** First byte of each placeholder. */
    private final int[] places;

    /** The last two are fields of the statement's line. */
    Sql(String text, String effect, String placeholders) {
        this.text = text;
        List<String> words = List.of(effect.split(","));
        changes = words.contains("changes");
        returns = words.contains("rows");
        upserts = words.stream().filter(w -> w.startsWith("upserts=")).mapToInt(w -> Integer.parseInt(w.substring(8))).findAny().orElse(0);
        List<String> items = Text.items(placeholders);
        places = items.stream().mapToInt(item -> Integer.parseInt(item.split(":")[0])).toArray();
        order = new int[places.length];
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        StringBuilder plain = new StringBuilder(text.length());
        int from = 0;
        for (int i = 0; i < places.length; i++) {
            String[] numbered = items.get(i).split(":");
            order[i] = numbered.length > 1 ? Integer.parseInt(numbered[1]) - 1 : i;
            plain.append(text(bytes, from, places[i])).append('?');
            from = places[i] + (numbered.length > 1 ? 1 + numbered[1].length() : 1);
        }
        jdbc = plain.append(text(bytes, from, bytes.length)).toString();
        params = Arrays.stream(order).map(i -> i + 1).max().orElse(0);
    }

    /** A statement without arguments and results, such as BEGIN. */
    static Sql plain(String text) {
        return new Sql(text, "-", "-");
    }

    /** One that returns rows. */
    static Sql query(String text) {
        return new Sql(text, "rows", "-");
    }

    /** The texts between the placeholders from this byte on: one more than there are placeholders. */
    String[] parts(int from) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        List<String> parts = new ArrayList<>();
        for (int at : places) {
            parts.add(text(bytes, from, at));
            from = at + 1;
        }
        parts.add(text(bytes, from, bytes.length));
        return parts.toArray(new String[0]);
    }

    /** The text up to this byte. */
    String before(int end) {
        return text(text.getBytes(StandardCharsets.UTF_8), 0, end);
    }

    private static String text(byte[] bytes, int from, int to) {
        return new String(bytes, from, to - from, StandardCharsets.UTF_8);
    }

    Sql kept() {
        keep = true;
        return this;
    }

    /** Whether it has neither arguments nor results, such as BEGIN or COMMIT. */
    boolean isPlain() {
        return params == 0 && !returns && !changes;
    }
}
