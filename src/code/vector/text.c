// text.c - the text form of vector code (doc/ir/vector.md), printed and parsed. Values are numbered
// in the order in which a phase defines them; constants stand where they are used. The parser
// checks the spelling, and that names are those of something further up; the rest is
// seer_vec_verify's business. It adds instructions as they are written, without the builder, which
// would fold some of them.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/text.h"
#include "code/vector/internal.h"

#define MAX_SLOT_ELEMS ((int64_t)1 << 32)

// ---- printing

typedef struct {
  const seer_vec_code *code;
  seer_text text;
  uint32_t *number;  // by instruction: of its value and 1, or of a SLOT and 1
  uint32_t n_value;
} printer;

static void number_block(printer *p, seer_vec_block block) {
  for (uint32_t id = block.first; id != 0; id = p->code->node[id].next) {
    const seer_vec_node *node = &p->code->node[id];
    if (node->elem != SEER_VEC_VOID) p->number[id] = ++p->n_value;
    if (node->op != SEER_VEC_LOOP && node->op != SEER_VEC_WHEN) continue;
    number_block(p, node->body[0]);
    number_block(p, node->body[1]);
  }
}

static void number_phase(printer *p, const seer_vec_phase *phase) {
  memset(p->number, 0, p->code->n * sizeof(uint32_t));
  p->n_value = 0;
  for (uint32_t k = 0; k < phase->n_slot; k++) p->number[phase->slot[k].i] = k + 1;
  number_block(p, phase->body);
}

static void put_type(seer_text *text, const seer_vec_node *node) {
  seer_text_put(text, seer_vec_elem_names[node->elem]);
  if (node->lanes != 1) seer_text_printf(text, "x%u", node->lanes);
}

static void put_const(seer_text *text, const seer_vec_node *node) {
  seer_vec_elem elem = (seer_vec_elem)node->elem;
  float single;
  double real;
  memcpy(&single, &node->bits, sizeof(single));
  memcpy(&real, &node->bits, sizeof(real));
  if (elem == SEER_VEC_F32) real = (double)single;
  if (seer_vec_elem_bits[elem] == 0) {
    seer_text_put(text, "?");
  } else if (!seer_vec_is_float(elem)) {
    uint32_t above = 64 - seer_vec_elem_bits[elem];
    int64_t value =
        elem == SEER_VEC_I1 ? (int64_t)node->bits : (int64_t)(node->bits << above) >> above;
    seer_text_printf(text, "%" PRId64, value);
  } else if (isnan(real)) {  // its bits are part of it
    seer_text_printf(text, "nan.%" PRIx64, node->bits);
  } else {
    seer_text_put_f64(text, real);
  }
  if (node->imm != 0) seer_text_printf(text, " step %" PRId64, node->imm);
}

static void put_arg(printer *p, seer_vec v) {
  if (v.i == 0 || v.i >= p->code->n) {  // broken code is printed too
    seer_text_put(&p->text, "%?");
    return;
  }
  const seer_vec_node *node = seer_vec_at(p->code, v);
  if (node->op == SEER_VEC_CONST || node->op == SEER_VEC_UNDEF) {
    put_type(&p->text, node);
    seer_text_put(&p->text, " ");
    if (node->op == SEER_VEC_UNDEF)
      seer_text_put(&p->text, "undef");
    else
      put_const(&p->text, node);
  } else if (node->op == SEER_VEC_FILL) {
    seer_text_printf(&p->text, "fill[%" PRId64 "]", node->imm);
  } else if (p->number[v.i] == 0) {
    seer_text_put(&p->text, "%?");
  } else if (node->op == SEER_VEC_SLOT) {
    seer_text_printf(&p->text, "slot[%u]", p->number[v.i] - 1);
  } else {
    seer_text_printf(&p->text, "%%%u", p->number[v.i] - 1);
  }
}

static void put_buf(printer *p, uint32_t buf) {
  const seer_loop *loop = p->code->loop;
  if (buf != SEER_VEC_NO_BUF)
    seer_text_printf(&p->text, " $%s", buf < loop->n_buf ? loop->buf[buf].name : "?");
}

