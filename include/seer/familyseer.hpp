// familyseer.hpp - runtime.h and familyseer.h for C++17 and later: what is made is destroyed in the
// right order, what fails is thrown, and memory comes with its size. Header only; who runs models
// links with libfamilyseer_runtime (-ldl), who tunes with libfamilyseer.
//
//   seer::model model("out");                       // model.so or its folder
//   seer::session session(model, seer::pool(model));
//   session.bind_input("input", image);             // std::vector<float>, std::span, an array, ...
//   session.bind_output("output", scores);
//   session.run();
//
//   seer::tuner tuner;
//   tuner.set("time-budget", "2m");
//   tuner.load("my.onnx");
//   tuner.tune();
//   tuner.compile("out");
//
// Memory that is bound is the caller's, and stays where it is until another binding. Models and
// pools are handles: copies share what they stand for, and a session keeps what it needs. One thread
// at a time uses a session or a tuner; models may be shared.
#ifndef SEER_FAMILYSEER_HPP
#define SEER_FAMILYSEER_HPP

#include <seer/familyseer.h>
#include <seer/runtime.h>

#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace seer {

// What the C interface says; code() is its seer_rt_code.
class error : public std::runtime_error {
 public:
  error(int code, const std::string &message)
      : std::runtime_error(message.empty() ? seer_rt_code_text(code) : message), code_(code) {}
  int code() const noexcept { return code_; }

 private:
  int code_;
};

// Elements one after another, borrowed: of an array, or of anything with data() and size().
template <typename T>
class span {
 public:
  constexpr span() noexcept = default;
  constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
  template <std::size_t N>
  constexpr span(T (&array)[N]) noexcept : data_(array), size_(N) {}
  template <typename C, typename = decltype(static_cast<T *>(std::declval<C &>().data())),
      typename = decltype(static_cast<std::size_t>(std::declval<C &>().size()))>
  constexpr span(C &&of) noexcept : data_(of.data()), size_(of.size()) {}
  constexpr T *data() const noexcept { return data_; }
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr T &operator[](std::size_t i) const { return data_[i]; }
  constexpr T *begin() const noexcept { return data_; }
  constexpr T *end() const noexcept { return data_ + size_; }

 private:
  T *data_ = nullptr;
  std::size_t size_ = 0;
};

namespace detail {

inline void check(int code, const char *message) {
  if (code != SEER_RT_OK) throw error(code, message);
}

template <typename C>
struct element {
  using type = std::remove_pointer_t<decltype(std::declval<C &>().data())>;
};
template <typename T, std::size_t N>
struct element<T[N]> {
  using type = T;
};
template <typename C>
using element_of = typename element<std::remove_reference_t<C>>::type;

// ONNX's number of T; 0: any type of as many bytes (half floats and the like travel as their bits).
template <typename T>
constexpr int dtype_of() {
  using U = std::remove_cv_t<T>;
  return std::is_same_v<U, float> ? 1
      : std::is_same_v<U, double> ? 11
      : std::is_same_v<U, bool>   ? 9
      : std::is_same_v<U, std::int32_t> ? 6
      : std::is_same_v<U, std::int64_t> ? 7
      : std::is_same_v<U, std::uint32_t> ? 12
      : std::is_same_v<U, std::uint64_t> ? 13
                                         : 0;
}

inline std::uint64_t elements_of(const seer_io_info &io) {
  std::uint64_t n = 1;
  for (std::int32_t d = 0; d < io.rank; d++) n *= static_cast<std::uint64_t>(io.dim[d]);
  return n;
}

template <typename T>
void check_type(const seer_io_info &io) {
  static_assert(std::is_trivially_copyable_v<T>, "elements are bytes");
  const std::uint64_t n = elements_of(io), size = n > 0 ? io.n_bytes / n : sizeof(T);
  if ((dtype_of<T>() == 0 || dtype_of<T>() == io.onnx_dtype) && size == sizeof(T)) return;
  throw error(SEER_RT_INVALID,
      std::string("'") + io.name + "' has elements of ONNX's type " + std::to_string(io.onnx_dtype) +
          ", of " + std::to_string(size) + " bytes: memory of another type was given");
}

struct library {
  void *handle = nullptr;
  const seer_model_api *api = nullptr;
  explicit library(const std::string &path) {
    char message[1024] = "";
    check(seer_model_load(path.c_str(), &handle, &api, message, sizeof message), message);
    if (SEER_API_HAS(api, session_limit)) return;
    seer_model_unload(handle);
    throw error(SEER_RT_UNSUPPORTED, path + ": compiled by an earlier version");
  }
  library(const library &) = delete;
  library &operator=(const library &) = delete;
  ~library() { seer_model_unload(handle); }
};

struct opened {
  library of;
  seer_model *model = nullptr;
  opened(const std::string &path, const char *weights, bool verify) : of(path) {
    char message[1024] = "";
    check(of.api->open(weights, nullptr, 0, verify, &model, message, sizeof message), message);
  }
  opened(const opened &) = delete;
  opened &operator=(const opened &) = delete;
  ~opened() { of.api->close(model); }
};

struct threads {
  std::shared_ptr<const opened> of;
  seer_pool *pool = nullptr;
  threads(std::shared_ptr<const opened> model, std::uint32_t n_threads, bool pin)
      : of(std::move(model)) {
    char message[1024] = "";
    check(of->of.api->pool_make(n_threads, pin, &pool, message, sizeof message), message);
  }
  threads(const threads &) = delete;
  threads &operator=(const threads &) = delete;
  ~threads() { of->of.api->pool_destroy(pool); }
};

}  // namespace detail

