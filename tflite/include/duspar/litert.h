/* LiteRT 2, which knows no delegates: the operators as kernels of a compiled
 * model.
 *
 * A delegate is made as for any other TFLite, and counts as ever; what is new
 * is how its operators come to the runtime:
 *
 *   const duspar_litert_functions functions = DUSPAR_LITERT;
 *   duspar_litert* duspar =
 *       duspar_litert_create(delegate, bytes, size, &functions, 1);
 *   duspar_litert_register(duspar, options);
 *   bytes = duspar_litert_file(duspar, &size);
 *   LiteRtCreateModelFromBuffer(environment, bytes, size, &model);
 *   LiteRtCreateCompiledModel(environment, model, options, &compiled);
 *   LiteRtRunCompiledModel(...);
 *   const char* problem = duspar_litert_error(duspar);  // NULL: all is well
 *
 * LiteRT takes all operators of one name for one, does not look at what their
 * kernels return, and refuses constants that do not begin at a multiple of 64
 * bytes, as most in a file do. So the operators of a file are read and checked
 * before LiteRT sees them, in a copy whose constants it takes, and are found by
 * the addresses of these; what fails afterwards is asked for.
 */
#ifndef DUSPAR_LITERT_H_
#define DUSPAR_LITERT_H_

#include "duspar/base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct TfLiteDelegate;
typedef struct duspar_litert duspar_litert;

/* The functions of LiteRT that are called: this library is not linked to it.
 * They are its own, with handles as `void*` and statuses as `int`. */
typedef struct duspar_litert_functions {
  int (*add_kernel)(void* options, const char* name, int version,
                    const void* kernel, void* user_data);
  int (*tensor_type)(void* buffer, void* type);
  int (*tensor_size)(void* buffer, size_t* bytes);
  int (*lock)(void* buffer, void** address, int mode);
  int (*unlock)(void* buffer);
} duspar_litert_functions;

/* These functions where LiteRT's headers (litert/c/litert_options.h and
 * litert/c/litert_tensor_buffer.h) are included. */
#define DUSPAR_LITERT                                      \
  {(int (*)(void*, const char*, int, const void*,          \
            void*))LiteRtAddCustomOpKernelOption,          \
   (int (*)(void*, void*))LiteRtGetTensorBufferTensorType, \
   (int (*)(void*, size_t*))LiteRtGetTensorBufferSize,     \
   (int (*)(void*, void**, int))LiteRtLockTensorBuffer,    \
   (int (*)(void*))LiteRtUnlockTensorBuffer}

/* Reads the operators of a .tflite file, and packs their weights.
 *
 * `bytes` are the `size` bytes of the file, which may be anything. `threads`,
 * of at least 1, share the work of a batch. Returns NULL if the file has an
 * operator that cannot run, or none of this library. */
DUSPAR_API duspar_litert* duspar_litert_create(
    struct TfLiteDelegate* delegate, const void* bytes, size_t size,
    const duspar_litert_functions* functions, int32_t threads);

/* Returns the file to make the model of, which stays as long as `litert`. */
DUSPAR_API const void* duspar_litert_file(const duspar_litert* litert,
                                          size_t* size);

/* Adds the kernels to a `LiteRtOptions`, of which one compiled model is made:
 * another one needs another `duspar_litert`. */
DUSPAR_API duspar_status duspar_litert_register(duspar_litert* litert,
                                                void* options);

/* Returns why an operator has failed since the last call, or NULL if none has.
 * The outputs of an operator that fails are NaN. The text stays until the next
 * call. */
DUSPAR_API const char* duspar_litert_error(duspar_litert* litert);

/* Frees everything, after its compiled model and model. NULL is allowed. */
DUSPAR_API void duspar_litert_destroy(duspar_litert* litert);

#ifdef __cplusplus
}
#endif

#endif /* DUSPAR_LITERT_H_ */
