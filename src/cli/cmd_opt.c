// cmd_opt.c - familyseer opt --pass=a,b FILE: any piece of the compiler on a text form, for people
// who work on it and for golden tests. The first word of the text says what it is; what is no text
// is read as ONNX.
//   graph: resolve, then passes of the pass table (fold, sink, simplify, layout, narrow), then
//   task; prints the graph, or the tasks
//   dag:   verify, key; prints the dag, or its key
// With --dump also the forms that follow, of each dag under its untuned schedule: sketches, loops,
// features, assembly.
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "code/dump.h"
#include "front/bind.h"
#include "front/front.h"
#include "front/limit.h"
#include "tune/select/choose.h"

static const seer_pass_desc *find_pass(const char *name) {
  for (size_t k = 0; k < seer_pass_table_count; k++) {
    if (strcmp(seer_pass_table[k]->name, name) == 0) return seer_pass_table[k];
  }
  return NULL;
}

static void print_value(const seer_graph *graph, seer_val v, seer_arena *arena) {
  const seer_value *value = seer_graph_value(graph, v);
  printf(" %s%s", value->constant ? "$" : "%", seer_text_safe(arena, value->name));
}

static void print_network(const seer_network *network, seer_arena *arena) {
  const seer_graph *graph = network->graph;
  static const char *const kinds[] = {[SEER_STEP_KERNEL] = "kernel",
      [SEER_STEP_VIEW] = "view",
      [SEER_STEP_COPY] = "copy",
      [SEER_STEP_HOST] = "host"};
  for (uint32_t k = 0; k < network->n_task; k++) {
    const seer_task *task = &network->task[k];
    printf("# task %u, %s, weight %u: %s\n%s", task->id, task->anchor_class, task->weight,
        task->name, seer_dag_print(task->dag, arena));
  }
  for (uint32_t k = 0; k < network->n_step; k++) {
    const seer_step *step = &network->step[k];
    printf("# step %u %s", k, kinds[step->kind]);
    if (step->kind == SEER_STEP_VIEW) {
      print_value(graph, step->view_in, arena);
      printf(" ->");
      print_value(graph, step->view_out, arena);
    } else if (step->kind == SEER_STEP_HOST) {
      const seer_node *node = seer_graph_node(graph, step->host);
      printf(" %s:", node->op_type);
      for (uint32_t i = 0; i < node->n_in; i++)
        if (node->in[i].i) print_value(graph, node->in[i], arena);
      printf(" ->");
      for (uint32_t i = 0; i < node->n_out; i++)
        if (node->out[i].i) print_value(graph, node->out[i], arena);
      if (node->op->host == SEER_OP_BRANCH)
        printf(", then %u steps, else %u", step->n_then, step->n_else);
    } else {
      printf(" task %u:", step->task);
      for (uint32_t b = 0; b < step->dag->n_buf; b++) {
        if (!step->value_of_buf[b].i) continue;
        if (step->dag->buf[b].is_output) printf(" ->");
        print_value(graph, step->value_of_buf[b], arena);
      }
    }
    printf("\n");
  }
}

// ---- what follows a dag
static seer_status dump_dag(
    seer_context *context, const seer_dag *dag, const char *name, seer_arena *arena) {
  const seer_target *target = seer_context_target(context);
  seer_sketch_list *sketches;
  seer_schedule schedule;
  double seconds;
  seer_loop *loop;
  seer_codegen *codegen;
  SEER_TRY(seer_sketch_generate(dag, target, seer_choice_space(context), arena, &sketches));
  const uint64_t seed = 1;  // as compile's, if none is given
  SEER_TRY(seer_choose_untuned(target, sketches, 0, seed, 0, &schedule, &seconds));
  SEER_TRY(seer_loop_lower(sketches, &schedule, arena, &loop));
  SEER_TRY(seer_codegen_create(context, target, &codegen));
  seer_dump_forms forms = {name, dag, sketches, &schedule, loop};
  seer_status status = seer_dump_write(context, codegen, &forms);
  seer_codegen_destroy(codegen);
  return status;
}

static seer_status dump_tasks(
    seer_context *context, const seer_network *network, seer_arena *arena) {
  if (!seer_dump_any(context)) return SEER_OK;
  SEER_TRY(seer_context_find_target(context));
  for (uint32_t t = 0; t < network->n_task; t++) {
    const char *name = seer_arena_printf(arena, "task%u", t);
    SEER_TRYF(dump_dag(context, network->task[t].dag, name, arena), "task %u, %s", t,
        network->task[t].name);
  }
  return SEER_OK;
}

