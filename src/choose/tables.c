// tables.c - a constant that one step gathers rows of and another multiplies with (an embedding and
// the head that is tied to it) -> the gather reads the product's packed form, so that it is stored
// once. A gather reads few elements and where they lie is data, so their order hardly matters to
// it; each element may now cost a cache line of its own, which is what is priced. Whoever reads in
// an order of its own keeps its form: that is share.c's business.
#include "choose/tables.h"

#include <math.h>
#include <string.h>

#include "base/map.h"
#include "learn/feature.h"
#include "space/nest.h"

// Of the time that a set's steps take by their records, or by the analytic model. 128 rows of
// GPT-2's table: 0.6 ms by this price, 0.025 ms measured, of 208 ms.
#define MAX_SHARE_OF_TIME 0.02

// A constant's elements in memory: packed in terms of the tensor that all its copies are made of.
typedef struct {
  seer_tensor of;
  uint8_t perm[SEER_MAX_RANK];  // from the copy's dimensions to those of `of`
} table_view;

typedef struct {
  uint32_t set, step, buf;  // the buffer is of the step's DAG
  table_view view;
  bool is_gathered;  // each element at a place that data say
  double elems;  // that it gathers, each once
  seer_pack form;  // of view.of
} reader;

typedef struct {
  const seer_context *context;
  const seer_network *network;
  const seer_choice *choice;
  seer_arena *arena, *scratch;
  seer_step_packs **ties;  // by set, by step
  uint32_t n_reader;
  size_t cap_reader;
  reader *reader;
  double *seconds;  // by task, once asked for; else 0
} finder;

static const seer_step *step_of(const finder *f, const reader *r) {
  return &f->network->set[r->set]->step[r->step];
}

// ---- packs in terms of another tensor

static seer_pack with_dims(const seer_pack *pack, const uint8_t *to) {
  seer_pack other = *pack;
  for (uint32_t k = 0; k < pack->n; k++) other.dim[k].source_dim = to[pack->dim[k].source_dim];
  return other;
}

static seer_pack as_it_lies(const seer_dag_buf *buf) {
  seer_pack pack = {.n = buf->rank};
  for (uint32_t d = 0; d < buf->rank; d++)
    pack.dim[d] = (seer_pack_dim){(uint8_t)d, 1, buf->dim[d]};
  return pack;
}

static bool same_form(const seer_pack *a, const seer_pack *b) {
  uint32_t i = 0, k = 0;
  for (;; i++, k++) {
    while (i < a->n && a->dim[i].extent == 1) i++;
    while (k < b->n && b->dim[k].extent == 1) k++;
    if (i == a->n || k == b->n) return i == a->n && k == b->n;
    const seer_pack_dim *x = &a->dim[i], *y = &b->dim[k];
    if (x->source_dim != y->source_dim || x->stride != y->stride || x->extent != y->extent)
      return false;
  }
}

// ---- who reads what

typedef struct {
  const seer_expr_pool *pool;
  uint32_t buf;
  bool has_load;
  uint32_t n_gather, n_other;  // loads of `buf`
} load_count;

static void note_any_load(void *user, seer_expr e) {
  load_count *c = user;
  c->has_load = c->has_load || seer_expr_at(c->pool, e)->op == SEER_EXPR_LOAD;
}

static void note_load(void *user, seer_expr e) {
  load_count *c = user;
  const seer_expr_node *node = seer_expr_at(c->pool, e);
  if (node->op != SEER_EXPR_LOAD || node->ref != c->buf) return;
  load_count inner = {.pool = c->pool};
  for (uint32_t k = 0; k < node->n_index; k++)
    seer_expr_visit(c->pool, seer_expr_index(c->pool, e, k), note_any_load, &inner);
  *(inner.has_load ? &c->n_gather : &c->n_other) += 1;
}

static bool is_gathered_in(const seer_dag *dag, uint32_t buf) {
  load_count c = {.pool = &dag->expr, .buf = buf};
  for (uint32_t s = 0; s < dag->n_stage; s++)
    for (uint32_t v = 0; v < dag->stage[s].n_values; v++)
      seer_expr_visit(c.pool, dag->stage[s].body[v], note_load, &c);
  return c.n_gather > 0 && c.n_other == 0;
}

// Loads of loop buffer `buf` in a block that runs `times` times.
static double count_loads(const seer_loop *loop, uint32_t buf, uint32_t first, double times) {
  double n = 0;
  for (uint32_t id = first; id != 0; id = loop->node[id].next) {
    const seer_loop_node *node = &loop->node[id];
    if (node->kind == SEER_NODE_FOR)
      n += count_loads(loop, buf, node->body, times * (double)node->extent);
    if (node->kind != SEER_NODE_STORE) continue;
    load_count c = {.pool = &loop->expr, .buf = buf};
    for (uint32_t v = 0; v < node->n_values; v++)
      seer_expr_visit(c.pool, node->value[v], note_load, &c);
    n += (c.n_gather + c.n_other) * times;
  }
  return n;
}

