// sync.h - people on several machines share records by a folder that all of them see: a mount, or a
// copy of one that rsync, git or an object store carries about.
//
// Append only: a file is written once, whole, under a name that nobody else gives, and never
// changed, so that any number of machines may write at once and files may arrive in any order.
//
//   20261127T071200Z-1f2e3d4c-v2-<64 digits>.records.jsonl
//   when, on which machine (a hash, no host's name), version of its lines, SHA-256 of its bytes
//
// Its lines are those of export (line.h), and `records import` reads it, too. Who has read all
// files has the same records as all others who have: how they were ordered, and what comes twice,
// changes nothing. A state that a record gets after it was written (checked, refused) stays at
// home; a winner is a record of its own, and travels.
//
// Threads: one.
#ifndef SEER_RECORD_SYNC_H
#define SEER_RECORD_SYNC_H

#include "record/record.h"

typedef struct {
  uint32_t n_files, n_refused;  // there, before anything was written
  seer_record_counts counts;  // their records, but for those of files that were refused
  uint32_t n_written, n_files_written;  // records that were not there yet
  uint32_t n_dropped;  // that no line can have
} seer_sync_outcome;
// A file that is refused, and why. Nothing of it is taken.
typedef void (*seer_sync_refusal)(void *user, const char *why);

// Takes what is in `folder` and not known, as import does (record.h: is_trusted), file by file;
// then writes what was not in it. Files of other names are nobody's, and so is one that is gone
// again when it is read. Refused are those of a later version, those that are not what their name
// says (damaged, cut, not copied yet), those with a line that is none, and those that cannot be
// read. Errors: NOT_FOUND: no folder, and none is made (it may be a mount that is not there); those
// of import; IO, RESOURCE: it cannot be written to: what was there is taken then.
SEER_MUST_USE seer_status seer_records_sync(seer_records *records, const char *folder,
    bool is_trusted, seer_sync_refusal refuse, void *user, seer_sync_outcome *out);

#endif
