// cubin.c - sections by name: kernels are the functions of the symbol table that have a section
// .text.<name>.
#include "code/gpu/cubin.h"

#include <elf.h>
#include <string.h>

#define REGISTERS 0x2f
#define FRAME 0x11
#define HAS_SIZE 4  // an attribute's format: two bytes of size, and so many bytes

typedef struct {
  const uint8_t *bytes;
  size_t n;
  const Elf64_Shdr *section;
  uint32_t n_section;
  uint32_t symbols;  // section
} file;

static bool is_inside(const file *f, uint64_t at, uint64_t n) {
  return at <= f->n && n <= f->n - at;
}

// A text of the string table in a section; NULL: it is outside, or does not end.
static const char *text_at(const file *f, uint32_t section, uint32_t at) {
  if (section >= f->n_section) return NULL;
  const Elf64_Shdr *s = &f->section[section];
  if (s->sh_type != SHT_STRTAB || !is_inside(f, s->sh_offset, s->sh_size) || at >= s->sh_size)
    return NULL;
  const char *text = (const char *)f->bytes + s->sh_offset + at;
  return memchr(text, '\0', s->sh_size - at) ? text : NULL;
}

static const char *section_name(const file *f, uint32_t k) {
  const Elf64_Ehdr *head = (const Elf64_Ehdr *)(const void *)f->bytes;
  const char *name = text_at(f, head->e_shstrndx, f->section[k].sh_name);
  return name ? name : "";
}

static seer_status open_file(file *f) {
  const Elf64_Ehdr *head = (const Elf64_Ehdr *)(const void *)f->bytes;
  bool is_elf = f->n >= sizeof(*head) && memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 &&
      head->e_ident[EI_CLASS] == ELFCLASS64;
  if (!is_elf) return SEER_FAIL(CORRUPT, "a cubin of %zu bytes is no ELF file", f->n);
  uint64_t n_bytes = (uint64_t)head->e_shnum * sizeof(Elf64_Shdr);
  if (head->e_shentsize != sizeof(Elf64_Shdr) || !is_inside(f, head->e_shoff, n_bytes) ||
      head->e_shoff % _Alignof(Elf64_Shdr) != 0)
    return SEER_FAIL(CORRUPT, "a cubin's %u sections are not in it", head->e_shnum);
  f->section = (const Elf64_Shdr *)(const void *)(f->bytes + head->e_shoff);
  f->n_section = head->e_shnum;
  for (uint32_t k = 0; k < f->n_section; k++) {
    const Elf64_Shdr *s = &f->section[k];
    bool is_sound = is_inside(f, s->sh_offset, s->sh_size) && s->sh_offset % 8 == 0;
    if (s->sh_type == SHT_SYMTAB && is_sound) f->symbols = k;
  }
  if (f->symbols == 0) return SEER_FAIL(CORRUPT, "a cubin without symbols");
  return SEER_OK;
}

// NULL: no such symbol.
static const Elf64_Sym *symbol_at(const file *f, uint32_t k) {
  const Elf64_Shdr *s = &f->section[f->symbols];
  if (k >= s->sh_size / sizeof(Elf64_Sym)) return NULL;
  return &((const Elf64_Sym *)(const void *)(f->bytes + s->sh_offset))[k];
}

static seer_cubin_kernel *find(seer_cubin *cubin, const char *name) {
  for (uint32_t k = 0; k < cubin->n; k++) {
    if (strcmp(cubin->kernel[k].name, name) == 0) return &cubin->kernel[k];
  }
  return NULL;
}

static seer_status find_kernels(const file *f, seer_arena *arena, seer_cubin *out) {
  for (uint32_t k = 0; symbol_at(f, k); k++) {
    const Elf64_Sym *symbol = symbol_at(f, k);
    if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx >= f->n_section) continue;
    const char *name = text_at(f, f->section[f->symbols].sh_link, symbol->st_name);
    const char *section = section_name(f, symbol->st_shndx);
    bool is_kernel = name && strncmp(section, ".text.", 6) == 0 && strcmp(section + 6, name) == 0;
    if (!is_kernel || find(out, name)) continue;
    if (out->n == SEER_CUBIN_MAX_KERNELS)
      return SEER_FAIL(CORRUPT, "a cubin of more than %d kernels", SEER_CUBIN_MAX_KERNELS);
    out->kernel[out->n++] = (seer_cubin_kernel){.name = seer_arena_strdup(arena, name)};
  }
  return SEER_OK;
}

// Attributes that are a symbol's number and a value.
static void read_attributes(const file *f, const Elf64_Shdr *s, seer_cubin *out) {
  const uint8_t *at = f->bytes + s->sh_offset, *end = at + s->sh_size;
  while (end - at >= 4) {
    uint16_t n_bytes;
    uint32_t pair[2];
    uint8_t format = at[0], attribute = at[1];
    memcpy(&n_bytes, at + 2, sizeof(n_bytes));
    at += 4;
    if (format != HAS_SIZE) continue;
    if (n_bytes > end - at) return;
    if (n_bytes == sizeof(pair) && (attribute == REGISTERS || attribute == FRAME)) {
      memcpy(pair, at, sizeof(pair));
      const Elf64_Sym *symbol = symbol_at(f, pair[0]);
      const char *name =
          symbol ? text_at(f, f->section[f->symbols].sh_link, symbol->st_name) : NULL;
      seer_cubin_kernel *kernel = name ? find(out, name) : NULL;
      if (kernel && attribute == REGISTERS) kernel->registers = pair[1];
      if (kernel && attribute == FRAME) kernel->frame_bytes = pair[1];
    }
    at += n_bytes;
  }
}

seer_status seer_cubin_read(const void *bytes, size_t n_bytes, seer_arena *arena, seer_cubin *out) {
  file f = {.bytes = bytes, .n = n_bytes};
  out->n = 0;
  if ((uintptr_t)bytes % 8 != 0)  // headers are read where they lie
    f.bytes = memcpy(seer_arena_alloc(arena, n_bytes + 1, 8), bytes, n_bytes);
  SEER_TRY(open_file(&f));
  SEER_TRY(find_kernels(&f, arena, out));
  for (uint32_t k = 0; k < f.n_section; k++) {
    const Elf64_Shdr *s = &f.section[k];
    const char *name = section_name(&f, k);
    if (strcmp(name, ".nv.info") == 0 && is_inside(&f, s->sh_offset, s->sh_size))
      read_attributes(&f, s, out);
    if (strncmp(name, ".nv.shared.", 11) != 0) continue;
    seer_cubin_kernel *kernel = find(out, name + 11);
    if (kernel) kernel->group_bytes = s->sh_size;
  }
  for (uint32_t k = 0; k < out->n; k++) {
    if (out->kernel[k].registers == 0)
      return SEER_FAIL(
          CORRUPT, "a cubin does not say how many registers %s has", out->kernel[k].name);
  }
  return SEER_OK;
}
