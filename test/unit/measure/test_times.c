// Tables of measured times: what is written is read again; intervals cover what they say; damaged
// and foreign files are refused with file, line and what was found; what today's sketches do not
// allow is counted.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/os.h"
#include "measure/times/times.h"
#include "support/search_scene.h"
#include "support/test.h"

typedef struct {
  search_scene scene;
  seer_times times;
  const char *folder, *path;
} world;

enum { N = 12 };

// Drawn schedules of the scene's task, one of which has failed.
static void open_world(world *w) {
  search_scene_open(&w->scene, "zen4-avx2", search_scene_conv);
  seer_arena *arena = w->scene.arena;
  seer_times_begin(&w->scene.target, arena, &w->times);
  seer_times_task *task =
      seer_times_add_task(&w->times, "conv \"3x3\"", w->scene.sketches->dag, SEER_SPACE_FULL);
  task->network_weight_bytes = 12345;
  task->build_s = 0.02;
  seer_times_set_use(&w->times, task, "one", 3);
  seer_times_set_use(&w->times, task, "two", 1);
  seer_times_set_use(&w->times, task, "one", 2);
  seer_rng rng;
  seer_rng_init(&rng, 1);
  while (task->n_time < N) {
    seer_schedule schedule;
    uint32_t sketch = (uint32_t)seer_rng_below(&rng, w->scene.sketches->n);
    if (seer_schedule_sample(w->scene.sketches, sketch, &rng, &schedule, NULL)) continue;
    const char *text = seer_schedule_print(w->scene.sketches, &schedule, arena);
    bool is_new = true;
    for (uint32_t i = 0; i < task->n_time; i++)
      is_new = is_new && strcmp(task->time[i].schedule, text) != 0;
    if (!is_new) continue;
    seer_time *time = seer_times_add(&w->times, task, text, SEER_TIME_DRAWN);
    if (task->n_time == 4) {
      time->cls = SEER_MEASURED_RUN_CRASH;
      continue;
    }
    for (uint32_t v = 0; v < task->n_time; v++)
      seer_time_add_visit(time, 1e-5 * (task->n_time + 0.01 * seer_rng_f64(&rng)), 3);
  }
  must(seer_os_temp_dir("seer-times", arena, &w->folder));
  w->path = seer_os_path_join(arena, w->folder, "t.gz");
}

static void close_world(world *w) {
  must(seer_os_remove_tree(w->folder));
  search_scene_close(&w->scene);
}

static void what_is_written_is_read_again(void **state) {
  (void)state;
  world w;
  open_world(&w);
  must(seer_times_write(&w.times, w.path));
  seer_times read;
  must(seer_times_read(w.path, w.scene.arena, &read));
  assert_string_equal(read.target, w.times.target);
  assert_string_equal(read.version, SEER_VERSION);
  must(seer_times_check_target(&read, w.path, &w.scene.target));
  assert_int_equal(read.n_task, 1);
  const seer_times_task *a = &w.times.task[0], *b = &read.task[0];
  assert_ptr_equal(
      seer_times_find_task(&read, seer_dag_hash(w.scene.sketches->dag), SEER_SPACE_FULL), b);
  assert_null(seer_times_find_task(&read, b->key, SEER_SPACE_ANSOR));
  assert_string_equal(b->name, a->name);
  assert_int_equal(b->network_weight_bytes, 12345);
  assert_true(b->build_s == 0.02 && b->run_s == 0);
  assert_int_equal(b->n_use, 2);
  assert_string_equal(b->use[0].network, "one");
  assert_int_equal(b->use[0].count, 2);
  assert_int_equal(b->n_time, N);
  for (uint32_t i = 0; i < N; i++) {
    const seer_time *x = &a->time[i], *y = &b->time[i];
    assert_string_equal(x->schedule, y->schedule);
    assert_int_equal(x->cls, y->cls);
    assert_int_equal(x->n_visits, y->n_visits);
    assert_int_equal(x->n_timings, y->n_timings);
    assert_true(fabs(x->seconds - y->seconds) <= 1e-6 * x->seconds);
    assert_true(x->n_visits < 2 || fabs(x->half_width - y->half_width) < 1e-5);
  }
  assert_int_equal(b->time[3].cls, SEER_MEASURED_RUN_CRASH);
  // A table that is read and written again is the same file.
  const char *again = seer_os_path_join(w.scene.arena, w.folder, "again.gz");
  must(seer_times_write(&read, again));
  char *first, *second;
  size_t n_first, n_second;
  seer_times third;
  must(seer_times_read(again, w.scene.arena, &third));
  must(seer_times_write(&third, again));
  must(seer_times_write(&read, w.path));
  must(seer_os_read_file(w.path, w.scene.arena, 1 << 20, &first, &n_first));
  must(seer_os_read_file(again, w.scene.arena, 1 << 20, &second, &n_second));
  assert_int_equal(n_first, n_second);
  assert_memory_equal(first, second, n_first);
  close_world(&w);
}

