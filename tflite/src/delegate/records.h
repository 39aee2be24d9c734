/* What a delegate knows of the operators it has met, for those who ask. */
#ifndef DUSPAR_DELEGATE_RECORDS_H_
#define DUSPAR_DELEGATE_RECORDS_H_

#include <stdatomic.h>
#include <stdbool.h>

#include "base/lock.h"
#include "layer/operators.h"

enum { DUSPAR_COUNT_WORDS = sizeof(duspar_counts) / sizeof(uint32_t) };

/* One operator. The key says where it was met: a delegate serves several
 * interpreters, and an interpreter several subgraphs. */
typedef struct duspar_record {
  const void* context;
  int node;
  const duspar_op* op;
  char layer[256];
  /* The one thread that runs the operator adds to `counts` and never waits,
   * whoever reads or resets them: it writes them to `words`, and a number that
   * is odd while it does. Who reads tries again if the number has changed. */
  duspar_counts counts;
  atomic_uint turn;
  atomic_uint words[DUSPAR_COUNT_WORDS];
  /* The lock is for those who read and describe what follows. */
  duspar_lock lock;
  duspar_counts before; /* counts at the last reset */
  bool in_use;
  size_t features;
  size_t units;
  const char* variant;
  size_t bytes;
} duspar_record;

/* A list of records, in the order of their first appearance. */
typedef struct duspar_records {
  duspar_lock lock;
  duspar_record** items;
  size_t count;
  size_t room;
} duspar_records;

void duspar_records_init(duspar_records* records);
void duspar_records_clear(duspar_records* records);

/* Returns a record for an operator that comes into use: the one that it had
 * before, if TFLite had put the operator away, or a new one. NULL if there is
 * no memory. */
duspar_record* duspar_records_open(duspar_records* records, const void* context,
                                   int node, const duspar_op* op,
                                   const char* layer);

/* Marks a record as no longer in use. */
void duspar_record_close(duspar_record* record);

/* Adds what an invocation has counted; only the thread that runs the operator
 * may call it. */
void duspar_record_add(duspar_record* record, const duspar_counts* more);

/* Sets the counts to zero. */
void duspar_record_reset(duspar_record* record);

/* Notes what was learned when tensors were allocated. Counts of other sizes
 * are dropped. */
void duspar_record_describe(duspar_record* record, size_t features,
                            size_t units, const char* variant, size_t bytes);

/* Returns record `index`, or NULL beyond the end. */
duspar_record* duspar_records_get(duspar_records* records, size_t index);

size_t duspar_records_count(duspar_records* records);

/* Fills in the public description of a record. */
void duspar_record_read(duspar_record* record, duspar_operator* description);

#endif /* DUSPAR_DELEGATE_RECORDS_H_ */
