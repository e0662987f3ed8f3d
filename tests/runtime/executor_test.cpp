// The executor over a framework of plain memory: what it computes, allocates, frees and reports.
#include "litz/runtime/executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "litz/symbolic/bytecode.h"

namespace litz::runtime {
namespace {

struct PlainTensor {
  std::vector<float> own;
  float* data = nullptr;
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;
};

/// Tensors of floats in plain memory; counts what is alive and how parallel_for was cut.
struct PlainMemory {
  std::atomic<int> alive = 0;
  std::atomic<int> allocations = 0;
  std::atomic<int> pieces = 0;
  bool extern_fails = false;
  std::vector<void*> dropped;

  Framework table() {
    Framework f;
    f.context = this;
    f.device_type = [](void*, const char* name) { return std::string(name) == "cpu" ? 0 : -1; };
    f.empty_strided = [](void* c, int32_t rank, const int64_t* sizes, const int64_t* strides, int32_t, int32_t, int32_t, void** tensor) {
      auto* made = new PlainTensor;
      int64_t elements = 1, last = 0;
      for (int32_t d = 0; d < rank; d++) {
        elements *= sizes[d];
        last += (sizes[d] - 1) * strides[d];
      }
      made->own.resize(static_cast<size_t>(elements ? last + 1 : 0) + 16);
      made->data = made->own.data();
      made->sizes.assign(sizes, sizes + rank);
      made->strides.assign(strides, strides + rank);
      self(c).alive++;
      self(c).allocations++;
      *tensor = made;
      return 0;
    };
    f.from_memory = [](void* c, void* data, int32_t rank, const int64_t* sizes, const int64_t* strides, int32_t, int32_t, int32_t,
                       void** tensor) {
      *tensor = new PlainTensor{{}, static_cast<float*>(data), {sizes, sizes + rank}, {strides, strides + rank}};
      self(c).alive++;
      return 0;
    };
    f.as_strided = [](void* c, void* tensor, int32_t rank, const int64_t* sizes, const int64_t* strides, int64_t offset, void** view) {
      auto* base = static_cast<PlainTensor*>(tensor);
      *view = new PlainTensor{{}, base->data + offset, {sizes, sizes + rank}, {strides, strides + rank}, base->offset + offset};
      self(c).alive++;
      return 0;
    };
    f.data_pointer = [](void*, void* tensor, void** data) { return *data = static_cast<PlainTensor*>(tensor)->data, 0; };
    f.release = [](void* c, void* tensor) {
      delete static_cast<PlainTensor*>(tensor);
      self(c).alive--;
    };
    f.describe = [](void*, void* tensor, int32_t* rank, const int64_t** sizes, const int64_t** strides, int64_t* offset) {
      auto* t = static_cast<PlainTensor*>(tensor);
      *rank = static_cast<int32_t>(t->sizes.size());
      *sizes = t->sizes.data();
      *strides = t->strides.data();
      *offset = t->offset;
      return 0;
    };
    f.copy = [](void*, void* destination, void* source) {
      auto *d = static_cast<PlainTensor*>(destination), *s = static_cast<PlainTensor*>(source);
      for (int64_t i = 0; i < d->sizes.at(0); i++)
        for (int64_t j = 0; j < (d->sizes.size() > 1 ? d->sizes[1] : 1); j++) {
          const auto at = [&](PlainTensor* t) { return i * t->strides[0] + (t->sizes.size() > 1 ? j * t->strides[1] : 0); };
          d->data[at(d)] = s->data[at(s)];
        }
      return 0;
    };
    // The only op: its argument twice, laid out by columns.
    f.prepare_extern = [](void*, const Program& program, const ExternLine& line, std::string* reason) -> void* {
      if (program.callees[line.callee].op != "twice") return *reason = "no such op", nullptr;
      return new int(0);
    };
    f.call_extern = [](void* c, void*, CallFrame& frame) {
      if (self(c).extern_fails) return 1;
      auto* x = static_cast<PlainTensor*>(frame.tensor(std::get<TensorArg>(frame.line().arguments[0]).slot));
      const int64_t sizes[2] = {x->sizes[0], x->sizes[1]}, strides[2] = {1, x->sizes[0]};
      void* made;
      Framework f = self(c).table();
      f.empty_strided(c, 2, sizes, strides, 6, 0, 0, &made);
      auto* y = static_cast<PlainTensor*>(made);
      for (int64_t i = 0; i < sizes[0]; i++)
        for (int64_t j = 0; j < sizes[1]; j++) y->data[i + j * sizes[0]] = 2 * x->data[i * x->strides[0] + j * x->strides[1]];
      return frame.set_result(0, y) ? 0 : 1;
    };
    f.destroy_extern = [](void*, void* prepared) { delete static_cast<int*>(prepared); };
    f.argument_tensor = [](void* c, void* object, void** tensor) {
      auto* t = static_cast<PlainTensor*>(object);
      *tensor = new PlainTensor{{}, t->data, t->sizes, t->strides, t->offset};
      self(c).alive++;
      return 0;
    };
    f.drop_argument = [](void* c, void* object) { self(c).dropped.push_back(object); };
    f.parallel_for = [](void* c, int64_t range, int64_t grain, void (*body)(void*, int64_t, int64_t), void* argument) {
      std::vector<std::thread> threads;
      for (int64_t begin = 0; begin < range; begin += std::max(grain, (range + 3) / 4)) {
        self(c).pieces++;
        threads.emplace_back([=] {
          thread = static_cast<int32_t>(begin / std::max(grain, (range + 3) / 4));
          body(argument, begin, std::min(range, begin + std::max(grain, (range + 3) / 4)));
        });
      }
      for (auto& t : threads) t.join();
    };
    f.thread_count = [](void*) { return 4; };
    f.thread_index = [](void*) { return thread; };
    f.error_message = [](void*) { return "the op failed"; };
    return f;
  }
  static PlainMemory& self(void* context) { return *static_cast<PlainMemory*>(context); }
  static thread_local int32_t thread;
};
thread_local int32_t PlainMemory::thread = 0;

/// y = x + 1 over rows of n0 x n1 numbers: numbers = {columns}.
void add_one(void* const* pointers, const int64_t* numbers, int64_t begin, int64_t end) {
  auto* x = static_cast<const float*>(pointers[0]);
  auto* y = static_cast<float*>(pointers[1]);
  for (int64_t i = begin * numbers[0]; i < end * numbers[0]; i++) y[i] = x[i] + 1;
}

/// Fills its scratch with the row's number, yields, and checks that nobody else wrote there.
void use_scratch(void* const* pointers, const int64_t* numbers, int64_t begin, int64_t end) {
  auto* x = static_cast<const float*>(pointers[0]);
  auto* y = static_cast<float*>(pointers[1]);
  auto* scratch = static_cast<float*>(pointers[2]);
  for (int64_t row = begin; row < end; row++) {
    for (int64_t j = 0; j < numbers[0]; j++) scratch[j] = static_cast<float>(row);
    std::this_thread::yield();
    for (int64_t j = 0; j < numbers[0]; j++) y[row * numbers[0] + j] = x[row * numbers[0] + j] + scratch[j];
  }
}

void bad_index(void* const* pointers, const int64_t*, int64_t, int64_t) {
  *static_cast<KernelError*>(pointers[2]) = {KernelError::kIndexOutOfRange, 9, 5};
}

/// Slots: 0 = x, 1 = y; table: 0 = rows, 1 = columns, 2 = 1, 3 = grain, 4 = scratch bytes.
class ExecutorTest : public testing::Test {
 protected:
  ExecutorTest() {
    rows = context.symbol("s0", SymbolKind::kSize, {0, 1000}, 3);
    columns = context.symbol("s1", SymbolKind::kSize, {0, 1000}, 4);
    program->name = "test";
    program->argument_count = 1;
    program->argument_slots = {0};
    program->slot_count = 6;
    program->device_types = {"cpu"};
    program->symbols = {{SymbolSource::kSize, 0, 0}, {SymbolSource::kSize, 0, 1}};
    entries = {rows, columns, context.integer(1), context.integer(2), columns * 4};
    program->specs = {{DType::kFloat32, {}, {0, 1}, {1, 2}}};
  }

