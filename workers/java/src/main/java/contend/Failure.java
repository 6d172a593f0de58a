package contend;

import java.util.List;

/** Why a part of an attempt failed: code and code space, as in samples. */
final class Failure extends RuntimeException {
    static final List<String> SPACES = List.of("ok", "sqlite", "sqlstate", "mysql", "http", "os", "worker");
    static final int ROWS = 1;
    static final int NOT_KEPT = 2;
    static final int VALUE = 3;
    static final int DRIVER = 4;

    /** ECANCELED. */
    static final Failure CANCELED = new Failure("os", 125, "cut short at the end of the drain");

    final int space;
    final int code;

    Failure(String space, int code, String words) {
        super(words, null, false, false);
        this.space = SPACES.indexOf(space);
        this.code = code;
    }

    static Failure worker(int code) {
        return new Failure("worker", code, switch (code) {
            case ROWS -> "a step returned or changed a number of rows that the plan does not allow";
            case NOT_KEPT -> "a step needs a value that was not kept";
            default -> "a value that this driver cannot represent";
        });
    }

    static Failure wrongValue(String words) {
        return new Failure("worker", VALUE, words);
    }

    /** SQLSTATE's five characters as digits in base 36. */
    static Failure sqlstate(String state, String words) {
        return new Failure("sqlstate", Integer.parseInt(state, 36), words);
    }

    /** Whether it is SQLITE_BUSY or SQLITE_LOCKED, with their extended codes. */
    boolean isLock() {
        int primary = code & 0xff;
        return space == SPACES.indexOf("sqlite") && (primary == 5 || primary == 6);
    }

    /** Whether it is an error of PostgreSQL. */
    boolean isSqlstate() {
        return space == SPACES.indexOf("sqlstate");
    }

    boolean is(Failure other) {
        return space == other.space && code == other.code;
    }
}
