// doc/operators.md is what the table of operators says. `test_front_operators_doc --print` prints
// it anew; `--versions` says which opsets each entry is for, for test/peer/test_opsets.py.
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "front/op.h"
#include "support/test.h"

// What the table has no line for; the messages name the node, what was found and what is allowed.
static const char refusals[] =
    "\n## What is refused\n\n"
    "- **Operators that the table lacks**: all of a file are listed at once, before anything is "
    "built. A branch of an If that\n  has one is an error of the run that takes it.\n"
    "- **Values that are no tensors**: strings, maps, sparse tensors and sequences as inputs or "
    "outputs, all of ai.onnx.ml.\n"
    "- **Sizes that data decides, without a bound**: memory is planned before a run, so whatever "
    "is "
    "found needs a most that\n  follows from the file: a number of elements (NonZero, "
    "Compress, NonMaxSuppression), a constant (TopK's k, Clip, Min), or\n  sums and products of "
    "such. Durations of speech have one where something clips them.\n"
    "- **Sizes that data decides, in places that need them before a run**: windows (Conv, pools) "
    "over such a dimension, its\n  Resize by anything but 1, Tile and Split by it, a mode of Pad "
    "other than constant, groups and channels; two such sizes that meet in one\n  operator "
    "and are not known to be the same; values of a Loop whose sizes change from one iteration to "
    "the "
    "next, where the number of iterations\n  is data. Other operators compute at the bound.\n"
    "- **Scalar numbers that must be constant**: axes, k of TopK where nothing bounds it, scales "
    "and sizes of Resize, positions\n  in a sequence. Inputs that are always the same become "
    "constants by `--bind`.\n";

static const char *print(seer_arena *arena) {
  static const char *const fuse[] = {
      "alone", "elementwise", "index map", "anchor", "reduction", "view", "composite"};
  seer_text text;
  seer_text_init(&text, arena);
  seer_text_put(&text, "# Operators\n\n");
  seer_text_printf(&text,
      "%zu operators, of ONNX's own domain (opsets %d to %d) if no other is named. ",
      seer_op_table_count, SEER_OPSET_OLDEST, SEER_OPSET_NEWEST);
  seer_text_put(&text,
      "Generated from `src/front/op/table.inc`\n(`test_front_operators_doc --print`). "
      "*Fusion*: an anchor takes the elementwise operators after it; a reduction too;\nindex maps "
      "join "
      "their consumer; views move nothing; composites are replaced\nby other operators; \"alone\" "
      "is folded away before anything runs.\n\n"
      "Tensors without elements go through, but for those that Unique and the spatial dimensions "
      "of ConvTranspose and MaxUnpool\nread, for DFT and AffineGrid of no points and for OneHot of "
      "depth 0. "
      "As an extent of the network's inputs, 0 says that it is not known.\n\n");
  seer_text_put(
      &text, "| operator | since opset | fusion | attributes | covered |\n|---|---|---|---|---|\n");
  for (size_t i = 0; i < seer_op_table_count; i++) {
    const seer_op_desc *op = seer_op_table[i];
    seer_text_printf(&text, "| %s%s%s | %d | %s | %s | %s |\n", op->domain,
        op->domain[0] ? "." : "", op->name, op->opset_min, fuse[op->fuse],
        op->attrs[0] ? op->attrs : "-", op->doc[0] ? op->doc : "all of it");
  }
  seer_text_put(&text, refusals);
  return text.data;
}

// The first line: the opsets that are read. Then a line an operator of ai.onnx for each entry that
// finds it: name, opsets from and to, most inputs and outputs, attributes.
static void print_versions(void) {
  static const seer_op_desc *const all[] = {
#define ENTRY(id) &seer_op_##id,
      SEER_OPS(ENTRY) SEER_OLD_OPS(ENTRY)
#undef ENTRY
  };
  printf("%d %d\n", SEER_OPSET_OLDEST, SEER_OPSET_NEWEST);
  for (size_t i = 0; i < SEER_COUNT_OF(all); i++) {
    const seer_op_desc *op = all[i];
    if (op->domain[0]) continue;
    printf("%s %d %d %u %u %s\n", op->name, op->opset_min, op->opset_max, op->n_in_max,
        op->n_out_max, op->attrs);
  }
}

static void test_is_fresh(void **state) {
  (void)state;
  seer_arena *arena = seer_arena_create("doc");
  char *stored = NULL;
  size_t n = 0;
  seer_status status =
      seer_os_read_file(SEER_SOURCE_DIR "/doc/operators.md", arena, 1 << 20, &stored, &n);
  assert_null(status);
  if (strcmp(stored, print(arena)) != 0) {
    fail_msg("doc/operators.md is stale: run make docs");
  }
  seer_arena_destroy(arena);
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "--print") == 0) {
    seer_arena *arena = seer_arena_create("doc");
    printf("%s", print(arena));
    seer_arena_destroy(arena);
    return 0;
  }
  if (argc > 1 && strcmp(argv[1], "--versions") == 0) {
    print_versions();
    return 0;
  }
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_is_fresh)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
