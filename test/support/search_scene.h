// search_scene.h - one task on a made-up machine, its sketches, and models that know nothing yet:
// what the tests of a search begin with.
#ifndef SEER_TEST_SEARCH_SCENE_H
#define SEER_TEST_SEARCH_SCENE_H

#include "learn/bank.h"
#include "space/sketch.h"

typedef struct {
  seer_arena *arena;  // the test's too
  seer_target target;
  seer_sketch_list *sketches;
  seer_bank *bank;  // of this one task
} search_scene;

// A convolution of 3x3 with padding: direct and Winograd's. Its weights are f32[32, 3, 3, 32].
extern const char search_scene_conv[];

//   machine  one of test_target_names
//   dag      text
// The scene is the caller's until search_scene_close.
void search_scene_open(search_scene *scene, const char *machine, const char *dag);
void search_scene_close(search_scene *scene);

#endif