// An index of a load: plain, or one number that data say, or something more.
typedef struct {
  uint32_t n_load;  // different ones
  seer_expr load;
  bool has_axis;
} index_kind;

static void look_at_index(const seer_expr_pool *pool, seer_expr e, index_kind *kind) {
  const seer_expr_node *node = seer_expr_at(pool, e);
  if (node->op == SEER_EXPR_LOAD) {  // twice where a negative index counts from the end
    kind->n_load += kind->n_load == 0 || kind->load.i != e.i;
    kind->load = e;
    return;
  }
  kind->has_axis = kind->has_axis || node->op == SEER_EXPR_VAR;
  for (uint32_t k = 0; k < seer_expr_arity((seer_expr_op)node->op); k++)
    look_at_index(pool, node->arg[k], kind);
}

enum { MAX_SITES = 8 };
typedef struct {
  const seer_dag *dag;
  uint32_t buf, n;
  uint64_t from[MAX_SITES];  // which data say where, by dimension
  double elems;  // of all sites; infinite where nothing is known
} site_list;

static void note_site(void *user, seer_expr e) {
  site_list *sites = user;
  const seer_expr_pool *pool = &sites->dag->expr;
  const seer_expr_node *node = seer_expr_at(pool, e);
  if (node->op != SEER_EXPR_LOAD || node->ref != sites->buf) return;
  uint64_t from = 0;
  double elems = 1;
  for (uint32_t d = 0; d < node->n_index; d++) {
    index_kind kind = {0};
    look_at_index(pool, seer_expr_index(pool, e, d), &kind);
    if (kind.n_load > 1 || (kind.n_load == 1 && kind.has_axis)) elems = INFINITY;
    uint32_t data = kind.n_load ? seer_expr_at(pool, kind.load)->ref : 0;
    elems *= kind.n_load ? (double)seer_dag_buf_elems(&sites->dag->buf[data])
                         : (double)sites->dag->buf[sites->buf].dim[d];
    from = seer_hash_u64(kind.n_load ? data + 1 : 0, from);
  }
  for (uint32_t k = 0; k < sites->n; k++)
    if (sites->from[k] == from) return;
  if (sites->n == MAX_SITES) elems = INFINITY;
  if (sites->n < MAX_SITES) sites->from[sites->n++] = from;
  sites->elems += elems;
}

// Elements of `buf` that a run can touch: rows that data name, no more than there are names. Loads
// that have them from the same data touch the same, and find them in cache (a layer norm reads its
// row four times).
static double count_touched(const seer_dag *dag, uint32_t buf) {
  site_list sites = {.dag = dag, .buf = buf};
  for (uint32_t s = 0; s < dag->n_stage; s++)
    for (uint32_t v = 0; v < dag->stage[s].n_values; v++)
      seer_expr_visit(&dag->expr, dag->stage[s].body[v], note_site, &sites);
  return sites.elems;
}

// Every large constant that steps read; is_gathered by the DAG, forms later.
static void find_readers(finder *f) {
  for (uint32_t s = 0; s < f->network->n_set; s++) {
    const seer_network *set = f->network->set[s];
    for (uint32_t k = 0; k < set->n_step; k++) {
      const seer_step *step = &set->step[k];
      if (!seer_step_has_task(step)) continue;
      for (uint32_t b = 0; b < step->dag->n_buf; b++) {
        const seer_dag_buf *buf = &step->dag->buf[b];
        if (buf->kind != SEER_BUF_WEIGHT || step->value_of_buf[b].i == 0) continue;
        reader r = {.set = s, .step = k, .buf = b};
        if (!seer_build_view(set->graph, step->value_of_buf[b], buf, &r.view.of, r.view.perm) ||
            r.view.of.n_bytes < SEER_PERMUTED_MIN_BYTES)
          continue;
        r.is_gathered = is_gathered_in(step->dag, b);
        f->reader = SEER_GROW(f->scratch, reader, f->reader, f->n_reader, &f->cap_reader);
        f->reader[f->n_reader++] = r;
      }
    }
  }
}

// What the runtime itself reads, and no kernel, lies there as it is.
static bool runtime_reads(const finder *f, const void *data) {
  for (uint32_t s = 0; s < f->network->n_set; s++) {
    const seer_network *set = f->network->set[s];
    for (uint32_t k = 0; k < set->n_step; k++) {
      const seer_node *node = seer_step_node(set->graph, &set->step[k]);
      for (uint32_t i = 0; node && i < node->n_in; i++) {
        const seer_tensor *tensor =
            node->in[i].i ? seer_graph_value(set->graph, node->in[i])->constant : NULL;
        if (tensor && tensor->data == data) return true;
      }
    }
  }
  return false;
}

