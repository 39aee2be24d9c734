#if defined(__linux__)
#define _DEFAULT_SOURCE /* for madvise */
#include <sys/mman.h>
#endif

#include <stdint.h>
#include <stdlib.h>

#include "base/memory.h"

bool duspar_add_lines(size_t count, size_t size, size_t* total) {
  size_t bytes;
  if (!duspar_multiply(count, size, &bytes) ||
      !duspar_add(bytes, DUSPAR_ALIGNMENT - 1, &bytes)) {
    return false;
  }
  bytes -= bytes % DUSPAR_ALIGNMENT;
  return duspar_add(*total, bytes, total);
}

/* Written by hand because aligned_alloc is missing on some systems: the
 * pointer to free lies in front of the aligned block. */
void* duspar_allocate(size_t bytes) {
  size_t total;
  if (!duspar_add(bytes, DUSPAR_ALIGNMENT + sizeof(void*), &total)) return NULL;
  char* block = malloc(total);
  if (block == NULL) return NULL;
  uintptr_t start = (uintptr_t)block + sizeof(void*);
  size_t gap = (DUSPAR_ALIGNMENT - start % DUSPAR_ALIGNMENT) % DUSPAR_ALIGNMENT;
  void** aligned = (void**)(void*)(block + sizeof(void*) + gap);
  aligned[-1] = block;
  return aligned;
}

void duspar_release(void* memory) {
  if (memory != NULL) free(((void**)memory)[-1]);
}

void duspar_expect_use(void* memory, size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  const uintptr_t page = 4096, large = 1 << 21;
  const uintptr_t start = ((uintptr_t)memory + page - 1) / page * page;
  const uintptr_t end = ((uintptr_t)memory + bytes) / page * page;
  if (memory == NULL || end < start + 2 * large) return;
  /* A hint: without it everything works, too. */
  (void)madvise((void*)start, end - start, MADV_HUGEPAGE);
#else
  (void)memory;
  (void)bytes;
#endif
}
