#include "base/threads.h"

#if defined(_WIN32)

void duspar_parallel(size_t count, size_t threads, duspar_task* task,
                     void* context) {
  (void)threads;
  for (size_t i = 0; i < count; ++i) task(context, i);
}

#else

#include <pthread.h>
#include <stdatomic.h>

typedef struct work {
  size_t count;
  duspar_task* task;
  void* context;
  atomic_size_t next; /* the first part that nobody has taken */
} work;

static void* take_parts(void* shared) {
  work* w = shared;
  size_t index;
  while ((index = atomic_fetch_add(&w->next, 1)) < w->count) {
    w->task(w->context, index);
  }
  return NULL;
}

void duspar_parallel(size_t count, size_t threads, duspar_task* task,
                     void* context) {
  work w = {.count = count, .task = task, .context = context};
  atomic_init(&w.next, 0);
  pthread_t helpers[DUSPAR_MAX_THREADS];
  size_t started = 0;
  if (threads > DUSPAR_MAX_THREADS) threads = DUSPAR_MAX_THREADS;
  while (started + 1 < threads && started + 1 < count &&
         pthread_create(&helpers[started], NULL, take_parts, &w) == 0) {
    ++started;
  }
  take_parts(&w);
  for (size_t i = 0; i < started; ++i) pthread_join(helpers[i], NULL);
}

#endif