static void put_access(printer *p, const seer_vec_node *node) {
  if (node->align != 0) seer_text_printf(&p->text, " align %u", node->align);
  put_buf(p, node->buf);
  if (node->is_invariant) seer_text_put(&p->text, " invariant");
}

static void put_order(printer *p, const seer_vec_node *node) {
  seer_text_put(&p->text, " lanes");
  if (node->imm < 0 || node->imm >= p->code->n_order) {  // broken code is printed too
    seer_text_put(&p->text, " ?");
    return;
  }
  const seer_vec_order *order = &p->code->order[node->imm];
  for (uint32_t l = 0; l < order->n; l++) seer_text_printf(&p->text, " %u", order->lane[l]);
}

static void put_picks(printer *p, const seer_vec_node *node) {
  seer_text_put(&p->text, " of");
  if (node->imm < 0 || node->imm >= p->code->n_picks) {  // broken code is printed too
    seer_text_put(&p->text, " ?");
    return;
  }
  for (uint32_t k = 0; k < SEER_VEC_PICKS; k++)
    seer_text_printf(&p->text, " %.9g", (double)p->code->picks[node->imm].value[k]);
}

static void put_shapes(printer *p, const seer_vec_node *node) {
  if (node->imm < 0 || node->imm >= p->code->n_shapes) {  // broken code is printed too
    seer_text_put(&p->text, " ?");
    return;
  }
  const seer_vec_shapes *shapes = &p->code->shapes[node->imm];
  for (uint32_t k = 0; k < SEER_VEC_MATRICES; k++)
    seer_text_printf(&p->text, " %u by %u", shapes->rows[k], shapes->columns[k]);
}

// Without its blocks.
static void put_head(printer *p, uint32_t id) {
  const seer_vec_node *node = &p->code->node[id];
  const seer_vec_op_info *info = &seer_vec_ops[node->op];
  if (info->rule != SEER_VEC_NONE) {
    put_arg(p, (seer_vec){id});
    seer_text_put(&p->text, " ");
    put_type(&p->text, node);
    seer_text_put(&p->text, " = ");
  }
  seer_text_put(&p->text, info->text);
  for (uint32_t k = 0; k < info->n_args; k++) {
    seer_text_put(&p->text, k > 0 ? ", " : " ");
    put_arg(p, node->arg[k]);
  }
  switch ((int)node->op) {
    case SEER_VEC_BUFFER:
      put_buf(p, node->buf);
      break;
    case SEER_VEC_MOVE:
      seer_text_printf(&p->text, " of %s", seer_vec_elem_names[node->of]);
      break;
    case SEER_VEC_EXTRACT:
    case SEER_VEC_INSERT:
      seer_text_printf(&p->text, " lane %" PRId64, node->imm);
      break;
    case SEER_VEC_SHUFFLE:
      put_order(p, node);
      break;
    case SEER_VEC_PICK:
      put_picks(p, node);
      break;
    case SEER_VEC_LOAD:
    case SEER_VEC_LOAD_MASKED:
    case SEER_VEC_LOOKUP:
    case SEER_VEC_STORE:
    case SEER_VEC_STORE_MASKED:
    case SEER_VEC_COPY:
      put_access(p, node);
      break;
    case SEER_VEC_MATRIX_SHAPES:
      put_shapes(p, node);
      break;
    case SEER_VEC_MATRIX_ZERO:
      seer_text_printf(&p->text, " matrix %u", seer_vec_matrix_regs_of(node).sum);
      break;
    case SEER_VEC_MATRIX_LOAD:
    case SEER_VEC_MATRIX_STORE:
      seer_text_printf(&p->text, " matrix %u", seer_vec_matrix_regs_of(node).sum);
      put_access(p, node);
      break;
    case SEER_VEC_MATRIX_DOT4:
    case SEER_VEC_MATRIX_DOT2: {
      seer_vec_matrix_regs r = seer_vec_matrix_regs_of(node);
      seer_text_printf(&p->text, " matrix %u of %u by %u", r.sum, r.x, r.y);
      break;
    }
    case SEER_VEC_PREFETCH:
      seer_text_printf(&p->text, " level %" PRId64, node->imm);
      break;
    case SEER_VEC_COUNTER:
      seer_text_printf(&p->text, " %" PRId64, node->imm);
      break;
    case SEER_VEC_MMA:
      seer_text_printf(&p->text, " of %s",
          (uint64_t)node->imm < SEER_VEC_MMA_KIND_COUNT ? seer_vec_mma_names[node->imm] : "?");
      break;
    case SEER_VEC_LOOP:
      if (node->imm != 0) seer_text_put(&p->text, " runs");
      break;
    default:
      break;
  }
}

