/* What every part of the library needs: statuses, errors, the processor. */
#ifndef DUSPAR_BASE_H_
#define DUSPAR_BASE_H_

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

typedef enum duspar_status {
  DUSPAR_OK = 0,
  DUSPAR_INVALID = 1,   /* an argument is not what it must be */
  DUSPAR_NO_MEMORY = 2, /* an allocation failed */
} duspar_status;

/* Returns DUSPAR_INTERFACE of the library, which a caller compares with the
 * one that it was compiled for. */
DUSPAR_API int32_t duspar_interface(void);

/* Returns the version of the package, such as "0.2.0". */
DUSPAR_API const char* duspar_version(void);

/* Returns what the last failure in the calling thread was about, or "". The
 * text stays valid until the next failure in this thread. */
DUSPAR_API const char* duspar_last_error(void);

/* Returns the processor's features that kernels ask for, separated by
 * spaces, such as "avx2 fma"; "" if it has none of them. */
DUSPAR_API const char* duspar_cpu_features(void);

/* Returns how many kernels the library has for this architecture. Kernels
 * compute the same, with other instructions. The environment variable
 * DUSPAR_KERNEL names the one that is used where the program names none, such
 * as "avx2" to measure what processors without AVX-512 do. */
DUSPAR_API size_t duspar_kernel_count(void);

/* Returns the name of kernel `index`, fastest first and "reference" last, or
 * NULL beyond the end. The one of DUSPAR_KERNEL comes before all others. */
DUSPAR_API const char* duspar_kernel_name(size_t index);

/* Returns 1 if this processor can run kernel `index`, else 0. */
DUSPAR_API int32_t duspar_kernel_usable(size_t index);

#ifdef __cplusplus
}
#endif

#endif /* DUSPAR_BASE_H_ */
