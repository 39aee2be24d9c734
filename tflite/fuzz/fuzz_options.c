/* Any bytes as the options of an operator. */
#include <stdlib.h>
#include <string.h>

#include "delegate/options.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  duspar_options options;
  if (duspar_options_parse(data, size, &options) == DUSPAR_OK) {
    if (options.units < 1 || options.units > INT32_MAX) abort();
    if (options.weight_type > DUSPAR_INT8) abort();
    if (memchr(options.layer, '\0', sizeof options.layer) == NULL) abort();
  } else if (duspar_last_error()[0] == '\0') {
    abort();
  }
  return 0;
}
