// The passes and the fusion: what they do to small networks that show each rewrite, and that what
// comes out computes the same, on those and on random ones.
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "support/net_eval.h"
#include "support/test_arena.h"

static uint32_t count_op(const seer_network *network, const char *op) {
  uint32_t n = 0;
  for (uint32_t k = 1; k < network->graph->n_node; k++)
    n += strcmp(network->graph->node[k].op_type, op) == 0;
  return n;
}

static uint32_t count_steps(const seer_network *network, seer_step_kind kind) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < network->n_step; k++) n += network->step[k].kind == kind;
  return n;
}

static void mlp_is_one_task_per_layer(void **state) {
  (void)state;
  seer_network *network = net_check_text(
      "graph \"mlp\" { input %x f32[1,4] const $w f32[4,8] = splat 0.5 const $b f32[8] = splat "
      "0.125\n"
      "const $w2 f32[8,8] = splat 0.25 const $w3 f32[8,3] = splat 0.25 const $b3 f32[3] = [1,2,3]\n"
      "%h f32 = Gemm \"d1\" v13 (%x, $w, $b)  %r f32 = Relu \"r1\" v13 (%h)\n"
      "%h2 f32 = MatMul \"d2\" v13 (%r, $w2)  %h2b f32 = Add \"d2b\" v13 (%h2, $b)\n"
      "%s f32 = Add \"res\" v13 (%h2b, %r)  %r2 f32 = Relu \"r2\" v13 (%s)\n"
      "%o f32 = Gemm \"d3\" v13 (%r2, $w3, $b3)  %oi f32 = Identity \"id\" v13 (%o) output %oi }",
      1e-5, arena);
  assert_int_equal(network->n_step, 3);
  assert_string_equal(network->task[0].name, "gemm 1x4->8 +relu");
  assert_string_equal(network->task[1].name, "matmul 1x8->8 +add +add +relu");
  assert_string_equal(network->graph->value[network->graph->output[0].i].name, "oi");
}

// Conv + BatchNormalization + Mul + Add become one Conv; without a bias before.
static void batch_norm_goes_into_the_convolution(void **state) {
  (void)state;
  seer_network *network = net_check_text(
      "graph \"g\" { input %x f32[1,3,5,5]\n"
      "const $w f32[2,3,3,3] = "
      "[1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,9,8,7,6,5,4,3,2,1,9,8,7,6,5,4,3,2,"
      "1,9,8,7,6,5,4,3,2,1]\n"
      "const $s f32[2] = [0.5,2] const $b f32[2] = [1,-1] const $m f32[2] = [3,4] const $v f32[2] "
      "= [4,9]\n"
      "const $m2 f32[2,1,1] = [2,3] const $a2 f32[1,2,1,1] = [5,6]\n"
      "%c f32 = Conv \"c\" v13 (%x, $w) {pads=[1,1,1,1]}\n"
      "%n f32 = BatchNormalization \"n\" v13 (%c, $s, $b, $m, $v) {epsilon=float 0.001}\n"
      "%p f32 = Mul \"p\" v13 ($m2, %n)  %q f32 = Add \"q\" v13 (%p, $a2)  %r f32 = Relu \"r\" v13 "
      "(%q) output %r }",
      1e-5, arena);
  assert_int_equal(network->n_step, 1);
  assert_int_equal(network->graph->n_node, 3);
  assert_string_equal(network->task[0].name, "conv 3x3 s1 5x5x3->2 +relu");
}

// A Conv whose result is read twice keeps its weights; the BatchNormalization becomes Mul and Add.
static void batch_norm_elsewhere_becomes_mul_and_add(void **state) {
  (void)state;
  seer_network *network = net_check_text(
      "graph \"g\" { input %x f32[1,2,4,4] const $w f32[2,2,1,1] = [1,2,3,4]\n"
      "const $s f32[2] = [0.5,2] const $b f32[2] = [1,-1] const $m f32[2] = [3,4] const $v f32[2] "
      "= [4,9]\n"
      "%c f32 = Conv \"c\" v13 (%x, $w)\n"
      "%n f32 = BatchNormalization \"n\" v13 (%c, $s, $b, $m, $v)\n"
      "%y f32 = Add \"y\" v13 (%n, %c) output %y }",
      1e-5, arena);
  assert_int_equal(count_op(network, "BatchNormalization"), 0);
  assert_int_equal(count_op(network, "Mul"), 1);
  assert_int_equal(network->n_step, 1);  // the diamond joins the convolution
}

