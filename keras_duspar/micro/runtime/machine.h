/* A small machine that runs a streaming model, one hop of samples at a time.
 *
 * A program is a list of operations on vectors of floats: words that name the
 * operation, the clock that it runs at, the number of words, and its
 * arguments, which are sizes and places. Weights are constants in three pools.
 * Vectors lie in one memory: first the states, which last from one hop to the
 * next, then what lasts for one hop. Nothing is allocated.
 *
 * keras_duspar/micro/program.py writes programs, in the names of this file. */
#ifndef MACHINE_H_
#define MACHINE_H_

#include <stdint.h>
#include <string.h>

/* The function of an operation has its name, in lower case. */
enum {
  LOG_MEL,
  FRAMES_WAIT,
  FRAMES_SHIFT,
  OVERLAP_ADD,
  SPARSE_CELL,
  DENSE,
  AFFINE,
  UNARY,
  BINARY,
  LAYER_NORM,
  UNIT_NORM,
  RMS_NORM,
  SOFTMAX,
  COPY,
  POOL,
  RUNNING_MEAN,
  SLIDING_MEAN,
  WINDOW,
  DEPTHWISE,
  LARGEST,
  RUNNING_MAX,
  OPERATIONS
};

/* Kernels of products, by the types of weights and operands. */
enum {
  PRODUCT_FLOAT32,
  PRODUCT_BFLOAT16,
  PRODUCT_INT8,
  PRODUCT_INTEGER,
  PRODUCTS
};

/* Functions of one number; two of them have parameters. */
enum {
  CLIP,
  LEAKY_RELU,
  ELU,
  SIGMOID,
  TANH,
  SILU,
  SOFTPLUS,
  SOFTSIGN,
  EXP,
  LOG,
  SQRT,
  ABSOLUTE,
  RECIPROCAL
};

/* Functions of two numbers. */
enum { ADD, SUBTRACT, MULTIPLY, DIVIDE, MAXIMUM, MINIMUM };

/* Columns of weights that a kernel takes at once: rows are padded to that. */
enum { TILE = 16 };

typedef union number {
  float f;
  int32_t i;
} number;

/* An entry of an operand that is not zero, and where its weights begin. */
typedef struct entry {
  int32_t row;
  number value;
} entry;

typedef struct machine machine;
typedef void operation(machine* m, const int32_t* a);
typedef void product(const machine* m, int32_t count, const int32_t* a);

struct machine {
  operation* const* operations;
  product* const* products;
  const int32_t* program;
  int32_t words; /* of the program */
  const float* floats;
  const uint16_t* halves; /* also bfloat16 */
  const int8_t* bytes;
  float* memory;
  entry* entries;
  number* sums;
  uint32_t* counts; /* NULL unless non-zero entries are counted */
  uint32_t clocks;  /* a bit for each that ticks in this hop */
};

#if defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE > 1
#include <arm_mve.h>
#define HELIUM 1 /* vectors of Cortex-M55 and its like */
#else
#define HELIUM 0
#endif

#define FUNCTION static
#if defined(__GNUC__)
#undef FUNCTION
#define FUNCTION static __attribute__((unused))
#endif

#endif /* MACHINE_H_ */
