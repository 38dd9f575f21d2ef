// check.c - see check.h.
#include "runtime/runner/check.h"

#include <stdbool.h>
#include <string.h>

#include "runtime/device/device.h"

#define MAX_ITEMS 1024u  // of a block, of all devices
#define MAX_GROUP_BYTES (1u << 20)

static const seer_plan_device *device_of(const seer_plan_header *h) {
  return (const void *)((const uint8_t *)h + h->device_offset);
}

static bool inside(uint64_t offset, uint64_t n, uint64_t item_bytes, uint64_t align, uint64_t all) {
  return offset >= sizeof(seer_plan_header) && offset <= all && offset % align == 0 &&
      n <= (all - offset) / item_bytes;
}

static const char *check_images(const seer_plan_header *h, const seer_plan_device *d) {
  const seer_plan_image *images = (const void *)((const uint8_t *)h + d->image_offset);
  for (uint32_t i = 0; i < d->n_image; i++) {
    const seer_plan_image *image = &images[i];
    if (image->format < SEER_IMAGE_OPENCL_C || image->format > SEER_IMAGE_CUBIN)
      return "an image has an unknown format";
    if (image->made_for_string >= h->strings_bytes) return "an image's device is out of bounds";
    if (image->n_bytes == 0 || !inside(image->offset, image->n_bytes, 1, 1, h->n_bytes))
      return "an image is out of bounds";
  }
  const seer_plan_module *modules = (const void *)((const uint8_t *)h + d->module_offset);
  for (uint32_t i = 0; i < d->n_module; i++)
    if (modules[i].n_image == 0 || modules[i].first_image > d->n_image ||
        modules[i].n_image > d->n_image - modules[i].first_image)
      return "a module has no images, or none of the list";
  return NULL;
}

static const char *check_launches(
    const seer_plan_header *h, const seer_plan_device *d, uint32_t n_module) {
  const seer_plan_launch *launches = (const void *)((const uint8_t *)h + d->launch_offset);
  for (uint32_t i = 0; i < h->n_phase; i++) {
    const seer_plan_launch *launch = &launches[i];
    if (launch->module >= n_module) return "a launch is of a module that is none";
    if (launch->name_string >= h->strings_bytes) return "a launch's name is out of bounds";
    if (launch->n_items == 0 || launch->n_items > MAX_ITEMS ||
        launch->group_bytes > MAX_GROUP_BYTES)
      return "a launch has more items or memory than a block can have";
  }
  return NULL;
}

static bool is_of_host(const seer_plan_arg *arg) {
  return arg->kind == SEER_ARG_SHARED || arg->kind == SEER_ARG_PRIVATE;
}

static bool is_read_only(const seer_plan_arg *arg) {
  return arg->kind == SEER_ARG_WEIGHT || arg->kind == SEER_ARG_INPUT;
}

// What the host and its threads alone have is no operand of a device.
static const char *check_steps(const seer_plan_header *h) {
  const seer_plan_step *steps = (const void *)((const uint8_t *)h + h->step_offset);
  const seer_plan_arg *args = (const void *)((const uint8_t *)h + h->arg_offset);
  for (uint32_t i = 0; i < h->n_step; i++) {
    const seer_plan_step *step = &steps[i];
    if (step->kind == SEER_PLAN_KERNEL)
      return "a step runs on processors, and the plan is for a device";
    if (!SEER_PLAN_IS_ON_DEVICE(step->kind)) continue;
    for (uint32_t k = 0; k < step->n_arg; k++) {
      uint32_t kind = args[step->first_arg + k].kind;
      if (is_of_host(&args[step->first_arg + k]))
        return "a step on a device has memory of the host";
      bool is_download = step->kind == SEER_PLAN_DOWNLOAD;
      bool is_upload = step->kind == SEER_PLAN_UPLOAD;
      if ((is_upload || is_download) && kind == SEER_ARG_WEIGHT) return "a step copies weights";
      if (is_download && kind == SEER_ARG_INPUT) return "a step writes to an input";
    }
  }
  return NULL;
}

// Of all moves: those that no loop and no branch has are looked at as well when it is found what
// the host uses (hold.c). Numbers of arguments are 1 + index; 0: none.
static const char *check_moves(const seer_plan_header *h, const seer_plan_device *d) {
  const seer_plan_move *moves = (const void *)((const uint8_t *)h + h->move_offset);
  const seer_plan_arg *args = (const void *)((const uint8_t *)h + h->arg_offset);
  const uint8_t *is_on_device = (const uint8_t *)h + d->place_offset;
  for (uint32_t i = 0; i < h->n_move; i++) {
    const uint32_t numbers[] = {
        moves[i].before_arg, moves[i].out_arg, moves[i].in_arg, moves[i].result_arg};
    if (is_on_device[i] > 1) return "a move is neither on the device nor on the host";
    for (uint32_t k = 0; k < 4; k++) {
      if (numbers[k] > h->n_arg) return "a move is of an argument that is none";
      if (numbers[k] == 0 || !is_on_device[i]) continue;
      const seer_plan_arg *arg = &args[numbers[k] - 1];
      if (is_of_host(arg)) return "a move on the device has memory of the host";
      if (k >= 2 && is_read_only(arg)) return "a move on the device writes what may only be read";
    }
  }
  return NULL;
}

// What is on the device alone is brought to where the host has it: over nothing that is read only.
static const char *check_made(const seer_plan_header *h) {
  const seer_plan_made *made = (const void *)((const uint8_t *)h + h->made_offset);
  const seer_plan_arg *args = (const void *)((const uint8_t *)h + h->arg_offset);
  for (uint32_t i = 0; i < h->n_made; i++)
    if (made[i].is_on_device &&
        (is_of_host(&args[made[i].arg]) || is_read_only(&args[made[i].arg])))
      return "a value on the device alone is in memory that no kernel writes";
  return NULL;
}

const char *seer_device_check(const void *first, const void *plan) {
  const seer_plan_header *h = plan, *first_header = first;
  const seer_plan_device *d = device_of(h);
  uint64_t all = h->n_bytes;
  if (h->images_offset) return "images one after another, on a device";
  if (d->driver_string >= h->strings_bytes) return "the device's driver is out of bounds";
  if (!inside(d->launch_offset, h->n_phase, sizeof(seer_plan_launch), 4, all) ||
      !inside(d->place_offset, h->n_move, 1, 1, all) ||
      (d->n_module && !inside(d->module_offset, d->n_module, sizeof(seer_plan_module), 4, all)) ||
      (d->n_image && !inside(d->image_offset, d->n_image, sizeof(seer_plan_image), 8, all)))
    return "the device's lists are out of bounds";
  if (first != plan && (d->n_module || d->n_image))
    return "a plan behind the first one has modules";
  const char *wrong = check_images(h, d);
  if (!wrong) wrong = check_launches(h, d, device_of(first_header)->n_module);
  if (!wrong) wrong = check_steps(h);
  if (!wrong) wrong = check_moves(h, d);
  return wrong ? wrong : check_made(h);
}
