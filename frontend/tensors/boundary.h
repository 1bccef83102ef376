// C++ exceptions stop here.
#pragma once

#include <new>

#include "ir/core/error.h"

namespace md {

void raise_op_error(const OpError& e);

template <class F>
PyObject* guarded(F&& f) {
  try {
    return f();
  } catch (const PythonError&) {
  } catch (const OpError& e) {
    raise_op_error(e);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    PyErr_Format(PyExc_SystemError, "minidynamo internal error: %s", e.what());
  }
  return nullptr;
}

}  // namespace md
