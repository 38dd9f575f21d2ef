// source_run.c - see source_run.h.
#include "support/source_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"

typedef struct {
  const seer_vec_code *code;
  void *const *data;
} kernel;

#define AARCH64 "aarch64-linux-gnu-gcc", "--target=aarch64-linux-gnu", "qemu-aarch64"
#define RISCV64 "riscv64-linux-gnu-gcc", "--target=riscv64-linux-gnu -mabi=lp64d", "qemu-riscv64"
const source_machine source_aarch64 = {AARCH64, "max"};
const source_machine source_aarch64_plain = {AARCH64, "cortex-a57"};
const source_machine source_riscv64 = {RISCV64, "rv64,v=true,vext_spec=v1.0,vlen=128"};
const source_machine source_riscv64_plain = {RISCV64, "rv64"};

struct source_batch {
  seer_arena *arena;
  const seer_dialect *dialect;
  seer_text kernels, table;
  size_t n, cap;
  kernel *kernel;
};

source_batch *source_batch_create(const char *dialect, seer_arena *arena) {
  source_batch *batch = SEER_NEW(arena, source_batch);
  batch->arena = arena;
  batch->dialect = seer_dialect_find(dialect);
  SEER_ASSERT(batch->dialect, "dialect %s", dialect);
  seer_text_init(&batch->kernels, arena);
  seer_text_init(&batch->table, arena);
  return batch;
}

uint32_t source_batch_n(const source_batch *batch) { return (uint32_t)batch->n; }

static const char *message(source_batch *batch, seer_status status) {
  const char *text = seer_arena_strdup(batch->arena, seer_status_message(status));
  seer_status_free(status);
  return text;
}

static bool is_read(const seer_loop_buf *buf) {
  return buf->storage == SEER_STORE_INPUT || buf->storage == SEER_STORE_PACKED;
}

static size_t bytes_of(const seer_loop_buf *buf) {
  return (size_t)buf->n_elems * seer_dtype_bytes(buf->dtype);
}

// A row of the driver's table: phases with their parts, arguments with bytes, alignment, is read.
static void put_row(source_batch *batch, const seer_vec_code *code, const uint32_t *n_parts) {
  seer_text *t = &batch->table;
  seer_text_printf(t, "  {%u, {", code->n_phase);
  for (uint32_t p = 0; p < code->n_phase; p++)
    seer_text_printf(t, "{%s, %u}, ", code->phase[p].name, n_parts[p]);
  seer_text_put(t, "}, {");
  for (uint32_t b = 0; b < code->loop->n_buf; b++) {
    const seer_loop_buf *buf = &code->loop->buf[b];
    if (buf->storage == SEER_STORE_LOCAL) continue;
    seer_text_printf(t, "{%zu, %u, %d}, ", bytes_of(buf),
        buf->storage == SEER_STORE_PACKED ? 64 : seer_dtype_bytes(buf->dtype), is_read(buf));
  }
  seer_text_printf(t, "{%" PRIu64 ", 64, 2}}},\n", code->scratch_bytes);
}

const char *source_batch_add(
    source_batch *batch, const seer_vec_code *code, const uint32_t *n_parts, void *const *data) {
  const char *text;
  seer_status status = seer_source_print(code, batch->dialect, batch->arena, &text);
  if (status) return message(batch, status);
  seer_text_put(&batch->kernels, text);
  put_row(batch, code, n_parts);
  batch->kernel = SEER_GROW(batch->arena, kernel, batch->kernel, batch->n, &batch->cap);
  batch->kernel[batch->n++] = (kernel){code, data};
  return NULL;
}

// ---- the program

static const char driver_head[] =
    "#define _POSIX_C_SOURCE 200112L\n"
    "#include <stdint.h>\n"
    "#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "#include <string.h>\n"
    "typedef void (*phase_fn)(void *const *buffers, uint32_t part);\n"
    "typedef struct { phase_fn fn; uint32_t n_parts; } phase;\n"
    "typedef struct { size_t n_bytes, align; int use; } argument;  // 1: read, 2: the scratch\n"
    "typedef struct { uint32_t n_phase; phase phase[64]; argument arg[128]; } kernel;\n";

