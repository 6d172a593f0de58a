#!/usr/bin/env bash
# All of the workspace's tests. Many start servers and measure for a moment, and a busy machine may disturb any of
# them: a test that failed among the others is run once more alone. What fails twice fails; what passed alone is named
# at the end, for whoever wants to know why.
set -euo pipefail
cd "$(dirname "$0")/.."

# More failures than this are no accident.
ACCIDENTS_MAX=4
cargo=${CARGO:-cargo}
log=$(mktemp)
again=$(mktemp)
trap 'rm -f "$log" "$again"' EXIT

if "$cargo" test --workspace --no-fail-fast -- --quiet 2>&1 | tee "$log"; then exit 0; fi

# The names under the last `failures:` before each result, and the targets as cargo lists them at its end.
mapfile -t names < <(awk '
    /^failures:$/ { count = 0; listing = 1; next }
    listing && /^    [^ ]/ { found[count++] = substr($0, 5); next }
    /^test result: / { for (i = 0; i < count; i++) print found[i]; count = 0; listing = 0 }' "$log")
mapfile -t targets < <(sed -n 's/^    `-p [^ ]* \(--[^`]*\)`$/\1/p' "$log")
failed=$(grep -c '^test result: FAILED' "$log" || true)
# A target without a result did not compile or ended in a crash, which is no accident either.
if [ ${#names[@]} = 0 ] || [ ${#names[@]} -gt $ACCIDENTS_MAX ] || [ "${#targets[@]}" -gt "$failed" ]; then
    echo "tests failed; see above" >&2
    exit 1
fi
# An example in a document, whose name has spaces, measures nothing that a busy machine could disturb.
for name in "${names[@]}"; do
    case $name in *" "*) echo "tests failed; see above: $name" >&2; exit 1 ;; esac
done
mapfile -t targets < <(printf '%s\n' "${targets[@]}" | sort -u)
for target in "${targets[@]}"; do
    echo "== once more, alone: $target: ${names[*]}"
    # shellcheck disable=SC2086 # an option and its value
    "$cargo" test --workspace $target -- --exact "${names[@]}" --test-threads=1 2>&1 | tee -a "$again"
done
# A name that no target knows would pass by not being run.
passed=$(awk '/^test result: ok\. [0-9]+ passed/ { sum += $4 } END { print sum + 0 }' "$again")
if [ "$passed" -lt ${#names[@]} ]; then
    echo "of ${#names[@]} tests that failed only $passed ran once more: ${names[*]}" >&2
    exit 1
fi
echo "== failed among the others and passed alone: ${names[*]}"
