// test_frame.c - frames against brute force: what the loops of a stage visit, which loops are
// exact, that the region of an attached stage has everything its readers read, that nothing is
// attached where it cannot be; and the checks.
#include <stdlib.h>
#include <string.h>

#include "space_nets.h"
#include "support/random_dag.h"
#include "support/test.h"

typedef void (*on_schedule)(
    const seer_sketch_list *list, const seer_schedule *schedule, seer_rng *rng);

// Samples of all nets and of random DAGs.
static void for_all(on_schedule visit, uint32_t per_sketch, uint32_t n_random) {
  seer_target target = space_target(2);
  for (size_t i = 0; i < space_nets_count + n_random; i++) {
    seer_arena *arena = seer_arena_create("test");
    seer_dag *dag =
        i < space_nets_count ? space_parse(arena, space_nets[i].text) : random_dag_of(i, arena);
    seer_sketch_list *list = space_sketches(arena, dag, &target, SEER_SPACE_FULL);
    seer_rng rng;
    seer_rng_init(&rng, i);
    for (uint32_t k = 0; k < list->n; k++) {
      for (uint32_t n = 0; n < per_sketch; n++) {
        seer_schedule schedule;
        if (seer_schedule_sample(list, k, &rng, &schedule, NULL) == SEER_REJECT_NONE)
          visit(list, &schedule, &rng);
      }
    }
    seer_arena_destroy(arena);
  }
}

// ---- loops

// Visits of index values of one axis, as code would run them: every loop stops at the region's end.
static void walk_axis(const seer_frame_stage *s, uint32_t axis, uint32_t from, int64_t base,
    int64_t region, uint8_t *visits, int64_t *trips_low) {
  uint32_t l = from;
  while (l < s->n_loop && s->loop[l].axis != axis) l++;
  if (l == s->n_loop) {
    visits[base]++;
    return;
  }
  int64_t trips = 0;
  for (int64_t k = 0; k < s->loop[l].extent && base + k * s->loop[l].coef < region; k++, trips++) {
    walk_axis(s, axis, l + 1, base + k * s->loop[l].coef, region, visits, trips_low);
  }
  if (trips < trips_low[l]) trips_low[l] = trips;
}

static void check_loops(
    const seer_sketch_list *list, const seer_schedule *schedule, seer_rng *rng) {
  (void)rng;
  seer_frame frame;
  seer_frame_make(list, schedule, &frame);
  static uint8_t visits[1 << 16];
  for (uint32_t i = 0; i < frame.sketch->n_order; i++) {
    uint32_t stage = frame.sketch->order[i];
    const seer_frame_stage *s = &frame.stage[stage];
    const seer_dag_stage *dag = &frame.sketch->dag->stage[stage];
    if (s->place == SEER_PLACE_INLINE) continue;
    int64_t low[SEER_DAG_MAX_AXES * 4];
    for (uint32_t l = 0; l < s->n_loop; l++) low[l] = INT64_MAX;
    for (uint32_t a = 0; a < (uint32_t)dag->n_space + dag->n_reduce; a++) {
      int64_t region = s->region[a];
      assert_in_range(region, 1, dag->axis[a].extent);
      memset(visits, 0, (size_t)region);
      walk_axis(s, a, 0, 0, region, visits, low);
      for (int64_t k = 0; k < region; k++) assert_int_equal(visits[k], 1);
    }
    for (uint32_t l = 0; l < s->n_loop; l++) {
      const seer_frame_loop *loop = &s->loop[l];
      bool is_exact = low[l] == loop->extent && s->is_region_exact[loop->axis];
      assert_int_equal(loop->is_exact, is_exact);
      assert_true(!loop->is_parallel ||
          (s->place == SEER_PLACE_ROOT && !loop->is_reduce && l < s->n_parallel));
      assert_true(!loop->is_vector || l + 1 == s->n_loop);
    }
  }
}

