"use strict";
let spec; // the templates of charts/spec.py
// What is shown of a grid, as Vega-Lite: which cells stand in which panel, and the parts that templates are filled with.

const LARGE = 20000; // cells of a figure from which on they are painted (charts/spec.py says why)
const MOST_PANELS = 12;
const MOST_MARKS = 5000;

const fill = (part, given) => {
  if (Array.isArray(part)) return part.map((inner) => fill(inner, given));
  if (part === null || typeof part !== "object") return part;
  const own = Object.fromEntries(Object.entries(part).filter(([name]) => name !== "$").map(([name, inner]) => [name, fill(inner, given)]));
  return part.$ ? { ...own, ...given[part.$] } : own;
};

// how a figure looks; on a narrow screen the parts of its key stand one below the other
const configured = (theme, width) => {
  const config = spec.config[theme.name];
  return width >= 640 ? config : { ...config, legend: { ...config.legend, columns: 1, labelFontSize: 10, gradientLength: 110, layout: { top: { direction: "vertical", anchor: "start" } } } };
};

const LETTER = 7; // pixels, the bold ones of titles among them
const columnsOf = (words, room) => Math.max(1, Math.floor(room / (40 + LETTER * Math.max(...words.map((word) => word.length)))));
// a title as one text, or as the lines that it needs
const lines = (text, room) => {
  const found = [];
  for (const word of text.split(" ")) {
    const last = found[found.length - 1];
    if (last !== undefined && LETTER * (last.length + 1 + word.length) <= room) found[found.length - 1] = `${last} ${word}`;
    else found.push(word);
  }
  return found.length > 1 ? found : text;
};

// where cells end, in pixels along an axis of that length, and back as values that fall on whole pixels: no seams
const pixels = (way, length) => {
  const log = way.encoding.scale.type === "log" ? Math.log : (v) => v, [a, b] = [log(way.edges[0]), log(way.edges[way.edges.length - 1])];
  return way.edges.map((edge) => Math.round(((log(edge) - a) / (b - a)) * length));
};
const snapped = (way, length) => {
  const [a, b] = [way.edges[0], way.edges[way.edges.length - 1]], log = way.encoding.scale.type === "log";
  return pixels(way, length).map((pixel) => (log ? a * (b / a) ** (pixel / length) : a + (pixel / length) * (b - a)));
};

// what stands in a figure's panels, by the coordinates across and up; of a fine grid this takes a while
const gathered = new WeakMap();

const counted = (first, end) => { const all = new Array(end - first); for (let k = 0; k < all.length; k++) all[k] = first + k; return all; };

// the place of the cell that is pointed at; not empty, for Vega-Lite makes one of all empty data
const here = (k) => ({ name: `here${k}`, values: [{ here: k }] });

class View {
  // state: x, y, form, panel, value, at, look, and the ways of x, y and of the colours (sx, sy, sc)
  constructor(grid, state) {
    Object.assign(this, { grid, state });
    this.key = (name) => grid.keys.find((key) => key.name === name);
    this.x = this.key(state.x);
    this.y = state.y === null ? null : this.key(state.y);
    this.across = this.way(this.x, state.sx);
    this.up = this.y ? this.way(this.y, state.sy) : { at: [0], edges: [-0.5, 0.5], encoding: { axis: null, scale: { domain: [-0.5, 0.5], nice: false, zero: false } } };
    this.choice = grid.choices.find((choice) => choice.base === state.value && choice.at === state.at);
    this.look = this.choice.looks.find((look) => look.of === state.look) || this.choice.looks[0];
    this.colour = this.look.ways[state.sc] || Object.values(this.look.ways)[0];
    const known = gathered.get(grid) || gathered.set(grid, {}).get(grid);
    this.all = known[JSON.stringify([state.x, state.y])] ??= this.panels();
    this.shown = this.all.filter((panel, i) => (state.panel === null ? i < MOST_PANELS : panel.name === state.panel));
    this.large = state.form === "map" && this.shown.reduce((sum, panel) => sum + panel.cells.length, 0) > LARGE;
  }

  way(key, asked) { return key.ways[asked] || Object.values(key.ways)[0]; }
  read(of) {
    const { choice, grid } = this;
    if (choice.pair !== undefined && grid.pairs[of]) { const pair = grid.pairs.of[choice.pair]; return (i) => grid.pairs[of][pair[i]]; }
    return (i) => (choice.columns[of] ? choice.columns[of][i] : null);
  }
  ends() { return this.choice.pair !== undefined ? [this.read("low"), this.read("high")] : [this.read("lowest"), this.read("highest")]; }

