# diff: two libraries of one network, task by task; the same is told as the same, another network is refused.
# SEER_TEST: timeout=200
. "$(dirname "$0")/lib.sh"

expect_status 0 "$FAMILYSEER" compile mobilenet_v2_0.25 -O1 -o a --ignore-records
expect_status 0 "$FAMILYSEER" tune mobilenet_v2_0.25 --measure fake --trials 200 --records r.sqlite -o b
expect_status 0 "$FAMILYSEER" tune mobilenet_v2_0.25 --measure fake --trials 200 --seed 7 --records s.sqlite -o c
expect_status 0 "$FAMILYSEER" compile mlp -O1 -o d --ignore-records
for pair in "a a" "a b" "b c" "c b"; do
  # shellcheck disable=SC2086
  expect_status 0 "$FAMILYSEER" diff $pair --json
  cp stdout "$(echo "$pair" | tr ' ' -).json"
done
expect_status 0 "$FAMILYSEER" diff a b --profile --json
cp stdout profile.json
python3 - <<'EOF' || fail "what diff says does not fit"
import json, math
libraries = {x: {t["name"]: t for t in json.load(open(f"{x}/model.json"))["tasks"]} for x in "abc"}
steps = {x: json.load(open(f"{x}/model.json"))["steps"] for x in "ab"}
for one, other in (("a", "a"), ("a", "b"), ("b", "c"), ("c", "b")):
    told = json.load(open(f"{one}-{other}.json"))
    rows = {r["name"]: r for r in told["tasks"]}
    assert set(rows) == set(libraries[one]) and len(told["tasks"]) == 32
    for name, row in rows.items():
        x, y = libraries[one][name], libraries[other][name]
        assert row["schedule"] == ("same" if x["schedule"] == y["schedule"] else "other"), (row, x, y)
        for key, task in (("a", x), ("b", y)):
            assert row[key + "_source"] == task["source"]
            seconds = task.get("seconds", 0) * task["weight"]
            assert math.isclose(row.get(key + "_seconds", 0), seconds, rel_tol=1e-9), (row, task)
    assert told["same"] + told["other"] == 32 and told["same"] == sum(r["schedule"] == "same" for r in rows.values())
    timed = [r for r in told["tasks"] if "a_seconds" in r and "b_seconds" in r]
    assert told["timed"] == len(timed) and math.isclose(told["a_seconds"], sum(r["a_seconds"] for r in timed), rel_tol=1e-9)
    changes = [abs(r["a_seconds"] - r["b_seconds"]) if r in timed else 0 for r in told["tasks"]]
    assert changes == sorted(changes, reverse=True), changes
    assert (told["other"] == 0) == (one == other), told
assert json.load(open("b-c.json"))["timed"] >= 3
told = json.load(open("profile.json"))
names = {r["name"]: r for r in told["steps"]}
assert told["timed"] > 32 and all(r["a_seconds"] > 0 and r["b_seconds"] > 0 for r in told["steps"] if r["schedule"] in ("same", "other"))
for step, (x, y) in ((s["name"], (s, next(t for t in steps["b"] if t["name"] == s["name"]))) for s in steps["a"] if s["kind"] == "kernel"):
    a, b = (list(libraries[l].values())[s["task"]]["schedule"] for l, s in (("a", x), ("b", y)))
    assert names[step]["schedule"] == ("same" if a == b else "other"), (step, names[step])
EOF

expect_status 0 "$FAMILYSEER" diff a a
expect_text stdout "32 tasks in both, 32 with the same schedule; only in A 0, only in B 0"
expect_text stdout "no times of both are recorded; --profile measures them"
expect_status 0 "$FAMILYSEER" diff b/model.so c/model.so
grep -qE '^the [0-9]+ with times in both take [0-9.]+ ms and [0-9.]+ ms: [AB] is [0-9.]+ times as fast$' stdout || { cat stdout; fail "no sum"; }
expect_status 1 "$FAMILYSEER" diff a d
expect_text stderr "of different networks"
expect_status 1 "$FAMILYSEER" diff a nowhere
expect_status 2 "$FAMILYSEER" diff a
