// plan.c - judges a plan blob before anything is done with it: every offset, index, string and
// size, so that the executor can follow them without looking.
#include "runtime/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "runtime/exec.h"
#include "runtime/host.h"
#include "runtime/host/custom.h"

// Sizes above this are refused: sums of a few of them cannot overflow.
#define MAX_BYTES ((uint64_t)1 << 46)

uint32_t seer_onnx_dtype_bytes(int32_t onnx_dtype) {
  switch (onnx_dtype) {
    case 2:  // uint8
    case 3:  // int8
    case 9:  // bool
    case 17:  // float8e4m3fn
    case 18:  // float8e4m3fnuz
    case 19:  // float8e5m2
    case 20:  // float8e5m2fnuz
    case 21:  // uint4, one a byte
    case 22:  // int4, one a byte
    case 23:  // float4e2m1, one a byte
    case 24:  // float8e8m0
    case 25:  // uint2, one a byte
    case 26:  // int2, one a byte
      return 1;
    case 4:  // uint16
    case 5:  // int16
    case 10:  // float16
    case 16:  // bfloat16
      return 2;
    case 1:  // float
    case 6:  // int32
    case 12:  // uint32
      return 4;
    case 7:  // int64
    case 11:  // double
    case 13:  // uint64
      return 8;
    default:
      return 0;
  }
}

static bool section_ok(
    uint32_t offset, uint64_t n, uint64_t item_bytes, uint64_t align, uint64_t n_bytes) {
  return offset >= sizeof(seer_plan_header) && offset <= n_bytes && offset % align == 0 &&
      n * item_bytes <= n_bytes - offset;
}

static bool io_ok(const seer_plan_io *io) {
  if (io->rank < 0 || io->rank > 12) return false;
  uint64_t bytes = seer_onnx_dtype_bytes(io->onnx_dtype);
  if (bytes == 0) return false;
  for (int32_t k = 0; k < io->rank; k++) {
    if (io->dim[k] < 0 || (uint64_t)io->dim[k] > MAX_BYTES) return false;
    if (io->dim[k] > 0 && bytes > MAX_BYTES / (uint64_t)io->dim[k]) return false;
    bytes *= (uint64_t)io->dim[k];
  }
  return bytes == io->n_bytes;
}

static bool inside(uint64_t offset, uint64_t n, uint64_t limit) {
  return offset <= limit && n <= limit - offset;
}

static const seer_plan_images *images_of(const seer_plan_header *h) {
  return h->images_offset ? (const void *)((const uint8_t *)h + h->images_offset) : NULL;
}

static uint32_t n_stretch(const seer_plan_header *h) {
  return h->images_offset ? images_of(h)->n_stretch : 0;
}

static const char *check_arg(
    const seer_plan_header *h, const seer_plan_io *io, const seer_plan_arg *arg) {
  switch (arg->kind) {
    case SEER_ARG_ARENA:
      return arg->offset % SEER_PLAN_PART_ALIGN == 0 &&
              inside(arg->offset, arg->n_bytes, h->arena_bytes)
          ? NULL
          : "an argument lies outside the arena";
    case SEER_ARG_SHARED:
      return arg->offset % SEER_PLAN_ALIGN == 0 &&
              inside(arg->offset, arg->n_bytes, h->shared_bytes)
          ? NULL
          : "an argument lies outside the shared scratch";
    case SEER_ARG_WEIGHT:
      return arg->offset % SEER_PLAN_ALIGN == 0 &&
              inside(arg->offset, arg->n_bytes, h->weight_bytes)
          ? NULL
          : "an argument lies outside the weights";
    case SEER_ARG_INPUT:
      return arg->offset < h->n_input && arg->n_bytes <= io[arg->offset].n_bytes
          ? NULL
          : "an argument is no input";
    case SEER_ARG_OUTPUT:
      return arg->offset < h->n_output && arg->n_bytes <= io[h->n_input + arg->offset].n_bytes
          ? NULL
          : "an argument is no output";
    case SEER_ARG_PRIVATE:
      return images_of(h) && arg->offset % SEER_PLAN_PART_ALIGN == 0 &&
              inside(arg->offset, arg->n_bytes, images_of(h)->private_bytes)
          ? NULL
          : "an argument lies outside a thread's memory for images";
    default:
      return "an argument has an unknown kind";
  }
}

