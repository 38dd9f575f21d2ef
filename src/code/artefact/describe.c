// describe.c - what a person, or a program, wants to know of a built model: model.json (also inside
// model.so) and model.h with a name for every input and output.
#include <string.h>

#include "base/map.h"
#include "code/artefact/internal.h"
#include "front/bind.h"
#include "front/bind/literal.h"
#include "front/custom/custom.h"

static const char *c_type(seer_dtype dtype) {
  switch (dtype) {
    case SEER_DTYPE_F32:
      return "float";
    case SEER_DTYPE_F64:
      return "double";
    case SEER_DTYPE_I8:
    case SEER_DTYPE_I4:
    case SEER_DTYPE_I2:
      return "int8_t";
    case SEER_DTYPE_I16:
      return "int16_t";
    case SEER_DTYPE_I32:
      return "int32_t";
    case SEER_DTYPE_I64:
      return "int64_t";
    case SEER_DTYPE_U8:
    case SEER_DTYPE_BOOL:
    case SEER_DTYPE_U4:
    case SEER_DTYPE_U2:
    case SEER_DTYPE_F4E2M1:
    case SEER_DTYPE_F8E8M0:
    case SEER_DTYPE_F8E4M3FN:
    case SEER_DTYPE_F8E4M3FNUZ:
    case SEER_DTYPE_F8E5M2:
    case SEER_DTYPE_F8E5M2FNUZ:
      return "uint8_t";
    case SEER_DTYPE_U16:
    case SEER_DTYPE_F16:
    case SEER_DTYPE_BF16:
      return "uint16_t";
    case SEER_DTYPE_U32:
      return "uint32_t";
    case SEER_DTYPE_U64:
      return "uint64_t";
    case SEER_DTYPE_NONE:
    case SEER_DTYPE_COUNT:
      return "void";
  }
  return "void";
}

// ---- json. Names come from files: they are made safe to show first.
static void put_json_line(seer_text *text, const char *line) {
  for (const char *s = seer_text_safe_whole(text->arena, line); *s; s++) {
    if (*s == '"' || *s == '\\') seer_text_put(text, "\\");
    seer_text_put_n(text, s, 1);
  }
}

// Schedules have lines.
static void put_json(seer_text *text, const char *string) {
  const char *at = string ? string : "";
  seer_text_put(text, "\"");
  for (;;) {
    size_t n = strcspn(at, "\n");
    put_json_line(text, seer_arena_strndup(text->arena, at, n));
    at += n;
    if (!*at) break;
    seer_text_put(text, "\\n");
    at++;
  }
  seer_text_put(text, "\"");
}

// Inputs or outputs.
static void put_values(
    seer_text *text, const char *key, const seer_graph *graph, const seer_val *values, uint32_t n) {
  seer_text_printf(text, "  \"%s\": [", key);
  for (uint32_t i = 0; i < n; i++) {
    const seer_value *v = seer_graph_value(graph, values[i]);
    seer_text_put(text, i > 0 ? ",\n    {\"name\": " : "\n    {\"name\": ");
    put_json(text, v->name);
    seer_text_printf(text, ", \"dtype\": \"%s\", \"shape\": [", seer_dtype_name(v->dtype));
    for (uint32_t k = 0; k < v->rank; k++)
      seer_text_printf(text, "%s%" PRId64, k > 0 ? ", " : "", v->dim[k]);
    if (seer_value_is_sized(v)) {
      // dimensions whose size a run decides: the shape says at most how much
      const char *before = "], \"bounded\": [";
      for (uint32_t k = 0; k < v->rank; k++) {
        if (v->size[k].i == 0) continue;
        seer_text_printf(text, "%s%u", before, k);
        before = ", ";
      }
    }
    seer_text_put(text, "]}");
  }
  seer_text_put(text, n > 0 ? "\n  ],\n" : "],\n");
}

// Inputs that --bind has made constants: enough to make the same library again, or to see that
// another one was given.
static void put_bound(seer_text *text, const seer_graph *graph, seer_arena *arena) {
  if (graph->n_bound == 0) return;
  seer_text_put(text, "  \"bound\": [");
  for (uint32_t i = 0; i < graph->n_bound; i++) {
    const seer_tensor *tensor = &graph->bound[i].tensor;
    const char *value = seer_literal_print(tensor, SEER_BOUND_SHOWN, arena);
    seer_text_put(text, i > 0 ? ",\n    {\"name\": " : "\n    {\"name\": ");
    put_json(text, graph->bound[i].name);
    seer_text_printf(text, ", \"dtype\": \"%s\", \"shape\": [", seer_dtype_name(tensor->dtype));
    for (uint32_t k = 0; k < tensor->rank; k++)
      seer_text_printf(text, "%s%" PRId64, k > 0 ? ", " : "", tensor->dim[k]);
    seer_text_printf(
        text, "], \"hash\": \"%016" PRIx64 "\"", seer_hash_bytes(tensor->data, tensor->n_bytes, 0));
    if (value) seer_text_printf(text, ", \"value\": \"%s\"", value);
    seer_text_put(text, "}");
  }
  seer_text_put(text, "\n  ],\n");
}

