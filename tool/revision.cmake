# The hash of all sources -> OUT, which is left alone where it says so already.
#   cmake -DROOT=folder -DOUT=revision.inc -P tool/revision.cmake
file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/src/* ${ROOT}/include/*)
list(FILTER files INCLUDE REGEX "\\.(c|h|inc|bank)$")
list(SORT files)
set(all "")
foreach(file IN LISTS files)
  file(SHA256 ${ROOT}/${file} hash)
  string(APPEND all "${file} ${hash}\n")
endforeach()
string(SHA256 revision "${all}")
string(SUBSTRING ${revision} 0 16 revision)
file(CONFIGURE OUTPUT ${OUT} CONTENT "#define SEER_REVISION \"${revision}\"\n" @ONLY)