// A library that was compiled. `so`: model.so, or the folder that it is in; weights empty:
// weights.bin beside it.
class model {
 public:
  explicit model(const std::string &so, const std::string &weights = "", bool verify = false)
      : of_(std::make_shared<detail::opened>(
            is_file(so) ? so : so + "/model.so", weights.empty() ? nullptr : weights.c_str(), verify)) {}

  std::string version() const { return api()->version(); }  // of familyseer, that made it
  std::string info_json() const { return api()->info_json(get()); }
  std::int32_t n_inputs() const { return api()->n_inputs(get()); }
  std::int32_t n_outputs() const { return api()->n_outputs(get()); }
  std::int32_t n_sets() const { return api()->n_sets(get()); }
  // Of a set of input shapes. Throws INVALID where there is none.
  const seer_io_info &input(std::int32_t index, std::int32_t set = 0) const {
    return there(api()->set_input(get(), set, index), "input", index);
  }
  const seer_io_info &output(std::int32_t index, std::int32_t set = 0) const {
    return there(api()->set_output(get(), set, index), "output", index);
  }
  std::int32_t find_input(const std::string &name) const {
    return named(api()->find_input(get(), name.c_str()), "input", name);
  }
  std::int32_t find_output(const std::string &name) const {
    return named(api()->find_output(get(), name.c_str()), "output", name);
  }
  std::uint64_t weight_bytes() const {
    std::uint64_t n = 0;
    api()->sizes(get(), 1, &n, nullptr);
    return n;
  }
  std::uint64_t session_bytes(std::uint32_t n_threads) const {
    std::uint64_t n = 0;
    api()->sizes(get(), n_threads, nullptr, &n);
    return n;
  }

  const seer_model_api *api() const noexcept { return of_->of.api; }
  seer_model *get() const noexcept { return of_->model; }
  const std::shared_ptr<const detail::opened> &shared() const noexcept { return of_; }

 private:
  static bool is_file(const std::string &path) {
    return path.size() >= 3 && path.compare(path.size() - 3, 3, ".so") == 0;
  }
  static const seer_io_info &there(const seer_io_info *io, const char *what, std::int32_t index) {
    if (!io)
      throw error(SEER_RT_INVALID, std::string("there is no ") + what + " " + std::to_string(index));
    return *io;
  }
  static std::int32_t named(std::int32_t index, const char *what, const std::string &name) {
    if (index < 0)
      throw error(SEER_RT_INVALID, std::string("there is no ") + what + " '" + name + "'");
    return index;
  }
  std::shared_ptr<const detail::opened> of_;
};

