#pragma once
// Philox 4x32-10 (Salmon et al., 2011): counter-based random bits, so that lane, thread and order do not matter.
#include "types.h"

namespace litz {

template <class V>
struct FourWords {
  V c0, c1, c2, c3;
};
/// The four words for the counter (offset, 0) and the key seed; V is i64 or its vector.
template <class V>
LITZ_INLINE FourWords<Rebind<V, u32>> philox(V seed, V offset) {
  using U = Rebind<V, u32>;
  using Wide = Rebind<V, u64>;
  Wide counter = as<u64>(offset), key = as<u64>(seed);
  U c0 = convert<u32>(counter), c1 = convert<u32>((Wide)(counter >> 32)), c2 = 0, c3 = 0;
  U k0 = convert<u32>(key), k1 = convert<u32>((Wide)(key >> 32));
  for (int round = 0; round < 10; round++) {
    Wide p0 = convert<u64>(c0) * 0xD2511F53ul, p1 = convert<u64>(c2) * 0xCD9E8D57ul;
    U n0 = convert<u32>((Wide)(p1 >> 32)) ^ c1 ^ k0, n2 = convert<u32>((Wide)(p0 >> 32)) ^ c3 ^ k1;
    c1 = convert<u32>(p1);
    c3 = convert<u32>(p0);
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {c0, c1, c2, c3};
}
/// Word offset % 4 of those for the counter offset / 4: neighbours can share the work.
template <class V>
LITZ_INLINE Rebind<V, u32> random_uint(V seed, V offset) {
  using U = Rebind<V, u32>;
  const auto words = philox(seed, (V)(offset >> 2));
  const U lane = convert<u32>(as<u64>(offset));
  const U odd = 0u - (U)(lane & 1u), high = 0u - (U)((U)(lane >> 1) & 1u);
  const U low_pair = words.c0 ^ (U)((U)(words.c0 ^ words.c1) & odd), high_pair = words.c2 ^ (U)((U)(words.c2 ^ words.c3) & odd);
  return low_pair ^ (U)((U)(low_pair ^ high_pair) & high);
}

}  // namespace litz
