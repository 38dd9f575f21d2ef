// weights.c - constants, packed as the kernels read them -> weights.bin. Payload is written as it
// is made; what was written before (by two 64-bit hashes and the size) is not written again. A
// packed constant that another step reads in the same form is not even made again.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/map.h"
#include "base/os.h"
#include "code/constant.h"
#include "code/plan/make.h"

typedef struct {
  uint64_t hash, second_hash, n_bytes, offset;
} seen_content;

// Where a packed constant lies.
typedef struct {
  seer_tensor of;
  seer_pack pack;  // of its dimensions, whatever source_buf says
  uint64_t offset, n_bytes;
} packed_content;

struct seer_weight_file {
  const char *path;
  FILE *stream;
  XXH3_state_t *state;
  uint64_t n_bytes, max_bytes;  // of the payload so far, and at most
  seer_arena *arena;
  seer_map *seen;  // hash -> index + 1
  seen_content *content;
  size_t n_content, cap_content;
  seer_map *is_packed;  // hash -> index + 1
  packed_content *packed;
  size_t n_packed, cap_packed;
  seer_weight_answers answers;
  seer_weight_place *place;  // answers.n of them
  size_t cap_place;
  const seer_weight_answers *known;  // not NULL: nothing is made
};

// The stream comes last: what runs out of memory before it leaves none open.
seer_status seer_weight_file_create(
    const char *path, uint64_t max_bytes, seer_arena *arena, seer_weight_file **out_file) {
  *out_file = NULL;
  seer_weight_file *file = SEER_NEW(arena, seer_weight_file);
  file->path = path;
  file->max_bytes = max_bytes;
  file->arena = arena;
  file->seen = seer_map_create(arena);
  file->is_packed = seer_map_create(arena);
  file->state = seer_arena_alloc(arena, sizeof *file->state, 64);
  FILE *stream = fopen(path, "wbe");
  if (!stream) return SEER_FAIL(IO, "%s: cannot be written: %s", path, strerror(errno));
  file->stream = stream;
  XXH3_64bits_reset(file->state);
  const uint8_t header[SEER_PLAN_ALIGN] = {0};
  if (fwrite(header, 1, sizeof header, stream) != sizeof header) {
    fclose(stream);
    return SEER_FAIL(IO, "%s: cannot be written: %s", path, strerror(errno));
  }
  *out_file = file;
  return SEER_OK;
}

seer_status seer_weight_file_recall(
    const seer_weight_answers *known, seer_arena *arena, seer_weight_file **out_file) {
  seer_weight_file *file = *out_file = SEER_NEW(arena, seer_weight_file);
  file->arena = arena;
  file->known = known;
  return SEER_OK;
}

const seer_weight_answers *seer_weight_file_answers(const seer_weight_file *file) {
  return file->known ? file->known : &file->answers;
}

static seer_weight_place recall(seer_weight_file *file) {
  SEER_ASSERT(file->answers.n < file->known->n, "%zu weights were asked for", file->known->n);
  return file->known->place[file->answers.n++];
}

static void note(seer_weight_file *file, uint64_t offset, uint64_t n_bytes) {
  file->place =
      SEER_GROW(file->arena, seer_weight_place, file->place, file->answers.n, &file->cap_place);
  file->place[file->answers.n++] = (seer_weight_place){offset, n_bytes};
}

// Before so many bytes of weights are made: whether they may be at all.
static seer_status check_room(const seer_weight_file *file, uint64_t n_bytes) {
  if (n_bytes <= file->max_bytes - file->n_bytes) return SEER_OK;
  return SEER_FAIL(RESOURCE,
      "asks for %.1f MiB of weights where %.1f of %.1f MiB are used that a model with files of "
      "this size may have; --model-memory raises the limit",
      (double)n_bytes / 1048576, (double)file->n_bytes / 1048576,
      (double)file->max_bytes / 1048576);
}

