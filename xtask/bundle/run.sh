#!/usr/bin/env bash
# Runs the test programs of this bundle on a GPU machine; no Rust toolchain is needed.
#
#   ./run.sh                 every test program; a missing GPU or NVRTC is a failure
#   ./run.sh FILTER          the same, only tests whose names contain the filter
#   ./run.sh --sanitize TOOL the device tests (target `gpu`) under compute-sanitizer TOOL (memcheck, racecheck, …),
#                            without those that provoke faults and refusals on purpose
set -u
here=$(cd "$(dirname "$0")" && pwd)
export GPU_TESTS=${GPU_TESTS:-require} GPU_COMPILE=${GPU_COMPILE:-require}
export GPU_CACHE_DIR=${GPU_CACHE_DIR:-$(mktemp -d)}
tool=()
if [ "${1:-}" = "--sanitize" ]; then
    tool=(compute-sanitizer --tool "$2" --error-exitcode 9)
    shift 2
    # One at a time: racecheck stops making progress when several threads launch.
    set -- device:: --skip device::error_ --skip device::fault_ --test-threads 1 "$@"
fi
failed=()
while read -r kind package program; do
    case "$kind" in test | lib) ;; *) continue ;; esac
    if [ ${#tool[@]} -gt 0 ] && [[ "$program" != *--gpu ]]; then continue; fi
    echo "== $program"
    (cd "$here/$package" && "${tool[@]}" "$here/$program" "$@") || failed+=("$program")
done <"$here/programs.txt"
if [ ${#failed[@]} -gt 0 ]; then
    echo "FAILED: ${failed[*]}"
    exit 1
fi
echo "all programs passed"
