// Images of a batch: which DAGs compute them apart, and what they compute for one (by the
// interpreter, block for block); which steps of networks can be in stretches; which are, on
// machines that are made up.
#include "front/images.h"

#include <string.h>

#include "base/rng.h"
#include "support/test.h"
#include "support/test_target.h"

static seer_context *context;
static seer_arena *arena;

static int setup(void **state) {
  (void)state;
  arena = seer_arena_create("test");
  must(seer_context_create(&context));
  must(seer_context_set(context, "verify", "2"));
  return 0;
}

static int teardown(void **state) {
  (void)state;
  seer_context_destroy(context);
  seer_arena_destroy(arena);
  return 0;
}

// ---- DAGs

static seer_dag *parse(const char *text) {
  seer_dag *dag;
  must(seer_dag_parse("test", text, strlen(text), arena, &dag));
  must(seer_dag_verify(dag));
  seer_dag_finish(dag);
  return dag;
}

// Inputs whose names begin with x are images.
static bool split(
    const seer_dag *dag, uint32_t n, bool *is_split, seer_dag **out, const char **why) {
  for (uint32_t b = 0; b < dag->n_buf; b++)
    is_split[b] = dag->buf[b].kind == SEER_BUF_ACTIVATION && dag->buf[b].name[0] == 'x';
  return seer_images_one(dag, n, is_split, arena, out, why);
}

static float *evaluate(const seer_dag *dag, float *const *input, uint32_t *out_buf) {
  seer_dag_eval *eval = seer_dag_eval_create(dag, arena);
  for (uint32_t b = 0; b < dag->n_buf; b++)
    if (dag->buf[b].kind != SEER_BUF_STAGE) seer_dag_eval_set_input(eval, b, input[b]);
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    if (!dag->buf[b].is_output) continue;
    float *out = seer_arena_alloc(arena, (size_t)seer_dag_buf_elems(&dag->buf[b]) * 4, 64);
    seer_dag_eval_all(eval, b, out);
    *out_buf = b;
    return out;
  }
  fail_msg("no output");
  return NULL;
}

// Block i of the answer for all is the answer for block i.
static void check_blocks(
    const seer_dag *dag, const seer_dag *one, uint32_t n, const bool *is_split) {
  float *input[SEER_DAG_MAX_BUFFERS], *part[SEER_DAG_MAX_BUFFERS];
  seer_rng rng;
  seer_rng_init(&rng, 3);
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    size_t m = (size_t)seer_dag_buf_elems(&dag->buf[b]);
    input[b] = seer_arena_alloc(arena, m * 4, 64);
    for (size_t i = 0; i < m; i++) input[b][i] = (float)(seer_rng_f64(&rng) * 2 - 1);
  }
  uint32_t out;
  const float *want = evaluate(dag, input, &out);
  size_t m = (size_t)seer_dag_buf_elems(&one->buf[out]);
  for (uint32_t k = 0; k < n; k++) {
    for (uint32_t b = 0; b < dag->n_buf; b++)
      part[b] = input[b] + (is_split[b] ? k * (size_t)seer_dag_buf_elems(&one->buf[b]) : 0);
    const float *got = evaluate(one, part, &out);
    assert_memory_equal(got, want + k * m, m * 4);
  }
}

static void can(const char *text, uint32_t n) {
  const seer_dag *dag = parse(text);
  bool is_split[SEER_DAG_MAX_BUFFERS];
  seer_dag *one;
  const char *why;
  if (!split(dag, n, is_split, &one, &why)) fail_msg("%s\n%s", why, text);
  check_blocks(dag, one, n, is_split);
}

static void cannot(const char *text, uint32_t n, const char *because) {
  bool is_split[SEER_DAG_MAX_BUFFERS];
  seer_dag *one;
  const char *why;
  if (split(parse(text), n, is_split, &one, &why)) fail_msg("accepted: %s", text);
  if (!strstr(why, because)) fail_msg("'%s' of\n%s", why, text);
}

