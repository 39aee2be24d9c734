/* DuSpaR and SpaR in C: a TFLite delegate, its counters, and direct calls.
 *
 * The library needs libc, libm and threads alone. It has four faces:
 *
 *  - A delegate for TFLite (LiteRT), loaded by path. It runs the custom
 *    operators `DuSpaR` and `SpaR` of a model and counts, for each of them,
 *    the steps and the non-zero entries of its operands.
 *  - Functions that read and reset these counters, also while the
 *    interpreter runs.
 *  - What a .tflite file says of itself: `duspar_file_metadata`.
 *  - Layers without TFLite: `duspar_layer_create`, `duspar_layer_run`.
 *  - Training: `duspar_train_forward`, `duspar_train_backward`.
 *
 * The equations, with N features, M units and `@` the matrix product:
 *
 *   SpaR     a = relu(x)
 *            z = sigmoid(a @ gate_kernel + gate_bias)
 *            c = tanh(a @ candidate_kernel)
 *            f = (1 - z) f + z c              output f
 *
 *   DuSpaR   the same with a = relu(x - (g + feedback_bias)), then
 *            y = f + feedforward_bias         output y
 *            and g from relu(y) as f from a, with the kernels of `feedback`.
 *
 * An entry of `a` that is zero costs no product and no weight. NaN is no
 * zero: it spreads, as in Keras.
 *
 * Every function may be called from any thread. Functions that can fail
 * return a status or NULL, and `duspar_last_error` then says why.
 */
#ifndef DUSPAR_H_
#define DUSPAR_H_

#include <stddef.h>
#include <stdint.h>

#if defined(DUSPAR_STATIC)
#define DUSPAR_API
#elif defined(_WIN32)
#if defined(DUSPAR_BUILD)
#define DUSPAR_API __declspec(dllexport)
#else
#define DUSPAR_API __declspec(dllimport)
#endif
#else
#define DUSPAR_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Version, errors, processor ---------------------------------------- */

/* Version of the package. */
#define DUSPAR_VERSION "0.1.0"

/* Version of this interface. It grows when a structure or function changes. */
#define DUSPAR_INTERFACE 4

typedef enum duspar_status {
  DUSPAR_OK = 0,
  DUSPAR_INVALID = 1,   /* an argument is not what it must be */
  DUSPAR_NO_MEMORY = 2, /* an allocation failed */
} duspar_status;

/* Returns DUSPAR_INTERFACE of the library, which a caller compares with the
 * one that it was compiled for. */
DUSPAR_API int32_t duspar_interface(void);

/* Returns the version of the package, such as "0.1.0". */
DUSPAR_API const char* duspar_version(void);

/* Returns what the last failure in the calling thread was about, or "". The
 * text stays valid until the next failure in this thread. */
DUSPAR_API const char* duspar_last_error(void);

/* Returns the processor's features that kernels ask for, separated by
 * spaces, such as "avx2 fma"; "" if it has none of them. */
DUSPAR_API const char* duspar_cpu_features(void);

/* Returns how many kernels the library has for this architecture. Kernels
 * compute the same, with other instructions. */
DUSPAR_API size_t duspar_kernel_count(void);

/* Returns the name of kernel `index`, fastest first and "reference" last, or
 * NULL beyond the end. */
DUSPAR_API const char* duspar_kernel_name(size_t index);

/* Returns 1 if this processor can run kernel `index`, else 0. */
DUSPAR_API int32_t duspar_kernel_usable(size_t index);

/* ---- Layers without TFLite --------------------------------------------- */

typedef enum duspar_kind {
  DUSPAR_KIND_SPAR = 0,
  DUSPAR_KIND_DUSPAR = 1,
} duspar_kind;

typedef enum duspar_weight_type {
  DUSPAR_FLOAT32 = 0,
  DUSPAR_BFLOAT16 = 1, /* the upper 16 bits of a float32, as int16_t */
  DUSPAR_INT8 = 2,     /* times a float32 scale for each output channel */
} duspar_weight_type;

/* The weights of one sparsifying cell with `inputs` and `outputs`. Kernels
 * have the shape (inputs, outputs), a row for each input.
 *
 * With int8 weights the operand a can be rounded to integers, too, of
 * `operand_bits` bits. All in float32, rint to nearest, ties to even:
 *
 *   q_i = min(rint(a_i * (1 / operand_scale)), 2^bits - 1), 0 unless a_i > 0
 *   S_j = sum of q_i * weight_ij, exact, as an int32
 *
 * and (a @ kernel)_j is S_j * (operand_scale * scale_j). What counts as zero,
 * and is skipped, is q_i. NaN makes all sums of its step NaN. */
