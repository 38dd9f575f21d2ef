// letter.c - seals, and letters field by field.

#include "measure/fleet/letter.h"

#include <math.h>
#include <string.h>

#include "base/map.h"

#define MAX_TEXT_BYTES 1024  // what people read
#define MAX_COUNT ((uint32_t)1 << 30)
#define MAX_PRIORITY 100
// A candidate's time is one of its samples, or a mean of them; both were divided by the same.
#define ROUNDING 1e-9

typedef seer_wire_reader reader;

// ---- seals
static void sign(const seer_hmac_key *key, const char *place, const void *data, size_t n_bytes,
    uint8_t out[SEER_SHA256_BYTES]) {
  const seer_hmac_piece pieces[] = {{place, strlen(place) + 1}, {data, n_bytes}};
  seer_hmac(key, pieces, SEER_COUNT_OF(pieces), out);
}

seer_status seer_letter_seal(const seer_hmac_key *key, const char *place, seer_wire_type type,
    const seer_text *payload, seer_text *out) {
  uint8_t frame[SEER_WIRE_FRAME_BYTES], seal[SEER_SHA256_BYTES];
  SEER_TRY(seer_wire_print_frame(type, 0, payload, frame));
  seer_text_put_n(out, (const char *)frame, sizeof frame);
  seer_text_put_n(out, payload->data, payload->n_bytes);
  sign(key, place, out->data, out->n_bytes, seal);
  seer_text_put_n(out, (const char *)seal, sizeof seal);
  return SEER_OK;
}

bool seer_letter_is_sealed(
    const seer_hmac_key *key, const char *place, const void *data, size_t n_bytes) {
  const uint8_t *bytes = data;
  uint8_t seal[SEER_SHA256_BYTES];
  if (n_bytes < SEER_SHA256_BYTES) return false;
  size_t n_signed = n_bytes - SEER_SHA256_BYTES;
  sign(key, place, data, n_signed, seal);
  return seer_hmac_equal(seal, bytes + n_signed);
}

seer_status seer_letter_open(const seer_hmac_key *key, const char *place, seer_wire_type type,
    const void *data, size_t n_bytes, const void **out_payload, size_t *out_n) {
  const uint8_t *bytes = data;
  *out_payload = NULL;
  *out_n = 0;
  if (n_bytes < SEER_WIRE_FRAME_BYTES + SEER_SHA256_BYTES)
    return SEER_FAIL(CORRUPT, "a letter of %zu bytes is cut off", n_bytes);
  size_t n_signed = n_bytes - SEER_SHA256_BYTES;
  if (!seer_letter_is_sealed(key, place, data, n_bytes))
    return SEER_FAIL(CORRUPT, "a letter's seal is not the fleet's: damaged, or another key");
  seer_wire_header header;
  SEER_TRY(seer_wire_parse_frame(bytes, &header));
  if (header.type != type || header.n_bytes != n_signed - SEER_WIRE_FRAME_BYTES)
    return SEER_FAIL(CORRUPT, "a letter of type %d and %" PRIu64 " bytes, expected type %d and %zu",
        (int)header.type, header.n_bytes, (int)type, n_signed - SEER_WIRE_FRAME_BYTES);
  *out_payload = bytes + SEER_WIRE_FRAME_BYTES;
  *out_n = (size_t)header.n_bytes;
  return seer_wire_check(&header, *out_payload);
}

// ---- parts
static const char *get_text(reader *r, size_t max_bytes, const char *what, seer_arena *arena) {
  return seer_text_safe(arena, seer_wire_get_text(r, max_bytes, what, arena));
}

static void put_candidate(seer_text *out, const seer_letter_candidate *candidate) {
  seer_message_put_text(out, candidate->schedule);
  seer_wire_put_f64(out, candidate->best_seconds);
  seer_wire_put_u32(out, candidate->is_witness);
  seer_wire_put_u32(out, candidate->has_timing);
  if (candidate->has_timing) seer_message_put_timing(out, &candidate->timing);
}

