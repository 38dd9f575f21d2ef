// kernels.c - steps and choices -> distinct kernels. Equal (content, schedule, packs) is one
// kernel, however many steps run it. Compiling is spread over the machine's threads, each with its
// own LLVM context and arena; results lie in job order, so the outcome does not depend on the
// number of threads.
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "base/os/parallel.h"
#include "base/recover.h"
#include "code/artefact/internal.h"
#include "code/dump.h"
#include "space/lower.h"

typedef struct job_list job_list;

// What a thread works with.
typedef struct {
  const job_list *jobs;
  seer_arena *arena;
  bool has_begun;
  seer_kernel_maker maker;
  seer_status begun;  // not OK: it could not be made
  seer_built_kernel *next;
} worker;

struct job_list {
  const seer_build_scope *scope;
  seer_built_kernels *kernels;
  seer_status *status;  // by kernel
  worker *workers;
};

// Names may differ (a sketch's are those of its own nodes), the skeleton may not.
static bool same_knobs(const seer_sketch *a, const seer_sketch *b) {
  bool is_same = a->n_knob == b->n_knob && a->dag->n_stage == b->dag->n_stage;
  for (uint32_t k = 0; is_same && k < a->n_knob; k++) {
    const seer_knob *x = &a->knob[k], *y = &b->knob[k];
    is_same =
        x->kind == y->kind && x->stage == y->stage && x->axis == y->axis && x->level == y->level;
  }
  return is_same;
}

// The sketches that a step's loops are of.
static seer_status list_of(const seer_context *context, const seer_network *network,
    const seer_step *step, const seer_choice *choice, seer_arena *arena,
    const seer_sketch_list **out_list) {
  const seer_task *task = &network->task[step->task];
  const seer_target *target = seer_context_target(context);
  const seer_sketch_list *list = choice->sketches;
  const seer_schedule schedule = choice->schedule;
  if (step->content != seer_dag_hash(task->dag).content) {
    // Same task, other literals: its own sketches, which are the same but for those.
    seer_sketch_list *of_step = NULL;
    SEER_TRY(seer_sketch_generate(step->dag, target, list->space, arena, &of_step));
    seer_sketch_keep_within(of_step, list->tolerance);
    SEER_ASSERT(of_step->n == list->n &&
            same_knobs(of_step->sketch[schedule.sketch], list->sketch[schedule.sketch]),
        "%s: sketch %u of %u, task has %u", step->name, schedule.sketch, of_step->n, list->n);
    list = of_step;
  }
  *out_list = list;
  return SEER_OK;
}

seer_status seer_build_lower(const seer_context *context, const seer_network *network,
    const seer_step *step, const seer_choice *choice, seer_arena *arena,
    const seer_sketch_list **out_list, seer_loop **out_loop) {
  SEER_TRY(list_of(context, network, step, choice, arena, out_list));
  const seer_schedule schedule = choice->schedule;
  return seer_loop_lower(*out_list, &schedule, arena, out_loop);
}

static seer_status repack(const seer_step_packs *packs, seer_loop *loop) {
  for (uint32_t k = 0; k < packs->n; k++) {
    uint32_t b = 0;
    while (b < loop->n_buf &&
        (loop->buf[b].storage != SEER_STORE_INPUT ||
            loop->buf[b].dag_buf != packs->pack[k].source_buf))
      b++;
    SEER_ASSERT(b < loop->n_buf, "buffer %u is not read", packs->pack[k].source_buf);
    seer_loop_repack(loop, b, &packs->pack[k]);
  }
  return packs->n > 0 ? seer_loop_verify(loop) : SEER_OK;
}

static seer_status dump_one(const job_list *jobs, seer_codegen *codegen, const seer_built_kernel *k,
    const seer_sketch_list *list, const seer_loop *loop) {
  if (!seer_dump_any(jobs->scope->context)) return SEER_OK;
  char name[96];
  (void)snprintf(name, sizeof name, "%03u_task%u_%s", (unsigned)(k - jobs->kernels->kernel),
      k->step->task, k->step->name);
  seer_dump_forms forms = {name, k->step->dag, list, &k->choice->schedule, loop};
  return seer_dump_write(jobs->scope->context, codegen, &forms);
}