  PlainTensor input(int64_t n0, int64_t n1) {
    PlainTensor t;
    t.own.resize(static_cast<size_t>(n0 * n1));
    for (size_t i = 0; i < t.own.size(); i++) t.own[i] = static_cast<float>(i);
    t.data = t.own.data();
    t.sizes = {n0, n1};
    t.strides = {n1, 1};
    return t;
  }

  void finish() {
    const Expr symbols[] = {rows, columns};
    program->table = compile_exprs(entries, symbols);
    program->table_size = static_cast<int32_t>(entries.size());
    auto made = Executor::create(program, memory.table());
    ASSERT_TRUE(made) << made.reason();
    executor = std::move(*made);
  }

  RunStatus run(PlainTensor& x) {
    CallArgument argument{&x, x.data, x.sizes.data(), x.strides.data(), 2};
    outputs.assign(program->outputs.size(), {});
    message.clear();
    return executor->run(&argument, outputs.data(), &message);
  }

  void release_outputs() {
    for (CallOutput& o : outputs)
      if (o.kind == CallOutput::kTensor) memory.table().release(&memory, o.tensor);
  }

  KernelLine kernel(KernelFunction function) {
    program->kernels.push_back({"k", function, nullptr});
    return {static_cast<int32_t>(program->kernels.size() - 1), {0, 1}, {1}, 0, 3};
  }

