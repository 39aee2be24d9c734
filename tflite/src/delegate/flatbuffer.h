/* Reading FlatBuffers, which .tflite files are: tables of fields that are found
 * by their number, with offsets from where they stand.
 *
 * Every read is checked against the end of the bytes, whatever they hold.
 */
#ifndef DUSPAR_DELEGATE_FLATBUFFER_H_
#define DUSPAR_DELEGATE_FLATBUFFER_H_

#include <stdbool.h>
#include <stdint.h>

typedef struct file_bytes {
  const uint8_t* bytes;
  uint64_t size;
} file_bytes;

/* What a field refers to; a position of 0 is a field that is not there. */
typedef struct file_vector {
  uint64_t position; /* of the first entry */
  uint64_t count;
} file_vector;

/* All of these return false if what they read lies outside of the file. */

/* Reads `width` bytes (1 to 8), least significant first. */
bool duspar_file_number(file_bytes file, uint64_t position, uint64_t width,
                        uint64_t* number);

/* Sets `field` to where a table has its field `number`, or to 0. */
bool duspar_file_field(file_bytes file, uint64_t table, int number,
                       uint64_t* field);

/* Finds a field that is a vector, or a text, of entries of `width` bytes. */
bool duspar_file_vector(file_bytes file, uint64_t table, int number, int width,
                        file_vector* found);

/* Sets `table` to entry `index` of a vector of tables. */
bool duspar_file_table(file_bytes file, file_vector tables, uint64_t index,
                       uint64_t* table);

#endif /* DUSPAR_DELEGATE_FLATBUFFER_H_ */
