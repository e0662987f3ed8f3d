#pragma once
// fuse_attention: products and a softmax become the device's fused attention, while the softmax is one op.
//
//   %s = aten.bmm(%q, %kt); %m = aten.mul(%s, 0.125); %a = aten.add(%m, %mask); %p = aten._softmax(%a, -1); %y = aten.bmm(%p, %v)
//     =>  %y = aten._scaled_dot_product_efficient_attention(%q4, %k4, %v4, %bias, False, scale=0.125)      (and views of it)
//
// What must hold: softmax(scale * q . k + masks) . v in the same type, scores and probabilities with no other reader, no dropout. Masks
// become one bias, in which
//  - a row of -inf is NaN, so that its result is NaN as a softmax gives it (libraries give 0);
//  - finite numbers below -1e30 are -1e30: libraries scale by log2(e), which would overflow;
//  - rows start at multiples of what the device asks for.
// Where scores were replaced by such a number they were all equal; adding it absorbs every score below 1e22, so they are again.
#include <functional>
#include <string>
#include <vector>

#include "litz/graph/graph.h"
#include "litz/support/check.h"
#include "litz/target/attention.h"

namespace litz {

struct AttentionRefusal {
  std::string softmax, reason;
};

/// `call`: the device's answer. Softmaxes of products that stay as they are go to `refusals`.
bool fuse_attention(Graph& graph, const std::function<Result<AttentionCall>(const AttentionShape&)>& call,
                    std::vector<AttentionRefusal>& refusals);

}  // namespace litz