// "conv 3x3 s1 56x56x64->64 +relu" as profilers and debuggers show it:
// k_conv_3x3_s1_56x56x64_64_relu
static const char *spelled(const char *task, seer_arena *arena) {
  char *name = seer_arena_printf(arena, "k_%s", task), *to = name;
  for (const char *c = name; *c; c++) {
    if (isalnum((unsigned char)*c))
      *to++ = *c;
    else if (to[-1] != '_')
      *to++ = '_';
  }
  *to = 0;
  return name;
}

static seer_status build_one(
    const job_list *jobs, const seer_kernel_maker *maker, seer_arena *arena, seer_built_kernel *k) {
  const seer_schedule *schedule = &k->choice->schedule;
  const seer_sketch_list *list;
  seer_loop *loop = NULL;
  const seer_build_scope *scope = jobs->scope;
  SEER_TRY(list_of(scope->context, scope->network, k->step, k->choice, arena, &list));
  k->sketch = seer_sketch_of(list, schedule);
  k->schedule_text = seer_schedule_print(list, schedule, arena);
  if (seer_build_kept_find(scope, arena, k)) return SEER_OK;
  SEER_TRY(seer_loop_lower(list, schedule, arena, &loop));
  SEER_TRY(repack(k->packs, loop));
  const char *symbol = seer_arena_printf(arena, "%s_%016" PRIx64 "_%016" PRIx64,
      spelled(scope->network->task[k->step->task].name, arena), k->step->content,
      seer_schedule_hash(schedule));
  if (k->packs->n > 0)
    symbol = seer_arena_printf(arena, "%s_%016" PRIx64, symbol, seer_build_hash_packs(k->packs));
  uint64_t start = seer_os_thread_ns();
  SEER_TRY(scope->form->kernel(maker, loop, symbol, arena, k));
  k->codegen_s = (double)(seer_os_thread_ns() - start) * 1e-9;
  SEER_TRY(dump_one(jobs, maker->codegen, k, list, loop));
  k->n_arg = k->kernel.n_arg;
  if (k->n_arg > 0 && k->kernel.arg[k->n_arg - 1].storage == SEER_STORE_LOCAL) k->n_arg--;
  return SEER_OK;
}

static seer_status begin(void *user) {
  worker *self = user;
  return self->jobs->scope->form->begin(&self->maker);
}

static seer_status build_next(void *user) {
  worker *self = user;
  return build_one(self->jobs, &self->maker, self->arena, self->next);
}

// Whatever runs out of memory in it, it comes back: other threads work beside it.
static void build_part(void *user, uint32_t part, uint32_t thread) {
  job_list *jobs = user;
  worker *self = &jobs->workers[thread];
  if (!self->has_begun && jobs->scope->form->begin) self->begun = seer_recover(begin, self);
  self->has_begun = true;
  self->next = &jobs->kernels->kernel[part];
  seer_status *status = &jobs->status[part];
  *status = seer_context_check_stop(jobs->scope->context);
  if (*status) return;
  if (!self->begun)
    *status = seer_recover(build_next, self);
  else  // every kernel that falls to this thread says why
    *status = seer_status_make(
        seer_status_code(self->begun), __FILE__, __LINE__, "%s", seer_status_message(self->begun));
  if (*status) *status = seer_status_context(*status, "building %s", self->next->step->name);
}

// The kernels of one set of shapes, less those that an earlier set or step has.
static seer_status add_set(const seer_network *network, const seer_choice *choice,
    const seer_step_packs *packs, seer_map *seen, seer_built_kernels *out, uint32_t *of_step) {
  for (uint32_t s = 0; s < network->n_step; s++) {
    const seer_step *step = &network->step[s];
    of_step[s] = UINT32_MAX;
    if (!seer_step_has_task(step)) continue;
    const seer_choice *c = &choice[step->task];
    uint64_t key = seer_hash_u64(step->content, seer_schedule_hash(&c->schedule)), index = 0;
    key = seer_hash_u64(network->task[step->task].number, key);
    key = seer_hash_u64(seer_build_hash_packs(&packs[s]), key);
    if (!seer_map_get(seen, key, &index)) {
      index = out->n++;
      seer_map_set(seen, key, index);
      out->kernel[index].step = step;
      out->kernel[index].choice = c;
      out->kernel[index].packs = &packs[s];
    }
    SEER_ASSERT(out->kernel[index].step->content == step->content,
        "hash collision of steps %s and %s", out->kernel[index].step->name, step->name);
    of_step[s] = (uint32_t)index;
  }
  return SEER_OK;
}

