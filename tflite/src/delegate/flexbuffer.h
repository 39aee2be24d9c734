/* Reading FlexBuffers: as much as a map of numbers and texts needs.
 *
 * Every read is checked against the ends of the buffer, whatever it holds.
 */
#ifndef DUSPAR_DELEGATE_FLEXBUFFER_H_
#define DUSPAR_DELEGATE_FLEXBUFFER_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "delegate/flatbuffer.h"

/* A value: where it stands, the width of a number there, and its type. */
typedef struct flex_value {
  uint64_t position;
  uint64_t width;
  uint8_t type; /* the six bits of the type, two of the width of its target */
} flex_value;

/* Sets `value` to the root of the buffer, or returns false. */
bool flex_root(file_bytes buffer, flex_value* value);

typedef enum flex_lookup { FLEX_FOUND, FLEX_ABSENT, FLEX_BROKEN } flex_lookup;

/* Looks for `key` in `map`. */
flex_lookup flex_find(file_bytes buffer, flex_value map, const char* key,
                      flex_value* value);

/* Reads an integer; false if the value is none or lies outside. */
bool flex_integer(file_bytes buffer, flex_value value, int64_t* number);

/* Finds a text, which ends after `length` bytes, not with a NUL; false if the
 * value is none or lies outside. */
bool flex_text(file_bytes buffer, flex_value value, const char** text,
               size_t* length);

#endif /* DUSPAR_DELEGATE_FLEXBUFFER_H_ */
