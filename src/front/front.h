// front.h - MODEL FILE -> GRAPH -> TASKS: the passes in their order, and what comes out.
//
// Memory: a network and its graph are in the arena that is given; its constants lie in mapped files
// until seer_graph_close. Threads: one at a time until it is loaded; then any number may read. A
// function that fails closes what it has made; a graph that it was given is of no use but to be
// closed.
#ifndef SEER_FRONT_FRONT_H
#define SEER_FRONT_FRONT_H

#include "front/graph.h"
#include "front/op.h"
#include "front/width/kinds.h"
#include "setup/context.h"

// Reads an ONNX file (opset 1 to 28, external data beside it) into a graph: nodes as in the file,
// constants mapped. The graph is sorted and verified; operators are not looked up yet. Files stay
// mapped until seer_graph_close, which closes them all and is called after the last use of a
// constant. Errors: INVALID damaged, missing or contradictory; UNSUPPORTED opset, element type,
// kind of attribute; never a crash.
SEER_MUST_USE seer_status seer_onnx_read(
    const char *path, seer_arena *arena, seer_graph **out_graph);
// The same from memory (borrowed as long as constants are used) into an empty graph. folder NULL:
// no external data. For tests.
SEER_MUST_USE seer_status seer_onnx_read_bytes(
    const char *source, const void *data, size_t n_bytes, const char *folder, seer_graph *graph);
SEER_MUST_USE seer_status seer_onnx_write(
    const seer_graph *graph, const char *path);  // weights inline below 2 GB

// External data of a network in memory: what its tensors call `location`.
typedef struct {
  const char *location;
  const void *data;
  size_t n_bytes;
} seer_front_tensor;

// Where a network comes from. All is borrowed: texts for the call, bytes and tensors as long as
// constants are used.
typedef struct {
  const char *model;  // as seer_front_load takes it; of bytes what messages call them
  bool is_bytes;  // an ONNX file's, at `data`
  const void *data;
  size_t n_bytes;
  const char *folder;  // of bytes: where external data are looked for; NULL: in memory alone
  const seer_front_tensor *tensor;  // of bytes: external data, before any folder
  uint32_t n_tensor;
  // Out, in the arena that the network gets: operators without support, where loading fails by
  // them. NULL: nobody asks.
  seer_missing_list *missing;
} seer_front_source;

// Bytes in memory and what they need: as seer_onnx_read.
SEER_MUST_USE seer_status seer_onnx_read_memory(
    const seer_front_source *source, seer_arena *arena, seer_graph **out_graph);

// Looks every operator up, fixes the inputs' shapes, infers all others and folds shape arithmetic
// on the way.
//   input_shapes  "x:1x3x224x224,mask:1x128" or "": fixes symbolic dimensions
//   out_notice    what was assumed, in the graph's arena; "": nothing. May be NULL
// A first dimension that alone is symbolic becomes 1, with a notice. 0 is a size like any other
// here; in a file it means unknown, as old exporters write it. Where the file gives unknown sizes
// names, those of one name are one size.
// A side of an If whose condition is data may be unsupported, or not fit these shapes, if the other
// can be built: *out_notice says so.
// Values without elements become constants; sequences and optional values disappear.
// Errors: UNSUPPORTED lists all operators without support at once, by node; INVALID names node,
// operator, what was found and what is allowed.
SEER_MUST_USE seer_status seer_front_resolve(
    seer_graph *graph, const char *input_shapes, const char **out_notice);
// "the then side of If 'x' cannot be built, and a run that takes it fails: ...", in `arena`; NULL
// for nodes that are no such If. Of a resolved graph.
const char *seer_front_unbuilt_text(const seer_node *node, seer_arena *arena);
// --precision: what operands of products are rounded to. INVALID: it is `auto`, and nobody has
// chosen yet.
SEER_MUST_USE seer_status seer_front_precision(const seer_context *context, seer_precision *out);
// UNSUPPORTED where the context's target can't have it. Of `auto` nothing is known yet.
SEER_MUST_USE seer_status seer_front_check_precision(const seer_context *context);
typedef struct {
  const char *name, *doc;
  seer_status (*run)(const seer_context *context, seer_graph *graph);
} seer_pass_desc;
// In their order (pass/table.c says why). Fusing is no pass: fuse.h.
extern const seer_pass_desc *const seer_pass_table[];
extern const size_t seer_pass_table_count;
SEER_MUST_USE seer_status seer_front_run_pass(
    const seer_context *context, seer_graph *graph, const seer_pass_desc *pass);
