// sync.c - records through a folder. The contract: sync.h.
// Nothing is kept of what was read before: each time all names, digests and lines of the folder are
// looked at, and only files with a record that is not known here go to the database.

#include "record/sync.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/map.h"
#include "measure/wire/hmac.h"
#include "record/line.h"

#define SUFFIX ".records.jsonl"
#define MAX_FILE_BYTES ((size_t)64 << 20)  // that is read: at once, so that it is what was judged
#define FILE_BYTES ((size_t)16 << 20)  // that is written, and one line more at most
#define DIGITS "0123456789abcdef"
#define MACHINE_BYTES 4
typedef char hex_digest[2 * SEER_SHA256_BYTES + 1];

typedef struct {
  seer_records *r;
  const char *folder;
  bool is_trusted;
  seer_sync_refusal refuse;
  void *user;
  seer_arena *arena, *scratch;  // scratch: of a file, or of what is written
  seer_map *here, *there;  // names of records: known here; in the folder
  seer_sync_outcome *out;
} syncer;

static void digest_of(const void *data, size_t n_bytes, size_t n, char *out) {
  uint8_t digest[SEER_SHA256_BYTES];
  seer_sha256(&(seer_hmac_piece){data, n_bytes}, 1, digest);
  for (size_t i = 0; i < n; i++) (void)snprintf(&out[2 * i], 3, "%02x", digest[i]);
}

// ---- names of files
static bool ends_in(const char *name, const char *suffix) {
  size_t n = strlen(name), n_suffix = strlen(suffix);
  return n >= n_suffix && strcmp(name + n - n_suffix, suffix) == 0;
}

// Takes n of these characters away from the front.
static bool eat(const char **at, const char *allowed, size_t n) {
  bool is_there = strspn(*at, allowed) >= n;
  *at += is_there ? n : 0;
  return is_there;
}

// False: no name that any version of ours gives. *out_digest is a part of the name.
static bool read_name(const char *name, uint32_t *out_version, const char **out_digest) {
  const char *at = name;
  bool is_read = eat(&at, DIGITS, 8) && eat(&at, "T", 1) && eat(&at, DIGITS, 6) &&
      eat(&at, "Z", 1) && eat(&at, "-", 1) && eat(&at, DIGITS, 2 * MACHINE_BYTES) &&
      eat(&at, "-", 1) && eat(&at, "v", 1);
  size_t n = is_read ? strspn(at, "0123456789") : 0;
  if (n == 0 || n > 6 || *at == '0') return false;
  *out_version = 0;
  for (; n > 0; n--) *out_version = *out_version * 10 + (uint32_t)(*at++ - '0');
  if (!eat(&at, "-", 1)) return false;
  *out_digest = at;
  return eat(&at, DIGITS, sizeof(hex_digest) - 1) && strcmp(at, SUFFIX) == 0;
}

// Of the system's own number of this machine, or else of its name.
static void name_machine(seer_arena *arena, char out[2 * MACHINE_BYTES + 1]) {
  char *id, host[256] = "";
  size_t n;
  seer_status status = seer_os_read_file("/etc/machine-id", arena, 4096, &id, &n);
  if (status || n == 0) {
    if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
    id = host;
  }
  seer_status_free(status);
  const char *text = seer_arena_printf(arena, "familyseer records of %s", id);
  digest_of(text, strlen(text), MACHINE_BYTES, out);
}

static const char *name_file(syncer *s, const char *data, size_t n_bytes) {
  hex_digest digest;
  char machine[2 * MACHINE_BYTES + 1], when[32];
  struct tm utc;
  time_t now = time(NULL);
  gmtime_r(&now, &utc);
  (void)strftime(when, sizeof when, "%Y%m%dT%H%M%SZ", &utc);
  name_machine(s->scratch, machine);
  digest_of(data, n_bytes, SEER_SHA256_BYTES, digest);
  return seer_arena_printf(
      s->scratch, "%s-%s-v%d-%s" SUFFIX, when, machine, SEER_RECORD_LINE_VERSION, digest);
}

// ---- what is here
typedef seer_status (*visit_row)(syncer *s, sqlite3_stmt *row, const char *name);

