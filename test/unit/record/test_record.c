// Records: what goes in comes out; states, best, export and import; hostile lines and files are
// refused.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "record/sound.h"
#include "record/speeds.h"
#include "support/test.h"

typedef struct {
  seer_context *context;
  seer_arena *arena;
  const char *folder;
  seer_records *records;
  seer_dag *dag;
  int64_t target, workload, campaign;
} world;

static void export_all(seer_records *records, const char *path) {
  uint32_t n_dropped;
  must(seer_records_export(records, path, &n_dropped));
  assert_int_equal(n_dropped, 0);
}

static seer_dag *gemm(seer_arena *arena, int64_t m) {
  seer_dag *dag = seer_dag_create(arena, "gemm");
  int64_t a_dim[] = {m, 32}, b_dim[] = {32, 64};
  uint32_t a = seer_dag_add_input(dag, "a", SEER_BUF_ACTIVATION, SEER_DTYPE_F32, a_dim, 2, 0);
  uint32_t b = seer_dag_add_input(dag, "b", SEER_BUF_WEIGHT, SEER_DTYPE_F32, b_dim, 2, 0);
  seer_dag_axis axes[] = {{"m", m, SEER_AXIS_M}, {"n", 64, SEER_AXIS_N}, {"k", 32, SEER_AXIS_K}};
  uint32_t s = seer_dag_add_stage(dag, "c", SEER_STAGE_ANCHOR, axes, 2, 1);
  seer_expr am[] = {seer_dag_var(dag, s, 0), seer_dag_var(dag, s, 2)};
  seer_expr bn[] = {seer_dag_var(dag, s, 2), seer_dag_var(dag, s, 1)};
  seer_expr body = seer_expr_binary(
      &dag->expr, SEER_EXPR_MUL, seer_dag_load(dag, a, am), seer_dag_load(dag, b, bn));
  seer_dag_mark_output(dag, seer_dag_set_body(dag, s, SEER_COMBINE_SUM, &body, 1), 0);
  seer_dag_finish(dag);
  return dag;
}

static void open_world(world *w) {
  must(seer_context_create(&w->context));
  must(seer_context_set(w->context, "threads", "2"));
  must(seer_context_find_target(w->context));
  w->arena = seer_arena_create("test");
  must(seer_os_temp_dir("seer-test", w->arena, &w->folder));
  must(seer_records_open(
      w->context, seer_os_path_join(w->arena, w->folder, "r.sqlite"), &w->records));
  w->dag = gemm(w->arena, 126);
  must(seer_records_target(w->records, seer_context_target(w->context), &w->target));
  must(seer_records_workload(w->records, w->dag, seer_dag_hash(w->dag), "gemm", &w->workload));
  must(seer_records_campaign(w->records, w->context, "/some/where/m.onnx", "seer", &w->campaign));
}

static void close_world(world *w) {
  seer_records_close(w->records);
  must(seer_os_remove_tree(w->folder));
  seer_arena_destroy(w->arena);
  seer_context_destroy(w->context);
}

// The default schedule of a sketch, with a comment that tells it from others.
static const char *schedule_of(world *w, const char *comment) {
  seer_sketch_list *sketches;
  seer_schedule schedule;
  must(seer_sketch_generate(
      w->dag, seer_context_target(w->context), SEER_SPACE_FULL, w->arena, &sketches));
  seer_schedule_default(sketches, 0, &schedule);
  return seer_arena_printf(
      w->arena, "# %s\n%s", comment, seer_schedule_print(sketches, &schedule, w->arena));
}

static int64_t add(world *w, const char *schedule, double seconds, seer_measured_class cls) {
  seer_record record = {.campaign = w->campaign,
      .workload = w->workload,
      .target = w->target,
      .schedule = schedule,
      .cls = cls,
      .seconds = seconds,
      .n_samples = 2,
      .sample = {seconds, seconds * 1.5},
      .message = "here"};
  must(seer_records_add(w->records, &record));
  return record.id;
}

static seer_status best_of(world *w, seer_record_state state, seer_record *out) {
  return seer_records_best(w->records, w->workload, w->target, state, NULL, w->arena, out, NULL);
}