typedef struct duspar_cell {
  const void* gate_kernel;
  const void* candidate_kernel;
  const float* gate_bias;       /* (outputs) */
  const float* gate_scale;      /* (outputs), for DUSPAR_INT8, else NULL */
  const float* candidate_scale; /* (outputs), for DUSPAR_INT8, else NULL */
  float operand_scale;          /* above 0; for operands with bits, else 0 */
} duspar_cell;

/* Everything that makes a layer. SpaR leaves `feedback` and the two last
 * biases NULL. */
typedef struct duspar_parameters {
  int32_t kind;                  /* duspar_kind */
  int32_t weight_type;           /* duspar_weight_type */
  int32_t features;              /* N, at least 1 */
  int32_t units;                 /* M, at least 1 */
  int32_t operand_bits;          /* 0: float32; 7 or 8, with DUSPAR_INT8 */
  duspar_cell feedforward;       /* N inputs, M outputs */
  duspar_cell feedback;          /* M inputs, N outputs */
  const float* feedforward_bias; /* (M) */
  const float* feedback_bias;    /* (N) */
} duspar_parameters;

/* What a run counted. `steps` counts each entry of the batch. Operands are
 * {x} of SpaR and {e, y} of DuSpaR; see `duspar_operand`. */
typedef struct duspar_counts {
  uint64_t invocations;
  uint64_t steps;
  uint64_t nonzeros[2];
} duspar_counts;

/* A layer: weights as a kernel wants them. It never changes, so threads may
 * run one layer at the same time. */
typedef struct duspar_layer duspar_layer;

/* Makes a layer from a copy of its parameters.
 *
 * `kernel` names the kernel to use; NULL is the fastest that the processor
 * can run. Returns NULL on failure. */
DUSPAR_API duspar_layer* duspar_layer_create(
    const duspar_parameters* parameters, const char* kernel);

/* Frees a layer. NULL is allowed. */
DUSPAR_API void duspar_layer_destroy(duspar_layer* layer);

/* Returns the name of the kernel that runs `layer`. */
DUSPAR_API const char* duspar_layer_kernel(const duspar_layer* layer);

/* Returns the bytes that the weights of `layer` take in memory. */
DUSPAR_API size_t duspar_layer_bytes(const duspar_layer* layer);

/* Runs a layer over `steps` steps of `batch` sequences.
 *
 * x   (batch, steps, N)  the input
 * f0  (batch, M)         the first state before the first step
 * g0  (batch, N)         the second state; SpaR has none: NULL
 * y   (batch, steps, M)  receives the output, if not NULL
 * f   (batch, M)         receives the state after the last step, if not NULL
 * g   (batch, N)         the same for the second state
 *
 * `f` may be `f0` and `g` may be `g0`; nothing else may overlap. With no
 * steps the states are copied. `counts`, if not NULL, is added to. */
DUSPAR_API duspar_status duspar_layer_run(const duspar_layer* layer,
                                          int64_t batch, int64_t steps,
                                          const float* x, const float* f0,
                                          const float* g0, float* y, float* f,
                                          float* g, duspar_counts* counts);

/* ---- The TFLite delegate ----------------------------------------------- */

struct TfLiteDelegate;

/* Makes a delegate: the function that TFLite's plugin loaders call.
 *
 * Options, as pairs of key and value:
 *   handle  a text of 1 to 63 bytes that no other living delegate has, with
 *           which `duspar_delegate_find` finds this delegate
 *   kernel  name of the kernel to use; without it the fastest is taken
 *
 * `report_error`, if not NULL, receives the reason of a failure. Returns NULL
 * on failure, also for an option that is not known. */
DUSPAR_API struct TfLiteDelegate* tflite_plugin_create_delegate(
    const char* const* keys, const char* const* values, size_t count,
    void (*report_error)(const char*));

/* Destroys a delegate. NULL is allowed.
 *
 * Interpreters that use the delegate may live longer and still be run and
 * destroyed; they cannot be given the delegate anew. */
DUSPAR_API void tflite_plugin_destroy_delegate(struct TfLiteDelegate* delegate);

/* Returns the living delegate that was made with option `handle`, or NULL. */
DUSPAR_API struct TfLiteDelegate* duspar_delegate_find(const char* handle);