SEER_MUST_USE seer_status seer_front_run_passes(const seer_context *context, seer_graph *graph);
// The distance in elements that the layout pass gives to innermost rows of `row` elements. For
// tests.
int64_t seer_front_pitch(int64_t row, size_t elem_bytes);

// ---- tasks
typedef enum {
  SEER_STEP_KERNEL,
  SEER_STEP_VIEW,  // the same bytes: nothing runs
  SEER_STEP_COPY,  // a kernel that only moves
  SEER_STEP_HOST,  // a function of the runtime (runtime/host.h)
  // What governs the steps behind it, by lengths that front/order.h sets.
  //   [LOOP_BEGIN][n_body steps][LOOP_END]    [BRANCH][n_then steps: then][n_else steps: else]
  // Bodies and sides hold loops and branches whole.
  SEER_STEP_LOOP_BEGIN,
  SEER_STEP_LOOP_END,
  SEER_STEP_BRANCH
} seer_step_kind;

// One subgraph of the network: the nodes it covers, as DAG. Equal (structure, shape) = one task.
typedef struct {
  uint32_t id;  // index into seer_network.task
  const char *name;  // readable: "conv 3x3 s1 56x56x64->64 +add+relu"
  const seer_dag *dag;
  seer_dag_key key;
  // Of structure, shape and the order of the DAG's buffers and stages: schedules and kernels know
  // those by their places, so that only steps that have the same in that order are one task.
  uint64_t number;
  // How many subgraphs of the network share it, over all sets of shapes; those of a stretch count
  // once for each image.
  uint32_t weight;
  double flops;  // of one instance
  const char *anchor_class;
  const char *ops;  // ONNX operators of the subgraphs that share it: "Conv Relu"; first met first
  uint32_t n_op;  // nodes of the graph that the first of its subgraphs covers
} seer_task;

// An instance: runs a task's code on these values. Same task, but maybe other literals: its own dag
// (content).
typedef struct {
  seer_step_kind kind;
  const char *name;
  uint32_t task;  // KERNEL, COPY
  // KERNEL, COPY: with this instance's literals; steps that are alike in everything have one, so
  // nobody changes it
  const seer_dag *dag;
  uint64_t content;  // hash of dag
  // binding: graph value of each DAG input / output buffer, by buffer id (0 for stage buffers that
  // are not outputs)
  seer_val *value_of_buf;
  seer_val view_in, view_out;  // VIEW: same bytes, or one is part of the other
  seer_node_id node;  // HOST, LOOP_BEGIN, LOOP_END, BRANCH: no dag, but the node
  uint32_t n_body;  // LOOP_BEGIN: steps between it and its end
  uint32_t n_then, n_else;  // BRANCH: steps behind it, of which one or the other run
  // 0: runs whole; else 1 + index of its stretch: task and dag are those of one image of the batch,
  // whose values are an n-th of the graph's (images.h)
  uint32_t stretch;
} seer_step;

// Steps one after another that run image by image: kernels, copies and views (images.h).
typedef struct {
  uint32_t first, n_step;
  uint32_t n_images;  // >= 2
  bool is_apart;  // an image a thread; else one image after another, each on all threads
} seer_stretch;

// A library for any batch of a range: set s of the network is for a batch of size[s], and what is
// no set's size is run as several of them, one after another (range.h).
#define SEER_RANGE_MAX_SETS 6
typedef struct {
  int64_t first, last;  // 1 <= first < last
  uint32_t n;  // sets, >= 2; sizes ascend, the last is `last`
  int64_t size[SEER_RANGE_MAX_SETS];
  // by input: its first dimension is the batch; else all sets have one shape of it
  bool *is_ranged;
} seer_range;

typedef struct seer_network {
  seer_graph *graph;
  uint32_t n_task, n_step;
  seer_task *task;
  seer_step *step;  // in execution order
  uint32_t n_stretch;
  seer_stretch *stretch;  // in that order, disjoint, in no loop or branch
  const char *notice;  // "", or what was assumed about the input shapes: to be shown to the user
  // Several sets of input shapes: each has a network of its own, with its graph and its steps, over
  // one list of tasks that all have. set[0] is what seer_front_load returns.
  uint32_t n_set;  // 1: no others
  struct seer_network **set;
  const char *shapes;  // of this set, safe to show: "input_ids[1,128] mask[1,128]"
  uint32_t *count;  // by task: how many steps of this set it has, weighed as in seer_task
  const seer_range *range;  // of all sets; NULL: --input-shapes has none
} seer_network;

