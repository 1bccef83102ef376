// A text that waits is a format string and the values it is filled with, which no later write reaches.
#include "frontend/marked_callables/texts.h"

#include <algorithm>

#include "frontend/cpython/frame_access.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/cpython/object_text.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/number_value.h"
#include "frontend/values/size_value.h"
#include "frontend/values/tensor.h"
#include "ir/sizes/shape_env.h"

namespace md {

namespace {

MarkedValue* waiting_text(const ValueRef& v) {
  auto* text = as<MarkedValue>(v);
  return text && text->which == MarkKind::Text ? text : nullptr;
}

Ref<MarkedValue> make_text(const std::string& format, std::vector<ValueRef> parts, bool waits) {
  auto made = make_ref<MarkedValue>(
      MarkKind::Text, PyRef(),
      checked(PyUnicode_DecodeUTF8(format.data(), static_cast<Py_ssize_t>(format.size()), "strict")));
  made->parts = std::move(parts);
  made->waits = waits;
  return made;
}

// A number that the run finds out, and nobody changes.
bool is_found_by_graph(const ValueRef& v) {
  if (auto* size = as<SizeValue>(v)) return !size->size.expr()->env->is_backed(size->size);
  auto* number = as<NumberValue>(v);
  return v->kind == ValueKind::SizeTest || (number && !number->of_plan);
}

bool is_plain_tensor(const TensorValue& v) {
  return !v.stand_in && !v.of_instance && v.notes.empty() && v.python_type() == tensor_type;
}

// A copy that is written as the value is now; null: there is none. A tensor that takes part in autograd tells so, but
// for a number.
ValueRef copied(Tracer& t, const ValueRef& raw, bool as_number) {
  const ValueRef v = t.realize(raw);
  if (v->kind == ValueKind::Constant || is_found_by_graph(v)) return v;
  if (auto* tensor = as<TensorValue>(v)) {
    if (!is_plain_tensor(*tensor) || (tensor->type.requires_grad && !as_number)) return {};
    const ValueRef alone = tensor->type.requires_grad ? t.call_op("detach", Spelling::Method, CallArgs{{v}, {}}) : v;
    return t.call_op("clone", Spelling::Method, CallArgs{{alone}, {}});
  }
  auto* list = as<ListValue>(v);
  auto* tuple = as<TupleValue>(v);
  if (is_stack_short() || (!list && !tuple)) return {};
  if (v->python_type() != (list ? &PyList_Type : &PyTuple_Type)) return {};
  std::vector<ValueRef> items = list ? list->items : tuple->items;
  for (ValueRef& item : items)
    if (!(item = copied(t, item, false))) return {};
  return list ? ValueRef(make_ref<ListValue>(std::move(items))) : ValueRef(make_ref<TupleValue>(std::move(items)));
}

// What stands for `v` while it is not known which value it has: format() refuses it as it refuses `v`. Null: whether it
// does depends on the value.
PyRef example_of(const ValueRef& v, const std::string& spec) {
  auto* tensor = as<TensorValue>(v);
  if (waiting_text(v)) return checked(PyUnicode_FromString(""));
  if (v->kind == ValueKind::Number) return checked(PyFloat_FromDouble(1));
  if (v->kind == ValueKind::SizeTest) return PyRef::borrow(Py_True);
  if (v->kind == ValueKind::Size) return spec.ends_with('c') ? PyRef() : checked(PyLong_FromLong(1));
  if (!tensor || tensor->type.dim() != 0) return {};
  const DType dtype = tensor->type.dtype;
  if (is_complex(dtype)) return checked(PyComplex_FromDoubles(1, 1));
  if (is_floating(dtype)) return checked(PyFloat_FromDouble(1));
  if (spec.ends_with('c')) return {};
  return dtype == DType::Bool ? PyRef::borrow(Py_True) : checked(PyLong_FromLong(1));
}

// The specification can be written into a format string.
bool is_plain_specification(const std::string& spec) { return spec.find_first_of("{}") == std::string::npos; }

// Raises what format() raises for a value of this kind; false: nobody knows.
bool accepts(Tracer& t, const ValueRef& v, const PyRef& spec) {
  if (PyUnicode_GET_LENGTH(spec.get()) == 0) return true;
  const PyRef example = example_of(v, text_of(spec.get()));
  if (auto* tensor = as<TensorValue>(v); tensor && !example && tensor->type.dim() != 0)
    t.raise(PyExc_TypeError, "unsupported format string passed to Tensor.__format__");
  if (!example || !is_plain_specification(text_of(spec.get()))) return false;
  if (!PyRef::steal(PyObject_Format(example.get(), spec.get()))) t.raise_current();
  return true;
}

std::string print_fields(const std::vector<PyRef>& fields) {
  std::string out;
  for (const PyRef& f : fields) out += (out.empty() ? "" : ", ") + repr_of(f.get());
  return "{" + out + "}";
}

// For a function of reorderable_logging_functions: null if there are none.
ValueRef logged_text(Tracer& t, const ValueRef& v, int conversion, const std::string& spec) {
  const PyRef& functions = t.config.reorderable_logging_functions;
  if (v->kind != ValueKind::Tensor || !functions || PySet_GET_SIZE(functions.get()) == 0) return {};
  static const char* const conversions[] = {"", "!s", "!r", "!a"};
  return make_text(std::string("{") + conversions[conversion] + (spec.empty() ? "" : ":" + spec) + "}", {v}, false);
}

bool holds_tensor(Tracer& t, const ValueRef& raw) {
  const ValueRef v = t.realize(raw);
  auto* list = as<ListValue>(v);
  auto* tuple = as<TupleValue>(v);
  if (!list && !tuple) return v->kind == ValueKind::Tensor || is_found_by_graph(v);
  const auto inside = [&](const ValueRef& item) { return !is_stack_short() && holds_tensor(t, item); };
  return std::ranges::any_of(list ? list->items : tuple->items, inside);
}

}  // namespace

ValueRef deferred_text(Tracer& t, const ValueRef& v, int conversion, const ValueRef& spec) {
  MarkedValue* const text = waiting_text(v);
  if (conversion > 3 || (!text && (v->kind == ValueKind::Constant || !holds_tensor(t, v)))) return {};
  const PyRef known = spec ? t.realize(spec)->as_constant() : checked(PyUnicode_FromString(""));
  if (!known || !PyUnicode_Check(known.get())) return {};
  const std::string wanted = text_of(known.get());
  const bool is_free = t.graphs.outer.empty();
  if (text && conversion < 2 && wanted.empty())
    return make_text(text_of(text->payload.get()), text->parts, text->waits);
  if (text && (conversion != 0 || !accepts(t, v, known))) return {};
  if (text) return make_text("{:" + wanted + "}", {v}, text->waits);
  const bool is_number = is_found_by_graph(v);  // whose str() is its format(), and its repr()
  if ((conversion == 0 || (is_number && wanted.empty())) && is_free && accepts(t, v, known)) {
    auto* tensor = as<TensorValue>(v);
    if (wanted.empty() || tensor || is_number)
      if (ValueRef copy = copied(t, v, tensor && tensor->type.dim() == 0))
        return make_text(wanted.empty() ? "{}" : "{:" + wanted + "}", {std::move(copy)}, true);
  }
  return logged_text(t, v, conversion, wanted);
}

ValueRef joined_text(const std::vector<ValueRef>& pieces) {
  if (!std::ranges::any_of(pieces, [](const ValueRef& v) { return waiting_text(v) != nullptr; })) return {};
  std::string format;
  std::vector<ValueRef> parts;
  std::vector<PyRef> fields;
  bool waits = true, are_texts = true;
  for (const ValueRef& v : pieces) {
    if (auto* text = waiting_text(v)) {
      const auto is_taken = [&](const PyRef& name) {
        return std::ranges::any_of(fields, [&](auto& f) { return PyUnicode_Compare(f.get(), name.get()) == 0; });
      };
      if (std::ranges::any_of(text->fields, is_taken))
        graph_break<GB0020>("['" + format + "']", print_fields(fields), print_fields(text->fields));
      format += text_of(text->payload.get());
      parts.insert(parts.end(), text->parts.begin(), text->parts.end());
      fields.insert(fields.end(), text->fields.begin(), text->fields.end());
      waits = waits && text->waits;
      continue;
    }
    PyRef c = v->as_constant();
    are_texts = are_texts && c && PyUnicode_Check(c.get());  // fields that clash are told first
    if (!are_texts) continue;
    for (const char x : text_of(c.get())) format += x == '{' || x == '}' ? std::string(2, x) : std::string(1, x);
  }
  if (!are_texts) return {};
  return make_text(format, std::move(parts), waits);
}

ValueRef text_of_fields(const ValueRef& v, const ValueRef& keywords) {
  MarkedValue* const text = waiting_text(v);
  auto* given = as<DictValue>(keywords);
  if (!text || !given) return v;
  auto made = make_text(text_of(text->payload.get()), text->parts, text->waits);
  for (auto& entry : given->live()) {
    const ValueRef seen = entry.value->realized_as() ? entry.value->realized_as() : entry.value;
    if (seen->kind == ValueKind::Tensor || waiting_text(seen)) made->fields.push_back(entry.key->as_constant());
  }
  return made;
}

}  // namespace md
