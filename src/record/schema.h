// schema.h - the tables of a file of records: how they are made, and whether a database that
// somebody names is one. Inside of the store only.
//
// A database is input like any other file. Its schema is code that SQLite runs (views, triggers,
// defaults), its pages may be damaged on purpose, and a program that opens it for writing has
// changed it before anybody has looked. So: seer_schema_harden before the first statement, then
// seer_schema_check; only a file that has passed is written to.
//
// Threads: one at a time for each connection. A connection that is refused may be closed, and has
// written nothing.
#ifndef SEER_RECORD_SCHEMA_H
#define SEER_RECORD_SCHEMA_H

#include <sqlite3.h>

#include "base/status.h"

#define SEER_RECORD_SCHEMA 3  // user_version
#define SEER_RECORD_APPLICATION 0x53454552  // "SEER", application_id; version 1 had none
// Of one text or blob of a file: the texts of the largest DAGs seen have 60 KB.
#define SEER_RECORD_MAX_VALUE_BYTES (8 << 20)

SEER_MUST_USE seer_status seer_sql_fail(sqlite3 *db, const char *path, int rc, const char *doing);
SEER_MUST_USE seer_status seer_sql_run(sqlite3 *db, const char *path, const char *sql);
SEER_MUST_USE seer_status seer_sql_prepare(
    sqlite3 *db, const char *path, const char *sql, sqlite3_stmt **out);
SEER_MUST_USE seer_status seer_sql_step(sqlite3_stmt *statement, const char *path, bool *out_row);
// "" where there is none. Until the statement steps on.
const char *seer_sql_text(sqlite3_stmt *row, int column);

// Defensive, no views, no triggers, no functions from the schema, cells checked, small limits.
SEER_MUST_USE seer_status seer_schema_harden(sqlite3 *db, const char *path);
// *out_version: 0 an empty database, else that of a file of records whose tables are exactly ours.
// Reads only. Pages are checked where the file has at most `max_checked_bytes`.
// Errors: CORRUPT damaged; INVALID a database of something else, or of a later version.
SEER_MUST_USE seer_status seer_schema_check(
    sqlite3 *db, const char *path, uint64_t max_checked_bytes, int *out_version);
// Makes the tables in an empty database, or carries those of versions 1 and 2 over, within
// one transaction; nothing where another process was faster. Rows keep their ids. Version 2 did not
// say which worker and device had measured. Version 1 accepted
// every measurement of a winner and kept what it was accepted by nowhere: the fastest of each task
// stays accepted, as what `compile` took until then, with no pairs behind it.
SEER_MUST_USE seer_status seer_schema_update(sqlite3 *db, const char *path);

#endif
