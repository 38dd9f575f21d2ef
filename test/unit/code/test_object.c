// Objects as the loader reads them. What it places at an address is, byte for byte, what lld puts
// there, for kernels of both processors; what is damaged, and what no kernel has, is refused with
// its reason; memory is never writable and executable.
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "code/kernel.h"
#include "code/object/internal.h"
#include "space/lower.h"
#include "support/random_dag.h"
#include "support/test.h"

#define ADDRESS UINT64_C(0x3ffff7654000)  // as mmap gives them
#define PAGE 4096
#define N_RANDOM 4
#define N_SAMPLES 3

static const char *const targets[] = {"x86_64-linux-gnu -cpu=x86-64-v3", "aarch64-linux-gnu",
    "aarch64-linux-gnu -features=+bf16,+dotprod,+fullfp16,+i8mm"};

// Functions of reals are series, whose factors are constants of the object.
static const char *const nets[] = {
    "dag exp { input $a f32[24, 33] weight $b f32[33, 40] input $c f32[40]\n"
    "stage gemm role anchor [i:m<24, j:n<40] sum[k:k<33] = $a[i, k] * $b[k, j]\n"
    "stage act role epilogue [i:m<24, j:n<40] = exp($gemm[i, j] + $c[j])\n"
    "output $act }",
    "dag tanh { input $a f64[5, 37]\n"
    "stage z role epilogue [i:m<5, j:n<37] = tanh($a[i, j])\n"
    "output $z }"};

static seer_arena *arena;
static const char *folder;
static uint32_t n_seen[2][512];  // relocations, by machine (1: aarch64) and type

// ---- lld as the judge

static const char *const linkers[] = {
    "/usr/lib/llvm-19/bin/ld.lld", "/usr/bin/ld.lld-19", "/usr/bin/ld.lld"};

static const char *section_name(const seer_object *o, uint32_t k) {
  Elf64_Ehdr header;
  Elf64_Shdr names, section;
  memcpy(&header, o->bytes, sizeof header);
  memcpy(&names, o->bytes + header.e_shoff + header.e_shstrndx * sizeof names, sizeof names);
  memcpy(&section, o->bytes + header.e_shoff + k * sizeof section, sizeof section);
  return (const char *)o->bytes + names.sh_offset + section.sh_name;
}

static void write_script(const seer_object *o, const char *path) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fprintf(file, "SECTIONS {\n");
  for (int is_code = 1; is_code >= 0; is_code--) {
    for (uint32_t k = 1; k < o->n_section; k++) {
      const seer_object_section *s = &o->section[k];
      if (!s->is_loaded || s->is_code != (is_code == 1) || s->n_bytes == 0) continue;
      const char *name = section_name(o, k);
      fprintf(file, "  %s 0x%" PRIx64 " : { *(%s) }\n", name, ADDRESS + s->at, name);
    }
  }
  fprintf(file, "}\n");
  assert_int_equal(fclose(file), 0);
}

static const char *linked(const seer_kernel *kernel, const seer_object *o, size_t *out_n) {
  const char *object = seer_os_path_join(arena, folder, "kernel.o"), *linker = NULL;
  const char *script = seer_os_path_join(arena, folder, "script");
  const char *image = seer_os_path_join(arena, folder, "image");
  must(seer_os_write_file(object, kernel->object, kernel->n_object_bytes));
  write_script(o, script);
  for (size_t k = SEER_COUNT_OF(linkers); k-- > 0;)
    if (seer_os_exists(linkers[k])) linker = linkers[k];
  const char *argv[] = {
      linker, "-O0", "--no-relax", "--oformat", "binary", "-T", script, "-o", image, object, NULL};
  seer_os_process process;
  bool is_done;
  int exit_status;
  must(seer_os_spawn(&(seer_os_spawn_options){.argv = argv}, &process));
  must(seer_os_wait(&process, UINT64_C(60000000000), &is_done, &exit_status));
  assert_true(is_done && exit_status == 0);
  char *bytes;
  must(seer_os_read_file(image, arena, 1 << 26, &bytes, out_n));
  return bytes;
}

