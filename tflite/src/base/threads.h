/* Work that several threads share. */
#ifndef DUSPAR_BASE_THREADS_H_
#define DUSPAR_BASE_THREADS_H_

#include <stddef.h>

enum { DUSPAR_MAX_THREADS = 256 };

/* Does the part `index` of a piece of work. */
typedef void duspar_task(void* context, size_t index);

/* Calls `task(context, index)` once for each index below `count`, on up to
 * `threads` threads of which the caller's is one, and returns when all are
 * done. Which thread does which part is not fixed, so parts must not depend on
 * each other. Where threads cannot be had, fewer do the work. */
void duspar_parallel(size_t count, size_t threads, duspar_task* task,
                     void* context);

#endif /* DUSPAR_BASE_THREADS_H_ */