static void test_loops_cover_axes(void **state) {
  (void)state;
  for_all(check_loops, 10, 100);
}

// ---- regions

typedef struct {
  const seer_dag *dag;
  seer_expr load[64];
  uint32_t n;
} loads;

static void note_load(void *user, seer_expr e) {
  loads *l = user;
  const seer_expr_node *node = seer_expr_at(&l->dag->expr, e);
  if (node->op != SEER_EXPR_LOAD || l->dag->buf[node->ref].kind != SEER_BUF_STAGE) return;
  if (l->n < SEER_COUNT_OF(l->load)) l->load[l->n++] = e;
}

// A random load on the way from `reader` down to `target`, at random values of the reader's free
// axes; value[] has its spatial axes. True if the way ends at `target`: then index[] is what is
// read.
static bool random_read(const seer_frame *frame, uint32_t reader, const int64_t *value,
    uint32_t target, seer_rng *rng, int64_t *index) {
  const seer_dag *dag = frame->sketch->dag;
  const seer_dag_stage *stage = &dag->stage[reader];
  loads found = {.dag = dag, .n = 0};
  for (uint32_t v = 0; v < stage->n_values; v++)
    seer_expr_visit(&dag->expr, stage->body[v], note_load, &found);
  if (found.n == 0) return false;
  seer_expr load = found.load[seer_rng_below(rng, found.n)];
  const seer_expr_node *node = seer_expr_at(&dag->expr, load);
  static int64_t low[4096], high[4096];
  for (uint32_t a = 0; a < (uint32_t)stage->n_space + stage->n_reduce; a++) {
    low[stage->var0 + a] = high[stage->var0 + a] = value[a];
  }
  int64_t from, to;
  if (node->arg[0].i) {
    if (!seer_expr_range(&dag->expr, node->arg[0], low, high, &from, &to) || from == 0)
      return false;
  }
  int64_t read[SEER_DAG_MAX_AXES] = {0};
  for (uint32_t d = 0; d < node->n_index; d++) {
    if (!seer_expr_range(&dag->expr, seer_expr_index(&dag->expr, load, d), low, high, &from, &to))
      return false;
    if (from != to) return false;
    read[d] = from;
  }
  uint32_t maker = dag->buf[node->ref].stage;
  if (maker == target) {
    memcpy(index, read, sizeof read);
    return true;
  }
  if (maker < target || dag->stage[maker].is_const) return false;
  const seer_dag_stage *next = &dag->stage[maker];
  for (uint32_t a = next->n_space; a < (uint32_t)next->n_space + next->n_reduce; a++) {
    read[a] = (int64_t)seer_rng_below(rng, (uint64_t)next->axis[a].extent);
  }
  return random_read(frame, maker, read, target, rng, index);
}

static uint64_t n_reads, n_attached, n_halo;

