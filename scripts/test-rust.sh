#!/usr/bin/env bash
# All tests of the workspace. A failure is a failure; only tests in scripts/retried-tests.txt run a second time, alone.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo=${CARGO:-cargo}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

if "$cargo" test --workspace --no-fail-fast -- --quiet 2>&1 | tee "$log"; then exit 0; fi

fail() { echo "tests failed; see above${1:+: $1}" >&2; exit 1; }

# The names under the last `failures:` before each result, and the targets as cargo lists them at its end.
mapfile -t names < <(awk '
    /^failures:$/ { count = 0; listing = 1; next }
    listing && /^    [^ ]/ { found[count++] = substr($0, 5); next }
    /^test result: / { for (i = 0; i < count; i++) print found[i]; count = 0; listing = 0 }' "$log")
mapfile -t targets < <(sed -n 's/^    `-p \([^ ]*\) \(--[^`]*\)`$/-p \1 \2/p' "$log" | sort -u)
failed=$(grep -c '^test result: FAILED' "$log" || true)
# A target without a result did not compile or crashed.
if [ ${#names[@]} = 0 ] || [ "${#targets[@]}" != "$failed" ]; then fail; fi
for name in "${names[@]}"; do
    cut -f1 scripts/retried-tests.txt | grep -qxF -- "$name" || fail "$name"
done
passed=0
for target in "${targets[@]}"; do
    echo "== a second time, alone: $target: ${names[*]}"
    # shellcheck disable=SC2086 # an option and its value
    "$cargo" test $target -- --exact "${names[@]}" --test-threads=1 2>&1 | tee "$log"
    passed=$((passed + $(awk '/^test result: ok\. [0-9]+ passed/ { sum += $4 } END { print sum + 0 }' "$log")))
done
# A name that no target knows would pass by not being run.
[ "$passed" -ge ${#names[@]} ] || fail "only $passed of ${#names[@]} ran a second time"
echo "== failed among the others and passed alone: ${names[*]}"