static void zero_pad_goes_into_the_convolution(void **state) {
  (void)state;
  const char *text =
      "graph \"g\" { input %%x f32[1,2,4,5] const $w f32[2,2,3,3] = splat 0.5 const $p i64[8] = "
      "[0,0,1,2,0,0,0,1]\n"
      "const $v f32[] = [%s]\n"
      "%%q f32 = Pad \"pad\" v13 (%%x, $p, $v)\n"
      "%%y f32 = Conv \"c\" v13 (%%q, $w) {pads=[1,0,1,0]} output %%y }";
  char full[1000];
  snprintf(full, sizeof full, text, "0");
  assert_int_equal(count_op(net_check_text(full, 1e-5, arena), "Pad"), 0);
  snprintf(full, sizeof full, text, "1");
  seer_network *network = net_check_text(full, 1e-5, arena);
  assert_int_equal(count_op(network, "Pad"), 1);
  assert_int_equal(network->n_step, 1);  // as a prologue
}

// conv -> pool -> flatten -> gemm: inside channels last, weights permuted, no copy.
static void flatten_costs_nothing(void **state) {
  (void)state;
  char text[8000];
  int n = snprintf(text, sizeof text,
      "graph \"g\" { input %%x f32[2,3,6,6] const $w f32[4,3,3,3] = splat 0.25 const $d f32[16,5] "
      "= [");
  for (int k = 0; k < 80; k++)
    n += snprintf(text + n, sizeof text - (size_t)n, "%s%d", k ? "," : "", (k * 37) % 11 - 5);
  // 80 elements are too many for a printed list, but not for a parsed one
  n += snprintf(text + n, sizeof text - (size_t)n, "] const $e f32[5,16] = [");
  for (int k = 0; k < 80; k++)
    n += snprintf(text + n, sizeof text - (size_t)n, "%s%d", k ? "," : "", (k * 29) % 13 - 6);
  const char *rest =
      "] const $b f32[4] = [1,2,3,4] %c f32 = Conv \"c\" v13 (%x, $w, $b) {strides=[1,1]}\n"
      "%p f32 = MaxPool \"p\" v12 (%c) {kernel_shape=[2,2], strides=[2,2]}\n"
      "%f f32 = Flatten \"f\" v13 (%p)  %g f32 = Gemm \"g\" v13 (%f, $d)  %h f32 = Gemm \"h\" v13 "
      "(%f, $e) {transB=1}\n"
      "%y f32 = Sub \"y\" v13 (%g, %h) output %y }";
  memcpy(text + n, rest, strlen(rest) + 1);
  seer_network *network = net_check_text(text, 1e-5, arena);
  assert_int_equal(count_steps(network, SEER_STEP_COPY), 0);
  assert_int_equal(count_steps(network, SEER_STEP_VIEW), 2);
}

// A channel shuffle: the reshapes are free in channels last, the transpose is folded into its
// reader.
static void shuffle_needs_no_copy_of_its_own(void **state) {
  (void)state;
  seer_network *network = net_check_text(
      "graph \"g\" { input %x f32[1,4,3,3] const $w f32[6,4,1,1] = splat 0.5 const $w2 "
      "f32[6,1,3,3] = splat 0.25\n"
      "const $s f32[6,1,1] = [1,2,3,4,5,6] const $s1 i64[5] = [1,2,3,3,3] const $s2 i64[4] = "
      "[1,6,3,3]\n"
      "%c f32 = Conv \"c\" v13 (%x, $w) %m f32 = Mul \"m\" v13 (%c, $s) %r f32 = Reshape \"r\" v13 "
      "(%m, $s1)\n"
      "%t f32 = Transpose \"t\" v13 (%r) {perm=[0,2,1,3,4]} %q f32 = Reshape \"q\" v13 (%t, $s2)\n"
      "%d f32 = Conv \"d\" v13 (%q, $w2) {group=6, pads=[1,1,1,1]} output %d }",
      1e-5, arena);
  assert_int_equal(count_steps(network, SEER_STEP_VIEW), 2);
}

