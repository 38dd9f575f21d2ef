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

# What no patch touches, and reads nothing that one touches, has been compiled already, a minute of it: its object is taken.
# (Sanitized ones need what the copy is not linked with.)
changed=$(sed -n 's,^+++ b/,,p' "$SOURCE"/doc/how-to/*.patch | tr '\n' ' ')
ninja -C "$TEST_BUILD_DIR" -t deps | awk -v changed="$changed" '
  BEGIN { n = split(changed, names, " ") }
  /^[^ ]/ { object = $1; sub(/:$/, "", object) }
  /^ / { for (k = 1; k <= n; k++) if (index($1, names[k])) print object }' > stale
[ -s stale ] || fail "no object is made of a table"
cat > launch <<'SH'
#!/bin/bash
# launch COMPILER ... -o OBJECT -c SOURCE
source=${!#}
for ((k = 1; k < $#; k++)); do [ "${!k}" != -o ] || { next=$((k + 1)); object=${!next}; }; done
made=$TEST_BUILD_DIR/$object
if [ -z "${TEST_CFLAGS:-}" ] && [ -e "$made" ] && [ -e "$SOURCE/${source#"$WORK"/tree/}" ] && ! grep -qxF "$object" "$WORK/stale"; then
  echo "$object: $source" > "$object.d"
  exec cp "$made" "$object"
fi
echo "$object" >> "$WORK/compiled"
exec "$@"
SH
chmod +x launch
export WORK SOURCE
cmake -G Ninja -S tree -B build -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS=-O0 -DCMAKE_C_COMPILER_LAUNCHER="$WORK/launch" > cmake.log 2>&1 || { cat cmake.log; fail "cmake"; }
ninja -C build -j 2 familyseer > ninja.log 2>&1 || { tail -30 ninja.log; fail "the copy does not build"; }
grep -q heaviest compiled && grep -q op/table compiled || fail "a patch was not compiled"

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
