// namespace torch for C++ extensions of minidynamo: Tensor, element types, factories, checks. Header-only, on top of
// minidynamo/api.h. Call it with the GIL held, as Python calls an extension.
#pragma once

#include <Python.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "minidynamo/api.h"
#include "torch/device.h"

namespace c10 {

// An error of the extension's own; RuntimeError in Python.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A Python exception that is set.
struct PythonException {};

enum class ScalarType : int {
  Byte = 0,
  Char = 1,
  Short = 2,
  Int = 3,
  Long = 4,
  Half = 5,
  Float = 6,
  Double = 7,
  Bool = 11,
  BFloat16 = 15
};

inline const char* toString(ScalarType t) {
  switch (t) {
    case ScalarType::Byte:
      return "Byte";
    case ScalarType::Char:
      return "Char";
    case ScalarType::Short:
      return "Short";
    case ScalarType::Int:
      return "Int";
    case ScalarType::Long:
      return "Long";
    case ScalarType::Half:
      return "Half";
    case ScalarType::Float:
      return "Float";
    case ScalarType::Double:
      return "Double";
    case ScalarType::Bool:
      return "Bool";
    case ScalarType::BFloat16:
      return "BFloat16";
  }
  return "Undefined";
}
inline std::ostream& operator<<(std::ostream& out, ScalarType t) { return out << toString(t); }

inline std::size_t elementSize(ScalarType t) {
  switch (t) {
    case ScalarType::Short:
    case ScalarType::Half:
    case ScalarType::BFloat16:
      return 2;
    case ScalarType::Int:
    case ScalarType::Float:
      return 4;
    case ScalarType::Long:
    case ScalarType::Double:
      return 8;
    default:
      return 1;
  }
}

template <class T>
struct CppTypeToScalarType;
#define MINIDYNAMO_ELEMENT(type, name)                    \
  template <>                                             \
  struct CppTypeToScalarType<type> {                      \
    static constexpr ScalarType value = ScalarType::name; \
  };
MINIDYNAMO_ELEMENT(std::uint8_t, Byte)
MINIDYNAMO_ELEMENT(std::int8_t, Char)
MINIDYNAMO_ELEMENT(std::int16_t, Short)
MINIDYNAMO_ELEMENT(std::int32_t, Int)
MINIDYNAMO_ELEMENT(std::int64_t, Long)
MINIDYNAMO_ELEMENT(float, Float)
MINIDYNAMO_ELEMENT(double, Double)
MINIDYNAMO_ELEMENT(bool, Bool)
#undef MINIDYNAMO_ELEMENT

// A view of a sequence of values somebody else holds.
template <class T>
class ArrayRef {
 public:
  ArrayRef() = default;
  ArrayRef(const T* data, std::size_t size) : data_(data), size_(size) {}
  ArrayRef(const std::vector<T>& v) : data_(v.data()), size_(v.size()) {}
  ArrayRef(const std::initializer_list<T>& v) : data_(v.begin()), size_(v.size()) {}
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  const T& back() const { return data_[size_ - 1]; }
  const T& front() const { return data_[0]; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  std::vector<T> vec() const { return std::vector<T>(begin(), end()); }
  bool equals(ArrayRef o) const {
    if (size_ != o.size_) return false;
    for (std::size_t i = 0; i < size_; ++i)
      if (!(data_[i] == o.data_[i])) return false;
    return true;
  }
  bool operator==(ArrayRef o) const { return equals(o); }
  bool operator!=(ArrayRef o) const { return !equals(o); }

 private:
  const T* data_ = nullptr;
  std::size_t size_ = 0;
};
using IntArrayRef = ArrayRef<std::int64_t>;

template <class T>
std::ostream& operator<<(std::ostream& out, ArrayRef<T> values) {
  out << "[";
  for (std::size_t i = 0; i < values.size(); ++i) out << (i ? ", " : "") << values[i];
  return out << "]";
}

class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(ScalarType dtype) : dtype_(dtype) {}
  TensorOptions(Device device) : device_(device) {}
  TensorOptions dtype(ScalarType t) const {
    return with([&](TensorOptions& o) { o.dtype_ = t; });
  }
  TensorOptions device(Device d) const {
    return with([&](TensorOptions& o) { o.device_ = d; });
  }
  TensorOptions requires_grad(bool) const { return *this; }
  ScalarType dtype() const { return dtype_; }
  Device device() const { return device_; }

 private:
  template <class F>
  TensorOptions with(F&& f) const {
    TensorOptions o = *this;
    f(o);
    return o;
  }
  ScalarType dtype_ = ScalarType::Float;
  Device device_;
};

template <class T>
using optional = std::optional<T>;
constexpr std::nullopt_t nullopt = std::nullopt;

namespace detail {
template <class... T>
std::string text(const T&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}
// Set when the module is imported.
inline const MinidynamoApi* api = nullptr;
}  // namespace detail

}  // namespace c10

