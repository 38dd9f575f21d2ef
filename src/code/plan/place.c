// place.c - which values share memory, where it lies, and from which step to which.
//
// Where a value lives. Values that views connect share one place (their root). A root that holds a
// model input lives in the caller's input; one with a constant in the weights; else one with a
// model output in the caller's output; all others in the arena, for the steps from the first writer
// to the last reader. A step's outputs thus never lie on its inputs. Outputs that share a root with
// an input, a constant or another output get their bytes by a copy at the end. A branch's result
// shares its root with what a side makes as it; a result that the side has from elsewhere is
// copied. A part of another value has that value's root, and its own offset there: the root's
// memory lives from the first writer of any part to the last reader of any. What phases of a kernel
// leave to each other lies in the arena, too, for their step.
//
// An output that may share memory with an input (--share) is made there if nothing reads the input
// from then on: all that does comes before, or is the scatter into it that makes the output, which
// leaves the other rows alone. Else it is made in the arena, and copied when all is done.
//
// In a stretch (front/images.h) a root that nothing outside of it uses, and everything inside an
// image at a time, has memory for one image: in the arena, or, where images run apart, in memory
// that each thread has for itself. All other roots have memory for all images, and lie there from
// the stretch's first step to its last: the first image's results until the last image is done.
#include "code/plan/internal.h"
#include "front/images.h"

uint64_t seer_place_value_bytes(const seer_graph *graph, seer_val v) {
  const seer_value *value = seer_graph_value(graph, v);
  int64_t n = 1;
  for (uint32_t k = 0; k < value->rank; k++) n *= value->dim[k];
  return (uint64_t)n * seer_dtype_bytes(value->dtype);
}

// Where in its root's memory the value begins.
uint64_t seer_place_part_offset(const seer_graph *graph, seer_val v) {
  const seer_value *value = seer_graph_value(graph, v);
  return value->base.i ? (uint64_t)value->offset * seer_dtype_bytes(value->dtype) : 0;
}

static void use(seer_places *places, seer_val v, uint32_t step, uint64_t n_bytes) {
  seer_value_place *p = &places->place[seer_place_root(places, v)];
  if (!p->is_used || step < p->first) p->first = step;
  if (!p->is_used || step > p->last) p->last = step;
  if (n_bytes > p->n_bytes) p->n_bytes = n_bytes;
  p->is_used = true;
  p->home = SEER_HOME_OF_ALL;
}

const seer_stretch *seer_place_stretch(const seer_places *places, uint32_t s) {
  uint32_t stretch = places->network->step[s].stretch;
  return stretch ? &places->network->stretch[stretch - 1] : NULL;
}

static bool runs_apart(const seer_places *places, uint32_t s) {
  return seer_place_stretch(places, s) && seer_place_stretch(places, s)->is_apart;
}

// The stretch whose steps have one image of the value in buffer `k` of step s; NULL: all of it.
const seer_stretch *seer_place_stretch_of_operand(
    const seer_places *places, uint32_t s, uint32_t k) {
  const seer_step *step = &places->network->step[s];
  const seer_stretch *stretch = seer_place_stretch(places, s);
  bool is_one = stretch &&
      seer_images_is_one(
          places->graph, step->value_of_buf[k], &step->dag->buf[k], stretch->n_images);
  return is_one ? stretch : NULL;
}

static void use_operand(seer_places *places, uint32_t s, uint32_t k) {
  const seer_step *step = &places->network->step[s];
  const seer_dag_buf *buf = &step->dag->buf[k];
  seer_val v = step->value_of_buf[k];
  seer_value_place *p = &places->place[seer_place_root(places, v)];
  const seer_stretch *stretch = seer_place_stretch_of_operand(places, s, k);
  uint64_t n_bytes = (uint64_t)seer_dag_buf_elems(buf) * seer_dtype_bytes(buf->dtype);
  uint64_t offset = seer_place_part_offset(places->graph, v);
  bool is_home = stretch && (p->home == 0 || p->home == step->stretch);
  use(places, v, s, offset + n_bytes * (stretch ? stretch->n_images : 1));
  if (is_home) p->home = step->stretch;
  if (offset + n_bytes > p->image_bytes) p->image_bytes = offset + n_bytes;
}