static void check_regions(
    const seer_sketch_list *list, const seer_schedule *schedule, seer_rng *rng) {
  seer_frame frame;
  seer_frame_make(list, schedule, &frame);
  const seer_dag *dag = frame.sketch->dag;
  if (dag->n_var > 4096) return;
  for (uint32_t i = 0; i < frame.sketch->n_order; i++) {
    uint32_t stage = frame.sketch->order[i];
    const seer_frame_stage *s = &frame.stage[stage];
    if (s->place != SEER_PLACE_AT) continue;
    n_attached++;
    const seer_frame_stage *at = &frame.stage[s->at];
    const seer_dag_stage *at_dag = &dag->stage[s->at];
    seer_region region[SEER_DAG_MAX_AXES];
    seer_frame_region_start(&frame, stage, s->at, s->depth, region);
    for (int probe = 0; probe < 40; probe++) {
      // A visit: values of the loops outside, then a point inside, all within the axes.
      int64_t base[SEER_DAG_MAX_AXES], value[SEER_DAG_MAX_AXES], end[SEER_DAG_MAX_AXES];
      bool is_inside = true;
      for (uint32_t a = 0; a < (uint32_t)at_dag->n_space + at_dag->n_reduce; a++) {
        int64_t extent = at_dag->axis[a].extent;
        base[a] = seer_rng_range(rng, 0, extent - at->region[a]);
        end[a] = base[a] + at->region[a];
        value[a] = base[a];
      }
      for (uint32_t l = 0; l < at->n_loop; l++) {
        int64_t step = seer_rng_range(rng, 0, at->loop[l].extent - 1) * at->loop[l].coef;
        value[at->loop[l].axis] += step;
        if (l < s->depth) base[at->loop[l].axis] += step;
      }
      for (uint32_t a = 0; a < (uint32_t)at_dag->n_space + at_dag->n_reduce; a++) {
        is_inside &= value[a] < end[a];
      }
      int64_t index[SEER_DAG_MAX_AXES];
      if (!is_inside || !random_read(&frame, s->at, value, stage, rng, index)) continue;
      n_reads++;
      for (uint32_t d = 0; d < dag->stage[stage].n_space; d++) {
        int64_t sum = 0;
        for (uint32_t t = 0; t < region[d].n; t++)
          sum += region[d].coef[t] * base[region[d].axis[t]];
        assert_int_equal(sum % region[d].div, 0);
        int64_t start = region[d].constant + sum / region[d].div;
        assert_int_equal(region[d].length, s->region[d]);
        if (!region[d].is_whole && region[d].length > 1) n_halo++;
        if (index[d] < start || index[d] >= start + region[d].length) {
          fail_msg("%s: %s dimension %u: reads %d, region is [%d, %d)", frame.sketch->signature,
              dag->stage[stage].name, d, (int)index[d], (int)start,
              (int)(start + region[d].length));
        }
      }
    }
  }
}

static void test_regions_hold_reads(void **state) {
  (void)state;
  n_reads = n_attached = n_halo = 0;
  for_all(check_regions, 10, 200);
  assert_true(n_attached > 2000);
  assert_true(n_reads > 20000);
  assert_true(n_halo > 5000);
}

// ---- hand-made cases

static uint16_t *knob(const seer_sketch_list *list, seer_schedule *schedule, const char *name) {
  const seer_sketch *sketch = list->sketch[schedule->sketch];
  for (uint32_t k = 0; k < sketch->n_knob; k++) {
    if (strcmp(sketch->knob[k].name, name) == 0) return &schedule->knob[k];
  }
  fail_msg("no knob %s", name);
  return NULL;
}

