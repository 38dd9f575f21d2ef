// warps.c - of a block program, reductions that are products of warps (find_warps.c): in
// place of the innermost loop, for every eight words an item loads those of its rows' factor and of
// its columns' that the instruction wants of it, and the items of the warp multiply. What is summed
// into are an item's own elements, in registers as ever.
//
// Rows' words an item loads by its own rows. The column that it loads words for is not its own: as
// item 4g + t it has columns 2t and 2t + 1 of a patch and loads column g, which is item g / 2's,
// copy g % 2. So the variables of the four columns' items and of the copies that are taken in twos
// are bound to those of that item and copy while such a word is loaded. Both factors' words are
// numbers 2t and 2t + 1 of the eight, neighbours, where the instruction says t and t + 4: it adds
// them all up.
#include "code/gen/gen.h"
#include "space/items/items.h"

// Which of a patch's words and sums.
enum { X = SEER_WARPS_X_WORDS, Y = SEER_WARPS_Y_WORDS, SUMS = SEER_WARPS_SUMS };

typedef struct {
  seer_gen *g;
  const seer_tile_warps *of;
  seer_vec word, column, copy;  // 2t; g / 2; g % 2
  seer_vec base;  // of the words in hand: NONE, or the loop's first one
  int64_t step;  // words before those in hand
  uint32_t n[2];  // patches so far, by factor
  seer_vec *words[2];  // of each patch, by factor: a vector
} walk;

static const seer_loop_node *loop_at(const walk *w, uint32_t l) {
  return &w->g->loop->node[w->of->loop[l]];
}

static bool moves(const walk *w, uint32_t l, uint32_t factor) {
  return seer_tile_depends(w->g->tile, w->of->factor[factor], loop_at(w, l)->var);
}

static void bind(const walk *w, uint32_t l, int64_t c, seer_vec value) {
  seer_gen_bind kind = value.i != 0 ? SEER_GEN_VALUE : SEER_GEN_CONST;
  seer_gen_bind_var(w->g, loop_at(w, l)->var, kind, c, value);
}

// ---- patches

// Calls `each` for every patch along `factor`: the copies of it from loop `l` on are bound to its
// first ones.
static void for_patches(walk *w, uint32_t l, uint32_t factor, void (*each)(walk *w)) {
  if (l == w->of->n) {
    each(w);
    w->n[factor]++;
    return;
  }
  if (!moves(w, l, factor)) {
    for_patches(w, l + 1, factor, each);
    return;
  }
  int64_t step = w->of->tile.pair[factor] == l ? 2 : 1;
  for (int64_t i = 0; i < loop_at(w, l)->extent; i += step) {
    bind(w, l, i, SEER_GEN_NONE);
    for_patches(w, l + 1, factor, each);
  }
}

static void walk_patches(walk *w, uint32_t factor, void (*each)(walk *w)) {
  w->n[factor] = 0;
  for_patches(w, w->of->tile.depth + 1, factor, each);
}

// The first copy of those that are taken in twos.
static int64_t first_of(const walk *w, uint32_t factor) {
  return w->g->var[loop_at(w, w->of->tile.pair[factor])->var].c;
}

// ---- words

static seer_vec load_word(const walk *w, uint32_t factor, int64_t k) {
  bind(w, w->of->tile.depth, w->step + k, w->base);
  seer_vec word = seer_gen_expr(w->g, w->of->factor[factor]).v;
  bool is_single = w->of->type == SEER_WARPS_TF32;
  return is_single ? seer_vec_to(w->g->b, SEER_VEC_BITCAST, word, SEER_VEC_I32) : word;
}

static seer_vec join(seer_gen *g, seer_vec_elem elem, const seer_vec *one, uint32_t n) {
  seer_vec all = seer_vec_undef(g->b, elem, n);
  for (uint32_t k = 0; k < n; k++) all = seer_vec_insert(g->b, all, one[k], k);
  return all;
}

static void load_rows(walk *w) {
  uint32_t factor = w->of->tile.rows, pair = w->of->tile.pair[factor];
  int64_t first = first_of(w, factor);
  seer_vec word[X];
  for (int64_t h = 0; h < 2; h++) {
    bind(w, pair, first + h, SEER_GEN_NONE);
    for (int64_t k = 0; k < 2; k++) word[2 * k + h] = load_word(w, factor, k);
  }
  bind(w, pair, first, SEER_GEN_NONE);
  w->words[factor][w->n[factor]] = join(w->g, SEER_VEC_I32, word, X);
}

static void load_columns(walk *w) {
  uint32_t factor = !w->of->tile.rows, pair = w->of->tile.pair[factor];
  int64_t first = first_of(w, factor);
  seer_vec word[Y];
  bind(w, pair, first, w->copy);
  for (int64_t k = 0; k < 2; k++) word[k] = load_word(w, factor, k);
  bind(w, pair, first, SEER_GEN_NONE);
  w->words[factor][w->n[factor]] = join(w->g, SEER_VEC_I32, word, Y);
}

// ---- columns of other items

static uint32_t last_of_items(const walk *w) {
  uint32_t l = w->of->tile.depth;
  while (loop_at(w, l)->ann != SEER_LOOP_THREAD) l--;
  return l;
}

// The innermost loops of items are those of w->column.
static void bind_columns(const walk *w) {
  seer_gen *g = w->g;
  int64_t divisor = 1;
  for (uint32_t l = last_of_items(w); divisor < SEER_WARPS_COLUMN_ITEMS; l--) {
    int64_t extent = loop_at(w, l)->extent;
    seer_vec v = w->column;
    if (extent == 1) continue;
    if (divisor > 1) v = seer_vec2(g->b, SEER_VEC_UDIV, v, seer_gen_const_i64(g, divisor));
    divisor *= extent;
    v = seer_vec2(g->b, SEER_VEC_UREM, v, seer_gen_const_i64(g, extent));
    bind(w, l, 0, v);
  }
}

