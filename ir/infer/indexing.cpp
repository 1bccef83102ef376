// Takes an index apart: ints, slices, None and ... become views; lists, masks and tensors go to one indexing op.
#include "ir/infer/indexing.h"

#include <algorithm>

#include "ir/core/error.h"
#include "ir/graph/op_ids.h"
#include "ir/infer/infer.h"
#include "ir/infer/inplace.h"
#include "ir/infer/type_caller.h"
#include "ir/infer/unbacked.h"
#include "ir/tensor/readable.h"

namespace md {
namespace {

[[noreturn]] void too_many_indices(int rank) {
  throw OpError(ErrorKind::Index, rank == 0 ? std::string("a 0-d tensor cannot be indexed; item() gives its value")
                                            : fmt::format("too many indices for tensor of dimension {}", rank));
}

[[noreturn]] void wrong_index_dtype() {
  throw OpError(ErrorKind::Index, "tensors used as indices must be long, int, byte or bool tensors");
}

bool holds_bools(const ListArg& list) {
  for (const Arg& a : list.items) {
    if (const auto* inner = a.get_if<ListArg>()) return holds_bools(*inner);
    if (a.is<bool>()) return true;
  }
  return false;
}

int depth_of(const ListArg& list) {
  const auto* first = list.items.empty() ? nullptr : list.items[0].get_if<ListArg>();
  return first ? 1 + depth_of(*first) : 1;
}

bool is_integer_scalar(const TensorType& t) { return t.dim() == 0 && is_integral(t.dtype) && !is_mask(t.dtype); }

// A list that holds more than numbers means the tuple of its items.
bool is_tuple(const Arg& index) {
  const auto* list = index.get_if<ListArg>();
  if (!list) return false;
  return list->tuple || std::ranges::any_of(list->items, [](const Arg& a) {
           return is_tensor(a) || a.is_none() || a.is<EllipsisArg>() || a.is<SliceArg>() || a.is<ListArg>();
         });
}

// How many dimensions an item of an index stands for.
int dims_taken(const Arg& a) {
  if (a.is<Size>() || a.is<SliceArg>()) return 1;
  if (a.is_none() || a.is<bool>() || a.is<EllipsisArg>()) return 0;
  if (const auto* list = a.get_if<ListArg>()) return holds_bools(*list) ? depth_of(*list) : 1;
  if (is_tensor(a)) {
    const TensorType t = type_of(a);
    if (is_mask(t.dtype)) return t.dim();
    if (t.dtype != DType::Int64 && t.dtype != DType::Int32 && !is_integer_scalar(t)) wrong_index_dtype();
    return 1;
  }
  if (a.is<std::string>()) throw OpError(ErrorKind::Type, "new(): invalid data type 'str'");
  throw OpError(ErrorKind::Index,
                "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
                "(got float)");
}

bool is_full_slice(const SliceArg& slice) {
  return std::ranges::all_of(*slice.parts, [](const Arg& p) { return p.is_none(); });
}

// All bools of an index without positions make one dimension between them: of size 1 if they are all true, else 0. It
// stands where they stand, and first if a dimension comes between two of them.
struct BoolDimension {
  int at = -1;
  bool kept = true;

  void add(bool index, int dim) {
    at = at < 0 || at == dim ? dim : 0;
    kept &= index;
  }
  Arg insert(OpCaller& caller, const Arg& x) const {
    if (at < 0) return x;
    const Arg wider = caller.call(id::Unsqueeze, {x, at});
    return kept ? wider : caller.call(id::Slice, {wider, at, 0, 0, 1});
  }
};

class IndexOpener {
 public:
  IndexOpener(OpCaller& caller, const Arg& x, const Arg& index, IndexUse use) : caller_(caller), x_(x), use_(use) {
    const auto* list = index.get_if<ListArg>();
    items_ = is_tuple(index) ? std::span<const Arg>(list->items) : std::span<const Arg>(&index, 1);
    rank_ = type_of(x).dim();
    int ellipses = 0;
    for (const Arg& a : items_) {
      taken_ += dims_taken(a);
      if (a.is<EllipsisArg>() && ++ellipses > 1) {
        throw OpError(ErrorKind::Index, "an index may hold only one ellipsis ('...')");
      }
      looks_up_ |= a.is<ListArg>() || (is_tensor(a) && !is_integer_scalar(type_of(a)));
    }
    if (taken_ > rank_) too_many_indices(rank_);
  }

  OpenedIndex run() {
    for (const Arg& a : items_) add(a);
    if (covered_ > 0) return {x_, std::move(positions_)};
    // x[...] and x[:] are new tensors over the same storage.
    if (!changed_) return {caller_.call(id::View, {x_, sizes()}), {}};
    return {bools_.insert(caller_, x_), {}};
  }

