// plan.c - steps over graph values -> the plan blob: arguments with places, what each step runs on,
// strings.
#include <string.h>

#include "base/map.h"
#include "code/plan/sides.h"
#include "front/images.h"
#include "front/onnx/dtype.h"

typedef struct {
  seer_places at;
  const seer_network *network;  // of this set of shapes
  const seer_graph *graph;
  const seer_built_kernels *kernels;
  const uint32_t *kernel_of_step;
  seer_weight_file *weights;
  seer_arena *arena;
  seer_plan_arg *arg;
  size_t n_arg, cap_arg;
  seer_plan_step *step;
  size_t n_step, cap_step;
  seer_plan_phase *phase;
  const char **symbol;
  size_t n_phase, cap_phase, cap_symbol;
  uint32_t *first_phase;  // by kernel; UINT32_MAX: not there yet
  size_t n_between_put;  // of at.between
  seer_plan_stretch *stretch;  // by stretch of the network
  size_t images_at;  // while steps of a stretch are put: 1 + the plan's step that runs them
  seer_text strings;
  seer_map *string_map;
  uint64_t shared_bytes, scratch_bytes;
  seer_host_list hosts;
  seer_made_list made;
  bool has_device;
  const char *driver;  // of the device
  seer_sides sides;
  seer_launch_list device;
  uint32_t *n_views_to_come;  // by value: views that make it, whole with the last one
} builder;

static uint32_t put_string(builder *b, const char *text) {
  uint64_t at = 0;
  if (!text) text = "";
  if (seer_map_get_str(b->string_map, text, &at)) return (uint32_t)at;
  at = b->strings.n_bytes;
  seer_text_put_n(&b->strings, text, strlen(text) + 1);
  seer_map_set_str(b->string_map, text, at);
  return (uint32_t)at;
}

static bool runs_apart(const builder *b, uint32_t s) {
  const seer_stretch *stretch = seer_place_stretch(&b->at, s);
  return stretch && stretch->is_apart;
}

static void put_arg(builder *b, seer_plan_arg_kind kind, uint64_t offset, uint64_t n_bytes) {
  b->arg = SEER_GROW(b->arena, seer_plan_arg, b->arg, b->n_arg, &b->cap_arg);
  seer_plan_arg *arg = &b->arg[b->n_arg++];
  arg->kind = kind;
  arg->offset = offset;
  arg->n_bytes = n_bytes;
}

static seer_plan_step *put_step(
    builder *b, seer_plan_step_kind kind, const char *name, const char *source) {
  b->step = SEER_GROW(b->arena, seer_plan_step, b->step, b->n_step, &b->cap_step);
  seer_plan_step *step = &b->step[b->n_step++];
  step->kind = kind;
  step->name_string = put_string(b, name);
  step->source_string = put_string(b, source);
  step->first_arg = (uint32_t)b->n_arg;
  return step;
}

// ---- of a library with a device: copies

static void put_copy(void *user, uint32_t root, seer_side to) {
  builder *b = user;
  const seer_value_place *p = &b->at.place[root];
  const seer_plan_step_kind kind = to == SEER_SIDE_DEVICE ? SEER_PLAN_UPLOAD : SEER_PLAN_DOWNLOAD;
  uint64_t n_bytes =
      p->n_bytes > 0 ? p->n_bytes : seer_place_value_bytes(b->graph, (seer_val){root});
  seer_plan_step *step = put_step(b, kind, seer_graph_value(b->graph, (seer_val){root})->name, "");
  step->n_arg = 1;
  step->n_bytes = n_bytes;
  put_arg(b, p->kind, p->offset, n_bytes);
}

// Before and behind a step that reads and writes on `side`.
static void enter(builder *b, const seer_step *step, seer_side side) {
  for (uint32_t k = 0, n = seer_step_n_values(b->graph, step); k < n; k++) {
    bool is_made;
    seer_val v = seer_step_value(b->graph, step, k, &is_made);
    if (is_made)
      seer_sides_will_make(&b->sides, v, side);
    else
      seer_sides_need(&b->sides, v, side);
    if (!is_made && side == SEER_SIDE_HOST) seer_sides_need_sizes(&b->sides, v);
  }
}

