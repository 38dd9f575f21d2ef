// custom.c - see custom.h.
#include "runtime/host/custom.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/host.h"

#define MESSAGE_BYTES 512

struct seer_rt_custom {
  const seer_operator *entry;  // NULL: the host call is another function
  seer_operator_attribute *attribute;
  const char **strings;  // of all attributes
  uint32_t n_attribute;
};

static const void *at(const seer_plan_header *h, uint64_t offset) {
  return (const uint8_t *)h + offset;
}

static const seer_plan_custom *custom_of(const seer_plan_header *h, const seer_plan_host *host) {
  return at(h, (uint64_t)host->param[0]);
}

// ---- what a plan says

static bool is_section(
    const seer_plan_header *h, uint64_t offset, uint64_t n, uint64_t item_bytes) {
  return offset >= sizeof *h && offset <= h->n_bytes && offset % 8 == 0 &&
      n <= (h->n_bytes - offset) / item_bytes;
}

static uint64_t item_bytes(int32_t kind) {
  switch (kind) {
    case SEER_OPERATOR_INT:
    case SEER_OPERATOR_INTS:
      return sizeof(int64_t);
    case SEER_OPERATOR_FLOAT:
    case SEER_OPERATOR_FLOATS:
      return sizeof(float);
    case SEER_OPERATOR_STRING:
    case SEER_OPERATOR_STRINGS:
      return sizeof(uint32_t);
    default:
      return 0;
  }
}

static bool has_strings(int32_t kind) {
  return kind == SEER_OPERATOR_STRING || kind == SEER_OPERATOR_STRINGS;
}

static bool is_list(int32_t kind) { return kind >= SEER_OPERATOR_INTS; }

static bool attribute_ok(const seer_plan_header *h, const seer_plan_attribute *a) {
  const uint64_t n_bytes = item_bytes(a->kind);
  if (n_bytes == 0 || a->name_string >= h->strings_bytes) return false;
  if (!is_section(h, a->offset, a->n, n_bytes) || (!is_list(a->kind) && a->n != 1)) return false;
  const uint32_t *string = at(h, a->offset);
  for (uint32_t k = 0; has_strings(a->kind) && k < a->n; k++)
    if (string[k] >= h->strings_bytes) return false;
  return true;
}

const char *seer_rt_custom_check(
    const seer_plan_header *h, const seer_plan_host *host, const seer_plan_tensor *tensors) {
  if ((uint64_t)host->n_in + host->n_out > SEER_OPERATOR_MAX_TENSORS)
    return "a call of an operator has too many tensors";
  for (uint32_t i = 0; i < host->n_in + host->n_out; i++)
    for (int32_t d = 0; tensors[i].onnx_dtype != 0 && d < tensors[i].rank; d++)
      if (tensors[i].size_arg[d] != 0)
        return "a tensor of an operator has a size that data decides";
  if (!is_section(h, (uint64_t)host->param[0], 1, sizeof(seer_plan_custom)))
    return "an operator lies outside the plan";
  const seer_plan_custom *custom = custom_of(h, host);
  if (custom->domain_string >= h->strings_bytes || custom->name_string >= h->strings_bytes ||
      !is_section(h, (uint64_t)host->param[0] + sizeof *custom, custom->n_attribute,
          sizeof(seer_plan_attribute)))
    return "an operator is damaged";
  const seer_plan_attribute *attribute = (const void *)(custom + 1);
  for (uint32_t k = 0; k < custom->n_attribute; k++)
    if (!attribute_ok(h, &attribute[k])) return "an attribute of an operator is damaged";
  return NULL;
}

// ---- what it becomes

static const seer_operator *find_entry(const seer_model_source *source, const seer_rt_set *set,
    const seer_plan_custom *plan, char *message, size_t message_bytes) {
  const seer_operator_table *const *table = source->operators;
  const char *domain = set->strings + plan->domain_string, *name = set->strings + plan->name_string;
  for (uint32_t k = 0; table && *table && k < plan->table; k++) table++;
  if (!table || !*table) {
    seer_rt_fail(SEER_RT_UNSUPPORTED, message, message_bytes,
        "this model has the operator '%s' of '%s', and no such operators are here", name, domain);
    return NULL;
  }
  const seer_operator *entry =
      (*table)->version == SEER_OPERATOR_VERSION && plan->index < (*table)->n
      ? &(*table)->list[plan->index]
      : NULL;
  if (entry && strcmp(entry->domain, domain) == 0 && strcmp(entry->name, name) == 0) return entry;
  seer_rt_fail(SEER_RT_CORRUPT, message, message_bytes,
      "the operator '%s' of '%s' is not where it should be in what this library was linked with: "
      "its object and the one that was asked for shapes have other tables",
      name, domain);
  return NULL;
}

