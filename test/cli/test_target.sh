#!/bin/bash
# Made-up machines: choices follow from a target's facts, whichever instruction set they are compiled for; code compiled and
# tuned for facts of other machines runs here; odd machines too; what no machine is is refused. SEER_TEST: timeout=300
. "$TEST_SOURCE_DIR/test/cli/lib.sh"
unset SEER_TARGET
on_target=$SOURCE/tool/on_target.sh
machines=$SOURCE/test/targets
export SEER_RECORDS=$WORK/records.db

# What is chosen: the schedules, and the weights in the order that follows from them.
choices() {
  grep -o '"schedule": "sched .*' "$1/model.json" > "$1/schedules" || fail "no schedules in $1/model.json"
}
for name in $(cd "$machines" && ls *.target | sed 's/\.target$//'); do
  expect_status 0 "$FAMILYSEER" compile mlp -O1 -o there --target "$(cat "$machines/$name.target")"
  expect_status 0 "$on_target" "$name" "$FAMILYSEER" compile mlp -O1 -o here
  choices there
  choices here
  cmp there/schedules here/schedules || fail "$name: other schedules where the code is to run"
  cmp there/weights.bin here/weights.bin || fail "$name: other weights where the code is to run"
  expect_status 0 "$FAMILYSEER" verify here mlp
done

# Tuning keeps what the text says of speeds.
expect_status 0 "$on_target" server "$FAMILYSEER" tune mlp --trials 12 -o tuned
expect_status 0 "$FAMILYSEER" verify tuned mlp
expect_status 0 "$on_target" server "$FAMILYSEER" devices
expect_text stdout "-gflops=198.10878651822242"

for file in "$machines"/odd/*.target; do
  name=$(basename "$file" .target)
  expect_status 0 "$on_target" "odd/$name" "$FAMILYSEER" compile mlp -O1 -o odd
  expect_status 0 "$FAMILYSEER" verify odd mlp
done
expect_status 0 "$on_target" odd/no-l2 "$FAMILYSEER" tune mlp --trials 6 -o odd

# Limits are stated.
expect_status 1 "$FAMILYSEER" tasks mlp --target "native -threads=1000000"
expect_text stderr "'-threads=1000000' must be a number from 1 to 4096"
expect_status 1 "$FAMILYSEER" tasks mlp --target "native -l1=0"
expect_text stderr "must be a number from 1024 to"
expect_status 1 "$FAMILYSEER" tune mlp -o none --target "aarch64-linux-gnu -measured"
[ "$(uname -m)" = aarch64 ] || expect_text stderr "can't run code for aarch64-linux-gnu"
expect_status 2 "$on_target" nowhere true
expect_text stderr "there is no"
