// fuzz.h - what a fuzzer defines. It must neither crash nor leak whatever the bytes are; inputs to
// begin with lie in test/fuzz/corpus/<name>/ for fuzz_<name>.c.
#ifndef SEER_TEST_FUZZ_H
#define SEER_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

#endif
