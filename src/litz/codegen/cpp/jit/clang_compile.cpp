// C++ source to a relocatable object, in memory: clang's front end, LLVM's optimiser and code generator. No file is
// read or written. Floating point is exact: no contraction, no fast-math.
#include <clang/Basic/Diagnostic.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>

#include <string>
#include <vector>

#include "litz/codegen/cpp/jit/clang_library.h"
#include "litz/codegen/cpp/jit/llvm_setup.h"

namespace {

using llvm::IntrusiveRefCntPtr;
using llvm::MemoryBuffer;
using llvm::StringRef;

constexpr const char* kDirectory = "/litz";

std::unique_ptr<MemoryBuffer> view(const litz_clang_file& file) {
  // clang's lexer wants a terminating zero, which a view of the caller's text need not have.
  return MemoryBuffer::getMemBufferCopy(StringRef(file.text, file.size), file.name);
}

std::string path_of(const char* name) { return std::string(kDirectory) + "/" + name; }

/// The arguments of `clang -cc1`. -fwrapv: integers wrap as in eager. -relaxed-aliasing: one buffer holds values of
/// several dtypes in turn. No unwind tables: nothing throws through a kernel. The loop and SLP vectorisers stay off
/// (cc1's default): the generator emits vectors, and the vectorisers cost a third of the compile time.
std::vector<std::string> arguments(const litz_clang_request& request) {
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
  args.push_back(path_of(request.source.name));
  return args;
}

}  // namespace

extern "C" int litz_clang_compile(const litz_clang_request* request, litz_clang_sink object, litz_clang_sink error,
                                  void* context) {
  litz::jit::set_up_llvm();
  IntrusiveRefCntPtr<llvm::vfs::InMemoryFileSystem> files(new llvm::vfs::InMemoryFileSystem);
  files->addFile(path_of(request->source.name), 0, view(request->source));
  for (size_t i = 0; i < request->header_count; ++i) {
    files->addFile(path_of(request->headers[i].name), 0, view(request->headers[i]));
  }

  std::string messages;
  llvm::raw_string_ostream message_stream(messages);
  IntrusiveRefCntPtr<clang::DiagnosticOptions> diagnostic_options(new clang::DiagnosticOptions);
  clang::TextDiagnosticPrinter printer(message_stream, diagnostic_options.get());
  clang::CompilerInstance instance;
  instance.createDiagnostics(&printer, /*ShouldOwnClient=*/false);
  instance.setVerboseOutputStream(std::make_unique<llvm::raw_null_ostream>());

  const std::vector<std::string> args = arguments(*request);
  std::vector<const char*> pointers;
  for (const std::string& arg : args) pointers.push_back(arg.c_str());
  bool ok = clang::CompilerInvocation::CreateFromArgs(instance.getInvocation(), pointers, instance.getDiagnostics());
  instance.createFileManager(files);

  llvm::SmallVector<char, 0> bytes;
  instance.setOutputStream(std::make_unique<llvm::raw_svector_ostream>(bytes));
  if (ok) {
    clang::EmitObjAction action;
    ok = instance.ExecuteAction(action) && !instance.getDiagnostics().hasErrorOccurred();
  }
  if (ok) object(context, bytes.data(), bytes.size());
  else error(context, messages.data(), messages.size());
  return ok;
}

extern "C" void litz_clang_host(litz_clang_sink cpu, litz_clang_sink features, void* context) {
  const StringRef name = llvm::sys::getHostCPUName();
  cpu(context, name.data(), name.size());
  std::vector<std::string> entries;
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
    entries.push_back((feature.second ? "+" : "-") + feature.first().str());
  }
  llvm::sort(entries);
  const std::string text = llvm::join(entries, ",");
  features(context, text.data(), text.size());
}

extern "C" const char* litz_clang_version(void) { return LLVM_VERSION_STRING; }