#define PRODUCT             \
  "  weight $w f32[3, 4]\n" \
  "  stage p role anchor [m:m<12, n:n<3] sum[k:k<4] = $x[m, k] * $w[n, k]\n"

static void apart(void **state) {
  (void)state;
  // rows of a product, of one image and of several
  can("dag a {\n  input $x f32[12, 4]\n" PRODUCT "  output $p\n}\n", 12);
  can("dag a {\n  input $x f32[12, 4]\n" PRODUCT "  output $p\n}\n", 3);
  // a window with its guard, a table that all images add, a view by quotient and remainder
  can("dag a {\n  input $x f32[3, 5, 2]\n"
      "  stage s role anchor [b:batch<3, y:y<5, c<2] sum[ky:ky<3] = $x[b, y + ky - 1, c] if (0 <= "
      "y + ky - 1) & (y + ky - 1 < 5) else 0.0\n  output $s\n}\n",
      3);
  can("dag a {\n  input $x f32[12, 4]\n  input $t f32[4, 4]\n"
      "  stage s role anchor [m<12, c<4] = $x[m, c] + $t[m % 4, c]\n  output $s\n}\n",
      3);
  can("dag a {\n  input $x f32[12, 4]\n"
      "  stage s role anchor [b<3, y<4, c<4] = $x[b * 4 + y, c]\n  output $s\n}\n",
      3);
  can("dag a {\n  input $x f32[3, 4, 4]\n"
      "  stage s role anchor [m<12, c<4] = $x[m / 4, m % 4, c]\n  output $s\n}\n",
      3);
  // a stage that all images share, and one with a row for each
  can("dag a {\n  input $x f32[3, 4]\n  input $t f32[4]\n"
      "  stage e role prologue [c<4] = exp($t[c])\n"
      "  stage s role anchor [b<3] sum[c<4] = $x[b, c] * $e[c]\n  output $s\n}\n",
      3);
}

static void not_apart(void **state) {
  (void)state;
  const char *own = "reads more than its own image";
  // a maximum and a sum over the batch, of other rows, turned round, the next image, by a shift
  cannot(
      "dag a {\n  input $x f32[3, 4]\n  stage s role anchor [b<3, c<4] max[i<3] = $x[i, c]\n"
      "  output $s\n}\n",
      3, own);
  cannot(
      "dag a {\n  input $x f32[3, 4]\n  stage m role anchor [c<3] sum[i<3] = $x[i, c]\n"
      "  stage s role epilogue [b<3, c<3] = $x[b, c] / $m[c]\n  output $s\n}\n",
      3, own);
  cannot(
      "dag a {\n  input $x f32[3, 4]\n  stage s role anchor [b<3, c<4] = $x[2 - b, c]\n"
      "  output $s\n}\n",
      3, own);
  cannot(
      "dag a {\n  input $x f32[3, 4]\n  stage s role anchor [b<3, c<4] = $x[b + 1, c] if (b + 1 < "
      "3) else 0.0\n  output $s\n}\n",
      3, own);
  cannot(
      "dag a {\n  input $x f32[12, 4]\n  stage s role anchor [b<12, c<4] = $x[b + 1, c] if (b + 1 "
      "< 12) else 0.0\n  output $s\n}\n",
      3, own);
  // the batch goes to the middle; it was there
  cannot(
      "dag a {\n  input $x f32[3, 3]\n  stage s role anchor [c<3, b<3] = $x[b, c]\n  output "
      "$s\n}\n",
      3, own);
  cannot(
      "dag a {\n  input $x f32[3, 3]\n  stage s role anchor [c<3, b<3] = $x[0, b] + $x[c, 1]\n"
      "  output $s\n}\n",
      3, own);
  // joined along the batch: other blocks
  cannot(
      "dag a {\n  input $x f32[3, 4]\n  stage s role anchor [b<6, c<4] = $x[b, c] if (b < 3) else "
      "0.0\n  output $s\n}\n",
      3, own);
  // strides of images, the number of an image, an output without any
  cannot(
      "dag a {\n  input $x f32[6, 4]\n  stage s role anchor [b<3, c<4] = $x[b * 2 + 1, c] * "
      "cast.f32(b)\n  output $s\n}\n",
      3, own);
  cannot("dag a {\n  input $t f32[3]\n  stage s role anchor [b<3] = $t[b]\n  output $s\n}\n", 3,
      "reads no image");
  // not as many
  cannot("dag a {\n  input $x f32[12, 4]\n" PRODUCT "  output $p\n}\n", 5, "as many images");
  // rows of one image that begin in another one's: block 0 alone does not have them
  cannot(
      "dag a {\n  input $x f32[12, 4]\n  stage s role anchor [b<3, y<4, c<4] = $x[b * 4 + y + 2, "
      "c] if (b * 4 + y + 2 < 12) else 0.0\n  output $s\n}\n",
      3, own);
}

