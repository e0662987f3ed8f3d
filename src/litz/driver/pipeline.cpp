#include "litz/driver/pipeline.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "litz/decompose/decompose.h"
#include "litz/decompose/functionalize_writes.h"
#include "litz/driver/choose_products.h"
#include "litz/driver/compile_state.h"
#include "litz/driver/fill_report.h"
#include "litz/graph_opt/clean_views.h"
#include "litz/graph_opt/eliminate_dead_code.h"
#include "litz/graph_opt/fold_batch_norm.h"
#include "litz/graph_opt/fold_constants.h"
#include "litz/graph_opt/fuse_attention.h"
#include "litz/graph_opt/merge_common_subexpressions.h"
#include "litz/graph_opt/pad_matrix_products.h"
#include "litz/graph_opt/remove_no_ops.h"
#include "litz/graph_opt/separate_convolution_bias.h"
#include "litz/kernel/append_small_kernels.h"
#include "litz/kernel/make_cooperative_kernels.h"
#include "litz/kernel/reuse_in_place.h"
#include "litz/loop/simplify_indices.h"
#include "litz/lower/lower_graph.h"
#include "litz/schedule/assign_storage.h"
#include "litz/schedule/decide_layouts.h"
#include "litz/schedule/fuse.h"
#include "litz/schedule/inline_producers.h"
#include "litz/schedule/meet_required_strides.h"
#include "litz/schedule/own_scatter_bases.h"
#include "litz/schedule/split_reduction.h"
#include "litz/schedule/split_scan.h"
#include "litz/wrapper/build_wrapper.h"
#include "litz/wrapper/emit_executor.h"
#include "litz/wrapper/plan_memory.h"

