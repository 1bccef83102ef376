// repr, format and print options of tensors.
#include <algorithm>

#include "frontend/tensors/subclass.h"
#include "frontend/tensors/tensor_parts.h"
#include "frontend/tensors/text_layout.h"
#include "ir/batching/levels.h"
#include "ir/run/lazy_calls.h"
#include "ir/tensor/batched.h"

namespace md {

namespace {

// Process-wide, guarded by the GIL.
PrintOptions& options() {
  static PrintOptions o;
  return o;
}

std::int64_t non_negative(PyObject* o, const char* name) {
  const long long v = PyLong_AsLongLong(o);
  if (v == -1 && PyErr_Occurred()) throw PythonError{};
  if (v < 0 || v > 1'000'000'000'000) throw OpError(ErrorKind::Value, std::string(name) + " is out of range");
  return v;
}

PrintOptions preset(PyObject* profile) {
  PrintOptions o;
  const char* name = PyUnicode_AsUTF8(profile);
  if (!name) throw PythonError{};
  const std::string text = name;
  if (text == "short") {
    o.precision = 2, o.edge_items = 2;
  } else if (text == "full") {
    o.threshold = std::int64_t{1} << 60;
  } else if (text != "default") {
    throw OpError(ErrorKind::Value, "profile must be 'default', 'short' or 'full'");
  }
  return o;
}

PyRef set_printoptions(const PassedArgs& call) {
  static const char* const names[] = {"precision", "threshold", "edgeitems", "linewidth", "profile", "sci_mode"};
  PyObject* out[6];
  parse_native({"set_printoptions", names}, call, out);
  for (PyObject*& o : out) o = o == Py_None ? nullptr : o;
  PrintOptions o = options();
  if (out[4]) o = preset(out[4]);
  if (out[0]) o.precision = static_cast<int>(std::min<std::int64_t>(non_negative(out[0], "precision"), 60));
  if (out[1]) o.threshold = PyFloat_Check(out[1]) ? std::int64_t{1} << 60 : non_negative(out[1], "threshold");
  if (out[2]) o.edge_items = non_negative(out[2], "edgeitems");
  if (out[3]) o.line_width = static_cast<int>(std::min<std::int64_t>(non_negative(out[3], "linewidth"), 1'000'000));
  o.scientific = PrintOptions::Scientific::Auto;
  if (out[5]) {
    o.scientific =
        checked(PyObject_IsTrue(out[5])) ? PrintOptions::Scientific::Always : PrintOptions::Scientific::Never;
  }
  options() = o;
  return PyRef::borrow(Py_None);
}

// _values_text(tensor, indent): its elements alone, as they stand in a text from that column on.
PyRef values_text_of(const PassedArgs& call) {
  static const char* const names[] = {"tensor", "indent"};
  PyObject* out[2];
  parse_native({"_values_text", names, 2}, call, out);
  if (!is_tensor(out[0])) throw_type_error("_values_text() needs a tensor, not %.200s", Py_TYPE(out[0])->tp_name);
  const int indent = static_cast<int>(std::min<std::int64_t>(non_negative(out[1], "indent"), 1'000));
  const std::string text = values_text(*tensor_impl(out[0]), indent, options());
  return checked(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
}

// __format__(spec): a 0-d tensor formats as its number.
PyRef format_method(const PassedArgs& call) {
  static const char* const names[] = {"self", "format_spec"};
  PyObject* out[2];
  parse_native({"__format__", names, 2}, call, out);
  if (!PyUnicode_Check(out[1])) {
    throw_type_error("__format__() argument must be str, not %.200s", Py_TYPE(out[1])->tp_name);
  }
  if (tensor_impl(out[0])->dim() == 0 && tensor_impl(out[0])->has_memory() && is_tensor_exact(out[0])) {
    return checked(PyObject_Format(item(*tensor_impl(out[0])).get(), out[1]));
  }
  if (PyUnicode_GET_LENGTH(out[1])) {
    throw_type_error("unsupported format string passed to %.200s.__format__", Py_TYPE(out[0])->tp_name);
  }
  return checked(PyObject_Str(out[0]));
}

constexpr NativeRow kFunctions[] = {
    {"set_printoptions", set_printoptions,
     "set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None)\n\n"
     "How tensors print from here on."},
    {"_values_text", values_text_of, "_values_text(tensor, indent)\n\nElements in a text from column `indent` on."},
};
constexpr NativeRow kMethods[] = {
    {"__format__", format_method, "Text of the tensor; a 0-d tensor formats as its number."},
};

std::string indented(const std::string& text) {
  std::string out = "    ";
  for (const char c : text) {
    out += c;
    if (c == '\n') out += "    ";
  }
  return out;
}

// Inside function transforms: what each level makes of the tensor, innermost first, and in the middle what is there.
std::string text_in_transform(const TensorImpl& given, const std::string& prefix) {
  TensorRef shown(const_cast<TensorImpl*>(&given));
  if (pending_of(given)) {
    shown = resolved(shown);
    shown->autograd = given.autograd;
    shown->set_grad_state({given.requires_grad, given.history});
  }
  const TensorImpl& t = *shown;
  const Batch* batch = batch_of(t);
  const TensorImpl& all = batch ? *batch->all : t;
  const auto levels = transform_levels();
  std::vector<std::string> heads;
  for (std::size_t i = levels.size(); i-- > 0;) {
    const std::string number = std::to_string(i + 1);
    const bool of_batch = batch && std::ranges::find(batch->levels, levels[i].number) != batch->levels.end();
    if (levels[i].is_vmap && of_batch)
      heads.push_back("BatchedTensor(lvl=" + number + ", bdim=0, value=");
    else if (levels[i].asks_gradients() && t.made_after >= levels[i].number)
      heads.push_back("GradTrackingTensor(lvl=" + number + ", value=");
  }
  if (heads.empty() && batch) heads.push_back("BatchedTensor(lvl=-1, bdim=0, value=");  // its vmap has ended
  TensorImpl plain(all.storage, all.dtype, all.sizes, all.strides, all.offset);
  std::string text = tensor_text(heads.empty() ? all : plain, prefix, options());
  for (std::size_t i = heads.size(); i-- > 0;) text = heads[i] + "\n" + indented(text) + "\n)";
  return text;
}

}  // namespace

PyObject* tensor_repr(PyObject* self) {
  return guarded([&]() -> PyObject* {
    std::string prefix = "tensor(";
    if (!is_tensor_exact(self)) {
      PyRef name = checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(self)), "__name__"));
      const char* text = PyUnicode_AsUTF8(name.get());
      if (!text) throw PythonError{};
      prefix = std::string(text) + "(";
    }
    const TensorImpl& t = *tensor_impl(self);
    const std::string text = in_transform() ? text_in_transform(t, prefix) : tensor_text(t, prefix, options());
    return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  });
}

std::span<const NativeRow> format_functions() { return kFunctions; }
std::span<const NativeRow> format_methods() { return kMethods; }

}  // namespace md