// ---- networks

static seer_network *network_of(const char *text, const char *how) {
  seer_graph *graph;
  seer_network *network;
  must(seer_graph_parse("test", text, strlen(text), arena, &graph));
  must(seer_front_resolve(graph, "", NULL));
  must(seer_front_run_passes(context, graph));
  must(seer_network_build(context, graph, arena, &network));
  seer_target target = test_target_read("laptop", arena);
  seer_context_set_target(context, &target);
  must(seer_context_set(context, "images", how));
  must(seer_images_make(context, network, arena));
  must(seer_context_set(context, "images", "auto"));
  return network;
}

static void stretches(void **state) {
  (void)state;
  const char *text =
      "graph \"g\" {\n  input %x f32[4,6]\n  const $w f32[6,6] = splat 0.5\n"
      "  %a ? = MatMul \"a\" v13 (%x, $w)\n  %b ? = Tanh \"b\" v13 (%a)\n"
      "  %c ? = MatMul \"c\" v13 (%b, $w)\n  %d ? = Softmax \"d\" v13 (%c) {axis=0}\n"
      "  %e ? = MatMul \"e\" v13 (%d, $w)\n  %f ? = MatMul \"f\" v13 (%e, $w)\n  output %f\n}\n";
  seer_network *network = network_of(text, "apart");
  assert_int_equal(network->n_stretch, 2);
  const seer_stretch *last = &network->stretch[1];
  assert_int_equal(network->stretch[0].first, 0);
  assert_int_equal(last->first + last->n_step, network->n_step);
  assert_true(network->stretch[0].n_step + last->n_step < network->n_step);
  assert_string_equal(network->step[last->first].name, "e");
  assert_int_equal(last->n_images, 4);
  assert_true(last->is_apart);
  // Tasks are those of one image, counted by images.
  assert_int_equal(network->task[network->step[last->first].task].dag->buf[0].dim[0] *
          network->task[network->step[last->first].task].dag->buf[1].dim[0],
      6);
  uint32_t weight = 0;
  for (uint32_t t = 0; t < network->n_task; t++) weight += network->task[t].weight;
  assert_true(weight >= 4 * 4 + 1);
  assert_int_equal(network_of(text, "whole")->n_stretch, 0);
  // Verified: a step too many, one that is not split, stretches that overlap.
  network->stretch[0].n_step++;
  seer_status status = seer_network_verify(network);
  assert_non_null(status);
  seer_status_free(status);
  network->stretch[0].n_step--;
  network->stretch[1].n_images = 2;
  status = seer_network_verify(network);
  assert_non_null(status);
  seer_status_free(status);
  network->stretch[1].n_images = 4;
  must(seer_network_verify(network));
}

