/* Counters that threads read and reset while another adds to them. */
#ifndef DUSPAR_DELEGATE_COUNTERS_H_
#define DUSPAR_DELEGATE_COUNTERS_H_

#include "base/lock.h"
#include "duspar.h"

/* Zeroed memory with `lock` cleared is a counter at zero. The lock makes the
 * numbers belong together; it is held for four additions an invocation. */
typedef struct duspar_counters {
  duspar_lock lock;
  duspar_counts counts;
} duspar_counters;

void duspar_counters_init(duspar_counters* counters);
void duspar_counters_add(duspar_counters* counters, const duspar_counts* more);
void duspar_counters_reset(duspar_counters* counters);
duspar_counts duspar_counters_read(duspar_counters* counters);

#endif /* DUSPAR_DELEGATE_COUNTERS_H_ */
