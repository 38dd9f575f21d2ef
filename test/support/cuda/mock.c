// mock.c - see mock.h: contexts, memory, modules.
#include "support/cuda/mock.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

// Added to addresses of the host: no such address can be followed.
#define ELSEWHERE (UINT64_C(1) << 56)
#define MEMORY_BYTES (UINT64_C(80) << 30)
#define MAX_PUSHED 16
#define LEAST_ADDRESSES (UINT64_C(64) << 30)  // bytes
#define LOG_OPTION 5
#define LOG_BYTES_OPTION 6

pthread_mutex_t mock_lock = PTHREAD_MUTEX_INITIALIZER;
static object *objects;
static context *primary;  // of device 0: all devices have it
static pid_t begun;  // the process that called cuInit
static int n_broken, n_leaks;
static _Thread_local context *pushed[MAX_PUSHED];
static _Thread_local int n_pushed;

// ---- the environment

int mock_option(const char *name, int otherwise) {
  const char *text = getenv("MOCK_CUDA");
  size_t n = strlen(name);
  for (; text && *text; text += strcspn(text, ",") + (text[strcspn(text, ",")] == ',')) {
    if (strncmp(text, name, n) == 0 && text[n] == '=') return atoi(text + n + 1);
  }
  return otherwise;
}

bool mock_counts_to(const char *option) {
  static char known[256];
  static struct {
    const char *option;
    int n;
  } counts[8];
  const char *text = getenv("MOCK_CUDA");
  if (strcmp(known, text ? text : "") != 0) {
    snprintf(known, sizeof known, "%s", text ? text : "");
    memset(counts, 0, sizeof counts);
  }
  int k = 0;
  while (counts[k].option && strcmp(counts[k].option, option) != 0) k++;
  counts[k].option = option;
  return ++counts[k].n == mock_option(option, 0);
}

void mock_broken(const char *format, ...) {
  va_list args;
  va_start(args, format);
  fprintf(stderr, "mock libcuda: ");
  vfprintf(stderr, format, args);
  fprintf(stderr, "\n");
  va_end(args);
  n_broken++;
}

// ---- objects

void *mock_object(size_t n_bytes, object_kind kind, object *of) {
  object *o = calloc(1, n_bytes);
  *o = (object){objects, kind, false, of};
  objects = o;
  return o;
}

void *mock_known(const context *in, void *handle, object_kind kind, const char *call) {
  for (object *o = objects; o; o = o->next) {
    if (o != handle || o->kind != kind) continue;
    const object *owner = kind == FUNCTION ? o->of->of : o->of;
    if (!o->is_dead && (!in || owner == &in->head)) return o;
    mock_broken("%s: a handle that was destroyed, or another context's", call);
    return NULL;
  }
  mock_broken("%s: no such handle", call);
  return NULL;
}

static result begun_here(const char *call) {
  if (begun == getpid()) return 0;
  if (begun == 0) mock_broken("%s before cuInit", call);
  return NOT_INITIALIZED;
}

context *mock_enter(const char *call, result *out_result) {
  pthread_mutex_lock(&mock_lock);
  context *current = n_pushed > 0 ? pushed[n_pushed - 1] : NULL;
  result is = begun_here(call);
  if (is == 0 && !current) {
    mock_broken("%s without a context", call);
    is = INVALID_CONTEXT;
  }
  if (is == 0 && current->head.is_dead) {
    mock_broken("%s: the context was released", call);
    is = 709;
  }
  if (is == 0) is = current->lost;
  *out_result = is;
  if (is == 0) return current;
  pthread_mutex_unlock(&mock_lock);
  return NULL;
}

result mock_leave(result is) {
  pthread_mutex_unlock(&mock_lock);
  return is;
}

API int mockCudaAsk(int question);
int mockCudaAsk(int question) {
  extern HIDDEN int mock_n_launches;
  switch ((mock_question)question) {
    case MOCK_BROKEN_RULES:
      return n_broken;
    case MOCK_LEAKS:
      return n_leaks;
    case MOCK_PUSHED:
      return n_pushed;
    case MOCK_LAUNCHES:
      return mock_n_launches;
    case MOCK_CONTEXTS:
      return primary && !primary->head.is_dead;
  }
  return -1;
}

