// Ordinary chips and workloads that nobody tuned the search for: chips/ draws them from seeds. One
// line for each seed, then a summary.
//
//   bench/chips [--seeds 1..60] [--limit 10] [--rivals] [--jobs 1] [--memory-gib 4]
//               [--write FOLDER] [--csv FILE] [-- options of `tessera map`]
//
// Every problem is mapped with one thread for --limit CPU seconds. Times are CPU seconds: of the
// process when it is proven, and until an incumbent is within 10 % and 1 % of the final one. `1 s`
// is the best after one CPU second over the final one, `bound` the bound after half a second over
// the final best (its time is wall time, scaled by CPU time over wall time of the run).
// --seeds takes FROM..TO and lists. --rivals: restricted and heuristic runs of 3 CPU seconds each;
// `rival` is the best of them over what the default has after 3 s. --write: the inputs as
// FOLDER/SEED-chip.yaml and FOLDER/SEED-workload.yaml; nothing is run. Exit status 1 if a run
// crashed, was refused or was killed.

#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>

#include "chips/problem.hpp"
#include "options.hpp"

namespace {

using namespace bench;
namespace fs = std::filesystem;

constexpr double rival_s = 3;

struct Rival {
    const char* name;
    std::vector<std::string> options;
};

const std::vector<Rival>& rivals() {
    static const std::vector<Rival> all{
        {"energy", {"--metric", "energy"}},
        {"latency", {"--metric", "latency"}},
        {"unfused", {"--unfused"}},
        {"loops 1", {"--max-fused-loops", "1"}},
        {"loops 2", {"--max-fused-loops", "2"}},
        // The same cost conventions as all others, or the values would not compare.
        {"accelforge", {"--mapspace", "accelforge", "--compat", "none"}},
        {"annealing", {"--mapper", "annealing"}},
        {"genetic", {"--mapper", "genetic"}},
    };
    return all;
}

struct Settings {
    std::vector<std::string> seeds{"1..60"}, extra;
    double limit_s = 10, jobs = 1, memory_gib = 4;
    bool rivals = false;
    std::string write, csv;
};

Settings settings(int argc, char** argv) {
    Settings s;
    Options options("chips",
                    "[--seeds FROM..TO,N,..] [--limit S] [--rivals] [--jobs N] [--memory-gib N] "
                    "[--write FOLDER] [--csv FILE]");
    options.list("--seeds", s.seeds);
    options.number("--limit", s.limit_s);
    options.number("--jobs", s.jobs);
    options.number("--memory-gib", s.memory_gib);
    options.flag("--rivals", s.rivals);
    options.text("--write", s.write);
    options.text("--csv", s.csv);
    s.extra = options.read(argc, argv);
    for (const std::string& part : s.seeds) {
        if (part.find_first_not_of("0123456789.") != std::string::npos ||
            (part.find('.') != std::string::npos && part.find("..") == std::string::npos)) {
            options.refuse("'" + part + "' is neither a seed nor FROM..TO");
        }
    }
    return s;
}

std::vector<std::uint64_t> seeds(const std::vector<std::string>& parts) {
    std::vector<std::uint64_t> all;
    for (const std::string& part : parts) {
        const std::size_t dots = part.find("..");
        const auto from = std::strtoull(part.c_str(), nullptr, 10);
        const auto to =
            dots == std::string::npos ? from : std::strtoull(part.c_str() + dots + 2, nullptr, 10);
        for (auto seed = from; seed <= to; ++seed) {
            all.push_back(seed);
        }
    }
    return all;
}

struct Files {
    std::string chip, workload;
};

Files write(const chips::Problem& problem, std::uint64_t seed, const fs::path& folder) {
    const std::string stem = folder / std::to_string(seed);
    const Files files{stem + "-chip.yaml", stem + "-workload.yaml"};
    std::ofstream(files.chip, std::ios::binary) << problem.chip.yaml;
    std::ofstream(files.workload, std::ios::binary) << problem.workload.yaml;
    return files;
}

/// What was known when, in CPU seconds.
struct Course {
    std::vector<std::pair<double, double>> incumbents, bounds;

