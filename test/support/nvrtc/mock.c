// mock.c - an NVRTC that needs no toolkit: CUDA C -> an image that the libcuda of support/cuda
// runs.
//
// The text is compiled as C++ by the machine's own compiler, behind mock.cuh. The image is a shared
// object that is a cubin besides: a section .text.NAME for each kernel, and what it says of
// registers (code/gpu/cubin.h). Images are for the architecture that was asked for. PTX names the
// image's file where MOCK_NVRTC_PTX is a folder for such files; else drivers refuse it.
//
// Not seen: what a compiler makes of registers and of code for a device.
#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))
#define MAX_KERNELS 64
#define MAX_ARGS 128
#define REGISTERS 32u

typedef int result;
enum { INVALID_INPUT = 3, INVALID_PROGRAM = 4, INVALID_OPTION = 5, COMPILATION = 6, INTERNAL = 11 };

typedef struct {
  char *text, name[128];
  char log[4096], ptx[512];
  uint8_t *image;
  size_t n_image_bytes;
} program;

// Of a kernel: what stands between __launch_bounds__ and its body.
typedef struct {
  char name[256];
  unsigned n_items, n_args, group_bytes;
  bool waits;  // has barriers, or products of warps
} kernel;

static const int processors[] = {75, 80, 86, 89, 90};

API const char *nvrtcGetErrorString(result r);
const char *nvrtcGetErrorString(result r) {
  switch (r) {
    case 0:
      return "NVRTC_SUCCESS";
    case COMPILATION:
      return "NVRTC_ERROR_COMPILATION";
    case INVALID_OPTION:
      return "NVRTC_ERROR_INVALID_OPTION";
    default:
      return "NVRTC_ERROR_INTERNAL_ERROR";
  }
}

API result nvrtcVersion(int *out_major, int *out_minor);
result nvrtcVersion(int *out_major, int *out_minor) {
  *out_major = 12, *out_minor = 4;
  return 0;
}

API result nvrtcGetNumSupportedArchs(int *out);
result nvrtcGetNumSupportedArchs(int *out) {
  *out = (int)(sizeof processors / sizeof processors[0]);
  return 0;
}

API result nvrtcGetSupportedArchs(int *out);
result nvrtcGetSupportedArchs(int *out) {
  memcpy(out, processors, sizeof processors);
  return 0;
}

API result nvrtcCreateProgram(program **out, const char *text, const char *name, int n_headers,
    const char *const *headers, const char *const *names);
result nvrtcCreateProgram(program **out, const char *text, const char *name, int n_headers,
    const char *const *headers, const char *const *names) {
  (void)headers, (void)names;
  program *p = n_headers == 0 ? calloc(1, sizeof *p) : NULL;
  if (!p) return INVALID_INPUT;
  p->text = strdup(text);
  snprintf(p->name, sizeof p->name, "%s", name);
  *out = p;
  return 0;
}

API result nvrtcDestroyProgram(program **p);
result nvrtcDestroyProgram(program **p) {
  if (!*p) return INVALID_PROGRAM;
  free((*p)->text);
  free((*p)->image);
  free(*p);
  *p = NULL;
  return 0;
}

// ---- what is in the text

static const char begin[] = "__global__ void __launch_bounds__(";

static unsigned count(const char *from, const char *to, const char *word) {
  unsigned n = 0;
  for (const char *at = strstr(from, word); at && at < to; at = strstr(at + 1, word)) n++;
  return n;
}

static unsigned find_kernels(const char *text, kernel *out) {
  unsigned n = 0;
  for (const char *at = strstr(text, begin), *next; at && n < MAX_KERNELS; at = next) {
    kernel *k = &out[n++];
    *k = (kernel){0};
    next = strstr(at + 1, begin);
    if (sscanf(at + sizeof begin - 1, "%u, 1) %255[^(](", &k->n_items, k->name) != 2) return 0;
    const char *body = strstr(at, ") {"), *end = next ? next : text + strlen(text);
    if (!body) return 0;
    k->n_args = count(at, body, "char *");
    k->waits =
        count(body, end, "BARRIER()") + count(body, end, "POISON(") + count(body, end, "mma_") > 0;
    for (const char *s = strstr(body, "__shared__ "); s && s < end;
         s = strstr(s + 1, "__shared__ ")) {
      unsigned bytes = 0;
      if (sscanf(s, "__shared__ __align__(64) char %*[^[][%u]", &bytes) != 1) return 0;
      k->group_bytes += bytes;
    }
  }
  return n;
}

