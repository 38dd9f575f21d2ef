// times_file.c - a table of times <-> its file: JSON lines, compressed. What is read is treated as
// damaged until it is shown not to be: sizes first, then each line, then what lines say of each
// other.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <zlib.h>

#include "base/os.h"
#include "measure/times/times.h"

#define FORMAT_VERSION 1
#define MAX_FILE_BYTES ((size_t)1 << 28)
#define MAX_TEXT_BYTES ((size_t)1 << 30)
#define MAX_LINE_BYTES ((size_t)1 << 22)
#define MAX_NAME_BYTES 4096
#define MAX_SECONDS 1e4
#define BLOCK_BYTES 65536
#define GZIP_WINDOW (MAX_WBITS + 16)  // of zlib: the gzip format, not its own
#define SAME 1e-5  // relative, of numbers that follow from others

static const char *const origin_names[SEER_TIME_ORIGIN_COUNT] = {
    "untuned", "default", "drawn", "liked", "searched"};
static const char *const space_names[] = {"seer", "ansor"};  // as option --space has them

// ---- writing

// Takes `line`.
static seer_status put_line(json_t *line, seer_text *out) {
  char *dump =
      line ? json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(SEER_TIMES_DIGITS)) : NULL;
  json_decref(line);
  if (!dump) return SEER_FAIL(INVALID, "a name or a text of the table is no UTF-8");
  seer_text_put(out, dump);
  seer_text_put(out, "\n");
  free(dump);
  return SEER_OK;
}

static seer_status put_task(const seer_times *times, uint32_t t, seer_text *out) {
  const seer_times_task *task = &times->task[t];
  json_t *uses = json_array();
  for (uint32_t u = 0; u < task->n_use; u++)
    json_array_append_new(uses,
        json_pack("{s:s, s:I}", "network", task->use[u].network, "count",
            (json_int_t)task->use[u].count));
  return put_line(json_pack("{s:I, s:s, s:s, s:s, s:I, s:f, s:f, s:o}", "task", (json_int_t)t,
                      "name", task->name, "space", space_names[task->space], "dag",
                      seer_dag_print(task->dag, out->arena), "network_weight_bytes",
                      (json_int_t)task->network_weight_bytes, "build_s", task->build_s, "run_s",
                      task->run_s, "uses", uses),
      out);
}

static seer_status put_time(uint32_t t, const seer_time *time, seer_text *out) {
  json_t *line = json_pack("{s:I, s:s}", "of", (json_int_t)t, "origin", origin_names[time->origin]);
  if (time->cls != SEER_MEASURED_OK) {
    json_object_set_new(line, "failed", json_string(seer_measured_class_name(time->cls)));
  } else {
    json_t *visits = json_array();
    for (uint32_t v = 0; v < time->n_visits; v++)
      json_array_append_new(visits, json_real(time->visit_s[v]));
    json_object_set_new(line, "seconds", json_real(time->seconds));
    if (isfinite(time->half_width))
      json_object_set_new(line, "half_width", json_real(time->half_width));
    json_object_set_new(line, "timings", json_integer((json_int_t)time->n_timings));
    json_object_set_new(line, "visits", visits);
  }
  json_object_set_new(line, "schedule", json_string(time->schedule));
  return put_line(line, out);
}

static seer_status put_table(const seer_times *times, seer_text *out) {
  SEER_TRY(put_line(json_pack("{s:i, s:s, s:s}", "familyseer_times", FORMAT_VERSION, "target",
                        times->target, "version", SEER_VERSION),
      out));
  for (uint32_t t = 0; t < times->n_task; t++) {
    const seer_times_task *task = &times->task[t];
    SEER_TRYF(put_task(times, t, out), "task %s", task->name);
    for (uint32_t i = 0; i < task->n_time; i++) SEER_TRY(put_time(t, &task->time[i], out));
  }
  return SEER_OK;
}

static seer_status compress_text(const seer_text *text, seer_text *out) {
  z_stream z = {0};
  if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) !=
      Z_OK)
    return SEER_FAIL(RESOURCE, "no memory to compress %zu bytes", text->n_bytes);
  unsigned char block[BLOCK_BYTES];
  z.next_in = (unsigned char *)text->data;
  size_t left = text->n_bytes;
  int rc = Z_OK;
  while (rc == Z_OK) {
    if (z.avail_in == 0) {
      z.avail_in = left < BLOCK_BYTES ? (uInt)left : BLOCK_BYTES;
      left -= z.avail_in;
    }
    z.next_out = block;
    z.avail_out = sizeof block;
    rc = deflate(&z, left ? Z_NO_FLUSH : Z_FINISH);
    seer_text_put_n(out, (const char *)block, sizeof block - z.avail_out);
  }
  deflateEnd(&z);
  return rc == Z_STREAM_END ? SEER_OK : SEER_FAIL(INTERNAL, "zlib: %d while compressing", rc);
}

