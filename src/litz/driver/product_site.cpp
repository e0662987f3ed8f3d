#include "litz/driver/product_site.h"

#include <algorithm>

#include "litz/loop/dependences.h"
#include "litz/loop/replay.h"

namespace litz {
namespace {

constexpr int kFactorReads = 4;  // loads in what computes a factor: it is computed again for every tile

std::vector<Expr> coordinates_at(const ExternTensor& t, std::span<const Expr> at) {
  Substitution map;
  for (size_t d = 0; d < t.axes.size(); ++d) map.emplace_back(t.axes[d], at[d]);
  return substitute(t.coordinates, map);
}

bool reads(const FusedGroup& group, const Buffer* buffer) {
  bool found = false;
  for (const GroupMember& m : group.members) for_each_read(*m.operation, [&](const Buffer* b) { found |= b == buffer; });
  return found;
}

bool leaves(const LoopProgram& program, const Buffer* buffer) {
  bool found = std::ranges::any_of(program.mutations, [&](const auto& m) { return m.last_version == buffer; });
  for_each_returned(program, [&](const Buffer* b) { found |= b == buffer; });
  return found;
}

bool is_one(const ExternArgument& x) {
  if (auto* i = std::get_if<int64_t>(&x)) return *i == 1;
  auto* d = std::get_if<double>(&x);
  return d && *d == 1;
}

/// The kernel that reads the result and nothing but it does, or why there is none.
Result<FusedGroup*> find_reader(const ProductSite& site, const CompileState& state) {
  if (leaves(*state.loops, site.result)) return unsupported("the product itself is a result");
  FusedGroup* reader = nullptr;
  for (const auto& g : state.schedule.groups) {
    if (!reads(*g, site.result)) continue;
    if (reader || g->kind != GroupKind::kLoops) return unsupported("other operations than one kernel read it");
    reader = g.get();
  }
  if (!reader) return unsupported("nothing reads it");
  for (const GroupMember& m : reader->members) {
    if (m.operation->kind != OperationKind::kPointwise || !m.local_axes.empty())
      return unsupported("the kernel that reads it does more than one step for each element");
  }
  return reader;
}

/// The group that computes this factor alone, for this product alone; null if there is none.
FusedGroup* find_producer(const ProductSite& site, const ExternTensor& factor, const CompileState& state) {
  const Buffer* buffer = factor.buffer;
  const Operation* op = buffer->definition;
  if (!op || op->kind != OperationKind::kPointwise || op->outputs.size() != 1 || buffer->version_of || leaves(*state.loops, buffer))
    return nullptr;
  if (has_checks(op->body) || std::ranges::count(op->body.instrs, Op::kLoad, &Instr::op) > kFactorReads) return nullptr;
  FusedGroup* producer = nullptr;
  for (const auto& g : state.schedule.groups) {
    if (g.get() != site.product && reads(*g, buffer)) return nullptr;
    if (g->members.size() == 1 && g->members[0].operation == op && g->kind == GroupKind::kLoops) producer = g.get();
  }
  return producer;
}

struct OuterAxes {
  Expr batch, row, column;  // no batch: null
  std::vector<Expr> list() const { return batch ? std::vector{batch, row, column} : std::vector{row, column}; }
};

class ProductJoiner {
 public:
  ProductJoiner(const ProductSite& site, LoopProgram& program, bool with_producers)
      : site_(site),
        program_(program),
        context_(*program.context),
        with_producers_(with_producers) {}

  Result<std::unique_ptr<FusedGroup>> run() {
    auto group = std::make_unique<FusedGroup>();
    const OuterAxes outer = new_axes();
    group->axes = outer.list();
    std::vector<GroupMember> readers;
    if (site_.reader) {
      auto mapped = readers_over(outer);
      if (!mapped) return unsupported("{}", mapped.reason());
      readers = std::move(*mapped);
    }
    Buffer* total = add_sum(*group);
    add_rounded(*group, total);
    for (GroupMember& m : readers) group->members.push_back(std::move(m));
    group->name = site_.reader ? site_.reader->name : site_.product->name;
    group->internal_buffers.push_back(total);
    if (site_.reader) {
      std::ranges::copy(site_.reader->internal_buffers, std::back_inserter(group->internal_buffers));
      group->internal_buffers.push_back(site_.result);
    }
    return group;
  }

 private:
  Expr axis(const char* name, int64_t extent) { return context_.axis(name, context_.integer(extent)); }
  OuterAxes new_axes() { return {site_.has_batch() ? axis("b", site_.batch) : Expr(), axis("i", site_.rows), axis("j", site_.columns)}; }