// Unused outputs count: four equal parts, of which the second is read; listed parts, of which the
// last is.
static void split_becomes_slices(void **state) {
  (void)state;
  seer_network *network = net_check_text(
      "graph \"g\" { input %x f32[1,8,2,2] const $w f32[3,2,1,1] = [1,2,3,4,5,6] const $n i64[3] = "
      "[3,1,4]\n"
      "_, %b f32, _, _ = Split \"s\" v13 (%x) {axis=1} %c f32 = Conv \"c\" v13 (%b, $w)\n"
      "_, %d f32, %e f32 = Split \"t\" v13 (%x, $n) {axis=1} %f f32 = Relu \"f\" v13 (%e)\n"
      "output %c output %d output %f }",
      1e-5, arena);
  assert_int_equal(count_op(network, "Split"), 0);
  assert_int_equal(count_op(network, "Slice"), 3);
  assert_int_equal(network->n_step, 3);
  assert_string_equal(network->task[network->step[0].task].name, "slice+ conv 1x1 s1 2x2x2->3");
}

static void outputs_keep_their_names(void **state) {
  (void)state;
  // An output that is an input, a constant, the reshape of an input, the reshape of another output.
  net_check_text(
      "graph \"g\" { input %x f32[2,3] const $k f32[2] = [1,2] const $s i64[1] = [6]\n"
      "%v f32 = Reshape \"v\" v13 (%x, $s) %r f32 = Relu \"r\" v13 (%x) %w f32 = Reshape \"w\" v13 "
      "(%r, $s)\n"
      "%c f32 = Identity \"i\" v13 ($k) output %c output %v output %r output %w }",
      0, arena);
}

static void equal_subgraphs_are_one_task(void **state) {
  (void)state;
  seer_network *network = net_check_text(
      "graph \"g\" { input %x f32[1,8] const $w f32[8,8] = splat 0.5 const $v f32[8,8] = splat "
      "0.25\n"
      "const $z f32[] = [0] const $six f32[] = [6] const $one f32[] = [1]\n"
      "%a f32 = Gemm \"a\" v13 (%x, $w) %b f32 = Clip \"b\" v13 (%a, $z, $six)\n"
      "%c f32 = Gemm \"c\" v13 (%b, $v) %d f32 = Clip \"d\" v13 (%c, $z, $one) output %d }",
      1e-5, arena);
  assert_int_equal(network->n_task, 1);  // one to tune
  assert_int_equal(network->task[0].weight, 2);
  assert_true(network->step[0].content != network->step[1].content);  // two kernels
}

static void rows_of_large_powers_of_two_get_a_pitch(void **state) {
  (void)state;
  seer_network *network = net_check_text(
      "graph \"g\" { input %x f32[3,4] const $w f32[4,1024] = splat 0.5 const $v f32[1024,2] = "
      "splat 0.25\n"
      "%a f32 = MatMul \"a\" v13 (%x, $w) %b f32 = Relu \"b\" v13 (%a) %c f32 = MatMul \"c\" v13 "
      "(%b, $v) output %c }",
      1e-5, arena);
  assert_int_equal(network->n_step, 2);
  const seer_dag *dag = network->step[0].dag;
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    if (dag->buf[b].is_output) assert_int_equal(dag->buf[b].pitch, 1040);
  }
}

static void residual_addition_joins_the_longer_branch(void **state) {
  (void)state;
  seer_network *network = net_check_text(
      "graph \"g\" { input %x f32[1,4,5,5] const $w f32[4,4,3,3] = splat 0.1 const $k f32[4,4,1,1] "
      "= splat 0.5\n"
      "%a f32 = Conv \"a\" v13 (%x, $w) {pads=[1,1,1,1]} %r f32 = Relu \"r\" v13 (%a)\n"
      "%b f32 = Conv \"b\" v13 (%r, $w) {pads=[1,1,1,1]} %s f32 = Conv \"s\" v13 (%x, $k)\n"
      "%y f32 = Add \"y\" v13 (%b, %s) %z f32 = Relu \"z\" v13 (%y) output %z }",
      1e-5, arena);
  assert_int_equal(network->n_step, 3);
  assert_string_equal(network->task[network->step[2].task].name, "conv 3x3 s1 5x5x4->4 +add +relu");
}