static void indent(printer *p, uint32_t depth) {
  for (uint32_t k = 0; k < depth; k++) seer_text_put(&p->text, "  ");
}

static void put_block(printer *p, seer_vec_block block, uint32_t depth) {
  for (uint32_t id = block.first; id != 0; id = p->code->node[id].next) {
    const seer_vec_node *node = &p->code->node[id];
    indent(p, depth);
    put_head(p, id);
    if (node->op == SEER_VEC_LOOP || node->op == SEER_VEC_WHEN) {
      seer_text_put(&p->text, " {\n");
      put_block(p, node->body[0], depth + 1);
      indent(p, depth);
      if (node->body[1].first != 0) {
        seer_text_put(&p->text, "} else {\n");
        put_block(p, node->body[1], depth + 1);
        indent(p, depth);
      }
      seer_text_put(&p->text, "}");
    }
    seer_text_put(&p->text, "\n");
  }
}

static void put_slots(printer *p, const seer_vec_phase *phase) {
  for (uint32_t k = 0; k < phase->n_slot; k++) {
    seer_vec_node of = *seer_vec_at(p->code, phase->slot[k]);
    uint32_t align = of.align;
    int64_t n = of.imm;
    of.elem = of.of;
    seer_text_printf(&p->text, "    slot[%u] = ", k);
    put_type(&p->text, &of);
    seer_text_printf(&p->text, " * %" PRId64, n);
    if (align != 0) seer_text_printf(&p->text, " align %u", align);
    seer_text_put(&p->text, "\n");
  }
}

const char *seer_vec_print(const seer_vec_code *code, seer_arena *arena) {
  seer_arena *scratch = seer_arena_create("vector print");
  printer p = {.code = code, .number = SEER_NEW_ARRAY(scratch, uint32_t, code->n)};
  seer_text_init(&p.text, arena);
  seer_text_printf(&p.text, "vector %s {\n", code->loop->name);
  seer_text_printf(&p.text, "  scratch %" PRIu64 "\n", code->scratch_bytes);
  for (uint32_t k = 0; k < code->n_fill; k++) {
    seer_text_printf(&p.text, "  fill[%u] = ", k);
    put_arg(&p, code->fill[k].value);
    seer_text_printf(&p.text, " bytes %u\n", code->fill[k].n_bytes);
  }
  for (uint32_t k = 0; k < code->n_phase; k++) {
    number_phase(&p, &code->phase[k]);
    seer_text_printf(&p.text, "  phase %s {\n", code->phase[k].name);
    put_slots(&p, &code->phase[k]);
    put_block(&p, code->phase[k].body, 2);
    seer_text_put(&p.text, "  }\n");
  }
  seer_text_put(&p.text, "}\n");
  seer_arena_destroy(scratch);
  return p.text.data;
}

const char *seer_vec_line(
    const seer_vec_code *code, const seer_vec_phase *phase, uint32_t id, seer_arena *arena) {
  printer p = {.code = code, .number = SEER_NEW_ARRAY(arena, uint32_t, code->n)};
  seer_text_init(&p.text, arena);
  number_phase(&p, phase);
  put_head(&p, id);
  return p.text.data;
}

// ---- parsing

typedef struct {
  seer_scan *scan;
  seer_vec_code *code;
  seer_vec_builder builder;  // of the phase: constants and slots
  seer_map *value;  // number -> instruction, of the phase
} parser;

static seer_status parse_in(parser *p, int64_t low, int64_t high, int64_t *out) {
  SEER_TRY(seer_scan_i64(p->scan, out));
  if (*out >= low && *out <= high) return SEER_OK;
  return seer_scan_fail(
      p->scan, "%" PRId64 " is not in [%" PRId64 ", %" PRId64 "]", *out, low, high);
}

