#include "base/error.h"

#include <stdarg.h>

#include "base/writing.h"

/* A microcontroller's program has one thread, and often no thread locals. */
#if defined(DUSPAR_MICRO)
static char last_error[512];
#else
static _Thread_local char last_error[512];
#endif

size_t duspar_write(char* text, size_t room, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const size_t length = duspar_write_list(text, room, format, arguments);
  va_end(arguments);
  return length;
}

duspar_status duspar_fail(duspar_status status, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  duspar_write_list(last_error, sizeof last_error, format, arguments);
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