static const char *check_step(
    const seer_plan_header *h, const seer_plan_step *step, const seer_plan_arg *args) {
  if (step->name_string >= h->strings_bytes || step->source_string >= h->strings_bytes)
    return "a step's name lies outside the strings";
  if (!inside(step->first_arg, step->n_arg, h->n_arg))
    return "a step's arguments lie outside the list";
  if (SEER_PLAN_IS_ON_DEVICE(step->kind) && h->device_offset == 0)
    return "a step is on a device, and the plan has none";
  switch (step->kind) {
    case SEER_PLAN_KERNEL:
    case SEER_PLAN_LAUNCH:
      if (step->n_phase == 0 || !inside(step->first_phase, step->n_phase, h->n_phase))
        return "a step's phases lie outside the list";
      if (step->n_arg > SEER_PLAN_MAX_ARGS) return "a step has too many arguments";
      return NULL;
    case SEER_PLAN_VIEW:
      return step->n_arg == 0 && step->n_phase == 0 ? NULL : "a view has arguments";
    case SEER_PLAN_COPY_BYTES:
    case SEER_PLAN_COPY_ON_DEVICE: {
      if (step->n_arg != 2 || step->n_phase != 0) return "a copy needs two arguments";
      const seer_plan_arg *to = &args[step->first_arg + 1];
      if (step->n_bytes > args[step->first_arg].n_bytes || step->n_bytes > to->n_bytes)
        return "a copy is longer than its arguments";
      return to->kind == SEER_ARG_WEIGHT || to->kind == SEER_ARG_INPUT
          ? "a copy writes what may only be read"
          : NULL;
    }
    case SEER_PLAN_UPLOAD:
    case SEER_PLAN_DOWNLOAD:
      return step->n_arg == 1 && step->n_phase == 0 &&
              step->n_bytes <= args[step->first_arg].n_bytes
          ? NULL
          : "a copy is longer than its argument";
    case SEER_PLAN_HOST:
      return step->first_phase < h->n_host && step->n_phase == 0 && step->n_arg == 0
          ? NULL
          : "a host call lies outside the list";
    case SEER_PLAN_LOOP:
      return step->first_phase < h->n_loop && step->n_phase == 0 && step->n_arg == 0
          ? NULL
          : "a loop lies outside the list";
    case SEER_PLAN_BRANCH:
      return step->first_phase < h->n_branch && step->n_phase == 0 && step->n_arg == 0
          ? NULL
          : "a branch lies outside the list";
    case SEER_PLAN_FAIL:
      return step->first_phase < h->strings_bytes && step->n_phase == 0 && step->n_arg == 0
          ? NULL
          : "the message of a step lies outside the strings";
    case SEER_PLAN_IMAGES:
      return step->first_phase < n_stretch(h) && step->n_phase == 0 && step->n_arg == 0
          ? NULL
          : "a stretch of images lies outside the list";
    default:
      return "a step has an unknown kind";
  }
}

static bool is_written(const seer_plan_arg *arg) {
  return arg->kind == SEER_ARG_ARENA || arg->kind == SEER_ARG_OUTPUT ||
      arg->kind == SEER_ARG_SHARED;
}

static bool holds_size(const seer_plan_header *h, const seer_plan_arg *args, uint32_t arg) {
  return arg < h->n_arg && args[arg].n_bytes >= sizeof(int64_t) &&
      args[arg].kind != SEER_ARG_SHARED;
}

static const char *check_tensor(
    const seer_plan_header *h, const seer_plan_arg *args, const seer_plan_tensor *tensor) {
  if (tensor->onnx_dtype == 0) return NULL;
  seer_plan_io io = {.onnx_dtype = tensor->onnx_dtype, .rank = tensor->rank};
  if (tensor->rank < 0 || tensor->rank > 12 || tensor->arg >= h->n_arg)
    return "a tensor of a host call is damaged";
  memcpy(io.dim, tensor->dim, sizeof io.dim);
  io.n_bytes = args[tensor->arg].n_bytes;
  if (!io_ok(&io)) return "a tensor of a host call has another size than its argument";
  for (int32_t d = 0; d < tensor->rank; d++)
    if (tensor->size_arg[d] && !holds_size(h, args, tensor->size_arg[d] - 1))
      return "a size of a host call lies outside the list";
  return NULL;
}