// "f32x8": an element, and how many of them.
static seer_status parse_type(parser *p, seer_vec_elem *out_elem, uint32_t *out_lanes) {
  seer_scan at = *p->scan;
  const char *name = "";
  bool is_name = seer_scan_try_name(p->scan, p->code->arena, &name);
  for (uint32_t e = SEER_VEC_VOID + 1; is_name && e < SEER_VEC_ELEM_COUNT; e++) {
    size_t n = strlen(seer_vec_elem_names[e]);
    if (strncmp(name, seer_vec_elem_names[e], n) != 0) continue;
    const char *rest = name + n;
    unsigned long lanes = 1;
    if (rest[0] == 'x' && rest[1] >= '1' && rest[1] <= '9') {
      char *end;
      lanes = strtoul(rest + 1, &end, 10);
      rest = end;
    }
    if (*rest != '\0' || lanes > SEER_VEC_MAX_LANES) continue;
    *out_elem = (seer_vec_elem)e;
    *out_lanes = (uint32_t)lanes;
    return SEER_OK;
  }
  *p->scan = at;
  return seer_scan_fail(p->scan, "expected a type of at most %d lanes: i1, i8, ... f64, ptr, f32x8",
      SEER_VEC_MAX_LANES);
}

static seer_status parse_elem(parser *p, seer_vec_elem *out) {
  uint32_t lanes;
  SEER_TRY(parse_type(p, out, &lanes));
  return lanes == 1 ? SEER_OK : seer_scan_fail(p->scan, "expected a type of one lane");
}

static seer_status parse_float(parser *p, seer_vec_elem elem, uint64_t *out_bits) {
  seer_scan at = *p->scan;
  const char *name;
  if (seer_scan_try_name(p->scan, p->code->arena, &name) && strncmp(name, "nan.", 4) == 0) {
    char *end;
    *out_bits = strtoull(name + 4, &end, 16);
    bool fits = seer_vec_elem_bits[elem] == 64 || *out_bits >> seer_vec_elem_bits[elem] == 0;
    if (fits && *end == '\0' && end > name + 4) return SEER_OK;
  }
  *p->scan = at;
  double value;
  SEER_TRY(seer_scan_f64(p->scan, &value));
  float single = (float)value;
  *out_bits = 0;
  memcpy(
      out_bits, elem == SEER_VEC_F32 ? (void *)&single : (void *)&value, seer_vec_elem_bytes(elem));
  return SEER_OK;
}

// "f32 0.5", "i64x8 0 step 1", "f32x4 undef"
static seer_status parse_const(parser *p, seer_vec *out) {
  seer_vec_elem elem;
  uint32_t lanes;
  int64_t value = 0, step = 0;
  SEER_TRY(parse_type(p, &elem, &lanes));
  if (seer_scan_try(p->scan, "undef")) {
    *out = seer_vec_undef(&p->builder, elem, lanes);
    return SEER_OK;
  }
  if (elem == SEER_VEC_PTR) return seer_scan_fail(p->scan, "a pointer is no constant");
  if (seer_vec_is_float(elem)) {
    uint64_t bits;
    SEER_TRY(parse_float(p, elem, &bits));
    *out = seer_vec_const(&p->builder, elem, lanes, bits);
    return SEER_OK;
  }
  uint32_t width = seer_vec_elem_bits[elem];
  int64_t high = width == 64 ? INT64_MAX : (INT64_C(1) << width) - 1;
  SEER_TRY(parse_in(p, width == 64 ? INT64_MIN : -high / 2 - 1, high, &value));
  if (elem != SEER_VEC_I1 && lanes > 1 && seer_scan_try(p->scan, "step"))
    SEER_TRY(seer_scan_i64(p->scan, &step));
  *out = seer_vec_series(&p->builder, elem, lanes, value, step);
  return SEER_OK;
}

