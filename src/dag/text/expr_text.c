// expr_text.c - expressions to text and back. The printer puts only the brackets that precedence
// needs (and those around comparisons, for readers); the parser builds through the folding
// builders, so what it builds prints the same.
#include "dag/text/expr_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dag/scalar.h"

#define MAX_DEPTH 256

static int precedence(seer_expr_op op) {  // 0: no infix operator
  switch ((int)op) {
    case SEER_EXPR_OR:
      return 1;
    case SEER_EXPR_XOR:
      return 2;
    case SEER_EXPR_AND:
      return 3;
    case SEER_EXPR_LT:
    case SEER_EXPR_LE:
    case SEER_EXPR_GT:
    case SEER_EXPR_GE:
    case SEER_EXPR_EQ:
    case SEER_EXPR_NE:
      return 4;
    case SEER_EXPR_ADD:
    case SEER_EXPR_SUB:
      return 5;
    case SEER_EXPR_MUL:
    case SEER_EXPR_DIV:
    case SEER_EXPR_MOD:
      return 6;
    default:
      return 0;
  }
}

// ---- printing

void seer_expr_print_float(seer_text *text, seer_dtype dtype, double value) {
  double shown = value;
  if (dtype != SEER_DTYPE_F64 && isfinite(value)) {  // 0.1 and not 0.10000000149011612
    char digits[40];
    for (int n = 1; n <= 9; n++) {
      snprintf(digits, sizeof digits, "%.*g", n, value);
      shown = strtod(digits, NULL);
      if ((double)(float)shown == value) break;
      shown = value;
    }
  }
  size_t from = text->n_bytes;
  seer_text_put_f64(text, shown);
  if (isfinite(shown) && strpbrk(text->data + from, ".e") == NULL) seer_text_put(text, ".0");
  if (dtype != SEER_DTYPE_F32) seer_text_printf(text, ":%s", seer_dtype_name(dtype));
}

typedef struct {
  seer_text *text;
  const seer_expr_pool *pool;
  const seer_expr_names *names;
} printer;

static void print(const printer *p, seer_expr e);

static void print_operand(const printer *p, seer_expr e, int parent, bool is_right) {
  const seer_expr_node *node = seer_expr_at(p->pool, e);
  int own = precedence((seer_expr_op)node->op);
  bool bracket = own == 4 || (own != 0 && (own < parent || (is_right && own == parent)));
  if (node->op == SEER_EXPR_LOAD && node->arg[0].i != 0) bracket = true;
  if (bracket) seer_text_put(p->text, "(");
  print(p, e);
  if (bracket) seer_text_put(p->text, ")");
}

static void print_infix(const printer *p, const seer_expr_node *node) {
  int own = precedence((seer_expr_op)node->op);
  const seer_expr_node *right = seer_expr_at(p->pool, node->arg[1]);
  print_operand(p, node->arg[0], own, false);
  bool subtracts = node->op == SEER_EXPR_ADD && right->op == SEER_EXPR_CONST_I &&
      right->value.i < 0 && seer_dtype_is_signed((seer_dtype)right->dtype) &&
      right->value.i != seer_scalar_lowest((seer_dtype)right->dtype).i;
  if (subtracts) {
    seer_text_printf(p->text, " - %" PRId64, -right->value.i);
    if (right->dtype != SEER_DTYPE_I64)
      seer_text_printf(p->text, ":%s", seer_dtype_name((seer_dtype)right->dtype));
    return;
  }
  seer_text_printf(p->text, " %s ", seer_expr_op_text((seer_expr_op)node->op));
  print_operand(p, node->arg[1], own, true);
}

static void print_load(const printer *p, const seer_expr_node *node) {
  seer_text_printf(p->text, "$%s[", p->names->buf_name(p->names->user, node->ref));
  for (uint32_t k = 0; k < node->n_index; k++) {
    if (k > 0) seer_text_put(p->text, ", ");
    print(p, p->pool->index[node->index0 + k]);
  }
  seer_text_put(p->text, "]");
  if (node->arg[0].i == 0) return;
  seer_text_put(p->text, " if ");
  print_operand(p, node->arg[0], 0, false);
  seer_text_put(p->text, " else ");
  print(p, node->arg[1]);
}

