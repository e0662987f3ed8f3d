#include "litz/graph/ops.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace litz {
namespace {

struct Row {
  OpFamily family;
  std::string_view schema, meaning;
};
constexpr Row kRows[] = {
#define LITZ_PRIMITIVE(family, shape, dtype, schema, meaning) {OpFamily::k##family, schema, meaning},
#include "litz/graph/ops.def"
};

struct Table {
  std::vector<std::string> names;
  std::vector<Primitive> primitives;
  std::unordered_map<std::string_view, const Primitive*> by_name;

  Table() {
    for (const Row& row : kRows) names.push_back(canonical_op_name(row.schema.substr(0, row.schema.find('('))));
    for (size_t i = 0; i < names.size(); ++i) primitives.push_back({names[i], kRows[i].family, kRows[i].schema, kRows[i].meaning});
    for (const Primitive& p : primitives) by_name.emplace(p.name, &p);
  }
};

const Table& table() {
  static const Table table;
  return table;
}

}  // namespace

std::span<const Primitive> primitives() { return table().primitives; }

const Primitive* find_primitive(std::string_view op_name) {
  auto found = table().by_name.find(op_name);
  return found == table().by_name.end() ? nullptr : found->second;
}

}  // namespace litz
