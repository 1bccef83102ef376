// Shape arithmetic shared by the inference rules.
#include <cmath>

#include "ir/infer/infer.h"
#include "ir/infer/unbacked.h"

namespace md {

int InferCall::rank(int i) const {
  if (const auto* t = arg(i).get_if<TensorRef>()) return (*t)->dim();
  return arg(i).get<Node*>()->type().dim();
}

Device InferCall::device() const { return device_of_call(op, args); }

SizeVec InferCall::sizes(int i) const {
  SizeVec v;
  for (const Arg& a : arg(i).get<ListArg>().items) v.push_back(a.get<Size>());
  return v;
}

std::string sizes_text(const SizeVec& sizes) {
  std::string text = "[";
  for (std::size_t i = 0; i < sizes.size(); ++i) text += (i ? ", " : "") + to_string(sizes[i]);
  return text + "]";
}

SizeVec row_major_strides(const SizeVec& sizes) {
  SizeVec strides(sizes.size());
  Size next = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = next;
    next = next * max(sizes[i], 1);
  }
  return strides;
}

bool is_row_major(const SizeVec& sizes, const SizeVec& strides) {
  Size expected = 1;
  for (const Size s : sizes) {
    if (s.is_const(0)) return true;
  }
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i].is_const(1)) continue;
    if (!layout_eq(strides[i], expected)) return false;
    expected = expected * sizes[i];
  }
  return true;
}

Size product(const SizeVec& sizes) {
  Size n = 1;
  for (const Size s : sizes)
    if (s.is_const(0)) return 0;  // whatever the others are
  for (const Size s : sizes) n = n * s;
  return n;
}

int checked_dim(const InferCall& c, Size dim, int rank) {
  const std::int64_t d = hint(dim);
  const std::int64_t n = rank == 0 ? 1 : rank;
  if (d < -n || d >= n) {
    throw OpError(ErrorKind::Index,
                  fmt::format("Dimension out of range (expected to be in range of [{}, {}], but got {}) in {}()", -n,
                              n - 1, d, c.op.public_name));
  }
  return static_cast<int>(d < 0 ? d + n : d);
}

namespace {
Size broadcast_size(const InferCall& c, Size a, Size b, std::size_t at, const SizeVec& x, const SizeVec& y) {
  if (a == b || b.is_const(1)) return a;
  if (a.is_const(1)) return b;
  if (guard_eq(a, b)) return a.is_const() ? a : b;
  if (guard_eq(a, 1)) return b;
  if (guard_eq(b, 1)) return a;
  c.fail(ErrorKind::Runtime, "sizes {} and {} do not broadcast: {} against {} at dimension {}", sizes_text(x),
         sizes_text(y), to_string(a), to_string(b), at);
}
}  // namespace

SizeVec broadcast(const InferCall& c, const SizeVec& a, const SizeVec& b) {
  if (a == b) return a;
  const std::size_t rank = std::max(a.size(), b.size());
  SizeVec out(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const Size x = i + a.size() < rank ? Size(1) : a[i + a.size() - rank];
    const Size y = i + b.size() < rank ? Size(1) : b[i + b.size() - rank];
    out[i] = broadcast_size(c, x, y, i, a, b);
  }
  return out;
}

DType number_dtype(const Arg& number) {
  if (number.is<bool>()) return DType::Bool;
  if (number.is<std::complex<double>>()) return to_complex(default_dtype());
  return number.is<double>() ? default_dtype() : DType::Int64;
}

// Negative numbers stand for what they wrap to in uint8; infinities and NaN stay what they are in floats.
void check_number_fits(const Op& op, const Arg& number, DType t) {
  if (t == DType::Bool || number.is<bool>()) return;
  const auto refuse = [&](const std::string& text) {
    throw OpError(ErrorKind::Runtime, fmt::format("{}(): {} does not fit {}", op.public_name, text, info(t).name));
  };
  if (const auto* d = number.get_if<double>()) {
    const double low = is_floating(t) ? -floating_max(t) : static_cast<double>(integer_min(t));
    const double high = is_floating(t) ? floating_max(t) : static_cast<double>(integer_max(t));
    if (is_floating(t) && !std::isfinite(*d)) return;
    if (!(*d >= low && *d <= high)) refuse(fmt::format("{}", *d));
    return;
  }
  const Size n = number.get<Size>();
  if (is_floating(t)) {
    if (floating_max(t) >= 0x1p63) return;
    const auto largest = static_cast<std::int64_t>(floating_max(t));
    if (guard_lt(n, -largest) || guard_lt(largest, n)) refuse(to_string(n));
  } else if (is_integral(t) && t != DType::Int64) {
    const std::int64_t low = is_signed(t) ? integer_min(t) : -integer_max(t);
    if (guard_lt(n, low) || guard_lt(integer_max(t), n)) refuse(to_string(n));
  }
}

DType chosen_dtype(const InferCall& c, DType otherwise) {
  const DType* given = c.op.dtype < 0 ? nullptr : c.arg(c.op.dtype).get_if<DType>();
  return given ? *given : otherwise;
}

TensorType fresh_type(const InferCall& c, DType dtype, SizeVec sizes) {
  TensorType t;
  t.dtype = dtype;
  t.strides = row_major_strides(sizes);
  t.sizes = std::move(sizes);
  if (c.op.requires_grad >= 0 && c.flag(c.op.requires_grad)) {
    if (!is_differentiable(dtype))
      c.fail(ErrorKind::Runtime, "only Tensors of floating point and complex dtype can require gradients");
    t.requires_grad = true;
  }
  return t;
}

}  // namespace md
