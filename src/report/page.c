// page.c - the data of a report -> the page: figures first, then pictures, tables, settings.
#include <math.h>

#include "report/data.h"

// Colours of tasks stand out from both backgrounds by 3:1, texts by 4.5:1. What may be too wide
// for a small screen is in a box of its own, which scrolls; the page never does.
static const char style[] =
    "*{box-sizing:border-box}"
    ":root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--soft:#57606a;--line:#d8dce1;"
    "--card:#f4f6f8;--rest:#b3bac2;--before:#8c959f;--k0:#2563c9;--k1:#c2410c;--k2:#15803d;"
    "--k3:#b91c8c;--k4:#7c3aed;--k5:#0e7490;--k6:#a16207;--k7:#e11d48;--k8:#4d7c0f;--k9:#475569;"
    "--g:#9aa3ad;--h0:#fde7c8;--h1:#fbbf77;--h2:#f0803c;--h3:#d0411f;--h4:#8f1414}"
    "@media (prefers-color-scheme:dark){:root{--bg:#14171b;--fg:#e6e9ed;--soft:#a3adb8;"
    "--line:#343b44;--card:#1d2228;--rest:#4b545e;--before:#7b8691;--k0:#6ea8fe;--k1:#fb923c;"
    "--k2:#4ade80;--k3:#f472b6;--k4:#a78bfa;--k5:#22d3ee;--k6:#facc15;--k7:#fb7185;--k8:#a3e635;"
    "--k9:#cbd5e1;--g:#6b7681;--h0:#3b2f2a;--h1:#7a3b1d;--h2:#c2571b;--h3:#f59331;--h4:#fde08a}}"
    "body{margin:0;background:var(--bg);color:var(--fg);font:16px/1.5 system-ui,sans-serif;"
    "overflow-wrap:anywhere}"
    "main{max-width:76rem;margin:0 auto;padding:1.5rem clamp(1rem,4vw,2.5rem) 4rem}"
    "h1{font-size:clamp(1.5rem,4vw,2.2rem);line-height:1.2;margin:0}"
    "h2{font-size:1.3rem;margin:2.8rem 0 .6rem}h3{font-size:1.05rem;margin:1.6rem 0 .3rem}"
    "p{margin:.5rem 0;max-width:46rem}.about,small,figcaption,caption,.text{color:var(--soft)}"
    "dl.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,11rem),1fr));"
    "gap:.8rem;margin:1.4rem 0}"
    ".figures div{background:var(--card);border:1px solid var(--line);border-radius:.6rem;"
    "padding:.8rem 1rem}"
    ".figures dt{color:var(--soft);font-size:.9rem}.figures dd{margin:0;font-size:1.5rem;"
    "font-weight:600;line-height:1.3}.figures small{display:block;font-size:.8rem;font-weight:400}"
    ".large{border-left:.35rem solid var(--k0)!important}.large dd{font-size:2.3rem}"
    "@media (max-width:30rem){dl.figures{grid-template-columns:1fr 1fr}"
    ".figures .large{grid-column:1/-1}}"
    "data,td,.key{white-space:nowrap;font-variant-numeric:tabular-nums}"
    ".key{margin-right:1rem;font-size:.85rem}"
    ".box{overflow-x:auto;margin:.6rem 0}table{border-collapse:collapse;font-size:.9rem}"
    "caption{text-align:left;padding:.2rem .6rem;font-weight:600}"
    "td,th{padding:.25rem .6rem;border-bottom:1px solid var(--line);text-align:right;"
    "vertical-align:top;font-weight:400}thead th{color:var(--soft);vertical-align:bottom;"
    "white-space:nowrap}"
    "thead th:first-child,tbody th,tfoot th,.l{text-align:left}tbody th{min-width:min(18rem,55vw)}"
    ".columns th{min-width:0}tfoot *{font-weight:600}"
    ".s{display:inline-block;margin-right:.2em;width:.75em;height:.75em;border-radius:.15em;"
    "background:var(--c)}"
    ".legend{list-style:none;display:flex;flex-wrap:wrap;gap:.1rem 1.2rem;padding:0;margin:.5rem 0;"
    "font-size:.85rem}"
    ".columns{display:flex;flex-wrap:wrap;gap:1rem 3rem}.columns>*{min-width:0;max-width:100%}"
    ".charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));"
    "gap:1rem 2rem;align-items:start}"
    "figure{margin:0;max-width:38rem}figcaption,.text{font-size:.85rem}"
    "svg{display:block;width:100%;height:auto}svg text{fill:var(--soft);font-size:11px;"
    "font-family:inherit}.end{text-anchor:end}.mid{text-anchor:middle}"
    ".bar{height:2.4rem;margin:.3rem 0;border-radius:.3rem}"
    ".part,.dot{fill:var(--c)}.bar .part{stroke:var(--bg);stroke-width:1px;"
    "vector-effect:non-scaling-stroke}"
    ".cell{fill:var(--c);stroke:var(--line)}.map{max-width:38rem}.strip{max-width:60rem}"
    ".grid{stroke:var(--line);fill:none}.edge{stroke:var(--before);fill:none}"
    ".curve{fill:none;stroke:var(--c);stroke-width:2;stroke-linejoin:round}"
    ".roof{stroke:var(--fg);fill:none;stroke-width:1.4}.way{stroke:var(--c);opacity:.6}"
    ".ring{fill:var(--bg);stroke:var(--c)}.dot{stroke:var(--bg)}.before{fill:var(--before)}"
    "details{border-bottom:1px solid var(--line)}"
    "summary{display:grid;grid-template-columns:minmax(0,3fr) minmax(4rem,4fr) 19rem;gap:1rem;"
    "align-items:center;padding:.35rem .2rem;cursor:pointer}"
    "summary "
    ".pair{height:.9rem;width:100%}.times{text-align:right;font-variant-numeric:tabular-nums}"
    "summary:hover{background:var(--card)}.name::before{content:'\u25b8\u00a0'}"
    "[open] .name::before{content:'\u25be\u00a0'}"
    "@media (max-width:62rem){summary{grid-template-columns:minmax(4rem,1fr) "
    "minmax(0,auto);gap:.2rem .8rem}"
    "summary .name{grid-column:1/-1}}"
    ".facts{display:grid;grid-template-columns:auto minmax(0,1fr);gap:.1rem 1rem;font-size:.9rem;"
    "margin:.4rem 0}.facts dt{color:var(--soft)}.facts dd{margin:0}"
    "pre{overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:.4rem;"
    "padding:.7rem;font:12px/1.45 ui-monospace,monospace;max-height:34rem;overflow-wrap:normal}"
    ".better{color:var(--k2)}.worse{color:var(--k1)}"
    "@media print{:root{color-scheme:light;--bg:#fff;--fg:#000;--soft:#444;--line:#ccc;"
    "--card:#fff;--rest:#b3bac2;--before:#8c959f;--k0:#2563c9;--k1:#c2410c;--k2:#15803d;"
    "--k3:#b91c8c;--k4:#7c3aed;--k5:#0e7490;--k6:#a16207;--k7:#e11d48;--k8:#4d7c0f;--k9:#475569;"
    "--g:#9aa3ad;--h0:#fde7c8;--h1:#fbbf77;--h2:#f0803c;--h3:#d0411f;--h4:#8f1414}"
    "*{print-color-adjust:exact;-webkit-print-color-adjust:exact}body{font-size:11px}"
    "main{max-width:none;padding:0}.box,pre{overflow:visible}pre{white-space:pre-wrap;"
    "max-height:none}table{font-size:9px}td,th{padding:.15rem .3rem}tbody th{min-width:9rem}"
    "thead th{white-space:normal}figure,tr,details,.figures{break-inside:avoid}"
    "h2,h3{break-after:avoid}}";