static void get_candidate(reader *r, seer_arena *arena, seer_letter_candidate *out) {
  out->schedule = seer_message_get_schedule(r, arena);
  out->best_seconds = seer_wire_get_seconds(r, "the best time");
  out->is_witness = seer_wire_get_max(r, 1, "whether it is a witness") == 1;
  out->has_timing = seer_wire_get_max(r, 1, "whether it has a timing") == 1;
  if (out->has_timing) out->timing = seer_message_get_timing(r);
}

static void put_number(seer_text *out, uint64_t session, uint64_t number, uint32_t attempt) {
  seer_wire_put_u64(out, session);
  seer_wire_put_u64(out, number);
  seer_wire_put_u32(out, attempt);
}

static uint32_t get_n(reader *r, seer_job_kind kind) {
  uint32_t n = seer_wire_get_max(r, SEER_LETTER_MAX_CANDIDATES, "the number of candidates");
  bool is_fine = kind == SEER_JOB_CHECK ? n == 1
      : kind == SEER_JOB_COMPARE        ? n >= 2 && n <= SEER_MEASURE_MAX_CONTENDERS + 1
                                        : n >= 1;
  if (!is_fine) seer_wire_refuse(r, "the number of candidates");
  return r->wrong ? 0 : n;
}

// ---- letters
void seer_letter_put_tuning(seer_text *out, const seer_letter_tuning *letter) {
  seer_message_put_hello(out, &letter->hello);
  seer_message_put_text(out, letter->measurer);
  seer_wire_put_u32(out, letter->priority);
  seer_wire_put_u32(out, letter->n_bias);
  for (uint32_t k = 0; k < letter->n_bias; k++) {
    seer_message_put_text(out, letter->bias[k].worker);
    seer_wire_put_f64(out, letter->bias[k].bias.takes);
    seer_wire_put_u32(out, letter->bias[k].bias.n_shared);
  }
}

seer_status seer_letter_get_tuning(
    const void *payload, size_t n_bytes, seer_arena *arena, seer_letter_tuning *out) {
  reader r = {.at = payload, .left = n_bytes};
  seer_message_get_hello_fields(&r, arena, &out->hello);
  out->measurer = get_text(&r, MAX_TEXT_BYTES, "the measurer", arena);
  out->priority = seer_wire_get_max(&r, MAX_PRIORITY, "the priority");
  if (out->priority == 0) seer_wire_refuse(&r, "the priority");
  out->n_bias = seer_wire_get_max(&r, SEER_MEASURE_MAX_DEVICES, "the number of its workers");
  for (uint32_t k = 0; k < out->n_bias && !r.wrong; k++) {
    out->bias[k].worker = get_text(&r, SEER_LETTER_MAX_ID, "a worker's name", arena);
    out->bias[k].bias.takes = seer_wire_get_seconds(&r, "what a worker takes");
    out->bias[k].bias.n_shared = seer_wire_get_max(&r, MAX_COUNT, "the number of rounds");
  }
  return seer_wire_end(&r, "a tuning");
}

void seer_letter_put_worker(seer_text *out, const seer_letter_worker *letter) {
  seer_message_put_hello(out, &letter->hello);
  seer_message_put_text(out, letter->id);
  seer_message_put_text(out, letter->target);
  seer_message_put_text(out, letter->devices);
  seer_message_put_text(out, letter->measurer);
  seer_wire_put_u32(out, letter->n_devices);
  seer_wire_put_u32(out, letter->n_builders);
  seer_wire_put_u64(out, letter->free_bytes);
  seer_wire_put_f64(out, letter->load);
  seer_wire_put_f64(out, letter->noise);
  seer_wire_put_f64(out, letter->build_s);
  seer_wire_put_f64(out, letter->run_s);
  seer_wire_put_f64(out, letter->up_s);
  seer_wire_put_f64(out, letter->busy_s);
  seer_wire_put_u32(out, letter->n_rounds);
  seer_wire_put_u32(out, letter->n_candidates);
  seer_message_put_text(out, letter->doing);
}

