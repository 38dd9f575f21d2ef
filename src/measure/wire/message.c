// message.c - messages field by field.
// Limits are those of what our own program makes: the sizes of the arrays that hold a kernel, the
// largest schedule, SEER_WIRE_MAX_BYTES for everything of variable length. Sizes of memory are
// limited to 2^40 bytes, so that sums of them cannot overflow.

#include "measure/wire/message.h"

#include <math.h>
#include <string.h>

#include "measure/wire/revision.h"
#include "space/items/items.h"

#define MAX_VERSION_BYTES 64
#define MAX_SCHEDULE_BYTES 65536
#define MAX_SYMBOL_BYTES 256
#define MAX_CONSTANTS 128  // kernels: two schedules of a DAG each
#define MAX_BUFFER_BYTES ((uint64_t)1 << 40)
#define MAX_PACK_STEP ((int64_t)1 << 40)  // strides and extents

typedef seer_wire_reader reader;

static reader begin(const void *payload, size_t n_bytes) {
  return (reader){.at = payload, .left = n_bytes};
}

// ---- parts
void seer_message_put_text(seer_text *out, const char *text) {
  seer_wire_put_bytes(out, text, strlen(text));
}

const char *seer_message_get_schedule(reader *r, seer_arena *arena) {
  return seer_wire_get_text(r, MAX_SCHEDULE_BYTES, "a schedule", arena);
}

static void put_pack(seer_text *out, const seer_pack *pack) {
  seer_wire_put_u32(out, pack->source_buf);
  seer_wire_put_u32(out, pack->n);
  for (uint32_t d = 0; d < pack->n; d++) {
    seer_wire_put_u32(out, pack->dim[d].source_dim);
    seer_wire_put_u64(out, (uint64_t)pack->dim[d].stride);
    seer_wire_put_u64(out, (uint64_t)pack->dim[d].extent);
  }
}

static void get_pack(reader *r, seer_pack *out) {
  memset(out, 0, sizeof(*out));
  out->source_buf = seer_wire_get_max(r, SEER_DAG_MAX_BUFFERS - 1, "a pack's source");
  out->n = seer_wire_get_max(r, SEER_MAX_RANK, "a pack's rank");
  int64_t elems = 1;
  for (uint32_t d = 0; d < out->n; d++) {
    seer_pack_dim *dim = &out->dim[d];
    dim->source_dim = (uint8_t)seer_wire_get_max(r, SEER_MAX_RANK - 1, "a pack's dimension");
    dim->stride = (int64_t)seer_wire_get_u64(r);
    dim->extent = (int64_t)seer_wire_get_u64(r);
    if (dim->stride < -MAX_PACK_STEP || dim->stride > MAX_PACK_STEP)
      seer_wire_refuse(r, "a pack's stride");
    bool is_fine = dim->extent >= 1 && dim->extent <= (int64_t)MAX_BUFFER_BYTES / elems;
    if (!is_fine) seer_wire_refuse(r, "a pack's extent");
    if (!is_fine || r->wrong) return;
    elems *= dim->extent;
  }
}

static void put_arg(seer_text *out, const seer_kernel_arg *arg) {
  seer_wire_put_u32(out, (uint32_t)arg->storage);
  seer_wire_put_u32(out, arg->dag_buf);
  seer_wire_put_u64(out, arg->n_bytes);
  seer_wire_put_u32(out, (uint32_t)arg->dtype);
  if (arg->storage == SEER_STORE_PACKED) put_pack(out, arg->pack);
}

static void get_arg(reader *r, bool is_scratch, seer_arena *arena, seer_kernel_arg *out) {
  out->storage = (seer_loop_storage)seer_wire_get_max(r, SEER_STORE_LOCAL, "an argument's storage");
  out->dag_buf = seer_wire_get_max(r, SEER_DAG_MAX_BUFFERS - 1, "an argument's buffer");
  out->n_bytes = seer_wire_get_u64(r);
  out->dtype = (seer_dtype)seer_wire_get_max(r, SEER_DTYPE_COUNT - 1, "an argument's type");
  if (out->n_bytes > MAX_BUFFER_BYTES) seer_wire_refuse(r, "an argument's size");
  if ((out->storage == SEER_STORE_LOCAL) != is_scratch)
    seer_wire_refuse(r, "the place of the scratch among the arguments");
  if (out->storage != SEER_STORE_PACKED || r->wrong) return;
  seer_pack *pack = SEER_NEW(arena, seer_pack);
  get_pack(r, pack);
  out->pack = pack;
}

