// interpolate: sizes from a list or from factors, then one kernel.
#include <cmath>

#include "ir/infer/expansion.h"
#include "ir/infer/windows.h"

namespace md {
namespace {

using std::size_t;

// A list of n values, one number standing for all.
std::vector<Arg> for_each_dim(const Expansion& e, const Arg& given, size_t n, const char* name) {
  const auto* l = given.get_if<ListArg>();
  if (!l) return std::vector<Arg>(n, given);
  if (l->items.size() != n) {
    e.fail(ErrorKind::Value, "input has {} spatial dimensions, but {} holds {} values", n, name, l->items.size());
  }
  return l->items;
}

double factor(const Expansion& e, const Arg& a) {
  if (const auto* d = a.get_if<double>()) return *d;
  if (const auto* s = a.get_if<Size>()) return static_cast<double>(fixed_size(*s));
  throw OpError(ErrorKind::Type, e.op.public_name + "(): scale_factor must be a number or a list of numbers");
}

// floor(size * factor); of a symbolic size too where the factor is a fraction with a small power of two below.
Size scaled_size(Size size, double factor) {
  for (std::int64_t below = 1; below <= 1024; below *= 2) {
    const double above = factor * static_cast<double>(below);
    if (above == std::floor(above) && std::abs(above) < 1 << 20) {
      return floordiv(size * static_cast<std::int64_t>(above), below);
    }
  }
  return static_cast<std::int64_t>(std::floor(static_cast<double>(fixed_size(size)) * factor));
}

struct Wanted {
  SizeVec sizes;
  ListArg scales;  // None where the sizes decide
};

Wanted wanted(const Expansion& e, size_t n) {
  const TensorType x = e.tensor(0);
  const Arg &size = e.arg(1), &scale = e.arg(2);
  if (!size.is_none() && !scale.is_none()) e.fail(ErrorKind::Value, "only one of size or scale_factor should be given");
  if (size.is_none() && scale.is_none()) e.fail(ErrorKind::Value, "either size or scale_factor should be given");
  const bool recompute = !e.arg(5).is_none() && e.flag(5);
  if (recompute && !size.is_none()) {
    e.fail(ErrorKind::Value, "recompute_scale_factor is not meaningful with an explicit size");
  }
  Wanted w;
  const std::vector<Arg> items =
      for_each_dim(e, size.is_none() ? scale : size, n, size.is_none() ? "scale_factor" : "size");
  for (size_t i = 0; i < n; ++i) {
    const Size own = x.sizes[i + 2];
    if (size.is_none()) {
      const double f = factor(e, items[i]);
      w.sizes.push_back(scaled_size(own, f));
      w.scales.items.push_back(recompute ? Arg() : Arg(f));
    } else {
      const auto* s = items[i].get_if<Size>();
      if (!s) throw OpError(ErrorKind::Type, e.op.public_name + "(): size must be an int or a list of ints");
      w.sizes.push_back(*s);
      w.scales.items.push_back(Arg());
    }
    if (guard_lt(own, 1) || guard_lt(w.sizes.back(), 1)) {
      e.fail(ErrorKind::Runtime, "input and output sizes must be greater than 0, but input has sizes {} and output {}",
             sizes_text(x.sizes), sizes_text(w.sizes));
    }
  }
  return w;
}

// The kernel's mode, if `mode` is one for n dimensions.
const char* kernel_mode(const Expansion& e, const std::string& mode, size_t n) {
  constexpr const char* linear[] = {"linear", "bilinear", "trilinear"};
  if (mode == "nearest") return "nearest";
  if (mode == "nearest-exact") return "nearest-exact";
  if (mode == linear[n - 1]) return "linear";
  e.fail(ErrorKind::NotImplemented,
         "mode '{}' is not there for input of {} dimensions: it may be 'nearest', "
         "'nearest-exact', 'area' or '{}'",
         mode, n + 2, linear[n - 1]);
}

}  // namespace

Arg expand_rule(ops::Interpolate, const Expansion& e) {
  const TensorType x = e.tensor(0);
  const std::string& mode = e.arg(3).get<std::string>();
  if (x.dim() < 3 || x.dim() > 5) {
    e.fail(ErrorKind::NotImplemented, "input must have 3, 4 or 5 dimensions, not sizes {}", sizes_text(x.sizes));
  }
  const auto n = static_cast<size_t>(x.dim()) - 2;
  const bool interpolates = mode.find("linear") != std::string::npos;
  if (!e.arg(4).is_none() && !interpolates) {
    e.fail(ErrorKind::Value, "align_corners goes with the modes 'linear', 'bilinear' and 'trilinear' only");
  }
  if (e.flag(6)) e.fail(ErrorKind::NotImplemented, "antialias is not there");
  const Wanted w = wanted(e, n);
  // Pictures of bytes are the only integers.
  if (!is_floating(x.dtype) && ((interpolates && n != 2) || mode == "area" || x.dtype != DType::UInt8)) {
    e.fail(ErrorKind::NotImplemented, "not defined for {}", info(x.dtype).name);
  }
  if (mode == "area") {
    if (n == 1) return e.call(id::AdaptiveAvgPool1d, {e.arg(0), sizes_arg(w.sizes)});
    if (n == 2) return e.call(id::AdaptiveAvgPool2d, {e.arg(0), sizes_arg(w.sizes)});
    return e.call(id::AdaptiveAvgPool, {e.arg(0), sizes_arg(w.sizes)});
  }
  const bool align = !e.arg(4).is_none() && e.flag(4);
  return e.call(id::Resample, {e.arg(0), sizes_arg(w.sizes), kernel_mode(e, mode, n), align, w.scales});
}

}  // namespace md
