// block_products.c - see block_products.h.
#include "support/block_products.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "support/test.h"

static uint32_t pick(seer_rng *rng, uint32_t least, uint32_t n) {  // a power of two
  return least << seer_rng_below(rng, n);
}

// A multiple of `tile`, or less by what leaves a tail.
static int64_t extent(seer_rng *rng, int64_t tile, int64_t n) {
  return tile * n - (seer_rng_below(rng, 2) == 0 ? 0 : (int64_t)pick(rng, 1, 3));
}

block_product block_product_draw(seer_rng *rng) {
  block_product p;
  do {
    p = (block_product){.rows = pick(rng, 4, 3),
        .columns = pick(rng, 8, 2),
        .v = pick(rng, 1, 4),
        .w = pick(rng, 1, 4),
        .step = pick(rng, 4, 3),
        .fetch = pick(rng, 1, 3),
        .copies = pick(rng, 1, 4) == 1 ? 1 : 64,
        .pitch = (uint32_t)seer_rng_below(rng, 3) * 2,
        .is_strided = seer_rng_below(rng, 2) == 0,
        .is_relu = seer_rng_below(rng, 2) == 0};
  } while (p.v * p.w > 64 || p.rows * p.columns < 64 || p.rows * p.columns > 256);
  p.m = extent(rng, p.rows * p.v, 2);
  p.n = extent(rng, p.columns * p.w, 2);
  p.k = extent(rng, p.step, 3);
  return p;
}

// The fetch of a tile of rows by columns from (row0, column0) of a buffer; what is beyond its
// extents is 0.
static void put_fetch(seer_text *text, const block_product *p, char buf, uint32_t rows,
    uint32_t columns, const char *row0, const char *column0, int64_t row_end, int64_t column_end) {
  uint32_t n_items = p->rows * p->columns, total = rows * columns / p->fetch;
  seer_text_printf(text, "thread @t.%c < %u stage 0 { for @f.%c < %u stage 0 ", buf, n_items, buf,
      (total + n_items - 1) / n_items);
  if (total % n_items != 0)
    seer_text_printf(text, "bound (@t.%c * -1 + %u) / %u ", buf, total + n_items - 1, n_items);
  seer_text_printf(text, "{ vector @l.%c < %u stage 0 {\n", buf, p->fetch);
  for (uint32_t k = 0; k < 2; k++)
    seer_text_printf(text,
        "let @%c.%c in [0, %u] stage 0 = (@f.%c * %u + @t.%c * %u + @l.%c) %c %u\n", "mn"[k], buf,
        (k == 0 ? rows : columns) - 1, buf, n_items * p->fetch, buf, p->fetch, buf, "/%"[k],
        columns);
  seer_text_printf(text, "store $%c.tile[@m.%c, @n.%c] stage 0 = $%c[%s + @m.%c, %s + @n.%c]", buf,
      buf, buf, buf, row0, buf, column0, buf);
  seer_text_printf(text, " if (%s + @m.%c < %" PRId64 ") & (%s + @n.%c < %" PRId64 ") else 0.0\n",
      row0, buf, row_end, column0, buf, column_end);
  seer_text_put(text, "} } }\n");
}

static void put_nest(seer_text *text, const block_product *p, const char *tag, int stage) {
  seer_text_printf(text, "thread @r%s < %u stage %d { thread @s%s < %u stage %d {\n", tag, p->rows,
      stage, tag, p->columns, stage);
}

static const char *row_of(const block_product *p, const char *tag, seer_arena *arena) {
  return p->is_strided ? seer_arena_printf(arena, "@v%s * %u + @r%s", tag, p->rows, tag)
                       : seer_arena_printf(arena, "@r%s * %u + @v%s", tag, p->v, tag);
}

static void put_sums(seer_text *text, const block_product *p, seer_arena *arena) {
  put_nest(text, p, "", 0);
  seer_text_printf(text,
      "for @kk < %u stage 0 reduce copies %u { unroll @v < %u stage 0 { unroll @w < %u stage 0 {\n"
      "sum $sum[%s, @s * %u + @w] stage 0 = $a.tile[%s, @kk] * $b.tile[@kk, @s * %u + @w]\n"
      "} } } } }\n",
      p->step, p->copies, p->v, p->w, row_of(p, "", arena), p->w, row_of(p, "", arena), p->w);
}

