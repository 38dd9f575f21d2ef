// both.c - a program that serves libraries of the first version, which say nothing, and today's.
#include <seer/runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

// What can go wrong is said in `message`. A library that the first version compiled has only the
// calls that say nothing.
static seer_rt_code bind_input(const seer_model_api *api, seer_session *session, int32_t i,
    const void *data, uint64_t n_bytes, char *message, size_t message_bytes) {
  return SEER_API_HAS(api, session_bind_input)
      ? api->session_bind_input(session, i, data, n_bytes, message, message_bytes)
      : api->bind_input(session, i, data);
}

static seer_rt_code bind_output(const seer_model_api *api, seer_session *session, int32_t i,
    void *data, uint64_t n_bytes, char *message, size_t message_bytes) {
  return SEER_API_HAS(api, session_bind_output)
      ? api->session_bind_output(session, i, data, n_bytes, message, message_bytes)
      : api->bind_output(session, i, data);
}

static seer_rt_code run(
    const seer_model_api *api, seer_session *session, char *message, size_t message_bytes) {
  return SEER_API_HAS(api, session_run) ? api->session_run(session, message, message_bytes)
                                        : api->run(session);
}

static int fail(const char *message) {
  fprintf(stderr, "%s\n", *message ? message : "failed");
  return 1;
}

int main(int argc, char **argv) {
  char message[512] = "";
  void *library = NULL;
  const seer_model_api *api = NULL;
  seer_model *model = NULL;
  seer_session *session = NULL;
  if (argc != 2) {
    fprintf(stderr, "usage: app model.so\n");
    return 2;
  }

  // The model is immutable and may be shared by threads; a session belongs to one thread at a time;
  // the pool of worker threads may be shared by models and sessions.
  if (seer_model_load(argv[1], &library, &api, message, sizeof message) != SEER_RT_OK ||
      api->open(NULL, NULL, 0, 0, &model, message, sizeof message) != SEER_RT_OK)
    return fail(message);
  seer_pool *pool = api->pool_create(0, 0);
  if (!pool) return fail("threads cannot be made");
  if (api->session_create(model, pool, &session, message, sizeof message) != SEER_RT_OK)
    return fail(message);

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
    if (bind_input(api, session, i, data, io->n_bytes, message, sizeof message) != SEER_RT_OK)
      return fail(message);
  }
  const float *first = NULL;
  for (int32_t i = 0; i < n_outputs; i++) {
    uint64_t n_bytes = api->output(model, i)->n_bytes;
    void *data = buffers[n_inputs + i] = calloc(1, n_bytes);
    if (!data || bind_output(api, session, i, data, n_bytes, message, sizeof message) != SEER_RT_OK)
      return fail(message);
    if (i == 0) first = data;
  }

  // the first run touches all memory
  if (run(api, session, message, sizeof message) != SEER_RT_OK) return fail(message);
  double before = now_ms();
  if (run(api, session, message, sizeof message) != SEER_RT_OK) return fail(message);
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
