// Guards on symbolic sizes and ints: what the expressions of a trace assumed.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "frontend/guards/compiled_guards.h"
#include "frontend/guards/numbers.h"
#include "ir/sizes/shape_env.h"

namespace md {

// A number of an input: an int itself, one size or stride of a tensor, the int in a tensor without dimensions, where an
// io.BytesIO stands or what is left of it.
struct SizePlace {
  enum class Field : std::uint8_t { Value, Size, Stride, Element, StreamAt, StreamLeft };
  SourceRef source = nullptr;
  Field field = Field::Value;
  int dim = 0;
};
std::string to_string(const SizePlace& p);  // "L['x'].size()[0]"
std::string to_string(const std::string& source, SizePlace::Field field, int dim);
// False: not there, or an int that needs more than 64 bits. Sets no exception.
bool read_size(PyObject* object, SizePlace::Field field, int dim, std::int64_t& out);

// One condition on the symbols, whose values are read at `symbols`.
struct SizeCondition {
  enum class Form : std::uint8_t {
    Equals,   // the number at `actual` is `value`
    Between,  // `value` is in `range`
    Holds,    // `relation`
    Number    // `number`, which may have no symbols and no `env`
  };
  std::shared_ptr<ShapeEnv> env;
  std::vector<std::pair<int, SizePlace>> symbols;
  Form form = Form::Holds;
  SizePlace actual;
  Size value;
  SizeRange range;
  SizeGuard relation{};
  std::shared_ptr<const NumberTest> number;
  std::shared_ptr<const std::vector<std::string>> names;  // of all symbols; sources are gone when a text is wanted
  std::string place;                                      // name of `actual`
};
std::string to_string(const SizeCondition& c);  // "2 <= L['x'].size()[0]"

// The same, with registers for sources.
struct SizeFact {
  struct Read {
    std::uint16_t reg;
    SizePlace::Field field;
    int dim;
    int symbol;
  };
  std::shared_ptr<const SizeCondition> condition;
  std::vector<Read> reads;
  Read actual{};
  std::vector<std::uint16_t> floats;  // registers of NumberTest::floats
};

namespace guards {

struct SizeAssumption {
  static constexpr const char* name = "LAMBDA_GUARD";
  static void prepare(const Guard& g, GuardBuilder& b, GuardOp& op);
  template <bool explain>
  static bool check(const GuardOp& op, PyObject* const* regs, Why* why) {
    const bool fits = holds(*op.size, regs);
    if (explain && !fits) explain_difference(*op.size, regs, *why);
    return fits;
  }
  static std::string text(const GuardRecord& r, const std::string&) { return to_string(*r.sizes); }

 private:
  static void explain_difference(const SizeFact& f, PyObject* const* regs, Why& why);
  static bool holds(const SizeFact& f, PyObject* const* regs);
  static bool number_holds(const SizeFact& f, PyObject* const* regs, std::span<const std::int64_t> known);
};

}  // namespace guards
}  // namespace md
