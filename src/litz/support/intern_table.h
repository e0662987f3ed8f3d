#pragma once
// A set of nodes by content, for hash-consing: equal content, one address. The table keeps pointers and hashes only;
// the owner keeps the nodes (an Arena) and says when two contents are equal. Nothing is ever removed.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace litz {

template <typename Node>
class InternTable {
 public:
  /// The node of this hash for which `equal(node)` holds; otherwise what `make()` returns, which is kept.
  template <typename Equal, typename Make>
  const Node* find_or_insert(uint64_t hash, Equal&& equal, Make&& make) {
    if ((count_ + 1) * 2 > slots_.size()) grow();
    size_t mask = slots_.size() - 1;
    size_t at = hash & mask;
    for (; slots_[at].node; at = (at + 1) & mask)
      if (slots_[at].hash == hash && equal(*slots_[at].node)) return slots_[at].node;
    const Node* node = make();  // must not touch this table
    slots_[at] = {hash, node};
    ++count_;
    return node;
  }

  size_t size() const { return count_; }

 private:
  struct Slot {
    uint64_t hash = 0;
    const Node* node = nullptr;
  };

  void grow() {
    std::vector<Slot> old(slots_.empty() ? 256 : slots_.size() * 2);
    old.swap(slots_);
    size_t mask = slots_.size() - 1;
    for (const Slot& slot : old) {
      if (!slot.node) continue;
      size_t at = slot.hash & mask;
      while (slots_[at].node) at = (at + 1) & mask;
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_;
  size_t count_ = 0;
};

}  // namespace litz
