// open.c - option OPERATORS -> objects to link, and entries of operators. Each object is linked
// into a shared object of its own, by the linker that makes model.so and against the same names of
// libc, and opened: so what cannot be linked into model.so is said before anything is built. Where
// the target's processors are others than this machine's, an object for these is asked in its
// place: of each list the k-th belong together.
#include <dlfcn.h>
#include <string.h>

#include "base/os.h"
#include "front/custom/custom.h"
#include "front/limit.h"
#include "front/op/util.h"
#include "runtime/host.h"
#include "setup/linker.h"

#define MAX_OBJECT_BYTES ((size_t)1 << 28)
enum { MAX_OPERATORS = 4096 };

typedef struct {
  seer_graph *graph;
  seer_arena *arena;
  const char *folder;  // to work in
  const char *linker, *archive, *maths;
  const char *stub[SEER_LINKER_STUBS];
  seer_isa here, target;
  uint32_t n_here, n_target, cap;
  seer_custom_object *asked, *linked;
} opening;

static const char *work_path(const opening *o, uint32_t k, const char *suffix) {
  return seer_arena_printf(o->arena, "%s/%u.%s", o->folder, k, suffix);
}

// What stands in the linker's log is the user's matter: names that there are none of, code that is
// not for shared objects.
static seer_status link_by(
    const opening *o, const char *path, const char *const *argv, const char *log_path) {
  int exit_status = 0;
  const char *log;
  SEER_TRY(seer_linker_try(argv, log_path, o->arena, &exit_status, &log));
  if (exit_status == 0) return SEER_OK;
  return SEER_FAIL(INVALID, "%s cannot be linked: %s", path, log);
}

// An archive as one object, of those of its members that the table needs.
static seer_status join_archive(
    const opening *o, const char *path, uint32_t k, char **io_data, size_t *io_bytes) {
  if (*io_bytes < 8 || memcmp(*io_data, "!<arch>\n", 8) != 0) return SEER_OK;
  const char *joined = work_path(o, k, "joined.o");
  const char *const argv[] = {o->linker, "-r", "-o", joined, "--build-id=none", "--strip-debug",
      "--threads=1", "-u", SEER_CUSTOM_SYMBOL, path, NULL};
  SEER_TRY(link_by(o, path, argv, work_path(o, k, "log")));
  return seer_os_read_file(joined, o->arena, MAX_OBJECT_BYTES, io_data, io_bytes);
}

static seer_status read_object(opening *o, const char *path, uint32_t k) {
  uint64_t file_bytes;
  char *data = NULL;
  size_t n_bytes = 0;
  seer_isa isa;
  if (!seer_os_exists(path)) return SEER_FAIL(NOT_FOUND, "no file %s", path);
  SEER_TRY(seer_os_file_bytes(path, &file_bytes));
  if (file_bytes <= MAX_OBJECT_BYTES) seer_front_allow(file_bytes);  // else it is refused below
  SEER_TRY(seer_os_read_file(path, o->arena, MAX_OBJECT_BYTES, &data, &n_bytes));
  SEER_TRY(join_archive(o, path, k, &data, &n_bytes));
  SEER_TRY(seer_custom_object_check(path, data, n_bytes, &isa));
  const seer_custom_object object = {.path = path, .data = data, .n_bytes = n_bytes};
  if (isa != o->here && isa != o->target)
    return SEER_FAIL(INVALID, "%s is for %s, must be for %s%s%s", path, seer_isa_name(isa),
        seer_isa_name(o->target), o->here == o->target ? "" : " or this machine's ",
        o->here == o->target ? "" : seer_isa_name(o->here));
  if (isa == o->here) o->asked[o->n_here++] = object;
  if (isa == o->target) o->linked[o->n_target++] = object;
  return SEER_OK;
}

static seer_status check_pairs(const opening *o) {
  if (o->n_here == o->n_target) return SEER_OK;
  return SEER_FAIL(INVALID,
      "each object is needed twice, in the same order: for %s, which the library is for, and for "
      "%s, because it is asked for shapes here; %u and %u are given",
      seer_isa_name(o->target), seer_isa_name(o->here), o->n_target, o->n_here);
}

