// Values that are parts of others' memory: random networks of Concat, Split and Slice among
// kernels, node by node as ONNX defines them, against their steps, run by the interpreter where the
// plan says that operands lie: in one arena whose memory is used again and again. Faults that are
// planted in parts' places and in what the plan keeps must show.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "choose/choose.h"
#include "code/artefact/internal.h"
#include "code/plan/internal.h"
#include "front/pass/pass.h"
#include "support/net_eval.h"
#include "support/test.h"
#include "support/test_target.h"

static seer_arena *arena;
static const char *folder;
static seer_context *context;

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

// ---- a network, its plan, and runs by it

typedef struct {
  const char *text;
  seer_graph *plain;
  seer_network *network;
  const void **expected;
  seer_built_kernels kernels;
  seer_choice *choice;
} made;

static made make(const char *text) {
  made m = {.text = text};
  seer_graph *graph;
  seer_choose_counts counts;
  must(seer_graph_parse("test", text, strlen(text), arena, &m.plain));
  must(seer_graph_parse("test", text, strlen(text), arena, &graph));
  must(seer_front_resolve(m.plain, "", NULL));
  must(seer_front_resolve(graph, "", NULL));
  must(seer_front_run_passes(context, graph));
  must(seer_network_build(context, graph, arena, &m.network));
  m.expected = net_eval_nodes(m.plain, 7, arena);
  seer_target target = test_target_read("laptop", arena);
  seer_context_set_target(context, &target);
  must(seer_choose(context, m.network, NULL, 0, arena, &m.choice, &counts));
  return m;
}

// A kernel without code: its arguments are all that a plan asks for.
static seer_status describe_kernel(const seer_kernel_maker *maker, const seer_loop *loop,
    const char *symbol, seer_arena *into, seer_built_kernel *out) {
  (void)maker;
  SEER_TRY(seer_kernel_describe(loop, symbol, into, &out->kernel));
  seer_kernel_set_scratch(&out->kernel, 64);
  return SEER_OK;
}

static const seer_build_form no_code = {.file = "", .maker = "", .kernel = describe_kernel};

static seer_built_plan plan_of(made *m) {
  seer_step_packs **packs = SEER_NEW_ARRAY(arena, seer_step_packs *, 1);
  packs[0] = SEER_NEW_ARRAY(arena, seer_step_packs, m->network->n_step + 1);
  const seer_build_scope scope = {context, m->network, &no_code, NULL};
  must(seer_build_kernels(&scope, m->choice, packs, arena, &m->kernels));
  seer_weight_file *weights;
  const char *path = seer_os_path_join(arena, folder, "weights.bin");
  must(seer_weight_file_create(path, UINT64_MAX, arena, &weights));
  seer_built_plan plan;
  must(seer_build_plan(context, m->network, 0, &m->kernels, m->choice, weights, arena, &plan));
  seer_weight_file_close(weights);
  plan.body.data = seer_arena_memdup(arena, plan.body.data, plan.body.n_bytes);  // aligned
  return plan;
}

// Values of one root are moved as one, by as many bytes: a planted fault. 0: none.
typedef struct {
  uint32_t value;
  uint64_t to;  // in the arena
} moved;

typedef struct {
  const made *m;
  const seer_plan_header *header;
  const seer_plan_arg *arg;
  char *arena;
  const void **input;
  void **output;
  moved fault;
} runner;

static void *address(const runner *r, const seer_plan_arg *arg, uint32_t value) {
  if (value == r->fault.value) return r->arena + r->fault.to;
  switch (arg->kind) {
    case SEER_ARG_ARENA:
      return r->arena + arg->offset;
    case SEER_ARG_INPUT:
      return (void *)(uintptr_t)r->input[arg->offset];
    case SEER_ARG_OUTPUT:
      return r->output[arg->offset];
    default:
      fail_msg("an argument of kind %u", arg->kind);
      return NULL;
  }
}

