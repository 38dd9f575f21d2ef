// driver.c - runs a fuzzer where libFuzzer is not: the files of its corpus as they are, then seeded
// mutations of them for a few seconds. Same seed, same inputs; a crash prints the number of the
// input, which may be given to replay:
//   fuzz_x [SECONDS [FIRST INPUT]]
// Files of a folder as they are, and nothing else; the last one named is the one that crashed:
//   fuzz_x --files FOLDER
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fuzz/fuzz.h"

enum { MAX_FILES = 256, MAX_BYTES = 1 << 16 };

typedef struct {
  uint8_t *data;
  size_t n;
} input;

static input corpus[MAX_FILES];
static size_t n_corpus;
static volatile sig_atomic_t current;  // mutation number, for the crash message
static uint64_t random_state;

static uint64_t random_u64(void) {
  random_state += 0x9E3779B97F4A7C15u;
  uint64_t z = random_state;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

static size_t below(size_t n) { return (size_t)(random_u64() % n); }

static void on_crash(int signal_number) {
  char line[64];
  int n = snprintf(line, sizeof line, "crashed by input %d\n", (int)current);
  if (write(2, line, (size_t)n) < 0) _exit(1);
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

static void read_corpus(const char *folder) {
  struct dirent **names;
  int n = scandir(folder, &names, NULL, alphasort);
  for (int i = 0; i < n; i++) {
    char path[8192];
    snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
    FILE *file = names[i]->d_name[0] == '.' || n_corpus == MAX_FILES ? NULL : fopen(path, "rb");
    if (file) {
      uint8_t *data = malloc(MAX_BYTES);
      corpus[n_corpus++] = (input){data, data ? fread(data, 1, MAX_BYTES, file) : 0};
      fclose(file);
    }
    free(names[i]);
  }
  if (n >= 0) free(names);
}

// One to eight small changes: what readers trip over are lengths, signs, missing ends and repeated
// parts.
static size_t mutate(uint8_t *data, size_t n) {
  static const char *const words[] = {"-", "99999999999999999999", "9223372036854775807", "0", "\"",
      "{", "}", "[", "]", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x80", "\n", "#", "inf",
      "nan", "="};
  for (size_t k = 1 + below(8); k > 0; k--) {
    size_t at = n ? below(n) : 0;
    switch (below(6)) {
      case 0:  // another byte
        if (n) data[at] = (uint8_t)random_u64();
        break;
      case 1:  // one bit
        if (n) data[at] ^= (uint8_t)(1u << below(8));
        break;
      case 2:  // cut off
        if (below(4) == 0) n = at;
        break;
      case 3: {  // a part is left out
        size_t cut = n > at ? 1 + below(n - at < 16 ? n - at : 16) : 0;
        memmove(data + at, data + at + cut, n - at - cut);
        n -= cut;
        break;
      }
      case 4: {  // a word is put in
        const char *word = words[below(sizeof words / sizeof *words)];
        size_t n_word = strlen(word);
        if (n + n_word > MAX_BYTES) break;
        memmove(data + at + n_word, data + at, n - at);
        memcpy(data + at, word, n_word);
        n += n_word;
        break;
      }
      default: {  // a part comes twice
        size_t part = n > at ? 1 + below(n - at < 64 ? n - at : 64) : 0;
        if (n + part > MAX_BYTES) break;
        memmove(data + at + part, data + at, n - at);
        n += part;
        break;
      }
    }
  }
  return n;
}

// The fuzzer gets memory that ends where its bytes end, so that sanitizers see one byte too far.
static void run(const uint8_t *data, size_t n) {
  uint8_t *copy = malloc(n ? n : 1);
  if (!copy) abort();
  if (n) memcpy(copy, data, n);
  LLVMFuzzerTestOneInput(copy, n);
  free(copy);
}

// Returns how many there were. Not held in memory together: a campaign makes thousands.
static int run_files(const char *folder) {
  struct dirent **names;
  int n = scandir(folder, &names, NULL, alphasort), n_run = 0;
  uint8_t *data = malloc(MAX_BYTES);
  for (int i = 0; i < n; i++) {
    char path[8192];
    snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
    FILE *file = names[i]->d_name[0] == '.' || !data ? NULL : fopen(path, "rb");
    if (file) {
      size_t n_bytes = fread(data, 1, MAX_BYTES, file);
      fclose(file);
      printf("%s\n", names[i]->d_name);
      fflush(stdout);
      run(data, n_bytes);
      n_run++;
    }
    free(names[i]);
  }
  if (n >= 0) free(names);
  free(data);
  return n_run;
}

int main(int argc, char **argv) {
  if (argc == 3 && strcmp(argv[1], "--files") == 0) return run_files(argv[2]) > 0 ? 0 : 1;
  double seconds = argc > 1 ? atof(argv[1]) : 3;
  int first = argc > 2 ? atoi(argv[2]) : 0;
  const char *name = strrchr(argv[0], '/');
  name = name ? name + 1 : argv[0];
  if (strncmp(name, "fuzz_", 5) == 0) name += 5;
  char folder[4096];
  snprintf(folder, sizeof folder, "%s/test/fuzz/corpus/%s", SEER_SOURCE_DIR, name);
  read_corpus(folder);
  signal(SIGSEGV, on_crash);
  signal(SIGABRT, on_crash);
  signal(SIGFPE, on_crash);
  current = -1;
  for (size_t i = 0; i < n_corpus; i++) run(corpus[i].data, corpus[i].n);
  uint8_t *data = malloc(MAX_BYTES);
  if (!data) return 1;
  time_t end = time(NULL) + (time_t)(seconds + 1);
  int number = first;
  for (; number < first + 100000 && time(NULL) < end; number++) {
    current = number;
    random_state = (uint64_t)number * 0x5851F42D4C957F2Du + 1;
    size_t n = 0;
    if (n_corpus) {
      const input *from = &corpus[below(n_corpus)];
      n = from->n;
      memcpy(data, from->data, n);
    } else {
      for (n = below(200); n > 0 && below(1000);) data[--n] = (uint8_t)random_u64();
      n = below(200);
    }
    n = mutate(data, n);
    run(data, n);
  }
  printf("%s: %zu files, %d mutations\n", name, n_corpus, number - first);
  free(data);
  for (size_t i = 0; i < n_corpus; i++) free(corpus[i].data);
  return 0;
}
