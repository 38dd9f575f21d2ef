// The libcuda of the tests: that it sees what no driver defines, and says what real ones answer. A
// test on it that passes is worth as much.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/device/cuda_api.h"
#include "support/mock_image.h"
#include "support/test.h"

static seer_cuda_api api;
static seer_cuda_object context;
static seer_device_image image;
static char says[256];

static int n_broken;  // so far
#define BREAKS(call, code)                                          \
  do {                                                              \
    assert_int_equal((call), (code));                               \
    assert_int_equal(mock_cuda_ask(MOCK_BROKEN_RULES), ++n_broken); \
  } while (0)
#define FINE(call)                                                \
  do {                                                            \
    assert_int_equal((call), 0);                                  \
    assert_int_equal(mock_cuda_ask(MOCK_BROKEN_RULES), n_broken); \
  } while (0)
#define ANSWERS(call, code)                                       \
  do {                                                            \
    assert_int_equal((call), (code));                             \
    assert_int_equal(mock_cuda_ask(MOCK_BROKEN_RULES), n_broken); \
  } while (0)

static int begin(void **state) {
  (void)state;
  unsetenv("MOCK_CUDA");
  n_broken = mock_cuda_ask(MOCK_BROKEN_RULES);
  return api.context_retain(&context, 100) || api.context_push(context);
}

static int end(void **state) {
  (void)state;
  seer_cuda_object popped;
  return api.context_pop(&popped) || api.context_release(100);
}

static void calls_need_a_context(void **state) {
  (void)state;
  seer_cuda_object popped, stream;
  seer_cuda_address at;
  FINE(api.context_pop(&popped));
  BREAKS(api.alloc(&at, 16), 201);
  BREAKS(api.stream_create(&stream, 1), 201);
  BREAKS(api.context_pop(&popped), 201);
  BREAKS(api.context_push(&api), 201);
  FINE(api.context_push(context));
}

static void memory_has_ends(void **state) {
  (void)state;
  seer_cuda_object stream;
  seer_cuda_address at, other, none;
  char host[256] = {0};
  FINE(api.stream_create(&stream, 1));
  FINE(api.alloc(&at, 128));
  FINE(api.alloc(&other, 128));
  FINE(api.upload(at + 100, host, 28, stream));
  BREAKS(api.upload(at + 100, host, 29, stream), 1);
  BREAKS(api.download(host, at, 129, stream), 1);
  BREAKS(api.fill(at - 1, 0, 2, stream), 1);
  BREAKS(api.copy(at, (uintptr_t)host, 16, stream), 1);  // the host's
  BREAKS(api.copy(at, other + 64, 65, stream), 1);
  BREAKS(api.copy(at, at + 8, 16, stream), 1);
  ANSWERS(api.alloc(&none, 0), 1);
  ANSWERS(api.alloc(&none, (size_t)1 << 40), 2);
  FINE(api.free(at));
  BREAKS(api.free(at), 1);
  BREAKS(api.upload(at, host, 1, stream), 1);
  BREAKS(api.host_free(host), 1);
  FINE(api.free(other));
  FINE(api.stream_destroy(stream));
  BREAKS(api.stream_sync(stream), 400);
  BREAKS(api.stream_destroy(stream), 400);
}

// Whoever follows an address of the device dies of it.
static void addresses_are_not_the_hosts(void **state) {
  (void)state;
  seer_cuda_address at;
  FINE(api.alloc(&at, 16));
  pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    volatile char *memory = (char *)(uintptr_t)at;
    _exit(memory[0] & 1);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
  FINE(api.free(at));
}

static void launches_are_looked_at(void **state) {
  (void)state;
  seer_cuda_object stream, module, function;
  seer_cuda_address at, wrong = 4096;
  void *args[] = {&at};
  float out[64];
  FINE(api.stream_create(&stream, 1));
  FINE(api.alloc(&at, 256));
  FINE(api.module_load(&module, image.data, 0, NULL, NULL));
  FINE(api.function(&function, module, "ones"));
  ANSWERS(api.function(&function, module, "twos"), 500);
  ANSWERS(api.launch(function, 1, 1, 1, 1025, 1, 1, 0, stream, args, NULL), 1);
  ANSWERS(api.launch(function, 1, 1, 1, 65, 1, 1, 0, stream, args, NULL), 701);
  BREAKS(api.launch(function, 1, 1, 1, 63, 1, 1, 0, stream, args, NULL), 1);
  ANSWERS(api.launch(function, 0, 1, 1, 64, 1, 1, 0, stream, args, NULL), 1);
  FINE(api.launch(function, 1, 1, 1, 64, 1, 1, 0, stream, args, NULL));
  FINE(api.download(out, at, sizeof out, stream));
  FINE(api.stream_sync(stream));
  for (int k = 0; k < 64; k++) assert_true(out[k] == 1);
  FINE(api.module_unload(module));
  BREAKS(api.launch(function, 1, 1, 1, 64, 1, 1, 0, stream, args, NULL), 400);
  FINE(api.module_load(&module, image.data, 0, NULL, NULL));
  FINE(api.function(&function, module, "ones"));
  // No memory of the device: seen when it is done, and then the context is no more.
  args[0] = &wrong;
  FINE(api.launch(function, 1, 1, 1, 64, 1, 1, 0, stream, args, NULL));
  BREAKS(api.stream_sync(stream), 700);
  ANSWERS(api.alloc(&at, 16), 700);
  ANSWERS(api.stream_sync(stream), 700);
}

