// Figures 9 to 11 of FuseCU's evaluation, the paper's values beside ours.
//
//   bench/reproduce_fusecu [folder] [reference] [seconds]    default: runs/fusecu
//                                                            test/reference/fusecu 0
//
// Tables go to stdout; every figure becomes a .csv and a .svg in the folder. With `seconds`, figure
// 9 also has FFM's optimum of the whole layer, so many CPU seconds at most for each of 84 searches.

#include <ctime>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "bar_chart.hpp"
#include "tessera/fusecu.hpp"
#include "tessera/tessera.hpp"

namespace {

using namespace bench;
using namespace tessera::fusecu;

using Row = std::vector<std::string>;

std::vector<Row> rows(const std::string& path) {
    std::ifstream in(path);
    std::string line;
    if (!std::getline(in, line)) {
        throw std::runtime_error("cannot read " + path);
    }
    std::vector<Row> found;
    while (std::getline(in, line)) {
        found.emplace_back();
        std::istringstream cells(line);
        for (std::string cell; std::getline(cells, cell, ',');) {
            found.back().push_back(cell);
        }
    }
    return found;
}

Model model_of(const std::string& name_or_tokens) {
    for (const Model& model : models()) {
        if (model.name == name_or_tokens) {
            return model;
        }
    }
    return {"LLaMA2", 32, std::stoll(name_or_tokens), 4096};
}

double words_of(const Model& model, Array array) {
    return static_cast<double>(layer_cost(model, array).traffic_words);
}

// One figure of five bars or points per group, in the order of `arrays`.
void show_arrays(const std::string& folder, const std::string& file, const std::string& title,
                 const std::vector<Row>& paper) {
    for (const bool traffic : {true, false}) {
        BarChart chart{file + (traffic ? "-traffic" : "-utilisation"),
                       title + (traffic ? ": words moved, TPUv4i = 1" : ": utilisation"),
                       {},
                       {}};
        for (const Array array : arrays) {
            chart.series.push_back(name(array));
        }
        double worst = 0;
        std::printf("\n%s (ours / paper)\n", chart.title.c_str());
        for (std::size_t i = 0; i < paper.size(); ++i) {
            const Array array = arrays.at(i % arrays.size());
            const Model model = model_of(paper[i].at(0));
            const double ours = traffic ? words_of(model, array) / words_of(model, Array::tpu_v4i)
                                        : layer_cost(model, array).utilisation;
            const double theirs = std::stod(paper[i].at(traffic ? 2 : 3));
            if (array == arrays.front()) {
                chart.groups.push_back({paper[i][0], {}});
                std::printf("%-11s", paper[i][0].c_str());
            }
            chart.groups.back().values.push_back(ours);
            worst = std::max(worst, std::abs(ours - theirs));
            std::printf("  %s %.3f / %.3f%s", name(array), ours, theirs,
                        array == arrays.back() ? "\n" : "");
        }
        std::printf("largest difference %.3f\n", worst);
        chart.write(folder);
    }
}

void show_means() {
    const std::array<std::array<double, 3>, 3> paper{
        {{63.6, 62.4, 38.7}, {42.6, 41.0, 4.5}, {1.33, 1.25, 1.14}}};
    std::printf("Means of seven models over     TPUv4i         Gemmini        Planaria\n");
    for (std::size_t row = 0; row < 3; ++row) {
        const char* const names[] = {"saving of FuseCU (%)", "saving of UnfCU (%)",
                                     "speed-up of FuseCU"};
        std::printf("%-24s", names[row]);
        for (std::size_t over = 0; over < 3; ++over) {
            double sum = 0;
            for (const Model& model : models()) {
                sum += row == 2
                           ? layer_cost(model, Array::fusecu).utilisation /
                                 layer_cost(model, arrays[over]).utilisation
                           : 100 - 100 * words_of(model, row == 0 ? Array::fusecu : Array::unfcu) /
                                       words_of(model, arrays[over]);
            }
            std::printf("%7.4g / %-6.4g", sum / static_cast<double>(models().size()),
                        paper[row][over]);
        }
        std::printf("\n");
    }
}

constexpr std::int64_t sequences = 16;  // as many as the evaluation takes

// Projections of all sequences, attention per head, its two products fused where that is better.
double words_of_pairs(const Model& model, std::int64_t buffer_words) {
    const std::int64_t depth = model.width / model.heads;
    const auto projection =
        exact_matmul({sequences * model.tokens, model.width, model.width}, buffer_words);
    const auto attention = best_chain(model.tokens, {depth, model.tokens, depth}, buffer_words,
                                      Capacity::shared, FuseRule::exact);
    return 3 * static_cast<double>(projection->traffic_words) +
           static_cast<double>(sequences * model.heads) *
               static_cast<double>(attention->traffic_words);
}

struct Layer {
    double words = 0;
    bool proven = false;
};

// The whole layer: any of the five products fused, tiles that divide, as DAT's do.
Layer layer(const Model& model, std::int64_t buffer_words, double seconds) {
    const auto problem = tessera::Problem::load("one-buffer", "attention",
                                                {{"BUFFER", std::to_string(buffer_words)},
                                                 {"BATCH", std::to_string(sequences)},
                                                 {"HEADS", std::to_string(model.heads)},
                                                 {"TOKENS", std::to_string(model.tokens)},
                                                 {"WIDTH", std::to_string(model.width)}});
    tessera::Options options;
    options.model = "traffic";
    options.metrics = {tessera::mapper::Metric::traffic};
    // The limit is of the process: what else the machine does changes nothing.
    options.limits.max_cpu_s = static_cast<double>(std::clock()) / CLOCKS_PER_SEC + seconds;
    const tessera::Result result = tessera::map(problem, options);
    if (result.solutions.empty()) {
        throw std::runtime_error("no mapping of " + model.name);
    }
    return {result.best().report.traffic_words().value(),
            result.status == tessera::mapper::Status::optimal};
}

constexpr std::int64_t smallest_buffer = 10000;  // where the paper's curves are 1

// Each curve over its own value at the smallest buffer.
void show_buffers(const std::string& folder, const std::vector<Row>& paper) {
    BarChart chart{"fig9",
                   "Fig. 9: words moved, a buffer of 10 000 words = 1",
                   {"ours", "principles (paper)", "DAT (paper)"},
                   {}};
    int below = 0;
    std::printf("\n%s\n%-11s %9s %7s %18s %12s\n", chart.title.c_str(), "", "buffer", "ours",
                "principles (paper)", "DAT (paper)");
    for (const Row& row : paper) {
        const Model model = model_of(row.at(0));
        const double ours =
            words_of_pairs(model, std::stoll(row.at(1))) / words_of_pairs(model, smallest_buffer);
        const double dat = std::stod(row.at(2)), line = std::stod(row.at(3));
        chart.groups.push_back({row[0] + " " + row[1], {ours, line, dat}});
        below += ours <= dat ? 1 : 0;
        std::printf("%-11s %9s %7.3f %18.3f %12.3f%s\n", row[0].c_str(), row[1].c_str(), ours, line,
                    dat, ours <= dat ? "" : "  above DAT");
    }
    std::printf("at most DAT's in %d of %zu points\n", below, paper.size());
    chart.write(folder);
}

void show_optima(const std::string& folder, const std::vector<Row>& paper, double seconds) {
    BarChart chart{"fig9-optima",
                   "Fig. 9 with all five products: words moved, a buffer of 10 000 words = 1",
                   {"FFM", "principles (paper)", "DAT (paper)"},
                   {}};
    int below = 0, proven = 0;
    Layer base;
    std::string of;
    std::printf("\n%s\n", chart.title.c_str());
    for (const Row& row : paper) {
        const Model model = model_of(row.at(0));
        if (of != row[0]) {
            base = layer(model, smallest_buffer, seconds);
            of = row[0];
        }
        const Layer found = layer(model, std::stoll(row.at(1)), seconds);
        const double ours = found.words / base.words;
        const double dat = std::stod(row.at(2)), line = std::stod(row.at(3));
        chart.groups.push_back({row[0] + " " + row[1], {ours, line, dat}});
        const bool optimal = found.proven && base.proven;
        below += ours <= dat ? 1 : 0;
        proven += optimal ? 1 : 0;
        std::printf("%-11s %9s %10.6g words %8.4f %8.3f %8.3f%s%s\n", row[0].c_str(),
                    row[1].c_str(), found.words, ours, line, dat, ours <= dat ? "" : "  above DAT",
                    optimal ? "" : "  not proven");
        std::fflush(stdout);
    }
    std::printf("at most DAT's in %d of %zu points; %d optima are proven\n", below, paper.size(),
                proven);
    chart.write(folder);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string folder = argc > 1 ? argv[1] : "runs/fusecu";
    const std::string reference = argc > 2 ? argv[2] : "test/reference/fusecu";
    try {
        std::filesystem::create_directories(folder);
        show_means();
        show_arrays(folder, "fig10", "Fig. 10", rows(reference + "/fig10.csv"));
        show_arrays(folder, "fig11", "Fig. 11, LLaMA2 by tokens", rows(reference + "/fig11.csv"));
        show_buffers(folder, rows(reference + "/fig9.csv"));
        if (const double seconds = argc > 3 ? std::stod(argv[3]) : 0; seconds > 0) {
            show_optima(folder, rows(reference + "/fig9.csv"), seconds);
        }
    } catch (const std::exception& error) {
        std::cerr << "reproduce_fusecu: " << error.what() << "\n";
        return 1;
    }
    std::printf("\ntables and pictures: %s\n", folder.c_str());
    return 0;
}