static const seer_plan_arg *arg_of(
    const runner *r, const seer_plan_step *at, const seer_kernel *kernel, uint32_t buf) {
  for (uint32_t i = 0; i < kernel->n_arg; i++)
    if (kernel->arg[i].dag_buf == buf && kernel->arg[i].storage != SEER_STORE_PACKED &&
        kernel->arg[i].storage != SEER_STORE_SHARED && kernel->arg[i].storage != SEER_STORE_LOCAL)
      return &r->arg[at->first_arg + i];
  fail_msg("buffer %u is no argument", buf);
  return NULL;
}

static void run_kernel(const runner *r, uint32_t s, const seer_plan_step *at) {
  const seer_step *step = &r->m->network->step[s];
  const seer_graph *graph = r->m->network->graph;
  const seer_kernel *kernel = &r->m->kernels.kernel[r->m->kernels.of_step[0][s]].kernel;
  seer_arena *scratch = seer_arena_create("eval");
  seer_dag_eval *eval = seer_dag_eval_create(step->dag, scratch);
  for (uint32_t b = 0; b < step->dag->n_buf; b++) {
    uint32_t v = step->value_of_buf[b].i;
    if (step->dag->buf[b].kind == SEER_BUF_STAGE) continue;
    const seer_tensor *constant = graph->value[v].constant;
    seer_dag_eval_set_input(
        eval, b, constant ? constant->data : address(r, arg_of(r, at, kernel, b), v));
  }
  for (uint32_t b = 0; b < step->dag->n_buf; b++)
    if (step->dag->buf[b].is_output)
      seer_dag_eval_all(eval, b, address(r, arg_of(r, at, kernel, b), step->value_of_buf[b].i));
  seer_arena_destroy(scratch);
}

// The largest difference of the outputs, by the plan, with the fault.
static double run(const made *m, const seer_built_plan *plan, moved fault) {
  const seer_graph *graph = m->network->graph;
  const char *blob = plan->body.data;
  const seer_plan_header *header = &plan->header;
  const seer_plan_step *step = (const void *)(blob + header->step_offset);
  runner r = {.m = m,
      .header = header,
      .arg = (const void *)(blob + header->arg_offset),
      .arena = malloc(header->arena_bytes + 1),  // its end is watched
      .input = SEER_NEW_ARRAY(arena, const void *, graph->n_input),
      .output = SEER_NEW_ARRAY(arena, void *, graph->n_output),
      .fault = fault};
  memset(r.arena, 0x7b, header->arena_bytes + 1);
  for (uint32_t k = 0; k < graph->n_input; k++)
    r.input[k] = net_input(seer_graph_value(graph, graph->input[k]), k, 7, arena);
  for (uint32_t k = 0; k < graph->n_output; k++)
    r.output[k] = seer_arena_alloc(
        arena, (size_t)seer_value_elems(seer_graph_value(graph, graph->output[k])) * 8, 64);
  for (uint32_t s = 0; s < header->n_step; s++) {
    if (step[s].kind == SEER_PLAN_KERNEL) run_kernel(&r, s, &step[s]);
    if (step[s].kind == SEER_PLAN_COPY_BYTES)
      memcpy(address(&r, &r.arg[step[s].first_arg + 1], UINT32_MAX),
          address(&r, &r.arg[step[s].first_arg], UINT32_MAX), step[s].n_bytes);
  }
  double difference = net_difference(graph, (const void **)r.output, m->plain, m->expected);
  free(r.arena);
  return difference;
}

static const moved none = {UINT32_MAX - 1, 0};

typedef struct {
  uint32_t n_joined, n_given, n_copied, n_left;  // Concats, Splits and Slices; copies; Concats
} tally;

static void count(const seer_graph *graph, tally *seen) {
  for (uint32_t k = 1; k < graph->n_node; k++) {
    const seer_node *node = &graph->node[k];
    bool is_free = seer_pass_is_in_place(graph, node);
    seen->n_joined += is_free && node->op->joins_parts;
    seen->n_given += is_free && node->op->gives_parts;
    seen->n_left += !is_free && node->op->joins_parts;
    seen->n_copied += node->op == &seer_op_identity;
  }
}