// Of step k, as its task has it.
static seer_dtype output_of(const seer_network *network, uint32_t k) {
  const seer_dag *dag = network->task[network->step[k].task].dag;
  for (uint32_t b = 0; b < dag->n_buf; b++)
    if (dag->buf[b].is_output) return dag->buf[b].dtype;
  fail_msg("step %u has no output", k);
  return SEER_DTYPE_NONE;
}

// Between kernels lie bytes, whoever reads them: two products, one of them behind a transpose and a
// reshape, a sum, a pool; the caller alone gets floats.
static void bytes_lie_between_kernels(void **state) {
  (void)state;
  seer_network *network = net_check_text(
      "graph \"g\" { input %x f32[1,4,4,4] const $w f32[4,4,3,3] = splat 0.125 "
      "const $k f32[4,4,1,1] = splat -0.5\n"
      "const $m f32[64,3] = splat 0.25 const $s f32[] = splat 0.0625 const $z u8[] = splat 99\n"
      "const $f i64[2] = [1,64] const $t f32[] = splat 0.5 const $y i8[] = splat -3\n"
      "%a f32 = Conv \"a\" v13 (%x, $w) {pads=[1,1,1,1]}\n"
      "%aq u8 = QuantizeLinear \"aq\" v13 (%a, $s, $z)\n"
      "%ad f32 = DequantizeLinear \"ad\" v13 (%aq, $s, $z)\n"
      "%b f32 = Conv \"b\" v13 (%ad, $k) %bq i8 = QuantizeLinear \"bq\" v13 (%b, $t, $y)\n"
      "%bd f32 = DequantizeLinear \"bd\" v13 (%bq, $t, $y) %r f32 = Add \"r\" v13 (%bd, %ad)\n"
      "%rq u8 = QuantizeLinear \"rq\" v13 (%r, $s, $z)\n"
      "%rd f32 = DequantizeLinear \"rd\" v13 (%rq, $s, $z)\n"
      "%g f32 = GlobalAveragePool \"g\" v13 (%rd)\n"
      "%p f32 = Transpose \"p\" v13 (%rd) {perm=[0,2,3,1]}\n"
      "%l f32 = Reshape \"l\" v13 (%p, $f)  %o f32 = MatMul \"o\" v13 (%l, $m)\n"
      "%oq u8 = QuantizeLinear \"oq\" v13 (%o, $t, $z)\n"
      "%od f32 = DequantizeLinear \"od\" v13 (%oq, $t, $z)\n"
      "output %g output %od }",
      1e-5, arena);
  uint32_t n_bytes = 0, n_floats = 0;
  for (uint32_t k = 0; k < network->n_step; k++) {
    if (network->step[k].kind != SEER_STEP_KERNEL) continue;
    uint32_t bytes = seer_dtype_bytes(output_of(network, k));
    *(bytes == 1 ? &n_bytes : &n_floats) += 1;
  }
  assert_int_equal(n_bytes, 2);
  assert_int_equal(n_floats, 2);  // the outputs
  assert_int_equal(count_steps(network, SEER_STEP_COPY), 0);
}

// What is done with a second operand stays where it is: a reader would read two.
static void sums_behind_a_widening_stay(void **state) {
  (void)state;
  seer_network *network = net_check_text(
      "graph \"g\" { input %x f32[1,4,4,4] const $k f32[4,4,1,1] = splat -0.5\n"
      "const $s f32[] = splat 0.5 %a f32 = Conv \"a\" v13 (%x, $k)\n"
      "%h f16 = Cast \"h\" v13 (%a) {to=10} %f f32 = Cast \"f\" v13 (%h) {to=1}\n"
      "%r f32 = Add \"r\" v13 (%f, %x) %b f32 = Conv \"b\" v13 (%r, $k) output %b }",
      1e-5, arena);
  assert_int_equal(network->n_step, 2);
  assert_int_equal(output_of(network, 0), SEER_DTYPE_F32);
}

