/* Texts of messages: `vsnprintf`, or what a microcontroller has instead. */
#ifndef DUSPAR_BASE_WRITING_H_
#define DUSPAR_BASE_WRITING_H_

#include <stdarg.h>
#include <stddef.h>

/* As `duspar_write`, with a list of arguments. */
size_t duspar_write_list(char* text, size_t room, const char* format,
                         va_list arguments);

#endif /* DUSPAR_BASE_WRITING_H_ */
