// files.c - what a build writes: first in its work folder, in the end all at once in the
// destination.
#include <string.h>

#include "code/build/internal.h"

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

// Folders first: what stands in their way is found before anything is replaced.
seer_status seer_build_put_in_place(const seer_built_files *files, const char *out_dir) {
  seer_arena *arena = files->arena;
  for (size_t i = 0; i < files->n; i++) {
    const char *to = seer_os_path_join(arena, out_dir, files->name[i]);
    if (strchr(files->name[i], '/')) SEER_TRY(seer_os_make_dirs(seer_os_path_dir(arena, to)));
  }
  for (size_t i = 0; i < files->n; i++) {
    const char *from = seer_os_path_join(arena, files->work_dir, files->name[i]);
    SEER_TRY(seer_os_rename(from, seer_os_path_join(arena, out_dir, files->name[i])));
  }
  return SEER_OK;
}
