// repr() of numbers (shortest digits that read back the same), strings, lists, slices, dtypes, devices and memory
// formats.
#include "ir/graph/text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "ir/graph/graph.h"

namespace md {
namespace {

struct Decimal {
  std::string digits;  // significant digits, no point
  int exponent;        // of the first digit
};

Decimal shortest_digits(double v) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, v, std::chars_format::scientific).ptr;
  const std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
  const std::size_t e = text.find('e');
  Decimal d{{}, 0};
  std::from_chars(text.data() + e + (text[e + 1] == '+' ? 2 : 1), end, d.exponent);
  for (char c : text.substr(0, e)) {
    if (c != '.') d.digits += c;
  }
  return d;
}

std::string join(const std::vector<Arg>& items) {
  std::string out;
  for (const Arg& a : items) {
    if (!out.empty()) out += ", ";
    out += python_repr(a);
  }
  return out;
}

struct Repr {
  std::string operator()(NoneArg) const { return "None"; }
  std::string operator()(bool b) const { return b ? "True" : "False"; }
  std::string operator()(Size s) const { return to_string(s); }
  std::string operator()(double d) const { return python_repr(d); }
  std::string operator()(std::complex<double> c) const { return python_repr(c); }
  std::string operator()(const std::string& s) const { return python_repr(std::string_view(s)); }
  std::string operator()(DType t) const { return "torch." + std::string(info(t).name); }
  std::string operator()(Device d) const { return device_repr(d); }
  std::string operator()(MemoryFormat f) const { return "torch." + std::string(info(f).attribute); }
  std::string operator()(EllipsisArg) const { return "Ellipsis"; }
  std::string operator()(const SliceArg& s) const { return "slice(" + join(*s.parts) + ")"; }
  std::string operator()(const ListArg& l) const { return l.tuple ? python_tuple(l.items) : "[" + join(l.items) + "]"; }
  std::string operator()(const TensorRef& t) const {
    const std::string place = t->device().is_cpu() ? "" : fmt::format("device='{}', ", to_string(t->device()));
    return fmt::format("tensor(..., {}size=({}), dtype=torch.{})", place, fmt::join(t->sizes, ", "),
                       info(t->dtype).name);
  }
  std::string operator()(Node* n) const { return n->name; }
};

}  // namespace

namespace {
// The parts of a complex number have no ".0".
std::string part_repr(double v) {
  const std::string text = python_repr(v);
  return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
}
}  // namespace

std::string python_repr(std::complex<double> c) {
  const std::string imaginary = part_repr(c.imag()) + "j";
  if (c.real() == 0 && !std::signbit(c.real())) return imaginary;
  const bool needs_sign = imaginary[0] != '-';
  return "(" + part_repr(c.real()) + (needs_sign ? "+" : "") + imaginary + ")";
}

std::string device_repr(Device d) {
  const std::string index = d.index < 0 ? "" : fmt::format(", index={}", d.index);
  return fmt::format("device(type='{}'{})", d.info().name, index);
}

std::string invalid_device(const std::string& text) {
  return text.empty() ? "Device string must not be empty"
                      : "Invalid device string: '" + text + "' (a device is written 'cpu', 'meta' or 'cuda:0')";
}

std::string python_repr(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  std::string sign = std::signbit(v) ? "-" : "";
  const auto [digits, exponent] = shortest_digits(std::fabs(v));
  const int count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    const std::string fraction = count > 1 ? "." + digits.substr(1) : "";
    return fmt::format("{}{}{}e{}{:02}", sign, digits[0], fraction, exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0) return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  const int whole = exponent + 1;
  if (count <= whole) return sign + digits + std::string(static_cast<std::size_t>(whole - count), '0') + ".0";
  return sign + digits.substr(0, static_cast<std::size_t>(whole)) + "." +
         digits.substr(static_cast<std::size_t>(whole));
}

std::string python_repr(std::string_view v) {
  const bool single = v.find('\'') != v.npos && v.find('"') == v.npos;
  const char quote = single ? '"' : '\'';
  std::string out(1, quote);
  for (char c : v) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == quote || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + quote;
}

std::string python_repr(const Arg& a) { return std::visit(Repr{}, a.v); }

std::string python_tuple(const std::vector<Arg>& items) { return "(" + join(items) + (items.size() == 1 ? ",)" : ")"); }

}  // namespace md
