# SEER_TEST: timeout=600 labels=online
# The patches of doc/how-to: an operator, a pass and a policy, each a file and a line of a table, put into a copy of the
# sources, built and used.
. "$(dirname "$0")/lib.sh"

mkdir tree
cp -r "$SOURCE/src" "$SOURCE/include" "$SOURCE/tool" "$SOURCE/CMakeLists.txt" tree
for what in operator pass policy; do
  patch=$SOURCE/doc/how-to/$what.patch
  [ "$(grep -c '^diff ' "$patch")" = 2 ] || fail "$what.patch changes more than a file and a table"
  table=$(awk '/^diff /{ n = 0 } /^new file/{ n = 1 } /^[-+][^-+]/ && !n' "$patch")
  [ "$(grep -c '^+' <<< "$table")" = 1 ] || fail "$what.patch changes more than a line of the table: $table"
  patch -s -d tree -p1 < "$patch" || fail "$what.patch does not apply"
done
cmake -G Ninja -S tree -B build -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS=-O0 > cmake.log 2>&1 || { cat cmake.log; fail "cmake"; }
ninja -C build -j 2 familyseer > ninja.log 2>&1 || { tail -30 ninja.log; fail "the copy does not build"; }

cat > cube.graph <<'G'
graph "cube" {
  input %x f32[4,8]
  %a f32[4,8] = Neg "a" v13 (%x)
  %b f32[4,8] = Neg "b" v13 (%a)
  %y f32[4,8] = Cube "c" v1 domain "example" (%b)
  output %y
}
G
expect_status 1 "$FAMILYSEER" opt --pass=resolve,task cube.graph
expect_text stderr Cube
expect_status 0 build/familyseer opt --pass=resolve,double-negation,task cube.graph
expect_text stdout '$x[i0, i1] * $x[i0, i1] * $x[i0, i1]'
[ "$(grep -c '^  stage' stdout)" = 1 ] || fail "a negation is left"

expect_status 0 build/familyseer tune mlp --target "x86_64-linux-gnu -cpu=x86-64-v2 -threads=2" --measure fake \
  --search-policy heaviest --trials 64 --ignore-records --json
expect_text stdout 'the heaviest'
