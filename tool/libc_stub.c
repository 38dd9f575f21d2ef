// libc_stub.c - a shared library with the names of src/runtime/libc.inc and operator_libc.inc and
// nothing behind them, for linkers only: compiled once for each library, with -DSTUB_c,
// -DSTUB_pthread, -DSTUB_dl or -DSTUB_m and that library's soname. Nothing loads it.
#define SEER_LIBC(library, function) SEER_LIBC_##library(function)
#define DEFINE(function) \
  __asm__(".globl " #function "\n.type " #function ",%function\n" #function ":\n");
#define SKIP(function)

#if defined(STUB_c)
#define SEER_LIBC_c(function) DEFINE(function)
#else
#define SEER_LIBC_c(function) SKIP(function)
#endif
#if defined(STUB_pthread)
#define SEER_LIBC_pthread(function) DEFINE(function)
#else
#define SEER_LIBC_pthread(function) SKIP(function)
#endif
#if defined(STUB_dl)
#define SEER_LIBC_dl(function) DEFINE(function)
#else
#define SEER_LIBC_dl(function) SKIP(function)
#endif
#if defined(STUB_m)
#define SEER_LIBC_m(function) DEFINE(function)
#else
#define SEER_LIBC_m(function) SKIP(function)
#endif

#include "runtime/libc.inc"
#include "runtime/operator_libc.inc"
