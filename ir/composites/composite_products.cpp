// Composite products: weighted sums, inner and outer products, chains of matrices. einsum: composite_einsum.cpp.
#include <cmath>
#include <limits>

#include "ir/composites/arithmetic.h"
#include "ir/infer/expansion.h"
#include "registry/ops/arrangement.h"
#include "registry/ops/products.h"

namespace md {
namespace {

void need_vectors(const Expansion& e, int first, int count) {
  for (int i = first; i < first + count; ++i) {
    if (e.rank(i) != 1) e.fail(ErrorKind::Runtime, "Expected 1-D argument, but got {}-D", e.rank(i));
  }
}

Arg outer(const Expansion& e, const Arg& a, const Arg& b) {
  return e.call(id::Mul, {e.call(id::Unsqueeze, {a, 1}), b});
}

}  // namespace

Arg expand_rule(ops::Outer, const Expansion& e) {
  need_vectors(e, 0, 2);
  return outer(e, e.arg(0), e.arg(1));
}

Arg expand_rule(ops::Inner, const Expansion& e) {
  if (e.rank(0) == 0 || e.rank(1) == 0) return e.call(id::Mul, {e.arg(0), e.arg(1)});
  const TensorType x = e.tensor(0), y = e.tensor(1);
  if (!guard_eq(x.sizes.back(), y.sizes.back())) {
    e.fail(ErrorKind::Runtime, "the last dimension must match on both input tensors but got shapes {} and {}",
           sizes_text(x.sizes), sizes_text(y.sizes));
  }
  const Size k = x.sizes.back();
  const auto rows = [&](int i, const TensorType& t) {
    SizeVec outer(t.sizes.begin(), t.sizes.end() - 1);
    return reshaped(e, e.arg(i), SizeVec{product(outer), k});
  };
  SizeVec sizes(x.sizes.begin(), x.sizes.end() - 1);
  for (int d = 0; d + 1 < y.dim(); ++d) sizes.push_back(y.sizes[d]);
  return reshaped(e, e.call(id::Mm, {rows(0, x), e.call(id::MatrixT, {rows(1, y)})}), sizes);
}

// --- Weighted sums ---------------------------------------------------------------------------------------------------

namespace {

bool is_number(const Arg& a, int n) {
  return a == Arg(n) || a == Arg(static_cast<double>(n)) || (n < 2 && a == Arg(n == 1));
}

// beta * self + alpha * product; with beta 0 whatever self holds does not count.
Arg weighted_sum(const Expansion& e, Arg made) {
  const TensorType t = type_of(made);
  // Where all is whole, so are the weights.
  const auto weight = [&](int i) {
    const auto* d = e.arg(i).get_if<double>();
    if (t.dtype == DType::Bool) return Arg(!is_number(e.arg(i), 0));
    return d && !is_differentiable(t.dtype) ? Arg(static_cast<std::int64_t>(std::trunc(*d))) : e.arg(i);
  };
  const Arg beta = weight(3), alpha = weight(4);
  if (e.tensor(0).dtype != t.dtype) {
    e.fail(ErrorKind::Runtime, "self and mat2 must have the same dtype, but got {} and {}",
           info(e.tensor(0).dtype).name, info(t.dtype).name);
  }
  const SizeVec both = broadcast(e, e.tensor(0).sizes, t.sizes);
  if (!(both == t.sizes)) {
    e.fail(ErrorKind::Runtime, "sizes {} do not expand to {}", sizes_text(e.tensor(0).sizes), sizes_text(t.sizes));
  }
  if (!is_number(alpha, 1)) made = e.call(id::Mul, {made, alpha});
  if (is_number(beta, 0)) return made;
  const Arg own = is_number(beta, 1) ? e.arg(0) : e.call(id::Mul, {e.arg(0), beta});
  return e.call(id::Add, {own, made});
}

}  // namespace

Arg expand_rule(ops::Addmm, const Expansion& e) { return weighted_sum(e, e.call(id::Mm, {e.arg(1), e.arg(2)})); }
Arg expand_rule(ops::Addmv, const Expansion& e) { return weighted_sum(e, e.call(id::Mv, {e.arg(1), e.arg(2)})); }
Arg expand_rule(ops::Baddbmm, const Expansion& e) { return weighted_sum(e, e.call(id::Bmm, {e.arg(1), e.arg(2)})); }

// The batch joins the dimension that is summed over: one product of (n, b * k) and (b * k, m).
Arg expand_rule(ops::Addbmm, const Expansion& e) {
  const TensorType x = e.tensor(1), y = e.tensor(2);
  if (x.dim() != 3 || y.dim() != 3) {
    e.fail(ErrorKind::Runtime, "two batches of matrices are needed, not sizes {} and {}", sizes_text(x.sizes),
           sizes_text(y.sizes));
  }
  if (!guard_eq(x.sizes[0], y.sizes[0]) || !guard_eq(x.sizes[2], y.sizes[1])) {
    e.fail(ErrorKind::Runtime, "sizes {} and {} cannot be multiplied", sizes_text(x.sizes), sizes_text(y.sizes));
  }
  const Size joined = x.sizes[0] * x.sizes[2];
  const Arg rows = e.call(id::Permute, {e.arg(1), list_of({1, 0, 2})});
  const Arg a = reshaped(e, rows, SizeVec{x.sizes[1], joined}), b = reshaped(e, e.arg(2), SizeVec{joined, y.sizes[2]});
  return weighted_sum(e, e.call(id::Mm, {a, b}));
}

Arg expand_rule(ops::Addr, const Expansion& e) {
  need_vectors(e, 1, 2);
  return weighted_sum(e, outer(e, e.arg(1), e.arg(2)));
}

// One product of matrices: the rows of all leading dimensions are those of one matrix.
Arg expand_rule(ops::Linear, const Expansion& e) {
  const TensorType x = e.tensor(0), w = e.tensor(1);
  const bool has_bias = !e.arg(2).is_none();
  if (x.dim() == 0 || w.dim() == 0) {
    e.fail(ErrorKind::Runtime, "both arguments to linear need to be at least 1D, but they are {}D and {}D", x.dim(),
           w.dim());
  }
  if (w.dim() == 1) {
    if (has_bias && x.dim() == 2) e.fail(ErrorKind::Runtime, "mat2 must be a matrix, got 1-D tensor");
    const Arg made = e.call(id::Matmul, {e.arg(0), e.arg(1)});
    return has_bias ? e.call(id::Add, {made, e.arg(2)}) : made;
  }
  SizeVec outer(x.sizes.begin(), x.sizes.end() - 1);
  const Arg rows = x.dim() == 2 ? e.arg(0) : reshaped(e, e.arg(0), SizeVec{product(outer), x.sizes.back()});
  const Arg columns = e.call(id::MatrixT, {e.arg(1)});
  // A bias of several dimensions is added to the result as a whole.
  const bool inside = has_bias && (x.dim() == 2 || e.tensor(2).dim() <= 1);
  const Arg made = inside ? e.call(id::Addmm, {e.arg(2), rows, columns, 1, 1}) : e.call(id::Mm, {rows, columns});
  if (x.dim() == 2) return made;
  outer.push_back(w.sizes[0]);
  const Arg whole = reshaped(e, made, outer);
  return has_bias && !inside ? e.call(id::Add, {whole, e.arg(2)}) : whole;
}

// --- Vectors, arrays -------------------------------------------------------------------------------------------------

Arg expand_rule(ops::Vdot, const Expansion& e) { return e.call(id::Dot, {e.arg(0), e.arg(1)}); }

Arg expand_rule(ops::LinalgVecdot, const Expansion& e) {
  if (const DType t = e.tensor(0).dtype; !is_floating(t)) {
    e.fail(ErrorKind::Runtime, "Expected a floating point tensor as input. Got {}", info(t).name);
  }
  const Arg made = e.call(id::Mul, {e.arg(0), e.arg(1)});
  const TensorType t = type_of(made);
  const int d = checked_dim(e, e.size(2), t.dim());
  if (t.dim() == 0) e.fail(ErrorKind::Index, "tensors of at least one dimension are needed");
  return e.call(id::Sum, {made, list_of({d}), false, t.dtype});
}

namespace {

struct Pairs {
  std::vector<int> a, b;  // dimensions summed over
};

std::vector<int> listed_dims(const Expansion& e, const Arg& list, int rank) {
  std::vector<int> dims;
  std::vector<bool> seen(static_cast<std::size_t>(std::max(rank, 1)));
  const auto add = [&](const Arg& item) {
    const auto* s = item.get_if<Size>();
    if (!s) throw OpError(ErrorKind::Type, "tensordot(): dims must be an int or two lists of ints");
    const int d = checked_dim(e, *s, rank);
    if (seen[static_cast<std::size_t>(d)]) {
      e.fail(ErrorKind::Runtime, "dim {} appears multiple times in the list of dims", d);
    }
    seen[static_cast<std::size_t>(d)] = true;
    dims.push_back(d);
  };
  if (const auto* l = list.get_if<ListArg>()) {
    for (const Arg& item : l->items) add(item);
  } else {
    add(list);
  }
  return dims;
}

Pairs summed_pairs(const Expansion& e, int x, int y) {
  Pairs p;
  const auto* list = e.arg(2).get_if<ListArg>();
  if (list && list->items.size() == 2) {
    p = {listed_dims(e, list->items[0], x), listed_dims(e, list->items[1], y)};
    if (p.a.size() != p.b.size()) {
      e.fail(ErrorKind::Runtime, "both dimension lists should have same length, but have {} and {}", p.a.size(),
             p.b.size());
    }
    return p;
  }
  const auto* count = e.arg(2).get_if<Size>();
  if (!count) throw OpError(ErrorKind::Type, "tensordot(): dims must be an int or two lists of ints");
  const std::int64_t n = fixed_size(*count);
  if (n < 0) e.fail(ErrorKind::Runtime, "tensordot expects dims >= 0, but got dims={}", n);
  if (n > x || n > y) {
    e.fail(ErrorKind::Runtime, "{} dimensions cannot be summed over in tensors of {} and {} dimensions", n, x, y);
  }
  for (int i = 0; i < n; ++i) p.a.push_back(x - static_cast<int>(n) + i), p.b.push_back(i);
  return p;
}

// `x` as a matrix with the dimensions summed over last (or first), and the sizes of the others.
struct Unfolded {
  Arg matrix;
  SizeVec kept;
};
Unfolded unfolded(const Expansion& e, const Arg& x, const std::vector<int>& summed, bool last) {
  const TensorType t = type_of(x);
  ListArg order, inner;
  Unfolded u;
  Size n = 1;
  for (int d = 0; d < t.dim(); ++d) {
    if (std::ranges::find(summed, d) != summed.end()) continue;
    order.items.emplace_back(d);
    u.kept.push_back(t.sizes[d]);
  }
  for (const int d : summed) {
    inner.items.emplace_back(d);
    n = n * t.sizes[d];
  }
  order.items.insert(last ? order.items.end() : order.items.begin(), inner.items.begin(), inner.items.end());
  const Size m = product(u.kept);
  u.matrix = reshaped(e, e.call(id::Permute, {x, order}), last ? SizeVec{m, n} : SizeVec{n, m});
  return u;
}

}  // namespace

Arg expand_rule(ops::Tensordot, const Expansion& e) {
  const TensorType x = e.tensor(0), y = e.tensor(1);
  const Pairs p = summed_pairs(e, x.dim(), y.dim());
  Arg a = e.arg(0), b = e.arg(1);
  for (std::size_t i = 0; i < p.a.size(); ++i) {
    const Size m = x.sizes[p.a[i]], n = y.sizes[p.b[i]];
    // A size of 1 broadcasts: its sum over the other's positions.
    if (guard_eq(m, n)) continue;
    if (!guard_eq(m, 1) && !guard_eq(n, 1)) {
      e.fail(ErrorKind::Runtime,
             "contracted dimensions need to match, but first has size {} in dim {} and second has "
             "size {} in dim {}",
             to_string(m), p.a[i], to_string(n), p.b[i]);
    }
    const bool first = guard_eq(m, 1);
    Arg& wide = first ? b : a;
    wide = e.call(id::Sum, {wide, list_of({first ? p.b[i] : p.a[i]}), true, type_of(wide).dtype});
  }
  const Unfolded left = unfolded(e, a, p.a, true), right = unfolded(e, b, p.b, false);
  SizeVec sizes = left.kept;
  for (const Size s : right.kept) sizes.push_back(s);
  return reshaped(e, e.call(id::Mm, {left.matrix, right.matrix}), sizes);
}

Arg expand_rule(ops::Kron, const Expansion& e) {
  const TensorType x = e.tensor(0), y = e.tensor(1);
  const int rank = std::max(x.dim(), y.dim());
  SizeVec a, b, joined;
  for (int d = 0; d < rank; ++d) {
    const Size m = d < rank - x.dim() ? Size(1) : x.sizes[d - (rank - x.dim())];
    const Size n = d < rank - y.dim() ? Size(1) : y.sizes[d - (rank - y.dim())];
    a.push_back(m), a.push_back(1);
    b.push_back(1), b.push_back(n);
    joined.push_back(m * n);
  }
  return reshaped(e, e.call(id::Mul, {reshaped(e, e.arg(0), a), reshaped(e, e.arg(1), b)}), joined);
}

// --- Chains of matrices ----------------------------------------------------------------------------------------------

namespace {

// Where to cut the chain i..j of least work: sizes are those between the matrices. (Cormen et al., Introduction to
// Algorithms, "Matrix-chain multiplication".)
std::vector<std::vector<std::size_t>> best_cuts(const std::vector<std::int64_t>& sizes) {
  const std::size_t n = sizes.size() - 1;
  std::vector<std::vector<double>> work(n, std::vector<double>(n));
  std::vector<std::vector<std::size_t>> cut(n, std::vector<std::size_t>(n));
  for (std::size_t length = 2; length <= n; ++length) {
    for (std::size_t i = 0; i + length <= n; ++i) {
      const std::size_t j = i + length - 1;
      work[i][j] = std::numeric_limits<double>::infinity();
      for (std::size_t k = i; k < j; ++k) {
        const double cost =
            work[i][k] + work[k + 1][j] +
            static_cast<double>(sizes[i]) * static_cast<double>(sizes[k + 1]) * static_cast<double>(sizes[j + 1]);
        if (cost < work[i][j]) work[i][j] = cost, cut[i][j] = k;
      }
    }
  }
  return cut;
}

Arg chain_product(const Expansion& e, const std::vector<Arg>& matrices) {
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    const TensorType t = type_of(matrices[i]);
    if (t.dim() != 2) {
      e.fail(ErrorKind::Runtime, "matrix {} of the chain has {} dimensions, not 2", i, t.dim());
    }
    if (i > 0 && !guard_eq(type_of(matrices[i - 1]).sizes[1], t.sizes[0])) {
      e.fail(ErrorKind::Runtime, "matrices {} and {} with sizes {} and {} cannot be multiplied", i - 1, i,
             sizes_text(type_of(matrices[i - 1]).sizes), sizes_text(t.sizes));
    }
    // The order decides how results round: it is that of eager mode.
    sizes.push_back(matrices.size() > 2 ? fixed_size(t.sizes[0]) : 0);
    if (i + 1 == matrices.size()) sizes.push_back(matrices.size() > 2 ? fixed_size(t.sizes[1]) : 0);
  }
  const auto cut = best_cuts(sizes);
  const auto part = [&](const auto& self, std::size_t i, std::size_t j) -> Arg {
    if (i == j) return matrices[i];
    return e.call(id::Mm, {self(self, i, cut[i][j]), self(self, cut[i][j] + 1, j)});
  };
  return part(part, 0, matrices.size() - 1);
}

}  // namespace