// Pairs that --share names. in_place: in all sets the output is made in the input's memory; else it
// is copied there in the end.
static void put_shared(seer_text *text, const seer_network *network, const seer_built_plan *plan) {
  const seer_graph *graph = network->graph;
  if (graph->n_shared == 0) return;
  seer_text_put(text, "  \"shared\": [");
  for (uint32_t k = 0; k < graph->n_shared; k++) {
    bool is_in_place = true;
    for (uint32_t s = 0; s < network->n_set; s++) is_in_place &= plan[s].is_in_place[k];
    seer_text_put(text, k > 0 ? ",\n    {\"input\": " : "\n    {\"input\": ");
    put_json(text, seer_graph_value(graph, graph->input[graph->shared[k].input])->name);
    seer_text_put(text, ", \"output\": ");
    put_json(text, seer_graph_value(graph, graph->output[graph->shared[k].output])->name);
    seer_text_printf(text, ", \"in_place\": %s}", is_in_place ? "true" : "false");
  }
  seer_text_put(text, "\n  ],\n");
}

static void put_branch(seer_text *text, const seer_step *step, const seer_node *node) {
  seer_text_printf(
      text, ", \"kind\": \"branch\", \"then\": %u, \"else\": %u", step->n_then, step->n_else);
  if (seer_branch_why(node)) {
    seer_text_printf(
        text, ", \"not_built\": \"%s\", \"why\": ", seer_branch_lacks_then(node) ? "then" : "else");
    put_json(text, seer_branch_why(node));
  }
  seer_text_put(text, "}");
}

static void put_kernel(seer_text *text, const seer_step *step, const seer_kernel *kernel) {
  seer_text_printf(text, ", \"kind\": \"%s\", \"task\": %u, \"symbol\": \"%s\", \"parts\": [",
      step->kind == SEER_STEP_COPY ? "copy" : "kernel", step->task, kernel->symbol);
  for (uint32_t p = 0; p < kernel->n_phase; p++)
    seer_text_printf(text, "%s%u", p > 0 ? ", " : "", kernel->n_parts[p]);
  seer_text_put(text, "]}");
}

static void put_custom(seer_text *text, const seer_node *node) {
  seer_text_put(text, ", \"kind\": \"custom\", \"domain\": ");
  put_json(text, node->domain);
  seer_text_put(text, ", \"function\": ");
  put_json(text, node->op_type);
  seer_text_put(text, "}");
}

static void put_steps(seer_text *text, const seer_network *network,
    const seer_built_kernels *kernels, const uint32_t *kernel_of_step) {
  seer_text_put(text, "  \"steps\": [");
  for (uint32_t s = 0; s < network->n_step; s++) {
    const seer_step *step = &network->step[s];
    seer_text_put(text, s > 0 ? ",\n    {\"name\": " : "\n    {\"name\": ");
    put_json(text, step->name);
    switch (step->kind) {
      case SEER_STEP_VIEW:
        seer_text_put(text, ", \"kind\": \"view\"}");
        break;
      case SEER_STEP_HOST:
        if (seer_custom_of(seer_step_node(network->graph, step))) {
          put_custom(text, seer_step_node(network->graph, step));
          break;
        }
        // fall through
      // "LoopBegin" and "LoopEnd": as who reads it has always found them
      case SEER_STEP_LOOP_BEGIN:
      case SEER_STEP_LOOP_END:
        seer_text_printf(text, ", \"kind\": \"host\", \"function\": \"%s\"}",
            seer_step_node(network->graph, step)->op_type);
        break;
      case SEER_STEP_BRANCH:
        put_branch(text, step, seer_step_node(network->graph, step));
        break;
      case SEER_STEP_KERNEL:
      case SEER_STEP_COPY:
        put_kernel(text, step, &kernels->kernel[kernel_of_step[s]].kernel);
        break;
    }
  }
  seer_text_put(text, network->n_step > 0 ? "\n  ]" : "]");
}

