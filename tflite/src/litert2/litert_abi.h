/* The part of LiteRT 2's C ABI that a kernel needs: what litert_layout.h,
 * litert_model_types.h, litert_tensor_buffer.h and litert_custom_op_kernel.h of
 * LiteRT's folder litert/c declare in versions 2.1 to 2.3. Names differ from
 * LiteRT's, so that both can be included; `tests/abi_official.c` compares them.
 */
#ifndef DUSPAR_LITERT2_LITERT_ABI_H_
#define DUSPAR_LITERT2_LITERT_ABI_H_

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum { LRT_OK = 0, LRT_INVALID = 1, LRT_FAILURE = 3 };
enum { LRT_MAX_RANK = 8 };
enum { LRT_LOCK_READ = 0, LRT_LOCK_WRITE = 1 };

typedef struct lrt_layout {
  unsigned int rank : 7;
  unsigned int has_strides : 1;
  int32_t dimensions[LRT_MAX_RANK];
  uint32_t strides[LRT_MAX_RANK];
} lrt_layout;

typedef struct lrt_tensor_type {
  int element_type; /* the numbers of TFLite */
  lrt_layout layout;
} lrt_tensor_type;

/* Statuses are returned and not looked at; one `user_data` for all nodes. */
typedef struct lrt_kernel {
  int (*init)(void* user_data, const void* options, size_t size);
  int (*layouts)(void* user_data, size_t input_count, const lrt_layout* inputs,
                 size_t output_count, lrt_layout* outputs);
  int (*run)(void* user_data, size_t input_count, void* const* inputs,
             size_t output_count, void** outputs);
  int (*destroy)(void* user_data);
} lrt_kernel;

static_assert(sizeof(lrt_layout) == 68, "lrt_layout");
static_assert(offsetof(lrt_layout, dimensions) == 4, "lrt_layout.dimensions");
static_assert(sizeof(lrt_tensor_type) == 72, "lrt_tensor_type");
static_assert(offsetof(lrt_tensor_type, layout) == 4, "lrt_tensor_type.layout");
static_assert(sizeof(lrt_kernel) == 4 * sizeof(void*), "lrt_kernel");

#endif /* DUSPAR_LITERT2_LITERT_ABI_H_ */