static const char *check_host(const seer_plan_header *h, const seer_plan_arg *args,
    const seer_plan_tensor *tensors, const seer_plan_host *host) {
  if (!inside(host->first_tensor, (uint64_t)host->n_in + host->n_out, h->n_tensor) ||
      host->scratch_arg > h->n_arg)
    return "the tensors of a host call lie outside the list";
  const seer_plan_arg *scratch = host->scratch_arg ? &args[host->scratch_arg - 1] : NULL;
  if (scratch && scratch->kind != SEER_ARG_SHARED) return "the scratch of a host call is none";
  const seer_plan_tensor *in = &tensors[host->first_tensor], *out = in + host->n_in;
  for (uint32_t i = 0; i < host->n_out; i++)
    if (out[i].onnx_dtype && !is_written(&args[out[i].arg]))
      return "a host call writes what may only be read";
  if (host->function == SEER_HOST_CUSTOM) return seer_rt_custom_check(h, host, in);
  return seer_host_check(host, in, out,
      (seer_host_room){.shared = scratch ? scratch->n_bytes : 0, .thread = h->scratch_bytes});
}

// A number of an argument: there, with room for n_bytes, and to be written if it is.
static bool arg_ok(const seer_plan_header *h, const seer_plan_arg *args, uint32_t arg,
    uint64_t n_bytes, bool is_out) {
  return arg > 0 && arg <= h->n_arg && args[arg - 1].n_bytes >= n_bytes &&
      args[arg - 1].kind != SEER_ARG_SHARED && (!is_out || is_written(&args[arg - 1]));
}

static const char *check_loop(const seer_plan_header *h, const seer_plan_arg *args,
    const seer_plan_move *moves, const seer_plan_loop *loop) {
  if (!inside(loop->first_move, (uint64_t)loop->n_carried + loop->n_scan, h->n_move))
    return "the values of a loop lie outside the list";
  bool is_sound = (loop->trip_arg == 0 || arg_ok(h, args, loop->trip_arg, 8, false)) &&
      (loop->start_arg == 0 || arg_ok(h, args, loop->start_arg, 1, false)) &&
      arg_ok(h, args, loop->number_arg, 8, true) && arg_ok(h, args, loop->go_arg, 1, true) &&
      arg_ok(h, args, loop->next_arg, 1, false) && arg_ok(h, args, loop->count_arg, 8, true);
  for (uint32_t k = 0; is_sound && k < loop->n_carried + loop->n_scan; k++) {
    const seer_plan_move *m = &moves[loop->first_move + k];
    is_sound =
        arg_ok(h, args, m->out_arg, m->n_bytes, false) && arg_ok(h, args, m->result_arg, 0, true);
    if (k < loop->n_carried)
      is_sound = is_sound && arg_ok(h, args, m->before_arg, m->n_bytes, false) &&
          arg_ok(h, args, m->in_arg, m->n_bytes, true) &&
          arg_ok(h, args, m->result_arg, m->n_bytes, true);
  }
  return is_sound ? NULL : "a value of a loop is damaged";
}

static const char *check_branch(const seer_plan_header *h, const seer_plan_arg *args,
    const seer_plan_move *moves, const seer_plan_branch *branch) {
  uint64_t n_move = (uint64_t)branch->n_then_move + branch->n_else_move;
  if (!inside(branch->first_move, n_move, h->n_move))
    return "the values of a branch lie outside the list";
  bool is_sound = arg_ok(h, args, branch->condition_arg, 1, false);
  for (uint64_t k = 0; is_sound && k < n_move; k++) {
    const seer_plan_move *m = &moves[branch->first_move + k];
    is_sound = arg_ok(h, args, m->out_arg, m->n_bytes, false) &&
        arg_ok(h, args, m->result_arg, m->n_bytes, true);
  }
  return is_sound ? NULL : "a value of a branch is damaged";
}

