// constant.c - a constant stage and those that it reads -> a DAG of their own -> its values, by the
// interpreter or by the default schedule of that DAG, loaded into this process. (A 3x3
// convolution of 512 channels has 9.4 million transformed weights: 30 ms instead of minutes.)
// Nothing here knows a compiler: constant_compile.c does.
#include "code/constant.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/os/parallel.h"
#include "space/lower.h"

// Below this many elements code generation would cost more than it saves. (An estimate: code for
// the 9.4 million took 30 ms in all; the interpreter was not timed against it.)
#define MAX_INTERPRETED 20000

// ---- the stages that are needed, as a DAG. Its inputs are no weights: then nothing in it is
// constant.

typedef struct {
  const seer_dag *from;
  seer_dag *to;
  uint32_t buf_of[SEER_DAG_MAX_BUFFERS];  // in `to`, + 1
  bool needs[SEER_DAG_MAX_STAGES];
} extraction;

static void note_need(void *user, seer_expr e) {
  extraction *x = user;
  const seer_expr_node *node = seer_expr_at(&x->from->expr, e);
  if (node->op != SEER_EXPR_LOAD) return;
  const seer_dag_buf *buf = &x->from->buf[node->ref];
  if (buf->kind == SEER_BUF_STAGE) x->needs[buf->stage] = true;
}

static seer_expr move_load(void *user, seer_expr_pool *to, const seer_expr_node *load,
    const seer_expr *index, seer_expr predicate, seer_expr otherwise) {
  extraction *x = user;
  if (x->buf_of[load->ref] == 0) {
    const seer_dag_buf *buf = &x->from->buf[load->ref];
    SEER_ASSERT(buf->kind == SEER_BUF_WEIGHT, "buffer %s is no weight", buf->name);
    x->buf_of[load->ref] = seer_dag_add_input(x->to, buf->name, SEER_BUF_ACTIVATION, buf->dtype,
                               buf->dim, buf->rank, buf->pitch) +
        1;
  }
  return seer_expr_load_guarded(to, (seer_dtype)load->dtype, x->buf_of[load->ref] - 1, index,
      load->n_index, predicate, otherwise);
}

static void extract(extraction *x, uint32_t buf, seer_arena *arena) {
  const seer_dag *from = x->from;
  x->to = seer_dag_create(arena, from->buf[buf].name);
  x->needs[from->buf[buf].stage] = true;
  for (uint32_t s = from->n_stage; s-- > 0;) {
    if (!x->needs[s]) continue;
    for (uint32_t v = 0; v < from->stage[s].n_values; v++) {
      seer_expr_visit(&from->expr, from->stage[s].body[v], note_need, x);
    }
  }
  seer_expr *map = SEER_NEW_ARRAY(arena, seer_expr, from->n_var + 1);
  for (uint32_t s = 0; s < from->n_stage; s++) {
    const seer_dag_stage *stage = &from->stage[s];
    if (!x->needs[s]) continue;
    uint32_t made = seer_dag_add_stage(
        x->to, stage->name, stage->role, stage->axis, stage->n_space, stage->n_reduce);
    for (uint32_t k = 0; k < (uint32_t)stage->n_space + stage->n_reduce; k++) {
      map[stage->var0 + k] = seer_dag_var(x->to, made, k);
    }
    seer_expr body[SEER_DAG_MAX_VALUES];
    for (uint32_t v = 0; v < stage->n_values; v++) {
      body[v] =
          seer_expr_copy(&x->to->expr, &from->expr, stage->body[v], map, from->n_var, move_load, x);
    }
    uint32_t first = seer_dag_set_body(x->to, made, stage->combiner, body, stage->n_values);
    for (uint32_t v = 0; v < stage->n_values; v++) x->buf_of[stage->out[v]] = first + v + 1;
  }
  seer_dag_mark_output(x->to, x->buf_of[buf] - 1, from->buf[buf].pitch);
  seer_dag_finish(x->to);
}

// ---- values

static void interpret(const extraction *x, uint32_t buf, const void *const *input,
    seer_arena *arena, void *out_data) {
  seer_dag_eval *eval = seer_dag_eval_create(x->to, arena);
  for (uint32_t b = 0; b < x->from->n_buf; b++) {
    if (x->buf_of[b] && x->from->buf[b].kind == SEER_BUF_WEIGHT) {
      seer_dag_eval_set_input(eval, x->buf_of[b] - 1, input[b]);
    }
  }
  seer_dag_eval_all(eval, x->buf_of[buf] - 1, out_data);
}

// What all machines of its architecture have.
static void least_target(const seer_target *of, seer_target *out) {
  *out = *of;
  bool is_x86 = strncmp(out->triple, "x86_64", 6) == 0;
  out->cpu = is_x86 ? "x86-64" : "generic";
  out->features = "";
  out->vector_bytes = 16;
  out->n_vector_registers = is_x86 ? 16 : 32;
}

