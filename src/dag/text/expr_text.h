// expr_text.h - the spelling of expressions, shared by the text forms of the DAG and of the loop
// IR.
//   y * 2 + ky - 1          integers are i64; others carry their type: 3:i32. BOOL: true, false
//   max($c[i, j], 0.0)      floats have a point or an exponent, or are inf, -inf, nan; they are
//                           f32, others carry their type: 0.5:f16
//   select(i < 4, a, b)     cast.f32(x)   not(p)   exp(x)
//   $x[y - 1] if (y >= 1) & (y <= 56) else 0.0      a guarded load; in brackets as an operand
// Precedence, loosest first: |  ^  &  comparisons  + -  * / % ; all bind to the left, comparisons
// do not chain.
// Names and scopes are borrowed. After a failure the scanner is of no use; expressions that were
// read until then stay in the pool.
#ifndef SEER_DAG_EXPR_TEXT_H
#define SEER_DAG_EXPR_TEXT_H

#include "base/text.h"
#include "dag/expr.h"

// Names as they are to be printed: variables with their sigil if they have one ("i", "@i"), buffers
// without '$'.
typedef struct {
  void *user;
  const char *(*var_name)(void *user, uint32_t ref);
  const char *(*buf_name)(void *user, uint32_t buf);
} seer_expr_names;

void seer_expr_print(
    seer_text *text, const seer_expr_pool *pool, seer_expr e, const seer_expr_names *names);

// Names as they stand in the text: variables with their sigil ('@' or '%', or none), buffers
// without '$'.
typedef struct {
  void *user;
  bool (*find_var)(void *user, const char *name, uint32_t *out_ref);
  bool (*find_buf)(
      void *user, const char *name, uint32_t *out_buf, seer_dtype *out_dtype, uint32_t *out_rank);
} seer_expr_scope;

// Errors: INVALID unknown names, wrong types, wrong number of indices, more than 256 levels deep.
SEER_MUST_USE seer_status seer_expr_parse(
    seer_scan *scan, seer_expr_pool *pool, const seer_expr_scope *scope, seer_expr *out_expr);

// A float constant of `dtype`: the shortest digits that give it back, always recognisable as a
// float.
void seer_expr_print_float(seer_text *text, seer_dtype dtype, double value);

#endif
