// frame.c - a kernel is a function of the arguments of the whole loop, in their order; blocks'
// memory is declared in it, and which block and item this is. Where SEER_POISON is defined a
// block's memory is full of ones (NaN) at first, so that what is read before it is written shows.
#include <stdio.h>

#include "code/source/internal.h"
#include "space/items/items.h"

static void put(seer_source *s, const char *pattern, const char *name, int64_t n) {
  char number[24];
  snprintf(number, sizeof(number), "%" PRId64, n);
  seer_source_put_words(s->text, pattern, (const char *const[]){"F", name, "N", number, NULL});
}

// A WORKGROUP buffer that the phase uses.
static bool is_of_block(const seer_source *s, uint32_t b) {
  if (s->code->loop->buf[b].storage != SEER_STORE_WORKGROUP) return false;
  for (size_t k = 0; k < s->n_order; k++) {
    const seer_vec_node *node = &s->code->node[s->order[k]];
    if (node->op == SEER_VEC_BUFFER && node->buf == b && s->fact[s->order[k]].n_uses > 0)
      return true;
  }
  return false;
}

void seer_source_begin_items(seer_source *s, uint32_t phase) {
  const seer_source_frame *frame = s->dialect->frame;
  const seer_loop *loop = s->code->loop;
  seer_text_put(s->text, "\n");
  put(s, frame->kernel, s->phase->name, seer_items_of_phase(loop, phase));
  const char *before = "";
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    seer_loop_storage storage = loop->buf[b].storage;
    if (!seer_loop_is_argument(storage)) continue;
    bool is_input = storage == SEER_STORE_INPUT || storage == SEER_STORE_PACKED;
    seer_text_printf(s->text, "%s%s%schar *RESTRICT %s", before, frame->global,
        is_input ? "const " : "", seer_source_buffer_name(s, b));
    before = ", ";
  }
  seer_text_put(s->text, ") {\n");
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    const seer_loop_buf *buf = &loop->buf[b];
    if (!is_of_block(s, b)) continue;
    put(s, frame->memory, seer_source_buffer_name(s, b),
        buf->n_elems * seer_dtype_bytes(buf->dtype));
  }
  put(s, frame->numbers, s->phase->name, seer_items_of_phase(loop, phase));
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    const seer_loop_buf *buf = &loop->buf[b];
    if (!is_of_block(s, b)) continue;
    put(s, "  POISON($F, $N);\n", seer_source_buffer_name(s, b),
        buf->n_elems * seer_dtype_bytes(buf->dtype));
  }
}
