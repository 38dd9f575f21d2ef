// What records know that is nearly about a task: what was heard of it, winners of similar machines
// and of other shapes; in their order, within their limits, and nothing that does not fit. Machines
// are made up, times are the records' own.
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "choose/transfer.h"
#include "record/sound.h"
#include "support/test.h"
#include "support/test_target.h"

enum { N_SCHEDULES = 24 };

typedef struct {
  seer_context *context;
  seer_arena *arena;
  const char *folder;
  seer_records *records;
  seer_target target;
  seer_task task;
  seer_sketch_list *sketches;
  seer_schedule schedule[N_SCHEDULES];  // of the task, all different
  int64_t campaign, own, workload;
  // What was found, and one more that is to stay as it was.
  uint32_t n;
  seer_transfer found[SEER_TRANSFER_MAX + 1];
} world;

static seer_dag *parse(world *w, const char *text) {
  seer_dag *dag;
  must(seer_dag_parse("test", text, strlen(text), w->arena, &dag));
  must(seer_dag_verify(dag));
  return dag;
}

static seer_dag *product(world *w, int m) {
  static const char text[] =
      "dag gemm {\n  input $a f32[%d, 32]\n  weight $b f32[32, 64]\n"
      "  stage c role anchor [m:m<%d, n:n<64] sum[k:k<32] = $a[m, k] * $b[k, n]\n"
      "  output $c\n}\n";
  return parse(w, seer_arena_printf(w->arena, text, m, m));
}

static seer_sketch_list *sketches_of(world *w, const seer_dag *dag) {
  seer_sketch_list *list;
  must(seer_sketch_generate(dag, &w->target, SEER_SPACE_FULL, w->arena, &list));
  return list;
}

// Different schedules of `list`.
static void draw(const seer_sketch_list *list, seer_schedule *out, uint32_t n) {
  seer_rng rng;
  seer_rng_init(&rng, 5);
  for (uint32_t i = 0, tries = 0; i < n; tries++) {
    assert_in_range(tries, 0, 10000);
    uint32_t sketch = (uint32_t)(tries % list->n);
    bool is_new = seer_schedule_sample(list, sketch, &rng, &out[i], NULL) == SEER_REJECT_NONE;
    for (uint32_t k = 0; k < i && is_new; k++) is_new = !seer_schedule_equal(&out[k], &out[i]);
    i += is_new;
  }
}

static int64_t workload_of(world *w, const seer_dag *dag) {
  int64_t id;
  must(seer_records_workload(w->records, dag, seer_dag_hash(dag), "gemm", &id));
  return id;
}

static int64_t add_target(world *w, const seer_target *target) {
  int64_t id;
  must(seer_records_target(w->records, target, &id));
  return id;
}

static void open_world(world *w) {
  memset(w, 0, sizeof *w);
  must(seer_context_create(&w->context));
  w->arena = seer_arena_create("test");
  w->target = test_target_read("laptop", w->arena);
  must(seer_os_temp_dir("seer-test", w->arena, &w->folder));
  const char *path = seer_os_path_join(w->arena, w->folder, "r.sqlite");
  must(seer_records_open(w->context, path, &w->records));
  seer_dag *dag = product(w, 126);
  w->task = (seer_task){.name = "gemm", .dag = dag, .key = seer_dag_hash(dag)};
  w->sketches = sketches_of(w, dag);
  draw(w->sketches, w->schedule, N_SCHEDULES);
  must(seer_records_campaign(w->records, w->context, "m.onnx", "seer", &w->campaign));
  w->own = add_target(w, &w->target);
  w->workload = workload_of(w, dag);
}

static void close_world(world *w) {
  seer_records_close(w->records);
  must(seer_os_remove_tree(w->folder));
  seer_arena_destroy(w->arena);
  seer_context_destroy(w->context);
}

// A record that says `text` took so many microseconds.
static void add_text(world *w, int64_t workload, int64_t target, const char *text, double us,
    seer_record_provenance provenance, seer_record_state state) {
  seer_record record = {.campaign = w->campaign,
      .workload = workload,
      .target = target,
      .schedule = text,
      .cls = SEER_MEASURED_OK,
      .state = state,
      .provenance = provenance,
      .seconds = us * 1e-6};
  must(seer_records_add(w->records, &record));
}

