// Products whose programs go from tile to tile: factors and results are blocks that the hardware copies by a tensor descriptor, while the
// program computes. Pointers that are no multiples of 16 bytes have no descriptor: such calls get the same kernel with ALIGNED = False,
// which takes its elements one by one.
#include <algorithm>
#include <array>

#include "litz/codegen/triton/triton_names.h"
#include "litz/codegen/triton/triton_writer.h"
#include "litz/kernel/tree_passes.h"
#include "litz/support/check.h"

namespace litz {
namespace {

constexpr int64_t kDescriptorAlignment = 16;  // bytes, of addresses and of leading strides

}  // namespace

/// What the statement reads or writes as a matrix of `down` by `across`; the reason where it is none.
std::string TritonWriter::add_descriptor(const KernelStatement& s, std::string name, const KernelLoop& down, const KernelLoop& across,
                                         std::string_view block_down, std::string_view block_across) {
  const std::array axes{down.axis, across.axis};
  const auto form = linear_form(s.offset, axes);
  if (!form || s.memory.is_scratch) return "an element's place is not linear in its row and column";
  const auto a = form->coefficients[0].as_integer(), b = form->coefficients[1].as_integer(), start = form->rest.as_integer();
  const auto rows = down.extent.as_integer(), columns = across.extent.as_integer();
  if (!a || !b || !start || !rows || !columns) return "its sizes are not known before the call";
  Descriptor made{std::move(name), *a == 1 && *b != 1};
  const int64_t leading = made.is_turned ? *b : *a, unit = made.is_turned ? *a : *b;
  const int64_t elements = kDescriptorAlignment / dtype_bytes(kernel_.parameters[s.memory.index].dtype);
  if (unit != 1 || leading <= 0 || leading % elements || *start % elements)
    return fmt::format("strides {} and {} from element {}, expected 1 and a multiple of {}", *a, *b, *start, elements);
  std::string base = pointer(s.memory);
  if (*start) base += fmt::format(" + {}", *start);
  descriptor_lines_.push_back(fmt::format("{} = tl.make_tensor_descriptor({}, [{}, {}], [{}, 1], [{}, {}])", made.name, base,
                                          made.is_turned ? *columns : *rows, made.is_turned ? *rows : *columns, leading,
                                          made.is_turned ? block_across : block_down, made.is_turned ? block_down : block_across));
  descriptors_.emplace(&s, std::move(made));
  return "";
}

void TritonWriter::find_descriptors() {
  const KernelLoop *rows = nullptr, *columns = nullptr, *summed = nullptr;
  std::vector<const KernelStatement*> stores;
  std::vector<const KernelStatement*> loads;
  bool has_batch = false;
  for_each_statement(kernel_.body, [&](const KernelStatement& s) {
    if (s.kind == KernelOp::kLoop) {
      const KernelLoop& loop = *s.loop;
      if (!loop.is_parallel) summed = &loop;
      else if (!loop.has_lanes) has_batch = true;
      else (dimension_.at(&loop) == 0 ? rows : columns) = &loop;
    }
    if (s.kind == KernelOp::kStore) stores.push_back(&s);
    if (s.kind == KernelOp::kLoad && !s.memory.is_scratch) loads.push_back(&s);
    if (s.kind == KernelOp::kLoad && s.result == product_.left) product_.left_load = &s;
    if (s.kind == KernelOp::kLoad && s.result == product_.right) product_.right_load = &s;
  });
  auto refuse = [&](std::string why) { no_descriptors_ = std::move(why); };
  if (has_batch) return refuse("a batch of products");
  if (is_wide_ || kernel_.reports_errors) return refuse("offsets beyond 32 bits, or checks");
  for (const KernelStatement* load : {product_.left_load, product_.right_load})
    if (!load || !load->operands.empty()) return refuse("a factor is computed in the kernel");
  std::string why = add_descriptor(*product_.left_load, "left_tensor", *rows, *summed, "YBLOCK", "RBLOCK");
  if (why.empty()) why = add_descriptor(*product_.right_load, "right_tensor", *summed, *columns, "RBLOCK", "XBLOCK");
  if (!why.empty()) return refuse(std::move(why));
  for (const KernelStatement* s : stores) {  // others are stored by pointers
    const KernelParameter& p = kernel_.parameters[s->memory.index];
    const auto& value = kernel_.values[s->operands[0]];
    auto same_buffer = [&](const KernelStatement* other) { return kernel_.parameters[other->memory.index].buffer == p.buffer; };
    // What is read of the buffer is what this element replaces, and others of its elements are left alone.
    const bool is_own = std::ranges::count_if(stores, same_buffer) == 1 &&
                        std::ranges::all_of(loads, [&](const auto* load) { return !same_buffer(load) || load->offset == s->offset; });
    const bool is_plain = !s->is_scatter && s->mode == ScatterMode::kStore && is_own && value.dtype == p.dtype;
    if (!is_plain || value.varies.size() != 2 || !is_floating(p.dtype) || dtype_bytes(p.dtype) > 4) continue;
    const size_t known = descriptor_lines_.size();
    add_descriptor(*s, fmt::format("{}_tensor", pointer(s->memory)), *rows, *columns, "YBLOCK", tile_->pieces > 1 ? "XPIECE" : "XBLOCK");
    if (descriptor_lines_.size() > known && descriptors_.at(s).is_turned) {
      descriptor_lines_.pop_back();
      descriptors_.erase(s);
    }
  }
}

/// What every tile uses, and the loop over tiles.
void TritonWriter::write_descriptors() {
  line("RBLOCK: tl.constexpr = {}", tile_->depth);
  if (tile_->pieces > 1) line("XPIECE: tl.constexpr = XBLOCK // {}", tile_->pieces);
  line("if ALIGNED:");
  for (const std::string& made : descriptor_lines_) line("    {}", made);
  line("for program in tl.range(tl.program_id(0), tiles_y * tiles_x, {}, flatten=True):", tile_->programs);
  ++depth_;
}

void TritonWriter::write_factors_of_descriptors() {
  line("else:");
  auto factor = [&](KernelValue v, const KernelStatement* load, const char* down, const char* across) {
    const Descriptor& d = descriptors_.at(load);
    line("    {} = {}.load([{}, {}]){}", operand(v), d.name, d.is_turned ? across : down, d.is_turned ? down : across,
         d.is_turned ? ".T" : "");
  };
  factor(product_.left, product_.left_load, "y_start", "r_start");
  factor(product_.right, product_.right_load, "r_start", "x_start");
}

std::string TritonWriter::piece_start() const { return piece_ ? fmt::format("x_start + {} * XPIECE", piece_) : "x_start"; }

/// The sum, then what follows it for one piece of the columns after the other: a piece needs fewer registers and less shared memory.
void TritonWriter::write_pieces(std::span<const KernelStatement> body) {
  LITZ_CHECK(tile_->pieces <= 2, "{}: {} pieces of a tile", kernel_.name, tile_->pieces);
  auto is_sum = [&](const KernelStatement& s) {
    return s.kind == KernelOp::kLoop || (s.kind == KernelOp::kInit && is_product(s.accumulator));
  };
  for (const KernelStatement& s : body)
    if (is_sum(s)) write_statement(s);
  if (tile_->pieces > 1) {
    const std::string& name = kernel_.accumulators[product_.accumulator].name;
    line("{0}_0, {0}_1 = tl.split(tl.permute(tl.reshape({0}, [YBLOCK, 2, XPIECE]), [0, 2, 1]))", name);
  }
  const KernelLoop* columns = nullptr;
  for (const auto& [loop, dimension] : dimension_)
    if (dimension == 1) columns = loop;
  for (piece_ = 0; piece_ < tile_->pieces; ++piece_) {
    if (tile_->pieces > 1) open_lanes(*columns, "x", piece_start(), "XPIECE");
    for (const KernelStatement& s : body)
      if (!is_sum(s)) write_statement(s);
  }
}

}  // namespace litz
