// cmd_run.c - familyseer run: one inference, outputs as .npy files or as a summary, compared with
// expected ones.
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/os.h"
#include "cli/command.h"
#include "cli/json.h"
#include "library/use.h"

// Tensor names may hold anything; a file name keeps letters, digits and - _ . ; the rest becomes _.
static const char *safe_name(const char *name, seer_arena *arena) {
  enum { MAX_BYTES = 200 };
  char *safe = seer_arena_strdup(arena, name);
  for (char *s = safe; *s; s++) {
    bool is_kept = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') ||
        (*s >= '0' && *s <= '9') || *s == '-' || *s == '_' || (*s == '.' && s != safe);
    if (!is_kept) *s = '_';
  }
  if (strlen(safe) > MAX_BYTES) safe[MAX_BYTES] = 0;
  return *safe ? safe : "output";
}

// A file name for each output, without its end. Those whose names are kept as they are come first:
// what an output is called that needed a change, or stands in the list twice, is a number behind
// it.
static const char **file_names(const seer_use *use) {
  const char **names = SEER_NEW_ARRAY(use->arena, const char *, use->n_outputs + 1);
  seer_map *taken = seer_map_create(use->arena);
  for (int pass = 0; pass < 2; pass++) {
    for (int32_t i = 0; i < use->n_outputs; i++) {
      const char *name = seer_use_declared(use, i)->name, *safe = safe_name(name, use->arena);
      bool is_own = strcmp(name, safe) == 0 && !seer_map_get_str(taken, safe, NULL);
      if (names[i] || (pass == 0 && !is_own)) continue;
      names[i] = safe;
      for (int32_t n = 1; seer_map_get_str(taken, names[i], NULL); n++)
        names[i] = seer_arena_printf(use->arena, "%s_%d", safe, n);
      seer_map_set_str(taken, names[i], 1);
    }
  }
  return names;
}

static seer_npy output_array(const seer_use *use, int32_t i) {
  seer_io_info io = seer_use_output(use, i);
  seer_npy npy = {.onnx_dtype = seer_npy_carrier(io.onnx_dtype),
      .rank = io.rank,
      .n_bytes = io.n_bytes,
      .data = use->output[i]};
  memcpy(npy.dim, io.dim, sizeof npy.dim);
  return npy;
}

static uint64_t n_elems(const seer_io_info *io) {
  uint64_t n = 1;
  for (int32_t k = 0; k < io->rank; k++) n *= (uint64_t)io->dim[k];
  return n;
}

static void summarise(const seer_use *use, int32_t i, bool is_json, json_t *list) {
  const seer_io_info now = seer_use_output(use, i), *io = &now;
  double low = INFINITY, high = -INFINITY, sum = 0;
  uint64_t n = n_elems(io), n_bad = 0, at_high = 0;
  for (uint64_t k = 0; k < n; k++) {
    double x = seer_element_f64(io->onnx_dtype, use->output[i], k);
    if (!isfinite(x)) {
      n_bad++;
      continue;
    }
    if (x < low) low = x;
    if (x > high) {
      high = x;
      at_high = k;
    }
    sum += x;
  }
  const char *shape = seer_shape_text(io->dim, io->rank, use->arena);
  double mean = n > n_bad ? sum / (double)(n - n_bad) : 0;
  if (n == n_bad) low = high = 0;
  if (is_json) {
    json_array_append_new(list,
        json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:I, s:I}", "name",
            seer_text_safe_whole(use->arena, io->name), "dtype",
            seer_npy_dtype_name(io->onnx_dtype), "shape", shape, "min", low, "max", high, "mean",
            mean, "argmax", (json_int_t)at_high, "not_finite", (json_int_t)n_bad));
    return;
  }
  printf("%-24s %s %s  min %g  max %g (at %llu)  mean %g", seer_text_safe(use->arena, io->name),
      seer_npy_dtype_name(io->onnx_dtype), shape, low, high, (unsigned long long)at_high, mean);
  if (n_bad > 0) printf("  NOT FINITE: %llu", (unsigned long long)n_bad);
  printf("\n");
}

