// test_vector_text.c - vector code as text: printed, parsed, judged, interpreted. Each fault that
// is written into it is caught.

#include <string.h>

#include "support/test.h"
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
    "    store %94, %74 $f32\n"
    "    %95 i32 = dot4 %6, %7, %8\n"
    "    %96 i32x4 = dot4 %86, i32x4 -1, %87\n"
    "    %97 f32x4 = shuffle %82, %83 lanes 0 2 4 6\n"
    "    %98 i1x8 = shuffle %57, i1x8 0 lanes 7 8 6 8 5 8 4 15\n"
    "    %99 ptr = buffer $bytes\n"
    "    %100 i8x4 = lookup %99, i8x4 -1 align 1 $bytes invariant\n"
    "    %101 f32x4 = dot2 %86, i32x4 -1, f32x4 0.5\n"
    "    %102 f32x4 = pick %86 of 0 0.5 -1 3 4 5 6 7 8 9 10 11 12 13 14 1.00000001e-10\n"
    "    matrix_shapes 2 by 3 2 by 4 4 by 3 0 by 0 0 by 0 16 by 16 1 by 16 16 by 1\n"
    "    matrix_zero matrix 0\n"
    "    matrix_load fill[0], i64 8 matrix 2 $table\n"
    "    matrix_dot4 matrix 0 of 1 by 2\n"
    "    matrix_dot2 matrix 5 of 6 by 7\n"
    "    %103 ptr = buffer $i32\n"
    "    matrix_store %103, i64 16 matrix 0 align 4 $i32\n";

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
  // Of block programs: test_vector_items.c.
  met[SEER_VEC_ITEM] = met[SEER_VEC_BARRIER] = met[SEER_VEC_COPY] = met[SEER_VEC_ARRIVE] = true;
  met[SEER_VEC_MMA] = true;  // test_mma.c
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

// ---- what is no sound code

// In one phase, where %0 and %1 point to $in and $f32, %2 to the scratch, and %3 is the part.
static const char phase_head[] =
    "%0 ptr = buffer $in\n"
    "%1 ptr = buffer $f32\n"
    "%2 ptr = scratch\n"
    "%3 i64 = part\n";
