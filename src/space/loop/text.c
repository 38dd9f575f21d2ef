// text.c - the text form of loop IR (doc/ir/loop.md), printed and parsed. Buffers are printed in
// their order, so ids survive a round trip; variables are numbered again in the order in which the
// text defines them. The parser checks the spelling and what the builders assert; the rest is
// seer_loop_verify's business.
#include <string.h>

#include "dag/text/expr_text.h"
#include "space/loop/internal.h"

#define MAX_DEPTH 256
#define MAX_BUFS 1024
#define MAX_EXTENT ((int64_t)1 << 40)

static const char *const storage_names[] = {[SEER_STORE_INPUT] = "input",
    [SEER_STORE_PACKED] = "packed",
    [SEER_STORE_OUTPUT] = "output",
    [SEER_STORE_SHARED] = "shared",
    [SEER_STORE_LOCAL] = "local",
    [SEER_STORE_WORKGROUP] = "workgroup",
    [SEER_STORE_PRIVATE] = "private"};
static const char *const ann_names[] = {[SEER_LOOP_SERIAL] = "for",
    [SEER_LOOP_PARALLEL] = "parallel",
    [SEER_LOOP_UNROLL] = "unroll",
    [SEER_LOOP_VECTOR] = "vector",
    [SEER_LOOP_THREAD] = "thread"};

// ---- printing

typedef struct {
  const seer_loop *loop;
  seer_arena *arena;
  seer_text text;
  seer_expr_names names;
  const seer_loop_notes *notes;  // NULL: none
} printer;

static const char *var_name(void *user, uint32_t ref) {
  const printer *p = user;
  return seer_arena_printf(p->arena, "@%s", ref < p->loop->n_var ? p->loop->var[ref].name : "?");
}

static const char *buf_name(void *user, uint32_t buf) {
  const printer *p = user;
  return buf < p->loop->n_buf ? p->loop->buf[buf].name : "?";
}

static void printer_init(printer *p, const seer_loop *loop, seer_arena *arena) {
  p->loop = loop;
  p->arena = arena;
  p->notes = NULL;
  seer_text_init(&p->text, arena);
  p->names = (seer_expr_names){p, var_name, buf_name};
}

static void print_expr(printer *p, seer_expr e) {
  seer_expr_print(&p->text, &p->loop->expr, e, &p->names);
}

const char *seer_loop_expr_print(const seer_loop *loop, seer_expr e, seer_arena *arena) {
  printer p;
  printer_init(&p, loop, arena);
  print_expr(&p, e);
  return p.text.data;
}

static void print_numbers(seer_text *text, const int64_t *number, uint32_t n) {
  seer_text_put(text, "[");
  for (uint32_t k = 0; k < n; k++) seer_text_printf(text, "%s%" PRId64, k ? ", " : "", number[k]);
  seer_text_put(text, "]");
}

// Strides and size of a dense buffer of these dimensions.
static int64_t dense(const int64_t *dim, uint32_t rank, int64_t *stride) {
  int64_t step = 1;
  for (uint32_t k = rank; k-- > 0;) {
    stride[k] = step;
    step *= dim[k];
  }
  return step;
}

static void print_buf(printer *p, const seer_loop_buf *buf) {
  int64_t stride[SEER_MAX_RANK];
  int64_t n_elems = dense(buf->dim, buf->rank, stride);
  seer_text_printf(
      &p->text, "  %s $%s %s", storage_names[buf->storage], buf->name, seer_dtype_name(buf->dtype));
  print_numbers(&p->text, buf->dim, buf->rank);
  if (memcmp(stride, buf->stride, buf->rank * sizeof(int64_t)) != 0) {
    seer_text_put(&p->text, " stride ");
    print_numbers(&p->text, buf->stride, buf->rank);
  }
  if (buf->n_elems != n_elems) seer_text_printf(&p->text, " elems %" PRId64, buf->n_elems);
  seer_text_printf(&p->text, " of %u%s", buf->dag_buf, buf->is_late ? " late" : "");
  if (buf->pack) {
    seer_text_put(&p->text, " pack [");
    for (uint32_t k = 0; k < buf->pack->n; k++) {
      const seer_pack_dim *dim = &buf->pack->dim[k];
      seer_text_printf(&p->text, "%s%u * %" PRId64, k ? ", " : "", dim->source_dim, dim->stride);
    }
    seer_text_put(&p->text, "]");
  }
  seer_text_put(&p->text, "\n");
}

