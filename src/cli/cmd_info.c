// cmd_info.c - familyseer info: what a model, or a compiled model, is.
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/info.h"
#include "cli/unbuilt.h"
#include "library/description.h"
#include "library/use.h"

static void print_values(const json_t *values, const char *title, seer_arena *arena) {
  size_t i;
  const json_t *v;
  json_array_foreach(values, i, v) {
    printf("%-12s%s %s[", i == 0 ? title : "", seer_description_text(v, "name", arena),
        seer_description_text(v, "dtype", arena));
    const json_t *shape = json_object_get(v, "shape"), *dim;
    size_t k;
    json_array_foreach(shape, k, dim)
        printf("%s%lld", k > 0 ? "," : "", (long long)json_integer_value(dim));
    const char *value = seer_description_text(v, "value", arena);  // of a bound input
    printf("]%s%s\n", *value ? " = " : "", value);
  }
}

// A library for one set of input shapes is described like a set.
static void print_sets(const json_t *info, seer_arena *arena) {
  const json_t *sets = json_object_get(info, "sets"), *set;
  size_t i;
  if (!sets) {
    print_values(json_object_get(info, "inputs"), "inputs", arena);
    print_values(json_object_get(info, "outputs"), "outputs", arena);
    return;
  }
  json_array_foreach(sets, i, set) {
    printf("shapes %zu\n", i + 1);
    print_values(json_object_get(set, "inputs"), "  inputs", arena);
    print_values(json_object_get(set, "outputs"), "  outputs", arena);
  }
}

// A library for any batch of a range.
static void print_range(const json_t *info) {
  const json_t *range = json_object_get(info, "range"), *size;
  size_t i;
  if (!range) return;
  printf("%-12sany from %" JSON_INTEGER_FORMAT " to %" JSON_INTEGER_FORMAT ", as sets of", "batch",
      json_integer_value(json_object_get(range, "first")),
      json_integer_value(json_object_get(range, "last")));
  json_array_foreach(json_object_get(range, "sets"), i, size)
      printf(" %" JSON_INTEGER_FORMAT, json_integer_value(size));
  printf("\n");
}

// Of all sets.
static size_t count_steps(const json_t *info) {
  const json_t *sets = json_object_get(info, "sets"), *set;
  size_t i, n = 0;
  if (!sets) return json_array_size(json_object_get(info, "steps"));
  json_array_foreach(sets, i, set) n += json_array_size(json_object_get(set, "steps"));
  return n;
}

static double number(const json_t *object, const char *group, const char *key) {
  const json_t *inner = group ? json_object_get(object, group) : object;
  return json_number_value(json_object_get(inner, key));
}

// Words between blanks and commas up to 100 columns, the lines behind the first one indented;
// whole, since this is where people read what a library needs. A word that is longer has a line.
static void print_wrapped(const char *title, const char *text) {
  enum { INDENT = 12, COLUMNS = 100 };
  size_t at = INDENT;
  printf("%-*s", INDENT, title);
  while (*text) {
    bool has_blank = *text == ' ';
    text += has_blank;
    size_t n = strcspn(text, " ,");
    n += text[n] == ',';
    if (at > INDENT && at + has_blank + n > COLUMNS) {
      printf("\n%*s", INDENT, "");
      at = INDENT;
    } else if (has_blank) {
      printf(" ");
      at++;
    }
    fwrite(text, 1, n, stdout);
    at += n;
    text += n;
  }
  printf("\n");
}

// Tasks by where their schedules come from.
// Steps of a batch that run image by image; nothing where all run whole.
static void print_stretches(const json_t *stretches, seer_arena *arena) {
  size_t i;
  const json_t *stretch;
  json_array_foreach(stretches, i, stretch) {
    const json_t *images = json_object_get(stretch, "images");
    printf("%-12s%s ... %s: %" PRId64 " images, %s\n", i == 0 ? "batch" : "",
        seer_description_text(stretch, "first", arena),
        seer_description_text(stretch, "last", arena), (int64_t)json_integer_value(images),
        seer_description_text(stretch, "run", arena));
  }
}

