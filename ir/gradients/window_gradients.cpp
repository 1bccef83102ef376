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
  Size groups;
  size_t n;  // spatial dimensions
  explicit Windows(const Derivation& d)
      : stride(d.sizes(2)), padding(d.sizes(3)), dilation(d.sizes(4)), groups(d.size(5)), n(stride.size()) {}
};

// The gradient with stride - 1 zeros between its elements along its last dimensions, `before` and `after` around them.
Arg spread_out(const Derivation& d, const Arg& g, const SizeVec& stride, const SizeVec& before, const SizeVec& after) {
  const TensorType t = type_of(g);
  const size_t outer = t.sizes.size() - stride.size();
  SizeVec sizes = t.sizes;
  for (size_t i = 0; i < stride.size(); ++i)
    sizes[outer + i] = before[i] + after[i] + (t.sizes[outer + i] - Size(1)) * stride[i] + Size(1);
  const Arg zeros = d.call(id::Zeros, {sizes_arg(sizes), t.dtype});
  SizeVec strides = type_of(zeros).strides;
  Size offset = 0;
  for (size_t i = 0; i < stride.size(); ++i) {
    offset = offset + before[i] * strides[outer + i];
    strides[outer + i] = strides[outer + i] * stride[i];
  }
  return d.call(id::WriteView, {zeros, g, sizes_arg(strides), offset});
}

// The weight of the convolution that goes back: channels in and out exchanged in each group, turned round in space.
Arg turned_weight(const Derivation& d, const Windows& w) {
  const SizeVec sizes = d.sizes_of(1);
  const Size out = floordiv(sizes[0], w.groups), in = sizes[1];
  Arg weight = reshaped(d, d.arg(1), reordered(sizes, {w.groups, out, in}, w.n));
  weight = reshaped(d, swapped(d, weight, 1, 2), reordered(sizes, {w.groups * in, out}, w.n));
  ListArg dims;
  for (size_t i = 0; i < w.n; ++i) dims.items.emplace_back(Size(static_cast<std::int64_t>(i) + 2));
  return d.call(id::Flip, {weight, dims});
}

Arg of_input(const Derivation& d, const Windows& w) {
  const SizeVec x = d.sizes_of(0), kernel = d.sizes_of(1), g_sizes = type_of(d.g()).sizes;
  SizeVec before(w.n), after(w.n), crop(w.n);
  for (size_t i = 0; i < w.n; ++i) {
    const Size reach = w.dilation[i] * (kernel[2 + i] - Size(1));
    // Padding beyond the kernel's reach: those windows saw nothing but padding, and their gradients are cut off.
    crop[i] = guard_lt(reach, w.padding[i]) ? w.padding[i] - reach : Size(0);
    before[i] = reach - w.padding[i] + crop[i];
    after[i] = x[2 + i] + reach + crop[i] - before[i] - (g_sizes[2 + i] - Size(1)) * w.stride[i] - Size(1);
    if (guard_lt(after[i], 0)) after[i] = 0;
  }
  // As many zeros on both sides of neighbouring elements are padding.
  bool padded = true;
  for (size_t i = 0; i < w.n; ++i)
    padded = padded && guard_eq(w.stride[i], 1) && guard_eq(before[i], after[i]) && !guard_lt(before[i], 0);
  const Arg g = padded ? d.g() : spread_out(d, d.g(), w.stride, before, after);
  Arg out = d.call(id::Convolution, {g, turned_weight(d, w), ones_list(w.n),
                                     padded ? sizes_arg(before) : zeros_list(w.n), sizes_arg(w.dilation), w.groups});
  for (size_t i = 0; i < w.n; ++i) out = d.call(id::Narrow, {out, static_cast<std::int64_t>(i) + 2, crop[i], x[2 + i]});
  return out;
}

// The input as a picture of which the gradient is the kernel: what was a step is a dilation and the other way round.
Arg of_weight(const Derivation& d, const Windows& w) {
  const SizeVec x = d.sizes_of(0), kernel = d.sizes_of(1);
  const Size in = kernel[1], batch = x[0];
  Arg picture = reshaped(d, d.arg(0), reordered(x, {batch, w.groups, in}, w.n));
  // [batch, groups, in] -> [in, groups, batch]
  picture = reshaped(d, swapped(d, picture, 0, 2), reordered(x, {in, w.groups * batch}, w.n));
  Arg out = d.call(id::Convolution, {picture, swapped(d, d.g(), 0, 1), sizes_arg(w.dilation), sizes_arg(w.padding),
                                     sizes_arg(w.stride), w.groups});
  for (size_t i = 0; i < w.n; ++i) out = d.call(id::Narrow, {out, static_cast<std::int64_t>(i) + 2, 0, kernel[2 + i]});
  return swapped(d, out, 0, 1);
}

