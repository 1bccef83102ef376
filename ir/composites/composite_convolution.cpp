// Composite convolutions: arguments brought into the kernel's form, padding by name, bias, transposes.
#include "ir/infer/expansion.h"
#include "ir/infer/windows.h"

namespace md {
namespace {

using std::size_t;

Arg int_list(const std::vector<int>& items) {
  ListArg l;
  for (const int i : items) l.items.emplace_back(i);
  return l;
}

// A parameter for each of n dimensions: one number stands for all.
SizeVec for_each_dim(const Expansion& e, int arg, size_t n, const char* name, int least) {
  SizeVec v = e.sizes(arg);
  if (v.size() == 1) v = SizeVec(n, v[0]);
  if (v.size() != n) {
    e.fail(ErrorKind::Runtime, "expected {} to be a single integer value or a list of {} values, but got {}", name, n,
           sizes_text(v));
  }
  for (const Size s : v) {
    if (guard_lt(s, least)) e.fail(ErrorKind::Runtime, "{} must be at least {}, but is {}", name, least, sizes_text(v));
  }
  return v;
}

struct Operands {
  Arg input, weight;
  bool batched = true;
};

// Input (with a batch of 1 if it has none) and weight, of n + 2 dimensions each.
Operands operands(const Expansion& e, size_t n, bool small_integers) {
  const TensorType x = e.tensor(0), w = e.tensor(1);
  const int rank = static_cast<int>(n) + 2;
  if (w.dim() != rank) {
    e.fail(ErrorKind::Runtime, "weight must have {} dimensions, but has sizes {}", rank, sizes_text(w.sizes));
  }
  if (x.dim() != rank && x.dim() != rank - 1) {
    e.fail(ErrorKind::Runtime, "expected {}D (unbatched) or {}D (batched) input, but got input of size {}", rank - 1,
           rank, sizes_text(x.sizes));
  }
  if (x.dtype != w.dtype) {
    e.fail(ErrorKind::Runtime, "input and weight must have one dtype, but have {} and {}", info(x.dtype).name,
           info(w.dtype).name);
  }
  if (x.dtype == DType::Bool || (is_integral(x.dtype) && x.dtype != DType::Int64 && !small_integers)) {
    e.fail(ErrorKind::NotImplemented, "not defined for {}", info(x.dtype).name);
  }
  const bool batched = x.dim() == rank;
  return {batched ? e.arg(0) : e.call(id::Unsqueeze, {e.arg(0), 0}), e.arg(1), batched};
}

void check_channels(const Expansion& e, const Operands& o, Size groups, int weight_in, int weight_out) {
  const TensorType x = type_of(o.input), w = type_of(o.weight);
  if (guard_lt(groups, 1)) e.fail(ErrorKind::Runtime, "groups must be at least 1, but is {}", to_string(groups));
  const Size in = weight_in == 1 ? w.sizes[1] * groups : w.sizes[0];
  if (!guard_eq(x.sizes[1], in)) {
    e.fail(ErrorKind::Runtime, "with groups={} and weight of size {}, input of size {} should have {} channels, not {}",
           to_string(groups), sizes_text(w.sizes), sizes_text(x.sizes), to_string(in), to_string(x.sizes[1]));
  }
  if (!guard_eq(mod(w.sizes[0], groups), 0)) {
    e.fail(ErrorKind::Runtime, "weight of size {} cannot be divided into {} groups along dimension 0",
           sizes_text(w.sizes), to_string(groups));
  }
  const Arg& bias = e.arg(2);
  if (bias.is_none()) return;
  const TensorType b = type_of(bias);
  const Size out = weight_out == 0 ? w.sizes[0] : w.sizes[1] * groups;
  if (b.dim() != 1 || !guard_eq(b.sizes[0], out)) {
    e.fail(ErrorKind::Runtime, "bias must have {} elements, one for each channel, but has sizes {}", to_string(out),
           sizes_text(b.sizes));
  }
  if (b.dtype != x.dtype) {
    e.fail(ErrorKind::Runtime, "input and bias must have one dtype, but have {} and {}", info(x.dtype).name,
           info(b.dtype).name);
  }
}

Arg with_bias(const Expansion& e, Arg result, bool batched) {
  if (!e.arg(2).is_none()) {
    SizeVec column(type_of(result).sizes.size() - 1, Size(1));
    column[0] = type_of(e.arg(2)).sizes[0];
    result = e.call(id::Add, {result, reshaped(e, e.arg(2), column)});
  }
  return batched ? result : e.call(id::Select, {result, 0, 0});
}

// How much 'same' pads along each dimension; the odd one goes behind.
struct SamePadding {
  SizeVec both, behind;
};
SamePadding same_padding(const Expansion& e, const TensorType& w, const SizeVec& stride, const SizeVec& dilation) {
  SamePadding p;
  for (size_t i = 0; i < stride.size(); ++i) {
    if (!guard_eq(stride[i], 1)) e.fail(ErrorKind::Runtime, "padding='same' is not defined for strides other than 1");
    const Size total = dilation[i] * (w.sizes[i + 2] - 1);
    p.both.push_back(floordiv(total, 2));
    p.behind.push_back(mod(total, 2));
  }
  return p;
}

}  // namespace

Arg padded(const Expansion& e, const Arg& x, const SizeVec& before, const SizeVec& behind, const Arg& value) {
  const TensorType t = type_of(x);
  SizeVec sizes = t.sizes;
  const size_t outer = sizes.size() - before.size();
  bool wider = false;
  for (size_t i = 0; i < before.size(); ++i) {
    const Size added = before[i] + behind[i];
    wider = wider || !guard_eq(added, 0);
    sizes[outer + i] = sizes[outer + i] + added;
  }
  if (!wider) return x;
  const SizeVec strides = row_major_strides(sizes);
  Size start = 0;
  for (size_t i = 0; i < before.size(); ++i) start = start + before[i] * strides[outer + i];
  const Arg around = e.call(id::Full, {sizes_arg(sizes), value, t.dtype});
  return e.call(id::WriteView, {around, x, sizes_arg(strides), start});
}

namespace {

void check_room(const Expansion& e, const Operands& o, const SizeVec& stride, const SizeVec& padding,
                const SizeVec& dilation) {
  const SizeVec x = type_of(o.input).sizes, w = type_of(o.weight).sizes;
  for (size_t i = 0; i < stride.size(); ++i) {
    if (guard_lt(w[i + 2], 1)) e.fail(ErrorKind::Runtime, "weight of size {} has an empty window", sizes_text(w));
    window_count(e, x[i + 2], w[i + 2], stride[i], padding[i], dilation[i], false);
  }
}

Arg convolution(const Expansion& e, size_t n) {
  Operands o = operands(e, n, true);
  const Size groups = e.size(6);
  check_channels(e, o, groups, 1, 0);
  const SizeVec stride = for_each_dim(e, 3, n, "stride", 1), dilation = for_each_dim(e, 5, n, "dilation", 1);
  SizeVec padding(n, Size(0));
  if (const auto* name = e.arg(4).get_if<std::string>()) {
    if (*name == "same") {
      const SamePadding p = same_padding(e, type_of(o.weight), stride, dilation);
      padding = p.both;
      o.input = padded(e, o.input, SizeVec(n, Size(0)), p.behind, 0);
    } else if (*name != "valid") {
      e.fail(ErrorKind::Runtime, "padding must be 'valid' or 'same', not '{}'", *name);
    }
  } else {
    padding = for_each_dim(e, 4, n, "padding", 0);
  }
  check_room(e, o, stride, padding, dilation);
  const Arg result =
      e.call(id::Convolution, {o.input, o.weight, sizes_arg(stride), sizes_arg(padding), sizes_arg(dilation), groups});
  return with_bias(e, result, o.batched);
}

}  // namespace

Arg expand_rule(ops::Conv1d, const Expansion& e) { return convolution(e, 1); }
Arg expand_rule(ops::Conv2d, const Expansion& e) { return convolution(e, 2); }
Arg expand_rule(ops::Conv3d, const Expansion& e) { return convolution(e, 3); }
Arg expand_rule(ops::Conv1dPadding, const Expansion& e) { return convolution(e, 1); }
Arg expand_rule(ops::Conv2dPadding, const Expansion& e) { return convolution(e, 2); }
Arg expand_rule(ops::Conv3dPadding, const Expansion& e) { return convolution(e, 3); }

// --- Transposes ------------------------------------------------------------------------------------------------------

namespace {

// Input elements `stride` apart, so far from the edges that every window of a plain convolution that covers one of
// them is there.
Arg spread_input(const Expansion& e, const Arg& x, const SizeVec& stride, const SizeVec& before, const SizeVec& sizes) {
  const TensorType t = type_of(x);
  SizeVec whole{t.sizes[0], t.sizes[1]}, cut_before(sizes.size(), Size(0));
  // What padding takes away at the edges is cut off afterwards.
  for (size_t i = 0; i < sizes.size(); ++i) {
    cut_before[i] = guard_lt(before[i], 0) ? 0 - before[i] : Size(0);
    const Size reach = (t.sizes[i + 2] - 1) * stride[i] + 1 + before[i];
    whole.push_back(max(sizes[i], reach) + cut_before[i]);
  }
  const SizeVec strides = row_major_strides(whole);
  SizeVec steps{strides[0], strides[1]};
  Size start = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    steps.push_back(strides[i + 2] * stride[i]);
    start = start + (before[i] + cut_before[i]) * strides[i + 2];
  }
  const Arg zeros = e.call(id::Zeros, {sizes_arg(whole), t.dtype});
  Arg made = e.call(id::WriteView, {zeros, x, sizes_arg(steps), start});
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (guard_eq(whole[i + 2], sizes[i])) continue;
    made = e.call(id::Narrow, {made, static_cast<int>(i) + 2, cut_before[i], sizes[i]});
  }
  return made;
}

