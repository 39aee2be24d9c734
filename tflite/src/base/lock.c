#include "base/lock.h"

#if defined(_WIN32)
#include <windows.h>
#define YIELD() SwitchToThread()
#else
#include <sched.h>
#define YIELD() sched_yield()
#endif

void duspar_lock_acquire(duspar_lock* lock) {
  while (atomic_flag_test_and_set_explicit(lock, memory_order_acquire)) {
    YIELD(); /* the holder may wait for this processor */
  }
}

void duspar_lock_release(duspar_lock* lock) {
  atomic_flag_clear_explicit(lock, memory_order_release);
}