// Every element that the dimensions and strides name lies in the argument.
static const char *check_made(const seer_plan_header *h, const seer_plan_arg *args,
    const int64_t *extents, const seer_plan_made *made) {
  if (made->step >= h->n_step || made->name_string >= h->strings_bytes || made->arg >= h->n_arg ||
      made->is_on_device > (h->device_offset != 0))
    return "a made value is damaged";
  uint64_t elem_bytes = seer_onnx_dtype_bytes(made->onnx_dtype);
  if (elem_bytes == 0 || made->rank < 0 || made->rank > 12 ||
      !inside(made->first_extent, 2 * (uint64_t)made->rank, h->n_extent))
    return "a made value is damaged";
  const int64_t *dim = extents + made->first_extent, *stride = dim + made->rank;
  uint64_t last = 0;
  bool is_empty = false;
  for (int32_t d = 0; d < made->rank; d++) {
    if (dim[d] < 0 || stride[d] < 0) return "a made value is damaged";
    is_empty |= dim[d] == 0;
    if (dim[d] < 2) continue;
    if ((uint64_t)stride[d] > MAX_BYTES / (uint64_t)dim[d])
      return "a made value lies outside its argument";
    last += (uint64_t)stride[d] * (uint64_t)(dim[d] - 1);
  }
  if (is_empty) return NULL;
  return last < MAX_BYTES && (last + 1) * elem_bytes <= args[made->arg].n_bytes
      ? NULL
      : "a made value lies outside its argument";
}

static const char *check_all_made(const seer_plan_header *h, const seer_plan_arg *args) {
  const uint8_t *base = (const void *)h;
  const seer_plan_made *made = (const void *)(base + h->made_offset);
  const char *wrong = NULL;
  for (uint32_t i = 0; i < h->n_made && !wrong; i++) {
    wrong = check_made(h, args, (const void *)(base + h->extent_offset), &made[i]);
    if (!wrong && i > 0 && made[i].step < made[i - 1].step) wrong = "made values are out of order";
  }
  return wrong;
}

typedef struct {
  const seer_plan_step *step;
  const seer_plan_loop *loop;
  const seer_plan_branch *branch;
  const seer_plan_stretch *stretch;
} nest;

// How many steps behind step i it runs, in two parts; none for what runs itself alone.
static void parts_of(const nest *of, uint32_t i, uint32_t part[2]) {
  const seer_plan_step *step = &of->step[i];
  part[0] = part[1] = 0;
  if (step->kind == SEER_PLAN_LOOP) part[0] = of->loop[step->first_phase].n_body;
  if (step->kind == SEER_PLAN_IMAGES) part[0] = of->stretch[step->first_phase].n_body;
  if (step->kind != SEER_PLAN_BRANCH) return;
  part[0] = of->branch[step->first_phase].n_then;
  part[1] = of->branch[step->first_phase].n_else;
}

// Bodies and sides lie whole inside each other, and not too deep: they are run by recursion, and
// checked by it.
static const char *check_nesting(const nest *of, uint32_t from, uint32_t to, uint32_t depth) {
  if (from < to && depth > SEER_PLAN_MAX_DEPTH) return "loops and branches are nested too deep";
  for (uint32_t i = from; i < to; i++) {
    uint32_t part[2];
    parts_of(of, i, part);
    for (uint32_t k = 0; k < 2; k++) {
      if (part[k] > to - i - 1) return "a loop, branch or stretch is longer than what it is in";
      const char *wrong = check_nesting(of, i + 1, i + 1 + part[k], depth + 1);
      if (wrong) return wrong;
      i += part[k];
    }
  }
  return NULL;
}