static void leave(builder *b, const seer_step *step, seer_side side) {
  for (uint32_t k = 0, n = seer_step_n_values(b->graph, step); k < n; k++) {
    bool is_made;
    seer_val v = seer_step_value(b->graph, step, k, &is_made);
    if (is_made) seer_sides_made(&b->sides, v, side);
  }
}

// ---- what is in memory behind step `at` of the plan

// Left out: what no caller can hold, constants, what is no value of its own, and what is there for
// one image at a time. What a stretch makes is whole when all of it has run.
static void show(builder *b, seer_val v, size_t at) {
  if (b->images_at > 0) at = b->images_at - 1;
  const seer_value *value = seer_graph_value(b->graph, v);
  const seer_value_place *p = seer_place_of(&b->at, v);
  if (v.i == 0 || value->constant || p->kind == 0 || p->kind == SEER_ARG_WEIGHT) return;
  if (seer_place_is_of_image(p)) return;
  if (seer_onnx_dtype_number(value->dtype) == 0) return;
  if (value->base.i && p->kind != SEER_ARG_ARENA) return;
  put_arg(b, p->kind, p->offset + seer_place_part_offset(b->graph, v),
      (uint64_t)seer_value_span(value) * seer_dtype_bytes(value->dtype));
  seer_build_made(&b->made, value, (uint32_t)at, (uint32_t)b->n_arg - 1, put_string(b, value->name),
      seer_sides_is_on_device_alone(&b->sides, v));
}

static void show_made(builder *b, const seer_step *step, size_t at) {
  for (uint32_t k = 0, n = seer_step_n_values(b->graph, step); k < n; k++) {
    bool is_made;
    seer_val v = seer_step_value(b->graph, step, k, &is_made);
    if (is_made) show(b, v, at);
  }
}

static void show_view(builder *b, seer_val v) {
  if (--b->n_views_to_come[v.i] == 0) show(b, v, b->n_step - 1);
}

static void count_views(builder *b) {
  b->n_views_to_come = SEER_NEW_ARRAY(b->arena, uint32_t, b->graph->n_value);
  for (uint32_t s = 0; s < b->network->n_step; s++)
    if (b->network->step[s].kind == SEER_STEP_VIEW)
      b->n_views_to_come[b->network->step[s].view_out.i]++;
}

static uint32_t put_phases(builder *b, uint32_t k) {
  const seer_kernel *kernel = &b->kernels->kernel[k].kernel;
  if (b->first_phase[k] != UINT32_MAX) return b->first_phase[k];
  b->first_phase[k] = (uint32_t)b->n_phase;
  for (uint32_t i = 0; i < kernel->n_phase; i++) {
    b->phase = SEER_GROW(b->arena, seer_plan_phase, b->phase, b->n_phase, &b->cap_phase);
    b->symbol = SEER_GROW(b->arena, const char *, b->symbol, b->n_phase, &b->cap_symbol);
    b->phase[b->n_phase].n_parts = kernel->n_parts[i] > 0 ? kernel->n_parts[i] : 1;
    b->symbol[b->n_phase] = seer_arena_printf(b->arena, "%s_p%u", kernel->symbol, i);
    if (b->has_device)
      seer_build_launch(&b->device, k, put_string(b, b->symbol[b->n_phase]), &kernel->launch[i]);
    b->n_phase++;
  }
  return b->first_phase[k];
}

// The bytes from one image of the value to the next; 0: all images use the same memory.
static seer_status image_bytes(
    const builder *b, uint32_t s, const seer_kernel_arg *arg, uint32_t *out) {
  const seer_step *step = &b->network->step[s];
  const seer_value_place *p = seer_place_of(&b->at, step->value_of_buf[arg->dag_buf]);
  const seer_dag_buf *buf = &step->dag->buf[arg->dag_buf];
  *out = 0;
  if (!seer_place_stretch_of_operand(&b->at, s, arg->dag_buf) || seer_place_is_of_image(p))
    return SEER_OK;
  uint64_t n = (uint64_t)seer_dag_buf_elems(buf) * seer_dtype_bytes(buf->dtype);
  if (n > UINT32_MAX)
    return SEER_FAIL(UNSUPPORTED,
        "an image of buffer %s has %" PRIu64 " bytes, must have less than 4 GiB", buf->name, n);
  *out = (uint32_t)n;
  return SEER_OK;
}