// What has memory for all images keeps it while a stretch that uses it runs.
static void use_through_stretches(seer_places *places) {
  for (uint32_t k = 0; k < places->network->n_stretch; k++) {
    const seer_stretch *stretch = &places->network->stretch[k];
    uint32_t from = stretch->first, to = from + stretch->n_step - 1;
    for (uint32_t v = 1; v < places->graph->n_value; v++) {
      seer_value_place *p = &places->place[v];
      if (!p->is_used || p->home != SEER_HOME_OF_ALL) continue;
      if (p->first > from && p->first <= to) p->first = from;
      if (p->last >= from && p->last < to) p->last = to;
    }
  }
}

// What a loop works on lives from its begin to its end, and so does what its body reads from
// outside: the next iteration reads it again. Inner loops first.
static void use_loop_values(seer_places *places) {
  for (uint32_t s = places->network->n_step; s-- > 0;) {
    const seer_step *step = &places->network->step[s];
    if (step->kind != SEER_STEP_LOOP_BEGIN) continue;
    uint32_t end = s + 1 + step->n_body;
    for (uint32_t part = 0; part < 2; part++) {
      const seer_node *node =
          seer_step_node(places->graph, &places->network->step[part == 0 ? s : end]);
      for (uint32_t k = 0; k < node->n_in + node->n_out; k++) {
        seer_val v = k < node->n_in ? node->in[k] : node->out[k - node->n_in];
        if (v.i == 0) continue;
        if (part == 0 || k >= node->n_in)
          use(places, v, s, seer_place_value_bytes(places->graph, v));
        use(places, v, end, seer_place_value_bytes(places->graph, v));
      }
    }
    for (uint32_t v = 1; v < places->graph->n_value; v++) {
      seer_value_place *p = &places->place[v];
      if (p->is_used && p->first < s && p->last > s && p->last < end) p->last = end;
    }
  }
}

// Values of the runtime's own steps, and the sizes of the outputs, which are read when all is done.
static void use_host_values(seer_places *places) {
  const seer_graph *graph = places->graph;
  for (uint32_t s = 0; s < places->network->n_step; s++) {
    const seer_step *step = &places->network->step[s];
    const seer_node *node = seer_step_node(graph, step);
    for (uint32_t k = 0; node && k < node->n_in + node->n_out; k++) {
      seer_val v = k < node->n_in ? node->in[k] : node->out[k - node->n_in];
      uint32_t at = s;  // a branch moves its results behind its sides
      if (k > 0 && step->kind == SEER_STEP_BRANCH) at += step->n_then + step->n_else;
      if (v.i) use(places, v, at, seer_place_value_bytes(graph, v));
    }
  }
  for (uint32_t i = 0; i < graph->n_output; i++) {
    const seer_value *out = seer_graph_value(graph, graph->output[i]);
    if (seer_build_has_gaps(out))
      use(places, graph->output[i], places->network->n_step,
          seer_place_value_bytes(graph, graph->output[i]));
    for (uint32_t d = 0; d < out->rank; d++)
      if (out->size[d].i) use(places, out->size[d], places->network->n_step, sizeof(int64_t));
  }
}

uint32_t *seer_place_makers(const seer_places *places) {
  uint32_t *maker = SEER_NEW_ARRAY(places->arena, uint32_t, places->graph->n_value);
  for (uint32_t v = 0; v < places->graph->n_value; v++) maker[v] = UINT32_MAX;
  for (uint32_t s = 0; s < places->network->n_step; s++) {
    const seer_step *step = &places->network->step[s];
    if (step->kind == SEER_STEP_VIEW) {
      maker[step->view_out.i] = maker[step->view_in.i];
      continue;
    }
    for (uint32_t k = 0, n = seer_step_n_values(places->graph, step); k < n; k++) {
      bool is_made;
      seer_val v = seer_step_value(places->graph, step, k, &is_made);
      if (is_made) maker[v.i] = s;
    }
  }
  return maker;
}

// What a side makes as a result is made in the result's place, if it is not another result already.
static void join_branches(seer_places *places) {
  uint32_t *maker = NULL;
  bool *is_joined = SEER_NEW_ARRAY(places->arena, bool, places->graph->n_value);  // by root
  for (uint32_t s = 0; s < places->network->n_step; s++) {
    const seer_step *step = &places->network->step[s];
    if (step->kind != SEER_STEP_BRANCH) continue;
    if (!maker) maker = seer_place_makers(places);
    const seer_node *node = seer_step_node(places->graph, step);
    const uint32_t from[2] = {s + 1, s + 1 + step->n_then}, n[2] = {step->n_then, step->n_else};
    for (uint32_t k = 0; k < 2 * node->n_out; k++) {
      if (node->in[k + 1].i == 0) continue;  // of a side that is not built
      uint32_t side = k / node->n_out, made = seer_place_root(places, node->in[k + 1]);
      uint32_t at = maker[node->in[k + 1].i];
      bool is_own = at >= from[side] && at - from[side] < n[side];
      if (!is_own || is_joined[made] || node->out[k % node->n_out].i == 0) continue;
      places->root[made] = seer_place_root(places, node->out[k % node->n_out]);
      is_joined[seer_root_of(places->root, made)] = true;
    }
  }
}

