// emit.c - tasks -> their kernels' texts, compiled, in files. A thread takes one task after the
// other; what it has made is written at once and let go, rows of the tables stay. Everything comes
// to lie in a work folder beside the one that is asked for, and is renamed in the end.
#include "code/emit.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/os/parallel.h"
#include "base/recover.h"
#include "base/stats.h"
#include "code/emit/internal.h"
#include "code/gen/generate.h"
#include "code/gpu/build.h"
#include "code/gpu/registers.h"
#include "code/source/source.h"
#include "front/limit.h"
#include "learn/gpu/profile.h"
#include "space/lower.h"
#include "space/nest.h"

static bool is_cuda(const seer_target *target) { return target->kind == SEER_TARGET_CUDA; }

// ---- before anything is done

static seer_status check_folder(const char *folder) {
  if (!seer_os_exists(folder)) return SEER_OK;
  if (!seer_os_is_dir(folder)) return SEER_FAIL(INVALID, "%s is a file, must be a folder", folder);
  seer_arena *arena = seer_arena_create("folder");
  const char **names;
  size_t n = 0;
  seer_status status = seer_os_list_dir(folder, arena, &names, &n);
  if (!status && n > 0)
    status = SEER_FAIL(INVALID,
        "%s is there already, with '%s' in it: kernels are written as a folder of their own",
        folder, seer_text_safe(arena, names[0]));
  seer_arena_destroy(arena);
  return status;
}

seer_status seer_emit_check(const seer_target *target, const char *nvrtc, const char *folder) {
  SEER_ASSERT(target->kind != SEER_TARGET_CPU, "kind %d", (int)target->kind);
  SEER_TRY(check_folder(folder));
  if (!is_cuda(target)) return SEER_OK;
  seer_nvrtc *opened;
  SEER_TRY(seer_gpu_open_nvrtc(target, nvrtc, &opened));
  seer_nvrtc_close(opened);
  return SEER_OK;
}

// ---- a thread and its compiler

typedef struct {
  const seer_emit_tables *tables;
  const char *folder;  // to write into
  bool builds_opencl;  // a device was found
  seer_arena *arena;  // rows
  bool has_begun;
  seer_status begun;  // not OK: it has no compiler
  seer_nvrtc *nvrtc;
  seer_opencl *opencl;
  seer_opencl_device device;
  seer_emit_task *next;
} worker;

static seer_status begin(void *user) {
  worker *w = user;
  if (is_cuda(w->tables->target))
    return seer_gpu_open_nvrtc(w->tables->target, w->tables->request->nvrtc, &w->nvrtc);
  if (!w->builds_opencl) return SEER_OK;
  SEER_TRY(seer_opencl_open(NULL, &w->opencl));
  return seer_opencl_find(w->opencl, NULL, SEER_OPENCL_ANY, 0, w->arena, &w->device);
}

static void end(worker *w) {
  seer_nvrtc_close(w->nvrtc);
  seer_opencl_close(w->opencl);
  seer_status_free(w->begun);
  seer_arena_destroy(w->arena);
}

// ---- a task

// "conv 3x3 s1 56x56x64->64 +relu" as files and kernels are called; some 60 characters are enough
// to know it by, its number tells it apart.
static const char *spelled(const char *task, seer_arena *arena) {
  enum { MOST = 60 };
  char *name = seer_arena_strdup(arena, task), *to = name;
  for (const char *c = task; *c && to - name < MOST; c++) {
    if (isalnum((unsigned char)*c))
      *to++ = *c;
    else if (to > name && to[-1] != '_')
      *to++ = '_';
  }
  while (to > name && to[-1] == '_') to--;
  *to = '\0';
  return name;
}

static seer_status write_file(
    const worker *w, const char *ending, const void *data, size_t n_bytes, seer_arena *arena) {
  const char *name = seer_arena_printf(arena, "%s.%s", w->next->file, ending);
  return seer_os_write_file(seer_os_path_join(arena, w->folder, name), data, n_bytes);
}