static seer_status put_value_arg(
    builder *b, uint32_t s, const seer_built_kernel *k, const seer_kernel_arg *arg) {
  const seer_step *step = &b->network->step[s];
  seer_val v = arg->dag_buf < step->dag->n_buf ? step->value_of_buf[arg->dag_buf] : (seer_val){0};
  SEER_ASSERT(
      v.i != 0, "%s: buffer %u of the kernel is no value of the graph", step->name, arg->dag_buf);
  const seer_value *value = seer_graph_value(b->graph, v);
  if (value->constant && arg->storage == SEER_STORE_INPUT) {
    uint64_t offset = 0, n_bytes = 0;
    SEER_TRY(seer_build_weight(b->weights, b->graph, step, k->sketch, arg, &offset, &n_bytes));
    put_arg(b, SEER_ARG_WEIGHT, offset, n_bytes);
    return SEER_OK;
  }
  const seer_value_place *p = seer_place_of(&b->at, v);
  if (p->kind == 0 || p->kind == SEER_ARG_WEIGHT)
    return SEER_FAIL(
        UNSUPPORTED, "step '%s' uses value '%s', which no step makes", step->name, value->name);
  const seer_dag_buf *buf = &step->dag->buf[arg->dag_buf];
  SEER_ASSERT(value->base.i == 0 || p->kind == SEER_ARG_ARENA || p->kind == SEER_ARG_PRIVATE,
      "%s: '%s' is part of what the caller gives", step->name, value->name);
  put_arg(b, p->kind, p->offset + seer_place_part_offset(b->graph, v),
      (uint64_t)seer_dag_buf_elems(buf) * seer_dtype_bytes(buf->dtype));
  return image_bytes(b, s, arg, &b->arg[b->n_arg - 1].image_bytes);
}

static seer_status put_kernel(builder *b, uint32_t s, const char *source) {
  const seer_step *step = &b->network->step[s];
  uint32_t index = b->kernel_of_step[s];
  const seer_built_kernel *k = &b->kernels->kernel[index];
  uint32_t first_phase = put_phases(b, index);
  enter(b, step, SEER_SIDE_DEVICE);
  seer_plan_step *out =
      put_step(b, b->has_device ? SEER_PLAN_LAUNCH : SEER_PLAN_KERNEL, step->name, source);
  size_t at = b->n_step - 1;
  out->first_phase = first_phase;
  out->n_phase = k->kernel.n_phase;
  out->n_arg = k->n_arg;
  out->flops = b->network->task[step->task].flops * seer_step_n_images(b->network, step);
  for (uint32_t i = 0; i < k->n_arg; i++) {
    const seer_kernel_arg *arg = &k->kernel.arg[i];
    switch (arg->storage) {
      case SEER_STORE_INPUT:
      case SEER_STORE_OUTPUT:
        SEER_TRY(put_value_arg(b, s, k, arg));
        break;
      case SEER_STORE_PACKED: {
        uint64_t offset = 0, n_bytes = 0;
        SEER_TRY(seer_build_weight(b->weights, b->graph, step, k->sketch, arg, &offset, &n_bytes));
        put_arg(b, SEER_ARG_WEIGHT, offset, n_bytes);
        break;
      }
      case SEER_STORE_SHARED:
        put_arg(b, runs_apart(b, s) ? SEER_ARG_PRIVATE : SEER_ARG_ARENA,
            b->at.between[b->n_between_put++].offset, arg->n_bytes);
        break;
      case SEER_STORE_LOCAL:
      case SEER_STORE_WORKGROUP:
      case SEER_STORE_PRIVATE:
        SEER_ASSERT(false, "%s: argument %u is local", step->name, i);
    }
  }
  SEER_ASSERT(
      b->n_arg - b->step[at].first_arg == k->n_arg, "%s: %zu arguments", step->name, b->n_arg);
  if (k->kernel.scratch_bytes > b->scratch_bytes) b->scratch_bytes = k->kernel.scratch_bytes;
  leave(b, step, SEER_SIDE_DEVICE);
  return SEER_OK;
}