static const seer_built_kernel *kernel_of(const seer_places *places, uint32_t s) {
  return seer_step_has_task(&places->network->step[s])
      ? &places->kernels->kernel[places->kernel_of_step[s]]
      : NULL;
}

static void list_between_phases(seer_places *places) {
  for (uint32_t s = 0; s < places->network->n_step; s++) {
    const seer_built_kernel *k = kernel_of(places, s);
    for (uint32_t i = 0; k && i < k->n_arg; i++) {
      const seer_kernel_arg *arg = &k->kernel.arg[i];
      if (arg->storage != SEER_STORE_SHARED) continue;
      places->between = SEER_GROW(places->arena, seer_between_phases, places->between,
          places->n_between, &places->cap_between);
      places->between[places->n_between++] =
          (seer_between_phases){.step = s, .n_bytes = arg->n_bytes > 0 ? arg->n_bytes : 1};
    }
  }
}

// The value lies in memory of one image: of a stretch.
bool seer_place_is_of_image(const seer_value_place *p) {
  bool is_ours = p->kind == 0 || p->kind == SEER_ARG_ARENA || p->kind == SEER_ARG_PRIVATE;
  return is_ours && p->home != 0 && p->home != SEER_HOME_OF_ALL;
}

static bool is_private(const seer_places *places, const seer_value_place *p) {
  return seer_place_is_of_image(p) && places->network->stretch[p->home - 1].is_apart;
}

// All that has no place yet and lies in the arena, or in what each thread has. Returns the bytes.
static uint64_t place_blocks(seer_places *places, seer_plan_arg_kind kind) {
  size_t n_value = places->graph->n_value;
  bool is_own = kind == SEER_ARG_PRIVATE;
  seer_memory_block *block =
      SEER_NEW_ARRAY(places->arena, seer_memory_block, n_value + places->n_between + 1);
  seer_value_place **of_block = SEER_NEW_ARRAY(places->arena, seer_value_place *, n_value + 1);
  uint32_t n = 0;
  for (uint32_t v = 1; v < n_value; v++) {
    seer_value_place *p = &places->place[v];
    if (!p->is_used || p->kind != 0 || is_private(places, p) != is_own) continue;
    uint64_t n_bytes = seer_place_is_of_image(p) ? p->image_bytes : p->n_bytes;
    of_block[n] = p;
    block[n++] = (seer_memory_block){n_bytes > 0 ? n_bytes : 1, p->first, p->last, 0};
  }
  uint32_t n_placed = n;
  for (size_t k = 0; k < places->n_between; k++) {
    const seer_between_phases *left = &places->between[k];
    if (runs_apart(places, left->step) == is_own)
      block[n++] = (seer_memory_block){left->n_bytes, left->step, left->step, 0};
  }
  uint64_t n_bytes = seer_memory_place(block, n, is_own ? 1 : places->n_threads, places->arena);
  for (uint32_t k = 0; k < n_placed; k++) {
    of_block[k]->kind = kind;
    of_block[k]->offset = block[k].offset;
  }
  n = n_placed;
  for (size_t k = 0; k < places->n_between; k++)
    if (runs_apart(places, places->between[k].step) == is_own)
      places->between[k].offset = block[n++].offset;
  return n_bytes;
}

// Step s puts rows into the input whose root is `to`, makes no other value of it, and reads it as
// nothing else.
static bool is_scatter_into(const seer_places *places, uint32_t s, uint32_t to, uint32_t out) {
  const seer_step *step = &places->network->step[s];
  const seer_node *node = seer_step_node(places->graph, step);
  if (step->kind != SEER_STEP_HOST || step->stretch || !node) return false;
  bool is_scatter =
      node->op->host == SEER_HOST_SCATTER_ELEMENTS || node->op->host == SEER_HOST_SCATTER_ND;
  bool fits = is_scatter && seer_place_root(places, node->in[0]) == to &&
      seer_place_root(places, node->out[0]) == out;
  for (uint32_t k = 1; k < node->n_in && fits; k++)
    fits = !node->in[k].i || seer_place_root(places, node->in[k]) != to;
  return fits;
}

