// custom.h - operators of users (include/seer/operator.h) in a plan: host calls of the function
// SEER_HOST_CUSTOM. What a plan says of one is checked like all else; that its entry is the one
// that the library is linked with is found when it is opened, and its attributes get addresses
// there. A run makes a call of one part, on the thread that the pool gives it.
#ifndef SEER_RUNTIME_CUSTOM_H
#define SEER_RUNTIME_CUSTOM_H

#include "runtime/session.h"
#include "seer/operator.h"

// NULL, or what is wrong with a call; its tensors lie in the list and are sound.
const char *seer_rt_custom_check(
    const seer_plan_header *h, const seer_plan_host *host, const seer_plan_tensor *tensors);
// The calls of a checked plan. Errors: UNSUPPORTED no operators are here; CORRUPT they are others;
// RESOURCE.
seer_rt_code seer_rt_custom_open(
    const seer_model_source *source, seer_rt_set *set, char *message, size_t message_bytes);
void seer_rt_custom_close(seer_rt_set *set);
// False: the caller's parallel-for is at fault. *out_code: what the operator says, its message in
// the session's.
bool seer_rt_custom_run(seer_session *session, const seer_plan_step *step, seer_rt_code *out_code,
    seer_pool_fault *out_fault);

#endif
