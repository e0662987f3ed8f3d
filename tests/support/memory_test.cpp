// Arena, intern table, inline vector, hashes, integer division.
#include <gtest/gtest.h>

#include <string>
#include <unordered_set>
#include <vector>

#include "litz/support/arena.h"
#include "litz/support/hash.h"
#include "litz/support/inline_vector.h"
#include "litz/support/integer_math.h"
#include "litz/support/intern_table.h"

namespace litz {
namespace {

TEST(Arena, KeepsWhatItGaveOutAlignedAndApart) {
  Arena arena;
  std::vector<std::pair<uint64_t*, uint64_t>> given;
  for (uint64_t i = 0; i < 20000; ++i) {
    arena.allocate(i % 7 + 1, 1);
    auto* item = arena.create<uint64_t>(i);
    ASSERT_EQ(reinterpret_cast<uintptr_t>(item) % alignof(uint64_t), 0u);
    given.push_back({item, i});
  }
  for (auto [item, value] : given) ASSERT_EQ(*item, value);
  char* large = static_cast<char*>(arena.allocate(3 << 20, 64));  // more than a block
  large[(3 << 20) - 1] = 1;
  EXPECT_EQ(reinterpret_cast<uintptr_t>(large) % 64, 0u);
  std::string text = "text";
  std::string_view kept = arena.copy(std::string_view(text));
  text = "gone";
  EXPECT_EQ(kept, "text");
}

TEST(InternTable, GivesOneNodeForEqualContentsAlsoWhenHashesCollide) {
  InternTable<std::string> table;
  std::vector<std::unique_ptr<std::string>> nodes;
  auto intern = [&](const std::string& content) {
    uint64_t hash = content.size();  // collides on purpose
    return table.find_or_insert(
        hash, [&](const std::string& other) { return other == content; },
        [&] { return nodes.emplace_back(std::make_unique<std::string>(content)).get(); });
  };
  std::unordered_set<const std::string*> distinct;
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < 1000; ++i) distinct.insert(intern("node " + std::to_string(i)));
  EXPECT_EQ(distinct.size(), 1000u);
  EXPECT_EQ(table.size(), 1000u);
}

TEST(InlineVector, KeepsItsItemsWhenItMovesToTheHeap) {
  InlineVector<int, 4> items;
  for (int i = 0; i < 100; ++i) items.push_back(i);
  items.insert(50, -1);
  items.erase(0);
  ASSERT_EQ(items.size(), 100u);
  EXPECT_EQ(items[48], 49);
  EXPECT_EQ(items[49], -1);
  EXPECT_EQ(items[50], 50);
  EXPECT_EQ(items.back(), 99);
}

TEST(Hash, IsStableBetweenProcesses) {
  EXPECT_EQ(hash_bytes_128("litz").hex(), hash_bytes_128(std::string("li") + "tz").hex());
  EXPECT_EQ(hash_bytes(""), 0x2d06800538d394c2u);  // XXH3's published value for no input
  EXPECT_EQ(hash_bytes_128("").hex(), "99aa06d3014798d86001c324468d497f");
}

TEST(IntegerDivision, RoundsTowardsMinusInfinity) {
  for (int64_t a = -20; a <= 20; ++a)
    for (int64_t b = -7; b <= 7; ++b) {
      if (b == 0) continue;
      int64_t q = floor_div_int(a, b), r = mod_int(a, b);
      EXPECT_EQ(q * b + r, a);
      EXPECT_TRUE(b > 0 ? 0 <= r && r < b : b < r && r <= 0) << a << " " << b;
    }
  EXPECT_EQ(floor_div_int<int64_t>(std::numeric_limits<int64_t>::min(), -1), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(mod_int<int64_t>(std::numeric_limits<int64_t>::min(), -1), 0);
}

}  // namespace
}  // namespace litz
