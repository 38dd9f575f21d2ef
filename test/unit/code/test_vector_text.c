// test_vector_text.c - vector code as text: printed, parsed, judged, interpreted. Each fault that is
// written into it is caught.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include "vector_code.h"

// ---- the text form

static const char every_head[] =
    "  fill[0] = f32 1.5 bytes 64\n"
    "  fill[1] = i32 -7 bytes 128\n";
static const char every_body[] =
    "    slot[0] = f32x8 * 2 align 32\n"
    "    slot[1] = i32 * 4\n"
    "    %0 i64 = part\n"
    "    %1 ptr = buffer $in\n"
    "    %2 ptr = scratch\n"
    "    %3 ptr = move %2, i64 64 of i8\n"
    "    store slot[0], f32x8 0.5\n"
    "    %4 f32x8 = load slot[0] align 32\n"
    "    %5 ptr = move slot[1], i64 2 of i32\n"
    "    store %5, i32 6\n"
    "    %6 i32 = load %5\n"
    "    %7 i32 = add %6, i32 -1\n"
    "    %8 i32 = sub %7, %6\n"
    "    %9 i32 = mul %8, %7\n"
    "    %10 i64 = sext %6\n"
    "    %11 i64 = add_index %10, %0\n"
    "    %12 i64 = sub_index %11, %0\n"
    "    %13 i64 = mul_index %12, i64 3\n"
    "    %14 i32 = neg %9\n"
    "    %15 i32 = sdiv %14, %6\n"
    "    %16 i32 = udiv %14, %6\n"
    "    %17 i32 = srem %14, %6\n"
    "    %18 i32 = urem %16, %6\n"
    "    %19 i32 = and %17, %18\n"
    "    %20 i32 = or %15, %19\n"
    "    %21 i32 = xor %20, %19\n"
    "    %22 i32 = not %21\n"
    "    %23 i32 = shl %22, i32 3\n"
    "    %24 i32 = lshr %23, i32 1\n"
    "    %25 i32 = ashr %24, i32 2\n"
    "    %26 i32 = smin %25, %6\n"
    "    %27 i32 = smax %26, %7\n"
    "    %28 i32 = umin %27, %8\n"
    "    %29 i32 = umax %28, %9\n"
    "    %30 i32 = abs %29\n"
    "    %31 i1 = eq %30, %29\n"
    "    %32 i1 = ne %30, %29\n"
    "    %33 i1 = slt %30, %29\n"
    "    %34 i1 = sle %30, %29\n"
    "    %35 i1 = sgt %30, %29\n"
    "    %36 i1 = sge %30, %29\n"
    "    %37 i1 = ult %30, %29\n"
    "    %38 i1 = ule %30, %29\n"
    "    %39 i1 = ugt %30, %29\n"
    "    %40 i1 = uge %30, %29\n"
    "    %41 f32x8 = fadd %4, f32x8 -inf\n"
    "    %42 f32x8 = fsub %41, f32x8 nan.7fc12345\n"
    "    %43 f32x8 = fmul %4, f32x8 0.10000000149011612\n"
    "    %44 f32x8 = fdiv %4, %43\n"
    "    %45 f32x8 = fneg %44\n"
    "    %46 f32x8 = fmuladd %4, %43, %45\n"
    "    %47 f32x8 = fabs %46\n"
    "    %48 f32x8 = copysign %47, %45\n"
    "    %49 f32x8 = sqrt %47\n"
    "    %50 f32x8 = floor %49\n"
    "    %51 f32x8 = ceil %49\n"
    "    %52 f32x8 = ftrunc %49\n"
    "    %53 f32x8 = round %49\n"
    "    %54 f32x8 = fminimum %50, %51\n"
    "    %55 f32x8 = fmaximum %52, %53\n"
    "    %56 i1x8 = feq %54, %55\n"
    "    %57 i1x8 = flt %54, %55\n"
    "    %58 i1x8 = fle %54, %55\n"
    "    %59 i1x8 = fgt %54, %55\n"
    "    %60 i1x8 = fge %54, %55\n"
    "    %61 i1x8 = fnan %54, %55\n"
    "    %62 i1x8 = feq_nan %54, %55\n"
    "    %63 i1x8 = fne_nan %54, %55\n"
    "    %64 i1x8 = fge_nan %54, %55\n"
    "    %65 i32x8 = zext %64\n"
    "    %66 i8 = trunc %6\n"
    "    %67 f64 = sint_float %6\n"
    "    %68 f32 = uint_float %66\n"
    "    %69 i64 = float_sint %67\n"
    "    %70 i8 = float_uint %68\n"
    "    %71 f64 = float_wider %68\n"
    "    %72 f32 = float_shorter %71\n"
    "    %73 i16 = half_bits %72\n"
    "    %74 f32 = bits_half %73\n"
    "    %75 i32 = bitcast %74\n"
    "    %76 f32x8 = select %31, %54, %55\n"
    "    %77 f32x8 = select %57, %54, %76\n"
    "    %78 f32x8 = splat %74\n"
    "    %79 f32 = extract %78 lane 7\n"
    "    %80 f32x2 = insert f32x2 undef, %79 lane 0\n"
    "    %81 f32x2 = insert %80, %74 lane 1\n"
    "    %82 f32x4 = low_half %78\n"
    "    %83 f32x4 = high_half %78\n"
    "    %84 i1 = any %57\n"
    "    %85 f32x4 = load %1 align 4 $in invariant\n"
    "    %86 i32x4 = load fill[1] $table invariant\n"
    "    %87 i32x4 = add %86, i32x4 0 step 5\n"
    "    %88 f32x4 = load_masked fill[0], i1x4 1, %85 align 4 $in\n"
    "    store_masked %3, %88, i1x4 1 align 16 $local\n"
    "    prefetch %1 level 2\n"
    "    fence\n"
    "    loop i64 3 runs {\n"
    "      %89 i64 = counter -8\n"
    "      %90 i64 = counter 1\n"
    "      when %84 {\n"
    "        %91 i64 = sub_index %89, %90\n"
    "      } else {\n"
    "        fence\n"
    "      }\n"
    "      loop %90 {\n"
    "        %92 i64 = counter 1\n"
    "        when i1 1 {\n"
    "        }\n"
    "      }\n"
    "    }\n"
    "    leave_unless %84\n"
    "    %93 ptr = buffer $f32\n"
    "    %94 ptr = move %93, %0 of f32\n"
    "    store %94, %74 $f32\n";