static seer_status parse_place(parser *p, uint32_t n, const char *what, uint32_t *out) {
  int64_t k;
  SEER_TRY(seer_scan_expect(p->scan, "["));
  SEER_TRY(seer_scan_i64(p->scan, &k));
  if (k < 0 || k >= n) return seer_scan_fail(p->scan, "%s %" PRId64 ", there are %u", what, k, n);
  *out = (uint32_t)k;
  return seer_scan_expect(p->scan, "]");
}

static seer_status parse_arg(parser *p, seer_vec *out) {
  uint32_t k;
  if (seer_scan_try(p->scan, "%")) {
    int64_t number;
    uint64_t id;
    SEER_TRY(seer_scan_i64(p->scan, &number));
    if (!seer_map_get(p->value, (uint64_t)number, &id))
      return seer_scan_fail(p->scan, "no value %%%" PRId64 " further up", number);
    *out = (seer_vec){(uint32_t)id};
    return SEER_OK;
  }
  if (seer_scan_try(p->scan, "slot")) {
    const seer_vec_phase *phase = p->builder.phase;
    SEER_TRY(parse_place(p, phase->n_slot, "slot", &k));
    *out = phase->slot[k];
    return SEER_OK;
  }
  if (seer_scan_try(p->scan, "fill")) {
    SEER_TRY(parse_place(p, p->code->n_fill, "fill", &k));
    seer_vec_fill fill = p->code->fill[k];
    *out = seer_vec_filled(&p->builder, fill.value, fill.n_bytes);
    return SEER_OK;
  }
  return parse_const(p, out);
}

static seer_status parse_buf(parser *p, uint32_t *out) {
  const char *name;
  SEER_TRY(seer_scan_expect(p->scan, "$"));
  SEER_TRY(seer_scan_name(p->scan, p->code->arena, &name));
  const seer_loop *loop = p->code->loop;
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    if (strcmp(loop->buf[b].name, name) != 0) continue;
    *out = b;
    return SEER_OK;
  }
  return seer_scan_fail(p->scan, "loop %s has no buffer $%s", loop->name, name);
}

static seer_status parse_align(parser *p, uint16_t *out) {
  int64_t align = 0;
  if (seer_scan_try(p->scan, "align")) SEER_TRY(parse_in(p, 1, INT16_MAX, &align));
  *out = (uint16_t)align;
  return SEER_OK;
}

static seer_status parse_access(parser *p, seer_vec_node *node) {
  SEER_TRY(parse_align(p, &node->align));
  node->buf = SEER_VEC_NO_BUF;
  if (seer_scan_peek(p->scan, "$")) SEER_TRY(parse_buf(p, &node->buf));
  node->is_invariant = seer_vec_is_load(node) && seer_scan_try(p->scan, "invariant");
  return SEER_OK;
}

// "lanes 0 2 4 6": as many as the value has.
static seer_status parse_order(parser *p, seer_vec_node *node) {
  uint16_t lane[SEER_VEC_MAX_LANES];
  int64_t from = 0;
  SEER_TRY(seer_scan_expect(p->scan, "lanes"));
  for (uint32_t l = 0; l < node->lanes; l++) {
    SEER_TRY(parse_in(p, 0, 2 * SEER_VEC_MAX_LANES - 1, &from));
    lane[l] = (uint16_t)from;
  }
  node->imm = seer_vec_add_order(p->code, node->lanes, lane);
  return SEER_OK;
}

// "of 0 0.5 ...": as many as a PICK has.
static seer_status parse_picks(parser *p, seer_vec_node *node) {
  seer_vec_picks picks;
  double value = 0;
  SEER_TRY(seer_scan_expect(p->scan, "of"));
  for (uint32_t k = 0; k < SEER_VEC_PICKS; k++) {
    SEER_TRY(seer_scan_f64(p->scan, &value));
    picks.value[k] = (float)value;
  }
  node->imm = seer_vec_add_picks(p->code, &picks);
  return SEER_OK;
}

