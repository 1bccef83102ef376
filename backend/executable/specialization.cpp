// Sizes filled into an executable, memory laid out, launches run.
#include "backend/executable/specialization.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "backend/device/launch.h"
#include "backend/executable/arena.h"
#include "backend/machine/thread_pool.h"
#include "ir/core/error.h"
#include "ir/graph/callee.h"
#include "ir/graph/dataflow.h"
#include "ir/reference/device_copies.h"
#include "ir/run/eager.h"
#include "ir/run/long_work.h"
#include "ir/run/run_callee.h"
#include "ir/run/run_regions.h"
#include "ir/tensor/extent.h"

namespace md {
namespace {

constexpr double kWorthThreads = 30000;  // nanoseconds of work below which one thread is as fast
constexpr double kTask = 8000;

}  // namespace

// What one run holds.
struct Specialization::Frame {
  std::span<TensorImpl* const> inputs;
  std::span<TensorRef> outputs;
  SmallVector<char*, 24> data;                 // per slot
  Ref<Storage> arena;                          // of the first device
  std::vector<Ref<Storage>> arenas_elsewhere;  // of the others
  const Ref<Storage>& arena_of(const Memory& m) const { return m.arena ? arenas_elsewhere[m.arena - 1] : arena; }
  struct Held {
    Ref<Storage> storage;
    std::int64_t offset = 0;
  };
  std::vector<Held> held;  // by slots that are neither in the arena nor an output's
  HeldMemory memory;       // of the inputs, if others may go on meanwhile
};

Specialization::Specialization(const Executable& executable, std::span<const std::int64_t> symbols)
    : executable_(executable), symbols_(symbols.begin(), symbols.end()) {
  for (const Place& p : executable.inputs) inputs_.push_back(sized(p));
  size_outputs();
  place_memory();
  for (const Launch& s : executable.launches) {
    launches_.push_back(sized(s));
    for (Arg& a : launches_.back().args) a = sized(a);
  }
  for (const Launch& s : executable.commits) commits_.push_back(sized(s));
  // What is called may let others go on, too.
  for (const auto* launches : {&launches_, &commits_})
    takes_long_ |=
        std::ranges::any_of(*launches, [](const SizedLaunch& s) { return !s.is_nest() || s.nanoseconds >= kLongWork; });
  choose_quick();
}

void Specialization::choose_quick() {
  if (launches_.size() != 1 || !commits_.empty() || outputs_.size() != 1 || !arenas_.empty() || holds_ || takes_long_)
    return;
  const SizedLaunch& s = launches_[0];
  const SizedOutput& o = outputs_[0];
  if (!s.function || s.empty || s.split != Split::None || s.callee || !s.regions.empty() || o.input >= 0 ||
      o.same_as >= 0 || slots_[static_cast<std::size_t>(o.tensor.slot)].owner != 0 || s.buffers.size() > kMostQuick)
    return;
  for (const Buffer& b : s.buffers) {
    const Memory& m = slots_[static_cast<std::size_t>(b.slot)];
    quick_.push_back({m.kind == Slot::Kind::Input ? m.input : -1, m.constant, b.byte_shift});
  }
}

std::int64_t Specialization::value(Size s) const {
  return s.is_const() ? s.value() : executable_.shapes->evaluate(s, symbols_);
}

DimVec Specialization::values(const SizeVec& s) const {
  DimVec r;
  for (Size x : s) r.push_back(value(x));
  return r;
}

SizedTensor Specialization::sized(const Place& p) const {
  const TensorType& made_for = executable_.slots[static_cast<std::size_t>(p.slot)].type;
  SizedTensor t{p.slot, p.type.dtype, values(p.type.sizes), values(p.type.strides), value(p.shift)};
  t.whole = t.shift == 0 && p.type.sizes == made_for.sizes && p.type.strides == made_for.strides;
  return t;
}

Specialization::SizedLaunch Specialization::sized(const Launch& s) const {
  SizedLaunch p;
  p.name = &s.name;
  p.function = s.nest.function;
  if (s.gpu)
    p.on_device =
        std::make_shared<const DeviceLaunch>(*s.gpu, s.device.index, [&](Size x) { return value(x); }, s.line);
  p.can_fail = s.can_fail;
  p.op = s.op;
  if (!s.line.empty()) p.line = device::kept_name(s.line);
  p.args = s.args;
  p.callee = s.callee.get();
  p.region_kind = s.region_kind;
  for (const auto& region : s.regions) p.regions.push_back(std::make_shared<const Specialization>(*region, symbols_));
  for (const Place& r : s.results) p.results.push_back(sized(r));
  for (const Place& b : s.buffers) p.buffers.push_back({b.slot, checked_shift(value(b.shift), b.type.dtype)});
  if (!p.function) return p;
  for (Size x : s.nest.params) p.params.push_back(value(x));
  p.rows = value(s.nest.rows);
  p.cols = value(s.nest.cols);
  const bool folds_columns = s.nest.schedule.shape == Schedule::Shape::Rows && s.nest.schedule.fold_lanes > 0;
  p.empty = p.rows == 0 || (p.cols == 0 && !folds_columns);
  choose_split(s, p);
  p.part = s.part;
  if (s.part) p.split = Split::Parts;
  for (int b : s.part_buffers)
    p.part_buffers.push_back(
        {b, static_cast<std::int64_t>(item_size(s.buffers[static_cast<std::size_t>(b)].type.dtype))});
  return p;
}

// Cuts a launch into tasks along rows or, if too few, along columns.
void Specialization::choose_split(const Launch& s, SizedLaunch& p) const {
  const Schedule& schedule = s.nest.schedule;
  const double folded = static_cast<double>(std::max<std::int64_t>(1, value(s.nest.folded)));
  const double row = std::max(1.0, static_cast<double>(p.cols) * folded * s.nest.cost);
  p.nanoseconds = row * static_cast<double>(p.rows);
  if (p.nanoseconds < kWorthThreads) return;
  const bool folds_columns = schedule.shape == Schedule::Shape::Rows && schedule.fold_lanes > 0;
  if (p.rows >= 16 || (folds_columns && p.rows > 1)) {
    p.split = Split::Rows;
    p.grain = std::max<std::int64_t>(1, static_cast<std::int64_t>(kTask / row));
  } else if (!folds_columns) {
    // Whole cache lines; across rows, enough of each to be worth walking down.
    const std::int64_t kColumns = schedule.shape == Schedule::Shape::Columns ? 256 : 64;
    p.split = Split::Columns;
    p.grain = static_cast<std::int64_t>(kTask / (row / static_cast<double>(p.cols) * static_cast<double>(p.rows)));
    p.grain = std::max<std::int64_t>(kColumns, p.grain / kColumns * kColumns);
  }
}

// Sizes become numbers; nodes are noted with where they will be.
Arg Specialization::sized(const Arg& a) {
  if (const auto* s = a.get_if<Size>()) return Size(value(*s));
  if (const auto* n = a.get_if<Node*>()) {
    operands_.try_emplace(*n, sized(executable_.places.at(*n)));
    return a;
  }
  if (const auto* l = a.get_if<ListArg>()) {
    ListArg r{{}, l->tuple};
    for (const Arg& x : l->items) r.items.push_back(sized(x));
    return r;
  }
  if (const auto* s = a.get_if<SliceArg>())  // of a call out
    return make_slice(sized(s->parts->at(0)), sized(s->parts->at(1)), sized(s->parts->at(2)));
  return a;
}

void Specialization::size_outputs() {
  has_bases_ = std::ranges::any_of(executable_.output_bases, [](int base) { return base >= 0; });
  for (std::size_t i = 0; i < executable_.outputs.size(); ++i) {
    outputs_.push_back({sized(executable_.outputs[i]), executable_.output_inputs[i], executable_.output_repeats[i],
                        executable_.output_detached[i], executable_.output_bases[i]});
  }
  for (const Place& p : executable_.hidden_bases) hidden_bases_.push_back({.tensor = sized(p)});
}

void Specialization::place_memory() {
  std::vector<Arena> arenas;
  const auto arena_of = [&](Device device) {
    const auto at = static_cast<std::size_t>(std::ranges::find(arenas_, device, &ArenaSize::device) - arenas_.begin());
    if (at == arenas_.size()) arenas_.push_back({device}), arenas.emplace_back();
    return at;
  };
  std::vector<int> defined(executable_.slots.size(), 0);
  for (std::size_t i = executable_.launches.size(); i-- > 0;) {
    for (const Place& p : executable_.launches[i].buffers)
      defined[static_cast<std::size_t>(p.slot)] = static_cast<int>(i);
    for (const Place& p : executable_.launches[i].results)
      defined[static_cast<std::size_t>(p.slot)] = static_cast<int>(i);
  }
  for (std::size_t i = 0; i < executable_.slots.size(); ++i) {
    const Slot& s = executable_.slots[i];
    Memory m{.kind = s.kind, .input = s.input, .device = s.type.device};
    // A number among the inputs is a size of a tensor without memory: it may be larger than any memory.
    if (s.kind != Slot::Kind::Input)
      m.bytes = static_cast<std::int64_t>(checked_bytes(values(s.type.sizes), values(s.type.strides), 0, s.type.dtype));
    holds_ |= s.kind == Slot::Kind::Own || s.kind == Slot::Kind::Made;
    if (s.kind == Slot::Kind::Constant) m.constant = static_cast<char*>(s.constant->data());
    if (s.kind == Slot::Kind::Temporary) {
      m.arena = arena_of(m.device);
      m.arena_offset = arenas[m.arena].place(aligned(m.bytes), defined[i], s.last_launch);
    }
    for (std::size_t o = 0; o < outputs_.size() && m.owner < 0; ++o)
      if (s.kind == Slot::Kind::Output && outputs_[o].tensor.slot == static_cast<int>(i)) m.owner = static_cast<int>(o);
    slots_.push_back(m);
  }
  for (std::size_t i = 0; i < arenas.size(); ++i) arenas_[i].bytes = arenas[i].total();
}

// Where there are no elements, no stride is ever used.
[[gnu::noinline, gnu::cold]] static bool same_without_elements(const TensorImpl& x, const SizedTensor& t) {
  return x.dtype == t.dtype && x.sizes == t.sizes && std::ranges::find(t.sizes, 0) != t.sizes.end();
}

void Specialization::check_inputs(std::span<TensorImpl* const> inputs) const {
  if (inputs.size() != inputs_.size()) throw InternalError("a kernel was called with another number of inputs");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorImpl& x = *inputs[i];
    const SizedTensor& t = inputs_[i];
    bool fits = x.dtype == t.dtype && x.sizes.size() == t.sizes.size();
    for (std::size_t d = 0; fits && d < t.sizes.size(); ++d)
      fits = x.sizes[d] == t.sizes[d] && (t.sizes[d] <= 1 || x.strides[d] == t.strides[d]);
    if (fits || same_without_elements(x, t)) [[likely]]
      continue;
    throw InternalError(fmt::format("input {} of a kernel has another dtype, size or stride than compiled for", i));
  }
}

