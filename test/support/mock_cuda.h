// mock_cuda.h - a libcuda.so.1 without a device (support/cuda/mock.h says what it does), for tests
// of what runs on CUDA: in the folder mock of the build, which LD_LIBRARY_PATH names.
//
// Faults and facts are in the environment, MOCK_CUDA=name=number,...; counts begin anew where that
// changes:
//   devices=N       that there are (1)
//   architecture=N  of them (90)
//   init=CODE       what cuInit answers
//   oom=N           the N-th allocation, of the device or pinned, is refused
//   lost=N          the N-th launch that is done fails, and with it the device
//   wild=N          kernels of the N-th module that is loaded leave their memory: the device is lost
//   stall=N         those of the N-th never end
//   hang=1          who waits waits for ever
//   crash=1         who waits ends the process
//   refuse=CODE     what loading a module answers
//   old=1           a driver that does not tell a function's parameters
// MOCK_CUDA_PTX=FILE: the image that is run for any PTX that names none.
#ifndef SEER_TEST_MOCK_CUDA_H
#define SEER_TEST_MOCK_CUDA_H

#include <stddef.h>
#include <stdint.h>

#define MOCK_MAX_ARGS 128

// What an image has as mock_kernels[mock_n_kernels], beside mock_architecture. Of the function one
// call is a block; behind the arguments it is given scratch_bytes, full of ones at first.
typedef struct {
  const char *name;
  void (*run)(void *const *buffers, uint32_t block);
  uint32_t n_args, n_items, group_bytes;
  uint64_t scratch_bytes;
} mock_kernel;

typedef enum {
  MOCK_BROKEN_RULES,  // what no driver defines
  MOCK_LEAKS,  // what was there when a context ended
  MOCK_PUSHED,  // contexts that are current here
  MOCK_LAUNCHES,  // that were done
  MOCK_CONTEXTS  // that there are
} mock_question;

// Begins the test's program again where this libcuda is not found first. A question to it; -1: it
// is not loaded.
void mock_cuda_begin(char **argv);
int mock_cuda_ask(mock_question question);

#endif
