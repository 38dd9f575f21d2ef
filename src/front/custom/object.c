// object.c - a user's object file: whether it is one, for which processors, and whether it has a
// table of operators. Several objects have a table each, all of one name, and model.so has them
// all: a copy of the object has the name that it is given, in a string table that is put behind the
// file. Nothing in the file is believed: each offset is held against its size.
#include <elf.h>
#include <string.h>

#include "front/custom/custom.h"

typedef struct {
  const uint8_t *bytes;
  size_t n_bytes;
  Elf64_Ehdr header;
} object;

static bool is_within(const object *o, uint64_t offset, uint64_t n_bytes) {
  return offset <= o->n_bytes && n_bytes <= o->n_bytes - offset;
}

static bool read_section(const object *o, uint32_t k, Elf64_Shdr *out) {
  if (k >= o->header.e_shnum) return false;
  memcpy(out, o->bytes + o->header.e_shoff + k * sizeof *out, sizeof *out);
  return out->sh_type == SHT_NOBITS || is_within(o, out->sh_offset, out->sh_size);
}

// The symbol table, the names' section, and the symbol: where in the file it is; 0: there is none.
static uint64_t find_symbol(const object *o, uint32_t *out_names) {
  const size_t n_name = sizeof SEER_CUSTOM_SYMBOL;
  Elf64_Shdr table, names;
  for (uint32_t k = 0; k < o->header.e_shnum; k++) {
    if (!read_section(o, k, &table) || table.sh_type != SHT_SYMTAB) continue;
    if (!read_section(o, table.sh_link, &names) || names.sh_type != SHT_STRTAB) continue;
    for (uint64_t i = 0; i < table.sh_size / sizeof(Elf64_Sym); i++) {
      Elf64_Sym symbol;
      const uint64_t at = table.sh_offset + i * sizeof symbol;
      memcpy(&symbol, o->bytes + at, sizeof symbol);
      const bool is_defined = symbol.st_shndx != SHN_UNDEF && symbol.st_shndx < SHN_LORESERVE;
      if (!is_defined || ELF64_ST_BIND(symbol.st_info) == STB_LOCAL) continue;
      if (symbol.st_name >= names.sh_size || names.sh_size - symbol.st_name < n_name) continue;
      if (memcmp(o->bytes + names.sh_offset + symbol.st_name, SEER_CUSTOM_SYMBOL, n_name) != 0)
        continue;
      *out_names = table.sh_link;
      return at;
    }
  }
  return 0;
}

static bool is_elf(const object *o) {
  return memcmp(o->header.e_ident, ELFMAG, SELFMAG) == 0 &&
      o->header.e_ident[EI_CLASS] == ELFCLASS64 && o->header.e_ident[EI_DATA] == ELFDATA2LSB;
}

static bool find_isa(uint32_t machine, seer_isa *out) {
  static const struct {
    uint32_t machine;
    seer_isa isa;
  } known[] = {
      {EM_X86_64, SEER_ISA_X86_64}, {EM_AARCH64, SEER_ISA_AARCH64}, {EM_RISCV, SEER_ISA_RISCV64}};
  for (size_t k = 0; k < SEER_COUNT_OF(known); k++) {
    *out = known[k].isa;
    if (known[k].machine == machine) return true;
  }
  return false;
}

#define HOW "must be an object (cc -c -fPIC ops.c) or an archive of such"

seer_status seer_custom_object_check(
    const char *path, const void *data, size_t n_bytes, seer_isa *out_isa) {
  object o = {.bytes = data, .n_bytes = n_bytes};
  uint32_t names;
  if (n_bytes >= sizeof o.header) memcpy(&o.header, data, sizeof o.header);
  if (!is_elf(&o)) return SEER_FAIL(INVALID, "%s is no ELF file of 64 bits; " HOW, path);
  if (o.header.e_type == ET_DYN || o.header.e_type == ET_EXEC)
    return SEER_FAIL(INVALID,
        "%s is a shared library or a program; " HOW ", which becomes part of model.so", path);
  if (o.header.e_type != ET_REL || o.header.e_shentsize != sizeof(Elf64_Shdr) ||
      !is_within(&o, o.header.e_shoff, (uint64_t)o.header.e_shnum * sizeof(Elf64_Shdr)))
    return SEER_FAIL(INVALID, "%s is a damaged object; " HOW, path);
  if (!find_isa(o.header.e_machine, out_isa))
    return SEER_FAIL(INVALID, "%s is for processors of ELF's number %u, must be for %s, %s or %s",
        path, o.header.e_machine, seer_isa_name(SEER_ISA_X86_64), seer_isa_name(SEER_ISA_AARCH64),
        seer_isa_name(SEER_ISA_RISCV64));
  if (find_symbol(&o, &names) != 0) return SEER_OK;
  return SEER_FAIL(INVALID,
      "%s does not define %s, the table of its operators (SEER_OPERATORS of seer/operator.h; an "
      "object of -flto has no such symbols)",
      path, SEER_CUSTOM_SYMBOL);
}

void seer_custom_object_rename(
    seer_custom_object *renamed, const char *symbol_name, seer_arena *arena) {
  object o = {.bytes = renamed->data, .n_bytes = renamed->n_bytes};
  uint32_t section = 0;
  Elf64_Shdr names;
  Elf64_Sym symbol;
  memcpy(&o.header, renamed->data, sizeof o.header);
  const uint64_t at = find_symbol(&o, &section);
  const bool is_there = at != 0 && read_section(&o, section, &names);
  SEER_ASSERT(is_there, "%s has no table", renamed->path);
  const size_t n_name = strlen(symbol_name) + 1;
  const uint64_t n_names = names.sh_size;
  uint8_t *copy = seer_arena_alloc(arena, o.n_bytes + n_names + n_name, 64);
  memcpy(copy, o.bytes, o.n_bytes);
  memcpy(copy + o.n_bytes, o.bytes + names.sh_offset, n_names);
  memcpy(copy + o.n_bytes + n_names, symbol_name, n_name);
  names.sh_offset = o.n_bytes;
  names.sh_size = n_names + n_name;
  memcpy(copy + o.header.e_shoff + section * sizeof names, &names, sizeof names);
  memcpy(&symbol, copy + at, sizeof symbol);
  symbol.st_name = (uint32_t)n_names;
  memcpy(copy + at, &symbol, sizeof symbol);
  renamed->symbol = symbol_name;
  renamed->data = copy;
  renamed->n_bytes = o.n_bytes + n_names + n_name;
}