void Specialization::allocate(Frame& f) const {
  for (const ArenaSize& a : arenas_) {
    Ref<Storage> made = allocate_storage(static_cast<std::size_t>(a.bytes), a.device);
    if (!f.arena)
      f.arena = std::move(made);
    else
      f.arenas_elsewhere.push_back(std::move(made));
  }
  f.data.resize(slots_.size());
  if (holds_) f.held.resize(slots_.size());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Memory& m = slots_[i];
    switch (m.kind) {
      case Slot::Kind::Input:
        f.data[i] = static_cast<char*>(f.inputs[static_cast<std::size_t>(m.input)]->data());
        break;
      case Slot::Kind::Constant:
        f.data[i] = m.constant;
        break;
      case Slot::Kind::Temporary:
        f.data[i] = static_cast<char*>(f.arena_of(m)->data()) + m.arena_offset;
        break;
      case Slot::Kind::Own:
        f.held[i].storage = allocate_storage(static_cast<std::size_t>(m.bytes), m.device);
        f.data[i] = static_cast<char*>(f.held[i].storage->data());
        break;
      case Slot::Kind::Made:
        f.data[i] = nullptr;  // until its call has run
        break;
      case Slot::Kind::Output: {
        const SizedTensor& t = outputs_[static_cast<std::size_t>(m.owner)].tensor;
        Ref<Storage> storage = allocate_storage(static_cast<std::size_t>(m.bytes), m.device);
        f.data[i] = static_cast<char*>(storage->data());
        f.outputs[static_cast<std::size_t>(m.owner)] =
            make_ref<TensorImpl>(std::move(storage), t.dtype, t.sizes, t.strides, t.shift);
      }
    }
  }
}

