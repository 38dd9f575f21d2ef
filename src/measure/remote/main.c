// main.c - the program familyseer-runner: times and checks, on a board, what is built elsewhere.
// Small, static, without a compiler: what it runs comes from who has its secret (remote.h).
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "measure/remote/remote.h"
#include "measure/wire/revision.h"
#include "measure/worker/worker.h"

#define MAX_MEMORY_GIB 4.0

static const char usage[] =
    "usage: familyseer-runner --key FILE [--listen [ADDRESS:]PORT] [--no-confine]\n"
    "       familyseer-runner --target | --version | --help\n"
    "Times and checks on this machine what a tuning builds on another one, which calls it by\n"
    "--devices runner:HOST:PORT --runner-key FILE.\n\n"
    "  --key FILE      the secret that both have, of 16 to 4096 bytes: nothing is run that was "
    "not\n"
    "                  sealed with it\n"
    "  --listen WHERE  address and port, or a port at all of this machine's addresses (7337)\n"
    "  --no-confine    leave runners what they do not need (doc/safety.md)\n"
    "  --max-memory X  address space of a runner [GiB] (4)\n"
    "  --through PATH  start runners by this program: an emulator\n"
    "  --target        say what this machine is, as --target takes it, and end\n";

typedef struct {
  seer_remote_options remote;
  const char *listen, *max_memory;
  bool is_help, is_version, is_target;
} options;

// "--name VALUE" or "--name=VALUE" at argv[*at], which moves to its last word.
static bool has_value(int argc, char **argv, int *at, const char *name, const char **out) {
  size_t n = strlen(name);
  if (strncmp(argv[*at], name, n) != 0) return false;
  if (argv[*at][n] == '=') {
    *out = argv[*at] + n + 1;
    return true;
  }
  if (argv[*at][n] || *at + 1 >= argc) return false;
  *out = argv[++*at];
  return true;
}

static seer_status read_options(int argc, char **argv, options *out) {
  *out = (options){.remote = {.port = SEER_REMOTE_PORT, .is_confined = true}};
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--help") == 0) {
      out->is_help = true;
    } else if (strcmp(argv[i], "--version") == 0) {
      out->is_version = true;
    } else if (strcmp(argv[i], "--target") == 0) {
      out->is_target = true;
    } else if (strcmp(argv[i], "--no-confine") == 0) {
      out->remote.is_confined = false;
    } else if (!has_value(argc, argv, &i, "--key", &out->remote.key_path) &&
        !has_value(argc, argv, &i, "--listen", &out->listen) &&
        !has_value(argc, argv, &i, "--max-memory", &out->max_memory) &&
        !has_value(argc, argv, &i, "--through", &out->remote.through)) {
      return SEER_FAIL(INVALID, "'%s' is no option, or has no value; see --help", argv[i]);
    }
  }
  bool is_asked = out->is_help || out->is_version || out->is_target;
  return is_asked || out->remote.key_path ? SEER_OK
                                          : SEER_FAIL(INVALID, "--key FILE is missing; see --help");
}

// "7337", "0.0.0.0:7337", "[::]:7337"; port 0: one that is free, which the first line names.
static seer_status read_listen(options *o, seer_arena *arena) {
  if (!o->listen) return SEER_OK;
  const char *colon = strrchr(o->listen, ':'), *port = colon ? colon + 1 : o->listen;
  char *end;
  unsigned long number = strtoul(port, &end, 10);
  if (!*port || *end || number > UINT16_MAX)
    return SEER_FAIL(INVALID, "--listen %s: a port is a number from 0 to 65535", o->listen);
  o->remote.port = (uint16_t)number;
  if (!colon) return SEER_OK;
  size_t n = (size_t)(colon - o->listen);
  bool is_bracketed = n >= 2 && o->listen[0] == '[' && o->listen[n - 1] == ']';
  o->remote.address = is_bracketed ? seer_arena_strndup(arena, o->listen + 1, n - 2)
                                   : seer_arena_strndup(arena, o->listen, n);
  return SEER_OK;
}

static seer_status read_max_memory(options *o) {
  char *end = "";
  double gib = o->max_memory ? strtod(o->max_memory, &end) : MAX_MEMORY_GIB;
  if (*end || !(gib >= 0.01 && gib <= 4096))
    return SEER_FAIL(INVALID, "--max-memory %s: a number from 0.01 to 4096", o->max_memory);
  o->remote.max_memory_bytes = (uint64_t)(gib * 0x1p30);
  return SEER_OK;
}

static seer_status print_target(seer_arena *arena) {
  const char *target;
  SEER_TRY(seer_remote_describe(arena, &target));
  (void)printf("%s\n", target);
  return SEER_OK;
}

static seer_status serve(int argc, char **argv, seer_arena *arena) {
  options o;
  SEER_TRY(read_options(argc, argv, &o));
  if (o.is_help) (void)fputs(usage, stdout);
  if (o.is_version) (void)printf("familyseer-runner %s (%s)\n", SEER_VERSION, seer_revision());
  if (o.is_target) SEER_TRY(print_target(arena));
  if (o.is_help || o.is_version || o.is_target) return SEER_OK;
  SEER_TRY(read_listen(&o, arena));
  SEER_TRY(read_max_memory(&o));
  char self[PATH_MAX];
  if (!realpath("/proc/self/exe", self))
    return SEER_FAIL(IO, "this program's own path is not to be had: is /proc there?");
  o.remote.program = self;
  return seer_remote_serve(&o.remote);
}

// The process in which candidates run: --runner FD, then options of a context.
static seer_status run(int argc, char **argv) {
  seer_context *context = seer_context_create_default();
  seer_status status = SEER_OK;
  for (int i = 3; i < argc && !status; i++) {
    const char *name = argv[i] + 2, *equals = strchr(name, '=');
    char option[16];
    if (!equals || equals - name >= (ptrdiff_t)sizeof option)
      status = SEER_FAIL(INVALID, "'%s' is no option of a runner", argv[i]);
    if (status) break;
    (void)snprintf(option, sizeof option, "%.*s", (int)(equals - name), name);
    status = seer_context_set(context, option, equals + 1);
  }
  if (!status) status = seer_context_find_target(context);
  if (!status) status = seer_worker_serve(context, &seer_worker_runner, atoi(argv[2]));
  seer_context_destroy(context);
  return status;
}

int main(int argc, char **argv) {
  seer_os_guard_standard_fds();
  seer_arena *arena = seer_arena_create("familyseer-runner");
  bool is_runner = argc > 3 && strcmp(argv[1], "--runner") == 0;
  seer_status status = is_runner ? run(argc, argv) : serve(argc, argv, arena);
  if (status) (void)fprintf(stderr, "familyseer-runner: %s\n", seer_status_message(status));
  bool is_fine = !status;
  seer_status_free(status);
  seer_arena_destroy(arena);
  return is_fine ? EXIT_SUCCESS : EXIT_FAILURE;
}
