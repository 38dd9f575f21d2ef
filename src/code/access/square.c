// square.c - squares of elements, turned round: copies of a loop go along a row of memory, and
// lanes go from row to row. The first copy of as many as there are lanes loads so many rows as
// vectors and makes of them, by shuffles, what each of the copies would load lane by lane:
//
//     rows    a0 a1 a2 a3      copies  a0 b0 c0 d0
//             b0 b1 b2 b3              a1 b1 c1 d1      4 loads and 8 shuffles,
//             c0 c1 c2 c3              a2 b2 c2 d2      not 16 loads and 16 inserts
//             d0 d1 d2 d3              a3 b3 c3 d3
//
// In the s-th step of log2 n, quarters of blocks of 2s x 2s change places: rows i and i + s give a
// row of what both have in the first halves of each block, and one of what they have in the second.
#include "code/access/access.h"

// Of memory that the same phase writes, a square holds for one time through its copies, if nothing
// in them writes there: sums of lanes, which lie in the kernel's own memory.
enum { TAG_SQUARE = 210, TAG_OWN_SQUARE = 211 };

// ---- shuffles

static void change_quarters(seer_gen *g, seer_vec *row, uint32_t n, uint32_t s) {
  uint16_t low[SEER_VEC_MAX_LANES], high[SEER_VEC_MAX_LANES];
  for (uint32_t l = 0; l < n; l++) {
    bool is_second = (l & s) != 0;
    low[l] = (uint16_t)(is_second ? n + l - s : l);
    high[l] = (uint16_t)(is_second ? n + l : l + s);
  }
  for (uint32_t i = 0; i < n; i++) {
    if (i & s) continue;
    seer_vec a = row[i], b = row[i + s];
    row[i] = seer_vec_shuffle(g->b, a, b, low);
    row[i + s] = seer_vec_shuffle(g->b, a, b, high);
  }
}

// The first two steps at once, by shuffles that are one instruction on processors that have no
// shuffle of any two vectors: unpacking singles and then pairs, within four lanes.
static void turn_fours(seer_gen *g, seer_vec *row, uint32_t n) {
  uint16_t of_single[2][SEER_VEC_MAX_LANES], of_pair[2][SEER_VEC_MAX_LANES];
  for (uint32_t l = 0; l < n; l++) {
    uint32_t four = l & ~3u, at = l & 3u;
    for (uint32_t k = 0; k < 2; k++) {
      of_single[k][l] = (uint16_t)(four + 2 * k + at / 2 + (at & 1 ? n : 0));
      of_pair[k][l] = (uint16_t)(four + 2 * k + (at & 1) + (at & 2 ? n : 0));
    }
  }
  for (uint32_t i = 0; i < n; i += 4) {
    seer_vec half[2][2];
    for (uint32_t k = 0; k < 4; k++)
      half[k / 2][k % 2] =
          seer_vec_shuffle(g->b, row[i + k / 2 * 2], row[i + k / 2 * 2 + 1], of_single[k % 2]);
    for (uint32_t k = 0; k < 4; k++)
      row[i + k] = seer_vec_shuffle(g->b, half[0][k / 2], half[1][k / 2], of_pair[k % 2]);
  }
}

static void turn(seer_gen *g, seer_vec *row, uint32_t n) {
  uint32_t s = 1;
  if (n >= 4) {
    turn_fours(g, row, n);
    s = 4;
  }
  for (; s < n; s *= 2) change_quarters(g, row, n, s);
}

// ---- which loads

// The open copies that go along a row of the address, if what they share stays in registers until
// the last of them; NULL: there are none.
static const seer_gen_open *find_copies(const seer_gen *g, const seer_gen_addr *addr) {
  int64_t vectors = (int64_t)g->lanes * g->n_vector;
  for (uint32_t k = g->n_open; k-- > 0;) {
    const seer_gen_open *open = &g->open[k];
    int64_t step;
    if (!open->is_copies || open->depth != g->depth) return NULL;
    if (!seer_tile_lane_step(g->tile, addr->buf, addr->index, open->var, &step)) return NULL;
    if (vectors > (int64_t)g->machine->tile.n_vector_registers) return NULL;
    if (step == 1) return open;
    vectors *= open->trip;
  }
  return NULL;
}

// Something in the loop writes to the buffer.
static bool is_written_in(const seer_loop *loop, uint32_t id, uint32_t buf) {
  for (; id != 0; id = loop->node[id].next) {
    const seer_loop_node *node = &loop->node[id];
    if (node->kind == SEER_NODE_FOR && is_written_in(loop, node->body, buf)) return true;
    for (uint32_t k = 0; node->kind == SEER_NODE_STORE && k < node->n_values; k++)
      if (node->buf[k] == buf) return true;
  }
  return false;
}

static bool is_row_safe(const seer_gen *g, const seer_gen_addr *first) {
  seer_gen_addr last = *first;
  last.at.c += (int64_t)g->lanes - 1;
  return seer_gen_is_safe(g, first) && seer_gen_is_safe(g, &last);
}

seer_vec seer_access_load_turned(
    seer_gen *g, const seer_gen_addr *addr, seer_vec_elem elem, const seer_gen_condition *c) {
  uint32_t n = g->lanes, elem_bytes = seer_dtype_bytes(g->loop->buf[addr->buf].dtype);
  bool is_fixed = !g->buf[addr->buf].is_written;
  if (!addr->is_regular || g->tile->buf[addr->buf].is_register || c->uniform.i != 0 ||
      c->mask.i != 0 || n < 2)
    return SEER_GEN_NONE;
  const seer_gen_open *copies = find_copies(g, addr);
  if (!copies || g->var[copies->var].kind != SEER_GEN_CONST) return SEER_GEN_NONE;
  if (!is_fixed && is_written_in(g->loop, g->loop->node[copies->node].body, addr->buf))
    return SEER_GEN_NONE;
  int64_t now = g->var[copies->var].c, nth = now % n;
  seer_gen_addr first = *addr;
  first.at.c -= nth;
  if (now - nth + n > copies->trip) return SEER_GEN_NONE;
  // That this lane's element is in the buffer says so of the other copies' only if all are meant.
  bool may_differ = c->is_guarded || copies->is_cut || g->n_pred > 0 || g->lane_mask.i != 0;
  if (may_differ && !is_row_safe(g, &first)) return SEER_GEN_NONE;
  seer_vec p = seer_access_pointer(g, &first, SEER_GEN_NONE, 0, SEER_GEN_NONE, 1);
  seer_vec step = seer_gen_const_i64(g, addr->at.lane);
  uint32_t tag = is_fixed ? TAG_SQUARE : TAG_OWN_SQUARE;
  int64_t key = is_fixed ? g->fence : copies->nth;
  key = (key * SEER_VEC_MAX_LANES + n) * SEER_VEC_MAX_LANES;
  seer_vec v = seer_gen_memo_find(g, tag, p, step, key + nth);
  if (v.i != 0) return v;
  seer_vec row[SEER_VEC_MAX_LANES];
  for (uint32_t l = 0; l < n; l++) {
    seer_vec at = seer_access_lane_pointer(g, &first, elem, p, l);
    row[l] = seer_access_load(g, &first, elem, n, at, elem_bytes);
  }
  turn(g, row, n);
  for (uint32_t k = 0; k < n; k++) seer_gen_memo_add(g, tag, p, step, key + k, row[k]);
  return row[nth];
}
