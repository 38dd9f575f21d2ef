// Block programs as CUDA C, compiled by each NVRTC that is here: for the processors of its time,
// without a spill, and with the blocks' memory that they say. Nothing is run: there need be no
// device.
// SEER_TEST: timeout=120 cost=10
#include <glob.h>
#include <string.h>

#include "code/gen/generate.h"
#include "code/gpu/build.h"
#include "code/source/source.h"
#include "support/block_programs.h"
#include "support/test.h"

#define VENV \
  SEER_SOURCE_DIR "/.venv/lib/python3*/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"

typedef struct {
  uint32_t n;
  // the toolkit's where it is installed, and that of tool/requirements-gpu.txt
  seer_nvrtc *nvrtc[2];
} compilers;

static void open_all(compilers *c) {
  glob_t found;
  seer_status status = seer_nvrtc_open(NULL, &c->nvrtc[c->n]);
  if (status)
    seer_status_free(status);
  else
    c->n++;
  if (glob(VENV, 0, NULL, &found) != 0) fail_msg("tool/deps.sh gpu installs %s", VENV);
  must(seer_nvrtc_open(found.gl_pathv[0], &c->nvrtc[c->n++]));
  globfree(&found);
}

static uint64_t group_bytes(const seer_loop *loop) {
  uint64_t n = 0;
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    if (loop->buf[b].storage == SEER_STORE_WORKGROUP)
      n += (uint64_t)(loop->buf[b].n_elems + 15) / 16 * 64;  // each aligned to 64 bytes
  }
  return n;
}

static const seer_vec_code *build_program(seer_nvrtc *nvrtc, const block_program *program,
    uint32_t sm, seer_arena *arena, seer_nvrtc_program *out) {
  const seer_gen_machine machine = seer_gen_machine_of_items(false);
  const seer_dialect *cuda = seer_dialect_find("cuda");
  seer_loop *loop = block_program_parse(program, block_program_text(program, arena), arena);
  seer_vec_code *code;
  const char *texts[2] = {seer_source_prelude(cuda, arena)};
  must(seer_gen_code(loop, &machine, program->name, arena, &code));
  must(seer_source_print(code, cuda, arena, &texts[1]));
  must(seer_nvrtc_build(nvrtc, program->name, texts, 2, sm, arena, out));
  return code;
}

static void check_program(
    seer_nvrtc *nvrtc, const block_program *program, uint32_t sm, seer_arena *arena) {
  seer_nvrtc_program built;
  const seer_vec_code *code = build_program(nvrtc, program, sm, arena, &built);
  const seer_loop *loop = code->loop;
  assert_int_equal(built.kernels.n, 1);
  const seer_cubin_kernel *kernel = &built.kernels.kernel[0];
  assert_string_equal(kernel->name, code->phase[0].name);
  assert_true(kernel->registers > 4 && kernel->registers < 255);
  if (kernel->frame_bytes != 0)
    fail_msg("%s, sm_%u, NVRTC %u: a frame of %u bytes", program->name, sm,
        seer_nvrtc_version(nvrtc), kernel->frame_bytes);
  // From sm_90 on a kilobyte of a block's memory is the system's.
  uint64_t want = group_bytes(loop),
           got = kernel->group_bytes % 1024 == 0 && want == 0 ? 0 : kernel->group_bytes;
  assert_true(got >= want - 64 && got <= want + 1024);
  assert_non_null(strstr(built.ptx, seer_arena_printf(arena, ".target sm_%u", sm)));
}

static void programs_compile(void **state) {
  compilers *c = *state;
  static const uint32_t sms[] = {70, 75, 80, 89, 90};
  uint32_t n = 0;
  for (uint32_t k = 0; k < c->n; k++) {
    for (uint32_t s = 0; s < SEER_COUNT_OF(sms); s++) {
      if (!seer_nvrtc_knows(c->nvrtc[k], sms[s])) continue;
      seer_arena *arena = seer_arena_create("test");
      for (uint32_t p = 0; p < N_BLOCK_PROGRAMS; p++)
        check_program(c->nvrtc[k], &block_programs[p], sms[s], arena);
      n++;
      seer_arena_destroy(arena);
    }
  }
  assert_true(n >= SEER_COUNT_OF(sms));  // CUDA 12's knows all of them
}