static seer_status each_row(syncer *s, visit_row visit) {
  sqlite3_stmt *row = NULL;
  bool has_row = true;
  SEER_TRY(seer_records_prepare(s->r, seer_record_line_sql, &row));
  seer_status status = SEER_OK;
  while (!status && has_row) {
    status = seer_records_step(s->r, row, &has_row);
    if (status || !has_row) continue;
    seer_record_name name;
    const seer_record_identity identity = seer_record_row_identity(row);
    seer_record_line_identify(&identity, name);
    status = visit(s, row, name);
  }
  sqlite3_finalize(row);
  return status;
}

static seer_status note_here(syncer *s, sqlite3_stmt *row, const char *name) {
  (void)row;
  seer_map_set_str(s->here, name, 1);
  return SEER_OK;
}

// ---- what is there
static void refuse(syncer *s, const char *name, const char *why) {
  s->out->n_refused++;
  const char *shown = seer_text_safe(s->scratch, name);
  s->refuse(s->user, seer_arena_printf(s->scratch, "%s/%s: %s", s->folder, shown, why));
}

// The names of all records of a file, in s->scratch. `*out_why` NULL: it is sound.
static size_t read_names(
    syncer *s, const char *data, size_t n_bytes, seer_record_name **out, const char **out_why) {
  size_t n_names = 0, cap = 0;
  const char *line;
  seer_arena *arena = seer_arena_create("sync line");
  *out = NULL;
  *out_why = NULL;
  for (size_t n, at = 0; !*out_why && (line = seer_record_line_next(data, n_bytes, &at, &n));) {
    seer_record_line fields;
    seer_record record;
    bool is_sound = seer_record_line_read(line, n, arena, &fields);
    if (is_sound) {
      is_sound = seer_record_line_record(&fields, &record) != SEER_RECORD_MALFORMED;
      *out = SEER_GROW(s->scratch, seer_record_name, *out, n_names, &cap);
      const seer_record_identity identity = seer_record_line_identity(&fields);
      seer_record_line_identify(&identity, (*out)[n_names++]);
      seer_record_line_clear(&fields);
    }
    if (!is_sound)
      *out_why = seer_arena_printf(s->scratch,
          "record %zu is no record: nobody's sync has written this", n_names + !is_sound);
    seer_arena_reset(arena);
  }
  seer_arena_destroy(arena);
  return n_names;
}

static seer_status take_records(
    syncer *s, const char *data, size_t n_bytes, const seer_record_name *names, size_t n) {
  bool has_new = false;
  for (size_t i = 0; i < n; i++) {
    has_new = has_new || !seer_map_get_str(s->here, names[i], NULL);
    seer_map_set_str(s->there, names[i], 1);
  }
  seer_record_counts counts = {.n[SEER_RECORD_KNOWN] = (uint32_t)n};
  if (has_new) SEER_TRY(seer_records_take_lines(s->r, data, n_bytes, s->is_trusted, &counts));
  for (size_t i = 0; has_new && i < n; i++) seer_map_set_str(s->here, names[i], 1);
  for (size_t k = 0; k < SEER_RECORD_VERDICT_COUNT; k++) s->out->counts.n[k] += counts.n[k];
  return SEER_OK;
}

// Why a file of this name and these bytes is not taken; NULL: it is what its name says.
static const char *judge(syncer *s, const char *name, const char *data, size_t n_bytes) {
  uint32_t version;
  const char *said;
  hex_digest digest;
  if (!read_name(name, &version, &said))
    return "its name is none of a sync's: TIME-MACHINE-vVERSION-SHA256" SUFFIX;
  if (version > SEER_RECORD_LINE_VERSION)
    return seer_arena_printf(s->scratch, "is of version %u, this program reads 1 to %d", version,
        SEER_RECORD_LINE_VERSION);
  digest_of(data, n_bytes, SEER_SHA256_BYTES, digest);
  if (memcmp(digest, said, sizeof digest - 1) == 0) return NULL;
  return seer_arena_printf(s->scratch,
      "is damaged, cut, or not copied yet: its %zu bytes have the SHA-256 %s", n_bytes, digest);
}

