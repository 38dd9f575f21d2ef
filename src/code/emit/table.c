// table.c - what each kernel asks of the target, what it leaves of it and what bounds its task: a
// table for people, and the same as JSON.
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "code/emit/internal.h"

const char *seer_emit_why_host(const seer_step *step) {
  switch (step->kind) {
    case SEER_STEP_HOST:
      // or an operator of a user's, which is C
      return "only data says how large its result is, or in which order it is made: a function of "
             "the runtime";
    case SEER_STEP_LOOP_BEGIN:
    case SEER_STEP_LOOP_END:
      return "only data says when the loop ends: the runtime goes round";
    case SEER_STEP_BRANCH:
      return "data is the condition: the runtime takes a side";
    case SEER_STEP_KERNEL:
    case SEER_STEP_COPY:
    case SEER_STEP_VIEW:
      break;
  }
  return NULL;
}

static const char *op_of(const seer_network *set, const seer_step *step) {
  return seer_step_node(set->graph, step)->op_type;
}

// Of all that a processor has in hand, the items of blocks that fit together.
static double share_of(const seer_target_gpu *gpu, const seer_emit_kernel *kernel) {
  return (double)kernel->occupancy.n_blocks * kernel->n_items / gpu->max_processor_items;
}

// What there would have to be more of. The first of those that are equal.
static const char *limit_of(const seer_occupancy *occupancy) {
  static const char *const names[SEER_OCCUPANCY_COUNT] = {
      [SEER_OCCUPANCY_BLOCKS] = "blocks",
      [SEER_OCCUPANCY_ITEMS] = "items",
      [SEER_OCCUPANCY_REGISTERS] = "registers",
      [SEER_OCCUPANCY_BYTES] = "memory",
  };
  static const seer_occupancy_limit order[] = {
      SEER_OCCUPANCY_ITEMS, SEER_OCCUPANCY_REGISTERS, SEER_OCCUPANCY_BYTES, SEER_OCCUPANCY_BLOCKS};
  for (size_t k = 0; k < SEER_COUNT_OF(order); k++)
    if (occupancy->of_limit[order[k]] == occupancy->n_blocks) return names[order[k]];
  return "";
}

static const char *bound_by(const seer_emit_task *row) {
  const seer_roofline *r = &row->roofline;
  double work = r->compute_s > r->level_s[2] ? r->compute_s : r->level_s[2];
  if (r->launch_s > work) return "launch";
  return r->compute_s > r->level_s[2] ? "compute" : "memory";
}

// ---- for people

static void put_number(seer_text *text, int width, bool is_known, uint32_t number) {
  if (is_known)
    seer_text_printf(text, " %*u", width, number);
  else
    seer_text_printf(text, " %*s", width, "-");
}

static void put_kernels(seer_text *text, const seer_emit_tables *t, const seer_emit_task *row) {
  for (uint32_t p = 0; p < row->n_kernel; p++) {
    const seer_emit_kernel *k = &row->kernel[p];
    seer_text_printf(text, "%5u %5u %9u %5u %7" PRIu64, row->task->id, p, k->n_blocks, k->n_items,
        k->group_bytes);
    put_number(text, 5, k->is_compiled, k->registers);
    put_number(text, 5, true, k->estimate);
    put_number(text, 6, k->is_compiled, k->frame_bytes);
    seer_text_printf(text, " %6u %5.0f %% %s", k->occupancy.n_blocks,
        100 * share_of(&t->target->gpu, k), limit_of(&k->occupancy));
    seer_text_printf(text, "%*s", 9 - (int)strlen(limit_of(&k->occupancy)), "");
    if (k->seconds > 0)
      seer_text_printf(text, " %9.2f", k->seconds * 1e6);
    else
      seer_text_printf(text, " %9s", "-");
    // A bound is the task's, whatever kernels it has.
    if (p == 0)
      seer_text_printf(text, " %9.2f %-7s %s", row->bound_s * 1e6, bound_by(row), row->task->name);
    seer_text_put(text, "\n");
  }
}

static void put_without(seer_text *text, const seer_emit_tables *t) {
  const seer_network *network = t->request->network;
  for (uint32_t k = 0; k < network->n_task; k++) {
    const seer_emit_task *row = &t->task[k];
    if (row->why)
      seer_text_printf(text, "no kernel: task %u %s: %s\n", k, row->task->name, row->why);
  }
  for (uint32_t s = 0; s < network->n_set; s++) {
    const seer_network *set = network->set[s];
    for (uint32_t k = 0; k < set->n_step; k++) {
      const char *why = seer_emit_why_host(&set->step[k]);
      if (!why) continue;
      seer_text_put(text, "no kernel: step ");
      seer_text_put_safe(text, set->step[k].name);
      seer_text_put(text, " (");
      seer_text_put_safe(text, op_of(set, &set->step[k]));
      seer_text_printf(text, "): %s\n", why);
    }
  }
}

