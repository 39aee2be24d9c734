#include "delegate/flexbuffer.h"

enum {
  TYPE_INT = 1,
  TYPE_UINT = 2,
  TYPE_STRING = 5,
  TYPE_INDIRECT_INT = 6,
  TYPE_INDIRECT_UINT = 7,
  TYPE_MAP = 9,
};

static unsigned type_of(flex_value value) { return value.type >> 2; }

/* The width of numbers at the place that a value points to. */
static uint64_t target_width(flex_value value) {
  return (uint64_t)1 << (value.type & 3);
}

/* Follows an offset, which points backwards. */
static bool follow(file_bytes buffer, uint64_t position, uint64_t width,
                   uint64_t* target) {
  uint64_t offset;
  if (!duspar_file_number(buffer, position, width, &offset)) return false;
  if (offset > position) return false;
  *target = position - offset;
  return true;
}

/* Reads the number that stands `places` numbers before `target`. */
static bool read_before(file_bytes buffer, uint64_t target, uint64_t places,
                        uint64_t width, uint64_t* position, uint64_t* number) {
  if (target < places * width) return false;
  *position = target - places * width;
  return duspar_file_number(buffer, *position, width, number);
}

bool flex_root(file_bytes buffer, flex_value* value) {
  /* The buffer ends with the root value, its type and its width. */
  if (buffer.size < 3) return false;
  const uint64_t width = buffer.bytes[buffer.size - 1];
  if (width != 1 && width != 2 && width != 4 && width != 8) return false;
  if (buffer.size - 2 < width) return false;
  value->position = buffer.size - 2 - width;
  value->width = width;
  value->type = buffer.bytes[buffer.size - 2];
  return true;
}

/* Whether the NUL-terminated key at `position` is `key`. False and `*broken`
 * if it runs out of the buffer. */
static bool same_key(file_bytes buffer, uint64_t position, const char* key,
                     bool* broken) {
  for (uint64_t i = 0;; ++i) {
    if (position + i >= buffer.size) {
      *broken = true;
      return false;
    }
    if (buffer.bytes[position + i] != (uint8_t)key[i]) return false;
    if (key[i] == '\0') return true;
  }
}

/* The keys of a map are sorted, but a malformed file may lie: each is looked
 * at. A size that the buffer cannot hold ends the search at its end. */
flex_lookup flex_find(file_bytes buffer, flex_value map, const char* key,
                      flex_value* value) {
  uint64_t values, keys, place, size, keys_width;
  if (type_of(map) != TYPE_MAP) return FLEX_BROKEN;
  const uint64_t width = target_width(map);
  if (!follow(buffer, map.position, map.width, &values) ||
      !read_before(buffer, values, 1, width, &place, &size) ||
      !read_before(buffer, values, 2, width, &place, &keys_width) ||
      values < 3 * width || !follow(buffer, values - 3 * width, width, &keys)) {
    return FLEX_BROKEN;
  }
  if (keys_width != 1 && keys_width != 2 && keys_width != 4 &&
      keys_width != 8) {
    return FLEX_BROKEN;
  }
  if (size > buffer.size) return FLEX_BROKEN;
  for (uint64_t i = 0; i < size; ++i) {
    uint64_t text;
    bool broken = false;
    if (!follow(buffer, keys + i * keys_width, keys_width, &text)) {
      return FLEX_BROKEN;
    }
    if (same_key(buffer, text, key, &broken)) {
      const uint64_t type = values + size * width + i;
      if (type >= buffer.size) return FLEX_BROKEN;
      *value = (flex_value){values + i * width, width, buffer.bytes[type]};
      return FLEX_FOUND;
    }
    if (broken) return FLEX_BROKEN;
  }
  return FLEX_ABSENT;
}

bool flex_integer(file_bytes buffer, flex_value value, int64_t* number) {
  const unsigned type = type_of(value);
  uint64_t position = value.position, width = value.width, bits;
  if (type == TYPE_INDIRECT_INT || type == TYPE_INDIRECT_UINT) {
    if (!follow(buffer, position, width, &position)) return false;
    width = target_width(value);
  } else if (type != TYPE_INT && type != TYPE_UINT) {
    return false;
  }
  if (!duspar_file_number(buffer, position, width, &bits)) return false;
  if (type == TYPE_INT || type == TYPE_INDIRECT_INT) {
    const uint64_t sign = (uint64_t)1 << (8 * width - 1);
    if (bits & sign) {
      /* Minus (2^(8 width) - bits), without leaving the range. */
      *number = -(int64_t)((sign - 1) - (bits & (sign - 1))) - 1;
      return true;
    }
  }
  if (bits > INT64_MAX) return false;
  *number = (int64_t)bits;
  return true;
}

bool flex_text(file_bytes buffer, flex_value value, const char** text,
               size_t* length) {
  uint64_t start, place, size;
  if (type_of(value) != TYPE_STRING ||
      !follow(buffer, value.position, value.width, &start) ||
      !read_before(buffer, start, 1, target_width(value), &place, &size) ||
      size > buffer.size - start) {
    return false;
  }
  *text = (const char*)buffer.bytes + start;
  *length = (size_t)size;
  return true;
}