// ---- the driver and its devices

API result cuInit(unsigned flags) {
  pthread_mutex_lock(&mock_lock);
  result is = mock_option("init", flags == 0 ? 0 : INVALID_VALUE);
  // The driver maps so much that a process with 4 GiB of addresses has none (an H200, 580.159).
  struct rlimit addresses;
  if (is == 0 && getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur < LEAST_ADDRESSES)
    is = OUT_OF_MEMORY;
  if (is == 0 && begun != 0 && begun != getpid()) is = NOT_INITIALIZED;
  if (is == 0 && mock_option("devices", 1) == 0) is = NO_DEVICE;
  if (is == 0) begun = getpid();
  return mock_leave(is);
}

API result cuDriverGetVersion(int *out) {
  *out = 12040;
  return 0;
}

// A driver's tables for its own tools. NVRTC looks for this in whatever libcuda it finds, and calls
// it without a look whether it is there.
API result cuGetExportTable(const void **out, const void *id) {
  (void)id;
  *out = NULL;
  return NOT_FOUND;
}

static const struct {
  result code;
  const char *name, *text;
} errors[] = {{0, "CUDA_SUCCESS", "no error"}, {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {34, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU",
        "no kernel image is available for execution on the device"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
        "operation not permitted when stream is capturing"}};

API result cuGetErrorName(result code, const char **out) {
  *out = NULL;
  for (size_t k = 0; k < sizeof errors / sizeof errors[0] && !*out; k++) {
    if (errors[k].code == code) *out = errors[k].name;
  }
  return *out ? 0 : INVALID_VALUE;
}

API result cuGetErrorString(result code, const char **out) {
  *out = NULL;
  for (size_t k = 0; k < sizeof errors / sizeof errors[0] && !*out; k++) {
    if (errors[k].code == code) *out = errors[k].text;
  }
  return *out ? 0 : INVALID_VALUE;
}

API result cuDeviceGetCount(int *out) {
  *out = mock_option("devices", 1);
  return begun_here("cuDeviceGetCount");
}

API result cuDeviceGet(int *out, int ordinal) {
  *out = 100 + ordinal;
  if (begun_here("cuDeviceGet")) return NOT_INITIALIZED;
  return ordinal >= 0 && ordinal < mock_option("devices", 1) ? 0 : INVALID_DEVICE;
}

API result cuDeviceGetName(char *out, int n_bytes, int device) {
  snprintf(out, (size_t)n_bytes, "Mock %d", device - 100);
  return device >= 100 ? 0 : INVALID_DEVICE;
}

API result cuDeviceTotalMem_v2(size_t *out, int device) {
  *out = MEMORY_BYTES;
  return device >= 100 ? 0 : INVALID_DEVICE;
}

API result cuDeviceGetAttribute(int *out, int attribute, int device) {
  int sm = mock_option("architecture", 90);
  const struct {
    int attribute, value;
  } known[] = {{1, 1024}, {8, 49152}, {13, 1980000}, {16, 132}, {38, 50 << 20}, {75, sm / 10},
      {76, sm % 10}};
  if (device < 100) return INVALID_DEVICE;
  for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
    if (known[k].attribute != attribute) continue;
    *out = known[k].value;
    return 0;
  }
  mock_broken("cuDeviceGetAttribute: %d is not known here", attribute);
  return INVALID_VALUE;
}

// ---- contexts

API result cuDevicePrimaryCtxRetain(void **out, int device) {
  pthread_mutex_lock(&mock_lock);
  result is = begun_here("cuDevicePrimaryCtxRetain");
  if (is == 0 && device < 100) is = INVALID_DEVICE;
  if (is != 0) return mock_leave(is);
  if (!primary || primary->head.is_dead) primary = mock_object(sizeof *primary, CONTEXT, NULL);
  primary->n_users++;
  *out = primary;
  return mock_leave(0);
}