// How, for what, on how many threads (0: as many as this process may use).
typedef struct {
  const seer_constant_maker *maker;
  const seer_target *target;
  uint32_t max_threads;
} means;

typedef struct {
  const means *means;
  seer_loaded loaded;
  void *memory[SEER_DAG_MAX_BUFFERS];  // by argument; owned
  uint32_t n_threads;  // how many places there are
  // The kernel's arguments by thread: all the same but the last, the thread's own scratch.
  void *(*arg)[SEER_DAG_MAX_BUFFERS];
} machine;

static seer_status allocate(uint64_t n_bytes, void **out) {
  *out = aligned_alloc(64, (size_t)seer_round_up((int64_t)n_bytes + 1, 64));
  return *out ? SEER_OK
              : SEER_FAIL(RESOURCE, "no memory for %" PRIu64 " bytes of weights", n_bytes);
}

// A stage that reads nothing at all (numbers by their indices, one number everywhere) is constant
// in the extracted DAG too, and packed like a weight there.
static seer_status pack_constant(
    const means *by, const seer_dag *dag, const seer_pack *pack, void *out_packed) {
  const seer_dag_buf *source = &dag->buf[pack->source_buf];
  const void *no_input[SEER_DAG_MAX_BUFFERS] = {NULL};
  void *values;
  SEER_TRY(
      allocate((uint64_t)seer_dag_buf_elems(source) * seer_dtype_bytes(source->dtype), &values));
  seer_status status =
      seer_constant_run(by->maker, by->target, dag, pack->source_buf, no_input, 0, values);
  if (!status) seer_pack_fill(pack, source, values, out_packed);
  free(values);
  return status;
}

// Argument `a`, the same for all threads: a weight, the result, or memory of its own. `dag` is the
// sketch's.
static seer_status bind_argument(const extraction *x, uint32_t buf, const means *by,
    const seer_dag *dag, const seer_kernel_arg *k, const void *const *input, void *out_data,
    void **out_owned, void **out_arg) {
  if (k->storage == SEER_STORE_INPUT) {
    uint32_t b = 0;
    while (b < x->from->n_buf && x->buf_of[b] != k->dag_buf + 1) b++;
    SEER_ASSERT(b < x->from->n_buf && input[b], "an argument has no data");
    memcpy(out_arg, &input[b], sizeof *out_arg);  // read only: the kernel's arguments are not const
    return SEER_OK;
  }
  if (k->storage == SEER_STORE_OUTPUT && k->dag_buf == x->buf_of[buf] - 1) {
    *out_arg = out_data;
    return SEER_OK;
  }
  SEER_TRY(allocate(k->n_bytes, out_owned));
  *out_arg = *out_owned;
  return k->storage == SEER_STORE_PACKED ? pack_constant(by, dag, k->pack, *out_owned) : SEER_OK;
}

static seer_status bind_arguments(const extraction *x, uint32_t buf, const seer_dag *dag,
    const seer_kernel *kernel, const void *const *input, void *out_data, seer_arena *arena,
    machine *m) {
  for (uint32_t p = 0; p < kernel->n_phase; p++) {
    uint32_t n = seer_parallel_threads(m->means->max_threads, kernel->n_parts[p]);
    if (n > m->n_threads) m->n_threads = n;
  }
  m->arg = seer_arena_alloc(arena, m->n_threads * sizeof *m->arg, 64);
  uint32_t last = kernel->n_arg - 1;  // the scratch
  for (uint32_t a = 0; a < last; a++)
    SEER_TRY(bind_argument(
        x, buf, m->means, dag, &kernel->arg[a], input, out_data, &m->memory[a], &m->arg[0][a]));
  uint64_t stride = (uint64_t)seer_round_up((int64_t)kernel->scratch_bytes + 1, 128);
  SEER_TRY(allocate(stride * m->n_threads, &m->memory[last]));
  for (uint32_t t = 0; t < m->n_threads; t++) {
    if (t > 0) memcpy(m->arg[t], m->arg[0], last * sizeof m->arg[0][0]);
    m->arg[t][last] = (char *)m->memory[last] + t * stride;
  }
  return SEER_OK;
}

typedef struct {
  seer_kernel_phase run;
  const machine *machine;
} phase_call;

static void run_part(void *user, uint32_t part, uint32_t thread) {
  const phase_call *call = user;
  call->run(call->machine->arg[thread], part);
}

// The kernel of the default schedule.
typedef struct {
  const seer_sketch_list *list;
  seer_schedule schedule;
  seer_kernel kernel;
} program;

static seer_status make(const extraction *x, const means *by, seer_arena *arena, program *out) {
  seer_target *target = SEER_NEW(arena, seer_target);
  least_target(by->target, target);
  seer_sketch_list *list = NULL;
  SEER_TRY(seer_sketch_generate(x->to, target, SEER_SPACE_FULL, arena, &list));
  out->list = list;
  seer_schedule_default(list, 0, &out->schedule);
  seer_loop *loop = NULL;
  SEER_TRY(seer_loop_lower(list, &out->schedule, arena, &loop));
  uint64_t key = seer_hash_str(seer_dag_print(x->to, arena),
      seer_hash_str(seer_schedule_print(list, &out->schedule, arena), 0));
  const seer_constant_maker *maker = by->maker;
  return maker->make(maker->user, key, target, loop, arena, &out->kernel);
}

