// C++ source to a relocatable object, in memory: clang's front end, LLVM's optimiser and code generator. No file is
// read or written. Floating point is exact: no contraction, no fast-math.
#include <clang/Basic/Diagnostic.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <clang/Lex/PreprocessorOptions.h>
#include <clang/Serialization/ASTWriter.h>
#include <clang/Serialization/PCHContainerOperations.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Support/xxhash.h>
#include <llvm/TargetParser/Host.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "litz/codegen/cpp/jit/clang_library.h"
#include "litz/codegen/cpp/jit/llvm_setup.h"

namespace {

using llvm::IntrusiveRefCntPtr;
using llvm::MemoryBuffer;
using llvm::StringRef;

constexpr const char* kDirectory = "/litz";
constexpr const char* kPreludeSource = "prelude.cpp";

std::unique_ptr<MemoryBuffer> view(const jit_clang_file& file) {
  // clang's lexer wants a terminating zero, which a view of the caller's text need not have.
  return MemoryBuffer::getMemBufferCopy(StringRef(file.text, file.size), file.name);
}

std::string hex_hash(const jit_clang_file& file) {
  const llvm::XXH128_hash_t hash = llvm::xxh3_128bits(llvm::arrayRefFromStringRef(StringRef(file.text, file.size)));
  return llvm::utohexstr(hash.high64) + "." + llvm::utohexstr(hash.low64);
}

std::string path_of(const char* name) { return std::string(kDirectory) + "/" + name; }

/// The arguments of `clang -cc1`. -fwrapv: integers wrap as in eager. -relaxed-aliasing: one buffer holds values of
/// several dtypes in turn. No unwind tables: nothing throws through a kernel. The loop and SLP vectorisers stay off
/// (cc1's default): the generator emits vectors. Unrolling is on, for loops over the lanes of a vector or the terms of a
/// polynomial must become straight code; loops over data forbid it with LITZ_ROLLED, or it would be a third of the compile
/// time. (-fno-unroll-loops would mark every loop as not to be unrolled, those of a known small count too.)
std::vector<std::string> arguments(const jit_clang_request& request, const char* source) {
  std::vector<std::string> args = {"-triple",
                                   llvm::sys::getProcessTriple(),
                                   "-emit-obj",
                                   "-x",
                                   "c++",
                                   "-std=c++20",
                                   "-O" + std::to_string(request.optimize),
                                   "-target-cpu",
                                   request.cpu,
                                   "-mrelocation-model",
                                   "pic",
                                   "-pic-level",
                                   "2",
                                   "-ffp-contract=off",
                                   "-fwrapv",
                                   "-relaxed-aliasing",
                                   "-fno-rtti",
                                   "-fno-threadsafe-statics",
                                   "-funroll-loops",
                                   "-nostdsysteminc",
                                   "-nobuiltininc",
                                   "-mprefer-vector-width=" + std::to_string(request.vector_bits),
                                   "-I",
                                   kDirectory,
                                   "-fno-caret-diagnostics"};
  llvm::SmallVector<StringRef> features;
  StringRef(request.features).split(features, ',', -1, /*KeepEmpty=*/false);
  for (StringRef feature : features) {
    args.push_back("-target-feature");
    args.push_back(feature.str());
  }
  args.push_back(path_of(source));
  return args;
}

using Files = IntrusiveRefCntPtr<llvm::vfs::InMemoryFileSystem>;

/// One run of the front end, with diagnostics as text.
class Frontend {
 public:
  Frontend(std::vector<std::string> args, Files files)
      : stream_(messages_),
        options_(new clang::DiagnosticOptions),
        printer_(stream_, options_.get()) {
    instance_.createDiagnostics(&printer_, /*ShouldOwnClient=*/false);
    instance_.setVerboseOutputStream(std::make_unique<llvm::raw_null_ostream>());
    std::vector<const char*> pointers;
    for (const std::string& arg : args) pointers.push_back(arg.c_str());
    ok_ = clang::CompilerInvocation::CreateFromArgs(instance_.getInvocation(), pointers, instance_.getDiagnostics());
    instance_.createFileManager(files);
  }
  clang::CompilerInstance& instance() { return instance_; }
  bool run(clang::FrontendAction& action) {
    return ok_ && instance_.ExecuteAction(action) && !instance_.getDiagnostics().hasErrorOccurred();
  }
  const std::string& messages() const { return messages_; }

