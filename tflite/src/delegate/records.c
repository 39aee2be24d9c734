#include "delegate/records.h"

#include <stdlib.h>
#include <string.h>

#include "layer/layer.h"

void duspar_records_init(duspar_records* records) {
  atomic_flag_clear(&records->lock);
  records->items = NULL;
  records->count = records->room = 0;
}

void duspar_records_clear(duspar_records* records) {
  for (size_t i = 0; i < records->count; ++i) free(records->items[i]);
  free(records->items);
  records->items = NULL;
  records->count = records->room = 0;
}

/* Takes the record into use if it is that of the operator. */
static bool reopen(duspar_record* record, const void* context, int node,
                   const duspar_op* op, const char* layer) {
  if (record->context != context || record->node != node || record->op != op ||
      strcmp(record->layer, layer) != 0) {
    return false;
  }
  duspar_lock_acquire(&record->lock);
  const bool free_to_use = !record->in_use;
  record->in_use = true;
  duspar_lock_release(&record->lock);
  return free_to_use;
}

static duspar_record* append(duspar_records* records) {
  if (records->count == records->room) {
    const size_t room = records->room ? 2 * records->room : 8;
    duspar_record** items =
        realloc(records->items, room * sizeof *records->items);
    if (items == NULL) return NULL;
    records->items = items;
    records->room = room;
  }
  duspar_record* record = calloc(1, sizeof *record);
  if (record != NULL) records->items[records->count++] = record;
  return record;
}

duspar_record* duspar_records_open(duspar_records* records, const void* context,
                                   int node, const duspar_op* op,
                                   const char* layer) {
  duspar_record* record = NULL;
  duspar_lock_acquire(&records->lock);
  for (size_t i = 0; i < records->count && record == NULL; ++i) {
    if (reopen(records->items[i], context, node, op, layer)) {
      record = records->items[i];
    }
  }
  if (record == NULL && (record = append(records)) != NULL) {
    record->context = context;
    record->node = node;
    record->op = op;
    strncpy(record->layer, layer, sizeof record->layer - 1);
    atomic_flag_clear(&record->lock);
    record->in_use = true;
    record->variant = "";
  }
  duspar_lock_release(&records->lock);
  return record;
}

void duspar_record_close(duspar_record* record) {
  duspar_lock_acquire(&record->lock);
  record->in_use = false;
  duspar_lock_release(&record->lock);
}

void duspar_record_add(duspar_record* record, const duspar_counts* more) {
  uint32_t words[DUSPAR_COUNT_WORDS];
  const unsigned turn =
      atomic_load_explicit(&record->turn, memory_order_relaxed);
  duspar_counts_add(&record->counts, more);
  memcpy(words, &record->counts, sizeof words);
  atomic_store_explicit(&record->turn, turn + 1, memory_order_relaxed);
  atomic_thread_fence(memory_order_release);
  for (int i = 0; i < DUSPAR_COUNT_WORDS; ++i) {
    atomic_store_explicit(&record->words[i], words[i], memory_order_relaxed);
  }
  atomic_store_explicit(&record->turn, turn + 2, memory_order_release);
}

/* Returns all that was ever counted, as it was after an invocation. */
static duspar_counts all_counts(duspar_record* record) {
  uint32_t words[DUSPAR_COUNT_WORDS];
  duspar_counts counts;
  unsigned turn, after;
  do {
    turn = atomic_load_explicit(&record->turn, memory_order_acquire);
    for (int i = 0; i < DUSPAR_COUNT_WORDS; ++i) {
      words[i] = atomic_load_explicit(&record->words[i], memory_order_relaxed);
    }
    atomic_thread_fence(memory_order_acquire);
    after = atomic_load_explicit(&record->turn, memory_order_relaxed);
  } while (turn % 2 != 0 || turn != after);
  memcpy(&counts, words, sizeof counts);
  return counts;
}

void duspar_record_reset(duspar_record* record) {
  duspar_lock_acquire(&record->lock);
  record->before = all_counts(record);
  duspar_lock_release(&record->lock);
}

void duspar_record_describe(duspar_record* record, size_t features,
                            size_t units, const char* variant, size_t bytes) {
  duspar_lock_acquire(&record->lock);
  if (record->features != features || record->units != units) {
    record->before = all_counts(record);
  }
  record->features = features;
  record->units = units;
  record->variant = variant;
  record->bytes = bytes;
  duspar_lock_release(&record->lock);
}

duspar_record* duspar_records_get(duspar_records* records, size_t index) {
  duspar_lock_acquire(&records->lock);
  duspar_record* record = index < records->count ? records->items[index] : NULL;
  duspar_lock_release(&records->lock);
  return record;
}

size_t duspar_records_count(duspar_records* records) {
  duspar_lock_acquire(&records->lock);
  const size_t count = records->count;
  duspar_lock_release(&records->lock);
  return count;
}

void duspar_record_read(duspar_record* record, duspar_operator* d) {
  const duspar_op* op = record->op;
  memset(d, 0, sizeof *d);
  memcpy(d->layer, record->layer, sizeof d->layer);
  d->op = op->name;
  duspar_lock_acquire(&record->lock);
  duspar_counts counts = all_counts(record);
  counts.invocations -= record->before.invocations;
  counts.steps -= record->before.steps;
  for (int i = 0; i < 2; ++i) counts.nonzeros[i] -= record->before.nonzeros[i];
  const size_t features = record->features, units = record->units;
  d->kernel = record->variant;
  d->bytes = (int64_t)record->bytes;
  d->in_use = record->in_use;
  duspar_lock_release(&record->lock);
  d->features = (int64_t)features;
  d->units = (int64_t)units;
  d->invocations = counts.invocations;
  d->steps = counts.steps;
  d->operand_count = op->operand_count;
  for (int i = 0; i < op->operand_count; ++i) {
    const size_t size = duspar_op_width(op->operands[i].size, features, units);
    const size_t outputs =
        duspar_op_width(op->operands[i].outputs, features, units);
    d->operands[i] = (duspar_operand){
        .name = op->operands[i].name,
        .size = (int64_t)size,
        .fan = 2 * (int64_t)outputs,
        .nonzeros = counts.nonzeros[i],
        .entries = counts.steps * size,
    };
  }
}
