#!/bin/bash
# What an operator or a policy is like, its entry says: nothing outside of the tables tests its name. Where code is about one operator,
# it compares entries: node->op == &seer_op_transpose.
# Not tests of that kind: the look-up by name itself, and what is read of a file before there are operators.
#   tool/names.sh [ROOT]
cd "${1:-$(dirname "$0")/..}" || exit 1
allowed='^src/(front/op/table|front/onnx/node|tune/scheduler/table)\.c:'
tests='str(n|case)?cmp\([^;]*(op_type|\bop->name|policy->name|scheduler->name)|node_is\([^;]*"'
found=$(grep -rnE "$tests" src --include='*.c' --include='*.h' --include='*.inc' | grep -vE "$allowed")
[ -z "$found" ] || { echo "names of operators or policies that are tested, instead of what their entries say:"; echo "$found"; exit 1; } >&2
