// binding.c - the list "bound" of model.json.
#include "library/binding.h"

#include <inttypes.h>
#include <string.h>

#include "base/map.h"
#include "library/description.h"

// To be released with json_decref. A library of an older version has no such list: an empty one.
static seer_status read_list(const seer_use *use, json_t **out_info, const json_t **out_list) {
  SEER_TRY(seer_description_read(use->path, use->api->info_json(use->model), out_info));
  *out_list = json_object_get(*out_info, "bound");
  return SEER_OK;
}

static const json_t *find(const json_t *list, const char *name) {
  size_t i;
  const json_t *bound;
  json_array_foreach(list, i, bound) {
    if (strcmp(seer_description_raw(bound, "name"), name) == 0) return bound;
  }
  return NULL;
}

seer_status seer_binding_refuse(const seer_use *use, const char *name) {
  json_t *info;
  const json_t *list;
  SEER_TRY(read_list(use, &info, &list));
  const json_t *bound = find(list, name);
  const char *value = seer_description_raw(bound, "value");
  seer_status status = SEER_OK;
  if (bound)
    status = SEER_FAIL(INVALID,
        "%s: input '%s' was bound%s%s when the library was compiled (--bind), and is none any more",
        use->path, name, *value ? " to " : "", value);
  json_decref(info);
  return status;
}

static bool is_given(const seer_context *context, const char *name) {
  size_t n = strlen(name);
  for (size_t i = 0; i < seer_context_n_values(context, SEER_OPT_BIND); i++) {
    const char *text = seer_context_value(context, SEER_OPT_BIND, i);
    if (strncmp(text, name, n) == 0 && text[n] == '=') return true;
  }
  return false;
}

// The first flag takes the place of what the environment says: that is said again behind it.
static seer_status add_all(seer_context *context, const char *const *text, size_t n) {
  size_t n_before = seer_context_n_values(context, SEER_OPT_BIND), n_kept = n_before + n;
  const char **before = SEER_NEW_ARRAY(seer_context_arena(context), const char *, n_before + 1);
  for (size_t i = 0; i < n_before; i++) before[i] = seer_context_value(context, SEER_OPT_BIND, i);
  for (size_t i = 0; i < n; i++) SEER_TRY(seer_context_set(context, "bind", text[i]));
  bool is_lost = seer_context_n_values(context, SEER_OPT_BIND) < n_kept;
  for (size_t i = 0; i < n_before && is_lost; i++)
    SEER_TRY(seer_context_set(context, "bind", before[i]));
  return SEER_OK;
}

static seer_status take(seer_context *context, const seer_use *use, const json_t *list) {
  size_t i, n = 0;
  const json_t *bound;
  const char **text = SEER_NEW_ARRAY(use->arena, const char *, json_array_size(list) + 1);
  json_array_foreach(list, i, bound) {
    const char *name = seer_description_raw(bound, "name"),
               *value = seer_description_raw(bound, "value");
    if (is_given(context, name)) continue;
    if (!*value)
      return SEER_FAIL(INVALID,
          "%s: input '%s' was bound to an array when the library was compiled: --bind %s=x.npy "
          "must give the same",
          use->path, name, name);
    text[n++] = seer_arena_printf(use->arena, "%s=%s", name, value);
  }
  return add_all(context, text, n);
}

seer_status seer_binding_take(seer_context *context, const seer_use *use) {
  json_t *info;
  const json_t *list;
  SEER_TRY(read_list(use, &info, &list));
  seer_status status = take(context, use, list);
  json_decref(info);
  return status;
}

static bool is_same(const json_t *a, const json_t *b) {
  static const char *const keys[] = {"dtype", "shape", "hash"};
  bool same = true;
  for (size_t k = 0; k < SEER_COUNT_OF(keys) && same; k++)
    same = json_equal(json_object_get(a, keys[k]), json_object_get(b, keys[k]));
  return same;
}

static seer_status compare(const seer_use *use, const json_t *list, const json_t *others) {
  size_t i;
  const json_t *bound;
  json_array_foreach(list, i, bound) {
    const json_t *other = find(others, seer_description_raw(bound, "name"));
    if (!other || !is_same(bound, other))
      return SEER_FAIL(INVALID, "%s: input '%s' was not bound to this value when it was compiled",
          use->path, seer_description_raw(bound, "name"));
  }
  return SEER_OK;
}

// As code/artefact/describe.c writes it. NULL: no memory.
static json_t *list_of(const seer_graph *graph, seer_arena *arena) {
  json_t *list = json_array();
  for (uint32_t b = 0; b < graph->n_bound; b++) {
    const seer_tensor *tensor = &graph->bound[b].tensor;
    json_t *shape = json_array();
    for (uint32_t d = 0; d < tensor->rank; d++)
      json_array_append_new(shape, json_integer((json_int_t)tensor->dim[d]));
    const char *hash =
        seer_arena_printf(arena, "%016" PRIx64, seer_hash_bytes(tensor->data, tensor->n_bytes, 0));
    json_array_append_new(list,
        json_pack("{s:s, s:s, s:o, s:s}", "name", graph->bound[b].name, "dtype",
            seer_dtype_name(tensor->dtype), "shape", shape, "hash", hash));
  }
  return list;
}

seer_status seer_binding_compare(const seer_use *use, const seer_graph *graph) {
  json_t *info = NULL, *others = list_of(graph, use->arena);
  const json_t *list;
  seer_status status = others ? read_list(use, &info, &list)
                              : SEER_FAIL(RESOURCE, "no memory for the list of bound inputs");
  if (!status) status = compare(use, list, others);
  if (!status) status = compare(use, others, list);
  json_decref(others);
  json_decref(info);
  return status;
}
