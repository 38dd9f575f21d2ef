#!/bin/bash
# A tuning that is killed with SIGKILL at random moments and resumed: every measurement that was printed is in the records,
# the database is sound, no worker outlives its parent by 2 s.
# SEER_TEST: timeout=300
. "$(dirname "$0")/lib.sh"
set +e  # kills and greps that find nothing are not failures here
folder=$WORK
children() { grep -l "^PPid:[[:space:]]*$1$" /proc/[0-9]*/status 2> /dev/null | cut -d/ -f3; }
# A dead process that its new parent has not yet asked about is still there, but not alive.
is_alive() { grep -q '^State:[[:space:]]*[^ZX]' "/proc/$1/status" 2> /dev/null; }
records=$folder/r.sqlite
printed=$folder/printed
: > "$printed"
for round in 1 2 3 4 5 6 7 8 9 10; do
  "$FAMILYSEER" tune mlp --records "$records" --time-budget 30s --json > "$folder/events" 2> "$folder/err" &
  tuner=$!
  # A random moment, in measurements: a busy machine only takes longer to get there.
  want=$(awk -v seed=$((round * 7919)) 'BEGIN { srand(seed); print int(1 + 12 * rand()) }')
  for _ in $(seq 200); do
    [ "$(grep -c '"event":"measurement"' "$folder/events")" -ge "$want" ] && break
    sleep 0.1
  done
  sleep "$(awk -v seed=$((round * 104729)) 'BEGIN { srand(seed); printf "%.3f", 0.3 * rand() }')"
  workers=$(children $tuner)
  kill -9 $tuner
  wait $tuner 2> /dev/null
  # A line that was cut off by the kill was not printed.
  grep -o '^{.*}$' "$folder/events" | grep '"event":"measurement"' >> "$printed"
  sleep 2
  for worker in $workers; do
    if is_alive "$worker"; then
      echo "worker $worker is alive 2 s after its parent was killed (round $round)" >&2
      exit 1
    fi
  done
done
n=$(wc -l < "$printed")
[ "$n" -gt 20 ] || { echo "only $n measurements were printed; the test shows nothing" >&2; cat "$folder/err" >&2; exit 1; }
python3 - "$records" "$printed" <<'PY' || exit 1
import json, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
there = dict(db.execute("SELECT id, seconds FROM measurement"))
lines = [json.loads(line) for line in open(sys.argv[2])]
for line in lines:
    assert there.get(line["record"]) == line["seconds"], f"record {line['record']} was printed, and is not stored so"
print(f"{len(lines)} printed measurements are all in the records")
PY
"$FAMILYSEER" records check --records "$records"