static void print_store(printer *p, const seer_loop_node *node) {
  const char *word = node->is_init ? "init" : "store";
  if (node->combiner != SEER_COMBINE_NONE) word = seer_combiner_name(node->combiner);
  seer_text_printf(&p->text, "%s ", word);
  bool is_tuple = node->n_values > 1;
  if (is_tuple) seer_text_put(&p->text, "(");
  for (uint32_t v = 0; v < node->n_values; v++) {
    seer_text_printf(&p->text, "%s$%s", v ? ", " : "", p->loop->buf[node->buf[v]].name);
  }
  seer_text_put(&p->text, is_tuple ? ")[" : "[");
  for (uint32_t k = 0; k < node->n_index; k++) {
    if (k > 0) seer_text_put(&p->text, ", ");
    print_expr(p, node->index[k]);
  }
  seer_text_printf(&p->text, "] stage %u = ", node->stage);
  if (is_tuple) seer_text_put(&p->text, "(");
  for (uint32_t v = 0; v < node->n_values; v++) {
    if (v > 0) seer_text_put(&p->text, ", ");
    print_expr(p, node->value[v]);
  }
  seer_text_put(&p->text, is_tuple ? ")\n" : "\n");
}

static void print_note(printer *p, uint32_t id) {
  if (p->notes) p->notes->print(p->notes->user, id, &p->text);
}

static void print_block(printer *p, uint32_t first, int depth) {
  for (uint32_t id = first; id != 0; id = p->loop->node[id].next) {
    const seer_loop_node *node = &p->loop->node[id];
    for (int k = 0; k < depth; k++) seer_text_put(&p->text, "  ");
    switch (node->kind) {
      case SEER_NODE_FOR:
        seer_text_printf(&p->text, "%s @%s < %" PRId64 " stage %u", ann_names[node->ann],
            p->loop->var[node->var].name, node->extent, node->stage);
        if (node->is_reduce) seer_text_put(&p->text, " reduce");
        if (node->max_unroll != 0) seer_text_printf(&p->text, " copies %u", node->max_unroll);
        if (node->bound.i != 0) {
          seer_text_put(&p->text, " bound ");
          print_expr(p, node->bound);
        }
        print_note(p, id);
        seer_text_put(&p->text, " {\n");
        print_block(p, node->body, depth + 1);
        for (int k = 0; k < depth; k++) seer_text_put(&p->text, "  ");
        seer_text_put(&p->text, "}\n");
        break;
      case SEER_NODE_LET:
        seer_text_printf(&p->text,
            "let @%s in [%" PRId64 ", %" PRId64 "] stage %u = ", p->loop->var[node->var].name,
            p->loop->var[node->var].low, p->loop->var[node->var].high, node->stage);
        print_expr(p, node->value[0]);
        seer_text_put(&p->text, "\n");
        break;
      case SEER_NODE_ALLOC:
        seer_text_printf(
            &p->text, "alloc $%s stage %u", p->loop->buf[node->buf[0]].name, node->stage);
        print_note(p, id);
        seer_text_put(&p->text, "\n");
        break;
      case SEER_NODE_STORE:
        print_store(p, node);
        break;
      case SEER_NODE_BARRIER:
        seer_text_put(&p->text, "barrier\n");
        break;
    }
  }
}

const char *seer_loop_print(const seer_loop *loop, seer_arena *arena) {
  return seer_loop_print_noted(loop, NULL, arena);
}

