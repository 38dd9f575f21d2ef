# The paper's studies on the golden table (test/data/times.gz): their files, their columns, and figures that follow from others.
# SEER_TEST: timeout=120
. "$(dirname "$0")/lib.sh"
table=$SOURCE/test/data/times.gz
small="--seeds 2 --trials-a-task 12 --round-size 4 --samples 16"

expect_status 2 "$FAMILYSEER" study fig5 "$table"
expect_text stderr "allowed: collect, gather, regret, fig1, fig2, table2, fig3, fig4, fig7, table5, fig8, all"
expect_status 2 "$FAMILYSEER" study fig1
expect_text stderr "a FILE is missing"
expect_status 2 "$FAMILYSEER" study fig1 "$table" more
expect_text stderr "one argument too many"
expect_status 1 "$FAMILYSEER" study fig1 nowhere.gz
expect_status 1 "$FAMILYSEER" study fig7 "$table" --policies best
expect_text stderr "unknown search policy 'best'"
expect_status 1 "$FAMILYSEER" study fig7 "$table" --networks vgg
expect_text stderr "has no network 'vgg'; it has mlp"
touch file
expect_status 1 "$FAMILYSEER" study fig3 "$table" -o file/in $small
[ ! -e study ] || fail "a study that failed has written something"

# One study alone: its own file and no other; the default folder.
expect_status 0 "$FAMILYSEER" study fig3 "$table" $small
[ "$(ls study)" = "$(printf 'fig3.csv\nstudy.html\nstudy.md')" ] || fail "files: $(ls study)"

expect_status 0 "$FAMILYSEER" study all "$table" -o all $small --policies familyseer,round-robin
expect_text stdout "all/study.html"
cmp study/fig3.csv all/fig3.csv || fail "a study alone differs from the same among all"
columns() { [ "$(head -1 "all/$1.csv")" = "$2" ] || fail "$1.csv: columns $(head -1 "all/$1.csv")"; }
columns fig1 network,seed,models,task,families,fitted_on,held_out,accuracy,accuracy_seen,peak
columns fig2 network,seed,fitted_on,asked_about,kinship,accuracy
columns table2 network,seed,grouping,task,families,fitted_on,held_out,accuracy,accuracy_seen,peak
columns fig3 network,seed,task,count,trials,share,untuned_s,best_s,known_s
columns fig4 network,seed,task,count,trials,best_s,equal_trials,equal_best_s,gain
columns fig7 network,policy,seed,counted_from,percent,ansor_trials,trials,speedup
columns table5 network,policy,seed,trials,latency_s,ansor_s,relative,known_s,wall_s
columns fig8 network,policy,seed,trials,measuring_s,latency_s
TABLE=$table python3 - <<'PY'
import collections, csv, gzip, json, math, os

def rows(name):
    with open(f"all/{name}.csv", newline="") as file:
        return list(csv.DictReader(file))

def same(a, b):
    return math.isclose(float(a), float(b), rel_tol=1e-4)

# The best that the table has of each task, and the network's.
best, name = collections.defaultdict(lambda: math.inf), {}
for line in map(json.loads, gzip.open(os.environ["TABLE"], "rt")):
    if "task" in line:
        name[line["task"]] = line["name"]
    if "seconds" in line:
        best[name[line["of"]]] = min(best[name[line["of"]]], line["seconds"])
known = sum(best.values())

assert len(rows("fig1")) == 2 * 3 * 3, "seeds x models x tasks"
assert len(rows("table2")) == 2 * 6 * 3, "seeds x groupings x tasks"
fig2 = rows("fig2")
assert len(fig2) == 2 * 9
own = {(r["seed"], r["fitted_on"]): r["accuracy"] for r in fig2 if r["kinship"] == "own"}
for r in rows("table2"):
    if r["grouping"] == "single":
        assert r["accuracy"] == own[r["seed"], r["task"]], r
    assert r["fitted_on"] == "16" and 0 <= float(r["accuracy"]) <= 1 and 0 < float(r["peak"]) <= 1, r

fig3 = rows("fig3")
for r in fig3:
    assert same(r["known_s"], best[r["task"]]), r
for seed in "12":
    assert sum(int(r["trials"]) for r in fig3 if r["seed"] == seed) == 36
    assert math.isclose(sum(float(r["share"]) for r in fig3 if r["seed"] == seed), 1, abs_tol=1e-4)
for r, of in zip(rows("fig4"), fig3):
    assert r["best_s"] == of["best_s"] and r["equal_trials"] == "12"
    assert same(r["gain"], float(r["best_s"]) / float(r["equal_best_s"])), r

table5 = rows("table5")
assert [r["policy"] for r in table5] == ["ansor"] * 2 + ["familyseer"] * 2 + ["round-robin"] * 2
latency = {(r["policy"], r["seed"]): float(r["latency_s"]) for r in table5}
for r in table5:
    assert same(r["known_s"], known) and float(r["latency_s"]) >= known * 0.9999
    assert same(r["relative"], latency["ansor", r["seed"]] / latency[r["policy"], r["seed"]]), r
for seed in "12":  # of ansor: the sum of its tasks
    assert same(latency["ansor", seed], sum(float(r["best_s"]) for r in fig3 if r["seed"] == seed))

# When a policy is there follows from its curve.
curve = collections.defaultdict(list)
for r in rows("fig8"):
    curve[r["policy"], r["seed"]].append((int(r["trials"]), float(r["latency_s"])))
for key, points in curve.items():
    assert same(points[-1][1], latency[key])
fig7 = rows("fig7")
assert len(fig7) == 3 * 2 * 2 * 3, "policies x seeds x countings x shares"
for r in fig7:
    wanted = latency["ansor", r["seed"]] / (int(r["percent"]) / 100)
    def reaches(policy):
        return next((max(4, n) for n, at in curve[policy, r["seed"]] if at <= wanted * (1 + 1e-6)), None)
    if r["counted_from"] == "start":
        assert int(r["ansor_trials"]) == reaches("ansor"), r
        assert r["trials"] == str(reaches(r["policy"]) or "never"), r
        assert same(r["speedup"], int(r["ansor_trials"]) / (36 if r["trials"] == "never" else int(r["trials"]))), r
    if r["policy"] == "ansor":
        assert r["speedup"] == "1" and r["trials"] == r["ansor_trials"], r

page = open("all/study.html").read()
assert page.count("<svg") == page.count("</svg>") == 1 + 1 + 1 + 1, page.count("<svg")
for text in ("Figure 1", "Table 5", "FamilySeer: Towards Optimized", "<td>1.170", "<td>2.49", "99.4"):
    assert text in page, text
assert "http" not in page and "<script" not in page
PY
