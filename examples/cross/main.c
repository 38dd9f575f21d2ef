// main.c - a program that is linked with model.so itself: nothing of familyseer is on the board but
// this program, model.so and weights.bin.   main < input > output, both as they lie in memory.
#include <seer/runtime.h>
#include <stdio.h>
#include <stdlib.h>

static char message[512];

static int fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, message);
  return 1;
}

int main(void) {
  const seer_model_api *api = seer_model_v1();
  seer_model *model = NULL;
  seer_pool *pool = NULL;
  seer_session *session = NULL;
  // Says which instruction is missing where the processor is not the one that was compiled for.
  if (api->open(NULL, NULL, 0, 0, &model, message, sizeof message)) return fail("open");
  if (api->pool_make(0, 0, &pool, message, sizeof message)) return fail("threads");
  if (api->session_create(model, pool, &session, message, sizeof message)) return fail("session");
  size_t in_bytes = api->input(model, 0)->n_bytes, out_bytes = api->output(model, 0)->n_bytes;
  void *in = malloc(in_bytes), *out = malloc(out_bytes);
  if (!in || !out || fread(in, 1, in_bytes, stdin) != in_bytes) return fail("input");
  if (api->session_bind_input(session, 0, in, in_bytes, message, sizeof message) ||
      api->session_bind_output(session, 0, out, out_bytes, message, sizeof message) ||
      api->session_run(session, message, sizeof message))
    return fail("run");
  if (fwrite(out, 1, out_bytes, stdout) != out_bytes || fflush(stdout)) return fail("output");
  api->session_destroy(session);
  api->pool_destroy(pool);
  api->close(model);
  free(in);
  free(out);
  return 0;
}
