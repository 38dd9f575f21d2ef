// lines.c - records as JSON lines, for merging and for people. A line is self-contained: target,
// workload (with its DAG), schedule, times, pairs. Paths, host names and messages are not written;
// all other texts come back byte by byte.
// Import treats the file as hostile: a line that is not sound is skipped and counted, never
// half-stored. Schedules are examined in the end, task by task (check.c): sketches of all tasks of
// a file at once would take gigabytes.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/map.h"
#include "base/os.h"
#include "record/internal.h"
#include "record/sound.h"

#define FORMAT_VERSION 2  // 1 had no origin, place and pairs
#define MAX_FILE_BYTES ((size_t)1 << 31)
#define MAX_LINE_BYTES ((size_t)1 << 22)
#define MAX_NAME_BYTES 4096

// ---- export
static const char export_sql[] =
    "SELECT t.key, t.feature_key, t.text, w.structure, w.shape, w.name, w.dag, s.model, s.policy, "
    "s.version, s.rules,"
    " s.seed, m.schedule, m.class, m.state, m.seconds, m.reference, m.samples, m.raced, m.twin, "
    "m.predicted, m.round, m.origin, m.place, m.pairs, m.speedup, m.p_value, m.baseline_seconds, "
    "m.baseline, m.judged"
    " FROM measurement m JOIN target t ON t.id = m.target JOIN workload w ON w.id = m.workload"
    " JOIN session s ON s.id = m.session ORDER BY m.id";

// The last part of a path that a model was given by.
static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

// NULL: one is no number, and JSON has none for it.
static json_t *samples_of(sqlite3_stmt *row, int column) {
  json_t *samples = json_array();
  size_t n = (size_t)sqlite3_column_bytes(row, column) / sizeof(double);
  const char *bytes = sqlite3_column_blob(row, column);
  for (size_t i = 0; i < n && i < SEER_MEASURE_MAX_SAMPLES; i++) {
    double value;
    memcpy(&value, bytes + i * sizeof value, sizeof value);
    if (json_array_append_new(samples, json_real(value)) != 0) {
      json_decref(samples);
      return NULL;
    }
  }
  return samples;
}

static json_t *text_json(const char *text, seer_arena *arena);

static json_t *pairs_of(sqlite3_stmt *row, seer_arena *arena) {
  return json_pack("{s:I, s:f, s:f, s:f, s:o, s:I}", "n", (json_int_t)sqlite3_column_int64(row, 24),
      "speedup", sqlite3_column_double(row, 25), "p_value", sqlite3_column_double(row, 26),
      "baseline_seconds", sqlite3_column_double(row, 27), "baseline",
      text_json(seer_sql_text(row, 28), arena), "judged",
      (json_int_t)sqlite3_column_int64(row, 29));
}

// A text as JSON has it; bytes that are no UTF-8, which JSON cannot have, as {"hex": "636166e9"}.
static json_t *text_json(const char *text, seer_arena *arena) {
  json_t *plain = json_string(text);  // NULL: no UTF-8
  if (plain) return plain;
  seer_text hex;
  seer_text_init(&hex, arena);
  for (const char *at = text; *at; at++) seer_text_printf(&hex, "%02x", (unsigned char)*at);
  return json_pack("{s:s}", "hex", hex.data);
}

