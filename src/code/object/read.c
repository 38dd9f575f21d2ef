// read.c - an object's bytes -> its sections, symbols and relocations, each within the file.
// Nothing in it is believed: numbers are held against the file's size before anything is added to
// them, and records are copied out, since the file may put them anywhere.
#include <elf.h>
#include <inttypes.h>
#include <string.h>

#include "code/object/internal.h"

static bool is_within(const seer_object *o, uint64_t offset, uint64_t n_bytes) {
  return offset <= o->n_bytes && n_bytes <= o->n_bytes - offset;
}

static seer_status read_header(seer_object *o, Elf64_Ehdr *header) {
  if (o->n_bytes < sizeof *header) return SEER_FAIL(CORRUPT, "object: %zu bytes", o->n_bytes);
  memcpy(header, o->bytes, sizeof *header);
  if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
    return SEER_FAIL(CORRUPT, "object: no ELF file");
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
      header->e_type != ET_REL)
    return SEER_FAIL(UNSUPPORTED,
        "object: class %u, byte order %u, type %u; must be 64-bit, little-endian, relocatable",
        header->e_ident[EI_CLASS], header->e_ident[EI_DATA], header->e_type);
  o->machine = header->e_machine;
  if (o->machine != EM_X86_64 && o->machine != EM_AARCH64)
    return SEER_FAIL(UNSUPPORTED,
        "object: for ELF's machine %u, must be %u (x86-64) or %u (aarch64)", o->machine, EM_X86_64,
        EM_AARCH64);
  o->n_section = header->e_shnum;
  if (header->e_shentsize != sizeof(Elf64_Shdr) || o->n_section > SEER_OBJECT_MAX_SECTIONS ||
      !is_within(o, header->e_shoff, o->n_section * sizeof(Elf64_Shdr)))
    return SEER_FAIL(CORRUPT, "object: %u sections, of %u bytes, at %" PRIu64 " of %zu bytes",
        o->n_section, header->e_shentsize, header->e_shoff, o->n_bytes);
  return SEER_OK;
}

static Elf64_Shdr section_header(const seer_object *o, const Elf64_Ehdr *header, uint32_t k) {
  Elf64_Shdr section;
  memcpy(&section, o->bytes + header->e_shoff + k * sizeof section, sizeof section);
  return section;
}

static bool is_power_of_two(uint64_t n) { return n > 0 && (n & (n - 1)) == 0; }

// What is to be in memory: code, and constants.
static seer_status read_loaded(const Elf64_Shdr *header, uint32_t k, seer_object_section *out) {
  const uint64_t allowed = SHF_ALLOC | SHF_EXECINSTR | SHF_MERGE | SHF_STRINGS;
  if (header->sh_type != SHT_PROGBITS || (header->sh_flags & ~allowed))
    return SEER_FAIL(UNSUPPORTED,
        "object: section %u of type %u with flags 0x%" PRIx64 ": kernels have code and constants",
        k, header->sh_type, header->sh_flags);
  out->align = header->sh_addralign ? header->sh_addralign : 1;
  if (!is_power_of_two(out->align) || out->align > SEER_OBJECT_MAX_ALIGN)
    return SEER_FAIL(CORRUPT,
        "object: section %u aligned to %" PRIu64 ", must be a power of two up to %u", k, out->align,
        SEER_OBJECT_MAX_ALIGN);
  out->is_loaded = true;
  out->is_code = header->sh_flags & SHF_EXECINSTR;
  return SEER_OK;
}

static seer_status read_symbols(seer_object *o, const Elf64_Ehdr *header, const Elf64_Shdr *table) {
  if (o->symbol) return SEER_FAIL(UNSUPPORTED, "object: two tables of symbols");
  if (table->sh_entsize != sizeof(Elf64_Sym) || table->sh_link >= o->n_section)
    return SEER_FAIL(CORRUPT, "object: symbols of %" PRIu64 " bytes, with the names of section %u",
        table->sh_entsize, table->sh_link);
  Elf64_Shdr names = section_header(o, header, table->sh_link);
  if (names.sh_type != SHT_STRTAB || names.sh_size == 0 ||
      !is_within(o, names.sh_offset, names.sh_size) ||
      o->bytes[names.sh_offset + names.sh_size - 1] != 0)
    return SEER_FAIL(CORRUPT, "object: the names of symbols are none");
  o->names = (const char *)o->bytes + names.sh_offset;
  o->n_names = names.sh_size;
  o->symbol = o->bytes + table->sh_offset;
  o->n_symbol = table->sh_size / sizeof(Elf64_Sym);
  return SEER_OK;
}

