// file.c - models of a bank as a file.
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "learn/bank/internal.h"

// The header; the name of the set of features (length, bytes); a file of what the models stand on
// (length, bytes; length 0: nothing); then the models, each as its family's name (length, bytes)
// and the model (length, bytes; length 0: none).
#define BANK_MAGIC "seerbnk5"
#define MAGIC_OF_ANY "seerbnk"
#define MAX_LAYERS 100  // one on another: as many campaigns, each gone on from the one before
#define MAX_MODEL_NAME 16

typedef struct {
  char magic[8];
  uint32_t feature_version, n_column, n_family, is_over_estimate;
  char model[MAX_MODEL_NAME];
} bank_header;

static void put_bytes(seer_text *out, const void *bytes, uint64_t n_bytes) {
  seer_text_put_n(out, (const char *)&n_bytes, sizeof n_bytes);
  if (n_bytes) seer_text_put_n(out, bytes, n_bytes);
}

static bank_header header_of(const seer_bank *bank) {
  bank_header header = {BANK_MAGIC, bank->options.features->version,
      (uint32_t)seer_bank_n_column(bank), bank->options.n_family, bank->options.is_over_estimate,
      ""};
  size_t n = strlen(bank->options.model->name);
  SEER_ASSERT(n < sizeof header.model, "cost model %s", bank->options.model->name);
  memcpy(header.model, bank->options.model->name, n);
  return header;
}

static seer_status save_into(const seer_bank *bank, seer_arena *arena, seer_text *out) {
  bank_header header = header_of(bank);
  seer_text_put_n(out, (const char *)&header, sizeof header);
  const char *features = bank->options.features->name;
  put_bytes(out, features, strlen(features));
  seer_text under;
  seer_text_init(&under, arena);
  if (bank->under) SEER_TRY(save_into(bank->under, arena, &under));
  put_bytes(out, under.data, under.n_bytes);
  for (uint32_t f = 0; f < bank->options.n_family; f++) {
    seer_cost_model *model = seer_bank_model_of(bank, f);
    const char *name = bank->options.family_name[f];
    const void *bytes = NULL;
    size_t n_bytes = 0;
    if (model) SEER_TRY(bank->options.model->save(model, arena, &bytes, &n_bytes));
    put_bytes(out, name, strlen(name));
    put_bytes(out, bytes, n_bytes);
  }
  return SEER_OK;
}

seer_status seer_bank_save(const seer_bank *bank, const char *path) {
  seer_arena *arena = seer_arena_create("bank save");
  seer_text out;
  seer_text_init(&out, arena);
  seer_status status = save_into(bank, arena, &out);
  if (!status) status = seer_os_write_file(path, out.data, out.n_bytes);
  seer_arena_destroy(arena);
  return status;
}

typedef struct {
  const char *path, *at, *end;
} reader;

static seer_status take_bytes(
    reader *r, const char *what, uint32_t f, const char **out_bytes, size_t *out_n) {
  uint64_t n = 0;
  size_t left = (size_t)(r->end - r->at);
  if (left < sizeof n) return SEER_FAIL(CORRUPT, "%s: cut off at %s %u", r->path, what, f);
  memcpy(&n, r->at, sizeof n);
  r->at += sizeof n;
  left -= sizeof n;
  if (left < n)
    return SEER_FAIL(
        CORRUPT, "%s: %s %u has %" PRIu64 " bytes, %zu are left", r->path, what, f, n, left);
  *out_bytes = r->at;
  *out_n = (size_t)n;
  r->at += n;
  return SEER_OK;
}

static seer_status check_header(const seer_bank *bank, const char *path, const bank_header *h,
    const char *set_name, size_t n_set) {
  bank_header own = header_of(bank);
  if (memcmp(h->model, own.model, sizeof own.model) != 0)
    return SEER_FAIL(
        INVALID, "%s: cost model %.*s, must be %s", path, MAX_MODEL_NAME - 1, h->model, own.model);
  static const char over[] = "cost models over the analytic estimate",
                    plain[] = "cost models of samples alone";
  if (h->is_over_estimate != own.is_over_estimate)
    return SEER_FAIL(INVALID, "%s: of a policy that has %s, this one has %s", path,
        h->is_over_estimate ? over : plain, own.is_over_estimate ? over : plain);
  const seer_feature_set *own_set = bank->options.features;
  if (strlen(own_set->name) != n_set || memcmp(own_set->name, set_name, n_set) != 0)
    return SEER_FAIL(
        INVALID, "%s: features %.*s, must be %s", path, (int)n_set, set_name, own_set->name);
  if (h->feature_version != own_set->version || h->n_column != own_set->n_column)
    return SEER_FAIL(INVALID,
        "%s: features version %u with %u columns, must be version %u with %zu", path,
        h->feature_version, h->n_column, own_set->version, own_set->n_column);
  return SEER_OK;
}

