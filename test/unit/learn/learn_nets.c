#include "learn_nets.h"

#include <math.h>
#include <string.h>

#include "support/test.h"

const learn_net learn_nets[] = {
    {"gemm",
        "dag gemm {\n"
        "  input $a f32[64, 64]\n"
        "  weight $b f32[64, 64]\n"
        "  stage c role anchor [m:m<64, n:n<64] sum[k:k<64] = $a[m, k] * $b[k, n]\n"
        "  output $c\n}\n"},
    {"gemm_relu",
        "dag gemm_relu {\n"
        "  input $a f32[126, 96]\n"
        "  weight $b f32[96, 200]\n"
        "  stage c role anchor [m:m<126, n:n<200] sum[k:k<96] = $a[m, k] * $b[k, n]\n"
        "  stage relu role epilogue [m:m<126, n:n<200] = max($c[m, n], 0.0)\n"
        "  output $relu\n}\n"},
    {"conv",
        "dag conv {\n"
        "  input $x f32[1, 28, 28, 32]\n"
        "  weight $w f32[32, 3, 3, 32]\n"
        "  stage pad role pad [n:batch<1, y:y<30, x:x<30, c:in_channel<32] = $x[n, y - 1, x - 1, "
        "c] if (y >= 1) & (y < 29) & ((x >= 1) & (x < 29)) else 0.0\n"
        "  stage conv role anchor [n:batch<1, y:y<28, x:x<28, oc:out_channel<32] sum[ky:ky<3, "
        "kx:kx<3, ic:in_channel<32] = $pad[n, y + ky, x + kx, ic] * $w[oc, ky, kx, ic]\n"
        "  output $conv\n}\n"},
    {"depthwise",
        "dag depthwise {\n"
        "  input $x f32[1, 28, 28, 96]\n"
        "  weight $w f32[3, 3, 96]\n"
        "  stage pad role pad [n:batch<1, y:y<30, x:x<30, c<96] = $x[n, y - 1, x - 1, c] if "
        "(y >= 1) & (y < 29) & ((x >= 1) & (x < 29)) else 0.0\n"
        "  stage dw role anchor [n:batch<1, y:y<28, x:x<28, c<96] sum[ky:ky<3, kx:kx<3] = "
        "$pad[n, y + ky, x + kx, c] * $w[ky, kx, c]\n"
        "  output $dw\n}\n"},
    {"pool",
        "dag pool {\n"
        "  input $x f32[1, 28, 28, 30]\n"
        "  stage max role anchor [n:batch<1, y:y<14, x:x<14, c<30] max[ky:ky<2, kx:kx<2] = "
        "$x[n, y * 2 + ky, x * 2 + kx, c]\n"
        "  output $max\n}\n"},
    {"softmax",
        "dag softmax {\n"
        "  input $x f32[7, 1000]\n"
        "  stage mx role prologue [b<7] max[k<1000] = $x[b, k]\n"
        "  stage ex role prologue [b<7, k<1000] = exp($x[b, k] - $mx[b])\n"
        "  stage sm role anchor [b<7] sum[k<1000] = $ex[b, k]\n"
        "  stage out role epilogue [b<7, k<1000] = $ex[b, k] / $sm[b]\n"
        "  output $out\n}\n"},
    {"add",
        "dag add {\n"
        "  input $x f32[512, 1024]\n"
        "  input $y f32[512, 1024]\n"
        "  stage z role anchor [i<512, j<1024] = $x[i, j] + $y[i, j]\n"
        "  output $z\n}\n"},
};
const size_t learn_nets_count = SEER_COUNT_OF(learn_nets);

seer_dag *learn_parse(seer_arena *arena, const char *text) {
  seer_dag *dag;
  must(seer_dag_parse("test", text, strlen(text), arena, &dag));
  must(seer_dag_verify(dag));
  return dag;
}

seer_sketch_list *learn_sketches(
    seer_arena *arena, const seer_dag *dag, const seer_target *target) {
  seer_sketch_list *list;
  must(seer_sketch_generate(dag, target, SEER_SPACE_FULL, arena, &list));
  return list;
}

