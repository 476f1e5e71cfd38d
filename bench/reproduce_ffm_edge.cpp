// Figures 11 to 13 of the FFM paper: an edge accelerator, FFM's mapping beside TransFusion's
// dataflow, over the length of the sequence.
//
//   bench/reproduce_ffm_edge [--lengths 1024,4096,16384,65536] [-- options of `tessera map`]
//
// The dataflow is a part of the mapspace, and its best mapping stands for it: K and V go to main
// memory, the layer's input I may; all other intermediates are backed in the global buffer. All
// optima are proven; where a limit among the options ends a search, its row says so.
//
// Figure 11: EDP, latency and energy per token. 12: energy by component, and main memory's by what
// it moves. 13: compute intensity of each Einsum, and which Einsums are fused.

#include <unistd.h>

#include "options.hpp"

namespace {

using namespace bench;

struct Settings {
    std::vector<std::string> lengths{"1024", "4096", "16384", "65536"};
    std::vector<std::string> extra;
};

Settings settings(int argc, char** argv) {
    Settings s;
    Options options("reproduce_ffm_edge", "[--lengths n,n]");
    options.list("--lengths", s.lengths);
    s.extra = options.read(argc, argv);
    return s;
}

/// What main memory moves.
enum Class { weights, k_and_v, other, in_and_out, n_classes };

Class class_of(const std::string& tensor) {
    if (tensor.starts_with("W")) {
        return weights;
    }
    if (tensor == "K" || tensor == "V") {
        return k_and_v;
    }
    return tensor == "I_in" || tensor == "FFB" ? in_and_out : other;
}

struct Found {
    double energy_j = std::nan(""), latency_s = std::nan(""), edp_js = std::nan("");
    bool proven = false;
    double memory_j = 0, buffer_j = 0, compute_j = 0;
    double moved_j[n_classes] = {};
    std::vector<std::vector<std::string>> groups;
};

Found map(const std::string& architecture, const std::string& tokens,
          const std::vector<std::string>& extra) {
    const Outcome outcome =
        run(joined({tessera(), "map", "-a", architecture, "-w", "gpt3-6.7b", "-D", "BITS=8", "-D",
                    "BATCH=1", "-D", "TOKENS=" + tokens, "-q", "--json", "--threads", "1"},
                   extra));
    const Json root = document(outcome);
    Found found;
    if (!root.is_object() || root["mappings"].empty()) {
        std::fprintf(stderr, "%s, %s tokens: no mapping: %s\n", architecture.c_str(),
                     tokens.c_str(), outcome.errors.c_str());
        return found;
    }
    found.energy_j = best(root, "energy_j");
    found.latency_s = best(root, "latency_s");
    found.edp_js = best(root, "edp_js");
    found.proven = root["status"] == "optimal";
    const Json& mapping = root["mappings"][0];
    found.groups = mapping["fused_groups"].get<std::vector<std::vector<std::string>>>();
    const Json& components = mapping["summary"]["components"];
    found.memory_j = number(components, {"MainMemory", "energy_j"}, 0);
    found.buffer_j = number(components, {"GlobalBuffer", "energy_j"}, 0);
    found.compute_j = number(components, {"MAC", "energy_j"}, 0);
    for (const auto& [einsum, report] : mapping["einsums"].items()) {
        for (const auto& [tensor, of] : report["components"]["MainMemory"]["tensors"].items()) {
            for (const auto& [action, energy_j] : of["energy_j"].items()) {
                found.moved_j[class_of(tensor)] += energy_j.get<double>();
            }
        }
    }
    return found;
}

/// The shipped architecture with the two lines that make the dataflow, in a file of its own.
class Dataflow {
public:
    Dataflow() : file_("edge-dataflow-" + std::to_string(getpid()) + ".yaml") {
        const std::filesystem::path there = std::filesystem::temp_directory_path() / file_;
        file_ = there;
        std::ifstream in("arch-specs/edge.yaml");
        std::ofstream out(there);
        int changed = 0;
        for (std::string line; std::getline(in, line);) {
            changed += replace(line, "{keep: ~Intermediates, may_keep: All}",
                               "{keep: ~Intermediates | K | V, "
                               "may_keep: ~Intermediates | K | V | I}");
            changed += replace(line, "{keep: ~MainMemory, may_keep: All}",
                               "{keep: Intermediates - K - V - I, may_keep: All}");
            out << line << "\n";
        }
        if (changed != 2) {
            std::fprintf(stderr, "arch-specs/edge.yaml is not as this benchmark knows it\n");
            std::exit(1);
        }
    }
    ~Dataflow() {
        std::error_code ignored;
        std::filesystem::remove(file_, ignored);
    }
    Dataflow(const Dataflow&) = delete;
    Dataflow& operator=(const Dataflow&) = delete;