    static double at(const std::vector<std::pair<double, double>>& steps, double time) {
        double value = std::nan("");
        for (const auto& [when, what] : steps) {
            value = when <= time ? what : value;
        }
        return value;
    }
    /// When the best was first at most this.
    double until(double value) const {
        for (const auto& [when, what] : incumbents) {
            if (what <= value) {
                return when;
            }
        }
        return std::nan("");
    }
};

Course course(const std::string& file, double cpu_per_wall) {
    Course c;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        const Json e = Json::parse(line, nullptr, false);
        if (!e.is_object() || !e.contains("event")) {
            continue;
        }
        const double value = number(e, {"value"});
        if (e["event"] == "incumbent") {
            c.incumbents.emplace_back(number(e, {"cpu_s"}), value);
        } else if (e["event"] == "bound") {
            c.bounds.emplace_back(number(e, {"time_s"}) * cpu_per_wall, value);
        }
    }
    return c;
}

struct Measured {
    std::uint64_t seed = 0;
    chips::Problem problem;
    std::string status, phases, message;
    double value = std::nan(""), gap = std::nan(""), cpu_s = 0, peak_mib = 0, templates = 0;
    double within_10 = std::nan(""), within_1 = std::nan(""), after_1 = std::nan("");
    double bound_half = std::nan(""), after_rival_s = std::nan("");
    std::map<std::string, double> rivals;

    bool proven() const {
        return status == "optimal" || status == "infeasible";
    }
    bool failed() const {
        return status != "optimal" && status != "feasible" && status != "infeasible" &&
               status != "unknown";
    }
    /// The best of the rivals over the default after the same time: below 1 it is better.
    std::pair<std::string, double> best_rival() const {
        std::pair<std::string, double> best{"", std::nan("")};
        for (const auto& [name, edp] : rivals) {
            const double ratio = std::isnan(after_rival_s) ? 0 : edp / after_rival_s;
            if (!std::isnan(edp) && !(best.second <= ratio)) {
                best = {name, ratio};
            }
        }
        return best;
    }
};

std::string status_of(const Outcome& o, const Json& d) {
    if (o.out_of_memory || o.out_of_time) {
        return o.out_of_memory ? "killed (memory)" : "killed (time)";
    }
    if (o.signal != 0) {
        return "crashed (signal " + std::to_string(o.signal) + ")";
    }
    if (d.is_object() && d.contains("status")) {
        return d["status"];
    }
    return "exit " + std::to_string(o.exit_code);
}

Outcome map(const Files& files, double cpu_s, double memory_gib,
            const std::vector<std::string>& more) {
    const auto mib = std::to_string(static_cast<int>(memory_gib * 1024)) + "MiB";
    const std::vector<std::string> command{tessera(),
                                           "map",
                                           "-a",
                                           files.chip,
                                           "-w",
                                           files.workload,
                                           "--threads",
                                           "1",
                                           "--max-cpu-time",
                                           std::to_string(cpu_s) + "s",
                                           "--json",
                                           "--quiet",
                                           "--max-memory",
                                           mib};
    return run(joined(command, more), 10 * cpu_s + 60, (memory_gib + 1) * 1073741824);
}

void measure_rivals(const Files& files, const Settings& s, Measured& m) {
    for (const Rival& rival : rivals()) {
        const Json d = document(map(files, rival_s, s.memory_gib, joined(rival.options, s.extra)));
        m.rivals[rival.name] = best(d, "edp_js");
    }
}

