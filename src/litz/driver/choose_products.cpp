#include "litz/driver/choose_products.h"

#include <algorithm>
#include <mutex>

#include "litz/driver/json_text.h"
#include "litz/driver/product_site.h"
#include "litz/schedule/assign_storage.h"

namespace litz {
namespace {

constexpr double kWorthIt = 0.99;                       // of the library's time: below that a kernel of ours is taken
constexpr int64_t kLeastOperations = int64_t{1} << 28;  // multiplications and additions below which launches decide

std::mutex measurer_mutex;
Measurer& measurer() {
  static auto* one = new Measurer;
  return *one;
}

/// One way to compute a site. Without a tile it is the library's.
struct ProductCandidate {
  std::string name;
  std::optional<ProductTile> tile;
  bool with_producers = false;  // the factors are computed in the product's kernel
};

/// A source of candidates: its name, whether it takes a site (or why not), and its candidates, the most promising first.
struct ProductProvider {
  std::string_view name;
  Result<bool> (*takes)(const ProductSite& site);
  std::vector<ProductCandidate> (*candidates)(const ProductSite& site, const DeviceInterface& device);
};

bool is_narrow_float(DType t) { return t == DType::kFloat16 || t == DType::kBFloat16; }

std::string sizes_text(const ProductSite& s) {
  return (s.has_batch() ? fmt::format("{} times ", s.batch) : "") + fmt::format("{}x{}x{}", s.rows, s.columns, s.depth);
}

Result<bool> takes_all(const ProductSite&) { return true; }
Result<bool> takes_tiles(const ProductSite& s) {
  if (!is_narrow_float(s.result->dtype)) return unsupported("tiles are of 16-bit floats, found {}", dtype_name(s.result->dtype));
  if (s.left->dtype != s.result->dtype || s.right->dtype != s.result->dtype) return unsupported("the factors are of other types");
  if (s.operations() < kLeastOperations) return unsupported("{} is too small to gain by it", sizes_text(s));
  return true;
}

std::vector<ProductCandidate> tiles(const ProductSite& s, const DeviceInterface& device) {
  std::vector<ProductCandidate> out;
  for (const bool with_producers : {false, true}) {
    if (with_producers && s.producers.empty()) break;
    for (const ProductTile& tile : device.product_tiles(s.rows, s.columns, with_producers))
      if (s.depth > tile.depth) out.push_back({to_text(tile) + (with_producers ? ", factors computed" : ""), tile, with_producers});
  }
  return out;
}

const ProductProvider kProviders[] = {
    {"library", takes_all, [](const ProductSite&, const DeviceInterface&) { return std::vector<ProductCandidate>{{"library", {}}}; }},
    {"tiles", takes_tiles, tiles},
};

class ProductChooser {
 public:
  explicit ProductChooser(CompileState& state) : s_(state), program_(*state.loops), context_(*state.loops->context) {}

  void run() {
    find_internal_buffers(s_.schedule);  // of what is measured; found anew when all is decided
    std::vector<FusedGroup*> products;
    for (const auto& g : s_.schedule.groups)
      if (g->kind == GroupKind::kExtern && is_product(*g)) products.push_back(g.get());
    for (FusedGroup* g : products) {
      auto refuse = [&](const std::string& why) {
        s_.schedule.refusals.push_back({"choose_products", g->members[0].operation->name, "what reads it", why});
      };
      auto site = find_product_site(*g, s_);
      if (!site) {
        refuse(site.reason());
        continue;
      }
      if (site->reader) leave_reader_that_cannot_join(*site);
      if (!site->reader) refuse(site->apart);
      if (auto refused = choose(*site)) refuse(refused->reason);
    }
    for (const auto& g : s_.schedule.groups) g->internal_buffers.clear();
    name_groups(s_.schedule);
  }

 private:
  void leave_reader_that_cannot_join(ProductSite& site) {
    auto group = join(site, program_, false);
    if (group) return undo_join(site, program_);
    site.reader = nullptr;
    site.apart = group.reason();
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
    std::string tensors, writes;
    for (const KernelParameter& p : kernel.parameters) {
      if (!p.buffer) return unsupported("its kernel takes numbers");
      const int number = tensor_number(p.buffer);
      tensors += fmt::format("{}{}", tensors.empty() ? "" : ", ", number);
      if (p.kind == KernelParameter::kOutput) writes += fmt::format("{}{}", writes.empty() ? "" : ", ", number);
    }
    return fmt::format("{{\"source\": {}, \"tensors\": [{}], \"writes\": [{}], \"range\": {}}}", json_text(source->text), tensors, writes,
                       to_string(kernel.range));
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

  Result<std::string> group_step(const FusedGroup& group) {
    const auto kernel = build_kernel(group, s_.schedule, s_.device->target(), s_.kernel_options());
    return kernel_step(*kernel, s_.device->codegen().generate(*kernel));
  }

  std::string call_step(const ProductSite& site) {
    std::string views;
    for (const ExternTensor* t : {site.bias, site.left, site.right})
      if (t) views += (views.empty() ? "" : ", ") + view_text(*t);
    return fmt::format("{{\"call\": {}, \"views\": [{}], \"out\": {}}}", json_text(site.operation->callee->name), views,
                       tensor_number(site.result));
  }

  Result<std::string> tile_step(const ProductSite& site, const ProductCandidate& candidate) {
    auto group = join(site, program_, candidate.with_producers);
    if (!group) return unsupported("{}", group.reason());
    const auto kernel = build_product_kernel(**group, s_.schedule, s_.device->target(), s_.kernel_options(), *candidate.tile);
    auto step = kernel_step(*kernel, s_.device->generate_product(*kernel, *candidate.tile));
    undo_join(site, program_);
    return step;
  }

  /// What computes the factors, the product and what reads it, one after the other.
  Result<std::string> steps(const ProductSite& site, const ProductCandidate& candidate) {
    std::string text;
    std::optional<Unsupported> refused;
    auto add = [&](Result<std::string> step) {
      if (!step) refused = Unsupported{step.reason()};
      else text += (text.empty() ? "" : ", ") + *step;
    };
    if (!candidate.with_producers)
      for (const FusedGroup* g : site.producers) add(group_step(*g));
    if (candidate.tile) add(tile_step(site, candidate));
    else add(call_step(site));
    if (!candidate.tile && site.reader) add(group_step(*site.reader));
    if (refused) return *refused;
    return "[" + text + "]";
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
    s_.report.notes.push_back(
        fmt::format("choose_products: {} ({}): {}, of {} us", site.operation->name, sizes_text(site), candidates[best].name, shown));
    if (!candidates[best].tile) return {};
    auto group = join(site, program_, candidates[best].with_producers);
    LITZ_CHECK(group, "{}", group.reason());
    s_.tiles[keep_join(site, std::move(*group), candidates[best].with_producers, s_)] = *candidates[best].tile;
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