// Image `last` of an argument lies where the argument may, too.
static const char *check_image(
    const seer_plan_header *h, const seer_plan_io *io, const seer_plan_arg *arg, uint32_t last) {
  if (arg->image_bytes == 0) return NULL;
  uint64_t to = (uint64_t)arg->image_bytes * last;
  seer_plan_arg all = *arg;
  all.n_bytes += to;
  bool is_of_all =
      arg->kind == SEER_ARG_ARENA || arg->kind == SEER_ARG_INPUT || arg->kind == SEER_ARG_OUTPUT;
  if (!is_of_all) return "an argument has images that it cannot have";
  return check_arg(h, io, &all) ? "an image of an argument lies outside of its memory" : NULL;
}

// A stretch runs kernels and views, whose arguments have as many images.
static const char *check_stretch(const seer_plan_header *h, const seer_plan_io *io,
    const seer_plan_arg *args, const seer_plan_step *body, const seer_plan_stretch *stretch) {
  if (stretch->n_images == 0 || stretch->n_images > (uint32_t)INT32_MAX)
    return "a stretch has no images";
  for (uint32_t i = 0; i < stretch->n_body; i++) {
    const seer_plan_step *step = &body[i];
    if (step->kind != SEER_PLAN_KERNEL && step->kind != SEER_PLAN_VIEW)
      return "a stretch has a step that is neither kernel nor view";
    for (uint32_t k = 0; k < step->n_arg; k++) {
      const char *wrong = check_image(h, io, &args[step->first_arg + k], stretch->n_images - 1);
      if (wrong) return wrong;
    }
  }
  return NULL;
}

// Nesting was found to be sound.
static const char *check_stretches(const seer_plan_header *h, const seer_plan_io *io,
    const seer_plan_arg *args, const seer_plan_step *steps, const seer_plan_stretch *stretches) {
  const char *wrong = NULL;
  for (uint32_t i = 0; i < h->n_step && !wrong; i++)
    if (steps[i].kind == SEER_PLAN_IMAGES)
      wrong = check_stretch(h, io, args, &steps[i + 1], &stretches[steps[i].first_phase]);
  return wrong;
}

// Its sections lie within the bytes; their entries may say anything.
static const char *check_sections(const uint8_t *base, uint64_t n_bytes) {
  const seer_plan_header *h = (const void *)base;
  if (!section_ok(h->step_offset, h->n_step, sizeof(seer_plan_step), 8, n_bytes))
    return "steps out of bounds";
  if (!section_ok(h->arg_offset, h->n_arg, sizeof(seer_plan_arg), 8, n_bytes))
    return "arguments out of bounds";
  if (!section_ok(
          h->io_offset, (uint64_t)h->n_input + h->n_output, sizeof(seer_plan_io), 8, n_bytes))
    return "inputs and outputs out of bounds";
  if (!section_ok(h->phase_offset, h->n_phase, sizeof(seer_plan_phase), 4, n_bytes))
    return "phases out of bounds";
  if (!section_ok(h->strings_offset, h->strings_bytes, 1, 1, n_bytes) || h->strings_bytes == 0 ||
      base[h->strings_offset + h->strings_bytes - 1] != 0)
    return "strings out of bounds";
  if (!section_ok(h->json_offset, h->json_bytes, 1, 1, n_bytes) || h->json_bytes == 0 ||
      base[h->json_offset + h->json_bytes - 1] != 0)
    return "json out of bounds";
  if ((h->n_host && !section_ok(h->host_offset, h->n_host, sizeof(seer_plan_host), 8, n_bytes)) ||
      (h->n_tensor &&
          !section_ok(h->tensor_offset, h->n_tensor, sizeof(seer_plan_tensor), 8, n_bytes)) ||
      (h->n_size && !section_ok(h->size_offset, h->n_size, sizeof(seer_plan_size), 4, n_bytes)) ||
      (h->n_loop && !section_ok(h->loop_offset, h->n_loop, sizeof(seer_plan_loop), 4, n_bytes)) ||
      (h->n_branch &&
          !section_ok(h->branch_offset, h->n_branch, sizeof(seer_plan_branch), 4, n_bytes)) ||
      (h->n_move && !section_ok(h->move_offset, h->n_move, sizeof(seer_plan_move), 8, n_bytes)))
    return "host calls out of bounds";
  if ((h->n_made && !section_ok(h->made_offset, h->n_made, sizeof(seer_plan_made), 8, n_bytes)) ||
      (h->n_extent && !section_ok(h->extent_offset, h->n_extent, sizeof(int64_t), 8, n_bytes)))
    return "made values out of bounds";
  if (h->images_offset &&
      (!section_ok(h->images_offset, 1, sizeof(seer_plan_images), 8, n_bytes) ||
          !section_ok(h->images_offset + (uint32_t)sizeof(seer_plan_images), n_stretch(h),
              sizeof(seer_plan_stretch), 8, n_bytes)))
    return "images out of bounds";
  if (h->device_offset && !section_ok(h->device_offset, 1, sizeof(seer_plan_device), 8, n_bytes))
    return "device out of bounds";
  if (h->range_offset && !section_ok(h->range_offset, 1, sizeof(seer_plan_range), 4, n_bytes))
    return "range out of bounds";
  return NULL;
}

