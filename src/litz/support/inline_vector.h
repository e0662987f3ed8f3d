#pragma once
// A vector of trivially copyable items whose first N live in the object: for lists that are short nearly always and are
// built millions of times. Growing past N moves to the heap.
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>

namespace litz {

template <typename T, size_t N>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  InlineVector() : data_(reinterpret_cast<T*>(inline_)) {}
  InlineVector(const InlineVector&) = delete;
  InlineVector& operator=(const InlineVector&) = delete;

  void push_back(T item) {
    if (size_ == capacity_) [[unlikely]]
      grow();
    new (data_ + size_++) T(item);
  }
  void insert(size_t at, T item) {
    push_back(item);
    for (size_t i = size_ - 1; i > at; --i) data_[i] = data_[i - 1];
    data_[at] = item;
  }
  void erase(size_t at) {
    for (size_t i = at + 1; i < size_; ++i) data_[i - 1] = data_[i];
    --size_;
  }
  void append(std::span<const T> items) {
    for (const T& item : items) push_back(item);
  }
  void resize_down(size_t size) { size_ = size; }
  void clear() { size_ = 0; }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  operator std::span<const T>() const { return {data_, size_}; }

 private:
  void grow() {
    auto larger = std::make_unique_for_overwrite<std::byte[]>(capacity_ * 2 * sizeof(T));
    std::memcpy(larger.get(), static_cast<const void*>(data_), size_ * sizeof(T));
    heap_ = std::move(larger);
    data_ = reinterpret_cast<T*>(heap_.get());
    capacity_ *= 2;
  }

  alignas(T) std::byte inline_[N * sizeof(T)];
  T* data_;
  size_t size_ = 0;
  size_t capacity_ = N;
  std::unique_ptr<std::byte[]> heap_;
};

}  // namespace litz
