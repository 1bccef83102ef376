// Argument parsing for functions written by hand.
#include <cstring>

#include "frontend/tensors/op_function.h"

namespace md {

namespace {

int index_of(const NativeSignature& sig, PyObject* name) {
  for (std::size_t i = 0; i < sig.names.size(); ++i) {
    if (PyUnicode_CompareWithASCIIString(name, sig.names[i]) == 0) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

void parse_native(const NativeSignature& sig, const PassedArgs& call, std::span<PyObject*> out) {
  const auto positional = static_cast<Py_ssize_t>(sig.names.size()) - sig.keyword_only;
  if (call.nargs > positional) {
    throw_type_error("%s() takes %zd positional argument%s but %zd were given", sig.function, positional,
                     positional == 1 ? "" : "s", call.nargs);
  }
  for (PyObject*& o : out) o = nullptr;
  for (Py_ssize_t i = 0; i < call.nargs; ++i) out[static_cast<std::size_t>(i)] = call.args[i];
  for (Py_ssize_t i = 0; i < call.keyword_count(); ++i) {
    PyObject* name = PyTuple_GET_ITEM(call.kwnames, i);
    const int at = index_of(sig, name);
    if (at < 0) throw_type_error("%s() got an unexpected keyword argument '%U'", sig.function, name);
    PyObject*& slot = out[static_cast<std::size_t>(at)];
    if (slot) throw_type_error("%s() got multiple values for argument '%U'", sig.function, name);
    slot = call.args[call.nargs + i];
  }
  for (int i = 0; i < sig.required; ++i) {
    if (!out[static_cast<std::size_t>(i)]) {
      throw_type_error("%s() missing 1 required positional argument: \"%s\"", sig.function,
                       sig.names[static_cast<std::size_t>(i)]);
    }
  }
}

void no_arguments(const char* function, const PassedArgs& call, Py_ssize_t allowed) {
  if (call.nargs > allowed || call.keyword_count()) {
    throw_type_error("%s() takes no arguments (%zd given)", function, call.nargs - allowed + call.keyword_count());
  }
}

}  // namespace md
