// Bytes as what comes over the socket between a tuner and its workers, or what lies at a fleet's
// broker: the type (0: a frame), then the payload. What is read can be written and read again; a
// schedule that fits the task can be lowered, a kernel that fits it packed.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "measure/fleet/letter.h"
#include "measure/remote/remote.h"
#include "space/lower.h"

#define MAX_PACK_BYTES (1 << 20)

static const char net[] =
    "dag gemm { input $a f32[16, 32] weight $b f32[32, 24]\n"
    "stage gemm role anchor [i:m<16, j:n<24] sum[k:k<32] = $a[i, k] * $b[k, j]\n"
    "output $gemm }";

typedef union {
  seer_message_hello hello;
  seer_message_task task;
  seer_message_build build;
  seer_message_built built;
  seer_message_run run;
  seer_message_check check;
  seer_message_compare compare;
  seer_message_compared compared;
  seer_measure_result result;
  seer_letter_tuning tuning;
  seer_letter_worker worker;
  seer_letter_job job;
  seer_letter_answer answer;
  seer_remote_ask ask;
  seer_remote_told told;
  int exit_status;
} any;

static void must(seer_status status) {
  if (!status) return;
  (void)fprintf(stderr, "%s\n", seer_status_message(status));
  abort();
}

static seer_status get(
    seer_wire_type type, const void *data, size_t n, seer_arena *arena, any *out) {
  switch (type) {
    case SEER_WIRE_HELLO:
      return seer_message_get_hello(data, n, arena, &out->hello);
    case SEER_WIRE_TASK:
      return seer_message_get_task(data, n, arena, &out->task);
    case SEER_WIRE_BUILD:
      return seer_message_get_build(data, n, arena, &out->build);
    case SEER_WIRE_BUILT:
      return seer_message_get_built(data, n, arena, &out->built);
    case SEER_WIRE_RUN:
      return seer_message_get_run(data, n, arena, &out->run);
    case SEER_WIRE_CHECK:
      return seer_message_get_check(data, n, arena, &out->check);
    case SEER_WIRE_COMPARE:
      return seer_message_get_compare(data, n, arena, &out->compare);
    case SEER_WIRE_COMPARED:
      return seer_message_get_compared(data, n, arena, &out->compared);
    case SEER_WIRE_RAN:
    case SEER_WIRE_CHECKED:
      return seer_message_get_result(data, n, arena, &out->result);
    case SEER_WIRE_TUNING:
      return seer_letter_get_tuning(data, n, arena, &out->tuning);
    case SEER_WIRE_WORKER:
      return seer_letter_get_worker(data, n, arena, &out->worker);
    case SEER_WIRE_JOB:
      return seer_letter_get_job(data, n, arena, &out->job);
    case SEER_WIRE_ANSWER:
      return seer_letter_get_answer(data, n, arena, &out->answer);
    case SEER_WIRE_ASK:
      return seer_remote_get_ask(data, n, arena, &out->ask);
    case SEER_WIRE_TOLD:
      return seer_remote_get_told(data, n, arena, &out->told);
    case SEER_WIRE_ENDED:
      return seer_remote_get_ended(data, n, &out->exit_status);
    case SEER_WIRE_REFUSED:
      return seer_remote_get_refused(data, n);
    case SEER_WIRE_BEGUN:
    case SEER_WIRE_END:
      break;
  }
  return SEER_FAIL(CORRUPT, "no such type");
}

static void put(seer_wire_type type, seer_text *out, const any *message) {
  switch (type) {
    case SEER_WIRE_HELLO:
      return seer_message_put_hello(out, &message->hello);
    case SEER_WIRE_TASK:
      return seer_message_put_task(out, &message->task);
    case SEER_WIRE_BUILD:
      return seer_message_put_build(out, &message->build);
    case SEER_WIRE_BUILT:
      return seer_message_put_built(out, &message->built);
    case SEER_WIRE_RUN:
      return seer_message_put_run(out, &message->run);
    case SEER_WIRE_CHECK:
      return seer_message_put_check(out, &message->check);
    case SEER_WIRE_COMPARE:
      return seer_message_put_compare(out, &message->compare);
    case SEER_WIRE_COMPARED:
      return seer_message_put_compared(out, &message->compared);
    case SEER_WIRE_RAN:
    case SEER_WIRE_CHECKED:
      return seer_message_put_result(out, &message->result);
    case SEER_WIRE_TUNING:
      return seer_letter_put_tuning(out, &message->tuning);
    case SEER_WIRE_WORKER:
      return seer_letter_put_worker(out, &message->worker);
    case SEER_WIRE_JOB:
      return seer_letter_put_job(out, &message->job);
    case SEER_WIRE_ANSWER:
      return seer_letter_put_answer(out, &message->answer);
    case SEER_WIRE_ASK:
      return seer_remote_put_ask(out, &message->ask);
    case SEER_WIRE_TOLD:
      return seer_remote_put_told(out, &message->told);
    case SEER_WIRE_ENDED:
      return seer_remote_put_ended(out, message->exit_status);
    case SEER_WIRE_REFUSED:
    case SEER_WIRE_BEGUN:
    case SEER_WIRE_END:
      break;
  }
}

