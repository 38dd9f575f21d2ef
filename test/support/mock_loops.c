// mock_loops.c - block programs as images of the mock: without their items, as plain C.
#include "code/gen/generate.h"
#include "code/source/source.h"
#include "space/items/items.h"
#include "support/mock_image.h"
#include "support/test.h"

static uint32_t count_args(const seer_loop *loop) {
  uint32_t n = 0;
  for (uint32_t b = 0; b < loop->n_buf; b++) n += seer_loop_is_argument(loop->buf[b].storage);
  return n;
}

static uint32_t group_bytes(const seer_loop *loop) {
  uint32_t n = 0;
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    const seer_loop_buf *buf = &loop->buf[b];
    if (buf->storage == SEER_STORE_WORKGROUP)
      n += (uint32_t)buf->n_elems * seer_dtype_bytes(buf->dtype);
  }
  return n;
}

const char *mock_image_of_loops(const seer_loop *const *loops, const char *const *symbols,
    uint32_t n, uint32_t architecture, seer_arena *arena, seer_device_image *out) {
  const seer_gen_machine plain = {.tile = {0, 16}, .masked_bytes = 255};
  const seer_dialect *c = seer_dialect_find("c");
  uint32_t n_kernels = 0, n_phases = 0;
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_put(&text, seer_source_prelude(c, arena));
  for (uint32_t k = 0; k < n; k++) n_phases += loops[k]->n_phase;
  mock_kernel_text *kernels = SEER_NEW_ARRAY(arena, mock_kernel_text, n_phases);
  for (uint32_t k = 0; k < n; k++) {
    const seer_loop *serial = seer_items_serial(loops[k]);
    seer_vec_code *code;
    const char *own;
    must(seer_gen_code(serial, &plain, symbols[k], arena, &code));
    must(seer_source_print(code, c, arena, &own));
    seer_text_put(&text, own);
    for (uint32_t p = 0; p < code->n_phase; p++)
      kernels[n_kernels++] = (mock_kernel_text){code->phase[p].name, code->phase[p].name,
          count_args(loops[k]), (uint32_t)seer_items_of_phase(loops[k], p), group_bytes(loops[k]),
          code->scratch_bytes};
  }
  return mock_image_build(text.data, kernels, n_kernels, architecture, arena, out);
}
