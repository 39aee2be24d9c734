#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char last_error[512];

duspar_status duspar_fail(duspar_status status, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(last_error, sizeof last_error, format, arguments);
  va_end(arguments);
  return status;
}

duspar_status duspar_fail_memory(size_t bytes) {
  return duspar_fail(DUSPAR_NO_MEMORY, "No memory: could not get %zu bytes.",
                     bytes);
}

const char* duspar_last_error(void) { return last_error; }

int32_t duspar_interface(void) { return DUSPAR_INTERFACE; }

const char* duspar_version(void) { return DUSPAR_VERSION; }
