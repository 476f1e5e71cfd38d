// Convolutions by themselves: every kind of layer of ResNet-50 on four memories with two arrays and
// no constraints (convolutions/four-memories.yaml), metric edp, all of mapspace `full`. Prints
// status, gap, time and memory.
//
//   bench/convolutions [--layers conv1,conv2_spatial] [--time 60] [--threads 2]
//                      [--accelforge-time 1800] [-- options of `tessera map`]
//
// Where TESSERA_ACCELFORGE is set (see vs-accelforge.cpp) the reference maps the same files, one
// process, and is killed after --accelforge-time. Exit status 1 if a layer is neither proven nor
// within 5 % of its bound, or the reference's mapping is better.

#include <algorithm>
#include <cstdlib>

#include "base/data_path.hpp"
#include "options.hpp"

namespace {

using namespace bench;
namespace fs = std::filesystem;

constexpr double close_gap = 0.05;
/// The reference computes in single precision.
constexpr double single_precision = 1e-6;

struct Layer {
    const char* name;
    int inputs, outputs, size, filter, stride, batch;
};

constexpr Layer layers[] = {
    {"conv1", 3, 64, 112, 7, 2, 1},
    {"conv2_reduce", 256, 64, 56, 1, 1, 1},
    {"conv2_spatial", 64, 64, 56, 3, 1, 1},
    {"conv2_expand", 64, 256, 56, 1, 1, 1},
    {"conv3_shortcut", 256, 512, 28, 1, 2, 1},
    {"conv3_spatial", 128, 128, 28, 3, 1, 1},
    {"conv4_spatial", 256, 256, 14, 3, 1, 1},
    {"conv4_spatial-batch16", 256, 256, 14, 3, 1, 16},
    {"conv5_spatial", 512, 512, 7, 3, 1, 1},
    {"fc", 2048, 1000, 1, 1, 1, 1},
};

struct Settings {
    std::vector<std::string> layers, extra;
    double time_s = 60, threads = 2, accelforge_s = 1800;
};

Settings settings(int argc, char** argv) {
    Settings s;
    Options options("convolutions",
                    "[--layers a,b] [--time S] [--threads N] [--accelforge-time S]");
    options.list("--layers", s.layers);
    options.number("--time", s.time_s);
    options.number("--threads", s.threads);
    options.number("--accelforge-time", s.accelforge_s);
    s.extra = options.read(argc, argv);
    for (const std::string& name : s.layers) {
        if (std::ranges::none_of(layers, [&](const Layer& l) { return l.name == name; })) {
            options.refuse("no layer '" + name + "'");
        }
    }
    return s;
}

std::string workload_of(const Layer& l) {
    const auto range = [](const char* variable, int size) {
        return "    - \"0 <= " + std::string(variable) + " < " + std::to_string(size) + "\"\n";
    };
    const std::string stride = std::to_string(l.stride) + "*";
    return "workload:\n  bits_per_value: {All: 8}\n  einsums:\n  - name: conv\n"
           "    einsum: \"O[n, p, q, m] = I[n, Y: " +
           stride + "p + r, X: " + stride +
           "q + s, c] * W[r, s, c, m]\"\n    iteration_space_shape:\n" + range("n", l.batch) +
           range("c", l.inputs) + range("m", l.outputs) + range("p", l.size) + range("q", l.size) +
           range("r", l.filter) + range("s", l.filter) +
           "    renames: {input: I, output: O, weight: W}\n";
}

fs::path data_file(const char* name) {
    for (const fs::path& folder : tessera::data_folders()) {
        if (fs::exists(folder / name)) {
            return folder / name;
        }
    }
    std::fprintf(stderr,
                 "convolutions: no %s in any data folder; set TESSERA_DATA_PATH to the "
                 "checkout\n",
                 name);
    std::exit(2);
}

/// The reference's EDP (0: none), and a column of its own.
double reference(const std::string& python, const fs::path& arch, const fs::path& workload,
                 double time_s) {
    const std::string mapping = workload.string() + ".mapping";
    const Outcome o = run(joined(split(python, ' '), {data_file("bench/vs_accelforge.py"), arch,
                                                      workload, "inf", "1", mapping}),
                          time_s);
    fs::remove(mapping);
    const std::size_t at = o.output.rfind("RESULT ");
    const Json d =
        at == std::string::npos ? Json() : Json::parse(o.output.substr(at + 7), nullptr, false);
    const double edp = number(d, {"edp_js"}, 0);
    std::printf("  AccelForge: ");
    if (edp > 0) {
        std::printf("%.6g J s, %.1f s, %.1f CPU s", edp, o.wall_s, o.cpu_s);
    } else {
        std::printf("%s after %.0f s: %s", o.out_of_time ? "killed" : "failed", o.wall_s,
                    last_line(o.errors).c_str());
    }
    std::printf(", %.0f MiB\n", o.peak_rss_bytes / 1048576);
    return edp;
}

bool one(const Settings& s, const Layer& l, const fs::path& arch) {
    const fs::path workload =
        fs::temp_directory_path() / ("tessera-bench-" + std::to_string(getpid()) + ".yaml");
    std::ofstream(workload) << workload_of(l);
    const Outcome o = run(joined({bench::tessera(), "map", "-a", arch, "-w", workload, "--metric",
                                  "edp", "--max-time", std::to_string(s.time_s) + "s", "--threads",
                                  std::to_string(static_cast<int>(s.threads)), "--json", "--quiet"},
                                 s.extra),
                          s.time_s + 10);
    const Json d = document(o);
    const bool proven = d.is_object() && d.value("status", "") == "optimal";
    const double edp = best(d, "edp_js"), gap = proven ? 0 : number(d, {"gap"}, 1);
    std::printf("%-22s %-9s %6.1f%% %12.6g %8.1f %8.1f %6.0f\n", l.name, proven ? "proven" : "open",
                100 * gap, edp, o.wall_s, o.cpu_s, o.peak_rss_bytes / 1048576);
    if (!d.is_object()) {
        std::printf("  %s\n", last_line(o.errors).c_str());
    }
    bool good = d.is_object() && gap < close_gap;
    if (const char* const python = std::getenv("TESSERA_ACCELFORGE"); python != nullptr) {
        const double theirs = reference(python, arch, workload, s.accelforge_s);
        good = good && !(theirs > 0 && theirs < edp * (1 - single_precision));
    }
    std::fflush(stdout);
    fs::remove(workload);
    return good;
}

}  // namespace

int main(int argc, char** argv) {
    const Settings s = settings(argc, argv);
    const fs::path arch = data_file("bench/convolutions/four-memories.yaml");
    std::printf("%-22s %-9s %7s %12s %8s %8s %6s\n", "layer", "status", "gap", "EDP (J s)",
                "wall s", "CPU s", "MiB");
    bool good = true;
    for (const Layer& l : layers) {
        if (s.layers.empty() || std::ranges::find(s.layers, l.name) != s.layers.end()) {
            good = one(s, l, arch) && good;
        }
    }
    return good ? 0 : 1;
}
