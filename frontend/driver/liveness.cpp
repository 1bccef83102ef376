// Backward data flow over canonical code for local slots, and which objects' ends a program can see.
#include "frontend/driver/liveness.h"

#include <algorithm>
#include <ranges>

#include "frontend/bytecode/effects.h"
#include "frontend/tensors/array_view.h"
#include "frontend/tensors/handlers.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/functions.h"

namespace md {

namespace {

bool looks_at_frame(const CodeBody& body) {
  for (auto& n : body.names)
    for (const char* name :
         {"locals", "vars", "eval", "exec", "dir", "_getframe", "currentframe", "stack", "breakpoint", "set_trace"})
      if (PyUnicode_CompareWithASCIIString(n.get(), name) == 0) return true;
  return false;
}

std::vector<int> successors(const CodeBody& body, int at) {
  const Instruction& i = body.instructions[static_cast<std::size_t>(at)];
  std::vector<int> out;
  if (!ends_block(i.op) && at + 1 < static_cast<int>(body.instructions.size())) out.push_back(at + 1);
  if (i.target >= 0) out.push_back(i.target);
  if (i.handler.label >= 0) out.push_back(i.handler.label);
  return out;
}

}  // namespace

namespace {

constexpr int kMaxDepth = 2;
constexpr Py_ssize_t kMaxItems = 32;

// Of a real object: whatever a weak reference may show, or what acts when it goes. Tensors and arrays are let go early.
bool end_is_seen(PyObject* o, int depth) {
  if (is_tensor(o) || is_plain_array(o) || is_numpy_scalar(o) || PyModule_Check(o) || PyCFunction_Check(o))
    return false;
  PyTypeObject* type = Py_TYPE(o);
  if (PyList_CheckExact(o) || PyTuple_CheckExact(o)) {
    const Py_ssize_t n = depth < kMaxDepth ? std::min(PySequence_Fast_GET_SIZE(o), kMaxItems) : 0;
    PyObject** items = PySequence_Fast_ITEMS(o);
    return std::any_of(items, items + n, [&](PyObject* x) { return end_is_seen(x, depth + 1); });
  }
  if (PyDict_CheckExact(o)) {
    PyObject *k, *v;
    Py_ssize_t left = depth < kMaxDepth ? kMaxItems : 0;
    for (Py_ssize_t pos = 0; left-- > 0 && PyDict_Next(o, &pos, &k, &v);)
      if (end_is_seen(k, depth + 1) || end_is_seen(v, depth + 1)) return true;
    return false;
  }
  if (PyType_Check(o)) return reinterpret_cast<PyTypeObject*>(o)->tp_flags & Py_TPFLAGS_HEAPTYPE;
  return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) || type->tp_weaklistoffset != 0 || PyWeakref_Check(o) ||
         has_finalizer(type);
}

}  // namespace

bool end_is_seen(const ValueRef& v, int depth) {
  const auto any = [&](const std::vector<ValueRef>& items) {
    return depth < kMaxDepth &&
           std::ranges::any_of(
               items | std::views::take(kMaxItems), [&](const ValueRef& x) { return end_is_seen(x, depth + 1); });
  };
  if (!v) return false;
  switch (v->kind) {
    case ValueKind::Object:
    case ValueKind::Exception:
    case ValueKind::Generator:
    case ValueKind::Opaque:
    case ValueKind::Function:
    case ValueKind::Method:
    case ValueKind::Partial:
    case ValueKind::Polyfilled:
    case ValueKind::Deque:
      return true;
    case ValueKind::Lazy:
      return !v->real || end_is_seen(v->real.get(), depth);
    case ValueKind::Class:
      return v->real && end_is_seen(v->real.get(), depth);
    case ValueKind::Cell:
      return end_is_seen(static_cast<CellValue*>(v.get())->content, depth);
    case ValueKind::List:
      return any(as<ListValue>(v)->items);
    case ValueKind::Tuple:
      return any(as<TupleValue>(v)->items);
    case ValueKind::Dict:
      return std::ranges::any_of(as<DictValue>(v)->live() | std::views::take(kMaxItems), [&](const auto& e) {
        return depth < kMaxDepth && (end_is_seen(e.key, depth + 1) || end_is_seen(e.value, depth + 1));
      });
    default:
      return false;
  }
}

// Of every instruction; empty: everything is alive everywhere.
static std::vector<std::vector<bool>> live_everywhere(const CodeBody& body) {
  const std::size_t slots = body.slot_names.size(), n = body.instructions.size();
  if (looks_at_frame(body)) return {};
  std::vector<std::vector<bool>> before(n, std::vector<bool>(slots, false));
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t k = n; k-- > 0;) {
      std::vector<bool> live(slots, false);
      for (int s : successors(body, static_cast<int>(k)))
        for (std::size_t v = 0; v < slots; ++v)
          if (before[static_cast<std::size_t>(s)][v]) live[v] = true;
      const Instruction& i = body.instructions[k];
      if (replaces_slot(i.op)) live[static_cast<std::size_t>(i.a)] = false;
      if (reads_slot(i.op)) live[static_cast<std::size_t>(i.a)] = true;
      if (live != before[k]) before[k] = std::move(live), changed = true;
    }
  }
  return before;
}

std::vector<bool> live_before(const CodeBody& body, int instruction) {
  const auto before = live_everywhere(body);
  if (before.empty()) return std::vector<bool>(body.slot_names.size(), true);
  return before[static_cast<std::size_t>(instruction)];
}

std::vector<bool> live_after(const CodeBody& body, int instruction) {
  const std::size_t slots = body.slot_names.size();
  const auto before = live_everywhere(body);
  if (before.empty()) return std::vector<bool>(slots, true);
  std::vector<bool> out(slots, false);
  for (int s : successors(body, instruction))
    for (std::size_t v = 0; v < slots; ++v)
      if (before[static_cast<std::size_t>(s)][v]) out[v] = true;
  return out;
}

}  // namespace md