static void test_best_is_the_fastest_of_at_least_a_state(void **state) {
  (void)state;
  world w;
  open_world(&w);
  add(&w, "slow", 3e-4, SEER_MEASURED_OK);
  int64_t fast = add(&w, "fast", 1e-4, SEER_MEASURED_OK);
  int64_t twin = add(&w, "as fast", 1e-4, SEER_MEASURED_OK);
  add(&w, "failed", 0, SEER_MEASURED_RUN_CRASH);
  seer_record best;
  must(best_of(&w, SEER_RECORD_MEASURED, &best));
  assert_int_equal(best.id, fast);  // the older of two equals
  assert_string_equal(best.schedule, "fast");
  assert_int_equal(best.n_samples, 2);
  must(best_of(&w, SEER_RECORD_ACCEPTED, &best));
  assert_int_equal(best.id, 0);
  must(seer_records_set_state(w.records, twin, SEER_RECORD_ACCEPTED));
  must(best_of(&w, SEER_RECORD_ACCEPTED, &best));
  assert_int_equal(best.id, twin);
  must(seer_records_set_state(w.records, fast, SEER_RECORD_REFUSED));
  must(best_of(&w, SEER_RECORD_MEASURED, &best));
  assert_int_equal(best.id, twin);
  close_world(&w);
}

static void test_nearest_shape_of_the_same_structure(void **state) {
  (void)state;
  world w;
  open_world(&w);
  int64_t shapes[3] = {100, 64, 1000}, workloads[3];
  for (int i = 0; i < 3; i++) {
    seer_dag *dag = gemm(w.arena, shapes[i]);
    must(seer_records_workload(w.records, dag, seer_dag_hash(dag), "gemm", &w.workload));
    int64_t id = add(&w, "s", 1e-4, SEER_MEASURED_OK);
    must(seer_records_set_state(w.records, id, SEER_RECORD_ACCEPTED));
    workloads[i] = w.workload;
  }
  seer_record_near near[4];
  uint32_t n;
  must(
      seer_records_nearest(w.records, w.dag, seer_dag_hash(w.dag), w.target, w.arena, near, 4, &n));
  assert_int_equal(n, 3);
  for (int i = 0; i < 3; i++) assert_int_equal(near[i].workload, workloads[i]);
  close_world(&w);
}

// A part of a larger value has rows that lie apart: the dense one's records are the first to be
// looked at.
static void test_rows_that_lie_apart_are_nearest(void **state) {
  (void)state;
  world w;
  open_world(&w);
  int64_t dense = 0, shapes[2] = {124, 126};
  for (int i = 0; i < 2; i++) {
    seer_dag *dag = gemm(w.arena, shapes[i]);
    must(seer_records_workload(w.records, dag, seer_dag_hash(dag), "gemm", &w.workload));
    must(seer_records_set_state(
        w.records, add(&w, "s", 1e-4, SEER_MEASURED_OK), SEER_RECORD_ACCEPTED));
    dense = w.workload;
  }
  seer_dag *part = seer_dag_clone(w.dag, w.arena);
  for (uint32_t b = 0; b < part->n_buf; b++)
    if (part->buf[b].kind != SEER_BUF_WEIGHT) part->buf[b].pitch += 32;
  seer_record_near near[2];
  uint32_t n;
  must(seer_records_nearest(w.records, part, seer_dag_hash(part), w.target, w.arena, near, 2, &n));
  assert_int_equal(n, 2);
  assert_int_equal(near[0].workload, dense);
  assert_true(near[0].distance == 0 && near[1].distance > 0);
  close_world(&w);
}

// Who only asks adds nothing.
static void test_asking_adds_nothing(void **state) {
  (void)state;
  world w;
  open_world(&w);
  seer_dag *dag = gemm(w.arena, 7);
  seer_target other = *seer_context_target(w.context);
  other.threads += 1;
  int64_t id, ids[SEER_RECORD_MAX_TARGETS];
  uint32_t n;
  seer_record best;
  for (int i = 0; i < 2; i++) {
    must(seer_records_find_workload(w.records, seer_dag_hash(dag), &id));
    assert_int_equal(id, 0);
    must(seer_records_find_targets(w.records, &other, ids, &n));
    assert_int_equal(n, 1);
    assert_int_equal(ids[0], 0);
  }
  must(seer_records_best(w.records, id, ids[0], SEER_RECORD_MEASURED, NULL, w.arena, &best, NULL));
  assert_int_equal(best.id, 0);
  must(seer_records_find_workload(w.records, seer_dag_hash(w.dag), &id));
  assert_int_equal(id, w.workload);
  close_world(&w);
}

