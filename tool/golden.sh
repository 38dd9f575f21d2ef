#!/bin/bash
# Golden tests. Two forms:
#   x.golden  a line "# RUN: opt --pass=fuse %s", the input, a line "# EXPECT:", then what the command must print.
#             %s is a file that holds the input. A line "# EXIT: 1" states an exit status other than 0.
#   x.sh      a script; what it prints must equal x.out beside it. $FAMILYSEER is the program.
# tool/golden.sh [--update] FILE...    (--update rewrites what is expected; review the diff)
set -u
update=0
[ "${1:-}" = --update ] && { update=1; shift; }
root=$(cd "$(dirname "$0")/.." && pwd)
export FAMILYSEER=${FAMILYSEER:-$root/build/familyseer}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
for file in "$@"; do
  case $file in
    *.sh)
      bash "$file" >"$work/got" 2>"$work/err"
      status=$?
      wanted_status=0
      expected=${file%.sh}.out
      [ -e "$expected" ] && cp "$expected" "$work/want" || : >"$work/want"
      ;;
    *)
      command=$(sed -n 's/^# RUN: //p' "$file" | head -1)
      wanted_status=$(sed -n 's/^# EXIT: //p' "$file" | head -1)
      wanted_status=${wanted_status:-0}
      sed '/^# EXPECT:$/,$d' "$file" | sed '/^# RUN: /d; /^# EXIT: /d' >"$work/input"
      sed '1,/^# EXPECT:$/d' "$file" >"$work/want"
      eval "\"$FAMILYSEER\" ${command//%s/$work/input}" >"$work/got" 2>"$work/err"
      status=$?
      [ "$wanted_status" = 0 ] || cat "$work/err" >>"$work/got"
      sed -i "s#$work/##g" "$work/got"
      ;;
  esac
  if [ "$status" != "$wanted_status" ]; then
    echo "FAIL $file: exit status $status, expected $wanted_status"
    cat "$work/err"
    failed=1
  elif [ $update = 1 ]; then
    case $file in
      *.sh) cp "$work/got" "$expected" ;;
      *) { sed '/^# EXPECT:$/,$d' "$file"; echo "# EXPECT:"; cat "$work/got"; } >"$work/new"; cp "$work/new" "$file" ;;
    esac
    echo "updated $file"
  elif ! diff -u --label expected --label got "$work/want" "$work/got"; then
    echo "FAIL $file"
    failed=1
  else
    echo "ok $file"
  fi
done
exit $failed