  ExprContext context;
  Expr rows, columns;
  std::vector<Expr> entries;
  std::shared_ptr<Program> program = std::make_shared<Program>();
  PlainMemory memory;
  std::unique_ptr<Executor> executor;
  std::vector<CallOutput> outputs;
  std::string message;
};

TEST_F(ExecutorTest, RunsAKernelOverEverySize) {
  program->lines = {AllocLine{1, 0}, kernel(add_one)};
  program->outputs = {{OutputSpec::kTensor, 1}, {OutputSpec::kInteger, 4}, {OutputSpec::kInput, 0}};
  finish();
  for (auto [n0, n1] : {std::pair<int64_t, int64_t>{3, 4}, {7, 5}, {3, 4}, {0, 5}, {1, 1}, {500, 3}}) {
    PlainTensor x = input(n0, n1);
    ASSERT_EQ(run(x), RunStatus::kOk);
    auto* y = static_cast<PlainTensor*>(outputs[0].tensor);
    ASSERT_EQ(y->sizes, (std::vector<int64_t>{n0, n1}));
    for (int64_t i = 0; i < n0 * n1; i++) ASSERT_EQ(y->data[i], x.data[i] + 1);
    EXPECT_EQ(outputs[1].integer, n1 * 4);
    EXPECT_EQ(outputs[2].kind, CallOutput::kArgument);
    release_outputs();
    EXPECT_EQ(memory.alive, 0);
  }
}

TEST_F(ExecutorTest, GivesOneThreadWhatIsNotWorthTwo) {
  program->lines = {AllocLine{1, 0}, kernel(add_one)};
  program->outputs = {{OutputSpec::kTensor, 1}};
  finish();
  PlainTensor x = input(2, 4);
  run(x);
  release_outputs();
  EXPECT_EQ(memory.pieces, 0);
  PlainTensor more = input(3, 4);
  run(more);
  release_outputs();
  EXPECT_EQ(memory.pieces, 2);  // grain 2: at least two rows a piece
}

TEST_F(ExecutorTest, ScratchBelongsToOneThread) {
  KernelLine line = kernel(use_scratch);
  line.scratch_bytes = 4;
  program->lines = {AllocLine{1, 0}, line};
  program->outputs = {{OutputSpec::kTensor, 1}};
  finish();
  PlainTensor x = input(400, 50);
  ASSERT_EQ(run(x), RunStatus::kOk);
  auto* y = static_cast<PlainTensor*>(outputs[0].tensor);
  for (int64_t i = 0; i < 400 * 50; i++) ASSERT_EQ(y->data[i], x.data[i] + static_cast<float>(i / 50));
  release_outputs();
}

TEST_F(ExecutorTest, RaisesWhatAKernelReportsAndFreesEverything) {
  KernelLine line = kernel(bad_index);
  line.reports_errors = true;
  program->lines = {AllocLine{1, 0}, line};
  program->outputs = {{OutputSpec::kTensor, 1}};
  finish();
  PlainTensor x = input(3, 4);
  EXPECT_EQ(run(x), RunStatus::kIndexError);
  EXPECT_EQ(message, "index 9 is out of bounds for dimension with size 5");
  EXPECT_EQ(outputs[0].kind, CallOutput::kNone);
  EXPECT_EQ(memory.alive, 0);
}

TEST_F(ExecutorTest, CopiesAResultWhoseLayoutIsNotThePlannedOne) {
  program->callees = {{"twice", "twice(Tensor x) -> Tensor"}};
  KernelLine line = kernel(add_one);
  line.tensors = {2, 1};
  program->lines = {ExternLine{0, {TensorArg{0}}, {2}, {}, {0}}, AllocLine{1, 0}, line};
  program->outputs = {{OutputSpec::kTensor, 1}};
  finish();
  PlainTensor x = input(3, 4);
  ASSERT_EQ(run(x), RunStatus::kOk);
  auto* y = static_cast<PlainTensor*>(outputs[0].tensor);
  for (int64_t i = 0; i < 12; i++) EXPECT_EQ(y->data[i], 2 * x.data[i] + 1);
  release_outputs();
  EXPECT_EQ(memory.alive, 0);
}

TEST_F(ExecutorTest, AFailedCallLeavesNothingBehind) {
  program->callees = {{"twice", "twice(Tensor x) -> Tensor"}};
  program->lines = {AllocLine{1, 0}, ExternLine{0, {TensorArg{0}}, {2}, {}, {-1}}};
  program->outputs = {{OutputSpec::kTensor, 2}};
  finish();
  memory.extern_fails = true;
  PlainTensor x = input(3, 4);
  EXPECT_EQ(run(x), RunStatus::kFrameworkError);
  EXPECT_EQ(memory.alive, 0);
  memory.extern_fails = false;
  EXPECT_EQ(run(x), RunStatus::kOk);
  release_outputs();
  EXPECT_EQ(memory.alive, 0);
}

TEST_F(ExecutorTest, ViewsAndPiecesOfAnArenaHaveTheRightMemory) {
  // Slot 2: arena of two tensors, 3 and 4 in it; 5 = view of 4 shifted by one row.
  entries.push_back(rows * columns * 8);  // 5: bytes of the arena
  entries.push_back(rows * columns * 4);  // 6: offset of the second
  entries.push_back(context.integer(0));  // 7
  entries.push_back(rows - 1);            // 8
  program->specs.push_back({DType::kFloat32, {}, {8, 1}, {1, 2}});
  program->slot_count = 6;
  KernelLine first = kernel(add_one), second = kernel(add_one), third = kernel(add_one);
  first.tensors = {0, 3};
  second.tensors = {3, 4};
  third.tensors = {5, 1};
  third.range = 8;
  program->specs.push_back(program->specs[1]);
  program->lines = {ArenaLine{2, 5, {}},
                    ArenaViewLine{3, 2, 7, 0},
                    first,
                    ArenaViewLine{4, 2, 6, 0},
                    second,
                    ViewLine{5, 4, 1, 1},
                    AllocLine{1, 1},
                    third,
                    FreeLine{2}};
  program->outputs = {{OutputSpec::kTensor, 1}};
  finish();
  PlainTensor x = input(3, 4);
  ASSERT_EQ(run(x), RunStatus::kOk);
  auto* y = static_cast<PlainTensor*>(outputs[0].tensor);
  ASSERT_EQ(y->sizes, (std::vector<int64_t>{2, 4}));
  for (int64_t i = 0; i < 8; i++) EXPECT_EQ(y->data[i], x.data[i + 4] + 3);
  EXPECT_EQ(memory.allocations, 2);
  release_outputs();
  EXPECT_EQ(memory.alive, 0);
}

TEST_F(ExecutorTest, ATensorReturnedTwiceIsOneTensor) {
  program->lines = {AllocLine{1, 0}, kernel(add_one)};
  program->outputs = {{OutputSpec::kTensor, 1}, {OutputSpec::kTensor, 1}};
  finish();
  PlainTensor x = input(3, 4);
  ASSERT_EQ(run(x), RunStatus::kOk);
  EXPECT_EQ(outputs[1].kind, CallOutput::kSameAs);
  EXPECT_EQ(outputs[1].index, 0);
  release_outputs();
  EXPECT_EQ(memory.alive, 0);
}

TEST_F(ExecutorTest, GivesUpAnArgumentBehindItsLastUse) {
  // x feeds y, and a view of x the second kernel: only then may x go. An argument that is returned stays.
  program->argument_count = 2;
  program->argument_slots = {0, 2};
  entries.push_back(context.integer(0));
  KernelLine first = kernel(add_one), second = kernel(add_one);
  second.tensors = {3, 4};
  program->lines = {AllocLine{1, 0}, ViewLine{3, 0, 5, 0}, first, AllocLine{4, 0}, second};
  program->outputs = {{OutputSpec::kTensor, 4}, {OutputSpec::kInput, 1}};
  finish();
  PlainTensor x = input(2, 3), z = input(2, 3);
  for (bool owns : {true, false}) {
    CallArgument arguments[2] = {{&x, x.data, x.sizes.data(), x.strides.data(), 2}, {&z, z.data, z.sizes.data(), z.strides.data(), 2}};
    outputs.assign(2, {});
    memory.dropped.clear();
    ASSERT_EQ(executor->run(arguments, outputs.data(), &message, owns), RunStatus::kOk);
    EXPECT_EQ(memory.dropped, owns ? std::vector<void*>{&x} : std::vector<void*>{});
    EXPECT_EQ(arguments[0].object, owns ? nullptr : &x);
    EXPECT_EQ(arguments[1].object, &z);
    release_outputs();
  }
}

TEST_F(ExecutorTest, ServesManyThreadsAtOnce) {
  program->lines = {AllocLine{1, 0}, kernel(add_one)};
  program->outputs = {{OutputSpec::kTensor, 1}};
  finish();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 8; t++)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 200; round++) {
        PlainTensor x = input(1 + (t + round) % 5, 3);
        CallArgument argument{&x, x.data, x.sizes.data(), x.strides.data(), 2};
        CallOutput output;
        std::string text;
        if (executor->run(&argument, &output, &text) != RunStatus::kOk) {
          wrong++;
          continue;
        }
        auto* y = static_cast<PlainTensor*>(output.tensor);
        for (int64_t i = 0; i < x.sizes[0] * 3; i++) wrong += y->data[i] != x.data[i] + 1;
        memory.table().release(&memory, y);
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(memory.alive, 0);
}

TEST_F(ExecutorTest, RefusesAnOpThatNobodyCanCall) {
  program->callees = {{"thrice", "thrice(Tensor x) -> Tensor"}};
  program->lines = {ExternLine{0, {TensorArg{0}}, {2}, {}, {-1}}};
  const Expr symbols[] = {rows, columns};
  program->table = compile_exprs(entries, symbols);
  program->table_size = static_cast<int32_t>(entries.size());
  auto made = Executor::create(program, memory.table());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.reason(), "thrice cannot be called: no such op");
}

}  // namespace
}  // namespace litz::runtime
