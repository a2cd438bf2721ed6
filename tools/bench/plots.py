"""plots: draws the pictures of doc/performance/ with gnuplot, as SVG."""
import os
import shutil
import subprocess

import throughput

HEAD = """set terminal svg size 860,{height} font "sans-serif,13" background "white"
set output "{path}"
set key {key}
set border 3 lc rgb "#666666"
set tics nomirror
set grid y lc rgb "#dddddd"
set style fill solid 0.9 noborder
set title "{title}"
"""
COLORS = ["#1b6ca8", "#d1495b", "#edae49", "#66a182", "#5f0f40", "#2e4057"]


def draw(path, title, script, key="outside top center horizontal", height=380):
    head = HEAD.format(path=path, title=title, key=key, height=height)
    subprocess.run(["gnuplot"], input=head + script, text=True, check=True)


def block(name, rows):
    lines = [" ".join('"%s"' % cell if isinstance(cell, str) else "%g" % cell for cell in row)
             for row in rows]
    return f"${name} << EOD\n" + "\n".join(lines) + "\nEOD\n"


def or_nan(value):
    return float("nan") if value is None else value


def bars_script(rows, series, label):
    """Bars side by side, one per column: gnuplot's settings and plot command."""
    width = 0.8 / len(series)
    names = ", ".join(f'"{row[0]}" {i}' for i, row in enumerate(rows))
    script = block("data", rows)
    script += f'set ylabel "{label}"\nset xtics rotate by -25 ({names})\n'
    script += f"set boxwidth {width * 0.9:g}\n"
    script += f"set yrange [0:*]\nset xrange [-0.6:{len(rows) - 0.4}]\n"
    plots = []
    for i, (column, title) in enumerate(series):
        shift = (i - (len(series) - 1) / 2) * width
        plots.append(f'$data using ($0{shift:+g}):{column} with boxes '
                     f'lc rgb "{COLORS[i]}" title "{title}"')
    return script, plots


def throughput_plot(folder, results, names):
    ours, theirs = names[:2]
    pipelines = [p for p in next(iter(results.values())) if p != 1]
    if not pipelines:
        return
    rows = []
    for mix, found in results.items():
        rows.append([mix, *(throughput.ratio(found[p], "ops", ours, theirs) for p in pipelines)])
    series = [(2 + i, f"pipeline {p}") for i, p in enumerate(pipelines)]
    script, plots = bars_script(rows, series, f"times {theirs}")
    plots.append('1 with lines lc rgb "#888888" notitle')
    draw(os.path.join(folder, "throughput.svg"), f"Throughput, {theirs} = 1",
         script + "plot " + ", ".join(plots) + "\n")


def cpu_plot(folder, results, names):
    ours, theirs = names[:2]
    rows = []
    for mix, found in results.items():
        if 1 not in found:
            return
        row = found[1]
        floor = row["bare"]["cpu_ns"] / row[theirs]["cpu_ns"] if "bare" in row else None
        rows.append([mix, throughput.ratio(row, "cpu_ns", ours, theirs), or_nan(floor)])
    script, plots = bars_script(rows, [(2, ours), (3, "bare responder")], f"part of {theirs}'s")
    plots.append('1 with lines lc rgb "#888888" notitle')
    draw(os.path.join(folder, "cpu.svg"), f"CPU time per operation at pipeline 1, {theirs} = 1",
         script + "plot " + ", ".join(plots) + "\n")


def memory_plot(folder, rows, names):
    data = [[row["short"],
             *(or_nan(row[name]["bytes"] if row.get(name) else None) for name in names)]
            for row in rows]
    series = [(2 + i, name) for i, name in enumerate(names)]
    script, plots = bars_script(data, series, "bytes")
    draw(os.path.join(folder, "memory.svg"), "Memory per item",
         script + "plot " + ", ".join(plots) + "\n", height=460)


def growth_plot(folder, results, names):
    blocks, plots = "", []
    for i, (what, found) in enumerate(results.items()):
        for j, name in enumerate(names[:2]):
            figures = found[name]
            data = f"s{i}_{j}"
            blocks += block(data, list(zip(map(float, figures["sizes"]), figures["cpu_ns"])))
            dash, point = (1, 7) if j == 0 else (3, 6)
            plots.append(f'${data} using 1:2 with linespoints dt {dash} lw 2 pt {point} ps 0.6 '
                         f'lc rgb "{COLORS[i % len(COLORS)]}" title "{what}, {name}"')
    script = ('set logscale x\nset format x "10^{%L}"\nset xlabel "items"\n'
              'set ylabel "CPU per operation, ns"\nset logscale y\n')
    draw(os.path.join(folder, "growth.svg"), "Cost of an operation as the data grows",
         blocks + script + "plot " + ", ".join(plots) + "\n", key="outside right", height=460)


def draw_all(folder, results, names):
    """False when there is no gnuplot."""
    if not shutil.which("gnuplot"):
        return False
    os.makedirs(folder, exist_ok=True)
    if results.get("throughput") and len(names) > 1:
        throughput_plot(folder, results["throughput"], names)
        cpu_plot(folder, results["throughput"], names)
    if results.get("memory"):
        memory_plot(folder, results["memory"], names)
    if results.get("growth"):
        growth_plot(folder, results["growth"], names)
    return True
