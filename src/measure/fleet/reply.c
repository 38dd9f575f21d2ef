// reply.c - hiredis finds out what the bytes say; the replies are made here, in an arena and within
// a budget. hiredis makes an array as soon as its length is known, so that a dozen bytes could ask
// for gigabytes: what is not in the budget is a null reply to it, which ends the reading.
//
// A line (all but the bytes of a text) has a limit of its own: hiredis looks for its end from its
// beginning whenever bytes have come, which takes time by the square of its length.

#include "measure/fleet/reply.h"

#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINE_BYTES ((size_t)64 << 10)  // servers cut theirs at this, too
#define TAIL_BYTES 2  // "\r\n" behind a text

struct seer_redis_reader {
  redisReader *hiredis;
  size_t max_bytes, left_bytes;  // of the reply at hand
  seer_arena *arena;
  const char *wrong;  // what, in our words; NULL: nothing so far
};

static seer_redis_reply *make(const redisReadTask *task, seer_redis_kind kind) {
  seer_redis_reader *reader = task->privdata;
  seer_redis_reply *reply;
  if (task->parent) {
    const seer_redis_reply *parent = task->parent->obj;
    reply = (seer_redis_reply *)(uintptr_t)&parent->element[task->idx];
  } else {
    reply = SEER_NEW(reader->arena, seer_redis_reply);
  }
  reply->kind = kind;
  return reply;
}

// False: over the budget.
static bool take(seer_redis_reader *reader, size_t n, size_t size) {
  if (n > reader->left_bytes / size) {
    reader->wrong = "it is larger than what is allowed";
    return false;
  }
  reader->left_bytes -= n * size;
  return true;
}

static void *make_text(const redisReadTask *task, char *text, size_t n) {
  seer_redis_reader *reader = task->privdata;
  // hiredis has both bytes, and does not look at them.
  if (memcmp(text + n, "\r\n", TAIL_BYTES) != 0) {
    reader->wrong = "a text is longer than what is said of it";
    return NULL;
  }
  if (!take(reader, n + 1, 1)) return NULL;
  char *copy = seer_arena_alloc(reader->arena, n + 1, 1);
  memcpy(copy, text, n);
  bool is_error = task->type == REDIS_REPLY_ERROR;
  seer_redis_reply *reply = make(task, is_error ? SEER_REDIS_ERROR : SEER_REDIS_TEXT);
  reply->text = copy;
  reply->n = n;
  return reply;
}

static void *make_array(const redisReadTask *task, int n) {
  seer_redis_reader *reader = task->privdata;
  if (!take(reader, (size_t)n, sizeof(seer_redis_reply))) return NULL;
  seer_redis_reply *reply = make(task, SEER_REDIS_ARRAY);
  reply->n = (size_t)n;
  reply->element = SEER_NEW_ARRAY(reader->arena, seer_redis_reply, n);
  return reply;
}

static void *make_integer(const redisReadTask *task, long long value) {
  seer_redis_reply *reply = make(task, SEER_REDIS_INTEGER);
  reply->integer = value;
  return reply;
}

static void *make_nil(const redisReadTask *task) { return make(task, SEER_REDIS_NIL); }

static void leave(void *reply) { (void)reply; }  // the arena's

static redisReplyObjectFunctions functions = {.createString = make_text,
    .createArray = make_array,
    .createInteger = make_integer,
    .createNil = make_nil,
    .freeObject = leave};

seer_redis_reader *seer_redis_reader_create(size_t max_bytes) {
  seer_redis_reader *reader = calloc(1, sizeof *reader);
  if (!reader) return NULL;
  reader->hiredis = redisReaderCreateWithFunctions(&functions);
  if (!reader->hiredis) {
    free(reader);
    return NULL;
  }
  reader->hiredis->privdata = reader;  // the macro of it casts a pointer to int
  reader->max_bytes = reader->left_bytes = max_bytes;
  return reader;
}

void seer_redis_reader_destroy(seer_redis_reader *reader) {
  if (!reader) return;
  redisReaderFree(reader->hiredis);
  free(reader);
}

static seer_status fail(const seer_redis_reader *reader) {
  if (!reader->wrong && reader->hiredis->err == REDIS_ERR_OOM)
    return SEER_FAIL(RESOURCE, "no memory for a reply");
  return SEER_FAIL(CORRUPT, "no reply by the protocol, or one of more than %zu bytes: %s",
      reader->max_bytes, reader->wrong ? reader->wrong : reader->hiredis->errstr);
}

seer_status seer_redis_reader_feed(seer_redis_reader *reader, const void *data, size_t n_bytes) {
  redisReader *hiredis = reader->hiredis;
  if (reader->wrong || hiredis->err) return fail(reader);
  // What is left of earlier replies, and of one that is not whole yet.
  if (n_bytes > reader->max_bytes - (hiredis->len - hiredis->pos)) {
    reader->wrong = "it is larger than what is allowed";
  } else if (redisReaderFeed(hiredis, data, n_bytes) != REDIS_OK && !hiredis->err) {
    reader->wrong = "nothing more can be taken";
  }
  return reader->wrong || hiredis->err ? fail(reader) : SEER_OK;
}

static bool has_endless_line(const redisReader *hiredis) {
  size_t n = hiredis->len - hiredis->pos;
  return n > MAX_LINE_BYTES && !memmem(hiredis->buf + hiredis->pos, MAX_LINE_BYTES, "\r\n", 2);
}

seer_status seer_redis_reader_next(
    seer_redis_reader *reader, seer_arena *arena, const seer_redis_reply **out) {
  *out = NULL;
  if (reader->wrong) return fail(reader);
  reader->arena = arena;
  void *reply = NULL;
  bool is_read = redisReaderGetReply(reader->hiredis, &reply) == REDIS_OK;
  if (is_read && !reply && has_endless_line(reader->hiredis)) reader->wrong = "a line does not end";
  if (!is_read || reader->wrong) return fail(reader);
  if (reply) reader->left_bytes = reader->max_bytes;
  *out = reply;
  return SEER_OK;
}