// A reader whose kernel is full takes nothing in front: what it reads is widened before.
static void a_full_kernel_takes_no_widening(void **state) {
  (void)state;
  for (int n = 22; n <= 24; n++) {
    char text[4096];
    int at = snprintf(text, sizeof text,
        "graph \"g\" { input %%x f32[1,4,4,4] const $k f32[4,4,1,1] = splat -0.5 "
        "const $s f32[] = splat 0.5 const $z u8[] = splat 99\n"
        "%%a f32 = Conv \"a\" v13 (%%x, $k) %%aq u8 = QuantizeLinear \"aq\" v13 (%%a, $s, $z)\n"
        "%%ad f32 = DequantizeLinear \"ad\" v13 (%%aq, $s, $z)\n"
        "%%v0 f32 = Conv \"b\" v13 (%%ad, $k)\n");
    for (int k = 1; k < n; k++)
      at += snprintf(text + at, sizeof text - (size_t)at,
          "%%v%d f32 = Sigmoid \"s%d\" v13 (%%v%d)\n", k, k, k - 1);
    snprintf(text + at, sizeof text - (size_t)at, "output %%v%d }", n - 1);
    seer_network *network = net_check_text(text, 1e-5, arena);
    assert_int_equal(network->n_step, 2);
    assert_int_equal(output_of(network, 0), n < 24 ? SEER_DTYPE_U8 : SEER_DTYPE_F32);
  }
}

// ---- random networks

typedef struct {
  seer_rng rng;
  char text[20000];
  int n;
  int n_value;
  struct {
    int rank;
    int64_t dim[5];
  } value[64];
} maker;

__attribute__((format(printf, 2, 3))) static void put(maker *m, const char *format, ...) {
  va_list args;
  va_start(args, format);
  m->n += vsnprintf(m->text + m->n, sizeof m->text - (size_t)m->n, format, args);
  va_end(args);
}

static int64_t draw(maker *m, int64_t low, int64_t high) {
  return seer_rng_range(&m->rng, low, high);
}

static void put_const(
    maker *m, const char *name, int id, const int64_t *dim, int rank, bool is_positive) {
  int64_t n = 1;
  put(m, "const $%s%d f32[", name, id);
  for (int k = 0; k < rank; k++) {
    put(m, "%s%d", k ? "," : "", (int)dim[k]);
    n *= dim[k];
  }
  put(m, "] = [");
  for (int64_t k = 0; k < n; k++)
    put(m, "%s%g", k ? "," : "", (double)draw(m, is_positive ? 1 : -8, 8) / 8);
  put(m, "]\n");
}

static int new_value(maker *m, const int64_t *dim, int rank) {
  int id = m->n_value++;
  m->value[id].rank = rank;
  memcpy(m->value[id].dim, dim, (size_t)rank * sizeof *dim);
  return id;
}

static int pick(maker *m, int rank) {
  for (int attempt = 0; attempt < 20; attempt++) {
    int id = (int)draw(m, m->n_value > 6 ? m->n_value - 6 : 0, m->n_value - 1);
    if (rank == 0 || m->value[id].rank == rank) return id;
  }
  return -1;
}