// Which kernels building waits for: with --log, the three that took longest.
static void log_slowest(const seer_build_scope *scope, const seer_built_kernels *kernels) {
  enum { SHOWN = 3 };
  const seer_built_kernel *slowest[SHOWN] = {NULL};
  double sum = 0;
  uint32_t n_kept = 0;
  for (uint32_t i = 0; i < kernels->n; i++) {
    const seer_built_kernel *k = &kernels->kernel[i];
    n_kept += k->is_kept;
    if (k->is_kept) continue;
    sum += k->codegen_s;
    for (uint32_t at = 0; at < SHOWN && k; at++) {
      if (slowest[at] && slowest[at]->codegen_s >= k->codegen_s) continue;
      const seer_built_kernel *pushed = slowest[at];
      slowest[at] = k;
      k = pushed;
    }
  }
  for (uint32_t at = 0; at < SHOWN && slowest[at]; at++)
    seer_log(scope->context, "build", 1, "kernel %s: %.3f s of %.3f s in %s, %u bytes of code",
        slowest[at]->step->name, slowest[at]->codegen_s, sum, scope->form->maker,
        slowest[at]->kernel.code_bytes);
  if (n_kept > 0)
    seer_log(scope->context, "build", 1, "%u of %u kernels are those of an earlier build", n_kept,
        kernels->n);
}

seer_status seer_build_kernels(const seer_build_scope *scope, const seer_choice *choice,
    seer_step_packs *const *packs, seer_arena *arena, seer_built_kernels *out) {
  const seer_network *network = scope->network;
  *out = (seer_built_kernels){0};
  size_t n_step = 0;
  for (uint32_t k = 0; k < network->n_set; k++) n_step += network->set[k]->n_step;
  out->kernel = SEER_NEW_ARRAY(arena, seer_built_kernel, n_step + 1);
  out->of_step = SEER_NEW_ARRAY(arena, uint32_t *, network->n_set);
  seer_map *seen = seer_map_create(arena);
  for (uint32_t k = 0; k < network->n_set; k++) {
    const seer_network *set = network->set[k];
    out->of_step[k] = SEER_NEW_ARRAY(arena, uint32_t, set->n_step + 1);
    SEER_TRY(add_set(set, choice, packs[k], seen, out, out->of_step[k]));
  }

  uint32_t n_threads = seer_parallel_threads(0, out->n);
  job_list jobs = {scope, out, SEER_NEW_ARRAY(arena, seer_status, out->n + 1),
      SEER_NEW_ARRAY(arena, worker, n_threads)};
  out->arenas = SEER_NEW_ARRAY(arena, seer_arena *, n_threads);
  for (uint32_t t = 0; t < n_threads; t++) {
    out->arenas[out->n_arenas++] = seer_arena_create("kernels");
    jobs.workers[t] =
        (worker){.jobs = &jobs, .arena = out->arenas[t], .maker = {.context = scope->context}};
  }
  seer_parallel(n_threads, out->n, build_part, &jobs);
  for (uint32_t t = 0; t < n_threads; t++) {
    if (scope->form->end) scope->form->end(&jobs.workers[t].maker);
    seer_status_free(jobs.workers[t].begun);
  }
  seer_status status = SEER_OK;
  for (uint32_t i = 0; i < out->n; i++) status = seer_status_join(status, jobs.status[i]);
  if (!status) log_slowest(scope, out);
  return status;
}

void seer_build_kernels_clear(seer_built_kernels *kernels) {
  for (uint32_t t = 0; t < kernels->n_arenas; t++) seer_arena_destroy(kernels->arenas[t]);
  kernels->n_arenas = 0;
}
