/* Template: products of bytes with x86's instructions, from SSE2 on. Takes
 *   vi, vx            the vector of int32_t, and the same as instructions know
 *                     it, such as __m256i
 *   X86, X86_BITS     as in x86_template.h
 *   X86_DOT(s, q, w)  if there is one: adds four products of bytes to each sum
 *   X86_PAIRS(q, w)   if there is one: the sums of two products, in 16 bits,
 *                     which have no room for two of 8 bits
 */
#if defined(X86_DOT)
#define VQ_WIDE(bits) ((bits) > 8)
#elif defined(X86_PAIRS)
#define VQ_WIDE(bits) ((bits) > 7)
#else
#define VQ_WIDE(bits) ((bits) > 0)
#endif

/* Four operands; if they are wide, two and two. */
typedef struct vq {
  vx first, last;
} vq;

static inline vq vq_load(int bits, const void* list, size_t k) {
  int32_t word[2];
  if (VQ_WIDE(bits)) {
    memcpy(word, (const uint16_t*)list + k, sizeof word);
    return (vq){X86(set1_epi32)(word[0]), X86(set1_epi32)(word[1])};
  }
  memcpy(word, (const uint8_t*)list + k, sizeof word[0]);
  return (vq){X86(set1_epi32)(word[0]), X86_BITS(setzero)()};
}

static inline vi vi_dot(vi sum, vx weights, vq q) {
#if defined(X86_DOT)
  return (vi)X86_DOT((vx)sum, q.first, weights);
#elif defined(X86_PAIRS)
  const vx pairs = X86_PAIRS(q.first, weights), one = X86(set1_epi16)(1);
  return (vi)X86(add_epi32)((vx)sum, X86(madd_epi16)(pairs, one));
#else
  (void)weights, (void)q;
  return sum; /* all are wide */
#endif
}

static inline vi vi_dot_wide(vi sum, vx ab, vx cd, vq q) {
  const vx fours =
      X86(add_epi32)(X86(madd_epi16)(ab, q.first), X86(madd_epi16)(cd, q.last));
  return (vi)X86(add_epi32)((vx)sum, fours);
}

static inline void vi_dot_rows(int bits, vi sums[4], const int8_t* const r[4],
                               vq q) {
  const vx a = X86_BITS(loadu)((const void*)r[0]);
  const vx b = X86_BITS(loadu)((const void*)r[1]);
  const vx c = X86_BITS(loadu)((const void*)r[2]);
  const vx d = X86_BITS(loadu)((const void*)r[3]);
  const vx ab0 = X86(unpacklo_epi8)(a, b), ab1 = X86(unpackhi_epi8)(a, b);
  const vx cd0 = X86(unpacklo_epi8)(c, d), cd1 = X86(unpackhi_epi8)(c, d);
  if (!VQ_WIDE(bits)) {
    sums[0] = vi_dot(sums[0], X86(unpacklo_epi16)(ab0, cd0), q);
    sums[1] = vi_dot(sums[1], X86(unpackhi_epi16)(ab0, cd0), q);
    sums[2] = vi_dot(sums[2], X86(unpacklo_epi16)(ab1, cd1), q);
    sums[3] = vi_dot(sums[3], X86(unpackhi_epi16)(ab1, cd1), q);
    return;
  }
  /* Weights are unsigned, so that zeros between them make them wide. */
  const vx zero = X86_BITS(setzero)();
  sums[0] = vi_dot_wide(sums[0], X86(unpacklo_epi8)(ab0, zero),
                        X86(unpacklo_epi8)(cd0, zero), q);
  sums[1] = vi_dot_wide(sums[1], X86(unpackhi_epi8)(ab0, zero),
                        X86(unpackhi_epi8)(cd0, zero), q);
  sums[2] = vi_dot_wide(sums[2], X86(unpacklo_epi8)(ab1, zero),
                        X86(unpacklo_epi8)(cd1, zero), q);
  sums[3] = vi_dot_wide(sums[3], X86(unpackhi_epi8)(ab1, zero),
                        X86(unpackhi_epi8)(cd1, zero), q);
}