static void unload(const module *m) {
  dlclose(m->library);
  if (m->file >= 0) close(m->file);
}

static void end_context(context *c) {
  static const char *const names[KIND_COUNT] = {
      "context", "module", "function", "stream", "event", "graph", "instance of a graph"};
  bool is_well = c->lost == 0;  // of a lost one nothing can be let go
  c->head.is_dead = true;
  for (object *o = objects; o; o = o->next) {
    if (o->of != &c->head || o->is_dead) continue;
    if (is_well)
      fprintf(stderr, "mock libcuda: a %s is left when its context ends\n", names[o->kind]);
    n_leaks += is_well;
    o->is_dead = true;
    if (o->kind == STREAM)
      mock_forget(&((stream *)o)->queued), mock_forget(&((stream *)o)->captured);
    if (o->kind == GRAPH || o->kind == INSTANCE) mock_forget(&((graph *)o)->operations);
    if (o->kind == MODULE) unload((module *)o);
  }
  for (allocation *next; c->memory; c->memory = next) {
    if (is_well)
      fprintf(
          stderr, "mock libcuda: %zu bytes are left when their context ends\n", c->memory->n_bytes);
    n_leaks += is_well;
    next = c->memory->next;
    free(c->memory->memory);
    free(c->memory);
  }
}

API result cuDevicePrimaryCtxRelease_v2(int device) {
  pthread_mutex_lock(&mock_lock);
  result is = begun_here("cuDevicePrimaryCtxRelease");
  if (is != 0) return mock_leave(is);
  if (device < 100 || !primary || primary->head.is_dead) {
    mock_broken("cuDevicePrimaryCtxRelease of what was not retained");
    return mock_leave(INVALID_CONTEXT);
  }
  if (--primary->n_users == 0) end_context(primary);
  return mock_leave(0);
}

API result cuCtxPushCurrent_v2(void *handle) {
  pthread_mutex_lock(&mock_lock);
  context *c =
      begun_here("cuCtxPushCurrent") ? NULL : mock_known(NULL, handle, CONTEXT, "cuCtxPushCurrent");
  if (!c) return mock_leave(INVALID_CONTEXT);
  if (n_pushed == MAX_PUSHED) {
    mock_broken("cuCtxPushCurrent: more are pushed than are popped");
    return mock_leave(INVALID_VALUE);
  }
  pushed[n_pushed++] = c;
  return mock_leave(0);
}

API result cuCtxPopCurrent_v2(void **out) {
  if (n_pushed == 0) {
    mock_broken("cuCtxPopCurrent: none is pushed");
    return INVALID_CONTEXT;
  }
  *out = pushed[--n_pushed];
  return 0;
}

// ---- memory

uint8_t *mock_memory_at(address at) { return (uint8_t *)(uintptr_t)(at - ELSEWHERE); }

static bool is_in(const allocation *a, const uint8_t *at, size_t n_bytes) {
  return at >= a->memory && n_bytes <= a->n_bytes &&
      (size_t)(at - a->memory) <= a->n_bytes - n_bytes;
}

bool mock_is_inside(const context *in, address at, size_t n_bytes) {
  if (at < ELSEWHERE) return false;
  for (const allocation *a = in->memory; a; a = a->next) {
    if (!a->is_host && is_in(a, mock_memory_at(at), n_bytes)) return true;
  }
  return false;
}

bool mock_is_pinned(const context *in, const void *at, size_t n_bytes) {
  for (const allocation *a = in->memory; a; a = a->next) {
    if (a->is_host && is_in(a, at, n_bytes)) return true;
  }
  return false;
}

