// pretrained.c - class of a machine -> bytes of its models. The list is CMakeLists.txt's; the
// assembler reads the files themselves.
#include "learn/pretrained.h"

#include <stdio.h>
#include <string.h>

#ifndef SEER_PRETRAINED_LIST
#error "SEER_PRETRAINED_LIST: the file that lists SEER_PRETRAINED(id, class, path)"
#endif

typedef struct {
  const char *class, *begin, *end;
} pretrained_file;

#define SEER_PRETRAINED(id, class, path)                                                     \
  extern const char seer_pretrained_##id[], seer_pretrained_end_##id[];                      \
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
  (void)snprintf(class.text, sizeof class.text, "%.*s-%u-l2_%uk",
      (int)strcspn(target->triple, "-"), target->triple, target->vector_bytes * 8,
      (unsigned)l2_kib);
  return class;
}

seer_status seer_pretrained_load(const seer_target *target, seer_bank *bank, bool *out_has) {
  seer_machine_class class = seer_machine_class_of(target);
  *out_has = false;
  for (const pretrained_file *file = files; file->class; file++) {
    if (strcmp(file->class, class.text) != 0) continue;
    *out_has = true;
    return seer_bank_load_bytes(bank, file->class, file->begin, (size_t)(file->end - file->begin));
  }
  return SEER_OK;
}
