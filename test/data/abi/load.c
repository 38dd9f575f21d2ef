// load.c - model.so -> its table of functions, for programs that find models while running. Not in
// the archive that is linked into model.so.
#include "runtime/exec.h"

typedef int seer_rt_not_empty;

#ifndef SEER_RT_EMBEDDED

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

seer_rt_code seer_model_load(const char *so_path, void **out_library,
    const seer_model_api **out_api, char *message, size_t message_bytes) {
  *out_library = NULL;
  *out_api = NULL;
  // dlopen searches the system's folders for a name without a slash.
  char path[4096];
  int n = snprintf(path, sizeof path, "%s%s", strchr(so_path, '/') ? "" : "./", so_path);
  if (n < 0 || (size_t)n >= sizeof path)
    return seer_rt_fail(SEER_RT_INVALID, message, message_bytes, "path of the model is too long");
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) return seer_rt_fail(SEER_RT_NOT_FOUND, message, message_bytes, "%s", dlerror());
  const seer_model_api *(*get)(void) = NULL;
  void *symbol = dlsym(library, "seer_model_v1");
  memcpy(&get, &symbol, sizeof get);
  const seer_model_api *api = get ? get() : NULL;
  // Libraries made before a member was appended can be used without it.
  if (!api || api->abi_version != 1 || api->struct_size < sizeof(seer_model_api)) {
    dlclose(library);
    return seer_rt_fail(SEER_RT_INVALID, message, message_bytes, "%s: %s", so_path,
        get ? "a model of another version" : "a library, but no model (it lacks seer_model_v1)");
  }
  *out_library = library;
  *out_api = api;
  return SEER_RT_OK;
}

void seer_model_unload(void *library) {
  if (library) dlclose(library);
}

#endif