seer_status seer_times_write(const seer_times *times, const char *path) {
  seer_arena *arena = seer_arena_create("times to write");
  seer_text text, packed;
  seer_text_init(&text, arena);
  seer_text_init(&packed, arena);
  seer_status status = put_table(times, &text);
  if (!status) status = compress_text(&text, &packed);
  if (!status) status = seer_os_write_file(path, packed.data, packed.n_bytes);
  seer_arena_destroy(arena);
  return status;
}

// ---- reading
typedef struct {
  const char *path;
  seer_times *times;
  seer_arena *scratch;
  uint32_t line;  // from 1
  seer_map *seen;  // hash of (task, schedule)
} reader;

#define DAMAGED(r, ...) damaged((r), seer_arena_printf((r)->scratch, __VA_ARGS__))
static seer_status damaged(const reader *r, const char *what) {
  return SEER_FAIL(CORRUPT, "%s:%u: %s", r->path, r->line, what);
}

static const char *shown(const reader *r, const char *text) {
  return seer_text_safe(r->scratch, text);
}

// Which of n names; n: none.
static uint32_t index_of(const char *const *names, uint32_t n, const char *name) {
  uint32_t i = 0;
  while (i < n && strcmp(names[i], name) != 0) i++;
  return i;
}

static seer_status read_head(reader *r, json_t *line) {
  json_int_t version = 0;
  const char *target, *written_by;
  json_error_t error;
  if (json_unpack_ex(line, &error, 0, "{s:I}", "familyseer_times", &version) != 0)
    return SEER_FAIL(
        INVALID, "%s: JSON lines, but no table of times: line 1 has no version of it", r->path);
  if (version != FORMAT_VERSION)
    return SEER_FAIL(INVALID,
        "%s: a table of times of version %" JSON_INTEGER_FORMAT "; this program reads version %d",
        r->path, version, FORMAT_VERSION);
  if (json_unpack_ex(line, &error, 0, "{s:s, s:s}", "target", &target, "version", &written_by) != 0)
    return DAMAGED(r, "%s", error.text);
  seer_target parsed;
  seer_status status = seer_target_parse(target, r->scratch, &parsed);
  if (status) return seer_status_context(status, "%s:%u", r->path, r->line);
  if (strlen(written_by) > MAX_NAME_BYTES)
    return DAMAGED(r, "a version of %zu bytes", strlen(written_by));
  r->times->target = seer_arena_strdup(r->times->arena, target);
  r->times->version = seer_arena_strdup(r->times->arena, written_by);
  return SEER_OK;
}

static seer_status read_uses(reader *r, json_t *uses, seer_times_task *task) {
  size_t i;
  json_t *use;
  json_error_t error;
  json_array_foreach(uses, i, use) {
    const char *network;
    json_int_t count;
    if (json_unpack_ex(use, &error, 0, "{s:s, s:I}", "network", &network, "count", &count) != 0)
      return DAMAGED(r, "%s", error.text);
    if (strlen(network) > MAX_NAME_BYTES || count < 1 || count > UINT32_MAX)
      return DAMAGED(
          r, "network %s runs the task %" JSON_INTEGER_FORMAT " times", shown(r, network), count);
    seer_times_set_use(r->times, task, network, (uint32_t)count);
  }
  return SEER_OK;
}

static seer_status read_dag(reader *r, const char *text, seer_dag **out) {
  seer_status status = seer_dag_parse("dag", text, strlen(text), r->times->arena, out);
  if (!status) status = seer_dag_verify(*out);
  if (!status) {
    seer_dag_finish(*out);
    return SEER_OK;
  }
  seer_status bad = DAMAGED(r, "the task's DAG is none: %s", seer_status_message(status));
  seer_status_free(status);
  return bad;
}

static bool is_seconds(double seconds, bool may_be_none) {
  return (seconds == 0 && may_be_none) || (seconds >= 1e-9 && seconds <= MAX_SECONDS);
}

