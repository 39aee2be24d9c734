/* Any bytes as a .tflite file whose metadata is looked for, as such and by
 * those who read it. */
#include <stdlib.h>
#include <string.h>

#include "duspar.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const char* content;
  size_t length;
  if (size == 0) return 0;
  if (duspar_file_metadata(data, size, DUSPAR_METADATA, &content, &length) !=
      DUSPAR_OK) {
    if (duspar_last_error()[0] == '\0') abort();
  } else if (length > 0) {
    /* Every byte is inside. */
    const uint8_t* start = (const uint8_t*)content;
    if (start < data || start + length > data + size) abort();
    if (memchr(content, '\0', length) == content + length - 1) abort();
  }
  duspar_file_free(duspar_file_read(data, size));
  duspar_detector_destroy(duspar_detector_from_file(data, size));
  return 0;
}
