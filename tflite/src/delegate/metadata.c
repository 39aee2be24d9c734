/* Finding an entry of a .tflite file's metadata. */
#include <string.h>

#include "base/error.h"
#include "delegate/flatbuffer.h"
#include "delegate/schema.h"
#include "duspar.h"

/* Sets `content` to the entry's bytes; they are none without such an entry.
 * Returns false if the file cannot be read. */
static bool find_content(file_bytes file, const char* name,
                         file_vector* content) {
  uint64_t model;
  file_vector entries, buffers;
  if (!duspar_file_number(file, 0, 4, &model) ||
      !duspar_file_vector(file, model, MODEL_METADATA, 4, &entries) ||
      !duspar_file_vector(file, model, MODEL_BUFFERS, 4, &buffers)) {
    return false;
  }
  for (uint64_t i = 0; i < entries.count; ++i) {
    uint64_t entry, field, buffer, index = 0;
    file_vector text;
    if (!duspar_file_table(file, entries, i, &entry) ||
        !duspar_file_vector(file, entry, METADATA_NAME, 1, &text)) {
      return false;
    }
    if (text.count != strlen(name) ||
        memcmp(file.bytes + text.position, name, strlen(name)) != 0) {
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
  *length = (size_t)found.count;
  while (*length > 0 && (*content)[*length - 1] == '\0') --*length;
  return DUSPAR_OK;
}