static void add_random_node(maker *m, int step) {
  int kind = (int)draw(m, 0, 14);
  int x = pick(m, kind <= 7 || kind == 11 ? 4 : 0);
  if (x < 0) return;
  int rank = m->value[x].rank;
  int64_t dim[5];
  memcpy(dim, m->value[x].dim, sizeof dim);
  if (kind <= 2) {  // convolution, maybe grouped, maybe strided
    int64_t group = draw(m, 0, 2) == 0 ? dim[1] : 1, k = draw(m, 0, 1) ? 3 : 1,
            stride = draw(m, 1, 2);
    int64_t out = group > 1 ? group : draw(m, 1, 5);
    if (dim[2] + 2 < k || dim[3] + 2 < k) return;
    int64_t w[4] = {out, dim[1] / group, k, k};
    put_const(m, "w", step, w, 4, false);
    put(m,
        "%%v%d f32 = Conv \"n%d\" v13 (%%v%d, $w%d) {group=%d, strides=[%d,%d], pads=[1,1,1,1]}\n",
        m->n_value, step, x, step, (int)group, (int)stride, (int)stride);
    dim[1] = out;
    for (int d = 2; d < 4; d++) dim[d] = (dim[d] + 2 - k) / stride + 1;
    new_value(m, dim, 4);
  } else if (kind == 3) {
    int64_t c[1] = {dim[1]};
    put_const(m, "s", step, c, 1, false);
    put_const(m, "b", step, c, 1, false);
    put_const(m, "m", step, c, 1, false);
    put_const(m, "q", step, c, 1, true);
    put(m, "%%v%d f32 = BatchNormalization \"n%d\" v13 (%%v%d, $s%d, $b%d, $m%d, $q%d)\n",
        m->n_value, step, x, step, step, step, step);
    new_value(m, dim, 4);
  } else if (kind == 4) {
    int64_t c[4] = {1, dim[1], 1, 1};
    put_const(m, "s", step, c, 4, false);
    put(m, "%%v%d f32 = %s \"n%d\" v13 (%%v%d, $s%d)\n", m->n_value, draw(m, 0, 1) ? "Mul" : "Add",
        step, x, step);
    new_value(m, dim, 4);
  } else if (kind == 5) {  // gate: a reduced value scales the whole
    put(m,
        "%%g%d f32 = GlobalAveragePool \"g%d\" v13 (%%v%d) %%h%d f32 = Sigmoid \"h%d\" v13 "
        "(%%g%d)\n",
        step, step, x, step, step, step);
    put(m, "%%v%d f32 = Mul \"n%d\" v13 (%%v%d, %%h%d)\n", m->n_value, step, x, step);
    new_value(m, dim, 4);
  } else if (kind == 6) {
    if (dim[2] < 2 || dim[3] < 2) return;
    put(m, "%%v%d f32 = %s \"n%d\" v11 (%%v%d) {kernel_shape=[2,2], strides=[2,2]}\n", m->n_value,
        draw(m, 0, 1) ? "MaxPool" : "AveragePool", step, x);
    dim[2] = (dim[2] - 2) / 2 + 1;
    dim[3] = (dim[3] - 2) / 2 + 1;
    new_value(m, dim, 4);
  } else if (kind == 7) {  // channels split and joined
    put(m, "const $d%d i64[4] = [%d,%d,%d,%d]\n", step, (int)dim[0], (int)(dim[2] * dim[3]),
        (int)dim[1], 1);
    if (draw(m, 0, 1)) {
      put(m, "%%t%d f32 = Transpose \"t%d\" v13 (%%v%d) {perm=[0,2,3,1]}\n", step, step, x);
      put(m, "%%v%d f32 = Reshape \"n%d\" v13 (%%t%d, $d%d)\n", m->n_value, step, step, step);
    } else {
      put(m, "%%v%d f32 = Reshape \"n%d\" v13 (%%v%d, $d%d)\n", m->n_value, step, x, step);
    }
    int64_t d4[4] = {dim[0], dim[2] * dim[3], dim[1], 1};
    new_value(m, d4, 4);
  } else if (kind <= 9) {
    static const char *const unary[] = {"Relu", "Sigmoid", "Tanh", "Identity", "Neg"};
    put(m, "%%v%d f32 = %s \"n%d\" v13 (%%v%d)\n", m->n_value, unary[draw(m, 0, 4)], step, x);
    new_value(m, dim, rank);
  } else if (kind == 10) {  // two values of one shape
    for (int y = m->n_value - 1; y >= 0; y--) {
      if (y == x || m->value[y].rank != rank ||
          memcmp(m->value[y].dim, dim, (size_t)rank * sizeof *dim) != 0)
        continue;
      put(m, "%%v%d f32 = %s \"n%d\" v13 (%%v%d, %%v%d)\n", m->n_value,
          draw(m, 0, 1) ? "Add" : "Mul", step, x, y);
      new_value(m, dim, rank);
      return;
    }
  } else if (kind == 11) {
    for (int y = m->n_value - 1; y >= 0; y--) {
      if (m->value[y].rank != 4 || m->value[y].dim[2] != dim[2] || m->value[y].dim[3] != dim[3])
        continue;
      put(m, "%%v%d f32 = Concat \"n%d\" v13 (%%v%d, %%v%d) {axis=1}\n", m->n_value, step, x, y);
      dim[1] += m->value[y].dim[1];
      new_value(m, dim, 4);
      return;
    }
  } else if (kind == 12) {  // a dense layer, flattened before
    int64_t n = 1;
    for (int k = 1; k < rank; k++) n *= dim[k];
    int64_t w[2] = {n, draw(m, 1, 4)}, d2[2] = {dim[0], w[1]};
    if (n > 60 || rank < 2) return;
    put_const(m, "w", step, w, 2, false);
    put(m, "%%f%d f32 = Flatten \"f%d\" v13 (%%v%d) %%v%d f32 = MatMul \"n%d\" v13 (%%f%d, $w%d)\n",
        step, step, x, m->n_value, step, step, step);
    new_value(m, d2, 2);
  } else if (kind == 14) {
    if (rank != 4 || dim[1] < 2) return;
    int64_t first = draw(m, 1, dim[1] - 1);
    put(m, "const $n%d i64[2] = [%d,%d]\n", step, (int)first, (int)(dim[1] - first));
    put(m, "%%v%d f32, %%v%d f32 = Split \"n%d\" v13 (%%v%d, $n%d) {axis=1}\n", m->n_value,
        m->n_value + 1, step, x, step);
    dim[1] -= first;
    int64_t d4[4] = {dim[0], first, dim[2], dim[3]};
    new_value(m, d4, 4);
    new_value(m, dim, 4);
  } else {
    if (rank != 4) return;
    put(m, "%%v%d f32 = Transpose \"n%d\" v13 (%%v%d) {perm=[0,1,3,2]}\n", m->n_value, step, x);
    int64_t d4[4] = {dim[0], dim[1], dim[3], dim[2]};
    new_value(m, d4, 4);
  }
}

