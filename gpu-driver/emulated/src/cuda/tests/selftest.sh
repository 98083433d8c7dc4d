#!/bin/sh
# Compiles the self-test of the emulated device's headers in every mode and runs it. CXX: the compiler, `c++` if not set.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cxx=${CXX:-c++}

common="-x c++ -std=c++17 -O1 -g1 -fPIC -fvisibility=hidden -fno-exceptions -fno-rtti -fno-threadsafe-statics
    -ffp-contract=off -fwrapv -fno-strict-aliasing -fno-math-errno -fsigned-char -Wall -Wextra -Werror"
plain="-fsanitize=alignment -fsanitize-coverage=trace-pc"
if "$cxx" --version | grep -q clang; then
    checked="$plain -fsanitize=kernel-address -mllvm -asan-stack=0 -mllvm -asan-globals=0
        -mllvm -asan-instrumentation-with-call-threshold=0 -mllvm -asan-kernel-mem-intrinsic-prefix=1"
else
    checked="$plain -fsanitize=thread"
fi
# An undefined symbol that is not the C library's fails here.
libraries="-nostdlib -Wl,-z,defs -lc -lm -lgcc"

"$cxx" -std=c++17 -O1 -Wall -Wextra "$here/driver.cpp" -o "$work/driver" -ldl
for mode in plain checked portable undefined; do
    case $mode in
    plain) flags=$plain ;;
    checked) flags=$checked ;;
    portable) flags="$checked -DGPU_EMULATED_TEST_PORTABLE_HOOKS" ;;
    undefined) flags="$checked -fsanitize=undefined -fno-sanitize=vptr -DGPU_EMULATED_CHECKS_UNDEFINED" ;;
    esac
    # The flags are words.
    # shellcheck disable=SC2086
    "$cxx" $common $flags -I"$here/.." ${EXTRA:-} -c "$here/selftest_module.cpp" -o "$work/$mode.o"
    # Without the sanitizers' names, or their libraries would be linked.
    "$cxx" -shared "$work/$mode.o" $libraries -o "$work/$mode.so"
    "$work/driver" "$work/$mode.so" "$mode"
done
