# tune: what it writes and where, what is refused before the first measurement, how it is ended.
# SEER_TEST: timeout=500 cost=60
. "$(dirname "$0")/lib.sh"

fake() { "$FAMILYSEER" tune "$@" --measure fake --trials 40; }

# The library with a report beside it (what kind of page that is: test_report.py).
expect_status 0 fake mlp -o out --records a.sqlite
for f in model.so model.h model.json weights.bin report.html; do [ -s "out/$f" ] || fail "out/$f is missing"; done
[ "$(ls -A out | wc -l)" = 5 ] || fail "something else was left in out: $(ls -A out)"
for text in "gemm 1x784-&gt;256 +relu" contraction.f32 search-policy "seer (default)" anchor-op trials \
    build-error run-timeout wrong-result "% of bound" "the budget of trials is used up"; do
  expect_text out/report.html "$text"
done
grep -qF "$WORK" out/report.html && fail "the report holds a path"

# `compile -O2` makes the same of the records, by what they say of this machine: also where nothing was accepted, or measured. (-O3 may take what
# was found for other shapes for tasks that a tuning of so few trials has not come to.)
expect_status 0 fake mobilenet_v2_0.25 -o tuned --records same.sqlite
expect_status 0 "$FAMILYSEER" compile mobilenet_v2_0.25 -O2 -o again --records same.sqlite --measure fake
grep -qE '^([0-9]|[12][0-9]) of 32 tasks tuned' stderr || fail "all tasks were tuned: $(cat stderr)"
for f in model.so model.h model.json weights.bin; do cmp "tuned/$f" "again/$f" || fail "$f differs"; done

# A network in a folder is called by its file's name; a report elsewhere; none where nothing says where.
expect_status 0 "$FAMILYSEER" models --export mlp -o deep/er
expect_status 0 fake deep/er/mlp.onnx -o out2 --report there.html --ignore-records
[ -s there.html ] || fail "there.html is missing"
expect_text there.html "<h1>mlp.onnx</h1>"
grep -qF "deep/er" there.html && fail "the report holds the network's folder"
[ ! -e out2/report.html ] || fail "a second report"
mkdir alone
(cd alone && fake mlp --records ../a.sqlite 2> ../stderr) || fail "tune without -o"
[ -z "$(ls -A alone)" ] || fail "tune without -o wrote $(ls -A alone)"
expect_text stderr "what was found is in the records; no library is written without -o"

# --ignore-records neither reads nor writes.
mkdir cache
expect_status 0 env XDG_CACHE_HOME="$WORK/cache" "$FAMILYSEER" tune mlp --measure fake --trials 20 --ignore-records
[ ! -e cache/familyseer/records.sqlite ] || fail "--ignore-records made a file of records"
expect_status 0 env XDG_CACHE_HOME="$WORK/cache" "$FAMILYSEER" tune mlp --measure fake --trials 20
[ ! -e cache/familyseer/records.sqlite ] || fail "made-up times in the user's own records"

# Tasks that were not selected keep their winners, and those that were have all trials.
expect_status 0 fake mlp --records some.sqlite --tasks 1 --json
grep '"event": *"accept"' stdout | grep -qv '"task": *1,' && fail "a task that was not selected was judged"
expect_status 0 fake mlp --records some.sqlite --tasks 0 --json
grep '"event": *"accept"' stdout | grep -qv '"task": *0,' && fail "a task that was not selected was judged"
expect_status 0 "$FAMILYSEER" tune mlp --measure fake --ignore-records --tasks 0 --trials 300 --round-size 300 \
  --search-policy random --json
grep '"event": *"round"' stdout | grep -q '"n": *300,' || fail "a round is not as large as it was asked for"