// A tensor object for `t`, for calls and for outputs that are views.
TensorRef Specialization::tensor(const SizedTensor& t, Frame& f) const {
  const Memory& m = slots_[static_cast<std::size_t>(t.slot)];
  const auto view = [&](const Ref<Storage>& storage, std::int64_t offset) {
    return make_ref<TensorImpl>(storage, t.dtype, t.sizes, t.strides, offset + t.shift);
  };
  switch (m.kind) {
    case Slot::Kind::Input: {
      TensorImpl* x = f.inputs[static_cast<std::size_t>(m.input)];
      return t.whole ? TensorRef(x) : view(x->storage, x->offset);
    }
    case Slot::Kind::Constant: {
      const TensorRef& x = executable_.slots[static_cast<std::size_t>(t.slot)].constant;
      return t.whole ? x : view(x->storage, x->offset);
    }
    case Slot::Kind::Temporary:
      return view(f.arena_of(m), m.arena_offset / static_cast<std::int64_t>(item_size(t.dtype)));
    case Slot::Kind::Own:
    case Slot::Kind::Made: {
      const auto& h = f.held[static_cast<std::size_t>(t.slot)];
      return view(h.storage, h.offset);
    }
    case Slot::Kind::Output:
      break;
  }
  return view(f.outputs[static_cast<std::size_t>(m.owner)]->storage, 0);
}

