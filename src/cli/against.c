// against.c - inputs as .npy files -> a Python program -> outputs as .npy files.
#include "cli/against.h"

#include <string.h>

#include "base/map.h"
#include "base/os.h"
#include "front/front.h"
#include "front/onnx/dtype.h"
#include "models/models.h"

#define TIMEOUT_NS (600 * (uint64_t)1000000000)

// argv: model, folder, which holds "names" with lines: I and an input k, which is in<k>.npy; O and
// an output, which becomes out<k>.npy; N and what a node makes, which becomes an output, too.
// Names are hex, since they may hold anything. Rewriting is off: the operators as they are
// defined. What nodes make becomes an output by bytes behind the file's: a message that comes again
// is merged with what was there, so `graph { output { name } }` adds one, and its type is inferred.
static const char program[] =
    "import sys, os\n"
    "try:\n"
    "    import numpy, onnxruntime\n"
    "except ImportError as e:\n"
    "    print(e); sys.exit(3)\n"
    "model, folder = sys.argv[1:]\n"
    "at = lambda n: os.path.join(folder, n)\n"
    "lines = [l.split() for l in open(at('names'))]\n"
    "of = lambda kinds: [bytes.fromhex((l + [''])[1]).decode() for l in lines if l[0] in kinds]\n"
    "inputs, outputs, nodes = of('I'), of('ON'), of('N')\n"
    "def field(tag, data):\n"
    "    n, size = len(data), b''\n"
    "    while n > 127: size, n = size + bytes([n & 127 | 128]), n >> 7\n"
    "    return bytes([tag]) + size + bytes([n]) + data\n"
    "o = onnxruntime.SessionOptions()\n"
    "o.log_severity_level = 3\n"
    "o.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL\n"
    "try:\n"
    "    if nodes:\n"
    "        o.add_session_config_entry('session.model_external_initializers_file_folder_path',\n"
    "                                   os.path.dirname(os.path.abspath(model)))\n"
    "        model = open(model, 'rb').read()\n"
    "        for n in nodes: model += field(0x3a, field(0x62, field(0x0a, n.encode())))\n"
    "    s = onnxruntime.InferenceSession(model, o, providers=['CPUExecutionProvider'])\n"
    "    feeds = {n: numpy.load(at(f'in{k}.npy')) for k, n in enumerate(inputs)}\n"
    "    for k, y in enumerate(s.run(outputs, feeds)):\n"
    "        numpy.save(at(f'out{k}.npy'), y)\n"
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

static void put_name(seer_text *names, char kind, const char *name) {
  seer_text_printf(names, "%c ", kind);
  for (const char *c = name; *c; c++) seer_text_printf(names, "%02x", (unsigned)(uint8_t)*c);
  seer_text_put(names, "\n");
}

// The inputs of the library, and those that had a value when it was compiled.
static seer_status write_inputs(
    const seer_use *use, const seer_graph *graph, const char *folder, seer_text *names) {
  uint32_t k = 0;
  for (; k < (uint32_t)use->n_inputs; k++) {
    const seer_io_info *io = use->api->set_input(use->model, use->set, (int32_t)k);
    SEER_TRY(write_input(folder, k, io->onnx_dtype, io->rank, io->dim, use->input[k], use->arena));
    put_name(names, 'I', io->name);
  }
  for (uint32_t b = 0; b < graph->n_bound; b++, k++) {
    const seer_tensor *t = &graph->bound[b].tensor;
    SEER_TRY(write_input(
        folder, k, seer_onnx_dtype_number(t->dtype), t->rank, t->dim, t->data, use->arena));
    put_name(names, 'I', graph->bound[b].name);
  }
  return SEER_OK;
}