static void pools_have_what_sketches_allow(void **state) {
  (void)state;
  world w;
  open_world(&w);
  seer_times_task *task = &w.times.task[0];
  seer_times_pool pool;
  seer_times_pool_make(task, w.scene.sketches, w.scene.arena, &pool);
  assert_int_equal(pool.n, N);
  assert_int_equal(pool.n_refused, 0);
  assert_string_equal(pool.why, "");
  for (uint32_t i = 0; i < pool.n; i++) {
    assert_string_equal(seer_schedule_print(w.scene.sketches, &pool.schedule[i], w.scene.arena),
        pool.time[i]->schedule);
    assert_ptr_equal(seer_times_pool_find(&pool, &pool.schedule[i]), pool.time[i]);
  }
  assert_true(seer_times_pool_best(&pool) == task->time[0].seconds);
  // One of a sketch that nobody knows, and one that is there already in other words.
  (void)seer_times_add(&w.times, task, "schedule of a sketch of old\n", SEER_TIME_DRAWN);
  (void)seer_times_add(&w.times, task,
      seer_arena_printf(w.scene.arena, "%s\n", task->time[0].schedule), SEER_TIME_DRAWN);
  seer_times_pool_make(task, w.scene.sketches, w.scene.arena, &pool);
  assert_int_equal(pool.n, N);
  assert_int_equal(pool.n_refused, 1);
  assert_true(strlen(pool.why) > 0);
  close_world(&w);
}

// The true median is 1: how often is it in the interval?
static void intervals_cover_what_they_say(void **state) {
  (void)state;
  assert_true(isinf(seer_times_half_width((double[]){1}, 1)));
  seer_rng rng;
  seer_rng_init(&rng, 7);
  for (uint32_t n = 2; n <= SEER_TIMES_MAX_VISITS; n++) {
    enum { TRIES = 2000 };
    uint32_t n_in = 0;
    double width = 0;
    for (int t = 0; t < TRIES; t++) {
      double values[SEER_TIMES_MAX_VISITS];
      for (uint32_t i = 0; i < n; i++) values[i] = 1 + 0.02 * seer_rng_normal(&rng);
      double half = seer_times_half_width(values, n);
      seer_time time = {0};
      for (uint32_t i = 0; i < n; i++) seer_time_add_visit(&time, values[i], 1);
      assert_true(fabs(time.half_width - half) < 1e-5);
      width += half / TRIES;
      n_in += fabs(time.seconds - 1) <= half * time.seconds;
    }
    // Order statistics do not lie evenly around the median: around it half their width covers less.
    if (n_in < 0.92 * TRIES) fail_msg("%u visits: %u of %d", n, n_in, TRIES);
    if (n > 8) assert_true(width < 0.03);
  }
}

// ---- damage
static void put_gz(const char *path, const void *text, size_t n_bytes) {
  gzFile file = gzopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(gzwrite(file, text, (unsigned)n_bytes), (int)n_bytes);
  assert_int_equal(gzclose(file), Z_OK);
}

static void refuses(world *w, const char *what) {
  seer_times times;
  seer_status status = seer_times_read(w->path, w->scene.arena, &times);
  if (!status) fail_msg("was read: %s", what);
  const char *message = seer_status_message(status);
  if (!strstr(message, w->path) || !strstr(message, what))
    fail_msg("'%s' is not in: %s", what, message);
  seer_status_free(status);
}

static char *text_of(world *w, size_t *out_n) {
  must(seer_times_write(&w->times, w->path));
  gzFile file = gzopen(w->path, "rb");
  char *text = seer_arena_alloc(w->scene.arena, 1 << 20, 1);
  *out_n = (size_t)gzread(file, text, (1 << 20) - 1);
  gzclose(file);
  return text;
}

// `line` in place of the table's line of that number, from 1.
static void with_line(world *w, uint32_t number, const char *line, const char *what) {
  size_t n;
  char *at = text_of(w, &n), *text = at;
  for (uint32_t k = 1; k < number; k++) at = strchr(at, '\n') + 1;
  char *rest = strchr(at, '\n');
  char *changed = seer_arena_printf(w->scene.arena, "%.*s%s%s", (int)(at - text), text, line, rest);
  put_gz(w->path, changed, strlen(changed));
  refuses(w, what);
}

