// makefile.c - the Makefile of a library that is written as C: which files it is made of, and how a
// compiler is told what the target may use. Flags are those that GCC and clang share; both call x86
// features by LLVM's names.
#include "code/source/makefile.h"

#include <string.h>

#include "base/base.h"
#include "base/near.h"
#include "setup/isa.h"

// What compilers use of their own accord, and know under these names since GCC 9 and clang 9. The
// rest (AES, AMX, SHA, ...) only programs that ask for it would use.
static const char x86_words[] =
    "avx avx2 avx512bitalg avx512bw avx512cd avx512dq avx512f avx512ifma avx512vbmi avx512vbmi2 "
    "avx512vl avx512vnni avx512vpopcntdq bmi bmi2 f16c fma lzcnt movbe popcnt sse3 sse4.1 sse4.2 "
    "ssse3";

static const struct {
  const char *name, *flag;
} arm_words[] = {{"bf16", "+bf16"}, {"dotprod", "+dotprod"}, {"fullfp16", "+fp16"},
    {"i8mm", "+i8mm"}, {"lse", "+lse"}, {"rdm", "+rdma"}};

static void put_x86(seer_text *text, const seer_target *target) {
  seer_text_put(text, " -march=x86-64");
  size_t n;
  for (const char *at = x86_words, *word; (word = seer_words_next(&at, &n)) != NULL;) {
    const char *name = seer_arena_strndup(text->arena, word, n);
    if (seer_target_has(target, name)) seer_text_printf(text, " -m%s", name);
  }
  if (target->vector_bytes >= 16)
    seer_text_printf(text, " -mprefer-vector-width=%u", target->vector_bytes * 8);
}

// What kernels may use. It stands behind CFLAGS: a -march= there does not reach them, for the plan
// says what they need, and is what is checked where they run.
static const char *kernel_flags(const seer_target *target, seer_arena *arena) {
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_put(&text, "-ffp-contract=off -fno-math-errno");
  seer_isa isa;
  if (!seer_isa_of(target->triple, &isa)) return text.data;
  switch (isa) {
    case SEER_ISA_X86_64:
      put_x86(&text, target);
      break;
    case SEER_ISA_AARCH64:
      seer_text_put(&text, " -march=armv8-a");
      for (size_t i = 0; i < SEER_COUNT_OF(arm_words); i++) {
        if (seer_target_has(target, arm_words[i].name)) seer_text_put(&text, arm_words[i].flag);
      }
      break;
    case SEER_ISA_RISCV64:
      seer_text_put(&text, seer_target_has(target, "v") ? " -march=rv64gcv" : " -march=rv64gc");
      break;
    case SEER_ISA_COUNT:
      break;
  }
  return text.data;
}

// The runtime says what a processor lacks, so it must run on all of them, whatever a compiler's
// default is.
static const char *runtime_flags(const seer_target *target) {
  seer_isa isa;
  if (!seer_isa_of(target->triple, &isa)) return "";
  switch (isa) {
    case SEER_ISA_X86_64:
      return "-march=x86-64 -mtune=generic";
    case SEER_ISA_AARCH64:
      return "-march=armv8-a";
    case SEER_ISA_RISCV64:
      return "-march=rv64gc";
    case SEER_ISA_COUNT:
      break;
  }
  return "";
}

// A line of the list, broken where it gets long.
static void put_words(seer_text *text, const char *begin, const char *const *words, size_t n) {
  seer_text_put(text, begin);
  size_t column = strlen(begin);
  for (size_t i = 0; i < n; i++) {
    size_t n_word = strlen(words[i]) + 1;
    if (column + n_word > 98) {
      seer_text_put(text, " \\\n ");
      column = 1;
    }
    seer_text_printf(text, " %s", words[i]);
    column += n_word;
  }
  seer_text_put(text, "\n");
}

static void put_list(seer_text *text, const char *begin, const char *const *words) {
  size_t n = 0;
  while (words[n]) n++;
  put_words(text, begin, words, n);
}

static void put_flags(seer_text *text, const char *begin, const char *flags) {
  const char *words[64], *at = flags, *word;
  size_t n = 0, n_bytes;
  while (n < SEER_COUNT_OF(words) && (word = seer_words_next(&at, &n_bytes)) != NULL)
    words[n++] = seer_arena_strndup(text->arena, word, n_bytes);
  put_words(text, begin, words, n);
}

