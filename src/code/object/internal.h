// internal.h - what the files of the loader share; for its tests, too.
//
//   read.c      bytes -> what of them is to be loaded, checked
//   relocate.c  instructions and constants that refer to each other, for each processor
//   load.c      the memory that they are in
#ifndef SEER_CODE_OBJECT_INTERNAL_H
#define SEER_CODE_OBJECT_INTERNAL_H

#include "code/object/object.h"

// Kernels have ten at most: code, constants by their size, names, symbols, relocations (2026-11).
#define SEER_OBJECT_MAX_SECTIONS 64
#define SEER_OBJECT_MAX_ALIGN 4096  // the least page
#define SEER_OBJECT_MAX_BYTES ((uint64_t)1 << 28)

typedef struct {
  const uint8_t *data;  // in the file
  uint64_t n_bytes, align;
  bool is_loaded, is_code;
  uint64_t at;  // in memory, from its first byte
} seer_object_section;

typedef struct {
  const uint8_t *entry;  // Elf64_Rela
  uint64_t n;
  uint32_t section;  // that they are for
} seer_object_relocations;

// What `read` has found, all of it within the file, which is kept.
typedef struct {
  const uint8_t *bytes;
  size_t n_bytes;
  uint16_t machine;  // EM_X86_64, EM_AARCH64
  uint32_t n_section, n_relocations;
  seer_object_section section[SEER_OBJECT_MAX_SECTIONS];
  seer_object_relocations relocations[SEER_OBJECT_MAX_SECTIONS];
  const uint8_t *symbol;  // Elf64_Sym
  uint64_t n_symbol;
  const char *names;  // of symbols; the last of n_names bytes is 0
  uint64_t n_names;
  // In memory: code from 0 on, constants on the pages behind it.
  uint64_t n_code_bytes, n_memory_bytes;  // whole pages
} seer_object;

// For any of the processors. page_bytes: of memory, a power of two, at least SEER_OBJECT_MAX_ALIGN.
// Errors: CORRUPT, UNSUPPORTED.
SEER_MUST_USE seer_status seer_object_read(
    const void *bytes, size_t n_bytes, uint64_t page_bytes, seer_object *out);
// Where function `name` begins in memory, from its first byte. Errors: CORRUPT.
SEER_MUST_USE seer_status seer_object_find(
    const seer_object *object, const char *name, uint64_t *out_at);
// Fills `memory` (n_memory_bytes, zeros) with what is to stand at `address`.
// Errors: CORRUPT, UNSUPPORTED a relocation that is refused.
SEER_MUST_USE seer_status seer_object_place(
    const seer_object *object, uint8_t *memory, uint64_t address);

// One relocation of `machine`, of the `left` bytes that begin at `at` and will stand at `place`:
// they refer to `value`. NULL, or what is wrong with it.
const char *seer_object_relocate(
    uint16_t machine, uint32_t type, uint8_t *at, uint64_t left, uint64_t place, uint64_t value);

#endif