  // the cells by the coordinates that are neither across nor up; as the report has them if those are its panels
  panels() {
    const { grid } = this, base = (key) => key && (key.of || key.name), taken = [base(this.x), base(this.y)], plane = [grid.x, grid.y].map((name) => base(this.key(name)));
    const rest = grid.keys.filter((key) => !key.of && !taken.includes(key.name)), own = taken.every((name) => plane.includes(name)) && plane.every((name) => taken.includes(name));
    if (own) {
      let first = 0;
      return grid.panels.map((panel) => ({ ...panel, cells: counted(first, (first += panel.cells)) }));
    }
    const by = new Map();
    for (let i = 0; i < grid.trials.length; i++) {
      const name = rest.map((key) => key.words[grid.places[key.name][i]]).join(", ");
      if (!by.has(name)) by.set(name, { name, title: name, brief: "", half: [], free: [], cells: [], rank: rest.reduce((r, key) => r * key.values.length + grid.places[key.name][i], 0) });
      by.get(name).cells.push(i);
    }
    return [...by.values()].sort((a, b) => a.rank - b.rank);
  }

  cell(panel, ix, iy) {
    const { places } = this.grid, width = this.x.values.length, up = this.y && places[this.y.name], across = places[this.x.name];
    panel.at ??= new Map(panel.cells.map((i) => [(up ? up[i] : 0) * width + across[i], i]));
    return panel.at.get(iy * width + ix);
  }
  // whether what was estimated over the report's own plane belongs on this one, and whether its axes are swapped
  get plane() { return this.y !== null && [this.x.name, this.y.name].every((name) => this.grid.plane.includes(name)); }
  get swapped() { return this.x.name !== this.grid.plane[0]; }
  get first() { return this.choice === this.grid.choices[0] && this.look === this.choice.looks[0]; }

  lines() {
    if (this.state.form === "curves") return this.first && this.x.name === this.grid.x && (this.y ? this.y.name : null) === this.grid.y ? this.grid.theory : [];
    return this.plane && [this.across, this.up].every((way) => way.kind !== "even") ? this.grid.lines : [];
  }

  // the label, dash and colour of theory, of those that are drawn only
  strokes(theme, free) {
    const lines = this.lines(), labels = [...new Set(lines.filter((line) => !line.secondary).map((line) => line.label))];
    const all = [...new Set(lines.map((line) => line.label))], domain = free ? [...all, this.grid.half.free] : all;
    const rank = (label) => Math.max(0, labels.indexOf(label)) % 4, second = (label) => lines.find((line) => line.label === label)?.secondary;
    const scale = (range) => (domain.length ? { scale: { domain, range } } : { scale: { domain: [""], range: ["#888"] }, legend: null });
    const isFree = (label) => label === this.grid.half.free;
    return {
      stroke: scale(domain.map((label) => (isFree(label) ? theme.free : theme.curves[rank(label)]))),
      dash: { ...scale(domain.map((label) => (isFree(label) ? [1, 0] : second(label) ? spec.secondary : spec.dashes[rank(label)]))) },
    };
  }

  marks(panel) {
    const { grid } = this, rows = [], undecided = this.choice.undecided;
    const add = (i, mark) => rows.push({ x: this.across.at[grid.places[this.x.name][i]], y: this.y ? this.up.at[grid.places[this.y.name][i]] : 0, mark });
    for (const i of panel.cells) {
      if (grid.ring) { if (grid.ring[i]) add(i, "differs"); continue; }
      if (grid.ok[i] === 0) add(i, "nothing finished");
      else if (grid.failed[i] + grid.missing[i] > 0) add(i, "failed or missing trials");
      if (undecided && undecided[i] > 0) add(i, "undecided trials");
    }
    if (rows.length <= MOST_MARKS) return rows;
    this.unmarked = true;
    return [];
  }

  note(panel) {
    const read = this.read(this.look.of), some = panel.cells.some((i) => read(i) !== null);
    if (some || !panel.cells.some((i) => !this.grid.ok || this.grid.ok[i] > 0)) return panel.cells.length ? [] : [{ text: "no trials yet" }];
    return [{ text: "not measured" }];
  }

