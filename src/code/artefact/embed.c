// embed.c - the runtime's sources as bytes of this program, so that --emit c needs no file beside
// it. The list is CMakeLists.txt's; the assembler reads the files themselves.
#include "code/artefact/internal.h"

#ifndef SEER_EMBEDDED_LIST
#error "SEER_EMBEDDED_LIST: the file that lists SEER_EMBEDDED(id, name, path)"
#endif

#define SEER_EMBEDDED(id, name, path)                                                          \
  extern const char seer_embedded_##id[], seer_embedded_end_##id[];                            \
  __asm__(".pushsection .rodata.seer_embedded, \"a\"\nseer_embedded_" #id ":\n.incbin \"" path \
          "\"\nseer_embedded_end_" #id ":\n.popsection\n");
#include SEER_EMBEDDED_LIST
#undef SEER_EMBEDDED

const seer_embedded_file seer_embedded_runtime[] = {
#define SEER_EMBEDDED(id, name, path) {name, seer_embedded_##id, seer_embedded_end_##id},
#include SEER_EMBEDDED_LIST
#undef SEER_EMBEDDED
};
const size_t seer_embedded_runtime_count = SEER_COUNT_OF(seer_embedded_runtime);
