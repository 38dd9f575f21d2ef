// use.c - a model.so and its buffers. The contract: use.h.
#include "library/use.h"

#include <elf.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "base/rng.h"
#include "dag/dtype.h"
#include "front/onnx/dtype.h"
#include "library/binding.h"
#include "runtime/exec.h"
#include "setup/shapes.h"
#include "setup/usage.h"

seer_status seer_rt_to_status(seer_rt_code code, const char *path, const char *message) {
  const char *text = message && *message ? message : "failed";
  switch (code) {
    case SEER_RT_OK:
      return SEER_OK;
    case SEER_RT_INVALID:
      return SEER_FAIL(INVALID, "%s: %s", path, text);
    case SEER_RT_UNSUPPORTED:
      return SEER_FAIL(UNSUPPORTED, "%s: %s", path, text);
    case SEER_RT_NOT_FOUND:
      return SEER_FAIL(NOT_FOUND, "%s: %s", path, text);
    case SEER_RT_IO:
      return SEER_FAIL(IO, "%s: %s", path, text);
    case SEER_RT_CORRUPT:
      return SEER_FAIL(CORRUPT, "%s: %s", path, text);
    case SEER_RT_RESOURCE:
      return SEER_FAIL(RESOURCE, "%s: %s", path, text);
    case SEER_RT_BUSY:
      return SEER_FAIL(RESOURCE, "%s: %s", path, text);
    case SEER_RT_DEVICE:
      return SEER_FAIL(DEVICE, "%s: %s", path, text);
    case SEER_RT_TIMEOUT:
      return SEER_FAIL(TIMEOUT, "%s: %s", path, text);
    case SEER_RT_STOPPED:
    case SEER_RT_INTERNAL:
      break;
  }
  return SEER_FAIL(INTERNAL, "%s: %s", path, text);
}

seer_status seer_pair_split(const char *text, const char *flag, seer_arena *arena,
    const char **out_name, const char **out_file) {
  const char *equals = strchr(text, '=');
  if (!equals || equals == text || !equals[1])
    return seer_usage_error("%s '%s' must be NAME=FILE.npy", flag, text);
  *out_name = seer_arena_strndup(arena, text, (size_t)(equals - text));
  *out_file = equals + 1;
  return SEER_OK;
}

const char *seer_use_path(const char *path, seer_arena *arena) {
  return seer_os_is_dir(path) ? seer_os_path_join(arena, path, "model.so") : path;
}

// What is easily taken for a library: the network itself, as a file or by its name.
static seer_status check_kind(const char *path) {
  bool is_name = !strchr(path, '/') && !strchr(path, '.');
  if (!seer_os_exists(path))
    return is_name
        ? SEER_FAIL(NOT_FOUND,
              "%s: there is no such file; `familyseer compile %s -o out` makes a library of a "
              "built-in network",
              path, path)
        : SEER_FAIL(NOT_FOUND, "%s: there is no such file", path);
  unsigned char head[SELFMAG] = {0};
  FILE *file = fopen(path, "rbe");
  size_t n = file ? fread(head, 1, sizeof head, file) : sizeof head;
  if (file) fclose(file);
  if (!file || (n == sizeof head && memcmp(head, ELFMAG, SELFMAG) == 0)) return SEER_OK;
  size_t n_path = strlen(path);
  if (n_path > 5 && strcmp(path + n_path - 5, ".onnx") == 0)
    return SEER_FAIL(INVALID,
        "%s is a network, must be a library; `familyseer compile %s -o out` makes out/model.so of "
        "it",
        path, path);
  return SEER_FAIL(INVALID, "%s is no library: it begins otherwise than these", path);
}

// On use->pool, or on threads of its own.
static seer_status make_session(seer_use *use, uint32_t n_threads, bool pin) {
  char message[1024] = "";
  if (!use->pool) {
    use->pool = use->api->pool_create(n_threads, pin);
    if (!use->pool) return SEER_FAIL(RESOURCE, "%s: threads cannot be made", use->path);
    use->owns_pool = true;
  }
  SEER_TRY(seer_rt_to_status(
      use->api->session_create(use->model, use->pool, &use->session, message, sizeof message),
      use->path, message));
  use->n_inputs = use->api->n_inputs(use->model);
  use->n_outputs = use->api->n_outputs(use->model);
  use->n_sets = use->api->n_sets(use->model);
  return SEER_OK;
}

