# bench/replay: what it takes for equal, for other code, for another answer, and what it refuses.
# SEER_TEST: timeout=120
. "$(dirname "$0")/lib.sh"
replay=${TEST_BUILD_DIR:-$SOURCE/build}/bench/replay

# Two of a plain machine's code, one of them with a literal: what runs everywhere.
line() { # NAME CPU LIMIT
  printf '{"target":{"text":"x86_64-linux-gnu -cpu=%s -threads=2"},"workload":{"name":"%s","dag":"%s"},"schedule":"%s"}\n' "$2" "$1" \
    "dag relu {\\n  input \$x f32[64, 64]\\n  stage y role anchor [m:m<64, n:n<64] = max(\$x[m, n], $3)\\n  output \$y\\n}\\n" "$schedule"
}
cat > one.dag <<'EOF'
dag relu {
  input $x f32[64, 64]
  stage y role anchor [m:m<64, n:n<64] = max($x[m, n], 0.0)
  output $y
}
EOF
"${TEST_BUILD_DIR:-$SOURCE/build}/bench/kernel" dag one.dag --target "x86_64-linux-gnu -cpu=x86-64 -threads=2" --print > printed
schedule=$(sed -n '/^sched/,$p' printed | sed ':a;N;$!ba;s/\n/\\n/g; s/"/\\"/g')
{ line plain x86-64 0.0; line again x86-64 0.5; } > before.corpus

expect_status 0 "$replay" build before.corpus before
expect_text stdout "before: 2 compiled, 0 refused"
expect_status 0 "$replay" build before.corpus same
expect_status 0 "$replay" compare before same
expect_text stdout "2 equal, 0 refused by both, 0 with other code, 0 with another shape, 0 refused by one"
expect_status 0 "$replay" times before same
expect_text stdout "2 kernels: time to build"

# Another answer: of the second one alone.
{ line plain x86-64 0.0; line again x86-64 0.75; } > wrong.corpus
expect_status 0 "$replay" build wrong.corpus wrong
expect_status 1 "$replay" compare before wrong
expect_text stdout "00001 again: ANOTHER ANSWER"
expect_text stdout "1 equal, 0 refused by both, 1 with other code"

# Refused by one of the builds, with what it said.
{ line plain x86-64 0.0; line again x86-64 0.5 | sed 's/max(/nothing(/'; } > refused.corpus
expect_status 0 "$replay" build refused.corpus refused
expect_text stdout "refused: 1 compiled, 1 refused"
expect_text refused/index.json "nothing"
expect_status 1 "$replay" compare before refused
expect_text stdout "00001 again: refused by one of the builds"

# Other code for the same answer is timed in turns; where no ratio is allowed it is too slow.
{ line plain x86-64 0.0; line again x86-64 0.5 | sed 's/max(\$x\[m, n\]/max($x[m, n] + 0.0/'; } > other.corpus
expect_status 0 "$replay" build other.corpus other
expect_status 1 "$replay" compare before other --limit 0
expect_text stdout "at least, SLOWER"
expect_text stdout "1 timed in turns: geometric mean"
expect_status 0 "$replay" compare before other --limit 1000

expect_status 2 "$replay" compare before nowhere
expect_text stderr "nowhere: no index"
echo '{"target": 1}' > bad.corpus
expect_status 2 "$replay" build bad.corpus bad
expect_text stderr "bad.corpus:1: not a line of a corpus"
expect_status 2 "$replay" nonsense