// Other caches and another model: similar. Other threads: not.
static void test_similar_machines(void **state) {
  (void)state;
  world w;
  open_world(&w);
  seer_target other = *seer_context_target(w.context), apart = other;
  other.model_name = "another";
  other.l2_bytes *= 2;
  apart.threads += 1;
  int64_t other_id, apart_id, ids[SEER_RECORD_MAX_TARGETS];
  uint32_t n;
  must(seer_records_target(w.records, &apart, &apart_id));
  must(seer_records_target(w.records, &other, &other_id));
  must(seer_records_find_targets(w.records, seer_context_target(w.context), ids, &n));
  assert_int_equal(n, 2);
  assert_int_equal(ids[0], w.target);
  assert_int_equal(ids[1], other_id);
  must(seer_records_find_targets(w.records, &other, ids, &n));
  assert_int_equal(n, 2);
  assert_int_equal(ids[0], other_id);
  assert_int_equal(ids[1], w.target);
  // Never more than there is room for.
  char name[16];
  for (int i = 0; i < 2 * SEER_RECORD_MAX_TARGETS; i++) {
    (void)snprintf(name, sizeof name, "model %d", i);
    other.model_name = name;
    must(seer_records_target(w.records, &other, &other_id));
  }
  must(seer_records_find_targets(w.records, seer_context_target(w.context), ids, &n));
  assert_int_equal(n, SEER_RECORD_MAX_TARGETS);
  close_world(&w);
}

// ---- speeds
// Those of a GPU are of no use to a CPU, whatever the schedule, and the other way round; until
// there are kernels for GPUs, to nobody.
static void test_records_of_other_kinds(void **state) {
  (void)state;
  world w;
  open_world(&w);
  const char *schedule = schedule_of(&w, "a CPU's");
  int64_t own = add(&w, schedule, 1e-4, SEER_MEASURED_OK), cpu = w.target;
  static const char *const gpus[] = {"cuda:h100", "opencl:generic", "opencl:cpu"};
  for (size_t i = 0; i < SEER_COUNT_OF(gpus); i++) {
    seer_target gpu;
    int64_t ids[SEER_RECORD_MAX_TARGETS];
    uint32_t n;
    must(seer_target_parse(gpus[i], w.arena, &gpu));
    must(seer_records_target(w.records, &gpu, &w.target));
    assert_int_not_equal(w.target, cpu);
    add(&w, schedule, 1e-5, SEER_MEASURED_OK);
    must(seer_records_find_targets(w.records, &gpu, ids, &n));
    assert_int_equal(n, 1);
    assert_int_equal(ids[0], w.target);
    must(seer_records_find_targets(w.records, seer_context_target(w.context), ids, &n));
    assert_int_equal(n, 1);
    assert_int_equal(ids[0], cpu);
  }
  w.target = cpu;
  seer_record best;
  must(best_of(&w, SEER_RECORD_MEASURED, &best));
  assert_int_equal(best.id, own);
  seer_text text;
  seer_record_counts counts;
  seer_text_init(&text, w.arena);
  must(seer_records_check(w.records, &text, &counts));
  assert_int_equal(counts.n[SEER_RECORD_SOUND], 1);
  assert_int_equal(counts.n[SEER_RECORD_BAD_TARGET], SEER_COUNT_OF(gpus));
  assert_non_null(strstr(text.data,
      "target cuda:h100: GPUs are served by compile and tune, and by run, bench and verify of what "
      "these make"));
  close_world(&w);
}

static void set_speeds(world *w, double gflops, bool is_measured) {
  seer_target target = *seer_context_target(w->context);
  target.peak_gflops = target.l2_gbs = target.l3_gbs = target.dram_gbs = gflops;
  target.is_measured = is_measured;
  seer_context_set_target(w->context, &target);
}

// What one who only reads the file takes the machine's peak for, where it is estimated as 7.
static double recalled(world *w) {
  set_speeds(w, 7, false);
  must(seer_context_set(w->context, "records", seer_os_path_join(w->arena, w->folder, "r.sqlite")));
  seer_records *read;
  must(seer_records_open_by_options(w->context, false, &read));
  must(seer_speeds_recall(w->context, read));
  seer_records_close(read);
  return seer_context_target(w->context)->peak_gflops;
}

