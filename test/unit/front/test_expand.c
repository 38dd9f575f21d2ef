// Composite operators against direct loops. All operands are constants, so that resolving a graph
// expands the operator, folds every part of it, and leaves the answer as a constant.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "expand_case.h"

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

// ---- recurrences: T steps, N sequences, I inputs, H hidden

enum { T = 3, N = 2, I = 3, H = 2 };

// w[row] . x + r[row] . h + both biases, for one gate row of one direction.
static double gate(const double *w, const double *r, const double *b, uint32_t n_gate, uint32_t row,
    const double *x, const double *h) {
  double sum = b ? b[row] + b[n_gate * H + row] : 0;
  for (uint32_t i = 0; i < I; i++) sum += w[row * I + i] * x[i];
  for (uint32_t i = 0; i < H; i++) sum += r[row * H + i] * h[i];
  return sum;
}

static void lstm_goes_both_ways(void **state) {
  (void)state;
  expand_case c = open_expand_case();
  double *x = expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(T, N, I));
  double *w = expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(2, 4 * H, I));
  double *r = expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(2, 4 * H, H));
  double *b = expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(2, 8 * H));
  double *length = expand_operand(&c, SEER_DTYPE_I32, (double[]){3, 2}, DIMS(N));
  double *h0 = expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(2, N, H));
  double *c0 = expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(2, N, H));
  double *p = expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(2, 3 * H));
  c.attr[c.n_attr++] =
      (seer_attr){.name = "direction", .kind = SEER_ATTR_STRING, .s = "bidirectional"};
  c.attr[c.n_attr++] = (seer_attr){.name = "hidden_size", .kind = SEER_ATTR_INT, .i = H};
  expand_run(&c, "LSTM", 14, 3);
  double y[T][2][N][H] = {0}, h[2][N][H], s[2][N][H];
  for (int d = 0; d < 2; d++) {
    const double *wd = w + d * 4 * H * I, *rd = r + d * 4 * H * H, *bd = b + d * 8 * H,
                 *pd = p + d * 3 * H;
    for (int n = 0; n < N; n++) {
      memcpy(h[d][n], h0 + (d * N + n) * H, sizeof h[d][n]);
      memcpy(s[d][n], c0 + (d * N + n) * H, sizeof s[d][n]);
      for (int k = 0; k < (int)length[n]; k++) {
        int t = d ? (int)length[n] - 1 - k : k;
        const double *xt = x + (t * N + n) * I;
        double before[H];
        memcpy(before, h[d][n], sizeof before);
        for (uint32_t j = 0; j < H; j++) {
          double i = sigmoid(gate(wd, rd, bd, 4, j, xt, before) + pd[j] * s[d][n][j]);
          double f =
              sigmoid(gate(wd, rd, bd, 4, 2 * H + j, xt, before) + pd[2 * H + j] * s[d][n][j]);
          s[d][n][j] = f * s[d][n][j] + i * tanh(gate(wd, rd, bd, 4, 3 * H + j, xt, before));
          double o = sigmoid(gate(wd, rd, bd, 4, H + j, xt, before) + pd[H + j] * s[d][n][j]);
          h[d][n][j] = y[t][d][n][j] = o * tanh(s[d][n][j]);
        }
      }
    }
  }
  expand_expect(&c, 0, &y[0][0][0][0], DIMS(T, 2, N, H), 1e-5);
  expand_expect(&c, 1, &h[0][0][0], DIMS(2, N, H), 1e-5);
  expand_expect(&c, 2, &s[0][0][0], DIMS(2, N, H), 1e-5);
  close_expand_case(&c);
}

static void gru(bool is_after, bool is_reverse) {
  expand_case c = open_expand_case();
  double *x = expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(T, N, I));
  double *w = expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(1, 3 * H, I));
  double *r = expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(1, 3 * H, H));
  double *b = expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(1, 6 * H));
  c.attr[c.n_attr++] =
      (seer_attr){.name = "linear_before_reset", .kind = SEER_ATTR_INT, .i = is_after};
  c.attr[c.n_attr++] = (seer_attr){
      .name = "direction", .kind = SEER_ATTR_STRING, .s = is_reverse ? "reverse" : "forward"};
  expand_run(&c, "GRU", 7, 2);
  double y[T][1][N][H], h[1][N][H] = {0};
  for (int n = 0; n < N; n++) {
    for (int k = 0; k < T; k++) {
      int t = is_reverse ? T - 1 - k : k;
      const double *xt = x + (t * N + n) * I;
      double before[H], reset[H], scaled[H];
      memcpy(before, h[0][n], sizeof before);
      for (uint32_t j = 0; j < H; j++) reset[j] = sigmoid(gate(w, r, b, 3, H + j, xt, before));
      for (uint32_t j = 0; j < H; j++) scaled[j] = reset[j] * before[j];
      for (uint32_t j = 0; j < H; j++) {
        static const double zeros[H];
        double z = sigmoid(gate(w, r, b, 3, j, xt, before)), recur = b[5 * H + j];
        const double *from = is_after ? before : scaled;
        for (int i = 0; i < H; i++) recur += r[(2 * H + (int)j) * H + i] * from[i];
        double own = gate(w, r, NULL, 3, 2 * H + j, xt, zeros) + b[2 * H + j];
        double new = tanh(own + (is_after ? reset[j] * recur : recur));
        h[0][n][j] = y[t][0][n][j] = (1 - z) * new + z *before[j];
      }
    }
  }
  expand_expect(&c, 0, &y[0][0][0][0], DIMS(T, 1, N, H), 1e-5);
  expand_expect(&c, 1, &h[0][0][0], DIMS(1, N, H), 1e-5);
  close_expand_case(&c);
}

