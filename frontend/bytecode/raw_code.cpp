// Reads a code object's bytes and tables, and prints operands as `dis` does.
#include "frontend/bytecode/raw_code.h"

#include <fmt/format.h>

namespace md {
namespace {

Bytes bytes_of(PyObject* o) {
  return {reinterpret_cast<const std::uint8_t*>(PyBytes_AS_STRING(o)), static_cast<std::size_t>(PyBytes_GET_SIZE(o))};
}

// Ranges are sorted and do not overlap, so one walk finds the handler of every unit.
std::vector<Handler> handlers_by_unit(PyCodeObject* code, int units) {
  std::vector<Handler> out(units);
  for (const ExceptionRange& r : read_exceptions(bytes_of(code->co_exceptiontable))) {
    if (r.end > units || r.handler.label >= units) throw BadCode("exception table reaches past the code");
    std::fill(out.begin() + r.start, out.begin() + r.end, r.handler);
  }
  return out;
}

// Only types whose str() runs no user code.
bool is_plain_constant(PyObject* o) {
  if (o == Py_None || o == Py_Ellipsis || PyCode_Check(o)) return true;
  if (PyTuple_CheckExact(o)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i) {
      if (!is_plain_constant(PyTuple_GET_ITEM(o, i))) return false;
    }
    return true;
  }
  return PyUnicode_CheckExact(o) || PyLong_CheckExact(o) || PyBool_Check(o) || PyFloat_CheckExact(o) ||
         PyComplex_CheckExact(o) || PyBytes_CheckExact(o) || PyFrozenSet_CheckExact(o);
}

std::string text_of(PyObject* o) {
  PyRef text = is_plain_constant(o) ? PyRef::steal(PyObject_Str(o)) : PyRef();
  PyRef utf8 = text ? PyRef::steal(PyUnicode_AsEncodedString(text.get(), "utf-8", "backslashreplace")) : PyRef();
  if (!utf8) {  // an int too long to print, or an object of ours
    clear_answer();
    return fmt::format("<{}>", Py_TYPE(o)->tp_name);
  }
  return PyBytes_AS_STRING(utf8.get());
}

PrintedOperand item(PrintedOperand::Kind kind, PyObject* tuple, int index) {
  if (index >= PyTuple_GET_SIZE(tuple)) throw BadCode("operand out of range");
  return {kind, index};
}
std::string item_text(const std::vector<PyRef>& items, int index) {
  return text_of(items.at(static_cast<std::size_t>(index)).get());
}

const char* const kCompare[] = {"<", "<=", "==", "!=", ">", ">="};
const char* const kConversion[] = {"None", "<class 'str'>", "<built-in function repr>", "<built-in function ascii>"};

}  // namespace

int RawInstruction::jump_to() const {
  switch (raw_info(op).arg) {
    case RawArg::Forward:
      return end + arg;
    case RawArg::Backward:
      return end - arg;
    default:
      return -1;
  }
}

std::vector<RawInstruction> read_code(PyCodeObject* code) {
  const PyRef bytecode = checked(PyCode_GetCode(code));  // undoes specialisation and instrumentation
  const Bytes bytes = bytes_of(bytecode.get());
  const int units = static_cast<int>(bytes.size / 2);
  const auto positions = read_locations(bytes_of(code->co_linetable), code->co_firstlineno, units);
  const auto handlers = handlers_by_unit(code, units);
  std::vector<RawInstruction> out;
  out.reserve(static_cast<std::size_t>(units));
  for (int at = 0; at < units;) {
    const int start = at;
    unsigned arg = 0;
    RawOp op;
    while ((op = raw_op(bytes.data[2 * at])) == RawOp::EXTENDED_ARG) {
      arg = (arg | bytes.data[2 * at + 1]) << 8;
      if (++at == units) throw BadCode("code ends in EXTENDED_ARG");
    }
    if (op == RawOp::Unknown) throw BadCode(fmt::format("unknown opcode {} at {}", bytes.data[2 * at], 2 * at));
    arg |= bytes.data[2 * at + 1];
    at += 1 + raw_info(op).caches;
    if (at > units) throw BadCode("code ends inside inline caches");
    if (arg > 0x3fffffff) throw BadCode("operand too large");
    out.push_back({op, static_cast<int>(arg), start, at, positions[start], handlers[start]});
  }
  return out;
}

PrintedOperand printed_operand(PyCodeObject* code, const RawInstruction& raw, int half) {
  using Kind = PrintedOperand::Kind;
  constexpr int kHaveArgument = kMinor >= 13 ? 44 : 90;
  const int arg = raw.arg;
  if (raw_info(raw.op).number < kHaveArgument) return {Kind::None};
  switch (raw_info(raw.op).arg) {
    case RawArg::None:
      return {Kind::None};
    case RawArg::Number:
      return {Kind::Number, arg};
    case RawArg::Name:
      return item(Kind::Name, code->co_names, arg);
    case RawArg::NameBit:
      return item(Kind::Name, code->co_names, arg >> 1);
    case RawArg::Attr:
      return item(Kind::Name, code->co_names, kMinor == 11 ? arg : arg >> 1);
    case RawArg::NameTwoBits:
      return item(Kind::Name, code->co_names, arg >> 2);
    case RawArg::Const:
      return item(Kind::Const, code->co_consts, arg);
    case RawArg::Slot:
      return item(Kind::Slot, code->co_localsplusnames, arg);
    case RawArg::TwoSlots:
      return item(Kind::Slot, code->co_localsplusnames, half == 0 ? arg >> 4 : arg & 15);
    case RawArg::Compare: {
      const int index = kMinor == 11 ? arg : kMinor == 12 ? arg >> 4 : arg >> 5;
      if (index > 5) throw BadCode("unknown comparison");
      return {Kind::Compare, index};
    }
    case RawArg::Format:
      return {Kind::Format, arg};
    case RawArg::Conversion:
      return {Kind::Conversion, arg};
    case RawArg::Forward:
    case RawArg::Backward:
      return {Kind::Number, 2 * raw.jump_to()};
  }
  return {};
}

std::string operand_text(const CodeBody& body, const PrintedOperand& operand) {
  using Kind = PrintedOperand::Kind;
  const int v = operand.value;
  switch (operand.kind) {
    case Kind::Nothing:
      return "";
    case Kind::None:
      return "None";
    case Kind::Number:
      return fmt::format("{}", v);
    case Kind::Name:
      return item_text(body.names, v);
    case Kind::Const:
      return item_text(body.consts, v);
    case Kind::Slot:
      return item_text(body.slot_names, v);
    case Kind::Compare:
      return kCompare[v];
    case Kind::Format:
      return fmt::format("({}, {})", kConversion[v & 3], v & 4 ? "True" : "False");
    case Kind::Conversion:
      return kConversion[v & 3];
  }
  return "";
}

}  // namespace md