// ---- the form that a schedule gives to a constant

static seer_status lower(finder *f, const reader *r, seer_loop **out_loop) {
  const seer_step *step = step_of(f, r);
  const seer_sketch_list *list;
  return seer_build_lower(
      f->context, f->network, step, &f->choice[step->task], f->scratch, &list, out_loop);
}

static uint32_t input_buf(const seer_loop *loop, uint32_t dag_buf) {
  for (uint32_t b = 0; b < loop->n_buf; b++)
    if (loop->buf[b].storage == SEER_STORE_INPUT && loop->buf[b].dag_buf == dag_buf) return b;
  return UINT32_MAX;
}

// *out_reads false: only the constants that are made of it are read.
static seer_status find_form(finder *f, reader *r, bool *out_reads) {
  seer_loop *loop;
  SEER_TRY(lower(f, r, &loop));
  *out_reads = true;
  uint32_t input = input_buf(loop, r->buf);
  if (input != UINT32_MAX) {
    seer_pack pack = as_it_lies(&step_of(f, r)->dag->buf[r->buf]);
    r->form = with_dims(&pack, r->view.perm);
    for (uint32_t p = 0; p < loop->n_phase; p++)
      r->elems += count_loads(loop, input, loop->phase[p], 1);
    r->elems = fmin(r->elems, count_touched(step_of(f, r)->dag, r->buf));
    return SEER_OK;
  }
  r->is_gathered = false;
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    const seer_loop_buf *buf = &loop->buf[b];
    if (buf->storage != SEER_STORE_PACKED || buf->pack->source_buf != r->buf) continue;
    r->form = with_dims(buf->pack, r->view.perm);
    return SEER_OK;
  }
  *out_reads = false;
  return SEER_OK;
}

// ---- what it costs

static double step_seconds(finder *f, uint32_t task) {
  const seer_choice *choice = &f->choice[task];
  if (choice->seconds > 0) return choice->seconds;
  if (f->seconds[task] == 0) {
    seer_summariser *summariser = seer_summariser_create(choice->sketches, f->scratch);
    const seer_nest *nest = seer_summarise(summariser, &choice->schedule);
    f->seconds[task] = seer_analytic_seconds(nest, seer_context_target(f->context));
  }
  return f->seconds[task];
}

static bool is_cheap(finder *f, const reader *const *gather, uint32_t n) {
  const seer_target *target = seer_context_target(f->context);
  double line_s = (double)target->cache_line_bytes / (target->dram_gbs * 1e9);
  for (uint32_t s = 0; s < f->network->n_set; s++) {
    const seer_network *set = f->network->set[s];
    double more = 0, all = 0;
    for (uint32_t k = 0; k < n; k++)
      if (gather[k]->set == s) more += gather[k]->elems * line_s;
    for (uint32_t k = 0; k < set->n_step; k++) {
      if (seer_step_has_task(&set->step[k])) all += step_seconds(f, set->step[k].task);
    }
    seer_log(f->context, "build", 2, "set %u: gathering from a packed form may cost %.3g of %.3g s",
        s, more, all);
    if (more > MAX_SHARE_OF_TIME * all) return false;
  }
  return true;
}

// ---- the choice

// The pack for the gathering step's own buffer; false: bounds cannot be proved.
static seer_status try_pack(
    finder *f, const reader *r, const seer_pack *form, seer_pack *out, bool *out_fits) {
  uint8_t back[SEER_MAX_RANK] = {0};
  for (uint32_t d = 0; d < r->view.of.rank; d++) back[r->view.perm[d]] = (uint8_t)d;
  *out = with_dims(form, back);
  out->source_buf = r->buf;
  seer_loop *loop;
  SEER_TRY(lower(f, r, &loop));
  seer_loop_repack(loop, input_buf(loop, r->buf), out);
  seer_status unproved = seer_loop_verify(loop);
  *out_fits = !unproved;
  if (unproved)
    seer_log(f->context, "build", 0, "%s is not read in a packed form: %s", step_of(f, r)->name,
        seer_status_message(unproved));
  seer_status_free(unproved);
  return SEER_OK;
}

