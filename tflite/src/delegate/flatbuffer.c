#include "delegate/flatbuffer.h"

bool duspar_file_number(file_bytes file, uint64_t position, uint64_t width,
                        uint64_t* number) {
  if (position > file.size || width > file.size - position) return false;
  *number = 0;
  for (uint64_t i = width; i-- > 0;) {
    *number = *number << 8 | file.bytes[position + i];
  }
  return true;
}

bool duspar_file_field(file_bytes file, uint64_t table, int number,
                       uint64_t* field) {
  uint64_t distance, size, offset;
  *field = 0;
  if (!duspar_file_number(file, table, 4, &distance)) return false;
  const int64_t vtable = (int64_t)table - (int32_t)distance;
  if (vtable < 0 || !duspar_file_number(file, (uint64_t)vtable, 2, &size))
    return false;
  const uint64_t entry = 4 + 2 * (uint64_t)number;
  if (entry + 2 > size) return true;
  if (!duspar_file_number(file, (uint64_t)vtable + entry, 2, &offset))
    return false;
  if (offset != 0) *field = table + offset;
  return true;
}

bool duspar_file_vector(file_bytes file, uint64_t table, int number, int width,
                        file_vector* found) {
  uint64_t field, offset;
  *found = (file_vector){0, 0};
  if (!duspar_file_field(file, table, number, &field)) return false;
  if (field == 0) return true;
  if (!duspar_file_number(file, field, 4, &offset)) return false;
  if (!duspar_file_number(file, field + offset, 4, &found->count)) return false;
  found->position = field + offset + 4;
  return (file.size - found->position) / (uint64_t)width >= found->count;
}

bool duspar_file_table(file_bytes file, file_vector tables, uint64_t index,
                       uint64_t* table) {
  const uint64_t entry = tables.position + 4 * index;
  uint64_t offset;
  if (!duspar_file_number(file, entry, 4, &offset)) return false;
  *table = entry + offset;
  return true;
}
