/* What tests have in common: failures that are counted, and numbers that are
 * the same on every machine. */
#ifndef DUSPAR_TESTS_CHECK_H_
#define DUSPAR_TESTS_CHECK_H_

#include <stdint.h>
#include <stdio.h>

static int failures;

#define CHECK(condition, ...)                                \
  do {                                                       \
    if (!(condition) && ++failures < 20) {                   \
      printf("%s:%d: %s: ", __FILE__, __LINE__, #condition); \
      printf(__VA_ARGS__);                                   \
      printf("\n");                                          \
    }                                                        \
  } while (0)

static uint32_t seed = 1;

static inline uint32_t bits32(void) {
  seed = seed * 1664525u + 1013904223u;
  return seed >> 8 ^ seed << 24;
}

/* From -1 to 1. */
static inline double uniform(void) {
  return (double)(bits32() & 0xffffff) / (1 << 23) - 1;
}

#endif /* DUSPAR_TESTS_CHECK_H_ */
