/* What compilers are told about functions, loops and sums. */
#ifndef DUSPAR_BASE_COMPILER_H_
#define DUSPAR_BASE_COMPILER_H_

/* The same sums on every processor: no fused multiply-add where there is one.
 * Clang would make them; GCC does not with -std=c11. Sources that compute with
 * floats include this before they do. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#if defined(__GNUC__)
#define DUSPAR_INLINE static inline __attribute__((always_inline))
#define DUSPAR_NOINLINE static __attribute__((noinline))
#else
#define DUSPAR_INLINE static inline
#define DUSPAR_NOINLINE static
#endif

#if defined(__clang__)
#define DUSPAR_UNROLL _Pragma("clang loop unroll(full)")
#elif defined(__GNUC__)
#define DUSPAR_UNROLL _Pragma("GCC unroll 16")
#else
#define DUSPAR_UNROLL
#endif

#endif /* DUSPAR_BASE_COMPILER_H_ */
