// answer.c - runs a library with inputs from files, on processors that have no familyseer:
//   answer LIBRARY THREADS FOLDER NAME=FILE...
// A file has an input's elements, as they lie in memory. Output k goes to FOLDER/k; for each a line
// tells name, ONNX's number of its type, dimensions. With -DLINKED the library is part of the
// program, and its weights too: LIBRARY is not looked at.
#include <dlfcn.h>
#include <seer/runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char message[512];

static void fail(const char *what) {
  fprintf(stderr, "%s %s\n", what, message);
  exit(1);
}

static void check(seer_rt_code code, const char *what) {
  if (code != SEER_RT_OK) fail(what);
}

#ifdef LINKED
extern const unsigned char seer_weights[], seer_weights_end[];
static seer_model *open_model(const char *path, const seer_model_api **out_api) {
  seer_model *model;
  (void)path;
  *out_api = seer_model_v1();
  check((*out_api)->open(NULL, seer_weights, (uint64_t)(seer_weights_end - seer_weights), 1, &model,
            message, sizeof message),
      "open");
  return model;
}
#else
static seer_model *open_model(const char *path, const seer_model_api **out_api) {
  const seer_model_api *(*table)(void) = NULL;
  seer_model *model;
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void *symbol = library ? dlsym(library, "seer_model_v1") : NULL;
  if (!symbol) fail(dlerror());
  memcpy(&table, &symbol, sizeof table);
  *out_api = table();
  check((*out_api)->open(NULL, NULL, 0, 1, &model, message, sizeof message), "open");
  return model;
}
#endif

static void *memory(uint64_t n_bytes) {
  void *p = calloc(1, n_bytes > 0 ? n_bytes : 1);
  if (!p) fail("memory");
  return p;
}

static const char *file_of(const char *name, char **words) {
  size_t n = strlen(name);
  for (; *words; words++) {
    if (strncmp(*words, name, n) == 0 && (*words)[n] == '=') return *words + n + 1;
  }
  fail(name);
  return NULL;
}

static void *read_input(const seer_io_info *io, char **words) {
  void *data = memory(io->n_bytes);
  FILE *file = fopen(file_of(io->name, words), "rb");
  if (!file || fread(data, 1, io->n_bytes, file) != io->n_bytes || fgetc(file) != EOF)
    fail(io->name);
  fclose(file);
  return data;
}

static void write_output(const seer_io_info *io, const void *data, const int64_t *dim,
    const char *folder, int32_t index) {
  char path[1024];
  int64_t n = 1, bound = 1;
  printf("%s %d", io->name, io->onnx_dtype);
  for (int32_t d = 0; d < io->rank; d++) {
    printf(" %lld", (long long)dim[d]);
    n *= dim[d];
    bound *= io->dim[d];
  }
  printf("\n");
  size_t n_bytes = bound > 0 ? (size_t)(io->n_bytes / (uint64_t)bound * (uint64_t)n) : 0;
  snprintf(path, sizeof path, "%s/%d", folder, index);
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(data, 1, n_bytes, file) != n_bytes || fclose(file) != 0) fail(path);
}

int main(int argc, char **argv) {
  if (argc < 4) fail("usage: answer LIBRARY THREADS FOLDER NAME=FILE...");
  const seer_model_api *api;
  seer_session *session;
  seer_model *model = open_model(argv[1], &api);
  seer_pool *pool = api->pool_create((uint32_t)strtoul(argv[2], NULL, 10), 0);
  if (!pool) fail("pool");
  check(api->session_create(model, pool, &session, message, sizeof message), "session");
  void *data[256];
  int32_t n_inputs = api->n_inputs(model), n_outputs = api->n_outputs(model);
  if (n_inputs + n_outputs > 256) fail("too many inputs");
  for (int32_t i = 0; i < n_inputs; i++) {
    const seer_io_info *io = api->input(model, i);
    data[i] = read_input(io, argv + 4);
    check(api->session_bind_input(session, i, data[i], io->n_bytes, message, sizeof message),
        io->name);
  }
  for (int32_t i = 0; i < n_outputs; i++) {
    const seer_io_info *io = api->output(model, i);
    data[n_inputs + i] = memory(io->n_bytes);
    check(api->session_bind_output(
              session, i, data[n_inputs + i], io->n_bytes, message, sizeof message),
        io->name);
  }
  for (int run = 0; run < 2; run++)  // the second finds what the first has left
    check(api->session_run(session, message, sizeof message), "run");
  for (int32_t i = 0; i < n_outputs; i++) {
    int64_t dim[12];
    check(api->session_output_shape(session, i, dim, message, sizeof message), "shape");
    write_output(api->output(model, i), data[n_inputs + i], dim, argv[3], i);
  }
  api->session_destroy(session);
  api->pool_destroy(pool);
  api->close(model);
  for (int32_t i = 0; i < n_inputs + n_outputs; i++) free(data[i]);
  return 0;
}
