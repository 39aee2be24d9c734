/* Sizes that cannot overflow, and memory on the borders of cache lines. */
#ifndef DUSPAR_BASE_MEMORY_H_
#define DUSPAR_BASE_MEMORY_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DUSPAR_ALIGNMENT = 64 };

/* Returns `count` rounded up to a multiple. */
static inline size_t duspar_round_up(size_t count, size_t multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

/* Sets `*product` to a * b, or returns false if that has no room. */
static inline bool duspar_multiply(size_t a, size_t b, size_t* product) {
  if (b != 0 && a > SIZE_MAX / b) return false;
  *product = a * b;
  return true;
}

/* Sets `*sum` to a + b, or returns false if that has no room. */
static inline bool duspar_add(size_t a, size_t b, size_t* sum) {
  if (a > SIZE_MAX - b) return false;
  *sum = a + b;
  return true;
}

/* Adds `count` items of `size` bytes, rounded up to whole cache lines, to
 * `*total`, or returns false if that has no room. */
bool duspar_add_lines(size_t count, size_t size, size_t* total);

/* Returns `bytes` bytes on the border of a cache line, or NULL. */
void* duspar_allocate(size_t bytes);

/* Frees what `duspar_allocate` returned; NULL is allowed. */
void duspar_release(void* memory);

/* Tells the system that a large block is about to be filled, so that it may
 * give it in large pages. It takes a long time to give many small ones. */
void duspar_expect_use(void* memory, size_t bytes);

#endif /* DUSPAR_BASE_MEMORY_H_ */
