# What is installed: liblitz.so (every level, exporting litz_* alone), the programs and the Python extension that load it.
# They lie as in the wheel: <package>/liblitz.so, <package>/_C.abi3.so, <package>/bin/litz. The package is python/litz of
# the checkout in a development build, so that `import litz` takes it from there.
option(LITZ_PYTHON_IN_SOURCE "put the libraries into python/litz of the checkout" OFF)
if(LITZ_PYTHON_IN_SOURCE)
  set(LITZ_PACKAGE_DIR ${CMAKE_SOURCE_DIR}/python/litz)
else()
  set(LITZ_PACKAGE_DIR ${CMAKE_BINARY_DIR}/python/litz)
endif()

# A release needs nothing of the machine but glibc.
set(LITZ_STATIC_RUNTIME "")
if(NOT LITZ_CLANG_SHARED AND NOT LITZ_SANITIZE)
  set(LITZ_STATIC_RUNTIME -static-libstdc++ -static-libgcc)
endif()

# litz_shared_library(LEVELS ...): the levels whose exported functions are the C API; what they use follows.
function(litz_shared_library)
  cmake_parse_arguments(A "" "" "LEVELS" ${ARGN})
  set(symbols ${CMAKE_SOURCE_DIR}/cmake/litz_symbols.map)
  file(WRITE ${CMAKE_BINARY_DIR}/empty.cpp "")
  add_library(litz SHARED ${CMAKE_BINARY_DIR}/empty.cpp ${LITZ_KEEP_STATICS})
  foreach(level ${A_LEVELS})
    target_link_libraries(litz PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,litz_${level}>)
  endforeach()
  target_link_options(litz PRIVATE -Wl,--version-script=${symbols} -Wl,-Bsymbolic -Wl,--gc-sections
                      ${LITZ_STATIC_RUNTIME})
  set_target_properties(litz PROPERTIES LINK_DEPENDS ${symbols} LIBRARY_OUTPUT_DIRECTORY ${LITZ_PACKAGE_DIR})
  target_include_directories(litz INTERFACE ${CMAKE_SOURCE_DIR}/src)  # for the C headers
endfunction()

# litz_program(target NAME litz SOURCES ...): a program that uses the C API alone.
function(litz_program target)
  cmake_parse_arguments(A "" "NAME" "SOURCES" ${ARGN})
  add_executable(${target} ${A_SOURCES})
  target_link_libraries(${target} PRIVATE litz)
  target_link_options(${target} PRIVATE ${LITZ_STATIC_RUNTIME})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${A_NAME} RUNTIME_OUTPUT_DIRECTORY ${LITZ_PACKAGE_DIR}/bin
                        BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/..")
endfunction()

# litz_python_extension(name SOURCES ...): an extension module on the limited API of Python 3.11.
function(litz_python_extension name)
  cmake_parse_arguments(A "" "" "SOURCES" ${ARGN})
  find_program(LITZ_PYTHON NAMES python HINTS ${CMAKE_SOURCE_DIR}/.venv/bin NO_DEFAULT_PATH)
  find_program(LITZ_PYTHON NAMES python3 REQUIRED)
  execute_process(COMMAND ${LITZ_PYTHON} -c "import sysconfig; print(sysconfig.get_path('include'), end='')"
                  OUTPUT_VARIABLE include COMMAND_ERROR_IS_FATAL ANY)
  add_library(litz${name} MODULE ${A_SOURCES})
  target_include_directories(litz${name} SYSTEM PRIVATE ${include})
  target_compile_definitions(litz${name} PRIVATE Py_LIMITED_API=0x030B0000)
  target_link_libraries(litz${name} PRIVATE litz)
  target_link_options(litz${name} PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/litz_symbols.map
                      ${LITZ_STATIC_RUNTIME})
  set_target_properties(litz${name} PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME ${name} PREFIX "" SUFFIX .abi3.so
                        LIBRARY_OUTPUT_DIRECTORY ${LITZ_PACKAGE_DIR} BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")
endfunction()