// (in, out / groups, ...) as (out, in / groups, ...), windows turned around.
Arg turned_weight(const Expansion& e, const Arg& w, Size groups) {
  const SizeVec sizes = type_of(w).sizes;
  const size_t n = sizes.size() - 2;
  SizeVec apart{groups, floordiv(sizes[0], groups), sizes[1]}, joined{sizes[1] * groups, floordiv(sizes[0], groups)};
  std::vector<int> order{0, 2, 1}, windows;
  for (size_t i = 0; i < n; ++i) {
    apart.push_back(sizes[i + 2]), joined.push_back(sizes[i + 2]);
    order.push_back(static_cast<int>(i) + 3), windows.push_back(static_cast<int>(i) + 2);
  }
  const Arg swapped = e.call(id::Permute, {reshaped(e, w, apart), int_list(order)});
  return e.call(id::Flip, {reshaped(e, swapped, joined), int_list(windows)});
}

Arg transposed(const Expansion& e, size_t n) {
  const Operands o = operands(e, n, false);
  const Size groups = e.size(6);
  check_channels(e, o, groups, 0, 1);
  const SizeVec stride = for_each_dim(e, 3, n, "stride", 1), padding = for_each_dim(e, 4, n, "padding", 0);
  const SizeVec extra = for_each_dim(e, 5, n, "output_padding", 0), dilation = for_each_dim(e, 7, n, "dilation", 1);
  const SizeVec x = type_of(o.input).sizes, w = type_of(o.weight).sizes;
  SizeVec before, sizes;
  for (size_t i = 0; i < n; ++i) {
    if (!guard_lt(extra[i], stride[i]) && !guard_lt(extra[i], dilation[i])) {
      e.fail(ErrorKind::Runtime, "output padding {} must be smaller than either stride {} or dilation {}",
             sizes_text(extra), sizes_text(stride), sizes_text(dilation));
    }
    const Size reach = dilation[i] * (w[i + 2] - 1),
               out = (x[i + 2] - 1) * stride[i] - padding[i] * 2 + reach + extra[i] + 1;
    if (guard_lt(x[i + 2], 1) || guard_lt(out, 1)) {
      e.fail(ErrorKind::Runtime, "input of size {} gives an output of size {} in dimension {}", sizes_text(x),
             to_string(out), i + 2);
    }
    before.push_back(reach - padding[i]);
    sizes.push_back(out + reach);
  }
  const Arg spread = spread_input(e, o.input, stride, before, sizes);
  const SizeVec ones(n, Size(1)), none(n, Size(0));
  const Arg result = e.call(id::Convolution, {spread, turned_weight(e, o.weight, groups), sizes_arg(ones),
                                              sizes_arg(none), sizes_arg(dilation), groups});
  return with_bias(e, result, o.batched);
}

}  // namespace

Arg expand_rule(ops::ConvTranspose1d, const Expansion& e) { return transposed(e, 1); }
Arg expand_rule(ops::ConvTranspose2d, const Expansion& e) { return transposed(e, 2); }

}  // namespace md
