# For scripts that build and test workers; sourced, by sh. With --may-lack a machine that lacks a language is no error, unless
# CONTEND_TESTS_MUST_HAVE_WORKERS=1: the tests then leave these workers out and say so.

# may_lack "$1": whether workers may be left out, where $1 is --may-lack or nothing.
may_lack() {
    [ "${1:-}" = --may-lack ] && [ "${CONTEND_TESTS_MUST_HAVE_WORKERS:-}" != 1 ]
}

# left_out "$1" WORKERS WHY: ends the script.
left_out() {
    if may_lack "$1"; then
        echo "$2: left out: $3" >&2
        exit 0
    fi
    echo "$2: $3" >&2
    exit 1
}
