// Kernels of a network as files: what has no kernel is told with the reason, and whatever file
// cannot be written, the folder is whole or not there. What is written, and what compilers make of
// it, test/cli/test_gpu_kernels.py has.
// SEER_TEST: timeout=120 cost=5
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/os_fault.h"
#include "choose/plain.h"
#include "code/emit.h"
#include "support/test.h"

static const char text[] =
    "graph \"net\" { input %x f32[1,16,24,24] const $v f32[8,16,1,1] = splat 0.5\n"
    "%a f32 = Conv \"a\" v13 (%x, $v)\n"
    "%b f32 = ReduceMax \"b\" v13 (%a) {axes=[2,3]} output %b }";

typedef struct {
  seer_arena *arena;
  seer_context *context;
  seer_network *network;
  seer_choice *choice;
  const char *folder;
} fixture;

static int setup(void **state) {
  fixture *f = calloc(1, sizeof *f);
  seer_graph *graph;
  // Texts alone, whatever devices there are.
  assert_int_equal(setenv("OCL_ICD_VENDORS", "/nowhere", 1), 0);
  f->arena = seer_arena_create("test");
  must(seer_context_create(&f->context));
  must(seer_context_set(f->context, "target", "opencl:generic"));
  must(seer_context_find_any_target(f->context));
  must(seer_graph_parse("test", text, strlen(text), f->arena, &graph));
  must(seer_front_resolve(graph, "", NULL));
  must(seer_front_run_passes(f->context, graph));
  must(seer_network_build(f->context, graph, f->arena, &f->network));
  must(seer_choice_of_items(f->context, f->network, false, f->arena, &f->choice));
  must(seer_os_temp_dir("emit", f->arena, &f->folder));
  *state = f;
  return 0;
}

static int teardown(void **state) {
  fixture *f = *state;
  must(seer_os_remove_tree(f->folder));
  seer_context_destroy(f->context);
  seer_arena_destroy(f->arena);
  free(f);
  return 0;
}

static seer_status emit(const fixture *f, const char *name, seer_emitted *out) {
  const seer_emit_request request = {.context = f->context,
      .network = f->network,
      .choice = f->choice,
      .nvrtc = "",
      .folder = seer_os_path_join(f->arena, f->folder, name)};
  return seer_emit_kernels(&request, f->arena, out);
}

// A schedule for more items than a block can have: the task is told, the others are written.
static void what_has_no_kernel_is_told(void **state) {
  fixture *f = *state;
  assert_true(f->network->n_task >= 2);
  seer_schedule *schedule = &f->choice[0].schedule;
  const seer_sketch_list *list = f->choice[0].sketches;
  const seer_sketch *sketch = list->sketch[schedule->sketch];
  for (uint32_t k = 0; k < sketch->n_knob; k++)
    if (sketch->knob[k].kind == SEER_KNOB_FACTOR && sketch->knob[k].level == 2)
      schedule->knob[k] = 144;
  seer_schedule_normalise(list, schedule);
  assert_int_not_equal(seer_schedule_check(list, schedule), SEER_REJECT_NONE);
  seer_emitted done;
  must(emit(f, "out", &done));
  assert_int_equal(done.n_without, 1);
  assert_int_equal(done.n_task, f->network->n_task - 1);
  char *table;
  size_t n;
  const char *path = seer_os_path_join(f->arena, f->folder, "out/kernels.txt");
  must(seer_os_read_file(path, f->arena, 1 << 20, &table, &n));
  assert_non_null(strstr(table, "no kernel: task 0 conv 1x1"));
  assert_non_null(strstr(table, ": its schedule is more than the target has: "));
}

static bool is_there(const char *const *names, size_t n, const char *name) {
  for (size_t k = 0; k < n; k++)
    if (strcmp(names[k], name) == 0) return true;
  return false;
}

// Each call of the system that can fail, fails once. Some may without harm: the last one is behind
// us when several do.
static void all_files_or_none(void **state) {
  fixture *f = *state;
  enum { MAX_HARMLESS = 5 };
  seer_emitted done;
  size_t n_all, n_failed = 0;
  int n_harmless = 0;
  const char **all, **names;
  must(emit(f, "whole", &done));
  must(seer_os_list_dir(seer_os_path_join(f->arena, f->folder, "whole"), f->arena, &all, &n_all));
  assert_int_equal(n_all, f->network->n_task + 2);
  for (uint64_t nth = 1; n_harmless < MAX_HARMLESS; nth++) {
    seer_os_plant_fault(nth);
    seer_status status = emit(f, "out", &done);
    seer_os_plant_fault(0);
    bool is_left = status && strstr(seer_status_message(status), "cannot remove") != NULL;
    n_harmless = status ? 0 : n_harmless + 1;
    n_failed += status != NULL;
    seer_status_free(status);
    size_t n, n_out;
    must(seer_os_list_dir(f->folder, f->arena, &names, &n));
    if (!is_left) assert_int_equal(n, is_there(names, n, "out") ? 2 : 1);
    const char *out = seer_os_path_join(f->arena, f->folder, "out");
    if (!is_there(names, n, "out")) continue;
    must(seer_os_list_dir(out, f->arena, &names, &n_out));
    assert_int_equal(n_out, n_all);
    must(seer_os_remove_tree(out));
  }
  assert_true(n_failed > n_all);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(what_has_no_kernel_is_told, setup, teardown),
      cmocka_unit_test_setup_teardown(all_files_or_none, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