static void random_networks_compute_the_same(void **state) {
  (void)state;
  enum { N_NETWORKS = 150 };
  static maker m;
  for (uint64_t seed = 0; seed < N_NETWORKS; seed++) {
    m.n = 0;
    m.n_value = 0;
    seer_rng_init(&m.rng, seed);
    int64_t dim[4] = {draw(&m, 1, 2), draw(&m, 1, 4), draw(&m, 1, 7), draw(&m, 1, 7)};
    put(&m, "# seed %d\ngraph \"random\" { input %%v0 f32[%d,%d,%d,%d]\n", (int)seed, (int)dim[0],
        (int)dim[1], (int)dim[2], (int)dim[3]);
    new_value(&m, dim, 4);
    int n_steps = (int)draw(&m, 2, 14);
    for (int step = 0; step < n_steps; step++) add_random_node(&m, step);
    if (m.n_value == 1) continue;  // nothing fitted; an output that is an input gets another name
    put(&m, "output %%v%d\n", m.n_value - 1);
    if (m.n_value > 3 && draw(&m, 0, 2) == 0) put(&m, "output %%v%d\n", m.n_value - 3);
    put(&m, "}");
    assert_true(m.n < (int)sizeof m.text - 1);
    net_check_text(m.text, 2e-4, arena);
    seer_arena_reset(arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(mlp_is_one_task_per_layer, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(
          batch_norm_goes_into_the_convolution, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(
          batch_norm_elsewhere_becomes_mul_and_add, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(zero_pad_goes_into_the_convolution, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(flatten_costs_nothing, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(shuffle_needs_no_copy_of_its_own, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(split_becomes_slices, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(outputs_keep_their_names, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(equal_subgraphs_are_one_task, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(
          rows_of_large_powers_of_two_get_a_pitch, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(
          residual_addition_joins_the_longer_branch, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(bytes_lie_between_kernels, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(sums_behind_a_widening_stay, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(a_full_kernel_takes_no_widening, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(random_networks_compute_the_same, arena_open, arena_close),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
