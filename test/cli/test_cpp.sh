# include/seer/familyseer.hpp: compiles as C++17 and C++20 with all warnings, runs models, tunes, and throws what C says.
# SEER_TEST: timeout=120
. "$(dirname "$0")/lib.sh"
command -v c++ > /dev/null || exit 77

cat > use.cc << 'CC'
#include <seer/familyseer.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#if __cplusplus >= 202002L
#include <span>
#endif

static void must(bool holds, const char *what) {
  if (holds) return;
  std::printf("not so: %s\n", what);
  std::exit(1);
}

template <typename F>
static void throws(int code, const std::string &text, F of) {
  try {
    of();
  } catch (const seer::error &e) {
    if (e.code() != code || std::string(e.what()).find(text) == std::string::npos)
      std::printf("%s: '%s', should be %s: '%s'\n", seer_rt_code_text(e.code()), e.what(), seer_rt_code_text(code), text.c_str());
    must(e.code() == code && std::string(e.what()).find(text) != std::string::npos, "what was thrown");
    return;
  }
  must(false, text.c_str());
}

// A session outlives the names of what it needs.
static seer::session make(const char *folder) {
  const seer::model model(folder);
  must(model.n_inputs() == 1 && model.n_outputs() == 1 && model.n_sets() == 1, "numbers");
  must(model.version() == VERSION, "version");
  must(model.weight_bytes() > 0 && model.session_bytes(2) >= model.session_bytes(1), "sizes");
  const seer::pool pool(model, 2);
  must(pool.n_threads() == 2, "threads");
  return seer::session(model, pool);
}

static void run(const char *folder) {
  seer::session session = make(folder);
  const seer::model model(folder);
  const std::size_t n_in = model.input(0).n_bytes / 4, n_out = model.output(0).n_bytes / 4;
  std::vector<float> x(n_in, 0.25f), y(n_out), again(n_out);
  session.bind_input("input", x);
  session.bind_output("output", y);
  session.run();
  must(session.output_shape(0).back() == 10, "shape");
  session.bind_output(0, seer::span<float>(again.data(), again.size()));
  session.limit(1, 100);
  session.run();
  must(y == again && y[0] != 0, "the same on one thread");
  must(!session.time_steps(2).empty(), "steps");
  session.limit(0, 1e-12);
  throws(SEER_RT_TIMEOUT, "took longer than 1e-12 s", [&] { session.run(); });
  session.limit(0, 0);
#if __cplusplus >= 202002L
  session.bind_input(0, std::span<const float>(x));
  session.bind_output(0, std::span<float>(y));
  session.run();
#endif
  std::array<double, 4> wrong{};
  float few[3] = {};
  throws(SEER_RT_INVALID, "memory of another type", [&] { session.bind_input(0, wrong); });
  throws(SEER_RT_INVALID, "12 bytes were given", [&] { session.bind_input(0, few); });
  throws(SEER_RT_INVALID, "there is no input 'nothing'", [&] { session.bind_input("nothing", x); });
  throws(SEER_RT_INVALID, "there is no output 7", [&] { session.bind_output(7, y); });
  throws(SEER_RT_NOT_FOUND, "nowhere", [] { seer::model("nowhere"); });
  seer::session moved = std::move(session), other(model);
  other = std::move(moved);
  other.run();
}

static void tune(const char *program, const char *folder) {
  seer::tuner tuner;
  throws(SEER_RT_INVALID, "no-such", [&] { tuner.set("no-such", "1"); });
  for (const auto &[name, value] : {std::pair{"measure", "fake"}, {"trials", "16"}, {"ignore-records", "1"}, {"threads", "1"}})
    tuner.set(name, value);
  tuner.set("worker-path", program);
  tuner.set("records", std::string(folder) + ".records");
  throws(SEER_RT_NOT_FOUND, "nowhere.onnx", [&] { tuner.load("nowhere.onnx"); });
  std::string bytes("no network");
  throws(SEER_RT_INVALID, "bytes in memory", [&] { tuner.load_bytes(bytes); });
  must(tuner.missing().empty() && tuner.tasks().empty() && tuner.inputs().empty(), "nothing is loaded");
  tuner.load("mlp");
  must(tuner.tasks().size() > 1 && tuner.inputs().size() == 1 && tuner.outputs()[0].dim[1] == 10, "what was loaded");
  unsigned n = 0;
  tuner.listen([&](const seer_tuner_event &event) { n += event.task >= 0; });
  seer::tuner moved = std::move(tuner);
  moved.tune();
  must(n > 16, "events");
  moved.listen([&](const seer_tuner_event &) { throw std::runtime_error("mine"); });
  moved.compile(folder);
  seer::model model(folder);
  // What a listener throws comes out of the call.
  seer::tuner second;
  second.listen([&](const seer_tuner_event &event) { throw std::runtime_error(event.kind); });
  second.set("measure", "fake");
  second.set("worker-path", program);
  second.set("records", std::string(folder) + ".records2");
  second.load("mlp");
  try {
    second.tune();
    must(false, "a listener's own");
  } catch (const std::runtime_error &e) {
    must(!dynamic_cast<const seer::error *>(&e), "a listener's own");
  }
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  run(argv[1]);
  tune(argv[2], argv[3]);
  std::printf("well\n");
}
CC

version=$("$FAMILYSEER" --version | cut -d' ' -f2)
expect_status 0 "$FAMILYSEER" compile mlp -o net -O0
for standard in 17 20; do
  # shellcheck disable=SC2086
  c++ -std=c++$standard -O1 -Wall -Wextra -Wshadow -Wconversion -Werror -pedantic ${TEST_CFLAGS:-} -DVERSION="\"$version\"" -I"$SOURCE/include" use.cc -o "use$standard" \
    -L"$TEST_BUILD_DIR" -lfamilyseer -lfamilyseer_runtime -Wl,-rpath,"$TEST_BUILD_DIR" -ldl -lpthread || fail "C++$standard"
  expect_status 0 "./use$standard" net "$FAMILYSEER" "tuned$standard"
  expect_text stdout "well"
done
echo passed