// The argument for all of a value, wherever it lies.
static seer_status put_whole(void *user, seer_val v, uint32_t *out_arg) {
  builder *b = user;
  uint32_t root = seer_place_root(&b->at, v);
  uint64_t offset = b->at.place[root].offset;
  if (b->graph->value[root].constant) {
    const seer_tensor *tensor = b->graph->value[root].constant;
    SEER_TRY(seer_weight_file_add(b->weights, tensor->data, tensor->n_bytes, &offset));
    put_arg(b, SEER_ARG_WEIGHT, offset, tensor->n_bytes);
  } else {
    if (b->at.place[root].kind == 0)
      return SEER_FAIL(
          UNSUPPORTED, "value '%s' is used, and no step makes it", b->graph->value[v.i].name);
    SEER_ASSERT(b->graph->value[v.i].base.i == 0, "part '%s' is no kernel's operand",
        b->graph->value[v.i].name);
    put_arg(b, b->at.place[root].kind, offset, seer_place_value_bytes(b->graph, v));
  }
  *out_arg = (uint32_t)b->n_arg - 1;
  return SEER_OK;
}

static seer_value_args whole_values(builder *b) {
  return (seer_value_args){b->graph, put_whole, b};
}

static void put_host_step(builder *b, const char *name) {
  put_step(b, SEER_PLAN_HOST, name, "")->first_phase = (uint32_t)b->hosts.n_host - 1;
}

static seer_status put_host(builder *b, const seer_step *step) {
  seer_value_args args = whole_values(b);
  seer_host_room room;
  enter(b, step, SEER_SIDE_HOST);
  SEER_TRY(seer_build_host(&b->hosts, &args, seer_step_node(b->graph, step), &room));
  put_host_step(b, step->name);
  leave(b, step, SEER_SIDE_HOST);
  if (room.thread > b->scratch_bytes) b->scratch_bytes = room.thread;
  if (room.shared == 0) return SEER_OK;
  put_arg(b, SEER_ARG_SHARED, 0, room.shared);
  seer_build_host_scratch(&b->hosts, (uint32_t)b->n_arg - 1);
  if (room.shared > b->shared_bytes)
    b->shared_bytes = (room.shared + SEER_PLAN_ALIGN - 1) / SEER_PLAN_ALIGN * SEER_PLAN_ALIGN;
  return SEER_OK;
}

// Its step alone. out_sides: where its results come to lie.
static seer_status put_branch(builder *b, uint32_t s, seer_sides_branch *out_sides) {
  const seer_step *step = &b->network->step[s];
  const seer_node *node = seer_step_node(b->graph, step);
  seer_value_args args = whole_values(b);
  bool *is_there = SEER_NEW_ARRAY(b->arena, bool, 2 * node->n_out + 1);
  for (uint32_t k = 0; k < 2 * node->n_out; k++) {
    seer_val to = node->out[k % node->n_out];
    is_there[k] = to.i == 0 || node->in[k + 1].i == 0 ||
        seer_place_root(&b->at, node->in[k + 1]) == seer_place_root(&b->at, to);
  }
  seer_sides_enter_branch(&b->sides, s, out_sides);
  SEER_TRY(seer_build_branch(&b->hosts, &args, node, is_there));
  for (uint32_t k = 0; k < 2 * node->n_out && b->has_device; k++)
    if (!is_there[k])
      seer_build_move_on_device(&b->device, out_sides->side[k % node->n_out] == SEER_SIDE_DEVICE);
  put_step(b, SEER_PLAN_BRANCH, step->name, "")->first_phase = (uint32_t)b->hosts.n_branch - 1;
  return SEER_OK;
}

static seer_status put_steps(builder *b, const seer_choice *choice, uint32_t from, uint32_t to);