// "14 by 16", of each matrix.
static seer_status parse_shapes(parser *p, seer_vec_node *node) {
  seer_vec_shapes shapes = {{0}, {0}};
  int64_t rows, columns;
  for (uint32_t k = 0; k < SEER_VEC_MATRICES; k++) {
    SEER_TRY(parse_in(p, 0, SEER_MATRIX_SIDE, &rows));
    SEER_TRY(seer_scan_expect(p->scan, "by"));
    SEER_TRY(parse_in(p, 0, SEER_MATRIX_SIDE, &columns));
    shapes.rows[k] = (uint8_t)rows;
    shapes.columns[k] = (uint8_t)columns;
  }
  node->imm = seer_vec_add_shapes(p->code, &shapes);
  return SEER_OK;
}

// "matrix 0", and of a product "of 4 by 5".
static seer_status parse_matrices(parser *p, seer_vec_node *node) {
  static const char *const word[] = {"matrix", "of", "by"};
  bool is_access = seer_vec_is_matrix_access(node);
  bool is_one = is_access || node->op == SEER_VEC_MATRIX_ZERO;
  int64_t number[3] = {0};
  for (uint32_t k = 0; k < (is_one ? 1u : 3u); k++) {
    SEER_TRY(seer_scan_expect(p->scan, word[k]));
    SEER_TRY(parse_in(p, 0, SEER_VEC_MATRICES - 1, &number[k]));
  }
  node->imm = seer_vec_matrix_imm(
      (seer_vec_matrix_regs){(uint32_t)number[0], (uint32_t)number[1], (uint32_t)number[2]});
  return is_access ? parse_access(p, node) : SEER_OK;
}

// "of bf16"
static seer_status parse_mma_kind(parser *p, seer_vec_node *node) {
  SEER_TRY(seer_scan_expect(p->scan, "of"));
  for (int64_t k = 0; k < SEER_VEC_MMA_KIND_COUNT; k++) {
    if (!seer_scan_try(p->scan, seer_vec_mma_names[k])) continue;
    node->imm = k;
    return SEER_OK;
  }
  return seer_scan_fail(p->scan, "expected f16, bf16 or tf32");
}

// What stands behind the arguments.
static seer_status parse_rest(parser *p, seer_vec_node *node) {
  switch ((int)node->op) {
    case SEER_VEC_BUFFER:
      return parse_buf(p, &node->buf);
    case SEER_VEC_SCRATCH:
      node->buf = SEER_VEC_NO_BUF;
      return SEER_OK;
    case SEER_VEC_MOVE: {
      seer_vec_elem of;
      SEER_TRY(seer_scan_expect(p->scan, "of"));
      SEER_TRY(parse_elem(p, &of));
      node->of = (uint8_t)of;
      return SEER_OK;
    }
    case SEER_VEC_EXTRACT:
    case SEER_VEC_INSERT:
      SEER_TRY(seer_scan_expect(p->scan, "lane"));
      return parse_in(p, 0, SEER_VEC_MAX_LANES - 1, &node->imm);
    case SEER_VEC_SHUFFLE:
      return parse_order(p, node);
    case SEER_VEC_PICK:
      return parse_picks(p, node);
    case SEER_VEC_STORE:
    case SEER_VEC_STORE_MASKED:
    case SEER_VEC_COPY:
      node->lanes = seer_vec_at(p->code, node->arg[1])->lanes;
      return parse_access(p, node);
    case SEER_VEC_LOAD:
    case SEER_VEC_LOAD_MASKED:
    case SEER_VEC_LOOKUP:
      return parse_access(p, node);
    case SEER_VEC_MATRIX_SHAPES:
      return parse_shapes(p, node);
    case SEER_VEC_MATRIX_ZERO:
    case SEER_VEC_MATRIX_LOAD:
    case SEER_VEC_MATRIX_STORE:
    case SEER_VEC_MATRIX_DOT4:
    case SEER_VEC_MATRIX_DOT2:
      return parse_matrices(p, node);
    case SEER_VEC_PREFETCH:
      SEER_TRY(seer_scan_expect(p->scan, "level"));
      return parse_in(p, 1, INT16_MAX, &node->imm);
    case SEER_VEC_COUNTER:
      return seer_scan_i64(p->scan, &node->imm);
    case SEER_VEC_MMA:
      return parse_mma_kind(p, node);
    case SEER_VEC_LOOP:
      node->imm = seer_scan_try(p->scan, "runs");
      return SEER_OK;
    default:
      return SEER_OK;
  }
}