static seer_status read_task(reader *r, json_t *line) {
  json_int_t id, weight_bytes;
  const char *name, *space, *dag_text;
  double build_s, run_s;
  json_t *uses;
  json_error_t error;
  if (json_unpack_ex(line, &error, 0, "{s:I, s:s, s:s, s:s, s:I, s:F, s:F, s:o}", "task", &id,
          "name", &name, "space", &space, "dag", &dag_text, "network_weight_bytes", &weight_bytes,
          "build_s", &build_s, "run_s", &run_s, "uses", &uses) != 0)
    return DAMAGED(r, "%s", error.text);
  if (id != (json_int_t)r->times->n_task)
    return DAMAGED(
        r, "task %" JSON_INTEGER_FORMAT " where task %u was expected", id, r->times->n_task);
  uint32_t kind = index_of(space_names, SEER_COUNT_OF(space_names), space);
  if (kind == SEER_COUNT_OF(space_names)) return DAMAGED(r, "space '%s'", shown(r, space));
  bool is_sound = strlen(name) <= MAX_NAME_BYTES && weight_bytes >= 0 && json_is_array(uses) &&
      is_seconds(build_s, true) && is_seconds(run_s, true);
  if (!is_sound)
    return DAMAGED(r, "task '%s' has a number or a name that cannot be", shown(r, name));
  seer_dag *dag = NULL;
  SEER_TRY(read_dag(r, dag_text, &dag));
  if (seer_times_find_task(r->times, seer_dag_hash(dag), (seer_space_kind)kind))
    return DAMAGED(r, "task '%s' is there twice", shown(r, name));
  seer_times_task *task = seer_times_add_task(r->times, name, dag, (seer_space_kind)kind);
  task->network_weight_bytes = (uint64_t)weight_bytes;
  task->build_s = build_s;
  task->run_s = run_s;
  return read_uses(r, uses, task);
}

static bool is_near(double a, double b) { return fabs(a - b) <= SAME * fmax(fabs(a), fabs(b)); }

static seer_status read_visits(reader *r, json_t *line, seer_time *time) {
  double seconds, half_width = INFINITY;
  json_int_t n_timings;
  json_t *visits, *visit;
  json_error_t error;
  if (json_unpack_ex(line, &error, 0, "{s:F, s?F, s:I, s:o}", "seconds", &seconds, "half_width",
          &half_width, "timings", &n_timings, "visits", &visits) != 0)
    return DAMAGED(r, "%s", error.text);
  size_t n = json_array_size(visits), i;
  if (n < 1 || n > SEER_TIMES_MAX_VISITS || n_timings < 1 || n_timings > UINT32_MAX)
    return DAMAGED(r, "%zu visits, %" JSON_INTEGER_FORMAT " timings", n, n_timings);
  json_array_foreach(visits, i, visit) {
    if (!json_is_number(visit) || !is_seconds(json_number_value(visit), false))
      return DAMAGED(r, "visit %zu is no time", i);
    seer_time_add_visit(time, json_number_value(visit), 0);
  }
  time->n_timings = (uint32_t)n_timings;
  if (!is_near(seconds, time->seconds))
    return DAMAGED(r, "%g seconds, but the visits' median is %g", seconds, time->seconds);
  // Of a difference of nearly equal times, seven digits of which are left.
  bool is_same = isfinite(time->half_width) == isfinite(half_width) &&
      (!isfinite(half_width) ||
          fabs(half_width - time->half_width) <= SAME * (1 + time->half_width));
  if (!is_same)
    return DAMAGED(r, "a half width of %g, but the visits' is %g", half_width, time->half_width);
  return SEER_OK;
}

static seer_status read_time(reader *r, json_t *line) {
  json_int_t of;
  const char *origin, *text, *failed = NULL;
  json_error_t error;
  if (json_unpack_ex(line, &error, 0, "{s:I, s:s, s:s, s?s}", "of", &of, "origin", &origin,
          "schedule", &text, "failed", &failed) != 0)
    return DAMAGED(r, "%s", error.text);
  if (of + 1 != (json_int_t)r->times->n_task)
    return DAMAGED(
        r, "a schedule of task %" JSON_INTEGER_FORMAT " behind %u tasks", of, r->times->n_task);
  uint32_t kind = index_of(origin_names, SEER_TIME_ORIGIN_COUNT, origin);
  if (kind == SEER_TIME_ORIGIN_COUNT) return DAMAGED(r, "origin '%s'", shown(r, origin));
  uint64_t key = seer_hash_str(text, (uint64_t)of);
  if (seer_map_get(r->seen, key, NULL)) return DAMAGED(r, "a schedule that is there twice");
  seer_map_set(r->seen, key, r->line);
  seer_times_task *task = &r->times->task[of];
  seer_time *time = seer_times_add(r->times, task, text, (seer_time_origin)kind);
  if (!failed) return read_visits(r, line, time);
  uint32_t cls = 1;
  while (cls < SEER_MEASURED_COUNT &&
      strcmp(seer_measured_class_name((seer_measured_class)cls), failed) != 0)
    cls++;
  if (cls == SEER_MEASURED_COUNT) return DAMAGED(r, "a failure '%s'", shown(r, failed));
  time->cls = (seer_measured_class)cls;
  return SEER_OK;
}