static seer_status put(seer_weight_file *file, const void *data, uint64_t n_bytes) {
  if (n_bytes == 0) return SEER_OK;
  SEER_TRY(check_room(file, n_bytes));
  if (fwrite(data, 1, n_bytes, file->stream) != n_bytes)
    return SEER_FAIL(IO, "%s: cannot be written: %s", file->path, strerror(errno));
  XXH3_64bits_update(file->state, data, n_bytes);
  file->n_bytes += n_bytes;
  return SEER_OK;
}

static seer_status add(
    seer_weight_file *file, const void *data, uint64_t n_bytes, uint64_t *out_offset) {
  uint64_t hash = seer_hash_bytes(data, n_bytes, 1), second = seer_hash_bytes(data, n_bytes, 2),
           found = 0;
  if (seer_map_get(file->seen, hash, &found)) {
    const seen_content *content = &file->content[found - 1];
    if (content->second_hash == second && content->n_bytes == n_bytes) {
      *out_offset = content->offset;
      return SEER_OK;
    }
  }
  const uint8_t zeros[SEER_PLAN_ALIGN] = {0};
  SEER_TRY(put(file, zeros, (SEER_PLAN_ALIGN - file->n_bytes % SEER_PLAN_ALIGN) % SEER_PLAN_ALIGN));
  file->content =
      SEER_GROW(file->arena, seen_content, file->content, file->n_content, &file->cap_content);
  file->content[file->n_content++] = (seen_content){hash, second, n_bytes, file->n_bytes};
  if (found == 0) seer_map_set(file->seen, hash, file->n_content);
  *out_offset = file->n_bytes;
  return put(file, data, n_bytes);
}

seer_status seer_weight_file_add(
    seer_weight_file *file, const void *data, uint64_t n_bytes, uint64_t *out_offset) {
  if (file->known) {
    *out_offset = recall(file).offset;
    return SEER_OK;
  }
  SEER_TRY(add(file, data, n_bytes, out_offset));
  note(file, *out_offset, n_bytes);
  return SEER_OK;
}

seer_status seer_weight_file_finish(
    seer_weight_file *file, uint64_t *out_bytes, uint64_t *out_hash) {
  if (file->known) {
    SEER_ASSERT(file->answers.n == file->known->n, "%zu of %zu weights were asked for",
        file->answers.n, file->known->n);
    *out_bytes = file->known->n_bytes;
    *out_hash = file->known->hash;
    return SEER_OK;
  }
  const uint8_t zeros[SEER_PLAN_ALIGN] = {0};
  SEER_TRY(put(file, zeros, (SEER_PLAN_ALIGN - file->n_bytes % SEER_PLAN_ALIGN) % SEER_PLAN_ALIGN));
  seer_weights_header header = {SEER_WEIGHTS_MAGIC, SEER_PLAN_VERSION, SEER_PLAN_ALIGN,
      file->n_bytes, XXH3_64bits_digest(file->state)};
  *out_bytes = file->answers.n_bytes = header.n_bytes;
  *out_hash = file->answers.hash = header.hash;
  file->answers.place = file->place;
  FILE *stream = file->stream;
  file->stream = NULL;
  bool is_written =
      fseek(stream, 0, SEEK_SET) == 0 && fwrite(&header, sizeof header, 1, stream) == 1;
  is_written = fclose(stream) == 0 && is_written;
  return is_written ? SEER_OK
                    : SEER_FAIL(IO, "%s: cannot be written: %s", file->path, strerror(errno));
}

void seer_weight_file_close(seer_weight_file *file) {
  if (file && file->stream) fclose(file->stream);
  if (file) file->stream = NULL;
}