// The same of a schedule of the task.
static void add(world *w, int64_t target, uint32_t schedule, double us,
    seer_record_provenance provenance, seer_record_state state) {
  const char *text = seer_schedule_print(w->sketches, &w->schedule[schedule], w->arena);
  add_text(w, w->workload, target, text, us, provenance, state);
}

static void find_in(world *w, seer_space_kind space, const seer_sketch_list *sketches) {
  memset(w->found, 0xA5, sizeof w->found);
  must(seer_find_transfers(w->records, &w->target, space, &w->task, sketches, w->found, &w->n));
  assert_in_range(w->n, 0, SEER_TRANSFER_MAX);
  const unsigned char *beyond = (const unsigned char *)&w->found[w->n];
  for (size_t i = 0; i < sizeof w->found[0]; i++) assert_int_equal(beyond[i], 0xA5);
  for (uint32_t i = 0; i < w->n; i++) {
    assert_int_equal(seer_schedule_check(sketches, &w->found[i].schedule), SEER_REJECT_NONE);
    if (i > 0) assert_true(w->found[i - 1].kind <= w->found[i].kind);
  }
}

static void find(world *w) { find_in(w, SEER_SPACE_FULL, w->sketches); }

static void is_found(const world *w, uint32_t at, const seer_schedule *schedule,
    seer_transfer_kind kind, bool is_elsewhere) {
  assert_in_range(at + 1, 1, w->n);
  assert_int_equal(w->found[at].kind, kind);
  assert_int_equal(w->found[at].is_elsewhere, is_elsewhere);
  if (!seer_schedule_equal(&w->found[at].schedule, schedule))
    fail_msg("found %u: %s, not %s", at,
        seer_schedule_print(w->sketches, &w->found[at].schedule, w->arena),
        seer_schedule_print(w->sketches, schedule, w->arena));
}

// Nobody has measured anything; then only this machine has, this task.
static void what_is_from_here_is_no_transfer(void **state) {
  (void)state;
  world w;
  open_world(&w);
  find(&w);
  assert_int_equal(w.n, 0);
  add(&w, w.own, 0, 100, SEER_RECORD_HERE, SEER_RECORD_ACCEPTED);
  add(&w, w.own, 1, 110, SEER_RECORD_HERE, SEER_RECORD_MEASURED);
  add(&w, w.own, 2, 120, SEER_RECORD_TRUSTED, SEER_RECORD_CHECKED);
  find(&w);
  assert_int_equal(w.n, 0);
  // Neither the machine nor the task is in the file; nor are they afterwards.
  w.target.model_name = "unheard of";
  w.target.threads = 3;
  w.task.dag = product(&w, 3);
  w.task.key = seer_dag_hash(w.task.dag);
  w.task.key.structure++;
  find_in(&w, SEER_SPACE_FULL, sketches_of(&w, w.task.dag));
  assert_int_equal(w.n, 0);
  int64_t id;
  must(seer_records_find_workload(w.records, w.task.key, &id));
  assert_int_equal(id, 0);
  close_world(&w);
}

