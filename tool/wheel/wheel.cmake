# wheel.cmake - libfamilyseer.so and the program beside it as they go into the wheel: no library but libc, of which nothing
# is asked that glibc 2.28 has not (floor.py, shim.c), and no name for others but the interface's.
set(SEER_FLOOR 2.28)
set(floor ${CMAKE_BINARY_DIR}/floor)
set(stubs ${floor}/libc.so ${floor}/libpthread.so ${floor}/libdl.so ${floor}/librt.so ${floor}/libm.so
  ${floor}/libld-linux-x86-64.so)
add_custom_command(OUTPUT ${stubs}
  COMMAND python3 ${CMAKE_SOURCE_DIR}/tool/wheel/floor.py ${floor} ${SEER_FLOOR} ${LLD}
  DEPENDS ${CMAKE_SOURCE_DIR}/tool/wheel/floor.py VERBATIM)
# The one address that Debian's jansson takes as only a program may.
add_custom_command(OUTPUT ${floor}/libjansson.a
  COMMAND objcopy --redefine-sym stdin=seer_no_stdin ${SEER_JANSSON} ${floor}/libjansson.a
  DEPENDS ${SEER_JANSSON} ${floor}/libc.so VERBATIM)
execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libstdc++.a OUTPUT_VARIABLE stdcxx
  OUTPUT_STRIP_TRAILING_WHITESPACE)
add_custom_command(OUTPUT ${floor}/libstdc++.a
  COMMAND ${CMAKE_COMMAND} -E create_symlink ${stdcxx} ${floor}/libstdc++.a DEPENDS ${floor}/libc.so VERBATIM)
add_custom_target(wheel_floor DEPENDS ${stubs} ${floor}/libjansson.a ${floor}/libstdc++.a)
# What CMake and we ask for as -lstdc++, -lm and -ldl is looked for there first. Libraries that 2.34 emptied are named where something of them is used.
set(libc -l:libgcc_eh.a -lgcc -Wl,--as-needed ${stubs} -Wl,--no-as-needed)
set(flags -nodefaultlibs -B${LLVM_BINDIR} -fuse-ld=lld -L${floor} -Wl,--gc-sections -Wl,--no-undefined -Wl,-s
  -Wl,-z,now -Wl,-z,relro -Wl,--build-id=none)

add_library(wheel_library SHARED EXCLUDE_FROM_ALL tool/portable.cc tool/wheel/shim.c $<TARGET_OBJECTS:seer_portable_main>)
target_include_directories(wheel_library SYSTEM PRIVATE ${LLVM_INCLUDE} ${CMAKE_BINARY_DIR}/gen)
target_compile_definitions(wheel_library PRIVATE SEER_IN_LIBRARY)
target_compile_options(wheel_library PRIVATE -Wall -Wextra -Werror
  $<$<COMPILE_LANGUAGE:CXX>:-std=c++17$<SEMICOLON>-fno-exceptions$<SEMICOLON>-fno-rtti>)
file(WRITE ${CMAKE_BINARY_DIR}/wheel.map "{ global: seer_tuner_*; seer_version; seer_program; local: *; };\n")
target_link_options(wheel_library PRIVATE ${flags} -Wl,--version-script=${CMAKE_BINARY_DIR}/wheel.map)
target_link_libraries(wheel_library PRIVATE -Wl,--whole-archive seer_api -Wl,--no-whole-archive
  seer_cli ${LLD_ELF} ${LLD_COMMON} ${archives} ${ZLIB_LIBRARY} ${ZSTD_LIBRARY} stdc++ ${libc})
set_target_properties(wheel_library PROPERTIES OUTPUT_NAME familyseer LINKER_LANGUAGE C LLVM_IN ON SKIP_BUILD_RPATH ON
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/wheel)
add_dependencies(wheel_library wheel_floor)
set_property(TARGET wheel_library APPEND PROPERTY LINK_DEPENDS ${floor}/libstdc++.a ${CMAKE_BINARY_DIR}/wheel.map)

add_executable(wheel_program EXCLUDE_FROM_ALL tool/wheel/program.c)
target_link_options(wheel_program PRIVATE ${flags})
target_link_libraries(wheel_program PRIVATE wheel_library ${libc})
set_target_properties(wheel_program PROPERTIES OUTPUT_NAME familyseer BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN"
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/wheel)

add_executable(wheel_throws EXCLUDE_FROM_ALL tool/wheel/throws.cc tool/wheel/shim.c)
target_link_options(wheel_throws PRIVATE ${flags})
target_link_libraries(wheel_throws PRIVATE stdc++ ${libc})
set_target_properties(wheel_throws PROPERTIES LINKER_LANGUAGE C SKIP_BUILD_RPATH ON)
add_dependencies(wheel_throws wheel_floor)

add_custom_target(wheel DEPENDS wheel_library wheel_program wheel_throws seer_rt seer_rt_device seer_cross familyseer-runner)
