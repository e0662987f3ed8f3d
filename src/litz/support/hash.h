#pragma once
// Hashes: `hash_mix` for tables in memory (fast, inline), `hash_bytes` and `hash_bytes_128` for content (stable between
// processes and machines, so they may name files of a cache).
#include <cstdint>
#include <string>
#include <string_view>

namespace litz {

inline uint64_t hash_mix(uint64_t seed, uint64_t value) {
  __extension__ using Wide = unsigned __int128;
  Wide product = Wide(seed ^ 0x9e3779b97f4a7c15u) * (value ^ 0xd6e8feb86659fd93u);
  return uint64_t(product) ^ uint64_t(product >> 64);
}

uint64_t hash_bytes(std::string_view bytes);

struct Hash128 {
  uint64_t high = 0;
  uint64_t low = 0;
  friend bool operator==(const Hash128&, const Hash128&) = default;
  /// 32 lower-case hexadecimal digits.
  std::string hex() const;
};
Hash128 hash_bytes_128(std::string_view bytes);

}  // namespace litz
