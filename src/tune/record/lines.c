// lines.c - records as JSON lines, for merging and for people. A line is self-contained: target,
// workload (with its DAG), schedule, times. Paths, host names and messages are not written. Import
// treats the file as hostile: a line that is not sound is skipped and counted, never half-stored.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/map.h"
#include "base/os.h"
#include "tune/record/internal.h"

#define FORMAT_VERSION 1
#define MAX_FILE_BYTES ((size_t)1 << 31)
#define MAX_LINE_BYTES ((size_t)1 << 22)

// ---- export
static const char export_sql[] =
    "SELECT t.key, t.feature_key, t.text, w.structure, w.shape, w.name, w.dag, s.model, s.policy, "
    "s.version, s.rules,"
    " s.seed, m.schedule, m.class, m.state, m.seconds, m.reference, m.samples, m.raced, m.twin, "
    "m.predicted, m.round"
    " FROM measurement m JOIN target t ON t.id = m.target JOIN workload w ON w.id = m.workload"
    " JOIN session s ON s.id = m.session ORDER BY m.id";

static const char *column_text(sqlite3_stmt *row, int column) {
  const unsigned char *text = sqlite3_column_text(row, column);
  return text ? (const char *)text : "";
}

// The last part of a path that a model was given by.
static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static seer_status put_line(sqlite3_stmt *row, seer_text *out) {
  json_t *samples = json_array();
  size_t n = (size_t)sqlite3_column_bytes(row, 17) / sizeof(double);
  const char *bytes = sqlite3_column_blob(row, 17);
  for (size_t i = 0; i < n; i++) {
    double value;
    memcpy(&value, bytes + i * sizeof value, sizeof value);
    json_array_append_new(samples, json_real(value));
  }
  json_t *line = json_pack(
      "{s:i, s:{s:s, s:s, s:s}, s:{s:s, s:s, s:s, s:s}, s:{s:s, s:s, s:s, s:I, s:I}, s:s, s:s, s:s,"
      " s:f, s:f, s:o, s:b, s:b, s:f, s:I}",
      "v", FORMAT_VERSION, "target", "key", column_text(row, 0), "features", column_text(row, 1),
      "text", column_text(row, 2), "workload", "structure", column_text(row, 3), "shape",
      column_text(row, 4), "name", column_text(row, 5), "dag", column_text(row, 6), "session",
      "model", base_name(column_text(row, 7)), "policy", column_text(row, 8), "version",
      column_text(row, 9), "rules", (json_int_t)sqlite3_column_int64(row, 10), "seed",
      (json_int_t)sqlite3_column_int64(row, 11), "schedule", column_text(row, 12), "class",
      column_text(row, 13), "state", column_text(row, 14), "seconds",
      sqlite3_column_double(row, 15), "reference", sqlite3_column_double(row, 16), "samples",
      samples, "raced", sqlite3_column_int(row, 18), "twin", sqlite3_column_int(row, 19),
      "predicted", sqlite3_column_double(row, 20), "round",
      (json_int_t)sqlite3_column_int64(row, 21));
  char *dump = line ? json_dumps(line, JSON_COMPACT) : NULL;
  json_decref(line);
  if (!dump) return SEER_FAIL(CORRUPT, "a record that is not valid UTF-8");
  seer_text_put(out, dump);
  seer_text_put(out, "\n");
  free(dump);
  return SEER_OK;
}

seer_status seer_records_export(seer_records *r, const char *path) {
  sqlite3_stmt *row = NULL;
  SEER_TRY(seer_records_prepare(r, export_sql, &row));
  seer_arena *arena = seer_arena_create("export");
  seer_text out;
  seer_text_init(&out, arena);
  seer_status status = SEER_OK;
  int rc;
  while (!status && (rc = sqlite3_step(row)) == SQLITE_ROW) status = put_line(row, &out);
  if (!status && rc != SQLITE_DONE) status = seer_sql_fail(r->db, r->path, rc, "export");
  sqlite3_finalize(row);
  if (!status) status = seer_os_write_file(path, out.data, out.n_bytes);
  seer_arena_destroy(arena);
  return status;
}

// ---- import
static const char known_sql[] =
    "SELECT 1 FROM measurement WHERE workload = ? AND target = ? AND seconds = ? AND schedule = ?"
    " LIMIT 1";

