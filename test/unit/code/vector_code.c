// vector_code.c - see vector_code.h.
#include "vector_code.h"

#include <string.h>

#include "support/test.h"

static const char loop_text[] =
    "loop test {\n"
    "  input $in f32[64] of 0\n"
    "  input $other f32[64] of 1\n"
    "  packed $packed f32[64] of 2 pack [0 * 1]\n"
    "  input $table i32[64] of 3\n"
    "  output $i8 i8[64] of 4\n"
    "  output $i16 i16[64] of 5\n"
    "  output $i32 i32[64] of 6\n"
    "  output $i64 i64[64] of 7\n"
    "  output $f32 f32[64] of 8\n"
    "  output $f64 f64[64] of 9\n"
    "  shared $shared f32[64] of 10\n"
    "  local $local f32[64] of 11\n"
    "  input $bytes u8[256] of 12\n"
    "  phase {\n"
    "    parallel @i < 4 stage 0 {\n"
    "      store $f32[@i] stage 0 = 0.0\n"
    "    }\n"
    "  }\n"
    "}\n";

seer_loop *vector_code_loop(seer_arena *arena) {
  seer_loop *loop;
  must(seer_loop_parse("test", loop_text, strlen(loop_text), arena, &loop));
  return loop;
}

uint32_t vector_code_buf(const seer_loop *loop, const char *name) {
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    if (strcmp(loop->buf[b].name, name) == 0) return b;
  }
  fail_msg("no buffer $%s", name);
  return 0;
}

void **vector_code_data(const seer_loop *loop, seer_arena *arena) {
  void **data = SEER_NEW_ARRAY(arena, void *, loop->n_buf);
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    const seer_loop_buf *buf = &loop->buf[b];
    if (buf->storage == SEER_STORE_LOCAL) continue;
    size_t n_bytes = (size_t)buf->n_elems * seer_dtype_bytes(buf->dtype);
    data[b] = seer_arena_alloc(arena, n_bytes, 64);
    memset(data[b], 0xFF, n_bytes);
    bool is_read = buf->storage == SEER_STORE_INPUT || buf->storage == SEER_STORE_PACKED;
    for (int64_t k = 0; k < buf->n_elems && is_read; k++)
      seer_dtype_store_f64(buf->dtype, data[b], k, (double)k);
  }
  return data;
}

const char *vector_code_text(const char *head, const char *body, seer_arena *arena) {
  return seer_arena_printf(
      arena, "vector test {\n  scratch 512\n%s  phase test_p0 {\n%s  }\n}\n", head, body);
}

seer_vec_code *vector_code_parse(const seer_loop *loop, const char *text, seer_arena *arena) {
  seer_vec_code *code;
  seer_status status = seer_vec_parse("test", text, strlen(text), loop, arena, &code);
  if (status) fail_msg("%s\n%s", seer_status_message(status), text);
  return code;
}
