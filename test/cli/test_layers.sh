# libfamilyseer has the tuner and nothing of what only the program needs: studies of tables, and the command line.
# SEER_TEST: timeout=60
. "$(dirname "$0")/lib.sh"
[ -f "$TEST_BUILD_DIR/build.ninja" ] || exit 77
# Functions, also those that it does not export.
defined() { nm --defined-only "$1" | awk '$2 ~ /^[Tt]$/ && $3 ~ /^seer_/ {print $3}' | sort -u; }
defined "$TEST_BUILD_DIR/libfamilyseer.so" > library
grep -qx seer_campaign_run library || fail "libfamilyseer.so does not show the functions that it has"
for layer in study cli; do
  defined "$TEST_BUILD_DIR/libseer_$layer.a" > "$layer"
  [ "$(wc -l < "$layer")" -gt 10 ] || fail "libseer_$layer.a has few functions"
  comm -12 library "$layer" > both
  [ ! -s both ] || fail "libfamilyseer.so links of $layer: $(head -3 both | tr '\n' ' ')"
done
# Nor does anything else need them: each folder is linked with those above it in src/LAYERS alone.
grep -qx seer_regret_measure study || fail "study is not where the studies are"