// What was accepted elsewhere first, then by time; the four that are different and fit.
static void heard_of_this_task(void **state) {
  (void)state;
  world w;
  open_world(&w);
  const seer_record_provenance elsewhere = SEER_RECORD_ELSEWHERE;
  add(&w, w.own, 0, 300, elsewhere, SEER_RECORD_MEASURED);
  add(&w, w.own, 1, 100, elsewhere, SEER_RECORD_MEASURED);
  find(&w);
  assert_int_equal(w.n, 2);
  add(&w, w.own, 2, 500, elsewhere, SEER_RECORD_ACCEPTED);
  add(&w, w.own, 3, 200, elsewhere, SEER_RECORD_CHECKED);
  add(&w, w.own, 4, 400, elsewhere, SEER_RECORD_MEASURED);  // one too many
  add(&w, w.own, 1, 150, elsewhere, SEER_RECORD_MEASURED);  // known
  // None of these is as good as its time: they were refused, crashed, given up in a race, are
  // faster than the machine can be, or of other rules.
  add(&w, w.own, 5, 50, elsewhere, SEER_RECORD_REFUSED);
  add(&w, w.own, 6, 0.01, elsewhere, SEER_RECORD_MEASURED);
  const char *text = seer_schedule_print(w.sketches, &w.schedule[7], w.arena);
  seer_record crashed = {.campaign = w.campaign,
      .workload = w.workload,
      .target = w.own,
      .schedule = text,
      .cls = SEER_MEASURED_RUN_CRASH,
      .provenance = elsewhere,
      .seconds = 50e-6};
  seer_record raced_out = crashed;
  raced_out.cls = SEER_MEASURED_OK;
  raced_out.is_raced_out = true;
  must(seer_records_add(w.records, &crashed));
  must(seer_records_add(w.records, &raced_out));
  add_text(
      &w, w.workload, w.own, "sched \"direct/none\" {\n}\n", 50, elsewhere, SEER_RECORD_MEASURED);
  find(&w);
  static const uint32_t order[SEER_TRANSFER_HEARD] = {2, 1, 3, 0};
  assert_int_equal(w.n, SEER_TRANSFER_HEARD);
  for (uint32_t i = 0; i < w.n; i++)
    is_found(&w, i, &w.schedule[order[i]], SEER_TRANSFER_HEARD_OF, true);
  close_world(&w);
}

// The winner of each machine with the same features and threads, as the file has met them; from
// somebody else's where there is none of its own.
static void winners_of_similar_machines(void **state) {
  (void)state;
  world w;
  open_world(&w);
  seer_target first = w.target, second = w.target, measured = w.target, apart = w.target;
  first.model_name = "first";
  second.l2_bytes *= 2;
  measured.l3_bytes *= 2;
  apart.threads += 1;
  int64_t second_id = add_target(&w, &second), first_id = add_target(&w, &first);
  add(&w, first_id, 0, 90, SEER_RECORD_ELSEWHERE, SEER_RECORD_ACCEPTED);
  add(&w, first_id, 1, 80, SEER_RECORD_HERE, SEER_RECORD_CHECKED);
  add(&w, first_id, 2, 95, SEER_RECORD_ELSEWHERE, SEER_RECORD_ACCEPTED);
  add(&w, second_id, 3, 100, SEER_RECORD_ELSEWHERE, SEER_RECORD_ACCEPTED);
  add(&w, second_id, 4, 120, SEER_RECORD_TRUSTED, SEER_RECORD_ACCEPTED);
  add(&w, add_target(&w, &measured), 5, 50, SEER_RECORD_HERE, SEER_RECORD_MEASURED);
  add(&w, add_target(&w, &apart), 6, 50, SEER_RECORD_HERE, SEER_RECORD_ACCEPTED);
  add(&w, w.own, 7, 50, SEER_RECORD_HERE, SEER_RECORD_ACCEPTED);
  find(&w);
  assert_int_equal(w.n, 2);
  is_found(&w, 0, &w.schedule[4], SEER_TRANSFER_SIMILAR_TARGET, false);
  is_found(&w, 1, &w.schedule[0], SEER_TRANSFER_SIMILAR_TARGET, true);
  // For a machine that the file does not know all of them are similar, this one with its winner
  // first: it is the oldest.
  w.target.model_name = "new";
  find(&w);
  assert_int_equal(w.n, 3);
  is_found(&w, 0, &w.schedule[7], SEER_TRANSFER_SIMILAR_TARGET, false);
  is_found(&w, 1, &w.schedule[4], SEER_TRANSFER_SIMILAR_TARGET, false);
  close_world(&w);
}

// Adds an accepted record of a product of m rows; what it comes to for the task.
static seer_schedule add_shape(
    world *w, int m, int64_t target, seer_record_provenance provenance, seer_record_state state) {
  seer_dag *dag = product(w, m);
  seer_sketch_list *list = sketches_of(w, dag);
  seer_schedule theirs[2], fitted;
  draw(list, theirs, 2);
  const char *text = seer_schedule_print(list, &theirs[m % 2], w->arena);
  add_text(w, workload_of(w, dag), target, text, 1000, provenance, state);
  assert_int_equal(
      seer_schedule_refit(list, &theirs[m % 2], w->sketches, &fitted), SEER_REJECT_NONE);
  return fitted;
}

