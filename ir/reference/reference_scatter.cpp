// Reference kernels that fold values into the elements an index tensor names.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ir/core/error.h"
#include "ir/reference/positions.h"
#include "registry/ops/indexing.h"

namespace md {
namespace {

// The elements of a tensor that an index along one dimension names, next to those of a source.
class Scattered {
 public:
  Scattered(const KernelCall& c, const TensorImpl* source) : out_(*c.out[0]), index_(c.tensor(2)), source_(source) {
    const std::int64_t d = c.args[1].get<Size>().value();
    dim_ = static_cast<int>(d < 0 ? d + std::max(out_.dim(), 1) : d);
    size_ = out_.dim() ? out_.sizes[dim_] : 1;
    positions_ = vector_positions(index_);
    for (const std::int64_t at : positions_) {
      if (at >= 0 && at < size_) continue;
      throw OpError(ErrorKind::Runtime,
                    fmt::format("index {} is out of bounds for dimension {} with size {}", at, dim_, size_));
    }
  }

  // f(offset in `written`, which has the sizes of the result; offset in the source), in row-major order of the index.
  template <class F>
  void each(const TensorImpl& written, F&& f) const {
    if (positions_.empty()) return;
    TensorImpl others(written.storage, written.dtype, index_.sizes, DimVec(index_.sizes.size()), 0);
    TensorImpl from(written.storage, written.dtype, index_.sizes, DimVec(index_.sizes.size()), 0);
    for (int i = 0; i < index_.dim(); ++i) {
      others.strides[i] = i == dim_ || written.dim() == 0 ? 0 : written.strides[i];
      from.strides[i] = source_ && source_->dim() ? source_->strides[i] : 0;
    }
    const std::int64_t step = written.dim() ? written.strides[dim_] : 0;
    ElementCursor to(others, index_.sizes), at(from, index_.sizes);
    for (const std::int64_t position : positions_) {
      f(to.offset() + position * step, at.offset());
      to.next(), at.next();
    }
  }

 private:
  const TensorImpl &out_, &index_;
  const TensorImpl* source_;
  int dim_ = 0;
  std::int64_t size_ = 1;
  std::vector<std::int64_t> positions_;
};

struct Keep {
  template <class T>
  T operator()(T, T y) const {
    return y;
  }
};
struct Add {
  template <class T>
  T operator()(T x, T y) const {
    if constexpr (std::is_same_v<T, bool>) {
      return x || y;
    } else {
      return ScalarBuilder<T>().add(x, y);
    }
  }
};
struct Multiply {
  template <class T>
  T operator()(T x, T y) const {
    if constexpr (std::is_same_v<T, bool>) {
      return x && y;
    } else {
      return ScalarBuilder<T>().mul(x, y);
    }
  }
};
// A NaN wins.
struct Larger {
  template <class T>
  T operator()(T x, T y) const {
    return x != x || x > y ? x : y;
  }
};
struct Smaller {
  template <class T>
  T operator()(T x, T y) const {
    return x != x || x < y ? x : y;
  }
};

template <class Combine>
void combine_source(const KernelCall& c, Combine combine) {
  const TensorImpl &source = c.tensor(3), &out = *c.out[0];
  const Scattered s(c, &source);
  copy_unless_same(c.tensor(0), out);
  visit_dtype(out.dtype, [&](auto t) {
    using T = decltype(t);
    s.each(out, [&, to = out.as<T>(), from = source.as<T>()](std::int64_t a, std::int64_t b) {
      to[a] = narrow<T>(combine(widen(to[a]), widen(from[b])));
    });
  });
}

template <class Combine>
void combine_number(const KernelCall& c, Combine combine) {
  const TensorImpl& out = *c.out[0];
  const Scattered s(c, nullptr);
  copy_unless_same(c.tensor(0), out);
  visit_dtype(out.dtype, [&](auto t) {
    using T = decltype(t);
    WorkingOf<T> value;
    number_element(c.args[3], out.dtype, &value);
    s.each(out,
           [&, to = out.as<T>()](std::int64_t a, std::int64_t) { to[a] = narrow<T>(combine(widen(to[a]), value)); });
  });
}

}  // namespace

void reference_kernel(ops::Scatter, const KernelCall& c) { combine_source(c, Keep{}); }
void reference_kernel(ops::ScatterValue, const KernelCall& c) { combine_number(c, Keep{}); }
void reference_kernel(ops::ScatterAdd, const KernelCall& c) { combine_source(c, Add{}); }

void reference_kernel(ops::ScatterReduceSource, const KernelCall& c) {
  if (c.args[4].get<std::string>() == "add") {
    combine_source(c, Add{});
  } else {
    combine_source(c, Multiply{});
  }
}

void reference_kernel(ops::ScatterReduceValue, const KernelCall& c) {
  if (c.args[4].get<std::string>() == "add") {
    combine_number(c, Add{});
  } else {
    combine_number(c, Multiply{});
  }
}

// --- scatter_reduce ------------------------------------------------------------------------------------------------

namespace {

// Without what was there before, the first value of each element starts its fold.
template <class T, class Combine>
void fold(const KernelCall& c, const Scattered& s, Combine combine, bool mean) {
  const TensorImpl &source = c.tensor(3), &out = *c.out[0];
  const bool include_self = c.args[5].get<bool>();
  std::vector<std::int64_t> counts(static_cast<std::size_t>(out.numel()), include_self ? 1 : 0);
  const TensorImpl linear({}, DType::Int64, out.sizes, contiguous_strides(out.sizes), 0);
  std::vector<std::int64_t> rows;
  s.each(linear, [&](std::int64_t row, std::int64_t) { rows.push_back(row); });
  std::size_t next = 0;
  T* const to = out.as<T>();
  const T* const from = source.as<T>();
  s.each(out, [&](std::int64_t a, std::int64_t b) {
    const bool first = counts[static_cast<std::size_t>(rows[next++])]++ == 0;
    to[a] = first ? from[b] : narrow<T>(combine(widen(to[a]), widen(from[b])));
  });
  if (!mean) return;
  next = 0;
  s.each(out, [&](std::int64_t a, std::int64_t) {
    std::int64_t& n = counts[static_cast<std::size_t>(rows[next++])];
    if (n > 1) {
      using W = WorkingOf<T>;
      const W sum = widen(to[a]);
      if constexpr (std::is_floating_point_v<W>) {
        to[a] = narrow<T>(sum / static_cast<W>(n));
      } else if constexpr (!std::is_same_v<T, bool>) {
        const auto wide = static_cast<std::int64_t>(sum);
        to[a] = narrow<T>(static_cast<W>(wide / n - (wide % n < 0)));
      }
    }
    n = 1;
  });
}

}  // namespace

void reference_kernel(ops::ScatterReduce, const KernelCall& c) {
  const Scattered s(c, &c.tensor(3));
  copy_unless_same(c.tensor(0), *c.out[0]);
  const std::string& reduce = c.args[4].get<std::string>();
  visit_dtype(c.out[0]->dtype, [&](auto t) {
    using T = decltype(t);
    if (reduce == "sum" || reduce == "mean") fold<T>(c, s, Add{}, reduce == "mean");
    if (reduce == "prod") fold<T>(c, s, Multiply{}, false);
    if (reduce == "amax") fold<T>(c, s, Larger{}, false);
    if (reduce == "amin") fold<T>(c, s, Smaller{}, false);
  });
}

}  // namespace md
