// line.c - a record as a line of JSON, and back. The contract: line.h.

#include "record/line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/wire/hmac.h"
#include "record/sound.h"

#define MAX_NAME_BYTES 4096

// ---- out
const char seer_record_line_sql[] =
    "SELECT t.key, t.feature_key, t.text, w.structure, w.shape, w.name, w.dag, s.model, s.policy, "
    "s.version, s.rules,"
    " s.seed, m.schedule, m.class, m.state, m.seconds, m.reference, m.samples, m.raced, m.twin, "
    "m.predicted, m.round, m.origin, m.place, m.pairs, m.speedup, m.p_value, m.baseline_seconds, "
    "m.baseline, m.judged, m.worker, m.device"
    " FROM measurement m JOIN target t ON t.id = m.target JOIN workload w ON w.id = m.workload"
    " JOIN session s ON s.id = m.session ORDER BY m.id";

// The last part of a path that a model was given by.
static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

// A name that has a host in it: who has its hash cannot be told, but told from others. "" and what
// is a hash already stay.
#define HASHED '#'
#define BOARD "runner:"

static const char *hashed(const char *name, seer_arena *arena) {
  uint8_t digest[SEER_SHA256_BYTES];
  const seer_hmac_piece piece = {name, strlen(name)};
  if (!name[0] || name[0] == HASHED) return name;
  seer_sha256(&piece, 1, digest);
  return seer_arena_printf(
      arena, "%c%02x%02x%02x%02x", HASHED, digest[0], digest[1], digest[2], digest[3]);
}