typedef struct {
  const char *target_key, *features, *target_text, *structure, *shape, *name, *dag, *model, *policy,
      *version;
  const char *schedule, *cls, *state;
  json_int_t rules, seed, round;
  double seconds, reference, predicted;
  int is_raced, is_twin;
  json_t *samples;
} line_fields;

static bool read_line(json_t *line, line_fields *f) {
  int version = 0;
  return json_unpack(line,
             "{s:i, s:{s:s, s:s, s:s}, s:{s:s, s:s, s:s, s:s}, s:{s:s, s:s, s:s, s:I, s:I}, s:s, "
             "s:s, s:s,"
             " s:F, s:F, s:o, s:b, s:b, s:F, s:I}",
             "v", &version, "target", "key", &f->target_key, "features", &f->features, "text",
             &f->target_text, "workload", "structure", &f->structure, "shape", &f->shape, "name",
             &f->name, "dag", &f->dag, "session", "model", &f->model, "policy", &f->policy,
             "version", &f->version, "rules", &f->rules, "seed", &f->seed, "schedule", &f->schedule,
             "class", &f->cls, "state", &f->state, "seconds", &f->seconds, "reference",
             &f->reference, "samples", &f->samples, "raced", &f->is_raced, "twin", &f->is_twin,
             "predicted", &f->predicted, "round", &f->round) == 0 &&
      version == FORMAT_VERSION;
}

typedef struct {
  seer_records *r;
  seer_arena *arena;
  seer_arena *scratch;  // of one line
  sqlite3_stmt *known;
  // Texts of lines -> ids here, 0 where they are not sound: most lines share them.
  seer_map *targets, *workloads, *sessions;
} importer;

// The text must be one that we print ("native" would be another machine here), with the keys that
// the line claims.
static bool is_sound_target(const line_fields *f, seer_arena *scratch) {
  seer_target target;
  seer_status status = seer_target_parse(f->target_text, scratch, &target);
  bool is_ok = status == SEER_OK;
  seer_status_free(status);
  if (!is_ok || strcmp(seer_target_print(&target, scratch), f->target_text) != 0) return false;
  seer_hex key, features;
  seer_record_hex(seer_target_key(&target), key);
  seer_record_hex(seer_target_feature_key(&target), features);
  return strcmp(key, f->target_key) == 0 && strcmp(features, f->features) == 0;
}

// The DAG must be sound and have the key that the line claims.
static bool is_sound_workload(const line_fields *f, seer_arena *scratch) {
  seer_dag *dag = NULL;
  seer_status status = seer_dag_parse("import", f->dag, strlen(f->dag), scratch, &dag);
  if (!status) status = seer_dag_verify(dag);
  bool is_ok = status == SEER_OK;
  seer_status_free(status);
  if (!is_ok) return false;
  seer_dag_key key = seer_dag_hash(dag);
  seer_hex structure, shape;
  seer_record_hex(key.structure, structure);
  seer_record_hex(key.shape, shape);
  return strcmp(structure, f->structure) == 0 && strcmp(shape, f->shape) == 0;
}

static seer_status target_of(importer *im, const line_fields *f, int64_t *out_id) {
  const char *key =
      seer_arena_printf(im->scratch, "%s|%s|%s", f->target_key, f->features, f->target_text);
  uint64_t id = 0;
  if (!seer_map_get_str(im->targets, key, &id)) {
    int64_t added = 0;
    if (is_sound_target(f, im->scratch))
      SEER_TRY(seer_records_add_target(im->r, f->target_key, f->features, f->target_text, &added));
    id = (uint64_t)added;
    seer_map_set_str(im->targets, key, id);
  }
  *out_id = (int64_t)id;
  return SEER_OK;
}

static seer_status workload_of(importer *im, const line_fields *f, int64_t *out_id) {
  const char *key = seer_arena_printf(im->scratch, "%s|%s|%s", f->structure, f->shape, f->dag);
  uint64_t id = 0;
  if (!seer_map_get_str(im->workloads, key, &id)) {
    int64_t added = 0;
    if (is_sound_workload(f, im->scratch))
      SEER_TRY(seer_records_add_workload(im->r, f->structure, f->shape, f->name, f->dag, &added));
    id = (uint64_t)added;
    seer_map_set_str(im->workloads, key, id);
  }
  *out_id = (int64_t)id;
  return SEER_OK;
}

