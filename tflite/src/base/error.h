/* The text of the last failure, one for each thread. */
#ifndef DUSPAR_BASE_ERROR_H_
#define DUSPAR_BASE_ERROR_H_

#include "duspar.h"

#if defined(__GNUC__)
#define DUSPAR_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define DUSPAR_PRINTF(text, first)
#endif

/* Writes a text as snprintf does: as much as `room` has place for, with a NUL
 * behind it. Returns how long the whole text is. Messages have %s, %c, %d, %zu,
 * %lld and %g, and none of their flags: a microcontroller knows no others. */
size_t duspar_write(char* text, size_t room, const char* format, ...)
    DUSPAR_PRINTF(3, 4);

/* Sets the text of the last failure and returns `status`. */
duspar_status duspar_fail(duspar_status status, const char* format, ...)
    DUSPAR_PRINTF(2, 3);

/* Fails for want of memory. */
duspar_status duspar_fail_memory(size_t bytes);

#endif /* DUSPAR_BASE_ERROR_H_ */