Measured measure(std::uint64_t seed, const Settings& s, const fs::path& folder) {
    Measured m;
    m.seed = seed;
    m.problem = chips::draw(seed);
    const Files files = write(m.problem, seed, folder);
    const std::string kept = folder / (std::to_string(seed) + "-run");
    const Outcome o = map(files, s.limit_s, s.memory_gib, joined({"-o", kept, "--force"}, s.extra));
    const Json d = document(o);
    m.status = status_of(o, d);
    m.phases = phases(d);
    m.message = m.failed() ? last_line(o.errors) : "";
    m.value = best(d, "edp_js");
    m.gap = m.proven() ? 0 : number(d, {"gap"}, 1);
    m.cpu_s = o.cpu_s;
    m.peak_mib = o.peak_rss_bytes / 1048576;
    m.templates = number(d, {"search", "templates"}, 0);
    const Course c = course(kept + "/events.jsonl", o.cpu_s / std::max(1e-9, o.wall_s));
    m.within_10 = c.until(m.value * 1.1);
    m.within_1 = c.until(m.value * 1.01);
    m.after_1 = Course::at(c.incumbents, 1) / m.value;
    m.bound_half = Course::at(c.bounds, 0.5) / m.value;
    m.after_rival_s = Course::at(c.incumbents, rival_s);
    if (s.rivals && m.status != "infeasible" && !m.failed()) {
        measure_rivals(files, s, m);
    }
    std::error_code ignored;
    fs::remove_all(kept, ignored);
    return m;
}

std::string line_of(const Measured& m, bool with_rivals) {
    char text[200];
    std::snprintf(text, sizeof text, "%5d %-10s %6.2f %7.2f %7.2f %7.2f %7.3f %6.3f %6.0f",
                  static_cast<int>(m.seed), m.status.c_str(), 100 * m.gap, m.cpu_s, m.within_10,
                  m.within_1, m.after_1, m.bound_half, m.peak_mib);
    std::string line = text;
    if (with_rivals) {
        const auto [name, ratio] = m.best_rival();
        std::snprintf(text, sizeof text, " %7.3f %-10s", ratio, name.c_str());
        line += text;
    }
    line += "  " + m.problem.workload.kind + " @ " + m.problem.chip.kind + "\n";
    if (!m.proven()) {
        std::snprintf(text, sizeof text, "      %.0f templates; ", m.templates);
        line += text + m.phases + "\n";
    }
    return line + (m.message.empty() ? "" : "      " + m.message + "\n");
}

std::string csv_head() {
    std::string head =
        "seed,workload,chip,status,edp_js,gap,cpu_s,within_10_s,within_1_s,after_1_s,bound_half_s,"
        "peak_mib,templates,phases";
    for (const Rival& rival : rivals()) {
        head += "," + std::string(rival.name);
    }
    return head + "\n";
}

std::string csv_line(const Measured& m) {
    char text[300];
    std::snprintf(text, sizeof text, ",%s,%.9g,%.4g,%.3f,%.3f,%.3f,%.5g,%.5g,%.0f,%.0f",
                  m.status.c_str(), m.value, m.gap, m.cpu_s, m.within_10, m.within_1, m.after_1,
                  m.bound_half, m.peak_mib, m.templates);
    std::string line = std::to_string(m.seed) + ",\"" + m.problem.workload.kind + "\",\"" +
                       m.problem.chip.kind + "\"" + text + ",\"" + m.phases + "\"";
    for (const Rival& rival : rivals()) {
        const auto found = m.rivals.find(rival.name);
        std::snprintf(text, sizeof text, ",%.9g", found == m.rivals.end() ? NAN : found->second);
        line += text;
    }
    return line + "\n";
}

