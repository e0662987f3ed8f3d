#include "litz/schedule/inline_producers.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "litz/loop/cost.h"
#include "litz/loop/dependences.h"
#include "litz/loop/replay.h"
#include "litz/schedule/group_mapping.h"
#include "litz/support/check.h"
#include "litz/symbolic/size_hint.h"

namespace litz {
namespace {

struct InlineCost {
  int reads = 0;
  int instructions = 0;
  bool is_heavy = false;
  bool is_slow = false;
};

/// Divisions are repeated as simple ops are.
bool is_heavy_to_repeat(Op op) { return is_heavy(op) && !is_division(op); }

InlineCost body_cost(const Body& body) {
  InlineCost cost;
  cost.instructions = static_cast<int>(body.instrs.size());
  for (const Instr& i : body.instrs) {
    cost.reads += i.op == Op::kLoad;
    cost.is_heavy |= is_heavy_to_repeat(i.op);
    cost.is_slow |= is_slow(i.op);
  }
  return cost;
}

constexpr int64_t kCachedPoints = 16384;
constexpr int kMostRepeatedReads = 8;  // of a producer that one reader needs at several places, as a window of 3 x 3 does

int64_t points(std::span<const Expr> axes) {
  int64_t n = 1;
  for (Expr a : axes) n *= std::max<int64_t>(1, size_hint(a.extent(), 64));
  return n;
}

/// Buffers at least half as large as the result that the body reads.
int count_wide_reads(const Operation& op) {
  std::unordered_set<const Buffer*> wide;
  for (const Instr& i : op.body.instrs) {
    if (i.op != Op::kLoad) continue;
    int64_t n = 1;
    for (Expr size : i.buffer->sizes) n *= std::max<int64_t>(1, size_hint(size, 64));
    if (2 * n >= points(op.axes)) wide.insert(i.buffer);
  }
  return static_cast<int>(wide.size());
}

/// Who reads each buffer: operations through their bodies, and anything that needs it in memory.
struct Readers {
  std::vector<Operation*> bodies;
  bool needs_memory = false;
};

std::unordered_map<Buffer*, Readers> find_readers(const LoopProgram& program) {
  std::unordered_map<Buffer*, Readers> readers;
  auto needs_memory = [&](Buffer* b) { readers[b].needs_memory = true; };
  for (Operation* op : program.operations) {
    for (const Instr& i : op->body.instrs) {
      if (i.op != Op::kLoad) continue;
      auto& bodies = readers[i.buffer].bodies;
      if (bodies.empty() || bodies.back() != op) bodies.push_back(op);
    }
    for_each_memory_read(*op, needs_memory);
  }
  for_each_returned(program, needs_memory);
  return readers;
}

/// Whether the producer's body is to be copied into all of its readers; otherwise why not.
std::optional<std::string> refuse_inlining(const Operation& producer, const Readers& readers, const InlineLimits& limits) {
  const InlineCost cost = body_cost(producer.body);
  if (cost.reads == 0 && !cost.is_heavy) return std::nullopt;  // constants and index patterns are always cheaper than memory
  const bool gathers =
      std::any_of(producer.body.instrs.begin(), producer.body.instrs.end(), [](const Instr& i) { return i.op == Op::kIndirect; });
  int sites = 0;
  bool has_wide_reader = false;
  for (const Operation* reader : readers.bodies) {
    std::vector<const Instr*> loads;
    for (const Instr& i : reader->body.instrs)
      if (i.op == Op::kLoad && i.buffer == producer.outputs[0]) loads.push_back(&i);
    sites += static_cast<int>(loads.size());
    has_wide_reader |= loads.size() > 1;
    const int64_t repeats = points(reader->axes) / std::max<int64_t>(1, points(producer.axes));
    if (gathers && repeats >= limits.max_gather_repeats)
      return fmt::format("{} would repeat each gather {} times, limit {}", reader->name, repeats, limits.max_gather_repeats);
    if (cost.is_slow && repeats > limits.max_slow_repeats && points(producer.axes) > 1)
      return fmt::format("{} would repeat each slow value {} times, limit {}", reader->name, repeats, limits.max_slow_repeats);
    const InlineCost into = body_cost(reader->body);
    const int copies = static_cast<int>(loads.size());
    if (into.reads + copies * (cost.reads - 1) > limits.max_reads)
      return fmt::format("{} reads after inlining into {}, limit {}", into.reads + copies * (cost.reads - 1), reader->name,
                         limits.max_reads);
    if (into.instructions + copies * cost.instructions > limits.max_instructions)
      return fmt::format("{} instructions after inlining into {}, limit {}", into.instructions + copies * cost.instructions, reader->name,
                         limits.max_instructions);
  }
  const int users = static_cast<int>(readers.bodies.size());
  if (users > limits.max_users) return fmt::format("{} users, limit {}", users, limits.max_users);
  if (cost.is_heavy && (users > limits.max_heavy_users || sites > limits.max_heavy_users))
    return fmt::format("expensive body read at {} places by {} users, limit {}", sites, users, limits.max_heavy_users);
  // One stored result costs a write and a read; several users that each read several inputs of its size cost more.
  // What is small is read from a cache.
  const int wide_reads = points(producer.axes) > kCachedPoints ? count_wide_reads(producer) : 0;
  if (users > 1 && wide_reads > 1) return fmt::format("{} users would each repeat {} reads of its size", users, wide_reads);
  if (users > 1 && cost.reads > limits.max_repeated_reads) return fmt::format("{} users would each repeat {} reads", users, cost.reads);
  if (sites > users && has_wide_reader && cost.reads * sites > kMostRepeatedReads)
    return fmt::format("{} places would repeat {} reads", sites, cost.reads);
  return std::nullopt;
}

/// Whether the consumer reads every element of the buffer unconditionally: then it makes every check that the producer makes.
bool reads_all(const Operation& consumer, const Buffer& buffer, ExprContext& context) {
  for (const Instr& i : consumer.body.instrs) {
    if (i.op != Op::kLoad || i.buffer != &buffer || i.operands[0] != kNoValue) continue;
    std::vector<Expr> used;
    for (Expr c : i.coordinates)
      for (Expr s : free_symbols(c))
        if (s.symbol_kind() == SymbolKind::kAxis && std::find(used.begin(), used.end(), s) == used.end()) used.push_back(s);
    if (is_bijective(i.coordinates, buffer.sizes, used, context)) return true;
  }
  return false;
}

/// Replaces the consumer's loads of the chosen producers' buffers by their bodies.
void inline_into(Operation& consumer, const std::unordered_set<const Buffer*>& chosen, ExprContext& context) {
  BodyBuilder builder(context);
  struct Key {
    const Buffer* buffer;
    std::vector<Expr> coordinates;
    ValueId predicate;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& k) const {
      size_t h = std::hash<const void*>()(k.buffer) * 31 + static_cast<size_t>(k.predicate);
      for (Expr e : k.coordinates) h = h * 1000003 + e.hash();
      return h;
    }
  };
  std::unordered_map<Key, ValueId, KeyHash> done;
  Replay replay(builder, {}, [&](const Instr& load, std::vector<Expr>& coordinates, ValueId predicate) -> std::optional<ValueId> {
    if (!chosen.contains(load.buffer)) return std::nullopt;
    Key key{load.buffer, coordinates, predicate};
    if (auto it = done.find(key); it != done.end()) return it->second;
    const Operation& producer = *load.buffer->definition;
    Substitution map;
    for (size_t i = 0; i < producer.axes.size(); ++i) map.emplace_back(producer.axes[i], coordinates[i]);
    Replay inner(builder, std::move(map));
    const auto values = inner.run(producer.body, predicate);
    ValueId value = values[producer.body.yields[0]];
    if (predicate != kNoValue) value = builder.where(predicate, value, builder.constant(load.dtype, 0.0));
    done.emplace(std::move(key), value);
    return value;
  });
  const auto values = replay.run(consumer.body);
  for (ValueId y : consumer.body.yields) builder.yield(values[y]);
  // Indirect symbols were made anew; the coordinates of a scatter name them.
  for (Expr& e : consumer.scatter_coordinates) builder.keep(e = substitute(e, replay.map()));
  consumer.body = builder.take();
}

}  // namespace

