// source.c - plan + kernels + the runtime's sources -> model.so as C: a folder that a C compiler
// and make turn into what link.c makes of objects. Bytes repeat: kernels in plan order, no paths.
//
//   Makefile, plan.c, weights.S
//   kernels/   kernels.h, prelude.h, kernels_0.c, kernels_1.c, ...
//   runtime/   as runtime/, base/ and include/ are here, and xxhash.h: a folder to include from
#include <string.h>

#include "code/artefact/internal.h"
#include "code/gen/generate.h"
#include "code/source/makefile.h"
#include "code/source/source.h"

// A file of kernels ends with the one that makes it so long: files that make -j spreads, and that
// a person can open.
#define FILE_BYTES (192u << 10)

seer_status seer_build_source_kernel(const seer_kernel_maker *maker, const seer_loop *loop,
    const char *symbol, seer_arena *arena, seer_built_kernel *k) {
  const seer_target *target = seer_context_target(maker->context);
  seer_kernel *out = &k->kernel;
  SEER_TRY(seer_kernel_describe(loop, symbol, arena, out));
  const seer_gen_machine machine = seer_gen_machine_of_c(target);
  seer_arena *work = seer_arena_create("source");
  seer_vec_code *code = NULL;
  const char *text = NULL;
  seer_status status = seer_gen_code(loop, &machine, symbol, work, &code);
  if (!status) status = seer_source_print(code, seer_dialect_of(target), arena, &text);
  if (!status) {
    seer_kernel_set_scratch(out, code->scratch_bytes);
    out->format = SEER_KERNEL_SOURCE;
    out->object = text;
    out->n_object_bytes = strlen(text);
  }
  seer_arena_destroy(work);
  return status;
}

// A Makefile may be anybody's; -o . is easily written.
seer_status seer_build_can_write(const seer_context *context, const char *out_dir) {
  (void)context;  // every target has C
  seer_arena *arena = seer_arena_create("source");
  const char *path = seer_os_path_join(arena, out_dir, "Makefile");
  char *text = NULL;
  seer_status status = SEER_OK;
  if (seer_os_exists(path)) status = seer_os_read_file(path, arena, 64u << 20, &text, NULL);
  if (text && !strstr(text, SEER_MAKEFILE_MARK))
    status = SEER_FAIL(INVALID,
        "%s was not made by familyseer and would be replaced: give -o another folder", path);
  seer_arena_destroy(arena);
  return status;
}

// ---- kernels

static const char *kernels_name(uint32_t i, const char *ending, seer_arena *arena) {
  return seer_arena_printf(arena, "kernels/kernels_%u.%s", i, ending);
}

static seer_status put_text(seer_built_files *files, const char *name, const seer_text *text) {
  return seer_build_put_file(files, name, text->data, text->n_bytes);
}

static seer_status put_prototypes(const seer_built_kernels *kernels, seer_built_files *files) {
  seer_text text;
  seer_text_init(&text, files->arena);
  seer_text_put(&text,
      "// Kernels: each part of a phase may run on a thread of its own. The last buffer is the "
      "thread's scratch.\n#ifndef SEER_KERNELS_H\n#define SEER_KERNELS_H\n\n#include "
      "<stdint.h>\n\n");
  for (uint32_t i = 0; i < kernels->n; i++) {
    const seer_kernel *kernel = &kernels->kernel[i].kernel;
    for (uint32_t p = 0; p < kernel->n_phase; p++)
      seer_text_printf(
          &text, "void %s_p%u(void *const *buffers, uint32_t part);\n", kernel->symbol, p);
  }
  seer_text_put(&text, "\n#endif\n");
  return put_text(files, "kernels/kernels.h", &text);
}

// What a kernel computes, for who reads it: the step that it was made for, and its schedule.
static void put_heading(seer_text *text, const seer_built_kernel *k) {
  seer_text_printf(text, "\n// Step '%s'\n", seer_text_safe(text->arena, k->step->name));
  for (const char *at = k->schedule_text; *at; at += *at == '\n') {
    size_t n = strcspn(at, "\n");
    seer_text_printf(text, "//   %.*s\n", (int)n, at);
    at += n;
  }
}

// *out_objects: of the files, ends in NULL.
static seer_status put_kernels(const seer_built_kernels *kernels, const seer_target *target,
    seer_built_files *files, const char ***out_objects) {
  seer_arena *arena = files->arena;
  const char *prelude = seer_source_prelude(seer_dialect_of(target), arena);
  SEER_TRY(seer_build_put_file(files, "kernels/prelude.h", prelude, strlen(prelude)));
  SEER_TRY(put_prototypes(kernels, files));
  const char **objects = SEER_NEW_ARRAY(arena, const char *, kernels->n + 1);
  uint32_t n_file = 0;
  for (uint32_t i = 0; i < kernels->n;) {
    seer_text text;
    seer_text_init(&text, arena);
    seer_text_put(&text, "#include \"kernels.h\"\n#include \"prelude.h\"\n");
    for (; i < kernels->n && text.n_bytes < FILE_BYTES; i++) {
      const seer_kernel *kernel = &kernels->kernel[i].kernel;
      SEER_ASSERT(kernel->format == SEER_KERNEL_SOURCE, "kernel %u is no text", i);
      put_heading(&text, &kernels->kernel[i]);
      seer_text_put_n(&text, kernel->object, kernel->n_object_bytes);
    }
    SEER_TRY(put_text(files, kernels_name(n_file, "c", arena), &text));
    objects[n_file] = kernels_name(n_file, "o", arena);
    n_file++;
  }
  *out_objects = objects;
  return SEER_OK;
}