static void print(const printer *p, seer_expr e) {
  const seer_expr_node *node = seer_expr_at(p->pool, e);
  seer_expr_op op = (seer_expr_op)node->op;
  seer_dtype dtype = (seer_dtype)node->dtype;
  if (op == SEER_EXPR_CONST_F) {
    seer_expr_print_float(p->text, dtype, node->value.f);
  } else if (op == SEER_EXPR_CONST_I && dtype == SEER_DTYPE_BOOL) {
    seer_text_put(p->text, node->value.i ? "true" : "false");
  } else if (op == SEER_EXPR_CONST_I) {
    seer_text_printf(p->text, "%" PRId64, node->value.i);
    if (dtype != SEER_DTYPE_I64) seer_text_printf(p->text, ":%s", seer_dtype_name(dtype));
  } else if (op == SEER_EXPR_VAR) {
    seer_text_put(p->text, p->names->var_name(p->names->user, node->ref));
  } else if (op == SEER_EXPR_LOAD) {
    print_load(p, node);
  } else if (precedence(op) != 0) {
    print_infix(p, node);
  } else {
    seer_text_put(p->text, seer_expr_op_text(op));
    if (op == SEER_EXPR_CAST) seer_text_printf(p->text, ".%s", seer_dtype_name(dtype));
    seer_text_put(p->text, "(");
    for (uint32_t k = 0; k < seer_expr_arity(op); k++) {
      if (k > 0) seer_text_put(p->text, ", ");
      print(p, node->arg[k]);
    }
    seer_text_put(p->text, ")");
  }
}

void seer_expr_print(
    seer_text *text, const seer_expr_pool *pool, seer_expr e, const seer_expr_names *names) {
  printer p = {text, pool, names};
  print(&p, e);
}

// ---- parsing

typedef struct {
  seer_scan *scan;
  seer_expr_pool *pool;
  const seer_expr_scope *scope;
  int nesting;
} parser;

typedef struct {
  seer_expr e;
  int depth;  // of the tree below: walks recurse
} parsed;

static seer_status parse_expr(parser *p, parsed *out);

static seer_dtype dtype_of(const parser *p, seer_expr e) {
  return (seer_dtype)seer_expr_at(p->pool, e)->dtype;
}

static seer_status check_depth(parser *p, parsed *out) {
  if (out->depth <= MAX_DEPTH) return SEER_OK;
  return seer_scan_fail(p->scan, "expression of more than %d levels", MAX_DEPTH);
}

static void deepen(parsed *out, const parsed *part) {
  if (part->depth + 1 > out->depth) out->depth = part->depth + 1;
}

static seer_status parse_type_suffix(parser *p, seer_dtype *dtype) {
  if (!seer_scan_try(p->scan, ":")) return SEER_OK;
  const char *name;
  SEER_TRY(seer_scan_name(p->scan, p->pool->arena, &name));
  if (seer_dtype_parse(name, dtype)) return SEER_OK;
  return seer_scan_fail(p->scan, "unknown type '%s'", name);
}

static seer_status parse_number(parser *p, parsed *out) {
  int64_t i;
  double f;
  if (seer_scan_try_i64(p->scan, &i)) {
    seer_dtype dtype = SEER_DTYPE_I64;
    SEER_TRY(parse_type_suffix(p, &dtype));
    if (seer_dtype_is_float(dtype) || dtype == SEER_DTYPE_BOOL) {
      return seer_scan_fail(p->scan, "integer constant of type %s", seer_dtype_name(dtype));
    }
    out->e = seer_expr_int(p->pool, dtype, i);
    return SEER_OK;
  }
  seer_scan start = *p->scan;
  SEER_TRY(seer_scan_f64(p->scan, &f));
  bool is_float = false;
  for (const char *at = start.at; at < p->scan->at; at++)
    is_float |= *at == '.' || *at == 'e' || *at == 'E' || *at == 'n';
  if (!is_float) {
    *p->scan = start;
    return seer_scan_i64(p->scan, &i);  // says that it does not fit
  }
  seer_dtype dtype = SEER_DTYPE_F32;
  SEER_TRY(parse_type_suffix(p, &dtype));
  if (!seer_dtype_is_float(dtype)) {
    return seer_scan_fail(p->scan, "float constant of type %s", seer_dtype_name(dtype));
  }
  out->e = seer_expr_f(p->pool, dtype, f);
  return SEER_OK;
}