bool inline_producers(LoopProgram& program, const Target& target, std::vector<Refusal>& refusals) {
  const InlineLimits limits = target.inline_limits();
  auto readers = find_readers(program);
  bool changed = false;
  std::unordered_set<const Operation*> checked_elsewhere;
  // Producers come before their consumers, so a body is complete when its turn comes to be copied.
  for (Operation* producer : program.operations) {
    if (producer->kind != OperationKind::kPointwise || producer->outputs.size() != 1) continue;
    Buffer* buffer = producer->outputs[0];
    auto found = readers.find(buffer);
    if (found == readers.end() || found->second.bodies.empty()) continue;
    const Readers& uses = found->second;
    if (buffer->version_of) continue;
    const bool is_trivial = body_cost(producer->body).reads == 0 && !body_cost(producer->body).is_heavy;
    if (uses.needs_memory && !is_trivial) continue;  // it is in memory anyway; fusion forwards the value where it can
    if (auto reason = refuse_inlining(*producer, uses, limits)) {
      for (const Operation* reader : uses.bodies) refusals.push_back({"inline_producers", producer->name, reader->name, *reason});
      continue;
    }
    const std::vector<Operation*> consumers = uses.bodies;
    if (!uses.needs_memory && has_checks(producer->body) &&
        std::any_of(consumers.begin(), consumers.end(), [&](const Operation* c) { return reads_all(*c, *buffer, *program.context); }))
      checked_elsewhere.insert(producer);
    for (Operation* consumer : consumers) {
      inline_into(*consumer, {buffer}, *program.context);
      consumer->sources.insert(consumer->sources.begin(), producer->sources.begin(), producer->sources.end());
      for (const Instr& i : consumer->body.instrs) {
        if (i.op != Op::kLoad) continue;
        auto& bodies = readers[i.buffer].bodies;
        if (std::find(bodies.begin(), bodies.end(), consumer) == bodies.end()) bodies.push_back(consumer);
      }
    }
    for (const Instr& i : producer->body.instrs)
      if (i.op == Op::kLoad && !readers[buffer].needs_memory) std::erase(readers[i.buffer].bodies, producer);
    readers[buffer].bodies.clear();
    changed = true;
  }
  std::erase_if(program.operations, [&](const Operation* op) { return checked_elsewhere.contains(op); });
  changed |= drop_dead_operations(program);
  return changed;
}

bool drop_dead_operations(LoopProgram& program) {
  std::unordered_set<const Buffer*> needed;
  auto need = [&](const Buffer* b) { needed.insert(b); };
  for_each_returned(program, need);
  std::vector<Operation*> kept;
  for (auto it = program.operations.rbegin(); it != program.operations.rend(); ++it) {
    Operation* op = *it;
    bool is_live = op->kind == OperationKind::kExtern && op->callee &&
                   (op->callee->is_mutating || op->callee->is_random || op->callee->has_effect || !op->symbol_outputs.empty());
    for (const Buffer* out : op->outputs) is_live |= needed.contains(out) || out->version_of != nullptr;
    for (const Instr& i : op->body.instrs) is_live |= i.op == Op::kAssertTrue || i.op == Op::kCheckIndex;
    if (!is_live) continue;
    kept.push_back(op);
    for_each_read(*op, need);
    for (const Buffer* out : op->outputs)
      if (out->version_of) need(out->version_of);
  }
  std::reverse(kept.begin(), kept.end());
  const bool changed = kept.size() != program.operations.size();
  program.operations = std::move(kept);
  return changed;
}

}  // namespace litz
