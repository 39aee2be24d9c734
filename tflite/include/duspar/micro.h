/* TFLite Micro: kernels for DuSpaR, SpaR and the log-mel front end.
 *
 * Kernels and biases are read where the model has them, and all memory comes
 * from the interpreter's arena. In C++, with TFLite Micro's headers, after
 * `duspar_micro_use`:
 *
 *   tflite::MicroMutableOpResolver<12> resolver;
 *   for (const char* name : {"DuSpaR", "SpaR", "DuSpaRLogMel"})
 *     resolver.AddCustom(name, static_cast<const TFLMRegistration*>(
 *                                  duspar_micro_registration(name)));
 */
#ifndef DUSPAR_MICRO_H_
#define DUSPAR_MICRO_H_

#include "duspar/base.h"
#include "duspar/layer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What kernels ask of TFLite Micro, with a `TfLiteContext*` as `context`: what
 * these are called differs between its versions. */
typedef struct duspar_micro_functions {
  void* (*allocate)(void* context, size_t bytes); /* persistent memory */
  int (*request_scratch)(void* context, size_t bytes, int* index);
  void* (*scratch)(void* context, int index);
  void* (*tensor)(const void* context, int index); /* TfLiteEvalTensor* */
  void (*report)(void* context, const char* format, ...);
} duspar_micro_functions;

/* Says what they are, once, before an interpreter is made. */
DUSPAR_API void duspar_micro_use(const duspar_micro_functions* functions);

/* Returns the `TFLMRegistration` of an operator, or NULL if it is none. */
DUSPAR_API const void* duspar_micro_registration(const char* name);

/* A sparse operator of an interpreter, and what it has counted. */
typedef struct duspar_micro_operator {
  const char* layer; /* name of the Keras layer */
  const char* op;    /* "DuSpaR" or "SpaR" */
  int32_t features, units;
  duspar_counts counts;
  struct duspar_micro_operator* next;
} duspar_micro_operator;

/* Returns the operator that was made last, of all interpreters: the others
 * follow, and are gone with their interpreter. One thread at a time makes,
 * destroys and asks. */
DUSPAR_API duspar_micro_operator* duspar_micro_operators(void);

#ifdef __cplusplus
}
#endif

#endif /* DUSPAR_MICRO_H_ */
