// data.c - the data of a report <-> JSON in a page. A page is what people keep, and hand on: two
// can be compared wherever they lie, with nothing beside them.
// What is read is somebody's file: figures that are no sound ones are 0, texts are made safe.
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "report/data.h"

#define BEGIN "<template id='familyseer-report'>"
#define END "</template>"
#define VERSION 1
#define MAX_PAGE_BYTES (UINT64_C(64) << 20)
#define MAX_ITEMS 100000  // of a list

// ---- figures of a struct, by name
typedef struct {
  const char *name;
  size_t at;
  bool is_count;  // uint32_t; else double
} field;

#define NUMBER(type, name) \
  { #name, offsetof(type, name), false }
#define COUNT(type, name) \
  { #name, offsetof(type, name), true }

static const field page_fields[] = {NUMBER(seer_report_data, latency_s),
    NUMBER(seer_report_data, untuned_s), NUMBER(seer_report_data, tuned_s),
    NUMBER(seer_report_data, speedup), COUNT(seer_report_data, n_pairs),
    NUMBER(seer_report_data, sum_s), NUMBER(seer_report_data, sum_untuned_s),
    NUMBER(seer_report_data, elapsed_s), COUNT(seer_report_data, trials),
    COUNT(seer_report_data, restored), NUMBER(seer_report_data, peak_gflops)};
static const field task_fields[] = {NUMBER(seer_report_task, weight),
    NUMBER(seer_report_task, flops), NUMBER(seer_report_task, bytes),
    NUMBER(seer_report_task, bound_s), NUMBER(seer_report_task, untuned_s),
    NUMBER(seer_report_task, best_s), NUMBER(seer_report_task, estimate_s),
    NUMBER(seer_report_task, network_s), NUMBER(seer_report_task, speedup),
    COUNT(seer_report_task, n_pairs), COUNT(seer_report_task, n_trial)};

static void add_fields(json_t *object, const void *from, const field *fields, size_t n) {
  for (size_t k = 0; k < n; k++) {
    const char *at = (const char *)from + fields[k].at;
    double number = 0;
    uint32_t count = 0;
    if (fields[k].is_count)
      memcpy(&count, at, sizeof count);
    else
      memcpy(&number, at, sizeof number);
    json_object_set_new(object, fields[k].name,
        fields[k].is_count ? json_integer(count) : json_real(isfinite(number) ? number : 0));
  }
}

static double sound(const json_t *number) {
  double value = json_number_value(number);
  return isfinite(value) && value > 1e-30 && value < 1e30 ? value : 0;
}

static void take_fields(const json_t *object, void *to, const field *fields, size_t n) {
  for (size_t k = 0; k < n; k++) {
    double number = sound(json_object_get(object, fields[k].name));
    uint32_t count = number < UINT32_MAX ? (uint32_t)number : 0;
    char *at = (char *)to + fields[k].at;
    if (fields[k].is_count)
      memcpy(at, &count, sizeof count);
    else
      memcpy(at, &number, sizeof number);
  }
}

// ---- to JSON
static void add_text(json_t *object, const char *name, const char *text) {
  json_object_set_new(object, name, json_string(text));
}

json_t *seer_report_json(const seer_report_data *data) {
  json_t *page = json_object(), *tasks = json_array(), *points = json_array(),
         *settings = json_array();
  json_object_set_new(page, "version", json_integer(VERSION));
  add_text(page, "model", data->model);
  add_text(page, "machine", data->machine);
  add_fields(page, data, page_fields, SEER_COUNT_OF(page_fields));
  for (uint32_t t = 0; t < data->n_task; t++) {
    const seer_report_task *task = &data->task[t];
    json_t *one = json_object();
    add_text(one, "name", task->name);
    add_text(one, "family", task->family);
    add_text(one, "key", task->key);
    add_fields(one, task, task_fields, SEER_COUNT_OF(task_fields));
    json_array_append_new(tasks, one);
  }
  for (uint32_t k = 0; k < data->n_point; k++) {
    const seer_report_point *point = &data->point[k];
    json_array_append_new(
        points, json_pack("[f, i, f]", point->elapsed_s, (int)point->trials, point->estimate_s));
  }
  for (uint32_t k = 0; k < data->n_setting; k++) {
    json_array_append_new(
        settings, json_pack("[s, s]", data->setting[k].name, data->setting[k].value));
  }
  json_object_set_new(page, "tasks", tasks);
  json_object_set_new(page, "points", points);
  json_object_set_new(page, "settings", settings);
  return page;
}

// In a template the characters of HTML are text like elsewhere.
void seer_report_put_data(seer_text *html, const seer_report_data *data) {
  json_t *page = seer_report_json(data);
  char *dump = json_dumps(page, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9));
  seer_text_put(html, BEGIN);
  for (const char *at = dump ? dump : ""; *at; at++) {
    const char *name = *at == '&' ? "&amp;" : *at == '<' ? "&lt;" : *at == '>' ? "&gt;" : NULL;
    if (name)
      seer_text_put(html, name);
    else
      seer_text_put_n(html, at, 1);
  }
  seer_text_put(html, END "\n");
  free(dump);
  json_decref(page);
}

// ---- from JSON
// In place.
static size_t unescape(char *text, size_t n) {
  static const struct {
    const char *name;
    char is;
  } names[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}};
  size_t to = 0;
  for (size_t at = 0; at < n;) {
    size_t k = 0, length = 0;
    for (; k < SEER_COUNT_OF(names); k++) {
      length = strlen(names[k].name);
      if (n - at >= length && memcmp(text + at, names[k].name, length) == 0) break;
    }
    bool is_name = k < SEER_COUNT_OF(names);
    text[to++] = is_name ? names[k].is : text[at];
    at += is_name ? length : 1;
  }
  return to;
}

