# make install: a program that runs networks and one that tunes them, by pkg-config and by CMake's find_package, from a folder
# that was named only then; the libraries export their headers and nothing else.
# SEER_TEST: timeout=120
. "$(dirname "$0")/lib.sh"
command -v pkg-config > /dev/null && command -v cc > /dev/null || exit 77

prefix=$WORK/prefix
cmake --install "$TEST_BUILD_DIR" --prefix "$prefix" > log || { cat log; fail "install"; }
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig LD_LIBRARY_PATH=$prefix/lib XDG_CACHE_HOME=$WORK/cache
mkdir cache
build() { # NAME PACKAGE
  # shellcheck disable=SC2046,SC2086
  cc -std=c99 -D_GNU_SOURCE -Wall -Wextra -Werror ${TEST_CFLAGS:-} "$SOURCE/examples/$1.c" $(pkg-config --cflags --libs "$2") -o "$1" ||
    fail "examples/$1.c does not build"
}

expect_status 0 "$prefix/bin/familyseer" compile mlp -o a -O1
build app familyseer-runtime
expect_status 0 ./app a/model.so
expect_text stdout "'output' begins with"

# The runtime for other processors is the installed one.
for archive in "$prefix"/lib/familyseer/*/libseer_rt.a; do
  [ -e "$archive" ] || continue
  triple=$(basename "$(dirname "$archive")")-linux-gnu
  expect_status 0 "$prefix/bin/familyseer" compile mlp -o b -O1 --target "$triple"
  echo "no archive" > "$archive"
  expect_status 1 "$prefix/bin/familyseer" compile mlp -o b -O1 --target "$triple"
  expect_text stderr "lib/familyseer/${triple%%-*}/libseer_rt.a"
done

# The runtime's sources are in the program.
expect_status 0 "$prefix/bin/familyseer" compile mlp -o c -O1 --emit c
expect_status 0 env -u MAKEFLAGS make -C c CFLAGS=-O1
expect_status 0 ./app c/model.so
expect_text stdout "'output' begins with"

# A worker as a service is that of this folder.
expect_text "$prefix/lib/systemd/system/familyseer-worker.service" "ExecStart=$prefix/bin/familyseer worker"

# Its workers are the installed program, its runtime archive the installed one.
build tune familyseer
expect_status 0 env SEER_LOG=all:1 SEER_TRIALS=24 ./tune mlp tuned 60s
expect_text stdout "measurements"
expect_text stdout "the budget of trials is used up"
for f in model.so model.h model.json weights.bin; do [ -s "tuned/$f" ] || fail "tuned/$f is missing"; done
expect_status 0 "$prefix/bin/familyseer" verify tuned/model.so mlp
mv "$prefix/bin/familyseer" hidden
expect_status 1 ./tune mlp tuned2 4s
expect_text stderr "no program familyseer beside the library in $prefix/lib"
[ ! -e tuned2 ] || fail "tuned2 was written"
mv hidden "$prefix/bin/familyseer"
expect_status 1 ./tune no-such-network tuned2 4s
expect_text stderr "no-such-network"
expect_status 1 ./tune mlp tuned2 soon
expect_text stderr "time-budget"
echo | cc -std=c99 -Wall -Wextra -Werror -pedantic -include seer/familyseer.h $(pkg-config --cflags familyseer) -fsyntax-only -x c - ||
  fail "familyseer.h as C99"
echo | c++ -Wall -Wextra -Werror -pedantic -include seer/familyseer.h $(pkg-config --cflags familyseer) -fsyntax-only -x c++ - ||
  fail "familyseer.h as C++"

exports() { nm -D --defined-only "$prefix/lib/$1" | awk '{print $3}' | sort; }
exports libfamilyseer.so > got
grep -oE '^(int|void|uint32_t|const \w+ \*)\s*\*?seer_\w+\(' "$SOURCE/include/seer/familyseer.h" | grep -oE 'seer_\w+\(' | tr -d '(' | sort > want
diff want got || fail "libfamilyseer.so exports something else than its header"
[ "$(exports libfamilyseer_runtime.so | tr '\n' ' ')" = "seer_model_load seer_model_unload " ] ||
  fail "libfamilyseer_runtime.so exports $(exports libfamilyseer_runtime.so)"

# CMake's find_package, in C and C++, of a folder that was moved since.
mv "$prefix" "$WORK/moved"
prefix=$WORK/moved
mkdir consumer
cp "$SOURCE"/examples/app.c "$SOURCE"/examples/tune.c consumer
cat > consumer/both.cc << 'CC'
#include <seer/familyseer.hpp>
#include <cstdio>
int main(int, char **argv) { std::printf("%s %d\n", seer_version(), seer::model(argv[1]).n_inputs()); }
CC
cat > consumer/CMakeLists.txt << 'CMAKE'
cmake_minimum_required(VERSION 3.18)
project(consumer LANGUAGES C CXX)
find_package(familyseer ${WANTED} CONFIG REQUIRED COMPONENTS ${PARTS})
add_executable(app app.c)
target_link_libraries(app PRIVATE familyseer::runtime)
add_executable(tune tune.c)
target_link_libraries(tune PRIVATE familyseer::familyseer)
add_executable(both both.cc)
target_link_libraries(both PRIVATE familyseer::runtime familyseer::familyseer)
CMAKE
configure() { # WANTED PARTS
  rm -rf consumer/build
  cmake -S consumer -B consumer/build -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_FLAGS="-D_GNU_SOURCE ${TEST_CFLAGS:-}" \
    -DCMAKE_CXX_FLAGS="-std=c++17 ${TEST_CFLAGS:-}" -DWANTED="$1" -DPARTS="$2"
}
version=$("$prefix/bin/familyseer" --version | cut -d' ' -f2)
expect_status 1 configure "$((${version%%.*} + 1)).0" "runtime;familyseer"
expect_text stderr "$version"
mv "$prefix/lib/libfamilyseer.so" hidden
expect_status 1 configure "$version" "runtime;familyseer"
expect_text stderr "familyseer"
mv hidden "$prefix/lib/libfamilyseer.so"
expect_status 0 configure "$version" "runtime;familyseer"
expect_status 0 env -u MAKEFLAGS cmake --build consumer/build
unset LD_LIBRARY_PATH
expect_status 0 consumer/build/app a/model.so
expect_text stdout "'output' begins with"
expect_status 1 consumer/build/tune no-such-network tuned3 4s
expect_text stderr "no-such-network"
expect_status 0 consumer/build/both a
expect_text stdout "$version 1"

# Completion and manual pages.
for place in bash-completion/completions/familyseer zsh/site-functions/_familyseer fish/vendor_completions.d/familyseer.fish \
    man/man1/familyseer.1 man/man1/familyseer-tune.1; do
  [ -s "$prefix/share/$place" ] || fail "share/$place is missing"
done
echo passed
