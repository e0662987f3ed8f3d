#include "litz/driver/choose_products.h"

#include <algorithm>
#include <mutex>

#include "litz/driver/json_text.h"
#include "litz/schedule/assign_storage.h"

namespace litz {
namespace {

constexpr double kWorthIt = 0.98;                       // of the library's time: below that a kernel of ours is taken
constexpr int64_t kLeastOperations = int64_t{1} << 28;  // multiplications and additions below which launches decide

std::mutex measurer_mutex;
Measurer& measurer() {
  static auto* one = new Measurer;
  return *one;
}

/// A product by the library, and the one group of pointwise operations that reads it.
struct ProductSite {
  FusedGroup* product = nullptr;
  FusedGroup* reader = nullptr;
  Operation* operation = nullptr;
  Buffer* result = nullptr;
  const ExternTensor *left = nullptr, *right = nullptr, *bias = nullptr;
  int64_t rows = 0, columns = 0, depth = 0;
};

/// One way to compute a site. Without a tile it is the library's.
struct ProductCandidate {
  std::string name;
  std::optional<ProductTile> tile;
};

/// A source of candidates: its name, whether it takes a site (or why not), and its candidates, the most promising first.
struct ProductProvider {
  std::string_view name;
  Result<bool> (*takes)(const ProductSite& site);
  std::vector<ProductCandidate> (*candidates)(const ProductSite& site, const DeviceInterface& device);
};

bool is_narrow_float(DType t) { return t == DType::kFloat16 || t == DType::kBFloat16; }

Result<bool> takes_all(const ProductSite&) { return true; }
Result<bool> takes_tiles(const ProductSite& s) {
  if (!is_narrow_float(s.result->dtype)) return unsupported("tiles are of 16-bit floats, found {}", dtype_name(s.result->dtype));
  if (s.left->dtype != s.result->dtype || s.right->dtype != s.result->dtype) return unsupported("the factors are of other types");
  if (2 * s.rows * s.columns * s.depth < kLeastOperations)
    return unsupported("{}x{}x{} is too small to gain by it", s.rows, s.columns, s.depth);
  return true;
}

const ProductProvider kProviders[] = {
    {"library", takes_all, [](const ProductSite&, const DeviceInterface&) { return std::vector<ProductCandidate>{{"library", {}}}; }},
    {"tiles", takes_tiles,
     [](const ProductSite& s, const DeviceInterface& device) {
       std::vector<ProductCandidate> out;
       for (const ProductTile& tile : device.product_tiles(s.rows, s.columns, s.depth))
         if (s.depth > tile.depth) out.push_back({to_text(tile), tile});
       return out;
     }},
};

std::vector<Expr> coordinates_at(const ExternTensor& t, std::span<const Expr> at) {
  Substitution map;
  for (size_t d = 0; d < t.axes.size(); ++d) map.emplace_back(t.axes[d], at[d]);
  std::vector<Expr> out;
  for (Expr c : t.coordinates) out.push_back(substitute(c, map));
  return out;
}

bool reads(const FusedGroup& group, const Buffer* buffer) {
  for (const GroupMember& m : group.members) {
    for (const Instr& i : m.operation->body.instrs)
      if (i.op == Op::kLoad && i.buffer == buffer) return true;
    if (m.operation->scatter_base == buffer) return true;
    bool found = false;
    for (const ExternArgument& a : m.operation->arguments) for_each_tensor(a, [&](const ExternTensor& t) { found |= t.buffer == buffer; });
    if (found) return true;
  }
  return false;
}

bool leaves(const LoopProgram& program, const Buffer* buffer) {
  for (const ProgramOutput& o : program.outputs)
    if (auto* t = std::get_if<ExternTensor>(&o.value); t && t->buffer == buffer) return true;
  return std::ranges::any_of(program.mutations, [&](const auto& m) { return m.last_version == buffer; });
}

class ProductChooser {
 public:
  explicit ProductChooser(CompileState& state) : s_(state), program_(*state.loops), context_(*state.loops->context) {}

  void run() {
    find_internal_buffers(s_.schedule);  // of what is measured; found anew when all is decided
    std::vector<FusedGroup*> products;
    for (const auto& g : s_.schedule.groups)
      if (g->kind == GroupKind::kExtern && is_product(*g)) products.push_back(g.get());
    for (FusedGroup* g : products) {
      auto site = site_of(*g);
      if (auto refused = site ? choose(*site) : std::optional(Unsupported{site.reason()}))
        s_.schedule.refusals.push_back({"choose_products", g->members[0].operation->name, "what reads it", refused->reason});
    }
    for (const auto& g : s_.schedule.groups) g->internal_buffers.clear();
    name_groups(s_.schedule);
  }

