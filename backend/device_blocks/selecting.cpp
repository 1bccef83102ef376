// What masks select, and repetition: positions are found by the device, only their number comes back.
#include "backend/device_blocks/selecting.h"

#include <algorithm>
#include <numeric>

#include "backend/device_blocks/kernel_calls.h"
#include "ir/core/error.h"
#include "ir/graph/op_ids.h"
#include "ir/infer/indexing.h"
#include "ir/infer/infer.h"
#include "ir/tensor/readable.h"

namespace md::device_blocks {
namespace {

TensorRef numbers_on(Device device, std::int64_t count) { return empty_tensor({count}, DType::Int64, device); }

std::int64_t tiles_of(std::int64_t flags) { return (flags + kFlagTile - 1) / kFlagTile; }

// How many flags are set before each tile, and in all of them.
TensorRef count_flags(const TensorRef& flags, FlagParams& p) {
  const Device here = flags->device();
  p.total = flags->numel(), p.flags = address_of(*flags);
  const std::int64_t tiles = tiles_of(p.total);
  TensorRef before = numbers_on(here, tiles + 1);
  p.before = address_of(*before);
  launch("count_flags", here, tiles * kFlagThreads, p, kFlagThreads);
  launch("add_up", here, kFlagThreads, SumsParams{tiles, p.before, p.before}, kFlagThreads);
  return before;
}

void place_flags(const TensorRef& flags, const FlagParams& p) {
  launch("place_flags", flags->device(), tiles_of(p.total) * kFlagThreads, p, kFlagThreads);
}

TensorRef place_positions(const TensorRef& flags, FlagParams& p) {
  const TensorRef before = count_flags(flags, p);
  TensorRef positions = numbers_on(flags->device(), number_at(*before, tiles_of(p.total)));
  p.positions = address_of(*positions);
  if (positions->numel() > 0 || p.ranks) place_flags(flags, p);
  return positions;
}

// A row of positions for each dimension of `sizes`, one after the other.
TensorRef coordinates_of(const TensorRef& numbers, const DimVec& sizes) {
  const std::int64_t count = numbers->numel(), rank = static_cast<std::int64_t>(sizes.size());
  if (rank > kMostDims) return nullptr;
  if (rank == 1) return numbers;
  TensorRef rows = numbers_on(numbers->device(), rank * count);
  CoordinatesParams p{};
  p.count = count, p.space.rank = rank, p.space.total = count;
  for (std::int64_t d = 0; d < rank; ++d) p.space.sizes[d] = sizes[static_cast<std::size_t>(rank - 1 - d)];
  p.numbers = address_of(*numbers), p.to = address_of(*rows);
  launch("coordinates", numbers->device(), count, p);
  return rows;
}

bool expand_mask(const TensorRef& mask, ListArg& expanded) {
  const TensorRef flags = mask->dim() > 0 ? as_flags(mask) : nullptr;
  if (!flags) return false;
  const TensorRef positions = positions_of_flags(flags);
  const TensorRef rows = coordinates_of(positions, mask->sizes);
  if (!rows) return false;
  const std::int64_t count = positions->numel();
  for (std::int64_t d = 0; d < mask->dim(); ++d)
    expanded.items.push_back(
        make_ref<TensorImpl>(rows->storage, DType::Int64, DimVec{count}, DimVec{1}, rows->offset + d * count));
  return true;
}

}  // namespace

std::int64_t number_at(const TensorImpl& t, std::int64_t at) {
  std::int64_t number = 0;
  copy_bytes(&number, kCpu, static_cast<const std::int64_t*>(t.data()) + at, t.device(), sizeof number);
  return number;
}

TensorRef as_flags(const TensorRef& x) {
  if (x->dtype == DType::Bool) return contiguous(x);
  if (is_storage_only(x->dtype)) return nullptr;
  TensorRef flags = empty_tensor(x->sizes, DType::Bool, x->device());
  const Arg args[] = {x, Arg(0)};
  return flags->numel() == 0 || run_pointwise({op(id::Ne), args, {&flags, 1}}) ? flags : nullptr;
}

TensorRef positions_of_flags(const TensorRef& flags) {
  FlagParams p{};
  return place_positions(flags, p);
}

Numbered numbered_flags(const TensorRef& flags) {
  FlagParams p{};
  Numbered n;
  n.ranks = numbers_on(flags->device(), flags->numel());
  p.ranks = address_of(*n.ranks);
  n.positions = place_positions(flags, p);
  return n;
}

TensorRef running_sums(const TensorRef& numbers) {
  TensorRef sums = numbers_on(numbers->device(), numbers->numel() + 1);
  launch("add_up", numbers->device(), kFlagThreads,
         SumsParams{numbers->numel(), address_of(*numbers), address_of(*sums)}, kFlagThreads);
  return sums;
}

TensorRef taken(const TensorRef& values, const TensorRef& positions) {
  TensorRef out = empty_tensor(positions->sizes, values->dtype, values->device());
  const Arg args[] = {values, positions};
  return out->numel() == 0 || run_reading({op(id::Take), args, {&out, 1}}) ? out : nullptr;
}

bool expand_masks(const ListArg& list, ListArg& expanded) {
  expanded = ListArg{{}, list.tuple};
  for (const Arg& a : list.items) {
    const auto* t = a.get_if<TensorRef>();
    if (!t || !is_mask((*t)->dtype)) {
      expanded.items.push_back(a);
    } else if (!expand_mask(*t, expanded)) {
      return false;
    }
  }
  return true;
}

namespace {

bool make_positions(const DeviceCall& c, std::vector<TensorRef>& made) {
  const TensorRef& x = c.args[0].get<TensorRef>();
  const TensorRef flags = x->dim() > 0 && x->numel() > 0 ? as_flags(x) : nullptr;
  if (!flags) return false;
  const TensorRef positions = positions_of_flags(flags);
  const TensorRef rows = coordinates_of(positions, x->sizes);
  if (!rows) return false;
  const std::int64_t count = positions->numel();
  made.push_back(make_ref<TensorImpl>(rows->storage, DType::Int64, DimVec{count, x->dim()}, DimVec{1, count}, 0));
  return true;
}

bool make_indexed(const DeviceCall& c, std::vector<TensorRef>& made) {
  ListArg expanded;
  if (!expand_masks(c.args[1].get<ListArg>(), expanded)) return false;
  std::vector<Arg> args(c.args.begin(), c.args.end());
  args[1] = std::move(expanded);
  const TensorType type = infer(op(id::Index), args).front();
  DimVec sizes;
  for (const Size s : type.sizes) sizes.push_back(s.value());
  TensorRef out = empty_tensor(sizes, type.dtype, type.device);
  for (std::size_t i = 0; i < sizes.size(); ++i) out->strides[i] = type.strides[i].value();
  if (out->numel() > 0 && !run_reading({op(id::Index), args, {&out, 1}})) return false;
  made.push_back(std::move(out));
  return true;
}

bool make_repeated(const DeviceCall& c, std::vector<TensorRef>& made) {
  const TensorRef& repeats = c.args[0].get<TensorRef>();
  const std::int64_t count = repeats->numel();
  if (count == 0 || !c.args[1].is_none()) return false;
  TensorRef counts = converted(repeats, DType::Int64);
  if (counts) counts = contiguous(counts);
  if (!counts) return false;
  TensorRef least = empty_tensor({}, DType::Int64, counts->device());
  const Arg args[] = {counts, ListArg{}, Arg(false)};
  if (!run_reduction({op(id::AMin), args, {&least, 1}})) return false;
  const TensorRef sums = running_sums(counts);
  if (number_at(*least, 0) < 0) throw OpError(ErrorKind::Runtime, "repeats can not be negative");
  OwnersParams p{};
  p.total = number_at(*sums, count), p.count = count;
  TensorRef owners = numbers_on(counts->device(), p.total);
  p.sums = address_of(*sums), p.to = address_of(*owners);
  launch("owners", counts->device(), p.total, p);
  made.push_back(converted(owners, repeats->dtype));
  return made.back() != nullptr;
}

bool scatter_selected(const DeviceCall& c) {
  const TensorImpl& out = *c.out[0];
  const TensorRef source = contiguous(c.args[2].get<TensorRef>());
  const TensorRef& mask = c.args[1].get<TensorRef>();
  const TensorRef wide =
      make_ref<TensorImpl>(mask->storage, mask->dtype, out.sizes, spread(*mask, out.sizes), mask->offset);
  const TensorRef flags = as_flags(wide);
  TakeInTurnParams p{};
  if (!source || !flags || source->dtype != out.dtype) return false;
  if (!lay_out(out.sizes, p.space, {{out.strides, p.to.strides}}) || !copy_unless_same(c.tensor(0), out)) return false;
  FlagParams f{};
  const TensorRef before = count_flags(flags, f);
  const TensorRef ranks = numbers_on(out.device(), f.total);
  f.ranks = address_of(*ranks);
  place_flags(flags, f);
  p.to.data = address_of(out), p.flags = address_of(*flags), p.ranks = f.ranks;
  p.wanted = f.before + static_cast<std::uint64_t>(tiles_of(f.total)) * sizeof(std::int64_t);
  p.source = source->numel() ? address_of(*source) : 0, p.held = source->numel();
  launch(by_size("take_in_turn", out.dtype), out.device(), p.space.total, p);
  return true;
}

}  // namespace

bool make_selected(const DeviceCall& c, std::vector<TensorRef>& made) {
  switch (c.op.id) {
    case id::NonZero:
      return make_positions(c, made);
    case id::Index:
      return make_indexed(c, made);
    case id::RepeatPositions:
      return make_repeated(c, made);
    default:
      return false;
  }
}

bool run_selecting(const DeviceCall& c) { return c.op.id == id::MaskedScatter && scatter_selected(c); }

}  // namespace md::device_blocks