void summarise(const std::vector<Measured>& all, bool with_rivals) {
    const auto share = [&](auto condition) {
        const auto n = std::count_if(all.begin(), all.end(), condition);
        return 100.0 * static_cast<double>(n) /
               static_cast<double>(std::max<std::size_t>(1, all.size()));
    };
    std::printf(
        "%zu problems; proven in 2 CPU s %.1f %%, in 10 CPU s %.1f %%, in the limit %.1f %%\n",
        all.size(), share([](const Measured& m) { return m.proven() && m.cpu_s <= 2; }),
        share([](const Measured& m) { return m.proven() && m.cpu_s <= 10; }),
        share([](const Measured& m) { return m.proven(); }));
    std::vector<double> gaps;
    double most_mib = 0;
    for (const Measured& m : all) {
        most_mib = std::max(most_mib, m.peak_mib);
        if (!m.proven()) {
            gaps.push_back(100 * m.gap);
        }
    }
    std::sort(gaps.begin(), gaps.end());
    std::printf("gaps of the rest (%%):");
    for (const double gap : gaps) {
        std::printf(" %.1f", gap);
    }
    std::printf(
        "\nbest after 1 CPU s at most 1.05 of the final one: %.1f %%\n",
        share([](const Measured& m) { return m.status == "infeasible" || m.after_1 <= 1.05; }));
    std::printf("a bound after 0.5 CPU s, or proven before: %.1f %%\n",
                share([](const Measured& m) {
                    return (m.proven() && m.cpu_s <= 0.5) || m.bound_half > 0;
                }));
    if (with_rivals) {
        std::printf("a rival of %g CPU s better by more than 2 %%: %.1f %%\n", rival_s,
                    share([](const Measured& m) { return m.best_rival().second < 0.98; }));
    }
    std::printf("infeasible %.1f %%, failed %.1f %%; at most %.0f MiB\n",
                share([](const Measured& m) { return m.status == "infeasible"; }),
                share([](const Measured& m) { return m.failed(); }), most_mib);
}

/// Measures all seeds, several at once, and hands each on in order.
void measure_all(const std::vector<std::uint64_t>& all, const Settings& s, const fs::path& folder,
                 const std::function<void(Measured)>& done) {
    std::vector<std::optional<Measured>> results(all.size());
    std::atomic<std::size_t> next{0};
    std::size_t told = 0;
    std::mutex mutex;
    const auto work = [&] {
        for (std::size_t i = next++; i < all.size(); i = next++) {
            Measured m = measure(all[i], s, folder);
            const std::lock_guard lock(mutex);
            results[i] = std::move(m);
            for (; told < results.size() && results[told]; ++told) {
                done(*results[told]);
            }
        }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < static_cast<int>(s.jobs); ++i) {
        threads.emplace_back(work);
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

}  // namespace

int main(int argc, char** argv) {
    const Settings s = settings(argc, argv);
    const std::vector<std::uint64_t> all = seeds(s.seeds);
    if (!s.write.empty()) {
        fs::create_directories(s.write);
        for (const std::uint64_t seed : all) {
            const Files files = write(chips::draw(seed), seed, s.write);
            std::printf("tessera map -a %s -w %s\n", files.chip.c_str(), files.workload.c_str());
        }
        return 0;
    }
    const fs::path folder =
        fs::temp_directory_path() / ("tessera-chips-" + std::to_string(getpid()));
    fs::create_directories(folder);
    std::ofstream csv;
    if (!s.csv.empty()) {
        csv.open(s.csv);
        csv << csv_head();
    }
    std::printf("%5s %-10s %6s %7s %7s %7s %7s %6s %6s%s\n", "seed", "status", "gap %", "CPU s",
                "10 % at", "1 % at", "1 s", "bound", "MiB", s.rivals ? "   rival" : "");
    std::vector<Measured> measured;
    measure_all(all, s, folder, [&](Measured m) {
        std::fputs(line_of(m, s.rivals).c_str(), stdout);
        std::fflush(stdout);
        csv << csv_line(m) << std::flush;
        measured.push_back(std::move(m));
    });
    summarise(measured, s.rivals);
    std::error_code ignored;
    fs::remove_all(folder, ignored);
    return std::any_of(measured.begin(), measured.end(),
                       [](const Measured& m) { return m.failed(); })
               ? 1
               : 0;
}