static seer_status session_of(importer *im, const line_fields *f, int64_t *out_id) {
  const char *key = seer_arena_printf(im->scratch, "%s|%s|%s|%lld|%lld", f->model, f->policy,
      f->version, (long long)f->rules, (long long)f->seed);
  uint64_t id;
  if (seer_map_get_str(im->sessions, key, &id)) {
    *out_id = (int64_t)id;
    return SEER_OK;
  }
  SEER_TRY(
      seer_records_add_session(im->r, f->model, f->policy, f->version, f->rules, f->seed, out_id));
  seer_map_set_str(im->sessions, key, (uint64_t)*out_id);
  return SEER_OK;
}

// Numbers as a measurement has them: what worked has taken time. Samples beyond our number of them
// are left out.
static bool read_record(const line_fields *f, seer_record *out) {
  *out = (seer_record){.schedule = f->schedule,
      .is_raced_out = f->is_raced != 0,
      .is_twin = f->is_twin != 0,
      .seconds = f->seconds,
      .reference_s = f->reference,
      .predicted = f->predicted,
      .round = (uint32_t)f->round};
  if (!seer_measured_class_parse(f->cls, &out->cls)) return false;
  if (!seer_record_state_parse(f->state, &out->state)) return false;
  bool is_time = f->seconds > 0 || (f->seconds == 0 && out->cls != SEER_MEASURED_OK);
  if (!is_time || !(f->reference >= 0) || f->round < 0 || f->round > UINT32_MAX) return false;
  size_t n = json_array_size(f->samples);
  out->n_samples = n > SEER_MEASURE_MAX_SAMPLES ? SEER_MEASURE_MAX_SAMPLES : (uint32_t)n;
  for (uint32_t i = 0; i < out->n_samples; i++) {
    out->sample[i] = json_number_value(json_array_get(f->samples, i));
    if (!(out->sample[i] >= 0)) return false;
  }
  return true;
}

static seer_status is_known(importer *im, const seer_record *record, bool *out_known) {
  sqlite3_bind_int64(im->known, 1, record->workload);
  sqlite3_bind_int64(im->known, 2, record->target);
  sqlite3_bind_double(im->known, 3, record->seconds);
  sqlite3_bind_text(im->known, 4, record->schedule, -1, SQLITE_STATIC);
  int rc = sqlite3_step(im->known);
  *out_known = rc == SQLITE_ROW;
  sqlite3_reset(im->known);
  return rc == SQLITE_ROW || rc == SQLITE_DONE
      ? SEER_OK
      : seer_sql_fail(im->r->db, im->r->path, rc, "import");
}

static seer_status import_line(importer *im, json_t *line, bool *out_added) {
  line_fields f;
  seer_record record;
  *out_added = false;
  if (!read_line(line, &f) || !read_record(&f, &record)) return SEER_OK;
  SEER_TRY(target_of(im, &f, &record.target));
  SEER_TRY(workload_of(im, &f, &record.workload));
  if (record.target == 0 || record.workload == 0) return SEER_OK;
  bool known;
  SEER_TRY(is_known(im, &record, &known));
  if (known) return SEER_OK;
  SEER_TRY(session_of(im, &f, &record.session));
  SEER_TRY(seer_records_add(im->r, &record));
  *out_added = true;
  return SEER_OK;
}

static seer_status import_all(
    importer *im, const char *data, size_t n_bytes, uint32_t *out_added, uint32_t *out_skipped) {
  for (size_t begin = 0; begin < n_bytes;) {
    const char *at = data + begin, *stop = memchr(at, '\n', n_bytes - begin);
    size_t n = stop ? (size_t)(stop - at) : n_bytes - begin;
    if (n > 0 && n < MAX_LINE_BYTES) {
      json_t *line = json_loadb(at, n, JSON_REJECT_DUPLICATES, NULL);
      bool is_added = false;
      seer_status status = line ? import_line(im, line, &is_added) : SEER_OK;
      seer_arena_reset(im->scratch);
      json_decref(line);
      SEER_TRY(status);
      *(is_added ? out_added : out_skipped) += 1;
    } else {
      *out_skipped += n > 0;
    }
    begin += n + 1;
  }
  return SEER_OK;
}

