// Derivatives of convolutions, pooling and resampling.
#include "ir/gradients/derivation.h"
#include "registry/ops/convolution.h"
#include "registry/ops/kernels.h"

namespace md {

namespace {

using std::size_t;

SizeVec reordered(const SizeVec& sizes, std::initializer_list<Size> front, size_t kept) {
  SizeVec out(front);
  for (size_t i = sizes.size() - kept; i < sizes.size(); ++i) out.push_back(sizes[i]);
  return out;
}

Arg swapped(const Derivation& d, const Arg& x, std::int64_t a, std::int64_t b) {
  return d.call(id::Transpose, {x, a, b});
}

Arg ones_list(size_t n) { return sizes_arg(SizeVec(n, Size(1))); }
Arg zeros_list(size_t n) { return sizes_arg(SizeVec(n, Size(0))); }

// --- Convolution -----------------------------------------------------------------------------------------------------

struct Windows {
  SizeVec stride, padding, dilation;
  std::int64_t groups;
  size_t n;  // spatial dimensions
  explicit Windows(const Derivation& d)
      : stride(d.sizes(2)),
        padding(d.sizes(3)),
        dilation(d.sizes(4)),
        groups(fixed_size(d.size(5))),
        n(stride.size()) {}
};

// The gradient with stride - 1 zeros between its elements, and `before` and `after` of them around.
Arg spread_out(const Derivation& d, const Windows& w, const SizeVec& before, const SizeVec& after) {
  const TensorType g = type_of(d.g());
  SizeVec sizes = g.sizes;
  for (size_t i = 0; i < w.n; ++i)
    sizes[2 + i] = before[i] + after[i] + (g.sizes[2 + i] - Size(1)) * w.stride[i] + Size(1);
  const Arg zeros = d.call(id::Zeros, {sizes_arg(sizes), g.dtype});
  SizeVec strides = type_of(zeros).strides;
  Size offset = 0;
  for (size_t i = 0; i < w.n; ++i) {
    offset = offset + before[i] * strides[2 + i];
    strides[2 + i] = strides[2 + i] * w.stride[i];
  }
  return d.call(id::WriteView, {zeros, d.g(), sizes_arg(strides), offset});
}

// The weight of the convolution that goes back: channels in and out exchanged in each group, turned round in space.
Arg turned_weight(const Derivation& d, const Windows& w) {
  const SizeVec sizes = d.sizes_of(1);
  const Size out = floordiv(sizes[0], w.groups), in = sizes[1];
  Arg weight = reshaped(d, d.arg(1), reordered(sizes, {Size(w.groups), out, in}, w.n));
  weight = reshaped(d, swapped(d, weight, 1, 2), reordered(sizes, {Size(w.groups) * in, out}, w.n));
  ListArg dims;
  for (size_t i = 0; i < w.n; ++i) dims.items.emplace_back(Size(static_cast<std::int64_t>(i) + 2));
  return d.call(id::Flip, {weight, dims});
}

Arg of_input(const Derivation& d, const Windows& w) {
  const SizeVec x = d.sizes_of(0), kernel = d.sizes_of(1), g = type_of(d.g()).sizes;
  SizeVec before(w.n), after(w.n), crop(w.n);
  for (size_t i = 0; i < w.n; ++i) {
    const Size reach = w.dilation[i] * (kernel[2 + i] - Size(1));
    // Padding beyond the kernel's reach: those windows saw nothing but padding, and their gradients are cut off.
    crop[i] = guard_lt(reach, w.padding[i]) ? w.padding[i] - reach : Size(0);
    before[i] = reach - w.padding[i] + crop[i];
    after[i] = x[2 + i] + reach + crop[i] - before[i] - (g[2 + i] - Size(1)) * w.stride[i] - Size(1);
    if (guard_lt(after[i], 0)) after[i] = 0;
  }
  Arg out = d.call(id::Convolution, {spread_out(d, w, before, after), turned_weight(d, w), ones_list(w.n),
                                     zeros_list(w.n), sizes_arg(w.dilation), Size(w.groups)});
  for (size_t i = 0; i < w.n; ++i) out = d.call(id::Narrow, {out, static_cast<std::int64_t>(i) + 2, crop[i], x[2 + i]});
  return out;
}

// The input as a picture of which the gradient is the kernel: what was a step is a dilation and the other way round.
Arg of_weight(const Derivation& d, const Windows& w) {
  const SizeVec x = d.sizes_of(0), kernel = d.sizes_of(1);
  const Size in = kernel[1], batch = x[0];
  Arg picture = reshaped(d, d.arg(0), reordered(x, {batch, Size(w.groups), in}, w.n));
  // [batch, groups, in] -> [in, groups, batch]
  picture = reshaped(d, swapped(d, picture, 0, 2), reordered(x, {in, Size(w.groups) * batch}, w.n));
  Arg out = d.call(id::Convolution, {picture, swapped(d, d.g(), 0, 1), sizes_arg(w.dilation), sizes_arg(w.padding),
                                     sizes_arg(w.stride), Size(w.groups)});
  for (size_t i = 0; i < w.n; ++i) out = d.call(id::Narrow, {out, static_cast<std::int64_t>(i) + 2, 0, kernel[2 + i]});
  return swapped(d, out, 0, 1);
}

// --- Pooling, resampling ---------------------------------------------------------------------------------------------

// To the places in the flattened spatial dimensions that the forward found.
Arg to_places(const Derivation& d, const Arg& places, size_t n) {
  const SizeVec x = d.sizes_of(0), g = type_of(d.g()).sizes;
  const auto flat = [&](const SizeVec& sizes) {
    SizeVec out;
    Size spatial = 1;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (i + n < sizes.size())
        out.push_back(sizes[i]);
      else
        spatial = spatial * sizes[i];
    }
    out.push_back(spatial);
    return out;
  };
  const Arg zeros = d.call(id::Zeros, {sizes_arg(flat(x)), type_of(d.g()).dtype});
  const Arg added = d.call(id::ScatterAdd, {zeros, -1, reshaped(d, places, flat(g)), reshaped(d, d.g(), flat(g))});
  return reshaped(d, added, x);
}

// Of an op that is one linear map after the other along its last `n` dimensions: `map(i, line)` is the op in one
// dimension, of which unit vectors give the matrix.
template <class F>
Arg mapped_back(const Derivation& d, size_t n, F map) {
  const SizeVec x = d.sizes_of(0);
  const int rank = static_cast<int>(x.size());
  if (guard_eq(product(type_of(d.g()).sizes), 0)) return d.call(id::Zeros, {sizes_arg(x), type_of(d.g()).dtype});
  Arg out = d.g();
  for (size_t i = 0; i < n; ++i) {
    const std::int64_t dim = rank - static_cast<std::int64_t>(n - i);
    const Size have = x[static_cast<size_t>(dim)];
    const Arg units = d.call(id::Eye, {have, have, type_of(out).dtype});
    const Arg matrix = d.call(id::Select, {map(i, d.call(id::Unsqueeze, {units, 0})), 0, 0});  // [in, out]
    const Arg last = swapped(d, out, dim, -1);
    SizeVec sizes = type_of(last).sizes;
    const Size count = sizes.back();
    const Arg lines = reshaped(d, last, SizeVec{floordiv(product(sizes), guard_eq(count, 0) ? Size(1) : count), count});
    sizes.back() = have;
    out = swapped(d, reshaped(d, d.call(id::Mm, {lines, d.call(id::MatrixT, {matrix})}), sizes), dim, -1);
  }
  return out;
}

Arg item(const Derivation& d, int argument, size_t i) { return ListArg{{d.arg(argument).get<ListArg>().items.at(i)}}; }

}  // namespace

