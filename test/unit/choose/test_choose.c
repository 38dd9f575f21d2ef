// What records decide beside winners: of the schedules that read weights in a form that tasks have
// in common, the one that was fastest; of times in the network, the newest that was measured here.
// The machine is made up, times are the records' own.
#include <string.h>

#include "base/os.h"
#include "choose/choose.h"
#include "record/record.h"
#include "space/lower.h"
#include "support/test.h"
#include "support/test_target.h"

enum { N_DRAWN = 300, N_ALIKE = 4 };

typedef struct {
  seer_context *context;
  seer_arena *arena;
  const char *folder;
  seer_records *records;
  seer_network *network;
  int64_t campaign, target;
  const seer_sketch_list *sketches[2];
  int64_t workload[2];
} world;

// Two products with the same weights, which are tasks of their own: rows differ.
static const char text[] =
    "graph \"g\" { input %x f32[96,64] input %y f32[8,64] const $w f32[64,128] = splat 0.5\n"
    "%a f32 = MatMul \"many\" v13 (%x, $w) %b f32 = MatMul \"few\" v13 (%y, $w)\n"
    "output %a output %b }";

static seer_choice *choose(const world *w) {
  seer_choice *choice;
  seer_choose_counts counts;
  must(seer_choose(w->context, w->network, w->records, 2, w->arena, &choice, &counts));
  return choice;
}

static void open_world(world *w) {
  memset(w, 0, sizeof *w);
  must(seer_context_create(&w->context));
  w->arena = seer_arena_create("test");
  seer_target target = test_target_read("laptop", w->arena);
  seer_context_set_target(w->context, &target);
  must(seer_context_set(w->context, "share-weights", "10"));
  seer_graph *graph;
  must(seer_graph_parse("test", text, strlen(text), w->arena, &graph));
  must(seer_front_resolve(graph, "", NULL));
  must(seer_front_run_passes(w->context, graph));
  must(seer_network_build(w->context, graph, w->arena, &w->network));
  assert_int_equal(w->network->n_task, 2);
  must(seer_os_temp_dir("seer-test", w->arena, &w->folder));
  must(seer_records_open(
      w->context, seer_os_path_join(w->arena, w->folder, "r.sqlite"), &w->records));
  must(seer_records_campaign(w->records, w->context, "m.onnx", "seer", &w->campaign));
  must(seer_records_target(w->records, &target, &w->target));
  const seer_choice *untuned = choose(w);
  for (uint32_t t = 0; t < 2; t++) {
    const seer_task *task = &w->network->task[t];
    w->sketches[t] = untuned[t].sketches;
    must(seer_records_workload(w->records, task->dag, task->key, task->name, &w->workload[t]));
  }
}

static void close_world(world *w) {
  seer_records_close(w->records);
  must(seer_os_remove_tree(w->folder));
  seer_arena_destroy(w->arena);
  seer_context_destroy(w->context);
}

static seer_record record_of(
    const world *w, uint32_t task, const seer_schedule *schedule, double us) {
  return (seer_record){.campaign = w->campaign,
      .workload = w->workload[task],
      .target = w->target,
      .schedule = seer_schedule_print(w->sketches[task], schedule, w->arena),
      .state = SEER_RECORD_CHECKED,
      .seconds = us * 1e-6};
}

static void add(const world *w, seer_record *record) { must(seer_records_add(w->records, record)); }

// How a schedule has the weights packed; NULL: not, or it is not the direct form.
static const seer_pack *pack_of(const world *w, uint32_t task, const seer_schedule *schedule) {
  const seer_sketch *sketch = w->sketches[task]->sketch[schedule->sketch];
  seer_loop *loop;
  must(seer_loop_lower(w->sketches[task], schedule, w->arena, &loop));
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    if (loop->buf[b].storage != SEER_STORE_PACKED) continue;
    bool is_weight = sketch->dag->buf[loop->buf[b].pack->source_buf].kind == SEER_BUF_WEIGHT;
    return is_weight ? loop->buf[b].pack : NULL;
  }
  return NULL;
}

static bool is_same_pack(const seer_pack *a, const seer_pack *b) {
  bool is_same = a && b && a->n == b->n;
  for (uint32_t k = 0; is_same && k < a->n; k++)
    is_same = a->dim[k].source_dim == b->dim[k].source_dim &&
        a->dim[k].stride == b->dim[k].stride && a->dim[k].extent == b->dim[k].extent;
  return is_same;
}