namespace litz {
namespace {

using Refused = std::optional<Unsupported>;

struct Stage {
  StageInfo info;
  Refused (*run)(CompileState&);
  bool (*enabled)(const Options&) = [](const Options&) { return true; };
};

void decompose_graph(Graph& graph) { decompose(graph); }

/// A pass over the graph as a stage.
template <auto Pass>
Refused graph_stage(CompileState& s) {
  Pass(*s.graph);
  return {};
}

Refused fuse_attention_stage(CompileState& s) {
  std::vector<AttentionRefusal> refusals;
  fuse_attention(*s.graph, [&](const AttentionShape& shape) { return s.device->attention_call(shape); }, refusals);
  for (AttentionRefusal& r : refusals) s.schedule.refusals.push_back({"fuse_attention", r.softmax, "products", std::move(r.reason)});
  return {};
}

Refused pad_matrix_products_stage(CompileState& s) {
  pad_matrix_products(*s.graph, s.device->target().facts().matrix_row_bytes);
  return {};
}

Refused separate_convolution_bias_stage(CompileState& s) {
  const bool adds_apart = s.device->target().facts().execution == ExecutionModel::kGridOfBlocks;
  if (adds_apart) separate_convolution_bias(*s.graph);
  return {};
}

Refused fold_constants_stage(CompileState& s) {
  ReferenceEvaluator evaluator(*s.graph, s.given_constants, s.stored_constants, s.device->type() == Device{}.type);
  fold_constants(*s.graph, evaluator);
  return {};
}

Refused fold_parameters_stage(CompileState& s) {
  if (!s.constant_host) return {};
  HostEvaluator evaluator(*s.constant_host, s.host_constants);
  fold_constants(*s.graph, evaluator);
  return {};
}

Refused pack_weights_stage(CompileState& s) {
  if (!s.constant_host) return {};
  HostEvaluator evaluator(*s.constant_host, s.host_constants);
  s.device->pack_weights(*s.graph, evaluator);
  return {};
}

constexpr int64_t kWindowOfBlocks = 25;  // 5 x 5: see docs/decisions/025-depthwise-convolutions.md

Refused lower_graph_stage(CompileState& s) {
  LoweringOptions options;
  const TargetFacts& facts = s.device->target().facts();
  options.most_sorted_elements = facts.sorted_elements;
  options.scatters_by_atomics = facts.has_atomics;
  options.is_deterministic = s.options.deterministic;
  if (s.options.numerics != "strict") {
    options.draws_random_numbers = facts.draws_random_numbers;
    if (facts.execution == ExecutionModel::kGridOfBlocks) options.most_window_elements = kWindowOfBlocks;
  }
  auto loops = lower_graph(*s.graph, options);
  if (!loops) return Unsupported{loops.reason()};
  s.loops = std::move(*loops);
  return {};
}

Refused inline_producers_stage(CompileState& s) {
  inline_producers(*s.loops, s.device->target(), s.schedule.refusals);
  return {};
}

Refused simplify_indices_stage(CompileState& s) {
  simplify_indices(*s.loops);
  return {};
}

Refused own_scatter_bases_stage(CompileState& s) {
  own_scatter_bases(*s.loops);
  return {};
}

Refused split_reduction_stage(CompileState& s) {
  SplitOptions options;
  options.exact_only = s.options.numerics == "strict";
  const TargetFacts& facts = s.device->target().facts();
  if (facts.execution == ExecutionModel::kGridOfBlocks) {
    options.enough_values = facts.multiprocessors;
    options.most_pieces = options.enough_pieces = 4 * facts.multiprocessors;
    options.piece_elements = 1 << 12;
    options.least_elements = 1 << 15;  // below, a second kernel costs more than it brings
  }
  split_reduction(*s.loops, s.schedule.refusals, options);
  if (facts.execution == ExecutionModel::kGridOfBlocks)
    split_scan(*s.loops, s.schedule.refusals, {.enough_rows = facts.multiprocessors / 2, .exact_only = options.exact_only});
  return {};
}

Refused decide_layouts_stage(CompileState& s) {
  prefer_required_strides(*s.loops);
  decide_layouts(*s.loops, s.device->target(), s.options.channels_last);
  return {};
}

Refused meet_required_strides_stage(CompileState& s) {
  meet_required_strides(*s.loops);
  return {};
}

Refused fuse_stage(CompileState& s) {
  s.schedule.program = s.loops.get();
  FuseOptions options;
  if (!s.options.fuse) options.max_members = 1;
  const TargetFacts& facts = s.device->target().facts();
  if (facts.execution == ExecutionModel::kGridOfBlocks) {
    options.min_parallel = 8 * facts.multiprocessors;  // that many programs fill it
    options.rows_may_differ = false;
    options.slow_may_wait = false;
  } else {
    options.max_bytes_between_loops = facts.l2_bytes / 2;
    options.lanes = facts.vector_bytes / 4;
  }
  fuse(s.schedule, options);
  name_groups(s.schedule);
  return {};
}

Refused choose_products_stage(CompileState& s) {
  choose_products(s);
  return {};
}

Refused assign_storage_stage(CompileState& s) {
  assign_storage(s.schedule);
  find_internal_buffers(s.schedule);
  return {};
}

Refused build_kernels_stage(CompileState& s) {
  const KernelOptions options = s.kernel_options();
  const Target& target = s.device->target();
  for (size_t k = 0; k < s.schedule.groups.size(); ++k) {
    const FusedGroup& group = *s.schedule.groups[k];
    if (const ProductTile* tile = s.tile_of(k)) s.kernels.push_back(build_product_kernel(group, s.schedule, target, options, *tile));
    else s.kernels.push_back(group.kind == GroupKind::kLoops ? build_kernel(group, s.schedule, target, options) : nullptr);
  }
  return {};
}

Refused reuse_in_place_stage(CompileState& s) {
  reuse_in_place(s.schedule, s.kernels, s.device->target());
  return {};
}

Refused append_small_kernels_stage(CompileState& s) {
  const TargetFacts& facts = s.device->target().facts();
  if (facts.knows_last_program) append_small_kernels(s.schedule, s.kernels, facts, [&](size_t k) { return s.tile_of(k) != nullptr; });
  return {};
}

Refused make_cooperative_kernels_stage(CompileState& s) {
  const TargetFacts& facts = s.device->target().facts();
  if (facts.runs_programs_together)
    make_cooperative_kernels(s.schedule, s.kernels, facts, [&](size_t k) { return s.tile_of(k) != nullptr; });
  return {};
}

Refused generate_code_stage(CompileState& s) {
  for (const auto& kernel : s.kernels) {
    s.sources.emplace_back();
    if (!kernel) continue;
    const Device* place = nullptr;
    for (const KernelParameter& p : kernel->parameters) {
      if (!p.buffer) continue;
      const Device& own = p.buffer->device;
      if (own.type != s.device->type())
        return Unsupported{
            fmt::format("kernel {} runs on '{}' and touches '{}' on '{}'", kernel->name, s.device->type(), p.name, own.type)};
      if (place && own != *place)
        return Unsupported{fmt::format("kernel {} runs on {} {} and touches '{}' on {} {}", kernel->name, own.type, place->index, p.name,
                                       own.type, own.index)};
      place = &own;
    }
    const ProductTile* tile = s.tile_of(s.sources.size() - 1);
    auto source = tile ? s.device->generate_product(*kernel, *tile) : s.device->codegen().generate(*kernel);
    if (!source) return Unsupported{source.reason()};
    s.sources.back() = std::move(*source);
  }
  return {};
}

Refused build_wrapper_stage(CompileState& s) {
  std::vector<ScheduledKernel> scheduled;
  for (size_t k = 0; k < s.kernels.size(); ++k) scheduled.push_back({s.kernels[k].get(), s.sources[k]});
  s.wrapper = build_wrapper(s.schedule, scheduled, s.device->target(), s.stored_constants);
  return {};
}

Refused plan_memory_stage(CompileState& s) {
  plan_memory(*s.wrapper, s.device->target().facts().tensor_alignment);
  return {};
}

Refused compile_kernels_stage(CompileState& s) {
  std::vector<KernelSource> sources;
  for (const auto& kernel : s.wrapper->kernels) {
    if (kernel.source.text.empty())
      return Unsupported{fmt::format("kernel {} has no source: the text of a wrapper names kernels only", kernel.name)};
    sources.push_back(kernel.source);
  }
  auto compiled = s.device->codegen().compile(sources);
  if (!compiled) return Unsupported{compiled.reason()};
  for (size_t k = 0; k < sources.size(); ++k) s.wrapper->kernels[k].compiled = (*compiled)[k];
  return {};
}

Refused emit_executor_stage(CompileState& s) {
  s.program = std::make_shared<runtime::Program>(emit_executor(*s.wrapper));
  s.program->profile = s.options.profile;
  return {};
}

bool is_frozen(const Options& options) { return options.freezing; }

/// The whole compiler, in order.
const Stage kStages[] = {
    // Before all others: they see one op that writes.
    {{"functionalize_writes", Level::kGraph, "ops that write become ops that compute and a copy"}, graph_stage<functionalize_writes>},
    // While the norm is one op.
    {{"fold_batch_norm", Level::kGraph, "norms with constant statistics become part of constant weights"},
     graph_stage<fold_batch_norm>,
     [](const Options& o) { return o.freezing && o.numerics != "strict"; }},
    // While the softmax is one op. Products and probabilities are not rounded as eager rounds them.
    {{"fuse_attention", Level::kGraph, "products around a softmax become the device's fused attention"},
     fuse_attention_stage,
     [](const Options& o) { return o.numerics != "strict"; }},
    {{"decompose", Level::kGraph, "composite ops become primitives"}, graph_stage<decompose_graph>},
    // After decomposition, which adds copies and casts of its own.
    {{"remove_no_ops", Level::kGraph, "ops that change nothing, as seen by the caller, are dropped"}, graph_stage<remove_no_ops>},
    {{"clean_views", Level::kGraph, "chains of views become one"}, graph_stage<clean_views>},
    {{"fold_parameters", Level::kGraph, "what depends on parameters alone is computed now"}, fold_parameters_stage, is_frozen},
    // Weights that were computed are constants now.
    {{"pack_weights", Level::kGraph, "constant weights are laid out as libraries want them"}, pack_weights_stage, is_frozen},
    // The interpreter rounds once where eager's functions may be an ulp away: strict numerics computes at run time.
    {{"fold_constants", Level::kGraph, "what depends on constants alone is computed now"},
     fold_constants_stage,
     [](const Options& o) { return o.numerics != "strict"; }},
    {{"separate_convolution_bias", Level::kGraph, "biases that the library would add in a kernel of its own are added with what follows"},
     separate_convolution_bias_stage},
    {{"pad_matrix_products", Level::kGraph, "large products get the columns that the library's fast kernels ask for"},
     pad_matrix_products_stage},
    // After decomposition: masks and scalars that every layer builds anew are one value.
    {{"merge_common_subexpressions", Level::kGraph, "equal pure calls are made once"}, graph_stage<merge_common_subexpressions>},
    {{"eliminate_dead_code", Level::kGraph, "calls that nobody needs are dropped"}, graph_stage<eliminate_dead_code>},
    {{"lower_graph", Level::kLoop, "every op becomes loops over buffers, or an extern call"}, lower_graph_stage},
    {{"own_scatter_bases", Level::kLoop, "what a scatter writes into belongs to it alone"}, own_scatter_bases_stage},
    // Before layouts: what is left are the buffers that will exist, with their real readers.
    {{"inline_producers", Level::kLoop, "cheap producers are copied into their consumers"},
     inline_producers_stage,
     [](const Options& o) { return o.inline_producers; }},
    // Indices that were loaded from another buffer are expressions now, and their checks can be decided.
    {{"simplify_indices", Level::kLoop, "checks and selects that bounds decide are dropped"}, simplify_indices_stage},
    // With their producers inside, before layouts: pieces are buffers as any other.
    {{"split_reduction", Level::kLoop, "long reductions to few values are cut into pieces, for grids of blocks long scans of few rows too"},
     split_reduction_stage},
    {{"decide_layouts", Level::kLoop, "every buffer gets its strides"}, decide_layouts_stage},
    {{"meet_required_strides", Level::kLoop, "extern calls get the strides that they demand"}, meet_required_strides_stage},
    {{"fuse", Level::kSchedule, "operations that share memory traffic become one kernel"}, fuse_stage},
    // The kernels that read products are known, and nothing has storage yet.
    {{"choose_products", Level::kSchedule, "products and what reads them become one kernel where that is measured to be faster"},
     choose_products_stage,
     [](const Options& o) { return o.mode == "max-autotune" || o.mode == "max-autotune-no-cudagraphs"; }},
    {{"assign_storage", Level::kSchedule, "mutations happen in place where they may"}, assign_storage_stage},
    {{"build_kernels", Level::kKernel, "groups become trees of loops over memory"}, build_kernels_stage},
    {{"reuse_in_place", Level::kKernel, "an output takes the memory of an input that ends there"}, reuse_in_place_stage},
    // After the memory of every kernel is known: what runs between two kernels is compared by it.
    {{"append_small_kernels", Level::kKernel, "small kernels are run by the last program of the one that they wait for"},
     append_small_kernels_stage},
    {{"make_cooperative_kernels", Level::kKernel, "kernels that wait for what a long row's pieces give become phases of one launch"},
     make_cooperative_kernels_stage},
    {{"generate_code", Level::kSource, "kernels become source text"}, generate_code_stage},
    {{"build_wrapper", Level::kWrapper, "the call, line by line"}, build_wrapper_stage},
    {{"plan_memory", Level::kWrapper, "temporaries share an arena"}, plan_memory_stage},
    {{"compile_kernels", Level::kSource, "source text becomes machine code"}, compile_kernels_stage},
    {{"emit_executor", Level::kExecutor, "the program that the executor runs"}, emit_executor_stage},
};

void verify_level(const CompileState& s, Level level) {
  switch (level) {
    case Level::kGraph: return verify(*s.graph);
    case Level::kLoop: return verify(*s.loops);
    case Level::kSchedule: return verify(s.schedule);
    case Level::kKernel:
      for (const auto& k : s.kernels)
        if (k) verify(*k);
      return;
    case Level::kWrapper: return verify(*s.wrapper);
    case Level::kSource:
    case Level::kExecutor: return;
  }
}

/// Generated sources are part of the report: their paths are what a reader asks for first.
void write_dump(CompileState& s, const Stage& stage, size_t number) {
  const std::filesystem::path folder = s.options.dump;
  std::filesystem::create_directories(folder);
  const auto path = folder / fmt::format("{:02}-{}.{}", number, stage.info.name, stage.info.level == Level::kSource ? "txt" : "ir");
  std::ofstream(path) << level_text(s, stage.info.level);
  if (stage.run == generate_code_stage) s.report.cpp_paths.push_back(path.string());
}

bool is_skipped(const Options& options, std::string_view stage) {
  return fmt::format("+{}+", options.skip).find(fmt::format("+{}+", stage)) != std::string::npos;
}

/// Runs stages `first` to `last`. On an internal error the message gets the stage's name.
Refused run_stages(CompileState& s, size_t first, size_t last) {
  for (size_t k = first; k <= last; ++k) {
    const Stage& stage = kStages[k];
    if (!stage.enabled(s.options) || is_skipped(s.options, stage.info.name)) continue;
    const auto start = std::chrono::steady_clock::now();
    try {
      if (auto refused = stage.run(s)) return refused;
      if (s.options.verify) verify_level(s, stage.info.level);
    } catch (const InternalError& error) { throw InternalError(fmt::format("in {}: {}", stage.info.name, error.what())); }
    s.report.stage_ms.emplace_back(stage.info.name,
                                   std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    if (!s.options.dump.empty()) write_dump(s, stage, k + 1);
  }
  return {};
}

/// The device of the tensors that are not on the host, if there are any.
class DeviceChoice {
 public:
  void see(const Device& device) {
    if (device.type != "cpu") type_ = device.type;
  }
  DeviceInterface& find(const Options& options) const {
    DeviceInterface* device = find_device(type_, options.isa);
    if (!device) user_error("tensors on device '{}', for which this build of Litz has no device", type_);
    return *device;
  }

 private:
  std::string type_ = "cpu";
};

DeviceInterface& device_of(const Graph& graph, const Options& options) {
  DeviceChoice choice;
  auto look = [&](const Node* n) {
    for (const TensorMeta& t : n->outputs) choice.see(t.device);
  };
  for (const Node* n : graph.inputs) look(n);
  for (const Node* n : graph.nodes) look(n);
  return choice.find(options);
}

/// What the text holds becomes the state that the stage which makes such a level leaves.
void read_text(CompileState& s, std::string_view text, Level level) {
  DeviceChoice choice;
  switch (level) {
    case Level::kGraph:
      s.graph = parse_graph(text);
      s.device = &device_of(*s.graph, s.options);
      break;
    case Level::kLoop:
      s.loops = parse_loop_program(text);
      for (const auto& b : s.loops->buffers()) choice.see(b->device);
      s.device = &choice.find(s.options);
      break;
    case Level::kKernel:
      s.kernels = parse_kernels(text);
      for (const auto& kernel : s.kernels)
        for (const KernelParameter& p : kernel->parameters)
          if (p.buffer) choice.see(p.buffer->device);
      s.device = &choice.find(s.options);
      break;
    case Level::kWrapper:
      s.wrapper = parse_wrapper(text);
      for (const WrapperTensor& t : s.wrapper->tensors) choice.see(t.device);
      s.device = &choice.find(s.options);
      break;
    default: user_error("text of level '{}' cannot be read, expected graph, loop, kernel or wrapper", level_name(level));
  }
  verify_level(s, level);
}

/// The first stage that takes what the text of a level gives.
size_t first_stage(Level level) {
  size_t k = 0;
  if (level == Level::kGraph) return k;
  while (kStages[k].info.level != level) ++k;
  if (level == Level::kKernel)
    while (kStages[k + 1].info.level == level) ++k;  // passes over kernels read the schedule as well
  return k + 1;                                      // behind the stage that makes the level
}

/// A stage's name, or a level's: then the last stage before `limit` that ends in it.
size_t find_stage(std::string_view name, size_t limit) {
  std::optional<size_t> found;
  std::string known;
  for (size_t k = 0; k < std::size(kStages); ++k) {
    const bool is_named = kStages[k].info.name == name || level_name(kStages[k].info.level) == name;
    if (is_named && (k < limit || !found)) found = k;
    known += (known.empty() ? "" : ", ") + std::string(kStages[k].info.name);
  }
  if (!found) user_error("no stage or level '{}', stages are: {}", name, known);
  return *found;
}

constexpr size_t kLast = std::size(kStages) - 1;

}  // namespace

std::vector<StageInfo> stage_list() {
  std::vector<StageInfo> out;
  for (const Stage& s : kStages) out.push_back(s.info);
  return out;
}

Result<std::unique_ptr<CompiledGraph>> compile_graph(std::unique_ptr<Graph> graph, const Options& options, ConstantData constants,
                                                     const litz_constant_host* host) {
  CompileState s;
  s.options = options;
  s.graph = std::move(graph);
  s.given_constants = std::move(constants);
  s.constant_host = host;
  for (const Node* n : s.graph->nodes)
    if (n->kind == NodeKind::kConstant) s.host_constants.emplace(n->name, static_cast<int64_t>(s.host_constants.size()));
  verify(*s.graph);
  s.device = &device_of(*s.graph, options);
  if (!options.dump.empty()) {
    std::filesystem::create_directories(options.dump);
    std::ofstream(std::filesystem::path(options.dump) / "00-import.ir") << to_text(*s.graph);
  }
  if (auto refused = run_stages(s, 0, kLast)) return *refused;
  fill_report(s);
  auto compiled = std::make_unique<CompiledGraph>();
  compiled->program = std::move(s.program);
  for (const std::string& name : compiled->program->constants) {
    const auto found = s.host_constants.find(name);
    LITZ_CHECK(found != s.host_constants.end(), "the program takes a constant '{}', which the graph does not have", name);
    compiled->constants.push_back(static_cast<int32_t>(found->second));
  }
  compiled->report = std::move(s.report);
  return compiled;
}

std::string run_on_text(std::string_view text, Level from, std::string_view last, const Options& options) {
  CompileState s;
  s.options = options;
  read_text(s, text, from);
  const size_t first = first_stage(from);
  const size_t limit = from == Level::kKernel ? first + 1 : std::size(kStages);  // what follows reads the schedule
  const size_t end = find_stage(last, limit);
  const StageInfo& stage = kStages[end].info;
  if (end < first && stage.level != from)
    user_error("stage {} comes before what text of level {} can go through", stage.name, level_name(from));
  if (end >= limit)
    user_error("text of level {} goes as far as {}: {} needs the whole program", level_name(from), kStages[limit - 1].info.name,
               stage.name);
  if (end >= first)
    if (auto refused = run_stages(s, first, end)) user_error("not taken: {}", refused->reason);
  return level_text(s, stage.level);
}

}  // namespace litz
