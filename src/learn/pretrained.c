// pretrained.c - class of a machine -> bytes of its models. The list is CMakeLists.txt's; the
// assembler reads the files themselves.
#include "learn/pretrained.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learn/cost/xgboost.h"

#ifndef SEER_PRETRAINED_LIST
#error "SEER_PRETRAINED_LIST: the file that lists SEER_PRETRAINED(id, class, path)"
#endif

typedef struct {
  const char *class, *begin, *end;
} pretrained_file;

#define SEER_PRETRAINED(id, class, path)                                                           \
  extern const char seer_pretrained_##id[], seer_pretrained_end_##id[];                            \
  __asm__(".pushsection .rodata.seer_pretrained, \"a\"\nseer_pretrained_" #id ":\n.incbin \"" path \
          "\"\nseer_pretrained_end_" #id ":\n.popsection\n");
#include SEER_PRETRAINED_LIST
#undef SEER_PRETRAINED

static const pretrained_file files[] = {
#define SEER_PRETRAINED(id, class, path) {class, seer_pretrained_##id, seer_pretrained_end_##id},
#include SEER_PRETRAINED_LIST
#undef SEER_PRETRAINED
    {NULL, NULL, NULL}};

seer_machine_class seer_machine_class_of(const seer_target *target) {
  seer_machine_class class = {""};
  if (target->kind != SEER_TARGET_CPU || seer_target_is_c(target)) return class;
  uint64_t l2_kib = 1;
  while (l2_kib < target->l2_bytes / 1024) l2_kib *= 2;
  (void)snprintf(class.text, sizeof class.text, "%.*s-%u-l2_%uk", (int)strcspn(target->triple, "-"),
      target->triple, target->vector_bytes * 8, (unsigned)l2_kib);
  return class;
}

// What files are made with, and so what goes on from them.
#define FEATURES (&seer_feature_program)
#define MODEL (&seer_cost_xgboost_rank)

bool seer_pretrained_fits(const seer_bank_options *options) {
  return options->is_over_estimate && options->model == MODEL && options->features == FEATURES;
}

seer_status seer_pretrained_create(uint32_t n_task, seer_bank **out_bank) {
  static const char *const name[] = {"all"};  // as the grouping has it: a tuning's one model
  uint32_t *family_of = calloc(n_task + 1, sizeof *family_of);
  if (!family_of) return SEER_FAIL(RESOURCE, "no memory for %u tasks", n_task);
  seer_bank_options options = {.n_family = 1,
      .family_name = name,
      .n_task = n_task,
      .family_of = family_of,
      .is_over_estimate = true,
      .model = MODEL,
      .features = FEATURES,
      .learning = &seer_learning_pretrain};
  seer_status status = seer_bank_create(&options, out_bank);
  free(family_of);
  return status;
}

seer_status seer_pretrained_load(
    const seer_target *target, const char *path, seer_bank *bank, bool *out_has) {
  *out_has = path[0] != '\0';
  if (*out_has) return seer_bank_load(bank, path);
  seer_machine_class class = seer_machine_class_of(target);
  for (const pretrained_file *file = files; file->class; file++) {
    if (strcmp(file->class, class.text) != 0) continue;
    *out_has = true;
    return seer_bank_load_bytes(bank, file->class, file->begin, (size_t)(file->end - file->begin));
  }
  return SEER_OK;
}
