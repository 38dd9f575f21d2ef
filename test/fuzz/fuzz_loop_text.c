// The text form of loops: any text is refused, or prints to what parses and prints the same; and
// what verify accepts, the interpreter can run without leaving a buffer.
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "space/loop.h"

#define MAX_WORK 20000
#define MAX_ELEMS 65536

// Statements that running the block takes, at most.
static double block_work(const seer_loop *loop, uint32_t node) {
  double work = 0;
  for (; node; node = loop->node[node].next) {
    const seer_loop_node *n = &loop->node[node];
    work += 1;
    if (n->kind == SEER_NODE_FOR) work += (double)n->extent * block_work(loop, n->body);
    if (n->kind == SEER_NODE_ALLOC) work += (double)loop->buf[n->buf[0]].n_elems / 64;
  }
  return work;
}

static bool is_small(const seer_loop *loop) {
  double work = 0;
  for (uint32_t p = 0; p < loop->n_phase; p++) work += block_work(loop, loop->phase[p]);
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    if (loop->buf[b].n_elems > MAX_ELEMS) return false;
  }
  return work <= MAX_WORK;
}

static void evaluate(const seer_loop *loop) {
  void **data = calloc(loop->n_buf + 1, sizeof *data);
  if (!data) abort();
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    const seer_loop_buf *buf = &loop->buf[b];
    if (buf->storage == SEER_STORE_LOCAL) continue;
    // From malloc, not the arena: sanitizers see where it ends.
    data[b] = calloc((size_t)buf->n_elems, seer_dtype_bytes(buf->dtype));
    if (!data[b]) abort();
  }
  seer_status_free(seer_loop_eval(loop, data, NULL));
  for (uint32_t b = 0; b < loop->n_buf; b++) free(data[b]);
  free(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
  seer_arena *arena = seer_arena_create("fuzz");
  seer_loop *loop, *back;
  seer_status status = seer_loop_parse("fuzz", (const char *)data, n_bytes, arena, &loop);
  if (!status) {
    const char *printed = seer_loop_print(loop, arena);
    seer_status again = seer_loop_parse("printed", printed, strlen(printed), arena, &back);
    if (again || strcmp(seer_loop_print(back, arena), printed) != 0) abort();
    seer_status verdict = seer_loop_verify(loop);
    if (!verdict && is_small(loop)) evaluate(loop);
    seer_status_free(verdict);
  }
  seer_status_free(status);
  seer_arena_destroy(arena);
  return 0;
}
