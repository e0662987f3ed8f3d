#include "litz/schedule/fuse.h"

#include <algorithm>
#include <queue>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "litz/loop/cost.h"
#include "litz/loop/dependences.h"
#include "litz/schedule/group_mapping.h"
#include "litz/symbolic/size_hint.h"

namespace litz {
namespace {

constexpr int64_t kSizeFallback = 64;    // a size that was never seen, for estimates
constexpr int64_t kLongPiece = 1 << 16;  // elements that one iteration alone should not have to walk

int64_t bytes_of(const Buffer& b, ExprContext& context) {
  return size_hint(product(context, b.sizes), kSizeFallback) * dtype_bytes(b.dtype);
}

int64_t volume(const std::vector<Expr>& axes) {
  int64_t v = 1;
  for (Expr a : axes) v *= size_hint(a.extent(), kSizeFallback);
  return v;
}

/// Whether the reader, if it reads the buffer at all, wants each element in the writer's own iteration, with local loops taken pairwise.
bool reads_where_written(const GroupMember& writer, const GroupMember& reader, const Buffer& buffer) {
  Substitution pairs;
  const size_t locals = std::min(writer.local_axes.size(), reader.local_axes.size());
  for (size_t k = 0; k < locals; ++k)
    if (writer.local_axes[k].extent() == reader.local_axes[k].extent()) pairs.emplace_back(reader.local_axes[k], writer.local_axes[k]);
  std::vector<Expr> written;
  for (const GroupAccess& a : accesses_of(writer))
    if (a.is_write && a.buffer == &buffer) written = a.coordinates;
  for (const GroupAccess& a : accesses_of(reader))
    if (!a.is_write && a.buffer == &buffer && substitute(a.coordinates, pairs) != written) return false;
  return true;
}

/// Whether neighbours in memory belong to different iterations of the group: then lanes are iterations, and what one keeps all keep.
bool has_lanes_outside(const GroupMember& writer, const Buffer& buffer) {
  for (const GroupAccess& a : accesses_of(writer)) {
    if (!a.is_write || a.buffer != &buffer) continue;
    for (size_t d = 0; d < a.coordinates.size(); ++d) {
      if (!buffer.layout.strides[d].is_integer(1) || buffer.sizes[d].is_integer(1)) continue;
      const auto symbols = free_symbols(a.coordinates[d]);
      return std::ranges::none_of(writer.local_axes, [&](Expr local) { return std::ranges::find(symbols, local) != symbols.end(); });
    }
  }
  return false;
}

/// Bytes of the largest buffer above the limit that one iteration of the group's axes passes from a loop of its own to another one: what
/// a reader finds at other points than the writer's loop has just reached must be kept until then. The limit where there is none.
int64_t bytes_between_loops(const JoinedMembers& joined, int lanes, int64_t limit, ExprContext& context) {
  const int64_t pieces = std::max<int64_t>(1, volume(joined.axes));
  int64_t most = limit;
  for (const GroupMember& writer : joined.members)
    for (const Buffer* b : writer.operation->outputs) {
      const int64_t row = bytes_of(*b, context) / pieces;
      if (row * lanes <= most) continue;  // most buffers: their accesses need not be looked at
      const int64_t bytes = row * (has_lanes_outside(writer, *b) ? lanes : 1);
      if (bytes <= most) continue;
      for (const GroupMember& reader : joined.members)
        if (&reader != &writer && !reads_where_written(writer, reader, *b)) most = std::max(most, bytes);
    }
  return most;
}

/// Whether all members that loop inside an iteration walk the same number of elements.
bool walks_one_length(const JoinedMembers& joined) {
  int64_t length = 0;
  for (const auto& m : joined.members) {
    if (m.local_axes.empty()) continue;
    const int64_t own = volume(m.local_axes);
    if (length && own != length) return false;
    length = own;
  }
  return true;
}

bool is_slow(const Operation& op) {
  return std::ranges::any_of(op.body.instrs, [](const Instr& i) { return litz::is_slow(i.op); });
}

constexpr int kWindow = 9;  // elements of one buffer: 3 x 3

bool reads_a_window(const Operation& op) {
  std::unordered_map<const Buffer*, int> loads;
  return std::ranges::any_of(op.body.instrs, [&](const Instr& i) { return i.op == Op::kLoad && ++loads[i.buffer] >= kWindow; });
}

/// Groups and the edges between them while they are being joined.
class Fuser {
 public:
  Fuser(Schedule& schedule, const FuseOptions& options) : schedule_(schedule), options_(options), context_(*schedule.program->context) {}

