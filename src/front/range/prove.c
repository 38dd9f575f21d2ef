// prove.c - a network for a batch of n -> whether block b of each output is made of block b of the
// inputs alone. A value is in blocks if it is n of them, each made of one image: inputs with the
// batch are; what a step makes of such values is, if its DAG computes images apart (images.h);
// views of them whose blocks are the same bytes. What no image goes into is the same for all.
#include <string.h>

#include "base/map.h"
#include "front/images.h"
#include "front/range.h"

typedef enum { UNKNOWN, IN_BLOCKS, OF_NO_IMAGE } blocks;

typedef struct {
  const seer_network *network;
  const seer_graph *graph;
  seer_arena *scratch;
  uint32_t n;
  blocks *of_value;
  seer_map *proved;  // DAG and what is in blocks -> 1
} prover;

static seer_status refuse(const seer_step *step, const char *why) {
  return SEER_FAIL(
      UNSUPPORTED, "a range of batches: step '%s' %s; " SEER_RANGE_INSTEAD, step->name, why);
}

// A buffer of a constant that is n times the same block: what is read of it for an image is what is
// read for any other.
static bool is_block_constant(const prover *p, const seer_step *step, uint32_t b) {
  const seer_dag_buf *buf = &step->dag->buf[b];
  size_t n_block;
  return buf->kind != SEER_BUF_STAGE && step->value_of_buf[b].i && buf->rank > 0 &&
      buf->dim[0] == p->n &&
      seer_range_is_repeated(
          seer_graph_value(p->graph, step->value_of_buf[b])->constant, p->n, &n_block);
}

static seer_status prove_dag(prover *p, const seer_step *step, bool *is_split) {
  bool of_images[SEER_DAG_MAX_BUFFERS];
  memcpy(of_images, is_split, sizeof of_images);
  uint64_t key = seer_hash_bytes(is_split, sizeof of_images, (uint64_t)(uintptr_t)step->dag);
  if (seer_map_get(p->proved, key, NULL)) return SEER_OK;
  seer_dag *one;
  const char *why;
  bool is_apart = seer_images_one(step->dag, p->n, is_split, p->scratch, &one, &why);
  bool has_repeated = false;
  for (uint32_t b = 0; !is_apart && b < step->dag->n_buf; b++) {
    if (of_images[b] || !is_block_constant(p, step, b)) continue;
    of_images[b] = has_repeated = true;
  }
  if (has_repeated) is_apart = seer_images_one(step->dag, p->n, of_images, p->scratch, &one, &why);
  if (!is_apart)
    return refuse(step,
        seer_arena_printf(p->scratch, "does not keep the images of a batch apart: its %s", why));
  if (!has_repeated) seer_map_set(p->proved, key, 1);  // of other constants it may not hold
  return SEER_OK;
}

static seer_status look_at_kernel(prover *p, const seer_step *step) {
  bool is_split[SEER_DAG_MAX_BUFFERS] = {0}, has_image = false, is_sized = false;
  for (uint32_t b = 0; b < step->dag->n_buf; b++) {
    seer_val v = step->value_of_buf[b];
    if (!v.i) continue;
    is_sized |= seer_value_is_sized(seer_graph_value(p->graph, v));
    is_split[b] = step->dag->buf[b].kind != SEER_BUF_STAGE && p->of_value[v.i] == IN_BLOCKS;
    has_image |= is_split[b];
  }
  if (has_image && is_sized) return refuse(step, "has sizes that only the data decides");
  if (has_image) SEER_TRY(prove_dag(p, step, is_split));
  for (uint32_t b = 0; b < step->dag->n_buf; b++)
    if (step->dag->buf[b].is_output && step->value_of_buf[b].i)
      p->of_value[step->value_of_buf[b].i] = has_image ? IN_BLOCKS : OF_NO_IMAGE;
  return SEER_OK;
}

// A whole is made by a view for each of its parts: they are all in blocks, or none is.
static seer_status look_at_view(prover *p, const seer_step *step) {
  blocks *out = &p->of_value[step->view_out.i];
  blocks in = p->of_value[step->view_in.i] == IN_BLOCKS ? IN_BLOCKS : OF_NO_IMAGE;
  bool is_apart =
      in != IN_BLOCKS || seer_images_are_same_blocks(p->graph, step->view_in, step->view_out, p->n);
  if (!is_apart || (*out != UNKNOWN && *out != in))
    return refuse(step, "makes a value in which the images of a batch do not lie apart");
  *out = in;
  return SEER_OK;
}

// What the runtime computes, and loops and branches: fine where no image goes in.
static seer_status look_at_other(prover *p, const seer_step *step) {
  for (uint32_t k = 0; k < seer_step_n_values(p->graph, step); k++) {
    bool is_made;
    seer_val v = seer_step_value(p->graph, step, k, &is_made);
    if (v.i && !is_made && p->of_value[v.i] == IN_BLOCKS)
      return refuse(step,
          seer_arena_printf(p->scratch, "(%s) is not known to keep the images of a batch apart",
              seer_step_node(p->graph, step)->op_type));
    if (v.i && is_made) p->of_value[v.i] = OF_NO_IMAGE;
  }
  if (step->kind == SEER_STEP_HOST) return SEER_OK;
  return refuse(step, "is a loop or a branch, of which nothing is known about images");
}

static seer_status look_at_steps(prover *p) {
  for (uint32_t s = 0; s < p->network->n_step; s++) {
    const seer_step *step = &p->network->step[s];
    switch (step->kind) {
      case SEER_STEP_KERNEL:
      case SEER_STEP_COPY:
        SEER_TRY(look_at_kernel(p, step));
        break;
      case SEER_STEP_VIEW:
        SEER_TRY(look_at_view(p, step));
        break;
      case SEER_STEP_HOST:
      case SEER_STEP_LOOP_BEGIN:
      case SEER_STEP_LOOP_END:
      case SEER_STEP_BRANCH:
        SEER_TRY(look_at_other(p, step));
        break;
    }
  }
  return SEER_OK;
}

// The caller has outputs dense, in the order of their dimensions.
static seer_status check_outputs(const prover *p) {
  for (uint32_t k = 0; k < p->graph->n_output; k++) {
    const seer_value *value = seer_graph_value(p->graph, p->graph->output[k]);
    bool is_dense = value->rank > 0 && value->dim[0] % p->n == 0 &&
        (!value->has_layout || value->order[0] == 0) && !seer_value_is_sized(value);
    if (is_dense && p->of_value[p->graph->output[k].i] == IN_BLOCKS) continue;
    return SEER_FAIL(UNSUPPORTED,
        "a range of batches: output '%s' has no part for each image of the "
        "batch; " SEER_RANGE_INSTEAD,
        seer_value_shown(value));
  }
  return SEER_OK;
}

seer_status seer_range_prove(const seer_range *range, const seer_network *network, uint32_t s) {
  if (range->size[s] == 1) return SEER_OK;
  seer_arena *scratch = seer_arena_create("range");
  prover p = {.network = network,
      .graph = network->graph,
      .scratch = scratch,
      .n = (uint32_t)range->size[s],
      .of_value = SEER_NEW_ARRAY(scratch, blocks, network->graph->n_value + 1),
      .proved = seer_map_create(scratch)};
  for (uint32_t k = 0; k < network->graph->n_input; k++)
    p.of_value[network->graph->input[k].i] = range->is_ranged[k] ? IN_BLOCKS : OF_NO_IMAGE;
  seer_status status = look_at_steps(&p);
  if (!status) status = check_outputs(&p);
  seer_arena_destroy(scratch);
  return status;
}