// Each kernel in a section of its own.
static void put_text(FILE *to, const char *text, const kernel *kernels) {
  const char *from = text;
  for (const char *at = strstr(text, begin); at; at = strstr(at + 1, begin), kernels++) {
    fwrite(from, 1, (size_t)(at - from), to);
    fprintf(to, "__attribute__((section(\".text.%s\"))) ", kernels->name);
    from = at;
  }
  fprintf(to, "%s\n", from);
}

static void put_table(FILE *to, const kernel *kernels, unsigned n, unsigned architecture) {
  for (unsigned k = 0; k < n; k++) {
    fprintf(to, "static void call_%u(void) { %s(", k, kernels[k].name);
    for (unsigned a = 0; a < kernels[k].n_args; a++)
      fprintf(to, "%s(char *)mock_args[%u]", a ? ", " : "", a);
    fprintf(to, "); }\nstatic void run_%u(void *const *args, unsigned block) {\n", k);
    fprintf(to, "  mock_run(call_%u, args, block, %u, %d);\n}\n", k, kernels[k].n_items,
        kernels[k].waits);
  }
  fprintf(to, "extern \"C\" const mock_kernel mock_kernels[] = {\n");
  for (unsigned k = 0; k < n; k++)
    fprintf(to, "  {\"%s\", run_%u, %u, %u, %u, 0},\n", kernels[k].name, k, kernels[k].n_args,
        kernels[k].n_items, kernels[k].group_bytes);
  fprintf(to, "};\nextern \"C\" const unsigned mock_n_kernels = %u, mock_architecture = %u;\n", n,
      architecture);
  fprintf(to, "__attribute__((section(\".nv.info\"), used)) static const char nv_info[%u] = {1};\n",
      12 * n);
  for (unsigned k = 0; k < n; k++)
    if (kernels[k].group_bytes)
      fprintf(to,
          "__attribute__((section(\".nv.shared.%s\"), used)) static const char shared_%u[%u] = "
          "{1};\n",
          kernels[k].name, k, kernels[k].group_bytes);
}

// ---- the image

static uint8_t *read_all(const char *path, size_t *out_n) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  fseek(file, 0, SEEK_END);
  *out_n = (size_t)ftell(file);
  rewind(file);
  uint8_t *bytes = malloc(*out_n + 1);
  if (bytes && fread(bytes, 1, *out_n, file) == *out_n) bytes[*out_n] = 0;
  fclose(file);
  return bytes;
}

// Registers of each kernel, by the number of its symbol, which is known now.
static void put_registers(uint8_t *image, const kernel *kernels, unsigned n) {
  const Elf64_Ehdr *head = (const void *)image;
  const Elf64_Shdr *section = (const void *)(image + head->e_shoff), *symbols = NULL, *info = NULL;
  const char *names = (const char *)image + section[head->e_shstrndx].sh_offset;
  for (unsigned s = 0; s < head->e_shnum; s++) {
    if (section[s].sh_type == SHT_SYMTAB) symbols = &section[s];
    if (strcmp(names + section[s].sh_name, ".nv.info") == 0) info = &section[s];
  }
  if (!symbols || !info) return;
  const Elf64_Sym *symbol = (const void *)(image + symbols->sh_offset);
  const char *texts = (const char *)image + section[symbols->sh_link].sh_offset;
  uint8_t *to = image + info->sh_offset;
  for (uint32_t s = 0; s < symbols->sh_size / sizeof *symbol; s++) {
    for (unsigned k = 0; k < n; k++) {
      if (strcmp(texts + symbol[s].st_name, kernels[k].name) != 0) continue;
      const uint32_t pair[2] = {s, REGISTERS};
      memcpy(to + (size_t)12 * k, "\x04\x2f\x08", 4);
      memcpy(to + (size_t)12 * k + 4, pair, sizeof pair);
    }
  }
}