static seer_status tie(finder *f, const reader *const *gather, uint32_t n, const reader *product) {
  seer_pack *pack = SEER_NEW_ARRAY(f->arena, seer_pack, n);
  for (uint32_t k = 0; k < n; k++) {
    bool fits;
    SEER_TRYF(try_pack(f, gather[k], &product->form, &pack[k], &fits),
        "reading %s in the form of %s", step_of(f, gather[k])->name, step_of(f, product)->name);
    if (!fits) return SEER_OK;
  }
  for (uint32_t k = 0; k < n; k++) {
    seer_step_packs *ties = &f->ties[gather[k]->set][gather[k]->step];
    seer_pack *all = SEER_NEW_ARRAY(f->arena, seer_pack, ties->n + 1);
    if (ties->n) memcpy(all, ties->pack, ties->n * sizeof *all);
    all[ties->n++] = pack[k];
    ties->pack = all;
  }
  seer_log(f->context, "build", 1, "%s and %u more read one packed form of %zu bytes",
      step_of(f, product)->name, n, product->view.of.n_bytes);
  return SEER_OK;
}

// All readers of one table, of which some gather. They take the form of the steps that take longest
// with it, unless somebody else reads it as it lies.
static seer_status tie_table(finder *f, reader *const *all, uint32_t n) {
  const reader **gather = SEER_NEW_ARRAY(f->scratch, const reader *, n),
               **product = SEER_NEW_ARRAY(f->scratch, const reader *, n);
  uint32_t n_gather = 0, n_product = 0;
  for (uint32_t k = 0; k < n; k++) {
    bool reads;
    SEER_TRY(find_form(f, all[k], &reads));
    if (!reads) continue;
    if (all[k]->is_gathered)
      gather[n_gather++] = all[k];
    else
      product[n_product++] = all[k];
  }
  const reader *best = NULL;
  double most = 0;
  for (uint32_t k = 0; k < n_product; k++) {
    for (uint32_t g = 0; g < n_gather; g++)
      if (same_form(&product[k]->form, &gather[g]->form)) return SEER_OK;
    double time = 0;
    for (uint32_t i = 0; i < n_product; i++)
      if (same_form(&product[k]->form, &product[i]->form))
        time += step_seconds(f, step_of(f, product[i])->task);
    if (best && time <= most) continue;
    best = product[k];
    most = time;
  }
  if (!best || n_gather == 0 || runtime_reads(f, best->view.of.data) ||
      !seer_pack_is_radix(&best->form, best->view.of.dim, best->view.of.rank) ||
      !is_cheap(f, gather, n_gather))
    return SEER_OK;
  return tie(f, gather, n_gather, best);
}

static bool same_table(const reader *a, const reader *b) {
  return a->view.of.data == b->view.of.data && a->view.of.rank == b->view.of.rank &&
      memcmp(a->view.of.dim, b->view.of.dim, a->view.of.rank * sizeof a->view.of.dim[0]) == 0;
}

static seer_status tie_tables(finder *f) {
  find_readers(f);
  reader **all = SEER_NEW_ARRAY(f->scratch, reader *, f->n_reader + 1);
  for (uint32_t i = 0; i < f->n_reader; i++) {
    // Few constants are gathered from: at each first one, its table's readers.
    if (!f->reader[i].is_gathered) continue;
    uint32_t n = 0, n_other = 0;
    bool is_first = true;
    for (uint32_t k = 0; k < f->n_reader; k++) {
      if (!same_table(&f->reader[i], &f->reader[k])) continue;
      is_first = is_first && !(k < i && f->reader[k].is_gathered);
      n_other += !f->reader[k].is_gathered;
      all[n++] = &f->reader[k];
    }
    if (is_first && n_other > 0) SEER_TRY(tie_table(f, all, n));
  }
  return SEER_OK;
}

seer_status seer_choice_tables(const seer_context *context, const seer_network *network,
    const seer_choice *choice, seer_arena *arena, seer_step_packs ***out_ties) {
  seer_step_packs **ties = SEER_NEW_ARRAY(arena, seer_step_packs *, network->n_set);
  for (uint32_t s = 0; s < network->n_set; s++)
    ties[s] = SEER_NEW_ARRAY(arena, seer_step_packs, network->set[s]->n_step + 1);
  *out_ties = ties;
  if (seer_context_f64(context, SEER_OPT_SHARE_WEIGHTS) == 0) return SEER_OK;
  seer_arena *scratch = seer_arena_create("ties");
  finder f = {.context = context,
      .network = network,
      .choice = choice,
      .arena = arena,
      .scratch = scratch,
      .ties = ties,
      .seconds = SEER_NEW_ARRAY(scratch, double, network->n_task + 1)};
  seer_status status = tie_tables(&f);
  seer_arena_destroy(scratch);
  return status;
}

seer_status seer_choice_build(const seer_context *context, const seer_network *network,
    const seer_choice *choice, seer_build_kind kind, seer_build_kept *kept, const char *out_dir) {
  seer_arena *arena = seer_arena_create("gathers");
  seer_step_packs **packs;
  seer_status status = seer_choice_tables(context, network, choice, arena, &packs);
  if (!status) status = seer_build_model(context, network, choice, packs, kind, kept, out_dir);
  seer_arena_destroy(arena);
  return status;
}