static const char *check_header(const void *blob, uint64_t n_bytes) {
  const seer_plan_header *h = blob;
  if ((uintptr_t)blob % _Alignof(seer_plan_header) != 0) return "not aligned";
  if (n_bytes < sizeof *h) return "shorter than its header";
  if (h->magic != SEER_PLAN_MAGIC) return "not a plan";
  if (h->version != SEER_PLAN_VERSION) return "made by another version";
  if (h->n_bytes != n_bytes) return "its size is wrong";
  const char *wrong = check_sections(blob, n_bytes);
  if (wrong) return wrong;
  if (h->flushes_denormals > 1) return "a mode that is none";
  if (h->features_string >= h->strings_bytes || h->cpu_string >= h->strings_bytes)
    return "features out of bounds";
  if (h->arena_bytes > MAX_BYTES || h->shared_bytes > MAX_BYTES ||
      h->scratch_bytes > MAX_BYTES >> 16 || h->weight_bytes > MAX_BYTES ||
      h->arena_bytes % SEER_PLAN_ALIGN != 0 ||
      (h->images_offset && images_of(h)->private_bytes > MAX_BYTES >> 16))
    return "absurd sizes";
  return NULL;
}

// What kernels run on: inputs and outputs, phases, arguments, steps.
static const char *check_kernels(const seer_plan_header *h, const seer_plan_io *io,
    const seer_plan_arg *args, const seer_plan_step *steps) {
  const char *wrong = NULL;
  for (uint64_t i = 0; i < (uint64_t)h->n_input + h->n_output; i++) {
    if (io[i].name_string >= h->strings_bytes)
      return "the name of an input or output lies outside the strings";
    if (!io_ok(&io[i])) return "the shape of an input or output is wrong";
    if (io[i].shared == 0) continue;
    bool fits = i >= h->n_input && io[i].shared <= h->n_input &&
        io[io[i].shared - 1].n_bytes == io[i].n_bytes;
    if (!fits) return "an output shares memory with what it cannot";
  }
  const seer_plan_phase *phases = (const void *)((const uint8_t *)h + h->phase_offset);
  for (uint32_t i = 0; i < h->n_phase; i++)
    if (phases[i].n_parts == 0 || phases[i].n_parts > (uint32_t)INT32_MAX)
      return "a phase has no parts";
  for (uint32_t i = 0; i < h->n_arg && !wrong; i++) wrong = check_arg(h, io, &args[i]);
  for (uint32_t i = 0; i < h->n_step && !wrong; i++) wrong = check_step(h, &steps[i], args);
  return wrong;
}