# Without a budget it ends by itself, and says why; with one it is whichever comes first.
by_itself() { "$SOURCE/tool/on_target.sh" server "$FAMILYSEER" tune mlp --measure fake --ignore-records "$@"; }
expect_status 0 by_itself --json
expect_text stderr "until it is done"
expect_text stderr "done: as many measurements again are expected to bring"
expect_text stderr "tasks at a local optimum"
grep '"event": *"done"' stdout | grep -q '"expected_gain": *0\.0[0,].*"local_optima": *[1-3]' || { tail -1 stdout; fail "the last event does not say what was expected"; }
grep -q '"origin": *"neighbour"' stdout || fail "no neighbour was tried"
expect_status 0 by_itself --until-done --time-budget 20m
expect_text stderr "done: as many measurements again"
expect_status 0 by_itself --until-done --time-budget 1ms
expect_text stderr "the time budget is used up"

# Another network goes on from a cost model; families are found again by name.
one_model() { "$FAMILYSEER" tune "$@" --measure fake --ignore-records --search-policy familyseer; }
expect_status 0 one_model mlp --trials 40 --save-model m1
# Which families go on is said before anything is measured, and what was learnt of them is passed on: one round is enough.
expect_status 0 one_model mobilenet_v2_0.25 --trials 8 --load-model m1 --save-model m2
expect_text stderr "cost model m1: 1 of 4 families go on from it; new are conv.f32, depthwise.f32, window.f32"
expect_status 0 one_model mlp --trials 40 --load-model m2
expect_text stderr "cost model m2: 1 of 1 families go on from it"
expect_status 1 one_model mlp --trials 40 --load-model m2 --cost-model random
expect_text stderr "m2: cost model xgboost, must be random"
expect_status 1 fake mlp --ignore-records --load-model m2
expect_text stderr "m2: cost model xgboost, must be xgboost-rank"
expect_status 1 fake mlp --ignore-records --load-model m2 --cost-model xgboost
expect_text stderr "m2: of a policy that has cost models of samples alone, this one has cost models over the analytic estimate"

# What was drafted, refused and left out is counted: each round at level 2, in all at level 1.
expect_status 0 fake mlp --ignore-records --log search --json
grep -q '^\[search\] drafted [1-9][0-9]*, scored .*; rejected: .*duplicate [1-9]' stderr || { cat stderr; fail "no counts"; }
[ "$(grep -c '^.search' stderr)" = 1 ] || fail "more than one line of counts at level 1"
grep '"event": *"done"' stdout | grep -q '"rejected": *{.*"duplicate": *[1-9]' || { tail -1 stdout; fail "the last event has no counts"; }
grep '"event": *"round-end"' stdout | grep -q '"rejected": *{' || fail "rounds have no counts"
expect_status 0 fake mlp --ignore-records --log search:2
[ "$(grep -c '^.search. task [0-9]*: drafted ' stderr)" -ge 3 ] || { cat stderr; fail "rounds are not logged"; }

# The number of threads that search does not change what is found: by the fake machine, which has no clock.
same_by_threads() {
  for threads in 1 3; do
    expect_status 0 "$SOURCE/tool/on_target.sh" server "$FAMILYSEER" tune "$@" --measure fake --search-threads $threads --ignore-records --json
    grep '"event": *"measurement"' stdout | sed -E 's/"(elapsed_s|build_s|run_s)": *[0-9.e+-]+,?//g' > events.$threads
  done
  cmp events.1 events.3 || fail "one thread and three find different schedules: $*"
}
same_by_threads mobilenet_v2_0.25 --trials 100
[ "$(wc -l < events.1)" -ge 100 ] || fail "$(wc -l < events.1) measurements"
same_by_threads mlp --trials 200 --search-policy ansor
[ "$(wc -l < events.1)" -ge 200 ] || fail "$(wc -l < events.1) measurements"

# Records through pipes: what comes out goes in.
expect_status 0 "$FAMILYSEER" records export exported --records a.sqlite
"$FAMILYSEER" records export --records a.sqlite > piped || fail "export to standard output"
[ -s piped ] && cmp exported piped || fail "standard output and a file differ"
"$FAMILYSEER" records export - --records a.sqlite | "$FAMILYSEER" records import --records piped.sqlite > stdout || fail "through a pipe"
grep -q '^[1-9][0-9]* records added' stdout || { cat stdout; fail "nothing came through the pipe"; }
"$FAMILYSEER" records import - --records piped.sqlite < exported > stdout || fail "import from -"
grep -q "^0 records added" stdout || { cat stdout; fail "known ones were added again"; }
"$FAMILYSEER" records export --records a.sqlite > /dev/full 2> stderr && fail "a full disk is no failure"