// Tasks, what is left in grey, the rest; and heats.
static void put_colours(seer_text *html) {
  for (int k = 0; k < SEER_REPORT_COLOURS; k++)
    seer_text_printf(html, ".c%d{--c:var(--k%d)}", k, k);
  seer_text_printf(html, ".c%d{--c:var(--g)}.c%d{--c:var(--rest)}", SEER_REPORT_COLOURS,
      SEER_REPORT_COLOURS + 1);
  for (int h = 0; h < 5; h++) seer_text_printf(html, ".h%d{--c:var(--h%d)}", h, h);
}

void seer_report_put_head(seer_text *html, const char *title, const char *about) {
  seer_text_put(html,
      "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><meta name='viewport' "
      "content='width=device-width,initial-scale=1'><title>");
  seer_text_put_html(html, title);
  seer_text_put(html, "</title><style>");
  seer_text_put(html, style);
  put_colours(html);
  seer_text_put(html, "</style></head>\n<body><main>\n<header><h1>");
  seer_text_put_html(html, title);
  seer_text_put(html, "</h1><p class='about'>");
  seer_text_put_html(html, about);
  seer_text_put(html, "</p></header>\n");
}

void seer_report_put_end(seer_text *html) { seer_text_put(html, "</main></body></html>\n"); }

