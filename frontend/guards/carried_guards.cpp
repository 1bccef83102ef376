// Moves guards and their sources from the table of one attempt to that of the next.
#include "frontend/guards/carried_guards.h"

#include <unordered_map>

namespace md {

namespace {

// On one source, and of an object as it is: no relations, no sizes, nothing ambient.
bool can_be_carried(const Guard& g) {
  switch (g.kind) {
    case GuardKind::TypeMatch:
    case GuardKind::IdMatch:
    case GuardKind::CMethod:
    case GuardKind::EqualsMatch:
    case GuardKind::DataMatch:
    case GuardKind::NoneMatch:
    case GuardKind::TrueMatch:
    case GuardKind::FalseMatch:
    case GuardKind::Nan:
    case GuardKind::LengthCheck:
    case GuardKind::DictLength:
    case GuardKind::DictContains:
    case GuardKind::DictNotContains:
    case GuardKind::DictKeyOrder:
    case GuardKind::SetMatch:
    case GuardKind::SetOrder:
    case GuardKind::SetContains:
    case GuardKind::SetNotContains:
    case GuardKind::NoHasattr:
    case GuardKind::Hasattr:
    case GuardKind::DimensionMarks:
    case GuardKind::NotPresent:
      return g.source && g.source->kind != SourceKind::Constant;
    default:
      return false;
  }
}

class Mover {
 public:
  explicit Mover(SourceTable& to) : to_(to) {}

  // The same place in the other table; null for places below a constant, which would have to be kept alive.
  SourceRef moved(const Source* s) {
    auto [it, fresh] = known_.try_emplace(s, nullptr);
    if (fresh) it->second = made(*s);
    return known_[s];
  }

 private:
  SourceRef made(const Source& s) {
    const auto inner = [](const std::string& printed) { return printed.substr(3, printed.size() - 5); };  // L['x']
    switch (s.kind) {
      case SourceKind::Local:
        return to_.local(s.index, inner(s.name));
      case SourceKind::FreeCell:
        return to_.free_cell(s.index, inner(s.name));
      case SourceKind::Global:
        return to_.global(s.key.get());
      case SourceKind::Builtin:
        return to_.builtin(s.key.get());
      case SourceKind::Constant:
      case SourceKind::ArrayTensor:
        return nullptr;
      default:
        break;
    }
    const SourceRef base = s.base ? moved(s.base) : nullptr;
    return base ? to_.child(base, s.kind, s.key.get(), s.index) : nullptr;
  }

  SourceTable& to_;
  std::unordered_map<const Source*, SourceRef> known_;
};

}  // namespace

void CarriedGuards::take(const GuardSet& guards, SourceTable&& sources) {
  clear();
  for (const Guard& g : guards.guards())
    if (can_be_carried(g)) guards_.push_back(g);
  sources_ = std::move(sources);
}

void CarriedGuards::give(GuardSet& guards, SourceTable& sources) const {
  Mover mover(sources);
  for (const Guard& g : guards_) {
    Guard copy = g;
    copy.source = mover.moved(g.source);
    if (copy.source) guards.add(std::move(copy));
  }
}

void CarriedGuards::clear() {
  guards_.clear();
  sources_ = SourceTable();
}

}  // namespace md