static void count_relocations(const seer_object *o) {
  for (uint32_t l = 0; l < o->n_relocations; l++) {
    for (uint64_t k = 0; k < o->relocations[l].n; k++) {
      Elf64_Rela rela;
      memcpy(&rela, o->relocations[l].entry + k * sizeof rela, sizeof rela);
      n_seen[o->machine == EM_AARCH64][ELF64_R_TYPE(rela.r_info) % 512]++;
    }
  }
}

static void hold_against_lld(const seer_kernel *kernel, const char *name) {
  seer_object o;
  must(seer_object_read(kernel->object, kernel->n_object_bytes, PAGE, &o));
  uint8_t *memory = calloc(1, o.n_memory_bytes);
  must(seer_object_place(&o, memory, ADDRESS));
  size_t n = 0;
  const char *image = linked(kernel, &o, &n);
  for (uint32_t k = 1; k < o.n_section; k++) {
    const seer_object_section *s = &o.section[k];
    if (!s->is_loaded || s->n_bytes == 0) continue;
    if (s->at + s->n_bytes > n || memcmp(memory + s->at, image + s->at, s->n_bytes) != 0)
      fail_msg("%s: section %s is not what lld makes of it", name, section_name(&o, k));
  }
  count_relocations(&o);
  free(memory);
}

static seer_codegen *codegen_for(const char *text, seer_target *target) {
  seer_codegen *codegen;
  must(seer_target_parse(text, arena, target));
  must(seer_codegen_create(NULL, target, &codegen));
  return codegen;
}

static void check_dag(
    const seer_dag *dag, const seer_target *target, seer_codegen *codegen, uint64_t seed) {
  seer_sketch_list *list;
  must(seer_sketch_generate(dag, target, SEER_SPACE_FULL, arena, &list));
  seer_rng rng;
  seer_rng_init(&rng, seed);
  for (uint32_t k = 0; k < N_SAMPLES; k++) {
    seer_schedule schedule;
    seer_loop *loop;
    seer_kernel kernel;
    seer_schedule_default(list, 0, &schedule);
    if (k > 0 && seer_schedule_sample(list, k % list->n, &rng, &schedule, NULL) != SEER_REJECT_NONE)
      continue;
    must(seer_loop_lower(list, &schedule, arena, &loop));
    must(seer_codegen_build(codegen, loop, "kernel", arena, &kernel));
    hold_against_lld(&kernel, seer_arena_printf(arena, "%s, %s", target->triple, dag->name));
  }
}

static void places_what_lld_does(void **state) {
  (void)state;
  for (size_t t = 0; t < SEER_COUNT_OF(targets); t++) {
    seer_target target;
    seer_codegen *codegen = codegen_for(targets[t], &target);
    for (size_t k = 0; k < SEER_COUNT_OF(nets); k++) {
      seer_dag *dag;
      must(seer_dag_parse("net", nets[k], strlen(nets[k]), arena, &dag));
      check_dag(dag, &target, codegen, k);
    }
    for (uint64_t seed = 0; seed < N_RANDOM; seed++)
      check_dag(random_dag_of(seed, arena), &target, codegen, seed);
    seer_codegen_destroy(codegen);
  }
  assert_true(n_seen[0][R_X86_64_PC32] > 0);
  assert_true(n_seen[1][R_AARCH64_ADR_PREL_PG_HI21] > 0);
  assert_true(n_seen[1][R_AARCH64_ADD_ABS_LO12_NC] > 0);
  assert_true(n_seen[1][R_AARCH64_LDST64_ABS_LO12_NC] > 0);
  assert_true(n_seen[1][R_AARCH64_LDST128_ABS_LO12_NC] > 0);
}

// ---- relocations by hand: instructions as assemblers print them

