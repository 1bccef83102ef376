// The binary interface of DLPack 1.3 (dmlc/dlpack), as far as memory of the CPU and of CUDA devices goes: what capsules
// point to, and the table of functions a tensor type may offer.
#pragma once

#include <cstdint>

namespace md::dlpack {

inline constexpr std::uint32_t kMajor = 1, kMinor = 3;
inline constexpr std::int32_t kCpu = 1, kCuda = 2, kCudaHost = 3;
enum Code : std::uint8_t {
  kInt = 0,
  kUInt = 1,
  kFloat = 2,
  kBfloat = 4,
  kComplex = 5,
  kBool = 6,
  kFloat8E4M3FN = 10,
  kFloat8E4M3FNUZ = 11,
  kFloat8E5M2 = 12,
  kFloat8E5M2FNUZ = 13
};
inline constexpr std::uint64_t kReadOnly = 1, kCopied = 2;

struct Device {
  std::int32_t type;
  std::int32_t id;
};
struct DataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct Version {
  std::uint32_t major, minor;
};

struct Tensor {
  void* data;
  Device device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: C order (before 1.2)
  std::uint64_t byte_offset;
};
// In capsules named "dltensor".
struct Managed {
  Tensor tensor;
  void* context;
  void (*deleter)(Managed* self);
};
// In capsules named "dltensor_versioned".
struct ManagedVersioned {
  Version version;
  void* context;
  void (*deleter)(ManagedVersioned* self);
  std::uint64_t flags;
  Tensor tensor;
};

using SetError = void (*)(void* context, const char* kind, const char* message);
// type.__dlpack_c_exchange_api__ is a capsule named "dlpack_exchange_api" over this.
struct ExchangeApi {
  Version version;
  const ExchangeApi* previous;  // of an older major version
  int (*allocate)(Tensor* prototype, ManagedVersioned** out, void* error_context, SetError set_error);
  int (*from_object)(void* object, ManagedVersioned** out);
  int (*to_object)(ManagedVersioned* tensor, void** out);  // takes the tensor over
  int (*view_object)(void* object, Tensor* out);           // good until control returns
  int (*work_stream)(std::int32_t device_type, std::int32_t device_id, void** out);
};

}  // namespace md::dlpack