 private:
  static bool is_product(const FusedGroup& g) {
    const Operation& op = *g.members[0].operation;
    return op.callee && (op.callee->name == "aten.mm" || op.callee->name == "aten.addmm");
  }

  Result<ProductSite> site_of(FusedGroup& group) {
    ProductSite site;
    site.product = &group;
    site.operation = group.members[0].operation;
    site.result = site.operation->outputs[0];
    const auto& a = site.operation->arguments;
    const bool has_bias = site.operation->callee->name == "aten.addmm";
    auto tensor = [&](size_t k) { return std::get_if<ExternTensor>(&a[k]); };
    auto is_one = [](const ExternArgument& x) {
      if (auto* i = std::get_if<int64_t>(&x)) return *i == 1;
      auto* d = std::get_if<double>(&x);
      return d && *d == 1;
    };
    if (has_bias && !(is_one(a[3]) && is_one(a[4]))) return unsupported("the product or its bias is scaled");
    site.bias = has_bias ? tensor(0) : nullptr;
    site.left = tensor(has_bias);
    site.right = tensor(has_bias + 1);
    const auto rows = site.result->sizes[0].as_integer(), columns = site.result->sizes[1].as_integer();
    const auto depth = site.left->sizes[1].as_integer();
    if (!rows || !columns || !depth || *rows < 2 || *columns < 2) return unsupported("its sizes are not known before the call, or 1");
    site.rows = *rows, site.columns = *columns, site.depth = *depth;
    if (leaves(program_, site.result) || site.result->version_of) return unsupported("the product itself is a result");
    for (const auto& g : s_.schedule.groups) {
      if (!reads(*g, site.result)) continue;
      if (site.reader || g->kind != GroupKind::kLoops) return unsupported("other operations than one kernel read it");
      site.reader = g.get();
    }
    if (!site.reader) return unsupported("nothing reads it");
    for (const GroupMember& m : site.reader->members) {
      if (m.operation->kind != OperationKind::kPointwise || !m.local_axes.empty())
        return unsupported("the kernel that reads it does more than one step for each element");
    }
    return site;
  }

  /// The group's outer axes over rows and columns: the last is the columns, the others are the rows.
  std::optional<Substitution> outer_axes(const ProductSite& site, Expr i, Expr j) {
    const auto& axes = site.reader->axes;
    if (axes.size() < 2 || !axes.back().extent().is_integer(site.columns)) return {};
    std::vector<Expr> sizes;
    for (size_t d = 0; d + 1 < axes.size(); ++d) sizes.push_back(axes[d].extent());
    if (!product(context_, sizes).is_integer(site.rows)) return {};
    const std::vector<Expr> parts = sizes.size() == 1 ? std::vector{i} : unflatten(i, sizes);
    Substitution map;
    for (size_t d = 0; d < parts.size(); ++d) map.emplace_back(axes[d], parts[d]);
    map.emplace_back(axes.back(), j);
    return map;
  }

  Operation* new_operation(OperationKind kind, const std::string& name, const ProductSite& site, std::vector<Expr> axes) {
    Operation* op = program_.new_operation(kind, name);
    op->sources = site.operation->sources;
    op->axes = std::move(axes);
    op->rank = 2;
    return op;
  }