// What the generator knows and what the text asks for.
static seer_status describe(worker *w, const seer_loop *loop, const seer_kernel *text,
    const seer_schedule *schedule, const seer_sketch_list *list, seer_arena *arena) {
  const seer_gen_machine machine = seer_gen_machine_of_items(text->format == SEER_KERNEL_CUDA_C);
  seer_emit_task *row = w->next;
  seer_vec_code *code;
  SEER_TRY(seer_gen_code(loop, &machine, text->symbol, arena, &code));
  SEER_TRY(seer_vec_verify(code));
  row->schedule = seer_schedule_print(list, schedule, w->arena);
  row->kernel = SEER_NEW_ARRAY(w->arena, seer_emit_kernel, text->n_phase);
  for (uint32_t p = 0; p < text->n_phase; p++)
    row->kernel[p] =
        (seer_emit_kernel){.name = seer_arena_printf(w->arena, "%s_p%u", text->symbol, p),
            .n_blocks = text->n_parts[p],
            .n_items = text->launch[p].n_items,
            .group_bytes = text->launch[p].group_bytes,
            .estimate = seer_gpu_estimate_registers(code, p).estimate};
  row->n_kernel = text->n_phase;
  return SEER_OK;
}

static seer_status compile_cuda(worker *w, const seer_kernel *text, seer_arena *arena) {
  seer_nvrtc_program program;
  seer_kernel built;
  uint32_t sm = w->tables->target->gpu.architecture;
  SEER_TRY(seer_gpu_build_cuda(w->nvrtc, sm, text, arena, &program, &built));
  for (uint32_t p = 0; p < text->n_phase; p++) {
    seer_emit_kernel *kernel = &w->next->kernel[p];
    uint32_t k = 0;  // it has them all: build.c
    while (strcmp(program.kernels.kernel[k].name, kernel->name) != 0) k++;
    kernel->is_compiled = true;
    kernel->registers = program.kernels.kernel[k].registers;
    kernel->frame_bytes = program.kernels.kernel[k].frame_bytes;
  }
  SEER_TRY(write_file(w, "cubin", built.object, built.n_object_bytes, arena));
  return write_file(w, "ptx", program.ptx, strlen(program.ptx), arena);
}

static void set_occupancy(const seer_target_gpu *gpu, seer_emit_kernel *kernel) {
  uint32_t registers = kernel->is_compiled ? kernel->registers : kernel->estimate;
  if (gpu->max_item_registers && registers > gpu->max_item_registers)
    registers = gpu->max_item_registers;
  const seer_occupancy_block block = {kernel->n_items, registers, kernel->group_bytes};
  kernel->occupancy = seer_occupancy_of(gpu, &block);
}

// What the schedule is expected to take.
static void estimate(worker *w, const seer_choice *choice, seer_arena *arena) {
  const seer_target *target = w->tables->target;
  seer_kernel_profile profile[SEER_PROFILE_MAX_KERNELS];
  const seer_nest *nest =
      seer_summarise(seer_summariser_create(choice->sketches, arena), &choice->schedule);
  uint32_t n = seer_profile_kernels(nest, target, profile);
  seer_emit_task *row = w->next;
  row->estimate_s = seer_kernels_seconds(profile, n, target);
  for (uint32_t p = 0; p < n && p < row->n_kernel; p++)
    row->kernel[p].seconds = seer_kernel_seconds(&profile[p], target);
}

// The text, or why there is none: what the target cannot express is no error.
static seer_status make_text(worker *w, const seer_choice *choice, seer_arena *arena,
    seer_loop **out_loop, seer_kernel *out_text) {
  const seer_emit_task *row = w->next;
  seer_kernel_format format =
      is_cuda(w->tables->target) ? SEER_KERNEL_CUDA_C : SEER_KERNEL_OPENCL_C;
  const char *symbol = seer_arena_printf(arena, "k%s", row->file);
  SEER_TRY(seer_loop_lower(choice->sketches, &choice->schedule, arena, out_loop));
  return seer_gpu_write(*out_loop, format, symbol, arena, out_text);
}