// Buffers begin where their alignment allows but the next one does not.
static const char driver_tail[] =
    "static void run(const kernel *k, int is_falling, FILE *in, FILE *out) {\n"
    "  void *block[128] = {0}, *buffers[128] = {0};\n"
    "  int n = 0;\n"
    "  for (;; n++) {\n"
    "    const argument *a = &k->arg[n];\n"
    "    size_t skip = a->align < 16 ? a->align : 0;\n"
    "    if (posix_memalign(&block[n], 64, a->n_bytes + skip) != 0) abort();\n"
    "    buffers[n] = (char *)block[n] + skip;\n"
    "    if (a->n_bytes > 0) memset(buffers[n], 0xFF, a->n_bytes);\n"
    "    if (a->use == 1 && fread(buffers[n], 1, a->n_bytes, in) != a->n_bytes) abort();\n"
    "    if (a->use == 2) break;\n"
    "  }\n"
    "  for (uint32_t p = 0; p < k->n_phase; p++) {\n"
    "    uint32_t parts = k->phase[p].n_parts;\n"
    "    for (uint32_t i = 0; i < parts; i++)\n"
    "      k->phase[p].fn(buffers, is_falling ? parts - 1 - i : i);\n"
    "  }\n"
    "  for (int a = 0; a <= n; a++) {\n"
    "    if (k->arg[a].use == 0) fwrite(buffers[a], 1, k->arg[a].n_bytes, out);\n"
    "    free(block[a]);\n"
    "  }\n"
    "}\n"
    "int main(int argc, char **argv) {\n"
    "  FILE *in = fopen(argv[1], \"rb\"), *out = fopen(argv[argc - 1], \"wb\");\n"
    "  if (!in || !out) abort();\n"
    "  for (size_t k = 0; k < sizeof(table) / sizeof(*table); k++) {\n"
    "    fprintf(stderr, \"kernel %zu\\n\", k);\n"
    "    run(&table[k], k & 1, in, out);\n"
    "  }\n"
    "  return fclose(in) | fclose(out);\n"
    "}\n";

static seer_status write_text(
    const char *folder, const char *name, const char *text, seer_arena *arena) {
  return seer_os_write_file(seer_os_path_join(arena, folder, name), text, strlen(text));
}

static seer_status write_sources(source_batch *batch, const char *folder) {
  seer_text kernels, driver;
  seer_text_init(&kernels, batch->arena);
  seer_text_init(&driver, batch->arena);
  seer_text_put(&kernels, seer_source_prelude(batch->dialect, batch->arena));
  seer_text_put(&kernels, batch->kernels.data);
  seer_text_put(&driver, driver_head);
  for (size_t k = 0; k < batch->n; k++) {
    const seer_vec_code *code = batch->kernel[k].code;
    for (uint32_t p = 0; p < code->n_phase; p++)
      seer_text_printf(
          &driver, "void %s(void *const *buffers, uint32_t part);\n", code->phase[p].name);
  }
  seer_text_printf(&driver, "static const kernel table[] = {\n%s};\n", batch->table.data);
  seer_text_put(&driver, driver_tail);
  SEER_TRY(write_text(folder, "kernels.c", kernels.data, batch->arena));
  return write_text(folder, "driver.c", driver.data, batch->arena);
}

static seer_status write_inputs(source_batch *batch, const char *folder) {
  seer_text all;
  seer_text_init(&all, batch->arena);
  for (size_t k = 0; k < batch->n; k++) {
    const seer_loop *loop = batch->kernel[k].code->loop;
    for (uint32_t b = 0; b < loop->n_buf; b++) {
      if (is_read(&loop->buf[b]))
        seer_text_put_n(&all, batch->kernel[k].data[b], bytes_of(&loop->buf[b]));
    }
  }
  return seer_os_write_file(seer_os_path_join(batch->arena, folder, "in"), all.data, all.n_bytes);
}

static seer_status read_outputs(source_batch *batch, const char *folder) {
  char *data;
  size_t n, at = 0;
  SEER_TRY(seer_os_read_file(
      seer_os_path_join(batch->arena, folder, "out"), batch->arena, SIZE_MAX / 2, &data, &n));
  for (size_t k = 0; k < batch->n; k++) {
    const seer_loop *loop = batch->kernel[k].code->loop;
    for (uint32_t b = 0; b < loop->n_buf; b++) {
      const seer_loop_buf *buf = &loop->buf[b];
      if (buf->storage == SEER_STORE_LOCAL || is_read(buf)) continue;
      if (at + bytes_of(buf) > n) return SEER_FAIL(CORRUPT, "the program wrote too little");
      memcpy(batch->kernel[k].data[b], data + at, bytes_of(buf));
      at += bytes_of(buf);
    }
  }
  return SEER_OK;
}

// Runs a shell command in `folder`; what it says goes to `log`.
static bool shell(source_batch *batch, const char *folder, const char *command, const char *log) {
  const char *line =
      seer_arena_printf(batch->arena, "cd '%s' && { %s ; } >%s 2>&1", folder, command, log);
  return system(line) == 0;  // NOLINT: what is run is written above
}

static const char *log_text(source_batch *batch, const char *folder, const char *log) {
  char *text;
  size_t n;
  seer_status status = seer_os_read_file(
      seer_os_path_join(batch->arena, folder, log), batch->arena, 1 << 26, &text, &n);
  if (status) return message(batch, status);
  return n > 6000 ? text + n - 6000 : text;
}

