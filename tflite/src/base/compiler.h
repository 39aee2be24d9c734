/* What compilers are told about functions and loops. */
#ifndef DUSPAR_BASE_COMPILER_H_
#define DUSPAR_BASE_COMPILER_H_

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#define NOINLINE static __attribute__((noinline))
#else
#define INLINE static inline
#define NOINLINE static
#endif

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#elif defined(__GNUC__)
#define UNROLL _Pragma("GCC unroll 16")
#else
#define UNROLL
#endif

#endif /* DUSPAR_BASE_COMPILER_H_ */
