/* Reading JSON where it lies: no memory, and no trust in what it holds. */
#ifndef DUSPAR_BASE_JSON_H_
#define DUSPAR_BASE_JSON_H_

#include <stdbool.h>
#include <stddef.h>

/* A value: its first character, and the one behind its last. */
typedef struct json_value {
  const char* start;
  const char* end;
} json_value;

/* Finds the value that the text holds. Returns false if it is not JSON. */
bool duspar_json_parse(const char* text, size_t length, json_value* value);

/* Goes through an object or an array: set `*item` to zeros first. Returns
 * false behind the last item, and of other values. `key` is for objects, a
 * text; NULL is allowed. */
bool duspar_json_next(json_value container, json_value* key, json_value* item);

/* Finds a member of an object. Returns false if there is none, or null. */
bool duspar_json_member(json_value object, const char* name, json_value* value);

/* Sets `*number` to the value, if it is a number. */
bool duspar_json_number(json_value value, double* number);

/* Writes a text as UTF-8, with a NUL behind it. Returns its length, which may
 * be beyond `room`, as snprintf does, or -1 if the value is no text. */
long duspar_json_text(json_value value, char* buffer, size_t room);

/* Whether the value is the text. */
bool duspar_json_equals(json_value value, const char* text);

#endif /* DUSPAR_BASE_JSON_H_ */