static void check(const char *text, tally *seen) {
  made m = make(text);
  double steps =
      net_difference(m.network->graph, net_eval_steps(m.network, 7, arena), m.plain, m.expected);
  seer_built_plan plan = plan_of(&m);
  double planned = run(&m, &plan, none);
  if (!(steps <= 2e-4 && planned <= 2e-4))
    fail_msg("differs by %g, as planned by %g\n%s\n%s", steps, planned, text,
        seer_graph_print_brief(m.network->graph, arena));
  seer_build_kernels_clear(&m.kernels);
  count(m.network->graph, seen);
}

// ---- random networks

typedef struct {
  seer_rng rng;
  char text[40000];
  int n, n_value, n_const;
  int64_t dim[80][4];
  bool is_flat[80];  // [n, c, h*w] of it, dim[3] is 1
} maker;

__attribute__((format(printf, 2, 3))) static void put(maker *m, const char *format, ...) {
  va_list args;
  va_start(args, format);
  m->n += vsnprintf(m->text + m->n, sizeof m->text - (size_t)m->n, format, args);
  va_end(args);
  assert_true(m->n < (int)sizeof m->text - 1);
}

static int64_t draw(maker *m, int64_t low, int64_t high) {
  return seer_rng_range(&m->rng, low, high);
}

static int add(maker *m, const int64_t *dim) {
  memcpy(m->dim[m->n_value], dim, sizeof m->dim[0]);
  return m->n_value++;
}

static int pick(maker *m) {
  return (int)draw(m, m->n_value > 7 ? m->n_value - 7 : 0, m->n_value - 1);
}

static void put_ints(maker *m, const int64_t *value, int n) {
  put(m, "const $i%d i64[%d] = [", m->n_const++, n);
  for (int k = 0; k < n; k++) put(m, "%s%d", k ? "," : "", (int)value[k]);
  put(m, "]\n");
}

static void add_conv(maker *m, int x) {
  int64_t dim[4], k = draw(m, 0, 2) ? 1 : 3, n = 1;
  memcpy(dim, m->dim[x], sizeof dim);
  const int64_t widths[] = {2, 3, 4, 4, 6, 8};
  int64_t w[4] = {widths[draw(m, 0, 5)], dim[1], k, k};
  put(m, "const $w%d f32[%d,%d,%d,%d] = [", m->n_const++, (int)w[0], (int)w[1], (int)k, (int)k);
  for (int d = 0; d < 4; d++) n *= w[d];
  for (int64_t i = 0; i < n; i++) put(m, "%s%g", i ? "," : "", (double)draw(m, -4, 4) / 4);
  put(m, "]\n%%v%d f32 = Conv \"conv%d\" v13 (%%v%d, $w%d) {pads=[%d,%d,%d,%d]}\n", m->n_value,
      m->n_value, x, m->n_const - 1, k == 3, k == 3, k == 3, k == 3);
  dim[1] = w[0];
  add(m, dim);
}

static void add_concat(maker *m, int x) {
  int axis = (int)draw(m, 0, 5) == 0 ? 2 : 1, n = 1, part[4] = {x};
  int64_t dim[4];
  memcpy(dim, m->dim[x], sizeof dim);
  for (int y = m->n_value - 1; y >= 0 && n < 4; y--) {
    bool fits = true;
    for (int d = 0; d < 4; d++) fits &= d == axis || m->dim[y][d] == dim[d];
    if (!fits || draw(m, 0, 3) == 0) continue;
    dim[axis] += m->dim[y][axis];
    part[n++] = y;
  }
  if (dim[axis] > 40) return;
  for (int k = 0; k < n; k++) {  // in any order, the first one's place too
    int other = (int)draw(m, 0, n - 1), kept = part[k];
    part[k] = part[other];
    part[other] = kept;
  }
  put(m, "%%v%d f32 = Concat \"concat%d\" v13 (", m->n_value, m->n_value);
  for (int k = 0; k < n; k++) put(m, "%s%%v%d", k ? ", " : "", part[k]);
  put(m, ") {axis=%d}\n", axis - (draw(m, 0, 1) ? 4 : 0));
  add(m, dim);
}