// The loop that begins at step s, with its body. Its end is no step of the plan.
static seer_status put_loop(builder *b, const seer_choice *choice, uint32_t s) {
  const seer_step *step = &b->network->step[s], *end = step + 1 + step->n_body;
  seer_value_args args = whole_values(b);
  size_t index = b->hosts.n_loop;
  const seer_node *last = seer_step_node(b->graph, end);
  seer_sides_loop sides;
  seer_sides_enter_loop(&b->sides, s, s + 1 + step->n_body, &sides);
  SEER_TRYF(seer_build_loop(&b->hosts, &args, seer_step_node(b->graph, step), last), "step '%s'",
      step->name);
  for (uint32_t k = 0; k + 1 < last->n_out && b->has_device; k++)
    seer_build_move_on_device(&b->device, sides.side[k] == SEER_SIDE_DEVICE);
  put_step(b, SEER_PLAN_LOOP, step->name, "")->first_phase = (uint32_t)index;
  size_t first = b->n_step;
  SEER_TRY(put_steps(b, choice, s + 1, s + 1 + step->n_body));
  seer_sides_end_body(&b->sides, &sides);
  b->hosts.loop[index].n_body = (uint32_t)(b->n_step - first);
  seer_sides_leave_loop(&b->sides, &sides);
  show_made(b, end, first - 1);
  return SEER_OK;
}

// What a run that takes this side ends with.
static void put_fail(builder *b, const seer_node *node) {
  const char *side = seer_branch_lacks_then(node) ? "then" : "else";
  uint32_t message = put_string(b,
      seer_arena_printf(b->arena, "its condition led to the %s side, which could not be built: %s",
          side, seer_branch_why(node)));
  put_step(b, SEER_PLAN_FAIL, node->name, "")->first_phase = message;
}

// The sides of the branch of step s, which was put last.
static seer_status put_sides(
    builder *b, const seer_choice *choice, uint32_t s, seer_sides_branch *sides) {
  const seer_step *step = &b->network->step[s];
  const seer_node *node = seer_step_node(b->graph, step);
  const uint32_t n[2] = {step->n_then, step->n_else};
  size_t index = b->hosts.n_branch - 1, at = b->n_step - 1;
  for (uint32_t side = 0, from = s + 1; side < 2; from += n[side++]) {
    size_t first = b->n_step;
    bool is_built = !seer_branch_why(node) || seer_branch_lacks_then(node) != (side == 0);
    seer_sides_begin_side(&b->sides, sides);
    SEER_TRY(put_steps(b, choice, from, from + n[side]));
    if (!is_built) put_fail(b, node);
    seer_sides_end_side(&b->sides, sides, side == 1, is_built);
    seer_plan_branch *branch = &b->hosts.branch[index];
    *(side == 0 ? &branch->n_then : &branch->n_else) = (uint32_t)(b->n_step - first);
  }
  show_made(b, step, at);
  return SEER_OK;
}

// In front of the first step of a stretch what runs it; behind the last it is known how many it
// has.
static void put_images(builder *b, uint32_t s) {
  const seer_stretch *stretch = seer_place_stretch(&b->at, s);
  if (!stretch) return;
  seer_plan_stretch *out = &b->stretch[b->network->step[s].stretch - 1];
  if (s > stretch->first) return;
  const char *last = b->network->step[s + stretch->n_step - 1].name;
  const char *name = seer_arena_printf(b->arena, "%s ... %s", b->network->step[s].name, last);
  put_step(b, SEER_PLAN_IMAGES, name, "")->first_phase = b->network->step[s].stretch - 1;
  b->images_at = b->n_step;
  *out = (seer_plan_stretch){.n_images = stretch->n_images, .is_apart = stretch->is_apart};
}

static void end_images(builder *b, uint32_t s) {
  const seer_stretch *stretch = s < b->network->n_step ? seer_place_stretch(&b->at, s) : NULL;
  if (!stretch) return;
  b->stretch[b->network->step[s].stretch - 1].n_body = (uint32_t)(b->n_step - b->images_at);
  if (s + 1 == stretch->first + stretch->n_step) b->images_at = 0;
}

