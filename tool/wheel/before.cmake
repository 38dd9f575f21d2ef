# before.cmake - what a build for `make wheel` (WHEEL=ON) changes before libraries are looked for: archives of all of them,
# XGBoost's among them as a -D (XGBOOST_LIBRARY; tool/wheel.sh makes it), and no path of this machine in what is made.
set(CMAKE_FIND_LIBRARY_SUFFIXES .a .so)
set(SEER_OPENMP "")  # its XGBoost is made without: one thread is all that is asked of it
set(SEER_BUILD_PLACES SEER_BUILD_DIR="/usr/local/lib/familyseer" SEER_INSTALL_LIBDIR="/usr/local/lib/familyseer")
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}/= -ffile-prefix-map=${CMAKE_BINARY_DIR}/=)
find_library(SEER_JANSSON NAMES jansson REQUIRED)
set(JANSSON_LIBRARY ${CMAKE_BINARY_DIR}/floor/libjansson.a)  # wheel.cmake makes it
