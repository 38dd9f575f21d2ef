# study collect makes a table, goes on with it, and stops when its time is up; study gather makes one of records; study regret says how far policies are from its
# best; tune --measure replay searches it. What they cannot do they refuse.
# SEER_TEST: timeout=300
. "$(dirname "$0")/lib.sh"
export XDG_CACHE_HOME="$WORK/cache"
machine=$(cat "$SOURCE/test/targets/zen4-avx2.target")
collect() { "$FAMILYSEER" study collect "$@" --measure fake --target "$machine"; }
lines() { zcat "$1" | grep -c '"of":'; }

expect_status 2 "$FAMILYSEER" study nonsense x
expect_text stderr "allowed: collect, gather, regret"
expect_status 2 "$FAMILYSEER" study collect
expect_text stderr "a NETWORK is missing"
expect_status 2 "$FAMILYSEER" study regret
expect_text stderr "a FILE is missing"
expect_status 2 collect mlp
expect_text stderr "-o FILE"
expect_status 1 collect mlp -o no/such/folder/t.gz --schedules 4
expect_text stderr "no/such/folder"

# Nothing of a table that is there is lost or measured again; more schedules, and another network, come to it.
expect_status 0 collect mlp -o t.gz --schedules 24
expect_text stdout "t.gz: 3 tasks, 72 schedules:"
expect_text stdout "0 open"
zcat t.gz | grep '"of":' > first
expect_status 0 collect mlp -o t.gz --schedules 24
zcat t.gz | grep '"of":' > second
cmp first second || fail "a table that had all was changed"
expect_status 0 collect mlp -o t.gz --schedules 30
expect_text stdout "3 tasks, 90 schedules:"
zcat t.gz | grep '"of":' > third
[ "$(sort first third | uniq -d | wc -l)" = 72 ] || fail "lines of a table were lost or changed when it grew"
"$FAMILYSEER" models --export mlp -o . > /dev/null
mv mlp.onnx other.onnx
expect_status 0 collect other.onnx mlp -o t.gz --schedules 30 --heaviest 2
expect_text stdout "2 tasks, 60 schedules:"
[ "$(lines t.gz)" = 90 ] || fail "tasks that were not asked for are gone"
[ "$(zcat t.gz | grep -c '"network":"other"')" = 2 ] || fail "not two tasks of the other network"
# No time: what there is stays.
cp t.gz before.gz
expect_status 0 collect mlp -o t.gz --schedules 4000 --time-budget 0.01s
[ "$(lines t.gz)" -ge 90 ] || fail "lines are gone"

# Interrupted: what was measured is there, and the file is whole.
rm -f stderr  # of the run before
"$FAMILYSEER" study collect mobilenet_v2 -o int.gz --schedules 400 --measure fake --target "$machine" > stdout 2> stderr &
child=$!
for _ in $(seq 600); do grep -qs "visit 1" stderr && break; sleep 0.1; done
kill -INT $child 2> /dev/null || true  # it may be over
wait $child || fail "an interrupted collection failed: $(cat stderr)"
expect_text stdout "int.gz:"
[ "$(lines int.gz)" -ge 1 ] || fail "what was measured before the interruption is gone"

# Of another machine, cut off, or something else.
expect_status 1 "$FAMILYSEER" study collect mlp -o t.gz --schedules 4 --measure fake --target "$(cat "$SOURCE/test/targets/one-core.target")"
expect_text stderr "times of another target"
expect_text stderr "--target 'cpu -triple"
head -c 2000 before.gz > cut.gz
expect_status 1 "$FAMILYSEER" study regret cut.gz
expect_text stderr "cut.gz:"
expect_text stderr "the file ends too early"
expect_status 1 "$FAMILYSEER" study regret "$SOURCE/README.md"
expect_text stderr "no table of times"
expect_status 1 "$FAMILYSEER" study collect mlp -o new.gz --measure replay:t.gz --schedules 4 --target "$machine"
expect_text stderr "not measured again"
expect_status 1 "$FAMILYSEER" study collect mlp -o new.gz --measure fake:delay=1s --schedules 4 --target "$machine"
expect_text stderr "a delay is for tuning"

expect_status 1 "$FAMILYSEER" study regret before.gz --networks vgg
expect_text stderr "has no network 'vgg'; it has mlp, other"
expect_status 1 "$FAMILYSEER" study regret before.gz --policies seer --csv no/such/r.csv
expect_text stderr "no/such/r.csv"
grep -q " trials of " stderr && fail "--csv: said after the tunings"
expect_status 1 "$FAMILYSEER" study all before.gz -o before.gz/below
expect_status 1 "$FAMILYSEER" study regret before.gz --policies best
expect_text stderr "unknown search policy 'best'"
expect_status 1 "$FAMILYSEER" study regret before.gz --policies seer --without best
expect_text stderr "there is no ingredient 'best'; allowed: transfers"
expect_status 1 "$FAMILYSEER" study regret before.gz --policies seer --without alike,racing
expect_text stderr "without racing would change nothing"
expect_status 1 "$FAMILYSEER" study regret before.gz --policies seer,ansor --without alike
expect_text stderr "policy ansor does not have it"
expect_status 0 "$FAMILYSEER" study regret before.gz --policies seer --seeds 1 --without untuned,alike
expect_status 0 "$FAMILYSEER" study regret before.gz --policies round-robin --seeds 2 --csv r.csv
expect_text stdout "mlp, 3 tasks: regret"
expect_text stdout "other, 2 tasks: regret"
expect_text stdout "geometric mean"
[ "$(wc -l < r.csv)" = 29 ] || fail "2 networks, 2 seeds and 7 budgets are 28 lines"
grep -q '^mlp,round-robin,default,2,3,[0-9]*,256,0,' r.csv || fail "with trials for the whole table something is left"