 private:
  Arg sizes() const {
    ListArg l;
    for (const Size s : type_of(x_).sizes) l.items.emplace_back(s);
    return l;
  }

  void add(const Arg& a) {
    changed_ |= !a.is<EllipsisArg>() && !(a.is<SliceArg>() && is_full_slice(a.get<SliceArg>()));
    if (a.is<EllipsisArg>()) {
      dim_ += rank_ - taken_;
    } else if (a.is<Size>()) {
      x_ = caller_.call(id::Select, {x_, dim_, checked_position(a.get<Size>())});
    } else if (a.is_none()) {
      x_ = caller_.call(id::Unsqueeze, {x_, dim_++});
    } else if (const auto* slice = a.get_if<SliceArg>()) {
      if (!is_full_slice(*slice)) slice_dim(*slice);
      ++dim_;
    } else if (const auto* truth = a.get_if<bool>()) {
      add_bool(*truth);
    } else if (const auto* list = a.get_if<ListArg>()) {
      add_list(*list);
    } else {
      add_tensor(a);
    }
  }

  // One that is known only at run time is compared then.
  Size checked_position(Size at) {
    const Size size = type_of(x_).sizes[dim_];
    if (!is_unbacked(at) && !is_unbacked(size)) return at;
    caller_.call(id::AssertSizes, {at, size, std::string("lt")});
    caller_.call(id::AssertSizes, {at, 0 - size, std::string("ge")});
    return min(max(at - size * min(max(at, -1), 0), 0), size - 1);
  }

  void slice_dim(const SliceArg& slice) {
    const std::vector<Arg>& parts = *slice.parts;
    for (const Arg& p : parts) {
      if (!p.is_none() && !p.is<Size>()) throw OpError(ErrorKind::Type, "slice indices must be integers or None");
    }
    x_ = caller_.call(id::Slice, {x_, dim_, parts[0], parts[1], parts[2].is_none() ? Arg(1) : parts[2]});
  }

  // Dimensions before this one that have no positions are kept whole.
  void look_up(Arg positions, int dims) {
    for (; covered_ < dim_; ++covered_) positions_.items.emplace_back(NoneArg{});
    positions_.items.push_back(std::move(positions));
    covered_ = dim_ += dims;
  }

  void add_bool(bool truth) {
    if (!looks_up_) return bools_.add(truth, dim_);
    x_ = caller_.call(id::Unsqueeze, {x_, dim_});
    look_up(truth ? ListArg{{Arg(0)}} : ListArg{}, 1);
  }

  void add_list(const ListArg& list) {
    if (holds_bools(list)) return add_bools(list);
    list_sizes(list);
    look_up(list, 1);
  }

  // A list of bools is known: it becomes the positions where they hold.
  void add_bools(const ListArg& list) {
    const int depth = depth_of(list);
    const SizeVec extent = type_of(x_).sizes;
    std::vector<ListArg> found(static_cast<std::size_t>(depth));
    std::vector<std::int64_t> at;
    const auto visit = [&](const auto& self, const Arg& a) -> void {
      const auto* inner = a.get_if<ListArg>();
      if (!inner) {
        if (!a.is<bool>() || at.size() != found.size()) wrong_index_dtype();
        for (std::size_t d = 0; a.get<bool>() && d < found.size(); ++d) found[d].items.emplace_back(at[d]);
        return;
      }
      const Size n = at.size() < found.size() ? extent[static_cast<std::size_t>(dim_) + at.size()] : Size(0);
      if (!guard_eq(n, static_cast<std::int64_t>(inner->items.size()))) {
        throw OpError(ErrorKind::Index,
                      fmt::format("The shape of the mask at index {} does not match the shape of "
                                  "the indexed tensor {} at index {}",
                                  at.size(), sizes_text(extent), static_cast<std::size_t>(dim_) + at.size()));
      }
      for (std::size_t i = 0; i < inner->items.size(); ++i) {
        at.push_back(static_cast<std::int64_t>(i));
        self(self, inner->items[i]);
        at.pop_back();
      }
    };
    visit(visit, list);
    for (ListArg& l : found) look_up(std::move(l), 1);
  }