static void gru_resets_before_and_after(void **state) {
  (void)state;
  for (int k = 0; k < 4; k++) gru(k & 1, k & 2);
}

static void rnn_takes_batch_first_and_activations(void **state) {
  (void)state;
  expand_case c = open_expand_case();
  double *x = expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(N, T, I));
  double *w = expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(1, H, I));
  double *r = expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(1, H, H));
  c.attr[c.n_attr++] = (seer_attr){.name = "layout", .kind = SEER_ATTR_INT, .i = 1};
  c.attr[c.n_attr++] = (seer_attr){.name = "activations",
      .kind = SEER_ATTR_STRINGS,
      .n = 1,
      .strings = (const char *const[]){"Affine"}};
  c.attr[c.n_attr++] = (seer_attr){
      .name = "activation_alpha", .kind = SEER_ATTR_FLOATS, .n = 1, .floats = (double[]){0.5}};
  expand_run(&c, "RNN", 14, 2);
  double y[N][T][1][H], h[N][1][H] = {0};
  for (int n = 0; n < N; n++) {
    for (int t = 0; t < T; t++) {
      double before[H];
      memcpy(before, h[n][0], sizeof before);
      for (uint32_t j = 0; j < H; j++)
        h[n][0][j] = y[n][t][0][j] = 0.5 * gate(w, r, NULL, 1, j, x + (n * T + t) * I, before);
    }
  }
  expand_expect(&c, 0, &y[0][0][0][0], DIMS(N, T, 1, H), 1e-5);
  expand_expect(&c, 1, &h[0][0][0], DIMS(N, 1, H), 1e-5);
  close_expand_case(&c);
}

// ---- control flow. A body: its own graph, whose last inputs are captured.

static seer_val body_input(seer_graph *body, const char *name) {
  seer_val v = seer_graph_add_value(body, name, SEER_DTYPE_NONE, NULL, -1);
  seer_graph_mark_input(body, v);
  return v;
}

static seer_val body_node(seer_graph *body, const char *op, seer_val a, seer_val b) {
  seer_val in[2] = {a, b},
           out = seer_graph_add_value(body,
               seer_arena_printf(body->arena, "%s.%zu", op, body->n_node), SEER_DTYPE_NONE, NULL,
               -1);
  seer_graph_add_node(body, "", "", op, 13, in, b.i ? 2 : 1, &out, 1, NULL, 0);
  return out;
}

// x op y, both captured: operands `first` and the next of the node.
static seer_attr branch(expand_case *c, const char *name, const char *op, uint32_t first) {
  seer_graph *body = seer_graph_create(c->arena, name);
  seer_val x = body_input(body, "x"), y = body_input(body, "y");
  seer_graph_mark_output(body, body_node(body, op, x, y));
  return (seer_attr){.name = name, .kind = SEER_ATTR_GRAPH, .graph = body, .n = 2, .i = first};
}

static void if_picks_a_branch(void **state) {
  (void)state;
  for (int condition = 0; condition < 2; condition++) {
    expand_case c = open_expand_case();
    expand_operand(&c, SEER_DTYPE_BOOL, (double[]){condition}, DIMS(1));
    double *x = expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(4)),
           *y = expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(4));
    c.in[3] = c.in[1], c.in[4] = c.in[2], c.n_in = 5;
    c.attr[c.n_attr++] = branch(&c, "then_branch", "Add", 1);
    c.attr[c.n_attr++] = branch(&c, "else_branch", "Mul", 3);
    expand_run(&c, "If", 13, 1);
    double want[4];
    for (int i = 0; i < 4; i++) want[i] = condition ? x[i] + y[i] : x[i] * y[i];
    expand_expect(&c, 0, want, DIMS(4), 1e-6);
    close_expand_case(&c);
  }
}

static uint32_t count_nodes(const seer_graph *graph, const char *op_type) {
  uint32_t n = 0;
  for (uint32_t k = 1; k < graph->n_node; k++)
    n += !graph->node[k].is_dead && strcmp(graph->node[k].op_type, op_type) == 0;
  return n;
}