  /// The product as loops, then its readers; nothing outside the new group changes but who defines the result.
  Result<std::unique_ptr<FusedGroup>> joined(const ProductSite& site) {
    auto axis = [&](const char* name, int64_t extent) { return context_.axis(name, context_.integer(extent)); };
    auto group = std::make_unique<FusedGroup>();
    const Expr i = axis("i", site.rows), j = axis("j", site.columns), r = axis("r", site.depth);
    group->axes = {i, j};
    const auto map = outer_axes(site, i, j);
    if (!map) return unsupported("the kernel that reads it walks other axes than its rows and columns");
    std::vector<GroupMember> readers;
    for (const GroupMember& m : site.reader->members) {
      GroupMember mapped = m;
      Substitution inner;
      for (size_t d = 0; d < m.axis_map.size(); ++d) {
        mapped.axis_map[d] = substitute(m.axis_map[d], *map);
        inner.emplace_back(m.operation->axes[d], mapped.axis_map[d]);
      }
      for (const Instr& instr : m.operation->body.instrs) {
        if (instr.op != Op::kLoad || instr.buffer != site.result) continue;
        if (!(substitute(instr.coordinates[0], inner) == i) || !(substitute(instr.coordinates[1], inner) == j))
          return unsupported("the kernel that reads it reads other elements than those that it writes at");
      }
      readers.push_back(std::move(mapped));
    }
    const std::vector<Expr> at{axis("i", site.rows), axis("j", site.columns), axis("r", site.depth)};
    Operation* sum = new_operation(OperationKind::kReduction, site.operation->name + "_product", site, at);
    sum->reduction = ReductionKind::kSum;
    sum->accumulate = DType::kFloat32;
    BodyBuilder b(context_);
    auto factor = [&](const ExternTensor& t, Expr row, Expr column) {
      return b.cast(b.load(t.buffer, coordinates_at(t, std::vector{row, column})), DType::kFloat32);
    };
    b.yield(b.mul(factor(*site.left, at[0], at[2]), factor(*site.right, at[2], at[1])));
    sum->body = b.take();
    Buffer* total = program_.new_buffer(sum->name, DType::kFloat32, site.result->sizes, site.result->device);
    total->source = site.result->source;
    total->layout.kind = LayoutKind::kStrided;
    total->layout.strides = {context_.integer(site.columns), context_.integer(1)};
    program_.set_outputs(sum, {total});
    group->members.push_back({sum, {i, j, r}, {r}});

    const std::vector<Expr> out{axis("i", site.rows), axis("j", site.columns)};
    Operation* rounded = new_operation(OperationKind::kPointwise, site.operation->name, site, out);
    BodyBuilder w(context_);
    ValueId v = w.load(total, out);
    if (site.bias) {
      const size_t rank = site.bias->axes.size();
      std::vector<Expr> where;
      for (size_t d = 0; d < rank; ++d) where.push_back(site.bias->sizes[d].is_integer(1) ? context_.integer(0) : out[2 - rank + d]);
      v = w.add(v, w.cast(w.load(site.bias->buffer, coordinates_at(*site.bias, where)), DType::kFloat32));
    }
    w.yield(w.cast(v, site.result->dtype));
    rounded->body = w.take();
    program_.set_outputs(rounded, {site.result});
    group->members.push_back({rounded, {i, j}, {}});
    for (GroupMember& m : readers) group->members.push_back(std::move(m));
    group->name = site.reader->name;
    group->internal_buffers = site.reader->internal_buffers;
    group->internal_buffers.push_back(total);
    group->internal_buffers.push_back(site.result);
    return group;
  }

  /// The operations that `joined` made are the last two: out of the program, or in the place of the call.
  void undo(const ProductSite& site) {
    program_.operations.resize(program_.operations.size() - 2);
    program_.set_outputs(site.operation, {site.result});
  }
  void keep(const ProductSite& site, std::unique_ptr<FusedGroup> group, const ProductTile& tile) {
    auto& ops = program_.operations;
    const std::vector<Operation*> made(ops.end() - 2, ops.end());
    ops.resize(ops.size() - 2);
    const auto place = ops.erase(std::ranges::find(ops, site.operation));
    ops.insert(place, made.begin(), made.end());
    s_.tiles[group.get()] = tile;
    auto& groups = s_.schedule.groups;
    *std::ranges::find_if(groups, [&](const auto& g) { return g.get() == site.reader; }) = std::move(group);
    std::erase_if(groups, [&](const auto& g) { return g.get() == site.product; });
  }

  // ---- what is measured ----

  int tensor_number(const Buffer* b) {
    auto [it, is_new] = numbers_.emplace(b, static_cast<int>(numbers_.size()));
    if (is_new) tensors_.push_back(b);
    return it->second;
  }

  static std::string numbers_text(std::span<const Expr> list) {
    std::string text;
    for (Expr e : list) text += (text.empty() ? "" : ", ") + to_string(e);
    return "[" + text + "]";
  }

  Result<std::string> kernel_step(const Kernel& kernel, Result<KernelSource> source) {
    if (!source) return unsupported("{}", source.reason());
    if (!kernel.range.is_integer()) return unsupported("its grid is not known before the call");
    std::string tensors;
    for (const KernelParameter& p : kernel.parameters) {
      if (!p.buffer) return unsupported("its kernel takes numbers");
      tensors += fmt::format("{}{}", tensors.empty() ? "" : ", ", tensor_number(p.buffer));
    }
    return fmt::format("{{\"source\": {}, \"tensors\": [{}], \"range\": {}}}", json_text(source->text), tensors, to_string(kernel.range));
  }

