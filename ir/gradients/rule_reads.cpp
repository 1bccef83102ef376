// Rules run on types, with a caller that notes what is handed to calls that read.
#include "ir/gradients/rule_reads.h"

#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>

#include "ir/gradients/derivation.h"
#include "ir/gradients/tape.h"
#include "ir/infer/type_caller.h"

namespace md {

namespace {

// The tensors of a call as nodes that have a type only.
class WatchedCall {
 public:
  std::vector<Arg> args, results, grads;

  WatchedCall(std::span<const Arg> of, std::span<const TensorRef> made) {
    for (std::size_t i = 0; i < of.size(); ++i) args.push_back(watched(of[i], {std::uint64_t{1} << i, 0}));
    for (std::size_t i = 0; i < made.size(); ++i) {
      results.push_back(node(type_of(Arg(made[i])), {0, std::uint64_t{1} << (i < 63 ? i : 63)}));
      grads.push_back(is_differentiable(made[i]->dtype) ? node(type_of(Arg(made[i])), {0, 0}) : Arg());
    }
  }
  void note(const Node* n, RuleReads& found) const {
    const auto at = marks_.find(n);
    if (at == marks_.end()) return;
    found.operands |= at->second.operands;
    found.results |= at->second.results;
  }

 private:
  Arg node(TensorType type, RuleReads mark) {
    auto made = std::make_unique<Node>();
    made->kind = NodeKind::Op;
    made->types.push_back(std::move(type));
    marks_.emplace(made.get(), mark);
    nodes_.push_back(std::move(made));
    return nodes_.back().get();
  }
  Arg watched(const Arg& a, RuleReads mark) {
    if (a.is<TensorRef>()) return node(type_of(a), mark);
    const auto* list = a.get_if<ListArg>();
    if (!list) return a;
    ListArg out{{}, list->tuple};
    for (const Arg& x : list->items) out.items.push_back(x.is<TensorRef>() ? node(type_of(x), mark) : x);
    return out;
  }

  std::vector<std::unique_ptr<Node>> nodes_;
  std::unordered_map<const Node*, RuleReads> marks_;
};

class ReadingCaller final : public OpCaller {
 public:
  explicit ReadingCaller(const WatchedCall& watched) : watched_(watched) {}
  using OpCaller::call;
  Arg call(const Op& op, std::vector<Arg> bound) override {
    if (op.kind() != OpKind::Create && op.kind() != OpKind::Random)
      for (Arg& a : bound) for_each_node(a, [&](Node* n) { watched_.note(n, found); });
    return types_.call(op, std::move(bound));
  }
  RuleReads found{0, 0};

 private:
  const WatchedCall& watched_;
  TypeCaller types_;
};

// A rule may go another way where its gradient is recorded: both count.
RuleReads run_on_types(const Op& op, std::span<const Arg> args, std::span<const TensorRef> results,
                       std::uint64_t wanted) {
  RuleReads found{0, 0};
  try {
    for (const bool recorded : {false, true}) {
      const GradMode mode(recorded);
      const WatchedCall call(args, results);
      ReadingCaller caller(call);
      vjp(op, caller, call.args, call.results, call.grads, wanted);
      found.operands |= caller.found.operands;
      found.results |= caller.found.results;
    }
  } catch (const std::exception&) {  // it needs elements, or there is none: backward() says which
    return {};
  }
  return found;
}

// --- What rules depend on ------------------------------------------------------------------------------------------

// Bytes that are the same for calls whose rules read the same. What does not fit is not remembered.
class Key {
 public:
  template <class T>
  void add(const T& value) {
    bytes(&value, sizeof value);
  }
  void bytes(const void* from, std::size_t count) {
    full_ |= count > kMost - size_;
    if (full_) return;
    std::memcpy(data_ + size_, from, count);
    size_ += count;
  }
  bool full() const { return full_; }
  std::string_view view() const { return {data_, size_}; }

 private:
  static constexpr std::size_t kMost = 1024;
  char data_[kMost];
  std::size_t size_ = 0;
  bool full_ = false;
};

// Pointwise rules depend on which operands are numbers and whether these are 0, not on sizes and dtypes.
void add_pointwise(Key& key, const Arg& a) {
  if (a.is_number())
    key.add(a == Arg(0) || a == Arg(0.0) || a == Arg(false) ? '0' : '1');
  else
    key.add(a.is<TensorRef>() ? 'T' : '-');
}

bool add_all(Key& key, const Arg& a) {
  key.add(static_cast<char>(a.v.index()));
  if (const auto* t = a.get_if<TensorRef>()) {
    const DimVec& sizes = (*t)->sizes;
    key.add((*t)->dtype);
    key.add(static_cast<char>(sizes.size()));
    key.bytes(sizes.data(), sizes.size() * sizeof(std::int64_t));
  } else if (const auto* l = a.get_if<ListArg>()) {
    key.add(l->items.size());
    for (const Arg& x : l->items)
      if (!add_all(key, x)) return false;
  } else if (const auto* slice = a.get_if<SliceArg>()) {
    for (const Arg& x : *slice->parts)
      if (!add_all(key, x)) return false;
  } else if (const auto* b = a.get_if<bool>()) {
    key.add(*b);
  } else if (const auto* s = a.get_if<Size>()) {
    if (!s->is_const()) return false;
    key.add(s->value());
  } else if (const auto* d = a.get_if<double>()) {
    key.add(*d);
  } else if (const auto* t = a.get_if<DType>()) {
    key.add(*t);
  } else if (const auto* text = a.get_if<std::string>()) {
    key.add(text->size());
    key.bytes(text->data(), text->size());
  } else {
    return a.is_none() || a.is<EllipsisArg>();
  }
  return true;
}

// False for arguments that nothing is remembered of.
bool write_key(Key& key, const Op& op, std::span<const Arg> args, std::uint64_t wanted) {
  key.add(op.id);
  key.add(wanted);
  for (const Arg& a : args) {
    if (op.kind() == OpKind::Pointwise)
      add_pointwise(key, a);
    else if (!add_all(key, a))
      return false;
  }
  return !key.full();
}

struct KeyHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view key) const { return std::hash<std::string_view>()(key); }
};

}  // namespace

RuleReads rule_reads(const Op& op, std::span<const Arg> args, std::span<const TensorRef> results,
                     std::uint64_t wanted) {
  if (op.kind() == OpKind::View) return {~std::uint64_t{1}, 0};  // linear, element by element
  thread_local std::unordered_map<std::string, RuleReads, KeyHash, std::equal_to<>> known;
  Key key;
  if (!write_key(key, op, args, wanted)) return run_on_types(op, args, results, wanted);
  if (const auto at = known.find(key.view()); at != known.end()) return at->second;
  constexpr std::size_t kMost = 4096;
  if (known.size() >= kMost) known.clear();
  const RuleReads found = run_on_types(op, args, results, wanted);
  known.emplace(key.view(), found);
  return found;
}

}  // namespace md