static void test_fused_conv_by_hand(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_sketch_list *list = space_net_sketches(arena, "conv");
  seer_schedule s;
  seer_schedule_default(list, 0, &s);
  *knob(list, &s, "conv.y.1") = 2;
  *knob(list, &s, "conv.y.2") = 3;
  *knob(list, &s, "conv.y.3") = 2;
  *knob(list, &s, "conv.x.1") = 2;
  *knob(list, &s, "conv.x.2") = 1;
  *knob(list, &s, "conv.x.3") = 7;
  *knob(list, &s, "conv.oc.1") = 1;
  *knob(list, &s, "conv.oc.2") = 1;
  *knob(list, &s, "conv.oc.3") = 32;
  *knob(list, &s, "conv.ky.1") = 1;
  *knob(list, &s, "conv.kx.1") = 3;
  *knob(list, &s, "conv.ic.1") = 16;
  *knob(list, &s, "pad.at") = 0;  // deepest: inside conv's R0 loops ky, kx, ic
  assert_true(list->sketch[0]->stage[0].location[0].is_inline);
  *knob(list, &s, "pad.at") = 1;
  seer_frame frame;
  seer_frame_make(list, &s, &frame);
  // relu: S0 y 56 = 5 blocks of 12, x 4 of 14, oc 2 of 32
  const seer_frame_stage *relu = &frame.stage[3], *conv = &frame.stage[1], *pad = &frame.stage[0];
  static const int64_t relu_extent[] = {5, 4, 2, 2, 2, 1, 3, 1, 1, 2, 7, 32};
  static const int64_t relu_coef[] = {12, 14, 32, 6, 7, 32, 2, 7, 32, 1, 1, 1};
  assert_int_equal(relu->n_loop, 12);
  for (uint32_t l = 0; l < 12; l++) {
    assert_int_equal(relu->loop[l].extent, relu_extent[l]);
    assert_int_equal(relu->loop[l].coef, relu_coef[l]);
  }
  assert_int_equal(conv->place, SEER_PLACE_AT);
  assert_int_equal(conv->at, 3);
  assert_int_equal(conv->depth, 6);
  assert_int_equal(conv->region[1], 6);
  assert_int_equal(conv->region[2], 7);
  assert_int_equal(conv->region[3], 32);
  assert_false(conv->is_region_exact[1]);  // 56 = 4 * 12 + 8: the last block of 6 has 2 rows
  assert_true(conv->is_region_exact[2]);
  static const int64_t conv_extent[] = {3, 1, 4, 3, 1, 1, 1, 3, 16, 2, 7, 32};
  for (uint32_t l = 0; l < 12; l++) assert_int_equal(conv->loop[l].extent, conv_extent[l]);
  // pad: inside ky (one row of the window at a time): 6 rows, 7 + 2 columns, 16 channels
  assert_int_equal(pad->place, SEER_PLACE_AT);
  assert_int_equal(pad->at, 1);
  assert_int_equal(pad->depth, 3);
  assert_int_equal(pad->region[1], 6);
  assert_int_equal(pad->region[2], 9);
  assert_int_equal(pad->region[3], 16);
  seer_frame_tile tile = seer_frame_register_tile(&frame, 1);
  assert_int_equal(tile.rows, 14);
  assert_int_equal(tile.vectors, 2);
  assert_int_equal(seer_frame_check(list, &frame), SEER_REJECT_NONE);
  assert_int_equal(seer_frame_local_bytes(&frame), 4 * (6 * 7 * 32 + 6 * 9 * 16));
  seer_arena_destroy(arena);
}

static void test_checks(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_sketch_list *list = space_net_sketches(arena, "conv");
  seer_schedule good, s;
  seer_schedule_default(list, 0, &good);
  assert_int_equal(seer_schedule_check(list, &good), SEER_REJECT_NONE);
  s = good;
  *knob(list, &s, "conv.x.3") = 14;
  *knob(list, &s, "conv.y.3") = 1;
  *knob(list, &s, "conv.oc.3") = 32;
  assert_int_equal(seer_schedule_check(list, &s), SEER_REJECT_NONE);  // 14 * 2 + 2 + 1 = 31
  *knob(list, &s, "conv.oc.3") = 48;
  assert_int_equal(seer_schedule_check(list, &s), SEER_REJECT_REGISTERS);
  *knob(list, &s, "conv.y.3") = 7;
  assert_int_equal(seer_schedule_check(list, &s), SEER_REJECT_UNROLL);
  s = good;
  *knob(list, &s, "conv.y.2") = 56;
  *knob(list, &s, "conv.x.2") = 56;
  *knob(list, &s, "conv.oc.2") = 64;
  // relu's first loop: all of it
  *knob(list, &s, "pad.at") = (uint16_t)(list->sketch[0]->stage[0].n_location - 2);
  assert_int_equal(seer_schedule_check(list, &s), SEER_REJECT_LOCAL_BYTES);
  s = good;
  for (uint32_t k = 0; k < s.n; k++) {
    if (list->sketch[0]->knob[k].kind == SEER_KNOB_FACTOR) s.knob[k] = 1;
  }
  *knob(list, &s, "conv.parallel") = 6;
  *knob(list, &s, "conv.oc.3") = 4;
  assert_int_equal(seer_schedule_check(list, &s), SEER_REJECT_NONE);
  *knob(list, &s, "pad.parallel") = 3;  // 58 * 58 * 64 / 4
  *knob(list, &s, "pad.c.1") = 1;
  *knob(list, &s, "pad.at") = (uint16_t)(list->sketch[0]->stage[0].n_location - 1);
  seer_frame frame;
  seer_frame_make(list, &s, &frame);
  assert_int_equal(seer_frame_parts(&frame, 0), 58 * 58 * 16);
  assert_int_equal(seer_frame_check(list, &frame), SEER_REJECT_NONE);
  seer_arena_destroy(arena);
}