// What is packed into it, too.
static seer_status make_packed(const means *by, const program *of) {
  const seer_dag *dag = seer_sketch_of(of->list, &of->schedule)->dag;
  for (uint32_t a = 0; a < of->kernel.n_arg; a++) {
    const seer_kernel_arg *arg = &of->kernel.arg[a];
    if (arg->storage != SEER_STORE_PACKED) continue;
    SEER_TRY(seer_constant_run(by->maker, by->target, dag, arg->pack->source_buf, NULL, 0, NULL));
  }
  return SEER_OK;
}

static seer_status run(const extraction *x, uint32_t buf, const void *const *input,
    const program *of, seer_arena *arena, machine *m, void *out_data) {
  const seer_kernel *kernel = &of->kernel;
  seer_kernel_phase phase[SEER_DAG_MAX_STAGES];
  SEER_TRY(seer_kernel_load(kernel, phase, &m->loaded));
  const seer_dag *dag = seer_sketch_of(of->list, &of->schedule)->dag;
  SEER_TRY(bind_arguments(x, buf, dag, kernel, input, out_data, arena, m));
  for (uint32_t p = 0; p < kernel->n_phase; p++) {
    phase_call call = {phase[p], m};
    seer_parallel(m->means->max_threads, kernel->n_parts[p], run_part, &call);
  }
  return SEER_OK;
}

static double work_of(const seer_dag *dag) {
  double work = 0;
  for (uint32_t s = 0; s < dag->n_stage; s++) {
    const seer_dag_stage *stage = &dag->stage[s];
    double points = 1;
    for (uint32_t k = 0; k < (uint32_t)stage->n_space + stage->n_reduce; k++)
      points *= (double)stage->axis[k].extent;
    work += points;
  }
  return work;
}

static seer_status compiled(const extraction *x, uint32_t buf, const void *const *input,
    const means *by, seer_arena *arena, void *out_data) {
  program *made = SEER_NEW(arena, program);
  SEER_TRY(make(x, by, arena, made));
  if (!input) return make_packed(by, made);
  machine m = {.means = by};
  seer_status status = run(x, buf, input, made, arena, &m, out_data);
  seer_object_unload(&m.loaded);
  for (uint32_t a = 0; a < SEER_DAG_MAX_BUFFERS; a++) free(m.memory[a]);
  return status;
}

seer_status seer_constant_run(const seer_constant_maker *maker, const seer_target *target,
    const seer_dag *dag, uint32_t buf, const void *const *input, uint32_t n_threads,
    void *out_data) {
  SEER_ASSERT(buf < dag->n_buf && dag->buf[buf].kind == SEER_BUF_STAGE &&
          dag->stage[dag->buf[buf].stage].is_const,
      "buffer %u is no constant stage's", buf);
  const means by = {maker, target, n_threads};
  seer_arena *arena = seer_arena_create("constant");
  extraction *x = SEER_NEW(arena, extraction);
  x->from = dag;
  extract(x, buf, arena);
  seer_status status = SEER_OK;
  if (work_of(x->to) > MAX_INTERPRETED) {
    status = compiled(x, buf, input, &by, arena, out_data);
    if (status) status = seer_status_context(status, "evaluating constant %s", dag->buf[buf].name);
  } else if (input) {
    interpret(x, buf, input, arena, out_data);
  }
  seer_arena_destroy(arena);
  return status;
}

// ---- with kernels that are at hand
static seer_status find_given(void *user, uint64_t key, const seer_target *target,
    const seer_loop *loop, seer_arena *arena, seer_kernel *out) {
  (void)target;
  const seer_constant_kernels *kernels = user;
  SEER_TRY(seer_kernel_describe(loop, SEER_CONSTANT_SYMBOL, arena, out));
  for (size_t k = 0; k < kernels->n; k++) {
    const seer_constant_kernel *kernel = &kernels->kernel[k];
    if (kernel->key != key) continue;
    seer_kernel_set_scratch(out, kernel->scratch_bytes);
    out->object = kernel->object;
    out->n_object_bytes = kernel->n_object_bytes;
    return SEER_OK;
  }
  return SEER_FAIL(INTERNAL, "the code that evaluates it did not come along");
}

seer_status seer_constant_eval_with(const seer_constant_kernels *kernels, const seer_target *target,
    const seer_dag *dag, uint32_t buf, const void *const *input, uint32_t n_threads,
    void *out_data) {
  seer_constant_kernels found = *kernels;
  const seer_constant_maker maker = {find_given, &found};
  return seer_constant_run(&maker, target, dag, buf, input, n_threads, out_data);
}
