// published.c - the numbers. Accuracies are of BERT-Large, 11 subgraphs with 256 samples each; the
// processor is two Xeon Silver 4210 with 10 cores each, the GPU a V100 (for times two of them).
#include "study/paper/published.h"

#include <math.h>
#include <string.h>

const char seer_published_source[] =
    "Zhang et al., FamilySeer: Towards Optimized Tensor Codes by Exploiting Computation Subgraph "
    "Similarity (2022)";

const seer_published seer_published_table[] = {
    {"table2", "anchor-op", "", "", 0.994, NAN},
    {"table2", "op-sequence", "", "", 0.991, NAN},
    {"table2", "op-count", "", "", 0.974, NAN},
    // How many times sooner familyseer is where Ansor ends, to a share of it.
    {"fig7", "80", "", "", 1.53, 1.89},
    {"fig7", "90", "", "", 1.66, 2.36},
    {"fig7", "100", "", "", 2.49, 3.04},
    {"fig7", "most", "", "", 12.1, 7.9},
    // Ansor's latency over familyseer's, after equal budgets.
    {"table5", "", "ResNet50_v1", "resnet50_v1", 1.012, 1.011},
    {"table5", "", "ResNet152_v2", "resnet152_v2", 1.002, 1.034},
    {"table5", "", "MobileNet", "mobilenet", 1.145, 1.011},
    {"table5", "", "MobileNetV2", "mobilenet_v2", 1.170, 1.087},
    {"table5", "", "ViT-Huge", "vit_huge", 1.024, 1.004},
    {"table5", "", "BERT-Large", "bert_large", 1.021, 1.008},
    {"table5", "", "RoBERTa-Large", "roberta_large", 1.035, 1.041},
    {"table5", "", "GPT2-Small", "gpt2_small", 1.021, 1.013},
};
const size_t seer_published_count = SEER_COUNT_OF(seer_published_table);

seer_published seer_published_find(const char *study, const char *what, const char *network) {
  size_t n = strcspn(network, ":");
  for (size_t i = 0; i < seer_published_count; i++) {
    const seer_published *p = &seer_published_table[i];
    bool is_it = strcmp(p->study, study) == 0 && strcmp(p->what, what) == 0;
    if (is_it && strlen(p->ours) == n && memcmp(p->ours, network, n) == 0) return *p;
  }
  return (seer_published){study, what, "", "", NAN, NAN};
}
