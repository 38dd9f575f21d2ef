// kept.c - results <-> files. One function says what a result has, for both directions: a tape is
// written or read. Contract: kept.h.
#include "study/paper/kept.h"

#include <string.h>

#include "base/map.h"
#include "base/os.h"
#include "measure/wire/wire.h"

#define MAX_FILE_BYTES (64u << 20)
#define MAX_COUNT 1000000u  // tasks, points
#define MAX_TEXT_BYTES 65536u

// ---- a tape
typedef struct {
  seer_arena *arena;
  seer_text *out;  // NULL: it is read
  seer_wire_reader in;
} tape;

static void tape_u32(tape *t, uint32_t *value) {
  if (t->out)
    seer_wire_put_u32(t->out, *value);
  else
    *value = seer_wire_get_max(&t->in, UINT32_MAX, "a number");
}

static void tape_count(tape *t, uint32_t *value) {
  tape_u32(t, value);
  if (!t->out && *value > MAX_COUNT) seer_wire_refuse(&t->in, "a count");
  if (!t->out && t->in.wrong) *value = 0;
}

static void tape_f64(tape *t, double *value) {  // any, infinite ones too
  uint64_t bits;
  memcpy(&bits, value, sizeof bits);
  if (t->out)
    seer_wire_put_u64(t->out, bits);
  else
    bits = seer_wire_get_u64(&t->in);
  memcpy(value, &bits, sizeof bits);
}

static void tape_text(tape *t, const char **value) {
  if (t->out)
    seer_wire_put_bytes(t->out, *value, strlen(*value));
  else
    *value = seer_wire_get_text(&t->in, MAX_TEXT_BYTES, "a text", t->arena);
}

// An array that is read gets its room first.
#define TAPE_ROOM(t, array, n) \
  ((t)->out ? (array) : ((array) = seer_arena_alloc((t)->arena, ((n) + 1) * sizeof *(array), 16)))

static void tape_u32s(tape *t, uint32_t **values, uint32_t n) {
  TAPE_ROOM(t, *values, n);
  for (uint32_t i = 0; i < n; i++) tape_u32(t, &(*values)[i]);
}

// ---- what results have
static void tape_task(tape *t, const seer_times *times, seer_run_task *task) {
  uint32_t index = t->out ? (uint32_t)(task->of - times->task) : 0;
  tape_u32(t, &index);
  if (index >= times->n_task) {
    seer_wire_refuse(&t->in, "a task");
    index = 0;
  }
  task->of = &times->task[index];
  task->name = task->of->name;
  tape_f64(t, &task->count);
  tape_f64(t, &task->untuned_s);
  tape_f64(t, &task->best_s);
  tape_f64(t, &task->known_s);
  tape_u32(t, &task->n_trial);
}

static void tape_run(tape *t, const seer_times *times, seer_run *run) {
  tape_count(t, &run->n_task);
  TAPE_ROOM(t, run->task, run->n_task);
  for (uint32_t i = 0; i < run->n_task; i++) tape_task(t, times, &run->task[i]);
  tape_count(t, &run->n_point);
  TAPE_ROOM(t, run->point, run->n_point);
  for (uint32_t i = 0; i < run->n_point; i++) {
    tape_u32(t, &run->point[i].trial);
    tape_f64(t, &run->point[i].measuring_s);
    tape_f64(t, &run->point[i].latency_s);
  }
  tape_u32(t, &run->n_trial);
  tape_u32(t, &run->warm_trial);
  tape_u32(t, &run->first_trial);
  tape_f64(t, &run->latency_s);
  tape_f64(t, &run->known_s);
  tape_f64(t, &run->seconds);
}

