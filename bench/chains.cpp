// Scaling: chains of n matrix multiplications, widths all equal or all different, unlimited fused
// loops, metric edp. Prints CPU time per Einsum (also relative to n = 8) and memory.
//
//   bench/chains [--lengths 1,2,4,8,16,32,64,250,1000] [--arch tpu-v4i] [--kn 1024] [--step 16]
//                [--time 300] [-- options of `tessera map`]
//
// The work per Einsum depends on how many divisors its sizes have, which differs along a chain of
// all-different sizes: the column rows/n (tile-shape rows and join pairs per Einsum) tells that
// from growth with the length of the chain. The last line of a family is what scaling is judged by.

#include <algorithm>

#include "options.hpp"

namespace {

using namespace bench;

struct Settings {
    std::vector<std::string> lengths{"1", "2", "4", "8", "16", "32", "64", "250", "1000"};
    std::string arch = "tpu-v4i", kn = "1024", step = "16";
    double time_s = 300;
    std::vector<std::string> extra;
};

Settings settings(int argc, char** argv) {
    Settings s;
    Options options("chains", "[--lengths n,n] [--arch A] [--kn N] [--step N] [--time S]");
    options.list("--lengths", s.lengths);
    options.text("--arch", s.arch);
    options.text("--kn", s.kn);
    options.text("--step", s.step);
    options.number("--time", s.time_s);
    s.extra = options.read(argc, argv);
    return s;
}

/// One chain family. The row of n = 8, if there is one, is the unit of the last column.
bool family(const Settings& s, const std::string& title, const std::string& step) {
    std::printf("%s\n%6s %-16s %14s %8s %8s %10s %6s %10s %8s %10s\n", title.c_str(), "n", "status",
                "EDP (J s)", "wall s", "CPU s", "CPU ms/n", "/n=8", "rows/n", "RSS MiB",
                "RSS MiB/n");
    double unit = 0;
    bool all = true;
    std::string summary;
    for (const std::string& n : s.lengths) {
        const Outcome o = run(joined({bench::tessera(), "map", "-a", s.arch, "-w", "matmuls", "-D",
                                      "N_EINSUMS=" + n, "-D", "M=1024", "-D", "KN=" + s.kn, "-D",
                                      "KN_STEP=" + step, "--json", "--quiet"},
                                     s.extra),
                              s.time_s);
        const Json d = document(o);
        const bool done = d.is_object() && d.contains("status");
        const std::string status = done            ? d["status"].get<std::string>()
                                   : o.out_of_time ? "killed (time)"
                                                   : "exit " + std::to_string(o.exit_code);
        all = all && done;
        const double count = std::max(1.0, std::atof(n.c_str()));
        const double each = o.cpu_s / count * 1e3;
        unit = n == "8" ? each : unit;
        char relative[16] = "-";
        if (unit > 0) {
            std::snprintf(relative, sizeof relative, "%.2f", each / unit);
        }
        const double mib = o.peak_rss_bytes / 1048576;
        std::printf("%6s %-16s %14.8g %8.2f %8.2f %10.2f %6s %10.3g %8.0f %10.2f\n", n.c_str(),
                    status.c_str(), best(d, "edp_js"), o.wall_s, o.cpu_s, each, relative,
                    number(d, {"search", "evaluated"}) / count, mib, mib / count);
        if (done && (n == "64" || n == "1000")) {
            char text[120];
            std::snprintf(text, sizeof text, "; n = %s: %.2f s wall, %s of n = 8, %.0f MiB",
                          n.c_str(), o.wall_s, relative, mib);
            summary += text;
        }
        if (!done && !o.errors.empty()) {
            std::printf("       %s\n", last_line(o.errors).c_str());
        }
        std::fflush(stdout);
    }
    std::printf("time per Einsum%s\n\n", summary.c_str());
    return all;
}

}  // namespace

int main(int argc, char** argv) {
    const Settings s = settings(argc, argv);
    const bool equal = family(s, "equal sizes, M = 1024, KN = " + s.kn + ", " + s.arch, "0");
    const bool different =
        family(s, "all sizes different, M = 1024, KN = " + s.kn + " + " + s.step + " i, " + s.arch,
               s.step);
    return equal && different ? 0 : 1;
}