static void relocates(void **state) {
  (void)state;
  static const struct {
    uint16_t machine;
    uint32_t type, before, after;
    uint64_t place, value;
    const char *wrong;
  } cases[] = {
      {EM_X86_64, R_X86_64_PC32, 0, 0x7FFFFFFF, 0x1000, 0x80000FFF, NULL},
      {EM_X86_64, R_X86_64_PC32, 0, 0x80000000, 0x80001000, 0x1000, NULL},
      {EM_X86_64, R_X86_64_PC32, 0, 0, 0x1000, 0x80001000, "too far"},
      {EM_X86_64, R_X86_64_PC32, 0, 0, 0x80001001, 0x1000, "too far"},
      {EM_X86_64, R_X86_64_64, 0, 0, 0, 0, "do not have"},
      {EM_X86_64, R_AARCH64_ADR_PREL_PG_HI21, 0, 0, 0, 0, "do not have"},
      {EM_AARCH64, R_X86_64_PC32, 0, 0, 0, 0, "do not have"},
      {EM_AARCH64, R_AARCH64_CALL26, 0x94000000, 0, 0, 0, "do not have"},
      // adrp x0, #0; #4096; #-4096; the ends; other bits stay
      {EM_AARCH64, R_AARCH64_ADR_PREL_PG_HI21, 0x90000000, 0x90000000, 0x400FFC, 0x400008, NULL},
      {EM_AARCH64, R_AARCH64_ADR_PREL_PG_HI21, 0x90000000, 0xB0000000, 0x400FFC, 0x401008, NULL},
      {EM_AARCH64, R_AARCH64_ADR_PREL_PG_HI21, 0x90000000, 0xF0FFFFE0, 0x400000, 0x3FF008, NULL},
      {EM_AARCH64, R_AARCH64_ADR_PREL_PG_HI21, 0x9000001F, 0xF07FFFFF, 0, 0xFFFFFFFF, NULL},
      {EM_AARCH64, R_AARCH64_ADR_PREL_PG_HI21, 0x90000000, 0, 0, 0x100000000, "too far"},
      {EM_AARCH64, R_AARCH64_ADR_PREL_PG_HI21, 0x90000000, 0x90800000, 0x100000000, 0, NULL},
      {EM_AARCH64, R_AARCH64_ADR_PREL_PG_HI21, 0x90000000, 0, 0x100001000, 0, "too far"},
      {EM_AARCH64, R_AARCH64_ADR_PREL_PG_HI21, 0x90000000, 0, 0x400002, 0x400008, "middle"},
      // add x0, x0, #0xfff; ldr b0, [x0, #1]; ldr h0, #2; ldr s0, #4; ldr d0, #8; ldr q0, #16
      {EM_AARCH64, R_AARCH64_ADD_ABS_LO12_NC, 0x91000000, 0x913FFC00, 0, 0x7FFFF, NULL},
      {EM_AARCH64, R_AARCH64_LDST8_ABS_LO12_NC, 0x3D400000, 0x3D400400, 0, 0x5001, NULL},
      {EM_AARCH64, R_AARCH64_LDST16_ABS_LO12_NC, 0x7D400000, 0x7D400400, 0, 0x5002, NULL},
      {EM_AARCH64, R_AARCH64_LDST32_ABS_LO12_NC, 0xBD400000, 0xBD400400, 0, 0x5004, NULL},
      {EM_AARCH64, R_AARCH64_LDST64_ABS_LO12_NC, 0xFD400000, 0xFD400400, 0, 0x5008, NULL},
      {EM_AARCH64, R_AARCH64_LDST128_ABS_LO12_NC, 0x3DC00000, 0x3DC00400, 0, 0x5010, NULL},
      {EM_AARCH64, R_AARCH64_LDST128_ABS_LO12_NC, 0x3DC00000, 0, 0, 0x5008, "not aligned"},
      {EM_AARCH64, R_AARCH64_LDST16_ABS_LO12_NC, 0x7D400000, 0, 0, 0x5001, "not aligned"},
  };
  for (size_t k = 0; k < SEER_COUNT_OF(cases); k++) {
    uint32_t word = cases[k].before;
    uint8_t bytes[4];
    memcpy(bytes, &word, sizeof word);
    const char *wrong = seer_object_relocate(
        cases[k].machine, cases[k].type, bytes, 4, cases[k].place, cases[k].value);
    memcpy(&word, bytes, sizeof word);
    bool is_same = !wrong == !cases[k].wrong && (!wrong || strstr(wrong, cases[k].wrong));
    if (!is_same || (!wrong && word != cases[k].after))
      fail_msg("case %zu: 0x%08x, '%s'", k, word, wrong ? wrong : "");
  }
  uint8_t bytes[4] = {0};
  assert_non_null(seer_object_relocate(EM_X86_64, R_X86_64_PC32, bytes, 3, 0, 0));
  assert_non_null(seer_object_relocate(EM_AARCH64, R_AARCH64_ADD_ABS_LO12_NC, bytes, 3, 0, 0));
}