static void test_a_machine_is_as_fast_as_it_was_measured(void **state) {
  (void)state;
  world w;
  open_world(&w);
  assert_true(recalled(&w) == 7);
  // A target of which nothing was measured here says nothing: it may have come with other records.
  set_speeds(&w, 1234.5, true);
  must(seer_records_target(w.records, seer_context_target(w.context), &w.target));
  assert_true(recalled(&w) == 7);
  add(&w, "a", 1e-4, SEER_MEASURED_OK);
  assert_true(recalled(&w) == 1234.5);
  assert_true(seer_context_target(w.context)->is_measured);
  // What a text says to be measured is believed; one that says nothing changes nothing that is
  // stored.
  set_speeds(&w, 11, true);
  must(seer_speeds_recall(w.context, w.records));
  assert_true(seer_context_target(w.context)->peak_gflops == 11);
  set_speeds(&w, 9, false);
  must(seer_records_target(w.records, seer_context_target(w.context), &w.target));
  assert_true(recalled(&w) == 1234.5);
  must(seer_context_set(w.context, "ignore-records", "1"));
  assert_true(recalled(&w) == 7);
  close_world(&w);
}

// A speed that no machine reaches stays, one that any exceeds does not.
static void test_a_machine_can_do_what_it_has_done(void **state) {
  (void)state;
  world w;
  open_world(&w);
  set_speeds(&w, 900000, true);
  seer_target stored = *seer_context_target(w.context);
  stored.dram_gbs = 1e-3;
  must(seer_records_target(w.records, &stored, &w.target));
  add(&w, "a", 1e-4, SEER_MEASURED_OK);
  set_speeds(&w, 7, false);
  must(seer_speeds_measure(w.context, w.records));
  const seer_target *now = seer_context_target(w.context);
  assert_true(now->is_measured && now->peak_gflops == 900000 && now->l3_gbs == 900000);
  assert_true(now->dram_gbs > 1e-2 && now->dram_gbs < 900000);
  double dram = now->dram_gbs;
  must(seer_records_target(w.records, now, &w.target));
  (void)recalled(&w);
  assert_true(seer_context_target(w.context)->dram_gbs == dram);
  close_world(&w);
}

static seer_status count(void *user, const seer_record *record) {
  (void)record;
  *(uint32_t *)user += 1;
  return SEER_OK;
}

static void test_export_and_import(void **state) {
  (void)state;
  world w;
  open_world(&w);
  add(&w, schedule_of(&w, "a"), 1e-4, SEER_MEASURED_OK);
  add(&w, schedule_of(&w, "b"), 0, SEER_MEASURED_BUILD_TIMEOUT);
  const char *lines = seer_os_path_join(w.arena, w.folder, "r.jsonl");
  export_all(w.records, lines);
  char *data;
  size_t n_bytes;
  must(seer_os_read_file(lines, w.arena, 1 << 20, &data, &n_bytes));
  assert_null(strstr(data, "/some/where"));  // no paths
  seer_records *other;
  must(seer_records_open(w.context, seer_os_path_join(w.arena, w.folder, "o.sqlite"), &other));
  seer_record_counts counts;
  must(seer_records_import(other, lines, false, &counts));
  assert_int_equal(counts.n[SEER_RECORD_SOUND], 2);
  must(seer_records_import(other, lines, false, &counts));
  assert_int_equal(counts.n[SEER_RECORD_SOUND], 0);
  assert_int_equal(counts.n[SEER_RECORD_KNOWN], 2);
  // Damaged lines: every prefix of the first line, and each of its bytes changed; sound lines after
  // them still come in.
  seer_records *third;
  must(seer_records_open(w.context, seer_os_path_join(w.arena, w.folder, "t.sqlite"), &third));
  size_t line = strcspn(data, "\n");
  seer_text text;
  seer_text_init(&text, w.arena);
  for (size_t cut = 1; cut < line; cut += 7) {
    seer_text_put_n(&text, data, cut);
    seer_text_put(&text, "\n");
  }
  seer_text_put(&text, "[1,2]\n{}\n\x01\xff\n");
  seer_text_put_n(&text, data, n_bytes);
  must(seer_os_write_file(lines, text.data, text.n_bytes));
  must(seer_records_import(third, lines, false, &counts));
  assert_int_equal(counts.n[SEER_RECORD_SOUND], 2);
  int64_t workload, target;
  uint32_t n = 0;
  must(seer_records_workload(third, w.dag, seer_dag_hash(w.dag), "gemm", &workload));
  must(seer_records_target(third, seer_context_target(w.context), &target));
  must(seer_records_each(third, workload, target, count, &n));
  assert_int_equal(n, 2);
  must(seer_records_merge(
      w.records, seer_os_path_join(w.arena, w.folder, "t.sqlite"), false, &counts));
  assert_int_equal(counts.n[SEER_RECORD_SOUND], 0);
  seer_records_close(other);
  seer_records_close(third);
  close_world(&w);
}