  void add_tensor(const Arg& a) {
    const TensorType t = type_of(a);
    if (is_mask(t.dtype)) return add_mask(a, t);
    if (!is_integer_scalar(t)) return look_up(a, 1);
    const auto* real = a.get_if<TensorRef>();
    // Which place it is nobody can say, nor needs to, or it is another one for each example.
    if (!device_of(a).has_memory() || (real && (*real)->batch)) {
      return look_up(t.dtype == DType::Int64 ? a : caller_.call(id::Convert, {a, DType::Int64}), 1);
    }
    if (real) {
      std::int64_t value = 0;
      const Arg wide = caller_.call(id::Convert, {*real, DType::Int64});
      if (const auto* read = wide.get_if<TensorRef>()) {
        value = *readable(*read)->as<std::int64_t>();
        x_ = caller_.call(id::Select, {x_, dim_, value});
        return;
      }
    }
    // Without dimensions of its own a position may be looked up like the others, but what that reads is no view.
    if (use_ == IndexUse::Write && !looks_up_) {
      return look_up(t.dtype == DType::Int64 ? a : caller_.call(id::Convert, {a, DType::Int64}), 1);
    }
    const Arg at = caller_.call(id::Position, {a, type_of(x_).sizes[dim_]});
    x_ = caller_.call(id::SelectAt, {x_, dim_, type_of(at).sizes[0]});
  }

  void add_mask(const Arg& a, const TensorType& t) {
    if (t.dim() == 0) {
      x_ = caller_.call(id::Unsqueeze, {x_, dim_});
      return look_up(caller_.call(id::Unsqueeze, {a, 0}), 1);
    }
    const SizeVec have = type_of(x_).sizes;
    for (int i = 0; i < t.dim(); ++i) {
      if (guard_eq(t.sizes[i], have[dim_ + i])) continue;
      throw OpError(ErrorKind::Index,
                    fmt::format("The shape of the mask {} at index {} does not match the shape of the indexed tensor "
                                "{} at index {}",
                                sizes_text(t.sizes), i, sizes_text(have), dim_ + i));
    }
    look_up(a, t.dim());
  }

  OpCaller& caller_;
  Arg x_;
  IndexUse use_;
  std::span<const Arg> items_;
  int rank_ = 0, taken_ = 0, dim_ = 0, covered_ = 0;
  bool looks_up_ = false, changed_ = false;
  BoolDimension bools_;
  ListArg positions_;
};

// Without the leading dimensions of size 1 that `rank` dimensions have no room for.
Arg trimmed(OpCaller& caller, Arg value, int rank) {
  for (int d = type_of(value).dim(); d > rank && guard_eq(type_of(value).sizes[0], 1); --d) {
    value = caller.call(id::Select, {value, 0, 0});
  }
  return value;
}

}  // namespace

bool is_mask(DType t) { return t == DType::Bool || t == DType::UInt8; }

SizeVec list_sizes(const ListArg& list) {
  SizeVec sizes{static_cast<std::int64_t>(list.items.size())};
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    const auto* inner = list.items[i].get_if<ListArg>();
    if (is_tensor(list.items[i])) {
      throw DataDependent(DataDependent::What::Element, "a list of tensors stands for a tensor of positions");
    }
    if (!inner && !list.items[i].is<Size>()) wrong_index_dtype();
    SizeVec one = inner ? list_sizes(*inner) : SizeVec{};
    for (const Size s : one) {
      if (i == 0) sizes.push_back(s);
    }
    if (!std::equal(one.begin(), one.end(), sizes.begin() + 1, sizes.end())) {
      throw OpError(ErrorKind::Value, "the lists inside an index have different lengths");
    }
  }
  return sizes;
}

OpenedIndex open_index(OpCaller& caller, const Arg& x, const Arg& index, IndexUse use) {
  return IndexOpener(caller, x, index, use).run();
}

Assignment open_assignment(OpCaller& caller, const Arg& x, const Arg& index, const Arg& value) {
  OpenedIndex opened = open_index(caller, x, index, IndexUse::Write);
  const TensorType part = type_of(opened.x);
  if (opened.positions.items.empty()) {
    Arg source = value;
    for (int i = check_assignment(part, source); i > 0; --i) source = caller.call(id::Select, {source, 0, 0});
    return {source.is_number() ? id::Fill : id::Copy, {opened.x, source}};
  }
  if (!value.is_number() && !is_tensor(value)) {
    throw OpError(ErrorKind::Type, "assignment to x[...] takes a tensor or a number");
  }
  Arg source = value.is_number() ? caller.call(id::Full, {ListArg{}, value, part.dtype}) : value;
  const ListArg& at = opened.positions;
  const bool one_mask = at.items.size() == 1 && is_tensor(at.items[0]) && is_mask(type_of(at.items[0]).dtype);
  if (one_mask && type_of(source).dim() == 0 && type_of(source).dtype == part.dtype) {
    Arg mask = at.items[0];
    if (!(type_of(mask).device == part.device)) mask = caller.call(id::CopyToDevice, {mask, part.device});
    for (int i = part.dim() - type_of(mask).dim(); i > 0; --i) mask = caller.call(id::Unsqueeze, {mask, -1});
    return {id::MaskedFill, {opened.x, mask, source}};
  }
  source = trimmed(caller, source, part.dim());
  return {id::IndexPut, {opened.x, at, source, false}};
}

}  // namespace md