seer_status seer_letter_get_worker(
    const void *payload, size_t n_bytes, seer_arena *arena, seer_letter_worker *out) {
  reader r = {.at = payload, .left = n_bytes};
  seer_message_get_hello_fields(&r, arena, &out->hello);
  out->id = get_text(&r, SEER_LETTER_MAX_ID, "a worker's name", arena);
  out->target = get_text(&r, 16 * MAX_TEXT_BYTES, "the target", arena);
  out->devices = get_text(&r, MAX_TEXT_BYTES, "the devices", arena);
  out->measurer = get_text(&r, MAX_TEXT_BYTES, "the measurer", arena);
  out->n_devices = seer_wire_get_max(&r, SEER_MEASURE_MAX_DEVICES, "the number of devices");
  out->n_builders = seer_wire_get_max(&r, MAX_COUNT, "the number of builders");
  out->free_bytes = seer_wire_get_u64(&r);
  out->load = seer_wire_get_seconds(&r, "the load");
  out->noise = seer_wire_get_share(&r, "the noise");
  out->build_s = seer_wire_get_seconds(&r, "what it gives a build");
  out->run_s = seer_wire_get_seconds(&r, "what it gives a run");
  out->up_s = seer_wire_get_seconds(&r, "the time since it began");
  out->busy_s = seer_wire_get_seconds(&r, "the time that it was busy");
  out->n_rounds = seer_wire_get_max(&r, MAX_COUNT, "the number of rounds");
  out->n_candidates = seer_wire_get_max(&r, MAX_COUNT, "the number of candidates");
  out->doing = get_text(&r, MAX_TEXT_BYTES, "what it does", arena);
  return seer_wire_end(&r, "a worker");
}

void seer_letter_put_job(seer_text *out, const seer_letter_job *letter) {
  put_number(out, letter->session, letter->number, letter->attempt);
  seer_wire_put_u32(out, (uint32_t)letter->kind);
  seer_wire_put_u64(out, letter->task);
  seer_wire_put_u32(out, letter->n_pairs);
  seer_wire_put_u32(out, letter->is_maybe);
  seer_wire_put_u32(out, letter->n);
  for (uint32_t i = 0; i < letter->n; i++) put_candidate(out, &letter->candidate[i]);
}

seer_status seer_letter_get_job(
    const void *payload, size_t n_bytes, seer_arena *arena, seer_letter_job *out) {
  *out = (seer_letter_job){0};
  reader r = {.at = payload, .left = n_bytes};
  out->session = seer_wire_get_u64(&r);
  out->number = seer_wire_get_u64(&r);
  out->attempt = seer_wire_get_u32(&r);
  out->kind = (seer_job_kind)seer_wire_get_max(&r, SEER_JOB_KIND_COUNT - 1, "the kind of job");
  out->task = seer_wire_get_u64(&r);
  out->n_pairs = seer_wire_get_max(&r, SEER_MEASURE_MAX_PAIRS, "the number of pairs");
  if ((out->n_pairs > 0) != (out->kind == SEER_JOB_COMPARE))
    seer_wire_refuse(&r, "the number of pairs");
  out->is_maybe = seer_wire_get_max(&r, 1, "whether it will be needed") != 0;
  out->n = get_n(&r, out->kind);
  out->candidate = SEER_NEW_ARRAY(arena, seer_letter_candidate, out->n + 1);
  for (uint32_t i = 0; i < out->n && !r.wrong; i++) get_candidate(&r, arena, &out->candidate[i]);
  return seer_wire_end(&r, "a job");
}