// Accepted schedules of this machine for other numbers of rows, from the nearest on, re-fitted.
static void winners_of_near_shapes(void **state) {
  (void)state;
  world w;
  open_world(&w);
  seer_target similar = w.target;
  similar.model_name = "similar";
  int64_t similar_id = add_target(&w, &similar);
  static const int rows[] = {2000, 1000, 64, 32, 100};
  seer_schedule fitted[SEER_COUNT_OF(rows)];
  for (size_t i = 0; i < SEER_COUNT_OF(rows); i++) {
    seer_record_provenance provenance = rows[i] == 64 ? SEER_RECORD_ELSEWHERE : SEER_RECORD_HERE;
    fitted[i] = add_shape(&w, rows[i], w.own, provenance, SEER_RECORD_ACCEPTED);
  }
  // Nearer, but only measured; accepted, but not here; of another structure.
  add_shape(&w, 125, w.own, SEER_RECORD_HERE, SEER_RECORD_CHECKED);
  add_shape(&w, 127, similar_id, SEER_RECORD_HERE, SEER_RECORD_ACCEPTED);
  static const char other[] =
      "dag gemm {\n  input $a f32[126, 32]\n  weight $b f32[32, 64]\n"
      "  stage c role anchor [m:m<126, n:n<64] max[k:k<32] = $a[m, k] * $b[k, n]\n"
      "  output $c\n}\n";
  const char *text = seer_schedule_print(w.sketches, &w.schedule[0], w.arena);
  add_text(&w, workload_of(&w, parse(&w, other)), w.own, text, 100, SEER_RECORD_HERE,
      SEER_RECORD_ACCEPTED);
  find(&w);
  assert_int_equal(w.n, SEER_TRANSFER_SHAPES);
  static const uint32_t order[SEER_TRANSFER_SHAPES] = {4, 2, 3, 1};
  for (uint32_t i = 0; i < w.n; i++)
    is_found(&w, i, &fitted[order[i]], SEER_TRANSFER_NEAR_SHAPE, rows[order[i]] == 64);
  close_world(&w);
}

// A near shape whose schedule is unsound, one whose loops have other names, so that none of its
// knobs is one of the task's, and a similar machine's that does not fit: the others are found.
static void what_does_not_fit_is_left_out(void **state) {
  (void)state;
  world w;
  open_world(&w);
  seer_target similar = w.target;
  similar.model_name = "similar";
  add_text(&w, w.workload, add_target(&w, &similar), "sched \"direct/none\" {\n}\n", 100,
      SEER_RECORD_HERE, SEER_RECORD_ACCEPTED);
  add_text(&w, workload_of(&w, product(&w, 120)), w.own, "nothing", 100, SEER_RECORD_HERE,
      SEER_RECORD_ACCEPTED);
  seer_dag *renamed = parse(&w,
      "dag other {\n  input $x f32[124, 32]\n  weight $y f32[32, 64]\n"
      "  stage z role anchor [p:m<124, q:n<64] sum[r:k<32] = $x[p, r] * $y[r, q]\n"
      "  output $z\n}\n");
  assert_true(seer_dag_hash(renamed).structure == w.task.key.structure);
  seer_sketch_list *list = sketches_of(&w, renamed);
  seer_schedule schedule;
  draw(list, &schedule, 1);
  add_text(&w, workload_of(&w, renamed), w.own, seer_schedule_print(list, &schedule, w.arena), 100,
      SEER_RECORD_HERE, SEER_RECORD_ACCEPTED);
  seer_schedule fitted = add_shape(&w, 256, w.own, SEER_RECORD_HERE, SEER_RECORD_ACCEPTED);
  find(&w);
  assert_int_equal(w.n, 1);
  is_found(&w, 0, &fitted, SEER_TRANSFER_NEAR_SHAPE, false);
  close_world(&w);
}

static seer_dag *conv(world *w, int rows) {
  static const char text[] =
      "dag conv {\n  input $x f32[1, %d, 30, 32]\n  weight $w f32[64, 3, 3, 32]\n"
      "  stage c role anchor [n:batch<1, y:y<%d, x:x<28, o:out_channel<64] "
      "sum[ky:ky<3, kx:kx<3, i:in_channel<32] = $x[n, y + ky, x + kx, i] * $w[o, ky, kx, i]\n"
      "  output $c\n}\n";
  return parse(w, seer_arena_printf(w->arena, text, rows + 2, rows));
}