void learn_each_schedule(const seer_dag *dag, const seer_target *target, uint32_t per_sketch,
    learn_visit visit, void *user) {
  seer_arena *arena = seer_arena_create("test");
  seer_sketch_list *list = learn_sketches(arena, dag, target);
  seer_summariser *summariser = seer_summariser_create(list, arena);
  seer_rng rng;
  seer_rng_init(&rng, 1);
  for (uint32_t k = 0; k < list->n; k++) {
    for (uint32_t i = 0; i < per_sketch; i++) {
      seer_schedule schedule;
      if (seer_schedule_sample(list, k, &rng, &schedule, NULL) != SEER_REJECT_NONE) continue;
      visit(user, list, &schedule, seer_summarise(summariser, &schedule));
    }
  }
  seer_arena_destroy(arena);
}

void learn_near(double value, double want, const char *what) {
  if (!(fabs(value - want) <= 1e-6 * fabs(want))) fail_msg("%s: %.9g, not %.9g", what, value, want);
}

size_t learn_column(const seer_feature_set *set, const char *name) {
  for (size_t c = 0; c < set->n_column; c++) {
    if (strcmp(set->column[c], name) == 0) return c;
  }
  fail_msg("no column %s", name);
  return 0;
}

void learn_expect(
    const seer_feature_set *set, const float *row, const learn_expectation *all, size_t n) {
  for (size_t i = 0; i < n; i++) {
    double value = (double)row[learn_column(set, all[i].name)];
    if (!(fabs(value - all[i].value) <= 1e-5 * fmax(1, fabs(all[i].value))))
      fail_msg("%s: %.8g, not %.8g", all[i].name, value, all[i].value);
  }
}

// ---- by hand

seer_nest_loop learn_loop(int64_t extent, seer_loop_ann ann, bool is_reduce) {
  return (seer_nest_loop){
      .extent = extent, .ann = (uint8_t)ann, .is_reduce = is_reduce, .is_exact = true};
}

seer_nest_access *learn_access(seer_nest_statement *st, seer_nest_storage storage, bool is_write,
    uint8_t rank, const int64_t *dim) {
  seer_nest_access *access = &st->access[st->n_access];
  access->buf = st->n_access++;
  access->storage = storage;
  access->is_write = is_write;
  access->is_guarded = access->is_whole = access->is_weight = access->is_narrow = false;
  access->visit = 0;
  access->is_first = false;
  access->elem_bytes = 4;
  access->rank = rank;
  access->row_pitch = rank ? dim[rank - 1] : 1;
  memset(access->loop_dim, SEER_NEST_NO_DIM, sizeof access->loop_dim);
  memset(access->loop_coef, 0, sizeof access->loop_coef);
  for (uint32_t d = 0; d < rank; d++) {
    access->dim[d] = dim[d];
    access->span[d] = 1;
  }
  return access;
}

void learn_move(seer_nest_access *access, uint32_t loop, uint8_t dim, int32_t coef) {
  access->loop_dim[loop] = dim;
  access->loop_coef[loop] = coef;
}

// A nest of one statement in one phase, its loops given, without accesses and operations.
static seer_nest_statement *begin(
    seer_nest *nest, const seer_nest_loop *loops, uint32_t n_loop, uint32_t first_tile) {
  nest->n_statement = nest->n_phase = 1;
  nest->n_left_out = 0;
  nest->local_bytes = nest->packed_bytes = 0;
  nest->n_parts[0] = 1;
  seer_nest_statement *st = &nest->statement[0];
  memset(st, 0, offsetof(seer_nest_statement, loop));
  st->n_loop = (uint8_t)n_loop;
  st->first_tile = (uint8_t)first_tile;
  st->max_unroll = 1;
  st->iterations = 1;
  for (uint32_t l = 0; l < n_loop; l++) {
    st->loop[l] = loops[l];
    st->iterations *= (double)loops[l].extent;
    if (loops[l].ann == SEER_LOOP_PARALLEL) nest->n_parts[0] *= (double)loops[l].extent;
  }
  st->padded_iterations = st->iterations;
  return st;
}

