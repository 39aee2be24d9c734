#include "base/cpu.h"

#include <stdio.h>

#include "duspar.h"

#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)
/* Asked of the processor itself: the compilers' own functions for this need
 * parts of their runtime that are missing when cross-compiling. */
#include <cpuid.h>

/* Whether the system saves these registers. */
static bool saves(unsigned registers) {
  const unsigned osxsave = 1u << 27, avx = 1u << 28;
  unsigned a, b, c, d, low, high;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return false;
  if ((c & osxsave) == 0 || (c & avx) == 0) return false;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & registers) == registers;
}

enum { SAVES_256 = 0x06, SAVES_512 = 0xe6 };

/* Whether all these bits are set where extensions are listed. */
static bool has_extensions(unsigned ebx, unsigned ecx) {
  unsigned a, b, c, d;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & ebx) == ebx &&
         (c & ecx) == ecx;
}

bool duspar_cpu_has(duspar_cpu_feature feature) {
  const unsigned avx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;
  unsigned a, b, c, d;
  switch (feature) {
    case DUSPAR_CPU_AVX2:
      return saves(SAVES_256) && has_extensions(1u << 5, 0);
    case DUSPAR_CPU_FMA:
      return saves(SAVES_256) && __get_cpuid(1, &a, &b, &c, &d) &&
             (c & 1u << 12) != 0;
    case DUSPAR_CPU_AVX512:
      return saves(SAVES_512) && has_extensions(avx512, 0);
    case DUSPAR_CPU_AVX512_VNNI:
      return saves(SAVES_512) && has_extensions(0, 1u << 11);
    case DUSPAR_CPU_AVX_VNNI:
      return saves(SAVES_256) && __get_cpuid_count(7, 1, &a, &b, &c, &d) &&
             (a & 1u << 4) != 0;
    default:
      return false;
  }
}
#else
#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

bool duspar_cpu_has(duspar_cpu_feature feature) {
#if defined(__aarch64__) || defined(_M_ARM64)
  if (feature == DUSPAR_CPU_NEON) return true; /* of the architecture */
#endif
#if defined(__aarch64__) && defined(__linux__)
  const unsigned long asimdhp = 1ul << 10, asimddp = 1ul << 20;
  const unsigned long asked = feature == DUSPAR_CPU_DOTPROD ? asimddp
                              : feature == DUSPAR_CPU_FP16  ? asimdhp
                                                            : 0;
  return (getauxval(AT_HWCAP) & asked) != 0;
#elif defined(__aarch64__) && defined(__APPLE__)
  int has = 0;
  size_t size = sizeof has;
  const char* asked = feature == DUSPAR_CPU_DOTPROD
                          ? "hw.optional.arm.FEAT_DotProd"
                      : feature == DUSPAR_CPU_FP16 ? "hw.optional.arm.FEAT_FP16"
                                                   : NULL;
  return asked != NULL && sysctlbyname(asked, &has, &size, NULL, 0) == 0 &&
         has != 0;
#else
  (void)feature;
  return false;
#endif
}
#endif

const char* duspar_cpu_features(void) {
  static const char* const names[DUSPAR_CPU_FEATURES] = {
      "avx2",     "fma",  "avx512",  "avx512_vnni",
      "avx_vnni", "neon", "dotprod", "fp16"};
  static _Thread_local char text[64];
  size_t end = 0;
  text[0] = '\0';
  for (int i = 0; i < DUSPAR_CPU_FEATURES; ++i) {
    if (!duspar_cpu_has((duspar_cpu_feature)i)) continue;
    end += (size_t)snprintf(text + end, sizeof text - end, "%s%s",
                            end > 0 ? " " : "", names[i]);
  }
  return text;
}
