"""Faults in the runtime, in what is chosen and recorded, and in the judges."""
from fault import Fault as F

HOST, EXEC = "src/runtime/host/", "src/runtime/exec.c"

BELOW = [
    F("a loop begins anew each time", "stale", EXEC, "carried[k].in_arg, 0, carried[k].result_arg, carried[k].n_bytes);",
      "carried[k].in_arg, 0, carried[k].before_arg, carried[k].n_bytes);", "test_front_on_host|peer_recurrent|peer_branch", ("Loop",)),
    F("rows of a scan one early", "off-by-one", EXEC, "uint64_t at = (uint64_t)n * scan[k].n_bytes;",
      "uint64_t at = (uint64_t)(n > 0 ? n - 1 : n) * scan[k].n_bytes;", "test_front_on_host|peer_recurrent", ("Scan", "Loop")),
    F("the then side's moves after the else side", "branch", EXEC, "    n = branch->n_else_move;\n", "    n = branch->n_then_move;\n",
      "test_runtime_branch|peer_branch", ("If",)),
    F("scatter by negative indices nowhere", "guard", HOST + "scatter.c", "  if (k < 0) k += extent;\n", "",
      "test_property_ordered|peer_ordered", ("ScatterElements", "ScatterND")),
    F("least and largest of scatters", "operand", HOST + "scatter.c", "{ NULL, add_##name, mul_##name, min_##name, max_##name }",
      "{ NULL, add_##name, mul_##name, max_##name, min_##name }", "test_property_ordered", ("ScatterElements", "ScatterND")),
    F("scatters of halves in half", "accumulator", HOST + "scatter.c",
      "wide[i] = seer_host_from_half(q->half, ((const uint16_t *)(const void *)from)[i]);",
      "wide[i] = seer_host_from_half(\n          q->half, (uint16_t)(((const uint16_t *)(const void *)from)[i] & 0xFFF0));",
      "test_property_ordered|peer_ordered", ("ScatterElements",)),
    F("the last of equals first", "tie", HOST + "top.c", "return a.key != b.key ? a.key < b.key : a.at < b.at;",
      "return a.key != b.key ? a.key < b.key : a.at > b.at;", "test_property_ordered|test_runtime_host", ("TopK",)),
    F("NaN by its bits", "NaN", HOST + "elem.h", "  return size > by.infinity ? UINT64_MAX : key;\n", "  return key;\n",
      "test_property_ordered|test_runtime_host|peer_ordered", ("TopK", "Unique")),
    F("exclusive sums by the reverse flag", "default", HOST + "running.c", ".is_exclusive = call->param[1] & IS_EXCLUSIVE,",
      ".is_exclusive = call->param[1] & IS_REVERSE,", "test_property_ordered", ("CumSum",)),
    F("boxes that just touch the limit", "tie", HOST + "select.c", "  return shared / all > threshold;\n", "  return shared / all >= threshold;\n",
      "test_runtime_host|peer_selection", ("NonMaxSuppression",)),
    F("equal scores by the last", "tie", HOST + "select.c", "  return a > b;  // of equals", "  return a < b;  // of equals",
      "test_runtime_host|peer_selection", ("NonMaxSuppression",)),
    F("a session for two at a time", "race", EXEC, "session->in_use, &is_free, 1, memory_order_acquire, memory_order_relaxed))",
      "session->in_use, &is_free, 0, memory_order_acquire, memory_order_relaxed))", "test_runtime_exec|test_runtime_bind"),
    F("made values a step late", "off-by-one", "src/runtime/observe.c", "    if (of->made[middle].step < i)\n", "    if (of->made[middle].step <= i)\n",
      "test_runtime_exec|peer_verify"),

    # ---- what is chosen and recorded
    F("slower forms are better", "choice", "src/tune/select/choose.c", "f->ratio == 0 || ratio < f->ratio ||", "f->ratio == 0 || ratio > f->ratio ||",
      "test_tune_choose"),
    F("times of failed measurements count", "choice", "src/tune/select/choose.c",
      "record->place != SEER_RECORD_ELSEWHERE && record->cls == SEER_MEASURED_OK &&\n      strcmp",
      "record->place != SEER_RECORD_ELSEWHERE &&\n      strcmp", "test_tune_choose"),

    # ---- the judges
    F("steps are never wrong", "judge", "src/tune/verify/steps.c", "  if (is_same || r->is_wrong) return;\n",
      "  if (is_same || !r->is_wrong) return;\n", "test_tune_verify"),
    F("a tenth is no difference", "judge", "src/tune/verify/tolerance.c", "#define WIDE 1e-3\n", "#define WIDE 1e-1\n", "test_tune_verify|peer_verify"),
    F("narrow types on the way are forgotten", "judge", "src/tune/verify/tolerance.c", "      before = fmax(before, most[node->in[i].i]);\n",
      "      before = fmax(0, most[node->in[i].i]) * 0;\n", "test_tune_verify"),
    F("layers are never wrong", "judge", "src/cli/layers.c", "    if (error <= tolerance) return;\n", "    if (error >= 0) return;\n", "peer_verify"),
    F("strides of layers are dense", "view", "src/code/build/made.c", "stride = k + 1 == value->rank ? seer_value_pitch(value) :",
      "stride = k + 1 == value->rank ? seer_value_row(value) :", "peer_verify"),
]