seer_status seer_use_open(seer_context *context, const char *path, const char *weights,
    seer_pool *pool, bool pin, seer_arena *arena, seer_use *use) {
  *use = (seer_use){.path = seer_use_path(path, arena), .arena = arena};
  char message[1024] = "";
  SEER_TRY(check_kind(use->path));
  SEER_TRY(seer_rt_to_status(
      seer_model_load(use->path, &use->library, &use->api, message, sizeof message), use->path,
      message));
  const char *file = *weights ? weights : NULL;
  int32_t device = (int32_t)seer_device_first_number(seer_context_devices(context));
  seer_rt_code code = device > 0 && SEER_API_HAS(use->api, open_on)
      ? use->api->open_on(device, file, NULL, 0, 0, &use->model, message, sizeof message)
      : use->api->open(file, NULL, 0, 0, &use->model, message, sizeof message);
  SEER_TRY(seer_rt_to_status(code, use->path, message));
  use->owns_model = true;
  use->pool = pool;
  SEER_TRY(make_session(use, (uint32_t)seer_context_i64(context, SEER_OPT_THREADS), pin));
  return seer_use_select(use, 0);
}

seer_status seer_use_open_beside(
    const seer_use *of, uint32_t n_threads, seer_arena *arena, seer_use *out) {
  *out = (seer_use){.path = of->path, .arena = arena, .api = of->api, .model = of->model};
  return make_session(out, n_threads, false);
}

static const seer_io_info *input_at(const seer_use *use, int32_t index) {
  return use->api->set_input(use->model, use->set, index);
}

const seer_io_info *seer_use_declared(const seer_use *use, int32_t index) {
  return use->api->set_output(use->model, use->set, index);
}

int32_t seer_use_n_steps(const seer_use *use) {
  return use->api->set_n_steps(use->model, use->set);
}

// Libraries of the first version say no more than that something is wrong.
static seer_status bind(
    const seer_use *use, bool is_input, int32_t i, void *data, uint64_t n_bytes) {
  const seer_model_api *api = use->api;
  char message[1024] = "";
  seer_rt_code code;
  if (!SEER_API_HAS(api, session_bind_output))
    code =
        is_input ? api->bind_input(use->session, i, data) : api->bind_output(use->session, i, data);
  else if (is_input)
    code = api->session_bind_input(use->session, i, data, n_bytes, message, sizeof message);
  else
    code = api->session_bind_output(use->session, i, data, n_bytes, message, sizeof message);
  if (code != SEER_RT_OK && !*message)
    snprintf(message, sizeof message, "%s %d cannot be bound", is_input ? "input" : "output", i);
  return seer_rt_to_status(code, use->path, message);
}

// By a library that knows only the first members of an element.
static seer_rt_code time_as_first(
    seer_use *use, uint32_t n_runs, seer_step_info *steps, int32_t n) {
  const size_t n_bytes = SEER_STEP_INFO_FIRST_BYTES;
  memset(steps, 0, (size_t)n * sizeof *steps);
  seer_rt_code code = use->api->session_profile(use->session, n_runs, steps);
  for (int32_t i = n; i-- > 0;) {  // from the back: each moves up, over those that have moved
    seer_step_info info = {0};
    memcpy(&info, (const char *)steps + (size_t)i * n_bytes, n_bytes);
    steps[i] = info;
  }
  return code;
}

seer_status seer_use_time_steps(
    seer_use *use, uint32_t n_runs, seer_step_info *steps, int32_t n_steps) {
  char message[1024] = "profiling failed";
  seer_rt_code code = SEER_API_HAS(use->api, session_time_steps)
      ? use->api->session_time_steps(
            use->session, n_runs, steps, sizeof *steps, n_steps, message, sizeof message)
      : time_as_first(use, n_runs, steps, n_steps);
  return seer_rt_to_status(code, use->path, message);
}

