// cmd_list.c - familyseer list TABLE: the entries of a table of the program, one a line: name, then
// what it is.
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "front/front.h"
#include "learn/cost.h"
#include "learn/family.h"
#include "learn/feature.h"
#include "learn/learning.h"
#include "measure/measure.h"
#include "models/models.h"
#include "setup/gpu/gpu.h"
#include "space/formulation.h"
#include "space/rule.h"
#include "tune/scheduler.h"
#include "tune/scheduler/ingredient.h"

// The i-th entry of a table; false behind the last one.
typedef bool (*list_entry)(size_t i, const char **out_name, const char **out_doc);

static bool option_entry(size_t i, const char **out_name, const char **out_doc) {
  if (i >= SEER_OPT_COUNT) return false;
  *out_name = seer_option_table[i].name;
  *out_doc = seer_option_table[i].doc;
  return true;
}

// With the domain where it is not ONNX's own. The name is good until the next call.
static bool op_entry(size_t i, const char **out_name, const char **out_doc) {
  static char name[96];
  if (i >= seer_op_table_count) return false;
  const seer_op_desc *op = seer_op_table[i];
  (void)snprintf(name, sizeof name, "%s%s%s", op->domain, op->domain[0] ? "." : "", op->name);
  *out_name = name;
  *out_doc = op->doc;
  return true;
}

// With the number of its columns. The text is good until the next call.
static bool feature_set_entry(size_t i, const char **out_name, const char **out_doc) {
  static char doc[160];
  if (i >= seer_feature_set_table_count) return false;
  const seer_feature_set *set = seer_feature_set_table[i];
  (void)snprintf(doc, sizeof doc, "%zu columns: %s", set->n_column, set->doc);
  *out_name = set->name;
  *out_doc = doc;
  return true;
}

// What has a name; triples are the compiler's.
static bool target_entry(size_t i, const char **out_name, const char **out_doc) {
  static const char *const cpus[][2] = {{"native", "this machine"},
      {"c", "any processor that has a C compiler, for compile --emit c"},
      {"c-vectors", "the same, with vectors of GCC and Clang"}};
  bool is_cpu = i < SEER_COUNT_OF(cpus);
  size_t device = i - SEER_COUNT_OF(cpus);
  if (!is_cpu && device >= seer_gpu_table_count) return false;
  *out_name = is_cpu ? cpus[i][0] : seer_gpu_table[device].name;
  *out_doc = is_cpu ? cpus[i][1] : seer_gpu_table[device].model_name;
  return true;
}

// Tables of pointers to entries that have a name and a doc.
#define LIST_ENTRY(table)                                                            \
  static bool table##_entry(size_t i, const char **out_name, const char **out_doc) { \
    if (i >= seer_##table##_table_count) return false;                               \
    *out_name = seer_##table##_table[i]->name;                                       \
    *out_doc = seer_##table##_table[i]->doc;                                         \
    return true;                                                                     \
  }
LIST_ENTRY(command)
LIST_ENTRY(model)
LIST_ENTRY(pass)
LIST_ENTRY(rule)
LIST_ENTRY(formulation)
LIST_ENTRY(family)
LIST_ENTRY(cost)
LIST_ENTRY(learning)
LIST_ENTRY(scheduler)
LIST_ENTRY(measure)
LIST_ENTRY(ingredient)

static const struct {
  const char *name;
  list_entry entry;
} lists[] = {
    {"commands", command_entry},
    {"options", option_entry},
    {"models", model_entry},
    {"operators", op_entry},
    {"passes", pass_entry},
    {"rules", rule_entry},
    {"formulations", formulation_entry},
    {"families", family_entry},
    {"cost-models", cost_entry},
    {"features", feature_set_entry},
    {"learning", learning_entry},
    {"policies", scheduler_entry},
    {"ingredients", ingredient_entry},
    {"measurers", measure_entry},
    {"targets", target_entry},
};

static seer_status run_list(seer_context *context, int argc, char **argv) {
  size_t at = 0;
  if (argc == 1) {
    while (at < SEER_COUNT_OF(lists) && strcmp(lists[at].name, argv[0]) != 0) at++;
  }
  if (argc != 1 || at == SEER_COUNT_OF(lists)) {
    char known[256] = "";
    for (size_t i = 0; i < SEER_COUNT_OF(lists); i++) {
      size_t n = strlen(known);
      snprintf(known + n, sizeof known - n, "%s%s", i ? " " : "", lists[i].name);
    }
    if (argc == 1) return seer_usage_error("unknown table '%s', known are: %s", argv[0], known);
    return seer_usage_error("which table? known are: %s", known);
  }
  const char *name, *doc;
  if (!seer_context_bool(context, SEER_OPT_JSON)) {
    for (size_t i = 0; lists[at].entry(i, &name, &doc); i++) printf("%-20s %s\n", name, doc);
    return SEER_OK;
  }
  json_t *array = json_array();
  for (size_t i = 0; lists[at].entry(i, &name, &doc); i++)
    json_array_append_new(array, json_pack("{s:s, s:s}", "name", name, "doc", doc));
  char *text = json_dumps(array, JSON_INDENT(1));
  json_decref(array);
  if (!text) return SEER_FAIL(RESOURCE, "out of memory for JSON");
  puts(text);
  free(text);
  return SEER_OK;
}

const seer_command seer_command_list = {
    .name = "list",
    .args = "TABLE [--json]",
    .doc = "the entries of a table: commands, options, models, operators, families, policies, ...",
    .max_args = 1,
    .run = run_list,
};
