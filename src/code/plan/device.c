// device.c - launches of kernels, and the images that a device loads -> the plan's part about it.
#include <string.h>

#include "code/plan/internal.h"

void seer_build_launch(
    seer_launch_list *list, uint32_t module, uint32_t name_string, const seer_kernel_launch *as) {
  list->launch =
      SEER_GROW(list->arena, seer_plan_launch, list->launch, list->n_launch, &list->cap_launch);
  list->launch[list->n_launch++] = (seer_plan_launch){.module = module,
      .name_string = name_string,
      .n_items = as->n_items,
      .group_bytes = as->group_bytes};
}

void seer_build_move_on_device(seer_launch_list *list, bool is_on_device) {
  list->is_on_device =
      SEER_GROW(list->arena, uint8_t, list->is_on_device, list->n_move, &list->cap_move);
  list->is_on_device[list->n_move++] = is_on_device;
}

static void put_modules(const seer_built_kernels *kernels, seer_put_string put, void *user,
    seer_text *blob, seer_plan_device *device) {
  seer_arena *arena = blob->arena;
  for (uint32_t k = 0; k < kernels->n; k++) device->n_image += kernels->kernel[k].n_image;
  seer_plan_module *modules = SEER_NEW_ARRAY(arena, seer_plan_module, kernels->n + 1);
  seer_plan_image *images = SEER_NEW_ARRAY(arena, seer_plan_image, device->n_image + 1);
  uint32_t n = 0;
  for (uint32_t k = 0; k < kernels->n; k++) {
    const seer_built_kernel *kernel = &kernels->kernel[k];
    modules[k] = (seer_plan_module){n, kernel->n_image};
    for (uint32_t i = 0; i < kernel->n_image; i++) {
      const seer_device_image *image = &kernel->image[i];
      images[n++] = (seer_plan_image){.format = image->format,
          .architecture = image->architecture,
          .made_for_string = put(user, image->made_for),
          .offset = seer_text_put_aligned(blob, image->data, image->n_bytes, SEER_PLAN_ALIGN),
          .n_bytes = image->n_bytes};
    }
  }
  device->n_module = kernels->n;
  device->module_offset =
      (uint32_t)seer_text_put_aligned(blob, modules, kernels->n * sizeof *modules, 8);
  device->image_offset =
      (uint32_t)seer_text_put_aligned(blob, images, device->n_image * sizeof *images, 8);
}

void seer_build_device(const seer_launch_list *list, const seer_built_kernels *kernels,
    const char *driver, seer_put_string put, void *user, seer_text *blob,
    seer_plan_header *header) {
  seer_plan_device device = {.driver_string = put(user, driver)};
  device.launch_offset =
      (uint32_t)seer_text_put_aligned(blob, list->launch, list->n_launch * sizeof *list->launch, 8);
  device.place_offset = (uint32_t)seer_text_put_aligned(blob, list->is_on_device, list->n_move, 8);
  if (kernels) put_modules(kernels, put, user, blob, &device);
  header->device_offset = (uint32_t)seer_text_put_aligned(blob, &device, sizeof device, 8);
}
