// Breadth: every workload of problem-shapes/ on five architectures, prefill and decode. One table.
//
//   bench/breadth [--workloads a,b] [--archs a,b] [--time 60] [--grace 5] [--memory-gib 4]
//                 [--log FILE] [-- options of `tessera map`]
//
// A case is asked to stop after --time seconds, or above 3/4 of --memory-gib, and is killed --grace
// seconds later, or when it holds more. Status: that of `tessera map`, or `refused`, `crashed`,
// `killed (time|memory)`. Under a case that is not proven optimal stand its message and the time of
// each phase. Exit status 1 if a case crashed, was refused or was killed.

#include <algorithm>

#include "base/data_path.hpp"
#include "options.hpp"

namespace {

using namespace bench;

constexpr double close_gap = 0.05;
/// Of the memory that a case may hold: where it is asked to stop.
constexpr double memory_share = 0.75;

struct Settings {
    std::vector<std::string> archs{"tpu-v4i", "eyeriss", "simba", "nvdla", "edge"};
    std::vector<std::string> workloads, extra;
    double time_s = 60, grace_s = 5, memory_gib = 4;
    std::ofstream log;  ///< closed if not asked for
};

struct Case {
    std::string workload, arch;
    std::vector<std::string> defines;

    std::string name() const {
        return workload + (defines.empty() ? "" : " decode") + " @ " + arch;
    }
};

Settings settings(int argc, char** argv) {
    Settings s;
    Options options("breadth",
                    "[--workloads a,b] [--archs a,b] [--time S] [--grace S] [--memory-gib N] "
                    "[--log FILE]");
    options.list("--workloads", s.workloads);
    options.list("--archs", s.archs);
    options.number("--time", s.time_s);
    options.number("--grace", s.grace_s);
    options.number("--memory-gib", s.memory_gib);
    std::string log;
    options.text("--log", log);
    s.extra = options.read(argc, argv);
    if (!log.empty()) {
        s.log.open(log);
        if (!s.log) {
            options.refuse("cannot write " + log);
        }
    }
    if (s.workloads.empty()) {
        for (const std::string& name : tessera::list_data("problem-shapes")) {
            if (name.find('/') == std::string::npos) {
                s.workloads.push_back(name);
            }
        }
    }
    return s;
}

/// Prefill, and decode for the workloads that know the variable DECODE.
std::vector<Case> cases(const Settings& s) {
    std::vector<Case> all;
    for (const std::string& w : s.workloads) {
        const bool decode = run({bench::tessera(), "check", "-w", w, "-D", "DECODE=1"}).ok();
        for (const std::string& a : s.archs) {
            all.push_back({w, a, {}});
            if (decode) {
                all.push_back({w, a, {"-D", "DECODE=1"}});
            }
        }
    }
    return all;
}

std::string status_of(const Outcome& o, const Json& d) {
    if (o.out_of_memory) {
        return "killed (memory)";
    }
    if (o.out_of_time) {
        return "killed (time)";
    }
    if (o.signal != 0) {
        return "crashed (signal " + std::to_string(o.signal) + ")";
    }
    if (d.is_object() && d.contains("status")) {
        return d["status"];
    }
    return o.exit_code == 2   ? "refused"
           : o.exit_code == 5 ? "no result"
                              : "exit " + std::to_string(o.exit_code);
}

void add_details(std::ostream& out, const std::string& status, const Outcome& o, const Json& d) {
    if (d.is_object() && d.contains("reasons")) {
        for (const Json& reason : d["reasons"]) {
            out << "    " << reason.get<std::string>() << "\n";
        }
    }
    if (status != "optimal") {
        if (!o.errors.empty()) {
            out << "    " << last_line(o.errors) << "\n";
        }
        if (!phases(d).empty()) {
            out << "    phases: " << phases(d) << "\n";
        }
    }
}

/// Counted at the end.
struct Totals {
    int all = 0, optimal = 0, feasible = 0, infeasible = 0, failed = 0, close = 0;
    double cpu_s = 0, most_rss = 0;

    void add(const std::string& status, const Outcome& o, double gap) {
        ++all;
        close += status == "optimal" || gap <= close_gap ? 1 : 0;
        ++(status == "optimal"      ? optimal
           : status == "feasible"   ? feasible
           : status == "infeasible" ? infeasible
                                    : failed);
        cpu_s += o.cpu_s;
        most_rss = std::max(most_rss, o.peak_rss_bytes);
    }
};

double percent(int part, int all) {
    return all > 0 ? 100.0 * part / all : 0;
}

}  // namespace

int main(int argc, char** argv) {
    Settings s = settings(argc, argv);
    const auto say = [&](const std::string& text) {
        std::cout << text << std::flush;
        s.log << text << std::flush;
    };
    char line[200];
    std::snprintf(line, sizeof line, "%-40s %-18s %13s %8s %8s %8s %9s\n", "case", "status",
                  "EDP (J s)", "gap", "wall s", "CPU s", "RSS MiB");
    say(line);
    Totals totals;
    const std::string memory =
        std::to_string(static_cast<int>(s.memory_gib * 1024 * memory_share)) + "MiB";
    for (const Case& c : cases(s)) {
        std::vector<std::string> command{
            bench::tessera(), "map",        "-a",
            c.arch,           "-w",         c.workload,
            "--json",         "--max-time", std::to_string(s.time_s) + "s",
            "--max-memory",   memory};
        command = joined(joined(command, c.defines), s.extra);
        const Outcome o = run(command, s.time_s + s.grace_s, s.memory_gib * 1073741824);
        const Json d = document(o);
        const std::string status = status_of(o, d);
        const double gap = number(d, {"gap"});
        totals.add(status, o, gap);
        std::snprintf(line, sizeof line, "%-40s %-18s %13.8g %8.3g %8.2f %8.2f %9.0f\n",
                      c.name().c_str(), status.c_str(), best(d, "edp_js"), gap, o.wall_s, o.cpu_s,
                      o.peak_rss_bytes / 1048576);
        say(line);
        std::ostringstream details;
        add_details(details, status, o, d);
        say(details.str());
    }
    std::snprintf(line, sizeof line,
                  "%d cases: %d optimal (%.1f %%), %d within 5 %% (%.1f %%), %d feasible, "
                  "%d infeasible, %d failed; %.0f CPU s, at most %.0f MiB\n",
                  totals.all, totals.optimal, percent(totals.optimal, totals.all), totals.close,
                  percent(totals.close, totals.all), totals.feasible, totals.infeasible,
                  totals.failed, totals.cpu_s, totals.most_rss / 1048576);
    say(line);
    return totals.failed > 0 ? 1 : 0;
}