static void tape_accuracies(tape *t, seer_accuracies *a) {
  tape_count(t, &a->n_task);
  tape_count(t, &a->n_grouping);
  TAPE_ROOM(t, a->task_name, a->n_task);
  for (uint32_t i = 0; i < a->n_task; i++) tape_text(t, &a->task_name[i]);
  tape_u32s(t, &a->n_fitted, a->n_task);
  tape_u32s(t, &a->n_held_out, a->n_task);
  tape_u32s(t, &a->n_family, a->n_grouping);
  TAPE_ROOM(t, a->family_of, a->n_grouping);
  TAPE_ROOM(t, a->of, a->n_grouping);
  for (uint32_t g = 0; g < a->n_grouping; g++) {
    if (!t->out) a->family_of[g] = NULL;
    uint32_t n = a->n_family[g] > 0 ? a->n_task : 0;  // a grouping that was left out has none
    tape_u32s(t, &a->family_of[g], n);
    TAPE_ROOM(t, a->of[g], n);
    for (uint32_t i = 0; i < n; i++) {
      tape_f64(t, &a->of[g][i].held_out);
      tape_f64(t, &a->of[g][i].seen);
      tape_f64(t, &a->of[g][i].peak);
    }
  }
  TAPE_ROOM(t, a->cross, (size_t)a->n_task * a->n_task);
  for (size_t i = 0; i < (size_t)a->n_task * a->n_task; i++) tape_f64(t, &a->cross[i]);
  tape_f64(t, &a->seconds);
}

// ---- files: the key, what it has, and a hash of both
static const char *path_of(const seer_study_kept_piece *piece, seer_arena *arena) {
  return seer_os_path_join(arena, piece->folder,
      seer_arena_printf(arena, "%016" PRIx64 ".kept", seer_hash_str(piece->key, 0)));
}

static bool open_tape(const seer_study_kept_piece *piece, seer_arena *arena, tape *out) {
  char *data;
  size_t n;
  const char *path = path_of(piece, arena);
  if (!seer_os_exists(path)) return false;
  seer_status status = seer_os_read_file(path, arena, MAX_FILE_BYTES, &data, &n);
  bool is_fine = !status && n >= 8;
  seer_status_free(status);
  if (!is_fine) return false;
  *out = (tape){.arena = arena, .in = {.at = (const uint8_t *)data, .left = n}};
  uint64_t hash = seer_wire_get_u64(&out->in);
  if (hash != seer_hash_bytes(data + 8, n - 8, 0)) return false;
  return strcmp(seer_wire_get_text(&out->in, MAX_TEXT_BYTES, "the key", arena), piece->key) == 0;
}

static bool is_whole(tape *t) {
  seer_status status = seer_wire_end(&t->in, "what was kept");
  bool is_fine = !status;
  seer_status_free(status);
  return is_fine;
}

static void begin(const seer_study_kept_piece *piece, seer_arena *arena, seer_text *out, tape *t) {
  seer_text_init(out, arena);
  *t = (tape){.arena = arena, .out = out};
  const char *key = piece->key;
  tape_text(t, &key);
}

static seer_status end(
    const seer_study_kept_piece *piece, const seer_text *body, seer_arena *arena) {
  seer_text file;
  seer_text_init(&file, arena);
  seer_wire_put_u64(&file, seer_hash_bytes(body->data, body->n_bytes, 0));
  seer_text_put_n(&file, body->data, body->n_bytes);
  SEER_TRY(seer_os_make_dirs(piece->folder));
  return seer_os_write_file(path_of(piece, arena), file.data, file.n_bytes);
}

bool seer_study_kept_find_run(
    const seer_study_kept_piece *piece, const seer_times *times, seer_arena *arena, seer_run *out) {
  tape t;
  seer_run run = {0};
  if (!open_tape(piece, arena, &t)) return false;
  tape_run(&t, times, &run);
  if (!is_whole(&t)) return false;
  *out = run;
  return true;
}

seer_status seer_study_kept_write_run(const seer_study_kept_piece *piece, const seer_times *times,
    seer_arena *arena, const seer_run *run) {
  seer_text body;
  tape t;
  seer_run copy = *run;
  begin(piece, arena, &body, &t);
  tape_run(&t, times, &copy);
  return end(piece, &body, arena);
}

bool seer_study_kept_find_accuracies(
    const seer_study_kept_piece *piece, seer_arena *arena, seer_accuracies *out) {
  tape t;
  seer_accuracies accuracies = {0};
  if (!open_tape(piece, arena, &t)) return false;
  tape_accuracies(&t, &accuracies);
  if (!is_whole(&t)) return false;
  *out = accuracies;
  return true;
}

seer_status seer_study_kept_write_accuracies(
    const seer_study_kept_piece *piece, seer_arena *arena, const seer_accuracies *accuracies) {
  seer_text body;
  tape t;
  seer_accuracies copy = *accuracies;
  begin(piece, arena, &body, &t);
  tape_accuracies(&t, &copy);
  return end(piece, &body, arena);
}
