// How good the range is that a search gives for the time left. At half of a run without a limit the
// end lies in it by construction; what is worth knowing is the share of all moments.
//
//   bench/rest [--cases workload@arch,..] [--time 120] [-- options of `tessera map`]
//
// Each case runs once; its status.json is read on the way. At each moment the true rest is known
// afterwards. Columns: seconds of the run; the range at half of it, and whether the end lay in it;
// the share of all moments at which it did. Exit status 1 if less than 4/5 hold at half.

#include <atomic>

#include "options.hpp"

namespace {

using namespace bench;

struct Settings {
    std::vector<std::string> cases, extra;
    double time_s = 120;
};

Settings settings(int argc, char** argv) {
    Settings s;
    Options options("rest", "[--cases workload@arch,..] [--time S]");
    options.list("--cases", s.cases);
    options.number("--time", s.time_s);
    s.extra = options.read(argc, argv);
    if (s.cases.empty()) {
        for (const char* workload : {"gpt3-6.7b", "llama3-8b", "mobilenet-28", "qwen3-8b"}) {
            for (const char* arch : {"tpu-v4i", "eyeriss", "simba", "nvdla", "edge"}) {
                s.cases.push_back(std::string(workload) + "@" + arch);
            }
        }
    }
    for (const std::string& c : s.cases) {
        if (split(c, '@').size() != 2) {
            options.refuse("'" + c + "' is not workload@arch");
        }
    }
    return s;
}

struct Moment {
    double elapsed_s = 0, least_s = 0, most_s = 0;
};

/// What status.json says while `running`.
std::vector<Moment> watch(const std::string& file, const std::atomic<bool>& running) {
    std::vector<Moment> seen;
    while (running) {
        std::ifstream in(file);
        const std::string text{std::istreambuf_iterator<char>(in), {}};
        const Json now = Json::parse(text, nullptr, false);
        const Moment moment{number(now, {"elapsed_s"}), number(now, {"rest", "least_s"}),
                            number(now, {"rest", "most_s"})};
        if (std::isfinite(moment.most_s) &&
            (seen.empty() || seen.back().elapsed_s < moment.elapsed_s)) {
            seen.push_back(moment);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return seen;
}

bool holds(const Moment& m, double end_s) {
    const double rest_s = end_s - m.elapsed_s;
    return m.least_s <= rest_s && rest_s <= m.most_s;
}

}  // namespace

int main(int argc, char** argv) {
    const Settings s = settings(argc, argv);
    const std::string root =
        std::filesystem::temp_directory_path() / ("tessera-rest-" + std::to_string(getpid()));
    std::printf("%-28s %8s %24s %5s %8s\n", "case", "s", "range at half", "in", "always");
    int all = 0, good = 0;
    for (const std::string& name : s.cases) {
        const std::vector<std::string> parts = split(name, '@');
        std::filesystem::create_directories(root);
        std::atomic<bool> running = true;
        std::vector<Moment> seen;
        std::thread watcher([&] { seen = watch(root + "/run/status.json", running); });
        run(joined({bench::tessera(), "map", "-w", parts[0], "-a", parts[1], "-q", "-o",
                    root + "/run", "--force"},
                   s.extra),
            s.time_s);
        running = false;
        watcher.join();
        std::ifstream in(root + "/run/status.json");
        const std::string text{std::istreambuf_iterator<char>(in), {}};
        const double end_s = number(Json::parse(text, nullptr, false), {"elapsed_s"});
        std::error_code ignored;
        std::filesystem::remove_all(root, ignored);
        const auto at_half =
            std::min_element(seen.begin(), seen.end(), [&](const Moment& a, const Moment& b) {
                return std::abs(a.elapsed_s - end_s / 2) < std::abs(b.elapsed_s - end_s / 2);
            });
        if (at_half == seen.end() || std::abs(at_half->elapsed_s / end_s - 0.5) > 0.1) {
            std::printf("%-28s %8.2f  no estimate near its half\n", name.c_str(), end_s);
            continue;
        }
        const auto in_range = std::count_if(seen.begin(), seen.end(),
                                            [&](const Moment& m) { return holds(m, end_s); });
        ++all;
        good += holds(*at_half, end_s) ? 1 : 0;
        std::printf("%-28s %8.2f %8.2f s + %5.2f..%6.2f %5s %7.0f%%\n", name.c_str(), end_s,
                    at_half->elapsed_s, at_half->least_s, at_half->most_s,
                    holds(*at_half, end_s) ? "yes" : "no",
                    100.0 * static_cast<double>(in_range) / static_cast<double>(seen.size()));
        std::fflush(stdout);
    }
    std::printf("%d of %d ends lay in the range given at half of the run\n", good, all);
    return 5 * good >= 4 * all ? 0 : 1;
}
