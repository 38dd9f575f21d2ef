// verify_report.c - verdicts -> lines, or JSON.
#include "cli/verify_report.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/json.h"

static const char *safe(const seer_verify_report *r, const char *name) {
  return seer_text_safe(r->arena, name);
}

static json_t *shape(const seer_io_info *io) {
  json_t *list = json_array();
  for (int32_t d = 0; d < io->rank; d++)
    json_array_append_new(list, json_integer((json_int_t)io->dim[d]));
  return list;
}

static json_t *names(const seer_verify_report *r, const char *const *name, uint32_t n) {
  json_t *list = json_array();
  for (uint32_t i = 0; i < n; i++) json_array_append_new(list, json_string(safe(r, name[i])));
  return list;
}

void seer_report_init(seer_verify_report *r, bool is_json, const char *library, const char *model,
    seer_arena *arena) {
  *r = (seer_verify_report){.is_json = is_json, .arena = arena};
  if (!is_json) return;
  r->root =
      json_pack("{s:s, s:s, s:[]}", "library", safe(r, library), "model", safe(r, model), "sets");
}

void seer_report_set(seer_verify_report *r, const char *shapes, bool is_one_of_many) {
  if (!r->is_json) {
    if (is_one_of_many) printf("%s\n", shapes);
    return;
  }
  r->set = json_pack("{s:s, s:[]}", "shapes", shapes, "outputs");
  json_array_append_new(json_object_get(r->root, "sets"), r->set);
}

void seer_report_judge(seer_verify_report *r, const char *name) {
  if (r->is_json)
    json_object_set_new(r->set, "reference", json_string(safe(r, name)));
  else
    printf("%-24s %s\n", "reference", name);
}

// ---- outputs

static void print_output(const seer_verify_report *r, const seer_io_info *found,
    const seer_io_info *expected, const seer_difference *d) {
  const char *name = safe(r, found->name);
  if (!d) {
    printf("%-24s is %s, must be %s: DIFFERS\n", name,
        seer_shape_text(found->dim, found->rank, r->arena),
        seer_shape_text(expected->dim, expected->rank, r->arena));
    return;
  }
  printf("%-24s max error %.3g (%.3g of the largest, %g): %s\n", name, d->max_error,
      d->max_expected > 0 ? d->max_error / d->max_expected : d->max_error, d->max_expected,
      d->is_ok ? "ok" : "DIFFERS");
}

void seer_report_output(seer_verify_report *r, const seer_io_info *found,
    const seer_io_info *expected, const seer_difference *d) {
  if (!r->is_json) {
    print_output(r, found, expected, d);
    return;
  }
  json_t *output = json_pack("{s:s, s:b, s:o, s:o}", "name", safe(r, found->name), "ok",
      d && d->is_ok, "shape", shape(found), "expected_shape", shape(expected));
  if (d) {
    json_object_set_new(output, "max_error", seer_json_number(d->max_error));
    json_object_set_new(output, "max_expected", seer_json_number(d->max_expected));
    json_object_set_new(output, "tolerance", seer_json_number(d->allowed));
  }
  json_array_append_new(json_object_get(r->set, "outputs"), output);
}

void seer_report_precision(
    seer_verify_report *r, seer_precision precision, const seer_deviation *deviation) {
  if (!r->is_json) {
    printf("%-24s %s against f32: %s\n", "", seer_precision_name(precision),
        seer_deviation_text(deviation, r->arena));
    return;
  }
  const json_t *outputs = json_object_get(r->set, "outputs");
  json_t *object = json_object();
  seer_deviation_to_json(deviation, object);
  json_object_set_new(object, "precision", json_string(seer_precision_name(precision)));
  json_object_set_new(json_array_get(outputs, json_array_size(outputs) - 1), "against_f32", object);
}

// ---- the reference's own nodes

static void print_nodes(const seer_verify_report *r, const seer_steps_verdict *v) {
  if (v->wrong[0]) {
    printf("%-24s node '%s' (%s) %s: DIFFERS\n", "reference", safe(r, v->wrong_node), v->wrong_ops,
        v->wrong);
    return;
  }
  printf("%-24s %u nodes agree with the interpreter in %.0f of %.0f elements", "reference",
      v->n_judged, v->n_compared, v->n_elems);
  if (v->n_runtime > 0) printf("; %u are functions of the runtime", v->n_runtime);
  if (v->n_unseen > 0) printf("; %u are in loops, or about sizes that data decide", v->n_unseen);
  printf(": ok\n");
}

void seer_report_nodes(seer_verify_report *r, const seer_steps_verdict *v) {
  if (!r->is_json) {
    print_nodes(r, v);
    return;
  }
  json_t *nodes = json_pack("{s:b, s:i, s:i, s:i, s:f, s:f}", "ok", !v->wrong[0], "judged",
      (int)v->n_judged, "functions_of_the_runtime", (int)v->n_runtime, "not_seen", (int)v->n_unseen,
      "elements", v->n_elems, "compared", v->n_compared);
  if (v->wrong[0])
    json_object_set_new(nodes, "wrong",
        json_pack("{s:s, s:s, s:s}", "node", safe(r, v->wrong_node), "ops", safe(r, v->wrong_ops),
            "what", v->wrong));
  json_object_set_new(r->set, "reference", json_string("untiled code"));
  json_object_set_new(r->set, "nodes", nodes);
}

