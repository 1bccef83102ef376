// Writes containers element by element, in the order in which Python asks the elements.
#include "frontend/operators/container_text.h"

#include <algorithm>

#include "frontend/cpython/object_text.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/containers.h"
#include "frontend/values/iterators.h"

namespace md {

namespace {

// Being written: one that holds itself, or whose elements ask for its text, is written as dots inside.
class Writing {
 public:
  explicit Writing(const Value* v) : again_(std::ranges::find(under_way(), v) != under_way().end()) {
    under_way().push_back(v);
  }
  ~Writing() { under_way().pop_back(); }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;
  bool again() const { return again_; }

 private:
  static std::vector<const Value*>& under_way() {
    thread_local std::vector<const Value*> values;
    return values;
  }
  bool again_;
};

constexpr int kRepr = 2;

// The text of an element after those before it; false: only a run knows it.
bool append(Tracer& t, const ValueRef& element, std::string& out) {
  const PyRef text = t.realize(t.format_value(element, kRepr, {}))->as_constant();
  if (!text || !PyUnicode_Check(text.get())) return false;
  out += text_of(text.get());
  return true;
}

bool append_all(Tracer& t, const std::vector<ValueRef>& elements, std::string& out) {
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (i > 0) out += ", ";
    if (!append(t, elements[i], out)) return false;
  }
  return true;
}

bool append_entries(Tracer& t, const ValueRef& dict, std::string& out) {
  const std::vector<ValueRef> keys = collect(t, dict);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i > 0) out += ", ";
    if (!append(t, keys[i], out)) return false;
    out += ": ";
    const ValueRef value = static_cast<DictValue&>(*dict).find(t, keys[i]);
    if (!value || !append(t, value, out)) return false;
  }
  return true;
}

}  // namespace

ValueRef container_text(Tracer& t, const ValueRef& container) {
  PyTypeObject* const type = container->python_type();
  const bool list = type == &PyList_Type && container->kind == ValueKind::List;
  const bool tuple = type == &PyTuple_Type && container->kind == ValueKind::Tuple;
  const bool dict = type == &PyDict_Type && container->kind == ValueKind::Dict;
  if (!list && !tuple && !dict) return {};
  const char *open = list ? "[" : tuple ? "(" : "{", *close = list ? "]" : tuple ? ")" : "}";
  const Writing writing(container.get());
  std::string out = open;
  if (writing.again()) {
    out += "...";
  } else if (dict) {
    if (!append_entries(t, container, out)) return {};
  } else {
    const std::vector<ValueRef> elements = collect(t, container);
    if (!append_all(t, elements, out)) return {};
    if (tuple && elements.size() == 1) out += ",";
  }
  out += close;
  return t.constant(checked(PyUnicode_FromStringAndSize(out.data(), static_cast<Py_ssize_t>(out.size()))));
}

}  // namespace md