static void print_sources(const json_t *tasks, seer_arena *arena) {
  const char *seen[16];
  size_t n_seen = 0, i;
  const json_t *task;
  printf("%-12s%zu:", "tasks", json_array_size(tasks));
  json_array_foreach(tasks, i, task) {
    const char *source = seer_description_text(task, "source", arena);
    size_t k = 0;
    while (k < n_seen && strcmp(seen[k], source) != 0) k++;
    if (k < n_seen || n_seen == SEER_COUNT_OF(seen)) continue;
    seen[n_seen++] = source;
    size_t count = 0, j;
    const json_t *other;
    json_array_foreach(tasks, j, other) count +=
        strcmp(seer_description_text(other, "source", arena), source) == 0;
    printf("%s %zu %s", n_seen > 1 ? "," : "", count, source);
  }
  printf("\n");
}

// model.so
static seer_status info_library(seer_context *context, const char *path) {
  seer_arena *arena = seer_context_arena(context);
  char message[1024] = "";
  void *library = NULL;
  const seer_model_api *api = NULL;
  seer_model *model = NULL;
  SEER_TRY(seer_rt_to_status(
      seer_model_load(path, &library, &api, message, sizeof message), path, message));
  const char *weights = seer_context_str(context, SEER_OPT_WEIGHTS);
  seer_rt_code code = api->open(*weights ? weights : NULL, NULL, 0,
      seer_context_i64(context, SEER_OPT_VERIFY) > 0, &model, message, sizeof message);
  seer_status status = seer_rt_to_status(code, path, message);
  const char *text = status ? NULL : seer_arena_strdup(arena, api->info_json(model));
  if (model) api->close(model);
  seer_model_unload(library);
  if (status) return status;
  if (seer_context_bool(context, SEER_OPT_JSON)) {
    fputs(text, stdout);
    return SEER_OK;
  }
  json_t *info;
  SEER_TRY(seer_description_read(path, text, &info));
  printf("%-12s%s (%s)\n", "model", seer_description_text(info, "model", arena),
      seer_description_text(info, "made_by", arena));
  print_sets(info, arena);
  print_range(info);
  print_values(json_object_get(info, "bound"), "bound", arena);
  const char *precision = seer_description_text(info, "precision", arena);
  if (*precision) printf("%-12s%s\n", "precision", precision);
  const char *denormals = seer_description_text(info, "denormals", arena);
  if (*denormals) printf("%-12s%s\n", "denormals", denormals);
  printf("%-12s%.1f MiB\n", "weights", number(info, "weights", "bytes") / 1048576);
  printf("%-12s%.1f MiB activations, %.1f MiB shared, %.1f KiB a thread\n", "memory",
      number(info, "memory", "activations") / 1048576, number(info, "memory", "shared") / 1048576,
      number(info, "memory", "per_thread") / 1024);
  printf("%-12s%zu\n", "steps", count_steps(info));
  print_stretches(json_object_get(info, "stretches"), arena);
  seer_unbuilt_print(info, arena);
  print_sources(json_object_get(info, "tasks"), arena);
  const char *needs = seer_text_safe_whole(arena, seer_description_raw(info, "cpu_features"));
  print_wrapped("needs",
      seer_arena_printf(arena, "%s (compiled for %s)",
          *needs ? needs : "nothing beyond the architecture",
          seer_description_text(info, "cpu", arena)));
  print_wrapped("target", seer_text_safe_whole(arena, seer_description_raw(info, "target")));
  json_decref(info);
  return SEER_OK;
}

static seer_status run(seer_context *context, int argc, char **argv) {
  (void)argc;
  const char *path = seer_use_path(argv[0], seer_context_arena(context));
  bool is_elf = false;
  if (seer_os_exists(path)) {
    seer_os_map map;
    SEER_TRY(seer_os_map_file(path, &map));
    is_elf = map.n_bytes >= 4 &&
        memcmp(map.data,
            "\x7f"
            "ELF",
            4) == 0;
    seer_os_unmap(&map);
  }
  return is_elf ? info_library(context, path) : seer_info_network(context, argv[0]);
}

const seer_command seer_command_info = {
    .name = "info",
    .args = "MODEL [--input-shapes x:1x8] [--bind NAME=x.npy]... | MODEL.so [--json]",
    .doc =
        "inputs, outputs, operators and what is unsupported; of a compiled model also schedules "
        "and what it needs",
    .group = "looking at things",
    .example = "  familyseer info my.onnx\n",
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
