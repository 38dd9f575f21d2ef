#include "support/task_dag.h"

#include <string.h>

#include "base/text.h"
#include "front/front.h"
#include "support/test.h"

static const char *typed(const char *text, const char *type, seer_arena *arena) {
  seer_text out;
  seer_text_init(&out, arena);
  seer_text_put(&out, "graph \"g\" {\n");
  for (const char *at = text; *at;) {
    bool is_type = strncmp(at, "TYPE", 4) == 0;
    if (is_type)
      seer_text_put(&out, type);
    else
      seer_text_put_n(&out, *at == ';' ? "\n" : at, 1);
    at += is_type ? 4 : 1;
  }
  seer_text_put(&out, "\noutput %y\n}\n");
  return out.data;
}

seer_dag *task_dag_of(const char *name, const char *text, const char *type, seer_arena *arena) {
  seer_context *context;
  seer_graph *graph;
  seer_network *network;
  const char *whole = typed(text, type, arena);
  must(seer_context_create(&context));
  must(seer_graph_parse(name, whole, strlen(whole), arena, &graph));
  must(seer_front_resolve(graph, "", NULL));
  must(seer_front_run_passes(context, graph));
  must(seer_network_build(context, graph, arena, &network));
  assert_int_equal(network->n_task, 1);
  seer_dag *dag = seer_dag_clone(network->step[0].dag, arena);
  for (uint32_t b = 0; b < dag->n_buf; b++) {
    seer_val v = network->step[0].value_of_buf[b];
    if (v.i && seer_graph_value(graph, v)->name[0] == 'w') dag->buf[b].kind = SEER_BUF_WEIGHT;
  }
  seer_dag_finish(dag);
  must(seer_dag_verify(dag));
  seer_context_destroy(context);
  return dag;
}