const char *seer_loop_print_noted(
    const seer_loop *loop, const seer_loop_notes *notes, seer_arena *arena) {
  seer_arena *scratch = seer_arena_create("loop print");  // the names with their sigils
  printer p;
  printer_init(&p, loop, scratch);
  p.notes = notes;
  seer_text_init(&p.text, arena);
  seer_text_printf(&p.text, "%s %s {\n", notes ? notes->form : "loop", loop->name);
  for (uint32_t b = 0; b < loop->n_buf; b++) print_buf(&p, &loop->buf[b]);
  for (uint32_t k = 0; k < loop->n_phase; k++) {
    seer_text_put(&p.text, "  phase {\n");
    print_block(&p, loop->phase[k], 2);
    seer_text_put(&p.text, "  }\n");
  }
  seer_text_put(&p.text, "}\n");
  seer_arena_destroy(scratch);
  return p.text.data;
}

// ---- parsing

typedef struct {
  seer_scan *scan;
  seer_loop *loop;
  seer_expr_scope names;
  const seer_loop_notes *notes;  // NULL: none
} parser;

static bool find_var(void *user, const char *name, uint32_t *out_ref) {
  const parser *p = user;
  for (uint32_t v = 0; name[0] == '@' && v < p->loop->n_var; v++) {
    if (strcmp(p->loop->var[v].name, name + 1) == 0) {
      *out_ref = v;
      return true;
    }
  }
  return false;
}

static bool find_buf(
    void *user, const char *name, uint32_t *out_buf, seer_dtype *out_dtype, uint32_t *out_rank) {
  const parser *p = user;
  for (uint32_t b = 0; b < p->loop->n_buf; b++) {
    if (strcmp(p->loop->buf[b].name, name) == 0) {
      *out_buf = b;
      *out_dtype = p->loop->buf[b].dtype;
      *out_rank = p->loop->buf[b].rank;
      return true;
    }
  }
  return false;
}

static seer_status parse_expr(parser *p, seer_expr *out) {
  return seer_expr_parse(p->scan, &p->loop->expr, &p->names, out);
}

static seer_status parse_in(parser *p, int64_t low, int64_t high, int64_t *out) {
  SEER_TRY(seer_scan_i64(p->scan, out));
  if (*out >= low && *out <= high) return SEER_OK;
  return seer_scan_fail(
      p->scan, "%" PRId64 " is not in [%" PRId64 ", %" PRId64 "]", *out, low, high);
}

static seer_status parse_u32(parser *p, int64_t high, uint32_t *out) {
  int64_t value;
  SEER_TRY(parse_in(p, 0, high, &value));
  *out = (uint32_t)value;
  return SEER_OK;
}

// "[a, b, c]"; *out_n numbers of at least `low`.
static seer_status parse_numbers(parser *p, int64_t low, int64_t *out, uint32_t *out_n) {
  *out_n = 0;
  SEER_TRY(seer_scan_expect(p->scan, "["));
  if (seer_scan_try(p->scan, "]")) return SEER_OK;
  do {
    if (*out_n == SEER_MAX_RANK)
      return seer_scan_fail(p->scan, "more than %d dimensions", SEER_MAX_RANK);
    SEER_TRY(parse_in(p, low, MAX_EXTENT, &out[(*out_n)++]));
  } while (seer_scan_try(p->scan, ","));
  return seer_scan_expect(p->scan, "]");
}

static seer_status parse_pack(parser *p, seer_loop_buf *buf) {
  seer_pack *pack = SEER_NEW(p->loop->arena, seer_pack);
  pack->source_buf = buf->dag_buf;
  SEER_TRY(seer_scan_expect(p->scan, "["));
  for (uint32_t k = 0; k < buf->rank; k++) {
    int64_t dim, stride;
    if (k > 0) SEER_TRY(seer_scan_expect(p->scan, ","));
    SEER_TRY(parse_in(p, 0, SEER_MAX_RANK - 1, &dim));
    SEER_TRY(seer_scan_expect(p->scan, "*"));
    SEER_TRY(parse_in(p, 0, MAX_EXTENT, &stride));
    pack->dim[pack->n++] = (seer_pack_dim){(uint8_t)dim, stride, buf->dim[k]};
  }
  buf->pack = pack;
  return seer_scan_expect(p->scan, "]");
}