static seer_status parse_load(parser *p, parsed *out) {
  const char *name;
  SEER_TRY(seer_scan_name(p->scan, p->pool->arena, &name));
  uint32_t buf = 0, rank = 0;
  seer_dtype dtype = SEER_DTYPE_NONE;
  if (!p->scope->find_buf(p->scope->user, name, &buf, &dtype, &rank)) {
    return seer_scan_fail(p->scan, "unknown buffer '$%s'", name);
  }
  SEER_TRY(seer_scan_expect(p->scan, "["));
  seer_expr index[SEER_MAX_RANK];
  uint32_t n = 0;
  while (!seer_scan_try(p->scan, "]")) {
    if (n > 0) SEER_TRY(seer_scan_expect(p->scan, ","));
    if (n == rank) return seer_scan_fail(p->scan, "$%s has %u dimensions", name, rank);
    parsed part;
    SEER_TRY(parse_expr(p, &part));
    if (dtype_of(p, part.e) != SEER_DTYPE_I64) {
      return seer_scan_fail(p->scan, "index %u of $%s is %s, must be i64", n, name,
          seer_dtype_name(dtype_of(p, part.e)));
    }
    index[n++] = part.e;
    deepen(out, &part);
  }
  if (n != rank)
    return seer_scan_fail(p->scan, "$%s has %u dimensions, %u indices given", name, rank, n);
  out->e = seer_expr_load(p->pool, dtype, buf, index, n);
  return SEER_OK;
}

static bool is_real_function(seer_expr_op op) {
  return op == SEER_EXPR_SQRT || (op >= SEER_EXPR_EXP && op <= SEER_EXPR_SIGMOID);
}

// True if `op` accepts operands of `dtype`.
static bool takes(seer_expr_op op, seer_dtype dtype) {
  bool is_float = seer_dtype_is_float(dtype);
  if (is_real_function(op)) return is_float;
  if (op == SEER_EXPR_DOT4 || seer_expr_is_dot2(op)) return dtype == SEER_DTYPE_I32;
  if (op == SEER_EXPR_BITS) return seer_dtype_format(dtype) != NULL;
  if (op == SEER_EXPR_TF32) return dtype == SEER_DTYPE_F32;
  bool is_bits = op == SEER_EXPR_AND || op == SEER_EXPR_OR || op == SEER_EXPR_XOR ||
      op == SEER_EXPR_NOT || op == SEER_EXPR_SHL || op == SEER_EXPR_SHR;
  return !(is_bits && is_float);
}

