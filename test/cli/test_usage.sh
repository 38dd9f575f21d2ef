#!/bin/bash
# Exit statuses and messages of the program itself: 0 done, 1 the world's fault, 2 wrong usage.
set -u
failed=0
SELF=$(realpath "$0")
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
cd "$WORK"
# expect STATUS STREAM-PATTERN ARGUMENTS...: the pattern must be in stdout or stderr.
expect() {
  local status=$1 pattern=$2 got
  shift 2
  output=$("$FAMILYSEER" "$@" 2>&1)
  got=$?
  if [ $got != "$status" ] || ! grep -qe "$pattern" <<<"$output"; then
    echo "familyseer $*: exit status $got, wanted $status with '$pattern'; it said:"
    echo "$output"
    failed=1
  fi
}
expect 0 '^familyseer [0-9]' --version
expect 0 'usage: familyseer COMMAND' --help
expect 2 'usage: familyseer COMMAND'
expect 2 "unknown command 'tnue', did you mean 'tune'" tnue
expect 2 "unknown command 'x'; .familyseer --help" x
expect 2 "unknown command 'benhc', did you mean 'bench'" help benhc
expect 0 'for people who work on familyseer:' tune --help-all
expect 0 'usage: familyseer list' list --help
expect 2 "known are: commands options" list
expect 2 "unknown table 'x'" list x
expect 2 'did you mean .--json' list options --jsno
expect 2 'needs a value' list options --seed
expect 2 "'one-too-many'" list options one-too-many
expect 2 "must be from 0 to 1" tune mlp --foresee=2
expect 1 "no-such-model" compile no-such-model -O2 --seed=3 -o x
expect 1 "no-such-model" compile no-such-model -O=2 --seed 3 -ox
expect 1 "no-such-library" bench no-such-library --no-pin
expect 1 "resnet18: there is no such file; .familyseer compile resnet18 -o out. makes a library" run resnet18
printf '\010\007' >net.onnx
expect 1 "net.onnx is a network, must be a library; .familyseer compile net.onnx -o out. makes" bench net.onnx
# What is taken for an ONNX file is named by how it begins.
while read -r begin what; do
  printf "$begin%0100d" 0 >other
  expect 1 "other is .*$what.*must be an ONNX file" compile other -o x