// A result that shows memory another tensor owns; of a whole input too a tensor of its own. That it is a view of the
// input a later write goes by.
TensorRef Specialization::output_view(const SizedOutput& o, Frame& f) const {
  const SizedTensor& t = o.tensor;
  const Memory& m = slots_[static_cast<std::size_t>(t.slot)];
  if (m.kind != Slot::Kind::Input) return tensor(t, f);
  const TensorRef x(f.inputs[static_cast<std::size_t>(m.input)]);
  TensorRef made = make_ref<TensorImpl>(x->storage, t.dtype, t.sizes, t.strides, x->offset + t.shift);
  if (!o.detached && !x->requires_grad) made->base = x->base ? x->base : x;
  return made;
}

Arg Specialization::argument(const Arg& a, Frame& f) const {
  if (const auto* n = a.get_if<Node*>()) return tensor(operands_.at(*n), f);
  if (const auto* l = a.get_if<ListArg>()) {
    ListArg r{{}, l->tuple};
    for (const Arg& x : l->items) r.items.push_back(argument(x, f));
    return r;
  }
  return a;
}

void Specialization::execute_call(const SizedLaunch& s, Frame& f) const {
  std::vector<Arg> args;
  for (const Arg& a : s.args) args.push_back(argument(a, f));
  std::vector<TensorRef> results;
  for (const SizedTensor& t : s.results) results.push_back(tensor(t, f));
  const device::LineOfLaunches line(s.line);
  run_call(op(s.op), args, results);
}

