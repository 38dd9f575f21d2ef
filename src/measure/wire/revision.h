// revision.h - which sources this program was made of, exactly: a hash of everything under src/ and
// include/. Programs that are to do the same with the same message compare it; two builds of one
// version need not be of one commit, nor one commit's of the same files.
//
// Threads: any.
#ifndef SEER_MEASURE_WIRE_REVISION_H
#define SEER_MEASURE_WIRE_REVISION_H

const char *seer_revision(void);  // 16 hexadecimal digits

#endif
