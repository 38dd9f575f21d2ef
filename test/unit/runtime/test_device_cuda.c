// CUDA's row of devices, on a libcuda without a device: all that every row must do, which images it
// takes, and every error that the driver may answer with. Nothing is left behind, no rule of the
// driver's is broken, and contexts are as they were.
// SEER_TEST: timeout=120 cost=5
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"
#include "support/device_check.h"
#include "support/mock_image.h"
#include "support/test.h"

static const char text[] =
    "static void add(void *const *b, unsigned block) {\n"
    "  const float *x = (const float *)b[0] + 64 * block, *y = (const float *)b[1] + 64 * block;\n"
    "  for (int i = 0; i < 64; i++) ((float *)b[2])[64 * block + i] = x[i] + y[i];\n"
    "}\n"
    "static void turn(void *const *b, unsigned block) {\n"
    "  float *held = b[2];\n"
    "  for (int i = 0; i < 64; i++) held[i] = ((const float *)b[0])[64 * block + i];\n"
    "  for (int i = 0; i < 64; i++) ((float *)b[1])[64 * block + i] = held[63 - i];\n"
    "}\n";
static const mock_kernel_text kernels[] = {
    {"add", "add", 3, 64, 0, 0}, {"turn", "turn", 2, 64, 256, 256}};

#define IS seer_device_cuda
static char says[2048];
static const char broken[] = "\177ELF, and no more";
static const seer_device_image refused_image = {SEER_IMAGE_CUBIN, 90, "", broken, sizeof broken};
static seer_device_image images[3];  // PTX for later ones, a binary for another, one for sm_90
static device_case mock = {&seer_device_cuda, 0, images, 3, &refused_image};

// The mock as it is asked to be, until the test ends.
static void set(const char *faults) { setenv("MOCK_CUDA", faults, 1); }

static int is_as_before(void **state) {
  (void)state;
  unsetenv("MOCK_CUDA");
  assert_int_equal(mock_cuda_ask(MOCK_BROKEN_RULES), 0);
  assert_int_equal(mock_cuda_ask(MOCK_LEAKS), 0);
  assert_int_equal(mock_cuda_ask(MOCK_PUSHED), 0);
  assert_int_equal(mock_cuda_ask(MOCK_CONTEXTS), 0);
  return 0;
}

#define expect(call, code, part)                             \
  do {                                                       \
    says[0] = 0;                                             \
    assert_int_equal((call), (code));                        \
    if (!strstr(says, (part))) fail_msg("it says %s", says); \
  } while (0)

typedef struct {
  seer_device *device;
  seer_device_module *module;
  seer_device_queue *queue;
  seer_device_kernel *add;
  void *memory;
} scene;

static scene begin(void) {
  const seer_device_launch launch = {2, 64, 0};
  scene s;
  expect(IS.open(0, &s.device, says, sizeof says), SEER_RT_OK, "");
  expect(IS.load(s.device, images, 3, &s.module, says, sizeof says), SEER_RT_OK, "");
  expect(IS.queue_create(s.device, &s.queue, says, sizeof says), SEER_RT_OK, "");
  expect(IS.kernel_create(s.queue, s.module, "add", &launch, &s.add, says, sizeof says), SEER_RT_OK,
      "");
  expect(IS.alloc(s.device, 1024, &s.memory, says, sizeof says), SEER_RT_OK, "");
  return s;
}

static void end(scene *s) {
  IS.free(s->device, s->memory);
  IS.kernel_destroy(s->queue, s->add);
  IS.queue_destroy(s->queue);
  IS.unload(s->device, s->module);
  IS.close(s->device);
}

static seer_rt_code launch(const scene *s) {
  void *args[] = {s->memory, s->memory, (char *)s->memory + 512};
  return IS.launch(s->queue, s->add, args, 3, says, sizeof says);
}

static void drivers_are_missed_by_name(void **state) {
  (void)state;
  uint32_t n = 7;
  seer_device *device;
  set("devices=0");
  expect(IS.count(&n, says, sizeof says), SEER_RT_OK, "");
  assert_int_equal(n, 0);
  expect(IS.open(0, &device, says, sizeof says), SEER_RT_NOT_FOUND, "number 0: CUDA has 0");
  set("devices=3");
  expect(IS.count(&n, says, sizeof says), SEER_RT_OK, "");
  assert_int_equal(n, 3);
  set("init=34");
  expect(IS.count(&n, says, sizeof says), SEER_RT_NOT_FOUND, "CUDA_ERROR_STUB_LIBRARY (34)");
  set("init=803");
  expect(IS.open(0, &device, says, sizeof says), SEER_RT_DEVICE,
      "cuInit: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803): system has unsupported");
  assert_null(device);
}

