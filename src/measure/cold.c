// cold.c - a network's weights -> how many of them are read between two runs of a kernel. The
// contract: measure.h.
#include "measure/measure.h"

// Copies of this size are never found in the last-level cache whole.
#define COLD_FACTOR 1.5

double seer_measure_cold_bytes(const seer_target *target, uint64_t network_weight_bytes) {
  double l2 = (double)target->l2_bytes * target->threads, l3 = (double)target->l3_bytes;
  double last = l3 > l2 ? l3 : l2;
  if (target->kind != SEER_TARGET_CPU) last = (double)target->gpu.l2_bytes;
  double most = COLD_FACTOR * last, all = (double)network_weight_bytes;
  return all < most ? all : most;
}

uint64_t seer_measure_network_bytes(const seer_network *network) {
  double total = 0;
  for (uint32_t t = 0; t < network->n_task; t++)
    total += seer_dag_weight_bytes(network->task[t].dag) * network->task[t].weight;
  return (uint64_t)(total / network->n_set);  // every set reads them all
}
