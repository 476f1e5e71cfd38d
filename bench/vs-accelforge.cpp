// The reference beside ours, in one run on one machine: both optima and the CPU seconds of both
// whole processes, in the reference's own mapspace and conventions.
//
//   TESSERA_ACCELFORGE="path/to/python" bench/vs-accelforge [--all] [--jobs 2] [--time S]
//                                       [case ...] [-- options of `tessera map`]
//
// The reference's figure is given three times: its mapper's (single precision), its own evaluation
// of the mapping found, and ours with its conventions (`tessera model --compat accelforge`), which
// is what our optimum is held against. Exit code 1 if the reference found a better mapping.
//
// The environment variable is the command (words separated by spaces) that runs a Python in which
// `import accelforge` works. Both tools read the same files: those of test/reference/accelforge, or
// copies of them with other sizes, or chains written here.

#include <cstdlib>
#include <iostream>
#include <map>

#include "base/data_path.hpp"
#include "program.hpp"

namespace {

using namespace bench;
namespace fs = std::filesystem;

struct Case {
    std::string name, arch, workload;
    std::map<std::string, long> sizes;  ///< rank sizes that replace those of the file
    int chain = 0;                      ///< > 0: a chain of so many matrix multiplications instead
    bool one_fused_loop = false;        ///< else unlimited
};

std::vector<Case> all_cases() {
    const std::string gpt3 = "ex_gpt3_6.7B_prefill.yaml", llama = "ex_llama3_8B.yaml";
    const std::string mobilenet = "ex_mobilenet_28.yaml";
    const auto tokens = [](long batch, long count) {
        return std::map<std::string, long>{{"B", batch}, {"M", count}, {"P", count}};
    };
    return {
        {"chain-1", "tpu_v4i", "", {}, 1, false},
        {"chain-4", "tpu_v4i", "", {}, 4, false},
        {"chain-16", "tpu_v4i", "", {}, 16, false},
        {"chain-64", "tpu_v4i", "", {}, 64, false},
        {"nvdla-gpt3", "nvdla_w16", gpt3, tokens(1, 2048), 0, true},
        {"simba-gpt3", "simba_w16", gpt3, tokens(1, 2048), 0, true},
        {"eyeriss-gpt3", "eyeriss", gpt3, tokens(1, 2048), 0, true},
        {"tpu-gpt3", "tpu_v4i_w16", gpt3, tokens(1, 2048), 0, true},
        {"tpu-gpt3-unlimited", "tpu_v4i_w16", gpt3, tokens(1, 2048), 0, false},
        {"tpu-gpt3-4x4096-unlimited", "tpu_v4i_w16", gpt3, tokens(4, 4096), 0, false},
        {"tpu-gpt3-64x4096", "tpu_v4i_w16", gpt3, tokens(64, 4096), 0, true},
        {"tpu-gpt3-64x4096-unlimited", "tpu_v4i_w16", gpt3, tokens(64, 4096), 0, false},
        {"tpu-llama3", "tpu_v4i_w16", llama, tokens(1, 2048), 0, true},
        {"simba-mobilenet", "simba", mobilenet, {}, 0, true},
        {"eyeriss-mobilenet", "eyeriss", mobilenet, {}, 0, true},
    };
}

std::string text_of(const fs::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// The checkout: the data folder that has the reference's files.
fs::path checkout() {
    for (const fs::path& folder : tessera::data_folders()) {
        if (fs::exists(folder / "test/reference/accelforge/workload")) {
            return folder;
        }
    }
    std::cerr << "vs-accelforge: test/reference/accelforge is not in any data folder; set "
                 "TESSERA_DATA_PATH to the checkout\n";
    std::exit(2);
}

/// A workload file with other rank sizes: the lines "    RANK: SIZE" of its rank_sizes section.
std::string with_sizes(const std::string& text, const std::map<std::string, long>& sizes) {
    std::istringstream in(text);
    std::string out, line;
    while (std::getline(in, line)) {
        const std::size_t first = line.find_first_not_of(' ');
        const std::size_t colon = line.find(':');
        const auto size = first == 4 && colon != std::string::npos
                              ? sizes.find(line.substr(4, colon - 4))
                              : sizes.end();
        out +=
            size == sizes.end() ? line : "    " + size->first + ": " + std::to_string(size->second);
        out += "\n";
    }
    return out;
}

/// T{i+1}[m, n{i+1}] = T{i}[m, n{i}] * W{i}[n{i}, n{i+1}], all sizes 1024, 8 bits.
std::string chain_text(int n) {
    std::ostringstream out;
    out << "workload:\n  iteration_space_shape:\n    m: 0 <= m < 1024\n";
    for (int i = 0; i <= n; ++i) {
        out << "    n" << i << ": 0 <= n" << i << " < 1024\n";
    }
    out << "  bits_per_value: {All: 8}\n  einsums:\n";
    for (int i = 0; i < n; ++i) {
        out << "  - name: Matmul" << i << "\n    tensor_accesses:\n"
            << "    - {name: T" << i << ", projection: [m, n" << i << "]}\n"
            << "    - {name: W" << i << ", projection: [n" << i << ", n" << i + 1 << "]}\n"
            << "    - {name: T" << i + 1 << ", projection: [m, n" << i + 1 << "], output: True}\n"
            << "    renames: {input: T" << i << ", weight: W" << i << ", output: T" << i + 1
            << "}\n";
    }
    return out.str();
}

/// Files of a case that both tools read.
struct Inputs {
    fs::path arch, workload;
};

Inputs write_inputs(const Case& c, const fs::path& reference, const fs::path& scratch) {
    const fs::path workload = scratch / (c.name + ".yaml");
    std::ofstream(workload) << (c.chain > 0
                                    ? chain_text(c.chain)
                                    : with_sizes(text_of(reference / "workload" / c.workload),
                                                 c.sizes));
    return {reference / "arch" / (c.arch + ".yaml"), workload};
}

/// The object after "RESULT " in the driver's output.
Json reference_result(const Outcome& o) {
    const std::size_t at = o.output.rfind("RESULT ");
    return at == std::string::npos ? Json() : Json::parse(o.output.substr(at + 7), nullptr, false);
}

struct Settings {
    std::vector<Case> cases;
    std::string jobs = "2";
    double time_s = 7200;
    std::vector<std::string> extra;
};

Settings settings(const std::vector<std::string>& args) {
    Settings s;
    for (std::size_t i = 0; i < args.size(); ++i) {
        const bool more = i + 1 < args.size();
        if (args[i] == "--") {
            s.extra.assign(args.begin() + static_cast<std::ptrdiff_t>(i) + 1, args.end());
            break;
        }
        if (args[i] == "--all") {
            s.cases = all_cases();
        } else if (args[i] == "--jobs" && more) {
            s.jobs = args[++i];
        } else if (args[i] == "--time" && more && std::atof(args[i + 1].c_str()) > 0) {
            s.time_s = std::atof(args[++i].c_str());
        } else {
            const std::size_t before = s.cases.size();
            for (const Case& c : all_cases()) {
                if (c.name == args[i]) {
                    s.cases.push_back(c);
                }
            }
            if (s.cases.size() == before) {
                std::cerr << "usage: vs-accelforge [--all] [--jobs N] [--time S] [case ...] "
                             "[-- options of tessera map]\ncases:";
                for (const Case& c : all_cases()) {
                    std::cerr << ' ' << c.name;
                }
                std::cerr << "\n";
                std::exit(2);
            }
        }
    }
    if (s.cases.empty()) {
        const std::vector<Case> all = all_cases();
        s.cases = {all[0], all[4]};
    }
    return s;
}

/// Sums in other orders.
constexpr double kAlike = 1e-9;

/// What is known of the mapping that the reference found.
struct Reference {
    double mapper = NAN;     ///< its mapper's figure
    double evaluated = NAN;  ///< its own evaluation, NaN if it refuses the mapping
    double costed = NAN;     ///< by our model with its conventions, NaN if the mapping is illegal
    double cpu_s = 0;        ///< of its search
    std::vector<std::string> notes;
};

Reference judge(const Outcome& outcome, const Inputs& files, const fs::path& mapping) {
    Reference out;
    const Json r = reference_result(outcome);
    out.mapper = number(r, {"edp_js"});
    out.evaluated = number(r, {"evaluated_edp_js"});
    out.cpu_s = outcome.cpu_s - number(r, {"evaluation_cpu_s"}, 0);
    if (std::isnan(out.mapper)) {
        out.notes.push_back("reference: " + (outcome.out_of_time ? std::string("killed (time)")
                                                                 : last_line(outcome.errors)));
        return out;
    }
    if (r.contains("refused")) {
        out.notes.push_back("the reference's own evaluation refuses its mapping: " +
                            r.at("refused").get<std::string>());
    }
    const Outcome model = run({bench::tessera(), "model", "-a", files.arch, "-w", files.workload,
                               "-m", mapping, "--compat", "accelforge", "--json", "--quiet"},
                              600);
    const double edp = best(document(model), "edp_js");
    if (model.ok()) {
        out.costed = edp;
    } else {
        out.notes.push_back("tessera model refuses its mapping: " + last_line(model.errors));
    }
    return out;
}

/// One line of the table. False: the reference found a better mapping.
bool compare(const Case& c, const Inputs& files, const Settings& s,
             const std::vector<std::string>& python, const fs::path& driver) {
    const Outcome ours =
        run(joined({bench::tessera(), "map", "-a", files.arch, "-w", files.workload, "--mapspace",
                    "accelforge", "--compat", "accelforge", "--max-fused-loops",
                    c.one_fused_loop ? "1" : "unlimited", "--threads", s.jobs, "--json", "--quiet"},
                   s.extra),
            s.time_s);
    const fs::path mapping = fs::path(files.workload).replace_extension(".mapping.yaml");
    const Outcome theirs = run(joined(python, {driver, files.arch, files.workload,
                                               c.one_fused_loop ? "1" : "inf", s.jobs, mapping}),
                               s.time_s);
    const double edp = best(document(ours), "edp_js");
    const Reference reference = judge(theirs, files, mapping);
    std::printf("%-28s %14.9g %14.9g %14.9g %14.9g %9.3f %9.2f %8.0f %7.0f %7.0f\n", c.name.c_str(),
                edp, reference.mapper, reference.evaluated, reference.costed, ours.cpu_s,
                reference.cpu_s, reference.cpu_s / ours.cpu_s, ours.peak_rss_bytes / 1048576,
                theirs.peak_rss_bytes / 1048576);
    if (std::isnan(edp)) {
        std::printf("    ours: %s\n",
                    ours.out_of_time ? "killed (time)" : last_line(ours.errors).c_str());
    }
    for (const std::string& note : reference.notes) {
        std::printf("    %s\n", note.c_str());
    }
    std::fflush(stdout);
    return edp <= reference.costed * (1 + kAlike) || std::isnan(reference.costed);
}

}  // namespace

int main(int argc, char** argv) {
    const Settings s = settings({argv + 1, argv + argc});
    const char* command = std::getenv("TESSERA_ACCELFORGE");
    const std::vector<std::string> python = split(command == nullptr ? "" : command, ' ');
    if (python.empty()) {
        std::cerr << "vs-accelforge: TESSERA_ACCELFORGE is not set. Give it the Python of an "
                     "environment with AccelForge, e.g.\n  python3.12 -m venv af && "
                     "af/bin/pip install accelforge\n  TESSERA_ACCELFORGE=af/bin/python "
                     "bench/vs-accelforge\n";
        return 2;
    }
    const fs::path root = checkout();
    const fs::path scratch =
        fs::temp_directory_path() / ("tessera-vs-accelforge-" + std::to_string(getpid()));
    fs::create_directories(scratch);
    std::printf("%-28s %14s %14s %14s %14s %9s %9s %8s %7s %7s\n", "case, metric edp (J s)", "ours",
                "its mapper", "its model", "in our model", "our CPU s", "ref CPU s", "ratio",
                "our MiB", "ref MiB");
    bool never_worse = true;
    for (const Case& c : s.cases) {
        const Inputs files = write_inputs(c, root / "test/reference/accelforge", scratch);
        never_worse = compare(c, files, s, python, root / "bench/vs_accelforge.py") && never_worse;
    }
    std::error_code ignored;
    fs::remove_all(scratch, ignored);
    return never_worse ? 0 : 1;
}