void Specialization::call_out(const SizedLaunch& s, Frame& f) const {
  std::vector<Arg> args;
  for (const Arg& a : s.args) args.push_back(argument(a, f));
  std::vector<TensorRef> made;
  if (s.callee) {
    std::vector<ExpectedTensor> expected;
    for (const SizedTensor& t : s.results)
      expected.push_back({t.dtype, t.sizes, t.strides, slots_[static_cast<std::size_t>(t.slot)].device});
    made = run_functional(*s.callee, std::move(args), expected);
  } else {
    made = run_regions(s.region_kind, args, [&](std::size_t which, std::span<const TensorRef> operands) {
      return run_region(*s.regions[which], operands);
    });
  }
  for (std::size_t i = 0; i < made.size(); ++i) {
    const auto slot = static_cast<std::size_t>(s.results[i].slot);
    f.held[slot] = {made[i]->storage, made[i]->offset};
    f.data[slot] = static_cast<char*>(made[i]->data());
  }
}

std::vector<TensorRef> Specialization::run_region(const Specialization& region,
                                                  std::span<const TensorRef> operands) const {
  SmallVector<TensorImpl*, 8> inputs;
  for (const TensorRef& t : operands) inputs.push_back(t.get());
  std::vector<TensorRef> outputs(region.outputs_.size());
  const WithoutReadSet part;
  region.run(std::span(inputs.data(), inputs.size()), outputs);
  return outputs;
}

// Part t of the columns goes to element t of each scratch tensor.
std::int64_t Specialization::execute_parts(const SizedLaunch& s, const SmallVector<void*, 24>& buffers) const {
  std::atomic<std::int64_t> failed{0};
  const std::int64_t parts = std::max<std::int64_t>(1, (s.cols + s.part - 1) / s.part);
  parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
    SmallVector<void*, 24> mine = buffers;
    for (std::int64_t t = begin; t < end; ++t) {
      for (const Buffer& b : s.part_buffers)
        mine[static_cast<std::size_t>(b.slot)] =
            static_cast<char*>(buffers[static_cast<std::size_t>(b.slot)]) + t * b.byte_shift;
      const std::int64_t last = std::min(s.cols, (t + 1) * s.part);
      if (s.function(mine.data(), s.params.data(), 0, s.rows, t * s.part, last))
        failed.store(1, std::memory_order_relaxed);
    }
  });
  return failed.load(std::memory_order_relaxed);
}

void Specialization::execute(const SizedLaunch& s, Frame& f) const {
  const Observed observed([&] { return &s.site; }, [&] { return about(s); });
  if (s.callee || !s.regions.empty()) return call_out(s, f);
  if (!s.is_nest()) return execute_call(s, f);
  if (s.empty) return;
  SmallVector<void*, 24> buffers(s.buffers.size());
  for (std::size_t i = 0; i < s.buffers.size(); ++i)
    buffers[i] = f.data[static_cast<std::size_t>(s.buffers[i].slot)] + s.buffers[i].byte_shift;
  if (s.on_device) return s.on_device->run({buffers.data(), buffers.size()});
  std::int64_t failed = 0;
  const LongWork others_go_on(s.nanoseconds, f.memory);
  if (s.split == Split::None) {
    failed = s.function(buffers.data(), s.params.data(), 0, s.rows, 0, s.cols);
  } else if (s.split == Split::Parts) {
    failed = execute_parts(s, buffers);
  } else {
    std::atomic<std::int64_t> any{0};
    const bool rows = s.split == Split::Rows;
    parallel_for(rows ? s.rows : s.cols, s.grain, [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t bad = rows ? s.function(buffers.data(), s.params.data(), begin, end, 0, s.cols)
                                    : s.function(buffers.data(), s.params.data(), 0, s.rows, begin, end);
      if (bad) any.store(bad, std::memory_order_relaxed);
    });
    failed = any.load(std::memory_order_relaxed);
  }
  if (failed) throw OpError(ErrorKind::ZeroDivision, "ZeroDivisionError");
}