// *out_written false: it has a time that is no number, which no line can have.
static seer_status put_line(sqlite3_stmt *row, seer_text *out, bool *out_written) {
  seer_arena *arena = out->arena;
  json_t *line = json_pack(
      "{s:i, s:{s:o, s:o, s:o}, s:{s:o, s:o, s:o, s:o}, s:{s:o, s:o, s:o, s:I, s:I}, s:o, s:o, s:o,"
      " s:f, s:f, s:o, s:b, s:b, s:f, s:I, s:o, s:o, s:o}",
      "v", FORMAT_VERSION, "target", "key", text_json(seer_sql_text(row, 0), arena), "features",
      text_json(seer_sql_text(row, 1), arena), "text", text_json(seer_sql_text(row, 2), arena),
      "workload", "structure", text_json(seer_sql_text(row, 3), arena), "shape",
      text_json(seer_sql_text(row, 4), arena), "name", text_json(seer_sql_text(row, 5), arena),
      "dag", text_json(seer_sql_text(row, 6), arena), "session", "model",
      text_json(base_name(seer_sql_text(row, 7)), arena), "policy",
      text_json(seer_sql_text(row, 8), arena), "version", text_json(seer_sql_text(row, 9), arena),
      "rules", (json_int_t)sqlite3_column_int64(row, 10), "seed",
      (json_int_t)sqlite3_column_int64(row, 11), "schedule",
      text_json(seer_sql_text(row, 12), arena), "class", text_json(seer_sql_text(row, 13), arena),
      "state", text_json(seer_sql_text(row, 14), arena), "seconds", sqlite3_column_double(row, 15),
      "reference", sqlite3_column_double(row, 16), "samples", samples_of(row, 17), "raced",
      sqlite3_column_int(row, 18), "twin", sqlite3_column_int(row, 19), "predicted",
      sqlite3_column_double(row, 20), "round", (json_int_t)sqlite3_column_int64(row, 21), "origin",
      text_json(seer_sql_text(row, 22), arena), "place", text_json(seer_sql_text(row, 23), arena),
      "pairs", pairs_of(row, arena));
  char *dump = line ? json_dumps(line, JSON_COMPACT) : NULL;
  json_decref(line);
  *out_written = dump != NULL;
  if (!dump) return SEER_OK;
  seer_text_put(out, dump);
  seer_text_put(out, "\n");
  free(dump);
  return SEER_OK;
}

seer_status seer_records_export(seer_records *r, const char *path, uint32_t *out_dropped) {
  sqlite3_stmt *row = NULL;
  *out_dropped = 0;
  SEER_TRY(seer_records_prepare(r, export_sql, &row));
  seer_arena *arena = seer_arena_create("export");
  seer_text out;
  seer_text_init(&out, arena);
  seer_status status = SEER_OK;
  int rc;
  while (!status && (rc = sqlite3_step(row)) == SQLITE_ROW) {
    bool is_written = false;
    status = put_line(row, &out, &is_written);
    *out_dropped += !is_written;
  }
  if (!status && rc != SQLITE_DONE) status = seer_sql_fail(r->db, r->path, rc, "export");
  status = seer_records_check_quiet(r, status);
  sqlite3_finalize(row);
  if (!status) status = seer_os_write_file(path, out.data, out.n_bytes);
  seer_arena_destroy(arena);
  return status;
}

// ---- import
static const char known_sql[] =
    "SELECT 1 FROM measurement WHERE workload = ? AND target = ? AND seconds = ? AND schedule = ?"
    " AND pairs = ? AND judged = ? LIMIT 1";

typedef struct {
  const char *target_key, *features, *target_text, *structure, *shape, *name, *dag, *model, *policy,
      *version;
  const char *schedule, *cls, *state, *origin, *provenance, *baseline;
  json_int_t rules, seed, round, n_pairs, judged;
  double seconds, reference, predicted, speedup, p_value, baseline_s;
  int is_raced, is_twin;
  json_t *samples;
} line_fields;

static int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// What text_json writes; texts have no NUL within. NULL: it is none.
static const char *text_of(const json_t *value, seer_arena *arena) {
  if (json_is_string(value)) {
    const char *text = json_string_value(value);
    return strlen(text) == json_string_length(value) ? text : NULL;
  }
  const char *hex = json_string_value(json_object_get(value, "hex"));
  if (!hex || json_object_size(value) != 1 || strlen(hex) % 2 != 0) return NULL;
  char *text = seer_arena_strdup(arena, hex);
  size_t n = strlen(hex) / 2;
  for (size_t i = 0; i < n; i++) {
    int high = digit_of(hex[2 * i]), low = digit_of(hex[2 * i + 1]);
    if (high < 0 || low < 0 || high + low == 0) return NULL;
    text[i] = (char)(high << 4 | low);
  }
  text[n] = '\0';
  return text;
}

