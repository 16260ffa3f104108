// One view of a grid: selects panels and grid cells, and fills the templates of template.py with their data.

const LARGE = 20000; // figures with more grid cells than this are drawn as pictures (PICTURE in template.py)
const MOST_PANELS = 12;
const LETTER = 7; // average width of a letter in pixels, also in bold titles

/** Replace the placeholders of a template by the given parts; the same as `fill` in template.py. */
export const fill = (part, given) => {
  if (Array.isArray(part)) return part.map((inner) => fill(inner, given));
  if (part === null || typeof part !== "object") return part;
  const names = Object.keys(part).filter((name) => name !== "$");
  const own = Object.fromEntries(names.map((name) => [name, fill(part[name], given)]));
  return part.$ ? { ...own, ...given[part.$] } : own;
};

/** Return the Vega-Lite configuration; on a narrow screen legends are stacked. */
export const configured = (theme, width) => {
  if (width >= 640) return theme.config;
  const layout = { top: { direction: "vertical", anchor: "start" } };
  const legend = { ...theme.config.legend, columns: 1, labelFontSize: 10, gradientLength: 110, layout };
  return { ...theme.config, legend };
};

/** Return how many columns of a legend fit into `room` pixels. */
export const columnsOf = (words, room) => {
  const longest = Math.max(...words.map((word) => word.length));
  return Math.max(1, Math.floor(room / (40 + LETTER * longest)));
};

