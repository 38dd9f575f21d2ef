// throws.cc - whether exceptions are caught in what is linked as the wheel's library is: XGBoost reports its errors by them,
// and the unwinder asks shim.c where its tables are. For tests (tool/check_wheel.sh).
#include <cstdio>
#include <stdexcept>

static void refuse(const char *why) { throw std::runtime_error(why); }

int main(int argc, char **argv) {
  try {
    refuse(argc > 1 ? argv[1] : "caught");
  } catch (const std::exception &e) {
    return std::puts(e.what()) < 0;
  }
  return 1;
}