static seer_status take_file(syncer *s, const char *name) {
  char *data;
  size_t n_bytes;
  seer_record_name *names = NULL;
  const char *path = seer_os_path_join(s->scratch, s->folder, name);
  seer_status status = seer_os_read_file(path, s->scratch, MAX_FILE_BYTES, &data, &n_bytes);
  if (status) {
    bool is_gone = seer_status_code(status) == SEER_CODE_NOT_FOUND;
    s->out->n_files -= is_gone;
    if (!is_gone) refuse(s, name, seer_status_message(status));
    seer_status_free(status);
    return SEER_OK;
  }
  const char *why = judge(s, name, data, n_bytes);
  size_t n = why ? 0 : read_names(s, data, n_bytes, &names, &why);
  if (!why) return take_records(s, data, n_bytes, names, n);
  refuse(s, name, why);
  return SEER_OK;
}

static seer_status take_files(syncer *s) {
  const char **names;
  size_t n;
  SEER_TRY(seer_os_list_dir(s->folder, s->arena, &names, &n));
  for (size_t i = 0; i < n; i++) {
    if (names[i][0] == '.' || !ends_in(names[i], SUFFIX)) continue;
    s->out->n_files++;
    seer_arena_reset(s->scratch);
    SEER_TRY(take_file(s, names[i]));
  }
  return SEER_OK;
}

// ---- what is not there yet
typedef struct {
  syncer s;  // first: each_row hands it on
  seer_text lines;
  uint32_t n;  // of them
} writer;

static void begin_file(writer *w) {
  seer_arena_reset(w->s.scratch);
  seer_text_init(&w->lines, w->s.scratch);
  w->n = 0;
}

static seer_status write_file(writer *w) {
  syncer *s = &w->s;
  if (w->n == 0) return SEER_OK;
  const char *name = name_file(s, w->lines.data, w->lines.n_bytes);
  const char *path = seer_os_path_join(s->scratch, s->folder, name);
  SEER_TRY(seer_os_write_file(path, w->lines.data, w->lines.n_bytes));
  s->out->n_written += w->n;
  s->out->n_files_written++;
  begin_file(w);
  return SEER_OK;
}

// What a reader would not take for a line is not written.
static bool is_readable(const seer_text *line) {
  seer_record_line fields;
  seer_record record;
  seer_arena *arena = seer_arena_create("sync line");
  bool is_read = seer_record_line_read(line->data, line->n_bytes - 1, arena, &fields);
  if (is_read) {
    is_read = seer_record_line_record(&fields, &record) != SEER_RECORD_MALFORMED;
    seer_record_line_clear(&fields);
  }
  seer_arena_destroy(arena);
  return is_read;
}

static seer_status add_line(syncer *s, sqlite3_stmt *row, const char *name) {
  writer *w = (writer *)s;
  seer_text line;
  if (seer_map_get_str(s->there, name, NULL)) return SEER_OK;
  seer_map_set_str(s->there, name, 1);
  seer_text_init(&line, s->scratch);
  if (!seer_record_line_put(row, &line) || !is_readable(&line)) {
    s->out->n_dropped++;
    return SEER_OK;
  }
  seer_text_put(&w->lines, line.data);
  w->n++;
  return w->lines.n_bytes < FILE_BYTES ? SEER_OK : write_file(w);
}

seer_status seer_records_sync(seer_records *records, const char *folder, bool is_trusted,
    seer_sync_refusal refuse_file, void *user, seer_sync_outcome *out) {
  *out = (seer_sync_outcome){0};
  writer w = {.s = {records, folder, is_trusted, refuse_file, user, seer_arena_create("sync"),
                  seer_arena_create("sync file"), NULL, NULL, out}};
  w.s.here = seer_map_create(w.s.arena);
  w.s.there = seer_map_create(w.s.arena);
  seer_status status = each_row(&w.s, note_here);
  if (!status) status = take_files(&w.s);
  begin_file(&w);
  if (!status) status = each_row(&w.s, add_line);
  if (!status) status = write_file(&w);
  seer_arena_destroy(w.s.scratch);
  seer_arena_destroy(w.s.arena);
  return status;
}
