// search_scene.c - see search_scene.h.
#include "support/search_scene.h"
#include "learn/cost/xgboost.h"

#include <string.h>

#include "support/test.h"
#include "support/test_target.h"

const char search_scene_conv[] =
    "dag conv {\n"
    "  input $x f32[1, 28, 28, 32]\n"
    "  weight $w f32[32, 3, 3, 32]\n"
    "  stage pad role pad [n:batch<1, y:y<30, x:x<30, c:in_channel<32] = "
    "$x[n, y - 1, x - 1, c] if (y >= 1) & (y < 29) & ((x >= 1) & (x < 29)) else 0.0\n"
    "  stage conv role anchor [n:batch<1, y:y<28, x:x<28, oc:out_channel<32] "
    "sum[ky:ky<3, kx:kx<3, ic:in_channel<32] = $pad[n, y + ky, x + kx, ic] * $w[oc, ky, kx, ic]\n"
    "  output $conv\n}\n";

void search_scene_open(search_scene *scene, const char *machine, const char *text) {
  seer_dag *dag;
  scene->arena = seer_arena_create("test");
  scene->target = test_target_read(machine, scene->arena);
  must(seer_dag_parse("test", text, strlen(text), scene->arena, &dag));
  must(seer_sketch_generate(dag, &scene->target, SEER_SPACE_FULL, scene->arena, &scene->sketches));
  static const uint32_t family_of[1] = {0};
  const seer_bank_options options = {.n_family = 1,
      .n_task = 1,
      .family_of = family_of,
      .is_over_estimate = true,
      .model = &seer_cost_xgboost,
      .seed = 1,
      .warm_up = 16};
  must(seer_bank_create(&options, &scene->bank));
}

void search_scene_close(search_scene *scene) {
  seer_bank_destroy(scene->bank);
  seer_arena_destroy(scene->arena);
}
