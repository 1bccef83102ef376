// Where an io.BytesIO stands, without running code of the program.
#pragma once

#include <cstdint>

#include "frontend/cpython/py_ref.h"

namespace md {

struct StreamPlace {
  std::int64_t at, size;  // in bytes; a position may lie beyond the size
};

bool is_byte_stream(PyObject* o);  // exactly an io.BytesIO
// False: something else, or closed. Leaves the stream as it was and sets no exception.
bool read_stream(PyObject* o, StreamPlace& place);
// Whether a stream of the library is closed, as True or False, which live for ever. Null: it is another object, or only
// code of the program could tell.
PyObject* stream_closed(PyObject* o);

}  // namespace md
