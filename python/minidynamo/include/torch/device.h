// Where tensors of C++ extensions are.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

namespace c10 {

enum class DeviceType : std::int8_t { CPU = 0, CUDA = 1 };
constexpr DeviceType kCPU = DeviceType::CPU;
constexpr DeviceType kCUDA = DeviceType::CUDA;

class Device {
 public:
  Device(DeviceType type = kCPU, int index = -1) : type_(type), index_(index) {}
  DeviceType type() const { return type_; }
  int index() const { return index_; }  // -1: none was named
  bool has_index() const { return index_ >= 0; }
  bool is_cpu() const { return type_ == kCPU; }
  bool is_cuda() const { return type_ == kCUDA; }
  bool operator==(const Device& o) const { return type_ == o.type_ && index_ == o.index_; }
  bool operator!=(const Device& o) const { return !(*this == o); }
  std::string str() const {
    const std::string name = is_cpu() ? "cpu" : "cuda";
    return has_index() ? name + ":" + std::to_string(index_) : name;
  }

 private:
  DeviceType type_;
  int index_;
};
inline std::ostream& operator<<(std::ostream& out, const Device& d) { return out << d.str(); }

}  // namespace c10