// As a kernel, with its launch; one that says too little of a block's memory is refused.
static void kernels_are_built(void **state) {
  compilers *c = *state;
  seer_arena *arena = seer_arena_create("test");
  const block_program *program = block_program_named("wide");
  seer_kernel text, built;
  seer_cubin cubin;
  must(seer_gpu_write(block_program_parse(program, block_program_text(program, arena), arena),
      SEER_KERNEL_CUDA_C, "wide", arena, &text));
  assert_int_equal(text.launch[0].group_bytes, 32 * 20 * 4 + 16 * 32 * 4);
  must(seer_gpu_compile_cuda(c->nvrtc[0], 80, &text, arena, &built));
  assert_int_equal(built.format, SEER_KERNEL_CUBIN);
  assert_memory_equal(built.launch, text.launch, sizeof(text.launch));
  must(seer_cubin_read(built.object, built.n_object_bytes, arena, &cubin));
  assert_int_equal(cubin.kernel[0].group_bytes, text.launch[0].group_bytes);
  text.launch[0].group_bytes = 2048;
  seer_status status = seer_gpu_compile_cuda(c->nvrtc[0], 80, &text, arena, &built);
  assert_non_null(status);
  assert_int_equal(seer_status_code(status), SEER_CODE_INTERNAL);
  seer_status_free(status);
  seer_arena_destroy(arena);
}

// Fetches, what is read of them, and sums that are written: 16 bytes each.
static void neighbours_are_one_access(void **state) {
  compilers *c = *state;
  static const char *const kinds[] = {
      "ld.global.nc", "st.global", "ld.shared", "st.shared"};  // of the program, each by fours only
  seer_arena *arena = seer_arena_create("test");
  seer_nvrtc_program built;
  for (uint32_t k = 0; k < SEER_COUNT_OF(kinds) * c->n; k++) {
    const char *kind = kinds[k / c->n];
    build_program(c->nvrtc[k % c->n], block_program_named("wide"), 80, arena, &built);
    if (!strstr(built.ptx, seer_arena_printf(arena, "%s.v4.f32", kind)) ||
        strstr(built.ptx, seer_arena_printf(arena, "%s.f32", kind)))
      fail_msg("%s: %s", kind, built.ptx);
  }
  seer_arena_destroy(arena);
}

static void neighbours_of_all_types_are_one_access(void **state) {
  compilers *c = *state;
  static const struct {
    const char *type, *has;
  } cases[] = {{"f16", "st.shared.v4"}, {"bf16", "st.shared.v4"}, {"u8", "st.shared.v2"},
      {"bool", "st.shared.v4.u16"}, {"i32", "st.shared.v4"}, {"i64", "ld.shared.v2.u64"},
      {"f64", "ld.shared.v2.f64"}};
  for (uint32_t k = 0; k < SEER_COUNT_OF(cases); k++) {
    seer_arena *arena = seer_arena_create("test");
    seer_kernel text;
    seer_nvrtc_program built;
    must(
        seer_gpu_write(block_copy(cases[k].type, arena), SEER_KERNEL_CUDA_C, "copy", arena, &text));
    const char *texts[] = {seer_source_prelude(seer_dialect_find("cuda"), arena), text.object};
    for (uint32_t n = 0; n < c->n; n++) {
      must(seer_nvrtc_build(c->nvrtc[n], cases[k].type, texts, 2, 80, arena, &built));
      if (!strstr(built.ptx, cases[k].has)) fail_msg("%s: %s", cases[k].type, built.ptx);
    }
    seer_arena_destroy(arena);
  }
}

