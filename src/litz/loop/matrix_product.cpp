// Matrix products for the reference interpreter: triple loops in double, rounded once.
#include <cmath>

#include "litz/loop/reference_interpreter.h"

namespace litz {

namespace {

double as_double(const HostArgument& a) {
  if (auto* i = std::get_if<int64_t>(&a)) return static_cast<double>(*i);
  if (auto* d = std::get_if<double>(&a)) return *d;
  return std::get<bool>(a) ? 1 : 0;
}

double element(const HostTensor& t, std::span<const int64_t> at) {
  Scalar s = t.at(at);
  return is_floating(s.dtype) ? s.real : static_cast<double>(s.integer);
}

/// result[.., i, j] = alpha * sum_k a[.., i, k] * b[.., k, j] + beta * bias broadcast.
HostTensor product(const HostTensor& a, const HostTensor& b, const HostTensor* bias, double beta, double alpha) {
  size_t rank = a.sizes.size();
  if (!is_floating(a.dtype)) {  // factors are numbers of the element type
    alpha = std::trunc(alpha);
    beta = std::trunc(beta);
  }
  std::vector<int64_t> sizes = a.sizes;
  sizes[rank - 1] = b.sizes[rank - 1];
  HostTensor result = HostTensor::zeros(a.dtype, sizes);
  for_each_coordinate(sizes, [&](const std::vector<int64_t>& at) {
    std::vector<int64_t> left = at, right = at;
    double total = 0;
    uint64_t wrapped = 0;
    for (int64_t k = 0; k < a.sizes[rank - 1]; ++k) {
      left[rank - 1] = k;
      right[rank - 2] = k;
      total += element(a, left) * element(b, right);
      wrapped += static_cast<uint64_t>(a.at(left).integer) * static_cast<uint64_t>(b.at(right).integer);
    }
    if (!is_floating(a.dtype)) total = static_cast<double>(scalar_of(a.dtype, static_cast<int64_t>(wrapped)).integer);
    total *= alpha;
    if (bias && beta != 0) {
      std::vector<int64_t> where;
      size_t skipped = rank - bias->sizes.size();
      for (size_t d = 0; d < bias->sizes.size(); ++d) where.push_back(bias->sizes[d] == 1 ? 0 : at[d + skipped]);
      total += beta * element(*bias, where);
    }
    result.set(at, is_floating(a.dtype) ? scalar_of(a.dtype, total) : scalar_of(a.dtype, static_cast<int64_t>(total)));
  });
  return result;
}

}  // namespace

std::optional<ExternResult> run_matrix_product(const Operation& operation, const std::vector<HostArgument>& arguments) {
  auto tensor = [&](size_t k) -> const HostTensor& { return std::get<HostTensor>(arguments[k]); };
  const std::string& name = operation.callee->name;
  if (name == "aten.mm" || name == "aten.bmm") return ExternResult{{product(tensor(0), tensor(1), nullptr, 0, 1)}, {}};
  if (name == "aten.addmm" || name == "aten.baddbmm")
    return ExternResult{{product(tensor(1), tensor(2), &tensor(0), as_double(arguments[3]), as_double(arguments[4]))}, {}};
  return std::nullopt;
}

}  // namespace litz