// Behind the format, of block programs alone.
static void put_launches(seer_text *out, const seer_kernel *kernel) {
  for (uint32_t p = 0; p < kernel->n_phase; p++) {
    seer_wire_put_u32(out, kernel->launch[p].n_items);
    seer_wire_put_u32(out, kernel->launch[p].group_bytes);
  }
}

static void get_launches(reader *r, seer_kernel *out) {
  for (uint32_t p = 0; p < out->n_phase; p++) {
    seer_kernel_launch *launch = &out->launch[p];
    launch->n_items = seer_wire_get_max(r, SEER_ITEMS_MAX, "a block's number of items");
    if (launch->n_items == 0) seer_wire_refuse(r, "a block's number of items");
    launch->group_bytes =
        seer_wire_get_max(r, SEER_KERNEL_MAX_GROUP_BYTES, "the size of a block's memory");
  }
}

static void put_kernel(seer_text *out, const seer_kernel *kernel) {
  seer_message_put_text(out, kernel->symbol);
  seer_wire_put_u32(out, (uint32_t)kernel->format);
  seer_wire_put_u32(out, kernel->n_phase);
  for (uint32_t p = 0; p < kernel->n_phase; p++) seer_wire_put_u32(out, kernel->n_parts[p]);
  if (seer_kernel_has_items(kernel->format)) put_launches(out, kernel);
  seer_wire_put_u32(out, kernel->n_arg);
  for (uint32_t a = 0; a < kernel->n_arg; a++) put_arg(out, &kernel->arg[a]);
  seer_wire_put_u64(out, kernel->scratch_bytes);
  seer_wire_put_u32(out, kernel->code_bytes);
  seer_wire_put_bytes(out, kernel->object, kernel->n_object_bytes);
}

static void get_kernel(reader *r, seer_arena *arena, seer_kernel *out) {
  memset(out, 0, sizeof(*out));
  out->symbol = seer_wire_get_text(r, MAX_SYMBOL_BYTES, "a kernel's symbol", arena);
  out->format =
      (seer_kernel_format)seer_wire_get_max(r, SEER_KERNEL_FORMAT_COUNT - 1, "a kernel's format");
  bool has_items = seer_kernel_has_items(out->format);
  out->n_phase = seer_wire_get_max(r, SEER_DAG_MAX_STAGES, "a kernel's number of phases");
  for (uint32_t p = 0; p < out->n_phase; p++)
    out->n_parts[p] = seer_wire_get_max(r, INT32_MAX, "a phase's number of parts");
  if (has_items) get_launches(r, out);
  out->n_arg = seer_wire_get_max(r, SEER_DAG_MAX_BUFFERS, "a kernel's number of arguments");
  if (out->n_arg == 0) seer_wire_refuse(r, "a kernel's number of arguments");
  for (uint32_t a = 0; a < out->n_arg && !r->wrong; a++)
    get_arg(r, !has_items && a + 1 == out->n_arg, arena, &out->arg[a]);
  out->scratch_bytes = seer_wire_get_u64(r);
  if (out->scratch_bytes > (has_items ? 0 : MAX_BUFFER_BYTES))
    seer_wire_refuse(r, "a kernel's scratch");
  out->code_bytes = seer_wire_get_u32(r);
  const void *object =
      seer_wire_get_bytes(r, SEER_WIRE_MAX_BYTES, "a kernel's object", &out->n_object_bytes);
  if (!r->wrong) out->object = seer_arena_memdup(arena, object, out->n_object_bytes);
}

static void put_constants(seer_text *out, const seer_constant_kernels *all) {
  seer_wire_put_u32(out, (uint32_t)all->n);
  for (size_t k = 0; k < all->n; k++) {
    const seer_constant_kernel *kernel = &all->kernel[k];
    seer_wire_put_u64(out, kernel->key);
    seer_wire_put_u64(out, kernel->scratch_bytes);
    seer_wire_put_bytes(out, kernel->object, kernel->n_object_bytes);
  }
}