static bool put_attributes(
    const seer_rt_set *set, const seer_plan_custom *plan, struct seer_rt_custom *out) {
  const seer_plan_header *h = set->plan;
  const seer_plan_attribute *from = (const void *)(plan + 1);
  uint64_t n_string = 0, n = 0;
  for (uint32_t k = 0; k < plan->n_attribute; k++)
    if (has_strings(from[k].kind)) n_string += from[k].n;
  out->attribute = calloc((size_t)plan->n_attribute + 1, sizeof *out->attribute);
  out->strings = calloc(n_string + 1, sizeof *out->strings);
  if (!out->attribute || !out->strings) return false;
  out->n_attribute = plan->n_attribute;
  for (uint32_t k = 0; k < plan->n_attribute; k++) {
    seer_operator_attribute *to = &out->attribute[k];
    const void *data = at(h, from[k].offset);
    *to = (seer_operator_attribute){
        .name = set->strings + from[k].name_string, .kind = from[k].kind, .n = from[k].n};
    if (item_bytes(from[k].kind) == sizeof(int64_t)) {
      to->ints = data;
    } else if (!has_strings(from[k].kind)) {
      to->floats = data;
    } else {
      to->strings = &out->strings[n];
      for (uint32_t i = 0; i < from[k].n; i++)
        out->strings[n++] = set->strings + ((const uint32_t *)data)[i];
    }
  }
  return true;
}

seer_rt_code seer_rt_custom_open(
    const seer_model_source *source, seer_rt_set *set, char *message, size_t message_bytes) {
  for (uint32_t i = 0; i < set->plan->n_host; i++) {
    if (set->host[i].function != SEER_HOST_CUSTOM) continue;
    if (!set->custom) set->custom = calloc(set->plan->n_host, sizeof *set->custom);
    if (!set->custom)
      return seer_rt_fail(SEER_RT_RESOURCE, message, message_bytes, "no memory for operators");
    const seer_plan_custom *plan = custom_of(set->plan, &set->host[i]);
    set->custom[i].entry = find_entry(source, set, plan, message, message_bytes);
    if (!set->custom[i].entry) return source->operators ? SEER_RT_CORRUPT : SEER_RT_UNSUPPORTED;
    if (!put_attributes(set, plan, &set->custom[i]))
      return seer_rt_fail(SEER_RT_RESOURCE, message, message_bytes, "no memory for operators");
  }
  return SEER_RT_OK;
}

void seer_rt_custom_close(seer_rt_set *set) {
  for (uint32_t i = 0; set->custom && i < set->plan->n_host; i++) {
    free(set->custom[i].attribute);
    free(set->custom[i].strings);
  }
  free(set->custom);
  set->custom = NULL;
}

// ---- a call

typedef struct {
  const seer_operator *entry;
  const seer_operator_call *call;
  int result;
} job;

static void run_part(void *const *buffers, uint32_t part) {
  job *of = buffers[0];
  (void)part;
  of->result = of->entry->run(of->call);
}

static seer_rt_code refuse(const seer_session *session, const char *step, const job *of) {
  const bool is_code = of->result > SEER_RT_OK && of->result < SEER_RT_INTERNAL;
  const seer_rt_code code = is_code ? (seer_rt_code)of->result : SEER_RT_INTERNAL;
  if (of->call->message[0])
    return SEER_SESSION_REFUSE(session, code, "step '%s': %s", step, of->call->message);
  return SEER_SESSION_REFUSE(session, code, "step '%s': its operator '%s' has returned %d", step,
      of->entry->name, of->result);
}

bool seer_rt_custom_run(seer_session *session, const seer_plan_step *step, seer_rt_code *out_code,
    seer_pool_fault *out_fault) {
  static const seer_phase_function run_as[] = {run_part};
  static const uint32_t one = 1;
  const seer_bound_plan *plan = session->selected;
  const seer_plan_host *host = &plan->of->host[step->first_phase];
  const struct seer_rt_custom *custom = &plan->of->custom[step->first_phase];
  seer_operator_tensor tensor[SEER_OPERATOR_MAX_TENSORS];
  char message[MESSAGE_BYTES] = "";
  for (uint32_t i = 0; i < host->n_in + host->n_out; i++) {
    const seer_plan_tensor *from = &plan->of->tensor[host->first_tensor + i];
    tensor[i] = (seer_operator_tensor){.type = from->onnx_dtype};
    if (from->onnx_dtype == 0) continue;
    tensor[i].rank = from->rank;
    memcpy(tensor[i].dim, from->dim, sizeof tensor[i].dim);
    tensor[i].data = plan->buffer[from->arg];
  }
  const seer_operator_call call = {.node = plan->of->strings + step->name_string,
      .n_input = host->n_in,
      .n_output = host->n_out,
      .n_attribute = custom->n_attribute,
      .input = tensor,
      .output = tensor + host->n_in,
      .attribute = custom->attribute,
      .scratch = host->scratch_arg ? plan->buffer[host->scratch_arg - 1] : NULL,
      .message = message,
      .message_bytes = sizeof message};
  job of = {custom->entry, &call, 0};
  void *const buffers[] = {&of};
  const seer_kernel_call kernel = {.phase = run_as,
      .n_parts = &one,
      .n_phase = 1,
      .buffers = buffers,
      .n_arg = 1,
      .scratch = plan->scratch,
      .scratch_stride = plan->scratch_stride,
      .times = session->times};
  *out_code = SEER_RT_OK;
  if (!seer_pool_run_kernel(session->pool, &kernel, out_fault)) return false;
  message[sizeof message - 1] = 0;
  if (of.result != 0) *out_code = refuse(session, call.node, &of);
  return true;
}
