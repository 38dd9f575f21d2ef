// dump.c - DAG, schedule, loops, what becomes of them -> text files.
#include "code/dump.h"

#include <string.h>

#include "code/gen/generate.h"
#include "code/source/source.h"
#include "learn/feature.h"

bool seer_dump_any(const seer_context *context) {
  return seer_context_str(context, SEER_OPT_DUMP)[0] != '\0';
}

static const char *print_task(seer_codegen *codegen, const seer_context *context,
    const seer_dump_forms *f, seer_arena *arena) {
  (void)codegen, (void)context;
  return seer_dag_print(f->dag, arena);
}

static const char *print_sketch(seer_codegen *codegen, const seer_context *context,
    const seer_dump_forms *f, seer_arena *arena) {
  (void)codegen, (void)context;
  seer_text text;
  seer_text_init(&text, arena);
  for (uint32_t k = 0; k < f->list->n; k++)
    seer_text_printf(&text, "# %2u %s%s\n", k, f->list->sketch[k]->signature,
        k == f->schedule->sketch ? "  (this one)" : "");
  seer_text_put(&text, seer_schedule_print(f->list, f->schedule, arena));
  return text.data;
}

static const char *print_loop(seer_codegen *codegen, const seer_context *context,
    const seer_dump_forms *f, seer_arena *arena) {
  (void)codegen, (void)context;
  return seer_loop_print(f->loop, arena);
}

static seer_gen_machine machine_of(const seer_target *target) {
  return target->kind == SEER_TARGET_CPU ? seer_gen_machine_of(target)
                                         : seer_gen_machine_of_items(seer_target_has_mma(target));
}

static const char *print_tile(seer_codegen *codegen, const seer_context *context,
    const seer_dump_forms *f, seer_arena *arena) {
  (void)codegen;
  seer_tile_machine machine = machine_of(seer_context_target(context)).tile;
  return seer_tile_print(seer_tile_create(f->loop, &machine, arena), arena);
}

static const char *failed(seer_status status, const char *comment, seer_arena *arena) {
  const char *text = seer_arena_printf(arena, "%s %s\n", comment, seer_status_message(status));
  seer_status_free(status);
  return text;
}

static const char *print_vector(seer_codegen *codegen, const seer_context *context,
    const seer_dump_forms *f, seer_arena *arena) {
  (void)codegen;
  seer_gen_machine machine = machine_of(seer_context_target(context));
  seer_vec_code *code;
  seer_status status = seer_gen_code(f->loop, &machine, "kernel", arena, &code);
  return status ? failed(status, "#", arena) : seer_vec_print(code, arena);
}

// Without what stands once in front of all kernels.
static const char *print_c(seer_codegen *codegen, const seer_context *context,
    const seer_dump_forms *f, seer_arena *arena) {
  (void)codegen;
  const seer_target *target = seer_context_target(context);
  seer_gen_machine machine =
      target->kind == SEER_TARGET_CPU ? seer_gen_machine_of_c(target) : machine_of(target);
  seer_vec_code *code;
  const char *text = NULL;
  seer_status status = seer_gen_code(f->loop, &machine, "kernel", arena, &code);
  if (!status) status = seer_source_print(code, seer_dialect_of(target), arena, &text);
  return status ? failed(status, "//", arena) : text;
}

static const char *print_features(seer_codegen *codegen, const seer_context *context,
    const seer_dump_forms *f, seer_arena *arena) {
  (void)codegen;
  const seer_target *target = seer_context_target(context);
  const seer_nest *nest = seer_summarise(seer_summariser_create(f->list, arena), f->schedule);
  const seer_feature_set *set = seer_feature_set_of(&seer_feature_seer, target->kind);
  float *rows = SEER_NEW_ARRAY(arena, float, SEER_NEST_MAX_STATEMENTS * set->n_column);
  uint32_t n = set->extract(nest, target, seer_analytic_seconds(nest, target), rows);
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_put(&text, "statement");
  for (size_t c = 0; c < set->n_column; c++) seer_text_printf(&text, ",%s", set->column[c]);
  for (uint32_t i = 0; i < n; i++) {
    const char *of = set->is_of_items
        ? "kernel"
        : seer_sketch_of(f->list, f->schedule)->dag->stage[nest->statement[i].stage].name;
    seer_text_printf(&text, "\n%s", of);
    for (size_t c = 0; c < set->n_column; c++)
      seer_text_printf(&text, ",%g", (double)rows[i * set->n_column + c]);
  }
  seer_text_put(&text, "\n");
  return text.data;
}

static const char *print_llvm(seer_codegen *codegen, const seer_context *context,
    const seer_dump_forms *f, seer_arena *arena) {
  (void)context;
  return seer_codegen_print(codegen, f->loop, false, arena);
}

static const char *print_asm(seer_codegen *codegen, const seer_context *context,
    const seer_dump_forms *f, seer_arena *arena) {
  (void)context;
  return seer_codegen_print(codegen, f->loop, true, arena);
}

static const struct {
  const char *kind;  // a word of option DUMP
  bool needs_dag, is_llvm;
  const char *(*print)(seer_codegen *codegen, const seer_context *context,
      const seer_dump_forms *forms, seer_arena *arena);
} forms_table[] = {
    {"task", true, false, print_task},
    {"sketch", true, false, print_sketch},
    {"feature", true, false, print_features},
    {"loop", false, false, print_loop},
    {"tile", false, false, print_tile},
    {"vector", false, false, print_vector},
    {"c", false, false, print_c},
    {"llvm", false, true, print_llvm},
    {"asm", false, true, print_asm},
};

const char *seer_dump_print(const seer_context *context, seer_codegen *codegen, const char *kind,
    const seer_dump_forms *forms, seer_arena *arena) {
  for (size_t i = 0; i < SEER_COUNT_OF(forms_table); i++) {
    if (strcmp(forms_table[i].kind, kind) != 0) continue;
    bool is_missing =
        (forms_table[i].needs_dag && !forms->dag) || (forms_table[i].is_llvm && !codegen);
    if (is_missing) return NULL;
    return forms_table[i].print(codegen, context, forms, arena);
  }
  return NULL;
}

const char *seer_dump_names(bool has_dag, seer_arena *arena) {
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_put(&text, "");
  for (size_t i = 0; i < SEER_COUNT_OF(forms_table); i++) {
    if (forms_table[i].needs_dag && !has_dag) continue;
    seer_text_printf(&text, "%s%s", text.data[0] ? ", " : "", forms_table[i].kind);
  }
  return text.data;
}

seer_status seer_dump_write(
    const seer_context *context, seer_codegen *codegen, const seer_dump_forms *forms) {
  seer_arena *arena = seer_arena_create("dump");
  seer_status status = SEER_OK;
  for (size_t i = 0; i < SEER_COUNT_OF(forms_table) && !status; i++) {
    if (!seer_dump_on(context, forms_table[i].kind)) continue;
    if (forms_table[i].is_llvm && !codegen) continue;
    const char *text = forms_table[i].print(codegen, context, forms, arena);
    status = seer_dump(context, forms_table[i].kind, forms->name, text, strlen(text));
  }
  seer_arena_destroy(arena);
  return status;
}
