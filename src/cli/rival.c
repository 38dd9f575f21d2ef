// rival.c - turns of a library and of ONNX Runtime in a Python program. The contract: rival.h.
#include "cli/rival.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "cli/against.h"
#include "front/front.h"
#include "front/onnx/dtype.h"
#include "library/binding.h"
#include "models/models.h"
#include "setup/usage.h"

#define TURN_S 0.1  // of each
#define LIKELY_ROUNDING 0.05  // of the largest value; more of it is said
#define MIN_TURNS 6
#define READY_NS (600 * (uint64_t)1000000000)
#define MAX_RUNS (1u << 20)  // of a turn

// argv: model, folder with in<k>.npy and "names", the descriptor of a socket, threads. Answers how
// many runs it has done and how long each took [ms] to how long it is to run [s]; first, when it is
// ready, 0 runs. Inputs begin where a cache line does, as ours do: elsewhere it would be slower.
static const char program[] =
    "import sys, os, socket, struct, time\n"
    "try:\n"
    "    import numpy, onnxruntime\n"
    "except ImportError as e:\n"
    "    print(e); sys.exit(3)\n"
    "model, folder, fd, threads = sys.argv[1:]\n"
    "def aligned(x):\n"
    "    m = numpy.empty(x.nbytes + 64, numpy.uint8)\n"
    "    at = -m.ctypes.data % 64\n"
    "    y = m[at:at + x.nbytes].view(x.dtype).reshape(x.shape)\n"
    "    y[...] = x\n"
    "    return y\n"
    "try:\n"
    "    o = onnxruntime.SessionOptions()\n"
    "    o.log_severity_level = 3\n"
    "    o.intra_op_num_threads = int(threads)\n"
    "    s = onnxruntime.InferenceSession(model, o, providers=['CPUExecutionProvider'])\n"
    "    names = [l.split() + [''] for l in open(os.path.join(folder, 'names'))]\n"
    "    feeds = {bytes.fromhex(n[1]).decode(): aligned(numpy.load(os.path.join(folder, "
    "f'in{k}.npy')))\n"
    "             for k, n in enumerate(names)}\n"
    "    for _ in range(3): made = s.run(None, feeds)\n"
    "    for k, y in enumerate(made): numpy.save(os.path.join(folder, f'out{k}.npy'), y)\n"
    "except Exception as e:\n"
    "    print(e); sys.exit(1)\n"
    "print(onnxruntime.__version__, flush=True)\n"
    "link = socket.socket(fileno=int(fd))\n"
    "link.sendall(struct.pack('I', 0))\n"
    "while True:\n"
    "    data = link.recv(8, socket.MSG_WAITALL)\n"
    "    if len(data) < 8: break\n"
    "    times, now = [], time.perf_counter()\n"
    "    end = now + struct.unpack('d', data)[0]\n"
    "    while now < end:\n"
    "        before = now\n"
    "        s.run(None, feeds)\n"
    "        now = time.perf_counter()\n"
    "        times.append((now - before) * 1e3)\n"
    "    link.sendall(struct.pack('I', len(times)) + struct.pack(f'{len(times)}d', *times))\n";

typedef struct {
  const char *python, *folder, *said;
  seer_os_process process;
  int link;
  seer_arena *arena;
} rival;

// It has ended, or does not answer.
static seer_status ended(rival *r, seer_status why) {
  bool is_done = false;
  int exit_status = 0;
  char *text = NULL;
  size_t n = 0;
  seer_status status = seer_os_wait(&r->process, (uint64_t)10 * 1000000000, &is_done, &exit_status);
  if (!status && is_done) status = seer_os_read_file(r->said, r->arena, 1 << 20, &text, &n);
  if (status || !is_done) return seer_status_join(why, status);
  seer_status_free(why);
  if (n > 0 && text[n - 1] == '\n') text[n - 1] = 0;
  return seer_against_fault(r->python, exit_status, text);
}

static seer_status receive(rival *r, uint64_t timeout_ns, seer_samples *turn) {
  uint32_t n = 0;
  seer_status status = seer_os_read_all(r->link, &n, sizeof n, timeout_ns);
  if (status) return ended(r, status);
  if (n > MAX_RUNS) return SEER_FAIL(CORRUPT, "ONNX Runtime says that it ran %u times", n);
  for (uint32_t i = 0; i < n; i++) {
    double ms;
    status = seer_os_read_all(r->link, &ms, sizeof ms, timeout_ns);
    if (status) return ended(r, status);
    seer_samples_add(turn, ms, r->arena);
  }
  return SEER_OK;
}

