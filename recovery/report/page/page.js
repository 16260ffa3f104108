// The charts of a page: the choice of a value, light and dark, the numbers of a grid cell, its table, and files.

const MOST_PANELS = 12;
const MOST_ROWS = 2000;
const NARROWEST = 250; // pixels of a panel
const LETTER = 7; // average width of a letter in pixels, also in bold titles
const RESIZE_DELAY = 100; // milliseconds without a further change of width before charts are drawn again

const darkTheme = window.matchMedia("(prefers-color-scheme: dark)");
const element = (tag, text) => Object.assign(document.createElement(tag), { textContent: text ?? "" });
const unpacked = (id) => {
  const packed = Uint8Array.from(atob(document.getElementById(id).textContent), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
};

/** Return the view of a specification. Its expressions are interpreted: the security policy forbids evaluating text. */
const viewOf = (target, spec, tooltip) => {
  const { View, compile, expressionInterpreter, parse } = window.vega;
  const runtime = parse(compile(spec).spec, {}, { ast: true });
  return new View(runtime, { expr: expressionInterpreter, tooltip }).initialize(target);
};

/** Return a title as one text, or as lines if it is wider than `room` pixels. */
const wrapped = (text, room) => {
  const lines = [];
  for (const word of text.split(" ")) {
    const longer = lines.length ? `${lines[lines.length - 1]} ${word}` : word;
    if (lines.length && LETTER * longer.length <= room) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines.length > 1 ? lines : text;
};

/** Break the labels of a legend of words that are wider than `room` pixels. */
const wrapLabels = (legend, { domain }, room) => {
  const words = domain?.filter((word) => typeof word === "string") ?? [];
  const lines = JSON.stringify(Object.fromEntries(words.map((word) => [word, wrapped(word, room)])));
  // unlike JSON, expressions have no line separators within text
  const escaped = lines.replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
  if (words.length) legend.labelExpr = `${escaped}[datum.label]`;
};

/** Return how many entries of a legend fit side by side into `room` pixels. */
const columnsOf = (words, room) =>
  Math.max(1, Math.floor(room / (40 + LETTER * Math.max(...words.map((w) => w.length)))));

/** Return an entry of a CSV file, with an apostrophe before text that a spreadsheet would read as a formula. */
const quoted = (v) => {
  const formula = typeof v === "string" && /^[=+@\t\r-]/.test(v) && Number.isNaN(Number(v));
  const text = `${formula ? "'" : ""}${v ?? ""}`;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** Compare two entries of a column for sorting: numbers by size, text alphabetically, missing values last. */
const compared = (p, q) => {
  if (p === null || q === null) return (p === null) - (q === null);
  return typeof p === "number" && typeof q === "number" ? p - q : String(p).localeCompare(String(q));
};

class Chart {
  constructor(section, grid) {
    Object.assign(this, { section, grid, first: 0, turn: 0, pinned: false, sorted: [null, 1] });
    this.find = (name) => section.querySelector(name);
    this.maps = this.find(".maps");
    const labels = grid.views.map(({ label }) => label);
    this.options(".value", labels, (k) => this.choose(k));
    const panels = grid.views[0].spec.concat.length;
    const parts = Array.from({ length: Math.ceil(panels / MOST_PANELS) }, (_, k) => k * MOST_PANELS);
    const names = parts.map((k) => `${k + 1} to ${Math.min(k + MOST_PANELS, panels)} of ${panels}`);
    this.options(".panels", names, (k) => {
      this.first = parts[k];
      this.draw();
    });
    for (const kind of ["svg", "png", "csv", "json"])
      this.find(`.${kind}`)?.addEventListener("click", () => this.save(kind));
    this.find("details.cells")?.addEventListener("toggle", () => this.table());
    this.use(0);
  }

  options(name, words, chosen) {
    const select = this.find(name);
    select.replaceChildren(...words.map((text) => element("option", text)));
    select.selectedIndex = 0; // a browser that goes back restores fields
    select.closest("label").hidden = words.length < 2;
    select.addEventListener("change", () => chosen(select.selectedIndex));
  }

  use(k) {
    this.view = this.grid.views[k];
    const columns = Object.entries({ ...this.grid.columns, ...this.view.columns });
    const count = this.grid.columns.panel?.length ?? 0;
    this.rows = Array.from({ length: count }, (_, i) => Object.fromEntries(columns.map(([name, of]) => [name, of[i]])));
  }

  choose(k) {
    this.use(k);
    this.pinned = false;
    this.show(null);
    this.table();
    return this.draw();
  }

  /** Return the specification of the shown panels for a width, with a title for files, in a theme. */
  spec(width, dark, title) {
    const { grid, view } = this;
    const text = JSON.stringify({ ...grid.common, ...view.spec, datasets: { ...grid.datasets } });
    const spec = JSON.parse(text, (_, v) => (dark && typeof v === "string" ? (grid.dark[v] ?? v) : v));
    spec.datasets.cells = this.rows;
    spec.concat = spec.concat.slice(this.first, this.first + MOST_PANELS);
    spec.columns = width >= 640 && spec.concat.length > 1 ? 2 : 1;
    const wide = Math.max(NARROWEST, Math.floor((width - spec.columns * 75) / spec.columns));
    for (const panel of spec.concat) {
      panel.height = Math.round((panel.height / panel.width) * Math.min(wide, 640));
      panel.width = wide;
      panel.title.text = wrapped(panel.title.text, wide);
      for (const { encoding } of panel.layer) {
        if (encoding?.color?.legend) encoding.color.legend.columns = columnsOf(encoding.color.scale.domain, width - 40);
        for (const { legend, scale } of Object.values(encoding ?? {}))
          if (legend) wrapLabels(legend, scale, width - 90);
      }
    }
    if (width < 640) {
      const layout = { top: { direction: "vertical", anchor: "start" } };
      Object.assign(spec.config.legend, { columns: 1, labelFontSize: 10, gradientLength: 110, layout });
    }
    if (title) Object.assign(spec, { title: { text: title, fontSize: 15 } }).config.background = "white";
    return spec;
  }

  async draw(dark = darkTheme.matches) {
    this.turn += 1;
    const turn = this.turn;
    let width = this.maps.clientWidth;
    for (let attempt = 0; attempt < 3; attempt++) {
      // legends and labels may turn out wider than the space reserved for them
      const holder = element("div");
      // a tooltip lists the numbers of the grid cell under the pointer by their headings
      const tooltip = (_handler, _event, _item, numbers) => numbers && !this.pinned && this.show(numbers);
      const drawn = await viewOf(holder, this.spec(width, dark), tooltip).runAsync();
      if (turn !== this.turn) return drawn.finalize();
      this.drawn?.finalize();
      this.drawn = drawn;
      this.maps.replaceChildren(holder);
      const excess = holder.scrollWidth - this.maps.clientWidth;
      if (excess <= 0) break;
      width -= excess + 4;
    }
    this.drawn.addEventListener("click", (_, item) => {
      this.pinned = Boolean(item?.tooltip);
      this.show(item?.tooltip ?? null);
    });
    Object.assign(this.maps, { figure: this.drawn, turn }); // for tests
  }

  show(numbers) {
    const box = this.find(".detail");
    box.hidden = !numbers;
    const list = element("dl");
    for (const [name, text] of Object.entries(numbers ?? {})) {
      const fact = element("div");
      fact.append(element("dt", name), element("dd", text === "null" ? "none" : text));
      list.append(fact);
    }
    box.replaceChildren(list);
    if (this.pinned) box.append(element("p", "Pinned: click another cell, or outside the cells to unpin."));
  }

  table() {
    const details = this.find("details.cells");
    if (!details?.open) return;
    const names = Object.keys(this.view.facts);
    const [by, direction] = this.sorted;
    const rows = by === null ? this.rows : this.rows.toSorted((p, q) => direction * compared(p[by], q[by]));
    const head = element("tr");
    head.append(...names.map((name) => this.heading(name)));
    details.querySelector("thead").replaceChildren(head);
    details.querySelector("p").textContent =
      rows.length > MOST_ROWS ? `The first ${MOST_ROWS} of ${rows.length} cells; CSV and JSON have all.` : "";
    const lines = rows.slice(0, MOST_ROWS).map((row) => {
      const line = element("tr");
      line.append(...names.map((name) => element("td", row[name])));
      return line;
    });
    details.querySelector("tbody").replaceChildren(...lines);
  }

  heading(name) {
    const [cell, button] = [element("th"), element("button", this.view.facts[name])];
    const [by, direction] = this.sorted;
    cell.scope = "col";
    cell.setAttribute("aria-sort", name !== by ? "none" : direction > 0 ? "ascending" : "descending");
    button.addEventListener("click", () => {
      this.sorted = [name, name === by ? -direction : 1];
      this.table();
      this.find(`th[aria-sort$=ending] button`).focus();
    });
    cell.append(button);
    return cell;
  }

  /** Return the chart as a picture on a white background, with its title. */
  async picture(as, ...more) {
    const made = await viewOf(element("div"), this.spec(900, false, this.grid.title)).runAsync();
    const picture = await made[as](...more);
    made.finalize();
    return picture;
  }

  async save(kind) {
    const facts = Object.entries(this.view.facts);
    const rows = [facts.map(([, text]) => text), ...this.rows.map((row) => facts.map(([name]) => row[name]))];
    const lines = rows.map((row) => `${row.map(quoted).join(",")}\n`);
    const cells = () => this.rows.map((row) => Object.fromEntries(facts.map(([name, text]) => [text, row[name]])));
    const files = {
      csv: () => new Blob(lines, { type: "text/csv" }),
      json: () => new Blob([JSON.stringify({ sweep: this.grid.name, cells: cells() })], { type: "application/json" }),
      svg: async () => new Blob([await this.picture("toSVG")], { type: "image/svg+xml" }),
      png: async () => {
        const canvas = await this.picture("toCanvas", 2);
        return new Promise((done) => canvas.toBlob(done));
      },
    };
    const link = element("a");
    link.href = URL.createObjectURL(await files[kind]());
    link.download = `${`${this.grid.name}-${this.view.label}`.replace(/[^\w.-]+/g, "_")}.${kind}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }
}

Promise.all(["library", "data"].map(unpacked)).then(async ([library, data]) => {
  document.head.append(element("script", library));
  const sections = document.querySelectorAll("section.chart");
  const charts = JSON.parse(data).map((grid, k) => new Chart(sections[k], grid));
  let [width, waiting] = [window.innerWidth, 0];
  const drawAll = (dark) => Promise.all(charts.map((chart) => chart.draw(dark)));
  const again = () => {
    clearTimeout(waiting);
    waiting = setTimeout(drawAll, RESIZE_DELAY);
  };
  darkTheme.addEventListener("change", again);
  window.addEventListener("beforeprint", () => drawAll(false)); // drawing waits for nothing outside, so it ends before
  window.addEventListener("afterprint", again);
  window.addEventListener("resize", () => {
    if (window.innerWidth !== width) again();
    width = window.innerWidth;
  });
  await drawAll();
  document.body.dataset.ready = "yes";
});