static const char *device_of(const char *device, seer_arena *arena) {
  return strncmp(device, BOARD, strlen(BOARD)) == 0 ? hashed(device, arena) : device;
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

bool seer_record_line_put(sqlite3_stmt *row, seer_text *out) {
  seer_arena *arena = out->arena;
  json_t *line = json_pack(
      "{s:i, s:{s:o, s:o, s:o}, s:{s:o, s:o, s:o, s:o}, s:{s:o, s:o, s:o, s:I, s:I}, s:o, s:o, s:o,"
      " s:f, s:f, s:o, s:b, s:b, s:f, s:I, s:o, s:o, s:o, s:o, s:o}",
      "v", SEER_RECORD_LINE_VERSION, "target", "key", text_json(seer_sql_text(row, 0), arena),
      "features", text_json(seer_sql_text(row, 1), arena), "text",
      text_json(seer_sql_text(row, 2), arena), "workload", "structure",
      text_json(seer_sql_text(row, 3), arena), "shape", text_json(seer_sql_text(row, 4), arena),
      "name", text_json(seer_sql_text(row, 5), arena), "dag",
      text_json(seer_sql_text(row, 6), arena), "session", "model",
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
      "pairs", pairs_of(row, arena), "worker",
      text_json(hashed(seer_sql_text(row, 30), arena), arena), "device",
      text_json(device_of(seer_sql_text(row, 31), arena), arena));
  char *dump = line ? json_dumps(line, JSON_COMPACT) : NULL;
  json_decref(line);
  if (!dump) return false;
  seer_text_put(out, dump);
  seer_text_put(out, "\n");
  free(dump);
  return true;
}

// ---- in
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

static bool read_additions(json_t *line, seer_record_line *f, seer_arena *arena) {
  json_t *text[3];
  const char **const to[3] = {&f->origin, &f->provenance, &f->baseline};
  return json_unpack(line, "{s:o, s:o, s:{s:I, s:F, s:F, s:F, s:o, s:I}}", "origin", &text[0],
             "place", &text[1], "pairs", "n", &f->n_pairs, "speedup", &f->speedup, "p_value",
             &f->p_value, "baseline_seconds", &f->baseline_s, "baseline", &text[2], "judged",
             &f->judged) == 0 &&
      read_texts(text, to, 3, arena);
}

static bool read_measurer(json_t *line, seer_record_line *f, seer_arena *arena) {
  json_t *text[2];
  const char **const to[2] = {&f->worker, &f->device};
  return json_unpack(line, "{s:o, s:o}", "worker", &text[0], "device", &text[1]) == 0 &&
      read_texts(text, to, 2, arena);
}

static bool read_fields(json_t *line, seer_record_line *f, seer_arena *arena) {
  int version = 0;
  json_t *text[13];
  const char **const to[13] = {&f->target_key, &f->features, &f->target_text, &f->structure,
      &f->shape, &f->name, &f->dag, &f->model, &f->policy, &f->version, &f->schedule, &f->cls,
      &f->state};
  *f = (seer_record_line){
      .origin = "", .provenance = "here", .baseline = "", .worker = "", .device = ""};
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
  if (!is_read || version < 1 || version > SEER_RECORD_LINE_VERSION) return false;
  if (!read_texts(text, to, SEER_COUNT_OF(to), arena)) return false;
  if (version >= 2 && !read_additions(line, f, arena)) return false;
  return version < 3 || read_measurer(line, f, arena);
}

// Names are a network's own, and shown safely wherever they are shown; they only have to be short.
static bool has_sound_texts(const seer_record_line *f) {
  const char *const texts[] = {
      f->name, f->model, f->policy, f->version, f->target_text, f->worker, f->device};
  for (size_t i = 0; i < SEER_COUNT_OF(texts); i++)
    if (strlen(texts[i]) > MAX_NAME_BYTES) return false;
  return true;
}

const char *seer_record_line_next(const char *data, size_t n_bytes, size_t *at, size_t *out_n) {
  while (*at < n_bytes) {
    const char *line = data + *at, *stop = memchr(line, '\n', n_bytes - *at);
    *out_n = stop ? (size_t)(stop - line) : n_bytes - *at;
    *at += *out_n + 1;
    if (*out_n > 0) return line;
  }
  return NULL;
}

bool seer_record_line_read(
    const char *data, size_t n_bytes, seer_arena *arena, seer_record_line *out) {
  *out = (seer_record_line){.json = NULL};
  if (n_bytes == 0 || n_bytes >= SEER_RECORD_LINE_MAX_BYTES) return false;
  json_t *json = json_loadb(data, n_bytes, JSON_REJECT_DUPLICATES, NULL);
  if (json && read_fields(json, out, arena) && has_sound_texts(out)) {
    out->json = json;
    return true;
  }
  json_decref(json);
  return false;
}

void seer_record_line_clear(seer_record_line *line) {
  json_decref(line->json);
  line->json = NULL;
}

// Words and numbers as a measurement has them. Samples beyond our number of them are left out.
seer_record_verdict seer_record_line_record(const seer_record_line *f, seer_record *out) {
  *out = (seer_record){.schedule = f->schedule,
      .is_raced_out = f->is_raced != 0,
      .is_twin = f->is_twin != 0,
      .seconds = f->seconds,
      .reference_s = f->reference,
      .predicted = f->predicted,
      .round = (uint32_t)f->round,
      .origin = f->origin,
      .baseline = f->baseline,
      .worker = f->worker,
      .device = f->device,
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

// ---- which one it is
void seer_record_line_identify(const seer_record_identity *id, seer_record_name out) {
  uint8_t digest[SEER_SHA256_BYTES];
  const double seconds = id->seconds + 0.0;  // one zero
  const seer_hmac_piece pieces[] = {{id->structure, strlen(id->structure) + 1},
      {id->shape, strlen(id->shape) + 1}, {id->target_key, strlen(id->target_key) + 1},
      {&seconds, sizeof seconds}, {&id->n_pairs, sizeof id->n_pairs},
      {&id->judged, sizeof id->judged}, {id->schedule, strlen(id->schedule)}};
  seer_sha256(pieces, SEER_COUNT_OF(pieces), digest);
  for (size_t i = 0; i < sizeof(seer_record_name) / 2; i++)
    (void)snprintf(&out[2 * i], 3, "%02x", digest[i]);
}

seer_record_identity seer_record_line_identity(const seer_record_line *f) {
  return (seer_record_identity){
      f->structure, f->shape, f->target_key, f->schedule, f->seconds, f->n_pairs, f->judged};
}

seer_record_identity seer_record_row_identity(sqlite3_stmt *row) {
  return (seer_record_identity){seer_sql_text(row, 3), seer_sql_text(row, 4), seer_sql_text(row, 0),
      seer_sql_text(row, 12), sqlite3_column_double(row, 15), sqlite3_column_int64(row, 24),
      sqlite3_column_int64(row, 29)};
}