void learn_gemm(seer_nest *out) {
  const seer_nest_loop loops[] = {learn_loop(8, SEER_LOOP_PARALLEL, false),
      learn_loop(2, SEER_LOOP_SERIAL, false), learn_loop(64, SEER_LOOP_SERIAL, true),
      learn_loop(8, SEER_LOOP_UNROLL, false), learn_loop(32, SEER_LOOP_VECTOR, false)};
  const int64_t dim[2] = {64, 64};
  seer_nest_statement *st = begin(out, loops, 5, 3);
  st->is_reduction = true;
  st->max_unroll = 4;
  st->n_fma = 1;
  seer_nest_access *c = learn_access(st, SEER_NEST_ARG, true, 2, dim);
  learn_move(c, 0, 0, 8);
  learn_move(c, 1, 1, 32);
  learn_move(c, 3, 0, 1);
  learn_move(c, 4, 1, 1);
  seer_nest_access *a = learn_access(st, SEER_NEST_ARG, false, 2, dim);
  learn_move(a, 0, 0, 8);
  learn_move(a, 2, 1, 1);
  learn_move(a, 3, 0, 1);
  seer_nest_access *b = learn_access(st, SEER_NEST_PACKED, false, 2, dim);
  learn_move(b, 1, 1, 32);
  learn_move(b, 2, 0, 1);
  learn_move(b, 4, 1, 1);
  out->packed_bytes = 64 * 64 * 4;
}

void learn_map(seer_nest *out) {
  const seer_nest_loop loops[] = {learn_loop(4, SEER_LOOP_PARALLEL, false),
      learn_loop(64, SEER_LOOP_SERIAL, false), learn_loop(16, SEER_LOOP_VECTOR, false)};
  const int64_t dim[1] = {4096};
  seer_nest_statement *st = begin(out, loops, 3, 2);
  st->n_add = 1;
  for (int k = 0; k < 2; k++) {
    seer_nest_access *access = learn_access(st, SEER_NEST_ARG, k == 0, 1, dim);
    learn_move(access, 0, 0, 1024);
    learn_move(access, 1, 0, 16);
    learn_move(access, 2, 0, 1);
  }
}

void learn_depthwise(seer_nest *out) {
  const seer_nest_loop loops[] = {learn_loop(8, SEER_LOOP_SERIAL, false),
      learn_loop(2, SEER_LOOP_SERIAL, false), learn_loop(3, SEER_LOOP_SERIAL, true),
      learn_loop(3, SEER_LOOP_SERIAL, true), learn_loop(4, SEER_LOOP_UNROLL, false),
      learn_loop(16, SEER_LOOP_VECTOR, false)};
  const int64_t y_dim[] = {8, 8, 16}, x_dim[] = {10, 10, 16}, w_dim[] = {3, 3, 16};
  seer_nest_statement *st = begin(out, loops, 6, 4);
  st->is_reduction = true;
  st->max_unroll = 4;
  st->n_fma = 1;
  for (int k = 0; k < 2; k++) {
    seer_nest_access *access = k == 0 ? learn_access(st, SEER_NEST_ARG, true, 3, y_dim)
                                      : learn_access(st, SEER_NEST_SHARED, false, 3, x_dim);
    learn_move(access, 0, 0, 1);
    learn_move(access, 1, 1, 4);
    learn_move(access, 4, 1, 1);
    learn_move(access, 5, 2, 1);
    if (k == 0) continue;
    learn_move(access, 2, 0, 1);
    learn_move(access, 3, 1, 1);
  }
  seer_nest_access *w = learn_access(st, SEER_NEST_PACKED, false, 3, w_dim);
  learn_move(w, 2, 0, 1);
  learn_move(w, 3, 1, 1);
  learn_move(w, 5, 2, 1);
  out->packed_bytes = 3 * 3 * 16 * 4;
}