typedef struct {
  seer_arena *arena;
  seer_loop *loop;
} bench;

static bench open_bench(void) {
  bench w = {.arena = seer_arena_create("test")};
  w.loop = vector_code_loop(w.arena);
  return w;
}

static void expect_ok(seer_status status, const char *text) {
  if (status) fail_msg("%s\n%s", seer_status_message(status), text);
}

// INVALID, and says so.
static void expect_fault(seer_status status, const char *says, const char *text) {
  if (!status) fail_msg("not caught: %s\n%s", says, text);
  if (seer_status_code(status) != SEER_CODE_INVALID || !strstr(seer_status_message(status), says))
    fail_msg("%s, expected: %s\n%s", seer_status_message(status), says, text);
  seer_status_free(status);
}

static void every_instruction_is_text(void **state) {
  (void)state;
  bench w = open_bench();
  const char *text = vector_code_text(every_head, every_body, w.arena);
  seer_vec_code *code = vector_code_parse(w.loop, text, w.arena);
  assert_string_equal(seer_vec_print(code, w.arena), text);
  expect_ok(seer_vec_verify(code), text);
  expect_ok(seer_vec_eval(code, vector_code_data(w.loop, w.arena), NULL), text);
  bool met[SEER_VEC_OP_COUNT] = {false};
  for (uint32_t i = 1; i < code->n; i++) met[code->node[i].op] = true;
  for (uint32_t op = 0; op < SEER_VEC_OP_COUNT; op++) {
    if (!met[op]) fail_msg("no %s", seer_vec_ops[op].text);
  }
  seer_arena_destroy(w.arena);
}

