/* Finding an entry of a .tflite file's metadata.
 *
 * A file is a FlatBuffer: tables of fields that are found by their number,
 * with offsets from where they stand. Every read is checked against the end
 * of the file, whatever it holds.
 */
#include "delegate/metadata.h"

#include <string.h>

#include "base/error.h"
#include "duspar.h"

enum {
  MODEL_BUFFERS = 4,
  MODEL_METADATA = 6,
  METADATA_NAME = 0,
  METADATA_BUFFER = 1,
  BUFFER_DATA = 0,
};

bool duspar_file_number(file_bytes file, uint64_t position, int width,
                        uint32_t* number) {
  if (position > file.size || file.size - position < (uint64_t)width) {
    return false;
  }
  *number = 0;
  for (int i = width; i-- > 0;) {
    *number = *number << 8 | file.bytes[position + (uint64_t)i];
  }
  return true;
}

bool duspar_file_field(file_bytes file, uint64_t table, int number,
                       uint64_t* field) {
  uint32_t distance, size, offset;
  *field = 0;
  if (!duspar_file_number(file, table, 4, &distance)) return false;
  const int64_t vtable = (int64_t)table - (int32_t)distance;
  if (vtable < 0 || !duspar_file_number(file, (uint64_t)vtable, 2, &size))
    return false;
  const uint32_t entry = 4 + 2 * (uint32_t)number;
  if (entry + 2 > size) return true;
  if (!duspar_file_number(file, (uint64_t)vtable + entry, 2, &offset))
    return false;
  if (offset != 0) *field = table + offset;
  return true;
}

bool duspar_file_vector(file_bytes file, uint64_t table, int number, int width,
                        file_vector* found) {
  uint64_t field;
  uint32_t offset;
  *found = (file_vector){0, 0};
  if (!duspar_file_field(file, table, number, &field)) return false;
  if (field == 0) return true;
  if (!duspar_file_number(file, field, 4, &offset)) return false;
  if (!duspar_file_number(file, field + offset, 4, &found->count)) return false;
  found->position = field + offset + 4;
  return (file.size - found->position) / (uint64_t)width >= found->count;
}

bool duspar_file_table(file_bytes file, file_vector tables, uint32_t index,
                       uint64_t* table) {
  const uint64_t entry = tables.position + 4 * (uint64_t)index;
  uint32_t offset;
  if (!duspar_file_number(file, entry, 4, &offset)) return false;
  *table = entry + offset;
  return true;
}

/* Sets `content` to the entry's bytes; they are none without such an entry.
 * Returns false if the file cannot be read. */
static bool find_content(file_bytes file, const char* name,
                         file_vector* content) {
  uint32_t model;
  file_vector entries, buffers;
  if (!duspar_file_number(file, 0, 4, &model) ||
      !duspar_file_vector(file, model, MODEL_METADATA, 4, &entries) ||
      !duspar_file_vector(file, model, MODEL_BUFFERS, 4, &buffers)) {
    return false;
  }
  for (uint32_t i = 0; i < entries.count; ++i) {
    uint64_t entry, field, buffer;
    uint32_t index = 0;
    file_vector text;
    if (!duspar_file_table(file, entries, i, &entry) ||
        !duspar_file_vector(file, entry, METADATA_NAME, 1, &text)) {
      return false;
    }
    if (text.count != strlen(name) ||
        memcmp(file.bytes + text.position, name, text.count) != 0) {
      continue;
    }
    if (!duspar_file_field(file, entry, METADATA_BUFFER, &field) ||
        (field != 0 && !duspar_file_number(file, field, 4, &index)) ||
        index >= buffers.count ||
        !duspar_file_table(file, buffers, index, &buffer)) {
      return false;
    }
    return duspar_file_vector(file, buffer, BUFFER_DATA, 1, content);
  }
  return true;
}

duspar_status duspar_file_metadata(const void* bytes, size_t size,
                                   const char* name, const char** content,
                                   size_t* length) {
  const file_bytes file = {bytes, size};
  file_vector found = {0, 0};
  if (bytes == NULL || name == NULL || content == NULL || length == NULL) {
    return duspar_fail(DUSPAR_INVALID,
                       "`bytes`, `name`, `content` and `length` must not be "
                       "NULL.");
  }
  *content = NULL;
  *length = 0;
  if (size < 8 || memcmp(file.bytes + 4, "TFL3", 4) != 0) {
    return duspar_fail(DUSPAR_INVALID,
                       "`bytes` must be a .tflite file: these are not.");
  }
  if (!find_content(file, name, &found)) {
    return duspar_fail(DUSPAR_INVALID,
                       "`bytes` must be a whole .tflite file: these are cut "
                       "off or damaged.");
  }
  if (found.position == 0) return DUSPAR_OK;
  *content = (const char*)file.bytes + found.position;
  *length = found.count;
  while (*length > 0 && (*content)[*length - 1] == '\0') --*length;
  return DUSPAR_OK;
}