seer_status seer_use_select(seer_use *use, int32_t set) {
  use->set = set;
  SEER_TRY(seer_rt_to_status(
      use->api->select(use->session, set), use->path, "there is no such set of shapes"));
  use->input = SEER_NEW_ARRAY(use->arena, void *, use->n_inputs + 1);
  use->output = SEER_NEW_ARRAY(use->arena, void *, use->n_outputs + 1);
  for (int32_t i = 0; i < use->n_inputs; i++) {
    uint64_t n_bytes = input_at(use, i)->n_bytes;
    use->input[i] = seer_arena_alloc(use->arena, n_bytes + 64, 64);
    SEER_TRY(bind(use, true, i, use->input[i], n_bytes));
  }
  for (int32_t i = 0; i < use->n_outputs; i++) {
    uint64_t n_bytes = seer_use_declared(use, i)->n_bytes;
    use->output[i] = seer_arena_alloc(use->arena, n_bytes + 64, 64);
    SEER_TRY(bind(use, false, i, use->output[i], n_bytes));
  }
  return SEER_OK;
}

const char *seer_use_shapes(const seer_use *use, int32_t set) {
  seer_text text;
  seer_text_init(&text, use->arena);
  for (int32_t i = 0; i < use->n_inputs; i++) {
    const seer_io_info *io = use->api->set_input(use->model, set, i);
    if (i > 0) seer_text_put(&text, " ");
    seer_text_put_safe(&text, io->name);
    seer_text_put(&text, "[");
    for (int32_t k = 0; k < io->rank; k++)
      seer_text_printf(&text, "%s%" PRId64, k > 0 ? "," : "", io->dim[k]);
    seer_text_put(&text, "]");
  }
  return text.n_bytes > 0 ? text.data : "no inputs";
}

int32_t seer_use_find(const seer_use *use, const char *shapes) {
  int32_t set = 0;
  bool is_there = true;
  for (; is_there && strcmp(seer_use_shapes(use, set), shapes) != 0; set++)
    is_there =
        set + 1 < use->n_sets || (use->n_inputs > 0 && use->api->set_input(use->model, set + 1, 0));
  return is_there ? set : -1;
}

// ---- choosing a set

// What is known of the inputs' shapes.
typedef struct {
  const int64_t **dims;  // by input; NULL: nothing
  int32_t *ranks;
} known_shapes;

static int32_t find_input(const seer_use *use, const char *name) {
  for (int32_t i = 0; i < use->n_inputs; i++)
    if (strcmp(input_at(use, i)->name, name) == 0) return i;
  return -1;
}

static seer_status no_input(const seer_use *use, const char *name) {
  SEER_TRY(seer_binding_refuse(use, name));
  seer_text names;
  seer_text_init(&names, use->arena);
  for (int32_t i = 0; i < use->n_inputs; i++)
    seer_text_printf(&names, " '%s'", input_at(use, i)->name);
  return SEER_FAIL(INVALID, "%s has no input '%s'; it has%s", use->path, name,
      use->n_inputs > 0 ? names.data : " none");
}

static seer_status know_from_option(seer_use *use, const char *text, known_shapes *known) {
  seer_named_shape *shape;
  uint32_t n;
  seer_status status = seer_shapes_parse(text, use->arena, &shape, &n);
  if (status) {
    seer_status usage = seer_usage_error("%s", seer_status_message(status));
    seer_status_free(status);
    return usage;
  }
  for (uint32_t k = 0; k < n; k++) {
    int32_t i = find_input(use, shape[k].name);
    if (i < 0) return no_input(use, shape[k].name);
    known->dims[i] = shape[k].dim;
    known->ranks[i] = (int32_t)shape[k].rank;
  }
  return SEER_OK;
}

// The -i files, once: the shapes choose a set, the data fills its inputs.
static seer_status read_given(const seer_context *context, seer_use *use) {
  size_t n = seer_context_n_values(context, SEER_OPT_INPUT);
  if (use->given) return SEER_OK;
  use->given = SEER_NEW_ARRAY(use->arena, seer_given, n + 1);
  for (size_t i = 0; i < n; i++) {
    seer_given *given = &use->given[i];
    const char *name;
    SEER_TRY(seer_pair_split(
        seer_context_value(context, SEER_OPT_INPUT, i), "-i", use->arena, &name, &given->file));
    given->input = find_input(use, name);
    if (given->input < 0) return no_input(use, name);
    SEER_TRY(seer_npy_read(given->file, use->arena, &given->npy));
    use->n_given++;
  }
  return SEER_OK;
}