/** Return a title as one text, or as lines if it is wider than `room` pixels. */
const wrapped = (text, room) => {
  const lines = [];
  for (const word of text.split(" ")) {
    const last = lines[lines.length - 1];
    if (last !== undefined && LETTER * (last.length + 1 + word.length) <= room)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines.length > 1 ? lines : text;
};

const first = (choices) => Object.values(choices)[0];
const transposed = ({ x, y, x2, y2, ...rest }) => ({ ...rest, x: y, y: x, x2: y2, y2: x2 });

/** Return the data source of the selection in panel k; not empty, because Vega-Lite merges empty data sources. */
export const here = (k) => ({ name: `here${k}`, values: [{ here: k }] });

export class View {
  /** state: x, y, form, panel, value, tolerance (at), statistic (look), and the scales of x, y and value (sx, sy, sc). */
  constructor(grid, state, templates) {
    const key = (name) => grid.keys.find((one) => one.name === name) ?? null;
    this.grid = grid;
    this.state = state;
    this.templates = templates;
    this.x = key(state.x);
    this.y = key(state.y);
    this.map = state.form === "map";
    this.across = this.x.axes[state.sx] ?? first(this.x.axes);
    this.up = this.y ? (this.y.axes[state.sy] ?? first(this.y.axes)) : templates.alone;
    this.choice = grid.choices.find((one) => one.base === state.value && one.at === state.at);
    this.look = this.choice.looks.find((one) => one.of === state.look) ?? this.choice.looks[0];
    this.scales = this.look.scales[state.sc] ?? first(this.look.scales);
    this.all = View.panels(grid, this.x, this.y);
    const chosen = (panel, i) => (state.panel === null ? i < MOST_PANELS : panel.name === state.panel);
    this.shown = this.all.filter(chosen);
    this.count = this.shown.reduce((sum, panel) => sum + panel.cells.length, 0);
    this.large = this.map && this.count > LARGE;
  }

  /** Return the panels of the report if x and y are its axes, otherwise one panel per value of all other coordinates. */
  static panels(grid, x, y) {
    if (!View.known.has(grid)) View.known.set(grid, {});
    const known = View.known.get(grid);
    const name = JSON.stringify([x.name, y?.name]);
    known[name] ??= View.gathered(grid, x, y);
    return known[name];
  }

  static gathered(grid, x, y) {
    const base = (key) => key?.of ?? key?.name ?? null;
    const plane = [grid.x, grid.y].map((name) => base(grid.keys.find((key) => key.name === name)));
    const used = [base(x), base(y)];
    if ([...used].sort().join() === [...plane].sort().join()) {
      let start = 0;
      return grid.panels.map((panel, number) => {
        const cells = Array.from({ length: panel.cells }, (_, k) => start + k);
        start += panel.cells;
        return { ...panel, cells, number };
      });
    }
    const rest = grid.keys.filter((key) => !key.of && !used.includes(key.name));
    const empty = { caption: "", half: [], points: [], contour: [], theory: [], band: [], printed: [] };
    const by = new Map();
    for (let i = 0; i < grid.trials.length; i++) {
      const name = rest.map((key) => key.words[grid.places[key.name][i]]).join(", ");
      const rank = rest.reduce((sum, key) => sum * key.values.length + grid.places[key.name][i], 0);
      if (!by.has(name)) by.set(name, { ...empty, name, title: name, cells: [], rank });
      by.get(name).cells.push(i);
    }
    return [...by.values()].sort((a, b) => a.rank - b.rank);
  }

  /** Return a function from the index of a grid cell to one of its numbers. */
  read(of) {
    const { choice, grid } = this;
    if (choice.pair !== undefined && grid.pairs[of]) {
      const pair = grid.pairs.of[choice.pair];
      return (i) => grid.pairs[of][pair[i]];
    }
    return (i) => choice.columns[of]?.[i] ?? null;
  }

  ends() {
    return this.look.ends.map((of) => this.read(of));
  }

  column(i) {
    return this.grid.places[this.x.name][i];
  }

  row(i) {
    return this.y ? this.grid.places[this.y.name][i] : 0;
  }

  /** Return the first place on the x axis that a grid cell covers, and the place after the last. */
  span(i) {
    const { spans, x, y } = this.grid;
    const own = spans && this.x.name === x && (this.y?.name ?? null) === y;
    return own ? [spans.start[i], spans.stop[i]] : [this.column(i), this.column(i) + 1];
  }

  cell(panel, ix, iy) {
    const width = this.x.values.length;
    panel.at ??= new Map(
      panel.cells.flatMap((i) => {
        const [start, stop] = this.span(i);
        return Array.from({ length: stop - start }, (_, k) => [this.row(i) * width + start + k, i]);
      }),
    );
    return panel.at.get(iy * width + ix);
  }

  /** Whether the value that the report shows is shown. */
  get own() {
    return this.choice === this.grid.choices[0] && this.look === this.choice.looks[0];
  }

  /** Whether the axes are those of the report, and numeric or textual as there. */
  get plane() {
    if (this.y === null || ![this.x.name, this.y.name].every((name) => this.grid.plane.includes(name))) return false;
    const even = (axis) => axis.kind === "even";
    return even(this.across) === even(first(this.x.axes)) && even(this.up) === even(first(this.y.axes));
  }

  /** Whether value and axes are those of the report, so that its theory along x applies. */
  get asDrawn() {
    return this.own && this.x.name === this.grid.x && (this.y?.name ?? null) === this.grid.y;
  }

  /** Whether the thresholds of the report apply to this view. */
  get estimated() {
    return this.map && this.plane && this.own;
  }

  /** Return the Vega-Lite specification; a title is given for files only. */
  spec(theme, name, width, title) {
    const columns = width >= 640 && this.shown.length > 1 ? 2 : 1;
    const wide = Math.max(90, Math.floor((width - columns * 75) / columns));
    const size = { width: wide, height: Math.round(Math.min(wide, 640) * (this.map ? 0.72 : 0.6)) };
    const common = { ...this.parts(theme, name, width), size };
    const dense = title ? 2 : globalThis.devicePixelRatio;
    const { templates } = this;
    const concat = this.shown.map((panel, k) => {
      const parts = { ...common, ...this.tables(panel, k, size, dense) };
      const subtitle = panel.caption && this.own ? { subtitle: panel.caption } : {};
      parts.title = { text: wrapped(panel.title, wide), ...subtitle };
      const filled = fill(this.map ? templates.map : templates.curves, parts);
      const needed = ({ data }) => data.values.length || data.values === parts.cells.values; // every layer costs time
      filled.layer = filled.layer.filter(needed);
      if (this.large) filled.layer[0] = fill(templates.picture, parts);
      return filled;
    });
    return {
      $schema: templates.schema,
      config: { ...configured(theme, width), concat: { columns } },
      ...(title ? { title: { text: title, fontSize: 15 }, background: "#ffffff" } : {}),
      concat,
      resolve: this.scales.panels ? templates.own : templates.shared,
    };
  }

  /** Return the parts that all panels share. */
  parts(theme, name, width) {
    const { stroke, dash } = this.grid.strokes[this.state.form]?.[name] ?? {};
    const series = this.y ? this.y.series[name] : this.grid.alone[name];
    const words = series?.scale.domain ?? [];
    const legend = series?.legend && {
      ...series.legend,
      columns: columnsOf(words, width - 60),
      labelLimit: width - 90,
    };
    return {
      x: this.across.encoding,
      y: this.map ? this.up.encoding : this.scales.height,
      series: { ...series, legend },
      shapes: this.choice.shapes[this.estimated ? 1 : 0],
      stroke,
      dash,
      halo: theme.halo,
      ink: theme.ink,
      symbol: theme.symbol,
      dot: this.x.dot,
      joined: this.x.joined,
      bars: this.look.bars,
      tooltip: {},
    };
  }

  /** Return the tables of one panel. */
  tables(panel, k, size, dense) {
    const { grid } = this;
    const turn = this.x.name === grid.plane[0] ? (row) => row : transposed;
    const lines = this.map ? (this.plane ? grid.lines : []) : this.asDrawn ? panel.theory : [];
    const own = this.estimated ? panel : { half: [], points: [], contour: [] };
    const values = {
      cells: this.large ? [{ url: this.painted(panel, size, dense) }] : this.cells(panel),
      note: this.note(panel),
      lines: this.map ? lines.map(turn) : lines,
      half: own.half.map(turn),
      contour: own.contour.map(turn),
      points: [...this.marks(panel), ...own.points.map(turn)],
      band: this.asDrawn ? panel.band : [],
      printed: this.asDrawn ? panel.printed : [],
    };
    const tables = Object.entries(values).map(([name, rows]) => [name, { values: rows }]);
    return { ...Object.fromEntries(tables), colour: this.colour(panel), here: here(k) };
  }

  cells(panel) {
    const read = this.read(this.look.of);
    const known = panel.cells.filter((i) => read(i) !== null);
    if (!this.map) {
      const [low, high] = this.ends();
      const words = this.y ? this.y.words : [this.look.label];
      known.sort((a, b) => this.column(a) - this.column(b));
      return known.map((i) => {
        const at = { x: this.across.at[this.column(i)], y: read(i) };
        return { ...at, low: low(i), high: high(i), series: words[this.row(i)], i };
      });
    }
    return known.map((i) => ({ ...this.box(this.column(i), this.row(i), i), v: read(i), i }));
  }

  /** Return the colour scale of a panel: its own, if the report has one per panel. */
  colour(panel) {
    return this.scales.panels?.[panel.number] ?? this.scales.colour;
  }

  /** Return the edges of a grid cell, or of a place without one. */
  box(ix, iy, i) {
    const { across, up } = this;
    const [start, stop] = i === undefined ? [ix, ix + 1] : this.span(i);
    return { x: across.edges[start], x2: across.edges[stop], y: up.edges[iy], y2: up.edges[iy + 1] };
  }

  marks(panel) {
    panel.set ??= new Set(panel.cells);
    return [...this.grid.marks, ...this.choice.marks].flatMap(({ label, cells }) => {
      const inside = cells.filter((i) => panel.set.has(i));
      return inside.map((i) => ({ x: this.across.at[this.column(i)], y: this.up.at[this.row(i)], mark: label }));
    });
  }

  note(panel) {
    const { ok, notes } = this.grid;
    const read = this.read(this.look.of);
    if (!panel.cells.length) return [{ text: notes.empty }];
    const unmeasured = panel.cells.every((i) => read(i) === null) && panel.cells.some((i) => !ok || ok[i] > 0);
    return unmeasured ? [{ text: notes.unmeasured }] : [];
  }

  /** Return the grid cells of a fine grid as a picture, with `dense` pixels per pixel of the figure. */
  painted(panel, size, dense) {
    const { across, up } = this;
    const [wide, high] = [
      [size.width, across],
      [size.height, up],
    ].map(([length, axis]) => Math.max(Math.round(length * dense), axis.at.length));
    const canvas = document.createElement("canvas");
    const drawing = canvas.getContext("2d", { willReadFrequently: true });
    const { scale } = this.colour(panel);
    const shades = shadesOf(drawing, scale.range);
    const [xs, ys] = [pixels(across, wide), pixels(up, high)];
    const unit = scale.type === "log" ? Math.log : (v) => v;
    const [a, b] = [unit(scale.domain[0]), unit(scale.domain[scale.domain.length - 1])];
    const drawn = new Uint32Array(wide * high);
    const read = this.read(this.look.of);
    for (const i of panel.cells) {
      const v = read(i);
      if (v === null) continue;
      const [[start, stop], iy] = [this.span(i), this.row(i)];
      const shade = shades[Math.round(Math.min(1, Math.max(0, (unit(v) - a) / (b - a) || 0)) * 255)];
      for (let y = high - ys[iy + 1]; y < high - ys[iy]; y++)
        drawn.fill(shade, y * wide + xs[start], y * wide + xs[stop]);
    }
    [canvas.width, canvas.height] = [wide, high];
    drawing.putImageData(new ImageData(new Uint8ClampedArray(drawn.buffer), wide, high), 0, 0);
    return canvas.toDataURL();
  }
}
View.known = new WeakMap(); // cache of panels per grid, because gathering those of a fine grid is slow

/** Return the edges of grid cells in pixels along an axis of this length. */
const pixels = (axis, length) => {
  const unit = axis.kind === "log" ? Math.log : (v) => v;
  const [a, b] = [unit(axis.edges[0]), unit(axis.edges[axis.edges.length - 1])];
  return axis.edges.map((edge) => Math.round(((unit(edge) - a) / (b - a)) * length));
};

/** Return 256 colours, evenly spaced along a scale, as pixels. */
const shadesOf = (drawing, range) => {
  const ramp = drawing.createLinearGradient(0, 0, 256, 0);
  range.forEach((colour, k) => {
    ramp.addColorStop(k / (range.length - 1), colour);
  });
  drawing.fillStyle = ramp;
  drawing.fillRect(0, 0, 256, 1);
  return new Uint32Array(drawing.getImageData(0, 0, 256, 1).data.buffer);
};
