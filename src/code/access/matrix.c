// matrix.c - matrices at an address: rows a constant number of bytes apart.
#include "code/access/access.h"

seer_vec seer_gen_matrix_pointer(seer_gen *g, const seer_gen_addr *addr) {
  return seer_access_pointer(g, addr, SEER_GEN_NONE, 0, SEER_GEN_NONE, 1);
}

void seer_gen_load_matrix(seer_gen *g, const seer_gen_addr *addr, uint32_t matrix, int64_t stride) {
  uint32_t align = seer_dtype_bytes(g->loop->buf[addr->buf].dtype);
  seer_vec_matrix_load(g->b, matrix, seer_gen_matrix_pointer(g, addr),
      seer_gen_const_i64(g, stride), align, addr->buf);
}

void seer_gen_store_matrix(
    seer_gen *g, const seer_gen_addr *addr, uint32_t matrix, int64_t stride) {
  uint32_t align = seer_dtype_bytes(g->loop->buf[addr->buf].dtype);
  seer_vec_matrix_store(g->b, matrix, seer_gen_matrix_pointer(g, addr),
      seer_gen_const_i64(g, stride), align, addr->buf);
}

// Rows of the one so many further on; a processor that notices streams stops at each page of 4 KB.
void seer_gen_request_matrix(seer_gen *g, const seer_gen_addr *addr, int64_t rows, int64_t stride) {
  enum { MATRICES_AHEAD = 8, INTO_L2 = 2 };
  const seer_loop_buf *decl = &g->loop->buf[addr->buf];
  uint64_t n_bytes = (uint64_t)decl->n_elems * seer_dtype_bytes(decl->dtype);
  if (decl->storage != SEER_STORE_PACKED || n_bytes <= g->machine->l2_bytes / 2) return;
  seer_vec p = seer_gen_matrix_pointer(g, addr);
  for (int64_t r = 0; r < rows; r++) {
    int64_t at = stride * (r + MATRICES_AHEAD * rows);
    seer_vec_prefetch(g->b, seer_gen_move_by(g, SEER_VEC_I8, p, at), INTO_L2);
  }
}