static void facts_are_the_drivers(void **state) {
  (void)state;
  seer_device_info info;
  set("architecture=75");
  expect(IS.describe(0, &info, says, sizeof says), SEER_RT_OK, "");
  assert_string_equal(info.name, "Mock 0");
  assert_string_equal(info.driver, "CUDA 12.4");
  assert_int_equal(info.architecture, 75);
  assert_int_equal(info.n_processors, 132);
  assert_int_equal(info.max_items, 1024);
  assert_int_equal(info.clock_mhz, 1980);
  assert_int_equal(info.group_bytes, 49152);
  assert_true(info.memory_bytes == UINT64_C(80) << 30 && info.cache_bytes == 50 << 20);
  assert_false(info.is_cpu);
}

// Binaries for sm_86 run on sm_86 to sm_89, not on sm_80, nor on sm_90; PTX on later ones.
static void images_are_for_architectures(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("test");
  const char *folder;
  seer_device_image binary, ptx;
  must(seer_os_temp_dir("ptx", arena, &folder));
  const char *wrong = mock_image_build(text, kernels, 2, 86, arena, &binary);
  if (!wrong)
    wrong = mock_image_ptx(&binary, seer_os_path_join(arena, folder, "ptx.so"), 86, arena, &ptx);
  if (wrong) fail_msg("%s", wrong);
  static const struct {
    const char *device;
    bool runs_binary, runs_ptx;
  } cases[] = {{"architecture=75", false, false}, {"architecture=80", false, false},
      {"architecture=86", true, true}, {"architecture=89", true, true},
      {"architecture=90", false, true}, {"architecture=120", false, true}};
  for (uint32_t k = 0; k < SEER_COUNT_OF(cases); k++) {
    seer_device *device;
    seer_device_module *module = NULL;
    set(cases[k].device);
    expect(IS.open(0, &device, says, sizeof says), SEER_RT_OK, "");
    expect(IS.load(device, &binary, 1, &module, says, sizeof says),
        cases[k].runs_binary ? SEER_RT_OK : SEER_RT_UNSUPPORTED,
        cases[k].runs_binary ? "" : "there is code for sm_86");
    IS.unload(device, module);
    expect(IS.load(device, &ptx, 1, &module, says, sizeof says),
        cases[k].runs_ptx ? SEER_RT_OK : SEER_RT_UNSUPPORTED,
        cases[k].runs_ptx ? "" : "PTX for sm_86 and later");
    IS.unload(device, module);
    IS.close(device);
  }
  must(seer_os_remove_tree(folder));
  seer_arena_destroy(arena);
}

static void images_are_refused_by_name(void **state) {
  (void)state;
  scene s = begin();
  seer_device_module *module;
  const seer_device_image ptx = {SEER_IMAGE_PTX, 70, "", ".version 7.0", 12};
  // As long as a binary's head, and too short for what that says.
  const seer_device_image cut = {SEER_IMAGE_CUBIN, 90, "", images[2].data, images[2].n_bytes / 2};
  expect(IS.load(s.device, &ptx, 1, &module, says, sizeof says), SEER_RT_CORRUPT,
      "CUDA_ERROR_INVALID_PTX (218): a PTX JIT compilation failed: ptxas fatal");
  expect(IS.load(s.device, &cut, 1, &module, says, sizeof says), SEER_RT_CORRUPT, "no whole");
  set("refuse=209");
  expect(IS.load(s.device, images, 3, &module, says, sizeof says), SEER_RT_UNSUPPORTED,
      "CUDA_ERROR_NO_BINARY_FOR_GPU");
  set("refuse=200");
  expect(IS.load(s.device, images, 3, &module, says, sizeof says), SEER_RT_CORRUPT,
      "refused as was asked for");
  assert_null(module);
  set("");
  expect(launch(&s), SEER_RT_OK, "");
  end(&s);
}

static void launches_are_of_what_the_kernel_is(void **state) {
  (void)state;
  for (int is_old = 0; is_old < 2; is_old++) {
    set(is_old ? "old=1" : "");
    scene s = begin();
    void *args[129] = {s.memory, s.memory, s.memory};
    if (!is_old)
      expect(IS.launch(s.queue, s.add, args, 2, says, sizeof says), SEER_RT_INVALID,
          "2 arguments for a kernel that has 3");
    expect(IS.launch(s.queue, s.add, args, 129, says, sizeof says), SEER_RT_INVALID, "129");
    expect(launch(&s), SEER_RT_OK, "");
    expect(IS.sync(s.queue, says, sizeof says), SEER_RT_OK, "");
    end(&s);
  }
}