// The last front stage: fuses nodes into subgraphs, emits their DAGs, names, keys, deduplicates.
SEER_MUST_USE seer_status seer_network_build(
    const seer_context *context, seer_graph *graph, seer_arena *arena, seer_network **out_network);

// The number of a task: of the key of its DAG and seer_dag_numbers of its n_buf buffers.
uint64_t seer_task_number(const seer_dag_key *key, const uint32_t *numbers, uint32_t n_buf);
// How often the step's kernel runs in a run: once for each image of its stretch, or once.
uint32_t seer_step_n_images(const seer_network *network, const seer_step *step);
seer_step_kind seer_step_kind_of_op(const seer_op_desc *op);  // KERNEL: none of the runtime's
bool seer_step_has_task(const seer_step *step);  // KERNEL, COPY
// The task of the step of that name; UINT32_MAX: none. The search begins at step `hint`.
uint32_t seer_network_find_task(const seer_network *network, uint32_t hint, const char *step);
// The node of a step that is one of the graph's; NULL: KERNEL, VIEW, COPY.
const seer_node *seer_step_node(const seer_graph *graph, const seer_step *step);
// What a step reads and makes, by number; none (0) for operands that are absent and for what never
// leaves the step.
uint32_t seer_step_n_values(const seer_graph *graph, const seer_step *step);
seer_val seer_step_value(
    const seer_graph *graph, const seer_step *step, uint32_t k, bool *out_is_made);
// Kinds and lengths of steps fit; loops and branches lie whole within each other, each loop with
// its own end; what a step reads was made before, and in no body or side that the step is not in.
// Stretches lie one behind another at the top level, have kernels, copies and views alone, and what
// a kernel there reads of what another one there has made is one image.
// INVALID names the step. seer_network_build ends with it.
SEER_MUST_USE seer_status seer_network_verify(const seer_network *network);

// `ops` with those of `more` that it has not, in `arena`.
const char *seer_task_join_ops(const char *ops, const char *more, seer_arena *arena);
// What was assumed about the inputs of a set, but "" where an earlier set has it, too.
const char *seer_network_notice(const seer_network *network, uint32_t set);
double seer_network_flops(const seer_network *network);  // of one run; several sets: one of each
// All of the above for a path or built-in name (models/ registers the built-in resolver through
// this callback). out_graph NULL with SEER_OK: no built-in network has that name.
// `like`: NULL, or the same network with other options, whose constants it takes where they are
// equal.
typedef seer_status (*seer_builtin_model)(const char *name, const char *options,
    const seer_graph *like, seer_arena *arena, seer_graph **out_graph);

// A text of at most 1 GiB, in `arena`, within --model-limit (INVALID names both sizes); the budget
// that is open grows with it (limit.h).
SEER_MUST_USE seer_status seer_front_read_text(const seer_context *context, const char *path,
    seer_arena *arena, char **out_text, size_t *out_n_bytes);

// `model`: a file that exists (ONNX, or a .graph text), else the name of a built-in network.
// `builtin` may be NULL. The graph as read, with the inputs of --bind bound: nothing resolved. A
// built-in network has the shapes of the first --input-shapes.
SEER_MUST_USE seer_status seer_front_read(const seer_context *context, const char *model,
    seer_builtin_model builtin, seer_arena *arena, seer_graph **out_graph);
// Reads, resolves with --input-shapes, runs the passes, builds the network; with several
// --input-shapes for each of them, from one reading. After the last use of constants:
// seer_graph_close(network->graph). Of a range of batches the sets are chosen, and that a batch may
// be cut up is proved, or UNSUPPORTED says what stands against it (range.h).
SEER_MUST_USE seer_status seer_front_load(const seer_context *context, const char *model,
    seer_builtin_model builtin, seer_arena *arena, seer_network **out_network);
// The same from where `source` says.
SEER_MUST_USE seer_status seer_front_load_from(const seer_context *context,
    const seer_front_source *source, seer_builtin_model builtin, seer_arena *arena,
    seer_network **out_network);
// As seer_front_load, but as the file has it, for judging what was compiled: no pass has run, each
// node is a step of its own, and what it makes is an output of the network, behind those of the
// model. What is made inside a loop is not.
SEER_MUST_USE seer_status seer_front_load_literal(const seer_context *context, const char *model,
    seer_builtin_model builtin, seer_arena *arena, seer_network **out_network);

#endif
