#include "delegate/counters.h"

void duspar_counters_init(duspar_counters* counters) {
  atomic_flag_clear(&counters->lock);
  counters->counts = (duspar_counts){0};
}

void duspar_counters_add(duspar_counters* counters, const duspar_counts* more) {
  duspar_lock_acquire(&counters->lock);
  counters->counts.invocations += more->invocations;
  counters->counts.steps += more->steps;
  counters->counts.nonzeros[0] += more->nonzeros[0];
  counters->counts.nonzeros[1] += more->nonzeros[1];
  duspar_lock_release(&counters->lock);
}

void duspar_counters_reset(duspar_counters* counters) {
  duspar_lock_acquire(&counters->lock);
  counters->counts = (duspar_counts){0};
  duspar_lock_release(&counters->lock);
}

duspar_counts duspar_counters_read(duspar_counters* counters) {
  duspar_lock_acquire(&counters->lock);
  const duspar_counts counts = counters->counts;
  duspar_lock_release(&counters->lock);
  return counts;
}