// Steps of a batch that run image by image; nothing where there are none.
static void put_stretches(seer_text *text, const seer_network *network) {
  if (network->n_stretch == 0) return;
  seer_text_put(text, ",\n  \"stretches\": [");
  for (uint32_t k = 0; k < network->n_stretch; k++) {
    const seer_stretch *stretch = &network->stretch[k];
    seer_text_put(text, k > 0 ? ",\n    {\"first\": " : "\n    {\"first\": ");
    put_json(text, network->step[stretch->first].name);
    seer_text_put(text, ", \"last\": ");
    put_json(text, network->step[stretch->first + stretch->n_step - 1].name);
    seer_text_printf(text, ", \"steps\": %u, \"images\": %u, \"run\": \"%s\"}", stretch->n_step,
        stretch->n_images, stretch->is_apart ? "one a thread" : "one after another");
  }
  seer_text_put(text, "\n  ]");
}

static void put_memory(
    seer_text *text, uint64_t activations, uint64_t shared, uint64_t per_thread) {
  seer_text_printf(text,
      "  \"memory\": {\"activations\": %" PRIu64 ", \"shared\": %" PRIu64
      ", \"per_thread\": %" PRIu64 "},\n",
      activations, shared, per_thread);
}

// Inputs, outputs, memory and steps of each set, when there are several.
static void put_sets(seer_text *text, const seer_network *network,
    const seer_built_kernels *kernels, const seer_built_plan *plan) {
  if (network->n_set == 1) return;
  seer_text_put(text, ",\n  \"sets\": [");
  for (uint32_t s = 0; s < network->n_set; s++) {
    const seer_network *set = network->set[s];
    seer_text_put(text, s > 0 ? ",\n  {\n" : "\n  {\n");
    put_values(text, "inputs", set->graph, set->graph->input, set->graph->n_input);
    put_values(text, "outputs", set->graph, set->graph->output, set->graph->n_output);
    put_memory(text, plan[s].header.arena_bytes, plan[s].header.shared_bytes,
        plan[s].header.scratch_bytes + plan[s].private_bytes);
    put_steps(text, set, kernels, kernels->of_step[s]);
    put_stretches(text, set);
    seer_text_put(text, "\n  }");
  }
  seer_text_put(text, "\n  ]");
}

// The range, the sizes that have sets, and of each other size the sizes that it is run as.
static void put_range(seer_text *text, const seer_range *range, const uint32_t *next) {
  if (!range) return;
  seer_text_printf(text,
      ",\n  \"range\": {\"first\": %" PRId64 ", \"last\": %" PRId64 ", \"sets\": [", range->first,
      range->last);
  for (uint32_t k = 0; k < range->n; k++)
    seer_text_printf(text, "%s%" PRId64, k > 0 ? ", " : "", range->size[k]);
  seer_text_put(text, "], \"splits\": {");
  const char *before = "";
  for (int64_t size = range->first; size <= range->last; size++) {
    if (range->size[next[size] - 1] == size) continue;
    seer_text_printf(text, "%s\n    \"%" PRId64 "\": [", before, size);
    before = ",";
    for (int64_t left = size; left > 0; left -= range->size[next[left] - 1])
      seer_text_printf(text, "%s%" PRId64, left < size ? ", " : "", range->size[next[left] - 1]);
    seer_text_put(text, "]");
  }
  seer_text_put(text, "}}");
}

