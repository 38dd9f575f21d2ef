// The text form of vector code: any text is refused, or prints to what parses and prints the same;
// and what verify accepts, the interpreter runs, or says what is wrong, without leaving an object.
#include <stdlib.h>
#include <string.h>

#include "code/vector/vector.h"
#include "fuzz/fuzz.h"

#define MAX_WORK 20000
#define MAX_BYTES 65536

// By names: of a processor, and a block program.
static const char *const loop_texts[] = {
    "loop fuzz { input $x f32[16] of 0 output $y f32[16] of 1 shared $s i32[4] of 2 "
    "local $l f32[8] of 3 phase { parallel @i < 2 stage 0 { store $y[@i] stage 0 = 0.0 } } }",
    "loop items { input $x f32[64] of 0 output $y f32[64] of 1 shared $s i32[4] of 2 "
    "workgroup $w f32[64] of 3 phase { parallel @b < 1 stage 0 { alloc $w stage 0 "
    "thread @i < 64 stage 0 { store $y[@i] stage 0 = $x[@i] } } } }"};

// Instructions that running the block takes, at most.
static double block_work(const seer_vec_code *code, seer_vec_block block) {
  double work = 0;
  for (uint32_t id = block.first; id != 0; id = code->node[id].next) {
    const seer_vec_node *node = &code->node[id];
    int64_t times = 1;
    if (node->op == SEER_VEC_LOOP && !seer_vec_const_int(code, node->arg[0], &times))
      return MAX_WORK + 1;
    double inside = block_work(code, node->body[0]) + block_work(code, node->body[1]);
    work += 1 + (double)(times > 0 ? times : 0) * (1 + inside);
  }
  return work;
}

static bool is_small(const seer_vec_code *code) {
  const seer_vec_phase *phase = &code->phase[0];
  double n_bytes = (double)code->scratch_bytes;
  for (uint32_t k = 0; k < phase->n_slot; k++)
    n_bytes += (double)seer_vec_at(code, phase->slot[k])->imm * SEER_VEC_MAX_LANES * 8;
  return n_bytes <= MAX_BYTES && block_work(code, phase->body) <= MAX_WORK;
}

static void evaluate(const seer_vec_code *code) {
  void *data[4] = {0};
  for (uint32_t b = 0; b < 3; b++) {
    // From malloc, not the arena: sanitizers see where it ends.
    const seer_loop_buf *buf = &code->loop->buf[b];
    data[b] = calloc((size_t)buf->n_elems, seer_dtype_bytes(buf->dtype));
    if (!data[b]) abort();
  }
  seer_status_free(seer_vec_eval(code, data, NULL));
  for (uint32_t b = 0; b < 3; b++) free(data[b]);
}

static void try_text(const char *of_loop, const char *text, size_t n_bytes) {
  seer_arena *arena = seer_arena_create("fuzz");
  seer_loop *loop;
  seer_vec_code *code, *back;
  if (seer_loop_parse("loop", of_loop, strlen(of_loop), arena, &loop)) abort();
  seer_status status = seer_vec_parse("fuzz", text, n_bytes, loop, arena, &code);
  if (!status) {
    const char *printed = seer_vec_print(code, arena);
    seer_status again = seer_vec_parse("printed", printed, strlen(printed), loop, arena, &back);
    if (again || strcmp(seer_vec_print(back, arena), printed) != 0) abort();
    seer_status verdict = seer_vec_verify(code);
    if (!verdict && is_small(code)) evaluate(code);
    seer_status_free(verdict);
  }
  seer_status_free(status);
  seer_arena_destroy(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
  for (size_t k = 0; k < SEER_COUNT_OF(loop_texts); k++)
    try_text(loop_texts[k], (const char *)data, n_bytes);
  return 0;
}
