/* Constants of built-in operators: what they are as floats, and which are
 * refused, in the forms that versions of TFLite give them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "delegate/patterns.h"

enum { ROWS = 3, COLUMNS = 2, COUNT = ROWS * COLUMNS };

static void* sized(int size, const void* data) {
  tfl_ints* made = malloc(sizeof *made + (size_t)size * sizeof(int));
  if (made == NULL) abort();
  made->size = size;
  memcpy(made->data, data, (size_t)size * sizeof(int));
  return made;
}

/* Reads a matrix of int8; returns whether it could be read. */
static bool read_bytes(int scales, int zeros, int dimension, float* to) {
  static const float scale[] = {0.5f, 2.0f, 4.0f, 8.0f};
  static const int zero[] = {1, -1, 3, 5}, shape[] = {ROWS, COLUMNS};
  int8_t bytes[COUNT] = {-128, 127, 0, 1, -1, 64};
  tfl_affine affine = {sized(scales, scale), sized(zeros, zero), dimension};
  tfl_tensor t = {.type = TFL_INT8,
                  .data = bytes,
                  .bytes = sizeof bytes,
                  .dims = sized(2, shape),
                  .quantization = {TFL_AFFINE, &affine}};
  const bool done = duspar_constant_read(&t, to, COUNT);
  CHECK(done == duspar_constant_is_readable(&t, COUNT), "%d", scales);
  CHECK(!duspar_constant_read(&t, to, COUNT + 1), "%d", scales);
  t.quantization.type = 0;
  CHECK(!duspar_constant_read(&t, to, COUNT), "%d", scales);
  for (int i = 0; done && i < COUNT; ++i) {
    const int s = scales == 1 ? 0 : i / COLUMNS;
    const int z = zeros == 1 ? 0 : i / COLUMNS;
    CHECK(to[i] == scale[s] * (float)(bytes[i] - zero[z]), "%d", i);
  }
  free(affine.scale);
  free(affine.zero_point);
  free(t.dims);
  return done;
}

static void test_halves(void) {
  static const uint16_t halves[] = {0x3c00, 0xc000, 0x0001, 0x7bff, 0x8000};
  static const float expected[] = {1, -2, 0x1p-24f, 65504, -0.0f};
  enum { HALVES = sizeof halves / sizeof halves[0] };
  uint16_t given[HALVES];
  float found[HALVES];
  memcpy(given, halves, sizeof given);
  tfl_tensor t = {.type = TFL_FLOAT16, .data = given, .bytes = sizeof given};
  CHECK(duspar_constant_read(&t, found, HALVES), "halves");
  CHECK(memcmp(found, expected, sizeof found) == 0, "halves");
  t.type = TFL_INT16;
  CHECK(!duspar_constant_read(&t, found, HALVES), "another type");
  t.type = TFL_FLOAT16;
  t.data = NULL;
  CHECK(!duspar_constant_read(&t, found, HALVES), "no data");
}

int main(void) {
  float to[COUNT + 1];
  CHECK(read_bytes(1, 1, 0, to), "one scale");
  CHECK(read_bytes(ROWS, ROWS, 0, to), "one of each row");
  CHECK(read_bytes(ROWS, 1, 0, to), "one zero point, as LiteRT 1.4 has it");
  CHECK(!read_bytes(1, ROWS, 0, to), "more zero points than scales");
  CHECK(!read_bytes(ROWS, 2, 0, to), "fewer zero points than scales");
  CHECK(!read_bytes(ROWS, ROWS, 1, to), "scales of columns");
  CHECK(!read_bytes(2, 2, 0, to), "fewer scales than rows");
  CHECK(!read_bytes(ROWS + 1, 1, 0, to), "more scales than rows");
  test_halves();
  return failures != 0;
}