static seer_status start(
    rival *r, const seer_against_files *files, uint32_t threads, const cpu_set_t *processors) {
  int pair[2];
  SEER_TRY(seer_os_write_file(
      seer_os_path_join(r->arena, r->folder, "names"), files->names.data, files->names.n_bytes));
  SEER_TRY(seer_os_socket_pair(pair));
  const char *const argv[] = {files->python, "-c", program, files->model, r->folder,
      seer_arena_printf(r->arena, "%d", pair[1]), seer_arena_printf(r->arena, "%u", threads), NULL};
  r->python = files->python;
  r->link = pair[0];
  seer_status status = seer_os_spawn(&(seer_os_spawn_options){.argv = argv,
                                         .keep_fds = &pair[1],
                                         .n_keep_fds = 1,
                                         .stdout_path = r->said,
                                         .processors = processors},
      &r->process);
  seer_os_close(pair[1]);
  seer_samples none = {0};
  return status ? status : receive(r, READY_NS, &none);
}

static seer_status read_version(const rival *r, const char **out) {
  char *text;
  size_t n;
  SEER_TRY(seer_os_read_file(r->said, r->arena, 1 << 20, &text, &n));
  text[strcspn(text, "\n")] = 0;
  *out = text;
  return SEER_OK;
}

static const char *answer_path(const rival *r, int32_t i) {
  return seer_os_path_join(r->arena, r->folder, seer_arena_printf(r->arena, "out%d.npy", i));
}

// How far one answer is from the other, as a share of its largest value; infinity: they are not
// alike in number, type or shape.
static seer_status read_deviation(const rival *r, seer_use *use, double *out) {
  const int32_t n = use->n_outputs;
  bool is_as_many = seer_os_exists(answer_path(r, n - 1)) && !seer_os_exists(answer_path(r, n));
  *out = is_as_many ? 0 : INFINITY;
  SEER_TRY(seer_use_run(use));
  for (int32_t i = 0; i < n && is_as_many; i++) {
    seer_npy npy;
    seer_io_info own = seer_use_output(use, i);
    SEER_TRY(seer_npy_read(answer_path(r, i), r->arena, &npy));
    uint64_t n_elem = npy.n_bytes / seer_dtype_bytes(seer_onnx_dtype(npy.onnx_dtype));
    bool is_alike =
        npy.onnx_dtype == seer_npy_carrier(own.onnx_dtype) && npy.n_bytes == own.n_bytes;
    seer_difference d = {.max_error = INFINITY, .max_expected = 1};
    if (is_alike) d = seer_compare(own.onnx_dtype, use->output[i], npy.data, n_elem, 0, 0);
    double deviation = d.max_error / (d.max_expected > 0 ? d.max_expected : 1);
    if (deviation > *out) *out = deviation;
  }
  return SEER_OK;
}

// ---- turns
static seer_status our_turn(seer_use *use, seer_samples *turn) {
  uint64_t until = seer_os_now_ns() + (uint64_t)(TURN_S * 1e9), now;
  SEER_TRY(seer_use_run(use));  // caches are the other's
  do {
    uint64_t before = seer_os_now_ns();
    SEER_TRY(seer_use_run(use));
    now = seer_os_now_ns();
    seer_samples_add(turn, (double)(now - before) * 1e-6, use->arena);
  } while (now < until);
  return SEER_OK;
}

static seer_status their_turn(rival *r, seer_samples *turn) {
  const double none = 1e-9, seconds = TURN_S;  // one run first, as ours
  seer_samples first = {0};
  kill(r->process.pid, SIGCONT);
  seer_status status = seer_os_send_all(r->link, &none, sizeof none, READY_NS);
  if (!status) status = receive(r, READY_NS, &first);
  if (!status) status = seer_os_send_all(r->link, &seconds, sizeof seconds, READY_NS);
  if (!status) status = receive(r, READY_NS, turn);
  if (!status) kill(r->process.pid, SIGSTOP);
  return status;
}

