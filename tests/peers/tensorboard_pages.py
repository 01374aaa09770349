#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Opens a folder of logs in TensorBoard and checks what its pages get.

    tensorboard_pages.py LOGS [--least scalars=4,images=1,...]

Starts TensorBoard, asks its plugins as its web pages do, and prints a line for each run and page.
Graphs are parsed with TensorFlow's GraphDef: names must be unique, inputs must exist, and most nodes
of run metadata must be nodes of the graph. Ends with 1 if something is wrong, or if a page has fewer
tags than --least says. Needs tensorboard and tensorflow.
"""

import argparse
import collections
import json
import struct
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

from google.protobuf import text_format
from tensorboard import program
from tensorflow.core.framework import graph_pb2
from tensorflow.core.protobuf import config_pb2

counts = collections.Counter()


def get(path, **query):
    with urllib.request.urlopen(f"{url}data/plugin/{path}?{urllib.parse.urlencode(query)}") as reply:
        return reply.read()


def load(path, **query):
    return json.loads(get(path, **query))


def check(condition, *what):
    if not condition:
        sys.exit("wrong: " + " ".join(map(str, what)))


def check_graph(run):
    graph = text_format.Parse(get("graphs/graph", run=run, conceptual="false"), graph_pb2.GraphDef())
    names = {node.name for node in graph.node}
    check(len(names) == len(graph.node), run, "has a name twice")
    for node in graph.node:
        for name in node.input:
            check(name.lstrip("^").split(":")[0] in names, node.name, "reads", name)
        check("_output_shapes" not in node.attr or node.attr["_output_shapes"].list.shape is not None)
    devices = sorted({node.device for node in graph.node})
    print(f"{run}: graph of {len(names)} nodes on {', '.join(devices)}")
    return names


def check_metadata(run, tag, names):
    text = get("graphs/run_metadata", run=run, tag=tag)
    metadata = text_format.Parse(text, config_pb2.RunMetadata())
    stats = [node for device in metadata.step_stats.dev_stats for node in device.node_stats]
    check(stats, run, tag, "has no nodes")
    unknown = sorted({node.node_name for node in stats} - names)  # copies, and what loops add
    check(len(unknown) <= len(stats) // 4, run, tag, "no nodes", unknown)
    time_us = sum(node.all_end_rel_nanos for node in stats) / 1000
    memory = sum(used.total_bytes for node in stats for used in node.memory)
    print(f"{run}: run metadata '{tag}': {len(stats)} kernels, {time_us:.0f} us, {memory} bytes"
          + (f", not in the graph: {', '.join(unknown)}" if unknown else ""))


def check_projector():
    for run in load("projector/runs"):
        for table in load("projector/info", run=run)["embeddings"]:
            name = table["tensorName"]
            points, dimensions = table["tensorShape"]
            values = get("projector/tensor", run=run, name=name)
            check(len(values) == 4 * points * dimensions, name, "has", len(values), "bytes")
            struct.unpack(f"<{points * dimensions}f", values)
            line = f"{run}: projector '{name}' ({points},{dimensions})"
            if "metadataPath" in table:
                rows = get("projector/metadata", run=run, name=name).decode().splitlines()
                check(len(rows) in (points, points + 1), name, "has", len(rows), "lines")
                line += f", {rows[0].split(chr(9))}"
            if "sprite" in table:
                sprite = get("projector/sprite_image", run=run, name=name)
                check(sprite.startswith(b"\x89PNG"), name, "has no PNG")
                line += f", sprite of {len(sprite)} bytes"
            counts["projector"] += 1
            print(line)


def check_values():
    for page, per_tag in [("scalars", "scalars/scalars"), ("histograms", "histograms/histograms"),
                          ("distributions", "distributions/distributions"),
                          ("images", "images/images"), ("audio", "audio/audio"),
                          ("text", "text/text"), ("pr_curves", None)]:
        for run, tags in load(f"{page}/tags").items():
            for tag in tags:
                if per_tag is not None:
                    extra = {"sample": 0} if page in ("images", "audio") else {}
                    events = load(per_tag, run=run, tag=tag, **extra)
                    check(events, page, run, tag, "is empty")
                    if page == "images":
                        image = get("images/individualImage", **dict(
                            urllib.parse.parse_qsl(events[0]["query"])))
                        check(image.startswith(b"\x89PNG"), tag, "is no PNG")
                counts[page] += 1
            if tags:
                print(f"{run}: {page} {', '.join(sorted(tags))}")


parser = argparse.ArgumentParser()
parser.add_argument("logs")
parser.add_argument("--least", default="")
arguments = parser.parse_args()
board = program.TensorBoard()
board.configure(argv=[None, "--logdir", arguments.logs, "--load_fast=false", "--port=0"])
url = board.launch()
for _ in range(100):  # until the logs are read
    try:
        graphs = load("graphs/info")
        if graphs or load("scalars/tags"):
            break
    except urllib.error.HTTPError:
        pass
    time.sleep(0.2)
time.sleep(2)
for run, info in load("graphs/info").items():
    if not info["run_graph"]:
        continue
    counts["graphs"] += 1
    names = check_graph(run)
    for tag, content in info["tags"].items():
        if content["profile"]:
            check_metadata(run, tag, names)
            counts["run_metadata"] += 1
check_values()
check_projector()
for part in filter(None, arguments.least.split(",")):
    page, least = part.split("=")
    check(counts[page] >= int(least), page, "has", counts[page], "tags, expected", least)