  /// The reader's axes over batch, rows and columns: the last is the columns, those before it are the rows, the first ones the batch.
  std::optional<Substitution> outer_map(const OuterAxes& outer) {
    const auto& axes = site_.reader->axes;
    if (axes.size() < 2 || !axes.back().extent().is_integer(site_.columns)) return {};
    Substitution map{{axes.back(), outer.column}};
    size_t first_row = 0;
    auto take = [&](size_t first, size_t end, Expr value) {
      std::vector<Expr> sizes;
      for (size_t d = first; d < end; ++d) sizes.push_back(axes[d].extent());
      const std::vector<Expr> parts = sizes.size() == 1 ? std::vector{value} : unflatten(value, sizes);
      for (size_t d = first; d < end; ++d) map.emplace_back(axes[d], parts[d - first]);
    };
    auto extent_of = [&](size_t first, size_t end) {
      std::vector<Expr> sizes;
      for (size_t d = first; d < end; ++d) sizes.push_back(axes[d].extent());
      return product(context_, sizes);
    };
    if (outer.batch) {
      while (first_row + 1 < axes.size() && !extent_of(0, first_row).is_integer(site_.batch)) ++first_row;
      if (first_row + 1 >= axes.size()) return {};
      take(0, first_row, outer.batch);
    }
    if (!extent_of(first_row, axes.size() - 1).is_integer(site_.rows)) return {};
    take(first_row, axes.size() - 1, outer.row);
    return map;
  }

  Result<std::vector<GroupMember>> readers_over(const OuterAxes& outer) {
    const auto map = outer_map(outer);
    if (!map) return unsupported("the kernel that reads it walks other axes than its rows and columns");
    const std::vector<Expr> at = outer.list();
    std::vector<GroupMember> readers;
    for (const GroupMember& m : site_.reader->members) {
      GroupMember mapped = m;
      Substitution inner;
      for (size_t d = 0; d < m.axis_map.size(); ++d) {
        mapped.axis_map[d] = substitute(m.axis_map[d], *map);
        inner.emplace_back(m.operation->axes[d], mapped.axis_map[d]);
      }
      for (const Instr& instr : m.operation->body.instrs) {
        if (instr.op != Op::kLoad || instr.buffer != site_.result) continue;
        for (size_t d = 0; d < at.size(); ++d)
          if (!(substitute(instr.coordinates[d], inner) == at[d]))
            return unsupported("the kernel that reads it reads other elements than those that it writes at");
      }
      readers.push_back(std::move(mapped));
    }
    return readers;
  }

  Operation* new_operation(OperationKind kind, const std::string& name, std::vector<Expr> axes, int rank) {
    Operation* op = program_.new_operation(kind, name);
    op->sources = site_.operation->sources;
    op->axes = std::move(axes);
    op->rank = rank;
    return op;
  }

  /// An element of a factor in float32: loaded, or computed as its producer does and rounded as its buffer would have been.
  ValueId factor(BodyBuilder& b, Operation* sum, const ExternTensor& t, std::vector<Expr> at) {
    std::vector<Expr> coordinates = coordinates_at(t, at);
    Operation* producer = t.buffer->definition;
    const bool is_computed =
        with_producers_ && std::ranges::any_of(site_.producers, [&](const FusedGroup* g) { return g->members[0].operation == producer; });
    if (!is_computed) return b.cast(b.load(t.buffer, std::move(coordinates)), DType::kFloat32);
    Substitution map;
    for (size_t d = 0; d < producer->axes.size(); ++d) map.emplace_back(producer->axes[d], coordinates[d]);
    sum->sources.insert(sum->sources.end(), producer->sources.begin(), producer->sources.end());
    const ValueId value = Replay(b, std::move(map)).run(producer->body)[producer->body.yields[0]];
    return b.cast(b.cast(value, t.buffer->dtype, true), DType::kFloat32);
  }

  Buffer* add_sum(FusedGroup& group) {
    const OuterAxes at = new_axes();
    const Expr r = axis("r", site_.depth);
    std::vector<Expr> axes = at.list();
    const int rank = static_cast<int>(axes.size());
    auto place = [&](Expr row, Expr column) { return at.batch ? std::vector{at.batch, row, column} : std::vector{row, column}; };
    axes.push_back(r);
    Operation* sum = new_operation(OperationKind::kReduction, site_.operation->name + "_product", axes, rank);
    sum->reduction = ReductionKind::kSum;
    sum->accumulate = DType::kFloat32;
    BodyBuilder b(context_);
    const ValueId left = factor(b, sum, *site_.left, place(at.row, r));
    const ValueId right = factor(b, sum, *site_.right, place(r, at.column));
    b.yield(b.mul(left, right));
    sum->body = b.take();
    Buffer* total = program_.new_buffer(sum->name, DType::kFloat32, site_.result->sizes, site_.result->device);
    total->source = site_.result->source;
    total->layout.kind = LayoutKind::kStrided;
    total->layout.strides = {context_.integer(site_.columns), context_.integer(1)};
    if (at.batch) total->layout.strides.insert(total->layout.strides.begin(), context_.integer(site_.rows * site_.columns));
    program_.set_outputs(sum, {total});
    std::vector<Expr> mapped = group.axes;
    const Expr summed = axis("r", site_.depth);
    mapped.push_back(summed);
    group.members.push_back({sum, mapped, {summed}});
    return total;
  }