static void add_split(maker *m, int x) {
  int64_t dim[4], axis = draw(m, 0, 3) ? 1 : 2, first, size[2];
  memcpy(dim, m->dim[x], sizeof dim);
  if (dim[axis] < 2) return;
  first = draw(m, 0, 1) ? dim[axis] / 2 : draw(m, 1, dim[axis] - 1);
  size[0] = first;
  size[1] = dim[axis] - first;
  put_ints(m, size, 2);
  put(m, "%%v%d f32, %%v%d f32 = Split \"split%d\" v13 (%%v%d, $i%d) {axis=%d}\n", m->n_value,
      m->n_value + 1, m->n_value, x, m->n_const - 1, (int)axis);
  for (int k = 0; k < 2; k++) {
    dim[axis] = size[k];
    add(m, dim);
  }
}

static void add_slice(maker *m, int x) {
  int64_t dim[4], start[3], end[3], step[3], axes[3] = {1, 2, 3};
  memcpy(dim, m->dim[x], sizeof dim);
  for (int k = 0; k < 3; k++) {
    bool is_cut = draw(m, 0, 2) == 0;
    start[k] = is_cut ? draw(m, 0, dim[k + 1] - 1) : 0;
    end[k] = is_cut ? draw(m, start[k] + 1, dim[k + 1]) : dim[k + 1];
    step[k] = draw(m, 0, 9) == 0 ? 2 : 1;
    dim[k + 1] = (end[k] - start[k] + step[k] - 1) / step[k];
  }
  put_ints(m, start, 3);
  put_ints(m, end, 3);
  put_ints(m, axes, 3);
  put_ints(m, step, 3);
  put(m, "%%v%d f32 = Slice \"slice%d\" v13 (%%v%d, $i%d, $i%d, $i%d, $i%d)\n", m->n_value,
      m->n_value, x, m->n_const - 4, m->n_const - 3, m->n_const - 2, m->n_const - 1);
  add(m, dim);
}

// Channels in groups, the groups' members in turns; or views there and back.
static void add_shuffle(maker *m, int x, bool is_view) {
  const int64_t *dim = m->dim[x];
  if (dim[1] % 2) return;
  const int64_t apart[5] = {dim[0], 2, dim[1] / 2, dim[2], dim[3]},
                flat[4] = {dim[0], dim[1], dim[2] * dim[3], 1};
  if (is_view) {
    put_ints(m, flat, 4);
    put(m, "%%v%d f32 = Reshape \"view%d\" v13 (%%v%d, $i%d)\n", m->n_value, m->n_value, x,
        m->n_const - 1);
    add(m, flat);
    return;
  }
  put_ints(m, apart, 5);
  put_ints(m, dim, 4);
  put(m,
      "%%a%d f32 = Reshape \"a%d\" v13 (%%v%d, $i%d)\n"
      "%%b%d f32 = Transpose \"b%d\" v13 (%%a%d) {perm=[0,2,1,3,4]}\n"
      "%%v%d f32 = Reshape \"shuffle%d\" v13 (%%b%d, $i%d)\n",
      m->n_value, m->n_value, x, m->n_const - 2, m->n_value, m->n_value, m->n_value, m->n_value,
      m->n_value, m->n_value, m->n_const - 1);
  int64_t same[4];
  memcpy(same, dim, sizeof same);
  add(m, same);
}