static void put_output(seer_text *text, const block_product *p, seer_arena *arena) {
  int64_t rows = p->rows * p->v, columns = p->columns * p->w;
  put_nest(text, p, ".out", 1);
  seer_text_printf(text, "unroll @v.out < %u stage 1 ", p->v);
  if (p->m % rows != 0 && p->is_strided)
    seer_text_printf(text, "bound (@i * %" PRId64 " + @r.out * -1 + %" PRId64 ") / %u ", -rows,
        p->m + p->rows - 1, p->rows);
  else if (p->m % rows != 0)
    seer_text_printf(
        text, "bound @i * %" PRId64 " + @r.out * -%u + %" PRId64 " ", -rows, p->v, p->m);
  seer_text_printf(text, "{ vector @w.out < %u stage 1 ", p->w);
  if (p->n % columns != 0)
    seer_text_printf(
        text, "bound @j * %" PRId64 " + @s.out * -%u + %" PRId64 " ", -columns, p->w, p->n);
  const char *row = row_of(p, ".out", arena);
  seer_text_printf(text,
      "{\nstore $c[@i * %" PRId64 " + %s, @j * %" PRId64
      " + @s.out * %u + @w.out] stage 1 = %s$sum[%s, @s.out * %u + @w.out]%s\n} } } }\n",
      rows, row, columns, p->w, p->is_relu ? "max(" : "", row, p->w, p->is_relu ? ", 0.0)" : "");
}

seer_loop *block_product_loop(const block_product *p, seer_arena *arena) {
  uint32_t rows = p->rows * p->v, columns = p->columns * p->w, pitch = p->step + p->pitch;
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_printf(&text,
      "loop drawn { input $a f32[%" PRId64 ", %" PRId64 "] of 0 input $b f32[%" PRId64 ", %" PRId64
      "] of 1 output $c f32[%" PRId64 ", %" PRId64 "] of 2\n",
      p->m, p->k, p->k, p->n, p->m, p->n);
  seer_text_printf(&text,
      "workgroup $a.tile f32[%u, %u] stride [%u, 1] elems %u of 0 workgroup $b.tile f32[%u, %u] of "
      "1\nprivate $sum f32[%u, %u] of 3 phase { parallel @i < %" PRId64
      " stage 1 { parallel @j < %" PRId64
      " stage 1 {\nalloc $a.tile stage 0 alloc $b.tile stage 0 alloc $sum stage 0\n",
      rows, p->step, pitch, rows * pitch, p->step, columns, rows, columns,
      seer_ceil_div(p->m, rows), seer_ceil_div(p->n, columns));
  put_nest(&text, p, ".init", 0);
  seer_text_printf(&text,
      "unroll @v.init < %u stage 0 { unroll @w.init < %u stage 0 {\n"
      "init $sum[%s, @s.init * %u + @w.init] stage 0 = 0.0 } } } }\n",
      p->v, p->w, row_of(p, ".init", arena), p->w);
  seer_text_printf(&text, "for @k < %" PRId64 " stage 0 reduce {\n", seer_ceil_div(p->k, p->step));
  const char *i0 = seer_arena_printf(arena, "@i * %u", rows),
             *j0 = seer_arena_printf(arena, "@j * %u", columns),
             *k0 = seer_arena_printf(arena, "@k * %u", p->step);
  put_fetch(&text, p, 'a', rows, p->step, i0, k0, p->m, p->k);
  put_fetch(&text, p, 'b', p->step, columns, k0, j0, p->k, p->n);
  seer_text_put(&text, "barrier\n");
  put_sums(&text, p, arena);
  seer_text_put(&text, "barrier }\n");
  put_output(&text, p, arena);
  seer_text_put(&text, "} } } }\n");
  seer_loop *loop;
  seer_status status = seer_loop_parse("drawn", text.data, text.n_bytes, arena, &loop);
  if (!status) status = seer_loop_verify(loop);
  if (status) fail_msg("%s\n%s", seer_status_message(status), text.data);
  return loop;
}

const char *block_product_compare(const block_product *p, void *const *data, seer_arena *arena) {
  const float *a = data[0], *b = data[1], *c = data[2];
  for (int64_t i = 0; i < p->m; i++) {
    for (int64_t j = 0; j < p->n; j++) {
      double sum = 0, all = 1;
      for (int64_t k = 0; k < p->k; k++) {
        sum += (double)a[i * p->k + k] * (double)b[k * p->n + j];
        all += fabs((double)a[i * p->k + k] * (double)b[k * p->n + j]);
      }
      if (p->is_relu && sum < 0) sum = 0;
      if (fabs((double)c[i * p->n + j] - sum) <= 1e-6 * all) continue;
      return seer_arena_printf(arena, "row %" PRId64 ", column %" PRId64 ": %g, expected %g", i, j,
          (double)c[i * p->n + j], sum);
    }
  }
  return NULL;
}