seer_status seer_records_import(
    seer_records *r, const char *path, uint32_t *out_added, uint32_t *out_skipped) {
  *out_added = *out_skipped = 0;
  importer im = {
      .r = r, .arena = seer_arena_create("import"), .scratch = seer_arena_create("import-line")};
  im.targets = seer_map_create(im.arena);
  im.workloads = seer_map_create(im.arena);
  im.sessions = seer_map_create(im.arena);
  seer_os_map map = {NULL, 0};
  seer_status status = seer_os_map_file(path, &map);
  if (!status && map.n_bytes > MAX_FILE_BYTES)
    status = SEER_FAIL(INVALID, "%s: %zu bytes, at most 2 GiB", path, map.n_bytes);
  if (!status) status = seer_records_prepare(r, known_sql, &im.known);
  if (!status) status = seer_records_begin(r);
  if (!status) {
    status = import_all(&im, (const char *)map.data, map.n_bytes, out_added, out_skipped);
    if (status) {
      sqlite3_exec(r->db, "ROLLBACK", NULL, NULL, NULL);
      *out_added = 0;
    } else {
      status = seer_records_commit(r);
    }
  }
  sqlite3_finalize(im.known);
  seer_os_unmap(&map);
  seer_arena_destroy(im.scratch);
  seer_arena_destroy(im.arena);
  return status;
}

seer_status seer_records_merge(seer_records *r, const char *other_path, uint32_t *out_added) {
  *out_added = 0;
  if (!seer_os_exists(other_path)) return SEER_FAIL(NOT_FOUND, "%s: no such file", other_path);
  seer_records *other = NULL;
  seer_arena *arena = seer_arena_create("merge");
  const char *folder = NULL;
  uint32_t skipped;
  seer_status status = seer_records_open(r->context, other_path, &other);
  if (!status) status = seer_os_temp_dir("familyseer-merge", arena, &folder);
  const char *path = folder ? seer_os_path_join(arena, folder, "records.jsonl") : NULL;
  if (!status) status = seer_records_export(other, path);
  if (!status) status = seer_records_import(r, path, out_added, &skipped);
  if (folder) status = seer_status_join(status, seer_os_remove_tree(folder));
  seer_records_close(other);
  seer_arena_destroy(arena);
  return status;
}

// ---- check
typedef struct {
  const seer_sketch_list *sketches;
  seer_text *text;
  uint32_t *bad;
  const char *name;
} checker;

static seer_status check_one(void *user, const seer_record *record) {
  checker *c = user;
  seer_schedule schedule;
  seer_status status = seer_schedule_parse(
      c->sketches, "record", record->schedule, strlen(record->schedule), &schedule);
  if (!status) return SEER_OK;
  *c->bad += 1;
  seer_text_printf(c->text, "record %" PRId64 " of '%s': %s\n", record->id, c->name,
      seer_status_message(status));
  seer_status_free(status);
  return SEER_OK;
}

static seer_status check_workload(
    seer_records *r, sqlite3_stmt *row, seer_arena *arena, seer_text *text, uint32_t *bad) {
  int64_t id = sqlite3_column_int64(row, 0), target_id = sqlite3_column_int64(row, 3);
  const char *name = column_text(row, 1), *dag_text = column_text(row, 2),
             *target_text = column_text(row, 4);
  seer_dag *dag = NULL;
  seer_target target;
  seer_sketch_list *sketches = NULL;
  seer_status status = seer_dag_parse("records", dag_text, strlen(dag_text), arena, &dag);
  if (!status) status = seer_target_parse(target_text, arena, &target);
  if (!status) status = seer_sketch_generate(dag, &target, SEER_SPACE_FULL, arena, &sketches);
  if (status) {
    seer_text_printf(
        text, "workload %" PRId64 " '%s': %s\n", id, name, seer_status_message(status));
    *bad += 1;
    seer_status_free(status);
    return SEER_OK;
  }
  checker c = {sketches, text, bad, name};
  return seer_records_each(r, id, target_id, check_one, &c);
}

seer_status seer_records_check(seer_records *r, seer_text *text, uint32_t *out_bad) {
  *out_bad = 0;
  sqlite3_stmt *row = NULL;
  SEER_TRY(seer_records_prepare(r,
      "SELECT DISTINCT w.id, w.name, w.dag, t.id, t.text FROM measurement m"
      " JOIN workload w ON w.id = m.workload JOIN target t ON t.id = m.target ORDER BY w.id, t.id",
      &row));
  seer_arena *arena = seer_arena_create("check");
  seer_status status = SEER_OK;
  while (!status && sqlite3_step(row) == SQLITE_ROW) {
    status = check_workload(r, row, arena, text, out_bad);
    seer_arena_reset(arena);
  }
  sqlite3_finalize(row);
  seer_arena_destroy(arena);
  return status;
}