static void refusals_say_why(void **state) {
  compilers *c = *state;
  seer_nvrtc *nvrtc = c->nvrtc[0], *none;
  seer_arena *arena = seer_arena_create("test");
  seer_nvrtc_program built;
  const char *wrong = "extern \"C\" __global__ void f() { undefined_name = 1; }\n";
  seer_status status = seer_nvrtc_build(nvrtc, "wrong", &wrong, 1, 90, arena, &built);
  assert_int_equal(seer_status_code(status), SEER_CODE_INVALID);
  assert_non_null(strstr(seer_status_message(status), "undefined_name"));
  seer_status_free(status);
  status = seer_nvrtc_build(nvrtc, "old", &wrong, 1, 20, arena, &built);
  assert_int_equal(seer_status_code(status), SEER_CODE_UNSUPPORTED);
  assert_non_null(strstr(seer_status_message(status), "makes no code for sm_20"));
  seer_status_free(status);
  status = seer_nvrtc_open("/nowhere/libnvrtc.so", &none);
  assert_int_equal(seer_status_code(status), SEER_CODE_NOT_FOUND);
  assert_non_null(strstr(seer_status_message(status), "/nowhere/libnvrtc.so"));
  seer_status_free(status);
  assert_null(none);
  seer_arena_destroy(arena);
}

// A spill is seen: more sums than there are registers.
static void spills_are_seen(void **state) {
  compilers *c = *state;
  static const char text[] =
      "extern \"C\" __global__ void __launch_bounds__(1024) f(const float *x, float *y) {\n"
      "  float s[64];\n"
      "#pragma unroll\n"
      "  for (int k = 0; k < 64; k++) s[k] = x[k * 1024 + threadIdx.x];\n"
      "  __syncthreads();\n"
      "#pragma unroll\n"
      "  for (int k = 0; k < 64; k++)\n"
      "#pragma unroll\n"
      "    for (int l = 0; l < 64; l++) s[k] = s[k] * s[l] + s[(k * 7 + l) % 64];\n"
      "#pragma unroll\n"
      "  for (int k = 0; k < 64; k++) y[k * 1024 + threadIdx.x] = s[k];\n"
      "}\n";
  seer_arena *arena = seer_arena_create("test");
  const char *texts[] = {text};
  seer_nvrtc_program built;
  must(seer_nvrtc_build(c->nvrtc[0], "spill", texts, 1, 80, arena, &built));
  assert_int_equal(built.kernels.n, 1);
  assert_true(built.kernels.kernel[0].registers <= 64);
  assert_true(built.kernels.kernel[0].frame_bytes > 0);
  seer_arena_destroy(arena);
}

// Cut off anywhere, and with each of its first bytes changed, it is read or refused, and no more.
static void damaged_binaries_are_refused(void **state) {
  compilers *c = *state;
  seer_arena *arena = seer_arena_create("test");
  const char *text = "extern \"C\" __global__ void f(float *y) { y[threadIdx.x] = 1; }\n";
  seer_nvrtc_program built;
  must(seer_nvrtc_build(c->nvrtc[0], "small", &text, 1, 80, arena, &built));
  seer_cubin cubin;
  uint32_t n_refused = 0;
  for (size_t n = 0; n < built.n_cubin_bytes; n += 7) {
    char *cut = memcpy(seer_arena_alloc(arena, n + 1, 8), built.cubin, n);
    seer_status status = seer_cubin_read(cut, n, arena, &cubin);
    n_refused += status != NULL;
    seer_status_free(status);
  }
  assert_true(n_refused > built.n_cubin_bytes / 14);
  for (size_t at = 0; at < built.n_cubin_bytes; at++) {
    char *other =
        memcpy(seer_arena_alloc(arena, built.n_cubin_bytes, 8), built.cubin, built.n_cubin_bytes);
    other[at] = (char)~other[at];
    seer_status_free(seer_cubin_read(other, built.n_cubin_bytes, arena, &cubin));
  }
  seer_arena_destroy(arena);
}

int main(void) {
  compilers c = {0};
  open_all(&c);
  const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(programs_compile, &c),
      cmocka_unit_test_prestate(kernels_are_built, &c),
      cmocka_unit_test_prestate(neighbours_are_one_access, &c),
      cmocka_unit_test_prestate(neighbours_of_all_types_are_one_access, &c),
      cmocka_unit_test_prestate(refusals_say_why, &c),
      cmocka_unit_test_prestate(spills_are_seen, &c),
      cmocka_unit_test_prestate(damaged_binaries_are_refused, &c)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  for (uint32_t k = 0; k < c.n; k++) seer_nvrtc_close(c.nvrtc[k]);
  return failed;
}
