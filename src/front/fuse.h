// fuse.h - GRAPH -> GROUPS of nodes, each of which becomes one step of the network. Private to
// src/front. One thread for a graph; the groups are in the arena. After a failure the graph is of
// no use.
#ifndef SEER_FRONT_FUSE_H
#define SEER_FRONT_FUSE_H

#include "front/front.h"

#define SEER_GROUP_MAX_NODES 24

typedef struct {
  seer_step_kind kind;
  uint32_t anchor;  // the node that the group was made for
  uint32_t n;
  uint32_t node[SEER_GROUP_MAX_NODES];  // in topological order; the last one makes the output
  bool is_prologue[SEER_GROUP_MAX_NODES];  // computed on the way into the anchor
} seer_group;

// Every live node is in exactly one group; the groups are in execution order. A group of kind VIEW
// is one node that moves nothing: its operands and results are in one memory.
// requires: sorted, resolved, laid out.
SEER_MUST_USE seer_status seer_fuse_groups(
    const seer_graph *graph, seer_arena *arena, seer_group **out_groups, size_t *out_n);
// The same for good: values inside a group lose their pitch and take the order of the group's
// output, so the graph changes.
SEER_MUST_USE seer_status seer_fuse(const seer_context *context, seer_graph *graph,
    seer_arena *arena, seer_group **out_groups, size_t *out_n);

// By node: how many loops it runs in. The nodes are sorted and resolved; the array is in `arena`.
uint8_t *seer_fuse_depths(const seer_graph *graph, seer_arena *arena);

#endif