const char *seer_emit_text(const seer_emit_tables *t, seer_arena *arena) {
  seer_text text;
  seer_text_init(&text, arena);
  char target[SEER_TARGET_NAME_BYTES];
  seer_target_name(t->target, target);
  seer_text_put(&text, "Kernels of ");
  seer_text_put_safe(&text, t->request->network->graph->name);
  seer_text_printf(&text, " for %s, %s%s\n\n", target,
      *t->compiler ? "compiled by " : "not compiled", t->compiler);
  seer_text_put(&text,
      " task phase    blocks items  shared  regs   est  spill  blocks  occu-  limited    guess  at "
      "least by\n"
      "                              bytes                    a proc  pancy  by            us      "
      " "
      " us\n");
  for (uint32_t k = 0; k < t->request->network->n_task; k++) put_kernels(&text, t, &t->task[k]);
  seer_text_put(&text, "\n");
  put_without(&text, t);
  seer_text_put(&text,
      "shared: bytes of a block's memory. regs, spill: registers of an item and bytes that did not "
      "fit into them,\nas the compiler says; est: registers as estimated before. a proc: blocks "
      "that "
      "one processor has in hand at a\ntime; occupancy: their items, of as many as it could have; "
      "limited by: what there would have to be more of.\nguess: what the estimate by waves says of "
      "the kernel, its launch included. at least: what no schedule of the task gets "
      "below by the target's rates, weights being cold.\n");
  return text.data;
}

// ---- for programs

static json_t *kernel_json(const seer_emit_tables *t, const seer_emit_kernel *k) {
  json_t *object = json_pack("{s:s, s:I, s:I, s:I, s:I, s:{s:I, s:f, s:s}}", "name", k->name,
      "blocks", (json_int_t)k->n_blocks, "items", (json_int_t)k->n_items, "shared_bytes",
      (json_int_t)k->group_bytes, "estimated_registers", (json_int_t)k->estimate, "occupancy",
      "blocks", (json_int_t)k->occupancy.n_blocks, "share", share_of(&t->target->gpu, k),
      "limited_by", limit_of(&k->occupancy));
  if (k->seconds > 0) json_object_set_new(object, "estimate_us", json_real(k->seconds * 1e6));
  if (!k->is_compiled) return object;
  json_object_set_new(object, "registers", json_integer(k->registers));
  json_object_set_new(object, "spilled_bytes", json_integer(k->frame_bytes));
  return object;
}

static json_t *task_json(const seer_emit_tables *t, const seer_emit_task *row, seer_arena *arena) {
  json_t *object = json_pack("{s:I, s:s, s:I, s:f}", "task", (json_int_t)row->task->id, "name",
      seer_text_safe_whole(arena, row->task->name), "steps", (json_int_t)row->task->weight, "flops",
      row->task->flops);
  if (row->why) {
    json_object_set_new(object, "why", json_string(seer_text_safe_whole(arena, row->why)));
    return object;
  }
  json_t *kernels = json_array();
  for (uint32_t p = 0; p < row->n_kernel; p++)
    json_array_append_new(kernels, kernel_json(t, &row->kernel[p]));
  json_t *more = json_pack("{s:s, s:f, s:f, s:f, s:{s:f, s:f, s:f, s:f, s:s}, s:s, s:o}", "file",
      row->file, "read_bytes", row->io.read, "written_bytes", row->io.written, "estimate_us",
      row->estimate_s * 1e6, "bound", "us", row->bound_s * 1e6, "compute_us",
      row->roofline.compute_s * 1e6, "memory_us", row->roofline.level_s[2] * 1e6, "launch_us",
      row->roofline.launch_s * 1e6, "by", bound_by(row), "schedule", row->schedule, "kernels",
      kernels);
  json_object_update(object, more);
  json_decref(more);
  return object;
}

static json_t *host_json(const seer_network *network, seer_arena *arena) {
  json_t *array = json_array();
  for (uint32_t s = 0; s < network->n_set; s++) {
    const seer_network *set = network->set[s];
    for (uint32_t k = 0; k < set->n_step; k++) {
      const char *why = seer_emit_why_host(&set->step[k]);
      if (why)
        json_array_append_new(array,
            json_pack("{s:s, s:s, s:s}", "step", seer_text_safe_whole(arena, set->step[k].name),
                "operator", seer_text_safe_whole(arena, op_of(set, &set->step[k])), "why", why));
    }
  }
  return array;
}

seer_status seer_emit_json(const seer_emit_tables *t, seer_arena *arena, const char **out_json) {
  const seer_network *network = t->request->network;
  char target[SEER_TARGET_NAME_BYTES];
  seer_target_name(t->target, target);
  json_t *tasks = json_array();
  for (uint32_t k = 0; k < network->n_task; k++)
    json_array_append_new(tasks, task_json(t, &t->task[k], arena));
  json_t *all = json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "network",
      seer_text_safe_whole(arena, network->graph->name), "target", target, "facts",
      seer_target_print(t->target, arena), "compiler", t->compiler, "tasks", tasks, "host",
      host_json(network, arena));
  char *text = all ? json_dumps(all, JSON_INDENT(1)) : NULL;
  json_decref(all);
  if (!text) return SEER_FAIL(RESOURCE, "no memory for the table of kernels");
  *out_json = seer_arena_printf(arena, "%s\n", text);
  free(text);
  return SEER_OK;
}
