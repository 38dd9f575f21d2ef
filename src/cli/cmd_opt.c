// cmd_opt.c - familyseer opt --pass=a,b FILE: any piece of the compiler on a text form, for people
// who work on it and for golden tests. The first word of the text says what it is; what is no text
// is read as ONNX.
//   graph: resolve, then passes of the pass table, then task; prints the graph, or the tasks
//   dag:   verify, key, or one of the forms that follow from it: under the schedule that stands
//          behind it ("sched ..."), or under its untuned one
//   loop, tile: verify; a loop's later forms
// With --dump the forms that follow are written to files.
#include <stdio.h>
#include <string.h>

#include "base/near.h"
#include "cli/command.h"
#include "cli/opt_forms.h"
#include "code/dump.h"
#include "front/bind.h"
#include "front/custom/custom.h"
#include "front/front.h"
#include "front/limit.h"

static const seer_pass_desc *find_pass(const char *name) {
  for (size_t k = 0; k < seer_pass_table_count; k++) {
    if (strcmp(seer_pass_table[k]->name, name) == 0) return seer_pass_table[k];
  }
  return NULL;
}

static void print_value(const seer_graph *graph, seer_val v, seer_arena *arena) {
  const seer_value *value = seer_graph_value(graph, v);
  printf(" %s%s", value->constant ? "$" : "%", seer_text_safe(arena, value->name));
  if (value->base.i == 0) return;
  printf(" in %%%s at %" PRId64, seer_text_safe(arena, seer_graph_value(graph, value->base)->name),
      value->offset);
}

static void print_network(const seer_network *network, seer_arena *arena) {
  const seer_graph *graph = network->graph;
  static const char *const kinds[] = {[SEER_STEP_KERNEL] = "kernel",
      [SEER_STEP_VIEW] = "view",
      [SEER_STEP_COPY] = "copy",
      [SEER_STEP_HOST] = "host",
      [SEER_STEP_LOOP_BEGIN] = "loop_begin",
      [SEER_STEP_LOOP_END] = "loop_end",
      [SEER_STEP_BRANCH] = "branch"};
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
    } else if (!seer_step_has_task(step)) {
      const seer_node *node = seer_step_node(graph, step);
      printf(" %s:", node->op_type);
      for (uint32_t i = 0; i < node->n_in; i++)
        if (node->in[i].i) print_value(graph, node->in[i], arena);
      printf(" ->");
      for (uint32_t i = 0; i < node->n_out; i++)
        if (node->out[i].i) print_value(graph, node->out[i], arena);
      if (step->kind == SEER_STEP_LOOP_BEGIN) printf(", body %u steps", step->n_body);
      if (step->kind == SEER_STEP_BRANCH)
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

static seer_status dump_tasks(
    seer_context *context, const seer_network *network, seer_arena *arena) {
  if (!seer_dump_any(context)) return SEER_OK;
  for (uint32_t t = 0; t < network->n_task; t++) {
    const char *name = seer_arena_printf(arena, "task%u", t);
    SEER_TRYF(seer_cli_opt_dump(context, network->task[t].dag, name, arena), "task %u, %s", t,
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
      char known[512] = "resolve";
      for (size_t k = 0; k < seer_pass_table_count; k++)
        seer_words_add(known, sizeof known, seer_pass_table[k]->name);
      seer_words_add(known, sizeof known, "task");
      return seer_usage_error("unknown pass '%s' of a graph; known are %s", name, known);
    }
    if (!is_resolved) {
      const char *notice, *shapes;
      SEER_TRY(seer_custom_open(context, graph));
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
  if (!status && seer_cli_is_form(text, n_bytes)) {
    status = seer_cli_opt_form(context, seer_os_path_base(j->file), text, n_bytes, passes, arena);
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
    .args =
        "[--pass=resolve,integers,twin,fold,widen,sink,simplify,layout,part,narrow,task|key|loop|"
        "tile|vector|llvm|asm] FILE",
    .doc =
        "passes on a text form (graph, dag, loop, tile) or an ONNX file, for people who work on "
        "familyseer",
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
