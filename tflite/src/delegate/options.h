/* The options of a custom operator, which come as a FlexBuffers map. */
#ifndef DUSPAR_DELEGATE_OPTIONS_H_
#define DUSPAR_DELEGATE_OPTIONS_H_

#include <stddef.h>
#include <stdint.h>

#include "duspar.h"

typedef struct duspar_options {
  int64_t units;
  duspar_weight_type weight_type;
  int32_t operand_bits; /* 0 for float32 */
  char layer[256];
} duspar_options;

/* Those of the log-mel front end. */
typedef struct duspar_log_mel_options {
  int64_t hop;
  char layer[256];
} duspar_log_mel_options;

/* Reads the options from `size` bytes, which may be anything. */
duspar_status duspar_options_parse(const void* bytes, size_t size,
                                   duspar_options* options);
duspar_status duspar_log_mel_options_parse(const void* bytes, size_t size,
                                           duspar_log_mel_options* options);

#endif /* DUSPAR_DELEGATE_OPTIONS_H_ */