static const char *text_of(const json_t *value, seer_arena *arena) {
  const char *text = json_string_value(value);
  return text ? seer_arena_strdup(arena, seer_text_safe(arena, text)) : "";  // the JSON goes
}

static uint32_t size_of(const json_t *list) {
  size_t n = json_array_size(list);
  return n < MAX_ITEMS ? (uint32_t)n : MAX_ITEMS;
}

static void take_tasks(const json_t *list, seer_report_data *out) {
  out->n_task = size_of(list);
  out->task = SEER_NEW_ARRAY(out->arena, seer_report_task, out->n_task + 1);
  for (uint32_t t = 0; t < out->n_task; t++) {
    const json_t *one = json_array_get(list, t);
    seer_report_task *task = &out->task[t];
    *task = (seer_report_task){.name = text_of(json_object_get(one, "name"), out->arena),
        .family = text_of(json_object_get(one, "family"), out->arena),
        .key = text_of(json_object_get(one, "key"), out->arena),
        .state = "",
        .ops = "",
        .verdict = "",
        .schedule = "",
        .loops = ""};
    take_fields(one, task, task_fields, SEER_COUNT_OF(task_fields));
  }
}

static void take_points(const json_t *list, seer_report_data *out) {
  out->n_point = size_of(list);
  seer_report_point *points = SEER_NEW_ARRAY(out->arena, seer_report_point, out->n_point + 1);
  for (uint32_t k = 0; k < out->n_point; k++) {
    const json_t *one = json_array_get(list, k);
    double trials = sound(json_array_get(one, 1));
    points[k] = (seer_report_point){.elapsed_s = sound(json_array_get(one, 0)),
        .trials = trials < UINT32_MAX ? (uint32_t)trials : 0,
        .estimate_s = sound(json_array_get(one, 2))};
  }
  out->point = points;
}

static void take_settings(const json_t *list, seer_report_data *out) {
  out->n_setting = size_of(list);
  seer_report_pair *settings = SEER_NEW_ARRAY(out->arena, seer_report_pair, out->n_setting + 1);
  for (uint32_t k = 0; k < out->n_setting; k++) {
    const json_t *one = json_array_get(list, k);
    settings[k] = (seer_report_pair){
        text_of(json_array_get(one, 0), out->arena), text_of(json_array_get(one, 1), out->arena)};
  }
  out->setting = settings;
}

seer_status seer_report_read(const char *path, seer_arena *arena, seer_report_data *out) {
  char *text;
  size_t n;
  SEER_TRY(seer_os_read_file(path, arena, MAX_PAGE_BYTES, &text, &n));
  char *begin = strstr(text, BEGIN), *end = begin ? strstr(begin, END) : NULL;
  if (!end)
    return SEER_FAIL(INVALID, "%s is no report of `tune`, or one of an older version",
        seer_text_safe(arena, path));
  begin += strlen(BEGIN);
  json_error_t error;
  json_t *page = json_loadb(begin, unescape(begin, (size_t)(end - begin)), 0, &error);
  double version = json_number_value(json_object_get(page, "version"));
  if (version != VERSION) {
    json_decref(page);
    return SEER_FAIL(INVALID, "%s: the data of the report are of version %g, must be %d",
        seer_text_safe(arena, path), version, VERSION);
  }
  *out = (seer_report_data){.arena = arena,
      .model = text_of(json_object_get(page, "model"), arena),
      .machine = text_of(json_object_get(page, "machine"), arena),
      .verdict = "",
      .precision = "",
      .n_set = 1};
  take_fields(page, out, page_fields, SEER_COUNT_OF(page_fields));
  take_tasks(json_object_get(page, "tasks"), out);
  take_points(json_object_get(page, "points"), out);
  take_settings(json_object_get(page, "settings"), out);
  json_decref(page);
  seer_report_finish(out);
  return SEER_OK;
}