  std::string view_text(const ExternTensor& t) {
    std::vector<Expr> strides;
    const Layout& layout = t.buffer->layout;
    Expr offset = context_.integer(0);
    for (size_t d = 0; d < t.coordinates.size(); ++d) offset = offset + t.coordinates[d] * layout.strides[d];
    const auto form = linear_form(offset, t.axes);
    LITZ_CHECK(form, "{} is not strided", t.buffer->name);
    return fmt::format("[{}, {}, {}, {}]", tensor_number(t.buffer), numbers_text(t.sizes), numbers_text(form->coefficients),
                       to_string(form->rest));
  }

  Result<std::string> steps(const ProductSite& site, const ProductCandidate& candidate) {
    const Target& target = s_.device->target();
    CodegenBackend& codegen = s_.device->codegen();
    if (!candidate.tile) {
      std::string views;
      for (const ExternTensor* t : {site.bias, site.left, site.right})
        if (t) views += (views.empty() ? "" : ", ") + view_text(*t);
      const auto kernel = build_kernel(*site.reader, s_.schedule, target, s_.kernel_options());
      auto step = kernel_step(*kernel, codegen.generate(*kernel));
      if (!step) return step;
      return fmt::format("[{{\"call\": {}, \"views\": [{}], \"out\": {}}}, {}]", json_text(site.operation->callee->name), views,
                         tensor_number(site.result), *step);
    }
    auto group = joined(site);
    if (!group) return unsupported("{}", group.reason());
    const auto kernel = build_product_kernel(**group, s_.schedule, target, s_.kernel_options(), *candidate.tile);
    auto step = kernel_step(*kernel, s_.device->generate_product(*kernel, *candidate.tile));
    undo(site);
    if (!step) return step;
    return "[" + *step + "]";
  }

  std::string tensors_text() const {
    std::string text;
    for (const Buffer* b : tensors_)
      text += fmt::format("{}[{}, {}, {}]", text.empty() ? "" : ", ", json_text(dtype_name(b->dtype)), numbers_text(b->sizes),
                          numbers_text(b->layout.strides));
    return "[" + text + "]";
  }

  std::optional<Unsupported> choose(const ProductSite& site) {
    numbers_.clear();
    tensors_.clear();
    std::vector<ProductCandidate> listed, candidates;
    std::string texts, reasons;
    for (const ProductProvider& provider : kProviders) {
      auto takes = provider.takes(site);
      if (!takes) reasons = fmt::format("{}: {}", provider.name, takes.reason());
      else std::ranges::move(provider.candidates(site, *s_.device), std::back_inserter(listed));
    }
    if (listed.size() < 2) return unsupported("the library alone; {}", reasons);
    for (ProductCandidate& c : listed) {
      auto text = steps(site, c);
      if (!text) {
        reasons = fmt::format("{}: {}", c.name, text.reason());
        continue;
      }
      texts += fmt::format("{}{{\"name\": {}, \"steps\": {}}}", texts.empty() ? "" : ", ", json_text(c.name), *text);
      candidates.push_back(std::move(c));
    }
    if (candidates.size() < 2 || candidates[0].tile) return unsupported("no choice; {}", reasons);
    const std::string request = fmt::format("{{\"device\": {}, \"tensors\": {}, \"candidates\": [{}]}}",
                                            json_text(site.result->device.type), tensors_text(), texts);
    std::vector<double> times(candidates.size(), -1);
    {
      std::lock_guard lock(measurer_mutex);
      if (!measurer()) return unsupported("nobody measures in this process");
      if (!measurer()(request, times)) return unsupported("the measurement failed");
    }
    size_t best = 0;
    for (size_t k = 1; k < times.size(); ++k)
      if (times[k] > 0 && (times[k] < times[best] * (best ? 1 : kWorthIt) || times[best] <= 0)) best = k;
    std::string shown;
    for (size_t k = 0; k < times.size(); ++k) shown += fmt::format("{}{} {:.1f}", k ? ", " : "", candidates[k].name, times[k]);
    s_.report.notes.push_back(fmt::format("choose_products: {} ({}x{}x{}): {}, of {} us", site.operation->name, site.rows, site.columns,
                                          site.depth, candidates[best].name, shown));
    if (!candidates[best].tile) return {};
    auto group = joined(site);
    LITZ_CHECK(group, "{}", group.reason());
    keep(site, std::move(*group), *candidates[best].tile);
    return {};
  }

  CompileState& s_;
  LoopProgram& program_;
  ExprContext& context_;
  std::unordered_map<const Buffer*, int> numbers_;
  std::vector<const Buffer*> tensors_;
};

}  // namespace

void set_measurer(Measurer given) {
  std::lock_guard lock(measurer_mutex);
  measurer() = std::move(given);
}

void choose_products(CompileState& state) { ProductChooser(state).run(); }

}  // namespace litz