// What the verifier finds.
static const struct {
  const char *body, *says;
} unsound[] = {
    // types of operators
    {"%4 f32 = add f32 1, f32 2\n", "is not defined on f32"},
    {"%4 i1 = add i1 1, i1 0\n", "is not defined on i1"},
    {"%4 i32 = fadd i32 1, i32 2\n", "is not defined on i32"},
    {"%4 i32 = add_index i32 1, i32 2\n", "is not defined on i32"},
    {"%4 i32 = add i32 1, i64 2\n", "argument 2 is i64, must be i32x1"},
    {"%4 i32x4 = add i32x4 1, i32x2 2\n", "argument 2 is i32x2, must be i32x4"},
    {"%4 f32 = fmuladd f32 1, f32 2, f64 3\n", "argument 3 is f64"},
    {"%4 i64 = dot4 i64 1, i64 2, i64 3\n", "is not defined on i64"},
    {"%4 i8 = dot4 i8 1, i8 2, i8 3\n", "is not defined on i8"},
    {"%4 i32 = dot4 i32 1, i32 2, i64 3\n", "argument 3 is i64, must be i32x1"},
    {"%4 i8x4 = lookup %0, i16x4 0 $in\n", "argument 2 is i16x4, must be i8x4"},
    {"%4 i8x4 = lookup %0, i8x2 0 $in\n", "argument 2 is i8x2, must be i8x4"},
    {"%4 i16 = lookup %0, i16 0 $in\n", "argument 2 is i16, must be i8x1"},
    {"%4 f32 = dot2 i64 1, i64 2, f32 3\n", "is not defined on i64"},
    {"%4 f32 = dot2 i32 1, i32x2 2, f32 3\n", "argument 2 is i32x2, must be i32x1"},
    {"%4 i32 = dot2 i32 1, i32 2, i32 3\n", "argument 3 is i32, must be f32x1"},
    {"%4 i32 = dot2 i32 1, i32 2, f32 3\n", "the value is i32, must be f32x1"},
    {"%4 i64 = add i32 1, i32 2\n", "the value is i64, must be i32x1"},
    {"%4 i32x2 = add i32 1, i32 2\n", "the value is i32x2, must be i32x1"},
    {"%4 i32 = slt i32 1, i32 2\n", "the value is i32, must be i1x1"},
    {"%4 i1 = slt i32x4 1, i32x4 2\n", "the value is i1, must be i1x4"},
    {"%4 i1 = flt ptr undef, ptr undef\n", "argument 1 is a constant ptr"},
    {"%4 i1 = eq %0, %1\n", "is not defined on ptr"}, {"%4 f32 = fneg %99\n", "no value %99"},
    // conversions
    {"%4 i32 = zext i32 1\n", "does not make i32 of i32"},
    {"%4 i16 = sext i32 1\n", "does not make i16 of i32"},
    {"%4 i64 = trunc i32 1\n", "does not make i64 of i32"},
    {"%4 i64x2 = zext i32 1\n", "does not make i64x2 of i32"},
    {"%4 f32 = sint_float f32 1\n", "does not make f32 of f32"},
    {"%4 f32 = float_sint f32 1\n", "does not make f32 of f32"},
    {"%4 i1 = float_uint f32 1\n", "does not make i1 of f32"},
    {"%4 f32 = float_wider f64 1\n", "does not make f32 of f64"},
    {"%4 f64 = float_shorter f32 1\n", "does not make f64 of f32"},
    {"%4 i32 = half_bits f32 1\n", "does not make i32 of f32"},
    {"%4 f64 = bits_half i16 1\n", "does not make f64 of i16"},
    {"%4 i64 = bitcast f32 1\n", "does not make i64 of f32"},
    {"%4 f32 = bitcast f32 1\n", "does not make f32 of f32"},
    // lanes
    {"%4 i32x4 = select i1x2 1, i32x4 1, i32x4 2\n", "argument 1 is i1x2, must be i1x4"},
    {"%4 i32x4 = select i8 1, i32x4 1, i32x4 2\n", "argument 1 is i8, must be i1x1"},
    {"%4 i32 = select i1 1, i32 1, i64 2\n", "argument 3 is i64"},
    {"%4 ptr = select i1 1, %0, %1\n", "pointers to two buffers"},
    {"slot[0] = f32 * 1\n%4 ptr = select i1 1, %2, slot[0]\n", "pointers to two buffers, or to a"},
    {"%4 i32x4 = splat i32x2 1\n", "argument 1 is i32x2, must be i32x1"},
    {"%4 i32 = splat i32 1\n", "1 lanes, must be 2 to 256"},
    {"%4 i32 = extract i32x4 1 lane 4\n", "lane 4, there are 4"},
    {"%4 i32x4 = insert i32x4 1, i32x2 1 lane 0\n", "argument 2 is i32x2"},
    {"%4 i32x4 = insert i32x4 1, i64 1 lane 0\n", "argument 2 is i64"},
    {"%4 i32x2 = insert i32x4 1, i32 1 lane 0\n", "the value is i32x2"},
    {"%4 i32 = low_half i32x3 1\n", "3 lanes have no halves"},
    {"%4 i32x4 = high_half i32x4 1\n", "the value is i32x4, must be i32x2"},
    {"%4 i32x2 = shuffle i32x2 1, i32x4 1 lanes 0 1\n", "argument 2 is i32x4, must be i32x2"},
    {"%4 i32x2 = shuffle i32x4 1, i32x4 1 lanes 0 1\n", "the value is i32x2, must be i32x4"},
    {"%4 i32x2 = shuffle i32x2 1, i32x2 1 lanes 0 4\n", "lane 4, there are 4"},
    {"%4 i32x2 = shuffle i32x2 1, i32x2 1 lanes 0\n", "expected"},
    {"%4 f32x2 = pick f32x2 1 of 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n",
        "argument 1 is f32x2, must be i32x2"},
    {"%4 i32x2 = pick i32x2 1 of 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n",
        "the value is i32x2, must be f32x2"},
    {"%4 f32x2 = pick i32x2 1 of 0 1 2\n", "expected"},
    {"%4 i1 = any i8x4 1\n", "argument 1 is i8x4, must be i1x4"},
    {"%4 i1x4 = any i1x4 1\n", "the value is i1x4"},
    // memory
    {"%4 ptr = move %0, i32 1 of f32\n", "argument 2 is i32, must be i64x1"},
    {"%4 ptr = move %3, i64 1 of f32\n", "argument 1 is i64, must be ptr"},
    {"%4 ptr = move %0, i64 1 of i1\n", "never in memory"},
    {"%4 f32 = load %3 $in\n", "argument 1 is i64, must be ptr"},
    {"%4 i1 = load %0 $in\n", "i1 is never in memory"},
    {"%4 ptr = load %0 $in\n", "ptr is never in memory"},
    {"store %1, i1 1 $f32\n", "i1 is never in memory"},
    {"store %1, %0 $f32\n", "ptr is never in memory"},
    {"%4 i32 = load %0 $in\n", "i32, the buffer is of f32"},
    {"%4 f32 = load %0 align 3 $in\n", "aligned to 3, must be a power of two"},
    {"%4 f32 = load %0 $other\n", "points to $in"},
    {"%4 ptr = move %0, %3 of f32\nstore %4, f32 1 $f32\n", "points to $in"},
    {"%4 f32 = load %0\n", "buffer 4294967295"},
    {"store %0, f32 1 $in\n", "a store to what is only read"},
    {"%4 ptr = buffer $packed\nstore %4, f32 1 $packed\n", "a store to what is only read"},
    {"store fill[0], f32 1 $f32\n", "a store to what is only read"},
    {"%4 ptr = select i1 1, %1, fill[0]\nstore %4, f32 1 $f32\n", "a store to what is only read"},
    {"matrix_shapes 2 by 0 0 by 0 0 by 0 0 by 0 0 by 0 0 by 0 0 by 0 0 by 0\n", "2 by 0, must be"},
    {"matrix_dot4 matrix 0 of 1 by 1\n", "must be different matrices"},
    {"matrix_dot4 matrix 0 of 0 by 1\n", "must be different matrices"},
    {"matrix_load %3, i64 4 matrix 0 $in\n", "argument 1 is i64, must be ptr"},
    {"matrix_load %0, i32 4 matrix 0 $in\n", "argument 2 is i32, must be i64x1"},
    {"matrix_load %0, i64 4 matrix 0 $f32\n", "points to $in"},
    {"matrix_store %0, i64 4 matrix 0 $in\n", "a store to what is only read"},
    {"slot[0] = f32 * 4\nmatrix_load slot[0], i64 4 matrix 0\n", "a slot has no rows"},
    {"%4 ptr = buffer $local\n", "or a local one"},
    {"%4 f32x4 = load_masked %0, i1x2 1, f32x4 0 $in\n", "argument 2 is i1x2, must be i1x4"},
    {"%4 f32x4 = load_masked %0, i1x4 1, f32x2 0 $in\n", "argument 3 is f32x2"},
    {"store_masked %1, f32x4 0, i1 1 $f32\n", "argument 3 is i1, must be i1x4"},
    {"prefetch %3 level 1\n", "must be a ptr"},
    {"prefetch %0 level 4\n", "level 4, must be 1 to 3"},
    // slots
    {"slot[0] = i1 * 1\n", "a slot of 1 i1"}, {"slot[0] = f32 * 1 align 12\n", "aligned to 12"},
    {"slot[0] = f32 * 4\n%4 ptr = move slot[0], %3 of f32\n", "a slot is moved once, and by a"},
    {"slot[0] = f32 * 4\n%4 ptr = move slot[0], i64 1 of f32\n%5 ptr = move %4, i64 1 of f32\n",
        "a slot is moved once"},
    {"slot[0] = f32 * 4\n%4 f32x4 = load slot[0] $in\n", "a slot is no buffer"},
    {"slot[0] = f32 * 4\n%4 f32x4 = load slot[0] invariant\n", "never invariant"},
    {"slot[0] = f32 * 4\n%4 f32x8 = load slot[0]\n", "bytes 0 to 32 of a slot of 16"},
    {"slot[0] = f32 * 4\n%4 ptr = move slot[0], i64 1 of f32\nstore %4, f32x4 0\n",
        "bytes 4 to 20 of a slot of 16"},
    {"slot[0] = f32 * 4\n%4 ptr = move slot[0], i64 -1 of f32\n%5 f32 = load %4\n",
        "bytes -4 to 0 of a slot of 16"},
    {"slot[0] = f32 * 4\nstore_masked slot[0], f32x4 0, i1x4 1\n", "no masked access"},
    {"slot[0] = f32 * 4\nprefetch slot[0] level 1\n", "and to no slot"},
    // control
    {"when i8 1 {\n}\n", "argument 1 is i8, must be i1x1"},
    {"when i1x2 1 {\n}\n", "argument 1 is i1x2"},
    {"leave_unless i64 1\n", "argument 1 is i64, must be i1x1"},
    {"loop i32 1 {\n%4 i64 = counter 1\n}\n", "argument 1 is i32, must be i64x1"},
    {"loop i64 1 {\n}\n", "its last counter does not count by 1"},
    {"loop i64 1 {\n%4 i64 = counter 1\n%5 i64 = counter 8\n}\n", "does not count by 1"},
    {"loop i64 1 {\n%4 i64 = counter 2\n}\n", "does not count by 1"},
    {"loop i64 1 {\n%4 i32 = counter 1\n}\n", "the value is i32"},
    {"loop i64 1 {\n%4 i64 = counter 1\nfence\n%5 i64 = counter 1\n}\n", "does not stand in front"},
    {"%4 i64 = counter 1\n", "does not stand in front"},
    {"when i1 1 {\n%4 i64 = counter 1\n}\n", "does not stand in front"},
    {"%4 i32 = part\n", "the value is i32"},
    // definitions
    {"loop i64 1 {\n%4 i64 = counter 1\n}\n%5 i64 = neg %4\n", "is not defined in front of it"},
    {"when i1 1 {\n%4 i64 = neg %3\n} else {\n%5 i64 = neg %4\n}\n", "is not defined in front"},
    {"when i1 1 {\n%4 i64 = neg %3\n}\n%5 i64 = neg %4\n", "is not defined in front of it"}};