static void get_constants(reader *r, seer_arena *arena, seer_constant_kernels *out) {
  uint32_t n = seer_wire_get_max(r, MAX_CONSTANTS, "the number of constants' kernels");
  *out = (seer_constant_kernels){.kernel = SEER_NEW_ARRAY(arena, seer_constant_kernel, n + 1)};
  for (; out->n < n && !r->wrong; out->n++) {
    seer_constant_kernel *kernel = &out->kernel[out->n];
    kernel->key = seer_wire_get_u64(r);
    kernel->scratch_bytes = seer_wire_get_u64(r);
    if (kernel->scratch_bytes > MAX_BUFFER_BYTES) seer_wire_refuse(r, "a kernel's scratch");
    const void *object =
        seer_wire_get_bytes(r, SEER_WIRE_MAX_BYTES, "a kernel's object", &kernel->n_object_bytes);
    if (!r->wrong) kernel->object = seer_arena_memdup(arena, object, kernel->n_object_bytes);
  }
}

static void put_class(seer_text *out, seer_measured_class cls, const char *message) {
  seer_wire_put_u32(out, (uint32_t)cls);
  seer_wire_put_bytes(out, message, strnlen(message, SEER_MEASURE_MESSAGE_BYTES - 1));
}

// What a worker says is shown and stored: made fit for that here.
static void get_message(reader *r, char out[SEER_MEASURE_MESSAGE_BYTES]) {
  size_t n;
  const char *text =
      seer_wire_get_bytes(r, SEER_MEASURE_MESSAGE_BYTES - 1, "the length of a text", &n);
  (void)seer_text_safe_copy(out, SEER_MEASURE_MESSAGE_BYTES, text, n, SEER_TEXT_ONE_LINE);
}

static seer_measured_class get_class(reader *r, char message[SEER_MEASURE_MESSAGE_BYTES]) {
  seer_measured_class cls =
      (seer_measured_class)seer_wire_get_max(r, SEER_MEASURED_COUNT - 1, "the kind of a result");
  get_message(r, message);
  return cls;
}

// ---- from the tuner
void seer_message_put_task(seer_text *out, const seer_message_task *message) {
  seer_wire_put_u32(out, message->id);
  seer_wire_put_u32(out, (uint32_t)message->space);
  seer_wire_put_f64(out, message->tolerance);
  seer_wire_put_u64(out, message->network_weight_bytes);
  seer_message_put_text(out, message->dag);
}

seer_status seer_message_get_task(
    const void *payload, size_t n_bytes, seer_arena *arena, seer_message_task *out) {
  reader r = begin(payload, n_bytes);
  out->id = seer_wire_get_u32(&r);
  out->space = (seer_space_kind)seer_wire_get_max(&r, SEER_SPACE_ANSOR, "the space");
  out->tolerance = seer_wire_get_share(&r, "the tolerance");
  out->network_weight_bytes = seer_wire_get_u64(&r);
  out->dag = seer_wire_get_text(&r, SEER_WIRE_MAX_BYTES, "the DAG", arena);
  return seer_wire_end(&r, "a task");
}

void seer_message_put_build(seer_text *out, const seer_message_build *message) {
  seer_wire_put_u32(out, message->task);
  seer_message_put_text(out, message->schedule);
}

seer_status seer_message_get_build(
    const void *payload, size_t n_bytes, seer_arena *arena, seer_message_build *out) {
  reader r = begin(payload, n_bytes);
  out->task = seer_wire_get_u32(&r);
  out->schedule = seer_message_get_schedule(&r, arena);
  return seer_wire_end(&r, "an order to build");
}

void seer_message_put_timing(seer_text *out, const seer_timing *timing) {
  seer_wire_put_f64(out, timing->least_s);
  seer_wire_put_f64(out, timing->precision);
  seer_wire_put_f64(out, timing->most_s);
}

seer_timing seer_message_get_timing(reader *r) {
  seer_timing timing = {0};
  timing.least_s = seer_wire_get_seconds(r, "the time to measure for");
  timing.precision = seer_wire_get_seconds(r, "the precision");
  timing.most_s = seer_wire_get_seconds(r, "the longest time to measure for");
  return timing;
}

void seer_message_put_run(seer_text *out, const seer_message_run *message) {
  seer_wire_put_u32(out, message->task);
  seer_wire_put_f64(out, message->best_seconds);
  seer_message_put_timing(out, &message->timing);
  put_kernel(out, &message->kernel);
}

seer_status seer_message_get_run(
    const void *payload, size_t n_bytes, seer_arena *arena, seer_message_run *out) {
  reader r = begin(payload, n_bytes);
  out->task = seer_wire_get_u32(&r);
  out->best_seconds = seer_wire_get_seconds(&r, "the best time");
  out->timing = seer_message_get_timing(&r);
  get_kernel(&r, arena, &out->kernel);
  return seer_wire_end(&r, "an order to run");
}

