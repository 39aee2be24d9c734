/* The order in which lanes that are wanted come to the front of a vector. */
#ifndef DUSPAR_SIMD_COMPACTION_H_
#define DUSPAR_SIMD_COMPACTION_H_

#include <stdint.h>

/* Of four lanes: where their 16 bytes come from, and how many lanes they are.
 * Bytes beyond 15 are nothing. */
typedef struct duspar_compaction_order {
  _Alignas(16) uint8_t bytes[16];
  uint32_t count;
} duspar_compaction_order;

#define DUSPAR_LANE(n) 4 * n, 4 * n + 1, 4 * n + 2, 4 * n + 3
#define DUSPAR_LANES(a, b, c, d) \
  {DUSPAR_LANE(a), DUSPAR_LANE(b), DUSPAR_LANE(c), DUSPAR_LANE(d)}

/* By the set of wanted lanes, a bit for each; lane 32 is none. */
static const duspar_compaction_order duspar_compaction[16] = {
    {DUSPAR_LANES(32, 32, 32, 32), 0}, {DUSPAR_LANES(0, 32, 32, 32), 1},
    {DUSPAR_LANES(1, 32, 32, 32), 1},  {DUSPAR_LANES(0, 1, 32, 32), 2},
    {DUSPAR_LANES(2, 32, 32, 32), 1},  {DUSPAR_LANES(0, 2, 32, 32), 2},
    {DUSPAR_LANES(1, 2, 32, 32), 2},   {DUSPAR_LANES(0, 1, 2, 32), 3},
    {DUSPAR_LANES(3, 32, 32, 32), 1},  {DUSPAR_LANES(0, 3, 32, 32), 2},
    {DUSPAR_LANES(1, 3, 32, 32), 2},   {DUSPAR_LANES(0, 1, 3, 32), 3},
    {DUSPAR_LANES(2, 3, 32, 32), 2},   {DUSPAR_LANES(0, 2, 3, 32), 3},
    {DUSPAR_LANES(1, 2, 3, 32), 3},    {DUSPAR_LANES(0, 1, 2, 3), 4},
};

/* The same of eight lanes: a byte for each that is wanted, the first lowest. */
#define DUSPAR_LANES0(e) (e), (e) << 8
#define DUSPAR_LANES1(e) DUSPAR_LANES0(e), DUSPAR_LANES0((e) << 8 | 1)
#define DUSPAR_LANES2(e) DUSPAR_LANES1(e), DUSPAR_LANES1((e) << 8 | 2)
#define DUSPAR_LANES3(e) DUSPAR_LANES2(e), DUSPAR_LANES2((e) << 8 | 3)
#define DUSPAR_LANES4(e) DUSPAR_LANES3(e), DUSPAR_LANES3((e) << 8 | 4)
#define DUSPAR_LANES5(e) DUSPAR_LANES4(e), DUSPAR_LANES4((e) << 8 | 5)
#define DUSPAR_LANES6(e) DUSPAR_LANES5(e), DUSPAR_LANES5((e) << 8 | 6)
#define DUSPAR_LANES7(e) DUSPAR_LANES6(e), DUSPAR_LANES6((e) << 8 | 7)
static const uint64_t duspar_eight_lanes[256] = {DUSPAR_LANES7(0ull)};

#endif /* DUSPAR_SIMD_COMPACTION_H_ */