static bool is_in_place(const seer_places *places, const seer_shared *pair) {
  const seer_graph *graph = places->graph;
  uint32_t in = seer_place_root(places, graph->input[pair->input]),
           out = seer_place_root(places, graph->output[pair->output]);
  const seer_value_place *x = &places->place[in], *y = &places->place[out];
  if (in == out || !x->is_used || !y->is_used || x->last < y->first) return true;
  return x->last == y->first && is_scatter_into(places, y->first, in, out);
}

// Outputs that are inputs as they came, and those that are not made where they will be, are read
// when all is done.
static void use_shared(seer_places *places) {
  const seer_graph *graph = places->graph;
  places->is_in_place = SEER_NEW_ARRAY(places->arena, bool, graph->n_shared + 1);
  if (graph->n_shared == 0) return;
  for (uint32_t k = 0; k < graph->n_output; k++)
    for (uint32_t i = 0; i < graph->n_input; i++)
      if (seer_place_root(places, graph->output[k]) == seer_place_root(places, graph->input[i]))
        use(places, graph->output[k], places->network->n_step,
            seer_place_value_bytes(graph, graph->output[k]));
  for (uint32_t k = 0; k < graph->n_shared; k++)
    places->is_in_place[k] = is_in_place(places, &graph->shared[k]);
  for (uint32_t k = 0; k < graph->n_shared; k++) {
    seer_val out = graph->output[graph->shared[k].output];
    if (!places->is_in_place[k])
      use(places, out, places->network->n_step, seer_place_value_bytes(graph, out));
  }
}

// Output i has memory of its own, or an input's in which it can be made.
static bool is_made_in_output(const seer_places *places, uint32_t i) {
  for (uint32_t k = 0; k < places->graph->n_shared; k++)
    if (places->graph->shared[k].output == i) return places->is_in_place[k];
  return true;
}

// Views, then who is an input, an output, or in the arena and for how long.
void seer_place_values(seer_places *places) {
  const seer_graph *graph = places->graph;
  places->root = SEER_NEW_ARRAY(places->arena, uint32_t, graph->n_value + 1);
  places->place = SEER_NEW_ARRAY(places->arena, seer_value_place, graph->n_value + 1);
  for (uint32_t v = 0; v < graph->n_value; v++)
    places->root[v] = graph->value[v].base.i ? graph->value[v].base.i : v;
  for (uint32_t s = 0; s < places->network->n_step; s++) {
    const seer_step *step = &places->network->step[s];
    if (step->kind != SEER_STEP_VIEW) continue;
    places->root[seer_place_root(places, step->view_out)] = seer_place_root(places, step->view_in);
  }
  join_branches(places);
  for (uint32_t s = 0; s < places->network->n_step; s++) {
    const seer_step *step = &places->network->step[s];
    if (!seer_step_has_task(step)) continue;
    for (uint32_t k = 0; k < step->dag->n_buf; k++)
      if (step->value_of_buf[k].i) use_operand(places, s, k);
  }
  use_host_values(places);
  use_loop_values(places);
  use_through_stretches(places);
  use_shared(places);
  for (uint32_t i = 0; i < graph->n_input; i++)
    places->place[seer_place_root(places, graph->input[i])] =
        (seer_value_place){.kind = SEER_ARG_INPUT, .offset = i, .is_used = true};
  for (uint32_t v = 1; v < graph->n_value; v++) {
    seer_value_place *p = &places->place[seer_root_of(places->root, v)];
    if (graph->value[v].constant && p->kind == 0 && seer_root_of(places->root, v) == v)
      p->kind = SEER_ARG_WEIGHT;
  }
  for (uint32_t i = 0; i < graph->n_output; i++) {
    seer_value_place *p = &places->place[seer_place_root(places, graph->output[i])];
    if (seer_build_has_gaps(seer_graph_value(graph, graph->output[i]))) continue;
    if (p->kind == 0 && is_made_in_output(places, i))
      *p = (seer_value_place){.kind = SEER_ARG_OUTPUT, .offset = i, .is_used = true};
  }
  list_between_phases(places);
  places->arena_bytes = place_blocks(places, SEER_ARG_ARENA);
  if (places->network->n_stretch > 0)
    places->private_bytes = place_blocks(places, SEER_ARG_PRIVATE);
}