// ---- figures
static const char *data_of(seer_arena *arena, double seconds) {
  return seer_arena_printf(
      arena, "<data value='%.9g'>%s</data>", seconds, seer_report_time(arena, seconds));
}

static void put_figures(seer_text *html, const seer_report_data *data) {
  seer_arena *arena = html->arena;
  bool has_pairs = data->n_pairs > 0 && data->untuned_s > 0, is_run = data->latency_s > 0;
  double run_s = seer_report_run_s(data);
  double untuned_s = has_pairs ? data->untuned_s : is_run ? 0 : data->sum_untuned_s;
  double speedup = has_pairs ? data->speedup : untuned_s > 0 && run_s > 0 ? untuned_s / run_s : 0;
  const char *mean = data->n_set > 1 ? ", mean of the sets of shapes" : "";
  seer_text_put(html, "<dl class='figures'>\n");
  seer_report_put_figure(html, is_run ? "Latency" : "Sum of tasks", data_of(arena, run_s),
      seer_arena_printf(arena, "%s%s",
          is_run ? "the whole library by itself: the median run"
                 : "each measured alone: no library was run",
          mean),
      true);
  if (untuned_s > 0)
    seer_report_put_figure(html, "Untuned", data_of(arena, untuned_s),
        has_pairs ? seer_arena_printf(arena, "in turns with the tuned library, which took %s then",
                        seer_report_time(arena, data->tuned_s))
                  : "the same before tuning",
        false);
  if (speedup > 0)
    seer_report_put_figure(html, "Times as fast", seer_report_ratio(arena, speedup),
        has_pairs ? seer_arena_printf(arena, "the median of %u pairs", data->n_pairs) : "", false);
  if (data->bound_s > 0 && run_s > 0)
    seer_report_put_figure(html, "Bound of the machine", data_of(arena, data->bound_s),
        seer_arena_printf(arena,
            "%.0f\u00a0%% of the %s: no schedule of these tasks takes less, by arithmetic and "
            "memory",
            100 * data->bound_s / run_s, is_run ? "latency" : "sum"),
        false);
  seer_text_put(html, "</dl>\n");
  if (is_run)
    seer_text_printf(html, "<p>Sum of tasks, each measured alone: %s, before tuning %s.</p>\n",
        data_of(arena, data->sum_s), data_of(arena, data->sum_untuned_s));
}

static void put_verdict(seer_text *html, const seer_report_data *data) {
  if (data->verdict[0]) {
    seer_text_put(html, "<p>");
    seer_text_put_html(html, data->verdict);
    seer_text_put(html, ".</p>\n");
  }
  bool is_open = false;
  for (uint32_t t = 0; t < data->n_task; t++) {
    if (!data->task[t].is_fallen) continue;
    if (!is_open) seer_text_put(html, "<p>Slower in the network, and untuned again:</p>\n<ul>\n");
    is_open = true;
    seer_text_put(html, "<li>");
    seer_text_put_html(html, data->task[t].name);
    seer_text_put(html, "</li>\n");
  }
  if (is_open) seer_text_put(html, "</ul>\n");
}

