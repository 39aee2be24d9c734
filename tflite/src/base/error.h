/* The text of the last failure, one for each thread. */
#ifndef DUSPAR_BASE_ERROR_H_
#define DUSPAR_BASE_ERROR_H_

#include "duspar.h"

#if defined(__GNUC__)
#define DUSPAR_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define DUSPAR_PRINTF(text, first)
#endif

/* Sets the text of the last failure and returns `status`. */
duspar_status duspar_fail(duspar_status status, const char* format, ...)
    DUSPAR_PRINTF(2, 3);

/* Fails for want of memory. */
duspar_status duspar_fail_memory(size_t bytes);

#endif /* DUSPAR_BASE_ERROR_H_ */