// `text` with the first `from` replaced by `to`.
static const char *with(seer_arena *arena, const char *text, const char *from, const char *to) {
  const char *at = strstr(text, from);
  assert_non_null(at);
  return seer_arena_printf(arena, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

static seer_status expect_name(void *user, const seer_record_workload *workload) {
  const char **name = user;
  assert_string_equal(workload->name, *name);
  *name = NULL;
  return SEER_OK;
}

// Names come from files of others; one that is no UTF-8 takes no record with it.
static void test_names_that_are_no_utf8(void **state) {
  (void)state;
  world w;
  open_world(&w);
  static const char name[] = "t\xE9sk \x80\" \x01 \xC3\xA9";
  w.dag = gemm(w.arena, 60);
  must(seer_records_workload(w.records, w.dag, seer_dag_hash(w.dag), name, &w.workload));
  must(seer_records_campaign(w.records, w.context, "caf\xE9.onnx", "seer", &w.campaign));
  add(&w, schedule_of(&w, "a"), 1e-4, SEER_MEASURED_OK);
  const char *lines = seer_os_path_join(w.arena, w.folder, "r.jsonl");
  export_all(w.records, lines);
  seer_records *other;
  must(seer_records_open(w.context, seer_os_path_join(w.arena, w.folder, "o.sqlite"), &other));
  seer_record_counts counts;
  must(seer_records_import(other, lines, false, &counts));
  assert_int_equal(counts.n[SEER_RECORD_SOUND], 1);
  // All texts come back to the byte, as often as they go.
  const char *again = seer_os_path_join(w.arena, w.folder, "again.jsonl"),
             *third = seer_os_path_join(w.arena, w.folder, "third.jsonl");
  seer_records *more;
  must(seer_records_open(w.context, seer_os_path_join(w.arena, w.folder, "m.sqlite"), &more));
  export_all(other, again);
  must(seer_records_import(more, again, false, &counts));
  export_all(more, third);
  char *a, *b;
  must(seer_os_read_file(again, w.arena, 1 << 20, &a, NULL));
  must(seer_os_read_file(third, w.arena, 1 << 20, &b, NULL));
  assert_string_equal(a, b);
  assert_non_null(strstr(a, "{\"hex\":\"636166e92e6f6e6e78\"}"));
  const char *found = name;
  must(seer_records_each_workload(more, expect_name, &found));
  assert_null(found);
  // What no line can hold is left out, and counted: by export, and by merge.
  seer_record record = {.campaign = w.campaign,
      .workload = w.workload,
      .target = w.target,
      .schedule = "s",
      .seconds = HUGE_VAL};
  uint32_t n_dropped;
  must(seer_records_add(w.records, &record));
  must(seer_records_export(w.records, lines, &n_dropped));
  assert_int_equal(n_dropped, 1);
  must(seer_records_merge(more, seer_os_path_join(w.arena, w.folder, "r.sqlite"), false, &counts));
  assert_int_equal(counts.n[SEER_RECORD_KNOWN], 1);
  assert_int_equal(counts.n[SEER_RECORD_BAD_TIME], 1);
  seer_records_close(more);
  seer_records_close(other);
  close_world(&w);
}

// Lines that are well-formed, but claim what cannot be.
static void test_import_believes_nothing(void **state) {
  (void)state;
  world w;
  open_world(&w);
  add(&w, schedule_of(&w, "a"), 0.25, SEER_MEASURED_OK);
  const char *lines = seer_os_path_join(w.arena, w.folder, "r.jsonl");
  export_all(w.records, lines);
  char *data;
  size_t n_bytes;
  must(seer_os_read_file(lines, w.arena, 1 << 20, &data, &n_bytes));
  const char *line = seer_arena_strndup(w.arena, data, n_bytes);
  static const struct {
    const char *from, *to;
    seer_record_verdict verdict;
  } lies[] = {
      {"\"seconds\":0.25", "\"seconds\":0.0", SEER_RECORD_BAD_TIME},  // no time, and worked
      {"\"seconds\":0.25", "\"seconds\":-1.0", SEER_RECORD_BAD_TIME},
      {"\"seconds\":0.25", "\"seconds\":1e-300", SEER_RECORD_BAD_TIME},
      {"\"seconds\":0.25", "\"seconds\":1e-9", SEER_RECORD_TOO_FAST},
      {"\"seconds\":0.25", "\"seconds\":3601", SEER_RECORD_BAD_TIME},  // longer than any --timeout
      {"[0.25", "[-0.25", SEER_RECORD_BAD_TIME},
      {"[0.25", "[\"0.25\"", SEER_RECORD_MALFORMED},
      {"\"reference\":0.0", "\"reference\":-1.0", SEER_RECORD_BAD_TIME},
      {"\"round\":0", "\"round\":-1", SEER_RECORD_MALFORMED},
      {"\"round\":0", "\"round\":4294967296", SEER_RECORD_MALFORMED},
      {"\"class\":\"ok\"", "\"class\":\"fine\"", SEER_RECORD_MALFORMED},
      {"\"state\":\"measured\"", "\"state\":\"believed\"", SEER_RECORD_MALFORMED},
      {"\"place\":\"here\"", "\"place\":\"there\"", SEER_RECORD_MALFORMED},
      {"\"origin\":\"\"", "\"origin\":\"\\u001b[2J\"", SEER_RECORD_MALFORMED},
      {"# a", "# \\u001b[2J", SEER_RECORD_MALFORMED},
      {"\"n\":0", "\"n\":5", SEER_RECORD_BAD_TIME},  // pairs that took no time
      {"m:m<126", "m:m<127", SEER_RECORD_BAD_TASK},  // another shape than its key says
      {"\"text\":\"cpu ", "\"text\":\"cpu  ", SEER_RECORD_BAD_TARGET},  // not as we print it
      {"-threads=", "-threads=1", SEER_RECORD_BAD_TARGET},  // another machine than its key says
      {"sched \\\"", "sched \\\"no-", SEER_RECORD_OTHER_RULES},
      {"\"v\":3", "\"v\":4", SEER_RECORD_MALFORMED},
      {"\"device\":", "\"device_\":", SEER_RECORD_MALFORMED},
  };
  seer_records *other;
  must(seer_records_open(w.context, seer_os_path_join(w.arena, w.folder, "o.sqlite"), &other));
  seer_record_counts counts;
  for (size_t i = 0; i < SEER_COUNT_OF(lies); i++) {
    const char *lie = with(w.arena, line, lies[i].from, lies[i].to);
    must(seer_os_write_file(lines, lie, strlen(lie)));
    must(seer_records_import(other, lines, false, &counts));
    if (counts.n[lies[i].verdict] != 1 || counts.n[SEER_RECORD_SOUND] != 0)
      fail_msg("%s: %s", lies[i].to, seer_record_counts_print(&counts, w.arena));
  }
  must(seer_os_write_file(lines, line, n_bytes));
  must(seer_records_import(other, lines, false, &counts));
  assert_int_equal(counts.n[SEER_RECORD_SOUND], 1);
  seer_records_close(other);
  close_world(&w);
}

static void test_what_is_no_database_is_refused(void **state) {
  (void)state;
  world w;
  open_world(&w);
  const char *path = seer_os_path_join(w.arena, w.folder, "bad.sqlite");
  static const char junk[] =
      "this is not a database, it is a text that is long enough to look like a header .....";
  must(seer_os_write_file(path, junk, sizeof junk));
  seer_records *records;
  seer_status status = seer_records_open(w.context, path, &records);
  assert_non_null(status);
  assert_int_equal(seer_status_code(status), SEER_CODE_CORRUPT);
  seer_status_free(status);
  assert_null(records);
  close_world(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_best_is_the_fastest_of_at_least_a_state),
      cmocka_unit_test(test_nearest_shape_of_the_same_structure),
      cmocka_unit_test(test_rows_that_lie_apart_are_nearest),
      cmocka_unit_test(test_asking_adds_nothing), cmocka_unit_test(test_similar_machines),
      cmocka_unit_test(test_records_of_other_kinds),
      cmocka_unit_test(test_a_machine_is_as_fast_as_it_was_measured),
      cmocka_unit_test(test_a_machine_can_do_what_it_has_done),
      cmocka_unit_test(test_export_and_import), cmocka_unit_test(test_names_that_are_no_utf8),
      cmocka_unit_test(test_import_believes_nothing),
      cmocka_unit_test(test_what_is_no_database_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