void seer_message_put_check(seer_text *out, const seer_message_check *message) {
  seer_wire_put_u32(out, message->task);
  for (int i = 0; i < 2; i++) seer_message_put_text(out, message->schedule[i]);
  for (int i = 0; i < 2; i++) put_kernel(out, &message->kernel[i]);
  put_constants(out, &message->constants);
}

seer_status seer_message_get_check(
    const void *payload, size_t n_bytes, seer_arena *arena, seer_message_check *out) {
  reader r = begin(payload, n_bytes);
  out->task = seer_wire_get_u32(&r);
  for (int i = 0; i < 2; i++) out->schedule[i] = seer_message_get_schedule(&r, arena);
  for (int i = 0; i < 2; i++) get_kernel(&r, arena, &out->kernel[i]);
  get_constants(&r, arena, &out->constants);
  return seer_wire_end(&r, "an order to check");
}

void seer_message_put_compare(seer_text *out, const seer_message_compare *message) {
  seer_wire_put_u32(out, message->task);
  seer_wire_put_u32(out, message->n_pairs);
  seer_wire_put_u32(out, message->n);
  for (uint32_t k = 0; k <= message->n; k++) put_kernel(out, &message->kernel[k]);
}

seer_status seer_message_get_compare(
    const void *payload, size_t n_bytes, seer_arena *arena, seer_message_compare *out) {
  reader r = begin(payload, n_bytes);
  out->task = seer_wire_get_u32(&r);
  out->n_pairs = seer_wire_get_max(&r, SEER_MEASURE_MAX_PAIRS, "the number of pairs");
  if (out->n_pairs == 0) seer_wire_refuse(&r, "the number of pairs");
  out->n = seer_wire_get_max(&r, SEER_MEASURE_MAX_CONTENDERS, "the number of contenders");
  for (uint32_t k = 0; k <= out->n; k++) get_kernel(&r, arena, &out->kernel[k]);
  return seer_wire_end(&r, "an order to compare");
}

// ---- from a worker
seer_message_hello seer_message_hello_here(const seer_target *target) {
  return (seer_message_hello){.version = SEER_VERSION,
      .revision = seer_revision(),
      .target_key = target ? seer_target_key(target) : 0,
      .peak_gflops = target ? target->peak_gflops : 0};
}

seer_status seer_message_program_fits(
    const seer_message_hello *own, const seer_message_hello *other) {
  if (strcmp(other->version, own->version) != 0)
    return SEER_FAIL(
        INVALID, "is of version %s, this program is of %s", other->version, own->version);
  if (strcmp(other->revision, own->revision) != 0)
    return SEER_FAIL(INVALID, "is of version %s, too, but its sources are %s and this program's %s",
        own->version, other->revision, own->revision);
  return SEER_OK;
}

seer_status seer_message_hello_fits(
    const seer_message_hello *own, const seer_message_hello *other) {
  SEER_TRY(seer_message_program_fits(own, other));
  if (other->target_key == own->target_key) return SEER_OK;
  return SEER_FAIL(INVALID, "works for target %016" PRIx64 ", wanted is %016" PRIx64,
      other->target_key, own->target_key);
}

void seer_message_put_hello(seer_text *out, const seer_message_hello *message) {
  seer_message_put_text(out, message->version);
  seer_message_put_text(out, message->revision);
  seer_wire_put_u64(out, message->target_key);
  seer_wire_put_f64(out, message->peak_gflops);
}

static const char *get_version(reader *r, const char *what, seer_arena *arena) {
  return seer_text_safe(arena, seer_wire_get_text(r, MAX_VERSION_BYTES, what, arena));
}

void seer_message_get_hello_fields(reader *r, seer_arena *arena, seer_message_hello *out) {
  out->version = get_version(r, "the version", arena);
  out->revision = get_version(r, "the revision", arena);
  out->target_key = seer_wire_get_u64(r);
  out->peak_gflops = seer_wire_get_seconds(r, "the peak");
}

seer_status seer_message_get_hello(
    const void *payload, size_t n_bytes, seer_arena *arena, seer_message_hello *out) {
  reader r = begin(payload, n_bytes);
  seer_message_get_hello_fields(&r, arena, out);
  return seer_wire_end(&r, "a hello");
}

void seer_message_put_built(seer_text *out, const seer_message_built *message) {
  seer_wire_put_u32(out, message->is_ok);
  seer_wire_put_f64(out, message->seconds);
  if (message->is_ok) {
    seer_wire_put_u64(out, message->object_hash);
    put_kernel(out, &message->kernel);
  } else {
    put_class(out, SEER_MEASURED_BUILD_ERROR, message->message);
  }
}