static const char fill_head[] = "  fill[0] = f32 2 bytes 64\n";

// The slots of a body are declared in front of the phase.
static const char *phase_text(const char *body, seer_arena *arena) {
  const char *rest = body;
  if (strncmp(body, "slot", 4) == 0) rest = strchr(body, '\n') + 1;
  const char *whole =
      seer_arena_printf(arena, "%.*s%s%s", (int)(rest - body), body, phase_head, rest);
  return vector_code_text(fill_head, whole, arena);
}

static void what_is_unsound_is_found(void **state) {
  (void)state;
  for (size_t k = 0; k < SEER_COUNT_OF(unsound); k++) {
    bench w = open_bench();
    const char *text = phase_text(unsound[k].body, w.arena);
    seer_vec_code *code;
    seer_status status = seer_vec_parse("test", text, strlen(text), w.loop, w.arena, &code);
    if (!status) status = seer_vec_verify(code);
    expect_fault(status, unsound[k].says, text);
    seer_arena_destroy(w.arena);
  }
}

// What cannot be written: links, and numbers that mean nothing.
static void what_has_no_text_is_found(void **state) {
  (void)state;
  for (uint32_t fault = 0; fault < 12; fault++) {
    bench w = open_bench();
    const char *text = vector_code_text(every_head, every_body, w.arena), *says = "";
    seer_vec_code *code = vector_code_parse(w.loop, text, w.arena);
    uint32_t first = code->phase[0].body.first, at[SEER_VEC_OP_COUNT] = {0};
    for (uint32_t i = 1; i < code->n; i++) at[code->node[i].op] = i;
    seer_vec_node *node = code->node;
    switch (fault) {
      case 0:
        node[at[SEER_VEC_LEAVE_UNLESS]].next = first, says = "is in two places";
        break;
      case 1:
        node[at[SEER_VEC_FENCE]].next = code->n, says = "there are";
        break;
      case 2:
        code->phase[0].body.last = first, says = "a block's last instruction";
        break;
      case 3:
        node[at[SEER_VEC_NEG]].op = SEER_VEC_OP_COUNT, says = "operator";
        break;
      case 4:
        node[at[SEER_VEC_NEG]].arg[0].i = 0, says = "argument 1 is missing";
        break;
      case 5:
        node[at[SEER_VEC_NEG]].arg[0].i = code->n, says = "argument 1 is missing";
        break;
      case 6:
        node[at[SEER_VEC_FILL]].imm = 2, says = "fill 2, there are 2";
        break;
      case 7:
        code->fill[1].n_bytes = 100, says = "must be a multiple of 64";
        break;
      case 8:
        code->fill[1].value.i = first, says = "not of a constant";
        break;
      case 9:
        code->phase[0].slot[1] = code->phase[0].slot[0], says = "slot 1 is there twice";
        break;
      case 10:
        node[at[SEER_VEC_LOOP]].body[1] = node[at[SEER_VEC_LOOP]].body[0];
        says = "is in two places";
        break;
      default:
        code->n_phase = 0, says = "code of 0 phases, the loop has 1";
    }
    expect_fault(seer_vec_verify(code), says, text);
    seer_arena_destroy(w.arena);
  }
}