// Threads, for any number of models and sessions. 0: one for each core that may be used.
class pool {
 public:
  explicit pool(const model &of, std::uint32_t n_threads = 0, bool pin = false)
      : of_(std::make_shared<detail::threads>(of.shared(), n_threads, pin)) {}
  std::uint32_t n_threads() const { return of_->of->of.api->pool_threads(of_->pool); }
  seer_pool *get() const noexcept { return of_->pool; }
  const std::shared_ptr<const detail::threads> &shared() const noexcept { return of_; }

 private:
  std::shared_ptr<const detail::threads> of_;
};

class session {
 public:
  // Without a pool on the caller's thread alone.
  explicit session(model of) : model_(std::move(of)) { create(nullptr); }
  session(model of, const pool &with) : model_(std::move(of)), threads_(with.shared()) {
    create(with.get());
  }
  session(session &&other) noexcept
      : model_(other.model_), threads_(other.threads_), session_(std::exchange(other.session_, nullptr)) {}
  session &operator=(session &&other) noexcept {
    std::swap(model_, other.model_);
    std::swap(threads_, other.threads_);
    std::swap(session_, other.session_);
    return *this;
  }
  session(const session &) = delete;
  session &operator=(const session &) = delete;
  ~session() { api()->session_destroy(session_); }

  // By number or name; of the selected set. Throws INVALID for memory of another type or too small.
  template <typename C>
  void bind_input(std::int32_t index, const C &data) {
    using T = detail::element_of<const C>;
    const span<T> elements(data);
    detail::check_type<T>(model_.input(index, selected()));
    call([&](char *m, std::size_t n) {
      return api()->session_bind_input(
          session_, index, elements.data(), elements.size() * sizeof(T), m, n);
    });
  }
  template <typename C>
  void bind_output(std::int32_t index, C &&data) {
    using T = detail::element_of<C>;
    static_assert(!std::is_const_v<T>, "outputs are written");
    const span<T> elements(data);
    detail::check_type<T>(model_.output(index, selected()));
    call([&](char *m, std::size_t n) {
      return api()->session_bind_output(
          session_, index, elements.data(), elements.size() * sizeof(T), m, n);
    });
  }
  template <typename C>
  void bind_input(const std::string &name, const C &data) {
    bind_input(model_.find_input(name), data);
  }
  template <typename C>
  void bind_output(const std::string &name, C &&data) {
    bind_output(model_.find_output(name), std::forward<C>(data));
  }

  void run() {
    call([&](char *m, std::size_t n) { return api()->session_run(session_, m, n); });
  }
  // 0: all threads, no limit of time. A run that takes longer throws SEER_RT_TIMEOUT.
  void limit(std::uint32_t n_threads, double seconds) {
    call([&](char *m, std::size_t n) {
      return api()->session_limit(session_, n_threads, seconds, m, n);
    });
  }
  void select(std::int32_t set) {
    call([&](char *m, std::size_t n) { return api()->session_select(session_, set, m, n); });
  }
  std::int32_t selected() const { return api()->selected(session_); }
  // What the last run made of it.
  std::vector<std::int64_t> output_shape(std::int32_t index) {
    std::int64_t dim[12];
    call([&](char *m, std::size_t n) {
      return api()->session_output_shape(session_, index, dim, m, n);
    });
    return {dim, dim + model_.output(index, selected()).rank};
  }
  std::vector<seer_step_info> time_steps(std::uint32_t n_runs) {
    std::vector<seer_step_info> steps(
        static_cast<std::size_t>(api()->set_n_steps(model_.get(), selected())));
    call([&](char *m, std::size_t n) {
      return api()->session_time_steps(session_, n_runs, steps.data(), sizeof(seer_step_info),
          static_cast<std::int32_t>(steps.size()), m, n);
    });
    return steps;
  }
  seer_session *get() const noexcept { return session_; }

 private:
  const seer_model_api *api() const noexcept { return model_.api(); }
  template <typename F>
  void call(F of) {
    char message[1024] = "";
    const seer_rt_code code = of(message, sizeof message);
    detail::check(code, message);
  }
  void create(seer_pool *with) {
    call([&](char *m, std::size_t n) {
      return api()->session_create(model_.get(), with, &session_, m, n);
    });
  }