static seer_status emit_in(worker *w, seer_arena *arena) {
  seer_emit_task *row = w->next;
  const seer_choice *choice = &w->tables->request->choice[row->task->id];
  const seer_target *target = w->tables->target;
  seer_reject reject = seer_schedule_check(choice->sketches, &choice->schedule);
  if (reject != SEER_REJECT_NONE) {
    row->why = seer_arena_printf(
        w->arena, "its schedule is more than the target has: %s", seer_reject_name(reject));
    return SEER_OK;
  }
  seer_loop *loop;
  seer_kernel text, built;
  seer_status status = make_text(w, choice, arena, &loop, &text);
  if (status && seer_status_code(status) == SEER_CODE_UNSUPPORTED) {
    row->why = seer_arena_strdup(w->arena, seer_status_message(status));
    seer_status_free(status);
    return SEER_OK;
  }
  if (status) return status;
  SEER_TRY(describe(w, loop, &text, &choice->schedule, choice->sketches, arena));
  estimate(w, choice, arena);
  const seer_dialect *dialect = seer_dialect_find(is_cuda(target) ? "cuda" : "opencl");
  seer_text whole;
  seer_text_init(&whole, arena);
  seer_text_put(&whole, seer_source_prelude(dialect, arena));
  seer_text_put_n(&whole, text.object, text.n_object_bytes);
  SEER_TRY(write_file(w, is_cuda(target) ? "cu" : "cl", whole.data, whole.n_bytes, arena));
  if (w->nvrtc) SEER_TRY(compile_cuda(w, &text, arena));
  if (w->opencl)
    SEER_TRY(seer_gpu_compile_opencl(w->opencl, &w->device, NULL, &text, arena, &built));
  for (uint32_t p = 0; p < row->n_kernel; p++) set_occupancy(&target->gpu, &row->kernel[p]);
  return SEER_OK;
}

static seer_status emit_one(void *user) {
  worker *w = user;
  seer_emit_task *row = w->next;
  const seer_emit_request *r = w->tables->request;
  const seer_sketch_list *list = r->choice[row->task->id].sketches;
  row->file =
      seer_arena_printf(w->arena, "%03u_%s", row->task->id, spelled(row->task->name, w->arena));
  row->io = seer_dag_count_io(row->task->dag, 0);
  row->roofline = seer_roofline_build(row->task->dag, w->tables->target, r->cold_bytes);
  row->bound_s = seer_roofline_task_seconds(row->task->dag, list, w->tables->target, r->cold_bytes);
  seer_arena *arena = seer_arena_create("kernels of a task");
  seer_status status = emit_in(w, arena);
  seer_arena_destroy(arena);
  return status;
}

// ---- all tasks

typedef struct {
  const seer_emit_tables *tables;
  worker *workers;
  seer_status *status;  // by task
} job;

static void emit_part(void *user, uint32_t part, uint32_t thread) {
  job *j = user;
  worker *w = &j->workers[thread];
  if (!w->has_begun) w->begun = seer_recover(begin, w);
  w->has_begun = true;
  w->next = &j->tables->task[part];
  seer_status *status = &j->status[part];
  if (!w->begun)
    *status = seer_recover(emit_one, w);
  else  // every task that falls to this thread says why
    *status = seer_status_make(
        seer_status_code(w->begun), __FILE__, __LINE__, "%s", seer_status_message(w->begun));
  if (*status) *status = seer_status_context(*status, "task %u (%s)", part, w->next->task->name);
}

typedef struct {
  const seer_emit_request *request;
  seer_emit_tables tables;
  seer_arena *arena;
  const char *folder;  // to write into
  // Made and ended around all that may be left because memory runs out
  uint32_t n_worker;
  worker *workers;
} emission;

// OpenCL's compiler is a driver's: where there is a device, kernels are held against it.
static seer_status find_compiler(emission *e, bool *out_builds_opencl) {
  const seer_target *target = e->tables.target;
  *out_builds_opencl = false;
  if (is_cuda(target)) {
    seer_nvrtc *nvrtc;
    SEER_TRY(seer_gpu_open_nvrtc(target, e->request->nvrtc, &nvrtc));
    uint32_t version = seer_nvrtc_version(nvrtc);
    e->tables.compiler = seer_arena_printf(e->arena, "NVRTC %u.%u", version / 100, version % 100);
    seer_nvrtc_close(nvrtc);
    return SEER_OK;
  }
  seer_opencl *opencl;
  seer_opencl_device device;
  seer_status status = seer_opencl_open(NULL, &opencl);
  if (!status) {
    status = seer_opencl_find(opencl, NULL, SEER_OPENCL_ANY, 0, e->arena, &device);
    seer_opencl_close(opencl);
  }
  if (!status) {
    *out_builds_opencl = true;
    e->tables.compiler = seer_arena_printf(e->arena, "%s, %s",
        seer_text_safe(e->arena, device.platform), seer_text_safe(e->arena, device.name));
  }
  bool is_none = status && seer_status_code(status) == SEER_CODE_NOT_FOUND;
  if (!is_none) return status;
  seer_status_free(status);
  return SEER_OK;
}