# A tuning on it, which leaves the user's records alone.
expect_status 0 "$FAMILYSEER" tune mlp --measure replay:before.gz --target "$machine" --trials 60
[ ! -e cache/familyseer/records.sqlite ] || fail "a replayed tuning wrote into the user's records"
expect_status 0 "$FAMILYSEER" tune mlp --measure replay:before.gz --target "$machine" --trials 20 --records r.sqlite
[ -e r.sqlite ] || fail "records that were named were not kept"
expect_status 1 "$FAMILYSEER" tune mlp --input-shapes input:8x784 --measure replay:before.gz --target "$machine" --trials 20
expect_text stderr "no times of this task"
expect_status 1 "$FAMILYSEER" tune mlp --measure replay --target "$machine" --trials 20 --ignore-records
expect_text stderr "replay:FILE"

# What tunings have measured becomes a table, each schedule once, that studies and pretrain read; again: nothing new.
gather() { "$FAMILYSEER" study gather "$@" --measure fake --target "$machine"; }
expect_status 0 "$FAMILYSEER" tune mlp --measure fake --trials 200 --records tuned.sqlite --target "$machine"
expect_status 2 gather tuned.sqlite -o g.gz
expect_text stderr "'tuned.sqlite' is no NETWORK=RECORDS"
expect_status 2 gather mlp=tuned.sqlite
expect_text stderr "-o FILE"
expect_status 1 gather mobilenet_v2_0.25=tuned.sqlite -o g.gz
expect_text stderr "nothing of network mobilenet_v2_0.25"
expect_status 1 gather mlp=none.sqlite -o g.gz
expect_text stderr "none.sqlite"
[ ! -e g.gz ] || fail "a table of nothing"
expect_status 0 gather mlp=tuned.sqlite -o g.gz
expect_text stdout "schedules of 3 tasks"
count=$(sed -n 's/^mlp: \([0-9]*\) schedules.*/\1/p' stdout)
[ "$count" -gt 100 ] && [ "$(lines g.gz)" = "$count" ] || fail "$count schedules said, $(lines g.gz) in the table"
[ "$(zcat g.gz | grep -c '"origin":"untuned"')" = 3 ] || fail "not the untuned choice of each task"
zcat g.gz > first
expect_status 0 gather mlp=tuned.sqlite -o g.gz
expect_text stdout "mlp: 0 schedules of 0 tasks; "
zcat g.gz > second
cmp first second || fail "a table that had all was changed"
expect_status 0 "$FAMILYSEER" study regret g.gz --policies round-robin --seeds 1
expect_status 0 "$FAMILYSEER" pretrain g.gz -o g.bank --target "$machine"
expect_text stdout "$count schedules of 3 tasks"
expect_status 1 "$FAMILYSEER" pretrain g.gz -o g2.bank --target "$machine" --leave-out mlp

# What the environment says to other commands is nothing to a study.
regret() { "$FAMILYSEER" study regret g.gz --seeds 1 "$@" --csv r.csv > /dev/null 2> stderr || fail "study regret $*: $(cat stderr)"; cut -d, -f1-12 r.csv; }
regret --policies seer > first
SEER_EARLY_STOPPING=1 SEER_TASK_EARLY_STOPPING=1 SEER_FAMILY=single SEER_COST_MODEL=random SEER_TARGET_LATENCY=1000s SEER_TIME_BUDGET=1h regret --policies seer > second
cmp first second || fail "the environment's options for tune change a study"

# A study's tunings begin with the models of others that it names, where their policy begins with any.
regret --policies seer --no-pretrained > first
regret --policies seer,ansor --pretrained g.bank > second
cmp -s first second && fail "--pretrained changes nothing in a study"
grep -v ',ansor,' second > others
regret --policies seer --pretrained g.bank > second
cmp others second || fail "what other policies a study has changes what one of them finds"
regret --policies ansor > first
regret --policies ansor --pretrained g.bank > second
cmp first second || fail "ansor goes on from another network's models"
regret --policies seer --round-size 3 > first
regret --policies seer > second
cmp -s first second && fail "--round-size changes nothing in study regret"
expect_status 1 "$FAMILYSEER" study regret g.gz --policies seer --seeds 1 --pretrained no.bank
expect_text stderr "no.bank"
