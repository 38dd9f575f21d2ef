# doctor: a verdict for each topic, an end of 0, and the same as JSON; a place that cannot be written is a warning.
# SEER_TEST: timeout=120
. "$(dirname "$0")/lib.sh"

expect_status 0 "$FAMILYSEER" doctor --records fine.sqlite
for topic in processor threads "memory nodes" load clock "huge pages" memory noise records "temporary files" confinement opencl cuda NVRTC "cost models"; do
  grep -qE "^(ok|note|warning) +$topic +[^ ]" stdout || { cat stdout; fail "nothing of $topic"; }
done
grep -qE '^[0-9]+ warnings?, [0-9]+ notes?$' stdout || fail "no sum: $(tail -1 stdout)"
grep -E '^ok' stdout | grep -q "What to do" && fail "advice where nothing is wrong: $(cat stdout)"
[ ! -e fine.sqlite ] || fail "doctor made a file of records"
grep -qE "^ok +records +fine.sqlite" stdout || { cat stdout; fail "a place for records that is fine"; }

echo nothing > file
expect_status 0 "$FAMILYSEER" doctor --records file/in/it.sqlite --json
python3 - stdout <<'EOF' || fail "$(cat stdout)"
import json, sys
report = json.load(open(sys.argv[1]))
by_topic = {f["topic"]: f for f in report["findings"]}
records = by_topic["records"]
assert records["verdict"] == "warning" and "--records" in records["advice"], records
for kind in ("warning", "note"):
    assert report[kind + "s"] == sum(f["verdict"] == kind for f in report["findings"]), report
assert all(f["text"] for f in report["findings"])
EOF
# What was asked for and cannot be is a warning, what was not is none.
expect_status 0 "$FAMILYSEER" doctor
if grep -q "^ok  *cost models  *are fitted on the processor" stdout; then
  expect_status 0 "$FAMILYSEER" doctor --learn-device cuda
  grep -q "^warning  *cost models" stdout || { cat stdout; fail "a GPU that cannot be had"; }
fi
expect_status 2 "$FAMILYSEER" doctor this
