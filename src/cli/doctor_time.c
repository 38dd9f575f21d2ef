// doctor_time.c - how even times are here: a loop of fixed work, timed again and again, and what
// threads cost each other. See doctor.h.
#include "base/os.h"
#include "base/stats.h"
#include "cli/doctor.h"
#include "measure/cores.h"
#include "measure/distance.h"

#define N_TIMED 101
#define TIMED_NS 3000000  // of each: 0.3 s in all where nothing disturbs
#define MOST_NS UINT64_C(900000000)
#define EVEN 0.03  // what a tuning tells apart
#define UNEVEN 0.10
#define MOST_THREADS 64  // a millisecond or two each
#define CROWDED 1.5  // 1: each has a core; 2: two share one

// Dependent steps, which no compiler shortens.
static uint64_t work(uint64_t n) {
  uint64_t x = 88172645463325252u;
  for (uint64_t k = 0; k < n; k++) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
  }
  return x;
}

static volatile uint64_t sink;  // so that the work is done

static double time_work(uint64_t n) {
  uint64_t start_ns = seer_os_now_ns();
  sink = work(n);
  return (double)(seer_os_now_ns() - start_ns);
}

static void look_at_noise(seer_doctor_report *r) {
  double ns[N_TIMED];
  uint64_t n_steps = 1000, start_ns = seer_os_now_ns();
  uint32_t n = 0;
  while (time_work(n_steps) < TIMED_NS / 2.0) n_steps *= 2;
  while (n < N_TIMED && (n < 11 || seer_os_now_ns() - start_ns < MOST_NS))
    ns[n++] = time_work(n_steps);
  seer_sort_f64(ns, n);
  double least = ns[0], spread = ns[n * 9 / 10] / least - 1, median = ns[n / 2] / least - 1;
  r->topic = "noise";
  seer_doctor_add(r,
      spread < EVEN         ? SEER_DOCTOR_OK
          : spread < UNEVEN ? SEER_DOCTOR_NOTE
                            : SEER_DOCTOR_WARNING,
      spread < EVEN ? ""
                    : "end what else runs here, or give a tuning more time: it measures more often "
                      "where times differ",
      "of %u runs of a loop half took up to %.1f %% longer than the fastest one, nine of ten up to "
      "%.1f %%",
      n, 100 * median, 100 * spread);
}

static void look_at_threads(seer_pool *pool, seer_doctor_report *r) {
  double crowding = seer_cores_crowding(pool), apart_ns = seer_distance_ns(pool);
  for (int k = 0; k < 20; k++) {  // the best moment: what lasts
    double now = seer_cores_crowding(pool);
    if (now < crowding) crowding = now;
  }
  r->topic = "cores";
  if (crowding > CROWDED)
    seer_doctor_add(r, SEER_DOCTOR_WARNING,
        "let threads have cores of their own: --threads, or a machine whose processors are cores",
        "%u threads at once take %.1f times as long as one alone", seer_pool_threads(pool),
        crowding);
  else
    seer_doctor_add(r, SEER_DOCTOR_OK, "", "%u threads at once take %.2f times as long as one",
        seer_pool_threads(pool), crowding);
  r->topic = "distance";
  if (apart_ns > SEER_DISTANCE_FAR_NS)
    seer_doctor_add(r, SEER_DOCTOR_NOTE,
        "steps whose threads read what others wrote take longer in a network than alone; "
        "processors "
        "that share a cache are nearer (taskset, --devices)",
        "a line of memory takes %.0f ns from thread to thread: they are far from each other",
        apart_ns);
  else if (apart_ns > 0)
    seer_doctor_add(
        r, SEER_DOCTOR_OK, "", "a line of memory takes %.1f ns from thread to thread", apart_ns);
}

void seer_doctor_time(uint32_t threads, seer_doctor_report *report) {
  look_at_noise(report);
  if (threads < 2) return;
  seer_pool *pool = seer_pool_create(threads < MOST_THREADS ? threads : MOST_THREADS, 1);
  report->topic = "cores";
  if (!pool) {
    seer_doctor_add(report, SEER_DOCTOR_WARNING, "raise the limit of processes (ulimit -u)",
        "no %u threads to be had", threads);
    return;
  }
  look_at_threads(pool, report);
  seer_pool_destroy(pool);
}