static void load_all_columns(walk *w) {
  seer_gen_var own[SEER_TILE_MAX_PATH];
  for (uint32_t l = 0; l <= last_of_items(w); l++) own[l] = w->g->var[loop_at(w, l)->var];
  bind_columns(w);
  walk_patches(w, !w->of->tile.rows, load_columns);
  for (uint32_t l = 0; l <= last_of_items(w); l++) w->g->var[loop_at(w, l)->var] = own[l];
  w->g->tick++;
}

// ---- sums

static void address_of_sum(const walk *w, uint32_t k, const int64_t first[2], seer_gen_addr *out) {
  const seer_loop_node *store = &w->g->loop->node[w->of->store];
  uint32_t rows = w->of->tile.rows;
  bind(w, w->of->tile.pair[rows], first[rows] + k / 2, SEER_GEN_NONE);
  bind(w, w->of->tile.pair[!rows], first[!rows] + k % 2, SEER_GEN_NONE);
  seer_gen_address(w->g, store->buf[0], store->index, store->n_index, out);
}

static void multiply(walk *w) {
  static const seer_vec_mma_kind kinds[] = {[SEER_WARPS_BF16] = SEER_VEC_MMA_BF16,
      [SEER_WARPS_F16] = SEER_VEC_MMA_F16,
      [SEER_WARPS_TF32] = SEER_VEC_MMA_TF32};
  seer_gen *g = w->g;
  uint32_t rows = w->of->tile.rows;
  const int64_t first[2] = {first_of(w, 0), first_of(w, 1)};
  seer_gen_addr addr[SUMS];
  seer_vec sum[SUMS];
  for (uint32_t k = 0; k < SUMS; k++) {
    address_of_sum(w, k, first, &addr[k]);
    sum[k] = seer_gen_load_target(g, &addr[k], SEER_GEN_NONE, SEER_GEN_NONE).v;
  }
  seer_vec all = seer_vec_mma(g->b, kinds[w->of->type], join(g, SEER_VEC_F32, sum, SUMS),
      w->words[rows][w->n[rows]], w->words[!rows][w->n[!rows]]);
  for (uint32_t k = 0; k < SUMS; k++) {
    seer_gen_value one = {.v = seer_vec_extract(g->b, all, k)};
    seer_gen_store_target(g, &addr[k], one, SEER_GEN_NONE, SEER_GEN_NONE);
  }
  for (uint32_t k = 0; k < 2; k++) bind(w, w->of->tile.pair[k], first[k], SEER_GEN_NONE);
}

static void multiply_row(walk *w) { walk_patches(w, !w->of->tile.rows, multiply); }

// ---- steps

static void add_words(walk *w) {
  seer_gen *g = w->g;
  walk_patches(w, w->of->tile.rows, load_rows);
  load_all_columns(w);
  g->var[loop_at(w, w->of->tile.depth)->var].kind = SEER_GEN_UNBOUND;
  g->tick++;
  walk_patches(w, w->of->tile.rows, multiply_row);
}

static void add_all(walk *w) {
  seer_gen *g = w->g;
  int64_t n = g->loop->node[w->of->loop[w->of->tile.depth]].extent / SEER_WARPS_WORDS;
  w->base = w->word;
  if (n <= SEER_WARPS_WRITTEN) {
    for (int64_t s = 0; s < n; s++) {
      w->step = s * SEER_WARPS_WORDS;
      add_words(w);
    }
    return;
  }
  seer_gen_open_run loop = seer_gen_begin_loop(g, seer_gen_const_i64(g, n), false, true);
  w->base =
      seer_vec2(g->b, SEER_VEC_ADD_INDEX, seer_gen_mul_i64(g, loop.i, SEER_WARPS_WORDS), w->word);
  add_words(w);
  seer_gen_end_loop(g, &loop);
}

// Nothing is under way that a product could not be part of, and all items of its warps come to it.
static bool may_be(const seer_gen *g, const seer_tile_warps *of) {
  uint32_t first = 0;
  while (g->loop->node[of->loop[first]].ann != SEER_LOOP_THREAD) first++;
  return !g->accumulators && g->n_pred == 0 && g->lanes == 1 &&
      seer_items_of(g->loop, of->loop[first]).n_items == g->n_items;
}

bool seer_gen_warps(seer_gen *g, uint32_t id) {
  seer_tile_warps of;
  if (!g->tile->of[id].is_of_warps || !seer_tile_warps_of(g->tile, id, &of) || !may_be(g, &of))
    return false;
  walk w = {.g = g, .of = &of};
  for (uint32_t k = 0; k < 2; k++)
    w.words[k] = SEER_NEW_ARRAY(g->arena, seer_vec, (size_t)of.tile.patches[k]);
  seer_vec in_row = seer_vec2(g->b, SEER_VEC_UREM, g->item, seer_gen_const_i64(g, 4));
  seer_vec row = seer_vec2(g->b, SEER_VEC_UREM,
      seer_vec2(g->b, SEER_VEC_UDIV, g->item, seer_gen_const_i64(g, 4)), seer_gen_const_i64(g, 8));
  w.word = seer_gen_mul_i64(g, in_row, 2);
  w.column = seer_vec2(g->b, SEER_VEC_UDIV, row, seer_gen_const_i64(g, 2));
  w.copy = seer_vec2(g->b, SEER_VEC_UREM, row, seer_gen_const_i64(g, 2));
  add_all(&w);
  for (uint32_t l = of.tile.depth; l < of.n; l++)
    g->var[loop_at(&w, l)->var].kind = SEER_GEN_UNBOUND;
  g->tick++;
  return true;
}