  void run() {
    make_groups();
    connect();
    find_candidates();
    while (!queue_.empty()) {
      const Candidate c = queue_.top();
      queue_.pop();
      const int a = find(c.first), b = find(c.second);
      if (a == b) continue;
      // A refused pair is looked at again only after one of the two has grown.
      const auto state = std::make_tuple(std::min(a, b), std::max(a, b), nodes_[a].group->members.size() + nodes_[b].group->members.size());
      if (!done_.insert(state).second) continue;
      consider(a, b);
    }
    emit();
  }

 private:
  struct Node {
    std::unique_ptr<FusedGroup> group;  // null once joined into another
    std::set<int> before, after;        // groups that must run earlier, later
    std::unordered_set<const Buffer*> reads, writes;
    int low = 0, high = 0;  // positions of its operations in the program
  };
  struct Candidate {
    int64_t score;
    int first, second;
    bool operator<(const Candidate& o) const {
      if (score != o.score) return score < o.score;
      return std::tie(first, second) > std::tie(o.first, o.second);
    }
  };

  int find(int g) {
    while (parent_[g] != g) g = parent_[g] = parent_[parent_[g]];
    return g;
  }

  void make_groups() {
    const auto& operations = schedule_.program->operations;
    nodes_.resize(operations.size());
    parent_.resize(operations.size());
    reach_.resize(operations.size());
    for (size_t k = 0; k < operations.size(); ++k) {
      Operation* op = operations[k];
      Node& node = nodes_[k];
      parent_[k] = reach_[k] = static_cast<int>(k);
      node.low = node.high = static_cast<int>(k);
      node.group = std::make_unique<FusedGroup>();
      FusedGroup& g = *node.group;
      GroupMember m{op, op->axes, {}};
      if (op->kind == OperationKind::kExtern) {
        g.kind = GroupKind::kExtern;
      } else {
        // Reduced axes and the scanned axis are loops of the member; everything else is independent.
        for (size_t i = 0; i < op->axes.size(); ++i) {
          const bool is_local = static_cast<int>(i) >= op->rank ||
                                (op->kind == OperationKind::kScan && static_cast<int>(i) == op->scan_axis) ||
                                op->kind == OperationKind::kScatter;
          (is_local ? m.local_axes : g.axes).push_back(op->axes[i]);
        }
      }
      for_each_read(*op, [&](const Buffer* b) { node.reads.insert(b); });
      node.writes.insert(op->outputs.begin(), op->outputs.end());
      g.members.push_back(std::move(m));
    }
  }

  void add_edge(int from, int to) {
    if (from == to) return;
    nodes_[from].after.insert(to);
    nodes_[to].before.insert(from);
  }

  void connect() {
    std::unordered_map<const Buffer*, int> writer;
    std::unordered_map<const Buffer*, std::vector<int>> readers;
    int last_ordered = -1;  // effects and random draws keep the program's order among themselves
    for (size_t k = 0; k < nodes_.size(); ++k) {
      const int n = static_cast<int>(k);
      const Operation& op = *schedule_.program->operations[k];
      for (const Buffer* b : nodes_[k].reads) {
        if (auto w = writer.find(b); w != writer.end()) add_edge(w->second, n);
        readers[b].push_back(n);
      }
      for (const Buffer* b : nodes_[k].writes) {
        writer[b] = n;
        // A new version is written after everything that reads the old one.
        if (b->version_of) {
          for (int r : readers[b->version_of]) add_edge(r, n);
          if (auto w = writer.find(b->version_of); w != writer.end()) add_edge(w->second, n);
        }
      }
      if (op.callee && (op.callee->is_mutating || op.callee->is_random || op.callee->has_effect) && !op.writes_planned_output) {
        if (last_ordered >= 0) add_edge(last_ordered, n);
        last_ordered = n;
      }
    }
  }

