// Reads where a traceback ends.
#include "frontend/cpython/asynchronous_exception.h"

#include <frameobject.h>
#include <opcode.h>

#include "frontend/cpython/py_ref.h"

namespace md {
namespace {

// Bits of RESUME's argument: after `yield`, `yield from` or `await`. From 3.13 on a generator waits at this instruction
// and not at the yield, and what throw() raises is raised here.
constexpr int kResumedWithin = PY_VERSION_HEX >= 0x030D0000 ? 3 : 0;

}  // namespace

bool is_asynchronous(PyObject* traceback) noexcept {
  if (!traceback || !PyTraceBack_Check(traceback)) return false;
  auto* last = reinterpret_cast<PyTracebackObject*>(traceback);
  while (last->tb_next) last = last->tb_next;
  PyCodeObject* const code = PyFrame_GetCode(last->tb_frame);
  const PyRef held = PyRef::steal(reinterpret_cast<PyObject*>(code));
  const PyRef bytes = PyRef::steal(PyCode_GetCode(code));
  if (!bytes) return PyErr_Clear(), false;
  if (last->tb_lasti < 0 || last->tb_lasti + 1 >= PyBytes_GET_SIZE(bytes.get())) return false;
  const auto* at = reinterpret_cast<const unsigned char*>(PyBytes_AS_STRING(bytes.get())) + last->tb_lasti;
  return (at[0] == RESUME && !(at[1] & kResumedWithin)) || at[0] == JUMP_BACKWARD;
}

bool asynchronous_is_set() noexcept {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  const bool is = is_asynchronous(traceback);
  PyErr_Restore(type, value, traceback);
  return is;
}

}  // namespace md