static seer_status put_steps(builder *b, const seer_choice *choice, uint32_t from, uint32_t to) {
  for (uint32_t s = from; s < to; s++) {
    const seer_step *step = &b->network->step[s];
    put_images(b, s);
    switch (step->kind) {
      case SEER_STEP_VIEW:
        put_step(b, SEER_PLAN_VIEW, step->name, "");
        show_view(b, step->view_out);
        break;
      case SEER_STEP_KERNEL:
      case SEER_STEP_COPY:
        SEER_TRYF(put_kernel(b, s, seer_origin_name(choice[step->task].origin)),
            "packing the weights of %s", step->name);
        show_made(b, step, b->n_step - 1);
        break;
      case SEER_STEP_HOST:
        SEER_TRYF(put_host(b, step), "step '%s'", step->name);
        show_made(b, step, b->n_step - 1);
        break;
      case SEER_STEP_LOOP_BEGIN:
        SEER_TRY(put_loop(b, choice, s));
        s += step->n_body + 1;
        break;
      case SEER_STEP_LOOP_END:
        SEER_ASSERT(false, "'%s' ends no loop", step->name);
        break;
      case SEER_STEP_BRANCH: {
        seer_sides_branch sides;
        SEER_TRYF(put_branch(b, s, &sides), "step '%s'", step->name);
        SEER_TRY(put_sides(b, choice, s, &sides));
        s += step->n_then + step->n_else;
        break;
      }
    }
    end_images(b, s);
  }
  return SEER_OK;
}

static seer_status put_sizes(builder *b) {
  seer_value_args args = whole_values(b);
  for (uint32_t i = 0; i < b->graph->n_output; i++)
    seer_sides_need_sizes(&b->sides, b->graph->output[i]);
  for (uint32_t i = 0; i < b->graph->n_output; i++)
    SEER_TRYF(seer_build_sizes_of(&b->hosts, &args, b->graph->output[i], i),
        "the size of output '%s'", seer_graph_value(b->graph, b->graph->output[i])->name);
  return SEER_OK;
}

// Elements of an output that lie apart are put together.
static seer_status put_compact(builder *b, uint32_t i) {
  seer_value_args args = whole_values(b);
  seer_val v = b->graph->output[i];
  uint32_t from;
  seer_sides_need(&b->sides, v, SEER_SIDE_HOST);
  seer_sides_need_sizes(&b->sides, v);
  SEER_TRY(put_whole(b, v, &from));
  put_arg(b, SEER_ARG_OUTPUT, i, seer_place_value_bytes(b->graph, v));
  SEER_TRY(seer_build_compact(&b->hosts, &args, v, from, (uint32_t)b->n_arg - 1));
  put_host_step(b, seer_graph_value(b->graph, v)->name);
  return SEER_OK;
}

// An output that was copied to the caller by the last step, whose last argument that is.
static void show_copy(builder *b, seer_val v) {
  const seer_value *value = seer_graph_value(b->graph, v);
  if (seer_onnx_dtype_number(value->dtype) == 0) return;
  seer_build_made(&b->made, value, (uint32_t)b->n_step - 1, (uint32_t)b->n_arg - 1,
      put_string(b, value->name), seer_sides_is_on_device_alone(&b->sides, v));
}

// Outputs whose bytes are somewhere else: those of inputs (of_inputs), or all others.
static seer_status put_copies_from(builder *b, bool of_inputs) {
  const seer_graph *graph = b->graph;
  for (uint32_t i = 0; i < graph->n_output; i++) {
    uint32_t root = seer_place_root(&b->at, graph->output[i]);
    const seer_value_place *p = &b->at.place[root];
    if (graph->n_shared > 0 && (p->kind == SEER_ARG_INPUT) != of_inputs) continue;
    if (p->kind == SEER_ARG_OUTPUT && p->offset == i) {
      seer_sides_need(&b->sides, graph->output[i], SEER_SIDE_HOST);
      continue;
    }
    uint64_t n_bytes = seer_place_value_bytes(graph, graph->output[i]), offset = p->offset;
    if (n_bytes == 0) continue;
    if (seer_build_has_gaps(seer_graph_value(graph, graph->output[i]))) {
      SEER_TRY(put_compact(b, i));
      continue;
    }
    if (p->kind == SEER_ARG_WEIGHT) {
      const seer_tensor *tensor = graph->value[root].constant;
      SEER_TRY(seer_weight_file_add(b->weights, tensor->data, tensor->n_bytes, &offset));
    }
    seer_sides_need(&b->sides, graph->output[i], SEER_SIDE_HOST);
    seer_plan_step *step =
        put_step(b, SEER_PLAN_COPY_BYTES, seer_graph_value(graph, graph->output[i])->name, "");
    step->n_arg = 2;
    step->n_bytes = n_bytes;
    put_arg(b, p->kind, offset, n_bytes);
    put_arg(b, SEER_ARG_OUTPUT, i, n_bytes);
    show_copy(b, graph->output[i]);
  }
  return SEER_OK;
}