// A condition that is an input: cheap branches are both computed, and one of their results is
// chosen; with a product among them the choice is a branch of the plan.
static void if_of_data(void **state) {
  (void)state;
  static const char *const other[] = {"Mul", "MatMul"};
  for (uint32_t k = 0; k < 2; k++) {
    expand_case c = open_expand_case();
    c.in[0] = seer_graph_add_value(c.graph, "condition", SEER_DTYPE_BOOL, NULL, 0);
    seer_graph_mark_input(c.graph, c.in[0]);
    c.in[1] = seer_graph_add_value(c.graph, "x", SEER_DTYPE_F32, DIMS(4, 4));
    seer_graph_mark_input(c.graph, c.in[1]);
    c.in[2] = c.in[3] = c.in[4] = c.in[1], c.n_in = 5;
    c.attr[c.n_attr++] = branch(&c, "then_branch", "Add", 1);
    c.attr[c.n_attr++] = branch(&c, "else_branch", other[k], 3);
    expand_run(&c, "If", 13, 1);
    assert_int_equal(count_nodes(c.graph, "Where"), k == 0);
    assert_int_equal(count_nodes(c.graph, "Branch"), k == 1);
    assert_int_equal(count_nodes(c.graph, "If"), 0);
    close_expand_case(&c);
  }
}

// carried = carried * k, while it is below `limit`; scanned: what it was before.
static seer_attr multiply_body(expand_case *c, uint32_t first) {
  seer_graph *body = seer_graph_create(c->arena, "body");
  body_input(body, "iteration");
  body_input(body, "condition");
  seer_val carried = body_input(body, "carried"), by = body_input(body, "by"),
           limit = body_input(body, "limit");
  seer_val next = body_node(body, "Mul", carried, by);
  seer_graph_mark_output(body, body_node(body, "Less", next, limit));
  seer_graph_mark_output(body, next);
  seer_graph_mark_output(body, body_node(body, "Identity", carried, (seer_val){0}));
  return (seer_attr){.name = "body", .kind = SEER_ATTR_GRAPH, .graph = body, .n = 2, .i = first};
}

static void loop_runs_until_its_condition_ends(void **state) {
  (void)state;
  expand_case c = open_expand_case();
  expand_operand(&c, SEER_DTYPE_I64, (double[]){10}, NULL, 0);
  expand_absent(&c);
  expand_operand(&c, SEER_DTYPE_F32, (double[]){1}, NULL, 0);
  expand_operand(&c, SEER_DTYPE_F32, (double[]){3}, NULL, 0);
  expand_operand(&c, SEER_DTYPE_F32, (double[]){50}, NULL, 0);
  c.attr[c.n_attr++] = multiply_body(&c, 3);
  expand_run(&c, "Loop", 13, 2);
  expand_expect(&c, 0, (double[]){81}, NULL, 0, 0);
  expand_expect(&c, 1, (double[]){1, 3, 9, 27}, DIMS(4), 0);
  close_expand_case(&c);
}

static void loop_may_run_not_at_all(void **state) {
  (void)state;
  expand_case c = open_expand_case();
  expand_operand(&c, SEER_DTYPE_I64, (double[]){0}, NULL, 0);
  expand_absent(&c);
  expand_operand(&c, SEER_DTYPE_F32, (double[]){1, 2}, DIMS(2));
  expand_operand(&c, SEER_DTYPE_F32, (double[]){3}, NULL, 0);
  expand_operand(&c, SEER_DTYPE_F32, (double[]){50, 50}, DIMS(2));
  c.attr[c.n_attr++] = multiply_body(&c, 3);
  expand_run(&c, "Loop", 13, 2);
  expand_expect(&c, 0, (double[]){1, 2}, DIMS(2), 0);
  expand_expect(&c, 1, NULL, DIMS(0, 2), 0);
  close_expand_case(&c);
}

static void loop_of_data_is_refused(void **state) {
  (void)state;
  expand_case c = open_expand_case();
  c.in[0] = seer_graph_add_value(c.graph, "trip", SEER_DTYPE_I64, NULL, 0);
  seer_graph_mark_input(c.graph, c.in[0]);
  c.n_in = 2;
  for (int k = 0; k < 3; k++) expand_operand(&c, SEER_DTYPE_F32, (double[]){2}, NULL, 0);
  c.attr[c.n_attr++] = multiply_body(&c, 3);
  seer_status status = expand_try(&c, "Loop", 13, 2);
  assert_non_null(status);
  // Its second output has a part for each iteration, and there is no bound.
  assert_non_null(strstr(seer_status_message(status), "have a bound"));
  seer_status_free(status);
  close_expand_case(&c);
}

static void scan_sums(void **state) {
  (void)state;
  for (int is_reverse = 0; is_reverse < 2; is_reverse++) {
    expand_case c = open_expand_case();
    expand_operand(&c, SEER_DTYPE_F32, (double[]){0, 0}, DIMS(2));
    double *x = expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(3, 2));
    seer_graph *body = seer_graph_create(c.arena, "body");
    seer_val sum = body_input(body, "sum"), one = body_input(body, "one");
    seer_val next = body_node(body, "Add", sum, one);
    seer_graph_mark_output(body, next);
    seer_graph_mark_output(body, body_node(body, "Identity", next, (seer_val){0}));
    c.attr[c.n_attr++] =
        (seer_attr){.name = "body", .kind = SEER_ATTR_GRAPH, .graph = body, .i = 2};
    c.attr[c.n_attr++] = (seer_attr){.name = "num_scan_inputs", .kind = SEER_ATTR_INT, .i = 1};
    const int64_t directions[1] = {is_reverse};
    c.attr[c.n_attr++] = (seer_attr){
        .name = "scan_input_directions", .kind = SEER_ATTR_INTS, .n = 1, .ints = directions};
    expand_run(&c, "Scan", 9, 2);
    double want[2] = {0}, scanned[3][2];
    for (int k = 0; k < 3; k++) {
      for (int i = 0; i < 2; i++) scanned[k][i] = want[i] += x[(is_reverse ? 2 - k : k) * 2 + i];
    }
    expand_expect(&c, 0, want, DIMS(2), 1e-6);
    expand_expect(&c, 1, &scanned[0][0], DIMS(3, 2), 1e-6);
    close_expand_case(&c);
  }
}

