// weights.c - weights.bin -> memory. A file is read, not mapped: what cuts a mapped file short ends
// the process by SIGBUS at some later access, and a copy lies in huge pages (ResNet-18 and
// DenseNet-121 took 2 to 2.5 % less time than on the file's pages, 2026-11). It is read-only, as
// the map would be, and shared with children that are forked.
#include "runtime/weights.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

// Header only: the archive links nothing but libc. Used when a full check is asked for.
#define XXH_INLINE_ALL
#define XXH_NO_STREAM
#include <xxhash.h>

#define MAX_READ ((uint64_t)1 << 30)  // Linux reads at most 2 GiB - 4 KiB at once

// Where the bytes come from, and where to say what is wrong with them.
typedef struct {
  const char *name;
  const seer_plan_header *plan;
  char *message;
  size_t message_bytes;
} origin;

static seer_rt_code check_header(
    const origin *from, const seer_weights_header *header, uint64_t n_bytes) {
  const seer_plan_header *plan = from->plan;
  if (header->magic != SEER_WEIGHTS_MAGIC || header->version != SEER_PLAN_VERSION ||
      header->header_bytes != SEER_PLAN_ALIGN)
    return seer_rt_fail(SEER_RT_CORRUPT, from->message, from->message_bytes,
        "%s: not a weights file of this version", from->name);
  if (header->n_bytes != plan->weight_bytes || header->hash != plan->weight_hash)
    return seer_rt_fail(SEER_RT_CORRUPT, from->message, from->message_bytes,
        "%s: weights of another model (%llu bytes, hash %016llx; the model has %llu, %016llx)",
        from->name, (unsigned long long)header->n_bytes, (unsigned long long)header->hash,
        (unsigned long long)plan->weight_bytes, (unsigned long long)plan->weight_hash);
  if (n_bytes - SEER_PLAN_ALIGN < header->n_bytes)
    return seer_rt_fail(SEER_RT_CORRUPT, from->message, from->message_bytes,
        "%s: cut short: %llu bytes of %llu", from->name, (unsigned long long)n_bytes,
        (unsigned long long)header->n_bytes + SEER_PLAN_ALIGN);
  return SEER_RT_OK;
}

static seer_rt_code too_short(const origin *from, uint64_t n_bytes) {
  return seer_rt_fail(SEER_RT_CORRUPT, from->message, from->message_bytes,
      "%s: %llu bytes, too short for weights", from->name, (unsigned long long)n_bytes);
}

static seer_rt_code check_hash(const origin *from, const uint8_t *payload) {
  uint64_t hash = XXH3_64bits(payload, from->plan->weight_bytes);
  if (hash == from->plan->weight_hash) return SEER_RT_OK;
  return seer_rt_fail(SEER_RT_CORRUPT, from->message, from->message_bytes,
      "%s: damaged: hash %016llx, should be %016llx", from->name, (unsigned long long)hash,
      (unsigned long long)from->plan->weight_hash);
}

static seer_rt_code alloc(const origin *from, seer_model *model) {
  uint64_t n = from->plan->weight_bytes;
  model->owned = seer_rt_pages_alloc(n);
  if (!model->owned)
    return seer_rt_fail(SEER_RT_RESOURCE, from->message, from->message_bytes,
        "%s: no memory for %llu bytes of weights", from->name, (unsigned long long)n);
  model->n_owned_bytes = n;
  model->weights = model->owned;
  return SEER_RT_OK;
}