// ---- graphs and dags
static seer_status opt_graph(
    seer_context *context, seer_graph *graph, const char *passes, seer_arena *arena) {
  bool is_resolved = false, is_network = false;
  for (const char *at = passes; *at;) {
    size_t n = strcspn(at, ",");
    const char *name = seer_arena_strndup(arena, at, n);
    at += n + (at[n] == ',');
    const seer_pass_desc *pass = find_pass(name);
    bool is_task = strcmp(name, "task") == 0;
    if (!pass && !is_task && strcmp(name, "resolve") != 0) {
      return seer_cli_usage_error(
          "unknown pass '%s' of a graph; known are resolve, fold, sink, simplify, layout, narrow, "
          "task",
          name);
    }
    if (!is_resolved) {
      const char *notice, *shapes;
      SEER_TRY(seer_graph_bind(context, graph));
      SEER_TRY(seer_cli_one_shape(context, &shapes));
      SEER_TRY(seer_front_resolve(graph, shapes, &notice));
      if (notice[0]) fprintf(stderr, "%s\n", seer_text_safe_whole(arena, notice));
      is_resolved = true;
    }
    if (pass) SEER_TRY(seer_front_run_pass(context, graph, pass));
    if (is_task) {
      seer_network *network;
      SEER_TRY(seer_network_build(context, graph, arena, &network));
      print_network(network, arena);
      SEER_TRY(dump_tasks(context, network, arena));
      is_network = true;
    }
  }
  if (!is_network) fputs(seer_graph_print(graph, arena), stdout);
  return SEER_OK;
}

static seer_status opt_dag(seer_context *context, const char *source, const char *text,
    size_t n_bytes, const char *passes, seer_arena *arena) {
  seer_dag *dag;
  SEER_TRY(seer_dag_parse(source, text, n_bytes, arena, &dag));
  seer_dag_finish(dag);
  SEER_TRY(seer_dag_verify(dag));
  if (seer_dump_any(context)) {
    SEER_TRY(seer_context_find_target(context));
    SEER_TRY(dump_dag(context, dag, dag->name, arena));
  }
  if (strcmp(passes, "key") == 0) {
    seer_dag_key key = seer_dag_hash(dag);
    printf("structure %016" PRIx64 "\nshape %016" PRIx64 "\ncontent %016" PRIx64 "\nclass %s\n",
        key.structure, key.shape, key.content, seer_dag_anchor_class(dag, arena));
    return SEER_OK;
  }
  if (passes[0] && strcmp(passes, "verify") != 0) {
    return seer_cli_usage_error("unknown pass '%s' of a dag; known are verify, key", passes);
  }
  fputs(seer_dag_print(dag, arena), stdout);
  return SEER_OK;
}

static bool starts_with(const char *text, size_t n_bytes, const char *keyword) {
  seer_scan scan;
  seer_scan_init(&scan, "", text, n_bytes);
  return seer_scan_peek(&scan, keyword);
}

typedef struct {
  seer_context *context;
  const char *file;
} job;

static seer_status run_within(void *user) {
  const job *j = user;
  seer_context *context = j->context;
  const char *passes = seer_context_str(context, SEER_OPT_PASS);
  seer_arena *arena = seer_arena_create("opt");
  seer_graph *graph = NULL;
  char *text;
  size_t n_bytes;
  seer_status status = seer_front_read_text(context, j->file, arena, &text, &n_bytes);
  if (!status && starts_with(text, n_bytes, "dag")) {
    status = opt_dag(context, seer_os_path_base(j->file), text, n_bytes, passes, arena);
  } else if (!status && starts_with(text, n_bytes, "graph")) {
    status = seer_graph_parse(seer_os_path_base(j->file), text, n_bytes, arena, &graph);
  } else if (!status) {
    status = seer_onnx_read(j->file, arena, &graph);
  }
  if (!status && graph) status = opt_graph(context, graph, passes, arena);
  if (graph) seer_graph_close(graph);
  seer_arena_destroy(arena);
  return status;
}

static seer_status run(seer_context *context, int argc, char **argv) {
  (void)argc;
  job j = {context, argv[0]};
  return seer_front_limited(context, 1, run_within, &j);
}

const seer_command seer_command_opt = {
    .name = "opt",
    .args = "[--pass=resolve,fold,sink,simplify,layout,narrow,task] FILE",
    .doc =
        "passes on a text form (.graph, .dag) or an ONNX file, for people who work on familyseer",
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