static void add_other(maker *m, int x) {
  int64_t dim[4];
  memcpy(dim, m->dim[x], sizeof dim);
  if (draw(m, 0, 2) == 0) {
    put(m, "%%v%d f32 = MaxPool \"pool%d\" v12 (%%v%d) {kernel_shape=[3,3], pads=[1,1,1,1]}\n",
        m->n_value, m->n_value, x);
    add(m, dim);
    return;
  }
  for (int y = m->n_value - 1; y >= 0 && draw(m, 0, 2); y--) {
    if (y == x || memcmp(m->dim[y], dim, sizeof dim) != 0) continue;
    put(m, "%%v%d f32 = Add \"add%d\" v13 (%%v%d, %%v%d)\n", m->n_value, m->n_value, x, y);
    add(m, dim);
    return;
  }
  put(m, "%%v%d f32 = %s \"unary%d\" v13 (%%v%d)\n", m->n_value, draw(m, 0, 1) ? "Relu" : "Tanh",
      m->n_value, x);
  add(m, dim);
}

static const char *random_text(maker *m, uint64_t seed) {
  m->n = m->n_value = m->n_const = 0;
  seer_rng_init(&m->rng, seed);
  int64_t dim[4] = {draw(m, 0, 3) ? 1 : 2, 2 * draw(m, 1, 3), draw(m, 1, 4), draw(m, 1, 4)};
  put(m, "# seed %d\ngraph \"random\" { input %%v0 f32[%d,%d,%d,%d]\n", (int)seed, (int)dim[0],
      (int)dim[1], (int)dim[2], (int)dim[3]);
  add(m, dim);
  add_conv(m, 0);
  add_conv(m, 0);
  for (int k = (int)draw(m, 3, 16); k > 0; k--) {
    int x = pick(m), kind = (int)draw(m, 0, 13);
    if (kind < 4)
      add_conv(m, x);
    else if (kind < 8)
      add_concat(m, x);
    else if (kind == 8)
      add_split(m, x);
    else if (kind == 9)
      add_slice(m, x);
    else if (kind <= 11)
      add_shuffle(m, x, kind == 10);
    else
      add_other(m, x);
  }
  put(m, "output %%v%d\n", m->n_value - 1);
  for (int v = 1; v + 1 < m->n_value; v++)
    if (draw(m, 0, 19) == 0) put(m, "output %%v%d\n", v);
  put(m, "}");
  return m->text;
}

static void random_networks_run_as_planned(void **state) {
  (void)state;
  enum { N_NETWORKS = 500 };
  static maker m;
  tally seen = {0};
  for (uint64_t seed = 0; seed < N_NETWORKS; seed++) {
    check(random_text(&m, seed), &seen);
    seer_arena_reset(arena);
  }
  print_message("%u Concats, %u Splits and Slices in place, %u copies, %u Concats left\n",
      seen.n_joined, seen.n_given, seen.n_copied, seen.n_left);
  assert_true(seen.n_joined > 100 && seen.n_given > 20 && seen.n_copied > 20 && seen.n_left > 20);
}

// ---- planted faults

// A layer that reads all before it, thrice; two more that are joined are kept meanwhile.
static const char dense_text[] =
    "graph \"dense\" { input %x f32[1,4,3,3]\n"
    "const $w f32[4,4,3,3] = splat 0.125 const $v f32[4,8,1,1] = splat 0.25\n"
    "const $u f32[4,12,1,1] = splat 0.0625\n"
    "%a f32 = Conv \"a\" v13 (%x, $w) {pads=[1,1,1,1]}\n"
    "%ra f32 = Tanh \"ra\" v13 (%a)\n"
    "%b f32 = Conv \"b\" v13 (%ra, $w) {pads=[1,1,1,1]}\n"
    "%rb f32 = Sigmoid \"rb\" v13 (%b)\n"
    "%c f32 = Concat \"c\" v13 (%ra, %rb) {axis=1}\n"
    "%d f32 = Conv \"d\" v13 (%c, $v)\n"
    "%rd f32 = Tanh \"rd\" v13 (%d)\n"
    "%g f32 = Conv \"g\" v13 (%rd, $w) {pads=[1,1,1,1]}\n"
    "%h f32 = Conv \"h\" v13 (%rd, $w) {pads=[1,1,1,1]}\n"
    "%rg f32 = Relu \"rg\" v13 (%g) %rh f32 = Tanh \"rh\" v13 (%h)\n"
    "%i f32 = Concat \"i\" v13 (%rg, %rh) {axis=1}\n"
    "%p f32 = Conv \"p\" v13 (%rd, $w) {pads=[1,1,1,1]}\n"
    "%q f32 = Conv \"q\" v13 (%p, $w) {pads=[1,1,1,1]}\n"
    "%rq f32 = Tanh \"rq\" v13 (%q)\n"
    "%e f32 = Concat \"e\" v13 (%c, %rq) {axis=1}\n"
    "%f f32 = Conv \"f\" v13 (%e, $u)\n"
    "%j f32 = Conv \"j\" v13 (%i, $v)\n"
    "%k f32 = Sub \"k\" v13 (%j, %f)\n"
    "output %k }";