static seer_status check_expected(
    const seer_context *context, seer_use *use, bool is_json, json_t *list, bool *out_ok) {
  for (size_t e = 0; e < seer_context_n_values(context, SEER_OPT_EXPECT); e++) {
    const char *name, *file;
    SEER_TRY(seer_pair_split(
        seer_context_value(context, SEER_OPT_EXPECT, e), "--expect", use->arena, &name, &file));
    int32_t i = seer_use_find_output(use, name);
    if (i < 0) {
      seer_text names;
      seer_text_init(&names, use->arena);
      for (int32_t k = 0; k < use->n_outputs; k++)
        seer_text_printf(
            &names, " '%s'", seer_text_safe(use->arena, seer_use_declared(use, k)->name));
      return SEER_FAIL(INVALID, "%s has no output '%s'; it has%s", use->path, name, names.data);
    }
    const seer_io_info now = seer_use_output(use, i), *io = &now;
    seer_npy npy;
    SEER_TRY(seer_npy_read(file, use->arena, &npy));
    bool is_same = npy.onnx_dtype == seer_npy_carrier(io->onnx_dtype) && npy.n_bytes == io->n_bytes;
    for (int32_t k = 0; io->bounded && is_same && k < io->rank; k++)
      is_same = npy.rank == io->rank && npy.dim[k] == io->dim[k];
    if (!is_same)
      return SEER_FAIL(INVALID, "%s: is %s of %s, output '%s' is %s of %s", file,
          seer_shape_text(npy.dim, npy.rank, use->arena), seer_npy_dtype_name(npy.onnx_dtype), name,
          seer_shape_text(io->dim, io->rank, use->arena),
          seer_npy_dtype_name(seer_npy_carrier(io->onnx_dtype)));
    seer_difference d = seer_compare(io->onnx_dtype, use->output[i], npy.data, n_elems(io),
        seer_context_f64(context, SEER_OPT_RTOL), seer_context_f64(context, SEER_OPT_ATOL));
    *out_ok = *out_ok && d.is_ok;
    double relative = d.max_expected > 0 ? d.max_error / d.max_expected : d.max_error;
    if (is_json)
      json_array_append_new(list,
          json_pack("{s:s, s:f, s:f, s:f, s:b}", "name", seer_text_safe_whole(use->arena, name),
              "max_error", isfinite(d.max_error) ? d.max_error : 1e308, "relative_error",
              isfinite(relative) ? relative : 1e308, "allowed", d.allowed, "ok", d.is_ok));
    else
      printf(
          "%-24s max error %.3g at element %llu (%.3g of the largest expected, %g); allowed %.3g: "
          "%s\n",
          seer_text_safe(use->arena, name), d.max_error, (unsigned long long)d.worst, relative,
          d.max_expected, d.allowed, d.is_ok ? "ok" : "DIFFERS");
  }
  return SEER_OK;
}

static seer_status write_outputs(seer_use *use, const char *folder, const char **names) {
  SEER_TRY(seer_os_make_dirs(folder));
  for (int32_t i = 0; i < use->n_outputs; i++) {
    seer_npy npy = output_array(use, i);
    SEER_TRY(seer_npy_write(
        seer_os_path_join(use->arena, folder, seer_arena_printf(use->arena, "%s.npy", names[i])),
        &npy));
  }
  return SEER_OK;
}

static seer_status run_and_show(seer_context *context, seer_use *use) {
  SEER_TRY(seer_use_fill(context, use));
  SEER_TRY(seer_use_run(use));
  bool is_json = seer_context_bool(context, SEER_OPT_JSON), is_ok = true;
  json_t *outputs = json_array(), *checks = json_array();
  const char *folder = seer_context_str(context, SEER_OPT_OUTPUT);
  const char **names = *folder ? file_names(use) : NULL;
  seer_status status = *folder ? write_outputs(use, folder, names) : SEER_OK;
  for (int32_t i = 0; !status && (!*folder || is_json) && i < use->n_outputs; i++) {
    summarise(use, i, is_json, outputs);
    if (names)
      json_object_set_new(json_array_get(outputs, (size_t)i), "file",
          json_string(seer_arena_printf(use->arena, "%s.npy", names[i])));
  }
  if (!status) status = check_expected(context, use, is_json, checks, &is_ok);
  if (!status && is_json)
    status = seer_cli_put_json(json_pack("{s:O, s:O}", "outputs", outputs, "checks", checks));
  json_decref(outputs);
  json_decref(checks);
  if (!status && !is_ok)
    status = SEER_FAIL(INVALID, "%s: outputs differ from what was expected", use->path);
  return status;
}

static seer_status run(seer_context *context, int argc, char **argv) {
  (void)argc;
  seer_use use;
  seer_status status = seer_use_open(context, argv[0], seer_context_str(context, SEER_OPT_WEIGHTS),
      NULL, false, seer_context_arena(context), &use);
  if (!status) status = seer_use_choose(context, &use);
  if (!status) status = run_and_show(context, &use);
  seer_use_close(&use);
  return status;
}

const seer_command seer_command_run = {
    .name = "run",
    .args =
        "MODEL.so [-i NAME=x.npy]... [--input-shapes x:1x8] [--fill random|zeros|ones] [--seed N] "
        "[-o DIR] [--expect NAME=y.npy --rtol R]",
    .doc =
        "runs a compiled model once; outputs as .npy files, a summary, or compared with expected "
        "ones",
    .example = "  familyseer run out/model.so -i x=x.npy -o results\n",
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