static void damaged_files_are_refused(void **state) {
  (void)state;
  world w;
  open_world(&w);
  refuses(&w, "o such file");
  must(seer_os_write_file(w.path, "", 0));
  refuses(&w, "not compressed as gzip");
  must(seer_os_write_file(w.path, "{\"familyseer_times\":1}\n", 23));
  refuses(&w, "not compressed as gzip");
  put_gz(w.path, "", 0);
  refuses(&w, "line 1 is empty");
  put_gz(w.path, "hello\n", 6);
  refuses(&w, "line 1 is no JSON");
  put_gz(w.path, "{\"v\":2}\n", 8);
  refuses(&w, "no table of times");
  with_line(&w, 1, "{\"familyseer_times\":2,\"target\":\"c\",\"version\":\"9\"}", "version 2");
  with_line(&w, 1, "{\"familyseer_times\":1,\"target\":\"xyz\",\"version\":\"9\"}", "xyz");
  with_line(&w, 2, "{\"task\":1}", ":2: ");
  with_line(&w, 2,
      "{\"task\":0,\"name\":\"n\",\"space\":\"seer\",\"dag\":\"dag {\",\"network_weight_bytes\":1,"
      "\"build_s\":0,\"run_s\":0,\"uses\":[]}",
      ":2: the task's DAG is none");
  with_line(
      &w, 3, "{\"of\":1,\"origin\":\"drawn\",\"schedule\":\"s\"}", ":3: a schedule of task 1");
  with_line(&w, 3, "{\"of\":0,\"origin\":\"heard\",\"schedule\":\"s\"}", ":3: origin 'heard'");
  with_line(&w, 3, "{\"of\":0,\"origin\":\"drawn\",\"schedule\":\"s\",\"failed\":\"ok\"}",
      ":3: a failure 'ok'");
  static const char visits[] =
      "{\"of\":0,\"origin\":\"drawn\",\"schedule\":\"s\",\"seconds\":%s,\"timings\":9,\"half_"
      "width\":"
      "%s,\"visits\":%s}";
  seer_arena *arena = w.scene.arena;
  with_line(&w, 3, seer_arena_printf(arena, visits, "2e-3", "0", "[1e-3,1e-3,1e-3]"),
      ":3: 0.002 seconds, but the visits' median is 0.001");
  with_line(&w, 3, seer_arena_printf(arena, visits, "1e-3", "0.5", "[1e-3,1e-3,1e-3]"),
      ":3: a half width of 0.5");
  with_line(&w, 3, seer_arena_printf(arena, visits, "-1.0", "0", "[-1.0,-1.0]"), ":3: visit 0");
  with_line(&w, 3, seer_arena_printf(arena, visits, "1.0", "0", "[]"), ":3: 0 visits");
  with_line(&w, 5, "{\"of\":0", ":5: no JSON");
  size_t n;
  const char *text = text_of(&w, &n);
  const char *line = strchr(strchr(text, '\n') + 1, '\n') + 1;
  const char *twice =
      seer_arena_printf(arena, "%s%.*s", text, (int)(strchr(line, '\n') + 1 - line), line);
  put_gz(w.path, twice, strlen(twice));
  refuses(&w, "is there twice");
  put_gz(w.path, text, n - 3);
  refuses(&w, "ends within the line");
  close_world(&w);
}

// Cut anywhere, and with any byte changed: an error, or (in the header's fields of no meaning) the
// same table; never a crash.
static void damaged_bytes_are_refused(void **state) {
  (void)state;
  world w;
  open_world(&w);
  must(seer_times_write(&w.times, w.path));
  char *data;
  size_t n;
  must(seer_os_read_file(w.path, w.scene.arena, 1 << 20, &data, &n));
  uint32_t n_read = 0;
  for (size_t cut = 0; cut < n; cut += 1 + n / 97) {
    must(seer_os_write_file(w.path, data, cut));
    refuses(&w, cut < 2 ? "no table" : "ends too early");
  }
  for (size_t at = 0; at < n; at += 1 + (at < 16 ? 0 : n / 211)) {
    data[at] ^= 0x20;
    must(seer_os_write_file(w.path, data, n));
    seer_times times;
    seer_status status = seer_times_read(w.path, w.scene.arena, &times);
    n_read += !status;
    seer_status_free(status);
    data[at] ^= 0x20;
  }
  assert_true(n_read <= 10);  // of gzip's header: time, system, how it was compressed
  char *longer = seer_arena_alloc(w.scene.arena, n + 1, 1);
  memcpy(longer, data, n);
  must(seer_os_write_file(w.path, longer, n + 1));
  refuses(&w, "more bytes behind the end");
  close_world(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_written_is_read_again),
      cmocka_unit_test(pools_have_what_sketches_allow),
      cmocka_unit_test(intervals_cover_what_they_say), cmocka_unit_test(damaged_files_are_refused),
      cmocka_unit_test(damaged_bytes_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
