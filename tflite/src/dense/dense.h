/* What lies around the recurrent layers of a stream: a dense layer and a layer
 * normalization, of one vector. */
#ifndef DUSPAR_DENSE_DENSE_H_
#define DUSPAR_DENSE_DENSE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What comes behind the sums of a dense layer. */
typedef enum duspar_activation {
  DUSPAR_LINEAR,
  DUSPAR_RELU,
  DUSPAR_SIGMOID,
} duspar_activation;

typedef struct duspar_dense_parameters {
  size_t inputs, outputs;
  const float* kernel; /* (outputs, inputs) */
  const float* bias;   /* (outputs), or NULL for zeros */
  bool narrow;         /* keep the kernel as bfloat16, which all of it fits */
} duspar_dense_parameters;

typedef struct duspar_norm {
  size_t size;
  const float* gamma; /* (size) */
  const float* beta;  /* (size) */
  float epsilon;
} duspar_norm;

/* What a variant computes of these. */
typedef struct duspar_dense_functions {
  /* Sets the bytes of a packed layer; false if that has no room. */
  bool (*bytes)(const duspar_dense_parameters* p, size_t* bytes);
  /* Packs it on the border of a cache line. */
  void (*pack)(const duspar_dense_parameters* p, void* packed);
  /* Computes activation(kernel x + bias), times `factor` unless it is NULL.
   * `out` is none of the others. */
  void (*run)(const void* packed, const float* x, const float* factor,
              duspar_activation activation, float* out);
  /* Computes (x - mean) / sqrt(variance + epsilon) * gamma + beta. `out` may
   * be `x`. */
  void (*normalize)(const duspar_norm* norm, const float* x, float* out);
  /* Computes the sums of the columns of x, a matrix of (rows, width). */
  void (*add_rows)(size_t rows, size_t width, const float* x, float* out);
} duspar_dense_functions;

/* Whether bfloat16 holds all of these numbers. */
static inline bool duspar_dense_fits_bfloat16(const float* numbers,
                                              size_t count) {
  uint32_t all = 0, bits;
  for (size_t i = 0; i < count; ++i) {
    memcpy(&bits, numbers + i, sizeof bits);
    all |= bits;
  }
  return (all & 0xffffu) == 0;
}

#endif /* DUSPAR_DENSE_DENSE_H_ */