done <<'END'
\177ELF library
PK\003\004 torch.save
\200\002 pickle
\100\000\000\000\000\000\000\000{"w" safetensors
GGUF llama.cpp
\211HDF\r\n Keras
\034\000\000\000TFL3 TensorFlow Lite
\037\213 gzip
version\040https://git-lfs.github.com/spec/v1 Git LFS
<?xml OpenVINO
<!DOCTYPE web page
END
: >empty
expect 1 "empty is empty, must be" compile empty -o x
mkdir tf made empties
: >tf/saved_model.pb
: >made/model.so
expect 1 "tf must be a model file, and is a network of TensorFlow" compile tf -o x
expect 1 "made must be a model file, and is the folder of a library" compile made -o x
expect 1 "empties is a folder, must be a model file" compile empties -o x
expect 1 "'resnet17' is neither a file nor a built-in network, did you mean 'resnet18'" tasks resnet17
expect 1 "test_usage.sh is no library" verify "$SELF" mlp
expect 2 "option 'dump' is 'source', must be some of task" compile mlp -o x --dump source
expect 2 "option 'log' is 'serch:2', must be some of" tasks mlp --log serch:2
expect 1 "unknown operator 'Genm'; did you mean Gemm" tasks mlp --ops Genm
expect 1 "none of the tasks that are asked for has one; the network's have Gemm Relu" tasks mlp --ops Conv
expect 1 "none of the tasks that are asked for has one" tasks mlp --ops Relu --tasks 2
expect 0 '^   1 .*gemm 1x256->128 +relu' tasks mlp --ops relu,Conv --tasks 1-2
expect 1 "10-10 is not within 0-2" tasks mlp --tasks 10
expect 0 'the budget is no trials' tune mlp --measure fake --trials 0 --ignore-records
# Foreign names of policies choose the grouping and the model too; an option that says otherwise is an error.
tune_with() { local s=$1 p=$2; shift 2; expect $s "$p" tune mlp --measure fake --trials 6 --ignore-records "$@"; }
tune_with 0 '^3 tasks in 2 families' --search-policy sketch.xgb.family_hash
tune_with 0 '^3 tasks in 3 families' --search-policy sketch.xgb.family_ind
tune_with 0 '^3 tasks in 1 families' --search-policy sketch.xgb.family_op
tune_with 0 '^3 tasks in 3 families' --search-policy sketch.xgb.family_ind --family ind --cost-model xgboost
tune_with 0 '^3 tasks in 2 families' --search-policy familyseer --family op-sequence
tune_with 0 '^3 tasks in 1 families' --search-policy sketch.random
tune_with 0 '^3 tasks in 1 families' --search-policy random --cost-model analytic
tune_with 1 'sketch.xgb.family_hash means --family op-sequence, and --family is single' --search-policy sketch.xgb.family_hash --family single
tune_with 1 'ansor means --family all, and --family is op' --search-policy ansor --family op
tune_with 1 'sketch.random means --cost-model random, and --cost-model is xgboost' --search-policy sketch.random --cost-model xgboost
tune_with 1 "unknown search policy 'sketch.xg'; allowed: seer familyseer familyseer-artifact" --search-policy sketch.xg
tune_with 1 "unknown cost model 'xgb'; allowed: xgboost-rank xgboost analytic random" --cost-model xgb
tune_with 1 "unknown grouping 'x'; allowed: anchor-op artifact-op op-sequence" --family x
tune_with 1 'save-model: cost model analytic learns nothing' --cost-model analytic --save-model m
# Parts of a policy are left out by name; a device is made slow.
tune_with 0 '^3 tasks in 1 families' --without alike,racing,drift
tune_with 1 "there is no ingredient 'guests'; allowed: transfers untuned witnesses" --without guests
tune_with 1 'policy ansor does not have it; it has: random' --search-policy ansor --without racing
tune_with 1 'without transfers would change nothing in this tuning: no records are read' --without transfers
tune_with 0 '^3 tasks in 1 families' --measure fake:delay=1ms
tune_with 1 "the delay is 'slow', must be a time from 0 to 60 seconds" --measure fake:delay=slow
tune_with 1 'nothing behind its name but delay=TIME' --measure local:slowly
tune_with 0 '^3 tasks in 1 families' --measure fake:slower=2:delay=1ms
tune_with 1 "'slower=0.5', must be slower=N, N from 1 to 1000" --measure fake:slower=0.5
tune_with 1 "unknown measurer 'device:delay=1s'; allowed: local fake replay:FILE, each perhaps with :delay=TIME" --measure device:delay=1s
# Where models are fitted: on a machine without CUDA an error before anything is measured says what is missing.
tune_with 0 '^3 tasks in 1 families' --learn-device cpu
expect 2 "option 'learn-device' is 'gpu', must be" tune mlp --learn-device gpu
tune_with 1 'cost model random learns nothing that a device could fit' --cost-model random --learn-device cuda
output=$("$FAMILYSEER" tune mlp --measure fake --trials 6 --ignore-records --learn-device cuda 2>&1)
case $? in
  0) ;;  # it has one
  1) { grep -qE 'built without CUDA|no CUDA device' <<<"$output" && grep -q 'while --learn-device cuda' <<<"$output" &&
       ! grep -q 'tasks in' <<<"$output"; } || { echo "--learn-device cuda says: $output"; failed=1; } ;;
  *) echo "--learn-device cuda: $output"; failed=1 ;;
esac
# A flag of another command is wrong usage: it would be believed to have done something.
expect 2 'list takes no --opt-level; it is a flag of: compile' list options -O2
expect 2 'bench takes no --trials; it is a flag of: tune' bench model.so --trials=5
SEER_TRIALS=5 expect 0 '^trials ' list options
expect 0 '"name": "devices"' list commands --json
expect 2 "models --export takes a name (familyseer models lists them), or 'all'" models --export
expect 2 "no built-in network 'resnet' (familyseer models lists them)" models --export resnet
expect 2 "only with --export" models resnet18
expect 1 "target 'nowhere'" devices --target nowhere
SEER_TRAILS=1 expect 1 "SEER_TRAILS" list options
SEER_JSON=1 expect 0 '"name": "devices"' list commands
# Every table has entries, with names of their own.
for table in commands options models operators passes rules formulations families cost-models features learning policies ingredients measurers; do
  names=$("$FAMILYSEER" list $table | awk '{ print $1 }')
  [ -n "$names" ] || { echo "list $table prints nothing"; failed=1; }
  twice=$(sort <<<"$names" | uniq -d)
  [ -z "$twice" ] || { echo "list $table: more than one $twice"; failed=1; }
done
# Nothing of a failure goes to stdout.
[ -z "$("$FAMILYSEER" list nothing 2>/dev/null)" ] || { echo "failure on stdout"; failed=1; }
# A full disk is a failure.
"$FAMILYSEER" list options >/dev/full 2>/dev/null
[ $? = 1 ] || { echo "list > /dev/full must fail"; failed=1; }
exit $failed
