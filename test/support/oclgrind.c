// oclgrind.c - see oclgrind.h.
#include "support/oclgrind.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"
#include "support/opencl_run.h"
#include "support/test.h"

#define LIBRARY "/usr/lib/oclgrind/liboclgrind-rt-icd.so"

bool oclgrind_begin(const char *log) {
  if (access(LIBRARY, R_OK) != 0) {
    print_message("no " LIBRARY ": tool/deps.sh gpu-full installs it\n");
    return false;
  }
  setenv("OCL_ICD_VENDORS", LIBRARY, 1);
  setenv("OCLGRIND_LOG", log, 1);
  setenv("OCLGRIND_MAX_ERRORS", "20", 1);
  setenv("OCLGRIND_DATA_RACES", "1", 1);
  setenv("OCLGRIND_UNINITIALIZED", "1", 1);
  return true;
}

static const char *run(const seer_vec_code *code, void *const *data, seer_arena *arena) {
  const char *wrong;
  opencl_runner *runner = opencl_open("Oclgrind", "-O0 -DSEER_UNSAID", arena, &wrong);
  if (!runner) return wrong;
  wrong = opencl_run(runner, code, data, arena);
  opencl_close(runner);
  return wrong;
}

const char *oclgrind_said(const seer_vec_code *code, void *const *data, oclgrind_check *check,
    const void *user, seer_arena *arena) {
  const char *log = getenv("OCLGRIND_LOG");
  (void)unlink(log);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    const char *wrong = run(code, data, arena);
    if (!wrong && check) wrong = check(user, data, arena);
    if (wrong) (void)fprintf(stderr, "%s\n", wrong);
    _exit(wrong != NULL);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  char *text = NULL;
  size_t n = 0;
  must(seer_os_read_file(log, arena, 1u << 20, &text, &n));
  text = seer_arena_strndup(arena, text, n);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail_msg("status %d: %s", status, text);
  return text;
}