// What shares memory with an input is copied there when that has been copied itself.
static seer_status put_output_copies(builder *b) {
  if (b->graph->n_shared > 0) SEER_TRY(put_copies_from(b, true));
  return put_copies_from(b, false);
}

// What --share allows is right for plans of processors, and while no output that shares memory is
// an input as it came whose own memory another output may be in by then.
static seer_status check_shared(const builder *b) {
  const seer_graph *graph = b->graph;
  if (graph->n_shared > 0 && b->has_device)
    return SEER_FAIL(UNSUPPORTED, "--share is for kernels on processors, not on a device");
  for (uint32_t k = 0; k < graph->n_shared; k++) {
    const seer_val out = graph->output[graph->shared[k].output];
    const seer_value_place *p = seer_place_of(&b->at, out);
    if (p->kind == SEER_ARG_INPUT && p->offset != graph->shared[k].input)
      return SEER_FAIL(UNSUPPORTED, "--share: output '%s' is input '%s' as it came",
          seer_graph_value(graph, out)->name,
          seer_graph_value(graph, graph->input[p->offset])->name);
  }
  return SEER_OK;
}

static seer_plan_io describe(builder *b, seer_val v) {
  const seer_value *value = seer_graph_value(b->graph, v);
  seer_plan_io io = {0};
  io.name_string = put_string(b, seer_value_shown(value));
  io.onnx_dtype = seer_onnx_dtype_number(value->dtype);
  io.rank = value->rank;
  for (uint32_t k = 0; k < value->rank; k++) io.dim[k] = value->dim[k];
  io.n_bytes = seer_place_value_bytes(b->graph, v);
  return io;
}

// Nothing where all steps run whole.
static void put_stretches(const builder *b, seer_text *blob, uint32_t *out_offset) {
  const seer_plan_images images = {b->at.private_bytes, b->network->n_stretch, 0};
  if (images.n_stretch == 0) return;
  *out_offset = (uint32_t)seer_text_put_aligned(blob, &images, sizeof images, 8);
  seer_text_put_aligned(blob, b->stretch, images.n_stretch * sizeof *b->stretch, 8);
}

static uint32_t put_string_of(void *user, const char *text) { return put_string(user, text); }

// What the header counts, and says the place of. `io`: of inputs, then outputs. modules: the
// kernels whose images are listed, or NULL.
static void put_sections(builder *b, const seer_plan_io *io, const seer_built_kernels *modules,
    seer_text *blob, seer_plan_header *h) {
#define PUT(data, n, n_field, offset_field)                                           \
  do {                                                                                \
    h->n_field = (uint32_t)(n);                                                       \
    h->offset_field =                                                                 \
        (uint32_t)seer_text_put_aligned(blob, data, (size_t)(n) * sizeof *(data), 8); \
  } while (0)
  const seer_host_list *hosts = &b->hosts;
  seer_build_custom(&b->hosts, put_string_of, b, blob);
  h->n_input = b->graph->n_input;
  PUT(b->step, b->n_step, n_step, step_offset);
  PUT(b->arg, b->n_arg, n_arg, arg_offset);
  PUT(io, h->n_input + b->graph->n_output, n_output, io_offset);
  h->n_output = b->graph->n_output;
  PUT(b->phase, b->n_phase, n_phase, phase_offset);
  PUT(hosts->host, hosts->n_host, n_host, host_offset);
  PUT(hosts->tensor, hosts->n_tensor, n_tensor, tensor_offset);
  PUT(hosts->size, hosts->n_size, n_size, size_offset);
  PUT(hosts->loop, hosts->n_loop, n_loop, loop_offset);
  PUT(hosts->branch, hosts->n_branch, n_branch, branch_offset);
  PUT(hosts->move, hosts->n_move, n_move, move_offset);
  PUT(b->made.made, b->made.n_made, n_made, made_offset);
  PUT(b->made.extent, b->made.n_extent, n_extent, extent_offset);
  put_stretches(b, blob, &h->images_offset);
  if (b->has_device) seer_build_device(&b->device, modules, b->driver, put_string_of, b, blob, h);
  PUT(b->strings.data, b->strings.n_bytes, strings_bytes, strings_offset);
#undef PUT
}

