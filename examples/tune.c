// tune.c - a program that tunes a network by itself, shows how far it is, and compiles it.
//
//   cc tune.c $(pkg-config --cflags --libs familyseer) -o tune      (installed)
//   ./tune my.onnx out 2m                                           (Ctrl-C keeps what is known)
#include <seer/familyseer.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

// A signal handler has no other way to reach the tuner.
static seer_tuner *tuner;

static void on_interrupt(int number) {
  (void)number;
  seer_tuner_stop(tuner);
}

static void on_event(void *user, const seer_tuner_event *event) {
  double *last_ms = user;
  if (strcmp(event->kind, "done") == 0) printf("%s\n", event->text);
  if (strcmp(event->kind, "verdict") == 0)
    printf("a run takes %.3f ms; %s\n", event->latency_ms, event->text);
  if (event->estimated_ms == *last_ms) return;
  *last_ms = event->estimated_ms;
  printf("%6.1f s  %6u measurements  %.3f ms\n", event->elapsed_s, event->trials, *last_ms);
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: tune MODEL FOLDER TIME\n");
    return 2;
  }
  double last_ms = 0;
  int failed = seer_tuner_create(&tuner) || seer_tuner_set(tuner, "time-budget", argv[3]) ||
      seer_tuner_load(tuner, argv[1]);
  if (!failed) {
    signal(SIGINT, on_interrupt);
    seer_tuner_listen(tuner, on_event, &last_ms);
    failed = seer_tuner_tune(tuner) || seer_tuner_compile(tuner, argv[2]);
    signal(SIGINT, SIG_DFL);
  }
  if (failed) fprintf(stderr, "tune: %s\n", seer_tuner_message(tuner));
  seer_tuner_destroy(tuner);
  return failed;
}