typedef struct {
  uint32_t n;
  seer_schedule schedule[N_DRAWN];  // all different
  const seer_pack *pack[N_DRAWN];
} drawn;

static drawn *draw(const world *w, uint32_t task) {
  drawn *d = SEER_NEW(w->arena, drawn);
  seer_rng rng;
  seer_rng_init(&rng, 3 + task);
  for (uint32_t tries = 0; d->n < N_DRAWN && tries < 20 * N_DRAWN; tries++) {
    seer_schedule *s = &d->schedule[d->n];
    if (seer_schedule_sample(w->sketches[task], tries % w->sketches[task]->n, &rng, s, NULL) !=
        SEER_REJECT_NONE)
      continue;
    bool is_new = true;
    for (uint32_t k = 0; k < d->n && is_new; k++) is_new = !seer_schedule_equal(&d->schedule[k], s);
    if (!is_new) continue;
    d->pack[d->n] = pack_of(w, task, s);
    d->n += d->pack[d->n] != NULL;
  }
  return d;
}

// Schedules of task 1 that read the weights as schedule `leader` of task 0 does, and one that does
// not, *out_other.
static uint32_t alike(const drawn *many, uint32_t leader, const drawn *few, uint32_t out[N_ALIKE],
    uint32_t *out_other) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < few->n; k++) {
    bool is_alike = is_same_pack(many->pack[leader], few->pack[k]);
    if (!is_alike) *out_other = k;
    if (is_alike && n < N_ALIKE) out[n++] = k;
  }
  return n;
}

static void the_fastest_of_a_common_form(void **state) {
  (void)state;
  world w;
  open_world(&w);
  const drawn *many = draw(&w, 0), *few = draw(&w, 1);
  uint32_t leader = 0, of[N_ALIKE], other = 0;
  while (leader < many->n && alike(many, leader, few, of, &other) < N_ALIKE) leader++;
  assert_true(leader < many->n);
  // The heavier task keeps its winner, and so the other one is to read that one's form.
  seer_record winner = record_of(&w, 0, &many->schedule[leader], 90000);
  winner.state = SEER_RECORD_ACCEPTED;
  add(&w, &winner);
  winner = record_of(&w, 1, &few->schedule[other], 1000);
  winner.state = SEER_RECORD_ACCEPTED;
  add(&w, &winner);
  const double us[N_ALIKE] = {800, 500, 600, 200};
  for (uint32_t k = 0; k < N_ALIKE; k++) {
    seer_record record = record_of(&w, 1, &few->schedule[of[k]], us[k]);
    record.is_raced_out = k + 1 == N_ALIKE;  // dropped early: no time to go by
    add(&w, &record);
  }
  const seer_choice *choice = choose(&w);
  assert_true(seer_schedule_equal(&choice[0].schedule, &many->schedule[leader]));
  assert_true(seer_schedule_equal(&choice[1].schedule, &few->schedule[of[1]]));
  assert_true(choice[1].seconds == 500e-6);
  close_world(&w);
}

static void times_in_the_network(void **state) {
  (void)state;
  world w;
  open_world(&w);
  const seer_choice *choice = choose(&w);
  const seer_schedule *own = &choice[0].schedule;
  assert_true(choice[0].network_seconds == 0);
  const struct {
    double us;
    seer_measured_class cls;
    seer_record_provenance provenance;
    bool is_own;  // else another origin
  } seen[] = {{700, SEER_MEASURED_OK, SEER_RECORD_HERE, true},
      {900, SEER_MEASURED_OK, SEER_RECORD_HERE, true},
      {300, SEER_MEASURED_RUN_TIMEOUT, SEER_RECORD_HERE, true},
      {200, SEER_MEASURED_OK, SEER_RECORD_ELSEWHERE, true},
      {100, SEER_MEASURED_OK, SEER_RECORD_HERE, false}};
  for (size_t k = 0; k < SEER_COUNT_OF(seen); k++) {
    seer_record record = record_of(&w, 0, own, seen[k].us);
    record.cls = seen[k].cls;
    record.provenance = seen[k].provenance;
    record.origin = seen[k].is_own ? "network" : "pairs";
    add(&w, &record);
  }
  choice = choose(&w);
  assert_true(seer_schedule_equal(&choice[0].schedule, own));
  assert_true(choice[0].network_seconds == 900e-6);
  assert_true(choice[1].network_seconds == 0);
  close_world(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_fastest_of_a_common_form),
      cmocka_unit_test(times_in_the_network),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