// ---- losses

static void cross_entropy_weighs_and_ignores(void **state) {
  (void)state;
  expand_case c = open_expand_case();
  double *x = expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(3, 4, 2));
  double *label = expand_operand(&c, SEER_DTYPE_I64, (double[]){0, 3, 2, 1, 1, 0}, DIMS(3, 2));
  double *weight = expand_operand(&c, SEER_DTYPE_F32, (double[]){0.5, 1, 2, 0.25}, DIMS(4));
  c.attr[c.n_attr++] = (seer_attr){.name = "ignore_index", .kind = SEER_ATTR_INT, .i = 1};
  expand_run(&c, "SoftmaxCrossEntropyLoss", 13, 2);
  double log_prob[3][4][2], sum = 0, weights = 0;
  for (int n = 0; n < 3; n++) {
    for (int i = 0; i < 2; i++) {
      double total = 0;
      for (int k = 0; k < 4; k++) total += exp(x[(n * 4 + k) * 2 + i]);
      for (int k = 0; k < 4; k++) log_prob[n][k][i] = x[(n * 4 + k) * 2 + i] - log(total);
      int at = (int)label[n * 2 + i];
      if (at == 1) continue;
      sum -= weight[at] * log_prob[n][at][i];
      weights += weight[at];
    }
  }
  double mean = sum / weights;
  expand_expect(&c, 0, &mean, NULL, 0, 1e-5);
  expand_expect(&c, 1, &log_prob[0][0][0], DIMS(3, 4, 2), 1e-5);
  close_expand_case(&c);
}

// ---- quantised products

static double saturated(double x) { return fmin(127, fmax(-128, nearbyint(x))); }

static void qlinear_matmul_saturates(void **state) {
  (void)state;
  expand_case c = open_expand_case();
  double *a = expand_operand(&c, SEER_DTYPE_U8, (double[]){0, 255, 17, 128, 3, 99}, DIMS(2, 3));
  expand_operand(&c, SEER_DTYPE_F32, (double[]){0.25}, NULL, 0);
  expand_operand(&c, SEER_DTYPE_U8, (double[]){120}, NULL, 0);
  double *b = expand_operand(&c, SEER_DTYPE_I8, (double[]){1, -128, 127, 5, -7, 40}, DIMS(3, 2));
  double *scale = expand_operand(&c, SEER_DTYPE_F32, (double[]){0.5, 0.125}, DIMS(2));
  double *zero = expand_operand(&c, SEER_DTYPE_I8, (double[]){3, -2}, DIMS(2));
  expand_operand(&c, SEER_DTYPE_F32, (double[]){4}, NULL, 0);
  expand_operand(&c, SEER_DTYPE_I8, (double[]){10}, NULL, 0);
  expand_run(&c, "QLinearMatMul", 10, 1);
  double want[4];
  for (int m = 0; m < 2; m++) {
    for (int n = 0; n < 2; n++) {
      double sum = 0;
      for (int k = 0; k < 3; k++) sum += (a[m * 3 + k] - 120) * (b[k * 2 + n] - zero[n]);
      want[m * 2 + n] = saturated(sum * 0.25 * scale[n] / 4 + 10);
    }
  }
  expand_expect(&c, 0, want, DIMS(2, 2), 0);
  close_expand_case(&c);
}

static void conv_integer_pads_with_its_zero_point(void **state) {
  (void)state;
  expand_case c = open_expand_case();
  double *x =
      expand_operand(&c, SEER_DTYPE_U8, (double[]){2, 3, 4, 5, 6, 7, 8, 9, 10}, DIMS(1, 1, 3, 3));
  expand_operand(&c, SEER_DTYPE_U8, (double[]){1, 2, 3, 4}, DIMS(1, 1, 2, 2));
  expand_operand(&c, SEER_DTYPE_U8, (double[]){5}, NULL, 0);
  const int64_t pads[4] = {1, 1, 0, 0};
  c.attr[c.n_attr++] = (seer_attr){.name = "pads", .kind = SEER_ATTR_INTS, .n = 4, .ints = pads};
  expand_run(&c, "ConvInteger", 10, 1);
  double want[9] = {0};
  for (int i = 0; i < 9; i++) {
    for (int k = 0; k < 4; k++) {
      int row = i / 3 + k / 2 - 1, column = i % 3 + k % 2 - 1;
      if (row >= 0 && column >= 0) want[i] += (x[row * 3 + column] - 5) * (k + 1);
    }
  }
  expand_expect(&c, 0, want, DIMS(1, 1, 3, 3), 0);
  close_expand_case(&c);
}

