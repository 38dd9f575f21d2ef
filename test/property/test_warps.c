// Random schedules of products of bf16, f16 and TF32 for a GPU whose warps multiply: vector code
// with their products passes its verifier, its interpreter of all items finds no fault in it and
// gives what the direct DAG gives; whole numbers to the bit, real ones, with infinities and NaN
// among them, as near as sums in another order are. Products with steps that are cut, and tiles
// that are left to items, were met, too. Planted: words of an operand exchanged, in vector code; a
// loop that is said to be a product of warps and is none, and one that is none any more, in tile
// IR.
// SEER_TEST: timeout=300 cost=35
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "code/gen/generate.h"
#include "space/items/items.h"
#include "space/lower.h"
#include "support/count.h"
#include "support/loop_check.h"
#include "support/test.h"

// %T: the type in memory; %F: of a factor as it is multiplied, %G of one that is wide already; %W
// what makes a number wide, %N narrow
static const char *const dags[] = {
    "dag p { input $x %T[64, 64] weight $w %T[64, 32] stage y role anchor [m:m<64, n:n<32] "
    "sum[k:k<64] = %F($x[m, k]) * %F($w[k, n]) output $y }",
    // a tail of each
    "dag p { input $x %T[72, 118] weight $w %T[40, 118] stage y role anchor [m:m<72, n:n<40] "
    "sum[k:k<118] = %F($w[n, k]) * %F($x[m, k]) "
    "stage r role epilogue [m:m<72, n:n<40] = max($y[m, n], 0.0) output $r }",
    // computed both, of several
    "dag p { input $x %T[2, 32, 48] input $v %T[2, 40, 48] "
    "stage y role anchor [b:batch<2, m:m<32, n:n<40] sum[k:k<48] = "
    "%F($x[b, m, k]) * %F($v[b, n, k]) output $y }",
    "dag p { input $x %T[2, 32, 48] input $v %T[2, 48, 24] "
    "stage y role anchor [b:batch<2, m:m<32, n:n<24] sum[k:k<48] = "
    "%F($x[b, m, k]) * %F($v[b, k, n]) output $y }",
    // rounded where it is fetched
    "dag p { input $x f32[32, 64] weight $w %T[64, 32] stage y role anchor [m:m<32, n:n<32] "
    "sum[k:k<64] = %F(%N($x[m, k])) * %F($w[k, n]) "
    "stage h role epilogue [m:m<32, n:n<32] = $y[m, n] * 0.5 output $h }",
    // images
    "dag p { input $x %T[14, 14, 32] weight $w %T[24, 32] "
    "stage y role anchor [h:y<14, w:x<14, o:out_channel<24] sum[c:in_channel<32] = "
    "%F($x[h, w, c]) * %F($w[o, c]) output $y }",
    "dag p { input $x %T[8, 8, 32] weight $w %T[16, 3, 3, 32] "
    "stage pad role pad [i:y<10, j:x<10, c:in_channel<32] = "
    "%W($x[i - 1, j - 1, c] if (i >= 1) & (i < 9) & (j >= 1) & (j < 9) else 0.0:%T) "
    "stage y role anchor [h:y<8, w:x<8, o:out_channel<16] "
    "sum[ky:ky<3, kx:kx<3, c:in_channel<32] = "
    "%G($pad[h + ky, w + kx, c]) * %F($w[o, ky, kx, c]) output $y }",
    // whose pixels warps can have as one axis alone: few in a row, an odd number, of two images
    "dag p { input $x %T[2, 7, 7, 32] weight $w %T[16, 3, 3, 32] "
    "stage pad role pad [n:batch<2, i:y<9, j:x<9, c:in_channel<32] = %W($x[n, i - 1, j - 1, "
    "c] if (i >= 1) & (i < 8) & (j >= 1) & (j < 8) else 0.0:%T) "
    "stage y role anchor [n:batch<2, h:y<7, w:x<7, o:out_channel<16] "
    "sum[ky:ky<3, kx:kx<3, c:in_channel<32] = "
    "%G($pad[n, h + ky, w + kx, c]) * %F($w[o, ky, kx, c]) "
    "stage r role epilogue [n:batch<2, h:y<7, w:x<7, o:out_channel<16] = max($y[n, h, w, o], 0.0) "
    "output $r }",
    // three tiles of rows and one row, half a tile of columns
    "dag p { input $x %T[7, 7, 24] weight $w %T[20, 24] "
    "stage y role anchor [h:y<7, w:x<7, o:out_channel<20] sum[c:in_channel<24] = "
    "%F($x[h, w, c]) * %F($w[o, c]) "
    "stage r role epilogue [h:y<7, w:x<7, o:out_channel<20] = max($y[h, w, o], 0.0) output $r }",
};