Gradients vjp_rule(ops::Convolution, const Derivation& d) {
  const Windows w(d);
  return d.all({d.wants(0) ? of_input(d, w) : Arg(), d.wants(1) ? of_weight(d, w) : Arg()});
}

Gradients vjp_rule(ops::MaxPool, const Derivation& d) {
  return d.all({to_places(d, d.results[1], d.arg(1).get<ListArg>().items.size())});
}
Gradients vjp_rule(ops::MaxPoolValues, const Derivation& d) {
  const Arg again = d.call(id::MaxPool, {d.arg(0), d.arg(1), d.arg(2), d.arg(3), d.arg(4), d.arg(5)});
  return d.all({to_places(d, again.get<ListArg>().items.at(1), d.arg(1).get<ListArg>().items.size())});
}
Gradients vjp_rule(ops::AdaptiveMaxPool, const Derivation& d) {
  return d.all({to_places(d, d.results[1], d.arg(1).get<ListArg>().items.size())});
}

Gradients vjp_rule(ops::AvgPool, const Derivation& d) {
  const Arg divisor = d.arg(6).is_none() ? Arg(NoneArg{}) : Arg(1);
  const Arg out = mapped_back(d, d.arg(1).get<ListArg>().items.size(), [&](size_t i, const Arg& line) {
    return d.call(id::AvgPool, {line, item(d, 1, i), item(d, 2, i), item(d, 3, i), d.arg(4), d.arg(5), divisor});
  });
  return d.all({d.arg(6).is_none() ? out : d.div(out, d.arg(6))});
}

Gradients vjp_rule(ops::AdaptiveAvgPool, const Derivation& d) {
  return d.all({mapped_back(d, d.arg(1).get<ListArg>().items.size(), [&](size_t i, const Arg& line) {
    return d.call(id::AdaptiveAvgPool, {line, item(d, 1, i)});
  })});
}

Gradients vjp_rule(ops::Resample, const Derivation& d) {
  return d.all({mapped_back(d, d.arg(1).get<ListArg>().items.size(), [&](size_t i, const Arg& line) {
    return d.call(id::Resample, {line, item(d, 1, i), d.arg(2), d.arg(3), item(d, 4, i)});
  })});
}

}  // namespace md
