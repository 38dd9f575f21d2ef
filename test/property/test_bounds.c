// A bound is a bound: no time that tunings have measured lies below its task's roofline by more
// than the noise of a timing, and the rooflines are no lower than they need to be. The times and
// the machines are those of test/data/tunings.jsonl (bench/tunings.py); nothing is timed here.
// SEER_TEST: timeout=240
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/os.h"
#include "dag/dag.h"
#include "learn/roofline.h"
#include "measure/measure.h"
#include "space/sketch.h"
#include "support/test.h"

#define NOISE 0.97  // of the bound
#define MAX_FILE_BYTES ((size_t)1 << 26)

typedef struct {
  const char *name, *target;
  double weight_bytes;  // of all of its tasks, as often as they occur
} tuned_network;

typedef struct {
  const tuned_network *network;
  const char *name, *dag;
  double times, seconds;
} tuned_task;

typedef struct {
  json_t *lines;  // texts are in here
  tuned_task *task;
  size_t n;
} tunings;

static double number(const json_t *line, const char *name) {
  const json_t *value = json_object_get(line, name);
  if (!json_is_number(value)) fail_msg("tunings.jsonl: a line without %s", name);
  return json_number_value(value);
}

static const char *string(const json_t *line, const char *name) {
  const char *value = json_string_value(json_object_get(line, name));
  if (!value) fail_msg("tunings.jsonl: a line without %s", name);
  return value;
}

static json_t *read_lines(seer_arena *arena) {
  char *text;
  size_t n_bytes;
  must(seer_os_read_file(
      SEER_SOURCE_DIR "/test/data/tunings.jsonl", arena, MAX_FILE_BYTES, &text, &n_bytes));
  json_t *lines = json_array();
  for (size_t at = 0, end; at < n_bytes; at = end + 1) {
    const char *newline = memchr(text + at, '\n', n_bytes - at);
    end = newline ? (size_t)(newline - text) : n_bytes;
    json_t *line = json_loadb(text + at, end - at, 0, NULL);
    if (!line) fail_msg("tunings.jsonl, line %zu: no JSON", json_array_size(lines) + 1);
    json_array_append_new(lines, line);
  }
  return lines;
}

static tunings read_tunings(seer_arena *arena) {
  tunings out = {.lines = read_lines(arena)};
  out.task = SEER_NEW_ARRAY(arena, tuned_task, json_array_size(out.lines));
  tuned_network *network = NULL;
  for (size_t i = 0; i < json_array_size(out.lines); i++) {
    const json_t *line = json_array_get(out.lines, i);
    if (json_object_get(line, "network")) {
      network = SEER_NEW(arena, tuned_network);
      *network = (tuned_network){string(line, "network"), string(line, "target"), 0};
      continue;
    }
    assert_non_null(network);
    tuned_task *task = &out.task[out.n++];
    *task = (tuned_task){network, string(line, "task"), string(line, "dag"), number(line, "times"),
        number(line, "seconds")};
    network->weight_bytes += number(line, "weight_bytes") * task->times;
  }
  return out;
}

// As a tuning has it.
static double bound_of(const tuned_task *t, seer_arena *arena) {
  seer_target target;
  seer_dag *dag;
  seer_sketch_list *sketches;
  must(seer_target_parse(t->network->target, arena, &target));
  must(seer_dag_parse(t->name, t->dag, strlen(t->dag), arena, &dag));
  must(seer_dag_verify(dag));
  must(seer_sketch_generate(dag, &target, SEER_SPACE_FULL, arena, &sketches));
  double cold_bytes = seer_measure_cold_bytes(&target, (uint64_t)t->network->weight_bytes);
  return seer_roofline_task_seconds(dag, sketches, &target, cold_bytes);
}

static void no_time_is_below_its_bound(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  tunings all = read_tunings(arena);
  assert_true(all.n >= 100);
  uint32_t n_below = 0;
  double bounds_s = 0, times_s = 0;
  for (size_t i = 0; i < all.n; i++) {
    const tuned_task *t = &all.task[i];
    seer_arena *own = seer_arena_create("task");
    double bound_s = bound_of(t, own);
    seer_arena_destroy(own);
    bounds_s += bound_s * t->times;
    times_s += t->seconds * t->times;
    if (t->seconds >= NOISE * bound_s) continue;
    printf("%s, %s: %.2f us are %.3f of the bound of %.2f us\n", t->network->name, t->name,
        t->seconds * 1e6, t->seconds / bound_s, bound_s * 1e6);
    n_below++;
  }
  printf("all bounds are %.3f of all times\n", bounds_s / times_s);
  assert_int_equal(n_below, 0);
  // Bounds of nothing would be below all times, too.
  assert_true(bounds_s > 0.8 * times_s);
  json_decref(all.lines);
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_time_is_below_its_bound),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