static void dynamic_quantisation_holds_zero(void **state) {
  (void)state;
  expand_case c = open_expand_case();
  double *x = expand_operand(&c, SEER_DTYPE_F32, (double[]){0, 2, -3, -2.5, 1.34, 0.52}, DIMS(6));
  expand_run(&c, "DynamicQuantizeLinear", 11, 3);
  double scale = (double)((2.0f + 3.0f) / 255.0f), zero = nearbyint(3 / scale), want[6];
  for (int i = 0; i < 6; i++) want[i] = fmin(255, fmax(0, nearbyint(x[i] / scale) + zero));
  expand_expect(&c, 0, want, DIMS(6), 0);
  expand_expect(&c, 1, &scale, NULL, 0, 1e-8);
  expand_expect(&c, 2, &zero, NULL, 0, 0);
  close_expand_case(&c);
}

// ---- com.microsoft

// One head of width 2: scores of n queries and m keys, keys [start, end) count.
static void direct_attention(const double *q, const double *k, const double *v, int n, int m,
    int start, int end, bool is_causal, double *out) {
  for (int i = 0; i < n; i++) {
    double sum = 0, y[2] = {0, 0};
    for (int j = start; j < end; j++) {
      if (is_causal && j > m - n + i) continue;
      double p = exp((q[i * 2] * k[j * 2] + q[i * 2 + 1] * k[j * 2 + 1]) / sqrt(2));
      sum += p;
      for (int d = 0; d < 2; d++) y[d] += p * v[j * 2 + d];
    }
    for (int d = 0; d < 2; d++) out[i * 2 + d] = y[d] / sum;
  }
}

// Two past tokens in front of three; ends and starts of the keys per sequence.
static void attention_goes_on_from_the_past(void **state) {
  (void)state;
  expand_case c = open_expand_case();
  c.domain = "com.microsoft";
  double *q = expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(2, 3, 2)),
         *k = expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(2, 3, 2)),
         *v = expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(2, 3, 2));
  expand_absent(&c);
  expand_operand(&c, SEER_DTYPE_I32, (double[]){5, 4, 0, 1}, DIMS(4));
  expand_absent(&c);
  double *past[2] = {expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(2, 1, 2, 2)),
      expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(2, 1, 2, 2))};
  c.attr[c.n_attr++] = (seer_attr){.name = "num_heads", .kind = SEER_ATTR_INT, .i = 1};
  c.attr[c.n_attr++] = (seer_attr){.name = "unidirectional", .kind = SEER_ATTR_INT, .i = 1};
  expand_run(&c, "MultiHeadAttention", 1, 3);
  double keys[2][10], values[2][10], want[2][6];
  for (int b = 0; b < 2; b++) {
    for (int i = 0; i < 10; i++) {
      keys[b][i] = i < 4 ? past[0][b * 4 + i] : k[b * 6 + i - 4];
      values[b][i] = i < 4 ? past[1][b * 4 + i] : v[b * 6 + i - 4];
    }
    direct_attention(q + b * 6L, keys[b], values[b], 3, 5, b, 5 - b, true, want[b]);
  }
  expand_expect(&c, 0, want[0], DIMS(2, 3, 2), 1e-5);
  expand_expect(&c, 1, keys[0], DIMS(2, 1, 5, 2), 1e-6);
  expand_expect(&c, 2, values[0], DIMS(2, 1, 5, 2), 1e-6);
  close_expand_case(&c);
}

static void refuses_at(expand_case *c, const char *op, int opset, uint32_t n_out, const char *why) {
  seer_status status = expand_try(c, op, opset, n_out);
  assert_non_null(status);
  if (!strstr(seer_status_message(status), why))
    fail_msg("'%s' lacks '%s'", seer_status_message(status), why);
  seer_status_free(status);
  close_expand_case(c);
}

static void refuses(expand_case *c, const char *op, uint32_t n_out, const char *why) {
  c->domain = "com.microsoft";
  refuses_at(c, op, 1, n_out, why);
}