static result build(program *p, const char *folder, unsigned architecture) {
  char path[256], command[1024];
  kernel kernels[MAX_KERNELS];
  unsigned n = find_kernels(p->text, kernels);
  snprintf(path, sizeof path, "%s/image.cc", folder);
  FILE *to = fopen(path, "w");
  if (!to) return INTERNAL;
  fprintf(to, "#include \"%s\"\n#define SEER_POISON\n", MOCK_NVRTC_PRELUDE);
  put_text(to, p->text, kernels);
  put_table(to, kernels, n, architecture);
  fclose(to);
  snprintf(command, sizeof command,
      "cd '%s' && c++ -std=c++17 -O1 -w -fPIC -shared -ffp-contract=off "
      "-Wl,--unique=.text.* image.cc -o image.so >log 2>&1",
      folder);
  int status = system(command);  // NOLINT(cert-env33-c)
  snprintf(path, sizeof path, "%s/log", folder);
  size_t n_log = 0;
  uint8_t *log = read_all(path, &n_log);
  snprintf(p->log, sizeof p->log, "%s", log ? (const char *)log : "");
  free(log);
  if (status != 0) return COMPILATION;
  snprintf(path, sizeof path, "%s/image.so", folder);
  p->image = read_all(path, &p->n_image_bytes);
  if (!p->image) return INTERNAL;
  put_registers(p->image, kernels, n);
  return 0;
}

// "--gpu-architecture=sm_90"; 0: it is not among the options, or one is not known.
static unsigned architecture_of(int n_options, const char *const *options) {
  static const char *const known[] = {
      "--fmad=false", "--std=c++17", "--device-as-default-execution-space"};
  unsigned architecture = 0;
  for (int k = 0; k < n_options; k++) {
    bool is_known = sscanf(options[k], "--gpu-architecture=sm_%u", &architecture) == 1;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
      is_known = is_known || strcmp(options[k], known[i]) == 0;
    if (!is_known) return 0;
  }
  return architecture;
}

static bool keep_for_ptx(program *p, unsigned architecture) {
  const char *folder = getenv("MOCK_NVRTC_PTX");
  char path[256] = "none";
  if (folder) snprintf(path, sizeof path, "%s/%s-%u.so", folder, p->name, architecture);
  FILE *to = folder ? fopen(path, "wb") : NULL;
  bool is_kept = !folder || (to && fwrite(p->image, 1, p->n_image_bytes, to) == p->n_image_bytes);
  if (to) is_kept = fclose(to) == 0 && is_kept;
  snprintf(p->ptx, sizeof p->ptx, ".version 8.0\n.target sm_%u\n//mock %s\n", architecture, path);
  return is_kept;
}

API result nvrtcCompileProgram(program *p, int n_options, const char *const *options);
result nvrtcCompileProgram(program *p, int n_options, const char *const *options) {
  char folder[] = "/tmp/mock_nvrtc.XXXXXX", path[64];
  unsigned architecture = architecture_of(n_options, options);
  if (architecture == 0) return INVALID_OPTION;
  if (!mkdtemp(folder)) return INTERNAL;
  result is = build(p, folder, architecture);
  if (is == 0 && !keep_for_ptx(p, architecture)) is = INTERNAL;
  static const char *const made[] = {"image.cc", "image.so", "log"};
  for (size_t k = 0; k < sizeof made / sizeof made[0]; k++) {
    snprintf(path, sizeof path, "%s/%s", folder, made[k]);
    (void)remove(path);
  }
  return rmdir(folder) == 0 ? is : INTERNAL;
}

// ---- what came out

API result nvrtcGetProgramLogSize(program *p, size_t *out);
result nvrtcGetProgramLogSize(program *p, size_t *out) {
  *out = strlen(p->log) + 1;
  return 0;
}

API result nvrtcGetProgramLog(program *p, char *out);
result nvrtcGetProgramLog(program *p, char *out) {
  memcpy(out, p->log, strlen(p->log) + 1);
  return 0;
}

API result nvrtcGetCUBINSize(program *p, size_t *out);
result nvrtcGetCUBINSize(program *p, size_t *out) {
  *out = p->n_image_bytes;
  return p->image ? 0 : INVALID_PROGRAM;
}

API result nvrtcGetCUBIN(program *p, char *out);
result nvrtcGetCUBIN(program *p, char *out) {
  memcpy(out, p->image, p->n_image_bytes);
  return 0;
}

API result nvrtcGetPTXSize(program *p, size_t *out);
result nvrtcGetPTXSize(program *p, size_t *out) {
  *out = strlen(p->ptx) + 1;
  return p->image ? 0 : INVALID_PROGRAM;
}

API result nvrtcGetPTX(program *p, char *out);
result nvrtcGetPTX(program *p, char *out) {
  memcpy(out, p->ptx, strlen(p->ptx) + 1);
  return 0;
}