static seer_status read_section(
    seer_object *o, const Elf64_Ehdr *header, uint32_t k, const Elf64_Shdr *section) {
  seer_object_section *out = &o->section[k];
  if (section->sh_type == SHT_NOBITS && !(section->sh_flags & SHF_ALLOC)) return SEER_OK;
  if (!is_within(o, section->sh_offset, section->sh_size))
    return SEER_FAIL(CORRUPT,
        "object: section %u, %" PRIu64 " bytes at %" PRIu64 ", is not within %zu bytes", k,
        section->sh_size, section->sh_offset, o->n_bytes);
  out->data = o->bytes + section->sh_offset;
  out->n_bytes = section->sh_size;
  if (section->sh_flags & SHF_ALLOC) return read_loaded(section, k, out);
  if (section->sh_type == SHT_SYMTAB) return read_symbols(o, header, section);
  return SEER_OK;
}

// Those of what is loaded; all sections are known.
static seer_status read_relocations(seer_object *o, const Elf64_Shdr *section) {
  bool is_of_loaded = section->sh_info < o->n_section && o->section[section->sh_info].is_loaded;
  if (!is_of_loaded) return SEER_OK;
  if (section->sh_type != SHT_RELA || section->sh_entsize != sizeof(Elf64_Rela))
    return SEER_FAIL(UNSUPPORTED, "object: relocations of type %u, of %" PRIu64 " bytes",
        section->sh_type, section->sh_entsize);
  o->relocations[o->n_relocations++] = (seer_object_relocations){
      o->bytes + section->sh_offset, section->sh_size / sizeof(Elf64_Rela), section->sh_info};
  return SEER_OK;
}

static uint64_t round_up(uint64_t n, uint64_t to) { return (n + to - 1) & ~(to - 1); }

static seer_status lay_out(seer_object *o, uint64_t page_bytes) {
  uint64_t at = 0;
  for (int is_code = 1; is_code >= 0; is_code--) {
    for (uint32_t k = 0; k < o->n_section; k++) {
      seer_object_section *s = &o->section[k];
      if (!s->is_loaded || s->is_code != (is_code != 0)) continue;
      s->at = round_up(at, s->align);
      at = s->at + s->n_bytes;  // of less than all sections' bytes, each within the file
      if (at > SEER_OBJECT_MAX_BYTES)
        return SEER_FAIL(UNSUPPORTED, "object: more than %" PRIu64 " bytes", SEER_OBJECT_MAX_BYTES);
    }
    at = round_up(at, page_bytes);
    if (is_code) o->n_code_bytes = at;
  }
  o->n_memory_bytes = at;
  return o->n_code_bytes ? SEER_OK : SEER_FAIL(CORRUPT, "object: no code");
}

seer_status seer_object_read(
    const void *bytes, size_t n_bytes, uint64_t page_bytes, seer_object *out) {
  *out = (seer_object){.bytes = bytes, .n_bytes = n_bytes};
  if (n_bytes > SEER_OBJECT_MAX_BYTES)
    return SEER_FAIL(
        UNSUPPORTED, "object: %zu bytes, at most %" PRIu64, n_bytes, SEER_OBJECT_MAX_BYTES);
  Elf64_Ehdr header;
  SEER_TRY(read_header(out, &header));
  for (uint32_t k = 1; k < out->n_section; k++) {
    Elf64_Shdr section = section_header(out, &header, k);
    SEER_TRY(read_section(out, &header, k, &section));
  }
  for (uint32_t k = 1; k < out->n_section; k++) {
    Elf64_Shdr section = section_header(out, &header, k);
    if (section.sh_type != SHT_RELA && section.sh_type != SHT_REL) continue;
    SEER_TRY(read_relocations(out, &section));
  }
  return lay_out(out, page_bytes);
}

