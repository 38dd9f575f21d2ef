// context.h - what is passed to everything: the options, the log, the dumps, the target. No global
// state. All options stand in one table (options.inc -> doc/options.md); nothing else reads SEER_*
// variables.
//
// Threads: one thread makes, sets and destroys it; while nobody sets, any may read options, log and
// dump. Texts that it returns live as long as it does.
#ifndef SEER_SETUP_CONTEXT_H
#define SEER_SETUP_CONTEXT_H

#include <signal.h>

#include "base/text.h"
#include "setup/device.h"
#include "setup/target.h"

// SEER_OPTION(id, name, type, default, min, max, commands, doc) - see options.inc
typedef enum {
#define SEER_OPTION(id, name, type, def, min, max, commands, doc) SEER_OPT_##id,
#define SEER_OPTION_GROUP(id, title)
#include "setup/options.inc"
#undef SEER_OPTION_GROUP
#undef SEER_OPTION
  SEER_OPT_COUNT
} seer_option;

typedef enum {
  SEER_OPTION_STR,
  SEER_OPTION_LIST,
  SEER_OPTION_BOOL,
  SEER_OPTION_I64,
  SEER_OPTION_F64,
  SEER_OPTION_DURATION,
  SEER_OPTION_CHOICE,
  SEER_OPTION_WORDS,
  SEER_OPTION_TYPE_COUNT
} seer_option_type;

typedef struct {
  const char *name;  // as a flag, without dashes
  seer_option_type type;
  const char *fallback;  // its default as text; "" = not set
  double min, max;
  const char *commands;  // that take it, separated by spaces; "*": all
  const char *doc;
} seer_option_desc;

extern const seer_option_desc seer_option_table[SEER_OPT_COUNT];
// Options from `first` to the next group's belong together.
typedef struct {
  uint32_t first;
  const char *title;
} seer_option_group;
extern const seer_option_group seer_option_groups[];
extern const size_t seer_option_groups_count;
// By name as below; NULL: there is none.
const seer_option_desc *seer_option_find(const char *name);
bool seer_option_is_of(const seer_option_desc *option, const char *command);

typedef struct seer_context seer_context;

// The variable that a fleet's password may stand in (measure/fleet/redis.h): none of the options,
// and never handed on to workers.
#define SEER_FLEET_PASSWORD "SEER_FLEET_PASSWORD"

// Owned: seer_context_destroy. Reads SEER_* variables.
SEER_MUST_USE seer_status seer_context_create(seer_context **out_context);
// Owned; the defaults alone, whatever the environment says.
seer_context *seer_context_create_default(void);
void seer_context_destroy(seer_context *context);
// What the environment says of options that `command` does not take is forgotten: such an option is
// at its default, also for code that reads options on behalf of several commands.
void seer_context_restrict(seer_context *context, const char *command);
seer_arena *seer_context_arena(seer_context *context);

// Sets by name ("time-budget" or "SEER_TIME_BUDGET"); INVALID names the option, the value and what
// is allowed. A LIST is added to, or, the first time after creation, replaces what the
// environment said. BOOL takes 1/0, true/false, yes/no, on/off; "" is on.
// The text is copied. After a failure the option is as it was.
SEER_MUST_USE seer_status seer_context_set(
    seer_context *context, const char *name, const char *value);
