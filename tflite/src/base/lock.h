/* A lock for moments: C11's own threads are missing on some systems. */
#ifndef DUSPAR_BASE_LOCK_H_
#define DUSPAR_BASE_LOCK_H_

#include <stdatomic.h>

typedef atomic_flag duspar_lock;

void duspar_lock_acquire(duspar_lock* lock);
void duspar_lock_release(duspar_lock* lock);

#endif /* DUSPAR_BASE_LOCK_H_ */
