// mock_image.c - see mock_image.h and mock_cuda.h.
#include "support/mock_image.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "base/text.h"
#include "support/test.h"

#define MAX_IMAGE_BYTES (1u << 28)

void mock_cuda_begin(char **argv) {
  static const char folder[] = SEER_BUILD_DIR "/mock";
  const char *path = getenv("LD_LIBRARY_PATH");
  if (path && strncmp(path, folder, sizeof folder - 1) == 0) return;
  char all[4096];
  snprintf(all, sizeof all, "%s%s%s", folder, path && *path ? ":" : "", path ? path : "");
  setenv("LD_LIBRARY_PATH", all, 1);
  execv("/proc/self/exe", argv);
  fail_msg("the program cannot be begun again");
}

int mock_cuda_ask(mock_question question) {
  int (*ask)(int) = NULL;
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  void *found = library ? dlsym(library, "mockCudaAsk") : NULL;
  memcpy(&ask, &found, sizeof ask);
  int answer = ask ? ask((int)question) : -1;
  if (library) dlclose(library);
  return answer;
}

static const char *kept(seer_status status, seer_arena *arena) {
  if (!status) return NULL;
  const char *why = seer_arena_strdup(arena, seer_status_message(status));
  seer_status_free(status);
  return why;
}

static const char *whole_text(const char *text, const mock_kernel_text *kernels, uint32_t n,
    uint32_t architecture, seer_arena *arena) {
  seer_text t;
  seer_text_init(&t, arena);
  seer_text_printf(&t, "%s\n", text);
  seer_text_put(&t,
      "typedef struct { const char *name; void (*run)(void *const *, unsigned); unsigned n_args, "
      "n_items, group_bytes; unsigned long long scratch_bytes; } mock_kernel;\n"
      "extern const mock_kernel mock_kernels[];\nconst mock_kernel mock_kernels[] = {\n");
  for (uint32_t k = 0; k < n; k++)
    seer_text_printf(&t, "  {\"%s\", %s, %u, %u, %u, %" PRIu64 "u},\n", kernels[k].name,
        kernels[k].function, kernels[k].n_args, kernels[k].n_items, kernels[k].group_bytes,
        kernels[k].scratch_bytes);
  seer_text_printf(&t,
      "};\nextern const unsigned mock_n_kernels, mock_architecture;\n"
      "const unsigned mock_n_kernels = %u, mock_architecture = %u;\n",
      n, architecture);
  return t.data;
}

const char *mock_image_build(const char *text, const mock_kernel_text *kernels, uint32_t n,
    uint32_t architecture, seer_arena *arena, seer_device_image *out) {
  const char *folder, *all = whole_text(text, kernels, n, architecture, arena);
  char *image = NULL;
  size_t n_bytes = 0;
  const char *flags = getenv("TEST_CFLAGS");
  *out = (seer_device_image){0};
  seer_status status = seer_os_temp_dir("mock_image", arena, &folder);
  if (status) return kept(status, arena);
  status = seer_os_write_file(seer_os_path_join(arena, folder, "image.c"), all, strlen(all));
  const char *command = seer_arena_printf(arena,
      "cd '%s' && cc -std=c17 -O1 -w -fPIC -shared -ffp-contract=off %s image.c -o image.so -lm "
      ">log 2>&1",
      folder, flags ? flags : "");
  if (!status && system(command) != 0) return seer_arena_printf(arena, "%s", command);  // NOLINT
  if (!status)
    status = seer_os_read_file(
        seer_os_path_join(arena, folder, "image.so"), arena, MAX_IMAGE_BYTES, &image, &n_bytes);
  if (!status) status = seer_os_remove_tree(folder);
  *out = (seer_device_image){SEER_IMAGE_CUBIN, architecture, "", image, n_bytes};
  return kept(status, arena);
}

const char *mock_image_ptx(const seer_device_image *binary, const char *path, uint32_t architecture,
    seer_arena *arena, seer_device_image *out) {
  const char *text =
      seer_arena_printf(arena, ".version 7.0\n.target sm_%u\n//mock %s\n", architecture, path);
  *out = (seer_device_image){SEER_IMAGE_PTX, architecture, "", text, strlen(text)};
  return kept(seer_os_write_file(path, binary->data, binary->n_bytes), arena);
}