// ---- symbols

static Elf64_Sym symbol_at(const seer_object *o, uint64_t k) {
  Elf64_Sym symbol;
  memcpy(&symbol, o->symbol + k * sizeof symbol, sizeof symbol);
  return symbol;
}

// Whether it stands in what is loaded, and where, from the first byte of memory.
static bool stands_at(const seer_object *o, const Elf64_Sym *symbol, uint64_t *out_at) {
  if (symbol->st_shndx >= o->n_section) return false;
  const seer_object_section *s = &o->section[symbol->st_shndx];
  if (!s->is_loaded || symbol->st_value > s->n_bytes) return false;
  *out_at = s->at + symbol->st_value;
  return true;
}

static const char *name_of(const seer_object *o, const Elf64_Sym *symbol) {
  return symbol->st_name < o->n_names ? o->names + symbol->st_name : "";
}

seer_status seer_object_find(const seer_object *object, const char *name, uint64_t *out_at) {
  for (uint64_t k = 1; k < object->n_symbol; k++) {
    Elf64_Sym symbol = symbol_at(object, k);
    if (strcmp(name_of(object, &symbol), name) != 0) continue;
    bool is_function = stands_at(object, &symbol, out_at) &&
        ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && object->section[symbol.st_shndx].is_code &&
        symbol.st_value < object->section[symbol.st_shndx].n_bytes &&
        (object->machine != EM_AARCH64 || *out_at % 4 == 0);
    if (is_function) return SEER_OK;
    return SEER_FAIL(CORRUPT, "object: '%s' is no function of its code", name);
  }
  return SEER_FAIL(CORRUPT, "object: no function '%s'", name);
}

// ---- memory

static seer_status relocate(const seer_object *o, const seer_object_relocations *list,
    const Elf64_Rela *rela, uint8_t *memory, uint64_t address) {
  const seer_object_section *s = &o->section[list->section];
  uint64_t number = ELF64_R_SYM(rela->r_info), at = 0;
  uint32_t type = (uint32_t)ELF64_R_TYPE(rela->r_info);
  if (number >= o->n_symbol || rela->r_offset > s->n_bytes)
    return SEER_FAIL(CORRUPT,
        "object: a relocation at %" PRIu64 " of %" PRIu64 " bytes to symbol %" PRIu64
        " of %" PRIu64,
        rela->r_offset, s->n_bytes, number, o->n_symbol);
  Elf64_Sym symbol = symbol_at(o, number);
  if (!stands_at(o, &symbol, &at))
    return SEER_FAIL(UNSUPPORTED, "object: '%s' is not in it: kernels call and read nothing else",
        name_of(o, &symbol));
  uint64_t from = s->at + rela->r_offset;
  const char *wrong = seer_object_relocate(o->machine, type, memory + from,
      s->n_bytes - rela->r_offset, address + from, address + at + (uint64_t)rela->r_addend);
  if (!wrong) return SEER_OK;
  return SEER_FAIL(
      UNSUPPORTED, "object: %s (type %u, at %" PRIu64 ")", wrong, type, rela->r_offset);
}

seer_status seer_object_place(const seer_object *object, uint8_t *memory, uint64_t address) {
  for (uint32_t k = 0; k < object->n_section; k++) {
    const seer_object_section *s = &object->section[k];
    if (s->is_loaded && s->n_bytes) memcpy(memory + s->at, s->data, s->n_bytes);
  }
  for (uint32_t l = 0; l < object->n_relocations; l++) {
    const seer_object_relocations *list = &object->relocations[l];
    for (uint64_t k = 0; k < list->n; k++) {
      Elf64_Rela rela;
      memcpy(&rela, list->entry + k * sizeof rela, sizeof rela);
      SEER_TRY(relocate(object, list, &rela, memory, address));
    }
  }
  return SEER_OK;
}
