// isa_check.c - see isa_check.h. From the most demanding mark of an instruction to the least: its
// registers, then its name.
#include "support/isa_check.h"

#include <elf.h>
#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>
#include <string.h>

#include "setup/target_table.h"

// Names by how they begin, or whole but for a size (popcntq). Blanks end each; order matters where
// one begins like another.
static const struct {
  const char *feature, *names;
  bool is_whole;
} by_name[] = {
    {"fma", "vfmadd vfmsub vfnmadd vfnmsub ", false},
    {"f16c", "vcvtph2ps vcvtps2ph ", false},
    {"avx2",
        "vpbroadcast vpsllv vpsrlv vpsrav vpblendd vgather vpgather vpmaskmov vpermd vpermps "
        "vpermq vpermpd vinserti128 vextracti128 vbroadcasti128 ",
        false},
    {"avx", "v", false},
    {"popcnt", "popcnt ", true},
    {"lzcnt", "lzcnt ", true},
    {"bmi", "tzcnt andn bextr blsi blsmsk blsr ", true},
    {"bmi2", "bzhi mulx pdep pext rorx sarx shlx shrx ", true},
    {"movbe", "movbe ", true},
    {"adx", "adcx adox ", true},
    {"sse4.2", "pcmpgtq pcmpestr pcmpistr crc32 ", false},
    {"sse4.1",
        "blendp blendvp pblendw pblendvb dpps dppd extractps insertps movntdqa mpsadbw "
        "packusdw pcmpeqq pextrb pextrd pextrq phminposuw pinsrb pinsrd pinsrq pmaxsb pmaxsd "
        "pmaxud pmaxuw pminsb pminsd pminud pminuw pmovsx pmovzx pmuldq pmulld ptest round ",
        false},
    {"ssse3", "pabs palignr phadd phsub pmaddubsw pmulhrsw pshufb psign ", false},
    {"sse3", "addsubp haddp hsubp lddqu movddup movshdup movsldup ", false},
    {"sse4a", "extrq insertq movntss movntsd ", false},
    {"gfni", "gf2p8 ", false},
    {"pclmul", "pclmul ", false},
    {"aes", "aes ", false},
    {"sha", "sha1 sha256 ", false},
};

static bool is_one_of(const char *name, const char *names, bool is_whole) {
  size_t n_name = strcspn(name, " \t");
  for (const char *at = names; *at; at += *at == ' ') {
    size_t n = strcspn(at, " ");
    bool begins = n <= n_name && strncmp(name, at, n) == 0;
    if (begins && (!is_whole || n == n_name || (n + 1 == n_name && strchr("wlq", name[n]))))
      return true;
    at += n;
  }
  return false;
}

static bool has_high_register(const char *instruction) {  // xmm16 to ymm31
  for (const char *at = instruction; (at = strstr(at, "mm")) != NULL; at += 2) {
    if (at > instruction && at[-1] != 'z' && at[2] >= '1' && at[2] <= '3' && at[3] >= '0' &&
        at[3] <= '9' && (at[2] - '0') * 10 + at[3] - '0' >= 16)
      return true;
  }
  return false;
}

const char *isa_feature_of(const char *instruction) {
  while (*instruction == '\t' || *instruction == ' ') instruction++;
  if (strstr(instruction, "vpdp")) return strstr(instruction, "{vex}") ? "avxvnni" : "avx512vnni";
  bool is_mask = strstr(instruction, "%k") != NULL;
  if (is_mask || strstr(instruction, "%zmm") || has_high_register(instruction)) return "avx512f";
  bool is_wide = strstr(instruction, "%ymm") != NULL;
  for (size_t i = 0; i < SEER_COUNT_OF(by_name); i++) {
    if (!is_one_of(instruction, by_name[i].names, by_name[i].is_whole)) continue;
    bool is_integer = strcmp(by_name[i].feature, "avx") == 0 && is_wide && instruction[1] == 'p' &&
        !is_one_of(instruction, "vpermilp vperm2f128 vptest ", false);
    return is_integer ? "avx2" : by_name[i].feature;
  }
  return is_wide ? "avx" : "";
}

const char *isa_check(const seer_kernel *kernel, const seer_target *target, seer_arena *arena) {
  if (strncmp(target->triple, "x86_64", 6) != 0) return NULL;
  LLVMInitializeAllDisassemblers();
  LLVMDisasmContextRef disassembler =
      LLVMCreateDisasmCPU("x86_64-linux-gnu", "sapphirerapids", NULL, 0, NULL, NULL);
  SEER_ASSERT(disassembler, "no disassembler for x86-64");
  const Elf64_Ehdr *header = kernel->object;
  const char *base = kernel->object, *wrong = NULL;
  const Elf64_Shdr *section = (const void *)(base + header->e_shoff);
  for (uint32_t k = 0; k < header->e_shnum && !wrong; k++) {
    if (!(section[k].sh_flags & SHF_EXECINSTR)) continue;
    uint8_t *code =
        (uint8_t *)seer_arena_memdup(arena, base + section[k].sh_offset, section[k].sh_size + 1);
    for (uint64_t at = 0; at < section[k].sh_size && !wrong;) {
      char text[160];
      size_t n = LLVMDisasmInstruction(
          disassembler, code + at, section[k].sh_size - at, at, text, sizeof text);
      const char *feature = n ? isa_feature_of(text) : "";
      if (n == 0) wrong = seer_arena_printf(arena, "no instruction at byte %" PRIu64, at);
      if (*feature && !seer_target_has_feature(target->features, feature))
        wrong = seer_arena_printf(arena, "code for %s '%s' has%s, which needs %s", target->cpu,
            target->features, text, feature);
      at += n;
    }
  }
  LLVMDisasmDispose(disassembler);
  return wrong;
}