static uint32_t add_node(seer_vec_code *code, const seer_vec_node *node) {
  size_t cap = code->cap;
  code->node = SEER_GROW(code->arena, seer_vec_node, code->node, code->n, &cap);
  code->cap = (uint32_t)cap;
  code->node[code->n] = *node;
  return code->n++;
}

static seer_status parse_op(parser *p, bool has_value, seer_vec_op *out) {
  seer_scan at = *p->scan;
  const char *name = "";
  bool is_name = seer_scan_try_name(p->scan, p->code->arena, &name);
  for (uint32_t op = SEER_VEC_PART; is_name && op < SEER_VEC_OP_COUNT; op++) {
    bool is_apart = op == SEER_VEC_FILL || op == SEER_VEC_SLOT;
    if (is_apart || strcmp(seer_vec_ops[op].text, name) != 0) continue;
    if ((seer_vec_ops[op].rule != SEER_VEC_NONE) != has_value) break;
    *out = (seer_vec_op)op;
    return SEER_OK;
  }
  *p->scan = at;
  return seer_scan_fail(p->scan,
      has_value ? "expected an instruction that gives a value"
                : "expected an instruction without a value, '%%' or '}'");
}

static seer_status parse_block(parser *p, uint32_t depth, seer_vec_block *out);

static seer_status parse_bodies(parser *p, uint32_t depth, uint32_t id) {
  seer_vec_op op = (seer_vec_op)p->code->node[id].op;
  seer_vec_block body[2] = {{0}};
  if (op != SEER_VEC_LOOP && op != SEER_VEC_WHEN) return SEER_OK;
  SEER_TRY(parse_block(p, depth + 1, &body[0]));
  if (op == SEER_VEC_WHEN && seer_scan_try(p->scan, "else"))
    SEER_TRY(parse_block(p, depth + 1, &body[1]));
  memcpy(p->code->node[id].body, body, sizeof(body));
  return SEER_OK;
}

static seer_status parse_node(parser *p, uint32_t depth, uint32_t *out_id) {
  seer_vec_node node = {.op = SEER_VEC_OP_COUNT};
  int64_t number = 0;
  bool has_value = seer_scan_try(p->scan, "%");
  if (has_value) {
    seer_vec_elem elem;
    uint32_t lanes;
    SEER_TRY(parse_in(p, 0, UINT32_MAX, &number));
    if (seer_map_get(p->value, (uint64_t)number, NULL))
      return seer_scan_fail(p->scan, "value %%%" PRId64 " is there already", number);
    SEER_TRY(parse_type(p, &elem, &lanes));
    node.elem = (uint8_t)elem;
    node.lanes = (uint16_t)lanes;
    SEER_TRY(seer_scan_expect(p->scan, "="));
  }
  seer_vec_op op = SEER_VEC_FENCE;
  SEER_TRY(parse_op(p, has_value, &op));
  node.op = (uint8_t)op;
  for (uint32_t k = 0; k < seer_vec_ops[op].n_args; k++) {
    if (k > 0) SEER_TRY(seer_scan_expect(p->scan, ","));
    SEER_TRY(parse_arg(p, &node.arg[k]));
  }
  SEER_TRY(parse_rest(p, &node));
  *out_id = add_node(p->code, &node);
  if (has_value) seer_map_set(p->value, (uint64_t)number, *out_id);
  return parse_bodies(p, depth, *out_id);
}