  int64_t shared_bytes(const Node& a, const Node& b) const {
    int64_t total = 0;
    auto count = [&](const auto& xs, const auto& ys) {
      for (const Buffer* x : xs)
        if (ys.contains(x)) total += bytes_of(*x, context_);
    };
    count(a.writes, b.reads);
    count(b.writes, a.reads);
    count(a.reads, b.reads);
    for (const Buffer* x : a.writes)
      for (const Buffer* y : b.writes)
        if (x->version_of == y || y->version_of == x) total += bytes_of(*x, context_);
    return total;
  }

  void propose(int a, int b) {
    if (a == b || nodes_[a].group->kind == GroupKind::kExtern || nodes_[b].group->kind == GroupKind::kExtern) return;
    if (const int64_t score = shared_bytes(nodes_[a], nodes_[b]); score > 0) queue_.push({score, std::min(a, b), std::max(a, b)});
  }

  /// Pairs that share a buffer: the writer with each reader, and readers that follow each other.
  void find_candidates() {
    std::unordered_map<const Buffer*, std::vector<int>> users;
    std::vector<const Buffer*> order;
    for (size_t k = 0; k < nodes_.size(); ++k) {
      auto add = [&](const Buffer* b) {
        auto& list = users[b];
        if (list.empty()) order.push_back(b);
        if (list.empty() || list.back() != static_cast<int>(k)) list.push_back(static_cast<int>(k));
      };
      for (const Buffer* b : nodes_[k].writes) {
        add(b);
        if (b->version_of) add(b->version_of);
      }
      for (const Buffer* b : nodes_[k].reads) add(b);
    }
    constexpr size_t kNeighbours = 6;
    for (const Buffer* b : order) {
      const auto& list = users[b];
      for (size_t i = 0; i < list.size(); ++i)
        for (size_t j = i + 1; j < list.size() && (i == 0 || j <= i + kNeighbours); ++j) propose(list[i], list[j]);
    }
  }

  /// Groups that begin at this position or behind it have no way to b: an edge goes to a later operation, which may be the last one of a
  /// group that began long before.
  int no_way_from(int b) const {
    int limit = nodes_[b].high;
    while (reach_[limit] > limit) limit = reach_[limit];
    return limit;
  }

  /// A way from a to b through a third group.
  bool has_detour(int a, int b) {
    const int limit = no_way_from(b);
    std::vector<int> stack;
    std::unordered_set<int> seen;
    for (int n : nodes_[a].after)
      if (n != b && nodes_[n].low < limit && seen.insert(n).second) stack.push_back(n);
    while (!stack.empty()) {
      const int n = stack.back();
      stack.pop_back();
      for (int next : nodes_[n].after) {
        if (next == b) return true;
        if (nodes_[next].low < limit && seen.insert(next).second) stack.push_back(next);
      }
    }
    return false;
  }

  void refuse(int a, int b, std::string reason) {
    schedule_.refusals.push_back(
        {"fuse", nodes_[a].group->members.back().operation->name, nodes_[b].group->members.front().operation->name, std::move(reason)});
  }