static void too_many_counters_are_found(void **state) {
  (void)state;
  bench w = open_bench();
  seer_vec_code *code = seer_vec_code_create(w.loop, w.arena);
  seer_vec_builder b;
  uint32_t loop;
  seer_vec_begin_phase(&b, code, "test_p0");
  seer_vec_begin_loop(&b, seer_vec_const(&b, SEER_VEC_I64, 1, 1), true, &loop);
  for (uint32_t k = 1; k < SEER_VEC_MAX_COUNTERS; k++) seer_vec_counter(&b, loop, k + 1);
  expect_ok(seer_vec_verify(code), "");
  seer_vec_counter(&b, loop, 2);
  expect_fault(seer_vec_verify(code), "17 counters, at most 16", "");
  seer_arena_destroy(w.arena);
}

// ---- what the interpreter finds, and what it lets pass (says: NULL)
#define SHAPES "matrix_shapes 2 by 3 2 by 4 4 by 3 0 by 0 0 by 0 0 by 0 0 by 0 0 by 0\n"

static const struct {
  const char *body, *says;
} runs[] = {
    // accesses
    {"%4 ptr = move %0, i64 64 of f32\n%5 f32 = load %4 $in\n", "bytes 256 to 260 of 256"},
    {"%4 ptr = move %0, i64 -1 of f32\n%5 f32 = load %4 $in\n", "bytes -4 to 0 of 256"},
    {"%4 ptr = move %0, i64 61 of f32\n%5 f32x4 = load %4 align 4 $in\n", "bytes 256 to 260"},
    {"%4 ptr = move %1, i64 64 of f32\nstore %4, f32 1 $f32\n", "bytes 256 to 260 of 256"},
    {"%4 ptr = move %2, i64 512 of i8\nstore %4, f32 1 $local\n", "bytes 512 to 516 of 512"},
    {"%4 f32x32 = load fill[0] $in\n", "is not aligned to 128"},
    {"%4 f32x32 = load fill[0] align 64 $in\n", "bytes 64 to 68 of 64"},
    {"%4 ptr = move %0, i64 99 of f32\n%5 ptr = move %4, i64 -50 of f32\n%6 f32 = load %5 $in\n",
        NULL},
    {"%4 ptr = move %0, i64 9999 of f32\nprefetch %4 level 1\n", NULL},
    {"%4 f32x4 = load %0 $in\n", "is not aligned to 16"},
    {"%4 f32x4 = load %0 align 4 $in\n", NULL},
    {"%4 f32x4 = load %0 align 8 $in\n", "byte 0 of what is aligned to 4 is not aligned to 8"},
    {"%4 ptr = move %0, i64 2 of i8\n%5 f32 = load %4 $in\n", "byte 2"},
    {"%4 ptr = buffer $packed\n%5 f32x4 = load %4 align 64 $packed\n", NULL},
    {"%4 ptr = buffer $packed\n%5 ptr = move %4, i64 8 of f32\n%6 f32x4 = load %5 align 64 "
     "$packed\n",
        "byte 32 of what is aligned to 64 is not aligned to 64"},
    {"slot[0] = f32 * 8 align 4\n%4 f32x4 = load slot[0]\n", "is not aligned to 16"},
    {"slot[0] = f32x4 * 2\n%4 f32x4 = load slot[0]\n", NULL},
    // masks
    {"%4 ptr = move %0, i64 62 of f32\n%5 i1x4 = slt i32x4 0 step 1, i32x4 2\n"
     "%6 f32x4 = load_masked %4, %5, f32x4 0 align 4 $in\n",
        NULL},
    {"%4 ptr = move %0, i64 62 of f32\n%5 i1x4 = slt i32x4 0 step 1, i32x4 3\n"
     "%6 f32x4 = load_masked %4, %5, f32x4 0 align 4 $in\n",
        "bytes 256 to 260"},
    {"%4 ptr = move %1, i64 62 of f32\n%5 i1x4 = slt i32x4 0 step 1, i32x4 2\n"
     "store_masked %4, f32x4 0, %5 align 4 $f32\n",
        NULL},
    {"%4 ptr = move %1, i64 62 of f32\n%5 i1x4 = sgt i32x4 0 step 1, i32x4 1\n"
     "store_masked %4, f32x4 0, %5 align 4 $f32\n",
        "bytes 256 to 260"},
    {"%4 ptr = move %0, i64 999 of f32\n%5 f32x4 = load_masked %4, i1x4 0, f32x4 0 align 4 $in\n",
        NULL},
    // what was never stored
    {"%4 f32 = load %2 $local\n", NULL},
    {"%4 f32 = load %2 $local\nstore %1, %4 $f32\n", "lane 0 is not known"},
    {"%4 f32 = load %2 $local\n%5 f32 = fadd %4, f32 1\nstore %1, %5 $f32\n", "is not known"},
    {"%4 f32 = load %2 $local\n%5 f32 = select i1 1, f32 1, %4\nstore %1, %5 $f32\n", NULL},
    {"%4 f32 = load %2 $local\n%5 f32 = select i1 0, f32 1, %4\nstore %1, %5 $f32\n",
        "is not known"},
    {"%4 f32 = load %2 $local\n%5 ptr = move %2, i64 64 of f32\nstore %5, %4 $local\n", NULL},
    {"%4 f32 = load %2 $local\nstore %2, %4 $local\n%5 f32 = load %2 $local\nstore %1, %5 $f32\n",
        "is not known"},
    {"store %2, f32 1 $local\n%4 f32 = load %2 $local\nstore %1, %4 $f32\n", NULL},
    {"store %2, f32 1 $local\n%4 f32x2 = load %2 align 4 $local\nstore %1, %4 align 4 $f32\n",
        "lane 1 is not known"},
    {"store %2, f32 1 $local\n%4 f32x2 = load %2 align 4 $local\n%5 f32 = extract %4 lane 0\n"
     "store %1, %5 align 4 $f32\n",
        NULL},
    {"store %2, f32 1 $local\n%4 f32x2 = load %2 align 4 $local\n"
     "store_masked %1, %4, i1x2 1 align 4 $f32\n",
        "lane 1 is not known"},
    {"%4 i1x2 = slt i32x2 0 step 1, i32x2 1\nstore %2, f32 1 $local\n"
     "%5 f32x2 = load %2 align 4 $local\nstore_masked %1, %5, %4 align 4 $f32\n",
        NULL},
    {"slot[0] = f32 * 1\n%4 f32 = load slot[0]\nstore %1, %4 $f32\n", "is not known"},
    {"slot[0] = i64 * 1\n%4 i64 = load slot[0]\n%5 ptr = move %0, %4 of f32\nprefetch %5 level 1\n",
        NULL},
    {"slot[0] = i64 * 1\n%4 i64 = load slot[0]\n%5 ptr = move %0, %4 of f32\n%6 f32 = load %5 "
     "$in\n",
        "the address is not known"},
    {"slot[0] = i64 * 1\n%4 i64 = load slot[0]\n%5 i1 = eq %4, i64 0\n"
     "%6 ptr = select %5, %0, fill[0]\n%7 f32 = load %6 $in\n",
        "the address is not known"},
    {"slot[0] = i64 * 1\n%4 i64 = load slot[0]\n%5 i1 = eq %4, i64 0\nwhen %5 {\n}\n",
        "the condition is not known"},
    {"slot[0] = i64 * 1\n%4 i64 = load slot[0]\n%5 i1 = eq %4, i64 0\nleave_unless %5\n",
        "the condition is not known"},
    {"slot[0] = i64 * 1\n%4 i64 = load slot[0]\nloop %4 {\n%5 i64 = counter 1\n}\n",
        "how often is not known"},
    {"slot[0] = i64 * 1\n%4 i64 = load slot[0]\n%5 i1 = eq %4, i64 0\n%6 i1 = and %5, i1 0\n"
     "%7 i1 = or i1 1, %5\nwhen %6 {\n}\nleave_unless %7\n",
        NULL},
    {"slot[0] = i32x2 * 1\n%4 i32x2 = load slot[0]\n%5 i1x2 = eq %4, i32x2 0\n"
     "%6 f32x2 = load_masked %0, %5, f32x2 0 align 4 $in\n",
        "the mask is not known"},
    {"slot[0] = i32x2 * 1\n%4 i32x2 = load slot[0]\n%5 i1x2 = eq %4, i32x2 0\n"
     "%6 i1x2 = insert %5, i1 1 lane 1\n%7 i1 = any %6\nwhen %7 {\n}\n",
        NULL},
    {"%4 f32x2 = insert f32x2 undef, f32 1 lane 0\n%5 f32x2 = insert %4, f32 1 lane 1\n"
     "store %1, %5 align 4 $f32\n",
        NULL},
    {"%4 f32x2 = insert f32x2 undef, f32 1 lane 0\nstore %1, %4 align 4 $f32\n",
        "lane 1 is not known"},
    {"%4 i32 = load %2 $table\n%5 i32 = sdiv i32 1, %4\n", NULL},
    // a part knows nothing of what the others stored
    {"%4 i1 = eq %3, i64 0\nwhen %4 {\nstore %2, f32 1 $local\n}\n%5 f32 = load %2 $local\n"
     "store %1, %5 $f32\n",
        "part 1"},
    // what is not defined
    {"%4 i64 = udiv i64 1, i64 0\n", "is not defined in lane 0"},
    {"%4 i64 = sdiv i64 -9223372036854775808, i64 -1\n", "is not defined in lane 0"},
    {"%4 i32x4 = srem i32x4 7, i32x4 3 step -1\n", "is not defined in lane 3"},
    {"%4 i64 = add_index i64 9223372036854775807, i64 1\n", "is not defined in lane 0"},
    {"%4 i64 = add i64 9223372036854775807, i64 1\n", NULL},
    {"%4 i32 = shl i32 1, i32 32\n", "is not defined in lane 0"},
    {"loop i64 0 runs {\n%4 i64 = counter 1\n}\n", "it does not run"},
    {"loop i64 -5 {\n%4 i64 = counter 1\n%5 i64 = udiv %4, i64 0\n}\n", NULL},
    {"leave_unless i1 0\n%4 i64 = udiv i64 1, i64 0\n", NULL},
    {"loop i64 3 {\n%4 i64 = counter 1\nwhen i1 1 {\nleave_unless i1 0\n}\n}\n"
     "%5 i64 = udiv i64 1, i64 0\n",
        NULL},
    {"when i1 1 {\n} else {\n%4 i64 = udiv i64 1, i64 0\n}\n", NULL},
    // matrices
    {SHAPES "matrix_load %0, i64 16 matrix 1 align 4 $in\n", NULL},
    {"matrix_load %0, i64 16 matrix 1 align 4 $in\n", "matrix 1 has no shape"},
    {"matrix_zero matrix 7\n", "matrix 7 has no shape"},
    {SHAPES "matrix_load %0, i64 16 matrix 3 align 4 $in\n", "matrix 3 has no shape"},
    {SHAPES "matrix_load %0, i64 241 matrix 1 align 1 $in\n", "bytes 241 to 257 of 256"},
    {SHAPES "matrix_load %0, i64 -1 matrix 1 align 4 $in\n", "bytes -1 to 15 of 256"},
    {SHAPES "matrix_dot4 matrix 0 of 2 by 1\n", "2 by 3 is no product of 4 by 3 and 2 by 4"},
    {SHAPES "matrix_dot2 matrix 0 of 1 by 2\nmatrix_store %1, i64 12 matrix 0 align 4 $f32\n",
        NULL},
    {SHAPES "matrix_load %2, i64 16 matrix 1 align 4 $local\nmatrix_dot4 matrix 0 of 1 by 2\n"
            "matrix_store %1, i64 12 matrix 0 align 4 $f32\n",
        "row 0, column 0 is not known, and others read it"},
    // what is invariant
    {"%4 f32 = load %1 $f32 invariant\n", NULL},
    {"%4 f32 = load %1 $f32 invariant\nwhen i1 0 {\nstore %1, f32 1 $f32\n}\n",
        "the phase stores to what is said to be invariant"},
    {"%4 f32 = load %0 $in invariant\nstore %1, f32 1 $f32\n", NULL},
    {"%4 f32 = load %2 $local invariant\n", "the phase stores to what is said to be invariant"}};