    const std::string& file() const {
        return file_;
    }

private:
    static int replace(std::string& line, const std::string& from, const std::string& to) {
        const std::size_t at = line.find(from);
        if (at == std::string::npos) {
            return 0;
        }
        line.replace(at, from.size(), to);
        return 1;
    }
    std::string file_;
};

struct Length {
    std::string tokens;
    Found ffm, dataflow;
};

void figure_11(const std::vector<Length>& lengths) {
    std::printf(
        "Figure 11: GPT-3 6.7B on edge, per token; dataflow / FFM (paper: EDP grows with the "
        "length to 1.8, energy gains more than latency)\n");
    std::printf("%8s %12s %12s %12s %12s %8s %8s %8s\n", "tokens", "FFM (J)", "FFM (s)",
                "dataflow (J)", "dataflow (s)", "energy", "latency", "EDP");
    for (const Length& one : lengths) {
        const double tokens = std::atof(one.tokens.c_str());
        std::printf(
            "%8s %12.4g %12.4g %12.4g %12.4g %8.3f %8.3f %8.3f%s\n", one.tokens.c_str(),
            one.ffm.energy_j / tokens, one.ffm.latency_s / tokens, one.dataflow.energy_j / tokens,
            one.dataflow.latency_s / tokens, one.dataflow.energy_j / one.ffm.energy_j,
            one.dataflow.latency_s / one.ffm.latency_s, one.dataflow.edp_js / one.ffm.edp_js,
            one.ffm.proven && one.dataflow.proven ? "" : "  not proven");
    }
}

void figure_12(const std::vector<Length>& lengths) {
    std::printf(
        "\nFigure 12: energy per token (uJ) by component, and main memory's by what it moves "
        "(paper: the dataflow moves no other intermediates, but more weights, K and V)\n");
    std::printf("%8s %-9s %8s %8s %8s | %8s %8s %8s %8s\n", "tokens", "", "memory", "buffer", "MAC",
                "weights", "K, V", "others", "in, out");
    for (const Length& one : lengths) {
        const double tokens = std::atof(one.tokens.c_str());
        for (const auto& [name, found] :
             {std::pair{"FFM", &one.ffm}, std::pair{"dataflow", &one.dataflow}}) {
            const auto micro = [&](double energy_j) { return 1e6 * energy_j / tokens; };
            std::printf("%8s %-9s %8.2f %8.2f %8.2f | %8.2f %8.2f %8.2f %8.2f\n",
                        one.tokens.c_str(), name, micro(found->memory_j), micro(found->buffer_j),
                        micro(found->compute_j), micro(found->moved_j[weights]),
                        micro(found->moved_j[k_and_v]), micro(found->moved_j[other]),
                        micro(found->moved_j[in_and_out]));
        }
    }
}

/// Products of ranks of problem-shapes/gpt3-6.7b.yaml, one batch.
struct Intensity {
    const char* einsum;
    double operations, words;
};

std::vector<Intensity> intensities(double m) {
    const double d = 4096, c = 4 * d, h = 32, tokens = m * d, scores = m * m * h;
    const Intensity projection{"V", m * d * d, 2 * tokens + d * d};
    return {{"I", tokens, 2 * tokens},
            projection,
            {"K", projection.operations, projection.words},
            {"Q", projection.operations, projection.words},
            {"QK", m * m * d, 2 * tokens + scores},
            {"QK_softmax", scores, 2 * scores},
            {"AV", m * m * d, 2 * tokens + scores},
            {"Z", projection.operations, projection.words},
            {"FFA", m * d * c, tokens + d * c + m * c},
            {"FFB", m * d * c, tokens + d * c + m * c}};
}

void figure_13(const std::vector<Length>& lengths) {
    std::printf(
        "\nFigure 13: operations per word of the least traffic, and the fused group of FFM's "
        "mapping; -: not fused (paper: at 64k AV and Z are not fused, at the short length they "
        "are)\n");
    const std::vector<const Length*> shown = {&lengths.front(), &lengths.back()};
    std::printf("%-12s", "");
    for (const Length* one : shown) {
        std::printf(" %14s tokens", one->tokens.c_str());
    }
    std::printf("\n");
    for (std::size_t e = 0; e < intensities(1).size(); ++e) {
        std::printf("%-12s", intensities(1)[e].einsum);
        for (const Length* one : shown) {
            const Intensity own = intensities(std::atof(one->tokens.c_str()))[e];
            std::string group = "-";
            for (std::size_t g = 0; g < one->ffm.groups.size(); ++g) {
                for (const std::string& einsum : one->ffm.groups[g]) {
                    group =
                        einsum == own.einsum ? std::string(1, static_cast<char>('A' + g)) : group;
                }
            }
            std::printf(" %14.4g %6s", own.operations / own.words, group.c_str());
        }
        std::printf("\n");
    }
}

}  // namespace

int main(int argc, char** argv) {
    const Settings s = settings(argc, argv);
    const Dataflow dataflow;
    std::vector<Length> lengths;
    for (const std::string& tokens : s.lengths) {
        lengths.push_back(
            {tokens, map("edge", tokens, s.extra), map(dataflow.file(), tokens, s.extra)});
    }
    figure_11(lengths);
    figure_12(lengths);
    figure_13(lengths);
    return 0;
}
