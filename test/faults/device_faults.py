"""Faults in libraries with a device: which copies a plan has, and what sessions do with them."""
from fault import Fault as F

SIDES, RUN, HOLD = "src/code/plan/sides.c", "src/runtime/runner/run.c", "src/runtime/runner/hold.c"
CHECK, EXEC = "src/runtime/runner/check.c", "src/runtime/exec.c"
SESSION, NETWORKS = "test_runtime_runner$", "peer_device_cuda"

DEVICE = [
    F("inputs are not staged", "stale", RUN, "  stage(session, from, to, SEER_PLAN_UPLOAD);\n", "", SESSION),
    F("outputs stay staged", "stale", RUN, "  if (code == SEER_RT_OK) stage(session, from, to, SEER_PLAN_DOWNLOAD);\n", "", SESSION),
    F("a graph is not waited for", "stale", RUN, "  code = sync(session);\n", "", SESSION),
    F("single steps are not waited for", "stale", RUN, "return code == SEER_RT_OK && copies ? sync(session) : code;", "return code;", SESSION),
    F("what is shown is not waited for", "stale", RUN, "return code == SEER_RT_OK ? sync(session) : code;", "return code;", SESSION),
    F("rows lie on each other on the device", "number", RUN, "(uint8_t *)at[to_arg] + offset;", "(uint8_t *)at[to_arg] + 0 * offset;", SESSION),
    F("inputs on the device are not brought to the host's steps", "stale", RUN,
      "  return copy_given(session, 0, session->selected->of->plan->n_input, true);\n", "  return SEER_RT_OK;\n", SESSION),
    F("outputs of the host's steps are not brought to the device", "stale", RUN,
      "  return copy_given(session, of->plan->n_input, seer_hold_n_io(of), false);\n", "  return of->plan ? SEER_RT_OK : code;\n", SESSION),
    F("a graph keeps addresses that were bound before", "stale", HOLD, "  if (!has_changed) return;\n  drop_graphs(session, s);\n",
      "  if (!has_changed) return;\n", SESSION),
    F("steps of the host use no condition", "wrong operand", HOLD, "if (is_io && by_arg[i])", "if (is_io && by_arg[i] && slot != 2)", SESSION),
    F("a session's staging is not let go", "leak", HOLD, "  if (own->staging) on->driver->host_free(on->device, own->staging);\n", "", SESSION),
    F("all moves are where the first one is", "wrong operand", EXEC, "at->of->is_on_device[of - at->of->move])", "at->of->is_on_device[0])", SESSION),
    F("moves of a device are not judged", "guard", CHECK, "  if (!wrong) wrong = check_moves(h, d);\n", "  (void)check_moves;\n",
      "test_runtime_runner_faults"),
    F("a value on the device is shown over weights", "guard", CHECK, "  return wrong ? wrong : check_made(h);\n", "  (void)check_made;\n  return wrong;\n",
      "test_runtime_runner_faults"),
    F("a session on a lost device lacks memory", "message", EXEC, "    session->memory = memory;\n    return code;\n",
      "    session->memory = memory;\n    return code ? SEER_RT_RESOURCE : code;\n", "test_runtime_runner_faults"),
    F("no copy between host and device", "stale", SIDES, "  s->put(s->user, root, side);\n", "", NETWORKS),
    F("the else side goes on where the then side ended", "stale", SIDES,
      "  if (sides->good) memcpy(sides->good, branch->entry, n_root(sides));\n", "  (void)sides, (void)branch;\n", NETWORKS),
    F("a branch's result is where it was made", "stale", SIDES, "    seer_sides_need(sides, from, branch->side[k]);\n", "    (void)from;\n", NETWORKS),
    F("what a loop carries is where it was made", "stale", SIDES, "    if (k < n_carried) seer_sides_need(", "    if (k + 1 < 1) seer_sides_need(", NETWORKS),
]