// --- Largest values --------------------------------------------------------------------------------------------------

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
  // One zero in memory: what is scattered into is written once.
  const Arg zeros = d.call(id::Expand, {d.call(id::Zeros, {ListArg{}, type_of(d.g()).dtype}), sizes_arg(flat(x))});
  const Arg added = d.call(id::ScatterAdd, {zeros, -1, reshaped(d, places, flat(g)), reshaped(d, d.g(), flat(g))});
  return reshaped(d, added, x);
}

// --- Averages --------------------------------------------------------------------------------------------------------

// Of the floating dtypes the nearest one in which numbers of elements are exact.
DType counting_dtype(DType t) { return t == DType::Float64 ? t : DType::Float32; }

SizeVec last_of(const SizeVec& sizes, size_t n) {
  return SizeVec(sizes.end() - static_cast<std::ptrdiff_t>(n), sizes.end());
}

// A vector that broadcasts along dimension `dim` of a tensor of `rank` dimensions.
Arg along(const Derivation& d, const Arg& vector, size_t dim, size_t rank) {
  SizeVec sizes(rank - dim, Size(1));
  sizes[0] = type_of(vector).sizes[0];
  return reshaped(d, vector, sizes);
}

// By how many positions each window of avg_pool divides: sums of ones.
Arg window_counts(const Derivation& d, size_t n) {
  const bool with_padding = d.flag(5);
  const SizeVec x = last_of(d.sizes_of(0), n), g = last_of(type_of(d.g()).sizes, n), padding = d.sizes(3);
  SizeVec plane{Size(1)};
  for (size_t i = 0; i < n; ++i) plane.push_back(with_padding ? x[i] + padding[i] * 2 : x[i]);
  const Arg ones = d.call(id::Full, {sizes_arg(plane), 1.0, counting_dtype(type_of(d.g()).dtype)});
  const Arg around = with_padding ? zeros_list(n) : d.arg(3);
  Arg counts = d.call(id::AvgPool, {ones, d.arg(1), d.arg(2), around, d.arg(4), true, Size(1)});
  // Where padding counts as elements, one window more may begin in it.
  for (size_t i = 0; i < n && with_padding; ++i)
    counts = d.call(id::Narrow, {counts, static_cast<std::int64_t>(i) + 1, 0, g[i]});
  return d.call(id::Select, {counts, 0, 0});
}

// What each element of a window gets of the gradient.
Arg share_of_element(const Derivation& d, const SizeVec& kernel, const SizeVec& padding) {
  if (!d.arg(6).is_none()) return d.div(d.g(), d.arg(6));
  bool padded = false;
  for (const Size p : padding) padded = padded || !guard_eq(p, 0);
  const bool all_whole = !d.flag(4) && (d.flag(5) || !padded);
  return d.div(d.g(), all_whole ? Arg(product(kernel)) : window_counts(d, kernel.size()));
}

// How many elements has each of `parts` nearly equal windows of `count`.
Arg part_counts(const Derivation& d, Size count, Size parts, DType t) {
  const Arg first = d.mul(d.call(id::Arange, {0, parts, 1, DType::Int64}), count);
  const Arg begin = d.call(id::FloorDivide, {first, parts});
  const Arg end = d.call(id::FloorDivide, {d.add(first, count + parts - Size(1)), parts});
  return converted(d, d.sub(end, begin), t);
}

Arg product_of_part_counts(const Derivation& d, const SizeVec& counts, const SizeVec& parts) {
  const DType t = counting_dtype(type_of(d.g()).dtype);
  const size_t n = counts.size();
  Arg out = along(d, part_counts(d, counts[0], parts[0], t), 0, n);
  for (size_t i = 1; i < n; ++i) out = d.mul(out, along(d, part_counts(d, counts[i], parts[i], t), i, n));
  return out;
}

// --- Resampling ------------------------------------------------------------------------------------------------------

// The elements of the operand between which those of the result lie, along one dimension, and the weight of the second
// ones. The kernel's formulas, in the dtype in which it computes them.
struct Between {
  Arg first, second, weight;
};
Between between(const Derivation& d, Size in, Size out, const Arg& scale, DType t) {
  const bool align = d.flag(3), scaled = !align && scale.is<double>() && scale.get<double>() > 0;
  const auto number = [&](const Arg& value) { return d.call(id::Full, {ListArg{}, value, t}); };
  const auto index = [&](const Arg& places) { return converted(d, places, DType::Int64); };
  Arg ratio;
  if (align)
    ratio = guard_lt(1, out) ? d.div(number(in - Size(1)), number(out - Size(1))) : number(0.0);
  else
    ratio = scaled ? number(1.0 / scale.get<double>()) : d.div(number(in), number(out));
  Arg source = d.call(id::Arange, {0, out, 1, t});
  if (align)
    source = d.mul(source, ratio);
  else
    source = d.call(id::ClampMin, {d.sub(d.mul(d.add(source, 0.5), ratio), 0.5), 0.0});
  const Arg last = number(in - Size(1));
  const Arg first = d.call(id::Minimum, {d.call(id::Floor, {source}), last});
  const Arg second = d.call(id::Minimum, {d.add(first, 1.0), last});
  return {index(first), index(second), d.call(id::Clamp, {d.sub(source, first), 0.0, 1.0})};
}