static void captures_are_balanced(void **state) {
  (void)state;
  seer_cuda_object stream, graph, instance, event;
  seer_cuda_address at;
  void *pinned;
  char pageable[16];
  float ms;
  FINE(api.stream_create(&stream, 1));
  FINE(api.alloc(&at, 16));
  FINE(api.host_alloc(&pinned, 16, 1));
  FINE(api.event_create(&event, 0));
  BREAKS(api.capture_end(stream, &graph), 401);
  FINE(api.capture_begin(stream, 2));
  ANSWERS(api.capture_begin(stream, 2), 401);
  FINE(api.upload(at, pinned, 16, stream));
  FINE(api.event_record(event, stream, 0));
  FINE(api.capture_end(stream, &graph));
  ANSWERS(api.event_elapsed(&ms, event, event), 400);  // it was captured
  FINE(api.graph_instantiate(&instance, graph, 0));
  FINE(api.graph_destroy(graph));
  FINE(api.graph_launch(instance, stream));
  BREAKS(api.graph_destroy(graph), 400);
  FINE(api.graph_instance_destroy(instance));
  BREAKS(api.graph_launch(instance, stream), 400);
  // What it cannot hold breaks it.
  FINE(api.capture_begin(stream, 2));
  ANSWERS(api.upload(at, pageable, 16, stream), 900);
  ANSWERS(api.upload(at, pinned, 16, stream), 901);
  ANSWERS(api.capture_end(stream, &graph), 901);
  FINE(api.capture_begin(stream, 2));
  ANSWERS(api.stream_sync(stream), 900);
  ANSWERS(api.capture_end(stream, &graph), 901);
  FINE(api.event_record(event, stream, 0));
  ANSWERS(api.event_elapsed(&ms, event, event), 600);
  FINE(api.stream_sync(stream));
  FINE(api.event_elapsed(&ms, event, event));
  FINE(api.event_destroy(event));
  BREAKS(api.event_record(event, stream, 0), 400);
  FINE(api.host_free(pinned));
  FINE(api.free(at));
  FINE(api.stream_destroy(stream));
}

static void what_is_left_is_counted(void **state) {
  seer_cuda_object stream, event, module, popped;
  seer_cuda_address at;
  void *pinned;
  int before = mock_cuda_ask(MOCK_LEAKS);
  FINE(api.stream_create(&stream, 1));
  FINE(api.event_create(&event, 0));
  FINE(api.module_load(&module, image.data, 0, NULL, NULL));
  FINE(api.alloc(&at, 16));
  FINE(api.host_alloc(&pinned, 16, 1));
  FINE(api.context_pop(&popped));
  FINE(api.context_release(100));
  assert_int_equal(mock_cuda_ask(MOCK_LEAKS) - before, 5);
  BREAKS(api.context_release(100), 201);
  BREAKS(api.context_push(context), 201);
  assert_int_equal(begin(state), 0);
  BREAKS(api.stream_sync(stream), 400);
}

int main(int argc, char **argv) {
  (void)argc;
  int is_none;
  mock_cuda_begin(argv);
  seer_arena *arena = seer_arena_create("image");
  const char *wrong = mock_image_build(
      "static void ones(void *const *b, unsigned block) {\n"
      "  for (int i = 0; i < 64; i++) ((float *)b[0])[64 * block + i] = 1;\n"
      "}\n",
      &(mock_kernel_text){"ones", "ones", 1, 64, 0, 0}, 1, 90, arena, &image);
  if (wrong || seer_cuda_api_open(&api, &is_none, says, sizeof says) != SEER_RT_OK) {
    print_message("%s\n", wrong ? wrong : says);
    return 1;
  }
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
  const struct CMUnitTest tests[] = {
      TEST(calls_need_a_context),
      TEST(memory_has_ends),
      TEST(addresses_are_not_the_hosts),
      TEST(launches_are_looked_at),
      TEST(captures_are_balanced),
      TEST(what_is_left_is_counted),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  seer_arena_destroy(arena);
  return failed;
}