// Each allocation of all that a scene takes.
static void memory_may_be_out(void **state) {
  (void)state;
  scene s = begin();
  void *memory;
  set("oom=1");
  expect(IS.alloc(s.device, 4096, &memory, says, sizeof says), SEER_RT_RESOURCE,
      "CUDA, Mock 0: no memory for 4096 bytes (it has 85899345920)");
  assert_null(memory);
  expect(IS.alloc(s.device, 4096, &memory, says, sizeof says), SEER_RT_OK, "");
  IS.free(s.device, memory);
  set("oom=1,");
  expect(IS.host_alloc(s.device, 4096, &memory, says, sizeof says), SEER_RT_RESOURCE, "4096 bytes");
  assert_null(memory);
  end(&s);
}

// What is told once is told ever after, by every call; opened again it is well.
static void lost_devices_stay_lost(void **state) {
  (void)state;
  set("lost=2");
  scene s = begin();
  seer_device_queue *queue;
  seer_device_module *module;
  seer_device_kernel *kernel;
  seer_device_mark *mark;
  seer_device_graph *graph;
  const seer_device_launch one = {1, 64, 0};
  void *memory;
  char host[16];
  static const char why[] = "CUDA, Mock 0: cuStreamSynchronize: CUDA_ERROR_LAUNCH_FAILED (719)";
  expect(launch(&s), SEER_RT_OK, "");
  expect(IS.sync(s.queue, says, sizeof says), SEER_RT_OK, "");
  expect(launch(&s), SEER_RT_OK, "");
  expect(IS.sync(s.queue, says, sizeof says), SEER_RT_DEVICE, why);
  expect(IS.sync(s.queue, says, sizeof says), SEER_RT_DEVICE, why);
  expect(launch(&s), SEER_RT_DEVICE, why);
  expect(IS.upload(s.queue, s.memory, host, 16, says, sizeof says), SEER_RT_DEVICE, why);
  expect(IS.download(s.queue, host, s.memory, 16, says, sizeof says), SEER_RT_DEVICE, why);
  expect(IS.copy(s.queue, s.memory, s.memory, 16, says, sizeof says), SEER_RT_DEVICE, why);
  expect(IS.fill(s.queue, s.memory, 0, 16, says, sizeof says), SEER_RT_DEVICE, why);
  expect(IS.alloc(s.device, 16, &memory, says, sizeof says), SEER_RT_DEVICE, why);
  expect(IS.host_alloc(s.device, 16, &memory, says, sizeof says), SEER_RT_DEVICE, why);
  expect(IS.load(s.device, images, 3, &module, says, sizeof says), SEER_RT_DEVICE, why);
  expect(IS.queue_create(s.device, &queue, says, sizeof says), SEER_RT_DEVICE, why);
  expect(IS.kernel_create(s.queue, s.module, "add", &one, &kernel, says, sizeof says),
      SEER_RT_DEVICE, why);
  expect(IS.mark_create(s.queue, &mark, says, sizeof says), SEER_RT_DEVICE, why);
  expect(IS.graph_begin(s.queue, says, sizeof says), SEER_RT_DEVICE, why);
  expect(IS.graph_end(s.queue, &graph, says, sizeof says), SEER_RT_DEVICE, why);
  end(&s);
  set("");
  s = begin();
  expect(launch(&s), SEER_RT_OK, "");
  expect(IS.sync(s.queue, says, sizeof says), SEER_RT_OK, "");
  end(&s);
}