// Parallel loops stop where something is attached; a stage whose reader is at the root cannot be
// inside.
static void test_locations_are_mended(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  seer_sketch_list *list = space_net_sketches(arena, "softmax_rows");
  uint32_t plain = list->n - 1;  // no rfactor: mx, ex, sm, out
  assert_string_equal(
      list->sketch[plain]->signature, "direct/simple(out)/simple(sm)/simple(ex)/simple(mx)");
  seer_schedule s;
  seer_schedule_default(list, plain, &s);
  seer_frame frame;
  uint16_t *at_mx = knob(list, &s, "mx.at"), *at_ex = knob(list, &s, "ex.at"),
           *at_sm = knob(list, &s, "sm.at");
  const seer_sketch *sketch = list->sketch[plain];
  uint16_t root_ex = (uint16_t)(sketch->stage[1].n_location - 1),
           root_sm = (uint16_t)(sketch->stage[2].n_location - 1);
  // sm at the root: ex, which sm reads, cannot stay inside out's loops; mx may go to ex's loop.
  *at_sm = root_sm;
  for (uint16_t v = 1; v <= root_ex; v++) {
    *at_ex = v;
    seer_frame_make(list, &s, &frame);
    assert_int_equal(frame.stage[1].place, SEER_PLACE_ROOT);
  }
  *at_mx = 0;  // inside ex's deepest loop
  seer_frame_make(list, &s, &frame);
  assert_int_equal(frame.stage[0].place, SEER_PLACE_AT);
  assert_int_equal(frame.stage[0].at, 1);
  // ex inline: nothing can be attached to it, and mx is read through it by sm and out.
  *at_ex = 0;
  seer_frame_make(list, &s, &frame);
  assert_int_equal(frame.stage[1].place, SEER_PLACE_INLINE);
  assert_int_equal(frame.stage[0].place, SEER_PLACE_ROOT);
  // All inside out's row loop: rows are parallel, columns are not.
  *at_sm = 1;
  *at_ex = 2;
  *at_mx = (uint16_t)(sketch->stage[0].n_location - 2);
  for (uint16_t v = 0; v < sketch->stage[2].n_location; v++) {
    if (sketch->stage[2].location[v].depth == 1) *at_sm = v;
  }
  for (uint16_t v = 0; v < sketch->stage[1].n_location; v++) {
    if (sketch->stage[1].location[v].depth == 1) *at_ex = v;
  }
  *knob(list, &s, "out.parallel") = 2;
  *knob(list, &s, "out.k.1") = 16;
  seer_frame_make(list, &s, &frame);
  assert_int_equal(frame.n_root, 1);
  assert_int_equal(frame.stage[3].n_parallel, 1);
  assert_int_equal(frame.stage[1].region[0], 1);
  assert_int_equal(frame.stage[1].region[1], 77);
  seer_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_loops_cover_axes),
      cmocka_unit_test(test_regions_hold_reads),
      cmocka_unit_test(test_fused_conv_by_hand),
      cmocka_unit_test(test_checks),
      cmocka_unit_test(test_locations_are_mended),
  };
  return cmocka_run_group_tests_name("space/frame", tests, NULL, NULL);
}