/* A vector whose zeros an operator skips. */
typedef struct duspar_operand {
  const char* name;  /* "e" and "y" of DuSpaR, "x" of SpaR */
  int64_t size;      /* entries of the vector in one step */
  int64_t fan;       /* products that one entry costs if it is not zero */
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

/* ---- What a file says of itself ---------------------------------------- */

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

/* ---- Training ----------------------------------------------------------- */

/* What a forward and a backward pass over whole sequences have in common. */
typedef struct duspar_training {
  int32_t kind;       /* duspar_kind */
  int32_t threads;    /* how many may work; 0 and 1 are the caller's alone */
  int64_t batch;      /* sequences, at least 1 */
  int64_t steps;      /* time steps of each, at least 1 */
  int64_t features;   /* N, at least 1 */
  int64_t units;      /* M, at least 1 */
  int64_t chunk;      /* 0, or steps between states that are kept: see below */
  const char* kernel; /* name of the kernel to use; NULL is the fastest */
} duspar_training;

/* Returns the name of training kernel `index` of those that this processor can
 * run, fastest first, or NULL beyond the end. */
DUSPAR_API const char* duspar_train_kernel(size_t index);

/* Sets `*floats` to the size of the reserve: what a forward pass keeps for the
 * backward pass.
 *
 * These are the states before every `chunk` steps; the backward pass computes
 * the steps between them again, which takes a third more time. With `chunk` 0
 * the library chooses the steps and keeps, in memory of its own, what it would
 * have to compute again: 2 (N + M) floats for each step of each sequence, 2 M
 * for SpaR. See `duspar_train_memory`. */
DUSPAR_API duspar_status duspar_train_reserve(const duspar_training* training,
                                              int64_t* floats);

/* Bounds the memory that the library keeps between forward and backward passes
 * and for the next ones, of all threads together, and frees what is above it.
 * With 0 nothing is kept; a negative number leaves the bound, at first 1 GiB.
 * Where the bound is reached, the oldest is lost first: its backward pass
 * takes longer and gives the same. Returns how many bytes are kept now. */
DUSPAR_API int64_t duspar_train_memory(int64_t limit);

/* Runs a layer forward over `steps` steps of `batch` sequences.
 *
 * weights  float32, in the order in which the operators of a .tflite file have
 *          them. SpaR: gate kernel and candidate kernel (N, M), gate bias (M).
 *          DuSpaR: gate and candidate kernel of the feedforward cell (N, M),
 *          of the feedback cell (M, N); their gate biases (M), (N);
 *          feedforward bias (M), feedback bias (N).
 * x, f0, g0, y, f, g as for `duspar_layer_run`; NULL states stand for zeros.
 * reserve  receives what the backward pass needs, if not NULL.
 *
 * Nothing may overlap. Gates are accurate to 2e-7. Results do not depend on
 * the number of threads. */
DUSPAR_API duspar_status duspar_train_forward(const duspar_training* training,
                                              const float* const* weights,
                                              const float* x, const float* f0,
                                              const float* g0, float* y,
                                              float* f, float* g,
                                              float* reserve);

/* Runs backward through time, after `duspar_train_forward` with the same
 * `training`, weights and `x`.
 *
 * reserve     what the forward pass kept
 * dy, df, dg  gradients of y, f and g; NULL stands for zeros
 * dx          receives the gradient of x, if not NULL
 * df0, dg0    receive the gradients of f0 and g0, if not NULL
 * gradients   receive those of the weights, in their order and shapes
 *
 * The gradient of relu at 0 is 0. Nothing may overlap. */
DUSPAR_API duspar_status duspar_train_backward(
    const duspar_training* training, const float* const* weights,
    const float* x, const float* reserve, const float* dy, const float* df,
    const float* dg, float* dx, float* df0, float* dg0,
    float* const* gradients);

/* The two passes as handlers of XLA's foreign function interface, which JAX
 * registers by `jax.ffi.register_ffi_target`. Buffers are float32 but for the
 * first, (kind, threads, chunk) in int32; SpaR has no `g0`, `g`, `dg`, `dg0`.
 *
 *   forward   options, x, f0, g0, weights -> y, f, g and perhaps the reserve
 *   backward  options, x, reserve, dy, df, dg, weights
 *             -> dx, df0, dg0, gradients of the weights */
struct XLA_FFI_CallFrame;
struct XLA_FFI_Error;
DUSPAR_API struct XLA_FFI_Error* duspar_xla_forward(
    struct XLA_FFI_CallFrame* call);
DUSPAR_API struct XLA_FFI_Error* duspar_xla_backward(
    struct XLA_FFI_CallFrame* call);

#ifdef __cplusplus
}
#endif

#endif /* DUSPAR_H_ */
