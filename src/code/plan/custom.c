// custom.c - calls of operators of users -> their parts of the plan: which entry of which table,
// and the node's attributes as numbers.
#include <string.h>

#include "code/plan/internal.h"

typedef struct {
  seer_put_string put_string;
  void *user;
  seer_text *blob;
  seer_arena *arena;
} writer;

static uint32_t put(writer *w, const void *data, size_t n_bytes) {
  return (uint32_t)seer_text_put_aligned(w->blob, data ? data : "", n_bytes, 8);
}

static uint32_t put_floats(writer *w, const double *from, uint32_t n) {
  float *floats = SEER_NEW_ARRAY(w->arena, float, n + 1);
  for (uint32_t k = 0; k < n; k++) floats[k] = (float)from[k];
  return put(w, floats, n * sizeof *floats);
}

static uint32_t put_strings(writer *w, const char *const *from, uint32_t n) {
  uint32_t *strings = SEER_NEW_ARRAY(w->arena, uint32_t, n + 1);
  for (uint32_t k = 0; k < n; k++) strings[k] = w->put_string(w->user, from[k]);
  return put(w, strings, n * sizeof *strings);
}

static seer_plan_attribute put_attribute(writer *w, const seer_attr *attr) {
  const uint32_t n = (uint32_t)attr->n;
  seer_plan_attribute out = {.name_string = w->put_string(w->user, attr->name), .n = 1};
  switch (attr->kind) {
    case SEER_ATTR_INT:
      out.kind = SEER_OPERATOR_INT;
      out.offset = put(w, &attr->i, sizeof attr->i);
      break;
    case SEER_ATTR_FLOAT:
      out.kind = SEER_OPERATOR_FLOAT;
      out.offset = put_floats(w, &attr->f, 1);
      break;
    case SEER_ATTR_STRING:
      out.kind = SEER_OPERATOR_STRING;
      out.offset = put_strings(w, &attr->s, 1);
      break;
    case SEER_ATTR_INTS:
      out.kind = SEER_OPERATOR_INTS;
      out.n = n;
      out.offset = put(w, attr->ints, n * sizeof *attr->ints);
      break;
    case SEER_ATTR_FLOATS:
      out.kind = SEER_OPERATOR_FLOATS;
      out.n = n;
      out.offset = put_floats(w, attr->floats, n);
      break;
    case SEER_ATTR_STRINGS:
      out.kind = SEER_OPERATOR_STRINGS;
      out.n = n;
      out.offset = put_strings(w, attr->strings, n);
      break;
    case SEER_ATTR_TENSOR:
    case SEER_ATTR_GRAPH:
      SEER_ASSERT(false, "attribute '%s' has passed its operator's shape rule", attr->name);
  }
  return out;
}

void seer_build_custom(
    seer_host_list *list, seer_put_string put_string, void *user, seer_text *blob) {
  writer w = {put_string, user, blob, list->arena};
  for (size_t i = 0; i < list->n_custom; i++) {
    const seer_node *node = list->custom[i].node;
    const seer_custom_op *op = seer_custom_of(node);
    const size_t n_bytes = sizeof(seer_plan_custom) + node->n_attr * sizeof(seer_plan_attribute);
    seer_plan_custom *out = seer_arena_alloc(list->arena, n_bytes, 8);
    *out = (seer_plan_custom){.table = op->table,
        .index = op->index,
        .domain_string = put_string(user, op->entry->domain),
        .name_string = put_string(user, op->entry->name),
        .n_attribute = node->n_attr};
    seer_plan_attribute *attribute = (void *)(out + 1);
    for (uint32_t k = 0; k < node->n_attr; k++) attribute[k] = put_attribute(&w, &node->attr[k]);
    list->host[list->custom[i].host].param[0] = put(&w, out, n_bytes);
  }
}
