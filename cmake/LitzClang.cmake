# litz_clang: the sources behind codegen/cpp/jit/clang_library.h with clang and LLVM. A shared library with hidden symbols in
# development (LITZ_CLANG_SHARED), so that relinking Litz does not link LLVM again; static in a release.
option(LITZ_CLANG_SHARED "link clang and LLVM once into liblitz_clang.so" ON)
set(LITZ_LLVM_VERSION 19 CACHE STRING "major version of clang and LLVM")
find_program(LITZ_LLVM_CONFIG NAMES llvm-config-${LITZ_LLVM_VERSION} REQUIRED)

function(litz_llvm_config result)
  execute_process(COMMAND ${LITZ_LLVM_CONFIG} ${ARGN} OUTPUT_VARIABLE text OUTPUT_STRIP_TRAILING_WHITESPACE
                  COMMAND_ERROR_IS_FATAL ANY)
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

function(litz_add_clang_library)
  litz_llvm_config(include --includedir)
  litz_llvm_config(libdir --libdir)
  litz_llvm_config(llvm_libraries --link-static --libs native orcjit passes asmparser bitwriter coverage lto
                   frontendopenmp frontenddriver frontendhlsl option windowsdriver instrumentation irreader)
  separate_arguments(llvm_libraries)
  set(clang_libraries "")
  foreach(name Frontend Driver Serialization CodeGen Parse Sema Analysis Edit AST ASTMatchers APINotes Support Lex Basic)
    list(APPEND clang_libraries ${libdir}/libclang${name}.a)
  endforeach()
  set(libraries ${clang_libraries} -L${libdir} ${llvm_libraries} -l:libz.a -l:libzstd.a -lrt -ldl -lm -lpthread)
  if(LITZ_CLANG_SHARED)
    add_library(litz_clang SHARED ${ARGN} ${LITZ_KEEP_STATICS})
    target_link_libraries(litz_clang PRIVATE ${libraries})
    target_link_options(litz_clang PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/clang_symbols.map
                        -Wl,--exclude-libs,ALL -Wl,-Bsymbolic -static-libstdc++ -static-libgcc)
    set_target_properties(litz_clang PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib
                          LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/clang_symbols.map)
  else()
    add_library(litz_clang STATIC ${ARGN})
    target_link_libraries(litz_clang INTERFACE ${libraries})
  endif()
  target_include_directories(litz_clang SYSTEM PRIVATE ${include})
  # LLVM is built without exceptions; nothing of ours may throw through its frames.
  target_compile_options(litz_clang PRIVATE -fno-exceptions)
  target_compile_definitions(litz_clang PRIVATE _GNU_SOURCE __STDC_CONSTANT_MACROS __STDC_FORMAT_MACROS
                             __STDC_LIMIT_MACROS)
endfunction()