  spec(theme, width, title) {
    const curves = this.state.form === "curves";
    const columns = width >= 640 && this.shown.length > 1 ? 2 : 1, whole = Math.max(90, Math.floor((width - columns * 75) / columns)), tall = Math.round(Math.min(whole, 640) * (curves ? 0.6 : 0.72));
    const parts = this.shown.map((panel) => (curves ? this.curvesOf(panel, theme, width) : this.mapOf(panel, theme, { width: whole, height: tall }, title ? 2 : window.devicePixelRatio)));
    const free = parts.some((part) => part.free.values.length), used = new Set(parts.flatMap((part) => part.points.values.map((row) => row.mark)));
    const shapes = Object.entries({ ...spec.marks, [this.grid.half.label]: "circle" }).filter(([mark]) => used.has(mark));
    const dot = Math.min(36, Math.max(12, (whole / this.x.values.length) ** 2 / 6)), common = {
      ...this.strokes(theme, free),
      shape: { scale: { domain: shapes.map(([mark]) => mark), range: shapes.map(([, shape]) => shape) }, legend: shapes.length ? { ...spec.points, symbolStrokeColor: theme.ink } : null },
      size: { width: whole, height: tall }, whole: { width: whole, height: tall }, middle: { value: whole / 2 }, centre: { value: tall / 2 },
      halo: { stroke: theme.halo }, weight: { strokeWidth: curves ? 1.4 : 2 }, ink: { color: theme.ink }, tooltip: {},
      dot: { size: dot },
    };
    return {
      $schema: spec.schema, config: { ...configured(theme, width), concat: { columns } },
      ...(title ? { title: { text: title, fontSize: 15 }, background: "#ffffff" } : {}),
      concat: this.shown.map((panel, k) => {
        const filled = fill(curves ? spec.curves : spec.map, { ...common, ...parts[k], title: { text: lines(panel.title, whole), ...(panel.brief && this.first ? { subtitle: panel.brief } : {}) } });
        if (this.large) filled.layer[0] = fill(spec.picture, { ...common, ...parts[k] });
        filled.layer = filled.layer.filter((layer, i) => i === 0 || layer.data.values.length); // each layer takes its time
        return filled;
      }),
      resolve: { scale: { fill: "shared", stroke: "shared", strokeDash: "shared", shape: "shared", color: "shared" } },
    };
  }

  mapOf(panel, theme, size, dense) {
    const { grid, across, up } = this, read = this.read(this.look.of), px = grid.places[this.x.name], py = this.y ? grid.places[this.y.name] : null;
    const [xs, ys] = [snapped(across, size.width), snapped(up, size.height)];
    const row = (i, v) => { const [ix, iy] = [px[i], py ? py[i] : 0]; return { x: xs[ix], x2: xs[ix + 1], y: ys[iy], y2: ys[iy + 1], v, i }; };
    const cells = this.large ? [{ url: this.paint(panel, read, size, dense) }] : panel.cells.map((i) => row(i, read(i))).filter((r) => r.v !== null);
    const span = (k, low, high) => { // from low to high along one axis, at the k-th value of the other
      const along = grid.half.along === this.x.name, at = (along ? up : across).at[k];
      return along ? { x: low, x2: high, y: at, y2: at } : { x: at, x2: at, y: low, y2: high };
    };
    const shown = this.plane && this.first && (grid.half.along === this.x.name ? across : up).kind !== "even";
    const half = shown ? panel.half.map(([k, mid, low, high]) => ({ ...span(k, low, high), mid })) : [];
    const points = half.map((r) => ({ x: r.y === r.y2 ? r.mid : r.x, y: r.y === r.y2 ? r.y : r.mid, mark: grid.half.label }));
    return {
      cells: { values: cells }, lines: { values: this.points(this.lines()) }, main: { values: this.points(this.lines().filter((line) => !line.secondary)) }, note: { values: this.note(panel) }, here: here(this.shown.indexOf(panel)),
      half: { values: half }, points: { values: [...this.marks(panel), ...points] },
      free: { values: shown ? panel.free.map(([k, low, high]) => ({ ...span(k, low, high), label: grid.half.free })) : [] },
      x: across.encoding, y: up.encoding, colour: this.colour,
    };
  }

  points(lines) {
    return lines.flatMap((line, part) => line.points.map(([a, b], k) => ({ x: this.swapped ? b : a, y: this.swapped ? a : b, k, part, label: line.label })));
  }