seer_status seer_build_plan(const seer_context *context, const seer_network *network, uint32_t set,
    const seer_built_kernels *kernels, const seer_choice *choice, seer_weight_file *weights,
    seer_arena *arena, seer_built_plan *out) {
  network = network->set[set];
  const seer_graph *graph = network->graph;
  const seer_target *target = seer_context_target(context);
  builder b = {.network = network,
      .graph = graph,
      .kernels = kernels,
      .kernel_of_step = kernels->of_step[set],
      .weights = weights,
      .has_device = target->kind != SEER_TARGET_CPU,
      .driver = seer_target_kind_name(target->kind),
      .arena = arena};
  b.at = (seer_places){.network = network,
      .graph = graph,
      .kernels = kernels,
      .kernel_of_step = b.kernel_of_step,
      .n_threads = b.has_device ? 1 : target->threads,
      .arena = arena};
  b.stretch = SEER_NEW_ARRAY(arena, seer_plan_stretch, network->n_stretch + 1);
  b.first_phase = SEER_NEW_ARRAY(arena, uint32_t, kernels->n + 1);
  for (uint32_t i = 0; i < kernels->n; i++) b.first_phase[i] = UINT32_MAX;
  b.hosts.arena = b.made.arena = b.device.arena = arena;
  seer_text_init(&b.strings, arena);
  b.string_map = seer_map_create(arena);
  put_string(&b, "");

  seer_plan_header header = {.magic = SEER_PLAN_MAGIC, .version = SEER_PLAN_VERSION};
  seer_place_values(&b.at);
  SEER_TRY(check_shared(&b));
  header.arena_bytes = b.at.arena_bytes;
  seer_sides_begin(&b.sides, &b.at, b.has_device, put_copy, &b);
  count_views(&b);
  SEER_TRY(put_steps(&b, choice, 0, network->n_step));
  SEER_TRY(put_output_copies(&b));
  seer_build_sort_made(&b.made);
  SEER_TRY(put_sizes(&b));
  seer_plan_io *io = SEER_NEW_ARRAY(arena, seer_plan_io, graph->n_input + graph->n_output + 1);
  for (uint32_t i = 0; i < graph->n_input; i++) io[i] = describe(&b, graph->input[i]);
  for (uint32_t i = 0; i < graph->n_output; i++)
    io[graph->n_input + i] = describe(&b, graph->output[i]);
  for (uint32_t k = 0; k < graph->n_shared; k++)
    io[graph->n_input + graph->shared[k].output].shared = graph->shared[k].input + 1;
  header.features_string = put_string(&b, target->features);
  header.cpu_string = put_string(&b, target->cpu);
  header.shared_bytes = b.shared_bytes;
  header.scratch_bytes = b.scratch_bytes;

  seer_text blob;
  seer_text_init(&blob, arena);
  seer_text_put_n(&blob, (const char *)&header, sizeof header);
  put_sections(&b, io, set == 0 ? kernels : NULL, &blob, &header);
  *out = (seer_built_plan){header, blob, b.symbol, b.at.private_bytes, b.at.is_in_place, NULL};
  return SEER_OK;
}