bool seer_context_has_option(const char *name, bool *out_takes_value);
// The option's name that is nearest to `name` in letters, NULL when none is near: for "did you
// mean".
const char *seer_option_nearest(const char *name);
const char *seer_context_str(const seer_context *context, seer_option option);  // "" when not set
int64_t seer_context_i64(const seer_context *context, seer_option option);  // -1 when not set
// "90" [s], "200ms", "1h30m" as seconds; false: it is none. Any sign and size; "nan" is one too.
bool seer_duration_parse(const char *text, double *out_seconds);
// seconds for DURATION; -1 when not set
double seer_context_f64(const seer_context *context, seer_option option);
bool seer_context_bool(const seer_context *context, seer_option option);
size_t seer_context_n_values(const seer_context *context, seer_option option);  // of a LIST
const char *seer_context_value(const seer_context *context, seer_option option, size_t i);
// by user or environment
bool seer_context_is_set(const seer_context *context, seer_option option);
// One of the functions above but is_set was asked for it: an option of a command that is never read
// is none (topic `options` of --log tells).
bool seer_context_was_read(const seer_context *context, seer_option option);
// The i-th value that was given, for i 0 the default where there is none; NULL behind the last. For
// showing what was set: does not count as read.
const char *seer_context_shown(const seer_context *context, seer_option option, size_t i);

// The target of option TARGET, for as many threads as option THREADS says or the devices of option
// DEVICES have processors; found at the first call, which detects and parses. Not measured.
// UNSUPPORTED: it is no CPU (seer_target_check_cpu). So whoever has a target from here, or from
// seer_context_target behind it, may read a CPU's facts.
SEER_MUST_USE seer_status seer_context_find_target(seer_context *context);
// The same for what serves any kind; DEVICES and THREADS are a CPU's, and not read for others.
SEER_MUST_USE seer_status seer_context_find_any_target(seer_context *context);
// UNSUPPORTED, or INVALID, if option TARGET names a GPU: for commands that cannot serve it, before
// they do anything. Does not look at this machine.
SEER_MUST_USE seer_status seer_context_check_target(seer_context *context);
// The same for code that is to run here, with its figures measured (seer_target_measure); those of
// a text that says -measured are kept.
SEER_MUST_USE seer_status seer_context_measure_target(seer_context *context);
// What option DEVICES names; none: nothing was named. Found with the target.
const seer_device_list *seer_context_devices(const seer_context *context);
// NULL before seer_context_find_target or seer_context_set_target. A CPU, unless
// seer_context_find_any_target was asked, or another was set.
const seer_target *seer_context_target(const seer_context *context);
// Copied, strings kept.
void seer_context_set_target(seer_context *context, const seer_target *target);

// Log levels by topic: SEER_LOG=search:2,measure:1. Lines go to stderr. Level 0 is always said:
// what somebody has to know who asked for nothing.
// Topics are the words of option LOG.
bool seer_log_on(const seer_context *context, const char *topic, int level);
SEER_PRINTF(4, 5)
void seer_log(const seer_context *context, const char *topic, int level, const char *format, ...);
// A line for whoever asked, of what was found on the way: on stderr, or to who hears it. The last
// newline may be left out.
SEER_PRINTF(2, 3)
void seer_say(const seer_context *context, const char *format, ...);
// `hear` gets what is said from now on, without the last newline; NULL: stderr again. `user` is
// kept.
typedef void (*seer_hearer)(void *user, const char *text);
void seer_context_hear(seer_context *context, seer_hearer hear, void *user);

// Whoever sets *stop to other than 0, from any thread or a signal handler, ends what is being done
// with the context: loading, choosing and building with STOPPED, a contest with the pairs that it
// has. Kept; NULL: nobody does.
void seer_context_stop_by(seer_context *context, const volatile sig_atomic_t *stop);
const volatile sig_atomic_t *seer_context_stop(const seer_context *context);  // or NULL
bool seer_context_is_stopped(const seer_context *context);
SEER_MUST_USE seer_status seer_context_check_stop(const seer_context *context);  // STOPPED, if so
// SEER_DUMP=task,loop,asm with SEER_DUMP_DIR: true if `kind` (a word of option DUMP) is to be
// dumped; then seer_dump writes <dir>/<name>.<kind> (characters of `name` that no file name should
// have become '_').
bool seer_dump_on(const seer_context *context, const char *kind);
SEER_MUST_USE seer_status seer_dump(const seer_context *context, const char *kind, const char *name,
    const char *text, size_t n_bytes);

#endif
