# explain: shares, terms and bounds that add up; what was tried is what the records have; one task by its number or its name.
# SEER_TEST: timeout=200
. "$(dirname "$0")/lib.sh"

expect_status 0 "$FAMILYSEER" explain mobilenet_v2_0.25 --ignore-records --json
cp stdout untuned.json
expect_status 0 "$FAMILYSEER" tasks mobilenet_v2_0.25 --ignore-records --json
cp stdout tasks.json
expect_status 0 "$FAMILYSEER" tune mobilenet_v2_0.25 --measure fake --trials 200 --records r.sqlite
expect_status 0 "$FAMILYSEER" explain mobilenet_v2_0.25 --measure fake --records r.sqlite --json
cp stdout tuned.json
expect_status 0 "$FAMILYSEER" records export --records r.sqlite
cp stdout records.jsonl
expect_status 0 "$FAMILYSEER" explain mobilenet_v2_0.25 31 --measure fake --records r.sqlite --json
cp stdout one.json
expect_status 0 "$FAMILYSEER" records best mobilenet_v2_0.25 --measure fake --records r.sqlite --json
cp stdout best.jsonl
python3 - <<'EOF' || fail "what explain says does not fit"
import json, math
def close(a, b): return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-15)
def read(name): return json.load(open(name))
names = {t["id"]: t["name"] for t in read("tasks.json")["tasks"]}
for file in ("untuned.json", "tuned.json"):
    tasks = read(file)["tasks"]
    assert {t["id"]: t["name"] for t in tasks} == names, file
    assert close(sum(t["share"] for t in tasks), 1), file
    shares = [t["share"] for t in tasks]
    assert shares == sorted(shares, reverse=True), shares
    of = [t["weight"] * t.get("seconds", t["estimated_seconds"]) for t in tasks]
    for t, s in zip(tasks, of):
        assert close(s / sum(of), t["share"]), t
        assert close(sum(t["estimate"].values()), t["estimated_seconds"]), t
        assert min(t["estimate"].values()) >= 0, t
        assert t["estimate"][t["limited_by"]] == max(t["estimate"].values()), t
        assert 0 < t["bound_seconds"], t
assert all("seconds" not in t and t["measured"] == 0 for t in read("untuned.json")["tasks"])
tuned = {t["id"]: t for t in read("tuned.json")["tasks"]}
assert sum("seconds" in t for t in tuned.values()) >= 3, "nothing was measured"
rows = [json.loads(line) for line in open("records.jsonl")]

n = sum(t["measured"] for t in tuned.values())
assert 150 <= n <= 400, n
best = {b["task"]: b for b in map(json.loads, open("best.jsonl"))}
one = read("one.json")
assert {k: one[k] for k in tuned[31]} == tuned[31], one
assert one["loops"].startswith("loop "), one
if tuned[31]["source"] == "tuned":
    assert one["schedule"] == best[31]["schedule"], (one["schedule"], best[31])
EOF

expect_status 0 "$FAMILYSEER" explain mobilenet_v2_0.25 "gemm 1x1280" --ignore-records
for text in "task 31 " "never measured" "bound " "limited by " "nothing is in the records" "sched " "loop " "parallel @"; do
  expect_text stdout "$text"
done
expect_status 0 "$FAMILYSEER" explain mobilenet_v2_0.25 --ignore-records
grep -qE '^sum of tasks [0-9.]+ ms, of 0 of 32 tasks measured' stdout || { cat stdout; fail "no sum"; }
expect_status 1 "$FAMILYSEER" explain mobilenet_v2_0.25 32 --ignore-records
expect_text stderr "the network has 32, from 0 on"
expect_status 1 "$FAMILYSEER" explain mobilenet_v2_0.25 nothing --ignore-records
expect_text stderr "no task's name has 'nothing' in it"
expect_status 1 "$FAMILYSEER" explain mobilenet_v2_0.25 globalaverage --target cuda:h100 --ignore-records
expect_status 1 "$FAMILYSEER" explain mobilenet_v2_0.25 dwconv --ignore-records
expect_text stderr "is in the names of"
