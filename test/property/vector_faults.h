// vector_faults.h - faults that are planted in vector code, and how each of them shows.
#ifndef SEER_TEST_VECTOR_FAULTS_H
#define SEER_TEST_VECTOR_FAULTS_H

#include "code/vector/vector.h"

typedef enum {
  VECTOR_FAULT_NOT_FOUND,
  VECTOR_FAULT_VERIFY,  // the verifier refuses the code
  VECTOR_FAULT_EVAL,  // the interpreter stops
  VECTOR_FAULT_ANSWER,  // the answer is wrong
  VECTOR_FAULT_FOUND_COUNT
} vector_fault_found;

typedef struct vector_fault_tally vector_fault_tally;
vector_fault_tally *vector_fault_tally_create(seer_arena *arena);

// Plants each fault in a copy of `code`, at a place that `seed` draws and that is run, and asks
// `find` for it.
void vector_faults_plant(vector_fault_tally *tally, const seer_vec_code *code, uint64_t seed,
    vector_fault_found (*find)(void *user, const seer_vec_code *code, seer_arena *arena),
    void *user);
// One of them was found too seldom so far.
bool vector_faults_lack(const vector_fault_tally *tally);
// Prints how often each was planted and found, and fails the test where that was too seldom.
void vector_faults_check(const vector_fault_tally *tally);

#endif
