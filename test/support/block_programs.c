// block_programs.c - see block_programs.h.
#include "support/block_programs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "space/items/shadow.h"
#include "support/test.h"

static void product(const float *const *input, float *output, int m, int n, int k, bool is_relu) {
  for (int i = 0; i < m; i++) {
    for (int j = 0; j < n; j++) {
      double sum = 0;
      for (int l = 0; l < k; l++) sum += (double)input[0][i * k + l] * (double)input[1][l * n + j];
      output[i * n + j] = (float)(is_relu && sum < 0 ? 0 : sum);
    }
  }
}

static void compute_product(const float *const *input, float *output) {
  product(input, output, 100, 72, 41, true);
}

static void compute_wide(const float *const *input, float *output) {
  product(input, output, 100, 88, 44, true);
}

static void compute_stages(const float *const *input, float *output) {
  product(input, output, 48, 32, 40, false);
}

static void compute_reduction(const float *const *input, float *output) {
  for (int i = 0; i < 5; i++) {
    double sum = 0;
    for (int k = 0; k < 1000; k++) sum += (double)input[0][i * 1000 + k];
    output[i] = (float)sum;
  }
}

static void compute_softmax(const float *const *input, float *output) {
  for (int i = 0; i < 6; i++) {
    const float *row = &input[0][i * 50];
    double most = -INFINITY, total = 0;
    for (int k = 0; k < 50; k++) most = fmax(most, (double)row[k]);
    for (int k = 0; k < 50; k++) total += exp((double)row[k] - most);
    for (int k = 0; k < 50; k++) output[i * 50 + k] = (float)(exp((double)row[k] - most) / total);
  }
}

static void compute_conv(const float *const *input, float *output) {
  for (int y = 0; y < 11; y++) {
    for (int x = 0; x < 11; x++) {
      for (int o = 0; o < 12; o++) {
        double sum = 0;
        for (int ry = 0; ry < 3; ry++) {
          for (int rx = 0; rx < 3; rx++) {
            int yy = y + ry - 1, xx = x + rx - 1;
            if (yy < 0 || yy >= 11 || xx < 0 || xx >= 11) continue;
            for (int c = 0; c < 8; c++) {
              sum += (double)input[0][(yy * 11 + xx) * 8 + c] *
                  (double)input[1][((ry * 3 + rx) * 8 + c) * 12 + o];
            }
          }
        }
        output[(y * 11 + x) * 12 + o] = (float)sum;
      }
    }
  }
}

const block_program block_programs[N_BLOCK_PROGRAMS] = {
    {"product", 2, compute_product, 1e-6F},
    {"stages", 2, compute_stages, 1e-6F},
    {"reduction", 1, compute_reduction, 1e-6F},
    {"softmax", 1, compute_softmax, 1e-6F},
    {"conv", 2, compute_conv, 1e-6F},
    {"wide", 2, compute_wide, 1e-6F},
};

const block_program *block_program_named(const char *name) {
  for (uint32_t k = 0; k < N_BLOCK_PROGRAMS; k++) {
    if (strcmp(block_programs[k].name, name) == 0) return &block_programs[k];
  }
  fail_msg("no block program %s", name);
  return NULL;
}

seer_loop *block_copy(const char *type, seer_arena *arena) {
  const char *text = seer_arena_printf(arena,
      "loop copy { input $x %s[64, 64] of 0 output $y %s[64, 64] of 1 workgroup $g %s[64, 16] of "
      "2\n"
      "phase { parallel @b < 4 stage 0 { alloc $g stage 0\n"
      "thread @t < 128 stage 0 { vector @w < 8 stage 0 {\n"
      "let @m in [0, 63] stage 0 = (@t * 8 + @w) / 16\n"
      "let @n in [0, 15] stage 0 = (@t * 8 + @w) %% 16\n"
      "store $g[@m, @n] stage 0 = $x[@m, @b * 16 + @n] } }\n"
      "barrier thread @u < 128 stage 0 { vector @v < 8 stage 0 {\n"
      "store $y[(@u * 8 + @v) / 16, @b * 16 + (@u * 8 + @v) %% 16] stage 0 = "
      "$g[63 - (@u * 8 + @v) / 16, (@u * 8 + @v) %% 16] } } } } }",
      type, type, type);
  seer_loop *loop;
  must(seer_loop_parse("copy", text, strlen(text), arena, &loop));
  must(seer_loop_verify(loop));
  return loop;
}

const char *block_program_text(const block_program *program, seer_arena *arena) {
  const char *path =
      seer_arena_printf(arena, SEER_SOURCE_DIR "/test/data/block/%s.loop", program->name);
  char *text;
  size_t n;
  must(seer_os_read_file(path, arena, 1u << 16, &text, &n));
  return seer_arena_strndup(arena, text, n);
}

seer_loop *block_program_parse(const block_program *program, const char *text, seer_arena *arena) {
  seer_loop *loop;
  must(seer_loop_parse(program->name, text, strlen(text), arena, &loop));
  return loop;
}