// "{", instructions, "}"
static seer_status parse_block(parser *p, uint32_t depth, seer_vec_block *out) {
  if (depth > SEER_VEC_MAX_DEPTH)
    return seer_scan_fail(p->scan, "more than %d blocks inside each other", SEER_VEC_MAX_DEPTH);
  SEER_TRY(seer_scan_expect(p->scan, "{"));
  if (depth == 0) {  // of a phase
    for (uint32_t k = 0; seer_scan_try(p->scan, "slot"); k++) {
      seer_vec_elem of;
      uint32_t lanes, at = 0;
      int64_t n;
      uint16_t align;
      SEER_TRY(parse_place(p, k + 1, "slot", &at));
      if (at != k) return seer_scan_fail(p->scan, "slot %u, the next is %u", at, k);
      SEER_TRY(seer_scan_expect(p->scan, "="));
      SEER_TRY(parse_type(p, &of, &lanes));
      SEER_TRY(seer_scan_expect(p->scan, "*"));
      SEER_TRY(parse_in(p, 1, MAX_SLOT_ELEMS, &n));
      SEER_TRY(parse_align(p, &align));
      seer_vec_slot(&p->builder, of, lanes, n, align);
    }
  }
  *out = (seer_vec_block){0};
  while (!seer_scan_try(p->scan, "}")) {
    uint32_t id = 0;
    SEER_TRY(parse_node(p, depth, &id));
    if (out->last != 0)
      p->code->node[out->last].next = id;
    else
      out->first = id;
    out->last = id;
  }
  return SEER_OK;
}

static seer_status parse_fill(parser *p) {
  uint32_t at = 0;
  int64_t n_bytes;
  seer_vec value;
  seer_vec_code *code = p->code;
  SEER_TRY(parse_place(p, code->n_fill + 1, "fill", &at));
  if (at != code->n_fill)
    return seer_scan_fail(p->scan, "fill %u, the next is %u", at, code->n_fill);
  SEER_TRY(seer_scan_expect(p->scan, "="));
  SEER_TRY(parse_const(p, &value));
  if (!seer_vec_is_const(code, value) || seer_vec_at(code, value)->lanes != 1)
    return seer_scan_fail(p->scan, "a fill is of a constant of one lane");
  SEER_TRY(seer_scan_expect(p->scan, "bytes"));
  SEER_TRY(parse_in(p, 64, SEER_VEC_MAX_FILL_BYTES, &n_bytes));
  if ((n_bytes & (n_bytes - 1)) != 0)
    return seer_scan_fail(p->scan, "%" PRId64 " bytes, must be a power of two", n_bytes);
  seer_vec_filled(&p->builder, value, n_bytes);
  if (code->n_fill == at) return seer_scan_fail(p->scan, "this fill is there already");
  return SEER_OK;
}

static seer_status parse_code(parser *p) {
  const char *name;
  int64_t scratch;
  seer_vec_code *code = p->code;
  SEER_TRY(seer_scan_expect(p->scan, "vector"));
  SEER_TRY(seer_scan_name(p->scan, code->arena, &name));
  if (strcmp(name, code->loop->name) != 0)
    return seer_scan_fail(p->scan, "code of %s, the loop is %s", name, code->loop->name);
  SEER_TRY(seer_scan_expect(p->scan, "{"));
  SEER_TRY(seer_scan_expect(p->scan, "scratch"));
  SEER_TRY(parse_in(p, 0, INT64_MAX, &scratch));
  code->scratch_bytes = (uint64_t)scratch;
  while (seer_scan_try(p->scan, "fill")) SEER_TRY(parse_fill(p));
  while (!seer_scan_try(p->scan, "}")) {
    SEER_TRY(seer_scan_expect(p->scan, "phase"));
    if (code->n_phase == SEER_DAG_MAX_STAGES)
      return seer_scan_fail(p->scan, "more than %d phases", SEER_DAG_MAX_STAGES);
    SEER_TRY(seer_scan_name(p->scan, code->arena, &name));
    seer_vec_begin_phase(&p->builder, code, name);
    p->value = seer_map_create(code->arena);
    seer_vec_block body;
    SEER_TRY(parse_block(p, 0, &body));
    p->builder.phase->body = body;
  }
  return SEER_OK;
}

seer_status seer_vec_parse(const char *source, const char *text, size_t n_bytes,
    const seer_loop *loop, seer_arena *arena, seer_vec_code **out_code) {
  *out_code = NULL;
  seer_scan scan;
  seer_scan_init(&scan, source, text, n_bytes);
  parser p = {.scan = &scan, .code = seer_vec_code_create(loop, arena)};
  p.builder.code = p.code;
  SEER_TRY(parse_code(&p));
  if (!seer_scan_at_end(&scan)) return seer_scan_fail(&scan, "expected the end");
  *out_code = p.code;
  return SEER_OK;
}
