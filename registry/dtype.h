// Element types: names, sizes, categories and torch's promotion lattice. One row per dtype; everything else asks the
// row.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace md {

enum class DType : std::uint8_t {
  Bool,
  UInt8,
  Int8,
  Int16,
  Int32,
  Int64,
  Float16,
  BFloat16,
  Float32,
  Float64,
  Complex64,
  Complex128,
  UInt16,
  UInt32,
  UInt64,
  Float8E4M3FN,
  Float8E5M2,
  Float8E4M3FNUZ,
  Float8E5M2FNUZ
};
inline constexpr int kDTypeCount = 19;

// Ordered: a value of a higher category decides the result of a promotion across categories.
// Calls with complex elements are done by their parts (ir/infer/complex_calls.h): no body computes in such a dtype.
enum class DTypeCategory : std::uint8_t { Bool, Integral, Floating, Complex };

struct DTypeInfo {
  DType dtype;
  std::string_view name;        // "float32": repr is "torch.float32"
  std::string_view short_name;  // "f32": graph annotations
  std::string_view guard_name;  // "Float": recompile reasons
  std::uint8_t size;            // bytes
  DTypeCategory category;
  // What op bodies compute in. Halves do so in float32 and small integers in int32; the result of every op is brought
  // back into the dtype (rounded once, or wrapped), so that each dtype costs conversions and no bodies of its own.
  DType working;
  // Binary digits of a value: of an integer's magnitude, or of a floating significand with its leading one.
  std::uint8_t digits;
  // What the buffer protocol calls the elements; 0: it has no name for them.
  char format;
};

inline constexpr std::array<DTypeInfo, kDTypeCount> kDTypes{{
    {DType::Bool, "bool", "b8", "Bool", 1, DTypeCategory::Bool, DType::Bool, 1, '?'},
    {DType::UInt8, "uint8", "u8", "Byte", 1, DTypeCategory::Integral, DType::Int32, 8, 'B'},
    {DType::Int8, "int8", "i8", "Char", 1, DTypeCategory::Integral, DType::Int32, 7, 'b'},
    {DType::Int16, "int16", "i16", "Short", 2, DTypeCategory::Integral, DType::Int32, 15, 'h'},
    {DType::Int32, "int32", "i32", "Int", 4, DTypeCategory::Integral, DType::Int32, 31, 'i'},
    {DType::Int64, "int64", "i64", "Long", 8, DTypeCategory::Integral, DType::Int64, 63, 'l'},
    {DType::Float16, "float16", "f16", "Half", 2, DTypeCategory::Floating, DType::Float32, 11, 'e'},
    {DType::BFloat16, "bfloat16", "bf16", "BFloat16", 2, DTypeCategory::Floating, DType::Float32, 8, 0},
    {DType::Float32, "float32", "f32", "Float", 4, DTypeCategory::Floating, DType::Float32, 24, 'f'},
    {DType::Float64, "float64", "f64", "Double", 8, DTypeCategory::Floating, DType::Float64, 53, 'd'},
    {DType::Complex64, "complex64", "c64", "ComplexFloat", 8, DTypeCategory::Complex, DType::Complex64, 24, 0},
    {DType::Complex128, "complex128", "c128", "ComplexDouble", 16, DTypeCategory::Complex, DType::Complex128, 53, 0},
    {DType::UInt16, "uint16", "u16", "UInt16", 2, DTypeCategory::Integral, DType::Int32, 16, 'H'},
    {DType::UInt32, "uint32", "u32", "UInt32", 4, DTypeCategory::Integral, DType::Int64, 32, 'I'},
    {DType::UInt64, "uint64", "u64", "UInt64", 8, DTypeCategory::Integral, DType::Int64, 64, 'L'},
    {DType::Float8E4M3FN, "float8_e4m3fn", "f8e4m3fn", "Float8_e4m3fn", 1, DTypeCategory::Floating, DType::Float32, 4,
     0},
    {DType::Float8E5M2, "float8_e5m2", "f8e5m2", "Float8_e5m2", 1, DTypeCategory::Floating, DType::Float32, 3, 0},
    {DType::Float8E4M3FNUZ, "float8_e4m3fnuz", "f8e4m3fnuz", "Float8_e4m3fnuz", 1, DTypeCategory::Floating,
     DType::Float32, 4, 0},
    {DType::Float8E5M2FNUZ, "float8_e5m2fnuz", "f8e5m2fnuz", "Float8_e5m2fnuz", 1, DTypeCategory::Floating,
     DType::Float32, 3, 0},
}};