// ---- layers

enum { N_SHOWN = 8 };  // names in a line

static void print_wrong(const seer_verify_report *r, const seer_layers_verdict *v) {
  const seer_node *maker = v->wrong.n_node > 0 ? v->wrong.node[v->wrong.n_node - 1] : NULL;
  printf("%-24s step %d '%s' (%s) left '%s'", "layers", v->wrong.step, safe(r, v->wrong.step_name),
      v->wrong.step_kind, safe(r, v->wrong.name));
  if (maker) printf(" of node '%s' (%s)", safe(r, maker->name), safe(r, maker->op_type));
  if (v->wrong.what)
    printf(", which %s: DIFFERS\n", v->wrong.what);
  else
    printf(": %s is %.9g, expected %.9g, tolerance %.3g: DIFFERS\n", v->wrong.worst.at,
        v->wrong.worst.found, v->wrong.worst.expected, v->wrong.worst.tolerance);
  printf("%-24s what was in memory before agrees; between that and this are", "");
  for (uint32_t k = 0; k < v->wrong.n_node && k < N_SHOWN; k++)
    printf("%s '%s' (%s)", k > 0 ? "," : "", safe(r, v->wrong.node[k]->name),
        safe(r, v->wrong.node[k]->op_type));
  if (v->wrong.n_node > N_SHOWN) printf(" and %u more", v->wrong.n_node - N_SHOWN);
  printf("%s\n", v->wrong.n_node == 0 ? " no nodes" : "");
}

static void print_layers(const seer_verify_report *r, const seer_layers_verdict *v) {
  if (v->wrong.name) print_wrong(r, v);
  if (v->n_flipped > 0) {
    printf("%-24s decided by a rounding in some elements:", v->wrong.name ? "" : "layers");
    for (uint32_t k = 0; k < v->n_flipped && k < N_SHOWN; k++)
      printf("%s '%s'", k > 0 ? "," : "", safe(r, v->flipped[k]));
    if (v->n_flipped > N_SHOWN) printf(" and %u more", v->n_flipped - N_SHOWN);
    printf("\n");
  }
  if (v->wrong.name) return;
  printf("%-24s %u values agree", "layers", v->n_judged - v->n_flipped);
  if (v->n_hidden > 0)
    printf("; %u are in no memory (fused, rewritten, or not in use)", v->n_hidden);
  printf(": ok\n");
}

static json_t *wrong_json(const seer_verify_report *r, const seer_layers_verdict *v) {
  json_t *nodes = json_array();
  for (uint32_t k = 0; k < v->wrong.n_node; k++)
    json_array_append_new(nodes,
        json_pack("{s:s, s:s}", "name", safe(r, v->wrong.node[k]->name), "op",
            safe(r, v->wrong.node[k]->op_type)));
  json_t *wrong = json_pack("{s:s, s:i, s:s, s:s, s:o}", "value", safe(r, v->wrong.name), "step",
      (int)v->wrong.step, "step_name", safe(r, v->wrong.step_name), "kind", v->wrong.step_kind,
      "nodes", nodes);
  if (v->wrong.what) {
    json_object_set_new(wrong, "what", json_string(v->wrong.what));
    return wrong;
  }
  json_object_set_new(wrong, "element", json_string(v->wrong.worst.at));
  json_object_set_new(wrong, "found", seer_json_number(v->wrong.worst.found));
  json_object_set_new(wrong, "expected", seer_json_number(v->wrong.worst.expected));
  json_object_set_new(wrong, "tolerance", seer_json_number(v->wrong.worst.tolerance));
  return wrong;
}

void seer_report_layers(seer_verify_report *r, const seer_layers_verdict *v) {
  if (!r->is_json) {
    print_layers(r, v);
    return;
  }
  json_t *layers = json_pack("{s:b, s:i, s:i, s:o, s:o}", "ok", !v->wrong.name, "values",
      (int)v->n_judged, "decided_by_rounding", (int)v->n_decided, "decided_otherwise",
      names(r, v->flipped, v->n_flipped), "not_in_memory", names(r, v->hidden, v->n_hidden));
  if (v->wrong.name) json_object_set_new(layers, "wrong", wrong_json(r, v));
  json_object_set_new(r->set, "layers", layers);
}

seer_status seer_report_end(seer_verify_report *r, bool is_ok) {
  if (!r->is_json) return SEER_OK;
  if (r->root) json_object_set_new(r->root, "ok", json_boolean(is_ok));
  json_t *root = r->root;
  r->root = r->set = NULL;
  return seer_cli_put_json(root);
}