// ---- what is refused

static void build_exp(const char *target_text, seer_kernel *out) {
  seer_target target;
  seer_codegen *codegen = codegen_for(target_text, &target);
  seer_dag *dag;
  seer_sketch_list *list;
  seer_schedule schedule;
  seer_loop *loop;
  must(seer_dag_parse("net", nets[0], strlen(nets[0]), arena, &dag));
  must(seer_sketch_generate(dag, &target, SEER_SPACE_FULL, arena, &list));
  seer_schedule_default(list, 0, &schedule);
  must(seer_loop_lower(list, &schedule, arena, &loop));
  must(seer_codegen_build(codegen, loop, "kernel", arena, out));
  seer_codegen_destroy(codegen);
}

// Reads and places; the message of what is wrong.
static const char *refusal(const void *bytes, size_t n) {
  seer_object o;
  uint64_t at;
  seer_status status = seer_object_read(bytes, n, PAGE, &o);
  if (!status) {
    uint8_t *memory = calloc(1, o.n_memory_bytes);
    status = seer_object_place(&o, memory, ADDRESS);
    free(memory);
  }
  if (!status) status = seer_object_find(&o, "kernel_p0", &at);
  const char *message = status ? seer_arena_strdup(arena, seer_status_message(status)) : "";
  seer_status_free(status);
  return message;
}

typedef struct {
  size_t at, n;
  uint64_t value;
  const char *says;
} damage;

static size_t offset_of(const seer_object *o, const void *at) {
  return (size_t)((const uint8_t *)at - o->bytes);
}

// The number of the k-th section of `type` with all of `flags`, and where its header is.
static size_t header_of(const seer_object *o, uint32_t type, uint64_t flags) {
  Elf64_Ehdr header;
  memcpy(&header, o->bytes, sizeof header);
  for (uint32_t k = 1; k < header.e_shnum; k++) {
    Elf64_Shdr section;
    size_t at = header.e_shoff + k * sizeof section;
    memcpy(&section, o->bytes + at, sizeof section);
    if (section.sh_type == type && (section.sh_flags & flags) == flags) return at;
  }
  fail_msg("no section of type %u", type);
  return 0;
}

static size_t symbol_of(const seer_object *o, const char *name) {
  for (uint64_t k = 0; k < o->n_symbol; k++) {
    Elf64_Sym symbol;
    memcpy(&symbol, o->symbol + k * sizeof symbol, sizeof symbol);
    if (strcmp(o->names + symbol.st_name, name) == 0)
      return offset_of(o, o->symbol + k * sizeof symbol);
  }
  fail_msg("no symbol %s", name);
  return 0;
}

