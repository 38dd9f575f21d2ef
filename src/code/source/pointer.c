// pointer.c - what arguments and constants are called, and pointers that were moved from them.
#include <ctype.h>

#include "code/source/internal.h"

// Letters, digits and underscores; the number in front makes it unlike any other.
const char *seer_source_buffer_name(const seer_source *s, uint32_t buf) {
  char *name = seer_arena_printf(s->arena, "b%u_%s", buf, s->code->loop->buf[buf].name);
  for (char *at = name; *at; at++) {
    if (!isalnum((unsigned char)*at)) *at = '_';
  }
  return name;
}

const char *seer_source_fill_name(const seer_source *s, int64_t fill) {
  return seer_arena_printf(s->arena, "%s_fill%" PRId64, s->code->phase[0].name, fill);
}

// What a pointer was moved from: an argument, a constant, or a value with a name.
static const char *pointer_base(const seer_source *s, seer_vec pointer) {
  const seer_vec_node *node = seer_source_at(s, pointer);
  switch ((int)node->op) {
    case SEER_VEC_BUFFER:
      return seer_source_buffer_name(s, node->buf);
    case SEER_VEC_SCRATCH:
      return "scratch";
    case SEER_VEC_FILL:
      return seer_arena_printf(s->arena, "FILL(%s)", seer_source_fill_name(s, node->imm));
    default:
      SEER_ASSERT(s->fact[pointer.i].number != 0, "pointer %u has no name", pointer.i);
      return seer_arena_printf(s->arena, "v%u", s->fact[pointer.i].number);
  }
}

bool seer_source_is_of_group(const seer_source *s, seer_vec pointer) {
  const seer_vec_node *node = seer_source_at(s, pointer);
  while (node->op == SEER_VEC_MOVE) node = seer_source_at(s, node->arg[0]);
  return node->op == SEER_VEC_BUFFER &&
      s->code->loop->buf[node->buf].storage == SEER_STORE_WORKGROUP;
}

// Moves by constants are written where the pointer is used.
const char *seer_source_pointer(const seer_source *s, seer_vec pointer) {
  int64_t at = 0;
  for (;;) {
    const seer_vec_node *node = seer_source_at(s, pointer);
    int64_t by;
    if (node->op != SEER_VEC_MOVE || !seer_vec_const_int(s->code, node->arg[1], &by)) break;
    at += by * (int64_t)seer_vec_elem_bytes((seer_vec_elem)node->of);
    pointer = node->arg[0];
  }
  const char *base = pointer_base(s, pointer);
  return at == 0 ? base : seer_arena_printf(s->arena, "MOVE(%s, %" PRId64 ")", base, at);
}