// Who waits for a device that hangs is ended by whoever watches: nothing here catches it.
static void devices_may_hang(void **state) {
  (void)state;
  pid_t child = fork();
  if (child == 0) {
    set("hang=1");
    seer_device *device;
    seer_device_queue *queue;
    alarm(1);
    if (IS.open(0, &device, NULL, 0) || IS.queue_create(device, &queue, NULL, 0)) _exit(1);
    (void)IS.sync(queue, NULL, 0);
    _exit(2);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
}

// An error between begin and end, at each place, and the queue is as it was.
static void graphs_end_with_their_first_error(void **state) {
  (void)state;
  scene s = begin();
  seer_device_graph *graph;
  seer_device_mark *mark, *kept;
  char pageable[64] = {0};
  expect(IS.mark_create(s.queue, &mark, says, sizeof says), SEER_RT_OK, "");
  kept = mark;
  for (int k = 0; k < 6; k++) {
    expect(IS.graph_begin(s.queue, says, sizeof says), SEER_RT_OK, "");
    expect(launch(&s), SEER_RT_OK, "");
    seer_device_kernel *kernel;
    double seconds;
    const seer_device_launch one = {1, 64, 0};
    expect(k == 0    ? IS.upload(s.queue, s.memory, pageable, 64, says, sizeof says)
            : k == 1 ? IS.download(s.queue, pageable, s.memory, 64, says, sizeof says)
            : k == 2 ? IS.graph_begin(s.queue, says, sizeof says)
            : k == 3 ? IS.kernel_create(s.queue, s.module, "add", &one, &kernel, says, sizeof says)
            : k == 4 ? IS.mark_create(s.queue, &mark, says, sizeof says)
                     : IS.elapsed(s.queue, mark, mark, &seconds, says, sizeof says),
        SEER_RT_INVALID,
        k < 2       ? "CAPTURE_UNSUPPORTED"
            : k < 5 ? "graph_begin"
                    : "never set");
    if (k < 5)
      expect(IS.graph_end(s.queue, &graph, says, sizeof says), SEER_RT_INVALID, "no graph");
    else
      expect(IS.graph_end(s.queue, &graph, says, sizeof says), SEER_RT_OK, "");
    if (k == 5) IS.graph_destroy(s.queue, graph);
    if (k == 4) {
      assert_null(mark);  // what was to be made is not there
      mark = kept;
    }
    assert_int_equal(mock_cuda_ask(MOCK_BROKEN_RULES), 0);
    expect(launch(&s), SEER_RT_OK, "");
    expect(IS.sync(s.queue, says, sizeof says), SEER_RT_OK, "");
  }
  // One that is never ended goes with its queue.
  expect(IS.graph_begin(s.queue, says, sizeof says), SEER_RT_OK, "");
  expect(launch(&s), SEER_RT_OK, "");
  IS.mark_destroy(s.queue, mark);
  end(&s);
}

// The host's memory is read when it is done, and written no earlier.
static void nothing_is_done_before_it_is_waited_for(void **state) {
  (void)state;
  scene s = begin();
  float in[64], out[64] = {0};
  for (int k = 0; k < 64; k++) in[k] = 1;
  expect(IS.upload(s.queue, s.memory, in, sizeof in, says, sizeof says), SEER_RT_OK, "");
  expect(IS.download(s.queue, out, s.memory, sizeof out, says, sizeof says), SEER_RT_OK, "");
  assert_true(out[0] == 0);
  expect(IS.sync(s.queue, says, sizeof says), SEER_RT_OK, "");
  assert_true(out[0] == 1 && out[63] == 1);
  end(&s);
}

static void two_of_one_device_share_its_context(void **state) {
  (void)state;
  scene a = begin(), b = begin();
  end(&a);
  expect(launch(&b), SEER_RT_OK, "");
  expect(IS.sync(b.queue, says, sizeof says), SEER_RT_OK, "");
  end(&b);
  assert_ptr_equal(seer_device_driver_find("cuda"), &seer_device_cuda);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, NULL, is_as_before)
#define CHECK(f) \
  { #f, f, NULL, is_as_before, &mock }

int main(int argc, char **argv) {
  (void)argc;
  mock_cuda_begin(argv);
  seer_arena *arena = seer_arena_create("images");
  const char *wrong = mock_image_build(text, kernels, 2, 90, arena, &images[2]);
  if (wrong) {
    print_message("%s\n", wrong);
    return 1;
  }
  images[0] = (seer_device_image){SEER_IMAGE_PTX, 100, "", "later", 5};
  images[1] = (seer_device_image){SEER_IMAGE_CUBIN, 80, "", broken, sizeof broken};
  const struct CMUnitTest tests[] = {
      // first: a child may begin with the driver where its parent has not
      cmocka_unit_test(devices_may_hang),
      TEST(drivers_are_missed_by_name),
      TEST(facts_are_the_drivers),
      CHECK(device_check_numbers),
      CHECK(device_check_work),
      CHECK(device_check_order),
      CHECK(device_check_threads),
      CHECK(device_check_marks),
      CHECK(device_check_graphs),
      CHECK(device_check_refusals),
      CHECK(device_check_fork),
      TEST(images_are_for_architectures),
      TEST(images_are_refused_by_name),
      TEST(launches_are_of_what_the_kernel_is),
      TEST(memory_may_be_out),
      TEST(lost_devices_stay_lost),
      TEST(graphs_end_with_their_first_error),
      TEST(nothing_is_done_before_it_is_waited_for),
      TEST(two_of_one_device_share_its_context),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  seer_arena_destroy(arena);
  return failed;
}
