// relocate.c - references between code and constants, once both have their addresses. Only those
// that kernels have: they take constants relative to the instruction, x86-64 by 32 bits, AArch64 by
// a page (of 4 KiB, whatever the system's are) and the place on it. Standards: System V ABI, AMD64
// supplement 4.4.1; ELF for the Arm 64-bit architecture 5.7.
#include <elf.h>
#include <string.h>

#include "code/object/internal.h"

static const char not_enough[] = "a relocation beyond the end of its section";
static const char too_far[] = "a relocation to what is too far away";

static const char *relocate_x86(
    uint32_t type, uint8_t *at, uint64_t left, uint64_t place, uint64_t value) {
  if (type != R_X86_64_PC32) return "a relocation of a type that kernels do not have";
  if (left < 4) return not_enough;
  int64_t distance = (int64_t)(value - place);
  if (distance < INT32_MIN || distance > INT32_MAX) return too_far;
  int32_t field = (int32_t)distance;
  memcpy(at, &field, sizeof field);
  return NULL;
}

// Bits 0 to 11 of an address, in units of an operand's bytes, into bits 10 to 21.
static const char *put_low(uint32_t *instruction, uint64_t value, uint32_t log2_bytes) {
  uint32_t low = (uint32_t)(value & 0xFFF);
  if (low & ((1u << log2_bytes) - 1)) return "a relocation to what is not aligned";
  *instruction = (*instruction & ~(0xFFFu << 10)) | low >> log2_bytes << 10;
  return NULL;
}

static const char *put_page(uint32_t *instruction, uint64_t place, uint64_t value) {
  int64_t pages = (int64_t)((value & ~(uint64_t)0xFFF) - (place & ~(uint64_t)0xFFF)) / 4096;
  if (pages < -(1 << 20) || pages >= 1 << 20) return too_far;
  uint32_t field = (uint32_t)pages & 0x1FFFFF;
  *instruction = (*instruction & ~(3u << 29 | 0x7FFFFu << 5)) | (field & 3) << 29 | field >> 2 << 5;
  return NULL;
}

static const char *relocate_arm(
    uint32_t type, uint8_t *at, uint64_t left, uint64_t place, uint64_t value) {
  uint32_t instruction;
  const char *wrong = "a relocation of a type that kernels do not have";
  if (left < sizeof instruction) return not_enough;
  if (place % sizeof instruction) return "a relocation in the middle of an instruction";
  memcpy(&instruction, at, sizeof instruction);
  switch (type) {
    case R_AARCH64_ADR_PREL_PG_HI21:
      wrong = put_page(&instruction, place, value);
      break;
    case R_AARCH64_ADD_ABS_LO12_NC:
    case R_AARCH64_LDST8_ABS_LO12_NC:
      wrong = put_low(&instruction, value, 0);
      break;
    case R_AARCH64_LDST16_ABS_LO12_NC:
      wrong = put_low(&instruction, value, 1);
      break;
    case R_AARCH64_LDST32_ABS_LO12_NC:
      wrong = put_low(&instruction, value, 2);
      break;
    case R_AARCH64_LDST64_ABS_LO12_NC:
      wrong = put_low(&instruction, value, 3);
      break;
    case R_AARCH64_LDST128_ABS_LO12_NC:
      wrong = put_low(&instruction, value, 4);
      break;
    default:
      break;
  }
  memcpy(at, &instruction, sizeof instruction);
  return wrong;
}

const char *seer_object_relocate(
    uint16_t machine, uint32_t type, uint8_t *at, uint64_t left, uint64_t place, uint64_t value) {
  return machine == EM_X86_64 ? relocate_x86(type, at, left, place, value)
                              : relocate_arm(type, at, left, place, value);
}