# What cannot be written is said before anything is measured.
echo here > file
for out in file file/below; do
  expect_status 1 fake mlp -o "$out" --records b.sqlite
  expect_text stderr "file"
done
for option in report save-model; do
  for path in file/below no/such/folder . ; do
    expect_status 1 fake mlp --records b.sqlite --search-policy familyseer --$option "$path"
    expect_text stderr "$path"
    grep -q "measurements" stderr && fail "--$option $path: said after the measurements"
  done
done
[ "$(cat file)" = here ] || fail "the file is another one"
[ ! -e b.sqlite ] || [ -z "$("$FAMILYSEER" records export --records b.sqlite)" ] || fail "something was measured for a tuning that could not end well"

# SIGTERM ends the search as Ctrl-C does, and what is known is compiled.
"$FAMILYSEER" tune mobilenet_v2_0.25 -o ended --records c.sqlite --time-budget 60s --json > events 2> stderr &
tuner=$!
for _ in $(seq 300); do
  [ "$(grep -c '"measurement"' events || true)" -ge 20 ] && break
  sleep 0.1
done
kill -TERM $tuner
wait $tuner || { cat stderr; fail "status $? after SIGTERM"; }
expect_text events "stopped by the user"
[ -s ended/model.so ] || fail "no library after SIGTERM"
# What is told in the end is what the library takes, and the sum of its tasks as that.
ms=$(sed -n 's/^latency: \([0-9.]*\) ms, the whole library by itself.*the sum of its tasks.*/\1/p' stderr)
[ -n "$ms" ] || { cat stderr; fail "no latency of the whole library"; }
grep '<dt>Latency</dt>' ended/report.html | sed -n "s/.*<dd><data value='\([0-9.e-]*\)'>.*/\1/p" | awk -v told="$ms" '{ d = 1e3 * $1 - told; ok = d < 0.0006 && d > -0.0006 } END { exit !ok }' ||
  { grep -A 2 Latency ended/report.html; fail "the report has another latency than $ms ms"; }
expect_text ended/report.html "Sum of tasks, each measured alone: "
expect_text stderr "the whole library: $ms ms"
sed -n 's/^{"event":"done".*"sum_of_tasks_ms":[0-9.]*,"latency_ms":\([0-9.]*\).*/\1/p' events | awk -v told="$ms" '{ d = $1 - told; ok = d < 0.0006 && d > -0.0006 } END { exit !ok }' ||
  { grep '"done"' events; fail "the last event has another latency than $ms ms"; }
python3 - events ended/model.json "$ms" << 'END' || fail "not all that is told is that latency"
import json, sys
done = next(e for e in map(json.loads, open(sys.argv[1])) if e["event"] == "done")
assert done["estimated_ms"] == done["latency_ms"] != done["sum_of_tasks_ms"], done
# What is no task moves nothing here, and takes next to nothing.
tasks = sum(t["seconds"] * t["weight"] for t in json.load(open(sys.argv[2]))["tasks"]) * 1e3
assert 0.5 * done["latency_ms"] < tasks <= 1.0001 * done["latency_ms"], (tasks, done)
END
expect_status 0 "$FAMILYSEER" verify ended/model.so mobilenet_v2_0.25