// All of n texts, or false.
static bool read_texts(
    json_t *const *values, const char **const *out, size_t n, seer_arena *arena) {
  for (size_t i = 0; i < n; i++) {
    *out[i] = text_of(values[i], arena);
    if (!*out[i]) return false;
  }
  return true;
}

static bool read_additions(json_t *line, line_fields *f, seer_arena *arena) {
  json_t *text[3];
  const char **const to[3] = {&f->origin, &f->provenance, &f->baseline};
  return json_unpack(line, "{s:o, s:o, s:{s:I, s:F, s:F, s:F, s:o, s:I}}", "origin", &text[0],
             "place", &text[1], "pairs", "n", &f->n_pairs, "speedup", &f->speedup, "p_value",
             &f->p_value, "baseline_seconds", &f->baseline_s, "baseline", &text[2], "judged",
             &f->judged) == 0 &&
      read_texts(text, to, 3, arena);
}

static bool read_line(json_t *line, line_fields *f, seer_arena *arena) {
  int version = 0;
  json_t *text[13];
  const char **const to[13] = {&f->target_key, &f->features, &f->target_text, &f->structure,
      &f->shape, &f->name, &f->dag, &f->model, &f->policy, &f->version, &f->schedule, &f->cls,
      &f->state};
  *f = (line_fields){.origin = "", .provenance = "here", .baseline = ""};
  bool is_read =
      json_unpack(line,
          "{s:i, s:{s:o, s:o, s:o}, s:{s:o, s:o, s:o, s:o}, s:{s:o, s:o, s:o, s:I, s:I},"
          " s:o, s:o, s:o, s:F, s:F, s:o, s:b, s:b, s:F, s:I}",
          "v", &version, "target", "key", &text[0], "features", &text[1], "text", &text[2],
          "workload", "structure", &text[3], "shape", &text[4], "name", &text[5], "dag", &text[6],
          "session", "model", &text[7], "policy", &text[8], "version", &text[9], "rules", &f->rules,
          "seed", &f->seed, "schedule", &text[10], "class", &text[11], "state", &text[12],
          "seconds", &f->seconds, "reference", &f->reference, "samples", &f->samples, "raced",
          &f->is_raced, "twin", &f->is_twin, "predicted", &f->predicted, "round", &f->round) == 0;
  if (!is_read || version < 1 || version > FORMAT_VERSION) return false;
  if (!read_texts(text, to, SEER_COUNT_OF(to), arena)) return false;
  return version == 1 || read_additions(line, f, arena);
}

// Names are a network's own, and shown safely wherever they are shown; they only have to be short.
static bool has_sound_texts(const line_fields *f) {
  const char *const texts[] = {f->name, f->model, f->policy, f->version, f->target_text};
  for (size_t i = 0; i < SEER_COUNT_OF(texts); i++)
    if (strlen(texts[i]) > MAX_NAME_BYTES) return false;
  return true;
}

typedef struct {
  seer_records *r;
  seer_arena *arena;
  seer_arena *scratch;  // of one line
  sqlite3_stmt *known;
  // Texts of lines -> ids here, 0 where they are not sound: most lines share them.
  seer_map *targets, *workloads, *campaigns;
  bool is_trusted;
  // Ids of records that were accepted by somebody trusted: made winners when they are examined.
  size_t n_accepted, cap_accepted;
  int64_t *accepted;
  seer_record_counts *counts;
} importer;