// What ONNX Runtime is asked for, by output of the graph: what the library has as outputs, and what
// nodes of the file make, unless operators were put in their place that the file does not name.
static seer_status choose_outputs(seer_context *context, const char *path, const seer_use *use,
    const seer_graph *graph, bool with_nodes, bool *is_asked) {
  for (int32_t i = 0; i < use->n_outputs; i++) is_asked[i] = true;
  if (!with_nodes) return SEER_OK;
  seer_graph *file;
  SEER_TRY(seer_front_read(context, path, seer_model_build, use->arena, &file));
  seer_map *made = seer_map_create(use->arena);
  for (size_t v = 1; v < file->n_value; v++)
    if (file->value[v].producer.i) seer_map_set_str(made, file->value[v].name, v);
  for (uint32_t i = (uint32_t)use->n_outputs; i < graph->n_output; i++) {
    const seer_value *value = seer_graph_value(graph, graph->output[i]);
    bool has_npy = seer_npy_carrier(seer_onnx_dtype_number(value->dtype)) ==
        seer_onnx_dtype_number(value->dtype);
    is_asked[i] = has_npy && seer_map_get_str(made, value->name, NULL);
  }
  seer_graph_close(file);
  return SEER_OK;
}

static seer_status read_output(const char *folder, uint32_t k, const seer_value *own,
    seer_arena *arena, seer_io_info *out_io, const void **out_data) {
  seer_npy npy;
  SEER_TRY(seer_npy_read(
      seer_os_path_join(arena, folder, seer_arena_printf(arena, "out%u.npy", k)), arena, &npy));
  if (npy.onnx_dtype != seer_onnx_dtype_number(own->dtype))
    return SEER_FAIL(INVALID, "'%s' is %s, ONNX Runtime says %s", seer_text_safe(arena, own->name),
        seer_dtype_name(own->dtype), seer_npy_dtype_name(npy.onnx_dtype));
  *out_io = (seer_io_info){.name = own->name, .onnx_dtype = npy.onnx_dtype, .rank = npy.rank};
  memcpy(out_io->dim, npy.dim, sizeof npy.dim);
  *out_data = npy.data;
  return SEER_OK;
}

seer_status seer_against_fault(const char *python, int exit_status, const char *text) {
  if (exit_status == SEER_AGAINST_NO_PACKAGE)
    return SEER_FAIL(NOT_FOUND,
        "%s has no ONNX Runtime (%s): pip install onnxruntime, or --python another one", python,
        text);
  return SEER_FAIL(INVALID, "ONNX Runtime: %s", text);
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
  return exit_status == 0 ? SEER_OK : seer_against_fault(argv[0], exit_status, text);
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

seer_status seer_against_write(seer_context *context, const char *python, const char *model,
    const seer_use *use, const seer_graph *graph, const char *folder, seer_against_files *out) {
  out->python = seer_os_find_program(python, use->arena);
  if (!out->python)
    return SEER_FAIL(NOT_FOUND, "there is no '%s' to run ONNX Runtime with", python);
  SEER_TRY(find_file(context, model, folder, use->arena, &out->model));
  seer_text_init(&out->names, use->arena);
  return write_inputs(use, graph, folder, &out->names);
}

seer_status seer_against_onnxruntime(seer_context *context, const char *python, const char *model,
    const seer_use *use, const seer_graph *graph, bool with_nodes, const char *folder,
    seer_against *out) {
  seer_arena *arena = use->arena;
  seer_against_files files;
  SEER_TRY(seer_against_write(context, python, model, use, graph, folder, &files));
  bool *is_asked = SEER_NEW_ARRAY(arena, bool, graph->n_output + 1);
  SEER_TRY(choose_outputs(context, files.model, use, graph, with_nodes, is_asked));
  for (uint32_t i = 0; i < graph->n_output; i++)
    if (is_asked[i])
      put_name(&files.names, i < (uint32_t)use->n_outputs ? 'O' : 'N',
          seer_graph_value(graph, graph->output[i])->name);
  SEER_TRY(seer_os_write_file(
      seer_os_path_join(arena, folder, "names"), files.names.data, files.names.n_bytes));
  const char *const argv[] = {files.python, "-c", program, files.model, folder, NULL};
  SEER_TRY(run_program(argv, seer_os_path_join(arena, folder, "said"), arena, &out->version));
  out->io = SEER_NEW_ARRAY(arena, seer_io_info, graph->n_output + 1);
  out->data = SEER_NEW_ARRAY(arena, const void *, graph->n_output + 1);
  for (uint32_t i = 0, k = 0; i < graph->n_output; i++)
    if (is_asked[i])
      SEER_TRY(read_output(folder, k++, seer_graph_value(graph, graph->output[i]), arena,
          &out->io[i], &out->data[i]));
  return SEER_OK;
}