#define TORCH_CHECK(condition, ...)                                                                      \
  do {                                                                                                   \
    if (!(condition)) {                                                                                  \
      const std::string what_ = ::c10::detail::text(__VA_ARGS__);                                        \
      throw ::c10::Error(!what_.empty() ? what_ : "Expected " #condition " to be true, but got false."); \
    }                                                                                                    \
  } while (false)
#define TORCH_INTERNAL_ASSERT(condition, ...) \
  TORCH_CHECK(condition, "internal assert failed: " #condition " ", ##__VA_ARGS__)
#define AT_ASSERTM(condition, ...) TORCH_CHECK(condition, __VA_ARGS__)
#define AT_ERROR(...) throw ::c10::Error(::c10::detail::text(__VA_ARGS__))

namespace at {

using namespace c10;

template <class T, int N>
class TensorAccessor {
 public:
  TensorAccessor(T* data, const std::int64_t* sizes, const std::int64_t* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  auto operator[](std::int64_t i) const {
    if constexpr (N > 1) {
      return TensorAccessor<T, N - 1>(data_ + i * strides_[0], sizes_ + 1, strides_ + 1);
    } else {
      return Element{data_ + i * strides_[0]};
    }
  }
  std::int64_t size(int d) const { return sizes_[d]; }
  std::int64_t stride(int d) const { return strides_[d]; }
  T* data() const { return data_; }

 private:
  struct Element {
    T* at;
    operator T&() const { return *at; }
    T& operator=(const T& v) const { return *at = v; }
    T& operator=(const Element& o) const { return *at = *o.at; }
    T& operator+=(const T& v) const { return *at += v; }
    T& operator-=(const T& v) const { return *at -= v; }
    T& operator*=(const T& v) const { return *at *= v; }
    T& operator/=(const T& v) const { return *at /= v; }
  };
  T* data_;
  const std::int64_t *sizes_, *strides_;
};

class Tensor {
 public:
  Tensor() = default;
  // Takes over a reference.
  explicit Tensor(MinidynamoTensor* t) : t_(t) {}
  Tensor(const Tensor& o) : t_(o.t_) {
    if (t_) c10::detail::api->retain(t_);
  }
  Tensor(Tensor&& o) noexcept : t_(std::exchange(o.t_, nullptr)) {}
  Tensor& operator=(Tensor o) noexcept {
    std::swap(t_, o.t_);
    return *this;
  }
  ~Tensor() {
    if (t_) c10::detail::api->release(t_);
  }

  bool defined() const { return t_ != nullptr; }
  MinidynamoTensor* handle() const {
    TORCH_CHECK(t_, "a tensor that is not defined was used");
    return t_;
  }
  std::int64_t dim() const { return c10::detail::api->dim(handle()); }
  std::int64_t ndimension() const { return dim(); }
  IntArrayRef sizes() const { return IntArrayRef(c10::detail::api->sizes(handle()), static_cast<std::size_t>(dim())); }
  IntArrayRef strides() const {
    return IntArrayRef(c10::detail::api->strides(handle()), static_cast<std::size_t>(dim()));
  }
  std::int64_t size(std::int64_t d) const { return sizes()[checked_dim(d)]; }
  std::int64_t stride(std::int64_t d) const { return strides()[checked_dim(d)]; }
  std::int64_t numel() const {
    std::int64_t n = 1;
    for (std::int64_t s : sizes()) n *= s;
    return n;
  }
  ScalarType scalar_type() const { return static_cast<ScalarType>(c10::detail::api->dtype(handle())); }
  ScalarType dtype() const { return scalar_type(); }
  std::size_t element_size() const { return elementSize(scalar_type()); }
  std::size_t itemsize() const { return element_size(); }
  std::size_t nbytes() const { return element_size() * static_cast<std::size_t>(numel()); }
  Device device() const {
    const int ordinal = c10::detail::api->device(handle());
    return ordinal < 0 ? Device(kCPU) : Device(kCUDA, ordinal);
  }
  bool is_cpu() const { return device().is_cpu(); }
  bool is_cuda() const { return device().is_cuda(); }
  std::int64_t get_device() const { return device().index(); }
  bool requires_grad() const { return c10::detail::api->requires_grad(handle()) != 0; }
  TensorOptions options() const { return TensorOptions(scalar_type()).device(device()); }
  bool is_floating_point() const {
    const ScalarType t = scalar_type();
    return t == ScalarType::Float || t == ScalarType::Double || t == ScalarType::Half || t == ScalarType::BFloat16;
  }

  void* data_ptr() const { return c10::detail::api->data(handle()); }
  // For who reads and writes the elements: those of a device are for its kernels.
  void* data_on_cpu(const char* what) const {
    TORCH_CHECK(is_cpu(), what, ": the tensor is on ", device(), "; copy it to the CPU first");
    return data_ptr();
  }
  template <class T>
  T* data_ptr() const {
    check_type<T>();
    return static_cast<T*>(data_ptr());
  }
  template <class T>
  T* mutable_data_ptr() const {
    return data_ptr<T>();
  }
  template <class T>
  const T* const_data_ptr() const {
    return data_ptr<T>();
  }
  template <class T, int N>
  TensorAccessor<T, N> accessor() const {
    check_type<T>();
    TORCH_CHECK(dim() == N, "expected ", N, " dims but tensor has ", dim());
    return TensorAccessor<T, N>(static_cast<T*>(data_on_cpu("accessor()")), sizes().data(), strides().data());
  }
  template <class T>
  T item() const;

  bool is_contiguous() const {
    std::int64_t expected = 1;
    const IntArrayRef size = sizes(), step = strides();
    for (std::size_t d = size.size(); d-- > 0;) {
      if (size[d] == 0) return true;
      if (size[d] != 1 && step[d] != expected) return false;
      expected *= size[d];
    }
    return true;
  }
  Tensor contiguous() const;
  Tensor clone() const;

 private:
  std::size_t checked_dim(std::int64_t d) const {
    TORCH_CHECK(d >= -dim() && d < dim(), "Dimension out of range (expected to be in range of [", -dim(), ", ",
                dim() - 1, "], but got ", d, ")");
    return static_cast<std::size_t>(d < 0 ? d + dim() : d);
  }
  template <class T>
  void check_type() const {
    constexpr ScalarType want = CppTypeToScalarType<std::remove_const_t<T>>::value;
    TORCH_CHECK(scalar_type() == want, "expected scalar type ", want, " but found ", scalar_type());
  }

  MinidynamoTensor* t_ = nullptr;
};

inline Tensor make_tensor(const TensorOptions& options, IntArrayRef sizes, const std::int64_t* strides) {
  const Device device = options.device();
  const int ordinal = device.is_cpu() ? -1 : device.has_index() ? device.index() : 0;
  MinidynamoTensor* t = c10::detail::api->make(static_cast<int>(options.dtype()), ordinal,
                                               static_cast<int>(sizes.size()), sizes.data(), strides);
  if (!t) throw PythonException();
  return Tensor(t);
}

inline Tensor empty(IntArrayRef sizes, const TensorOptions& options = {}) {
  return make_tensor(options, sizes, nullptr);
}

// Strides as those of `t` where it is dense, else row-major.
inline Tensor empty_like(const Tensor& t, const TensorOptions& options) {
  std::int64_t span = 1;
  const IntArrayRef sizes = t.sizes(), strides = t.strides();
  for (std::size_t d = 0; d < sizes.size(); ++d) span += (sizes[d] - 1) * strides[d];
  const bool dense = t.numel() > 0 && span == t.numel();
  return make_tensor(options, sizes, dense ? strides.data() : nullptr);
}
inline Tensor empty_like(const Tensor& t) { return empty_like(t, t.options()); }

inline Tensor zeros_like(const Tensor& t, const TensorOptions& options) {
  Tensor out = empty_like(t, options);
  std::memset(out.data_on_cpu("zeros_like()"), 0, out.nbytes());
  return out;
}
inline Tensor zeros_like(const Tensor& t) { return zeros_like(t, t.options()); }

inline Tensor zeros(IntArrayRef sizes, const TensorOptions& options = {}) {
  Tensor out = empty(sizes, options);
  std::memset(out.data_on_cpu("zeros()"), 0, out.nbytes());
  return out;
}

// f(T()) with T the element type.
template <class F>
void visit_type(ScalarType t, F&& f) {
  switch (t) {
    case ScalarType::Byte:
      return f(std::uint8_t());
    case ScalarType::Char:
      return f(std::int8_t());
    case ScalarType::Short:
      return f(std::int16_t());
    case ScalarType::Int:
      return f(std::int32_t());
    case ScalarType::Long:
      return f(std::int64_t());
    case ScalarType::Float:
      return f(float());
    case ScalarType::Double:
      return f(double());
    case ScalarType::Bool:
      return f(bool());
    default:
      TORCH_CHECK(false, "elements of type ", t, " cannot be handled one by one in C++");
  }
}

template <class V>
Tensor full(IntArrayRef sizes, V value, const TensorOptions& options = {}) {
  Tensor out = empty(sizes, options);
  visit_type(out.scalar_type(), [&](auto element) {
    using T = decltype(element);
    T* data = static_cast<T*>(out.data_on_cpu("full()"));
    for (std::int64_t i = 0, n = out.numel(); i < n; ++i) data[i] = static_cast<T>(value);
  });
  return out;
}
inline Tensor ones(IntArrayRef sizes, const TensorOptions& options = {}) { return full(sizes, 1, options); }
inline Tensor ones_like(const Tensor& t) { return full(t.sizes(), 1, t.options()); }
template <class V>
Tensor full_like(const Tensor& t, V value) {
  return full(t.sizes(), value, t.options());
}

inline Tensor Tensor::clone() const {
  Tensor out = make_tensor(options(), sizes(), nullptr);
  const std::size_t bytes = element_size();
  const char* from = static_cast<const char*>(data_on_cpu("clone()"));
  char* to = static_cast<char*>(out.data_ptr());
  const IntArrayRef size = sizes(), step = strides();
  std::vector<std::int64_t> at(size.size(), 0);
  for (std::int64_t left = numel(); left > 0; --left, to += bytes) {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < at.size(); ++d) place += at[d] * step[d];
    std::memcpy(to, from + place * static_cast<std::int64_t>(bytes), bytes);
    for (std::size_t d = at.size(); d-- > 0;) {
      if (++at[d] < size[d]) break;
      at[d] = 0;
    }
  }
  return out;
}
inline Tensor Tensor::contiguous() const { return is_contiguous() ? *this : clone(); }

template <class T>
T Tensor::item() const {
  TORCH_CHECK(numel() == 1, "a Tensor with ", numel(), " elements cannot be converted to Scalar");
  T out{};
  visit_type(scalar_type(), [&](auto element) {
    using E = decltype(element);
    out = static_cast<T>(*static_cast<const E*>(data_on_cpu("item()")));
  });
  return out;
}

constexpr ScalarType kByte = ScalarType::Byte, kUInt8 = kByte, kChar = ScalarType::Char, kInt8 = kChar;
constexpr ScalarType kShort = ScalarType::Short, kInt16 = kShort, kInt = ScalarType::Int, kInt32 = kInt;
constexpr ScalarType kLong = ScalarType::Long, kInt64 = kLong, kHalf = ScalarType::Half, kFloat16 = kHalf;
constexpr ScalarType kFloat = ScalarType::Float, kFloat32 = kFloat, kDouble = ScalarType::Double, kFloat64 = kDouble;
constexpr ScalarType kBool = ScalarType::Bool, kBFloat16 = ScalarType::BFloat16;

}  // namespace at

namespace torch {
using namespace at;
inline TensorOptions dtype(ScalarType t) { return TensorOptions(t); }
inline TensorOptions device(Device d) { return TensorOptions(d); }
namespace indexing {}
}  // namespace torch

// --- One body for several element types ------------------------------------------------------------------------------

#define MINIDYNAMO_CASE(name, type, ...) \
  case ::c10::ScalarType::name: {        \
    using scalar_t = type;               \
    return __VA_ARGS__();                \
  }
#define MINIDYNAMO_DISPATCH(TYPE, NAME, ...)                                                        \
  [&] {                                                                                             \
    switch (TYPE) {                                                                                 \
      __VA_ARGS__                                                                                   \
      default:                                                                                      \
        throw ::c10::Error(::c10::detail::text("\"", NAME, "\" not implemented for '", TYPE, "'")); \
    }                                                                                               \
  }()
#define MINIDYNAMO_FLOATING(...) MINIDYNAMO_CASE(Float, float, __VA_ARGS__) MINIDYNAMO_CASE(Double, double, __VA_ARGS__)
#define MINIDYNAMO_INTEGRAL(...)                    \
  MINIDYNAMO_CASE(Byte, std::uint8_t, __VA_ARGS__)  \
  MINIDYNAMO_CASE(Char, std::int8_t, __VA_ARGS__)   \
  MINIDYNAMO_CASE(Short, std::int16_t, __VA_ARGS__) \
  MINIDYNAMO_CASE(Int, std::int32_t, __VA_ARGS__) MINIDYNAMO_CASE(Long, std::int64_t, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...) MINIDYNAMO_DISPATCH(TYPE, NAME, MINIDYNAMO_FLOATING(__VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(TYPE, NAME, ...) MINIDYNAMO_DISPATCH(TYPE, NAME, MINIDYNAMO_INTEGRAL(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(TYPE, NAME, ...) \
  MINIDYNAMO_DISPATCH(TYPE, NAME, MINIDYNAMO_FLOATING(__VA_ARGS__) MINIDYNAMO_INTEGRAL(__VA_ARGS__))
