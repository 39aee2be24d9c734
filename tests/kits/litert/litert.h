/* What the C example needs of LiteRT 2, where its headers are not at hand: the
 * package `ai-edge-litert` brings the library alone. Written after the headers
 * of litert/c in LiteRT 2.2 to 2.3, whose names and types these are. */
#ifndef LITERT_STAND_IN_H_
#define LITERT_STAND_IN_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* litert_common.h */
typedef enum { kLiteRtStatusOk = 0 } LiteRtStatus;
enum { kLiteRtHwAcceleratorCpu = 1 };
typedef struct LiteRtCompiledModelT* LiteRtCompiledModel;
typedef struct LiteRtEnvironmentT* LiteRtEnvironment;
typedef struct LiteRtModelT* LiteRtModel;
typedef struct LiteRtOptionsT* LiteRtOptions;
typedef struct LiteRtTensorBufferT* LiteRtTensorBuffer;

/* litert_layout.h and litert_model_types.h */
typedef struct {
  unsigned int rank : 7;
  unsigned int has_strides : 1;
  int32_t dimensions[8];
  uint32_t strides[8];
} LiteRtLayout;
typedef enum { kLiteRtElementTypeFloat32 = 1 } LiteRtElementType;
typedef struct {
  LiteRtElementType element_type;
  LiteRtLayout layout;
} LiteRtRankedTensorType;

/* litert_environment.h and litert_model.h */
LiteRtStatus LiteRtCreateEnvironment(int, const void*, LiteRtEnvironment*);
void LiteRtDestroyEnvironment(LiteRtEnvironment);
LiteRtStatus LiteRtCreateModelFromBuffer(LiteRtEnvironment, const void*, size_t,
                                         LiteRtModel*);
void LiteRtDestroyModel(LiteRtModel);

/* litert_options.h and litert_custom_op_kernel.h */
typedef struct {
  LiteRtStatus (*Init)(void*, const void*, size_t);
  LiteRtStatus (*GetOutputLayouts)(void*, size_t, const LiteRtLayout*, size_t,
                                   LiteRtLayout*);
  LiteRtStatus (*Run)(void*, size_t, const LiteRtTensorBuffer*, size_t,
                      LiteRtTensorBuffer*);
  LiteRtStatus (*Destroy)(void*);
} LiteRtCustomOpKernel;
LiteRtStatus LiteRtCreateOptions(LiteRtOptions*);
void LiteRtDestroyOptions(LiteRtOptions);
LiteRtStatus LiteRtSetOptionsHardwareAccelerators(LiteRtOptions, int);
LiteRtStatus LiteRtAddCustomOpKernelOption(LiteRtOptions, const char*, int,
                                           const LiteRtCustomOpKernel*, void*);

/* litert_compiled_model.h */
LiteRtStatus LiteRtCreateCompiledModel(LiteRtEnvironment, LiteRtModel,
                                       LiteRtOptions, LiteRtCompiledModel*);
void LiteRtDestroyCompiledModel(LiteRtCompiledModel);
LiteRtStatus LiteRtGetCompiledModelInputTensorLayout(LiteRtCompiledModel,
                                                     size_t, size_t,
                                                     LiteRtLayout*);
LiteRtStatus LiteRtGetCompiledModelOutputTensorLayouts(LiteRtCompiledModel,
                                                       size_t, size_t,
                                                       LiteRtLayout*, bool);
LiteRtStatus LiteRtRunCompiledModel(LiteRtCompiledModel, size_t, size_t,
                                    LiteRtTensorBuffer*, size_t,
                                    LiteRtTensorBuffer*);

/* litert_tensor_buffer.h and litert_tensor_buffer_types.h */
#define LITERT_HOST_MEMORY_BUFFER_ALIGNMENT 64
typedef enum {
  kLiteRtTensorBufferLockModeRead = 0,
  kLiteRtTensorBufferLockModeWrite = 1,
} LiteRtTensorBufferLockMode;
LiteRtStatus LiteRtCreateTensorBufferFromHostMemory(
    const LiteRtRankedTensorType*, void*, size_t, void (*)(void*),
    LiteRtTensorBuffer*);
LiteRtStatus LiteRtGetTensorBufferTensorType(LiteRtTensorBuffer,
                                             LiteRtRankedTensorType*);
LiteRtStatus LiteRtGetTensorBufferSize(LiteRtTensorBuffer, size_t*);
LiteRtStatus LiteRtLockTensorBuffer(LiteRtTensorBuffer, void**,
                                    LiteRtTensorBufferLockMode);
LiteRtStatus LiteRtUnlockTensorBuffer(LiteRtTensorBuffer);
void LiteRtDestroyTensorBuffer(LiteRtTensorBuffer);

#endif /* LITERT_STAND_IN_H_ */