static double take(seer_samples *all, seer_samples *turn, seer_arena *arena) {
  for (size_t i = 0; i < turn->n; i++) seer_samples_add(all, turn->ms[i], arena);
  seer_samples_finish(turn);
  return turn->median;
}

static seer_status take_turns(
    seer_context *context, seer_use *use, rival *r, double seconds, seer_rival *out) {
  size_t least = (size_t)seer_context_i64(context, SEER_OPT_ITERATIONS);
  uint64_t until = seer_os_now_ns() + (uint64_t)(seconds * 1e9);
  seer_samples ratio = {0};
  bool is_over = false;
  for (uint32_t i = 0; !is_over; i++) {
    seer_samples ours = {0}, theirs = {0};
    if (i % 2) SEER_TRY(their_turn(r, &theirs));
    SEER_TRY(our_turn(use, &ours));
    if (i % 2 == 0) SEER_TRY(their_turn(r, &theirs));
    double our_ms = take(&out->ours, &ours, use->arena);
    seer_samples_add(&ratio, our_ms / take(&out->theirs, &theirs, use->arena), use->arena);
    is_over = i + 1 >= MIN_TURNS && out->ours.n >= least && out->theirs.n >= least &&
        seer_os_now_ns() >= until;
  }
  seer_samples_finish(&out->ours);
  seer_samples_finish(&out->theirs);
  seer_samples_finish(&ratio);
  out->ratio = ratio.median;
  out->n_turns = (uint32_t)ratio.n;
  return SEER_OK;
}

static seer_status race(seer_context *context, seer_use *use, const char *model,
    const cpu_set_t *processors, double seconds, rival *r, seer_rival *out) {
  seer_graph *graph;
  seer_against_files files;
  SEER_TRY(seer_binding_take(context, use));
  SEER_TRY(seer_front_read(context, model, seer_model_build, use->arena, &graph));
  seer_status status = seer_against_write(
      context, seer_context_str(context, SEER_OPT_PYTHON), model, use, graph, r->folder, &files);
  seer_graph_close(graph);
  SEER_TRY(status);
  SEER_TRY(start(r, &files, use->api->pool_threads(use->pool), processors));
  SEER_TRY(read_version(r, &out->version));
  SEER_TRY(read_deviation(r, use, &out->deviation));
  return take_turns(context, use, r, seconds, out);
}

seer_status seer_rival_race(seer_context *context, seer_use *use, const char *model,
    const cpu_set_t *processors, double seconds, seer_rival *out) {
  *out = (seer_rival){0};
  if (strcmp(seer_context_str(context, SEER_OPT_AGAINST), "onnxruntime") != 0)
    return seer_usage_error("times are held against those of --against onnxruntime, and no others");
  rival r = {.arena = use->arena, .link = -1};
  SEER_TRY(seer_os_temp_dir("familyseer-rival", use->arena, &r.folder));
  r.said = seer_os_path_join(use->arena, r.folder, "said");
  seer_status status = race(context, use, model, processors, seconds, &r, out);
  seer_os_close(r.link);
  seer_os_kill(&r.process);
  return seer_status_join(status, seer_os_remove_tree(r.folder));
}

const char *seer_rival_text(const seer_rival *of, const char *ours, seer_arena *arena) {
  bool is_faster = of->ratio <= 1;
  const char *other = of->deviation <= LIKELY_ROUNDING ? ""
      : isfinite(of->deviation)
      ? seer_arena_printf(arena,
            "; their answers are %.2g of the largest value apart: `familyseer verify` says more",
            of->deviation)
      : "; but their outputs are others: is it the network that the library was made of?";
  return seer_arena_printf(arena,
      "%s is %.2f times as %s as ONNX Runtime %s (%.4f ms and %.4f ms; %u turns)%s", ours,
      is_faster ? 1 / of->ratio : of->ratio, is_faster ? "fast" : "slow", of->version,
      of->ours.median, of->theirs.median, of->n_turns, other);
}

void seer_rival_put(const seer_rival *of, json_t *object) {
  json_t *theirs = json_pack("{s:s, s:s}", "name", "onnxruntime", "version", of->version);
  seer_samples_put(&of->theirs, theirs);
  json_object_set_new(object, "other", theirs);
  json_object_set_new(object, "ratio", json_real(of->ratio));
  if (isfinite(of->deviation)) json_object_set_new(object, "deviation", json_real(of->deviation));
}