seer_status seer_use_choose(const seer_context *context, seer_use *use) {
  if (use->n_sets == 1) return SEER_OK;  // a wrong shape is found when the input is filled
  known_shapes known = {SEER_NEW_ARRAY(use->arena, const int64_t *, use->n_inputs + 1),
      SEER_NEW_ARRAY(use->arena, int32_t, use->n_inputs + 1)};
  if (seer_context_n_values(context, SEER_OPT_INPUT_SHAPES) == 1)
    SEER_TRY(know_from_option(use, seer_context_value(context, SEER_OPT_INPUT_SHAPES, 0), &known));
  SEER_TRY(read_given(context, use));
  for (size_t i = 0; i < use->n_given; i++) {
    known.dims[use->given[i].input] = use->given[i].npy.dim;
    known.ranks[use->given[i].input] = use->given[i].npy.rank;
  }
  int32_t set = 0;
  char message[2048];
  SEER_TRY(seer_rt_to_status(
      use->api->find_set(use->model, known.dims, known.ranks, &set, message, sizeof message),
      use->path, message));
  return seer_use_select(use, set);
}

void seer_use_close(seer_use *use) {
  if (!use->api) return;
  if (use->session) use->api->session_destroy(use->session);
  for (int32_t i = 0; i < use->n_on_device; i++)
    use->api->device_free(use->model, use->on_device[i]);
  if (use->owns_pool) use->api->pool_destroy(use->pool);
  if (use->owns_model) use->api->close(use->model);
  seer_model_unload(use->library);  // NULL: another's
  *use = (seer_use){0};
}

double seer_element_f64(int32_t onnx_dtype, const void *data, uint64_t i) {
  return seer_dtype_load_f64(seer_onnx_dtype(onnx_dtype), data, (int64_t)i);
}

// Normal for floats; small whole numbers for integers: what networks see, and no denormals.
static void fill(
    const char *how, uint64_t seed, int32_t index, const seer_io_info *io, void *data) {
  seer_dtype dtype = seer_onnx_dtype(io->onnx_dtype);
  uint32_t elem_bytes = seer_dtype_bytes(dtype);
  uint64_t n = elem_bytes > 0 ? io->n_bytes / elem_bytes : 0;
  if (strcmp(how, "random") != 0) {
    double value = strcmp(how, "ones") == 0 ? 1 : 0;
    for (uint64_t i = 0; i < n; i++) seer_dtype_store_f64(dtype, data, (int64_t)i, value);
    return;
  }
  seer_rng rng;
  seer_rng_init_stream(&rng, seed, (uint64_t)index);
  for (uint64_t i = 0; i < n; i++) {
    double value = seer_dtype_is_float(dtype)
        ? seer_rng_normal(&rng)
        : (double)seer_rng_below(&rng, dtype == SEER_DTYPE_BOOL ? 2 : 10);
    seer_dtype_store_f64(dtype, data, (int64_t)i, value);
  }
}

static seer_status copy_given(seer_use *use, const seer_given *given) {
  const seer_io_info *io = input_at(use, given->input);
  const seer_npy *npy = &given->npy;
  bool is_same = npy->onnx_dtype == seer_npy_carrier(io->onnx_dtype) && npy->rank == io->rank;
  for (int32_t k = 0; k < io->rank && is_same; k++) is_same = npy->dim[k] == io->dim[k];
  if (!is_same)
    return SEER_FAIL(INVALID, "%s: is %s of %s, input '%s' must be %s of %s", given->file,
        seer_shape_text(npy->dim, npy->rank, use->arena), seer_npy_dtype_name(npy->onnx_dtype),
        io->name, seer_shape_text(io->dim, io->rank, use->arena),
        seer_npy_dtype_name(seer_npy_carrier(io->onnx_dtype)));
  memcpy(use->input[given->input], npy->data, npy->n_bytes);
  return SEER_OK;
}

seer_status seer_use_fill(const seer_context *context, seer_use *use) {
  bool *is_given = SEER_NEW_ARRAY(use->arena, bool, use->n_inputs + 1);
  SEER_TRY(read_given(context, use));
  for (size_t i = 0; i < use->n_given; i++) {
    SEER_TRY(copy_given(use, &use->given[i]));
    is_given[use->given[i].input] = true;
  }
  for (int32_t i = 0; i < use->n_inputs; i++)
    if (!is_given[i])
      fill(seer_context_str(context, SEER_OPT_FILL),
          (uint64_t)seer_context_i64(context, SEER_OPT_SEED), i, input_at(use, i), use->input[i]);
  return SEER_OK;
}