static seer_status parse_buf(parser *p, seer_loop_storage storage) {
  seer_loop_buf buf = {.storage = storage};
  const char *dtype;
  uint32_t rank, n_stride, other_buf, other_rank;
  seer_dtype other_dtype;
  SEER_TRY(seer_scan_expect(p->scan, "$"));
  SEER_TRY(seer_scan_name(p->scan, p->loop->arena, &buf.name));
  if (find_buf(p, buf.name, &other_buf, &other_dtype, &other_rank)) {
    return seer_scan_fail(p->scan, "buffer $%s is there already", buf.name);
  }
  if (p->loop->n_buf == MAX_BUFS) return seer_scan_fail(p->scan, "more than %d buffers", MAX_BUFS);
  SEER_TRY(seer_scan_name(p->scan, p->loop->arena, &dtype));
  if (!seer_dtype_parse(dtype, &buf.dtype))
    return seer_scan_fail(p->scan, "'%s' is no element type", dtype);
  SEER_TRY(parse_numbers(p, 1, buf.dim, &rank));
  buf.rank = (uint8_t)rank;
  int64_t n_elems = 1;
  for (uint32_t k = 0; k < rank; k++) {
    if (__builtin_mul_overflow(n_elems, buf.dim[k], &n_elems) || n_elems > MAX_EXTENT) {
      return seer_scan_fail(p->scan, "buffer $%s is too large", buf.name);
    }
  }
  buf.n_elems = dense(buf.dim, rank, buf.stride);
  if (seer_scan_try(p->scan, "stride")) {
    SEER_TRY(parse_numbers(p, 1, buf.stride, &n_stride));
    if (n_stride != rank) return seer_scan_fail(p->scan, "%u strides, rank %u", n_stride, rank);
  }
  if (seer_scan_try(p->scan, "elems")) SEER_TRY(parse_in(p, 1, MAX_EXTENT, &buf.n_elems));
  SEER_TRY(seer_scan_expect(p->scan, "of"));
  SEER_TRY(parse_u32(p, SEER_DAG_MAX_BUFFERS - 1, &buf.dag_buf));
  buf.is_late = storage == SEER_STORE_WORKGROUP && seer_scan_try(p->scan, "late");
  if (storage == SEER_STORE_PACKED) {
    SEER_TRY(seer_scan_expect(p->scan, "pack"));
    SEER_TRY(parse_pack(p, &buf));
  }
  seer_loop_add_buf(p->loop, &buf);
  return SEER_OK;
}

static seer_status parse_stage(parser *p, seer_loop_node *node) {
  SEER_TRY(seer_scan_expect(p->scan, "stage"));
  return parse_u32(p, SEER_DAG_MAX_STAGES - 1, &node->stage);
}

static seer_status parse_new_var(parser *p, const char **out_name) {
  uint32_t other;
  SEER_TRY(seer_scan_expect(p->scan, "@"));
  SEER_TRY(seer_scan_name(p->scan, p->loop->arena, out_name));
  if (find_var(p, seer_arena_printf(p->loop->arena, "@%s", *out_name), &other)) {
    return seer_scan_fail(p->scan, "variable @%s is there already", *out_name);
  }
  return SEER_OK;
}

static seer_status parse_block(parser *p, uint32_t depth, uint32_t *out_first);

static seer_status parse_note(parser *p, uint32_t id, const seer_loop_node *node) {
  return p->notes ? p->notes->parse(p->notes->user, p->scan, id, node) : SEER_OK;
}

static seer_status parse_for(
    parser *p, seer_loop_ann ann, uint32_t depth, uint32_t id, seer_loop_node *node) {
  const char *name;
  node->kind = SEER_NODE_FOR;
  node->ann = ann;
  SEER_TRY(parse_new_var(p, &name));
  SEER_TRY(seer_scan_expect(p->scan, "<"));
  SEER_TRY(parse_in(p, 1, MAX_EXTENT, &node->extent));
  SEER_TRY(parse_stage(p, node));
  node->is_reduce = seer_scan_try(p->scan, "reduce");
  if (seer_scan_try(p->scan, "copies")) {
    int64_t copies;
    SEER_TRY(parse_in(p, 1, UINT16_MAX, &copies));
    node->max_unroll = (uint16_t)copies;
  }
  if (seer_scan_try(p->scan, "bound")) SEER_TRY(parse_expr(p, &node->bound));
  SEER_TRY(parse_note(p, id, node));
  node->var = seer_loop_add_var(p->loop, name, 0, node->extent - 1);
  return parse_block(p, depth + 1, &node->body);
}