const char *seer_build_json(const seer_context *context, const seer_network *network,
    const seer_built_kernels *kernels, const seer_choice *choice, const seer_built_plan *plan,
    seer_arena *arena) {
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_printf(
      &text, "{\n  \"format\": 1,\n  \"made_by\": \"familyseer %s\",\n  \"model\": ", SEER_VERSION);
  put_json(&text, network->graph->name);
  seer_text_put(&text, ",\n  \"target\": ");
  put_json(&text, seer_target_print(seer_context_target(context), arena));
  seer_text_put(&text, ",\n  \"cpu\": ");
  put_json(&text, seer_context_target(context)->cpu);
  seer_text_put(&text, ",\n  \"cpu_features\": ");
  put_json(&text, seer_context_target(context)->features);
  seer_text_put(&text, ",\n");
  const char *precision = seer_context_str(context, SEER_OPT_PRECISION);
  if (strcmp(precision, seer_precision_name(SEER_PRECISION_F32)) != 0)
    seer_text_printf(&text, "  \"precision\": \"%s\",\n", precision);
  if (plan[0].header.flushes_denormals) seer_text_put(&text, "  \"denormals\": \"flushed\",\n");
  put_values(&text, "inputs", network->graph, network->graph->input, network->graph->n_input);
  put_values(&text, "outputs", network->graph, network->graph->output, network->graph->n_output);
  put_bound(&text, network->graph, arena);
  put_shared(&text, network, plan);
  seer_text_printf(&text,
      "  \"weights\": {\"bytes\": %" PRIu64 ", \"hash\": \"%016" PRIx64 "\"},\n",
      plan[0].header.weight_bytes, plan[0].header.weight_hash);
  uint64_t most[3] = {0, 0, 0};  // a session has room for every set
  for (uint32_t s = 0; s < network->n_set; s++) {
    const seer_plan_header *h = &plan[s].header;
    const uint64_t own[3] = {
        h->arena_bytes, h->shared_bytes, h->scratch_bytes + plan[s].private_bytes};
    for (int k = 0; k < 3; k++)
      if (own[k] > most[k]) most[k] = own[k];
  }
  put_memory(&text, most[0], most[1], most[2]);
  seer_text_put(&text, "  \"tasks\": [");
  for (uint32_t t = 0; t < network->n_task; t++) {
    const seer_task *task = &network->task[t];
    const seer_choice *c = &choice[t];
    seer_text_put(&text, t > 0 ? ",\n    {" : "\n    {");
    seer_text_printf(&text, "\"id\": %u, \"name\": ", task->id);
    put_json(&text, task->name);
    seer_text_printf(
        &text, ", \"weight\": %u, \"flops\": %.0f, \"source\": ", task->weight, task->flops);
    put_json(&text, seer_origin_name(c->origin));
    bool is_in_network = c->network_seconds > 0;
    double seconds = is_in_network ? c->network_seconds : c->seconds;
    if (seconds > 0) seer_text_printf(&text, ", \"seconds\": %.9g", seconds);
    if (c->n_pairs > 0)
      seer_text_printf(&text, ", \"untuned_seconds\": %.9g, \"speedup\": %.6g, \"pairs\": %u",
          is_in_network ? seconds * c->speedup : c->untuned_seconds, c->speedup, c->n_pairs);
    seer_text_put(&text, ", \"schedule\": ");
    put_json(&text, seer_schedule_print(c->sketches, &c->schedule, arena));
    seer_text_put(&text, "}");
  }
  seer_text_put(&text, network->n_task > 0 ? "\n  ],\n" : "],\n");
  put_steps(&text, network, kernels, kernels->of_step[0]);
  put_stretches(&text, network);
  put_sets(&text, network, kernels, plan);
  put_range(&text, network->range, plan[0].next);
  seer_text_put(&text, "\n}\n");
  return text.data;
}

// ---- model.h
// `name`, or `name_<number>` when that is taken. `taken` holds, for each name, the number to try
// next: thousands of equal names are no thousands of thousands of tries.
static const char *unique_name(seer_map *taken, const char *name, seer_arena *arena) {
  const char *unique = name;
  uint64_t next = 2;
  bool is_taken = seer_map_get_str(taken, name, &next);
  while (is_taken && seer_map_get_str(taken, unique, NULL))
    unique = seer_arena_printf(arena, "%s_%" PRIu64, name, next++);
  seer_map_set_str(taken, unique, 2);
  if (is_taken) seer_map_set_str(taken, name, next);
  return unique;
}

// A C name in the given case, at most C_NAME_BYTES long; what C does not allow becomes _. Names
// made equal by this get a number.
enum { C_NAME_BYTES = 200 };
static const char *c_name(
    seer_map *taken, const char *prefix, const char *name, bool is_upper, seer_arena *arena) {
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_put(&text, prefix);
  if (!*prefix && (*name >= '0' && *name <= '9')) seer_text_put(&text, "m");
  for (const char *s = name; *s && s < name + C_NAME_BYTES; s++) {
    char c = *s;
    bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (is_letter)
      c = (char)(is_upper ? c & ~0x20 : c | 0x20);
    else if (!(c >= '0' && c <= '9'))
      c = '_';
    seer_text_put_n(&text, &c, 1);
  }
  if (text.n_bytes == 0) seer_text_put(&text, is_upper ? "MODEL" : "model");
  return taken ? unique_name(taken, text.data, arena) : text.data;
}

typedef struct {
  const char *upper, *lower;
} io_name;