Arg expand_rule(ops::ChainMatmul, const Expansion& e) {
  const auto& matrices = e.arg(0).get<ListArg>().items;
  if (matrices.empty()) e.fail(ErrorKind::Runtime, "Expecting at least one matrix");
  return chain_product(e, matrices);
}

Arg expand_rule(ops::MultiDot, const Expansion& e) {
  std::vector<Arg> matrices = e.arg(0).get<ListArg>().items;
  if (matrices.size() < 2) e.fail(ErrorKind::Runtime, "expected at least 2 tensors but got {}", matrices.size());
  const bool row = type_of(matrices.front()).dim() == 1, column = type_of(matrices.back()).dim() == 1;
  if (row) matrices.front() = e.call(id::Unsqueeze, {matrices.front(), 0});
  if (column) matrices.back() = e.call(id::Unsqueeze, {matrices.back(), 1});
  Arg result = chain_product(e, matrices);
  if (column) result = e.call(id::Select, {result, 1, 0});
  return row ? e.call(id::Select, {result, 0, 0}) : result;
}

Arg expand_rule(ops::MatrixPower, const Expansion& e) {
  const TensorType x = e.tensor(0);
  if (x.dim() < 2 || !guard_eq(x.sizes[x.dim() - 2], x.sizes.back())) {
    e.fail(ErrorKind::Runtime, "square matrices are needed, not sizes {}", sizes_text(x.sizes));
  }
  std::int64_t n = fixed_size(e.size(1));
  if (n < 0) e.fail(ErrorKind::NotImplemented, "power {} needs the inverse, which is not there", n);
  if (n == 0) {
    const Arg one = e.call(id::Eye, {x.sizes.back(), NoneArg{}, x.dtype});
    return e.call(id::Clone, {e.call(id::Expand, {one, sizes_arg(x.sizes)})});
  }
  if (n == 1) return e.call(id::Clone, {e.arg(0)});
  Arg square = e.arg(0), result = NoneArg{};
  for (;; n /= 2) {
    if (n % 2 == 1) result = result.is_none() ? square : e.call(id::Matmul, {result, square});
    if (n < 2) return result;
    square = e.call(id::Matmul, {square, square});
  }
}

// --- Norms -----------------------------------------------------------------------------------------------------------

namespace {

Arg last_two(const Expansion& e) {
  const Arg dims = e.arg(2).is_none() ? list_of({-2, -1}) : e.arg(2);
  if (dims.get<ListArg>().items.size() != 2) {
    e.fail(ErrorKind::Runtime, "dim must be a 2-tuple, not of {} dimensions", dims.get<ListArg>().items.size());
  }
  if (e.rank(0) < 2) {
    e.fail(ErrorKind::Runtime, "the input must have at least 2 dimensions, not sizes {}",
           sizes_text(e.tensor(0).sizes));
  }
  return dims;
}

}  // namespace

Arg expand_rule(ops::MatrixNorm, const Expansion& e) {
  return e.call(id::LinalgNorm, {e.arg(0), e.arg(1), last_two(e), e.arg(3), e.arg(4)});
}
Arg expand_rule(ops::MatrixNormName, const Expansion& e) {
  return e.call(id::LinalgNormName, {e.arg(0), e.arg(1), last_two(e), e.arg(3), e.arg(4)});
}

}  // namespace md