static seer_status parse_let(parser *p, seer_loop_node *node) {
  const char *name;
  int64_t low, high;
  node->kind = SEER_NODE_LET;
  SEER_TRY(parse_new_var(p, &name));
  SEER_TRY(seer_scan_expect(p->scan, "in"));
  SEER_TRY(seer_scan_expect(p->scan, "["));
  SEER_TRY(parse_in(p, -MAX_EXTENT, MAX_EXTENT, &low));
  SEER_TRY(seer_scan_expect(p->scan, ","));
  SEER_TRY(parse_in(p, -MAX_EXTENT, MAX_EXTENT, &high));
  SEER_TRY(seer_scan_expect(p->scan, "]"));
  SEER_TRY(parse_stage(p, node));
  SEER_TRY(seer_scan_expect(p->scan, "="));
  SEER_TRY(parse_expr(p, &node->value[0]));
  node->var = seer_loop_add_var(p->loop, name, low, high);
  return SEER_OK;
}

static seer_status parse_buf_name(parser *p, uint32_t *out_buf) {
  const char *name;
  seer_dtype dtype;
  uint32_t rank;
  SEER_TRY(seer_scan_expect(p->scan, "$"));
  SEER_TRY(seer_scan_name(p->scan, p->loop->arena, &name));
  if (find_buf(p, name, out_buf, &dtype, &rank)) return SEER_OK;
  return seer_scan_fail(p->scan, "no buffer $%s", name);
}

static seer_status parse_store(parser *p, seer_loop_node *node) {
  node->kind = SEER_NODE_STORE;
  bool is_tuple = seer_scan_try(p->scan, "(");
  do {
    if (node->n_values == SEER_DAG_MAX_VALUES) {
      return seer_scan_fail(p->scan, "more than %d values", SEER_DAG_MAX_VALUES);
    }
    SEER_TRY(parse_buf_name(p, &node->buf[node->n_values++]));
  } while (is_tuple && seer_scan_try(p->scan, ","));
  if (is_tuple) SEER_TRY(seer_scan_expect(p->scan, ")"));
  SEER_TRY(seer_scan_expect(p->scan, "["));
  if (!seer_scan_try(p->scan, "]")) {
    do {
      if (node->n_index == SEER_MAX_RANK)
        return seer_scan_fail(p->scan, "more than %d indices", SEER_MAX_RANK);
      SEER_TRY(parse_expr(p, &node->index[node->n_index++]));
    } while (seer_scan_try(p->scan, ","));
    SEER_TRY(seer_scan_expect(p->scan, "]"));
  }
  SEER_TRY(parse_stage(p, node));
  SEER_TRY(seer_scan_expect(p->scan, "="));
  if (is_tuple) SEER_TRY(seer_scan_expect(p->scan, "("));
  for (uint32_t v = 0; v < node->n_values; v++) {
    if (v > 0) SEER_TRY(seer_scan_expect(p->scan, ","));
    SEER_TRY(parse_expr(p, &node->value[v]));
  }
  return is_tuple ? seer_scan_expect(p->scan, ")") : SEER_OK;
}