static seer_status read_line(reader *r, const char *text, size_t n_bytes) {
  json_error_t error;
  if (n_bytes > MAX_LINE_BYTES) return DAMAGED(r, "a line of %zu bytes", n_bytes);
  json_t *line = json_loadb(text, n_bytes, JSON_REJECT_DUPLICATES, &error);
  seer_status status = SEER_OK;
  if (!line && r->line == 1)
    status = SEER_FAIL(
        INVALID, "%s: no table of times: line 1 is %s", r->path, n_bytes ? "no JSON" : "empty");
  else if (!line)
    status = DAMAGED(r, "no JSON: %s", shown(r, error.text));
  else if (r->line == 1)
    status = read_head(r, line);
  else if (json_object_get(line, "of"))
    status = read_time(r, line);
  else
    status = read_task(r, line);
  json_decref(line);
  return status;
}

static seer_status read_lines(reader *r, const char *text, size_t n_bytes) {
  const char *end = text + n_bytes;
  for (const char *at = text; at < end || r->line == 0;) {
    const char *stop = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
    r->line++;
    if (!stop && at < end) return DAMAGED(r, "the file ends within the line");
    SEER_TRY(read_line(r, at, stop ? (size_t)(stop - at) : 0));
    seer_arena_reset(r->scratch);
    at = stop ? stop + 1 : end;
  }
  return SEER_OK;
}

static uint32_t count_lines(const seer_text *text) {
  uint32_t n = 0;
  for (size_t i = 0; i < text->n_bytes; i++) n += text->data[i] == '\n';
  return n;
}

// All of the file is one stream of gzip.
static seer_status inflate_map(const seer_os_map *map, const char *path, seer_text *out) {
  if (map->n_bytes < 2 || map->data[0] != 0x1F || map->data[1] != 0x8B)
    return SEER_FAIL(INVALID, "%s: no table of times: it is not compressed as gzip does it", path);
  z_stream z = {.next_in = (unsigned char *)(uintptr_t)map->data, .avail_in = (uInt)map->n_bytes};
  if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
    return SEER_FAIL(RESOURCE, "no memory to read %s", path);
  char block[BLOCK_BYTES];
  int rc = Z_OK;
  while (rc == Z_OK && out->n_bytes <= MAX_TEXT_BYTES) {
    z.next_out = (unsigned char *)block;
    z.avail_out = sizeof block;
    rc = inflate(&z, Z_NO_FLUSH);
    seer_text_put_n(out, block, sizeof block - z.avail_out);
  }
  size_t n_left = z.avail_in;
  inflateEnd(&z);
  if (out->n_bytes > MAX_TEXT_BYTES) return SEER_FAIL(INVALID, "%s: more than 1 GiB of text", path);
  if (rc == Z_STREAM_END && n_left == 0) return SEER_OK;
  const char *what = rc == Z_STREAM_END ? "more bytes behind the end"
      : rc == Z_BUF_ERROR               ? "the file ends too early"
                                        : "the bytes are damaged";
  return SEER_FAIL(CORRUPT, "%s:%u: %s (zlib: %d, %zu of %zu bytes read)", path,
      count_lines(out) + 1, what, rc, map->n_bytes - n_left, map->n_bytes);
}

static seer_status read_map(const seer_os_map *map, reader *r, seer_arena *text_arena) {
  if (map->n_bytes > MAX_FILE_BYTES)
    return SEER_FAIL(INVALID, "%s: %zu bytes, at most 256 MiB", r->path, map->n_bytes);
  seer_text text;
  seer_text_init(&text, text_arena);
  SEER_TRY(inflate_map(map, r->path, &text));
  return read_lines(r, text.data ? text.data : "", text.n_bytes);
}

seer_status seer_times_read(const char *path, seer_arena *arena, seer_times *out) {
  *out = (seer_times){.arena = arena};
  seer_os_map map;
  SEER_TRY(seer_os_map_file(path, &map));
  seer_arena *text_arena = seer_arena_create("text of times");
  reader r = {.path = path,
      .times = out,
      .scratch = seer_arena_create("line of times"),
      .seen = seer_map_create(text_arena)};
  seer_status status = read_map(&map, &r, text_arena);
  if (!status) status = seer_os_map_check(&map);
  seer_os_unmap(&map);
  seer_arena_destroy(r.scratch);
  seer_arena_destroy(text_arena);
  return status;
}