// What runs on the host: calls, loops, branches, sizes that data decides.
static const char *check_host_part(const seer_plan_header *h, const seer_plan_io *io,
    const seer_plan_arg *args, const seer_plan_step *steps) {
  const uint8_t *base = (const void *)h;
  const char *wrong = NULL;
  const seer_plan_tensor *tensors = (const void *)(base + h->tensor_offset);
  for (uint32_t i = 0; i < h->n_tensor && !wrong; i++) wrong = check_tensor(h, args, &tensors[i]);
  const seer_plan_host *hosts = (const void *)(base + h->host_offset);
  for (uint32_t i = 0; i < h->n_host && !wrong; i++)
    wrong = check_host(h, args, tensors, &hosts[i]);
  const seer_plan_loop *loops = (const void *)(base + h->loop_offset);
  const seer_plan_move *moves = (const void *)(base + h->move_offset);
  for (uint32_t i = 0; i < h->n_loop && !wrong; i++) wrong = check_loop(h, args, moves, &loops[i]);
  const seer_plan_branch *branches = (const void *)(base + h->branch_offset);
  for (uint32_t i = 0; i < h->n_branch && !wrong; i++)
    wrong = check_branch(h, args, moves, &branches[i]);
  const seer_plan_stretch *stretches = h->images_offset ? (const void *)(images_of(h) + 1) : NULL;
  const nest all = {steps, loops, branches, stretches};
  if (!wrong) wrong = check_nesting(&all, 0, h->n_step, 0);
  if (!wrong) wrong = check_stretches(h, io, args, steps, stretches);
  const seer_plan_size *sizes = (const void *)(base + h->size_offset);
  for (uint32_t i = 0; i < h->n_size && !wrong; i++) {
    const seer_plan_size *size = &sizes[i];
    if (size->output >= h->n_output || !holds_size(h, args, size->arg) ||
        size->dim >= (uint32_t)io[h->n_input + size->output].rank)
      wrong = "a size of an output is damaged";
  }
  return wrong;
}

const char *seer_plan_check(const void *blob, uint64_t n_bytes) {
  const uint8_t *base = blob;
  const seer_plan_header *h = blob;
  const char *wrong = check_header(blob, n_bytes);
  if (wrong) return wrong;
  const seer_plan_io *io = (const void *)(base + h->io_offset);
  const seer_plan_arg *args = (const void *)(base + h->arg_offset);
  const seer_plan_step *steps = (const void *)(base + h->step_offset);
  wrong = check_kernels(h, io, args, steps);
  if (!wrong) wrong = check_host_part(h, io, args, steps);
  return wrong ? wrong : check_all_made(h, args);
}

// ---- several plans

// The first plan of a library and another one: same inputs and outputs but for the shapes, same
// weights.
static const char *check_alike(const void *first, const void *other) {
  const seer_plan_header *a = first, *b = other;
  if (a->n_input != b->n_input || a->n_output != b->n_output)
    return "plans differ in their number of inputs or outputs";
  if (a->weight_bytes != b->weight_bytes || a->weight_hash != b->weight_hash)
    return "plans are for different weights";
  const seer_plan_io *x = (const void *)((const uint8_t *)first + a->io_offset),
                     *y = (const void *)((const uint8_t *)other + b->io_offset);
  const char *x_name = (const char *)first + a->strings_offset,
             *y_name = (const char *)other + b->strings_offset;
  for (uint64_t i = 0; i < (uint64_t)a->n_input + a->n_output; i++)
    if (x[i].onnx_dtype != y[i].onnx_dtype ||
        strcmp(x_name + x[i].name_string, y_name + y[i].name_string) != 0)
      return "plans differ in the name or type of an input or output";
  return NULL;
}

// ---- a range of batches

// The parts of an input or output in plan p are those in the first plan, as many as its batch.
static bool is_alike_in_range(const seer_plan_io *first, const seer_plan_io *io, uint32_t of_first,
    uint32_t size, bool is_ranged) {
  if (io->rank != first->rank) return false;
  if (!is_ranged) return memcmp(io->dim, first->dim, sizeof io->dim) == 0;
  if (io->rank == 0 || io->dim[0] % size != 0 || first->dim[0] % of_first != 0) return false;
  return io->dim[0] / size == first->dim[0] / of_first &&
      memcmp(io->dim + 1, first->dim + 1, sizeof io->dim - sizeof io->dim[0]) == 0;
}