// What the builder makes is text too.
static void what_is_built_is_text(void **state) {
  (void)state;
  bench w = open_bench();
  seer_vec_code *code = seer_vec_code_create(w.loop, w.arena);
  seer_vec_builder b;
  uint32_t loop, in = vector_code_buf(w.loop, "in"), out = vector_code_buf(w.loop, "f32");
  code->scratch_bytes = 64;
  seer_vec_begin_phase(&b, code, "test_p0");
  seer_vec two = seer_vec_const(&b, SEER_VEC_I64, 1, 2), part = seer_vec_part(&b);
  seer_vec_leave_unless(&b, seer_vec2(&b, SEER_VEC_SLT, part, two));
  seer_vec zeros = seer_vec_filled(&b, seer_vec_real(&b, SEER_VEC_F32, 1, 0), 64);
  seer_vec slot = seer_vec_slot(&b, SEER_VEC_F32, 4, 1, 16);
  seer_vec_store(&b, seer_vec_real(&b, SEER_VEC_F32, 4, 0), slot, 16, SEER_VEC_NO_BUF);
  seer_vec i = seer_vec_begin_loop(&b, two, true, &loop);
  seer_vec at = seer_vec_counter(&b, loop, 4);
  seer_vec p = seer_vec_move(&b, SEER_VEC_F32, seer_vec_buffer(&b, in), at);
  seer_vec_prefetch(&b, p, 1);
  seer_vec is_first = seer_vec2(&b, SEER_VEC_EQ, i, seer_vec_const(&b, SEER_VEC_I64, 1, 0));
  seer_vec x = seer_vec_load(&b, SEER_VEC_F32, 4, p, 4, in, true);
  seer_vec_begin_when(&b, is_first);
  seer_vec_store(&b, x, slot, 16, SEER_VEC_NO_BUF);
  seer_vec_otherwise(&b);
  seer_vec mask = seer_vec2(&b, SEER_VEC_FGT, x, seer_vec_real(&b, SEER_VEC_F32, 4, 5));
  seer_vec q = seer_vec_select(&b, seer_vec_any(&b, mask), p, zeros);
  seer_vec y = seer_vec_load_masked(&b, q, mask, x, 4, in, true);
  seer_vec acc = seer_vec_load(&b, SEER_VEC_F32, 4, slot, 16, SEER_VEC_NO_BUF, false);
  acc = seer_vec3(&b, SEER_VEC_FMULADD, y, x, acc);
  seer_vec_store(&b, acc, slot, 16, SEER_VEC_NO_BUF);
  seer_vec_end(&b);
  seer_vec_fence(&b);
  seer_vec_end(&b);
  p = seer_vec_move(
      &b, SEER_VEC_F32, seer_vec_buffer(&b, out), seer_vec2(&b, SEER_VEC_MUL_INDEX, part, two));
  acc = seer_vec_load(&b, SEER_VEC_F32, 4, slot, 16, SEER_VEC_NO_BUF, false);
  mask = seer_vec2(&b, SEER_VEC_SLT, seer_vec_series(&b, SEER_VEC_I32, 4, 0, 1),
      seer_vec_const(&b, SEER_VEC_I32, 4, 2));
  seer_vec_store_masked(&b, acc, p, mask, 4, out);
  const char *text = seer_vec_print(code, w.arena);
  expect_ok(seer_vec_verify(code), text);
  assert_string_equal(seer_vec_print(vector_code_parse(w.loop, text, w.arena), w.arena), text);
  void **data = vector_code_data(w.loop, w.arena);
  expect_ok(seer_vec_eval(code, data, NULL), text);
  const float *got = data[out];
  for (int k = 0; k < 4; k += 2)  // 0 + 4 * 4, 1 + 5 * 5
    assert_true(got[k] == 16 && got[k + 1] == 26);
  assert_true(got[4] != got[4]);
  seer_arena_destroy(w.arena);
}

// ---- what is no text

static const struct {
  const char *head, *body, *says;
} no_text[] = {{"", "%0 i64 = prt\n", "expected an instruction that gives a value, found 'prt'"},
    {"", "%0 i64 = fence\n", "expected an instruction that gives a value"},
    {"", "part\n", "expected an instruction without a value"},
    {"", "%0 i64 = part\n%0 i64 = part\n", "value %0 is there already"},
    {"", "%0 i64 = neg %1\n", "no value %1 further up"},
    {"", "%0 i24 = neg i24 1\n", "expected a type"},
    {"", "%0 f32x0 = neg f32 1\n", "expected a type"},
    {"", "%0 f32x257 = neg f32 1\n", "expected a type of at most 256 lanes"},
    {"", "%0 i8 = neg i8 256\n", "256 is not in [-128, 255]"},
    {"", "%0 i1 = not i1 2\n", "2 is not in"},
    {"", "%0 f32 = fneg f32 nan.1ffffffff\n", "expected a number"},
    {"", "%0 f32 = fadd f32 1\n", "expected ','"},
    {"", "%0 ptr = buffer $nothing\n", "has no buffer $nothing"},
    {"", "%0 ptr = move fill[0], i64 1 of f32\n", "fill 0, there are 0"},
    {"", "store slot[0], i32 1\n", "slot 0, there are 0"},
    {"", "slot[1] = f32 * 1\n", "slot 1, there are 1"}, {"", "slot[0] = f32 * 0\n", "0 is not in"},
    {"", "%0 ptr = move ptr 0, i64 1 of f32\n", "a pointer is no constant"},
    {"", "prefetch ptr undef\n", "expected 'level'"}, {"", "loop i64 1 {\n", "found end of text"},
    {"", "when i1 1 {\n} otherwise {\n}\n", "expected an instruction"},
    {"  fill[1] = f32 0 bytes 64\n", "", "fill 1, there are 1"},
    {"  fill[0] = f32x2 0 bytes 64\n", "", "a constant of one lane"},
    {"  fill[0] = f32 0 bytes 96\n", "", "96 bytes, must be a power of two"},
    {"  fill[0] = f32 0 bytes 64\n  fill[1] = f32 0 bytes 64\n", "", "is there already"},
    {"  slot[0] = f32 * 1\n", "", "expected 'phase', found 'slot'"}};

static void what_is_no_text_is_refused(void **state) {
  (void)state;
  for (size_t k = 0; k < SEER_COUNT_OF(no_text); k++) {
    bench w = open_bench();
    const char *text = vector_code_text(no_text[k].head, no_text[k].body, w.arena);
    seer_vec_code *code;
    expect_fault(
        seer_vec_parse("test", text, strlen(text), w.loop, w.arena, &code), no_text[k].says, text);
    assert_null(code);
    seer_arena_destroy(w.arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_instruction_is_text),
      cmocka_unit_test(what_is_built_is_text),
      cmocka_unit_test(what_is_no_text_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