// Each slice of the gradient to where it came from, one dimension after the other.
Arg resampled_back(const Derivation& d) {
  const SizeVec x = d.sizes_of(0), size = d.sizes(1);
  const size_t n = size.size(), rank = x.size();
  const bool linear = d.arg(2).get<std::string>() == "linear";
  const DType t = counting_dtype(type_of(d.g()).dtype);
  const auto item = [&](int argument, size_t i) { return d.arg(argument).get<ListArg>().items.at(i); };
  Arg out = converted(d, d.g(), t);
  for (size_t i = 0; i < n; ++i) {
    const size_t dim = rank - n + i;
    const auto at = static_cast<std::int64_t>(dim);
    SizeVec sizes = type_of(out).sizes;
    sizes[dim] = x[dim];
    const Arg zeros = d.call(id::Zeros, {sizes_arg(sizes), t});
    if (linear) {
      const Between b = between(d, x[dim], size[i], item(4, i), t);
      const Arg weight = along(d, b.weight, dim, rank);
      const Arg part = d.call(id::IndexAdd, {zeros, at, b.first, d.mul(out, d.sub(1.0, weight))});
      out = d.call(id::IndexAdd, {part, at, b.second, d.mul(out, weight)});
    } else {
      // The kernel itself says which elements it takes.
      const Arg numbers = d.call(id::Unsqueeze, {d.call(id::Arange, {0, x[dim], 1, t}), 0});
      const Arg taken =
          d.call(id::Resample, {numbers, ListArg{{item(1, i)}}, d.arg(2), d.arg(3), ListArg{{item(4, i)}}});
      const Arg places = converted(d, d.call(id::Select, {taken, 0, 0}), DType::Int64);
      out = d.call(id::IndexAdd, {zeros, at, places, out});
    }
  }
  return out;
}

}  // namespace

Gradients vjp_rule(ops::Convolution, const Derivation& d) {
  const Windows w(d);
  return d.all({d.wants(0) ? of_input(d, w) : Arg(), d.wants(1) ? of_weight(d, w) : Arg()});
}

bool follows_operand(const Op& op) { return op.id == id::MaxPool || op.id == id::AdaptiveMaxPool; }

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

// Every element gets the shares of all windows over it, which is a sum over windows itself.
Gradients vjp_rule(ops::AvgPool, const Derivation& d) {
  const SizeVec kernel = d.sizes(1), stride = d.sizes(2), padding = d.sizes(3);
  const size_t n = kernel.size();
  const SizeVec x = last_of(d.sizes_of(0), n), g = last_of(type_of(d.g()).sizes, n);
  SizeVec before, after;
  for (size_t i = 0; i < n; ++i) {
    before.push_back(kernel[i] - Size(1) - padding[i]);
    after.push_back(x[i] + padding[i] - (g[i] - Size(1)) * stride[i] - Size(1));
  }
  const Arg spread = spread_out(d, share_of_element(d, kernel, padding), stride, before, after);
  return d.all({d.call(id::AvgPool, {spread, d.arg(1), ones_list(n), zeros_list(n), false, true, Size(1)})});
}

// The windows of the result over an element are the window of this element when the sizes change places.
Gradients vjp_rule(ops::AdaptiveAvgPool, const Derivation& d) {
  const size_t n = d.sizes(1).size();
  const SizeVec all = d.sizes_of(0), x = last_of(all, n), g = last_of(type_of(d.g()).sizes, n);
  if (guard_eq(product(type_of(d.g()).sizes), 0))
    return d.all({d.call(id::Zeros, {sizes_arg(all), type_of(d.g()).dtype})});
  bool even = true;
  Size whole = 1;
  for (size_t i = 0; i < n; ++i) {
    even = even && guard_eq(mod(x[i], g[i]), 0);
    whole = whole * floordiv(x[i], g[i]);
  }
  const Arg share = d.div(d.g(), even ? Arg(whole) : product_of_part_counts(d, x, g));
  const Arg means = d.call(id::AdaptiveAvgPool, {share, sizes_arg(x)});
  return d.all({even ? means : d.mul(means, product_of_part_counts(d, g, x))});
}

Gradients vjp_rule(ops::Resample, const Derivation& d) { return d.all({resampled_back(d)}); }

}  // namespace md
