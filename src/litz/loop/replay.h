#pragma once
// Replays a body into a BodyBuilder with its expressions substituted: the one way in which passes copy bodies. The caller may
// answer loads itself.
#include <functional>
#include <optional>

#include "litz/loop/body.h"

namespace litz {

class Replay {
 public:
  /// Gives the value that stands for a load whose coordinates have been substituted, or nullopt to load it as it is.
  using LoadHook = std::function<std::optional<ValueId>(const Instr& load, std::vector<Expr>& coordinates, ValueId predicate)>;

  Replay(BodyBuilder& builder, Substitution map, LoadHook on_load = nullptr)
      : builder_(builder),
        map_(std::move(map)),
        on_load_(std::move(on_load)) {}

  /// Copies the instructions; loads and checks happen only where `guard` holds (kNoValue: always), and integers
  /// are divided by 1 elsewhere. Returns the values of all
  /// instructions, in order.
  std::vector<ValueId> run(const Body& body, ValueId guard = kNoValue);

  const Substitution& map() const { return map_; }  // grown by the fresh symbols of indirect values

 private:
  Expr rewrite(Expr expr) const { return map_.empty() ? expr : substitute(expr, map_); }
  BodyBuilder& builder_;
  Substitution map_;
  LoadHook on_load_;
};

}  // namespace litz