static seer_status move(seer_use *use, bool is_input, int32_t i) {
  const seer_model_api *api = use->api;
  const seer_io_info *io = is_input ? input_at(use, i) : seer_use_declared(use, i);
  char message[1024] = "";
  void *at = NULL;
  uint64_t n_bytes = io->n_bytes > 0 ? io->n_bytes : 1;
  seer_rt_code code = api->device_alloc(use->model, n_bytes, &at, message, sizeof message);
  if (code == SEER_RT_OK) {
    use->on_device[use->n_on_device++] = at;
    code = is_input
        ? api->device_upload(use->model, at, use->input[i], io->n_bytes, message, sizeof message)
        : SEER_RT_OK;
  }
  if (code == SEER_RT_OK && is_input)
    code =
        api->session_bind_device_input(use->session, i, at, io->n_bytes, message, sizeof message);
  else if (code == SEER_RT_OK)
    code =
        api->session_bind_device_output(use->session, i, at, io->n_bytes, message, sizeof message);
  return seer_rt_to_status(code, use->path, message);
}

seer_status seer_use_move_to_device(seer_use *use) {
  if (!SEER_API_HAS(use->api, session_bind_device_output))
    return SEER_FAIL(UNSUPPORTED, "%s: was made by an earlier version, without devices", use->path);
  use->on_device = SEER_NEW_ARRAY(use->arena, void *, use->n_inputs + use->n_outputs + 1);
  for (int32_t i = 0; i < use->n_inputs; i++) SEER_TRY(move(use, true, i));
  for (int32_t i = 0; i < use->n_outputs; i++) SEER_TRY(move(use, false, i));
  return SEER_OK;
}

seer_status seer_use_run(seer_use *use) {
  char message[1024] = "running failed";
  seer_rt_code code = SEER_API_HAS(use->api, session_run)
      ? use->api->session_run(use->session, message, sizeof message)
      : use->api->run(use->session);
  return seer_rt_to_status(code, use->path, message);
}

seer_status seer_use_watch(seer_use *use, seer_watcher watcher, void *user) {
  char message[1024] = "running failed";
  if (!SEER_API_HAS(use->api, session_watch))
    return SEER_FAIL(UNSUPPORTED,
        "%s: was made by an earlier version, whose libraries do not show what their steps leave; "
        "compile it anew",
        use->path);
  return seer_rt_to_status(
      use->api->session_watch(use->session, watcher, user, message, sizeof message), use->path,
      message);
}

seer_io_info seer_use_output(const seer_use *use, int32_t i) {
  seer_io_info io = *seer_use_declared(use, i);
  if (io.bounded == 0 || use->api->output_shape(use->session, i, io.dim) != SEER_RT_OK) return io;
  io.n_bytes = seer_onnx_dtype_bytes(io.onnx_dtype);
  for (int32_t k = 0; k < io.rank; k++) io.n_bytes *= (uint64_t)io.dim[k];
  return io;
}

int32_t seer_use_find_output(const seer_use *use, const char *name) {
  for (int32_t i = 0; i < use->n_outputs; i++)
    if (strcmp(seer_use_declared(use, i)->name, name) == 0) return i;
  return -1;
}

seer_difference seer_compare(int32_t onnx_dtype, const void *found, const void *expected,
    uint64_t n_elems, double rtol, double atol) {
  seer_difference d = {0};
  for (uint64_t i = 0; i < n_elems; i++) {
    double a = seer_element_f64(onnx_dtype, found, i),
           b = seer_element_f64(onnx_dtype, expected, i);
    double error = a == b || (isnan(a) && isnan(b)) ? 0 : fabs(a - b);
    if (isnan(error)) error = INFINITY;
    if (error > d.max_error) {
      d.max_error = error;
      d.worst = i;
    }
    if (isfinite(b) && fabs(b) > d.max_expected) d.max_expected = fabs(b);
  }
  d.allowed = atol + rtol * d.max_expected;
  d.is_ok = d.max_error <= d.allowed;
  return d;
}
