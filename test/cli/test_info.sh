# `info` of a library: what it needs and what it was compiled for is there whole, in lines of at most 100 columns.
# SEER_TEST: timeout=60
. "$(dirname "$0")/lib.sh"

"$FAMILYSEER" compile mlp -o a -O1 > log 2>&1 || { cat log; fail "compile"; }
"$FAMILYSEER" info a/model.so > said || fail "info"
"$FAMILYSEER" info a/model.so --json > all.json || fail "info --json"
# The lines of an entry as one, without blanks: lines are broken at blanks and commas.
part() { sed -n "/^$1 /,/^[^ ]/{/^$1 /p;/^ /p}" said | sed "s/^$1 *//" | tr -d ' \n'; }
member() { sed -n "s/^ *\"$1\": \"\(.*\)\",*\$/\1/p" all.json | sed 's/\\"/"/g' | head -1 | tr -d ' \n'; }
features=$(member cpu_features)
[ "$(part needs)" = "${features:-nothingbeyondthearchitecture}(compiledfor$(member cpu))" ] || { cat said; fail "needs: not all of $features"; }
[ "$(part target)" = "$(member target)" ] || { cat said; fail "target: not all of $(member target)"; }
! grep -qE '.{101}| $' said || { cat said; fail "a line of more than 100 columns, or with a blank at its end"; }
