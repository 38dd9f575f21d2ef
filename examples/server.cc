// server.cc - several networks behind one door: each client has sessions of its own, all of them
// share the models and one pool of threads.
//
//   c++ -std=c++17 server.cc $(pkg-config --cflags --libs familyseer-runtime) -pthread -o server
//   ./server my.sock first=out1 second=out2      (Ctrl-C ends it)
//   ./server - first=out1 second=out2            (one client: standard input)
//
// A client sends lines "NAME VALUE VALUE ...", the elements of the network's only input, and for
// each hears one: "ok VALUE VALUE ...", the first output, or "error WHY".
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <seer/familyseer.hpp>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <thread>

using models = std::map<std::string, seer::model>;

// A session with the memory that it reads and writes. One thread at a time.
class request {
 public:
  request(const seer::model &of, const seer::pool &threads)
      : session_(of, threads),
        x_(of.input(0).n_bytes / sizeof(float)),
        y_(of.output(0).n_bytes / sizeof(float)) {
    session_.bind_input(0, x_);  // throws where elements are no f32
    session_.bind_output(0, y_);
  }
  std::string answer(const char *values) {
    std::size_t n = 0;
    char *end = nullptr;
    for (float v = std::strtof(values, &end); end != values; v = std::strtof(values = end, &end))
      if (n++ < x_.size()) x_[n - 1] = v;
    if (*(end += std::strspn(end, " ")))
      throw seer::error(SEER_RT_INVALID, std::string("'") + end + "' is no number");
    if (n != x_.size())
      throw seer::error(
          SEER_RT_INVALID, std::to_string(n) + " numbers, must be " + std::to_string(x_.size()));
    session_.run();
    std::string line = "ok";
    char text[32];
    for (float v : y_)
      line.append(text, static_cast<std::size_t>(std::snprintf(text, sizeof text, " %.9g", v)));
    return line;
  }

 private:
  seer::session session_;
  std::vector<float> x_, y_;
};

// Until the client says no more. What is wrong with a line is for its client to hear, and ends nothing.
static void serve(std::FILE *in, std::FILE *out, const models &all, const seer::pool &threads) {
  std::map<std::string, request> own;  // a session when it is first asked for
  char *line = nullptr;
  std::size_t room = 0;
  for (ssize_t n; (n = getline(&line, &room, in)) > 0;) {
    if (line[n - 1] == '\n') line[n - 1] = 0;
    std::string answer;
    try {
      char *values = line + std::strcspn(line, " ");
      const std::string name(line, values);
      const auto model = all.find(name);
      if (model == all.end()) throw seer::error(SEER_RT_NOT_FOUND, "no network '" + name + "'");
      answer = own.try_emplace(name, model->second, threads).first->second.answer(values);
    } catch (const seer::error &e) {
      answer = std::string("error ") + e.what();
    }
    if (std::fprintf(out, "%s\n", answer.c_str()) < 0 || std::fflush(out) != 0) break;
  }
  std::free(line);
}

struct client {
  int fd;
  std::atomic<bool> gone{false};
  std::thread thread;
  client(int connection, const models &all, const seer::pool &threads)
      : fd(connection), thread([this, &all, &threads] {
          std::FILE *in = fdopen(dup(fd), "r"), *out = fdopen(dup(fd), "w");
          if (in && out) serve(in, out, all, threads);
          if (in) std::fclose(in);
          if (out) std::fclose(out);
          gone = true;
        }) {}
  ~client() {
    shutdown(fd, SHUT_RDWR);  // ends what it waits for
    thread.join();
    close(fd);
  }
};

static int fail(const char *what) {
  std::fprintf(stderr, "server: %s: %s\n", what, std::strerror(errno));
  return 1;
}

static int serve_socket(
    const char *path, const models &all, const seer::pool &threads, int interrupts) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (std::strlen(path) >= sizeof address.sun_path) return errno = ENAMETOOLONG, fail(path);
  std::strcpy(address.sun_path, path);
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(listener, reinterpret_cast<sockaddr *>(&address), sizeof address) != 0 ||
      listen(listener, 16) != 0)
    return fail(path);
  std::list<client> clients;
  pollfd events[] = {{listener, POLLIN, 0}, {interrupts, POLLIN, 0}};
  while (poll(events, 2, -1) >= 0 && !events[1].revents) {
    clients.remove_if([](const client &c) { return c.gone.load(); });
    const int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection >= 0) clients.emplace_back(connection, all, threads);
  }
  unlink(path);
  close(listener);
  return 0;
}

int main(int argc, char **argv) try {
  models all;
  for (int k = 2; k < argc; k++) {
    const std::string word = argv[k];
    const std::size_t equals = word.find('=');
    if (equals != word.npos)
      all.emplace(word.substr(0, equals), seer::model(word.substr(equals + 1)));
  }
  if (all.empty() || static_cast<int>(all.size()) != argc - 2)
    return std::fprintf(stderr, "usage: server SOCKET|- NAME=FOLDER...\n"), 2;
  // Before any thread is made, so that they all have it; Ctrl-C is read like a client then.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  signal(SIGPIPE, SIG_IGN);  // a client that does not wait for its answer
  const bool from_socket = std::strcmp(argv[1], "-") != 0;
  if (from_socket) pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  const seer::pool threads(
      all.begin()->second);  // one thread a core, for whoever has something to run
  if (from_socket) return serve_socket(argv[1], all, threads, signalfd(-1, &ends, SFD_CLOEXEC));
  serve(stdin, stdout, all, threads);
  return 0;
} catch (const std::exception &e) {
  std::fprintf(stderr, "server: %s\n", e.what());
  return 1;
}