  curvesOf(panel, theme, width) {
    const { grid, across } = this, read = this.read(this.look.of), [low, high] = this.ends(), words = this.y ? this.y.words : [this.look.label];
    const order = (i) => grid.places[this.x.name][i], seen = panel.cells.filter((i) => read(i) !== null).sort((a, b) => order(a) - order(b));
    const cells = seen.map((i) => ({ x: across.at[order(i)], y: read(i), low: low(i), high: high(i), series: words[this.y ? grid.places[this.y.name][i] : 0], i }));
    const there = new Set(this.shown.flatMap((p) => p.cells.map((i) => (this.y ? grid.places[this.y.name][i] : 0))));
    const domain = words.filter((_, k) => there.has(k)), colours = words.length > theme.lines.length ? spec.many : theme.lines;
    const pick = (k) => (words.length > theme.lines.length ? colours[Math.round((k * (colours.length - 1)) / (words.length - 1))] : colours[k]);
    const fraction = this.choice.pair !== undefined, scale = this.colour.scale, all = this.limits();
    const theory = this.lines().filter((line) => line.panel === this.all.indexOf(panel)).flatMap((line, part) => {
      const points = line.points.length > 1 ? line.points : (fraction ? [-0.03, 1.03] : all).map((y) => [line.points[0][0], y]); // a ratio is upright
      return points.map(([x, y], k) => ({ x, y, k, part, label: line.label }));
    });
    return {
      cells: { values: cells }, lines: { values: theory }, main: { values: [] }, note: { values: this.note(panel) }, here: here(this.shown.indexOf(panel)),
      free: { values: [] }, points: { values: [] }, x: across.encoding,
      y: { scale: { type: scale.type, domain: fraction ? [-0.03, 1.03] : all, nice: !fraction, ...(scale.type === "log" ? { clamp: true } : { zero: false }) }, axis: { title: this.look.label, ...(fraction ? { values: [0, 0.2, 0.4, 0.6, 0.8, 1] } : { tickCount: 6 }), grid: true } },
      series: { scale: { domain, range: domain.map((word) => pick(words.indexOf(word))) }, legend: domain.length > 1 ? { title: null, orient: "top", columns: columnsOf(domain, width - 60), symbolLimit: 24, labelLimit: width - 90 } : null },
      joined: { opacity: typeof this.x.values[0] === "string" ? 0 : 1 },
    };
  }

  // what the ends of intervals span
  limits() {
    const log = this.colour.scale.type === "log", [low, high] = this.ends(), middle = this.read(this.look.of);
    let least = Infinity, most = -Infinity;
    for (const panel of this.shown) for (const i of panel.cells) for (const read of [low, middle, high]) { const v = read(i); if (v !== null && (!log || v > 0)) { least = Math.min(least, v); most = Math.max(most, v); } }
    return least < most ? [least, most] : least === most ? (log ? [least / 2, most * 2] : [least - 0.5, most + 0.5]) : [0.1, 1];
  }

  // the cells of a fine grid as one picture, in the pixels of the axes: `dense` of them for each of the figure's, and no fewer than there are cells
  paint(panel, read, size, dense) {
    const { across, up } = this, [wide, high] = [[size.width, across], [size.height, up]].map(([length, way]) => Math.max(Math.round(length * dense), way.at.length));
    const [xs, ys] = [pixels(across, wide), pixels(up, high)], canvas = document.createElement("canvas"), c = canvas.getContext("2d", { willReadFrequently: true });
    const scale = this.colour.scale, log = scale.type === "log" ? Math.log : (v) => v, [a, b] = [log(scale.domain[0]), log(scale.domain[scale.domain.length - 1])];
    const ramp = c.createLinearGradient(0, 0, 256, 0);
    scale.range.forEach((colour, k) => ramp.addColorStop(k / (scale.range.length - 1), colour));
    c.fillStyle = ramp;
    c.fillRect(0, 0, 256, 1);
    const shades = new Uint32Array(c.getImageData(0, 0, 256, 1).data.buffer), drawn = new Uint32Array(wide * high);
    const px = this.grid.places[this.x.name], py = this.grid.places[this.y.name];
    for (const i of panel.cells) {
      const v = read(i);
      if (v === null) continue;
      const [left, right, top, bottom] = [xs[px[i]], xs[px[i] + 1], high - ys[py[i] + 1], high - ys[py[i]]], shade = shades[Math.round(Math.min(1, Math.max(0, (log(v) - a) / (b - a) || 0)) * 255)];
      for (let y = top; y < bottom; y++) drawn.fill(shade, y * wide + left, y * wide + right);
    }
    [canvas.width, canvas.height] = [wide, high];
    c.putImageData(new ImageData(new Uint8ClampedArray(drawn.buffer), wide, high), 0, 0);
    return canvas.toDataURL();
  }
}