// The text must be one that we print ("native" would be another machine here), with the keys that
// the line claims.
static bool is_sound_target(const line_fields *f, seer_arena *scratch) {
  seer_target target;
  seer_status status = seer_target_parse(f->target_text, scratch, &target);
  bool is_ok = status == SEER_OK;
  seer_status_free(status);
  if (!is_ok || strcmp(seer_target_print(&target, scratch), f->target_text) != 0) return false;
  for (size_t i = 0; i < SEER_RECORD_SOURCES; i++) {
    seer_hex key, features;
    seer_record_target_keys(&target, seer_record_sources[i], key, features);
    if (strcmp(key, f->target_key) == 0 && strcmp(features, f->features) == 0) return true;
  }
  return false;
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

static seer_status campaign_of(importer *im, const line_fields *f, int64_t *out_id) {
  const char *key = seer_arena_printf(im->scratch, "%s|%s|%s|%lld|%lld", f->model, f->policy,
      f->version, (long long)f->rules, (long long)f->seed);
  uint64_t id;
  if (seer_map_get_str(im->campaigns, key, &id)) {
    *out_id = (int64_t)id;
    return SEER_OK;
  }
  SEER_TRY(
      seer_records_add_campaign(im->r, f->model, f->policy, f->version, f->rules, f->seed, out_id));
  seer_map_set_str(im->campaigns, key, (uint64_t)*out_id);
  return SEER_OK;
}

// Words and numbers as a measurement has them. Samples beyond our number of them are left out.
static seer_record_verdict read_record(const line_fields *f, seer_record *out) {
  *out = (seer_record){.schedule = f->schedule,
      .is_raced_out = f->is_raced != 0,
      .is_twin = f->is_twin != 0,
      .seconds = f->seconds,
      .reference_s = f->reference,
      .predicted = f->predicted,
      .round = (uint32_t)f->round,
      .origin = f->origin,
      .baseline = f->baseline,
      .judged = f->judged};
  bool is_form = seer_measured_class_parse(f->cls, &out->cls) &&
      seer_record_state_parse(f->state, &out->state) &&
      seer_record_provenance_parse(f->provenance, &out->provenance) && f->round >= 0 &&
      f->round <= UINT32_MAX && f->n_pairs >= 0 && f->n_pairs <= UINT32_MAX &&
      json_is_array(f->samples);
  if (!is_form) return SEER_RECORD_MALFORMED;
  if (f->n_pairs > 0)
    out->ab = (seer_measure_ab){.speedup = f->speedup,
        .p_value = f->p_value,
        .n_pairs = (uint32_t)f->n_pairs,
        .seconds = f->seconds,
        .baseline_seconds = f->baseline_s};
  size_t n = json_array_size(f->samples);
  out->n_samples = n > SEER_MEASURE_MAX_SAMPLES ? SEER_MEASURE_MAX_SAMPLES : (uint32_t)n;
  for (uint32_t i = 0; i < out->n_samples; i++) {
    const json_t *sample = json_array_get(f->samples, i);
    if (!json_is_number(sample)) return SEER_RECORD_MALFORMED;
    out->sample[i] = json_number_value(sample);
  }
  return seer_record_examine_numbers(out);
}

static seer_status is_known(importer *im, const seer_record *record, bool *out_known) {
  sqlite3_bind_int64(im->known, 1, record->workload);
  sqlite3_bind_int64(im->known, 2, record->target);
  sqlite3_bind_double(im->known, 3, record->seconds);
  sqlite3_bind_text(im->known, 4, record->schedule, -1, SQLITE_STATIC);
  sqlite3_bind_int64(im->known, 5, record->ab.n_pairs);
  sqlite3_bind_int64(im->known, 6, record->judged);
  int rc = sqlite3_step(im->known);
  *out_known = rc == SQLITE_ROW;
  sqlite3_reset(im->known);
  return rc == SQLITE_ROW || rc == SQLITE_DONE
      ? SEER_OK
      : seer_sql_fail(im->r->db, im->r->path, rc, "import");
}

// A trusted file's own measurements, and those that it was told to trust, count here; what was from
// elsewhere there stays so.
static void decide_provenance(const importer *im, seer_record *record) {
  bool is_own = record->provenance != SEER_RECORD_ELSEWHERE;
  record->provenance = im->is_trusted && is_own ? SEER_RECORD_TRUSTED : SEER_RECORD_ELSEWHERE;
}

static seer_status add_record(importer *im, seer_record *record) {
  decide_provenance(im, record);
  bool may_win = record->provenance == SEER_RECORD_TRUSTED && record->state == SEER_RECORD_ACCEPTED;
  if (may_win) record->state = SEER_RECORD_CHECKED;
  SEER_TRY(seer_records_add(im->r, record));
  if (!may_win) return SEER_OK;
  im->accepted = SEER_GROW(im->arena, int64_t, im->accepted, im->n_accepted, &im->cap_accepted);
  im->accepted[im->n_accepted++] = record->id;
  return SEER_OK;
}

static seer_status import_line(importer *im, json_t *line, seer_record_verdict *out_verdict) {
  line_fields f;
  seer_record record;
  *out_verdict = SEER_RECORD_MALFORMED;
  if (!read_line(line, &f, im->scratch) || !has_sound_texts(&f)) return SEER_OK;
  *out_verdict = read_record(&f, &record);
  if (*out_verdict != SEER_RECORD_SOUND) return SEER_OK;
  SEER_TRY(target_of(im, &f, &record.target));
  SEER_TRY(workload_of(im, &f, &record.workload));
  if (record.target == 0) *out_verdict = SEER_RECORD_BAD_TARGET;
  if (record.workload == 0) *out_verdict = SEER_RECORD_BAD_TASK;
  if (*out_verdict != SEER_RECORD_SOUND) return SEER_OK;
  bool known;
  SEER_TRY(is_known(im, &record, &known));
  if (known) *out_verdict = SEER_RECORD_KNOWN;
  if (known) return SEER_OK;
  SEER_TRY(campaign_of(im, &f, &record.campaign));
  return add_record(im, &record);
}

static seer_status import_all(importer *im, const char *data, size_t n_bytes) {
  for (size_t begin = 0; begin < n_bytes;) {
    const char *at = data + begin, *stop = memchr(at, '\n', n_bytes - begin);
    size_t n = stop ? (size_t)(stop - at) : n_bytes - begin;
    seer_record_verdict verdict = SEER_RECORD_MALFORMED;
    if (n > 0 && n < MAX_LINE_BYTES) {
      json_t *line = json_loadb(at, n, JSON_REJECT_DUPLICATES, NULL);
      seer_status status = line ? import_line(im, line, &verdict) : SEER_OK;
      seer_arena_reset(im->scratch);
      json_decref(line);
      SEER_TRY(status);
    }
    im->counts->n[verdict] += n > 0;
    begin += n + 1;
  }
  return SEER_OK;
}

// ---- in the end
static seer_status run_on(seer_records *r, const char *sql, int64_t id) {
  sqlite3_stmt *statement = NULL;
  bool has_row;
  SEER_TRY(seer_records_prepare(r, sql, &statement));
  sqlite3_bind_int64(statement, 1, id);
  seer_status status = seer_sql_step(statement, r->path, &has_row);
  sqlite3_finalize(statement);
  return status;
}

static seer_status drop_unsound(void *user, const seer_examined *examined) {
  importer *im = user;
  if (examined->verdict == SEER_RECORD_SOUND) return SEER_OK;
  im->counts->n[SEER_RECORD_SOUND]--;
  im->counts->n[examined->verdict]++;
  return run_on(im->r, "DELETE FROM measurement WHERE id = ?", examined->id);
}

// Winners of somebody trusted win where nobody has won yet; one that was measured here stays. Of
// two trusted ones the one with pairs wins, then the faster.
static const char crown_sql[] =
    "SELECT ifnull((SELECT w.place = 'trusted' AND (w.pairs = 0, w.seconds) > (m.pairs = 0, "
    "m.seconds) FROM measurement w WHERE w.workload = m.workload AND w.target = m.target AND "
    "w.state = 'accepted' AND w.place <> 'elsewhere'), 1), m.workload, m.target FROM measurement m "
    "WHERE m.id = ? AND m.class = 'ok' AND m.raced = 0";

static seer_status crown(importer *im, int64_t id) {
  sqlite3_stmt *statement = NULL;
  bool has_row = false;
  SEER_TRY(seer_records_prepare(im->r, crown_sql, &statement));
  sqlite3_bind_int64(statement, 1, id);
  seer_status status = seer_sql_step(statement, im->r->path, &has_row);
  bool wins = !status && has_row && sqlite3_column_int(statement, 0) != 0;
  int64_t workload = wins ? sqlite3_column_int64(statement, 1) : 0,
          target = wins ? sqlite3_column_int64(statement, 2) : 0;
  sqlite3_finalize(statement);
  if (status || !wins) return status;
  SEER_TRY(seer_records_dethrone(im->r, workload, target, SEER_RECORD_CHECKED));
  return seer_records_set_state(im->r, id, SEER_RECORD_ACCEPTED);
}

static seer_status last_id(seer_records *r, int64_t *out_id) {
  sqlite3_stmt *statement = NULL;
  bool has_row;
  SEER_TRY(seer_records_prepare(r, "SELECT ifnull(max(id), 0) FROM measurement", &statement));
  seer_status status = seer_sql_step(statement, r->path, &has_row);
  *out_id = status ? 0 : sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  return status;
}

// Within a transaction.
static seer_status take(importer *im, const seer_os_map *map) {
  int64_t before;
  SEER_TRY(last_id(im->r, &before));
  SEER_TRY(import_all(im, (const char *)map->data, map->n_bytes));
  SEER_TRY(seer_records_examine_after(im->r, before, drop_unsound, im));
  for (size_t k = 0; k < im->n_accepted; k++) SEER_TRY(crown(im, im->accepted[k]));
  return SEER_OK;
}

static seer_status import_mapped(importer *im, const seer_os_map *map) {
  SEER_TRY(seer_records_prepare(im->r, known_sql, &im->known));
  SEER_TRY(seer_records_begin(im->r));
  seer_status status = take(im, map);
  if (!status) status = seer_records_commit(im->r);
  if (!status) return SEER_OK;
  seer_records_rollback(im->r);
  *im->counts = (seer_record_counts){0};
  return status;
}

seer_status seer_records_import(
    seer_records *r, const char *path, bool is_trusted, seer_record_counts *out_counts) {
  *out_counts = (seer_record_counts){0};
  importer im = {.r = r,
      .arena = seer_arena_create("import"),
      .scratch = seer_arena_create("import-line"),
      .is_trusted = is_trusted,
      .counts = out_counts};
  im.targets = seer_map_create(im.arena);
  im.workloads = seer_map_create(im.arena);
  im.campaigns = seer_map_create(im.arena);
  seer_os_map map = {0};
  seer_status status = seer_os_map_file(path, &map);
  if (!status && map.n_bytes > MAX_FILE_BYTES)
    status = SEER_FAIL(INVALID, "%s: %zu bytes, at most 2 GiB", path, map.n_bytes);
  if (!status) status = import_mapped(&im, &map);
  sqlite3_finalize(im.known);
  seer_os_unmap(&map);
  seer_arena_destroy(im.scratch);
  seer_arena_destroy(im.arena);
  return status;
}

seer_status seer_records_merge(
    seer_records *r, const char *other_path, bool is_trusted, seer_record_counts *out_counts) {
  *out_counts = (seer_record_counts){0};
  seer_records *other = NULL;
  seer_arena *arena = seer_arena_create("merge");
  const char *folder = NULL;
  seer_status status = seer_records_open_foreign(r->context, other_path, &other);
  if (!status) status = seer_os_temp_dir("familyseer-merge", arena, &folder);
  const char *path = folder ? seer_os_path_join(arena, folder, "records.jsonl") : NULL;
  uint32_t n_dropped = 0;
  if (!status) status = seer_records_export(other, path, &n_dropped);
  if (!status) status = seer_records_import(r, path, is_trusted, out_counts);
  if (!status) out_counts->n[SEER_RECORD_BAD_TIME] += n_dropped;
  if (folder) status = seer_status_join(status, seer_os_remove_tree(folder));
  seer_records_close(other);
  seer_arena_destroy(arena);
  return status;
}