static void contrib_operands_are_checked(void **state) {
  (void)state;
  expand_case c = open_expand_case();  // a scale that is missing
  expand_operand(&c, SEER_DTYPE_U8, (double[]){1, 2}, DIMS(2));
  expand_operand(&c, SEER_DTYPE_F32, (double[]){1}, NULL, 0);
  refuses(&c, "QLinearSigmoid", 1, "input 3 is absent and may not be");
  c = open_expand_case();
  for (int k = 0; k < 6; k++) expand_operand(&c, SEER_DTYPE_F32, (double[]){1}, NULL, 0);
  refuses(&c, "QLinearConcat", 1, "6 inputs, must be 2 and 3 for each part");
  c = open_expand_case();  // a mask of the wrong size
  expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(2, 3, 2));
  expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(2, 6));
  expand_absent(&c);
  expand_operand(&c, SEER_DTYPE_I32, (double[]){1, 1, 1}, DIMS(3));
  c.attr[c.n_attr++] = (seer_attr){.name = "num_heads", .kind = SEER_ATTR_INT, .i = 1};
  refuses(&c, "Attention", 1, "input 3 is i32[3], a mask must be i32 [2,3], [2,3,3], [2] or [4]");
  c = open_expand_case();  // widths that are no query, key and value
  expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(2, 3, 2));
  expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(2, 7));
  c.attr[c.n_attr++] = (seer_attr){.name = "num_heads", .kind = SEER_ATTR_INT, .i = 1};
  refuses(&c, "Attention", 1, "7 columns of weights are no query, key and value of 1 heads");
  c = open_expand_case();  // a past of other heads
  expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(2, 3, 2));
  expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(2, 6));
  expand_absent(&c);
  expand_absent(&c);
  expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(2, 2, 3, 4, 2));
  c.attr[c.n_attr++] = (seer_attr){.name = "num_heads", .kind = SEER_ATTR_INT, .i = 1};
  refuses(&c, "Attention", 2, "input 4 is [2,2,3,4,2], must be [2,2,1,tokens,2]");
  c = open_expand_case();
  expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(2, 3, 2));
  for (int k = 0; k < 2; k++) expand_operand(&c, SEER_DTYPE_I8, (double[8]){0}, DIMS(1, 2, 4));
  for (int k = 0; k < 5; k++) expand_absent(&c);
  for (int k = 0; k < 2; k++) expand_operand(&c, SEER_DTYPE_F32, (double[]){1, 1, 1}, DIMS(3));
  refuses(&c, "DynamicQuantizeLSTM", 1, "input 10 is absent");
}

// ---- others

static void old_broadcasting_has_an_axis(void **state) {
  (void)state;
  expand_case c = open_expand_case();
  double *a = expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(2, 3, 2)),
         *b = expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(3));
  c.attr[c.n_attr++] = (seer_attr){.name = "broadcast", .kind = SEER_ATTR_INT, .i = 1};
  c.attr[c.n_attr++] = (seer_attr){.name = "axis", .kind = SEER_ATTR_INT, .i = 1};
  expand_run(&c, "Add", 6, 1);
  double want[12];
  for (int i = 0; i < 12; i++) want[i] = a[i] + b[i / 2 % 3];
  expand_expect(&c, 0, want, DIMS(2, 3, 2), 1e-6);
  close_expand_case(&c);
}

static void dft_of_some_points(void **state) {
  (void)state;
  expand_case c = open_expand_case();
  double *x = expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(2, 5, 1));
  expand_operand(&c, SEER_DTYPE_I64, (double[]){7}, NULL, 0);
  c.attr[c.n_attr++] = (seer_attr){.name = "onesided", .kind = SEER_ATTR_INT, .i = 1};
  expand_run(&c, "DFT", 17, 1);
  double want[2][4][2] = {0};
  for (int n = 0; n < 2; n++) {
    for (int k = 0; k < 4; k++) {
      for (int i = 0; i < 5; i++) {
        want[n][k][0] += x[n * 5 + i] * cos(2 * M_PI * i * k / 7);
        want[n][k][1] -= x[n * 5 + i] * sin(2 * M_PI * i * k / 7);
      }
    }
  }
  expand_expect(&c, 0, &want[0][0][0], DIMS(2, 4, 2), 1e-5);
  close_expand_case(&c);
}

// To a real signal of even and odd length, from as many bins as it has, or more, or fewer.
static void dft_of_bins(void **state) {
  (void)state;
  for (int64_t n = 5; n <= 8; n++) {
    expand_case c = open_expand_case();
    double *x = expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(1, 4, 2)), want[8] = {0};
    if (n != 6) expand_operand(&c, SEER_DTYPE_I64, (double[]){(double)n}, NULL, 0);  // 2 (4 - 1)
    c.attr[c.n_attr++] = (seer_attr){.name = "onesided", .kind = SEER_ATTR_INT, .i = 1};
    c.attr[c.n_attr++] = (seer_attr){.name = "inverse", .kind = SEER_ATTR_INT, .i = 1};
    expand_run(&c, "DFT", 17, 1);
    for (int64_t k = 0; k < n; k++) {  // the whole spectrum: bin k's mirror is its conjugate
      int64_t bin = 2 * k <= n ? k : n - k, sign = bin % n * 2 % n == 0 ? 0 : bin == k ? 1 : -1;
      for (int64_t i = 0; i < n && bin < 4; i++) {
        double turn = 2 * M_PI * (double)(i * k) / (double)n, im = (double)sign * x[2 * bin + 1];
        want[i] += (x[2 * bin] * cos(turn) - im * sin(turn)) / (double)n;
      }
    }
    expand_expect(&c, 0, want, DIMS(1, n, 1), 1e-5);
    close_expand_case(&c);
  }
}