static void refuses_what_is_damaged(void **state) {
  (void)state;
  seer_kernel kernel;
  build_exp("x86_64-linux-gnu -cpu=x86-64-v3", &kernel);
  seer_object o;
  must(seer_object_read(kernel.object, kernel.n_object_bytes, PAGE, &o));
  assert_string_equal(refusal(kernel.object, kernel.n_object_bytes), "");
  assert_true(o.n_relocations == 1 && o.relocations[0].n > 0);
  Elf64_Rela rela;
  memcpy(&rela, o.relocations[0].entry, sizeof rela);
  size_t first = offset_of(&o, o.relocations[0].entry);
  size_t used = offset_of(&o, o.symbol) + ELF64_R_SYM(rela.r_info) * sizeof(Elf64_Sym);
  size_t code = header_of(&o, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR);
  size_t table = header_of(&o, SHT_SYMTAB, 0), list = header_of(&o, SHT_RELA, 0);
  size_t function = symbol_of(&o, "kernel_p0");
  const damage cases[] = {
      {0, 1, 'e', "no ELF file"},
      {EI_CLASS, 1, ELFCLASS32, "class 1"},
      {EI_DATA, 1, ELFDATA2MSB, "byte order 2"},
      {offsetof(Elf64_Ehdr, e_type), 2, ET_DYN, "type 3; must be"},
      {offsetof(Elf64_Ehdr, e_machine), 2, EM_RISCV, "machine 243"},
      {offsetof(Elf64_Ehdr, e_shentsize), 2, 63, "of 63 bytes"},
      {offsetof(Elf64_Ehdr, e_shnum), 2, 65, "65 sections"},
      {offsetof(Elf64_Ehdr, e_shnum), 2, 0, "no code"},
      {offsetof(Elf64_Ehdr, e_shoff), 8, UINT64_MAX - 100, "sections, of 64 bytes, at"},
      {code + offsetof(Elf64_Shdr, sh_type), 4, SHT_NOBITS, "kernels have code and constants"},
      {code + offsetof(Elf64_Shdr, sh_flags), 8, SHF_ALLOC | SHF_EXECINSTR | SHF_WRITE,
          "kernels have code and constants"},
      {code + offsetof(Elf64_Shdr, sh_flags), 8, SHF_ALLOC | SHF_EXECINSTR | SHF_TLS,
          "kernels have code and constants"},
      {code + offsetof(Elf64_Shdr, sh_flags), 8, SHF_ALLOC, "no code"},
      {code + offsetof(Elf64_Shdr, sh_flags), 8, 0, "no code"},
      {code + offsetof(Elf64_Shdr, sh_addralign), 8, 48, "aligned to 48"},
      {code + offsetof(Elf64_Shdr, sh_addralign), 8, 8192, "aligned to 8192"},
      {code + offsetof(Elf64_Shdr, sh_size), 8, UINT64_MAX, "is not within"},
      {code + offsetof(Elf64_Shdr, sh_offset), 8, UINT64_MAX, "is not within"},
      {table + offsetof(Elf64_Shdr, sh_entsize), 8, 16, "symbols of 16 bytes"},
      {table + offsetof(Elf64_Shdr, sh_link), 4, 64, "the names of section 64"},
      {table + offsetof(Elf64_Shdr, sh_link), 4, 0, "names of symbols are none"},
      {table + offsetof(Elf64_Shdr, sh_type), 4, SHT_NOTE, "to symbol"},
      {table + offsetof(Elf64_Shdr, sh_size), 8, sizeof(Elf64_Sym), "of 1"},
      {list + offsetof(Elf64_Shdr, sh_type), 4, SHT_REL, "relocations of type 9"},
      {list + offsetof(Elf64_Shdr, sh_entsize), 8, 16, "of 16 bytes"},
      {first + offsetof(Elf64_Rela, r_offset), 8, UINT64_MAX, "a relocation at"},
      {first + offsetof(Elf64_Rela, r_offset), 8, o.section[o.relocations[0].section].n_bytes,
          "beyond the end"},
      {first + offsetof(Elf64_Rela, r_info) + 4, 4, UINT32_MAX, "to symbol 4294967295"},
      {first + offsetof(Elf64_Rela, r_info), 4, R_X86_64_PLT32, "that kernels do not have (type 4"},
      {first + offsetof(Elf64_Rela, r_addend), 8, UINT64_C(1) << 40, "too far away"},
      {used + offsetof(Elf64_Sym, st_shndx), 2, SHN_UNDEF, "is not in it"},
      {used + offsetof(Elf64_Sym, st_shndx), 2, SHN_ABS, "is not in it"},
      {used + offsetof(Elf64_Sym, st_shndx), 2, SHN_COMMON, "is not in it"},
      {used + offsetof(Elf64_Sym, st_value), 8, UINT64_MAX, "is not in it"},
      {function + offsetof(Elf64_Sym, st_info), 1, STB_GLOBAL << 4 | STT_OBJECT, "no function of"},
      {function + offsetof(Elf64_Sym, st_shndx), 2, SHN_UNDEF, "no function of its code"},
      {function + offsetof(Elf64_Sym, st_value), 8, UINT64_C(1) << 30, "no function of its code"},
      {function + offsetof(Elf64_Sym, st_name), 4, UINT32_MAX, "no function 'kernel_p0'"},
  };
  for (size_t k = 0; k < SEER_COUNT_OF(cases); k++) {
    uint8_t *bytes = malloc(kernel.n_object_bytes);
    memcpy(bytes, kernel.object, kernel.n_object_bytes);
    memcpy(bytes + cases[k].at, &cases[k].value, cases[k].n);
    const char *says = refusal(bytes, kernel.n_object_bytes);
    if (!*says || !strstr(says, cases[k].says))
      fail_msg("case %zu: '%s' is not in '%s'", k, cases[k].says, says);
    free(bytes);
  }
  // The table of sections is at the end, so what is cut lacks some of it.
  for (size_t n = 0; n < kernel.n_object_bytes; n++) {
    uint8_t *bytes = malloc(n + 1);
    memcpy(bytes, kernel.object, n);
    if (!*refusal(bytes, n)) fail_msg("%zu of %zu bytes are read", n, kernel.n_object_bytes);
    free(bytes);
  }
}

