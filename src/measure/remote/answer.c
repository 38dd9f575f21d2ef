// answer.c - the board's end: callers, one after the other, each with a runner of its own. The
// contract: remote.h.
#include <stdio.h>

#include "base/confine.h"
#include "base/net.h"
#include "base/os.h"
#include "measure/remote/relay.h"
#include "measure/remote/remote.h"

#define SECOND_NS 1000000000u
#define MOST_WAITING 16
#define TALK_NS (10 * (uint64_t)SECOND_NS)  // for a caller to say what it wants
#define LAST_WORD_NS (2 * (uint64_t)SECOND_NS)
#define PAUSE_NS (SECOND_NS / 10)

typedef struct {
  const seer_remote_options *options;
  seer_hmac_key secret;
  seer_arena *arena;  // for good
  const char *described;  // what this board is; NULL: nobody has asked yet
  // A caller's:
  seer_arena *talk;
  const char *name;
  seer_link link;
} board;

static void tell(const board *b, const char *what) {
  (void)fprintf(stderr, "%s: %s\n", b->name, what);
}

// ---- what it is asked
seer_status seer_remote_describe(seer_arena *arena, const char **out_target) {
  seer_target target;
  SEER_TRY(seer_target_detect(arena, &target));
  SEER_TRY(seer_target_measure(&target));
  *out_target = seer_target_print(&target, arena);
  return SEER_OK;
}

static seer_status check_order(board *b, const seer_remote_ask *order) {
  seer_target target;
  SEER_TRY(seer_target_parse(order->target, b->talk, &target));
  return seer_target_check_here(&target);
}

static seer_status check(board *b, const seer_remote_ask *asked, const seer_message_hello *own) {
  SEER_TRYF(seer_message_program_fits(own, &asked->hello), "the caller");
  if (!asked->is_question) return check_order(b, asked);
  return b->described ? SEER_OK : seer_remote_describe(b->arena, &b->described);
}

static seer_status answer(board *b, const seer_remote_ask *asked, seer_status *out_refusal) {
  seer_text text;
  seer_remote_told told = {seer_message_hello_here(NULL), .refusal = "", .target = ""};
  *out_refusal = check(b, asked, &told.hello);
  if (*out_refusal) told.refusal = seer_status_message(*out_refusal);
  if (!*out_refusal && asked->is_question) told.target = b->described;
  seer_text_init(&text, b->talk);
  seer_remote_put_told(&text, &told);
  return seer_link_send(&b->link, SEER_WIRE_TOLD, 0, &text, seer_os_now_ns() + TALK_NS);
}

// ---- the runner
static seer_status start(
    const board *b, const seer_remote_ask *order, int fd, seer_os_process *out_process) {
  const seer_remote_options *options = b->options;
  const char *argv[9];
  size_t n = 0;
  if (options->through) argv[n++] = options->through;
  argv[n++] = options->program;
  argv[n++] = "--runner";
  argv[n++] = seer_arena_printf(b->talk, "%d", fd);
  argv[n++] = seer_arena_printf(b->talk, "--target=%s", order->target);
  argv[n++] = seer_arena_printf(b->talk, "--threads=%u", order->threads);
  argv[n++] = order->is_pinned ? "--pin=1" : "--pin=0";
  argv[n++] = options->is_confined ? "--confine=1" : "--confine=0";
  argv[n] = NULL;
  const seer_os_spawn_options spawn = {.argv = argv,
      .keep_fds = &fd,
      .n_keep_fds = 1,
      .max_memory_bytes = options->max_memory_bytes};
  return seer_os_spawn(&spawn, out_process);
}

// How it ended, to the caller.
static void say_last_word(board *b, seer_os_process *process) {
  bool is_done = false;
  int code = 0;
  seer_status_free(seer_os_wait(process, LAST_WORD_NS, &is_done, &code));
  if (!is_done) return;
  seer_text text;
  seer_text_init(&text, b->talk);
  seer_remote_put_ended(&text, code);
  seer_status_free(
      seer_link_send(&b->link, SEER_WIRE_ENDED, 0, &text, seer_os_now_ns() + LAST_WORD_NS));
}

static seer_status run(board *b, const seer_remote_ask *order) {
  int fds[2], exit_status;
  seer_os_process process = {0};
  SEER_TRY(seer_os_socket_pair(fds));
  seer_status why = start(b, order, fds[1], &process);
  seer_os_close(fds[1]);
  if (!why) {
    seer_relay_end end = seer_relay(&b->link, fds[0], &why, &exit_status);
    if (end == SEER_RELAY_SOCKET_ENDED) say_last_word(b, &process);
    // That one of the two has gone is how it ends.
    if (why && seer_status_code(why) == SEER_CODE_IO) {
      seer_status_free(why);
      why = SEER_OK;
    }
  }
  seer_os_kill(&process);
  seer_os_close(fds[0]);
  return why;
}

// ---- callers
static seer_status hear(board *b, int fd, seer_remote_ask *out) {
  seer_wire_header header;
  const void *payload;
  uint64_t until_ns = seer_os_now_ns() + TALK_NS;
  SEER_TRY(seer_link_take(fd, "the caller", &b->secret, until_ns, &b->link));
  SEER_TRY(seer_link_receive(
      &b->link, 2 * SEER_REMOTE_MAX_TARGET_BYTES, until_ns, b->talk, &header, &payload));
  if (header.type != SEER_WIRE_ASK)
    return SEER_FAIL(CORRUPT, "a message of type %d in place of a question", (int)header.type);
  return seer_remote_get_ask(payload, (size_t)header.n_bytes, b->talk, out);
}

static seer_status serve_one(board *b, int fd) {
  seer_remote_ask asked;
  seer_status refusal = SEER_OK;
  SEER_TRY(hear(b, fd, &asked));
  SEER_TRY(answer(b, &asked, &refusal));
  if (refusal || asked.is_question) return refusal;
  tell(b, "begins");
  SEER_TRY(run(b, &asked));
  tell(b, "ended");
  return SEER_OK;
}

// A caller that cannot be served is nobody else's concern.
static void serve(board *b, int listener) {
  for (;;) {
    int fd;
    seer_arena_reset(b->talk);
    seer_status status = seer_net_accept(listener, UINT64_MAX, b->talk, &fd, &b->name);
    if (status) {
      seer_status_free(status);
      seer_os_sleep_ns(PAUSE_NS);
      continue;
    }
    status = serve_one(b, fd);
    if (status) tell(b, seer_status_message(status));
    seer_status_free(status);
    seer_os_close(fd);
  }
}

seer_status seer_remote_serve(const seer_remote_options *options) {
  board b = {.options = options};
  int listener;
  const char *why_not;
  SEER_TRYF(seer_remote_read_key(options->key_path, &b.secret), "--key");
  SEER_TRYF(seer_net_listen(options->address, options->port, MOST_WAITING, &listener), "--listen");
  b.arena = seer_arena_create("board");
  b.talk = seer_arena_create("talk");
  if (options->is_confined && !seer_confine_is_there(&why_not))
    (void)fprintf(stderr, "runners are not confined: %s (--no-confine: as intended)\n", why_not);
  (void)printf(
      "familyseer-runner %s listens at port %u\n", SEER_VERSION, (unsigned)seer_net_port(listener));
  (void)fflush(stdout);
  serve(&b, listener);
  return SEER_OK;
}