typedef enum { WHOLE, REAL, HARD } numbers;

static void fill(const void *user, const seer_dag_buf *buf, seer_rng *rng, void *data) {
  numbers of = *(const numbers *)user;
  static const double hard[] = {INFINITY, -INFINITY, NAN, 0.0, -0.0, 1e-40};
  for (int64_t k = 0; k < seer_dag_buf_elems(buf); k++) {
    double v = of == WHOLE ? (double)seer_rng_range(rng, -3, 3) : 2 * seer_rng_f64(rng) - 1;
    if (of == HARD && seer_rng_chance(rng, 0.01))
      v = hard[seer_rng_below(rng, SEER_COUNT_OF(hard))];
    seer_dtype_store_f64(buf->dtype, data, k, v);
  }
}

typedef struct {
  uint32_t n, n_warps, n_implicit, n_padded, n_beside, n_cut, n_parts, n_of_default;
  uint32_t n_planted, n_seen;
  uint32_t n_said, n_said_seen;  // of what tile IR says of loops
} seen;

// Two words of an operand of a product that is drawn are exchanged. False: there is no product.
static bool exchange(seer_vec_code *code, seer_rng *rng) {
  uint32_t n = 0, product = 0, insert[4], n_insert = 0;
  for (uint32_t id = 1; id < code->n; id++) {
    if (code->node[id].op == SEER_VEC_MMA && seer_rng_below(rng, ++n) == 0) product = id;
  }
  if (n == 0) return false;
  seer_vec at = code->node[product].arg[1 + seer_rng_below(rng, 2)];
  for (; code->node[at.i].op == SEER_VEC_INSERT; at = code->node[at.i].arg[0])
    insert[n_insert++] = at.i;
  assert_true(n_insert == 2 || n_insert == 4);
  uint32_t a = (uint32_t)seer_rng_below(rng, n_insert),
           b = (a + 1 + (uint32_t)seer_rng_below(rng, n_insert - 1)) % n_insert;
  seer_vec one = code->node[insert[a]].arg[1];
  code->node[insert[a]].arg[1] = code->node[insert[b]].arg[1];
  code->node[insert[b]].arg[1] = one;
  return true;
}

// One of the tile's loops that runs, of those that are products of warps or of the others; 0: none.
static uint32_t draw_loop(const seer_tile *tile, bool is_of_warps, seer_rng *rng) {
  uint32_t n = 0, drawn = 0;
  for (uint32_t id = 1; id < tile->loop->n_node; id++) {
    if (tile->loop->node[id].kind != SEER_NODE_FOR || tile->of[id].mode != SEER_TILE_LOOP) continue;
    if (tile->of[id].is_of_warps == is_of_warps && seer_rng_below(rng, ++n) == 0) drawn = id;
  }
  return drawn;
}

static void expect_no_warps(seer_tile *tile, seen *s) {
  seer_status status = seer_tile_verify(tile);
  s->n_said++;
  s->n_said_seen += status && strstr(seer_status_message(status), "is no product of warps");
  seer_status_free(status);
}

