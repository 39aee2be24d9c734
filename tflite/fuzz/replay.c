/* Runs a fuzzer's function on files, with any compiler. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

static int run_file(const char* path) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) {
    perror(path);
    return 1;
  }
  /* Exactly as much memory as there are bytes, so that sanitizers see. */
  uint8_t* data = NULL;
  size_t size = 0;
  for (int byte = fgetc(file); byte != EOF; byte = fgetc(file)) {
    data = realloc(data, size + 1);
    if (data == NULL) return 1;
    data[size++] = (uint8_t)byte;
  }
  fclose(file);
  LLVMFuzzerTestOneInput(data, size);
  free(data);
  return 0;
}

int main(int count, char** paths) {
  if (count < 2) {
    fprintf(stderr, "usage: %s FILE ...\n", paths[0]);
    return 2;
  }
  for (int i = 1; i < count; ++i) {
    if (run_file(paths[i]) != 0) return 1;
  }
  printf("%d files\n", count - 1);
  return 0;
}