static void col2im_adds_blocks(void **state) {
  (void)state;
  expand_case c = open_expand_case();
  double *x = expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(1, 2 * 4, 6));
  expand_operand(&c, SEER_DTYPE_I64, (double[]){3, 4}, DIMS(2));
  expand_operand(&c, SEER_DTYPE_I64, (double[]){2, 2}, DIMS(2));
  expand_run(&c, "Col2Im", 18, 1);
  double want[2][3][4] = {0};
  for (int ch = 0; ch < 2; ch++) {
    for (int k = 0; k < 4; k++) {
      for (int p = 0; p < 6; p++) want[ch][p / 3 + k / 2][p % 3 + k % 2] += x[(ch * 4 + k) * 6 + p];
    }
  }
  expand_expect(&c, 0, &want[0][0][0], DIMS(1, 2, 3, 4), 1e-5);
  close_expand_case(&c);
}

static void batch_norm_trains(void **state) {
  (void)state;
  enum { NB = 3, C = 2, P = 4 };
  for (int opset = 9; opset <= 15; opset += 6) {  // by its outputs, by its attribute
    expand_case c = open_expand_case();
    double *x = expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(NB, C, P));
    double *s[4];
    for (int k = 0; k < 4; k++) s[k] = expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(C));
    if (opset == 15)
      c.attr[c.n_attr++] = (seer_attr){.name = "training_mode", .kind = SEER_ATTR_INT, .i = 1};
    c.attr[c.n_attr++] = (seer_attr){.name = "momentum", .kind = SEER_ATTR_FLOAT, .f = 0.7};
    expand_run(&c, "BatchNormalization", opset, 3);
    double y[NB][C][P], mean[C] = {0}, var[C] = {0};
    for (int ch = 0; ch < C; ch++) {
      for (int i = 0; i < NB * P; i++) mean[ch] += x[(i / P * C + ch) * P + i % P] / (NB * P);
      for (int i = 0; i < NB * P; i++)
        var[ch] += pow(x[(i / P * C + ch) * P + i % P] - mean[ch], 2) / (NB * P);
      for (int i = 0; i < NB * P; i++)
        y[i / P][ch][i % P] =
            (x[(i / P * C + ch) * P + i % P] - mean[ch]) / sqrt(var[ch] + 1e-5) * s[0][ch] +
            s[1][ch];
      mean[ch] = 0.7 * s[2][ch] + 0.3 * mean[ch];
      var[ch] = 0.7 * s[3][ch] + 0.3 * var[ch];
    }
    expand_expect(&c, 0, &y[0][0][0], DIMS(NB, C, P), 1e-5);
    expand_expect(&c, 1, mean, DIMS(C), 1e-6);
    expand_expect(&c, 2, var, DIMS(C), 1e-6);
    close_expand_case(&c);
  }
}

// Each output pixel is the mean, weighted by a triangle over 1 / scale pixels on each side, of what
// lies inside.
static void antialias_cuts_what_lies_outside(void **state) {
  (void)state;
  enum { IN = 7, OUT = 3 };
  expand_case c = open_expand_case();
  double *x = expand_operand(&c, SEER_DTYPE_F32, NULL, DIMS(2, IN));
  expand_absent(&c), expand_absent(&c);
  expand_operand(&c, SEER_DTYPE_I64, (double[]){2, OUT}, DIMS(2));
  c.attr[c.n_attr++] = (seer_attr){.name = "mode", .kind = SEER_ATTR_STRING, .s = "linear"};
  c.attr[c.n_attr++] = (seer_attr){.name = "antialias", .kind = SEER_ATTR_INT, .i = 1};
  c.attr[c.n_attr++] = (seer_attr){.name = "exclude_outside", .kind = SEER_ATTR_INT, .i = 1};
  expand_run(&c, "Resize", 19, 1);
  double want[2][OUT], scale = (double)OUT / IN;
  for (int r = 0; r < 2; r++) {
    for (int i = 0; i < OUT; i++) {
      double at = (i + 0.5) / scale - 0.5, sum = 0, weight = 0;
      for (int k = 0; k < IN; k++) {
        double w = fmax(0, 1 - fabs(k - at) * scale);
        sum += w * x[r * IN + k];
        weight += w;
      }
      want[r][i] = sum / weight;
    }
  }
  expand_expect(&c, 0, &want[0][0], DIMS(2, OUT), 1e-6);
  close_expand_case(&c);
}

static void crop_extrapolates(void **state) {
  (void)state;
  expand_case c = open_expand_case();
  expand_operand(&c, SEER_DTYPE_F32, (double[]){0, 10, 20, 30, 40}, DIMS(5));
  expand_operand(&c, SEER_DTYPE_F32, (double[]){-0.25, 0.75}, DIMS(2));
  expand_absent(&c);
  expand_operand(&c, SEER_DTYPE_I64, (double[]){5}, DIMS(1));
  c.attr[c.n_attr++] = (seer_attr){.name = "mode", .kind = SEER_ATTR_STRING, .s = "linear"};
  c.attr[c.n_attr++] = (seer_attr){.name = "coordinate_transformation_mode",
      .kind = SEER_ATTR_STRING,
      .s = "tf_crop_and_resize"};
  c.attr[c.n_attr++] = (seer_attr){.name = "extrapolation_value", .kind = SEER_ATTR_FLOAT, .f = -7};
  expand_run(&c, "Resize", 19, 1);
  expand_expect(&c, 0, (double[]){-7, 0, 10, 20, 30}, DIMS(5), 1e-5);
  close_expand_case(&c);
}

