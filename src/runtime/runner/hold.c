// hold.c - a model's modules and weights on a device, a session's memory and kernels there. The
// host's memory and the device's have the same layout.
#include "runtime/runner/hold.h"

#include <stdlib.h>
#include <string.h>

#define ALIGN 256u  // of inputs and outputs in the device's memory

static uint64_t round_up(uint64_t n) { return (n + ALIGN - 1) / ALIGN * ALIGN; }

static const seer_plan_device *device_of(const seer_plan_header *plan) {
  return (const void *)((const uint8_t *)plan + plan->device_offset);
}

// ---- models

static seer_rt_code load_module(
    seer_model *model, uint32_t m, char *message, size_t message_bytes) {
  struct seer_model_on_device *on = model->on_device;
  const uint8_t *base = (const uint8_t *)model->set[0].plan;
  const seer_plan_module *module = (const seer_plan_module *)(base + on->first->module_offset) + m;
  const seer_plan_image *from = (const seer_plan_image *)(base + on->first->image_offset);
  seer_device_image *images = calloc(module->n_image, sizeof *images);
  if (!images)
    return seer_rt_fail(
        SEER_RT_RESOURCE, message, message_bytes, "no memory for a module's images");
  for (uint32_t i = 0; i < module->n_image; i++) {
    const seer_plan_image *image = &from[module->first_image + i];
    images[i] = (seer_device_image){.format = (seer_image_format)image->format,
        .architecture = image->architecture,
        .made_for = model->set[0].strings + image->made_for_string,
        .data = base + image->offset,
        .n_bytes = image->n_bytes};
  }
  seer_rt_code code =
      on->driver->load(on->device, images, module->n_image, &on->module[m], message, message_bytes);
  free(images);
  return code;
}

