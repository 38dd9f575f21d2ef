#include "space/origin.h"

static const char *const names[SEER_ORIGIN_COUNT] = {
    [SEER_ORIGIN_PLAIN] = "plain",
    [SEER_ORIGIN_UNTUNED] = "untuned",
    [SEER_ORIGIN_TUNED] = "tuned",
    [SEER_ORIGIN_ELSEWHERE] = "elsewhere",
    [SEER_ORIGIN_SIMILAR] = "similar",
    [SEER_ORIGIN_SIBLING] = "sibling",
    [SEER_ORIGIN_RANDOM] = "random",
    [SEER_ORIGIN_RECORD] = "record",
    [SEER_ORIGIN_FORMULATION] = "formulation",
    [SEER_ORIGIN_MODEL] = "model",
    [SEER_ORIGIN_ANALYTIC] = "analytic",
    [SEER_ORIGIN_NEIGHBOUR] = "neighbour",
    [SEER_ORIGIN_WITNESS] = "witness",
    [SEER_ORIGIN_PAIRS] = "pairs",
    [SEER_ORIGIN_NETWORK] = "network",
};

const char *seer_origin_name(seer_origin origin) { return names[origin]; }