// What tile IR says of loops, against what they are.
static void plant_in_tile(seer_tile *tile, seer_loop *loop, seer_rng *rng, seen *s) {
  uint32_t other = draw_loop(tile, false, rng), own = draw_loop(tile, true, rng);
  if (other != 0) {
    tile->of[other].is_of_warps = true;
    expect_no_warps(tile, s);
    tile->of[other].is_of_warps = false;
  }
  if (own != 0) {
    uint32_t store = own;
    while (loop->node[store].kind == SEER_NODE_FOR) store = loop->node[store].body;
    seer_combiner sum = loop->node[store].combiner;
    loop->node[store].combiner = SEER_COMBINE_MAX;
    expect_no_warps(tile, s);
    loop->node[store].combiner = sum;
  }
  must(seer_tile_verify(tile));
}

static void plant(const loop_expect *expect, const seer_sketch *sketch, const seer_loop *loop,
    seer_vec_code *code, seer_rng *rng, seen *s, seer_arena *arena) {
  if (!exchange(code, rng)) return;
  void **data = loop_expect_data(expect, sketch, loop, arena);
  must(seer_vec_verify(code));
  must(seer_vec_eval(code, data, rng));
  s->n_planted++;
  s->n_seen += loop_expect_compare(expect, sketch, loop, data, arena) != NULL;
}

// Whether a tile reaches beyond the end of an axis that it has all of.
static bool is_padded(const loop_expect *expect, const seer_schedule *schedule) {
  seer_frame frame;
  seer_frame_make(expect->list, schedule, &frame);
  const seer_dag *dag = frame.sketch->dag;
  for (uint32_t s = 0; s < dag->n_stage; s++) {
    if (frame.sketch->stage[s].role != SEER_ROLE_TILED) continue;
    for (uint32_t a = 0; a < dag->stage[s].n_space; a++)
      if (frame.stage[s].region[a] > dag->stage[s].axis[a].extent) return true;
  }
  return false;
}

static void check(const loop_expect *expect, bool is_whole, const seer_schedule *schedule,
    uint64_t seed, seen *s, bool *out_has_warps) {
  const seer_gen_machine machine = seer_gen_machine_of_items(true);
  seer_arena *arena = seer_arena_create("candidate");
  const seer_sketch *sketch = seer_sketch_of(expect->list, schedule);
  seer_loop *loop = NULL;
  seer_vec_code *code = NULL;
  seer_rng rng;
  seer_rng_init(&rng, seed);
  must(seer_loop_lower(expect->list, schedule, arena, &loop));
  seer_tile *tile = seer_tile_create(loop, &machine.tile, arena);
  must(seer_tile_verify(tile));
  plant_in_tile(tile, loop, &rng, s);
  must(seer_gen_code(loop, &machine, "kernel", arena, &code));
  seer_status status = seer_vec_verify(code);
  void **data = loop_expect_data(expect, sketch, loop, arena);
  if (!status) status = seer_vec_eval(code, data, &rng);
  const char *wrong =
      status ? seer_status_message(status) : loop_expect_compare(expect, sketch, loop, data, arena);
  const char *text = seer_vec_print(code, arena);
  if (wrong)
    fail_msg("%s\n%s\n%s\n%s", wrong, seer_schedule_print(expect->list, schedule, arena),
        seer_tile_print(tile, arena), text);
  *out_has_warps = seer_vec_has_mma(code);
  s->n++;
  s->n_warps += *out_has_warps;
  s->n_implicit += *out_has_warps && strstr(sketch->formulation, "implicit") != NULL;
  s->n_padded += *out_has_warps && is_padded(expect, schedule);
  s->n_parts += *out_has_warps && sketch->n_split > 0;
  s->n_cut +=
      *out_has_warps && (count_words(text, "= dot2 ") > 0 || count_words(text, "= fmuladd ") > 0);
  s->n_beside += !*out_has_warps;
  if (is_whole) plant(expect, sketch, loop, code, &rng, s, arena);
  seer_arena_destroy(arena);
}

// What numbers of a kind are called in a DAG; "": nothing is done to them.
typedef struct {
  uint32_t n_samples;  // of a sketch
  const char *memory, *factor, *wide_factor, *widen, *narrow;
} kind;

static const kind kinds[] = {{12, "bf16", "cast.f32", "", "cast.f32", "cast.bf16"},
    {12, "f16", "cast.f32", "", "cast.f32", "cast.f16"}, {5, "f32", "tf32", "tf32", "", ""}};

