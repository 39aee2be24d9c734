#include "base/json.h"

#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 64, LONGEST_NUMBER = 63 };

static const char* skip_space(const char* at, const char* end) {
  while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
    ++at;
  return at;
}

/* Skips a text that begins at `at`; returns NULL if it has no end. */
static const char* skip_text(const char* at, const char* end) {
  for (++at; at < end; ++at) {
    if (*at == '"') return at + 1;
    if (*at == '\\' && ++at == end) break;
  }
  return NULL;
}

/* Skips a value; returns what is behind it, or NULL if it is none. */
static const char* skip_value(const char* at, const char* end, int depth) {
  if (at == end || depth > DEEPEST) return NULL;
  if (*at == '"') return skip_text(at, end);
  if (*at != '{' && *at != '[') { /* a number or a name */
    const char* start = at;
    while (at < end &&
           strchr("+-.0123456789abcdefghijklmnopqrstuvwxyzENI", *at) != NULL &&
           *at != '\0')
      ++at;
    return at == start ? NULL : at;
  }
  const bool object = *at == '{';
  const char last = object ? '}' : ']';
  at = skip_space(at + 1, end);
  if (at < end && *at == last) return at + 1;
  for (;;) {
    if (object) {
      if (at == end || *at != '"') return NULL;
      at = skip_text(at, end);
      if (at == NULL) return NULL;
      at = skip_space(at, end);
      if (at == end || *at != ':') return NULL;
      at = skip_space(at + 1, end);
    }
    at = skip_value(at, end, depth + 1);
    if (at == NULL) return NULL;
    at = skip_space(at, end);
    if (at == end) return NULL;
    if (*at == last) return at + 1;
    if (*at != ',') return NULL;
    at = skip_space(at + 1, end);
  }
}

bool duspar_json_parse(const char* text, size_t length, json_value* value) {
  const char* end = text + length;
  value->start = skip_space(text, end);
  value->end = skip_value(value->start, end, 0);
  return value->end != NULL && skip_space(value->end, end) == end;
}

/* The container was skipped once, so that its parts need no checks. */
bool duspar_json_next(json_value container, json_value* key, json_value* item) {
  const char* end = container.end;
  if (*container.start != '{' && *container.start != '[') return false;
  const bool first = item->start == NULL;
  const char* at = skip_space(first ? container.start + 1 : item->end, end);
  if (*at == '}' || *at == ']') return false;
  if (!first) at = skip_space(at + 1, end); /* the comma */
  if (*container.start == '{') {
    const char* behind = skip_text(at, end);
    if (key != NULL) *key = (json_value){at, behind};
    at = skip_space(skip_space(behind, end) + 1, end); /* the colon */
  }
  *item = (json_value){at, skip_value(at, end, 0)};
  return true;
}

bool duspar_json_member(json_value object, const char* name,
                        json_value* value) {
  json_value key, item = {NULL, NULL};
  if (*object.start != '{') return false;
  while (duspar_json_next(object, &key, &item)) {
    if (duspar_json_equals(key, name)) {
      *value = item;
      return *item.start != 'n';
    }
  }
  return false;
}

bool duspar_json_number(json_value value, double* number) {
  char text[LONGEST_NUMBER + 1];
  const size_t length = (size_t)(value.end - value.start);
  char* behind;
  if (length > LONGEST_NUMBER || strchr("-0123456789", *value.start) == NULL) {
    return false;
  }
  memcpy(text, value.start, length);
  text[length] = '\0';
  *number = strtod(text, &behind);
  return *behind == '\0';
}

/* The number of four hexadecimal digits, or -1. */
static long read_digits(const char* at, const char* end) {
  long number = 0;
  if (end - at < 4) return -1;
  for (int i = 0; i < 4; ++i) {
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char* found = at[i] == '\0' ? NULL : strchr(digits, at[i]);
    if (found == NULL) return -1;
    number = number * 16 + (found - digits) % 16;
  }
  return number;
}

/* Writes a character as UTF-8; returns how many bytes. */
static int encode(unsigned long code, char bytes[4]) {
  static const unsigned char marks[] = {0, 0xc0, 0xe0, 0xf0};
  const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  for (int i = more; i > 0; --i) {
    bytes[i] = (char)(0x80 | (code & 0x3f));
    code >>= 6;
  }
  bytes[0] = (char)(marks[more] | code);
  return more + 1;
}

/* Reads the escape behind a backslash, and the second half of a pair. */
static const char* unescape(const char* at, const char* end, char bytes[4],
                            int* count) {
  static const char names[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
  *count = 1;
  if (*at != 'u') {
    const char* found = *at == '\0' ? NULL : strchr(names, *at);
    bytes[0] = found == NULL ? *at : meant[found - names];
    return at + 1;
  }
  long code = read_digits(at + 1, end);
  if (code < 0) {
    bytes[0] = '?';
    return at + 1;
  }
  at += 5;
  if (code >= 0xd800 && code < 0xdc00 && end - at >= 6 && at[0] == '\\' &&
      at[1] == 'u') {
    const long second = read_digits(at + 2, end);
    if (second >= 0xdc00 && second < 0xe000) {
      code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
      at += 6;
    }
  }
  if (code >= 0xd800 && code < 0xe000) code = 0xfffd; /* half of a pair */
  *count = encode((unsigned long)code, bytes);
  return at;
}

long duspar_json_text(json_value value, char* buffer, size_t room) {
  if (*value.start != '"') return -1;
  const char* end = value.end - 1;
  size_t length = 0;
  for (const char* at = value.start + 1; at < end;) {
    char bytes[4] = {*at};
    int count = 1;
    if (*at == '\\') {
      at = unescape(at + 1, end, bytes, &count);
    } else {
      ++at;
    }
    for (int i = 0; i < count; ++i, ++length) {
      if (length + 1 < room) buffer[length] = bytes[i];
    }
  }
  if (room > 0) buffer[length < room ? length : room - 1] = '\0';
  return (long)length;
}

bool duspar_json_equals(json_value value, const char* text) {
  char found[64];
  const long length = duspar_json_text(value, found, sizeof found);
  return length >= 0 && length < (long)sizeof found && strcmp(found, text) == 0;
}
