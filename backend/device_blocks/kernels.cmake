# Kernels for GPUs: compiled by clang 19 into PTX, which drivers assemble for every later card, and embedded. A file's name
# may end in the capability that its instructions need; all others are for sm_75.
find_program(CLANG_FOR_DEVICES NAMES clang++-19 PATHS /usr/lib/llvm-19/bin)
if(NOT CLANG_FOR_DEVICES)
  message(FATAL_ERROR "minidynamo needs clang 19 for its GPU kernels, whatever compiler builds the rest; on Debian 12: apt-get install clang-19")
endif()
# The standard library's headers are the host's.
execute_process(COMMAND ${CLANG_FOR_DEVICES} -x c++ -E -v /dev/null OUTPUT_QUIET ERROR_VARIABLE about)
string(REGEX MATCH "#include <...> search starts here:\n(.*)End of search list" found "${about}")
string(REPLACE "\n" ";" found "${CMAKE_MATCH_1}")
set(DEVICE_INCLUDES)
foreach(folder ${found})
  string(STRIP "${folder}" folder)
  if(NOT folder MATCHES "/clang/")
    list(APPEND DEVICE_INCLUDES -isystem ${folder})
  endif()
endforeach()
set(DEVICE_FLAGS -std=c++20 -O2 -ffp-contract=off -fno-math-errno -fno-exceptions -fno-rtti -nostdinc++ -D__x86_64__ -D_GNU_SOURCE
    -Wall -Wextra -Wno-missing-field-initializers -Wno-missing-designated-field-initializers ${DEVICE_INCLUDES} -I${CMAKE_SOURCE_DIR} -I${CMAKE_BINARY_DIR}/generated)
file(GLOB DEVICE_KERNELS CONFIGURE_DEPENDS device_blocks/kernels/*.cpp)
set(EMBEDDED_KERNELS ${CMAKE_BINARY_DIR}/generated/backend/embedded_kernels.cpp)
set(PTX_FILES)
set(BODIES_INC ${CMAKE_BINARY_DIR}/generated/registry/bodies.inc)
foreach(kernel ${DEVICE_KERNELS})
  cmake_path(GET kernel STEM name)
  set(ptx ${CMAKE_CURRENT_BINARY_DIR}/device_kernels/${name}.ptx)
  set(architecture sm_75 --cuda-feature=+ptx64)
  if(name MATCHES "_(sm_[0-9]+)$")
    # Instructions of a whole warp stand in assembly: nothing may move them to where only some lanes come.
    set(architecture ${CMAKE_MATCH_1} --cuda-feature=+ptx70 -fconvergent-functions)
  endif()
  add_custom_command(
    OUTPUT ${ptx}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/device_kernels
    COMMAND ${CLANG_FOR_DEVICES} --target=nvptx64-nvidia-cuda -march=${architecture} ${DEVICE_FLAGS} -MD -MF ${ptx}.d -MT ${ptx} -S -o ${ptx} ${kernel}
    DEPENDS ${kernel} ${BODIES_INC}
    DEPFILE ${ptx}.d
    COMMENT "PTX of ${name}.cpp")
  list(APPEND PTX_FILES ${ptx})
endforeach()
add_custom_command(
  OUTPUT ${EMBEDDED_KERNELS}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/generated/backend
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/device_blocks/embed_kernels.py ${EMBEDDED_KERNELS} ${PTX_FILES}
  DEPENDS device_blocks/embed_kernels.py ${PTX_FILES})