void **block_program_data(const seer_loop *loop, seer_rng *rng, seer_arena *arena) {
  void **data = SEER_NEW_ARRAY(arena, void *, loop->n_buf);
  for (uint32_t b = 0; b < loop->n_buf; b++) {
    if (!seer_loop_is_argument(loop->buf[b].storage)) continue;
    float *value = SEER_NEW_ARRAY(arena, float, loop->buf[b].n_elems);
    bool is_input = loop->buf[b].storage == SEER_STORE_INPUT;
    for (int64_t k = 0; k < loop->buf[b].n_elems; k++)
      value[k] = is_input ? (float)(seer_rng_f64(rng) * 4 - 2) : NAN;
    data[b] = value;
  }
  return data;
}

const char *block_program_compare(
    const block_program *program, const seer_loop *loop, void *const *data, seer_arena *arena) {
  int64_t n = loop->buf[program->n_input].n_elems;
  float *want = SEER_NEW_ARRAY(arena, float, n), largest = 0;
  const float *got = data[program->n_input];
  const float *input[SEER_DAG_MAX_VALUES];
  for (uint32_t k = 0; k < program->n_input; k++) input[k] = data[k];
  program->compute(input, want);
  for (int64_t k = 0; k < n; k++) largest = fmaxf(largest, fabsf(want[k]));
  for (int64_t k = 0; k < n; k++) {
    if (fabsf(got[k] - want[k]) <= program->tolerance * largest) continue;
    return seer_arena_printf(arena, "%s: element %" PRId64 " is %g, expected %g", program->name, k,
        (double)got[k], (double)want[k]);
  }
  return NULL;
}

bool block_program_is_of_items(seer_status status) {
  const char *message = seer_status_message(status);
  for (int k = SEER_SHADOW_UNWRITTEN; k < SEER_SHADOW_VERDICT_COUNT; k++) {
    if (strstr(message, seer_shadow_verdict_text((seer_shadow_verdict)k))) return true;
  }
  return false;
}

// ---- faults

const block_fault block_faults[] = {
    {"product", "the barrier behind the fetches is missing", "          barrier\n", "", 0, true,
        true, false},
    {"product", "the barrier at the end of the depth's loop is missing", "          barrier\n", "",
        1, true, true, false},
    {"reduction", "a barrier in an item's branch", "thread @u.16 < 16 stage 0 {",
        "thread @u.16 < 16 stage 0 { barrier", 0, true, false, false},
    {"product", "half of a fetch", "for @f.a < 4 ", "for @f.a < 2 ", 0, true, true, true},
    {"product", "a fetch that is one short", "thread @t.b < 64 ", "thread @t.b < 63 ", 0, true,
        true, true},
    {"product", "a buffer that is too small", "$b.tile f32[8, 24]", "$b.tile f32[8, 23]", 0, true,
        true, false},
    {"product", "an item's coefficient is wrong", "@v.out * 8 + @r.out, @s.out * 3 + @w.out], 0.0",
        "@v.out * 8 + @r.out, @s.out * 2 + @w.out], 0.0", 0, true, true, false},
    {"product", "two items write one element", "init $sum[@v.init * 8 + @r.init, @s.init * 3",
        "init $sum[@v.init * 7 + @r.init, @s.init * 3", 0, true, true, false},
    {"stages", "the other stage of a double buffer is stale", "@k % 2, @r, @kk",
        "(@k + 1) % 2, @r, @kk", 0, true, true, false},
    {"stages", "a double buffer's next step goes where this one is read", "(@k + 1) % 2, @t.b",
        "@k % 2, @t.b", 0, true, true, false},
    {"product", "a pad that is left out", "stride [9, 1] elems 288", "stride [7, 1] elems 288", 0,
        true, true, false},
    {"product", "a guard is missing", " & (@k * 8 + @n < 41)", "", 0, true, true, false},
    {"product", "a divisor is wrong", "(@f.b * 64 + @t.b) / 24", "(@f.b * 64 + @t.b) / 25", 0, true,
        true, false},
    {"product", "the last rows' bound is one too high", "+ 107) / 8", "+ 108) / 8", 0, true, true,
        false},
    {"reduction", "a step of the tree without its barrier", "      barrier\n", "", 2, true, true,
        false},
    {"reduction", "a step of the tree takes what another item adds to", "$tree[@u.16 + 16]",
        "$tree[@u.16 + 15]", 0, true, true, false},
    {"reduction", "a step of the tree reaches too far", "$tree[@u.16 + 16]", "$tree[@u.16 + 17]", 0,
        false, false, false},
    {"softmax", "the total is read before the tree has ended", "        barrier\n", "", 1, true,
        true, false},
    {"conv", "the window's fetch leaves out its last row", "@f * -64 + 144 {", "@f * -64 + 120 {",
        0, true, true, true},
    {"conv", "weights are not waited for", "          barrier\n", "", 1, true, true, false},
};
const uint32_t n_block_faults = SEER_COUNT_OF(block_faults);

const char *block_fault_text(const block_fault *fault, seer_arena *arena) {
  const char *text = block_program_text(block_program_named(fault->program), arena);
  const char *place = strstr(text, fault->old_text);
  for (uint32_t k = 0; place && k < fault->at; k++)
    place = strstr(place + strlen(fault->old_text), fault->old_text);
  assert_non_null(place);
  return seer_arena_printf(arena, "%.*s%s%s", (int)(place - text), text, fault->new_text,
      place + strlen(fault->old_text));
}
