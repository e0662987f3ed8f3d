#pragma once
// Memory for nodes that live as long as their owner: bump allocation, freed all at once, addresses stable. Destructors
// do not run, so only trivially destructible types go in.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace litz {

class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  Arena(Arena&&) = default;
  Arena& operator=(Arena&&) = default;

  void* allocate(size_t bytes, size_t alignment) {
    uintptr_t start = (next_ + alignment - 1) & ~uintptr_t(alignment - 1);
    if (start + bytes > end_) [[unlikely]] {
      add_block(bytes + alignment);
      start = (next_ + alignment - 1) & ~uintptr_t(alignment - 1);
    }
    next_ = start + bytes;
    return reinterpret_cast<void*>(start);
  }

  template <typename T, typename... Args>
  T* create(Args&&... args) {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (allocate(sizeof(T), alignof(T))) T{std::forward<Args>(args)...};
  }

  template <typename T>
  std::span<T> copy(std::span<const T> items) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (items.empty()) return {};
    T* data = static_cast<T*>(allocate(items.size_bytes(), alignof(T)));
    std::memcpy(static_cast<void*>(data), items.data(), items.size_bytes());
    return {data, items.size()};
  }

  std::string_view copy(std::string_view text) {
    std::span<char> data = copy(std::span<const char>(text.data(), text.size()));
    return {data.data(), data.size()};
  }

 private:
  void add_block(size_t least) {
    size_t size = reserved_ < 4096 ? 4096 : reserved_;  // doubles, so few blocks whatever the need
    if (size > (size_t{1} << 20)) size = size_t{1} << 20;
    if (size < least) size = least;
    blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(size));
    next_ = reinterpret_cast<uintptr_t>(blocks_.back().get());
    end_ = next_ + size;
    reserved_ += size;
  }

  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  uintptr_t next_ = 0;
  uintptr_t end_ = 0;
  size_t reserved_ = 0;  // bytes of all blocks
};

}  // namespace litz