seer_status seer_message_get_built(
    const void *payload, size_t n_bytes, seer_arena *arena, seer_message_built *out) {
  memset(out, 0, sizeof(*out));
  reader r = begin(payload, n_bytes);
  out->is_ok = seer_wire_get_max(&r, 1, "whether it was built") == 1;
  out->seconds = seer_wire_get_seconds(&r, "the time that it took to build");
  if (out->is_ok) {
    out->object_hash = seer_wire_get_u64(&r);
    get_kernel(&r, arena, &out->kernel);
  } else if (get_class(&r, out->message) != SEER_MEASURED_BUILD_ERROR) {
    seer_wire_refuse(&r, "the kind of a result");
  }
  return seer_wire_end(&r, "what was built");
}

void seer_message_put_result(seer_text *out, const seer_measure_result *message) {
  put_class(out, message->cls, message->message);
  seer_wire_put_u32(out, message->is_raced_out);
  seer_wire_put_f64(out, message->seconds);
  seer_wire_put_f64(out, message->run_s);
  seer_wire_put_u32(out, message->n_samples);
  for (uint32_t i = 0; i < message->n_samples; i++) seer_wire_put_f64(out, message->sample[i]);
}

void seer_message_get_result_fields(reader *r, seer_measure_result *out) {
  memset(out, 0, sizeof(*out));
  out->cls = get_class(r, out->message);
  out->is_raced_out = seer_wire_get_max(r, 1, "whether it was dropped early") == 1;
  out->seconds = seer_wire_get_seconds(r, "a time");
  out->run_s = seer_wire_get_seconds(r, "the time that it took to measure");
  out->n_samples = seer_wire_get_max(r, SEER_MEASURE_MAX_SAMPLES, "the number of samples");
  for (uint32_t i = 0; i < out->n_samples; i++) {
    out->sample[i] = seer_wire_get_seconds(r, "a sample");
    if (out->sample[i] <= 0) seer_wire_refuse(r, "a sample");
  }
  if (out->n_samples > 0 && out->seconds <= 0) seer_wire_refuse(r, "a time");
}

seer_status seer_message_get_result(
    const void *payload, size_t n_bytes, seer_arena *arena, seer_measure_result *out) {
  (void)arena;
  reader r = begin(payload, n_bytes);
  seer_message_get_result_fields(&r, out);
  return seer_wire_end(&r, "a result");
}

void seer_message_put_compared(seer_text *out, const seer_message_compared *message) {
  put_class(out, message->cls, message->message);
  seer_wire_put_u32(out, message->n);
  seer_wire_put_u32(out, message->n_pairs);
  for (uint32_t k = 0; k < message->n * message->n_pairs; k++) {
    seer_wire_put_f64(out, message->pair[k].seconds);
    seer_wire_put_f64(out, message->pair[k].baseline_seconds);
  }
}

void seer_message_get_compared_fields(reader *r, seer_message_compared *out) {
  memset(out, 0, sizeof(*out));
  out->cls = get_class(r, out->message);
  out->n = seer_wire_get_max(r, SEER_MEASURE_MAX_CONTENDERS, "the number of contenders");
  if ((out->cls == SEER_MEASURED_OK) != (out->n > 0)) seer_wire_refuse(r, "the kind of a result");
  out->n_pairs = seer_wire_get_max(r, SEER_MEASURE_MAX_PAIRS, "the number of pairs");
  if ((out->n_pairs > 0) != (out->n > 0)) seer_wire_refuse(r, "the number of pairs");
  for (uint32_t k = 0; k < out->n * out->n_pairs; k++) {
    seer_measure_pair *pair = &out->pair[k];
    pair->seconds = seer_wire_get_seconds(r, "a time");
    pair->baseline_seconds = seer_wire_get_seconds(r, "a time");
    if (pair->seconds <= 0 || pair->baseline_seconds <= 0) seer_wire_refuse(r, "a time");
  }
}

seer_status seer_message_get_compared(
    const void *payload, size_t n_bytes, seer_arena *arena, seer_message_compared *out) {
  (void)arena;
  reader r = begin(payload, n_bytes);
  seer_message_get_compared_fields(&r, out);
  return seer_wire_end(&r, "a comparison");
}

