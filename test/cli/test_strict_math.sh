# --strict-math and --tolerance: what formulations compile and tune have to choose from; the lists do not depend on the
# machine. Records of what is excluded are passed over.
# SEER_TEST: timeout=120 cost=20
. "$(dirname "$0")/lib.sh"

# of FOLDER: how many kernels have such sketches
having() { cat "$1"/*.sketch | grep -c "^#.* $2/" || true; }

expect_status 0 "$FAMILYSEER" compile resnet18 -o a -O1 --dump sketch --dump-dir all
for f in direct winograd4 winograd2 winograd2s strassen; do
  [ "$(having all $f)" -gt 0 ] || fail "no sketch of $f without limits"
done
# What -O1 never takes.
grep -l "strassen.*(this one)" all/*.sketch && fail "Strassen's without trials"

expect_status 0 "$FAMILYSEER" compile resnet18 -o b -O1 --tolerance 1e-4 --dump sketch --dump-dir fine
[ "$(having fine winograd4)" = 0 ] || fail "F(4x4,3x3) within 1e-4"
[ "$(having fine winograd2)" -gt 0 ] || fail "F(2x2,3x3) is not within 1e-4"

for command in "compile resnet18 -o c -O1" "tune resnet18 -o d --measure fake --trials 40 --ignore-records"; do
  for limit in --strict-math "--tolerance 0" "--strict-math --tolerance 1"; do
    rm -rf exact
    # shellcheck disable=SC2086
    expect_status 0 "$FAMILYSEER" $command $limit --dump sketch --dump-dir exact
    [ "$(having exact direct)" -gt 0 ] || fail "$command $limit: nothing was dumped"
    for f in winograd4 winograd2 winograd2s strassen strassen2; do
      [ "$(having exact $f)" = 0 ] || fail "$command $limit: sketches of $f"
    done
  done
done

# A winner that is excluded is not compiled.
expect_status 0 "$FAMILYSEER" tune resnet18 -o e --measure fake --trials 300 --records r.sqlite
expect_status 0 "$FAMILYSEER" compile resnet18 -o f -O2 --measure fake --records r.sqlite --strict-math --dump sketch --dump-dir kept
grep -h "^sched" kept/*.sketch | grep -v '"direct/' && fail "an excluded record was compiled"
expect_status 2 "$FAMILYSEER" run a --strict-math
echo passed