static seer_status emit_all(emission *e) {
  const seer_network *network = e->request->network;
  bool builds_opencl;
  SEER_TRY(find_compiler(e, &builds_opencl));
  uint32_t n = network->n_task;
  job j = {&e->tables, e->workers, SEER_NEW_ARRAY(e->arena, seer_status, n + 1)};
  for (uint32_t t = 0; t < n; t++) e->tables.task[t].task = &network->task[t];
  for (uint32_t w = 0; w < e->n_worker; w++) e->workers[w].builds_opencl = builds_opencl;
  seer_parallel(e->n_worker, n, emit_part, &j);
  seer_status status = SEER_OK;
  for (uint32_t t = 0; t < n; t++) status = seer_status_join(status, j.status[t]);
  return status;
}

static seer_status write_tables(const emission *e) {
  const char *text = seer_emit_text(&e->tables, e->arena), *json;
  SEER_TRY(seer_emit_json(&e->tables, e->arena, &json));
  SEER_TRY(seer_os_write_file(
      seer_os_path_join(e->arena, e->folder, "kernels.txt"), text, strlen(text)));
  return seer_os_write_file(
      seer_os_path_join(e->arena, e->folder, "kernels.json"), json, strlen(json));
}

static void count(const emission *e, seer_emitted *out) {
  const seer_network *network = e->request->network;
  double *error = NULL;
  size_t n_error = 0, cap = 0;
  *out = (seer_emitted){.compiler = e->tables.compiler};
  for (uint32_t t = 0; t < network->n_task; t++) {
    const seer_emit_task *row = &e->tables.task[t];
    out->n_task += row->why == NULL;
    out->n_without += row->why != NULL;
    out->n_kernel += row->n_kernel;
    for (uint32_t k = 0; k < row->n_kernel; k++) {
      const seer_emit_kernel *kernel = &row->kernel[k];
      out->n_spilling += kernel->frame_bytes != 0;
      if (!kernel->is_compiled) continue;
      error = SEER_GROW(e->arena, double, error, n_error, &cap);
      double off = (double)kernel->estimate / kernel->registers - 1;
      error[n_error++] = off < 0 ? -off : off;
    }
  }
  for (uint32_t s = 0; s < network->n_set; s++)
    for (uint32_t k = 0; k < network->set[s]->n_step; k++)
      out->n_host += seer_emit_why_host(&network->set[s]->step[k]) != NULL;
  if (n_error > 0) out->register_error = seer_median(error, n_error);
}

// ---- the folder

static seer_status emit_into(void *user) {
  emission *e = user;
  SEER_TRY(emit_all(e));
  SEER_TRY(write_tables(e));
  return seer_graph_check_files(e->request->network->graph);
}

static void make_workers(emission *e) {
  uint32_t n = seer_parallel_threads(0, e->request->network->n_task);
  e->workers = SEER_NEW_ARRAY(e->arena, worker, n + 1);
  for (; e->n_worker < n; e->n_worker++)
    e->workers[e->n_worker] = (worker){
        .tables = &e->tables, .folder = e->folder, .arena = seer_arena_create("rows of kernels")};
}

// Without what would make the last part of a path nothing.
static const char *plain_path(const char *folder, seer_arena *arena) {
  size_t n = strlen(folder);
  while (n > 1 && folder[n - 1] == '/') n--;
  return seer_arena_strndup(arena, folder, n);
}

seer_status seer_emit_kernels(
    const seer_emit_request *request, seer_arena *arena, seer_emitted *out) {
  const seer_target *target = seer_context_target(request->context);
  SEER_TRY(seer_emit_check(target, request->nvrtc, request->folder));
  emission e = {.request = request, .arena = arena};
  e.tables = (seer_emit_tables){.request = request,
      .target = target,
      .compiler = "",
      .task = SEER_NEW_ARRAY(arena, seer_emit_task, request->network->n_task + 1)};
  const char *folder = plain_path(request->folder, arena);
  const char *around = seer_os_path_dir(arena, folder);
  SEER_TRY(seer_os_make_dirs(around));
  seer_os_work_dir work;
  SEER_TRY(seer_os_work_dir_open(around, ".kernels", arena, &work));
  e.folder = seer_os_path_join(arena, work.path, "kernels");
  make_workers(&e);
  seer_status status = seer_os_make_dirs(e.folder);
  if (!status)
    status =
        seer_front_limited(request->context, request->network->graph->file_bytes, emit_into, &e);
  if (!status) status = seer_os_rename(e.folder, folder);
  if (!status) count(&e, out);
  for (uint32_t w = 0; w < e.n_worker; w++) end(&e.workers[w]);
  return seer_status_join(status, seer_os_work_dir_close(&work));
}