// A batch of 1, and a first dimension that nobody computes apart.
static void no_stretches(void **state) {
  (void)state;
  assert_int_equal(
      network_of("graph \"g\" {\n  input %x f32[1,6]\n  const $w f32[6,6] = splat 0.5\n"
                 "  %y ? = MatMul \"y\" v13 (%x, $w)\n  output %y\n}\n",
          "each")
          ->n_stretch,
      0);
  assert_int_equal(
      network_of("graph \"g\" {\n  input %x f32[4,6]\n  const $w f32[6,4] = splat 0.5\n"
                 "  %y ? = MatMul \"y\" v13 ($w, %x)\n  output %y\n}\n",
          "each")
          ->n_stretch,
      0);
}

// ---- choices

enum { MIB = 1 << 20 };

static uint32_t chosen(const char *target, uint32_t n_images, const seer_images_cost *step,
    uint32_t n_step, seer_images_choice *out) {
  const seer_target machine = test_target_read(target, arena);
  uint32_t n = seer_images_choose(&machine, n_images, step, n_step, out);
  for (uint32_t k = 0; k < n; k++) {
    assert_true(out[k].n_step > 0 && out[k].first + out[k].n_step <= n_step);
    assert_true(k == 0 || out[k].first >= out[k - 1].first + out[k - 1].n_step);
  }
  return n;
}

// First layers, whose values do not fit for eight and do for one, are made image by image; last
// layers, with more weights than values, for all at once. On every machine.
static void large_values_by_image(void **state) {
  (void)state;
  enum { N = 8, EARLY = 4 };
  seer_images_cost step[N];
  for (uint32_t k = 0; k < N; k++)
    step[k] = k < EARLY ? (seer_images_cost){MIB / 8, MIB / 8, 1e6, 4096}
                        : (seer_images_cost){MIB / 256, MIB / 256, 1e6, 4 * MIB};
  for (uint32_t t = 0; t < TEST_TARGETS; t++) {
    // as many images as make 64 MiB of a value
    seer_images_choice choice[N];
    uint32_t n = chosen(test_target_names[t], 512, step, N, choice);
    assert_int_equal(n, 1);
    assert_int_equal(choice[0].first, 0);
    assert_in_range(choice[0].n_step, EARLY, EARLY + 1);
  }
}

// What fits for all images, and is worth no hand-over, runs whole; so does one step alone.
static void small_values_whole(void **state) {
  (void)state;
  seer_images_cost step[3] = {{4096, 4096, 1e6, 65536}, {0, 0, 0, 0}, {4096, 4096, 1e6, 65536}};
  const seer_images_cost large = {64 * MIB, 64 * MIB, 1e6, 4096};
  seer_images_choice choice[3];
  assert_int_equal(chosen("one-core", 8, step, 3, choice), 0);
  for (uint32_t t = 0; t < TEST_TARGETS; t++)
    assert_int_equal(chosen(test_target_names[t], 8, &large, 1, choice), 0);
}

// An image a thread spares hand-overs, where there are as many images as threads; a single image
// more leaves all but one thread idle for as long as an image takes.
static void image_a_thread(void **state) {
  (void)state;
  enum { N = 20 };
  seer_images_cost step[N];
  for (uint32_t k = 0; k < N; k++) step[k] = (seer_images_cost){49152, 49152, 1e6, 4096};
  seer_images_choice choice[N];
  assert_int_equal(chosen("laptop", 8, step, N, choice), 1);
  assert_true(choice[0].is_apart);
  assert_int_equal(choice[0].n_step, N);
  for (uint32_t k = 0; k < N; k++) step[k].flops = 1e8;
  assert_int_equal(chosen("laptop", 5, step, N, choice), 0);
  assert_int_equal(chosen("one-core", 8, step, N, choice), 0);  // nothing to hand over
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(apart),
      cmocka_unit_test(not_apart),
      cmocka_unit_test(stretches),
      cmocka_unit_test(no_stretches),
      cmocka_unit_test(large_values_by_image),
      cmocka_unit_test(small_values_whole),
      cmocka_unit_test(image_a_thread),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