static uint32_t find_family(const seer_bank *bank, const char *name, size_t n) {
  uint32_t f = 0;
  while (f < bank->options.n_family &&
      (strlen(bank->options.family_name[f]) != n ||
          memcmp(bank->options.family_name[f], name, n) != 0))
    f++;
  return f;
}

static seer_status load_under(
    seer_bank *bank, const char *path, const char *data, size_t n_bytes, uint32_t depth);

// Those that the bank has the names of.
static seer_status take_models(reader *r, uint32_t n, seer_bank *bank) {
  for (uint32_t f = 0; f < n; f++) {
    const char *name, *bytes;
    size_t n_name, n_bytes;
    SEER_TRY(take_bytes(r, "name", f, &name, &n_name));
    SEER_TRY(take_bytes(r, "model", f, &bytes, &n_bytes));
    uint32_t to = find_family(bank, name, n_name);
    if (n_bytes == 0 || to == bank->options.n_family) continue;
    SEER_TRY(seer_bank_renew(bank, &bank->family[to], to));
    SEER_TRY(bank->options.model->load(bank->family[to], bytes, n_bytes));
  }
  return SEER_OK;
}

static seer_status check_magic(const char *path, const char *data, size_t n_bytes) {
  size_t n_any = strlen(MAGIC_OF_ANY), n_magic = strlen(BANK_MAGIC);
  if (n_bytes < sizeof(bank_header) || memcmp(data, MAGIC_OF_ANY, n_any) != 0)
    return SEER_FAIL(CORRUPT, "%s: not a file of cost models", path);
  if (memcmp(data, BANK_MAGIC, n_magic) == 0) return SEER_OK;
  return SEER_FAIL(INVALID,
      "%s: cost models of format %.*s, must be %s: make the file anew with this version", path,
      (int)n_magic, data, BANK_MAGIC);
}

// Into a bank without models of its own.
static seer_status read_layer(
    seer_bank *bank, const char *path, const char *data, size_t n_bytes, uint32_t depth) {
  bank_header header;
  SEER_TRY(check_magic(path, data, n_bytes));
  memcpy(&header, data, sizeof header);
  reader r = {path, data + sizeof header, data + n_bytes};
  const char *set_name, *under;
  size_t n_set, n_under;
  SEER_TRY(take_bytes(&r, "features", 0, &set_name, &n_set));
  SEER_TRY(check_header(bank, path, &header, set_name, n_set));
  // First what is underneath: models over something begin with nothing of their own.
  SEER_TRY(take_bytes(&r, "models underneath", depth, &under, &n_under));
  if (n_under > 0) SEER_TRY(load_under(bank, path, under, n_under, depth + 1));
  return take_models(&r, header.n_family, bank);
}

static seer_status load_under(
    seer_bank *bank, const char *path, const char *data, size_t n_bytes, uint32_t depth) {
  if (depth > MAX_LAYERS)
    return SEER_FAIL(CORRUPT, "%s: over %d layers of models", path, MAX_LAYERS);
  seer_bank *under;
  SEER_TRY(seer_bank_create(&bank->options, &under));
  seer_status status = read_layer(under, path, data, n_bytes, depth);
  if (status) {
    seer_bank_destroy(under);
    return status;
  }
  seer_bank_destroy(bank->under);
  bank->under = under;
  return SEER_OK;
}

seer_status seer_bank_load_bytes(
    seer_bank *bank, const char *name, const void *bytes, size_t n_bytes) {
  SEER_TRY(load_under(bank, name, bytes, n_bytes, 1));
  bank->generation++;
  return seer_bank_inherit(bank);
}

seer_status seer_bank_load(seer_bank *bank, const char *path) {
  seer_arena *arena = seer_arena_create("bank load");
  char *data = NULL;
  size_t n_bytes = 0;
  seer_status status = seer_os_read_file(path, arena, (size_t)1 << 30, &data, &n_bytes);
  if (!status) status = seer_bank_load_bytes(bank, path, data, n_bytes);
  seer_arena_destroy(arena);
  return status;
}