static const char *check_plan_in_range(const seer_plan_header *first, const seer_plan_header *h,
    const uint8_t *ranged, uint32_t of_first, uint32_t size) {
  const seer_plan_io *a = (const void *)((const uint8_t *)first + first->io_offset);
  const seer_plan_io *b = (const void *)((const uint8_t *)h + h->io_offset);
  if (h != first && h->range_offset) return "a range is in a plan that is not the first";
  if (h->n_size > 0 || h->device_offset) return "a range has plans that cannot be part of it";
  if (size == 0 || size > SEER_PLAN_MAX_BATCH) return "a range has a plan without a batch";
  for (uint32_t i = 0; i < h->n_input + h->n_output; i++) {
    bool is_ranged = i >= h->n_input || ranged[i];
    if (!is_alike_in_range(&a[i], &b[i], of_first, size, is_ranged) ||
        (i < h->n_input && is_ranged && b[i].dim[0] != size))
      return "an input or output does not fit its range";
  }
  return NULL;
}

// Each size of the range is reached by plans that are there.
static const char *check_splits(
    const seer_plan_range *range, const uint32_t *size, const uint32_t *next, uint32_t n_plan) {
  if (next[0] != 0) return "a range has a way for no image";
  for (uint32_t k = 1; k <= range->last; k++) {
    if (next[k] == 0 && k < range->first) continue;
    if (next[k] == 0 || next[k] > n_plan) return "a size of a range has no plan";
    uint32_t part = size[next[k] - 1];
    if (part > k || (part < k && next[k - part] == 0)) return "a size of a range has no plan";
  }
  return NULL;
}

// All plans are sound, and alike but for shapes.
static const char *check_range(const uint8_t *base, const uint64_t *plan, uint32_t n_plan) {
  const seer_plan_header *first = (const void *)base;
  if (first->range_offset == 0) {
    for (uint32_t p = 1; p < n_plan; p++)
      if (((const seer_plan_header *)(const void *)(base + plan[p]))->range_offset)
        return "a range is in a plan that is not the first";
    return NULL;
  }
  const seer_plan_range *range = (const void *)(base + first->range_offset);
  if (range->first == 0 || range->last < range->first || range->last > SEER_PLAN_MAX_BATCH)
    return "a range has no sizes";
  if (!section_ok(range->size_offset, n_plan, sizeof(uint32_t), 4, first->n_bytes) ||
      !section_ok(
          range->next_offset, (uint64_t)range->last + 1, sizeof(uint32_t), 4, first->n_bytes) ||
      !section_ok(range->ranged_offset, first->n_input, 1, 1, first->n_bytes))
    return "range out of bounds";
  const uint32_t *size = (const void *)(base + range->size_offset);
  const uint8_t *ranged = base + range->ranged_offset;
  const char *wrong = NULL;
  if (size[0] == 0) return "a range has a plan without a batch";
  for (uint32_t p = 0; p < n_plan && !wrong; p++)
    wrong = check_plan_in_range(first, (const void *)(base + plan[p]), ranged, size[0], size[p]);
  return wrong ? wrong
               : check_splits(range, size, (const void *)(base + range->next_offset), n_plan);
}

const char *seer_library_check(
    const void *blob, uint64_t n_bytes, uint64_t *out_plan, uint32_t *out_n_plan) {
  const uint8_t *base = blob;
  uint64_t at = 0;
  uint32_t n = 0;
  do {
    uint64_t left = n_bytes - at, n_own = left;
    if (n == SEER_PLAN_MAX_SETS) return "too many plans";
    // Where the next one begins is known once this one is known to be a plan.
    if ((uintptr_t)(base + at) % _Alignof(seer_plan_header) == 0 &&
        left >= sizeof(seer_plan_header)) {
      const seer_plan_header *h = (const void *)(base + at);
      if (h->magic == SEER_PLAN_MAGIC && h->n_bytes < left) n_own = h->n_bytes;
    }
    const char *wrong = seer_plan_check(base + at, n_own);
    if (!wrong && n > 0) wrong = check_alike(blob, base + at);
    if (wrong) return wrong;
    out_plan[n++] = at;
    at += (n_own + SEER_PLAN_ALIGN - 1) / SEER_PLAN_ALIGN * SEER_PLAN_ALIGN;
  } while (at < n_bytes);
  const char *wrong = check_range(base, out_plan, n);
  if (wrong) return wrong;
  *out_n_plan = n;
  return NULL;
}
