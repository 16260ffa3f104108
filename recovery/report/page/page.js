// The page around the charts: controls, the address, mouse and keyboard, details of a grid cell, the table, the files.

import { asCsv, asJson, compared, factsOf, replays, rounded, tableOf } from "./cells.js";
import { Choices } from "./choices.js";
import { columnsOf, configured, fill, here } from "./view.js";

const MOST_ROWS = 2000;
const RESIZE_DELAY = 100; // milliseconds without a further change of width before the figure is drawn again

const byId = (id) => document.getElementById(id);
const element = (tag, text, className) => {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
};
const unpacked = (id) => {
  const packed = Uint8Array.from(atob(byId(id).textContent), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
};

/** Draw a specification. Expressions are interpreted, because the content security policy forbids evaluating text. */
const embed = (target, figure) => {
  const { View: Figure, compile, expressionInterpreter, parse } = window.vega;
  const runtime = parse(compile(figure).spec, {}, { ast: true });
  return new Figure(runtime, { expr: expressionInterpreter }).initialize(target).runAsync();
};

class Page {
  constructor(content) {
    this.charts = content.charts;
    this.themes = content.templates.themes;
    this.choices = new Choices(content.grids, content.templates);
    this.dark = window.matchMedia("(prefers-color-scheme: dark)");
    this.maps = byId("maps");
    this.turn = 0;
    this.focus = null; // the selected grid cell: panel, ix, iy
    this.pinned = false;
    this.sorted = [null, 1];
    this.embedded = [];
  }

  get grid() {
    return this.choices.grid;
  }

  get name() {
    return this.dark.matches ? "dark" : "light";
  }

  async open() {
    this.listen();
    if (byId("value")) this.choices.recall(location.hash.slice(1));
    this.controls();
    await this.draw();
    document.body.dataset.ready = "yes";
    requestAnimationFrame(() => setTimeout(() => this.drawCharts())); // these charts are below the figure, which is painted first
  }

  // ---- controls and the address
  controls() {
    for (const name of Choices.NAMES) {
      const select = byId(name);
      if (!select) continue;
      const options = this.choices.offered(name).map(([value, words]) => {
        const option = element("option", words);
        option.value = value ?? "";
        return option;
      });
      select.replaceChildren(...options);
      select.value = name === "grid" ? String(this.choices.index) : (this.choices.state[name] ?? "");
      select.closest("label").hidden = options.length < 2;
    }
  }

  chosen(name, text) {
    const [value] = this.choices.offered(name).find(([one]) => (one ?? "") === text);
    this.choices.choose(name, value);
    if (["grid", "x", "y"].includes(name)) this.focus = null;
    if (name === "grid") this.pinned = false;
    this.controls();
    const address = this.choices.address();
    history.replaceState(null, "", address ? `#${address}` : location.pathname + location.search);
    this.draw();
  }

  // ---- the figure
  async draw() {
    this.turn += 1;
    const turn = this.turn;
    const view = this.choices.view();
    let width = this.maps.clientWidth;
    let figure;
    let drawn;
    for (let attempt = 0; attempt < 3; attempt++) {
      // legends and labels may turn out wider than the space reserved for them
      const holder = element("div");
      figure = view.spec(this.themes[this.name], this.name, width);
      drawn = await embed(holder, figure);
      if (turn !== this.turn) return drawn.finalize();
      this.maps.replaceChildren(holder);
      const excess = holder.scrollWidth - this.maps.clientWidth;
      if (excess <= 0 || attempt === 2) break;
      drawn.finalize();
      width -= excess + 4;
    }
    this.drawn?.finalize();
    Object.assign(this, { drawn, view });
    Object.assign(this.maps, { figure: drawn, spec: figure, drawn: turn }); // for tests and debugging
    this.say();
    if (this.focus && (this.focus.panel >= view.shown.length || this.focus.ix >= view.x.values.length))
      this.focus = null;
    if (this.focus) this.mark();
    this.detail();
    this.table();
  }

  /** Set the accessible name of the figure and the notes around it. */
  say() {
    const { view, maps } = this;
    const up = view.y ? `, ${view.y.label} ${view.map ? "on the y axis" : "as lines"}` : "";
    const panels = view.shown.map((panel) => panel.name || this.grid.name).join("; ");
    maps.setAttribute("aria-label", `${view.look.label}: ${panels}. ${view.x.label} on the x axis${up}`);
    maps.setAttribute("aria-roledescription", view.map ? "heat map" : "line chart");
    byId("shown").textContent = this.choices.grids.length > 1 ? this.grid.title : "";
    byId("shown").hidden = this.choices.grids.length === 1;
    if (byId("y-name")) byId("y-name").textContent = view.map ? "y axis" : "Lines";
    const [shown, all] = [view.shown.length, view.all.length];
    const said = [];
    if (all > shown && this.choices.state.panel === null)
      said.push(`The first ${shown} of ${all} panels; choose another under Panel.`);
    if (view.large) said.push(`${view.count} grid cells, drawn as one picture per panel.`);
    if (this.grid.unmarked) said.push("Too many failed or missing trials to mark: see the details of each cell.");
    byId("about").textContent = said.join(" ");
  }

  /** Draw the figure for a file: on a white background, with the title. */
  async picture(as, ...more) {
    const figure = this.view.spec(this.themes.light, "light", 900, this.grid.title);
    const made = await embed(element("div"), figure);
    try {
      return await made[as](...more);
    } finally {
      made.finalize();
    }
  }

  /** Draw the charts of fits. */
  async drawCharts() {
    while (this.embedded.length) this.embedded.pop().finalize();
    for (const holder of document.querySelectorAll("[data-chart]")) {
      const chart = this.charts[Number(holder.dataset.chart)];
      const theme = this.themes[this.name];
      const room = holder.clientWidth;
      const words = chart.layer.flatMap((layer) => layer.encoding.color?.scale?.domain ?? []);
      const key = { columns: columnsOf(words, room), labelLimit: room - 100 };
      const parts = { colours: { range: theme.lines }, ink: { stroke: theme.ink.color }, key };
      const look = { config: configured(theme, room < 400 ? 0 : 640), width: Math.max(180, room - 70), height: 210 };
      this.embedded.push(await embed(holder, { ...fill(chart, parts), ...look }));
    }
  }

  // ---- selecting a grid cell by mouse and by keyboard
  /** Return the scenegraph group of panel k, whose x and y are the position of its axes in pixels. */
  group(k) {
    const search = (item) => {
      for (const mark of item.items ?? []) {
        for (const inner of mark.items ?? []) {
          if (mark.name === `concat_${k}_group`) return inner;
          const deeper = inner.items && search(inner);
          if (deeper) return deeper;
        }
      }
      return null;
    };
    return search({ items: [this.drawn.scenegraph().root] });
  }

  pointed(event) {
    const { view, drawn } = this;
    const corner = drawn.container().querySelector("canvas").getBoundingClientRect();
    const [ox, oy] = drawn.origin();
    for (let k = 0; k < view.shown.length; k++) {
      const at = this.group(k);
      const [x, y] = ["x", "y"].map((axis) => drawn.scale(`concat_${k}_${axis}`));
      const px = event.clientX - corner.left - ox - at.x;
      const py = event.clientY - corner.top - oy - at.y;
      if (px < 0 || py < 0 || px > at.width || py > at.height) continue;
      if (!view.map) return this.nearest(k, x, y, px, py);
      const place = (axis, v) => {
        const beyond = axis.edges.slice(1, -1).findIndex((edge) => edge >= v);
        return beyond < 0 ? axis.edges.length - 2 : beyond;
      };
      return { panel: k, ix: place(view.across, x.invert(px)), iy: place(view.up, y.invert(py)) };
    }
    return null;
  }

  nearest(k, x, y, px, py) {
    const { view } = this;
    const read = view.read(view.look.of);
    let best = null;
    let least = Number.POSITIVE_INFINITY;
    for (const i of view.shown[k].cells) {
      const [v, ix] = [read(i), view.column(i)];
      if (v === null) continue;
      const far = Math.hypot(x(view.across.at[ix]) - px, (y(v) - py) / 3);
      if (far < least) [best, least] = [{ panel: k, ix, iy: view.row(i) }, far];
    }
    return best;
  }

  select(cell) {
    if (!cell) return;
    this.focus = cell;
    this.mark();
    this.detail();
  }

  mark() {
    const { view, focus } = this;
    for (let k = 0; k < view.shown.length; k++) {
      const rows = here(k).values;
      if (focus?.panel === k) {
        const i = view.cell(view.shown[k], focus.ix, focus.iy);
        const v = i === undefined ? null : view.read(view.look.of)(i);
        if (view.map) rows.push(view.box(focus.ix, focus.iy, i));
        else if (v !== null) rows.push({ x: view.across.at[focus.ix], y: v });
      }
      this.drawn.data(`here${k}`, rows);
    }
    this.drawn.runAsync();
  }

  pressed(event) {
    const from = this.focus ?? { panel: 0, ix: 0, iy: 0 };
    const { view } = this;
    const most = {
      ix: view.x.values.length - 1,
      iy: view.y ? view.y.values.length - 1 : 0,
      panel: view.shown.length - 1,
    };
    const step = (name, by) => ({ [name]: Math.min(most[name], Math.max(0, from[name] + by)) });
    const moves = {
      ArrowLeft: step("ix", -1),
      ArrowRight: step("ix", 1),
      ArrowUp: step("iy", 1),
      ArrowDown: step("iy", -1),
      Home: { ix: 0 },
      End: { ix: most.ix },
      PageDown: step("panel", 1),
      PageUp: step("panel", -1),
    };
    if (event.key === "Escape") this.pinned = false;
    if (event.key === "Enter") this.pinned = !this.pinned;
    if (event.key === "Escape" || event.key === "Enter") this.detail();
    if (!moves[event.key]) return;
    event.preventDefault();
    this.select({ ...from, ...moves[event.key] });
  }

  // ---- details of a grid cell, the table, the files
  detail() {
    const { view, focus, grid } = this;
    const box = byId("detail");
    box.replaceChildren();
    box.classList.toggle("idle", !focus);
    if (!focus) return;
    const panel = view.shown[focus.panel];
    const i = view.cell(panel, focus.ix, focus.iy);
    const where = [
      view.x.words[i === undefined ? focus.ix : view.column(i)],
      view.y?.words[focus.iy],
      panel.name,
    ].filter(Boolean);
    box.append(element("h3", where.join(", ")));
    if (i === undefined) {
      box.append(element("p", "No trials here."));
      return;
    }
    const list = element("dl");
    for (const [name, text] of factsOf(view, i)) {
      const fact = element("div");
      fact.append(element("dt", name), element("dd", text));
      list.append(fact);
    }
    box.append(list);
    const commands = replays(grid, i);
    if (commands.length) {
      const pre = element("pre", commands.join("\n"));
      pre.tabIndex = 0;
      pre.setAttribute("aria-label", "commands that repeat these trials");
      box.append(pre);
    }
    if (this.pinned) box.append(element("p", "Pinned. Click another cell, or press Escape to unpin.", "soft"));
  }

  table() {
    const body = byId("cells");
    if (!body || !byId("cell-table").open) {
      body?.replaceChildren();
      return;
    }
    const { head, body: all } = tableOf(this.view);
    const [by, direction] = this.sorted;
    if (by !== null && by < head.length) all.sort((a, b) => direction * compared(a[by], b[by]));
    byId("cells-head").replaceChildren(...head.map((name, k) => this.head(name, k)));
    const note = `The first ${MOST_ROWS} of ${all.length} cells; CSV and JSON have all.`;
    byId("cells-note").textContent = all.length > MOST_ROWS ? note : "";
    const shown = (v) => (v === null ? "" : typeof v === "number" ? rounded(v) : String(v));
    const lines = all.slice(0, MOST_ROWS).map((row) => {
      const line = element("tr");
      line.append(...row.map((v) => element("td", shown(v))));
      return line;
    });
    body.replaceChildren(...lines);
  }

  head(name, k) {
    const cell = element("th");
    const button = element("button", name);
    const [by, direction] = this.sorted;
    cell.scope = "col";
    cell.setAttribute("aria-sort", k !== by ? "none" : direction > 0 ? "ascending" : "descending");
    button.addEventListener("click", () => {
      this.sorted = [k, k === by ? -direction : 1];
      this.table();
      byId("cells-head").children[k].firstChild.focus();
    });
    cell.append(button);
    return cell;
  }

  async save(kind) {
    const files = {
      csv: () => new Blob([asCsv(tableOf(this.view))], { type: "text/csv" }),
      json: () => new Blob([asJson(this.view)], { type: "application/json" }),
      svg: async () => new Blob([await this.picture("toSVG")], { type: "image/svg+xml" }),
      png: async () => {
        const canvas = await this.picture("toCanvas", 2);
        return new Promise((done) => canvas.toBlob(done));
      },
    };
    const link = element("a");
    link.href = URL.createObjectURL(await files[kind]());
    link.download = `${`${this.grid.name}-${this.view.choice.key}`.replace(/[^\w.-]+/g, "_")}.${kind}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  // ---- events
  listen() {
    const { maps } = this;
    for (const name of Choices.NAMES)
      byId(name)?.addEventListener("change", (event) => this.chosen(name, event.target.value));
    for (const kind of ["svg", "png", "csv", "json"])
      byId(`save-${kind}`)?.addEventListener("click", () => this.save(kind));
    maps.addEventListener("pointermove", (event) => {
      if (!this.pinned && this.drawn) this.select(this.pointed(event));
    });
    maps.addEventListener("click", (event) => {
      const cell = this.drawn && this.pointed(event);
      this.pinned = Boolean(cell);
      this.select(cell);
    });
    maps.addEventListener("focus", () => {
      if (!this.focus && this.drawn) this.select({ panel: 0, ix: 0, iy: 0 });
    });
    maps.addEventListener("keydown", (event) => this.drawn && this.pressed(event));
    byId("cell-table")?.addEventListener("toggle", () => this.table());
    let width = window.innerWidth;
    let waiting;
    const again = () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => {
        this.draw();
        this.drawCharts();
      }, RESIZE_DELAY);
    };
    window.addEventListener("resize", () => {
      if (window.innerWidth === width) return;
      width = window.innerWidth;
      again();
    });
    window.addEventListener("hashchange", () => {
      this.choices.recall(location.hash.slice(1));
      this.controls();
      this.draw();
    });
    this.dark.addEventListener("change", again);
  }
}

Promise.all(["library", "data"].map(unpacked)).then(([library, data]) => {
  document.head.append(element("script", library));
  return new Page(JSON.parse(data)).open();
});