static seer_status parse_arguments(parser *p, seer_expr_op op, seer_dtype cast_to, parsed *out) {
  parsed arg[3];
  uint32_t arity = seer_expr_arity(op);
  for (uint32_t k = 0; k < arity; k++) {
    if (k > 0) SEER_TRY(seer_scan_expect(p->scan, ","));
    SEER_TRY(parse_expr(p, &arg[k]));
    deepen(out, &arg[k]);
  }
  SEER_TRY(seer_scan_expect(p->scan, ")"));
  const char *name = seer_expr_op_text(op);
  seer_dtype first = dtype_of(p, arg[0].e);
  if (op == SEER_EXPR_CAST) {
    out->e = seer_expr_cast(p->pool, cast_to, arg[0].e);
    return SEER_OK;
  }
  if (op == SEER_EXPR_SELECT) {
    if (first != SEER_DTYPE_BOOL) {
      return seer_scan_fail(p->scan, "select on %s, must be bool", seer_dtype_name(first));
    }
    if (dtype_of(p, arg[1].e) != dtype_of(p, arg[2].e)) {
      return seer_scan_fail(p->scan, "select between %s and %s",
          seer_dtype_name(dtype_of(p, arg[1].e)), seer_dtype_name(dtype_of(p, arg[2].e)));
    }
    out->e = seer_expr_select(p->pool, arg[0].e, arg[1].e, arg[2].e);
    return SEER_OK;
  }
  if (!takes(op, first)) return seer_scan_fail(p->scan, "%s of %s", name, seer_dtype_name(first));
  if (arity == 1) {
    out->e = seer_expr_unary(p->pool, op, arg[0].e);
    return SEER_OK;
  }
  if (dtype_of(p, arg[1].e) != first) {
    return seer_scan_fail(p->scan, "%s of %s and %s", name, seer_dtype_name(first),
        seer_dtype_name(dtype_of(p, arg[1].e)));
  }
  out->e = seer_expr_binary(p->pool, op, arg[0].e, arg[1].e);
  return SEER_OK;
}

static bool find_function(const char *name, seer_expr_op *out_op, seer_dtype *out_cast) {
  if (strncmp(name, "cast.", 5) == 0) {
    *out_op = SEER_EXPR_CAST;
    return seer_dtype_parse(name + 5, out_cast);
  }
  for (int op = SEER_EXPR_ADD; op < SEER_EXPR_COUNT; op++) {
    if (op == SEER_EXPR_CAST || precedence((seer_expr_op)op) != 0) continue;
    if (strcmp(name, seer_expr_op_text((seer_expr_op)op)) == 0) {
      *out_op = (seer_expr_op)op;
      return true;
    }
  }
  return false;
}

static seer_status parse_variable(parser *p, const char *name, parsed *out) {
  uint32_t ref;
  if (!p->scope->find_var(p->scope->user, name, &ref))
    return seer_scan_fail(p->scan, "unknown variable '%s'", name);
  out->e = seer_expr_var(p->pool, ref);
  return SEER_OK;
}

static seer_status parse_primary(parser *p, parsed *out) {
  *out = (parsed){{0}, 1};
  seer_scan *scan = p->scan;
  if (seer_scan_try(scan, "(")) {
    SEER_TRY(parse_expr(p, out));
    return seer_scan_expect(scan, ")");
  }
  if (seer_scan_try(scan, "$")) return parse_load(p, out);
  bool is_at = seer_scan_try(scan, "@");
  if (is_at || seer_scan_try(scan, "%")) {
    const char *name;
    SEER_TRY(seer_scan_name(scan, p->pool->arena, &name));
    return parse_variable(
        p, seer_arena_printf(p->pool->arena, "%c%s", is_at ? '@' : '%', name), out);
  }
  if (seer_scan_try(scan, "true")) {
    out->e = seer_expr_int(p->pool, SEER_DTYPE_BOOL, 1);
    return SEER_OK;
  }
  if (seer_scan_try(scan, "false")) {
    out->e = seer_expr_int(p->pool, SEER_DTYPE_BOOL, 0);
    return SEER_OK;
  }
  const char *name;
  if (seer_scan_peek(scan, "inf") || seer_scan_peek(scan, "nan") || seer_scan_at_end(scan) ||
      !seer_scan_try_name(scan, p->pool->arena, &name)) {
    return parse_number(p, out);
  }
  if (!seer_scan_try(scan, "(")) return parse_variable(p, name, out);
  seer_expr_op op;
  seer_dtype cast_to = SEER_DTYPE_NONE;
  if (!find_function(name, &op, &cast_to))
    return seer_scan_fail(scan, "unknown function '%s'", name);
  return parse_arguments(p, op, cast_to, out);
}

