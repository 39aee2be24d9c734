/* Variants: the same computations with one instruction set each.
 *
 * A variant packs the weights of a cell once, in the layout that it likes, and
 * then makes steps. Layers and the delegate know nothing of the layout. A new
 * variant is a header in simd/ and a file here, named in the table in
 * variants.c; tests hold each against the reference. The public interface
 * calls variants "kernels".
 */
#ifndef DUSPAR_VARIANTS_VARIANTS_H_
#define DUSPAR_VARIANTS_VARIANTS_H_

#include <stdbool.h>
#include <stddef.h>

#include "dense/dense.h"
#include "duspar.h"
#include "log_mel/log_mel.h"

/* What a step multiplies: operands are float32, but integers in the last. */
typedef enum duspar_format {
  DUSPAR_FORMAT_FLOAT32 = DUSPAR_FLOAT32,
  DUSPAR_FORMAT_BFLOAT16 = DUSPAR_BFLOAT16,
  DUSPAR_FORMAT_INT8 = DUSPAR_INT8,
  DUSPAR_FORMAT_INTEGER, /* int8 times uint7 or uint8 */
  DUSPAR_FORMATS,
  DUSPAR_FORMAT_FLOAT16 = DUSPAR_FORMATS, /* of packed weights alone */
} duspar_format;

/* The size of a cell, and what it is made of. */
typedef struct duspar_shape {
  size_t inputs;
  size_t outputs;
  duspar_weight_type weight_type;
  int operand_bits; /* 0, 7 or 8 */
} duspar_shape;

/* The operand of a step, not rectified yet: x - (state + bias); x where there
 * is no state; state + bias where there is no x. `bias` lies on the
 * border of a cache line and is a whole number of them, the others lie
 * anywhere. */
typedef struct duspar_step_operand {
  const float* x;
  const float* state;
  const float* bias;
  float* out; /* where the operand goes, too, or NULL */
} duspar_step_operand;

/* Makes one step: state = S(a, before) with the operand a. `packed` and
 * `scratch` lie on borders of cache lines, the states anywhere; `state` may be
 * `before`. States of at most 2^-100 become zero. Returns how many entries of
 * relu(a) are not zero, after they were rounded to integers if they are. NaN is
 * counted. */
typedef size_t duspar_step(const duspar_shape* shape, const void* packed,
                           const duspar_step_operand* a, const float* before,
                           float* state, void* scratch);

typedef struct duspar_variant {
  const char* name;
  /* Whether this processor can run it. */
  bool (*usable)(void);
  /* Sets the bytes that packed weights take; false if that has no room. */
  bool (*packed_bytes)(const duspar_shape* shape, size_t* bytes);
  /* Sets the bytes of scratch memory of a step; false as above. */
  bool (*scratch_bytes)(const duspar_shape* shape, size_t* bytes);
  /* Copies weights to `packed`. They may lie at any address. */
  void (*pack)(const duspar_shape* shape, const duspar_cell* cell,
               void* packed);
  duspar_step* step[DUSPAR_FORMATS];
  /* The log-mel front end, likewise. */
  struct {
    bool (*bytes)(const duspar_log_mel_parameters* p, size_t* packed,
                  size_t* scratch);
    void (*pack)(const duspar_log_mel_parameters* p, void* packed);
    /* Computes the features of the frame that begins at `frame`. */
    void (*run)(const void* packed, const float* frame, float* features,
                void* scratch);
  } log_mel;
  duspar_dense_functions dense;         /* what else a frame needs */
  const struct duspar_trainer* trainer; /* NULL if it does not train */
} duspar_variant;

/* What needs no options of the compiler is there in every build; CMake, which
 * can give options file by file, names the others. */
#if defined(__aarch64__) && !defined(DUSPAR_HAS_NEON)
#define DUSPAR_HAS_NEON
#endif
#if defined(__GNUC__) && !defined(DUSPAR_HAS_PORTABLE)
#define DUSPAR_HAS_PORTABLE
#endif
#if defined(__aarch64__)
/* Compilers that can be told in a source to use the dot product, and float16:
 * Xcode 15, Clang 16, GCC. */
#if defined(__apple_build_version__)
#if __apple_build_version__ >= 15000000
#define DUSPAR_HAS_NEON_DOTPROD
#define DUSPAR_HAS_NEON_FP16
#endif
#elif !defined(__clang__) || __clang_major__ >= 16
#define DUSPAR_HAS_NEON_DOTPROD
#define DUSPAR_HAS_NEON_FP16
#endif
#endif

extern const duspar_variant duspar_variant_avx512_vnni;
extern const duspar_variant duspar_variant_avx512;
extern const duspar_variant duspar_variant_avx2_vnni;
extern const duspar_variant duspar_variant_avx2;
extern const duspar_variant duspar_variant_neon_dotprod;
extern const duspar_variant duspar_variant_neon;
extern const duspar_variant duspar_variant_neon_fp16;
extern const duspar_variant duspar_variant_portable;
extern const duspar_variant duspar_variant_reference;

/* Returns variant `index`, fastest first, or NULL beyond the end. The one that
 * the environment names as DUSPAR_KERNEL comes before the others. */
const duspar_variant* duspar_variant_at(size_t index);

/* Returns the variant of that name; for NULL the one that DUSPAR_KERNEL names,
 * or the fastest usable one. Sets the error and returns NULL if there is none.
 */
const duspar_variant* duspar_variant_find(const char* name);

/* Returns what a step of that shape multiplies. */
duspar_format duspar_shape_format(const duspar_shape* shape);

/* Returns the bytes of one weight. */
static inline size_t duspar_weight_bytes(duspar_weight_type type) {
  return type == DUSPAR_FLOAT32 ? 4 : type == DUSPAR_BFLOAT16 ? 2 : 1;
}

#endif /* DUSPAR_VARIANTS_VARIANTS_H_ */
