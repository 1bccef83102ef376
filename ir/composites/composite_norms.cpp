// Normalization over the last dimensions. Halves are computed in float32 and rounded once, at the end.
#include "ir/infer/expansion.h"
#include "registry/ops/folds.h"

namespace md {
namespace {

void need_shape(const Expansion& e, const char* what, int parameter, const SizeVec& shape) {
  if (e.arg(parameter).is_none()) return;
  const SizeVec have = e.tensor(parameter).sizes;
  bool fits = have.size() == shape.size();
  for (std::size_t i = 0; fits && i < shape.size(); ++i) fits = guard_eq(have[i], shape[i]);
  if (fits) return;
  throw OpError(ErrorKind::Runtime, fmt::format("Expected {} to be of same shape as normalized_shape, but got {} of "
                                                "shape {} and normalized_shape = {}",
                                                what, what, sizes_text(have), sizes_text(shape)));
}

// The dimensions to normalize over; `separator` stands before the sizes in the message.
Arg trailing_dims(const Expansion& e, const char* separator) {
  const TensorType x = e.tensor(0);
  const SizeVec shape = e.sizes(1);
  if (!is_floating(x.dtype)) e.fail(ErrorKind::NotImplemented, "not defined for {} tensors", info(x.dtype).name);
  if (shape.empty()) {
    throw OpError(ErrorKind::Runtime,
                  "Expected normalized_shape to be at least 1-dimensional, got normalized_shape = []");
  }
  need_shape(e, "weight", 2, shape);
  if (e.op.id == id::LayerNorm) need_shape(e, "bias", 3, shape);
  const int first = x.dim() - static_cast<int>(shape.size());
  ListArg dims;
  bool fits = first >= 0;
  for (int d = first; fits && d < x.dim(); ++d) {
    fits = guard_eq(x.sizes[d], shape[d - first]);
    dims.items.emplace_back(d);
  }
  if (fits) return dims;
  std::string expected;
  for (const Size s : shape) expected += (expected.empty() ? "" : ", ") + to_string(s);
  throw OpError(ErrorKind::Runtime, fmt::format("Given normalized_shape={}, expected input with shape [*{}{}], but got "
                                                "input of size{}",
                                                sizes_text(shape), separator, expected, sizes_text(x.sizes)));
}

Arg widened(const Expansion& e) {
  const DType t = e.tensor(0).dtype;
  return converted(e, e.arg(0), wide_dtype(t));
}

Arg mean(const Expansion& e, const Arg& x, const Arg& dims) { return e.call(id::Mean, {x, dims, true, NoneArg{}}); }

// x times 1 / sqrt(mean of squares + eps)
Arg scaled(const Expansion& e, const Arg& x, const Arg& dims, const Arg& eps) {
  const Arg squares = mean(e, e.call(id::Mul, {x, x}), dims);
  return e.call(id::Mul, {x, e.call(id::Rsqrt, {e.call(id::Add, {squares, eps})})});
}

}  // namespace

Arg expand_rule(ops::LayerNorm, const Expansion& e) {
  const Arg dims = trailing_dims(e, ", ");
  const Arg x = widened(e);
  Arg result = scaled(e, e.call(id::Sub, {x, mean(e, x, dims)}), dims, e.arg(4));
  if (!e.arg(2).is_none()) result = e.call(id::Mul, {result, e.arg(2)});
  if (!e.arg(3).is_none()) result = e.call(id::Add, {result, e.arg(3)});
  return converted(e, result, e.tensor(0).dtype);
}

Arg expand_rule(ops::RmsNorm, const Expansion& e) {
  const Arg dims = trailing_dims(e, "");
  const Arg x = widened(e);
  Arg result = scaled(e, x, dims, e.arg(3).is_none() ? Arg(machine_epsilon(type_of(x).dtype)) : e.arg(3));
  if (!e.arg(2).is_none()) result = e.call(id::Mul, {result, e.arg(2)});
  return converted(e, result, e.tensor(0).dtype);
}

}  // namespace md