static bool try_infix(seer_scan *scan, int min_precedence, seer_expr_op *out_op) {
  static const struct {
    const char *token;
    seer_expr_op op;
  } infix[] = {// longer tokens before their prefixes
      {"<=", SEER_EXPR_LE}, {">=", SEER_EXPR_GE}, {"==", SEER_EXPR_EQ}, {"!=", SEER_EXPR_NE},
      {"<", SEER_EXPR_LT}, {">", SEER_EXPR_GT}, {"+", SEER_EXPR_ADD}, {"-", SEER_EXPR_SUB},
      {"*", SEER_EXPR_MUL}, {"/", SEER_EXPR_DIV}, {"%", SEER_EXPR_MOD}, {"&", SEER_EXPR_AND},
      {"|", SEER_EXPR_OR}, {"^", SEER_EXPR_XOR}};
  for (size_t k = 0; k < SEER_COUNT_OF(infix); k++) {
    if (!seer_scan_peek(scan, infix[k].token)) continue;
    if (precedence(infix[k].op) < min_precedence) return false;
    *out_op = infix[k].op;
    return seer_scan_try(scan, infix[k].token);
  }
  return false;
}

static seer_status parse_infix(parser *p, int min_precedence, parsed *out) {
  SEER_TRY(parse_primary(p, out));
  seer_expr_op op;
  while (try_infix(p->scan, min_precedence, &op)) {
    parsed right;
    SEER_TRY(parse_infix(p, precedence(op) + 1, &right));
    seer_dtype a = dtype_of(p, out->e), b = dtype_of(p, right.e);
    if (a != b || !takes(op, a)) {
      return seer_scan_fail(
          p->scan, "%s %s %s", seer_dtype_name(a), seer_expr_op_text(op), seer_dtype_name(b));
    }
    out->e = seer_expr_binary(p->pool, op, out->e, right.e);
    out->depth++;
    deepen(out, &right);
    SEER_TRY(check_depth(p, out));
  }
  return SEER_OK;
}

static seer_status parse_guard(parser *p, parsed *out) {
  const seer_expr_node load = *seer_expr_at(p->pool, out->e);
  if (load.op != SEER_EXPR_LOAD || load.arg[0].i != 0) {
    return seer_scan_fail(p->scan, "'if' must follow a plain load");
  }
  parsed predicate, otherwise;
  SEER_TRY(parse_expr(p, &predicate));
  if (dtype_of(p, predicate.e) != SEER_DTYPE_BOOL) {
    return seer_scan_fail(
        p->scan, "guard of %s, must be bool", seer_dtype_name(dtype_of(p, predicate.e)));
  }
  SEER_TRY(seer_scan_expect(p->scan, "else"));
  SEER_TRY(parse_expr(p, &otherwise));
  if (dtype_of(p, otherwise.e) != (seer_dtype)load.dtype) {
    return seer_scan_fail(p->scan, "guarded load of %s, else %s",
        seer_dtype_name((seer_dtype)load.dtype), seer_dtype_name(dtype_of(p, otherwise.e)));
  }
  out->e = seer_expr_load_guarded(p->pool, (seer_dtype)load.dtype, load.ref,
      &p->pool->index[load.index0], load.n_index, predicate.e, otherwise.e);
  deepen(out, &predicate);
  deepen(out, &otherwise);
  return SEER_OK;
}

static seer_status parse_expr(parser *p, parsed *out) {
  if (++p->nesting > MAX_DEPTH)
    return seer_scan_fail(p->scan, "expression of more than %d levels", MAX_DEPTH);
  SEER_TRY(parse_infix(p, 1, out));
  if (seer_scan_try(p->scan, "if")) SEER_TRY(parse_guard(p, out));
  SEER_TRY(check_depth(p, out));
  p->nesting--;
  return SEER_OK;
}

seer_status seer_expr_parse(
    seer_scan *scan, seer_expr_pool *pool, const seer_expr_scope *scope, seer_expr *out_expr) {
  parser p = {scan, pool, scope, 0};
  parsed result = {{0}, 0};
  SEER_TRY(parse_expr(&p, &result));
  *out_expr = result.e;
  return SEER_OK;
}