// The default schedule of the list's first sketch that computes something else than the DAG says.
static const char *of_another_formulation(world *w, const seer_sketch_list *list) {
  uint32_t k = 0;
  while (k < list->n && strcmp(list->sketch[k]->formulation, "direct") == 0) k++;
  assert_in_range(k, 0, list->n - 1);
  seer_schedule schedule;
  seer_schedule_default(list, k, &schedule);
  return seer_schedule_print(list, &schedule, w->arena);
}

// Ansor's space has convolutions as they are, no transforms: schedules with one are none of it,
// neither of the task itself nor of another shape.
static void the_space_is_the_tasks(void **state) {
  (void)state;
  world w;
  open_world(&w);
  w.task.dag = conv(&w, 28);
  w.task.key = seer_dag_hash(w.task.dag);
  seer_dag *near = conv(&w, 24);
  seer_sketch_list *full = sketches_of(&w, w.task.dag), *ansor;
  must(seer_sketch_generate(w.task.dag, &w.target, SEER_SPACE_ANSOR, w.arena, &ansor));
  add_text(&w, workload_of(&w, w.task.dag), w.own, of_another_formulation(&w, full), 1000,
      SEER_RECORD_ELSEWHERE, SEER_RECORD_MEASURED);
  add_text(&w, workload_of(&w, near), w.own, of_another_formulation(&w, sketches_of(&w, near)),
      1000, SEER_RECORD_HERE, SEER_RECORD_ACCEPTED);
  find_in(&w, SEER_SPACE_FULL, full);
  assert_int_equal(w.n, 2);
  find_in(&w, SEER_SPACE_ANSOR, ansor);
  assert_int_equal(w.n, 0);
  close_world(&w);
}

// As many of each kind as there is room for, in the order of the kinds.
static void never_more_than_there_is_room_for(void **state) {
  (void)state;
  world w;
  open_world(&w);
  enum { N_SIMILAR = SEER_RECORD_MAX_TARGETS - 1 };
  assert_int_equal(SEER_TRANSFER_MAX, SEER_TRANSFER_HEARD + N_SIMILAR + SEER_TRANSFER_SHAPES);
  for (uint32_t i = 0; i < 2 * SEER_TRANSFER_SHAPES; i++)
    (void)add_shape(&w, 10 + (int)i, w.own, SEER_RECORD_HERE, SEER_RECORD_ACCEPTED);
  for (uint32_t i = 0; i < 2 * N_SIMILAR; i++) {
    seer_target similar = w.target;
    similar.model_name = seer_arena_printf(w.arena, "model %u", i);
    add(&w, add_target(&w, &similar), i, 100, SEER_RECORD_HERE, SEER_RECORD_ACCEPTED);
  }
  for (uint32_t i = 0; i < 2 * SEER_TRANSFER_HEARD; i++)
    add(&w, w.own, 8 + i, 100 + i, SEER_RECORD_ELSEWHERE, SEER_RECORD_MEASURED);
  find(&w);
  assert_int_equal(w.n, SEER_TRANSFER_MAX);
  for (uint32_t i = 0; i < SEER_TRANSFER_HEARD; i++)
    is_found(&w, i, &w.schedule[8 + i], SEER_TRANSFER_HEARD_OF, true);
  for (uint32_t i = 0; i < N_SIMILAR; i++)
    is_found(&w, SEER_TRANSFER_HEARD + i, &w.schedule[i], SEER_TRANSFER_SIMILAR_TARGET, false);
  for (uint32_t i = SEER_TRANSFER_HEARD + N_SIMILAR; i < w.n; i++)
    assert_int_equal(w.found[i].kind, SEER_TRANSFER_NEAR_SHAPE);
  close_world(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_from_here_is_no_transfer),
      cmocka_unit_test(heard_of_this_task), cmocka_unit_test(winners_of_similar_machines),
      cmocka_unit_test(winners_of_near_shapes), cmocka_unit_test(what_does_not_fit_is_left_out),
      cmocka_unit_test(the_space_is_the_tasks),
      cmocka_unit_test(never_more_than_there_is_room_for)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
