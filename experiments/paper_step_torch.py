#!/usr/bin/env python3
"""One training step of the paper's MNIST model in PyTorch, laid out as in the paper's appendix D: time and memory.

    python experiments/paper_step_torch.py [--steps 6] [--threads 2]

Prints the JSON line that `cargo run --release --example paper_step -- --time` prints. A step is what ours is: 32
labelled and 32 unlabelled images forward and backward, the pseudo-labels of a second view of the unlabelled ones without
gradients, Adam. Weights are random: only the cost is compared.
"""
import argparse, json, math, resource, statistics, time

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.parametrizations import weight_norm


def conv(i, o, size, bias=True):
    return weight_norm(nn.Conv2d(i, o, size, padding=size // 2, bias=bias))


class Block(nn.Module):
    def __init__(self, h):
        super().__init__()
        self.n1, self.c1, self.n2, self.c2 = nn.BatchNorm2d(h), conv(h, h, 3, False), nn.BatchNorm2d(h), conv(h, h, 3)

    def forward(self, x):
        return x + self.c2(F.relu(self.n2(self.c1(F.relu(self.n1(x))))))


class Net(nn.Module):
    def __init__(self, inputs, outputs, h, blocks, double):
        super().__init__()
        self.scale = 2.0 if double else 1.0
        self.norm, self.first, self.first_skip = nn.BatchNorm2d(inputs), conv(2 * inputs, h, 3), conv(h, h, 1)
        self.blocks = nn.ModuleList(Block(h) for _ in range(blocks))
        self.skips = nn.ModuleList(conv(h, h, 1) for _ in range(blocks))
        self.last_norm, self.last = nn.BatchNorm2d(h), conv(h, 2 * outputs, 1)
        self.gain = weight_norm(nn.Linear(1, outputs, bias=False))

    def forward(self, x):
        b = self.norm(x) * self.scale
        h = self.first(F.relu(torch.cat([b, -b], 1)))
        skip = self.first_skip(h)
        for block, to_skip in zip(self.blocks, self.skips):
            h = block(h)
            skip = skip + to_skip(h)
        s, t = self.last(F.relu(self.last_norm(skip))).chunk(2, 1)
        return self.gain.weight[:, :, None] * torch.tanh(s), t


class Checkerboard(nn.Module):
    def __init__(self, c, h, blocks, odd):
        super().__init__()
        self.net, self.odd = Net(c, c, h, blocks, True), odd

    def forward(self, x):
        y, z = torch.meshgrid(torch.arange(x.shape[2]), torch.arange(x.shape[3]), indexing="ij")
        keep = ((y + z + self.odd) % 2).to(x)
        s, t = self.net(x * keep)
        s, t = s * (1 - keep), t * (1 - keep)
        return (x + t) * s.exp(), s.flatten(1).sum(1)


class Channels(nn.Module):
    def __init__(self, c, h, blocks, swap):
        super().__init__()
        self.net, self.swap = Net(c // 2, c // 2, h, blocks, False), swap

    def forward(self, x):
        kept, changed = x.chunk(2, 1)[::-1] if self.swap else x.chunk(2, 1)
        s, t = self.net(kept)
        changed = (changed + t) * s.exp()
        return torch.cat([changed, kept] if self.swap else [kept, changed], 1), s.flatten(1).sum(1)


class Flow(nn.Module):
    def __init__(self, h=64, blocks=8):
        super().__init__()
        self.top = nn.ModuleList(Checkerboard(1, h, blocks, i % 2) for i in range(3))
        self.middle = nn.ModuleList(Channels(4, 2 * h, blocks, i % 2 == 1) for i in range(3))
        self.inner = nn.ModuleList(Checkerboard(2, 2 * h, blocks, i % 2) for i in range(4))

    def forward(self, v):
        p = 0.05 + 0.9 * v
        x = p.log() - (1 - p).log()
        log_det = (F.softplus(x) + F.softplus(-x) + math.log(0.9)).flatten(1).sum(1)
        for layer in self.top:
            x, d = layer(x)
            log_det = log_det + d
        x = F.pixel_unshuffle(x, 2)
        for layer in self.middle:
            x, d = layer(x)
            log_det = log_det + d
        x, out = x.chunk(2, 1)
        for layer in self.inner:
            x, d = layer(x)
            log_det = log_det + d
        return torch.cat([x.flatten(1), out.flatten(1)], 1), log_det


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    flow, means = Flow(), torch.randn(10, 784)
    assert sum(p.numel() for p in flow.parameters()) == 19_552_008  # the authors'
    adam = torch.optim.Adam(flow.parameters(), lr=1e-4)

    def log_densities(v):
        z, log_det = flow(v)
        squared = (z * z).sum(1, keepdim=True) - 2 * z @ means.T + (means * means).sum(1)
        return -0.5 * squared - 392 * math.log(2 * math.pi) + log_det[:, None]

    times = []
    for _ in range(arguments.steps + 1):
        v, other, y = torch.rand(64, 1, 28, 28), torch.rand(32, 1, 28, 28), torch.randint(10, (32,))
        began = time.perf_counter()
        with torch.no_grad():
            pseudo = log_densities(other).argmax(1)
        joint = log_densities(v)
        labelled = joint[:32].gather(1, y[:, None]).mean()
        consistent = joint[32:].gather(1, pseudo[:, None]).mean()
        loss = -3 * labelled - (joint[32:].logsumexp(1) - math.log(10)).mean() - consistent
        adam.zero_grad()
        loss.backward()
        adam.step()
        times.append((time.perf_counter() - began) * 1e3)
    times = times[1:]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"engine": "torch", "work": "paper-mnist", "ms": statistics.median(times), "min_ms": min(times), "peak_mb": peak}))


main()
