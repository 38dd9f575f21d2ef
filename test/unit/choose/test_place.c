// A library that is built or moved over another one: whichever call of the operating system fails,
// the folder has the old one or the new one, byte for byte, and nothing else.
#include <dirent.h>
#include <string.h>

#include "base/os.h"
#include "base/os_fault.h"
#include "choose/choose.h"
#include "choose/tables.h"
#include "code/artefact.h"
#include "models/models.h"
#include "support/test.h"

static const char *const names[] = {"model.so", "model.json", "model.h", "weights.bin"};
enum { N_FILES = 4, MAX_CALLS = 1000, MAX_HARMLESS = 20 };

typedef struct {
  seer_context *context;
  seer_arena *arena;
  const char *folder;
  seer_network *network[2];
  seer_choice *choices[2];
} world;

static const char *in_folder(const world *w, const char *name) {
  return seer_os_path_join(w->arena, w->folder, name);
}

static seer_status build(world *w, int which, const char *folder) {
  return seer_choice_build(
      w->context, w->network[which], w->choices[which], SEER_BUILD_LIBRARY, NULL, folder);
}

static void open_world(world *w) {
  static const char *const models[] = {"mlp", "mlp:batch=3"};
  w->arena = seer_arena_create("test");
  must(seer_os_temp_dir("seer-test", w->arena, &w->folder));
  must(seer_context_create(&w->context));
  must(seer_context_find_target(w->context));
  for (int k = 0; k < 2; k++) {
    seer_choose_counts counts;
    must(seer_front_load(w->context, models[k], seer_model_build, w->arena, &w->network[k]));
    must(seer_choose(w->context, w->network[k], NULL, 1, w->arena, &w->choices[k], &counts));
  }
  must(build(w, 0, in_folder(w, "old")));
  must(build(w, 1, in_folder(w, "new")));
}

static void close_world(world *w) {
  for (int k = 0; k < 2; k++) seer_graph_close(w->network[k]->graph);
  must(seer_os_remove_tree(w->folder));
  seer_arena_destroy(w->arena);
  seer_context_destroy(w->context);
}

static uint32_t n_entries(const char *folder) {
  uint32_t n = 0;
  DIR *dir = opendir(folder);
  assert_non_null(dir);
  for (struct dirent *item; (item = readdir(dir));) n += item->d_name[0] != '.';
  closedir(dir);
  return n;
}

static bool is_same(const world *w, const char *a, const char *b) {
  seer_arena *arena = seer_arena_create("files");
  bool same = n_entries(in_folder(w, a)) == N_FILES && n_entries(in_folder(w, b)) == N_FILES;
  for (int i = 0; i < N_FILES && same; i++) {
    char *of_a, *of_b;
    size_t n_a, n_b;
    const char *at_a = seer_os_path_join(arena, in_folder(w, a), names[i]);
    const char *at_b = seer_os_path_join(arena, in_folder(w, b), names[i]);
    same = seer_os_exists(at_a) && seer_os_exists(at_b);
    if (!same) break;
    must(seer_os_read_file(at_a, arena, 1 << 28, &of_a, &n_a));
    must(seer_os_read_file(at_b, arena, 1 << 28, &of_b, &n_b));
    same = n_a == n_b && memcmp(of_a, of_b, n_a) == 0;
  }
  seer_arena_destroy(arena);
  return same;
}

static seer_status build_over(world *w) { return build(w, 1, in_folder(w, "place")); }

static seer_status move_over(world *w) {
  return seer_build_move(in_folder(w, "staged"), in_folder(w, "place"));
}

static void fails_at_each_call(world *w, seer_status (*replace)(world *), bool is_staged) {
  // Some calls may fail without harm: the last one is behind us when several do.
  int n_old = 0, n_harmless = 0;
  for (uint64_t nth = 1; n_harmless < MAX_HARMLESS; nth++) {
    assert_true(nth < MAX_CALLS);
    must(build(w, 0, in_folder(w, "place")));
    if (is_staged) must(build(w, 1, in_folder(w, "staged")));
    seer_os_plant_fault(nth);
    seer_status status = replace(w);
    seer_os_plant_fault(0);
    bool has_failed = status != SEER_OK, is_old = is_same(w, "place", "old");
    // What fails behind the last step leaves the new one: a folder that could not be removed.
    assert_true(is_old || is_same(w, "place", "new"));
    assert_true(has_failed || !is_old);
    seer_status_free(status);
    must(seer_os_remove_tree(in_folder(w, "place")));
    if (is_staged) must(seer_os_remove_tree(in_folder(w, "staged")));
    n_old += is_old;
    n_harmless = has_failed ? 0 : n_harmless + 1;
  }
  // Two renames for each file, and what comes before.
  assert_true(n_old >= 2 * N_FILES);
}

static void test_a_build_is_all_or_nothing(void **state) {
  (void)state;
  world w;
  open_world(&w);
  fails_at_each_call(&w, build_over, false);
  close_world(&w);
}

static void test_so_is_a_move(void **state) {
  (void)state;
  world w;
  open_world(&w);
  fails_at_each_call(&w, move_over, true);
  close_world(&w);
}

// Neither is a folder of somebody's taken away, nor the rest replaced.
static void test_a_folder_is_in_the_way(void **state) {
  (void)state;
  world w;
  open_world(&w);
  must(build(&w, 0, in_folder(&w, "place")));
  must(seer_os_remove_tree(in_folder(&w, "place/model.so")));
  must(seer_os_make_dirs(in_folder(&w, "place/model.so/kept")));
  seer_status status = build_over(&w);
  assert_int_equal(seer_status_code(status), SEER_CODE_INVALID);
  assert_non_null(strstr(seer_status_message(status), "model.so is a folder, must be a file"));
  seer_status_free(status);
  assert_true(seer_os_is_dir(in_folder(&w, "place/model.so/kept")));
  must(seer_os_remove_tree(in_folder(&w, "place/model.so")));
  must(seer_os_remove_tree(in_folder(&w, "old/model.so")));
  for (int i = 1; i < N_FILES; i++) {
    char *of_a, *of_b;
    size_t n_a, n_b;
    must(seer_os_read_file(seer_os_path_join(w.arena, in_folder(&w, "place"), names[i]), w.arena,
        1 << 28, &of_a, &n_a));
    must(seer_os_read_file(
        seer_os_path_join(w.arena, in_folder(&w, "old"), names[i]), w.arena, 1 << 28, &of_b, &n_b));
    assert_int_equal(n_a, n_b);
    assert_memory_equal(of_a, of_b, n_a);
  }
  close_world(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_build_is_all_or_nothing),
      cmocka_unit_test(test_so_is_a_move),
      cmocka_unit_test(test_a_folder_is_in_the_way),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