static const char *word_of(const kind *of, char letter) {
  return letter == 'T' ? of->memory
      : letter == 'F'  ? of->factor
      : letter == 'G'  ? of->wide_factor
      : letter == 'W'  ? of->widen
                       : of->narrow;
}

// `text` with the kind's words in their places.
static const char *of_kind(const char *text, const kind *of, seer_arena *arena) {
  const char *at = strchr(text, '%');
  if (!at) return text;
  return seer_arena_printf(
      arena, "%.*s%s%s", (int)(at - text), text, word_of(of, at[1]), of_kind(at + 2, of, arena));
}

// Of halves those that take words of two.
static bool has_words(const kind *of, const char *formulation) {
  return strcmp(of->memory, "f32") == 0 || strstr(formulation, "dot2") != NULL;
}

static void check_list(const seer_sketch_list *list, const kind *of, uint64_t seed, seen *s) {
  seer_arena *arena = seer_arena_create("numbers");
  seer_rng rng;
  seer_rng_init(&rng, seed);
  const numbers filled[] = {WHOLE, REAL, HARD};
  const loop_expect *expect[3];
  for (uint32_t k = 0; k < 3; k++) expect[k] = loop_expect_of(list, fill, &filled[k], &rng, arena);
  for (uint32_t k = 0; k < list->n; k++) {
    if (!has_words(of, list->sketch[k]->formulation)) continue;
    seer_schedule schedule;
    bool has_warps;
    seer_schedule_default(list, k, &schedule);
    check(expect[k % 3], k % 3 == 0, &schedule, k, s, &has_warps);
    s->n_of_default += has_warps;
    for (uint32_t n = 0; n < of->n_samples; n++) {
      if (seer_schedule_sample(list, k, &rng, &schedule, NULL) != SEER_REJECT_NONE) continue;
      check(expect[n % 3], n % 3 == 0, &schedule, k * 100 + n, s, &has_warps);
    }
  }
  seer_arena_destroy(arena);
}

static void each_dag(void **state) {
  (void)state;
  seen s = {0};
  for (size_t k = 0; k < SEER_COUNT_OF(kinds) * SEER_COUNT_OF(dags); k++) {
    const kind *of = &kinds[k % SEER_COUNT_OF(kinds)];
    seer_arena *arena = seer_arena_create("test");
    seer_target target;
    seer_sketch_list *list;
    seer_dag *dag = NULL;
    const char *text = of_kind(dags[k / SEER_COUNT_OF(kinds)], of, arena);
    must(seer_target_parse("cuda:sm_80", arena, &target));
    must(seer_dag_parse("test", text, strlen(text), arena, &dag));
    seer_dag_finish(dag);
    must(seer_dag_verify(dag));
    must(seer_sketch_generate(dag, &target, SEER_SPACE_FULL, arena, &list));
    uint32_t before = s.n_warps;
    check_list(list, of, k + 1, &s);
    if (s.n_warps == before) fail_msg("no products of warps: %s", text);
    seer_arena_destroy(arena);
  }
  printf(
      "%u schedules: %u with products of warps (%u of them defaults, %u of pixels as one axis, "
      "%u beyond an axis's end, %u in parts, %u with steps that are cut), %u without\n",
      s.n, s.n_warps, s.n_of_default, s.n_implicit, s.n_padded, s.n_parts, s.n_cut, s.n_beside);
  assert_true(s.n_warps >= s.n / 3 && s.n_beside >= s.n / 20);
  printf("words exchanged: %u of %u are seen\n", s.n_seen, s.n_planted);
  printf("loops said to be products of warps: %u of %u are seen\n", s.n_said_seen, s.n_said);
  assert_true(s.n_said >= 100 && s.n_said_seen == s.n_said);
  assert_true(s.n_planted >= 20 && s.n_seen * 20 >= s.n_planted * 19);
  assert_true(s.n_implicit >= s.n / 10 && s.n_padded >= s.n / 20);
  assert_true(s.n_of_default >= 4 && s.n_parts >= 8 && s.n_cut >= 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_dag)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
