// test_remote_target.c - what a board says that it is, is believed as far as code can be made for
// it: a processor is the tuning's target, a GPU is refused by name.
#include <string.h>

#include "base/net.h"
#include "base/os.h"
#include "measure/remote/link.h"
#include "measure/remote/remote.h"
#include "support/test_arena.h"

#define KEY "a secret of a test, long enough"

static uint64_t soon(void) { return seer_os_now_ns() + 10000000000u; }

// A board that says what it is told to say, to one caller.
typedef struct {
  int fd;
  const char *target;
} board;

static void serve(void *user) {
  const board *b = user;
  const char *name;
  int fd;
  seer_link link;
  seer_remote_ask asked;
  seer_wire_header header;
  const void *payload;
  seer_text text;
  seer_arena *own = seer_arena_create("board");
  const seer_hmac_key key = seer_hmac_key_of(KEY, strlen(KEY));
  must(seer_net_accept(b->fd, soon(), own, &fd, &name));
  must(seer_link_take(fd, name, &key, soon(), &link));
  must(seer_link_receive(&link, SEER_REMOTE_MAX_TARGET_BYTES, soon(), own, &header, &payload));
  assert_int_equal(header.type, SEER_WIRE_ASK);
  must(seer_remote_get_ask(payload, (size_t)header.n_bytes, own, &asked));
  assert_true(asked.is_question);
  const seer_remote_told told = {
      .hello = seer_message_hello_here(NULL), .refusal = "", .target = b->target};
  seer_text_init(&text, own);
  seer_remote_put_told(&text, &told);
  must(seer_link_send(&link, SEER_WIRE_TOLD, 0, &text, soon()));
  seer_os_close(fd);
  seer_arena_destroy(own);
}

// Asks such a board; the context has its answer.
static seer_status find(seer_context *context, const char *target, const char **out_device) {
  board b = {.target = target};
  seer_os_thread *thread;
  const char *folder, *path;
  must(seer_os_temp_dir("seer-test", arena, &folder));
  path = seer_arena_printf(arena, "%s/key", folder);
  must(seer_net_listen("127.0.0.1", 0, 1, &b.fd));
  must(seer_os_write_file(path, KEY, strlen(KEY)));
  *out_device = seer_arena_printf(arena, "runner:127.0.0.1:%u", seer_net_port(b.fd));
  must(seer_context_set(context, "devices", *out_device));
  must(seer_context_set(context, "runner-key", path));
  must(seer_os_thread_create(serve, &b, &thread));
  seer_status status = seer_remote_find_target(context);
  seer_os_thread_join(thread);
  seer_os_close(b.fd);
  must(seer_os_remove_tree(folder));
  return status;
}

static void a_processor_is_the_target(void **state) {
  (void)state;
  const char *device;
  seer_context *context = seer_context_create_default();
  must(find(context, "cpu -triple=aarch64-linux-gnu -cpu=cortex-a72 -threads=3", &device));
  const seer_target *target = seer_context_target(context);
  assert_string_equal(target->cpu, "cortex-a72");
  assert_int_equal(target->threads, 3);
  seer_context_destroy(context);
}

static void a_gpu_is_refused_by_name(void **state) {
  (void)state;
  static const char *const targets[] = {"cuda:h100", "cuda -arch=sm_80", "opencl"};
  for (size_t k = 0; k < SEER_COUNT_OF(targets); k++) {
    const char *device;
    seer_context *context = seer_context_create_default();
    seer_status status = find(context, targets[k], &device);
    assert_non_null(status);
    assert_int_equal(seer_status_code(status), SEER_CODE_UNSUPPORTED);
    assert_non_null(strstr(seer_status_message(status), device));
    assert_non_null(strstr(seer_status_message(status), "GPU"));
    assert_int_equal(seer_context_target(context)->kind, SEER_TARGET_CPU);  // its own
    seer_status_free(status);
    seer_context_destroy(context);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_processor_is_the_target, arena_open, arena_close),
      cmocka_unit_test_setup_teardown(a_gpu_is_refused_by_name, arena_open, arena_close),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