// ---- what fits a task
seer_status seer_message_read_schedule(
    const seer_sketch_list *list, const char *text, seer_arena *arena, seer_schedule *out) {
  seer_status status = seer_schedule_parse(list, "schedule", text, strlen(text), out);
  if (status) {
    seer_status wrong = SEER_FAIL(CORRUPT, "%s", seer_status_message(status));
    seer_status_free(status);
    return wrong;
  }
  const char *own = seer_schedule_print(list, out, arena);
  if (strcmp(own, text) != 0)
    return SEER_FAIL(CORRUPT, "a schedule that means another one here:\n%s", own);
  seer_reject reject = seer_schedule_check(list, out);
  if (reject == SEER_REJECT_NONE) return SEER_OK;
  return SEER_FAIL(CORRUPT, "a schedule that no search makes: %s", seer_reject_name(reject));
}

static uint64_t bytes_of(const seer_dag_buf *buf) {
  return (uint64_t)seer_dag_buf_elems(buf) * seer_dtype_bytes(buf->dtype);
}

static seer_status fits_operand(const seer_dag *dag, uint32_t nth, const seer_kernel_arg *arg) {
  if (arg->dag_buf >= dag->n_buf)
    return SEER_FAIL(
        CORRUPT, "argument %u is buffer %u, the task has %u", nth, arg->dag_buf, dag->n_buf);
  const seer_dag_buf *buf = &dag->buf[arg->dag_buf];
  bool is_output = arg->storage == SEER_STORE_OUTPUT;
  if ((buf->kind == SEER_BUF_STAGE) != is_output || (is_output && !buf->is_output))
    return SEER_FAIL(CORRUPT, "argument %u is buffer %s, which is no %s", nth, buf->name,
        is_output ? "output" : "input");
  if (arg->n_bytes == bytes_of(buf)) return SEER_OK;
  return SEER_FAIL(CORRUPT, "argument %u has %" PRIu64 " bytes, buffer %s has %" PRIu64, nth,
      arg->n_bytes, buf->name, bytes_of(buf));
}

// What is packed: a weight of the task, or a stage of weights alone.
static seer_status fits_pack(
    const seer_dag *dag, const seer_sketch *sketch, uint32_t nth, const seer_kernel_arg *arg) {
  const seer_pack *pack = arg->pack;
  const seer_dag *own = sketch->dag;
  if (pack->source_buf >= own->n_buf)
    return SEER_FAIL(CORRUPT, "argument %u is packed from buffer %u, the sketch has %u", nth,
        pack->source_buf, own->n_buf);
  const seer_dag_buf *source = &own->buf[pack->source_buf];
  bool is_const = source->kind == SEER_BUF_STAGE && own->stage[source->stage].is_const;
  if (!is_const && (source->kind == SEER_BUF_STAGE || pack->source_buf >= dag->n_buf))
    return SEER_FAIL(
        CORRUPT, "argument %u is packed from %s, which is no weight", nth, source->name);
  for (uint32_t d = 0; d < pack->n; d++) {
    if (pack->dim[d].source_dim < source->rank) continue;
    return SEER_FAIL(CORRUPT, "argument %u is packed by dimension %u, %s has %u", nth,
        pack->dim[d].source_dim, source->name, source->rank);
  }
  uint64_t n_bytes = (uint64_t)seer_pack_elems(pack) * seer_dtype_bytes(source->dtype);
  if (arg->n_bytes >= n_bytes) return SEER_OK;
  return SEER_FAIL(CORRUPT, "argument %u has %" PRIu64 " bytes, what is packed %" PRIu64, nth,
      arg->n_bytes, n_bytes);
}

seer_status seer_message_fits_kernel(
    const seer_dag *dag, const seer_sketch *sketch, bool has_items, const seer_kernel *kernel) {
  bool is_sort =
      has_items ? seer_kernel_has_items(kernel->format) : kernel->format == SEER_KERNEL_ELF;
  if (!is_sort)
    return SEER_FAIL(CORRUPT, "a kernel of format %s, where %s are run",
        seer_kernel_format_name(kernel->format), has_items ? "kernels of items" : "objects");
  for (uint32_t a = 0; a < kernel->n_arg; a++) {
    const seer_kernel_arg *arg = &kernel->arg[a];
    if (arg->storage == SEER_STORE_INPUT || arg->storage == SEER_STORE_OUTPUT)
      SEER_TRY(fits_operand(dag, a, arg));
    if (arg->storage == SEER_STORE_PACKED && sketch) SEER_TRY(fits_pack(dag, sketch, a, arg));
  }
  return SEER_OK;
}