// ---- in this process

static void find_mapping(const void *address, char out[5]) {
  FILE *maps = fopen("/proc/self/maps", "r");
  assert_non_null(maps);
  strcpy(out, "none");
  char line[512];
  while (fgets(line, sizeof line, maps)) {
    uintptr_t from, to;
    char mode[5];
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &from, &to, mode) != 3) continue;
    assert_false(mode[1] == 'w' && mode[2] == 'x');
    if ((uintptr_t)address >= from && (uintptr_t)address < to) strcpy(out, mode);
  }
  (void)fclose(maps);
}

static void nothing_is_written_and_executed(void **state) {
  (void)state;
  seer_kernel kernel;
  build_exp("native", &kernel);
  seer_kernel_phase phase[SEER_DAG_MAX_STAGES];
  seer_loaded loaded;
  must(seer_kernel_load(&kernel, phase, &loaded));
  uint8_t *memory = loaded.memory;
  char mode[5];
  find_mapping(memory, mode);
  assert_string_equal(mode, "r-xp");
  find_mapping(memory + loaded.n_bytes - 1, mode);
  assert_string_equal(mode, "r--p");
  uintptr_t function;
  memcpy(&function, &phase[0], sizeof function);
  assert_true(function >= (uintptr_t)memory && function < (uintptr_t)memory + loaded.n_bytes);
  seer_object_unload(&loaded);
  find_mapping(memory, mode);
  assert_string_equal(mode, "none");
  seer_object_unload(&loaded);
}

static void refuses_what_does_not_run_here(void **state) {
  (void)state;
  seer_kernel kernel;
  seer_kernel_phase phase[SEER_DAG_MAX_STAGES];
  seer_loaded loaded;
#if defined(__aarch64__)
  build_exp("x86_64-linux-gnu", &kernel);
#else
  build_exp("aarch64-linux-gnu", &kernel);
#endif
  seer_status status = seer_kernel_load(&kernel, phase, &loaded);
  assert_non_null(status);
  assert_non_null(strstr(seer_status_message(status), "for another processor than this"));
  seer_status_free(status);
  assert_null(loaded.memory);
  build_exp("native", &kernel);
  kernel.n_phase++;
  status = seer_kernel_load(&kernel, phase, &loaded);
  assert_non_null(status);
  assert_non_null(strstr(seer_status_message(status), "no function 'kernel_p"));
  seer_status_free(status);
  assert_null(loaded.memory);
}

static int set_up(void **state) {
  (void)state;
  arena = seer_arena_create("test");
  must(seer_os_temp_dir("test_object", arena, &folder));
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  must(seer_os_remove_tree(folder));
  seer_arena_destroy(arena);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(places_what_lld_does),
      cmocka_unit_test(relocates),
      cmocka_unit_test(refuses_what_is_damaged),
      cmocka_unit_test(nothing_is_written_and_executed),
      cmocka_unit_test(refuses_what_does_not_run_here),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