// ---- sections
static void put_time(seer_text *html, const seer_report_data *data) {
  uint32_t n = data->n_task < SEER_REPORT_COLOURS ? data->n_task : SEER_REPORT_COLOURS;
  if (!(data->total_s > 0)) return;
  seer_text_put(html, "<section><h2>Where the time goes</h2>\n");
  seer_report_put_bar(html, data, "A run, split by task", data->total_s);
  seer_text_put(html, "<ul class='legend'>\n");
  int other = 1000 - data->rest_tenths;
  for (uint32_t k = 0; k < n; k++) {
    const seer_report_task *task = &data->task[data->order[k]];
    other -= task->tenths;
    seer_text_printf(html, "<li><i class='s c%u'></i> ", task->colour);
    seer_text_put_html(html, task->name);
    seer_text_printf(html, " <b>%s</b></li>\n", seer_report_share(html->arena, task->tenths));
  }
  if (data->n_task > n)
    seer_text_printf(html, "<li><i class='s c%d'></i> %u more tasks <b>%s</b></li>\n",
        SEER_REPORT_COLOURS, data->n_task - n, seer_report_share(html->arena, other));
  if (data->rest_tenths > 0)
    seer_text_printf(html, "<li><i class='s c%d'></i> the rest <b>%s</b></li>\n",
        SEER_REPORT_COLOURS + 1, seer_report_share(html->arena, data->rest_tenths));
  seer_text_put(html, "</ul>\n");
  seer_report_put_network(html, data);
  seer_text_put(html, "</section>\n");
}

static void put_tuning(seer_text *html, const seer_report_data *data) {
  const seer_report_curve curve = {data->model, data};
  if (data->trials == 0) return;  // one that only restored what records had, or nothing
  seer_text_printf(html,
      "<section><h2>Tuning</h2>\n<p>%u measurements in %s (%.1f a second).</p>\n<div "
      "class='charts'>\n",
      data->trials, seer_report_time(html->arena, data->elapsed_s),
      data->elapsed_s > 0 ? data->trials / data->elapsed_s : 0);
  seer_report_put_curves(html, &curve, 1, false);
  seer_report_put_curves(html, &curve, 1, true);
  seer_text_put(html, "</div></section>\n");
}

// Values may have several lines.
static void put_pairs(
    seer_text *html, const char *heading, const seer_report_pair *pairs, uint32_t n) {
  if (n == 0) return;
  seer_text_printf(html,
      "<section><h2>%s</h2>\n<div class='box' tabindex='0' role='region' aria-label='%s'><table>"
      "<tbody>\n",
      heading, heading);
  for (uint32_t k = 0; k < n; k++) {
    seer_text_put(html, "<tr><th scope='row'>");
    seer_text_put_html(html, pairs[k].name);
    seer_text_put(html, "<td class='l'>");
    seer_report_put_lines(html, pairs[k].value);
    seer_text_put(html, "</tr>\n");
  }
  seer_text_put(html, "</tbody></table></div></section>\n");
}

static void put_settings(seer_text *html, const seer_report_data *data) {
  seer_arena *arena = html->arena;
  uint32_t n = data->n_setting;
  seer_report_pair *all = SEER_NEW_ARRAY(arena, seer_report_pair, n + 2);
  for (uint32_t k = 0; k < n; k++) all[k] = data->setting[k];
  all[n] = (seer_report_pair){"families", seer_arena_printf(arena, "%u", data->n_family)};
  all[n + 1] = (seer_report_pair){"machine", data->machine};
  put_pairs(html, "Settings", all, n + 2);
}

static void put_notes(seer_text *html, const seer_report_data *data) {
  if (data->n_note == 0) return;
  seer_text_put(html, "<section><h2>Notes</h2>\n<ul>\n");
  for (uint32_t k = 0; k < data->n_note; k++) {
    seer_text_put(html, "<li>");
    seer_text_put_html(html, data->note[k]);
    seer_text_put(html, "</li>\n");
  }
  seer_text_put(html, "</ul></section>\n");
}

void seer_report_put_page(seer_text *html, const seer_report_data *data) {
  seer_report_put_head(html, data->model,
      seer_arena_printf(html->arena, "tuned for %s, by familyseer " SEER_VERSION, data->machine));
  put_figures(html, data);
  put_verdict(html, data);
  put_time(html, data);
  put_tuning(html, data);
  seer_report_put_roofline(html, data);
  seer_report_put_tasks(html, data);
  seer_report_put_details(html, data);
  if (data->precision[0]) {
    seer_text_put(html, "<section><h2>Precision</h2>\n<pre tabindex='0'>");
    seer_report_put_lines(html, data->precision);
    seer_text_put(html, "</pre></section>\n");
  }
  if (data->n_set > 1)
    put_pairs(html, "Sets of input shapes: the sum of the tasks", data->set, data->n_set);
  seer_report_put_refused(html, data);
  put_settings(html, data);
  put_notes(html, data);
  seer_report_put_data(html, data);
  seer_report_put_end(html);
}
