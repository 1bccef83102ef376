// A vector of trivially copyable elements with inline room for N: shapes and strides without malloc.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>
#include <type_traits>

namespace md {

template <class T, std::size_t N>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;
  SmallVector() = default;
  explicit SmallVector(std::size_t n, T fill = T()) { resize(n, fill); }
  SmallVector(std::initializer_list<T> l) : SmallVector(l.begin(), l.end()) {}
  template <class It>
    requires(!std::is_arithmetic_v<It>)
  SmallVector(It first, It last) {
    for (; first != last; ++first) push_back(*first);
  }
  SmallVector(const SmallVector& o) { *this = o; }
  SmallVector(SmallVector&& o) noexcept { *this = static_cast<SmallVector&&>(o); }
  ~SmallVector() { free_heap(); }

  SmallVector& operator=(const SmallVector& o) {
    if (this == &o) return *this;
    reserve(o.size_);
    std::memcpy(static_cast<void*>(data_), o.data_, o.size_ * sizeof(T));
    size_ = o.size_;
    return *this;
  }
  SmallVector& operator=(SmallVector&& o) noexcept {
    if (this == &o) return *this;
    if (o.data_ == o.inline_data()) return *this = static_cast<const SmallVector&>(o);
    free_heap();
    data_ = o.data_, size_ = o.size_, capacity_ = o.capacity_;
    o.data_ = o.inline_data(), o.size_ = 0, o.capacity_ = N;
    return *this;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  void push_back(T v) {
    if (size_ == capacity_) reserve(capacity_ * 2);
    data_[size_++] = v;
  }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  void resize(std::size_t n, T fill = T()) {
    reserve(n);
    for (std::size_t i = size_; i < n; ++i) data_[i] = fill;
    size_ = n;
  }
  void insert(T* where, T v) {
    const std::size_t at = static_cast<std::size_t>(where - data_);
    push_back(v);
    std::rotate(data_ + at, data_ + size_ - 1, data_ + size_);
  }
  void erase(T* where) {
    std::copy(where + 1, end(), where);
    --size_;
  }
  void reserve(std::size_t n) {
    if (n <= capacity_) return;
    T* fresh = static_cast<T*>(std::malloc(n * sizeof(T)));
    if (!fresh) throw std::bad_alloc();
    std::memcpy(static_cast<void*>(fresh), data_, size_ * sizeof(T));
    free_heap();
    data_ = fresh, capacity_ = n;
  }
  bool operator==(const SmallVector& o) const { return std::equal(begin(), end(), o.begin(), o.end()); }

 private:
  T* inline_data() { return reinterpret_cast<T*>(inline_); }
  void free_heap() {
    if (data_ != inline_data()) std::free(data_);
  }

  T* data_ = inline_data();
  std::size_t size_ = 0;
  std::size_t capacity_ = N;
  alignas(T) unsigned char inline_[N * sizeof(T)];
};

}  // namespace md