void seer_letter_put_answer(seer_text *out, const seer_letter_answer *letter) {
  put_number(out, letter->session, letter->number, letter->attempt);
  seer_wire_put_u64(out, letter->asked);
  seer_message_put_text(out, letter->worker);
  seer_message_put_text(out, letter->lost);
  if (letter->lost[0]) return;
  seer_wire_put_u32(out, (uint32_t)letter->kind);
  if (letter->kind == SEER_JOB_COMPARE) {
    seer_message_put_compared(out, letter->compared);
    return;
  }
  seer_wire_put_u32(out, letter->n);
  for (uint32_t i = 0; i < letter->n; i++) {
    seer_message_put_result(out, &letter->result[i]);
    seer_wire_put_u32(out, letter->result[i].is_twin);
    seer_wire_put_u32(out, letter->result[i].part);
    seer_wire_put_f64(out, letter->result[i].build_s);
  }
}

static bool is_of_samples(const seer_measure_result *result) {
  double least = INFINITY, most = 0;
  for (uint32_t s = 0; s < result->n_samples; s++) {
    least = fmin(least, result->sample[s]);
    most = fmax(most, result->sample[s]);
  }
  return result->seconds >= least * (1 - ROUNDING) && result->seconds <= most * (1 + ROUNDING);
}

static void get_results(reader *r, seer_arena *arena, seer_letter_answer *out) {
  out->n = get_n(r, out->kind);
  out->result = SEER_NEW_ARRAY(arena, seer_measure_result, out->n + 1);
  for (uint32_t i = 0; i < out->n && !r->wrong; i++) {
    seer_measure_result *result = &out->result[i];
    seer_message_get_result_fields(r, result);
    result->is_twin = seer_wire_get_max(r, 1, "whether it is a twin") == 1;
    result->part = seer_wire_get_max(r, SEER_MEASURE_MAX_DEVICES - 1, "a worker's device");
    result->build_s = seer_wire_get_seconds(r, "the time that it took to build");
    if (out->kind != SEER_JOB_MEASURE || result->cls != SEER_MEASURED_OK) continue;
    if (result->n_samples == 0) seer_wire_refuse(r, "a result without samples");
    if (!is_of_samples(result)) seer_wire_refuse(r, "a time that is none of its samples");
  }
}

seer_status seer_letter_get_answer(
    const void *payload, size_t n_bytes, seer_arena *arena, seer_letter_answer *out) {
  *out = (seer_letter_answer){0};
  reader r = {.at = payload, .left = n_bytes};
  out->session = seer_wire_get_u64(&r);
  out->number = seer_wire_get_u64(&r);
  out->attempt = seer_wire_get_u32(&r);
  out->asked = seer_wire_get_u64(&r);
  out->worker = get_text(&r, SEER_LETTER_MAX_ID, "a worker's name", arena);
  out->lost = get_text(&r, MAX_TEXT_BYTES, "why it was not done", arena);
  if (!out->lost[0]) {
    out->kind = (seer_job_kind)seer_wire_get_max(&r, SEER_JOB_KIND_COUNT - 1, "the kind of job");
    if (out->kind == SEER_JOB_COMPARE) {
      out->compared = SEER_NEW(arena, seer_message_compared);
      seer_message_get_compared_fields(&r, out->compared);
    } else {
      get_results(&r, arena, out);
    }
  }
  return seer_wire_end(&r, "an answer");
}

uint64_t seer_letter_job_key(const seer_letter_job *job) {
  uint64_t key = seer_hash_u64(job->task, (uint64_t)job->kind);
  key = seer_hash_u64(job->n_pairs, key);
  for (uint32_t i = 0; i < job->n; i++) key = seer_hash_str(job->candidate[i].schedule, key);
  return key;
}

uint64_t seer_letter_task_key(const seer_message_task *task) {
  uint64_t tolerance;
  memcpy(&tolerance, &task->tolerance, sizeof tolerance);
  uint64_t hash = seer_hash_bytes(task->dag, strlen(task->dag), (uint64_t)task->space);
  return seer_hash_u64(seer_hash_u64(hash, tolerance), task->network_weight_bytes);
}