// The content of constant `value`. A DAG reads constants dense, in ONNX's order of dimensions,
// whatever layouts activations have; another order is the packing's business.
static const void *constant_data(const seer_graph *graph, seer_val value, const seer_dag_buf *buf) {
  const seer_value *v = seer_graph_value(graph, value);
  SEER_ASSERT(v->constant, "%s is no constant", v->name);
  uint64_t n_bytes = (uint64_t)seer_dag_buf_elems(buf) * seer_dtype_bytes(buf->dtype);
  SEER_ASSERT(v->constant->dtype == buf->dtype && v->constant->n_bytes == n_bytes,
      "%s: tensor %s of %zu bytes, buffer %s of %" PRIu64, v->name,
      seer_dtype_name(v->constant->dtype), v->constant->n_bytes, seer_dtype_name(buf->dtype),
      n_bytes);
  return v->constant->data;
}

// A const stage's buffer (transformed weights).
static seer_status evaluate(const seer_weight_file *file, const seer_graph *graph,
    const seer_step *step, const seer_dag *dag, uint32_t buf, void **out_owned) {
  const void *input[SEER_DAG_MAX_BUFFERS] = {NULL};
  for (uint32_t b = 0; b < step->dag->n_buf; b++) {
    seer_val value = step->value_of_buf[b];
    if (step->dag->buf[b].kind == SEER_BUF_STAGE || value.i == 0 ||
        !seer_graph_value(graph, value)->constant)
      continue;
    input[b] = constant_data(graph, value, &step->dag->buf[b]);
  }
  uint64_t n_bytes =
      (uint64_t)seer_dag_buf_elems(&dag->buf[buf]) * seer_dtype_bytes(dag->buf[buf].dtype);
  SEER_TRY(check_room(file, n_bytes));
  *out_owned = calloc(1, n_bytes > 0 ? n_bytes : 1);
  if (!*out_owned)
    return SEER_FAIL(RESOURCE, "no memory for %" PRIu64 " bytes of weights", n_bytes);
  return seer_constant_eval(dag, buf, input, 0, *out_owned);
}

static bool same_packed(const packed_content *a, const packed_content *b) {
  bool is_same = a->of.data == b->of.data && a->of.dtype == b->of.dtype &&
      a->of.rank == b->of.rank &&
      memcmp(a->of.dim, b->of.dim, a->of.rank * sizeof a->of.dim[0]) == 0 && a->pack.n == b->pack.n;
  for (uint32_t k = 0; is_same && k < a->pack.n; k++) {
    const seer_pack_dim *x = &a->pack.dim[k], *y = &b->pack.dim[k];
    is_same = x->source_dim == y->source_dim && x->stride == y->stride && x->extent == y->extent;
  }
  return is_same;
}

static uint64_t hash_packed(const packed_content *p) {
  uint64_t hash = seer_hash_u64((uintptr_t)p->of.data, p->pack.n);
  for (uint32_t k = 0; k < p->pack.n; k++) {
    hash = seer_hash_u64(p->pack.dim[k].source_dim, hash);
    hash = seer_hash_u64((uint64_t)p->pack.dim[k].stride, hash);
  }
  return hash;
}

static seer_status add_packed(seer_weight_file *file, const seer_pack *pack,
    const seer_dag_buf *buf, const void *data, uint64_t *out_offset, uint64_t *out_bytes) {
  *out_bytes = (uint64_t)seer_pack_elems(pack) * seer_dtype_bytes(buf->dtype);
  SEER_TRY(check_room(file, *out_bytes));
  void *packed = calloc(1, *out_bytes > 0 ? *out_bytes : 1);
  if (!packed)
    return SEER_FAIL(RESOURCE, "no memory for %" PRIu64 " bytes of packed weights", *out_bytes);
  seer_pack_fill(pack, buf, data, packed);
  seer_status status = add(file, packed, *out_bytes, out_offset);
  free(packed);
  return status;
}

bool seer_build_view(const seer_graph *graph, seer_val value, const seer_dag_buf *buf,
    seer_tensor *out_of, uint8_t *out_perm) {
  const seer_tensor *tensor = seer_graph_value(graph, value)->constant;
  if (!tensor || tensor->rank != buf->rank ||
      memcmp(tensor->dim, buf->dim, buf->rank * sizeof buf->dim[0]) != 0)
    return false;
  const seer_permuted *permuted = seer_graph_permuted(graph, tensor);
  *out_of = permuted ? permuted->of : *tensor;
  for (uint32_t d = 0; d < tensor->rank; d++)
    out_perm[d] = permuted ? permuted->perm[d] : (uint8_t)d;
  return true;
}