// ---- tables

static seer_status check_table(const seer_operator_table *table, const char *path) {
  if (table->version != SEER_OPERATOR_VERSION)
    return SEER_FAIL(INVALID, "%s was compiled with version %u of seer/operator.h, must be %d",
        path, table->version, SEER_OPERATOR_VERSION);
  if (table->n == 0 || table->n > MAX_OPERATORS || !table->list)
    return SEER_FAIL(
        INVALID, "%s has a table of %u operators, must be 1 to %d", path, table->n, MAX_OPERATORS);
  for (uint32_t k = 0; k < table->n; k++) {
    const seer_operator *entry = &table->list[k];
    if (!entry->domain || !entry->name || !entry->name[0])
      return SEER_FAIL(INVALID, "%s: operator %u has no domain or no name", path, k);
    if (!entry->shape || !entry->run)
      return SEER_FAIL(INVALID, "%s: operator %s.%s has no function `%s`", path, entry->domain,
          entry->name, entry->shape ? "run" : "shape");
  }
  return SEER_OK;
}

// ONNX's own domain has two names.
static const char *plain_domain(const char *domain) {
  return strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

static const seer_custom_op *find(const seer_custom *custom, const char *domain, const char *name) {
  for (uint32_t k = 0; custom && k < custom->n_op; k++) {
    const seer_operator *entry = custom->op[k].entry;
    if (strcmp(entry->name, name) == 0 &&
        strcmp(plain_domain(entry->domain), plain_domain(domain)) == 0)
      return &custom->op[k];
  }
  return NULL;
}

static seer_op_desc describe(const seer_operator *entry) {
  return (seer_op_desc){.name = entry->name,
      .domain = plain_domain(entry->domain),
      .opset_min = 1,
      .opset_max = INT32_MAX,
      .n_in_max = SEER_OP_ANY,
      .n_out_min = 1,
      .n_out_max = SEER_OP_ANY,
      .fuse = SEER_FUSE_OPAQUE,
      .infer = seer_custom_infer,
      .host = SEER_HOST_CUSTOM,
      .n_host_in = SEER_OP_ANY,
      .doc = ""};
}

static seer_status take_table(
    seer_custom *custom, const seer_operator_table *table, uint32_t number, seer_arena *arena) {
  const char *path = custom->object[number].path;
  SEER_TRY(check_table(table, path));
  seer_custom_op *all = SEER_NEW_ARRAY(arena, seer_custom_op, custom->n_op + table->n);
  if (custom->n_op > 0) memcpy(all, custom->op, custom->n_op * sizeof *all);
  custom->op = all;
  for (uint32_t k = 0; k < table->n; k++) {
    const seer_operator *entry = &table->list[k];
    const seer_custom_op *other = find(custom, entry->domain, entry->name);
    if (other)
      return SEER_FAIL(INVALID, "operator %s.%s is in %s and in %s", entry->domain, entry->name,
          other->path, path);
    all[custom->n_op++] = (seer_custom_op){
        .desc = describe(entry), .entry = entry, .path = path, .table = number, .index = k};
  }
  return SEER_OK;
}

// The file need not stay once it is open.
static seer_status ask(opening *o, uint32_t k) {
  seer_custom *custom = o->graph->custom;
  const seer_custom_object *object = &o->asked[k];
  const char *plain = work_path(o, k, "o"), *shared = work_path(o, k, "so");
  const char *script = work_path(o, k, "exports");
  static const char exports[] = "{ global: " SEER_CUSTOM_SYMBOL "; local: *; };\n";
  SEER_TRY(seer_os_write_file(plain, object->data, object->n_bytes));
  SEER_TRY(seer_os_write_file(script, exports, sizeof exports - 1));
  const char *const argv[] = {o->linker, "-shared", "-o", shared, "--build-id=none", "--threads=1",
      "--no-undefined", "-z", "now", "-z", "noexecstack", "--version-script", script, plain,
      "--as-needed", o->stub[0], o->stub[1], o->stub[2], o->maths, NULL};
  SEER_TRY(link_by(o, object->path, argv, work_path(o, k, "log")));
  custom->library[k] = dlopen(shared, RTLD_NOW | RTLD_LOCAL);
  if (!custom->library[k])
    return SEER_FAIL(INVALID, "%s cannot be loaded: %s", object->path, dlerror());
  const seer_operator_table *table = dlsym(custom->library[k], SEER_CUSTOM_SYMBOL);
  if (!table) return SEER_FAIL(INVALID, "%s: %s", object->path, dlerror());
  return take_table(custom, table, k, o->graph->arena);
}

// ---- all of it

static void close_libraries(void *what) {
  seer_custom *custom = what;
  for (uint32_t k = 0; k < custom->n_object; k++)
    if (custom->library[k]) dlclose(custom->library[k]);
  custom->n_object = 0;
}

void seer_custom_close(seer_graph *graph) {
  seer_custom *custom = graph->custom;
  if (!custom || custom->owner != graph) return;
  seer_recover_disown(&custom->owned);
  close_libraries(custom);
}

static seer_status find_tools(opening *o) {
  seer_arena *arena = o->arena;
  if (!seer_isa_of(seer_arena_printf(arena, "%s-linux-gnu", seer_linker_here()), &o->here))
    return SEER_FAIL(UNSUPPORTED, "operators are linked on x86_64, aarch64 and riscv64");
  SEER_TRY(seer_linker_find(arena, &o->linker));
  o->archive = seer_linker_archive(o->here, "libseer_rt.a", arena);
  if (!o->archive)
    return SEER_FAIL(NOT_FOUND, "the runtime (libseer_rt.a) is not beside this program");
  SEER_TRY(seer_linker_stubs(o->archive, arena, o->stub));
  return seer_linker_maths(o->archive, arena, &o->maths);
}

static seer_status open_all(const seer_context *context, opening *o) {
  const uint32_t n = (uint32_t)seer_context_n_values(context, SEER_OPT_OPERATORS);
  const seer_target *target = seer_context_target(context);
  SEER_TRY(find_tools(o));
  o->target = o->here;
  // The host's, where kernels are a GPU's, or C of any processor.
  if (target && target->kind == SEER_TARGET_CPU && !seer_isa_of(target->triple, &o->target))
    o->target = o->here;
  o->asked = SEER_NEW_ARRAY(o->arena, seer_custom_object, n);
  o->linked = SEER_NEW_ARRAY(o->arena, seer_custom_object, n);
  for (uint32_t k = 0; k < n; k++) {
    const char *path = seer_context_value(context, SEER_OPT_OPERATORS, k);
    SEER_TRY(read_object(o, seer_arena_strdup(o->arena, path), k));
  }
  SEER_TRY(check_pairs(o));
  seer_custom *custom = o->graph->custom = SEER_NEW(o->arena, seer_custom);
  custom->owner = o->graph;
  custom->object = o->linked;
  custom->library = SEER_NEW_ARRAY(o->arena, void *, n);
  custom->n_object = o->n_target;
  seer_recover_own(&custom->owned, close_libraries, custom);
  for (uint32_t k = 0; k < o->n_here; k++) {
    SEER_TRY(ask(o, k));
    seer_custom_object_rename(
        &custom->object[k], seer_arena_printf(o->arena, SEER_CUSTOM_SYMBOL "_%u", k), o->arena);
  }
  return SEER_OK;
}

seer_status seer_custom_open(const seer_context *context, seer_graph *graph) {
  if (seer_context_n_values(context, SEER_OPT_OPERATORS) == 0) return SEER_OK;
  opening o = {.graph = graph, .arena = graph->arena};
  SEER_TRY(seer_os_temp_dir("familyseer-operators", o.arena, &o.folder));
  seer_status status = open_all(context, &o);
  status = seer_status_join(status, seer_os_remove_tree(o.folder));
  if (!status) return SEER_OK;
  seer_custom_close(graph);
  return seer_status_context(status, "--operators");
}

const seer_op_desc *seer_custom_find(
    const seer_graph *graph, const char *domain, const char *name) {
  const seer_custom_op *op = find(graph->custom, domain ? domain : "", name);
  return op ? &op->desc : NULL;
}
