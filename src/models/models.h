// models.h - the built-in networks: written as graphs through one small builder, in the form of an
// ONNX export (Conv and BatchNormalization nodes, opset 13, no last Softmax; transformers: MatMul
// and LayerNormalization, opset 17). Weights are seeded, scaled by their fan-in, and equal on every
// machine. To add one: a file with its seer_model_desc, one line in
// table.c, its number of parameters in test_models.c.
//
// Threads: any, on distinct arenas. After a failure nothing is returned.
#ifndef SEER_MODELS_MODELS_H
#define SEER_MODELS_MODELS_H

#include "front/graph.h"

typedef struct {
  int64_t batch;  // images or sequences at once, 1
  int64_t size;  // rows and columns of the input image, 224
  int64_t sequence;  // tokens of a sequence (llama_small: of the past), 128
  int64_t classes;  // 1000 (mlp: 10)
  uint64_t seed;  // of the weights, 0
  bool is_outline;  // large weights share one buffer of zeros: for what only shapes decide
  const seer_graph *like;  // NULL, or another one of the network: equal weights are its (kept)
} seer_model_options;

typedef struct seer_model_desc seer_model_desc;
struct seer_model_desc {
  const char *name, *doc;
  // size, sequence, classes 0: the network has no such option
  seer_model_options defaults;
  // Graph and weights in `arena`. Images come in as `input`, tokens as `input_ids`; logits the last
  // hidden state or boxes go out as `output`.
  seer_status (*build)(const seer_model_desc *desc, const seer_model_options *options,
      seer_arena *arena, seer_graph **out_graph);
  const void *config;  // the family's own: depth, width
  int64_t min_size, size_multiple;  // what `size` must be; 0: 32, 1
};

extern const seer_model_desc *const seer_model_table[];
extern const size_t seer_model_table_count;
const seer_model_desc *seer_model_find(const char *name);  // NULL if none

// Builds by name. `options`: "" or "batch=4,size=192,classes=10,seed=7" ("sequence=384"), each at
// most once; or the input's shape as --input-shapes has it, "input:4x3x192x192",
// "input_ids:1x384".
// NOT_FOUND names what there is; INVALID names the option, what was found and what is allowed.
// `like`: see seer_builtin_model (front.h), which this fits. Cost: one pass over the weights, about
// 10 ns each.
SEER_MUST_USE seer_status seer_model_build(const char *name, const char *options,
    const seer_graph *like, seer_arena *arena, seer_graph **out_graph);
// The same without weights (seer_model_options.is_outline).
SEER_MUST_USE seer_status seer_model_outline(
    const char *name, const char *options, seer_arena *arena, seer_graph **out_graph);

#endif