// A build of fewer kernels leaves no files of an older one behind that nothing is made of.
seer_status seer_build_tidy_sources(const seer_built_files *files, const char *out_dir) {
  seer_arena *arena = files->arena;
  uint32_t n = 0;
  for (size_t i = 0; i < files->n; i++) n += strncmp(files->name[i], "kernels/kernels_", 16) == 0;
  for (;; n++) {
    const char *source = seer_os_path_join(arena, out_dir, kernels_name(n, "c", arena));
    const char *object = seer_os_path_join(arena, out_dir, kernels_name(n, "o", arena));
    if (!seer_os_exists(source)) return SEER_OK;
    if (seer_os_exists(object)) SEER_TRY(seer_os_remove_tree(object));
    SEER_TRY(seer_os_remove_tree(source));
  }
}

// ---- plan

static void put_bytes(seer_text *text, const uint8_t *bytes, uint64_t n) {
  char line[128];
  size_t n_line = 0;
  for (uint64_t i = 0; i < n; i++) {
    uint8_t b = bytes[i];
    if (b >= 100) line[n_line++] = (char)('0' + b / 100);
    if (b >= 10) line[n_line++] = (char)('0' + b / 10 % 10);
    line[n_line++] = (char)('0' + b % 10);
    line[n_line++] = ',';
    if (n_line < 96 && i + 1 < n) continue;
    line[n_line++] = '\n';
    seer_text_put_n(text, line, n_line);
    n_line = 0;
  }
}

static seer_status put_plan(const seer_built_library *library, seer_built_files *files) {
  seer_text text;
  seer_text_init(&text, files->arena);
  seer_text_printf(&text,
      "// The plan (runtime/plan.h) and the kernels that it runs, in its order. model.json says "
      "the "
      "same in words.\n#include \"runtime/plan.h\"\n\n#include \"kernels/kernels.h\"\n\n"
      "const uint64_t seer_plan_blob_bytes = %" PRIu64
      ";\n"
      "const uint64_t seer_plan_blob_hash = UINT64_C(0x%016" PRIx64
      ");\n\nvoid (*const seer_plan_kernels[])(void *const *buffers, uint32_t part) = {\n",
      library->n_bytes, library->hash);
  for (uint32_t i = 0; i < library->n_phase; i++)
    seer_text_printf(&text, "    %s,\n", library->phase_symbol[i]);
  if (library->n_phase == 0) seer_text_put(&text, "    0,\n");
  seer_text_put(&text, "};\n\n_Alignas(SEER_PLAN_ALIGN) const uint8_t seer_plan_blob[] = {\n");
  put_bytes(&text, library->blob, library->n_bytes);
  seer_text_put(&text, "};\n");
  return put_text(files, "plan.c", &text);
}

static const char weights[] =
    "// weights.bin as bytes of a program, for api->open(NULL, seer_weights, seer_weights_end -\n"
    "// seer_weights, ...); extern const unsigned char seer_weights[], seer_weights_end[];\n"
    "// Two models in one program: make weights.o CPPFLAGS=-DSEER_WEIGHTS=my_weights\n"
    "#ifndef SEER_WEIGHTS\n"
    "#define SEER_WEIGHTS seer_weights\n"
    "#endif\n"
    "#define JOIN(a, b) a##b\n"
    "#define END(name) JOIN(name, _end)\n"
    "  .section .rodata\n"
    "  .balign 64\n"
    "  .globl SEER_WEIGHTS\n"
    "SEER_WEIGHTS:\n"
    "  .incbin \"weights.bin\"\n"
    "  .globl END(SEER_WEIGHTS)\n"
    "END(SEER_WEIGHTS):\n"
    "  .section .note.GNU-stack,\"\",%progbits\n";

// ---- runtime

// *out_objects, *out_headers end in NULL.
static seer_status put_runtime(
    seer_built_files *files, const char ***out_objects, const char ***out_headers) {
  seer_arena *arena = files->arena;
  size_t n_object = 0, n_header = 0;
  *out_objects = SEER_NEW_ARRAY(arena, const char *, seer_embedded_runtime_count + 1);
  *out_headers = SEER_NEW_ARRAY(arena, const char *, seer_embedded_runtime_count + 1);
  for (size_t i = 0; i < seer_embedded_runtime_count; i++) {
    const seer_embedded_file *file = &seer_embedded_runtime[i];
    const char *name = seer_arena_printf(arena, "runtime/%s", file->name);
    SEER_TRY(seer_build_put_file(files, name, file->data, (size_t)(file->end - file->data)));
    size_t n = strlen(name);
    if (strcmp(name + n - 2, ".c") == 0)
      (*out_objects)[n_object++] = seer_arena_printf(arena, "%.*s.o", (int)n - 2, name);
    else
      (*out_headers)[n_header++] = name;
  }
  return SEER_OK;
}

seer_status seer_build_sources(const seer_context *context, const seer_built_kernels *kernels,
    const seer_built_library *library, seer_built_files *files) {
  const seer_target *target = seer_context_target(context);
  const char **of_kernels, **of_runtime, **headers;
  SEER_TRY(put_runtime(files, &of_runtime, &headers));
  SEER_TRY(put_kernels(kernels, target, files, &of_kernels));
  SEER_TRY(put_plan(library, files));
  SEER_TRY(seer_build_put_file(files, "weights.S", weights, sizeof weights - 1));
  const seer_makefile_parts parts = {library->name, target, of_kernels, of_runtime, headers};
  const char *makefile = seer_source_makefile(&parts, files->arena);
  return seer_build_put_file(files, "Makefile", makefile, strlen(makefile));
}