// One copy on a queue of its own.
static seer_rt_code copy_now(const seer_model *model, void *to, const void *from, uint64_t n_bytes,
    bool is_upload, char *message, size_t message_bytes) {
  const struct seer_model_on_device *on = model->on_device;
  seer_device_queue *queue = NULL;
  if (n_bytes == 0) return SEER_RT_OK;
  seer_rt_code code = on->driver->queue_create(on->device, &queue, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  code = is_upload ? on->driver->upload(queue, to, from, n_bytes, message, message_bytes)
                   : on->driver->download(queue, to, from, n_bytes, message, message_bytes);
  if (code == SEER_RT_OK) code = on->driver->sync(queue, message, message_bytes);
  on->driver->queue_destroy(queue);
  return code;
}

seer_rt_code seer_hold_upload(const seer_model *model, void *to, const void *from, uint64_t n_bytes,
    char *message, size_t message_bytes) {
  return copy_now(model, to, from, n_bytes, true, message, message_bytes);
}

seer_rt_code seer_hold_download(const seer_model *model, void *to, const void *from,
    uint64_t n_bytes, char *message, size_t message_bytes) {
  return copy_now(model, to, from, n_bytes, false, message, message_bytes);
}

seer_rt_code seer_hold_alloc(const seer_model *model, uint64_t n_bytes, void **out_data,
    char *message, size_t message_bytes) {
  const struct seer_model_on_device *on = model->on_device;
  return on->driver->alloc(on->device, n_bytes > 0 ? n_bytes : 1, out_data, message, message_bytes);
}

void seer_hold_free(const seer_model *model, void *data) {
  model->on_device->driver->free(model->on_device->device, data);
}

static seer_rt_code copy_weights(seer_model *model, char *message, size_t message_bytes) {
  struct seer_model_on_device *on = model->on_device;
  uint64_t n = model->set[0].plan->weight_bytes;
  if (n == 0) return SEER_RT_OK;
  seer_rt_code code = on->driver->alloc(on->device, n, &on->weights, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  return copy_now(model, on->weights, model->weights, n, true, message, message_bytes);
}

void seer_hold_close(seer_model *model) {
  struct seer_model_on_device *on = model->on_device;
  if (!on) return;
  for (uint32_t m = 0; on->module && m < on->first->n_module; m++)
    if (on->module[m]) on->driver->unload(on->device, on->module[m]);
  if (on->weights) on->driver->free(on->device, on->weights);
  if (on->device) on->driver->close(on->device);
  free(on->module);
  free(on);
  model->on_device = NULL;
}

static seer_rt_code find_driver(
    const void *plan, const seer_device_driver **out_driver, char *message, size_t message_bytes) {
  const seer_plan_header *header = plan;
  const char *name = (const char *)plan + header->strings_offset + device_of(header)->driver_string;
  *out_driver = seer_device_driver_find(name);
  if (*out_driver) return SEER_RT_OK;
  return seer_rt_fail(SEER_RT_UNSUPPORTED, message, message_bytes,
      "this model is for devices of '%s', which this runtime does not know", name);
}

seer_rt_code seer_hold_count(
    const void *plan, int32_t *out_n, char *message, size_t message_bytes) {
  const seer_device_driver *driver;
  uint32_t n = 0;
  seer_rt_code code = find_driver(plan, &driver, message, message_bytes);
  if (code == SEER_RT_OK) code = driver->count(&n, message, message_bytes);
  *out_n = (int32_t)n;
  return code;
}

seer_rt_code seer_hold_name(const void *plan, int32_t device, char out_name[256],
    char out_driver[256], char *message, size_t message_bytes) {
  const seer_device_driver *driver;
  seer_device_info info;
  seer_rt_code code = find_driver(plan, &driver, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  if (device < 0)
    return seer_rt_fail(
        SEER_RT_INVALID, message, message_bytes, "there is no device %d", (int)device);
  code = driver->describe((uint32_t)device, &info, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  memcpy(out_name, info.name, sizeof info.name);
  memcpy(out_driver, info.driver, sizeof info.driver);
  return SEER_RT_OK;
}

// What is made before an error, close takes away.
seer_rt_code seer_hold_open(
    seer_model *model, uint32_t index, char *message, size_t message_bytes) {
  const seer_plan_device *first = device_of(model->set[0].plan);
  const seer_device_driver *driver;
  seer_rt_code code = find_driver(model->set[0].plan, &driver, message, message_bytes);
  if (code != SEER_RT_OK) return code;
  struct seer_model_on_device *on = model->on_device = calloc(1, sizeof *on);
  if (on) *on = (struct seer_model_on_device){.driver = driver, .first = first};
  if (on) on->module = calloc((size_t)first->n_module + 1, sizeof(void *));
  if (!on || !on->module)
    return seer_rt_fail(SEER_RT_RESOURCE, message, message_bytes, "no memory for the model");
  code = driver->open(index, &on->device, message, message_bytes);
  for (uint32_t m = 0; code == SEER_RT_OK && m < first->n_module; m++)
    code = load_module(model, m, message, message_bytes);
  return code == SEER_RT_OK ? copy_weights(model, message, message_bytes) : code;
}

seer_rt_code seer_hold_host_alloc(const seer_model *model, uint64_t n_bytes, void **out_memory,
    char *message, size_t message_bytes) {
  const struct seer_model_on_device *on = model->on_device;
  *out_memory = NULL;
  seer_rt_code code =
      on->driver->host_alloc(on->device, n_bytes, out_memory, message, message_bytes);
  if (code == SEER_RT_OK) memset(*out_memory, 0, (size_t)n_bytes);
  return code;
}

void seer_hold_host_free(const seer_model *model, void *memory, uint64_t n_bytes) {
  (void)n_bytes;
  if (memory) model->on_device->driver->host_free(model->on_device->device, memory);
}

// ---- sessions

// Inputs and outputs whose elements steps of the host read or write.
static void find_used_by_host(const seer_rt_set *of, bool *is_used) {
  const seer_plan_header *plan = of->plan;
  bool *by_arg = is_used + plan->n_input + plan->n_output;  // room behind them
  for (uint32_t i = 0; i < plan->n_tensor; i++) {
    const seer_plan_tensor *tensor = &of->tensor[i];
    if (tensor->onnx_dtype == 0) continue;
    by_arg[tensor->arg] = true;
    for (int32_t d = 0; d < tensor->rank; d++)
      if (tensor->size_arg[d]) by_arg[tensor->size_arg[d] - 1] = true;
  }
  for (uint32_t i = 0; i < plan->n_size; i++) by_arg[of->size[i].arg] = true;
  for (uint32_t i = 0; i < plan->n_loop; i++) {
    const seer_plan_loop *loop = &of->loop[i];
    const uint32_t numbers[] = {loop->trip_arg, loop->start_arg, loop->number_arg, loop->go_arg,
        loop->next_arg, loop->count_arg};
    for (uint32_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++)
      if (numbers[k]) by_arg[numbers[k] - 1] = true;
  }
  for (uint32_t i = 0; i < plan->n_branch; i++) by_arg[of->branch[i].condition_arg - 1] = true;
  for (uint32_t i = 0; i < plan->n_move; i++) {
    const seer_plan_move *move = &of->move[i];
    const uint32_t numbers[] = {move->before_arg, move->in_arg, move->out_arg, move->result_arg};
    if (of->is_on_device[i]) continue;
    for (uint32_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++)
      if (numbers[k]) by_arg[numbers[k] - 1] = true;
  }
  for (uint32_t i = 0; i < plan->n_step; i++)
    if (of->step[i].kind == SEER_PLAN_COPY_BYTES)
      by_arg[of->step[i].first_arg] = by_arg[of->step[i].first_arg + 1] = true;
  for (uint32_t i = 0; i < plan->n_arg; i++) {
    uint64_t slot = of->arg[i].offset + (of->arg[i].kind == SEER_ARG_OUTPUT ? plan->n_input : 0);
    bool is_io = of->arg[i].kind == SEER_ARG_INPUT || of->arg[i].kind == SEER_ARG_OUTPUT;
    if (is_io && by_arg[i]) is_used[slot] = true;
  }
}

static bool make_plan(const seer_rt_set *of, seer_plan_on_device *out, uint64_t *io_n_bytes) {
  const seer_plan_header *plan = of->plan;
  size_t n = (size_t)seer_hold_n_io(of) + 1;
  out->kernel = calloc((size_t)plan->n_phase + 1, sizeof(void *));
  out->at = calloc((size_t)plan->n_arg + 1, sizeof(void *));
  out->offset = calloc(n, sizeof *out->offset);
  out->given = calloc(n, sizeof(void *));
  out->used = calloc(n, sizeof(void *));
  out->is_used_by_host = calloc(n + plan->n_arg, sizeof *out->is_used_by_host);
  out->graph = calloc((size_t)plan->n_step + 1, sizeof(void *));
  if (!out->kernel || !out->at || !out->offset || !out->given || !out->used ||
      !out->is_used_by_host || !out->graph)
    return false;
  uint64_t at = 0;
  for (uint32_t i = 0; i < seer_hold_n_io(of); i++) {
    out->offset[i] = at;
    at += round_up(of->io[i].n_bytes);
  }
  if (at > *io_n_bytes) *io_n_bytes = at;
  find_used_by_host(of, out->is_used_by_host);
  return true;
}

static void place_args(const seer_session *session, uint32_t s) {
  const seer_rt_set *of = &session->model->set[s];
  const struct seer_session_on_device *on = session->on_device;
  seer_plan_on_device *plan = &on->plan[s];
  uint8_t *weights = session->model->on_device->weights;
  for (uint32_t i = 0; i < of->plan->n_arg; i++) {
    const seer_plan_arg *arg = &of->arg[i];
    uint32_t slot = seer_hold_slot(of, i);
    if (slot != UINT32_MAX)
      plan->at[i] = plan->used[slot];
    else
      plan->at[i] = (arg->kind == SEER_ARG_WEIGHT ? weights : on->arena) + arg->offset;
  }
}

static seer_rt_code make_kernels(
    const seer_session *session, uint32_t s, char *message, size_t message_bytes) {
  const seer_rt_set *of = &session->model->set[s];
  const struct seer_model_on_device *on = session->model->on_device;
  const struct seer_session_on_device *own = session->on_device;
  const uint8_t *base = (const uint8_t *)of->plan;
  const seer_plan_launch *launches =
      (const seer_plan_launch *)(base + device_of(of->plan)->launch_offset);
  seer_rt_code code = SEER_RT_OK;
  for (uint32_t i = 0; i < of->plan->n_phase && code == SEER_RT_OK; i++) {
    const seer_device_launch launch = {
        of->phase[i].n_parts, launches[i].n_items, launches[i].group_bytes};
    code = on->driver->kernel_create(own->queue, on->module[launches[i].module],
        of->strings + launches[i].name_string, &launch, &own->plan[s].kernel[i], message,
        message_bytes);
  }
  return code;
}

static seer_rt_code no_memory(char *message, size_t message_bytes) {
  return seer_rt_fail(SEER_RT_RESOURCE, message, message_bytes, "no memory for a session");
}

static seer_rt_code need_staging(seer_session *session, char *message, size_t message_bytes) {
  const struct seer_model_on_device *on = session->model->on_device;
  struct seer_session_on_device *own = session->on_device;
  void *staging = NULL;
  if (own->staging) return SEER_RT_OK;
  seer_rt_code code =
      on->driver->host_alloc(on->device, own->n_io_bytes, &staging, message, message_bytes);
  own->staging = staging;
  return code;
}

// What is made before an error, session_destroy takes away.
seer_rt_code seer_hold_session_create(seer_session *session, char *message, size_t message_bytes) {
  const seer_model *model = session->model;
  const struct seer_model_on_device *on = model->on_device;
  const seer_device_driver *driver = on->driver;
  struct seer_session_on_device *own = session->on_device = calloc(1, sizeof *own);
  if (!own) return no_memory(message, message_bytes);
  own->plan = calloc(model->n_set, sizeof *own->plan);
  if (!own->plan) return no_memory(message, message_bytes);
  own->n_io_bytes = ALIGN;
  uint64_t n_arena = ALIGN;
  for (uint32_t s = 0; s < model->n_set; s++) {
    if (!make_plan(&model->set[s], &own->plan[s], &own->n_io_bytes))
      return no_memory(message, message_bytes);
    uint64_t n = model->set[s].plan->arena_bytes;
    if (n > n_arena) n_arena = n;
  }
  void *arena = NULL, *io = NULL;
  seer_rt_code code = driver->queue_create(on->device, &own->queue, message, message_bytes);
  if (code == SEER_RT_OK) code = driver->alloc(on->device, n_arena, &arena, message, message_bytes);
  own->arena = arena;
  if (code == SEER_RT_OK)
    code = driver->alloc(on->device, own->n_io_bytes, &io, message, message_bytes);
  own->io = io;
  if (code == SEER_RT_OK && driver->has_graphs)
    code = need_staging(session, message, message_bytes);
  for (uint32_t k = 0; k < 2 && code == SEER_RT_OK; k++)
    code = driver->mark_create(own->queue, &own->mark[k], message, message_bytes);
  for (uint32_t s = 0; s < model->n_set && code == SEER_RT_OK; s++) {
    for (uint32_t i = 0; i < seer_hold_n_io(&model->set[s]); i++)
      own->plan[s].used[i] = own->io + own->plan[s].offset[i];
    place_args(session, s);
    code = make_kernels(session, s, message, message_bytes);
  }
  return code;
}

static void drop_graphs(const seer_session *session, uint32_t s) {
  const seer_device_driver *driver = session->model->on_device->driver;
  const struct seer_session_on_device *own = session->on_device;
  for (uint32_t i = 0; i < session->model->set[s].plan->n_step; i++) {
    if (own->plan[s].graph[i]) driver->graph_destroy(own->queue, own->plan[s].graph[i]);
    own->plan[s].graph[i] = NULL;
  }
}

static void free_plan(const seer_session *session, uint32_t s) {
  const seer_device_driver *driver = session->model->on_device->driver;
  const struct seer_session_on_device *own = session->on_device;
  seer_plan_on_device *plan = &own->plan[s];
  if (plan->graph) drop_graphs(session, s);
  for (uint32_t i = 0; plan->kernel && i < session->model->set[s].plan->n_phase; i++)
    if (plan->kernel[i]) driver->kernel_destroy(own->queue, plan->kernel[i]);
  free(plan->kernel);
  free(plan->at);
  free(plan->offset);
  free(plan->given);
  free(plan->used);
  free(plan->is_used_by_host);
  free(plan->graph);
}

void seer_hold_session_destroy(seer_session *session) {
  struct seer_session_on_device *own = session->on_device;
  const struct seer_model_on_device *on = session->model->on_device;
  if (!own) return;
  for (uint32_t s = 0; own->plan && s < session->model->n_set; s++) free_plan(session, s);
  for (uint32_t k = 0; k < 2; k++)
    if (own->mark[k]) on->driver->mark_destroy(own->queue, own->mark[k]);
  if (own->staging) on->driver->host_free(on->device, own->staging);
  if (own->io) on->driver->free(on->device, own->io);
  if (own->arena) on->driver->free(on->device, own->arena);
  if (own->queue) on->driver->queue_destroy(own->queue);
  free(own->plan);
  free(own);
  session->on_device = NULL;
}

// ---- inputs and outputs on the device

seer_rt_code seer_hold_bind(seer_session *session, uint32_t slot, void *data, void **out_copy) {
  struct seer_session_on_device *own = session->on_device;
  seer_plan_on_device *plan = seer_hold_selected(session);
  seer_rt_code code = need_staging(session, session->message, session->message_bytes);
  if (code != SEER_RT_OK) return code;
  plan->given[slot] = data;
  *out_copy = own->staging + plan->offset[slot];
  return SEER_RT_OK;
}

// A graph has addresses in it.
void seer_hold_follow_bindings(seer_session *session) {
  uint32_t s = (uint32_t)(session->selected - session->plan);
  const seer_rt_set *of = session->selected->of;
  const struct seer_session_on_device *own = session->on_device;
  seer_plan_on_device *plan = &own->plan[s];
  bool has_changed = false;
  for (uint32_t slot = 0; slot < seer_hold_n_io(of); slot++) {
    void *own_place = own->io + plan->offset[slot];
    void *used = seer_hold_is_given(session, slot) ? plan->given[slot] : own_place;
    has_changed = has_changed || used != plan->used[slot];
    plan->used[slot] = used;
  }
  if (!has_changed) return;
  drop_graphs(session, s);
  place_args(session, s);
}
