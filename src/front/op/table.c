// table.c - the operators that familyseer knows, as table.inc lists them.
#include <string.h>

#include "front/op/util.h"

const seer_op_desc *const seer_op_table[] = {
#define ENTRY(id) &seer_op_##id,
    SEER_OPS(ENTRY)};
const size_t seer_op_table_count = SEER_COUNT_OF(seer_op_table);
static const seer_op_desc *const old_table[] = {SEER_OLD_OPS(ENTRY) SEER_INNER_OPS(ENTRY)};
#undef ENTRY

static const seer_op_desc *find_in(const seer_op_desc *const *table, size_t n, const char *domain,
    const char *name, int32_t opset) {
  for (size_t i = 0; i < n; i++) {
    const seer_op_desc *op = table[i];
    if (opset >= op->opset_min && opset <= op->opset_max && strcmp(op->name, name) == 0 &&
        strcmp(op->domain, domain) == 0) {
      return op;
    }
  }
  return NULL;
}

const seer_op_desc *seer_op_find(const char *domain, const char *name, int32_t opset) {
  if (!domain || strcmp(domain, "ai.onnx") == 0) domain = "";
  const seer_op_desc *op = find_in(seer_op_table, seer_op_table_count, domain, name, opset);
  return op ? op : find_in(old_table, SEER_COUNT_OF(old_table), domain, name, opset);
}