static uint32_t find(const seer_graph *graph, const char *name) {
  for (uint32_t v = 1; v < graph->n_value; v++)
    if (strcmp(graph->value[v].name, name) == 0) return v;
  fail_msg("no value '%s'", name);
  return 0;
}

static void planted_places_show(void **state) {
  (void)state;
  enum { SHIFTED, IN_ANOTHER, ALONE, N_FAULTS };
  for (int fault = 0; fault < N_FAULTS; fault++) {
    made m = make(dense_text);
    seer_graph *graph = m.network->graph;
    seer_value *part = &graph->value[find(graph, "rb")];
    assert_int_equal(part->base.i, find(graph, "e"));
    assert_int_equal(part->offset, 4);
    if (fault == SHIFTED) part->offset += 1;
    if (fault == IN_ANOTHER) part->base.i = find(graph, "i");
    if (fault == ALONE) part->base.i = 0;  // and its memory is free once its kernel has run
    seer_built_plan plan = plan_of(&m);
    double difference = run(&m, &plan, none);
    if (difference <= 1e-3) fail_msg("fault %d does not show: %g", fault, difference);
    seer_build_kernels_clear(&m.kernels);
  }
}

// Memory of a part that is still to be read is given to what is made meanwhile.
static void ended_too_early_shows(void **state) {
  (void)state;
  made m = make(dense_text);
  seer_graph *graph = m.network->graph;
  seer_built_plan plan = plan_of(&m);
  const char *blob = plan.body.data;
  const seer_plan_step *step = (const void *)(blob + plan.header.step_offset);
  const seer_plan_arg *arg = (const void *)(blob + plan.header.arg_offset);
  // Where what "ra" is part of begins: %p is made while %ra is still to be read by "f".
  uint64_t at = UINT64_MAX;
  for (uint32_t s = 0; s < m.network->n_step; s++) {
    if (step[s].kind != SEER_PLAN_KERNEL) continue;
    const seer_kernel *kernel = &m.kernels.kernel[m.kernels.of_step[0][s]].kernel;
    for (uint32_t i = 0; i < kernel->n_arg; i++)
      if (kernel->arg[i].storage == SEER_STORE_OUTPUT &&
          m.network->step[s].value_of_buf[kernel->arg[i].dag_buf].i == find(graph, "ra"))
        at = arg[step[s].first_arg + i].offset;
  }
  assert_true(at != UINT64_MAX);
  assert_true(run(&m, &plan, none) <= 1e-4);
  assert_false(run(&m, &plan, (moved){find(graph, "p"), at}) <= 1e-3);
  seer_build_kernels_clear(&m.kernels);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(random_networks_run_as_planned, setup, teardown),
      cmocka_unit_test_setup_teardown(planted_places_show, setup, teardown),
      cmocka_unit_test_setup_teardown(ended_too_early_shows, setup, teardown),
  };
  seer_arena *files = seer_arena_create("files");
  if (seer_os_temp_dir("test_parts", files, &folder)) return 1;
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  seer_status_free(seer_os_remove_tree(folder));
  seer_arena_destroy(files);
  return failed;
}