constexpr const DTypeInfo& info(DType t) { return kDTypes[static_cast<std::size_t>(t)]; }
constexpr bool is_floating(DType t) { return info(t).category == DTypeCategory::Floating; }
constexpr bool is_complex(DType t) { return info(t).category == DTypeCategory::Complex; }
// Whether tensors of this dtype can require gradients.
constexpr bool is_differentiable(DType t) { return is_floating(t) || is_complex(t); }
constexpr bool is_integral(DType t) { return info(t).category == DTypeCategory::Integral; }
// Dtypes that are kept and converted, with hardly any arithmetic: only the reference engine reads and writes them
// (ir/tensor/stored_numbers.h), and a graph with such tensors runs op by op.
constexpr bool is_wide_unsigned(DType t) { return t == DType::UInt16 || t == DType::UInt32 || t == DType::UInt64; }
constexpr bool is_float8(DType t) {
  return t == DType::Float8E4M3FN || t == DType::Float8E5M2 || t == DType::Float8E4M3FNUZ || t == DType::Float8E5M2FNUZ;
}
constexpr bool is_storage_only(DType t) { return is_wide_unsigned(t) || is_float8(t); }
constexpr bool is_signed(DType t) { return t != DType::Bool && t != DType::UInt8 && !is_wide_unsigned(t); }
constexpr std::size_t item_size(DType t) { return info(t).size; }
constexpr DType working(DType t) { return info(t).working; }
constexpr bool is_half(DType t) { return is_floating(t) && item_size(t) == 2; }
// A floating dtype that op bodies compute in as it is.
constexpr bool is_computed_floating(DType t) { return is_floating(t) && working(t) == t; }
// What floating values of `t` are widened to where several steps are rounded once; other dtypes stay what they are.
constexpr DType wide_dtype(DType t) { return is_floating(t) ? working(t) : t; }
// The distance from 1 to the next larger value of a floating dtype.
constexpr double machine_epsilon(DType t) { return 1.0 / static_cast<double>(std::int64_t{1} << (info(t).digits - 1)); }

// The smallest and the largest integer of an integral dtype; of uint64 the largest that int64 has, too.
constexpr std::int64_t integer_min(DType t) {
  return is_signed(t) ? -(std::int64_t{1} << (8 * item_size(t) - 2)) * 2 : 0;
}
constexpr std::int64_t integer_max(DType t) {
  if (t == DType::UInt64) return INT64_MAX;
  const auto half = std::int64_t{1} << (8 * item_size(t) - 2);
  return is_signed(t) ? half - 1 + half : 2 * (2 * half - 1) + 1;
}
// The largest finite value of a floating dtype.
constexpr double floating_max(DType t) {
  return t == DType::Float16          ? 0x1.ffcp15
         : t == DType::BFloat16       ? 0x1.fep127
         : t == DType::Float32        ? 0x1.fffffep127
         : t == DType::Float8E4M3FN   ? 448
         : t == DType::Float8E4M3FNUZ ? 240
         : is_float8(t)               ? 57344
                                      : 0x1.fffffffffffffp1023;
}

// The dtype of the parts of a complex dtype, others themselves; and the complex dtype with such parts.
constexpr DType to_real(DType t) {
  return t == DType::Complex64 ? DType::Float32 : t == DType::Complex128 ? DType::Float64 : t;
}
constexpr DType to_complex(DType t) {
  return t == DType::Float64 || t == DType::Complex128 ? DType::Complex128 : DType::Complex64;
}

// The smallest dtype both convert to without changing category (torch.promote_types).
constexpr DType promote(DType a, DType b) {
  if (a == b) return a;
  const auto ca = info(a).category, cb = info(b).category;
  if (ca == DTypeCategory::Complex || cb == DTypeCategory::Complex) {
    return to_complex(a) == DType::Complex128 || to_complex(b) == DType::Complex128 ? DType::Complex128
                                                                                    : DType::Complex64;
  }
  if (ca != cb) return ca > cb ? a : b;
  if (ca == DTypeCategory::Floating) {
    const bool halves = item_size(a) == 2 && item_size(b) == 2;  // float16 with bfloat16
    return halves ? DType::Float32 : (item_size(a) > item_size(b) ? a : b);
  }
  if (a == DType::UInt8 || b == DType::UInt8) {
    const DType other = a == DType::UInt8 ? b : a;
    return other == DType::Int8 ? DType::Int16 : other;
  }
  return item_size(a) > item_size(b) ? a : b;
}

}  // namespace md