# One tuner at a time has the machine, whoever's it is. Who waits says so, and Ctrl-C ends the wait: what is known is compiled.
hold() { flock "$SEER_DEVICE_LOCK" sleep 100 & holder=$!; while flock -n "$SEER_DEVICE_LOCK" true; do sleep 0.1; done; }
hold
for signal in INT TERM; do
  sh -c 'trap - INT; exec "$@"' - "$FAMILYSEER" tune mobilenet_v2_0.25 -o waited.$signal --records c.sqlite --json > events 2> stderr &
  tuner=$!
  for _ in $(seq 600); do
    grep -q '"wait"' events && break
    sleep 0.1
  done
  expect_text stderr "another tuner is measuring on this machine"
  kill -$signal $tuner
  wait $tuner || { cat stderr; fail "status $? after SIG$signal while waiting"; }
  grep -q '"measurement"' events && fail "something was measured while another tuner had the machine"
  tail -1 events | grep -q '"done".*nothing was measured' || { cat events; fail "the last event is not the end"; }
  expect_text stderr "wrote waited.$signal/model.so"
done
expect_status 0 "$FAMILYSEER" compile mobilenet_v2_0.25 -o known --records c.sqlite
cmp waited.INT/model.so known/model.so || fail "what is known was not compiled"
# Made-up times are not this machine's, and wait for nobody.
expect_status 0 fake mlp --ignore-records
kill $holder
expect_status 1 "$FAMILYSEER" tune mlp --ignore-records --trials 4 --device-lock no/such/lock
expect_text stderr "no/such/lock"

# Devices: the library is for as many threads as one has processors.
one=$(python3 -c 'import os; print(min(os.sched_getaffinity(0)))')
expect_status 0 "$FAMILYSEER" tune mlp --ignore-records --trials 8 --devices "cpu:$one" -o grouped
expect_text stderr "devices cpu:$one: the library is for 1 thread"
expect_status 0 "$FAMILYSEER" info grouped/model.so
tr -d '\n' <stdout >line  # lines are broken
grep -q -e "-threads=1 " line || { echo "FAILED: info does not say one thread"; exit 1; }
expect_status 0 "$FAMILYSEER" verify grouped/model.so mlp
all=$(python3 -c 'import os; print(",".join("cpu:%d" % c for c in sorted(os.sched_getaffinity(0))[:2]))')
expect_status 0 "$FAMILYSEER" tune mlp --records devices.sqlite --trials 40 --devices "$all" --json -o grouped
cp stdout events
expect_status 0 "$FAMILYSEER" verify grouped/model.so mlp
python3 - "$all" <<'END'
import json, sys
devices = sys.argv[1].split(",")
runs = [e for e in map(json.loads, open("events")) if e["event"] == "measurement"]
seen = {e.get("device") for e in runs}
assert seen == (set(devices) if len(devices) > 1 else {None}), seen
ids = [e["record"] for e in runs]
assert len(ids) == len(set(ids)), "a measurement was counted twice"
END
expect_status 1 "$FAMILYSEER" tune mlp --ignore-records --trials 4 --devices "cpu:$one" --threads 2
expect_text stderr "leave one of them out"
expect_status 1 "$FAMILYSEER" tune mlp --ignore-records --trials 4 --devices "cpu:$one,cpu:$one"
expect_text stderr "processor $one is named twice"
expect_status 1 "$FAMILYSEER" tune mlp --ignore-records --trials 4 --devices cpu:1023
expect_text stderr "processor 1023 is not there"
expect_status 1 "$FAMILYSEER" tune mlp --ignore-records --trials 4 --devices fake:0
expect_text stderr "measurer local has none of"
expect_status 1 "$FAMILYSEER" tune mlp --ignore-records --trials 4 --devices "cpu:$one" --measure fake
expect_text stderr "measurer fake has none of"

# By counts, which no clock decides: of 30 ms each, n devices have nearly equal parts.
fakes=fake:0,fake:1,fake:2,fake:3
expect_status 0 "$FAMILYSEER" tune mlp --ignore-records --trials 96 --round-size 96 --measure fake:delay=30ms --devices $fakes --json
cp stdout events
python3 - <<'END'
import collections, json
runs = [e for e in map(json.loads, open("events")) if e["event"] == "measurement"]
n = collections.Counter(e["device"] for e in runs)
assert len(n) == 4 and min(n.values()) >= 0.85 * max(n.values()), n
END
