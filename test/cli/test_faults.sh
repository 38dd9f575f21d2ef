# What may happen to a tuning while it runs: readers that go away, disks that are full, a file of records that is locked
# or removed, a home that nobody may write to. It goes on, or ends with a message and with everything kept.
# SEER_TEST: timeout=180
. "$(dirname "$0")/lib.sh"
export XDG_CACHE_HOME=$WORK/cache
fake() { "$FAMILYSEER" tune mlp --measure fake "$@"; }

# every_event_is_in EVENTS RECORDS
every_event_is_in() {
  python3 - "$1" "$2" <<'PY' || fail "events of $1 are missing in $2"
import json, sqlite3, sys
db = sqlite3.connect(sys.argv[2])
assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
there = dict(db.execute("SELECT id, seconds FROM measurement"))
lines = [json.loads(line) for line in open(sys.argv[1]) if '"measurement"' in line]
assert lines, "nothing was printed"
assert all(there[line["record"]] == line["seconds"] for line in lines)
PY
}

# wait_for FILE N: until N measurements are printed.
wait_for() {
  for _ in $(seq 600); do
    [ "$(grep -c '"measurement"' "$1" || true)" -ge "$2" ] && return
    sleep 0.05
  done
  fail "no $2 measurements in $1"
}

# Locked for longer than SQLite waits: noted, waited for, gone on from. (In the background: it takes its time.)
fake --trials 20000 --time-budget 25s --records locked.sqlite --json > locked.events 2> locked.err &
locked=$!
wait_for locked.events 20
python3 - locked.sqlite locked.err <<'PY' &
import sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], timeout=60, isolation_level=None)
db.execute("BEGIN EXCLUSIVE")
end = time.monotonic() + 100
while "waiting" not in open(sys.argv[2]).read() and time.monotonic() < end:
    time.sleep(0.1)
db.execute("ROLLBACK")
PY
holder=$!

# The reader of the events goes away: the search ends, and what is known is compiled.
set +o pipefail
status=0
{ fake --trials 3000 --records a.sqlite -o out --json 2> stderr || echo $? > status; } | head -1 > stdout
[ "$(cat status)" = 1 ] || fail "status $(cat status) when nobody reads"
expect_text stdout '"start"'
expect_text stderr "the search ends"
expect_text stderr "cannot write to standard output"
[ -s out/model.so ] || fail "no library when nobody reads"

# Closed from the beginning: the same; without events, nothing to tell. No file of ours gets a standard descriptor.
status=0
fake --trials 40 --records a.sqlite --json >&- 2> stderr || status=$?
[ $status = 1 ] || fail "status $status with standard output closed"
expect_text stderr "cannot write to standard output"
status=0
fake --trials 40 --records a.sqlite -o out2 <&- >&- 2>&- || status=$?
[ $status = 0 ] || fail "status $status with all closed"
expect_status 0 "$FAMILYSEER" verify out2/model.so mlp
status=0
{ fake --trials 400 --records a.sqlite -o out3 2>&1 > /dev/null || echo $? > status3; } | true
[ ! -e status3 ] || fail "status $(cat status3) when nobody reads the progress"
[ -s out3/model.so ] || fail "no library when nobody reads the progress"

# A disk that is full: the search ends, what was printed is stored, the winners are compiled elsewhere.
status=0
(trap '' XFSZ; ulimit -f 400; fake --trials 20000 --records full.sqlite --json > full.events 2> stderr) || status=$?
[ $status = 1 ] || fail "status $status with a full disk"
expect_text stderr "full.sqlite"
expect_text full.events '"event":"done"'
every_event_is_in full.events full.sqlite
expect_status 0 "$FAMILYSEER" records check --records full.sqlite

# The same for a library: the old one is whole, and nothing is left of the new one.
expect_status 0 "$FAMILYSEER" compile mlp -o kept --ignore-records
sha256sum kept/* > before
status=0
(trap '' XFSZ; ulimit -f 400; "$FAMILYSEER" compile mlp -o kept --ignore-records -O0 2> stderr) || status=$?
[ $status = 1 ] || fail "status $status for weights on a full disk"
expect_text stderr "weights.bin"
sha256sum -c --quiet before || fail "the old library has changed"
[ "$(ls -A kept)" = "$(printf 'model.h\nmodel.json\nmodel.so\nweights.bin')" ] || fail "left: $(ls -A kept)"

# The folder of the records vanishes: the search ends, the records are written there again.
mkdir vanishing
fake --trials 20000 --records vanishing/r.sqlite --json > vanished.events 2> stderr &
tuner=$!
wait_for vanished.events 20
rm -r vanishing
status=0
wait $tuner || status=$?
[ $status = 1 ] || fail "status $status when the records vanish"
expect_text stderr "was removed while it was open"
every_event_is_in vanished.events vanishing/r.sqlite

# A home that nobody may write to, with records elsewhere.
: > file
expect_status 0 env XDG_CACHE_HOME="$WORK/file" "$FAMILYSEER" tune mlp --trials 10 --records c.sqlite
expect_status 1 env XDG_CACHE_HOME="$WORK/file" "$FAMILYSEER" tune mlp --trials 10
expect_text stderr "$WORK/file"

# No memory for a worker. (AddressSanitizer reserves terabytes: there the limit is not set.)
case ${TEST_CFLAGS:-} in
  *address*) ;;
  *)
    expect_status 1 "$FAMILYSEER" tune mlp --trials 10 --max-memory 0.02 --records c.sqlite
    expect_text stderr "worker runner"
    ;;
esac

wait $holder
status=0
wait $locked || status=$?
[ $status = 0 ] || { cat locked.err >&2; fail "status $status when the records are locked for a while"; }
expect_text locked.err "waiting"
every_event_is_in locked.events locked.sqlite