// Two rows of tokens against the 1-grams (5) (7) and the 2-grams (5,7) (7,5), which count in
// columns 3, 0, 1 and 0; tokens are next to each other or one apart. Each weight is its n-gram's.
static void tf_idf_counts(void **state) {
  (void)state;
  static const int64_t counts[] = {0, 2}, index[] = {3, 0, 1, 0}, pool[] = {5, 7, 5, 7, 7, 5};
  static const struct {
    const char *mode;
    double weights[4], want[2][4];
  } modes[] = {
      {"TF", {2, 3, 4, 5}, {{3, 1, 0, 3}, {0, 0, 0, 1}}},
      {"IDF", {2, 3, 4, 3}, {{3, 4, 0, 2}, {0, 0, 0, 2}}},
      {"TFIDF", {2, 3, 4, 5}, {{13, 4, 0, 6}, {0, 0, 0, 2}}},
  };
  for (size_t m = 0; m < SEER_COUNT_OF(modes); m++) {
    expand_case c = open_expand_case();
    expand_operand(&c, SEER_DTYPE_I32, (double[]){5, 7, 5, 5, 1, 5, 1, 2, 3, 4}, DIMS(2, 5));
    seer_attr attrs[] = {
        {.name = "mode", .kind = SEER_ATTR_STRING, .s = modes[m].mode},
        {.name = "min_gram_length", .kind = SEER_ATTR_INT, .i = 1},
        {.name = "max_gram_length", .kind = SEER_ATTR_INT, .i = 2},
        {.name = "max_skip_count", .kind = SEER_ATTR_INT, .i = 1},
        {.name = "ngram_counts", .kind = SEER_ATTR_INTS, .n = 2, .ints = counts},
        {.name = "ngram_indexes", .kind = SEER_ATTR_INTS, .n = 4, .ints = index},
        {.name = "pool_int64s", .kind = SEER_ATTR_INTS, .n = 6, .ints = pool},
        {.name = "weights", .kind = SEER_ATTR_FLOATS, .n = 4, .floats = modes[m].weights},
    };
    memcpy(c.attr, attrs, sizeof attrs);
    c.n_attr = SEER_COUNT_OF(attrs);
    expand_run(&c, "TfIdfVectorizer", 9, 1);
    expand_expect(&c, 0, &modes[m].want[0][0], DIMS(2, 4), 0);
    close_expand_case(&c);
  }
}

// Which weight a column of two n-grams gets would depend on which one was found last.
static void tf_idf_of_unequal_weights(void **state) {
  (void)state;
  static const int64_t counts[] = {0}, index[] = {0, 0}, pool[] = {5, 7};
  static const double weights[] = {2, 3};
  expand_case c = open_expand_case();
  expand_operand(&c, SEER_DTYPE_I32, (double[]){5, 7}, DIMS(2));
  seer_attr attrs[] = {
      {.name = "mode", .kind = SEER_ATTR_STRING, .s = "IDF"},
      {.name = "ngram_counts", .kind = SEER_ATTR_INTS, .n = 1, .ints = counts},
      {.name = "ngram_indexes", .kind = SEER_ATTR_INTS, .n = 2, .ints = index},
      {.name = "pool_int64s", .kind = SEER_ATTR_INTS, .n = 2, .ints = pool},
      {.name = "weights", .kind = SEER_ATTR_FLOATS, .n = 2, .floats = weights},
  };
  memcpy(c.attr, attrs, sizeof attrs);
  c.n_attr = SEER_COUNT_OF(attrs);
  refuses_at(&c, "TfIdfVectorizer", 9, 1, "weights 2 and 3 in column 0, must be equal there");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lstm_goes_both_ways),
      cmocka_unit_test(gru_resets_before_and_after),
      cmocka_unit_test(rnn_takes_batch_first_and_activations),
      cmocka_unit_test(if_picks_a_branch),
      cmocka_unit_test(if_of_data),
      cmocka_unit_test(loop_runs_until_its_condition_ends),
      cmocka_unit_test(loop_may_run_not_at_all),
      cmocka_unit_test(loop_of_data_is_refused),
      cmocka_unit_test(scan_sums),
      cmocka_unit_test(cross_entropy_weighs_and_ignores),
      cmocka_unit_test(qlinear_matmul_saturates),
      cmocka_unit_test(conv_integer_pads_with_its_zero_point),
      cmocka_unit_test(dynamic_quantisation_holds_zero),
      cmocka_unit_test(attention_goes_on_from_the_past),
      cmocka_unit_test(contrib_operands_are_checked),
      cmocka_unit_test(old_broadcasting_has_an_axis),
      cmocka_unit_test(dft_of_some_points),
      cmocka_unit_test(dft_of_bins),
      cmocka_unit_test(col2im_adds_blocks),
      cmocka_unit_test(batch_norm_trains),
      cmocka_unit_test(antialias_cuts_what_lies_outside),
      cmocka_unit_test(crop_extrapolates),
      cmocka_unit_test(tf_idf_counts),
      cmocka_unit_test(tf_idf_of_unequal_weights),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
