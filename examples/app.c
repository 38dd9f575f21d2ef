// app.c - a program that runs a tuned network. Nothing of the compiler is needed, only the folder
// that compile wrote:
//
//   familyseer compile mobilenet_v2 -o out
//   cc app.c $(pkg-config --cflags --libs familyseer-runtime) -o app      (installed)
//   cc app.c -Iinclude build/libseer_runtime.a -ldl -lm -lpthread -o app  (from the source tree)
//   ./app out/model.so
//
// A program can also link model.so itself, like any library, and call seer_model_v1() instead of
// seer_model_load().
#include <seer/runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

// What went wrong is in `message`; what kind of thing it is, the code says.
static int fail(seer_rt_code code, const char *message) {
  fprintf(stderr, "%s: %s\n", seer_rt_code_text((int)code), message);
  return 1;
}

int main(int argc, char **argv) {
  char message[512] = "";
  void *library = NULL;
  const seer_model_api *api = NULL;
  seer_model *model = NULL;
  seer_pool *pool = NULL;
  seer_session *session = NULL;
  seer_rt_code code;
  if (argc != 2) {
    fprintf(stderr, "usage: app model.so\n");
    return 2;
  }

  // The model is immutable and may be shared by threads; a session belongs to one thread at a time;
  // the pool of worker threads may be shared by models and sessions.
  code = seer_model_load(argv[1], &library, &api, message, sizeof message);
  if (code != SEER_RT_OK) return fail(code, message);
  // Once, in place of a question before each call: libraries of earlier versions have fewer.
  if (!SEER_API_HAS(api, session_limit))
    return fail(SEER_RT_UNSUPPORTED, "the model was compiled by an earlier version");
  code = api->open(NULL, NULL, 0, 0, &model, message, sizeof message);
  if (code == SEER_RT_OK) code = api->pool_make(0, 0, &pool, message, sizeof message);
  if (code == SEER_RT_OK)
    code = api->session_create(model, pool, &session, message, sizeof message);
  if (code != SEER_RT_OK) return fail(code, message);

  // Buffers are the caller's and are used where they lie.
  int32_t n_inputs = api->n_inputs(model), n_outputs = api->n_outputs(model);
  void **buffers = calloc((size_t)(n_inputs + n_outputs), sizeof *buffers);
  if (!buffers) return 1;
  for (int32_t i = 0; i < n_inputs; i++) {
    const seer_io_info *io = api->input(model, i);
    void *data = buffers[i] = calloc(1, io->n_bytes);
    if (!data) return 1;
    if (io->onnx_dtype == 1)  // f32
      for (uint64_t k = 0; k < io->n_bytes / 4; k++) ((float *)data)[k] = (float)(k % 17) / 17.0f;
    code = api->session_bind_input(session, i, data, io->n_bytes, message, sizeof message);
    if (code != SEER_RT_OK) return fail(code, message);
  }
  const float *first = NULL;
  for (int32_t i = 0; i < n_outputs; i++) {
    uint64_t n_bytes = api->output(model, i)->n_bytes;
    void *data = buffers[n_inputs + i] = calloc(1, n_bytes);
    if (!data) return 1;
    code = api->session_bind_output(session, i, data, n_bytes, message, sizeof message);
    if (code != SEER_RT_OK) return fail(code, message);
    if (i == 0) first = data;
  }

  // the first run touches all memory
  code = api->session_run(session, message, sizeof message);
  double before = now_ms();
  if (code == SEER_RT_OK) code = api->session_run(session, message, sizeof message);
  if (code != SEER_RT_OK) return fail(code, message);
  double ms = now_ms() - before;
  printf("%.3f ms on %u threads; '%s' begins with %g\n", ms, api->pool_threads(pool),
      api->output(model, 0)->name, first[0]);

  api->session_destroy(session);
  api->pool_destroy(pool);
  api->close(model);
  seer_model_unload(library);
  for (int32_t i = 0; i < n_inputs + n_outputs; i++) free(buffers[i]);
  free(buffers);
  return 0;
}