  void consider(int a, int b) {
    if (nodes_[b].after.contains(a) || (!nodes_[a].after.contains(b) && nodes_[b].low < nodes_[a].low)) std::swap(a, b);
    FusedGroup &first = *nodes_[a].group, &second = *nodes_[b].group;
    if (static_cast<int>(first.members.size() + second.members.size()) > options_.max_members)
      return refuse(a, b, fmt::format("{} members, limit {}", first.members.size() + second.members.size(), options_.max_members));
    if (has_detour(a, b) || has_detour(b, a)) return refuse(a, b, "another kernel lies between them");
    auto joined = join_groups(first, second, context_);
    if (!joined) return refuse(a, b, joined.reason());
    const int64_t pieces = volume(joined->axes), of_first = volume(first.axes), of_second = volume(second.axes);
    int64_t work = 0;
    for (const auto& m : joined->members) work = std::max(work, pieces * volume(m.local_axes));
    // Both lose pieces, or the larger one does and each piece that is left takes long.
    const bool is_long = work / std::max<int64_t>(1, pieces) >= kLongPiece;
    const bool loses = pieces < std::min(of_first, of_second) || (is_long && pieces < std::max(of_first, of_second));
    if (loses && pieces < options_.min_parallel && work >= options_.parallel_work)
      return refuse(a, b, fmt::format("{} independent iterations for {} elements, alone {} and {}", pieces, work, of_first, of_second));
    if (!options_.rows_may_differ && pieces < std::max(of_first, of_second) && !walks_one_length(*joined))
      return refuse(a, b, fmt::format("rows of several lengths in each of {} iterations, alone {} and {}", pieces, of_first, of_second));
    if (!options_.slow_may_wait && pieces < std::max(of_first, of_second))
      for (const auto& m : joined->members) {
        if (m.local_axes.empty() && is_slow(*m.operation))
          return refuse(a, b, fmt::format("{} is slow, and every thread of a program would compute it", m.operation->name));
        if (reads_a_window(*m.operation))
          return refuse(a, b,
                        fmt::format("{} reads a window: a program would wait for what its other threads wrote, or hold few elements",
                                    m.operation->name));
      }
    const int64_t limit = options_.max_bytes_between_loops;
    if (const int64_t between = bytes_between_loops(*joined, options_.lanes, limit, context_); between > limit)
      return refuse(a, b, fmt::format("{} bytes pass between their loops in each iteration, limit {}", between, limit));
    merge(a, b, std::move(*joined));
  }

  void merge(int a, int b, JoinedMembers joined) {
    Node &x = nodes_[a], &y = nodes_[b];
    x.group->axes = std::move(joined.axes);
    x.group->members = std::move(joined.members);
    y.group.reset();
    parent_[b] = a;
    x.low = std::min(x.low, y.low);
    x.high = std::max(x.high, y.high);
    for (size_t p = static_cast<size_t>(x.low); p < reach_.size() && reach_[p] < x.high; ++p) reach_[p] = x.high;
    x.reads.insert(y.reads.begin(), y.reads.end());
    x.writes.insert(y.writes.begin(), y.writes.end());
    for (int n : y.before) {
      nodes_[n].after.erase(b);
      if (n != a) add_edge(n, a);
    }
    for (int n : y.after) {
      nodes_[n].before.erase(b);
      if (n != a) add_edge(a, n);
    }
    x.before.erase(b);
    x.after.erase(b);
    // What shares a buffer with the joined group may now fit.
    for (int n : std::set<int>(x.before)) propose(n, a);
    for (int n : std::set<int>(x.after)) propose(a, n);
  }

  void emit() {
    std::vector<int> waiting(nodes_.size(), 0);
    std::priority_queue<std::pair<int, int>, std::vector<std::pair<int, int>>, std::greater<>> ready;
    for (size_t k = 0; k < nodes_.size(); ++k) {
      if (!nodes_[k].group) continue;
      waiting[k] = static_cast<int>(nodes_[k].before.size());
      if (!waiting[k]) ready.emplace(nodes_[k].low, static_cast<int>(k));
    }
    while (!ready.empty()) {
      const int k = ready.top().second;
      ready.pop();
      for (int n : nodes_[k].after)
        if (--waiting[n] == 0) ready.emplace(nodes_[n].low, n);
      schedule_.groups.push_back(std::move(nodes_[k].group));
    }
    for (const Node& n : nodes_) LITZ_CHECK(!n.group, "fused groups form a cycle at {}", n.group->members[0].operation->name);
  }

  Schedule& schedule_;
  const FuseOptions& options_;
  ExprContext& context_;
  std::vector<Node> nodes_;
  std::vector<int> parent_;
  std::vector<int> reach_;  // per position: where the groups that begin at it or before it end
  std::priority_queue<Candidate> queue_;
  std::set<std::tuple<int, int, size_t>> done_;
};

}  // namespace

void fuse(Schedule& schedule, const FuseOptions& options) { Fuser(schedule, options).run(); }

}  // namespace litz
