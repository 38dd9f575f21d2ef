// Made-up systems: quotas of control groups in both versions, nested ones too, and processors that
// are threads of one core. What this machine has decides nothing here.
#include "base/processors.h"

#include "base/os.h"
#include "support/test.h"

typedef struct {
  seer_arena *arena;
  const char *root;
} world;

static world open_world(void) {
  world w = {.arena = seer_arena_create("test")};
  must(seer_os_temp_dir("seer-test", w.arena, &w.root));
  return w;
}

static void close_world(world *w) {
  must(seer_os_remove_tree(w->root));
  seer_arena_destroy(w->arena);
}

// One file of the made-up system, with the folders above it.
static void put(const world *w, const char *path, const char *text) {
  char *folder = seer_arena_printf(w->arena, "%s/%s", w->root, path);
  const char *file = seer_arena_printf(w->arena, "%s", folder);
  *strrchr(folder, '/') = 0;
  must(seer_os_make_dirs(folder));
  must(seer_os_write_file(file, text, strlen(text)));
}

static void quotas_of_nested_groups(void **state) {
  (void)state;
  static const struct {
    const char *what;
    struct {
      const char *path, *text;
    } file[5];
    double quota;
  } cases[] = {
      {"nothing at all", {{NULL, NULL}}, 0},
      {"version 2, no limit",
          {{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", "max 100000\n"}}, 0},
      {"the root of a container's own tree",
          {{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", "150000 100000\n"}}, 1.5},
      {"the group itself",
          {{"proc/self/cgroup", "0::/user.slice/job\n"},
              {"sys/fs/cgroup/user.slice/job/cpu.max", "200000 100000\n"}},
          2},
      {"a group above it is tighter",
          {{"proc/self/cgroup", "0::/a/b/c\n"}, {"sys/fs/cgroup/a/cpu.max", "300000 100000\n"},
              {"sys/fs/cgroup/a/b/cpu.max", "max 100000\n"},
              {"sys/fs/cgroup/a/b/c/cpu.max", "800000 100000\n"}},
          3},
      {"a group below it is tighter",
          {{"proc/self/cgroup", "0::/a/b\n"}, {"sys/fs/cgroup/a/cpu.max", "300000 100000\n"},
              {"sys/fs/cgroup/a/b/cpu.max", "50000 100000\n"}},
          0.5},
      {"a sibling is nobody's business",
          {{"proc/self/cgroup", "0::/a/b\n"}, {"sys/fs/cgroup/a/bb/cpu.max", "50000 100000\n"}}, 0},
      {"version 1, nested",
          {{"proc/self/cgroup", "11:memory:/m\n4:cpu,cpuacct:/docker/x\n"},
              {"sys/fs/cgroup/cpu/docker/x/cpu.cfs_quota_us", "-1\n"},
              {"sys/fs/cgroup/cpu/docker/x/cpu.cfs_period_us", "100000\n"},
              {"sys/fs/cgroup/cpu/docker/cpu.cfs_quota_us", "400000\n"},
              {"sys/fs/cgroup/cpu/docker/cpu.cfs_period_us", "100000\n"}},
          4},
      {"version 1: processors of another controller are not time",
          {{"proc/self/cgroup", "4:cpuset:/x\n"},
              {"sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "100000\n"},
              {"sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n"}},
          0},
      {"a path of the host that the container does not have",
          {{"proc/self/cgroup", "0::/../../kubepods/pod7\n"},
              {"sys/fs/cgroup/cpu.max", "250000 100000\n"}},
          2.5},
      {"damaged",
          {{"proc/self/cgroup", "0\n:\n0:\n\n0::/a"}, {"sys/fs/cgroup/cpu.max", "12"},
              {"sys/fs/cgroup/a/cpu.max", "100000 0\n"}},
          0},
  };
  for (size_t i = 0; i < SEER_COUNT_OF(cases); i++) {
    world w = open_world();
    for (size_t k = 0; k < SEER_COUNT_OF(cases[i].file) && cases[i].file[k].path; k++)
      put(&w, cases[i].file[k].path, cases[i].file[k].text);
    double quota = seer_processors_quota(w.root);
    if (quota != cases[i].quota) fail_msg("%s: %g, not %g", cases[i].what, quota, cases[i].quota);
    close_world(&w);
  }
}

static void siblings(const world *w, uint32_t cpu, const char *list) {
  put(w,
      seer_arena_printf(
          w->arena, "sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", cpu),
      list);
}

static void check_order(const world *w, const char *allowed, const char *want, uint32_t n_cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const char *at = allowed; *at; at += *at == ' ')
    CPU_SET((size_t)seer_processors_number(&at), &set);
  seer_processors got;
  seer_processors_by_core(w->root, &set, &got);
  char text[256] = "";
  for (uint32_t i = 0; i < got.n; i++) {
    size_t n = strlen(text);
    snprintf(text + n, sizeof text - n, "%s%u", i ? " " : "", got.order[i]);
  }
  assert_string_equal(text, want);
  assert_int_equal(got.n_cores, n_cores);
}

static void threads_of_a_core_come_last(void **state) {
  (void)state;
  world w = open_world();  // neighbours are threads of one core
  for (uint32_t cpu = 0; cpu < 8; cpu++)
    siblings(&w, cpu, seer_arena_printf(w.arena, "%u-%u\n", cpu & ~1u, cpu | 1u));
  check_order(&w, "0 1 2 3 4 5 6 7", "0 2 4 6 1 3 5 7", 4);
  check_order(&w, "1 2 3 7", "1 2 7 3", 3);  // the first of core 0 is not ours
  check_order(&w, "5", "5", 1);
  close_world(&w);

  w = open_world();  // threads lie half of the machine apart; some cores have one
  siblings(&w, 0, "0,4\n");
  siblings(&w, 1, "1,5\n");
  siblings(&w, 2, "2,6\n");
  siblings(&w, 3, "3\n");
  siblings(&w, 4, "0,4\n");
  siblings(&w, 5, "1,5\n");
  siblings(&w, 6, "2,6\n");
  check_order(&w, "0 1 2 3 4 5 6", "0 1 2 3 4 5 6", 4);
  check_order(&w, "0 4 5 6", "0 5 6 4", 3);
  close_world(&w);

  w = open_world();  // four threads a core, and a system that says nothing of two processors
  for (uint32_t cpu = 0; cpu < 4; cpu++) siblings(&w, cpu, "0-3\n");
  check_order(&w, "0 1 2 3 8 9", "0 8 9 1 2 3", 3);
  close_world(&w);
}

static void quotas_cut_to_whole_processors(void **state) {
  (void)state;
  assert_int_equal(seer_processors_cut(8, 0), 8);
  assert_int_equal(seer_processors_cut(8, 2.9), 2);
  assert_int_equal(seer_processors_cut(8, 0.3), 1);
  assert_int_equal(seer_processors_cut(2, 16), 2);
  assert_int_equal(seer_processors_cut(0, 0), 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(quotas_of_nested_groups),
      cmocka_unit_test(threads_of_a_core_come_last),
      cmocka_unit_test(quotas_cut_to_whole_processors)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