  void add_rounded(FusedGroup& group, Buffer* total) {
    const std::vector<Expr> out = new_axes().list();
    Operation* rounded = new_operation(OperationKind::kPointwise, site_.operation->name, out, static_cast<int>(out.size()));
    BodyBuilder w(context_);
    ValueId v = w.load(total, out);
    if (site_.bias) {
      const size_t rank = site_.bias->axes.size();
      std::vector<Expr> where;
      for (size_t d = 0; d < rank; ++d)
        where.push_back(site_.bias->sizes[d].is_integer(1) ? context_.integer(0) : out[out.size() - rank + d]);
      v = w.add(v, w.cast(w.load(site_.bias->buffer, coordinates_at(*site_.bias, where)), DType::kFloat32));
    }
    w.yield(w.cast(v, site_.result->dtype));
    rounded->body = w.take();
    program_.set_outputs(rounded, {site_.result});
    group.members.push_back({rounded, group.axes, {}});
  }

  const ProductSite& site_;
  LoopProgram& program_;
  ExprContext& context_;
  const bool with_producers_;
};

}  // namespace

bool is_product(const FusedGroup& group) {
  if (group.kind != GroupKind::kExtern || !group.members[0].operation->callee) return false;
  const std::string& name = group.members[0].operation->callee->name;
  return name == "aten.mm" || name == "aten.addmm" || name == "aten.bmm" || name == "aten.baddbmm";
}

Result<ProductSite> find_product_site(FusedGroup& product, const CompileState& state) {
  ProductSite site;
  site.product = &product;
  site.operation = product.members[0].operation;
  site.result = site.operation->outputs[0];
  const auto& a = site.operation->arguments;
  const bool has_bias = a.size() > 2;
  auto tensor = [&](size_t k) { return std::get_if<ExternTensor>(&a[k]); };
  if (has_bias && !(is_one(a[3]) && is_one(a[4]))) return unsupported("the product or its bias is scaled");
  site.bias = has_bias ? tensor(0) : nullptr;
  site.left = tensor(has_bias);
  site.right = tensor(has_bias + 1);
  const auto& sizes = site.result->sizes;
  const size_t rank = sizes.size();
  const auto batch = rank == 3 ? sizes[0].as_integer() : std::optional<int64_t>(1);
  const auto rows = sizes[rank - 2].as_integer(), columns = sizes[rank - 1].as_integer();
  const auto depth = site.left->sizes[rank - 1].as_integer();
  if (!batch || !rows || !columns || !depth || *rows < 2 || *columns < 2)
    return unsupported("its sizes are not known before the call, or 1");
  site.batch = *batch, site.rows = *rows, site.columns = *columns, site.depth = *depth;
  if (site.result->version_of) return unsupported("it is written in the place of another tensor");
  for (const ExternTensor* t : {site.left, site.right}) {
    FusedGroup* producer = find_producer(site, *t, state);
    if (producer && std::ranges::find(site.producers, producer) == site.producers.end()) site.producers.push_back(producer);
  }
  auto reader = find_reader(site, state);
  if (reader) site.reader = *reader;
  else site.apart = reader.reason();
  return site;
}

Result<std::unique_ptr<FusedGroup>> join(const ProductSite& site, LoopProgram& program, bool with_producers) {
  return ProductJoiner(site, program, with_producers).run();
}

void undo_join(const ProductSite& site, LoopProgram& program) {
  program.operations.resize(program.operations.size() - 2);
  program.set_outputs(site.operation, {site.result});
}

FusedGroup* keep_join(const ProductSite& site, std::unique_ptr<FusedGroup> group, bool with_producers, CompileState& state) {
  auto& ops = state.loops->operations;
  const std::vector<Operation*> made(ops.end() - 2, ops.end());
  ops.resize(ops.size() - 2);
  const auto place = ops.erase(std::ranges::find(ops, site.operation));
  ops.insert(place, made.begin(), made.end());
  FusedGroup* joined = group.get();
  auto& groups = state.schedule.groups;
  FusedGroup* replaced = site.reader ? site.reader : site.product;
  *std::ranges::find_if(groups, [&](const auto& g) { return g.get() == replaced; }) = std::move(group);
  std::vector<const FusedGroup*> gone{site.product};
  if (with_producers) {
    for (FusedGroup* g : site.producers) {
      gone.push_back(g);
      std::erase(ops, g->members[0].operation);
    }
  }
  std::erase_if(groups, [&](const auto& g) { return std::ranges::find(gone, g.get()) != gone.end(); });
  return joined;
}

}  // namespace litz
