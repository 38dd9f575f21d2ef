// custom.h - operators of users (include/seer/operator.h): the objects that --operators names, what
// their tables have, and what a shape rule says of a node. Nodes of such an operator are host steps
// (runtime/host/custom.h), which get what the file says: no pass changes types, layouts or sizes of
// what they read and make.
//
//   ops.o --link--> a shared object, loaded here --table--> entries like those of op.h
//     \--named apart--> linked into model.so by whoever builds it
//
// Memory: in the graph's arena; the shared objects are open until seer_graph_close. Threads: as the
// graph. User code runs in this process while a graph is resolved, and at no other time.
#ifndef SEER_FRONT_CUSTOM_CUSTOM_H
#define SEER_FRONT_CUSTOM_CUSTOM_H

#include "front/op.h"
#include "seer/operator.h"
#include "setup/context.h"
#include "setup/isa.h"

// What is linked into a library: the object, in which the table has a symbol of its own.
typedef struct {
  const char *path;  // for messages
  const char *symbol;
  const void *data;
  size_t n_bytes;
} seer_custom_object;

typedef struct {
  seer_op_desc desc;  // what nodes point to
  const seer_operator *entry;
  const char *path;
  uint32_t table, index;  // of the objects; in its table
} seer_custom_op;

typedef struct seer_custom {
  uint32_t n_object, n_op;
  seer_custom_object *object;  // for the target's processors
  seer_custom_op *op;
  void **library;  // n_object
  const seer_graph *owner;
  seer_recover_owned owned;
} seer_custom;

// Gives `graph` what option OPERATORS names; nothing, where it names none. Errors: NOT_FOUND, IO of
// files; INVALID: no object, one for other processors, without a table or with one of another
// version, or whose names cannot be found; an operator twice.
SEER_MUST_USE seer_status seer_custom_open(const seer_context *context, seer_graph *graph);
// What the graph owns of it. For seer_graph_close.
void seer_custom_close(seer_graph *graph);
// NULL: there is none.
const seer_op_desc *seer_custom_find(const seer_graph *graph, const char *domain, const char *name);
// Of a node whose operator is a user's; NULL: it is not.
const seer_custom_op *seer_custom_of(const seer_node *node);
// Bytes of scratch that a resolved node asks for.
SEER_MUST_USE seer_status seer_custom_scratch(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, uint64_t *out_bytes);

// ---- between the files of this folder
// infer.c: op.h's, by the entry's shape rule.
seer_status seer_custom_infer(
    const seer_graph *graph, const seer_node *node, seer_arena *arena, seer_value *out_values);
// object.c: an object's bytes. INVALID: it is none, or has no table.
#define SEER_CUSTOM_SYMBOL "seer_operators"
SEER_MUST_USE seer_status seer_custom_object_check(
    const char *path, const void *data, size_t n_bytes, seer_isa *out_isa);
// A copy, of which the table's symbol has this name; `data` has passed the check.
void seer_custom_object_rename(seer_custom_object *object, const char *symbol, seer_arena *arena);

#endif