// Written, read and written again: the same bytes.
static void round_trip(seer_wire_type type, const any *message, seer_arena *arena) {
  seer_text first, second;
  seer_text_init(&first, arena);
  seer_text_init(&second, arena);
  put(type, &first, message);
  any *again = SEER_NEW(arena, any);
  must(get(type, first.data, first.n_bytes, arena, again));
  put(type, &second, again);
  if (first.n_bytes != second.n_bytes || memcmp(first.data, second.data, first.n_bytes) != 0)
    abort();
}

static void lower(
    const seer_sketch_list *list, const char *text, seer_arena *arena, seer_schedule *out) {
  seer_status status = seer_message_read_schedule(list, text, arena, out);
  seer_loop *loop;
  if (!status) must(seer_loop_lower(list, out, arena, &loop));
  seer_status_free(status);
}

static void pack(const seer_sketch_list *list, uint32_t nth, const seer_kernel *kernel) {
  const seer_sketch *sketch = list->sketch[nth % list->n];
  seer_status status = seer_message_fits_kernel(list->dag, sketch, false, kernel);
  for (uint32_t a = 0; a < kernel->n_arg && !status; a++) {
    const seer_kernel_arg *arg = &kernel->arg[a];
    if (arg->storage != SEER_STORE_PACKED || arg->n_bytes > MAX_PACK_BYTES) continue;
    const seer_dag_buf *source = &sketch->dag->buf[arg->pack->source_buf];
    void *from = calloc((size_t)seer_dag_buf_elems(source), seer_dtype_bytes(source->dtype));
    void *to = malloc(arg->n_bytes + 1);
    if (!from || !to) abort();
    seer_pack_fill(arg->pack, source, from, to);
    free(from);
    free(to);
  }
  seer_status_free(status);
}

static void use(
    const seer_sketch_list *list, seer_wire_type type, const any *m, seer_arena *arena) {
  seer_schedule schedule = {0};
  if (type == SEER_WIRE_BUILD) lower(list, m->build.schedule, arena, &schedule);
  if (type == SEER_WIRE_RUN) pack(list, 0, &m->run.kernel);
  if (type != SEER_WIRE_CHECK) return;
  for (int i = 0; i < 2; i++) {
    lower(list, m->check.schedule[i], arena, &schedule);
    pack(list, schedule.sketch, &m->check.kernel[i]);
  }
}

static const seer_sketch_list *the_task(void) {
  static seer_sketch_list *list;
  static seer_target target = {
      .kind = SEER_TARGET_CPU, .threads = 2, .vector_bytes = 32, .n_vector_registers = 16};
  if (list) return list;
  static seer_arena *arena;
  arena = seer_arena_create("task");
  seer_dag *dag;
  must(seer_dag_parse("net", net, sizeof net - 1, arena, &dag));
  must(seer_sketch_generate(dag, &target, SEER_SPACE_FULL, arena, &list));
  return list;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
  if (n_bytes == 0) return 0;
  seer_arena *arena = seer_arena_create("fuzz");
  if (data[0] == 0) {
    uint8_t frame[SEER_WIRE_FRAME_BYTES] = {0};
    seer_wire_header header;
    memcpy(frame, data + 1, n_bytes - 1 < sizeof frame ? n_bytes - 1 : sizeof frame);
    seer_status_free(seer_wire_parse_frame(frame, &header));
  } else if (data[0] < SEER_WIRE_END) {
    any *message = SEER_NEW(arena, any);
    seer_wire_type type = (seer_wire_type)data[0];
    seer_status status = get(type, data + 1, n_bytes - 1, arena, message);
    if (!status) {
      round_trip(type, message, arena);
      use(the_task(), type, message, arena);
    }
    seer_status_free(status);
  }
  seer_arena_destroy(arena);
  return 0;
}