// Exactly as much as is asked for: AddressSanitizer sees what a kernel does beyond it.
static result allocate(context *in, size_t n_bytes, bool is_host, uint8_t **out) {
  void *memory = NULL;
  if (n_bytes == 0) return INVALID_VALUE;
  if (mock_counts_to("oom") || n_bytes > MEMORY_BYTES) return OUT_OF_MEMORY;
  if (posix_memalign(&memory, 256, n_bytes) != 0) return OUT_OF_MEMORY;
  memset(memory, 0xFF, n_bytes);
  allocation *a = calloc(1, sizeof *a);
  *a = (allocation){in->memory, memory, n_bytes, is_host};
  in->memory = a;
  *out = memory;
  return 0;
}

static result let_go(context *in, const uint8_t *memory, bool is_host, const char *call) {
  // A driver waits for all that is queued.
  for (object *o = objects; o; o = o->next) {
    if (o->kind == STREAM && o->of == &in->head && !o->is_dead) mock_run_all((stream *)o);
  }
  for (allocation **link = &in->memory; *link; link = &(*link)->next) {
    allocation *a = *link;
    if (a->memory != memory || a->is_host != is_host) continue;
    *link = a->next;
    free(a->memory);
    free(a);
    return 0;
  }
  mock_broken("%s of what is not there, or no longer", call);
  return INVALID_VALUE;
}

API result cuMemAlloc_v2(address *out, size_t n_bytes) {
  result is;
  uint8_t *memory = NULL;
  context *in = mock_enter("cuMemAlloc", &is);
  if (!in) return is;
  is = allocate(in, n_bytes, false, &memory);
  if (is == 0) *out = (uintptr_t)memory + ELSEWHERE;
  return mock_leave(is);
}

API result cuMemFree_v2(address at) {
  result is;
  context *in = mock_enter("cuMemFree", &is);
  return in ? mock_leave(let_go(in, mock_memory_at(at), false, "cuMemFree")) : is;
}

API result cuMemHostAlloc(void **out, size_t n_bytes, unsigned flags) {
  result is;
  uint8_t *memory = NULL;
  context *in = mock_enter("cuMemHostAlloc", &is);
  if (!in) return is;
  is = flags > 7 ? INVALID_VALUE : allocate(in, n_bytes, true, &memory);
  if (is == 0) *out = memory;
  return mock_leave(is);
}

API result cuMemFreeHost(void *memory) {
  result is;
  context *in = mock_enter("cuMemFreeHost", &is);
  return in ? mock_leave(let_go(in, memory, true, "cuMemFreeHost")) : is;
}

// ---- modules

static result refuse(result is, unsigned n, const int *options, void **values, const char *why) {
  char *log = NULL;
  size_t n_bytes = 0;
  for (unsigned k = 0; k < n; k++) {
    if (options[k] == LOG_OPTION) log = values[k];
    if (options[k] == LOG_BYTES_OPTION) n_bytes = (size_t)(uintptr_t)values[k];
  }
  if (log && n_bytes > 0) snprintf(log, n_bytes, "%s", why);
  return is;
}