TensorRef Specialization::run_quick(std::span<TensorImpl* const> inputs) const {
  const SizedLaunch& s = launches_[0];
  const SizedTensor& t = outputs_[0].tensor;
  const Memory& m = slots_[static_cast<std::size_t>(t.slot)];
  Ref<Storage> storage = allocate_storage(static_cast<std::size_t>(m.bytes));
  void* buffers[kMostQuick];
  void** next = buffers;
  for (const QuickBuffer& b : quick_) {
    void* const data = b.input >= 0 ? inputs[static_cast<std::size_t>(b.input)]->data()
                       : b.constant ? b.constant
                                    : storage->data();
    *next++ = static_cast<char*>(data) + b.byte_shift;
  }
  if (s.function(buffers, s.params.data(), 0, s.rows, 0, s.cols)) [[unlikely]]
    throw OpError(ErrorKind::ZeroDivision, "ZeroDivisionError");
  return make_ref<TensorImpl>(std::move(storage), t.dtype, t.sizes, t.strides, t.shift);
}

TensorRef Specialization::run_quick_measured(std::span<TensorImpl* const> inputs) const {
  const SizedLaunch& s = launches_[0];
  const Observed observed([&] { return &s.site; }, [&] { return about(s); });
  return run_quick(inputs);
}

// Everything that can fail, then what cannot.
void Specialization::execute_all(Frame& f) const {
  try {
    allocate(f);
    for (const SizedLaunch& s : launches_) execute(s, f);
    if (takes_long_) {
      ReadSet::validate();
      std::vector<const Storage*> written;
      for (int input : executable_.committed)
        written.push_back(f.inputs[static_cast<std::size_t>(input)]->storage.get());
      std::ranges::sort(written);
      f.memory.expect_unwritten(written);
    }
  } catch (...) {
    for (TensorRef& o : f.outputs) o = nullptr;
    throw;
  }
  commit(f);
}

// A device may refuse a launch; the processor cannot.
void Specialization::commit(Frame& f) const {
  const auto count_writes = [&] {
    for (int input : executable_.committed) ++f.inputs[static_cast<std::size_t>(input)]->storage->version;
  };
  std::size_t done = 0;
  try {
    for (; done < commits_.size(); ++done) execute(commits_[done], f);
  } catch (const OpError& e) {
    for (TensorRef& o : f.outputs) o = nullptr;
    if (done == 0) throw;
    count_writes();
    throw FailedAfterWrite(e);
  }
  count_writes();
}

void Specialization::run(std::span<TensorImpl* const> inputs, std::span<TensorRef> outputs) const {
  check_inputs(inputs);
  if (!quick_.empty()) {
    outputs[0] = is_anything_observed() ? run_quick_measured(inputs) : run_quick(inputs);
    return;
  }
  Frame f{.inputs = inputs, .outputs = outputs, .data = {}, .arena = {}};
  SmallVector<TensorImpl*, 8> held;
  if (takes_long_) [[unlikely]] {
    for (TensorImpl* x : inputs) held.push_back(f.memory.add(*x).get());
    f.inputs = std::span(held.data(), held.size());
  }
  execute_all(f);
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const SizedOutput& o = outputs_[i];
    if (o.input >= 0)
      outputs[i] = TensorRef(inputs[static_cast<std::size_t>(o.input)]);
    else if (o.same_as >= 0)
      outputs[i] = outputs[static_cast<std::size_t>(o.same_as)];
    else if (slots_[static_cast<std::size_t>(o.tensor.slot)].owner != static_cast<int>(i))
      outputs[i] = output_view(o, f);
  }
  if (!has_bases_) return;
  std::vector<TensorRef> hidden;
  for (const SizedOutput& o : hidden_bases_) hidden.push_back(output_view(o, f));
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (outputs_[i].base < 0) continue;
    const auto base = static_cast<std::size_t>(outputs_[i].base);
    const TensorRef& whole = base < outputs.size() ? outputs[base] : hidden[base - outputs.size()];
    outputs[i]->base = whole->base ? whole->base : whole;
  }
}

}  // namespace md
