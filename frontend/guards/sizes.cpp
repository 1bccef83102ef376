// Reads numbers of inputs, evaluates conditions on symbols, and prints both.
#include "frontend/guards/sizes.h"

#include <algorithm>

#include "frontend/cpython/byte_stream.h"
#include "frontend/tensors/array_view.h"
#include "frontend/tensors/tensor_element.h"
#include "frontend/tensors/tensor_object.h"
#include "ir/core/error.h"

namespace md {

std::string to_string(const std::string& source, SizePlace::Field field, int dim) {
  if (field == SizePlace::Field::Value) return source;
  if (field == SizePlace::Field::Element) return source + ".item()";
  if (field == SizePlace::Field::StreamAt) return source + ".tell()";
  if (field == SizePlace::Field::StreamLeft) return "___left(" + source + ")";
  return source + (field == SizePlace::Field::Size ? ".size()[" : ".stride()[") + std::to_string(dim) + "]";
}

std::string to_string(const SizePlace& p) { return to_string(p.source->name, p.field, p.dim); }

namespace {

std::string range_text(const std::string& value, SizeRange r) {
  if (r.lo == r.hi) return value + " == " + std::to_string(r.lo);
  if (r.lo == SizeRange::kMin && r.hi == SizeRange::kMax) return "-2**63 <= " + value + " < 2**63";
  std::string out = r.lo == SizeRange::kMin ? value : std::to_string(r.lo) + " <= " + value;
  if (r.hi != SizeRange::kMax) out += " <= " + std::to_string(r.hi);
  return out;
}

}  // namespace

std::string to_string(const SizeCondition& c) {
  const auto text = [&](Size s) {
    return to_string(s, [&](int i) { return c.names->at(static_cast<std::size_t>(i)); });
  };
  switch (c.form) {
    case SizeCondition::Form::Equals:
      return c.place + " == " + text(c.value);
    case SizeCondition::Form::Between:
      return range_text(text(c.value), c.range);
    case SizeCondition::Form::Number:
      return c.number->text;
    case SizeCondition::Form::Holds:
      break;
  }
  static constexpr const char* kText[] = {" == ", " != ", " < ", " >= "};
  return text(c.relation.lhs) + kText[static_cast<int>(c.relation.relation)] + text(c.relation.rhs);
}

bool read_size(PyObject* o, SizePlace::Field field, int dim, std::int64_t& out) {
  if (field == SizePlace::Field::Value) {
    if (!PyLong_CheckExact(o)) return false;
    int overflow = 0;
    out = PyLong_AsLongLongAndOverflow(o, &overflow);
    return overflow == 0;
  }
  if (field == SizePlace::Field::StreamAt || field == SizePlace::Field::StreamLeft) {
    StreamPlace place;
    if (!read_stream(o, place)) return false;
    out = field == SizePlace::Field::StreamAt ? place.at : place.size - place.at;
    return true;
  }
  if (!is_tensor(o)) {
    const ArrayView a(o);
    if (!a.fits_tensor() || dim >= a.dim()) return false;
    out = field == SizePlace::Field::Size ? a.size(dim) : a.stride(dim);
    return true;
  }
  if (field == SizePlace::Field::Element) return read_element(o, DType::Int64, &out);
  if (dim >= tensor_impl(o)->dim()) return false;
  const TensorImpl& t = *tensor_impl(o);
  out = (field == SizePlace::Field::Size ? t.sizes : t.strides)[static_cast<std::size_t>(dim)];
  return true;
}

namespace guards {

void SizeAssumption::prepare(const Guard& g, GuardBuilder& b, GuardOp& op) {
  auto fact = std::make_shared<SizeFact>();
  fact->condition = g.sizes;
  const auto read = [&](const SizePlace& p, int symbol) {
    return SizeFact::Read{b.register_of(p.source), p.field, p.dim, symbol};
  };
  if (g.sizes->number)
    for (SourceRef s : g.sizes->number->floats) fact->floats.push_back(b.register_of(s));
  for (const auto& [symbol, place] : g.sizes->symbols) fact->reads.push_back(read(place, symbol));
  if (g.sizes->form == SizeCondition::Form::Equals) fact->actual = read(g.sizes->actual, -1);
  op.size = fact.get();
  b.compiled.sizes.push_back(std::move(fact));
}

// Its sources are gone: the record's other nodes are those of the condition, in the same order.
void SizeAssumption::explain_difference(const SizeFact& f, PyObject* const* regs, Why& why) {
  auto node = why.record->others.begin();
  std::string places;
  const auto add = [&](const SizeFact::Read& r) {
    const std::string& source = why.compiled->nodes[static_cast<std::size_t>(*node++)].name;
    const std::string place = strip_local_scope(to_string(source, r.field, r.dim));
    std::int64_t actual;
    const std::string now = read_size(regs[r.reg], r.field, r.dim, actual) ? std::to_string(actual) : "no such number";
    places += (places.empty() ? "" : ", ") + place;
    why.actual += (why.actual.empty() ? "" : ", ") + now;
  };
  for (const std::uint16_t reg : f.floats) {
    const std::string& source = why.compiled->nodes[static_cast<std::size_t>(*node++)].name;
    places += (places.empty() ? "" : ", ") + strip_local_scope(source);
    const PyRef now = float_input(regs[reg]);
    why.actual += (why.actual.empty() ? "" : ", ") + constant_repr(now ? now.get() : regs[reg]);
  }
  if (f.condition->form == SizeCondition::Form::Equals) add(f.actual);
  for (const SizeFact::Read& r : f.reads) add(r);
  why.place = places;
  why.expected = strip_local_scope(to_string(*f.condition));
}

bool SizeAssumption::number_holds(const SizeFact& f, PyObject* const* regs, std::span<const std::int64_t> known) {
  const NumberTest& test = *f.condition->number;
  std::vector<PyObject*> floats;
  for (const std::uint16_t reg : f.floats) floats.push_back(regs[reg]);
  const PyRef now = evaluate(*test.expression, floats, f.condition->env.get(), known);
  if (!now || Py_TYPE(now.get()) != Py_TYPE(test.expected.get())) return false;
  const int same = PyObject_RichCompareBool(now.get(), test.expected.get(), Py_EQ);
  if (same < 0) PyErr_Clear();
  return same == 1;
}

bool SizeAssumption::holds(const SizeFact& f, PyObject* const* regs) {
  constexpr std::size_t kFew = 32;
  const SizeCondition& c = *f.condition;
  // Only the symbols of the condition are filled; nothing reads the others, which may be many.
  std::int64_t few[kFew];
  static thread_local std::vector<std::int64_t> many;
  const std::size_t count = c.env ? c.env->symbols().size() : 0;
  if (count > std::max(kFew, many.size())) many.resize(count);
  std::int64_t* values = count > kFew ? many.data() : few;
  for (const SizeFact::Read& r : f.reads) {
    if (!read_size(regs[r.reg], r.field, r.dim, values[r.symbol])) return false;
  }
  const std::span<const std::int64_t> known(values, count);
  try {
    switch (c.form) {
      case SizeCondition::Form::Equals: {
        std::int64_t actual;
        return read_size(regs[f.actual.reg], f.actual.field, f.actual.dim, actual) &&
               actual == c.env->evaluate(c.value, known);
      }
      case SizeCondition::Form::Between: {
        const std::int64_t v = c.env->evaluate(c.value, known);
        return c.range.lo <= v && v <= c.range.hi;
      }
      case SizeCondition::Form::Number:
        return number_holds(f, regs, known);
      case SizeCondition::Form::Holds:
        return holds_for(c.relation.relation, c.env->evaluate(c.relation.lhs, known),
                         c.env->evaluate(c.relation.rhs, known));
    }
  } catch (const OpError&) {  // overflow or division by zero: not what was assumed
  }
  return false;
}

}  // namespace guards
}  // namespace md
