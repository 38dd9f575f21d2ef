// lines.c - records as lines of JSON (line.h), for merging and for people.
// Import treats the file as hostile: a line that is not sound is skipped and counted, never
// half-stored. Schedules are examined in the end, task by task (check.c): sketches of all tasks of
// a file at once would take gigabytes.

#include <string.h>

#include "base/map.h"
#include "base/os.h"
#include "record/line.h"

#define MAX_FILE_BYTES ((size_t)1 << 31)

// ---- export
seer_status seer_records_export(seer_records *r, const char *path, uint32_t *out_dropped) {
  sqlite3_stmt *row = NULL;
  *out_dropped = 0;
  SEER_TRY(seer_records_prepare(r, seer_record_line_sql, &row));
  seer_arena *arena = seer_arena_create("export");
  seer_text out;
  seer_text_init(&out, arena);
  seer_status status = SEER_OK;
  int rc;
  while (!status && (rc = sqlite3_step(row)) == SQLITE_ROW) {
    *out_dropped += !seer_record_line_put(row, &out);
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
static bool is_sound_target(const seer_record_line *f, seer_arena *scratch) {
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
static bool is_sound_workload(const seer_record_line *f, seer_arena *scratch) {
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

static seer_status target_of(importer *im, const seer_record_line *f, int64_t *out_id) {
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

static seer_status workload_of(importer *im, const seer_record_line *f, int64_t *out_id) {
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

static seer_status campaign_of(importer *im, const seer_record_line *f, int64_t *out_id) {
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

static seer_status import_line(
    importer *im, const seer_record_line *f, seer_record_verdict *out_verdict) {
  seer_record record;
  *out_verdict = seer_record_line_record(f, &record);
  if (*out_verdict != SEER_RECORD_SOUND) return SEER_OK;
  SEER_TRY(target_of(im, f, &record.target));
  SEER_TRY(workload_of(im, f, &record.workload));
  if (record.target == 0) *out_verdict = SEER_RECORD_BAD_TARGET;
  if (record.workload == 0) *out_verdict = SEER_RECORD_BAD_TASK;
  if (*out_verdict != SEER_RECORD_SOUND) return SEER_OK;
  bool known;
  SEER_TRY(is_known(im, &record, &known));
  if (known) *out_verdict = SEER_RECORD_KNOWN;
  if (known) return SEER_OK;
  SEER_TRY(campaign_of(im, f, &record.campaign));
  return add_record(im, &record);
}

static seer_status import_all(importer *im, const char *data, size_t n_bytes) {
  const char *line;
  for (size_t n, at = 0; (line = seer_record_line_next(data, n_bytes, &at, &n));) {
    seer_record_line fields;
    seer_record_verdict verdict = SEER_RECORD_MALFORMED;
    seer_status status = SEER_OK;
    if (seer_record_line_read(line, n, im->scratch, &fields)) {
      status = import_line(im, &fields, &verdict);
      seer_record_line_clear(&fields);
    }
    seer_arena_reset(im->scratch);
    SEER_TRY(status);
    im->counts->n[verdict]++;
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
static seer_status take(importer *im, const char *data, size_t n_bytes) {
  int64_t before;
  SEER_TRY(last_id(im->r, &before));
  SEER_TRY(import_all(im, data, n_bytes));
  SEER_TRY(seer_records_examine_after(im->r, before, drop_unsound, im));
  for (size_t k = 0; k < im->n_accepted; k++) SEER_TRY(crown(im, im->accepted[k]));
  return SEER_OK;
}

static seer_status take_all(importer *im, const char *data, size_t n_bytes) {
  SEER_TRY(seer_records_prepare(im->r, known_sql, &im->known));
  SEER_TRY(seer_records_begin(im->r));
  seer_status status = take(im, data, n_bytes);
  if (!status) status = seer_records_commit(im->r);
  if (!status) return SEER_OK;
  seer_records_rollback(im->r);
  *im->counts = (seer_record_counts){0};
  return status;
}

seer_status seer_records_take_lines(seer_records *r, const char *data, size_t n_bytes,
    bool is_trusted, seer_record_counts *out_counts) {
  *out_counts = (seer_record_counts){0};
  importer im = {.r = r,
      .arena = seer_arena_create("import"),
      .scratch = seer_arena_create("import-line"),
      .is_trusted = is_trusted,
      .counts = out_counts};
  im.targets = seer_map_create(im.arena);
  im.workloads = seer_map_create(im.arena);
  im.campaigns = seer_map_create(im.arena);
  seer_status status = take_all(&im, data, n_bytes);
  sqlite3_finalize(im.known);
  seer_arena_destroy(im.scratch);
  seer_arena_destroy(im.arena);
  return status;
}

seer_status seer_records_import(
    seer_records *r, const char *path, bool is_trusted, seer_record_counts *out_counts) {
  *out_counts = (seer_record_counts){0};
  seer_os_map map = {0};
  seer_status status = seer_os_map_file(path, &map);
  if (!status && map.n_bytes > MAX_FILE_BYTES)
    status = SEER_FAIL(INVALID, "%s: %zu bytes, at most 2 GiB", path, map.n_bytes);
  if (!status)
    status =
        seer_records_take_lines(r, (const char *)map.data, map.n_bytes, is_trusted, out_counts);
  seer_os_unmap(&map);
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