static const char *failed(
    source_batch *batch, const char *folder, const char *what, const char *log) {
  return seer_arena_printf(
      batch->arena, "%s, in %s:\n%s", what, folder, log_text(batch, folder, log));
}

// The command that compiles for a machine. Programs of others bring their libc along.
static const char *compiler(const source_machine *machine, const char *cc, seer_arena *arena) {
  if (!machine) return cc;
  if (strcmp(cc, "gcc") == 0) return seer_arena_printf(arena, "%s -static", machine->gcc);
  return seer_arena_printf(arena, "%s %s -static", cc, machine->clang_flags);
}

// Compiles the kernels. NULL, or what the compiler says.
static const char *build_kernels(source_batch *batch, const char *folder,
    const source_machine *machine, const char *cc, const char *flags) {
  const char *build = seer_arena_printf(
      batch->arena, "%s %s -c kernels.c -o kernels.o", compiler(machine, cc, batch->arena), flags);
  return shell(batch, folder, build, "log") ? NULL : failed(batch, folder, build, "log");
}

// The names that the object of the kernels lacks, "" for none, or what went wrong.
static const char *missing_names(source_batch *batch, const char *folder) {
  if (!shell(batch, folder, "nm -u kernels.o | tr -s ' \\n' '  '", "log"))
    return failed(batch, folder, "nm", "log");
  const char *names = log_text(batch, folder, "log");
  return names[strspn(names, " \n")] == '\0' ? "" : names;
}

static const char *link_and_run(source_batch *batch, const char *folder,
    const source_machine *machine, const char *cc, const char *flags) {
  const char *build = seer_arena_printf(batch->arena, "%s %s kernels.o driver.c -o program -lm",
      compiler(machine, cc, batch->arena), flags);
  if (!shell(batch, folder, build, "log"))
    return failed(batch, folder, seer_arena_printf(batch->arena, "%s fails", build), "log");
  const char *run = "UBSAN_OPTIONS=print_stacktrace=1 ./program in out";
  if (machine)
    run = seer_arena_printf(
        batch->arena, "QEMU_CPU=%s %s ./program in out", machine->cpu, machine->emulator);
  if (!shell(batch, folder, run, "log"))
    return failed(batch, folder, seer_arena_printf(batch->arena, "after %s", build), "log");
  seer_status status = read_outputs(batch, folder);
  return status ? message(batch, status) : NULL;
}

static const char *build_and_run(source_batch *batch, const source_machine *machine, const char *cc,
    const char *flags, bool is_alone) {
  const char *folder;
  seer_status status = seer_os_temp_dir("seer_source", batch->arena, &folder);
  if (!status) status = write_sources(batch, folder);
  if (!status) status = write_inputs(batch, folder);
  if (status) return message(batch, status);
  const char *wrong = build_kernels(batch, folder, machine, cc, flags);
  if (!wrong && is_alone) {
    const char *names = missing_names(batch, folder);
    if (*names) wrong = seer_arena_printf(batch->arena, "%s %s: calls %s", cc, flags, names);
  }
  if (!wrong) wrong = link_and_run(batch, folder, machine, cc, flags);
  if (!wrong) status = seer_os_remove_tree(folder);
  return status ? message(batch, status) : wrong;
}

const char *source_batch_run(
    source_batch *batch, const source_machine *machine, const char *cc, const char *flags) {
  return build_and_run(batch, machine, cc, flags, false);
}

const char *source_batch_run_alone(
    source_batch *batch, const source_machine *machine, const char *cc, const char *flags) {
  return build_and_run(batch, machine, cc, flags, true);
}

const char *source_batch_calls(
    source_batch *batch, const source_machine *machine, const char *cc, const char *flags) {
  const char *folder;
  seer_status status = seer_os_temp_dir("seer_source", batch->arena, &folder);
  if (!status) status = write_sources(batch, folder);
  if (status) return message(batch, status);
  const char *wrong = build_kernels(batch, folder, machine, cc, flags);
  if (wrong) return wrong;
  const char *calls = missing_names(batch, folder);
  status = seer_os_remove_tree(folder);
  return status ? message(batch, status) : calls;
}

static bool is_there(const char *program, seer_arena *arena) {
  return system(seer_arena_printf(arena, "command -v %s >/dev/null 2>&1", program)) == 0;  // NOLINT
}

const char *source_missing(const source_machine *machine, const char *cc, seer_arena *arena) {
  const char *const programs[] = {machine && strcmp(cc, "gcc") == 0 ? machine->gcc : cc,
      machine ? machine->gcc : cc, machine ? machine->emulator : cc};
  for (size_t i = 0; i < SEER_COUNT_OF(programs); i++) {
    if (!is_there(programs[i], arena)) return programs[i];
  }
  return NULL;
}
