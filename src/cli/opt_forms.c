#include "cli/opt_forms.h"
#include "cli/command.h"

#include <stdio.h>
#include <string.h>

#include "choose/choose.h"
#include "code/dump.h"
#include "code/tile/tile.h"
#include "space/lower.h"

static bool starts_with(const char *text, size_t n_bytes, const char *keyword) {
  seer_scan scan;
  seer_scan_init(&scan, "", text, n_bytes);
  return seer_scan_peek(&scan, keyword);
}

bool seer_cli_is_form(const char *text, size_t n_bytes) {
  return starts_with(text, n_bytes, "dag") || starts_with(text, n_bytes, "loop") ||
      starts_with(text, n_bytes, "tile");
}

// ---- what follows from a form

// NULL where there is none for the target and `pass` does without.
static seer_status create_codegen(
    const seer_context *context, const char *pass, seer_codegen **out_codegen) {
  const seer_target *target = seer_context_target(context);
  bool is_needed = strcmp(pass, "llvm") == 0 || strcmp(pass, "asm") == 0;
  *out_codegen = NULL;
  if (!seer_target_is_c(target) || is_needed)
    return seer_codegen_create(context, target, out_codegen);
  return SEER_OK;
}

static seer_status print_form(seer_context *context, const char *pass, const char *form,
    const seer_dump_forms *forms, const char *known, seer_arena *arena) {
  seer_codegen *codegen;
  SEER_TRY(create_codegen(context, pass, &codegen));
  const char *text = seer_dump_print(context, codegen, pass, forms, arena);
  if (text) fputs(text, stdout);
  seer_codegen_destroy(codegen);
  if (text) return SEER_OK;
  return seer_usage_error("unknown pass '%s' of a %s; known are %s%s", pass, form, known,
      seer_dump_names(forms->dag != NULL, arena));
}

// ---- dags

// The schedule behind the DAG's text, or the untuned one.
static seer_status find_schedule(const seer_context *context, const seer_sketch_list *sketches,
    const char *source, const char *text, seer_schedule *out) {
  const uint64_t seed = 1;  // as compile's, if none is given
  double seconds;
  if (text) return seer_schedule_parse(sketches, source, text, strlen(text), out);
  return seer_choose_untuned(seer_context_target(context), sketches, 0, seed, 0, out, &seconds);
}

static seer_status schedule_dag(seer_context *context, const seer_dag *dag, const char *source,
    const char *sched_text, seer_arena *arena, seer_dump_forms *out) {
  seer_sketch_list *sketches;
  seer_schedule *schedule = SEER_NEW(arena, seer_schedule);
  seer_loop *loop;
  SEER_TRY(seer_context_find_target(context));
  SEER_TRY(seer_sketch_generate(
      dag, seer_context_target(context), seer_choice_space(context), arena, &sketches));
  SEER_TRY(find_schedule(context, sketches, source, sched_text, schedule));
  SEER_TRY(seer_loop_lower(sketches, schedule, arena, &loop));
  *out = (seer_dump_forms){dag->name, dag, sketches, schedule, loop};
  return SEER_OK;
}

static void print_key(const seer_dag *dag, seer_arena *arena) {
  seer_dag_key key = seer_dag_hash(dag);
  printf("structure %016" PRIx64 "\nshape %016" PRIx64 "\ncontent %016" PRIx64 "\nclass %s\n",
      key.structure, key.shape, key.content, seer_dag_anchor_class(dag, arena));
}

// Where a line begins with `keyword`; NULL: nowhere.
static const char *line_of(const char *text, const char *keyword) {
  size_t n = strlen(keyword);
  for (const char *at = text; at; at = strchr(at, '\n')) {
    at += *at == '\n';
    if (strncmp(at, keyword, n) == 0 && at[n] == ' ') return at;
  }
  return NULL;
}

static seer_status opt_dag(seer_context *context, const char *source, const char *text,
    size_t n_bytes, const char *pass, seer_arena *arena) {
  const char *sched = line_of(text, "sched");
  if (sched) n_bytes = (size_t)(sched - text);
  seer_dag *dag;
  SEER_TRY(seer_dag_parse(source, text, n_bytes, arena, &dag));
  seer_dag_finish(dag);
  SEER_TRY(seer_dag_verify(dag));
  if (seer_dump_any(context)) SEER_TRY(seer_cli_opt_dump(context, dag, dag->name, arena));
  if (strcmp(pass, "key") == 0) {
    print_key(dag, arena);
    return SEER_OK;
  }
  if (pass[0] && strcmp(pass, "verify") != 0) {
    seer_dump_forms forms;
    SEER_TRY(schedule_dag(context, dag, source, sched, arena, &forms));
    return print_form(context, pass, "dag", &forms, "verify, key, ", arena);
  }
  fputs(seer_dag_print(dag, arena), stdout);
  return SEER_OK;
}

seer_status seer_cli_opt_dump(
    seer_context *context, const seer_dag *dag, const char *name, seer_arena *arena) {
  seer_dump_forms forms;
  seer_codegen *codegen;
  SEER_TRY(schedule_dag(context, dag, name, NULL, arena, &forms));
  forms.name = name;
  SEER_TRY(create_codegen(context, "", &codegen));
  seer_status status = seer_dump_write(context, codegen, &forms);
  seer_codegen_destroy(codegen);
  return status;
}

// ---- loops and tiles

static seer_status opt_loop(seer_context *context, const char *source, const char *text,
    size_t n_bytes, const char *pass, seer_arena *arena) {
  seer_loop *loop;
  SEER_TRY(seer_loop_parse(source, text, n_bytes, arena, &loop));
  SEER_TRY(seer_loop_verify(loop));
  if (!pass[0] || strcmp(pass, "verify") == 0) {
    fputs(seer_loop_print(loop, arena), stdout);
    return SEER_OK;
  }
  SEER_TRY(seer_context_find_target(context));
  seer_dump_forms forms = {.name = loop->name, .loop = loop};
  return print_form(context, pass, "loop", &forms, "verify, ", arena);
}

static seer_status opt_tile(seer_context *context, const char *source, const char *text,
    size_t n_bytes, const char *pass, seer_arena *arena) {
  seer_tile *tile;
  SEER_TRY(seer_context_find_target(context));
  seer_tile_machine machine = seer_tile_machine_of(seer_context_target(context));
  SEER_TRY(seer_tile_parse(source, text, n_bytes, &machine, arena, &tile));
  SEER_TRY(seer_loop_verify(tile->loop));
  SEER_TRY(seer_tile_verify(tile));
  if (pass[0] && strcmp(pass, "verify") != 0)
    return seer_usage_error("unknown pass '%s' of a tile; known is verify", pass);
  fputs(seer_tile_print(tile, arena), stdout);
  return SEER_OK;
}

seer_status seer_cli_opt_form(seer_context *context, const char *source, const char *text,
    size_t n_bytes, const char *passes, seer_arena *arena) {
  if (starts_with(text, n_bytes, "dag"))
    return opt_dag(context, source, text, n_bytes, passes, arena);
  if (starts_with(text, n_bytes, "loop"))
    return opt_loop(context, source, text, n_bytes, passes, arena);
  return opt_tile(context, source, text, n_bytes, passes, arena);
}
