// context.c - options from the table, the environment and the flags; log and dumps, which are
// options too. Values are kept as the text that was given and as a number that was checked when it
// was set, so reading an option can't fail.
#include "setup/context.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/near.h"
#include "base/os.h"

const seer_option_desc seer_option_table[SEER_OPT_COUNT] = {
#define SEER_OPTION(id, name, type, def, min, max, commands, doc) \
  {name, SEER_OPTION_##type, def, min, max, commands, doc},
#define SEER_OPTION_GROUP(id, title)
#include "setup/options.inc"
#undef SEER_OPTION_GROUP
#undef SEER_OPTION
};

// The number of the option behind each group's line.
enum {
#define SEER_OPTION(id, name, type, def, min, max, commands, doc) OPTION_##id,
#define SEER_OPTION_GROUP(id, title) GROUP_##id, BEFORE_GROUP_##id = GROUP_##id - 1,
#include "setup/options.inc"
#undef SEER_OPTION_GROUP
#undef SEER_OPTION
};

const seer_option_group seer_option_groups[] = {
#define SEER_OPTION(id, name, type, def, min, max, commands, doc)
#define SEER_OPTION_GROUP(id, title) {GROUP_##id, title},
#include "setup/options.inc"
#undef SEER_OPTION_GROUP
#undef SEER_OPTION
};
const size_t seer_option_groups_count = SEER_COUNT_OF(seer_option_groups);

typedef struct {
  const char *text;
  double f64;
  int64_t i64;
  const char **values;  // LIST
  size_t n_values, cap_values;
  bool is_set;
  bool is_inherited;  // by the environment: a flag takes its place, also of a LIST
} option_value;

struct seer_context {
  seer_arena *arena;
  option_value value[SEER_OPT_COUNT];
  atomic_bool *was_read;  // by option; also through a const context, by any thread
  seer_target target;
  bool has_target;
  seer_device_list devices;
  seer_hearer hear;  // NULL: what is said goes to stderr
  void *hear_user;
  const volatile sig_atomic_t *stop;  // NULL: nobody stops anything
};

extern char **environ;

// ---- parsing of values

static seer_status bad_value(const seer_option_desc *desc, const char *value, const char *allowed) {
  return SEER_FAIL(INVALID, "option '%s' is '%s', must be %s", desc->name, value, allowed);
}

static bool parse_plain(const char *text, const char **out_end, double *out_value) {
  seer_scan scan;
  seer_scan_init(&scan, "option", text, strlen(text));
  seer_status status = seer_scan_f64(&scan, out_value);
  bool ok = status == SEER_OK && scan.at > text && !isspace((unsigned char)text[0]);
  seer_status_free(status);
  *out_end = scan.at;
  return ok;
}

// "90", "200ms", "1h30m" -> seconds.
bool seer_duration_parse(const char *text, double *out_seconds) {
  static const struct {
    const char *unit;
    double seconds;
  } units[] = {{"ms", 1e-3}, {"us", 1e-6}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
  double total = 0;
  const char *at = text;
  do {
    double number;
    if (!parse_plain(at, &at, &number)) return false;
    if (!*at && total == 0) {
      *out_seconds = number;
      return true;
    }
    size_t i = 0;
    while (i < SEER_COUNT_OF(units) && strncmp(at, units[i].unit, strlen(units[i].unit)) != 0) i++;
    if (i == SEER_COUNT_OF(units)) return false;
    total += number * units[i].seconds;
    at += strlen(units[i].unit);
  } while (*at);
  *out_seconds = total;
  return true;
}

static bool parse_bool(const char *text, bool *out_value) {
  static const char *const on[] = {"", "1", "true", "yes", "on"};
  static const char *const off[] = {"0", "false", "no", "off"};
  for (size_t i = 0; i < SEER_COUNT_OF(on); i++) {
    if (strcasecmp(text, on[i]) == 0) return *out_value = true, true;
  }
  for (size_t i = 0; i < SEER_COUNT_OF(off); i++) {
    if (strcasecmp(text, off[i]) == 0) return *out_value = false, true;
  }
  return false;
}

// The first n_text bytes of `text` are one of the words before the colon of a CHOICE's doc.
static bool is_choice(const char *doc, const char *text, size_t n_text) {
  size_t n = strcspn(doc, ":");
  for (const char *at = doc; at < doc + n;) {
    size_t n_word = strcspn(at, "|:");
    if (n_word == n_text && memcmp(at, text, n_text) == 0) return true;
    at += n_word + 1;
  }
  return false;
}

// "search:2,measure", "all": words that the doc has, levels of one digit.
static bool are_choices(const char *doc, const char *text) {
  for (const char *at = text; *at;) {
    size_t n = strcspn(at, ","), n_word = strcspn(at, ",:");
    bool is_all = n_word == 3 && memcmp(at, "all", 3) == 0;
    if (!is_all && !is_choice(doc, at, n_word)) return false;
    if (n > n_word && (n != n_word + 2 || !isdigit((unsigned char)at[n_word + 1]))) return false;
    at += n;
    if (*at == ',') at++;
  }
  return true;
}

static seer_status in_range(const seer_option_desc *desc, const char *text, double value) {
  if (value >= desc->min && value <= desc->max) return SEER_OK;
  char allowed[96];
  snprintf(allowed, sizeof allowed, "from %g to %g%s", desc->min, desc->max,
      desc->type == SEER_OPTION_DURATION ? " seconds" : "");
  return bad_value(desc, text, allowed);
}

// Checks `text` and fills the numbers of *out; leaves *out alone on failure.
static seer_status parse_value(const seer_option_desc *desc, const char *text, option_value *out) {
  switch (desc->type) {
    case SEER_OPTION_STR:
    case SEER_OPTION_LIST:
      return SEER_OK;
    case SEER_OPTION_BOOL: {
      bool on;
      if (!parse_bool(text, &on))
        return bad_value(desc, text, "1 or 0, true or false, yes or no, on or off");
      out->i64 = on;
      out->f64 = on;
      return SEER_OK;
    }
    case SEER_OPTION_I64: {
      errno = 0;
      char *end;
      long long value = strtoll(text, &end, 10);
      if (end == text || *end || errno || isspace((unsigned char)text[0]))
        return bad_value(desc, text, "a whole number");
      SEER_TRY(in_range(desc, text, (double)value));
      out->i64 = value;
      out->f64 = (double)value;
      return SEER_OK;
    }
    case SEER_OPTION_F64: {
      const char *end;
      double value;
      if (!parse_plain(text, &end, &value) || *end || isnan(value))
        return bad_value(desc, text, "a number");
      SEER_TRY(in_range(desc, text, value));
      out->f64 = value;
      out->i64 = (int64_t)value;
      return SEER_OK;
    }
    case SEER_OPTION_DURATION: {
      double value;
      if (!seer_duration_parse(text, &value) || isnan(value))
        return bad_value(
            desc, text, "a time: seconds, or with a unit, such as 200ms, 90s, 5m, 1h30m");
      SEER_TRY(in_range(desc, text, value));
      out->f64 = value;
      out->i64 = (int64_t)value;
      return SEER_OK;
    }
    case SEER_OPTION_CHOICE:
      if (is_choice(desc->doc, text, strlen(text))) return SEER_OK;
      return SEER_FAIL(INVALID, "option '%s' is '%s', must be one of %.*s", desc->name, text,
          (int)strcspn(desc->doc, ":"), desc->doc);
    case SEER_OPTION_WORDS:
      if (are_choices(desc->doc, text)) return SEER_OK;
      return SEER_FAIL(INVALID,
          "option '%s' is '%s', must be some of %.*s, or all, with commas between and perhaps :1 "
          "to :9 behind them",
          desc->name, text, (int)strcspn(desc->doc, ":"), desc->doc);
    case SEER_OPTION_TYPE_COUNT:
      break;
  }
  return SEER_FAIL(INTERNAL, "option '%s' has type %d", desc->name, (int)desc->type);
}

// ---- names

// "SEER_TIME_BUDGET", "time_budget" and "time-budget" name the same option.
static bool same_name(const char *given, const char *name) {
  if (strncmp(given, "SEER_", 5) == 0) given += 5;
  for (; *given && *name; given++, name++) {
    char c = *given == '_' ? '-' : (char)tolower((unsigned char)*given);
    if (c != *name) return false;
  }
  return !*given && !*name;
}

const seer_option_desc *seer_option_find(const char *name) {
  for (size_t i = 0; i < SEER_OPT_COUNT; i++) {
    if (same_name(name, seer_option_table[i].name)) return &seer_option_table[i];
  }
  return NULL;
}

bool seer_context_has_option(const char *name, bool *out_takes_value) {
  const seer_option_desc *desc = seer_option_find(name);
  if (desc && out_takes_value) *out_takes_value = desc->type != SEER_OPTION_BOOL;
  return desc != NULL;
}

bool seer_option_is_of(const seer_option_desc *desc, const char *command) {
  return strcmp(desc->commands, "*") == 0 || seer_words_have(desc->commands, command);
}

const char *seer_option_nearest(const char *name) {
  seer_near near = seer_near_to(strncmp(name, "SEER_", 5) == 0 ? name + 5 : name);
  for (size_t i = 0; i < SEER_OPT_COUNT; i++) seer_near_offer(&near, seer_option_table[i].name);
  return near.best;
}

// ---- the context

seer_status seer_context_set(seer_context *context, const char *name, const char *value) {
  const seer_option_desc *desc = seer_option_find(name);
  if (!desc) {
    const char *near = seer_option_nearest(name);
    if (near) return SEER_FAIL(INVALID, "unknown option '%s', did you mean '%s'?", name, near);
    return SEER_FAIL(INVALID, "unknown option '%s'; `familyseer list options` names all", name);
  }
  option_value *v = &context->value[desc - seer_option_table];
  SEER_TRY(parse_value(desc, value, v));
  const char *kept = seer_arena_strdup(context->arena, value);
  if (desc->type == SEER_OPTION_LIST) {
    if (v->is_inherited) v->n_values = 0;
    v->is_inherited = false;
    v->values = SEER_GROW(context->arena, const char *, v->values, v->n_values, &v->cap_values);
    v->values[v->n_values++] = kept;
  }
  v->text = kept;
  v->is_set = true;
  return SEER_OK;
}

// A password is no option: it has no flag, which would stand in lists of processes, and is not kept
// here (measure/fleet/redis.h).
static bool is_secret(const char *variable) {
  return strncmp(variable, SEER_FLEET_PASSWORD "=", strlen(SEER_FLEET_PASSWORD "=")) == 0;
}

static seer_status read_environment(seer_context *context) {
  for (char **at = environ; at && *at; at++) {
    if (strncmp(*at, "SEER_", 5) != 0 || is_secret(*at)) continue;
    const char *equals = strchr(*at, '=');
    if (!equals) continue;
    const char *name = seer_arena_strndup(context->arena, *at, (size_t)(equals - *at));
    SEER_TRYF(
        seer_context_set(context, name, equals + 1), "reading the environment variable %s", name);
  }
  for (size_t i = 0; i < SEER_OPT_COUNT; i++)
    context->value[i].is_inherited = context->value[i].is_set;
  return SEER_OK;
}

static option_value default_of(size_t option) {
  const seer_option_desc *desc = &seer_option_table[option];
  option_value v = {.text = desc->fallback, .f64 = -1, .i64 = -1};
  seer_status status = *v.text ? parse_value(desc, v.text, &v) : SEER_OK;
  SEER_ASSERT(
      status == SEER_OK, "default of option %s: %s", desc->name, seer_status_message(status));
  return v;
}

seer_context *seer_context_create_default(void) {
  seer_arena *arena = seer_arena_create("context");
  seer_context *context = SEER_NEW(arena, seer_context);
  context->arena = arena;
  context->was_read = SEER_NEW_ARRAY(arena, atomic_bool, SEER_OPT_COUNT);
  for (size_t i = 0; i < SEER_OPT_COUNT; i++) context->value[i] = default_of(i);
  return context;
}

void seer_context_restrict(seer_context *context, const char *command) {
  for (size_t i = 0; i < SEER_OPT_COUNT; i++) {
    bool is_foreign = !seer_option_is_of(&seer_option_table[i], command);
    if (context->value[i].is_inherited && is_foreign) context->value[i] = default_of(i);
  }
}

seer_status seer_context_create(seer_context **out_context) {
  *out_context = NULL;
  seer_context *context = seer_context_create_default();
  seer_status status = read_environment(context);
  if (status) {
    seer_context_destroy(context);
    return status;
  }
  *out_context = context;
  return SEER_OK;
}

void seer_context_destroy(seer_context *context) {
  if (context) seer_arena_destroy(context->arena);
}

seer_arena *seer_context_arena(seer_context *context) { return context->arena; }

static const option_value *value_of(const seer_context *context, seer_option option) {
  SEER_ASSERT((unsigned)option < SEER_OPT_COUNT, "option %d", (int)option);
  return &context->value[option];
}

static const option_value *read_value(const seer_context *context, seer_option option) {
  const option_value *value = value_of(context, option);
  atomic_store_explicit(&context->was_read[option], true, memory_order_relaxed);
  return value;
}

const char *seer_context_str(const seer_context *context, seer_option option) {
  return read_value(context, option)->text;
}
int64_t seer_context_i64(const seer_context *context, seer_option option) {
  return read_value(context, option)->i64;
}
double seer_context_f64(const seer_context *context, seer_option option) {
  return read_value(context, option)->f64;
}
bool seer_context_bool(const seer_context *context, seer_option option) {
  return read_value(context, option)->i64 > 0;
}
size_t seer_context_n_values(const seer_context *context, seer_option option) {
  return read_value(context, option)->n_values;
}

const char *seer_context_value(const seer_context *context, seer_option option, size_t i) {
  const option_value *v = read_value(context, option);
  SEER_ASSERT(i < v->n_values, "value %zu of %zu", i, v->n_values);
  return v->values[i];
}

bool seer_context_is_set(const seer_context *context, seer_option option) {
  return value_of(context, option)->is_set;
}

bool seer_context_was_read(const seer_context *context, seer_option option) {
  (void)value_of(context, option);
  return atomic_load_explicit(&context->was_read[option], memory_order_relaxed);
}

const char *seer_context_shown(const seer_context *context, seer_option option, size_t i) {
  const option_value *v = value_of(context, option);
  if (i < v->n_values) return v->values[i];
  return i == 0 ? v->text : NULL;
}

// As many threads as a device has processors, which THREADS must not contradict.
static seer_status find_devices(seer_context *context, uint32_t *threads) {
  int64_t asked = seer_context_i64(context, SEER_OPT_THREADS);
  if (asked > 0) *threads = (uint32_t)asked;
  // Only commands that time take it; the others find a target, too.
  if (!seer_context_is_set(context, SEER_OPT_DEVICES)) return SEER_OK;
  const seer_device_machine machine = seer_device_machine_here(asked > 0 ? (uint32_t)asked : 0);
  SEER_TRYF(seer_devices_parse(seer_context_str(context, SEER_OPT_DEVICES), &machine,
                context->arena, &context->devices),
      "reading option 'devices'");
  const seer_tuning_device *first = &context->devices.device[0];
  uint32_t n = context->devices.n > 0 ? first->n_processors : 0;
  if (n > 0 && asked > 0 && asked != n)
    return SEER_FAIL(INVALID,
        "option 'threads' is %d, and device %s has %u processors: leave one of them out",
        (int)asked, first->name, n);
  if (n > 0) *threads = n;
  return SEER_OK;
}

// Devices that have drivers are for targets of their kind, and those for no others.
static seer_status check_devices(const seer_context *context, const seer_target *target) {
  if (context->devices.n == 0) return SEER_OK;
  const seer_tuning_device *first = &context->devices.device[0];
  const char *kind = seer_device_kind_name(first->kind);
  bool has_driver = first->kind == SEER_DEVICE_OPENCL || first->kind == SEER_DEVICE_CUDA;
  bool is_for_it = has_driver ? strcmp(kind, seer_target_kind_name(target->kind)) == 0
                              : target->kind == SEER_TARGET_CPU || first->kind == SEER_DEVICE_FAKE;
  if (is_for_it) return SEER_OK;
  char name[SEER_TARGET_NAME_BYTES];
  seer_target_name(target, name);
  return SEER_FAIL(INVALID, "device %s is none for target %s: what is tuned for it is timed on %s",
      first->name, name,
      target->kind == SEER_TARGET_CPU ? "processors" : "devices of its own kind");
}

seer_status seer_context_find_any_target(seer_context *context) {
  if (context->has_target) return SEER_OK;
  seer_target target;
  SEER_TRYF(seer_target_parse(seer_context_str(context, SEER_OPT_TARGET), context->arena, &target),
      "reading option 'target'");
  uint32_t n_threads = target.threads;  // of a GPU's target nobody's
  SEER_TRY(find_devices(context, &n_threads));
  if (target.kind == SEER_TARGET_CPU) target.threads = n_threads;
  SEER_TRY(check_devices(context, &target));
  context->target = target;
  context->has_target = true;
  return SEER_OK;
}

seer_status seer_context_find_target(seer_context *context) {
  SEER_TRY(seer_context_find_any_target(context));
  return seer_target_check_cpu(&context->target);
}

seer_status seer_context_check_target(seer_context *context) {
  // Whether a command reads the option is for the command to say.
  const char *text = seer_context_shown(context, SEER_OPT_TARGET, 0);
  return seer_target_text_is_gpu(text) ? seer_context_find_target(context) : SEER_OK;
}

const seer_device_list *seer_context_devices(const seer_context *context) {
  return &context->devices;
}

seer_status seer_context_measure_target(seer_context *context) {
  SEER_TRY(seer_context_find_target(context));
  SEER_TRY(seer_target_check_here(&context->target));
  return context->target.is_measured ? SEER_OK : seer_target_measure(&context->target);
}

const seer_target *seer_context_target(const seer_context *context) {
  return context->has_target ? &context->target : NULL;
}

void seer_context_set_target(seer_context *context, const seer_target *target) {
  context->target = *target;
  context->has_target = true;
}

// ---- log and dumps

// The entry for `key` in a list "key[:level],...", or for "all"; -1 when there is none. Without a
// level it is 1.
static int list_level(const char *list, const char *key) {
  int level = -1;
  for (const char *at = list; *at;) {
    size_t n = strcspn(at, ",");
    size_t n_key = strcspn(at, ",:");
    bool same = n_key == strlen(key) && memcmp(at, key, n_key) == 0;
    bool all = n_key == 3 && memcmp(at, "all", 3) == 0;
    if (same || (all && level < 0)) level = n_key < n ? atoi(at + n_key + 1) : 1;
    at += n;
    if (*at == ',') at++;
  }
  return level;
}

bool seer_log_on(const seer_context *context, const char *topic, int level) {
  return level == 0 || list_level(seer_context_str(context, SEER_OPT_LOG), topic) >= level;
}

void seer_log(const seer_context *context, const char *topic, int level, const char *format, ...) {
  if (!seer_log_on(context, topic, level)) return;
  char *line = NULL;
  va_list args;
  va_start(args, format);
  int n = vasprintf(&line, format, args);
  va_end(args);
  if (n < 0) return;
  char safe[SEER_TEXT_SAFE_LINE_BYTES];
  seer_text_safe_copy(safe, sizeof safe, line, (size_t)n, SEER_TEXT_INDENT);
  free(line);
  fprintf(stderr, "[%s] %s\n", topic, safe);  // one call: lines of several threads do not mix
}

void seer_context_hear(seer_context *context, seer_hearer hear, void *user) {
  context->hear = hear;
  context->hear_user = user;
}

void seer_context_stop_by(seer_context *context, const volatile sig_atomic_t *stop) {
  context->stop = stop;
}

const volatile sig_atomic_t *seer_context_stop(const seer_context *context) {
  return context->stop;
}

bool seer_context_is_stopped(const seer_context *context) {
  return context->stop && *context->stop;
}

seer_status seer_context_check_stop(const seer_context *context) {
  return seer_context_is_stopped(context) ? SEER_FAIL(STOPPED, "stopped") : SEER_OK;
}

void seer_say(const seer_context *context, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, format, args);
  va_end(args);
  // in an arena: who hears it may run out of memory
  seer_arena *scratch = seer_arena_create("said");
  char *text = SEER_NEW_ARRAY(scratch, char, (size_t)(n < 0 ? 0 : n) + 1);
  if (n >= 0) (void)vsnprintf(text, (size_t)n + 1, format, again);
  va_end(again);
  if (n > 0 && text[n - 1] == '\n') text[n - 1] = '\0';
  if (n >= 0 && context->hear)
    context->hear(context->hear_user, text);
  else if (n >= 0)
    fprintf(stderr, "%s\n", text);
  seer_arena_destroy(scratch);
}

bool seer_dump_on(const seer_context *context, const char *kind) {
  return list_level(seer_context_str(context, SEER_OPT_DUMP), kind) >= 0;
}

seer_status seer_dump(const seer_context *context, const char *kind, const char *name,
    const char *text, size_t n_bytes) {
  const char *folder = seer_context_str(context, SEER_OPT_DUMP_DIR);
  SEER_TRY(seer_os_make_dirs(folder));
  seer_arena *scratch = seer_arena_create("dump");
  char *file = seer_arena_printf(scratch, "%s.%s", name, kind);
  for (char *c = file; *c; c++) {
    if (!isalnum((unsigned char)*c) && !strchr("._-+@", *c)) *c = '_';
  }
  seer_status status = seer_os_write_file(seer_os_path_join(scratch, folder, file), text, n_bytes);
  seer_arena_destroy(scratch);
  return status;
}
