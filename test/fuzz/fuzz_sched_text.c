// The text form of schedules of one DAG: any text is refused, or gives a schedule that is normal,
// prints and parses to itself, and has a frame.
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "space/frame.h"

static const char net[] =
    "dag conv { input $x f32[1, 9, 7, 5] weight $w f32[18, 3, 3, 5]\n"
    "stage pad role pad [n:batch<1, y:y<11, x:x<9, c:in_channel<5] ="
    " $x[n, y - 1, x - 1, c] if (y >= 1) & (y < 10) & ((x >= 1) & (x < 8)) else 0.0\n"
    "stage conv role anchor [n:batch<1, y:y<9, x:x<7, oc:out_channel<18]"
    " sum[ky:ky<3, kx:kx<3, ic:in_channel<5] = $pad[n, y + ky, x + kx, ic] * $w[oc, ky, kx, ic]\n"
    "stage relu role epilogue [n:batch<1, y:y<9, x:x<7, oc:out_channel<18] ="
    " max($conv[n, y, x, oc], 0.0)\n"
    "output $relu }";

static const seer_sketch_list *sketches(void) {
  static seer_sketch_list *list;
  static seer_target target = {
      .kind = SEER_TARGET_CPU, .threads = 2, .vector_bytes = 64, .n_vector_registers = 32};
  if (list) return list;
  static seer_arena *arena;
  arena = seer_arena_create("sketches");
  seer_dag *dag;
  seer_status status = seer_dag_parse("net", net, sizeof net - 1, arena, &dag);
  if (!status) status = seer_sketch_generate(dag, &target, SEER_SPACE_FULL, arena, &list);
  if (status) abort();
  return list;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
  const seer_sketch_list *list = sketches();
  seer_schedule schedule, back;
  seer_status status = seer_schedule_parse(list, "fuzz", (const char *)data, n_bytes, &schedule);
  if (!status) {
    seer_arena *arena = seer_arena_create("fuzz");
    back = schedule;
    seer_schedule_normalise(list, &back);
    if (!seer_schedule_equal(&schedule, &back)) abort();
    const char *text = seer_schedule_print(list, &schedule, arena);
    seer_status again = seer_schedule_parse(list, "printed", text, strlen(text), &back);
    if (again || !seer_schedule_equal(&schedule, &back)) abort();
    if (seer_schedule_hash(&schedule) != seer_schedule_hash(&back)) abort();
    seer_schedule_check(list, &schedule);
    seer_arena_destroy(arena);
  }
  seer_status_free(status);
  return 0;
}