  model model_;
  std::shared_ptr<const detail::threads> threads_;
  seer_session *session_ = nullptr;
};

// A network on its way from file to library (familyseer.h).
class tuner {
 public:
  using listener = std::function<void(const seer_tuner_event &)>;

  tuner() : state_(std::make_unique<state>()) {
    const int failed = seer_tuner_create(&state_->of);
    if (!state_->of) throw error(SEER_RT_RESOURCE, "no memory for a tuner");
    check(failed);
  }
  void set(const std::string &option, const std::string &value) {
    check(seer_tuner_set(get(), option.c_str(), value.c_str()));
  }
  void load(const std::string &network) { call(seer_tuner_load, network.c_str()); }
  // The bytes are kept, where they lie, until the tuner is destroyed; so are those of give.
  template <typename C>
  void load_bytes(const C &onnx, const std::string &folder = "") {
    finish(seer_tuner_load_bytes(get(), onnx.data(), onnx.size() * sizeof(*onnx.data()),
        folder.empty() ? nullptr : folder.c_str()));
  }
  template <typename C>
  void give(const std::string &location, const C &data) {
    check(seer_tuner_give(get(), location.c_str(), data.data(), data.size() * sizeof(*data.data())));
  }
  // What it throws ends the call that is going on, and is thrown by it.
  void listen(listener hear) {
    state_->hear = std::move(hear);
    seer_tuner_listen(get(), state_->hear ? &state::on_event : nullptr, state_.get());
  }
  void tune() { finish(seer_tuner_tune(get())); }
  void stop() noexcept { seer_tuner_stop(get()); }  // from any thread
  void compile(const std::string &folder) { call(seer_tuner_compile, folder.c_str()); }
  void emit(const std::string &kind, const std::string &folder) {
    finish(seer_tuner_emit(get(), kind.c_str(), folder.c_str()));
  }

  // After load has thrown SEER_RT_UNSUPPORTED.
  std::vector<seer_tuner_missing> missing() const {
    std::vector<seer_tuner_missing> all;
    for (std::uint32_t k = 0; k < seer_tuner_n_missing(get()); k++)
      all.push_back(*seer_tuner_missing_at(get(), k));
    return all;
  }
  std::vector<seer_tuner_task> tasks() const {
    std::vector<seer_tuner_task> all;
    for (std::uint32_t k = 0; k < seer_tuner_n_tasks(get()); k++)
      all.push_back(*seer_tuner_task_at(get(), k));
    return all;
  }
  std::vector<seer_io_info> inputs(std::uint32_t set = 0) const {
    std::vector<seer_io_info> all;
    for (std::uint32_t k = 0; const seer_io_info *io = seer_tuner_input(get(), set, k); k++)
      all.push_back(*io);
    return all;
  }
  std::vector<seer_io_info> outputs(std::uint32_t set = 0) const {
    std::vector<seer_io_info> all;
    for (std::uint32_t k = 0; const seer_io_info *io = seer_tuner_output(get(), set, k); k++)
      all.push_back(*io);
    return all;
  }
  seer_tuner *get() const noexcept { return state_->of; }

 private:
  // In one place, wherever the tuner is moved to: C knows its address.
  struct state {
    seer_tuner *of = nullptr;
    listener hear;
    std::exception_ptr thrown;
    ~state() { seer_tuner_destroy(of); }
    static void on_event(void *user, const seer_tuner_event *event) {
      state *self = static_cast<state *>(user);
      if (self->thrown) return;
      try {
        self->hear(*event);
      } catch (...) {
        self->thrown = std::current_exception();
        seer_tuner_stop(self->of);
      }
    }
  };

  void check(int failed) const {
    if (failed) throw error(seer_tuner_code(get()), seer_tuner_message(get()));
  }
  void finish(int failed) {
    if (state_->thrown) std::rethrow_exception(std::exchange(state_->thrown, nullptr));
    check(failed);
  }
  void call(int (*of)(seer_tuner *, const char *), const char *argument) {
    finish(of(get(), argument));
  }

  std::unique_ptr<state> state_;
};

}  // namespace seer

#endif