 private:
  std::string messages_;
  llvm::raw_string_ostream stream_;
  IntrusiveRefCntPtr<clang::DiagnosticOptions> options_;
  clang::TextDiagnosticPrinter printer_;
  clang::CompilerInstance instance_;
  bool ok_ = false;
};

/// Parses a header and keeps the result as clang's precompiled form, in memory.
class PrecompileAction : public clang::ASTFrontendAction {
 public:
  std::shared_ptr<clang::PCHBuffer> buffer = std::make_shared<clang::PCHBuffer>();

 private:
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& instance, StringRef) override {
    return std::make_unique<clang::PCHGenerator>(instance.getPreprocessor(), instance.getModuleCache(), "", "", buffer,
                                                 llvm::ArrayRef<std::shared_ptr<clang::ModuleFileExtension>>(),
                                                 /*AllowASTWithErrors=*/false, /*IncludeTimestamps=*/false);
  }
  clang::TranslationUnitKind getTranslationUnitKind() override { return clang::TU_Prefix; }
  bool hasASTFileSupport() const override { return false; }
};

/// The precompiled prelude of a request, or null when it does not parse (the compile of the source itself then says
/// why). Kept per set of arguments and header texts; a second thread that needs the same one waits for the first.
std::shared_ptr<clang::PCHBuffer> precompiled_prelude(const jit_clang_request& request, const Files& files) {
  struct Entry {
    std::mutex mutex;
    bool made = false;
    std::shared_ptr<clang::PCHBuffer> prelude;
  };
  static std::mutex mutex;
  static auto* entries = new std::map<std::string, std::shared_ptr<Entry>>;

  // The precompiled form names its source, so the file is there for every compile.
  const std::string text = "#include \"" + std::string(request.prelude) + "\"\n";
  files->addFile(path_of(kPreludeSource), 0, MemoryBuffer::getMemBufferCopy(text, kPreludeSource));
  std::vector<std::string> args = arguments(request, kPreludeSource);
  std::string key;
  for (const std::string& arg : args) key += arg + '\n';
  for (size_t i = 0; i < request.header_count; ++i) {
    const jit_clang_file& header = request.headers[i];
    key += std::string(header.name) + ' ' + hex_hash(header) + '\n';
  }
  key += request.prelude;
  std::shared_ptr<Entry> entry;
  {
    std::lock_guard lock(mutex);
    auto& slot = (*entries)[key];
    if (!slot) slot = std::make_shared<Entry>();
    entry = slot;
  }
  std::lock_guard lock(entry->mutex);
  if (!entry->made) {
    Frontend frontend(args, files);
    PrecompileAction action;
    if (frontend.run(action) && action.buffer->IsComplete) entry->prelude = action.buffer;
    entry->made = true;
  }
  return entry->prelude;
}

}  // namespace

extern "C" int jit_clang_compile(const jit_clang_request* request, jit_clang_sink object, jit_clang_sink error, void* context) {
  litz::jit::set_up_llvm();
  Files files(new llvm::vfs::InMemoryFileSystem);
  files->addFile(path_of(request->source.name), 0, view(request->source));
  for (size_t i = 0; i < request->header_count; ++i) { files->addFile(path_of(request->headers[i].name), 0, view(request->headers[i])); }
  std::shared_ptr<clang::PCHBuffer> prelude;
  if (request->prelude) prelude = precompiled_prelude(*request, files);

  Frontend frontend(arguments(*request, request->source.name), files);
  if (prelude) {
    const std::string path = path_of("prelude.pch");
    const StringRef bytes(prelude->Data.data(), prelude->Data.size());
    files->addFile(path, 0, MemoryBuffer::getMemBuffer(bytes, path, /*RequiresNullTerminator=*/false));
    clang::PreprocessorOptions& options = frontend.instance().getPreprocessorOpts();
    options.ImplicitPCHInclude = path;
    options.DisablePCHOrModuleValidation = clang::DisableValidationForModuleKind::PCH;  // its key was compared
  }
  llvm::SmallVector<char, 0> bytes;
  frontend.instance().setOutputStream(std::make_unique<llvm::raw_svector_ostream>(bytes));
  clang::EmitObjAction action;
  const bool ok = frontend.run(action);
  if (ok) object(context, bytes.data(), bytes.size());
  else error(context, frontend.messages().data(), frontend.messages().size());
  return ok;
}

extern "C" void jit_clang_host(jit_clang_sink cpu, jit_clang_sink features, void* context) {
  const StringRef name = llvm::sys::getHostCPUName();
  cpu(context, name.data(), name.size());
  std::vector<std::string> entries;
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) { entries.push_back((feature.second ? "+" : "-") + feature.first().str()); }
  llvm::sort(entries);
  const std::string text = llvm::join(entries, ",");
  features(context, text.data(), text.size());
}

extern "C" const char* jit_clang_version(void) { return LLVM_VERSION_STRING; }
