// files.c - what a build writes: first in its work folder, in the end all at once in the
// destination.
#include <string.h>

#include "code/artefact/internal.h"

const char *seer_build_add_file(seer_built_files *files, const char *name) {
  files->name = SEER_GROW(files->arena, const char *, files->name, files->n, &files->cap);
  files->name[files->n++] = name;
  return seer_os_path_join(files->arena, files->work_dir, name);
}

seer_status seer_build_put_file(
    seer_built_files *files, const char *name, const void *data, size_t n_bytes) {
  const char *path = seer_build_add_file(files, name);
  if (strchr(name, '/')) SEER_TRY(seer_os_make_dirs(seer_os_path_dir(files->arena, path)));
  return seer_os_write_file(path, data, n_bytes);
}

// ---- into place

// Where what a file replaces is kept until all is in place.
static const char *kept_path(const seer_built_files *files, size_t i) {
  return seer_arena_printf(files->arena, "%s/before.%zu", files->work_dir, i);
}

static seer_status replace(const seer_built_files *files, size_t i, const char *to) {
  const char *from = seer_os_path_join(files->arena, files->work_dir, files->name[i]);
  if (seer_os_exists(to)) SEER_TRY(seer_os_rename(to, kept_path(files, i)));
  return seer_os_rename(from, to);
}

// Undoes that, however far it came.
static seer_status put_back(const seer_built_files *files, size_t i, const char *to) {
  const char *kept = kept_path(files, i);
  if (seer_os_exists(kept)) return seer_os_rename(kept, to);
  const char *from = seer_os_path_join(files->arena, files->work_dir, files->name[i]);
  bool is_moved = !seer_os_exists(from) && seer_os_exists(to);
  return is_moved ? seer_os_rename(to, from) : SEER_OK;
}

// Folders first: what stands in their way is found before anything is replaced.
static seer_status make_way(const char *name, const char *to, seer_arena *arena) {
  if (strchr(name, '/')) SEER_TRY(seer_os_make_dirs(seer_os_path_dir(arena, to)));
  return seer_os_is_dir(to) ? SEER_FAIL(INVALID, "%s is a folder, must be a file or nothing", to)
                            : SEER_OK;
}

seer_status seer_build_put_in_place(const seer_built_files *files, const char *out_dir) {
  seer_arena *arena = files->arena;
  const char **to = SEER_NEW_ARRAY(arena, const char *, files->n + 1);
  for (size_t i = 0; i < files->n; i++) {
    to[i] = seer_os_path_join(arena, out_dir, files->name[i]);
    SEER_TRY(make_way(files->name[i], to[i], arena));
  }
  seer_status status = SEER_OK;
  size_t n = 0;
  while (!status && n < files->n) {
    status = replace(files, n, to[n]);
    n++;
  }
  while (status && n-- > 0) status = seer_status_join(status, put_back(files, n, to[n]));
  return status;
}
