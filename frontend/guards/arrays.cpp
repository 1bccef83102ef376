// Compares an array's dtype, sizes, strides and writability with what was traced.
#include "frontend/guards/arrays.h"

#include "frontend/guards/tensors.h"
#include "frontend/tensors/array_view.h"

namespace md::guards {
namespace {

bool fits(std::int64_t actual, std::int64_t wanted) { return actual == wanted || wanted == kAnyExtent; }

bool same_extents(const TensorFact& f, const ArrayView& a) {
  for (int d = 0; d < f.dim; ++d)
    if (!fits(a.size(d), f.extents[2 * d]) || !fits(a.stride(d), f.extents[2 * d + 1])) return false;
  return true;
}

std::string part_of(const char* what, int d) { return what + ("[" + std::to_string(d) + "]"); }

}  // namespace

void ArrayMatch::prepare(const Guard& g, GuardBuilder& b, GuardOp& op) {
  TensorMatch::prepare(g, b, op);
  op.flag = g.value != 0;
}

bool ArrayMatch::matches(const GuardOp& op, PyObject* o) {
  const TensorFact& f = *op.tensor;
  if (reinterpret_cast<PyObject*>(Py_TYPE(o)) != *f.type) return false;
  const ArrayView a(o);
  return a.fits_tensor() && a.dtype() == f.dtype && a.dim() == f.dim && a.writeable() == (op.flag != 0) &&
         same_extents(f, a);
}

void ArrayMatch::explain_difference(const GuardOp& op, PyObject* o, Why& why) {
  const TensorFact& f = *op.tensor;
  const auto set = [&](const std::string& what) { why.text = "array '" + why.source() + "' " + what; };
  const auto differs = [&](std::string part, std::string expected, std::string actual) {
    why.part = std::move(part), why.expected = std::move(expected), why.actual = std::move(actual);
  };
  const auto mismatch = [&](const std::string& what, const std::string& part, std::int64_t expected,
                            std::int64_t actual) {
    differs(part, std::to_string(expected), std::to_string(actual));
    set(what + ". expected " + std::to_string(expected) + ", actual " + std::to_string(actual));
  };
  if (reinterpret_cast<PyObject*>(Py_TYPE(o)) != *f.type) {
    why.text =
        "expected type of '" + why.source() + "' to be the NumPy type of before, but found " + class_text(Py_TYPE(o));
    return;
  }
  const ArrayView a(o);
  if (!a.fits_tensor()) return set("has a dtype or strides that no tensor has");
  if (a.dtype() != f.dtype) {
    differs("dtype", std::string(info(f.dtype).name), std::string(info(a.dtype()).name));
    return set("dtype mismatch. expected " + std::string(info(f.dtype).name) + ", actual " +
               std::string(info(a.dtype()).name));
  }
  if (a.dim() != f.dim) return mismatch("rank mismatch", "ndim", f.dim, a.dim());
  if (a.writeable() != (op.flag != 0)) return mismatch("writeable mismatch", "flags.writeable", op.flag, a.writeable());
  for (int d = 0; d < f.dim; ++d) {
    if (!fits(a.size(d), f.extents[2 * d]))
      return mismatch("size mismatch at index " + std::to_string(d), part_of("shape", d), f.extents[2 * d], a.size(d));
  }
  for (int d = 0; d < f.dim; ++d) {
    if (!fits(a.stride(d), f.extents[2 * d + 1]))
      return mismatch("stride mismatch at index " + std::to_string(d), part_of("strides", d), f.extents[2 * d + 1],
                      a.stride(d));
  }
}

std::string ArrayMatch::text(const GuardRecord& r, const std::string& s) {
  return TensorMatch::text(r, "___from_numpy(" + s + ")");
}

}  // namespace md::guards
