// What a search knows on the way: the slowest cases of `breadth` by default. One table.
//
//   bench/anytime [--cases workload@arch,..] [--at 1] [--gap 0.01] [--time 120]
//                 [-- options of `tessera map`]
//
// Every case runs twice. The first run is exact; from its events: the best mapping after --at
// seconds relative to the final one, the time from which one within 5 % was known, whether the
// bound ever stood above the final optimum, and whether incumbents only fell, bounds only rose. The
// second run stops at --gap: what it found, the gap it claimed, and the gap that the first run's
// optimum shows. Exit status 1 if a claim is wrong or a case did not end.

#include "options.hpp"

namespace {

using namespace bench;

struct Settings {
    std::vector<std::string> cases{"resnet-50@simba", "resnet-50@eyeriss", "mobilenet-v1@simba",
                                   "mobilenet-v1@eyeriss"};
    double at_s = 1, gap = 0.01, time_s = 120;
    std::vector<std::string> extra;
};

Settings settings(int argc, char** argv) {
    Settings s;
    Options options("anytime", "[--cases workload@arch,..] [--at S] [--gap X] [--time S]");
    options.list("--cases", s.cases);
    options.number("--at", s.at_s);
    options.number("--gap", s.gap);
    options.number("--time", s.time_s);
    s.extra = options.read(argc, argv);
    for (const std::string& c : s.cases) {
        if (split(c, '@').size() != 2) {
            options.refuse("'" + c + "' is not workload@arch");
        }
    }
    return s;
}

/// What the events of a run say.
struct Course {
    double at = std::nan("");       ///< best after the given time
    double close_s = std::nan("");  ///< from here on within 5 % of the final one
    bool bound_holds = true, monotone = true;
};

Course course(const std::string& file, double final, double at_s) {
    constexpr double rounding = 1e-9;
    Course c;
    double best = HUGE_VAL, bound = 0;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        const Json e = Json::parse(line, nullptr, false);
        if (!e.is_object() || !e.contains("event")) {
            continue;
        }
        const double value = number(e, {"value"}), time = number(e, {"time_s"});
        if (e["event"] == "incumbent") {
            c.monotone = c.monotone && value <= best * (1 + rounding);
            best = std::min(best, value);
            c.at = time <= at_s ? best : c.at;
            if (std::isnan(c.close_s) && best <= final * 1.05) {
                c.close_s = time;
            }
        } else if (e["event"] == "bound") {
            c.monotone = c.monotone && value >= bound * (1 - rounding);
            bound = value;
            c.bound_holds = c.bound_holds && value <= final * (1 + rounding);
        }
    }
    return c;
}

}  // namespace

int main(int argc, char** argv) {
    const Settings s = settings(argc, argv);
    const std::string root =
        std::filesystem::temp_directory_path() / ("tessera-anytime-" + std::to_string(getpid()));
    std::printf("%-24s %-10s %13s %8s %8s %9s %9s %6s %5s | %8s %9s %9s %5s\n", "case", "status",
                "EDP (J s)", "wall s", "CPU s", "best@/opt", "<5 % at s", "bound", "mono",
                "gap: wall", "claimed", "true", "holds");
    bool good = true;
    for (const std::string& name : s.cases) {
        const std::vector<std::string> parts = split(name, '@');
        const auto command = [&](const std::string& out, const std::vector<std::string>& more) {
            return joined(joined({bench::tessera(), "map", "-w", parts[0], "-a", parts[1], "--json",
                                  "--quiet", "-o", out, "--force", "--max-time",
                                  std::to_string(s.time_s) + "s"},
                                 more),
                          s.extra);
        };
        const Outcome exact = run(command(root, {}), s.time_s + 10);
        const Json d = document(exact);
        const double optimum = best(d, "edp_js");
        const Course c = course(root + "/events.jsonl", optimum, s.at_s);
        const Outcome near = run(command(root, {"--gap", std::to_string(s.gap)}), s.time_s + 10);
        const Json n = document(near);
        const double claimed = number(n, {"gap"}), found = best(n, "edp_js");
        const double real = (found - optimum) / found;
        const std::string status =
            d.is_object() && d.contains("status") ? d["status"].get<std::string>() : "none";
        const bool holds = claimed <= s.gap * (1 + 1e-9) && real <= claimed + 1e-9;
        good = good && status == "optimal" && c.bound_holds && c.monotone && holds;
        std::printf("%-24s %-10s %13.8g %8.2f %8.2f %9.4f %9.2f %6s %5s | %8.2f %9.2e %9.2e %5s\n",
                    name.c_str(), status.c_str(), optimum, exact.wall_s, exact.cpu_s,
                    c.at / optimum, c.close_s, c.bound_holds ? "below" : "ABOVE",
                    c.monotone ? "yes" : "NO", near.wall_s, claimed, real, holds ? "yes" : "NO");
        std::fflush(stdout);
    }
    std::error_code ignored;
    std::filesystem::remove_all(root, ignored);
    return good ? 0 : 1;
}