static seer_val io_value(const seer_graph *graph, bool is_input, uint32_t i) {
  return is_input ? graph->input[i] : graph->output[i];
}

// The number of elements is that of the largest set of shapes: a buffer for all.
static void put_defines(seer_text *text, const seer_network *network, const char *upper,
    bool is_input, const io_name *names, uint32_t n) {
  const char *kind = is_input ? "INPUT" : "OUTPUT";
  for (uint32_t i = 0; i < n; i++) {
    int64_t most = 0;
    seer_text_printf(text, "\n// %s: ", names[i].lower);
    for (uint32_t s = 0; s < network->n_set; s++) {
      const seer_graph *graph = network->set[s]->graph;
      const seer_value *v = seer_graph_value(graph, io_value(graph, is_input, i));
      int64_t n_elems = 1;
      seer_text_printf(text, "%s%s[", s > 0 ? "; " : "", seer_dtype_name(v->dtype));
      for (uint32_t k = 0; k < v->rank; k++) {
        seer_text_printf(
            text, "%s%s%" PRId64, k > 0 ? "," : "", v->size[k].i ? "<=" : "", v->dim[k]);
        n_elems *= v->dim[k];
      }
      seer_text_put(text, "]");
      most = seer_max_i64(most, n_elems);
    }
    seer_text_printf(text, "\n#define %s_%s_%s %u\n", upper, kind, names[i].upper, i);
    seer_text_printf(
        text, "#define %s_%s_%s_ELEMS ((size_t)%" PRId64 ")\n", upper, kind, names[i].upper, most);
  }
}

const char *seer_build_header(const seer_network *network, seer_arena *arena) {
  const seer_graph *graph = network->graph;
  const char *upper = c_name(NULL, "", graph->name, true, arena);
  const char *lower = c_name(NULL, "", graph->name, false, arena);
  uint32_t n = graph->n_input + graph->n_output;
  io_name *names = SEER_NEW_ARRAY(arena, io_name, n + 1);
  seer_map *taken_upper = seer_map_create(arena), *taken_lower = seer_map_create(arena);
  for (uint32_t i = 0; i < n; i++) {
    seer_val v = i < graph->n_input ? graph->input[i] : graph->output[i - graph->n_input];
    const char *name = seer_value_shown(seer_graph_value(graph, v));
    names[i].upper = c_name(taken_upper, "", name, true, arena);
    names[i].lower = c_name(taken_lower, i < graph->n_input ? "in_" : "out_", name, false, arena);
  }
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_printf(&text,
      "// Made by familyseer %s. Inputs and outputs are dense, row-major, in ONNX's order of "
      "dimensions.\n",
      SEER_VERSION);
  seer_text_printf(&text,
      "#ifndef SEER_MODEL_%s_H\n#define SEER_MODEL_%s_H\n\n#include <seer/runtime.h>\n", upper,
      upper);
  if (network->n_set > 1)
    seer_text_printf(&text,
        "\n// Sets of input shapes, in the order in which the shapes are listed below: api->select "
        "takes 0 to %u,\n// api->find_set finds one by shapes. Sizes are those of the largest "
        "set.\n"
        "#define %s_SETS %u\n",
        network->n_set - 1, upper, network->n_set);
  put_defines(&text, network, upper, true, names, graph->n_input);
  put_defines(&text, network, upper, false, names + graph->n_input, graph->n_output);
  seer_text_printf(&text,
      "\n// Binds everything%s; buffers stay in use until other ones are bound.\n",
      network->n_set > 1 ? " for the selected set" : "");
  seer_text_printf(&text,
      "static inline seer_rt_code %s_bind(const seer_model_api *api, seer_session *session", lower);
  for (uint32_t i = 0; i < n; i++) {
    bool is_input = i < graph->n_input;
    seer_val v = is_input ? graph->input[i] : graph->output[i - graph->n_input];
    seer_text_printf(&text, ",\n    %s%s *%s", is_input ? "const " : "",
        c_type(seer_graph_value(graph, v)->dtype), names[i].lower);
  }
  seer_text_put(&text, ") {\n  seer_rt_code code = SEER_RT_OK;\n");
  for (uint32_t i = 0; i < n; i++) {
    bool is_input = i < graph->n_input;
    seer_text_printf(&text, "  if (code == SEER_RT_OK) code = api->bind_%s(session, %u, %s);\n",
        is_input ? "input" : "output", is_input ? i : i - graph->n_input, names[i].lower);
  }
  seer_text_put(&text, "  return code;\n}\n\n#endif\n");
  return text.data;
}