// Of the network's name and the target.
static const char head[] =
    "# %s as C" SEER_MAKEFILE_MARK SEER_VERSION
    " for the target\n"
    "#   %s\n"
    "#\n"
    "# plan.c       what runs, on which buffers, in which order (model.json has it in words), as\n"
    "#              bytes; and the table of kernels\n"
    "# kernels/     a function for each phase of a kernel; prelude.h: the types that they use\n"
    "# runtime/     what opens, checks and runs it. Needs libc alone (Linux, 64 bits, "
    "little-endian)\n"
    "# weights.bin  read where the model is opened: from beside model.so, or as that call says\n"
    "# model.h      names of inputs and outputs, for programs: cc -I. -Iruntime app.c\n"
    "#\n"
    "# With GNU make and GCC (9 or later) or clang (9 or later):\n"
    "#   make            model.so, for programs that load it, and for familyseer run, bench, "
    "verify\n"
    "#   make model.o    one object to link into a program: cc app.c model.o -pthread -ldl -lm\n"
    "#   make model.a    the same as an archive\n"
    "#   make weights.o  weights.bin as bytes of a program: see weights.S\n"
    "#   make clean\n"
    "# Other compilers and flags: make CC=clang CFLAGS=-O2. KERNEL_FLAGS say what kernels may use "
    "of\n"
    "# the processor; more than that is not asked for where the model is opened. RUNTIME_FLAGS "
    "keep\n"
    "# the code that asks to what every processor has.\n"
    "\n"
    "CC ?= cc\n"
    "OBJCOPY ?= objcopy\n"
    "CFLAGS ?= -O3\n"
    "LDLIBS ?= -pthread -ldl -lm\n";

static const char rules[] =
    "FLAGS = -std=c17 -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections -Iruntime\n"
    "OBJECTS = plan.o $(KERNELS) $(RUNTIME)\n"
    "\n"
    "all: model.so\n"
    ".PHONY: all clean\n"
    ".DELETE_ON_ERROR:\n"
    "\n"
    "plan.o: plan.c kernels/kernels.h runtime/runtime/plan.h Makefile\n"
    "\t$(CC) $(CPPFLAGS) $(FLAGS) $(CFLAGS) $(RUNTIME_FLAGS) -c -o $@ $<\n"
    "\n"
    "$(KERNELS): %.o: %.c kernels/kernels.h kernels/prelude.h Makefile\n"
    "\t$(CC) $(CPPFLAGS) $(FLAGS) $(CFLAGS) $(KERNEL_FLAGS) -c -o $@ $<\n"
    "\n"
    "$(RUNTIME): %.o: %.c $(HEADERS) Makefile\n"
    "\t$(CC) $(CPPFLAGS) -D_GNU_SOURCE -DSEER_RT_EMBEDDED=1 -DSEER_VERSION='\"" SEER_VERSION
    "\"' $(FLAGS) $(CFLAGS) $(RUNTIME_FLAGS) "
    "\\\n"
    "\t  -c -o $@ $<\n"
    "\n"
    "model.so: $(OBJECTS)\n"
    "\t$(CC) $(CFLAGS) -shared -Wl,-soname,model.so -Wl,--gc-sections -Wl,--no-undefined \\\n"
    "\t  -Wl,--as-needed -Wl,-z,now -Wl,-z,noexecstack $(LDFLAGS) -o $@ $(OBJECTS) $(LDLIBS)\n"
    "\n"
    "# Only its entry keeps its name: other models and libraries may have the rest of them.\n"
    "model.o: $(OBJECTS)\n"
    "\t$(CC) -r -nostdlib -o $@ $(OBJECTS)\n"
    "\t$(OBJCOPY) --localize-hidden --keep-global-symbol=seer_model_v1 $@\n"
    "\n"
    "model.a: model.o\n"
    "\t$(AR) rcs $@ model.o\n"
    "\n"
    "weights.o: weights.S weights.bin Makefile\n"
    "\t$(CC) $(CPPFLAGS) -c -o $@ weights.S\n"
    "\n"
    "clean:\n"
    "\trm -f $(OBJECTS) model.so model.o model.a weights.o\n";

const char *seer_source_makefile(const seer_makefile_parts *parts, seer_arena *arena) {
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_printf(
      &text, head, seer_text_safe(arena, parts->name), seer_target_print(parts->target, arena));
  put_flags(&text, "KERNEL_FLAGS ?=", kernel_flags(parts->target, arena));
  put_flags(&text, "RUNTIME_FLAGS ?=", runtime_flags(parts->target));
  put_list(&text, "KERNELS =", parts->kernels);
  put_list(&text, "RUNTIME =", parts->runtime);
  put_list(&text, "HEADERS =", parts->headers);
  seer_text_put(&text, rules);
  return text.data;
}
