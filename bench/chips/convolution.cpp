#include "cascade.hpp"

namespace bench::chips {

namespace {

/// Images one after the other: image i has ranks Pi, Qi, Ci; filters slide over r, s.
class Images {
public:
    Images(Cascade& cascade, int batch, int side, int channels)
        : c_(cascade), side_(side), channels_(channels) {
        c_.rank("B", batch);
        set();
    }

    std::string name() const {
        return "T" + n();
    }
    std::string now() const {
        return name() + "[b, p" + n() + ", q" + n() + ", c" + n() + "]";
    }
    int channels() const {
        return channels_;
    }

    /// A convolution with `filter` x `filter` weights; to so many channels.
    void convolve(int filter, int stride, int channels) {
        step(filter, stride, channels, false);
    }
    void depthwise(int filter, int stride) {
        step(filter, stride, channels_, true);
    }
    /// Adds an image of the same size: where it stands, as ranks of that image and our variables.
    void add(int image) {
        const std::string m = std::to_string(image), i = n();
        const std::string other =
            "T" + m + "[b, P" + m + ": p" + i + ", Q" + m + ": q" + i + ", C" + m + ": c" + i + "]";
        c_.elementwise("SUM[b, p" + i + ", q" + i + ", c" + i + "]", now() + " + " + other,
                       {name(), "T" + m});
    }
    int image() const {
        return image_;
    }

private:
    std::string n() const {
        return std::to_string(image_);
    }
    void set() {
        c_.rank("P" + n(), side_);
        c_.rank("Q" + n(), side_);
        c_.rank("C" + n(), channels_);
    }

    void step(int filter, int stride, int channels, bool depthwise) {
        const std::string i = n(), o = std::to_string(image_ + 1), from = name();
        const std::string channel = depthwise ? "C" + i + ": c" + o : "c" + i;
        const std::string s = stride == 1 ? "" : std::to_string(stride) + " * ";
        const bool slides = filter > 1;
        const auto at = [&](const char* rank, const char* var, const char* tap) {
            return rank + i + ": " + s + var + o + (slides ? " + " + std::string(tap) + o : "");
        };
        const std::string input =
            from + "[b, " + at("P", "p", "r") + ", " + at("Q", "q", "s") + ", " + channel + "]";
        const std::string taps = slides ? "r" + o + ", s" + o + ", " : "";
        const std::string weight =
            "W" + o + "[" + taps + (depthwise ? "" : "c" + i + ", ") + "c" + o + "]";
        std::vector<std::string> limited;
        if (slides) {
            limited = {"r" + o, "s" + o};
            c_.limit("r" + o, filter);
            c_.limit("s" + o, filter);
        }
        ++image_;
        side_ /= stride;
        channels_ = channels;
        set();
        c_.product(now(), input, weight, limited);
    }

    Cascade& c_;
    int image_ = 0, side_, channels_;
};

std::string size_of(int batch, int side, int channels) {
    return std::to_string(batch) + "x" + std::to_string(side) + "x" + std::to_string(side) + "x" +
           std::to_string(channels);
}

}  // namespace

void residual_block(Cascade& c, Random& random, Text& text) {
    const int batch = random.pick({1, 1, 1, 4, 16}),
              side = random.pick({56, 28, 28, 14, 14, 7, 32});
    const int channels = random.pick({64, 64, 128, 256, 512});
    const int times = random.pick({1, 1, 2});
    const bool adds = random.chance(70);
    Images images(c, batch, side, channels);
    for (int i = 0; i < 2 * times; ++i) {
        images.convolve(3, 1, channels);
    }
    if (adds) {
        images.add(images.image() - 2);
    }
    text.kind = "residual block " + size_of(batch, side, channels) + ", " +
                std::to_string(2 * times) + " convolutions" + (adds ? " and sum" : "");
}

void bottleneck_block(Cascade& c, Random& random, Text& text) {
    const int batch = random.pick({1, 1, 1, 4, 16}), side = random.pick({56, 28, 28, 14, 14, 7});
    const int inner = random.pick({32, 64, 128, 256, 512});
    const int stride = side > 7 && random.chance(20) ? 2 : 1;
    const bool adds = stride == 1 && random.chance(60);
    Images images(c, batch, side, 4 * inner);
    images.convolve(1, 1, inner);
    images.convolve(3, stride, inner);
    images.convolve(1, 1, 4 * inner);
    if (adds) {
        images.add(0);
    }
    text.kind = "bottleneck block " + size_of(batch, side, 4 * inner) + " by " +
                std::to_string(inner) + (stride > 1 ? ", stride 2" : "") + (adds ? " and sum" : "");
}

void separable_block(Cascade& c, Random& random, Text& text) {
    const int batch = random.pick({1, 1, 1, 4, 8}), side = random.pick({112, 56, 28, 28, 14, 14});
    const int channels = random.pick({16, 24, 32, 64, 96, 128});
    const int filter = random.pick({3, 3, 5}), times = random.pick({1, 1, 2});
    const int expansion = random.pick({1, 4, 6});
    const bool adds = times == 1 && expansion > 1 && random.chance(50);
    Images images(c, batch, side, channels);
    for (int i = 0; i < times; ++i) {
        if (expansion > 1) {
            images.convolve(1, 1, expansion * channels);
        }
        images.depthwise(filter, 1);
        images.convolve(1, 1, expansion > 1 ? channels : 2 * images.channels());
    }
    if (adds) {
        images.add(0);
    }
    text.kind = "separable block " + size_of(batch, side, channels) + ", expansion " +
                std::to_string(expansion) + ", filter " + std::to_string(filter) +
                (times > 1 ? ", twice" : "") + (adds ? " and sum" : "");
}

}  // namespace bench::chips