// An image's bytes as a library of this process. *out_file stays open with it: by its name the
// loader tells libraries apart.
static void *open_elf(const uint8_t *image, int *out_file) {
  Elf64_Ehdr head;
  char path[64];
  memcpy(&head, image, sizeof head);
  size_t n_bytes = head.e_shoff + (size_t)head.e_shnum * head.e_shentsize;
  int fd = *out_file = memfd_create("image", MFD_CLOEXEC);
  if (fd < 0 || write(fd, image, n_bytes) != (ssize_t)n_bytes) return NULL;
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

// A text that names the file of an image: "//mock PATH". Any other is what MOCK_CUDA_PTX says.
static void *open_ptx(const char *text) {
  char path[512];
  const char *at = strstr(text, "//mock "), *other = getenv("MOCK_CUDA_PTX");
  if (!at && other) return dlopen(other, RTLD_NOW | RTLD_LOCAL);
  return at && sscanf(at, "//mock %511[^\n]", path) == 1 ? dlopen(path, RTLD_NOW | RTLD_LOCAL)
                                                         : NULL;
}

API result cuModuleLoadDataEx(
    void **out, const void *image, unsigned n, int *options, void **values) {
  result is;
  context *in = mock_enter("cuModuleLoadDataEx", &is);
  if (!in) return is;
  is = mock_option("refuse", 0);
  if (is != 0) return mock_leave(refuse(is, n, options, values, "refused as was asked for"));
  bool is_elf = memcmp(image, ELFMAG, SELFMAG) == 0;
  int file = -1;
  void *library = is_elf ? open_elf(image, &file) : open_ptx(image);
  if (!library && file >= 0) close(file);
  if (!library)
    return mock_leave(refuse(is_elf ? INVALID_IMAGE : INVALID_PTX, n, options, values,
        "ptxas fatal: no image that this driver knows"));
  const uint32_t *architecture = dlsym(library, "mock_architecture");
  uint32_t own = (uint32_t)mock_option("architecture", 90);
  if (!architecture || !dlsym(library, "mock_kernels") ||
      (is_elf && (*architecture / 10 != own / 10 || *architecture > own)))
    is = architecture ? NO_BINARY_FOR_GPU : INVALID_IMAGE;
  if (is != 0) {
    unload(&(module){.library = library, .file = file});
    return mock_leave(refuse(is, n, options, values, "of another architecture"));
  }
  module *m = mock_object(sizeof *m, MODULE, &in->head);
  m->library = library;
  m->file = file;
  m->stalls = mock_counts_to("stall");
  m->is_wild = mock_counts_to("wild");
  *out = m;
  return mock_leave(0);
}

API result cuModuleUnload(void *handle) {
  result is;
  context *in = mock_enter("cuModuleUnload", &is);
  if (!in) return is;
  module *m = mock_known(in, handle, MODULE, "cuModuleUnload");
  if (!m) return mock_leave(INVALID_HANDLE);
  for (object *o = objects; o; o = o->next) {
    if (o->kind == STREAM && o->of == &in->head && !o->is_dead) mock_run_all((stream *)o);
  }
  m->head.is_dead = true;
  for (object *o = objects; o; o = o->next) {
    if (o->kind == FUNCTION && o->of == &m->head) o->is_dead = true;
  }
  unload(m);
  return mock_leave(0);
}

API result cuModuleGetFunction(void **out, void *handle, const char *name) {
  result is;
  context *in = mock_enter("cuModuleGetFunction", &is);
  if (!in) return is;
  module *m = mock_known(in, handle, MODULE, "cuModuleGetFunction");
  if (!m) return mock_leave(INVALID_HANDLE);
  const mock_kernel *kernels = dlsym(m->library, "mock_kernels");
  const uint32_t *count = dlsym(m->library, "mock_n_kernels");
  for (uint32_t k = 0; kernels && count && k < *count; k++) {
    if (strcmp(kernels[k].name, name) != 0) continue;
    function *f = mock_object(sizeof *f, FUNCTION, &m->head);
    f->kernel = &kernels[k];
    *out = f;
    return mock_leave(0);
  }
  return mock_leave(NOT_FOUND);
}

API result cuFuncGetAttribute(int *out, int attribute, void *handle) {
  result is;
  context *in = mock_enter("cuFuncGetAttribute", &is);
  if (!in) return is;
  const function *f = mock_known(in, handle, FUNCTION, "cuFuncGetAttribute");
  if (!f || attribute < 0 || attribute > 1) return mock_leave(INVALID_VALUE);
  *out = (int)(attribute == 0 ? f->kernel->n_items : f->kernel->group_bytes);
  return mock_leave(0);
}

API result cuFuncGetParamInfo(void *handle, size_t index, size_t *out_offset, size_t *out_bytes) {
  result is;
  context *in = mock_enter("cuFuncGetParamInfo", &is);
  if (!in) return is;
  const function *f = mock_known(in, handle, FUNCTION, "cuFuncGetParamInfo");
  if (f && mock_option("old", 0)) return mock_leave(801);
  if (!f || index >= f->kernel->n_args) return mock_leave(INVALID_VALUE);
  *out_offset = 8 * index;
  *out_bytes = 8;
  return mock_leave(0);
}
