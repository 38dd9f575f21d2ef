# bench/lines: what its numbers must be whatever the machine is, and what it refuses. The library is untiled code for a
# made-up machine, so that the cuts of its phases are always the same.
# SEER_TEST: timeout=120
. "$(dirname "$0")/lib.sh"
lines=${TEST_BUILD_DIR:-$SOURCE/build}/bench/lines

"$SOURCE/tool/on_target.sh" server "$FAMILYSEER" compile mobilenet_0.25 -O0 --threads 2 -o net > compile.log 2>&1 || fail "$(cat compile.log)"
for n in 1 2 3 64; do
  expect_status 0 "$lines" net --threads $n --json
  mv stdout $n.json
done
expect_status 0 "$lines" net --steps
mv stdout text

python3 - <<'END' || fail "wrong numbers"
import json

WHAT = "written_bytes", "contested_bytes", "foreign_bytes"
got = {n: json.load(open(f"{n}.json")) for n in (1, 2, 3, 64)}
for n, net in got.items():
    assert net["threads"] == n
    names = {step["name"] for step in net["steps"]}
    for what in WHAT:
        assert net[what] == sum(step[what] for step in net["steps"]), (n, what)
    for step in net["steps"]:
        said = f"{n} threads: {step}"
        assert 0 <= step["contested_bytes"] <= step["written_bytes"], said
        read = [reader["bytes"] for reader in step["readers"]]
        assert read == sorted(read, reverse=True) and len(read) <= 3 and all(b > 0 for b in read), said
        assert {reader["name"] for reader in step["readers"]} <= names, said
        # Each page was read by somebody: by three steps or fewer, or by those and others that read less.
        assert sum(read) == step["contested_bytes"] or len(read) == 3 and sum(read) < step["contested_bytes"], said
    # 112 x 112 x 16 floats, and no less for more threads: a page that two of them write is counted twice.
    step = next(step for step in net["steps"] if step["name"] == "block0.pw.conv")
    assert step["written_bytes"] >= 112 * 112 * 16 * 4, step
    assert net["written_bytes"] >= got[1]["written_bytes"]

# Nobody contests what one thread has; two read each other's rows at the border of their halves, and what 64
# threads made 64 others read.
assert got[1]["contested_bytes"] == got[1]["foreign_bytes"] == 0
for what in WHAT[1:]:
    assert 0 < got[2][what] < got[64][what], f"{what}: {got[2][what]} of 2 threads, {got[64][what]} of 64"

# The text says the same.
text = [line.split() for line in open("text")]
assert len(text) == 1 + len(got[2]["steps"]) + len(WHAT)
for line, step in zip(text[1:], got[2]["steps"]):
    assert line[0] == step["name"] and [int(kib) * 1024 for kib in line[2:5]] == [step[what] for what in WHAT], line
assert [(line[0], int(line[1]) * 1024) for line in text[-3:]] == [(what.split("_")[0], got[2][what]) for what in WHAT]
END

expect_status 0 "$FAMILYSEER" compile "$SOURCE/test/fuzz/corpus/onnx/loop_data.onnx" -O1 -o loop
expect_status 1 "$lines" loop
expect_text stderr "a step that is no kernel, copy or view"
expect_status 1 "$lines" nowhere
expect_text stderr "lines: nowhere/model.so"
for n in 0 65 many; do expect_status 2 "$lines" net --threads $n; done
expect_status 2 "$lines" net --nonsense
