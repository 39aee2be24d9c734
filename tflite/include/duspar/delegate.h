/* The delegate for TFLite (LiteRT), its counters, and what a .tflite file says
 * of itself.
 *
 * The delegate is loaded by path, or made by a call. It runs the custom
 * operators of a model and counts, for each sparse one, the steps and the
 * non-zero entries of its operands; functions read and reset these counters,
 * also while the interpreter runs.
 */
#ifndef DUSPAR_DELEGATE_H_
#define DUSPAR_DELEGATE_H_

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct TfLiteDelegate;

/* Makes a delegate.
 *
 * Options, as pairs of key and value:
 *   handle  a text of 1 to 63 bytes that no other living delegate has, with
 *           which `duspar_delegate_find` finds this delegate
 *   kernel  name of the kernel to use; without it that of the environment
 *           variable DUSPAR_KERNEL is taken, or the fastest
 *
 * Returns NULL on failure, also for an option that is not known. */
DUSPAR_API struct TfLiteDelegate* duspar_delegate_create(
    const char* const* keys, const char* const* values, size_t count);

/* Destroys a delegate. NULL is allowed.
 *
 * Interpreters that use the delegate may live longer and still be run and
 * destroyed; they cannot be given the delegate anew. */
DUSPAR_API void duspar_delegate_destroy(struct TfLiteDelegate* delegate);

/* The same by the names that TFLite's loaders of plugins look for.
 * `report_error`, if not NULL, receives the reason of a failure. An app with
 * several delegates inside it would have these names several times, so they
 * are not there if the library was built with DUSPAR_STATIC. */
DUSPAR_API struct TfLiteDelegate* tflite_plugin_create_delegate(
    const char* const* keys, const char* const* values, size_t count,
    void (*report_error)(const char*));
DUSPAR_API void tflite_plugin_destroy_delegate(struct TfLiteDelegate* delegate);

/* Returns the living delegate that was made with option `handle`, or NULL. */
DUSPAR_API struct TfLiteDelegate* duspar_delegate_find(const char* handle);

/* A vector whose zeros an operator skips. */
typedef struct duspar_operand {
  const char* name;  /* "e" and "y" of DuSpaR, "x" of SpaR */
  int64_t size;      /* entries of the vector in one step */
  int64_t fan;       /* MACs that one entry costs if it is not zero */
  uint64_t nonzeros; /* entries that were not zero */
  uint64_t entries;  /* entries in all: size times steps */
} duspar_operand;

/* One operator of a model, and what it has counted. */
typedef struct duspar_operator {
  char layer[256];       /* name of the Keras layer */
  const char* op;        /* "DuSpaR" or "SpaR" */
  const char* kernel;    /* what runs it; "" before tensors are allocated */
  int32_t in_use;        /* 1 while an interpreter holds the operator */
  int32_t operand_count; /* 2 for DuSpaR, 1 for SpaR */
  int64_t features;      /* N; 0 before tensors are allocated */
  int64_t units;         /* M; 0 before tensors are allocated */
  int64_t bytes;         /* of its weights, as the kernel keeps them */
  uint64_t invocations;
  uint64_t steps; /* of all entries of the batches */
  duspar_operand operands[2];
} duspar_operator;

/* Returns how many operators the delegate has taken over.
 *
 * They are numbered in the order in which the delegate met them, which is the
 * model's order. An operator stays in the list, with its last counts, when
 * its interpreter is gone; its number never changes. TFLite may put operators
 * away and make them anew, so an operator that comes back at the same address
 * and node, with the same layer, goes on with its counts. */
DUSPAR_API size_t
duspar_delegate_operator_count(const struct TfLiteDelegate* delegate);

/* Describes operator `index` of a delegate. The counts belong together: they
 * are those before or after an invocation, never from its midst. */
DUSPAR_API duspar_status
duspar_delegate_operator(const struct TfLiteDelegate* delegate, size_t index,
                         duspar_operator* description);

/* Sets the counts of operator `index` to zero. An invocation that is running
 * is counted when it ends. */
DUSPAR_API duspar_status duspar_delegate_reset(struct TfLiteDelegate* delegate,
                                               size_t index);

/* Finds an entry of the metadata of a .tflite file.
 *
 * `bytes` are the `size` bytes of the file; they may be anything. The entry
 * `DUSPAR_METADATA` is JSON, in UTF-8: task, labels, sample rate, hop, states
 * and more (docs/deploy.md). On success `content` points into `bytes`, and
 * `length` leaves zeros at the end out; without such an entry they are NULL
 * and 0. Fails if the bytes are not a whole .tflite file. */
#define DUSPAR_METADATA "keras_duspar"
DUSPAR_API duspar_status duspar_file_metadata(const void* bytes, size_t size,
                                              const char* name,
                                              const char** content,
                                              size_t* length);

#ifdef __cplusplus
}
#endif

#endif /* DUSPAR_DELEGATE_H_ */
