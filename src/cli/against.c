// against.c - inputs as .npy files -> a Python program -> outputs as .npy files.
#include "cli/against.h"

#include <string.h>

#include "base/os.h"
#include "front/front.h"
#include "front/onnx/dtype.h"
#include "models/models.h"

#define NO_PACKAGE 3  // exit status of the program below
#define TIMEOUT_NS (600 * (uint64_t)1000000000)

// argv: model, folder, then NAME for each input k, which is in<k>.npy, "--", and each output, which
// becomes out<k>.npy. Rewriting is off: the operators as they are defined.
static const char program[] =
    "import sys, os\n"
    "try:\n"
    "    import numpy, onnxruntime\n"
    "except ImportError as e:\n"
    "    print(e); sys.exit(3)\n"
    "model, folder, *names = sys.argv[1:]\n"
    "cut = names.index('--')\n"
    "inputs, outputs = names[:cut], names[cut + 1:]\n"
    "o = onnxruntime.SessionOptions()\n"
    "o.log_severity_level = 3\n"
    "o.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL\n"
    "try:\n"
    "    s = onnxruntime.InferenceSession(model, o, providers=['CPUExecutionProvider'])\n"
    "    at = lambda n: os.path.join(folder, n + '.npy')\n"
    "    feeds = {n: numpy.load(at(f'in{k}')) for k, n in enumerate(inputs)}\n"
    "    for k, y in enumerate(s.run(outputs, feeds)):\n"
    "        numpy.save(at(f'out{k}'), y)\n"
    "except Exception as e:\n"
    "    print(e); sys.exit(1)\n"
    "print(onnxruntime.__version__)\n";

static seer_status write_input(const char *folder, uint32_t k, int32_t onnx_dtype, int32_t rank,
    const int64_t *dim, const void *data, seer_arena *arena) {
  seer_npy npy = {.onnx_dtype = onnx_dtype, .rank = rank, .data = data};
  if (seer_npy_carrier(onnx_dtype) != onnx_dtype)
    return SEER_FAIL(UNSUPPORTED,
        "an input of type %s cannot be handed to ONNX Runtime: NumPy has no such type",
        seer_npy_dtype_name(onnx_dtype));
  npy.n_bytes = seer_dtype_bytes(seer_onnx_dtype(onnx_dtype));
  for (int32_t d = 0; d < rank; d++) npy.n_bytes *= (uint64_t)(npy.dim[d] = dim[d]);
  return seer_npy_write(
      seer_os_path_join(arena, folder, seer_arena_printf(arena, "in%u.npy", k)), &npy);
}

// The inputs of the library, and those that had a value when it was compiled.
static seer_status write_inputs(const seer_use *use, const seer_graph *graph, const char *folder,
    const char **argv, uint32_t *n_arg) {
  uint32_t k = 0;
  for (; k < (uint32_t)use->n_inputs; k++) {
    const seer_io_info *io = use->api->set_input(use->model, use->set, (int32_t)k);
    SEER_TRY(write_input(folder, k, io->onnx_dtype, io->rank, io->dim, use->input[k], use->arena));
    argv[(*n_arg)++] = io->name;
  }
  for (uint32_t b = 0; b < graph->n_bound; b++, k++) {
    const seer_tensor *t = &graph->bound[b].tensor;
    SEER_TRY(write_input(
        folder, k, seer_onnx_dtype_number(t->dtype), t->rank, t->dim, t->data, use->arena));
    argv[(*n_arg)++] = graph->bound[b].name;
  }
  return SEER_OK;
}

static seer_status read_outputs(const seer_use *use, const char *folder, seer_against *out) {
  out->io = SEER_NEW_ARRAY(use->arena, seer_io_info, use->n_outputs + 1);
  out->data = SEER_NEW_ARRAY(use->arena, const void *, use->n_outputs + 1);
  for (int32_t i = 0; i < use->n_outputs; i++) {
    const seer_io_info *own = seer_use_declared(use, i);
    seer_npy npy;
    SEER_TRY(seer_npy_read(
        seer_os_path_join(use->arena, folder, seer_arena_printf(use->arena, "out%d.npy", i)),
        use->arena, &npy));
    if (npy.onnx_dtype != own->onnx_dtype)
      return SEER_FAIL(INVALID, "output '%s' is %s, ONNX Runtime says %s",
          seer_text_safe(use->arena, own->name), seer_npy_dtype_name(own->onnx_dtype),
          seer_npy_dtype_name(npy.onnx_dtype));
    out->io[i] = (seer_io_info){.onnx_dtype = npy.onnx_dtype, .rank = npy.rank};
    memcpy(out->io[i].dim, npy.dim, sizeof npy.dim);
    out->data[i] = npy.data;
  }
  return SEER_OK;
}

static seer_status run_program(
    const char *const *argv, const char *said, seer_arena *arena, const char **out_text) {
  seer_os_process process;
  bool is_done = false;
  int exit_status = 0;
  size_t n = 0;
  char *text = NULL;
  SEER_TRY(seer_os_spawn(&(seer_os_spawn_options){.argv = argv, .stdout_path = said}, &process));
  seer_status status = seer_os_wait(&process, TIMEOUT_NS, &is_done, &exit_status);
  if (!is_done) seer_os_kill(&process);
  SEER_TRY(status);
  if (!is_done) return SEER_FAIL(TIMEOUT, "ONNX Runtime has not answered in ten minutes");
  SEER_TRY(seer_os_read_file(said, arena, 1 << 20, &text, &n));
  if (n > 0 && text[n - 1] == '\n') text[n - 1] = 0;
  *out_text = text;
  if (exit_status == 0) return SEER_OK;
  if (exit_status == NO_PACKAGE)
    return SEER_FAIL(NOT_FOUND,
        "%s has no ONNX Runtime (%s): pip install onnxruntime, or --python another one", argv[0],
        text);
  return SEER_FAIL(INVALID, "ONNX Runtime: %s", text);
}

// A built-in network has no file.
static seer_status find_file(seer_context *context, const char *model, const char *folder,
    seer_arena *arena, const char **out_path) {
  *out_path = model;
  if (seer_os_exists(model)) return SEER_OK;
  seer_graph *graph;
  SEER_TRY(seer_front_read(context, model, seer_model_build, arena, &graph));
  *out_path = seer_os_path_join(arena, folder, "network.onnx");
  seer_status status = seer_onnx_write(graph, *out_path);
  seer_graph_close(graph);
  return status;
}

seer_status seer_against_onnxruntime(seer_context *context, const char *python, const char *model,
    const seer_use *use, const seer_graph *graph, const char *folder, seer_against *out) {
  seer_arena *arena = use->arena;
  const char *program_path = seer_os_find_program(python, arena), *path;
  if (!program_path)
    return SEER_FAIL(NOT_FOUND, "there is no '%s' to run ONNX Runtime with", python);
  SEER_TRY(find_file(context, model, folder, arena, &path));
  const char **argv = SEER_NEW_ARRAY(
      arena, const char *, (uint32_t)(use->n_inputs + use->n_outputs) + graph->n_bound + 8);
  uint32_t n = 0;
  argv[n++] = program_path;
  argv[n++] = "-c";
  argv[n++] = program;
  argv[n++] = path;
  argv[n++] = folder;
  SEER_TRY(write_inputs(use, graph, folder, argv, &n));
  argv[n++] = "--";
  for (int32_t i = 0; i < use->n_outputs; i++) argv[n++] = seer_use_declared(use, i)->name;
  SEER_TRY(run_program(argv, seer_os_path_join(arena, folder, "said"), arena, &out->version));
  return read_outputs(use, folder, out);
}