// A constant of the graph: packed from the tensor that it may be a permuted copy of, so that all
// copies are known to be one.
static seer_status add_packed_constant(seer_weight_file *file, const seer_graph *graph,
    seer_val value, const seer_dag_buf *buf, const seer_pack *pack, uint64_t *out_offset,
    uint64_t *out_bytes) {
  packed_content made = {.pack = *pack};
  uint8_t perm[SEER_MAX_RANK];
  if (!seer_build_view(graph, value, buf, &made.of, perm))
    return add_packed(file, pack, buf, constant_data(graph, value, buf), out_offset, out_bytes);
  for (uint32_t k = 0; k < pack->n; k++)
    made.pack.dim[k].source_dim = perm[pack->dim[k].source_dim];
  uint64_t key = hash_packed(&made), found;
  if (seer_map_get(file->is_packed, key, &found) && same_packed(&file->packed[found - 1], &made)) {
    *out_offset = file->packed[found - 1].offset;
    *out_bytes = file->packed[found - 1].n_bytes;
    return SEER_OK;
  }
  seer_dag_buf of = *buf;
  of.pitch = of.rank > 0 ? made.of.dim[of.rank - 1] : 1;
  memcpy(of.dim, made.of.dim, sizeof of.dim);
  SEER_TRY(add_packed(file, &made.pack, &of, made.of.data, &made.offset, &made.n_bytes));
  file->packed =
      SEER_GROW(file->arena, packed_content, file->packed, file->n_packed, &file->cap_packed);
  file->packed[file->n_packed++] = made;
  seer_map_set(file->is_packed, key, file->n_packed);
  *out_offset = made.offset;
  *out_bytes = made.n_bytes;
  return SEER_OK;
}

static seer_status make_weight(seer_weight_file *file, const seer_graph *graph,
    const seer_step *step, const seer_sketch *sketch, const seer_kernel_arg *arg,
    uint64_t *out_offset, uint64_t *out_bytes) {
  const seer_dag *dag = sketch->dag;
  bool is_packed = arg->storage == SEER_STORE_PACKED;
  uint32_t source = is_packed ? arg->pack->source_buf : arg->dag_buf;
  const seer_dag_buf *buf = &dag->buf[source];
  *out_bytes = (uint64_t)seer_dag_buf_elems(buf) * seer_dtype_bytes(buf->dtype);
  if (buf->kind != SEER_BUF_STAGE && is_packed)
    return add_packed_constant(
        file, graph, step->value_of_buf[source], buf, arg->pack, out_offset, out_bytes);
  if (buf->kind != SEER_BUF_STAGE)
    return add(file, constant_data(graph, step->value_of_buf[source], buf), *out_bytes, out_offset);
  void *values = NULL;
  seer_status status = evaluate(file, graph, step, dag, source, &values);
  if (!status && is_packed)
    status = add_packed(file, arg->pack, buf, values, out_offset, out_bytes);
  else if (!status)
    status = add(file, values, *out_bytes, out_offset);
  free(values);
  return status;
}

seer_status seer_build_weight(seer_weight_file *file, const seer_graph *graph,
    const seer_step *step, const seer_sketch *sketch, const seer_kernel_arg *arg,
    uint64_t *out_offset, uint64_t *out_bytes) {
  if (file->known) {
    seer_weight_place place = recall(file);
    *out_offset = place.offset;
    *out_bytes = place.n_bytes;
    return SEER_OK;
  }
  SEER_TRY(make_weight(file, graph, step, sketch, arg, out_offset, out_bytes));
  note(file, *out_offset, *out_bytes);
  return SEER_OK;
}