// One statement; *out_any is false (and nothing consumed) when none begins here.
static seer_status parse_node(
    parser *p, uint32_t depth, uint32_t id, seer_loop_node *node, bool *out_any) {
  *out_any = true;
  for (uint32_t ann = 0; ann < SEER_COUNT_OF(ann_names); ann++) {
    if (seer_scan_try(p->scan, ann_names[ann]))
      return parse_for(p, (seer_loop_ann)ann, depth, id, node);
  }
  if (seer_scan_try(p->scan, "let")) return parse_let(p, node);
  if (seer_scan_try(p->scan, "alloc")) {
    node->kind = SEER_NODE_ALLOC;
    node->n_values = 1;
    SEER_TRY(parse_buf_name(p, &node->buf[0]));
    SEER_TRY(parse_stage(p, node));
    return parse_note(p, id, node);
  }
  if (seer_scan_try(p->scan, "barrier")) {
    node->kind = SEER_NODE_BARRIER;
    return SEER_OK;
  }
  if (seer_scan_try(p->scan, "store")) return parse_store(p, node);
  if (seer_scan_try(p->scan, "init")) {
    node->is_init = true;
    return parse_store(p, node);
  }
  for (int c = SEER_COMBINE_NONE + 1; c < SEER_COMBINE_COUNT; c++) {
    if (seer_scan_try(p->scan, seer_combiner_name((seer_combiner)c))) {
      node->combiner = (seer_combiner)c;
      return parse_store(p, node);
    }
  }
  *out_any = false;
  return SEER_OK;
}

static seer_status parse_block(parser *p, uint32_t depth, uint32_t *out_first) {
  *out_first = 0;
  uint32_t last = 0;
  if (depth > MAX_DEPTH)
    return seer_scan_fail(p->scan, "more than %d loops inside each other", MAX_DEPTH);
  SEER_TRY(seer_scan_expect(p->scan, "{"));
  while (!seer_scan_try(p->scan, "}")) {
    seer_loop_node node = {.kind = SEER_NODE_STORE};
    bool any;
    uint32_t id = seer_loop_add_node(p->loop, &node);  // before those in it
    SEER_TRY(parse_node(p, depth, id, &node, &any));
    if (!any) return seer_scan_fail(p->scan, "expected a statement or '}'");
    p->loop->node[id] = node;
    if (last != 0) {
      p->loop->node[last].next = id;
    } else {
      *out_first = id;
    }
    last = id;
  }
  return SEER_OK;
}

static seer_status parse_loop(parser *p, seer_arena *arena) {
  const char *name;
  SEER_TRY(seer_scan_expect(p->scan, p->notes ? p->notes->form : "loop"));
  SEER_TRY(seer_scan_name(p->scan, arena, &name));
  p->loop = seer_loop_create(arena, name);
  SEER_TRY(seer_scan_expect(p->scan, "{"));
  while (!seer_scan_try(p->scan, "}")) {
    if (seer_scan_try(p->scan, "phase")) {
      if (p->loop->n_phase == SEER_DAG_MAX_STAGES) {
        return seer_scan_fail(p->scan, "more than %d phases", SEER_DAG_MAX_STAGES);
      }
      SEER_TRY(parse_block(p, 0, &p->loop->phase[p->loop->n_phase++]));
      continue;
    }
    uint32_t storage = 0;
    while (
        storage < SEER_COUNT_OF(storage_names) && !seer_scan_try(p->scan, storage_names[storage]))
      storage++;
    if (storage == SEER_COUNT_OF(storage_names))
      return seer_scan_fail(p->scan, "expected a buffer, 'phase' or '}'");
    SEER_TRY(parse_buf(p, (seer_loop_storage)storage));
  }
  return SEER_OK;
}

seer_status seer_loop_parse(
    const char *source, const char *text, size_t n_bytes, seer_arena *arena, seer_loop **out_loop) {
  return seer_loop_parse_noted(source, text, n_bytes, NULL, arena, out_loop);
}

seer_status seer_loop_parse_noted(const char *source, const char *text, size_t n_bytes,
    const seer_loop_notes *notes, seer_arena *arena, seer_loop **out_loop) {
  *out_loop = NULL;
  seer_scan scan;
  seer_scan_init(&scan, source, text, n_bytes);
  parser p = {.scan = &scan, .notes = notes};
  p.names = (seer_expr_scope){&p, find_var, find_buf};
  SEER_TRY(parse_loop(&p, arena));
  if (!seer_scan_at_end(&scan)) return seer_scan_fail(&scan, "expected the end");
  *out_loop = p.loop;
  return SEER_OK;
}