// n_bytes from `offset` on; fewer if the file ends before, -1 with errno.
static int64_t read_at(int fd, void *out, uint64_t n_bytes, uint64_t offset) {
  uint64_t done = 0;
  while (done < n_bytes) {
    uint64_t left = n_bytes - done;
    ssize_t n = pread(fd, (uint8_t *)out + done, (size_t)(left < MAX_READ ? left : MAX_READ),
        (off_t)(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (n == 0) break;
    done += (uint64_t)n;
  }
  return (int64_t)done;
}

static seer_rt_code check_read(
    const origin *from, int64_t n_found, uint64_t n_bytes, uint64_t before) {
  if (n_found < 0)
    return seer_rt_fail(SEER_RT_IO, from->message, from->message_bytes, "%s: cannot be read: %s",
        from->name, strerror(errno));
  uint64_t found = (uint64_t)n_found + before, all = n_bytes + before;
  if (found < all)
    return seer_rt_fail(SEER_RT_CORRUPT, from->message, from->message_bytes,
        "%s: cut short while it was read: %llu bytes of %llu", from->name,
        (unsigned long long)found, (unsigned long long)all);
  return SEER_RT_OK;
}

static seer_rt_code read_file(const origin *from, int fd, seer_model *model) {
  // Not fstat: before glibc 2.33 it was no symbol of libc.so.6. Pipes have no end, and folders
  // cannot be read.
  off_t end = lseek(fd, 0, SEEK_END);
  if (end < 0 || read(fd, NULL, 0) != 0)
    return seer_rt_fail(
        SEER_RT_IO, from->message, from->message_bytes, "%s: not a regular file", from->name);
  if (end < SEER_PLAN_ALIGN) return too_short(from, (uint64_t)end);
  seer_weights_header header;
  seer_rt_code code = check_read(from, read_at(fd, &header, sizeof header, 0), sizeof header, 0);
  if (code == SEER_RT_OK) code = check_header(from, &header, (uint64_t)end);
  if (code != SEER_RT_OK) return code;
  uint64_t n = from->plan->weight_bytes;
  if ((uint64_t)end - SEER_PLAN_ALIGN > n)
    return seer_rt_fail(SEER_RT_CORRUPT, from->message, from->message_bytes,
        "%s: too long: %llu bytes, must be %llu", from->name, (unsigned long long)end,
        (unsigned long long)n + SEER_PLAN_ALIGN);
  code = alloc(from, model);
  if (code == SEER_RT_OK)
    code = check_read(from, read_at(fd, model->owned, n, SEER_PLAN_ALIGN), n, SEER_PLAN_ALIGN);
  return code;
}

static seer_rt_code open_file(const origin *from, seer_model *model) {
  int fd = open(from->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe without a writer blocks
  if (fd < 0)
    return seer_rt_fail(errno == ENOENT ? SEER_RT_NOT_FOUND : SEER_RT_IO, from->message,
        from->message_bytes, "%s: cannot be opened: %s", from->name, strerror(errno));
  seer_rt_code code = read_file(from, fd, model);
  close(fd);
  if (code == SEER_RT_OK) mprotect(model->owned, model->n_owned_bytes, PROT_READ);
  return code;
}

// Kernels rely on the alignment: what has it stays where it is.
static seer_rt_code open_memory(
    const origin *from, const void *data, uint64_t n_bytes, seer_model *model) {
  seer_weights_header header;
  if (!data || n_bytes < SEER_PLAN_ALIGN) return too_short(from, data ? n_bytes : 0);
  memcpy(&header, data, sizeof header);
  seer_rt_code code = check_header(from, &header, n_bytes);
  if (code != SEER_RT_OK) return code;
  model->weights = (const uint8_t *)data + SEER_PLAN_ALIGN;
  if ((uintptr_t)model->weights % SEER_PLAN_ALIGN == 0) return SEER_RT_OK;
  code = alloc(from, model);
  if (code == SEER_RT_OK)
    memcpy(model->owned, (const uint8_t *)data + SEER_PLAN_ALIGN, header.n_bytes);
  return code;
}

seer_rt_code seer_weights_open(
    seer_model *model, const seer_model_source *source, char *message, size_t message_bytes) {
  const seer_plan_header *plan = model->set[0].plan;
  if (source->weights_path && source->weights)
    return seer_rt_fail(SEER_RT_INVALID, message, message_bytes,
        "weights are given as a file (%s) and in memory, must be one of them",
        source->weights_path);
  if (plan->weight_bytes == 0) return SEER_RT_OK;
  const char *path = source->weights_path;
  const origin from = {path ? path : "the weights in memory", plan, message, message_bytes};
  seer_rt_code code = path ? open_file(&from, model)
                           : open_memory(&from, source->weights, source->n_weight_bytes, model);
  return code == SEER_RT_OK && source->verify_hash ? check_hash(&from, model->weights) : code;
}