static void what_runs_is_judged(void **state) {
  (void)state;
  for (size_t k = 0; k < SEER_COUNT_OF(runs); k++) {
    bench w = open_bench();
    const char *text = phase_text(runs[k].body, w.arena);
    seer_vec_code *code = vector_code_parse(w.loop, text, w.arena);
    expect_ok(seer_vec_verify(code), text);
    seer_status status = seer_vec_eval(code, vector_code_data(w.loop, w.arena), NULL);
    if (runs[k].says)
      expect_fault(status, runs[k].says, text);
    else
      expect_ok(status, text);
    seer_arena_destroy(w.arena);
  }
}

// A buffer without data, and messages: phase, part, instruction and values.
static void faults_say_where(void **state) {
  (void)state;
  bench w = open_bench();
  const char *text =
      phase_text("leave_unless i1 1\n%4 i32x4 = udiv i32x4 5 step 1, i32x4 0 step 1\n", w.arena);
  seer_vec_code *code = vector_code_parse(w.loop, text, w.arena);
  void **data = vector_code_data(w.loop, w.arena);
  expect_fault(seer_vec_eval(code, data, NULL),
      "phase test_p0, part 0: %4 i32x4 = udiv i32x4 5 step 1, i32x4 0 step 1: is not defined in "
      "lane 0, of (5, 6, 7, 8), (0, 1, 2, 3)",
      text);
  text = phase_text("%4 f32 = load %0 $in\n", w.arena);
  data[vector_code_buf(w.loop, "in")] = NULL;
  expect_fault(
      seer_vec_eval(vector_code_parse(w.loop, text, w.arena), data, NULL), "no data", text);
  seer_arena_destroy(w.arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_instruction_is_text),
      cmocka_unit_test(what_is_built_is_text),
      cmocka_unit_test(what_is_no_text_is_refused),
      cmocka_unit_test(what_is_unsound_is_found),
      cmocka_unit_test(what_has_no_text_is_found),
      cmocka_unit_test(too_many_counters_are_found),
      cmocka_unit_test(what_runs_is_judged),
      cmocka_unit_test(faults_say_where),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
