"use strict";
(async () => {
  const byId = (id) => document.getElementById(id);
  const element = (tag, text, className) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  };
  const packed = Uint8Array.from(atob(byId("data").textContent.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const { grids } = JSON.parse(await new Response(stream).text());
  const state = { grid: 0, quantity: 0, statistic: "median", threshold: -1, panel: -1, focus: null, pinned: false };
  const MARGIN = { left: 44, right: 6, top: 6, bottom: 34 };
  let maps = [];

  const grid = () => grids[state.grid];
  const quantity = () => grid().quantities[state.quantity];
  const shown = () => (state.threshold >= 0 && quantity().below ? quantity().below[state.threshold] : quantity());
  const isProportion = () => quantity().kind === "proportion" || (state.threshold >= 0 && Boolean(quantity().below));
  const short = (v) => (v === null || v === undefined ? "none" : typeof v === "number" ? String(Number(v.toPrecision(3))) : String(v));
  const percent = (v) => `${(100 * v).toFixed(v > 0 && v < 1 ? 1 : 0)} %`;

  // Wilson's 95 % interval
  function wilson(yes, total) {
    const z = 1.959963984540054, p = yes / total, q = 1 + z * z / total;
    const middle = (p + z * z / (2 * total)) / q;
    const half = (z / q) * Math.sqrt(p * (1 - p) / total + z * z / (4 * total * total));
    return [Math.max(0, middle - half), Math.min(1, middle + half)];
  }

  function value(i) {
    const s = shown();
    if (quantity().kind === "plain") return quantity().values[i];
    if (isProportion()) return s.yes[i] + s.no[i] ? s.yes[i] / (s.yes[i] + s.no[i]) : null;
    return quantity()[state.statistic][i];
  }

  function limits() {
    if (isProportion()) return [0, 1, false];
    const q = quantity();
    if (q.kind === "plain") return [...q.limits, false];
    if (q.limits && state.statistic === "median") return [q.limits[0], q.limits[1], q.log];
    const values = q[state.statistic].filter((v) => v !== null && (!q.log || v > 0));
    let low = Infinity, high = -Infinity;
    for (const v of values) { if (v < low) low = v; if (v > high) high = v; }
    if (!(low <= high)) return [q.log ? 0.1 : 0, 1, q.log];
    if (low === high) return q.log ? [low / 2, high * 2, true] : [low - 0.5, high + 0.5, false];
    return [low, high, q.log];
  }

  function unit(v, [low, high, log]) {
    const inside = Math.min(Math.max(v, low), high);
    return log ? Math.log(inside / low) / Math.log(high / low) : (inside - low) / (high - low);
  }

  const scale_colours = () => quantity().colours;
  const colour = (t) => { const all = scale_colours(); return all[Math.min(all.length - 1, Math.max(0, Math.round(t * (all.length - 1))))]; };

  class HeatMap {
    constructor(index, first) {
      this.panel = grid().panels[index];
      this.first = first;
      this.x = grid().x.edges;
      this.y = grid().y.edges;
      this.at = new Map();
      const width = grid().x.values.length;
      for (let k = 0; k < this.panel.cells; k++) this.at.set(grid().iy[first + k] * width + grid().ix[first + k], first + k);
      this.figure = element("figure");
      if (this.panel.title) this.figure.append(element("h3", this.panel.letter + this.panel.title));
      if (this.panel.words) this.figure.append(element("p", this.panel.words, "soft words"));
      this.holder = element("div", undefined, "map");
      this.holder.tabIndex = 0;
      this.holder.setAttribute("role", "application");
      this.holder.setAttribute("aria-roledescription", "heat map");
      this.holder.setAttribute("aria-describedby", "keys");
      this.canvas = element("canvas");
      this.canvas.setAttribute("aria-hidden", "true");
      this.cursor = element("div", undefined, "cursor");
      this.holder.append(this.canvas, this.cursor);
      this.figure.append(this.holder);
      this.holder.addEventListener("pointermove", (event) => { if (!state.pinned) this.point(event); });
      this.holder.addEventListener("click", (event) => { state.pinned = false; this.point(event); state.pinned = state.focus !== null; render_detail(); });
      this.holder.addEventListener("keydown", (event) => this.key(event));
      this.holder.addEventListener("focus", () => { if (!state.focus || state.focus.map !== this) this.select(0, 0); });
    }

    // where a value stands between the ends of an axis, 0 to 1; the other way round, the value that stands there
    part(edge, log, v) { const f = log ? Math.log : (u) => u; return (f(v) - f(edge[0])) / (f(edge[edge.length - 1]) - f(edge[0])); }
    whole(edge, log, t) { const [a, b] = [edge[0], edge[edge.length - 1]]; return log ? a * (b / a) ** t : a + t * (b - a); }
    px(v) { return MARGIN.left + this.part(this.x, grid().x.log, v) * this.width; }
    py(v) { return MARGIN.top + this.height - this.part(this.y, grid().y.log, v) * this.height; }

    draw() {
      const g = grid(), scale = limits(), box = this.holder.clientWidth || 400, ratio = window.devicePixelRatio || 1;
      const letters = this.canvas.getContext("2d");
      letters.font = "12px system-ui, sans-serif"; // room for the longest label, so that none is cut
      MARGIN.left = Math.min(box / 2, Math.max(28, ...g.y.ticks.map(([, label]) => letters.measureText(label).width)) + 24);
      this.width = box - MARGIN.left - MARGIN.right;
      this.height = Math.round(this.width * 0.72);
      const tall = this.height + MARGIN.top + MARGIN.bottom;
      this.canvas.width = box * ratio;
      this.canvas.height = tall * ratio;
      this.canvas.style.height = `${tall}px`;
      const c = this.canvas.getContext("2d"), style = getComputedStyle(document.body);
      const ink = style.getPropertyValue("--ink"), soft = style.getPropertyValue("--soft");
      c.setTransform(ratio, 0, 0, ratio, 0, 0);
      c.clearRect(0, 0, box, tall);
      let measured = false, finished = false;
      const snap = (v) => Math.round(v * ratio) / ratio;
      for (let k = 0; k < this.panel.cells; k++) {
        const i = this.first + k, left = snap(this.px(this.x[g.ix[i]])), right = snap(this.px(this.x[g.ix[i] + 1]));
        const low = snap(this.py(this.y[g.iy[i]])), high = snap(this.py(this.y[g.iy[i] + 1]));
        const v = value(i);
        if (v !== null) {
          c.fillStyle = colour(unit(v, scale));
          c.fillRect(left, high, right - left, low - high);
        }
        this.mark(c, i, left, right, low, high, ink);
        if (v !== null) measured = true; else if (g.ok && g.ok[i] > 0) finished = true;
      }
      if (finished && !measured) {
        c.fillStyle = soft; c.font = "14px system-ui, sans-serif"; c.textAlign = "center";
        c.fillText("not measured", MARGIN.left + this.width / 2, MARGIN.top + this.height / 2);
      }
      this.lines(c, ink);
      c.strokeStyle = soft; c.lineWidth = 1;
      c.strokeRect(MARGIN.left + 0.5, MARGIN.top + 0.5, this.width - 1, this.height - 1);
      this.axes(c, ink);
      this.holder.setAttribute("aria-label", `${this.panel.title || g.name}: ${describe_value()}, ${g.x.name} across, ${g.y.name} up`);
      if (state.focus && state.focus.map === this) this.place();
    }

    mark(c, i, left, right, low, high, ink) {
      if (grid().ring) { if (grid().ring[i]) this.ring(c, (left + right) / 2, (low + high) / 2, Math.min(right - left, low - high)); return; }
      const g = grid(), inset = (right - left) / 5, sink = (low - high) / 5;
      const strokes = [];
      if (g.failed[i] + g.missing[i] > 0) strokes.push([left + inset, low - sink, right - inset, high + sink]);
      if (g.ok[i] === 0) strokes.push([left + inset, high + sink, right - inset, low - sink]);
      for (const [width, style] of [[2.6, "#fff"], [1.1, "#000"]]) {
        c.lineWidth = width;
        c.strokeStyle = g.ok[i] === 0 ? (style === "#000" ? ink : "transparent") : style;
        for (const [a, b, d, e] of strokes) { c.beginPath(); c.moveTo(a, b); c.lineTo(d, e); c.stroke(); }
      }
      if (shown().undecided[i] > 0 && right - left > 4) {
        const x = (left + right) / 2, y = (low + high) / 2;
        c.beginPath(); c.moveTo(x, y - 3); c.lineTo(x + 3, y); c.lineTo(x, y + 3); c.lineTo(x - 3, y); c.closePath();
        c.fillStyle = "#fff"; c.fill(); c.lineWidth = 1; c.strokeStyle = "#000"; c.stroke();
      }
    }

    ring(c, x, y, room) {
      for (const [width, style] of [[3, "#fff"], [1.4, "#000"]]) {
        c.lineWidth = width; c.strokeStyle = style;
        c.beginPath(); c.arc(x, y, Math.max(2, Math.min(6, room / 3)), 0, 7); c.stroke();
      }
    }

    lines(c, ink) {
      const g = grid();
      c.save();
      c.beginPath(); c.rect(MARGIN.left, MARGIN.top, this.width, this.height); c.clip();
      const labels = main_labels();
      for (const line of g.curves) {
        const rank = line.secondary ? 0 : labels.indexOf(line.label);
        const trace = (width, style, dash) => {
          c.lineWidth = width; c.strokeStyle = style; c.setLineDash(dash); c.beginPath();
          line.points.forEach(([x, y], k) => (k ? c.lineTo(this.px(x), this.py(y)) : c.moveTo(this.px(x), this.py(y))));
          c.stroke(); c.setLineDash([]);
        };
        if (rank === 0 && !line.secondary) trace(4, "#fff", []);
        trace(line.secondary ? 1 : [2.2, 1.2, 1.6, 1.6][rank % 4], CURVES[rank % 4], line.secondary ? [3, 2] : DASHES[rank % 4]);
      }
      if (state.quantity === 0 && state.threshold < 0) {
        const turned = g.x.name === "d", place = (d, n) => (turned ? [this.px(d), this.py(n)] : [this.px(n), this.py(d)]);
        for (const [d, low, high] of this.panel.free) {
          c.strokeStyle = "rgba(128, 128, 128, .55)"; c.lineWidth = 6; c.beginPath(); c.moveTo(...place(d, low)); c.lineTo(...place(d, high)); c.stroke();
        }
        for (const [d, half, low, high] of this.panel.half) {
          const at = (n) => place(d, n);
          c.strokeStyle = "#000"; c.lineWidth = 1.2; c.beginPath(); c.moveTo(...at(low)); c.lineTo(...at(high)); c.stroke();
          c.beginPath(); c.arc(...at(half), 2.4, 0, 7); c.fillStyle = "#fff"; c.fill(); c.stroke();
        }
      }
      c.restore();
    }

    axes(c, ink) {
      const g = grid();
      c.fillStyle = ink; c.font = "12px system-ui, sans-serif";
      const few = (ticks, at, gap) => { // those that stand far enough from the last one shown
        let last = -Infinity;
        return ticks.map(([v, label]) => [label, at(v)]).filter(([label, place]) => { if (Math.abs(place - last) < gap(label)) return false; last = place; return true; });
      };
      c.textAlign = "center"; c.textBaseline = "top";
      for (const [label, x] of few(g.x.ticks, (v) => this.px(v), (label) => c.measureText(label).width + 8)) {
        const half = c.measureText(label).width / 2, right = MARGIN.left + this.width + MARGIN.right;
        c.fillText(label, Math.min(x, right - half), MARGIN.top + this.height + 4);
      }
      c.fillText(g.x.name, MARGIN.left + this.width / 2, MARGIN.top + this.height + 19);
      c.textAlign = "right"; c.textBaseline = "middle";
      for (const [label, y] of few(g.y.ticks, (v) => this.py(v), () => 15)) c.fillText(label, MARGIN.left - 5, y);
      c.save(); c.translate(9, MARGIN.top + this.height / 2); c.rotate(-Math.PI / 2); c.textAlign = "center"; c.fillText(g.y.name, 0, 0); c.restore();
    }

    point(event) {
      const box = this.holder.getBoundingClientRect();
      const fx = (event.clientX - box.left - MARGIN.left) / this.width, fy = 1 - (event.clientY - box.top - MARGIN.top) / this.height;
      if (fx < 0 || fx > 1 || fy < 0 || fy > 1) return;
      const find = (edge, log, f) => { const v = this.whole(edge, log, f); let k = 0; while (k < edge.length - 2 && edge[k + 1] < v) k++; return k; };
      this.select(find(this.x, grid().x.log, fx), find(this.y, grid().y.log, fy));
    }

    key(event) {
      const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
      const here = state.focus && state.focus.map === this ? state.focus : { ix: 0, iy: 0 };
      const across = grid().x.values.length - 1, up = grid().y.values.length - 1;
      if (moves[event.key]) {
        const [dx, dy] = moves[event.key];
        this.select(Math.min(across, Math.max(0, here.ix + dx)), Math.min(up, Math.max(0, here.iy + dy)));
      } else if (event.key === "Home") this.select(0, here.iy);
      else if (event.key === "End") this.select(across, here.iy);
      else if (event.key === "Escape") { state.pinned = false; return; }
      else return;
      event.preventDefault();
    }

    select(ix, iy) {
      state.focus = { map: this, ix, iy, i: this.at.get(iy * grid().x.values.length + ix) };
      for (const map of maps) map.cursor.style.display = map === this ? "block" : "none";
      this.place();
      render_detail();
    }

    place() {
      const { ix, iy } = state.focus, s = this.cursor.style;
      s.left = `${this.px(this.x[ix]) - 1}px`; s.width = `${this.px(this.x[ix + 1]) - this.px(this.x[ix]) + 2}px`;
      s.top = `${this.py(this.y[iy + 1]) - 1}px`; s.height = `${this.py(this.y[iy]) - this.py(this.y[iy + 1]) + 2}px`;
    }
  }

  const CURVES = ["#e3242b", "#000", "#6a3d9a", "#d95f02"], DASHES = [[], [5, 3], [1.5, 2], [7, 2, 2, 2]];
  const main_labels = () => [...new Set(grid().curves.filter((line) => !line.secondary).map((line) => line.label))];
  function describe_value() {
    const q = quantity();
    if (q.kind === "plain") return q.label;
    if (q.kind === "proportion") return `fraction ${q.label}`;
    return isProportion() ? `fraction with ${q.label} at most ${shown().at}` : `${state.statistic} ${q.label}`;
  }

  function facts(i) {
    const g = grid(), s = shown(), rows = [];
    if (g.facts) return g.facts.map(([name, values]) => [name, values[i]]);
    if (isProportion()) {
      const total = s.yes[i] + s.no[i];
      if (total) {
        const [low, high] = wilson(s.yes[i], total);
        rows.push([describe_value(), `${s.yes[i]} of ${total} (${percent(s.yes[i] / total)})`], ["95 % interval", `${percent(low)} to ${percent(high)}`]);
      } else rows.push([describe_value(), "not measured"]);
      const open = s.undecided[i] + g.failed[i] + g.missing[i], whole = g.trials[i] + g.missing[i];
      if (open) rows.push(["if the rest were all no, all yes", `${percent(s.yes[i] / whole)}, ${percent(1 - s.no[i] / whole)}`]);
    } else {
      const q = quantity();
      rows.push([`median ${q.label}`, short(q.median[i])], ["measured", `${q.count[i]} trials`]);
      if (q.mean) rows.push(["mean", short(q.mean[i])], ["range", `${short(q.lowest[i])} to ${short(q.highest[i])}`]);
    }
    rows.push(["trials", `${g.ok[i]} finished, ${g.failed[i]} failed, ${g.missing[i]} missing, ${s.undecided[i]} undecided`]);
    const kinds = Object.entries(g.certificates).filter(([, counts]) => counts[i]).map(([kind, counts]) => `${kind} ${counts[i]}`);
    if (kinds.length) rows.push(["certificates", kinds.join(", ")]);
    const timing = g.quantities.find((q) => q.key === "seconds");
    if (timing && timing.highest && timing.count[i]) rows.push(["seconds a trial", `${short(timing.median[i])}, at most ${short(timing.highest[i])}`]);
    return rows;
  }

  function render_detail() {
    const box = byId("detail"), g = grid();
    box.replaceChildren();
    if (!state.focus) { box.append(element("p", "Point at a cell, or move to a map with the Tab key and use the arrow keys.")); return; }
    const { map, ix, iy, i } = state.focus;
    const where = [`${g.x.name} = ${short(g.x.values[ix])}`];
    if (g.y.name) where.push(`${g.y.name} = ${short(g.y.values[iy])}`);
    if (map.panel.title) where.push(map.panel.title);
    box.append(element("h3", where.join(", ")));
    if (i === undefined) { box.append(element("p", "No trials here.")); return; }
    const list = element("dl");
    for (const [name, text] of facts(i)) list.append(element("dt", name), element("dd", text));
    box.append(list);
    const ids = g.ids[i] ? g.ids[i].split(" ") : [];
    if (ids.length) {
      const folder = /^[\w./-]+$/.test(g.path) ? g.path : `'${g.path.replaceAll("'", "'\\''")}'`;
      const lines = ids.map((id) => `recover replay ${folder} ${id.replace("!", "")}${id.endsWith("!") ? "  # failed" : ""}`);
      const code = element("pre", lines.join("\n"));
      code.tabIndex = 0; code.setAttribute("aria-label", "commands that run these trials again");
      box.append(code);
    }
    if (state.pinned) box.append(element("p", "Held. Click a cell for another, Escape to let go.", "soft"));
  }

  function render_key() {
    const [low, high, log] = limits(), key = byId("key");
    key.replaceChildren();
    const bar = element("span", undefined, "bar");
    bar.style.background = `linear-gradient(to right, ${scale_colours().join(",")})`;
    key.append(element("span", `${describe_value()}${log ? " (log scale)" : ""}: ${short(low)}`), bar, element("span", short(high)));
    const svg = (label, stroke, dash, width) => {
      const item = element("span"), s = document.createElementNS("http://www.w3.org/2000/svg", "svg"), l = document.createElementNS("http://www.w3.org/2000/svg", "line");
      for (const [k, v] of Object.entries({ width: 30, height: 10, "aria-hidden": "true" })) s.setAttribute(k, v);
      for (const [k, v] of Object.entries({ x1: 0, x2: 30, y1: 5, y2: 5, stroke, "stroke-width": width, "stroke-dasharray": dash.join(" ") })) l.setAttribute(k, v);
      const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect"); // lines look here as they do on the map
      for (const [k, v] of Object.entries({ width: 30, height: 10, fill: "#f1f1f1" })) ground.setAttribute(k, v);
      s.append(ground, l); item.append(s, ` ${label}`);
      return item;
    };
    const labels = main_labels(), seen = new Set();
    for (const line of grid().curves) {
      if (seen.has(line.label)) continue;
      seen.add(line.label);
      const rank = line.secondary ? 0 : labels.indexOf(line.label), stroke = CURVES[rank % 4];
      key.append(svg(line.label, stroke, line.secondary ? [3, 2] : DASHES[rank % 4], line.secondary ? 1 : 2));
    }
    if (grid().panels.some((p) => p.half.length) && state.quantity === 0 && state.threshold < 0) key.append(element("span", `○ 50 % at ${grid().sizes}, with 95 % interval; ▬ interval without a curve`));
    if (grid().ring) { key.append(element("span", "○ differs")); return; }
    const g = grid(), some = (values) => values.some((v) => v > 0);
    if (some(g.failed) || some(g.missing)) key.append(element("span", "╱ failed or missing trials"));
    if (some(shown().undecided)) key.append(element("span", "◇ undecided trials"));
    if (g.ok.some((v) => v === 0)) key.append(element("span", "╳ nothing finished"));
  }

  function render_table() {
    const body = byId("cells");
    if (!body) return;
    body.replaceChildren();
    if (!byId("cell-table").open) return;
    const g = grid(), rows = [];
    const most = 4000;
    for (const map of maps) for (let k = 0; k < map.panel.cells && rows.length < most; k++) rows.push([map, map.first + k]);
    for (const [map, i] of rows) {
      const row = element("tr");
      const texts = [map.panel.title, short(g.x.values[g.ix[i]]), short(g.y.values[g.iy[i]]), short(value(i)), g.ok[i], g.failed[i], g.missing[i], shown().undecided[i]];
      for (const text of texts) row.append(element("td", String(text)));
      body.append(row);
    }
    byId("cells-x").textContent = g.x.name; byId("cells-y").textContent = g.y.name; byId("cells-value").textContent = describe_value();
  }

  function render() {
    let first = 0;
    const focus = state.focus;
    maps = [];
    grid().panels.forEach((panel, index) => {
      if (state.panel < 0 || state.panel === index) maps.push(new HeatMap(index, first));
      first += panel.cells;
    });
    byId("maps").replaceChildren(...maps.map((map) => map.figure));
    for (const map of maps) map.draw();
    state.focus = null;
    if (focus) {
      const map = maps.find((m) => m.panel === focus.map.panel);
      if (map) map.select(focus.ix, focus.iy);
    }
    if (byId("shown")) byId("shown").textContent = grids.length > 1 ? grid().title : "";
    render_key(); render_detail(); render_table();
  }

  function fill(id, texts, chosen, values) {
    const select = byId(id);
    select.replaceChildren(...texts.map((text, i) => { const option = element("option", text); option.value = values ? values[i] : i; return option; }));
    select.value = chosen;
    select.closest("label").hidden = texts.length < 2;
  }

  function render_controls() {
    if (!byId("value")) return;
    fill("grid", grids.map((g) => g.name), state.grid);
    fill("value", grid().quantities.map((q) => q.label), state.quantity);
    const statistics = ["median", "mean", "lowest", "highest"].filter((name) => quantity()[name]);
    fill("statistic", state.threshold < 0 ? statistics : [], state.statistic, statistics);
    const below = quantity().below || [];
    fill("threshold", below.length ? ["none", ...below.map((b) => `at most ${b.at}`)] : [], state.threshold, [-1, ...below.map((_, i) => i)]);
    fill("panel", grid().panels.length > 1 ? ["all", ...grid().panels.map((p) => p.title)] : [], state.panel, [-1, ...grid().panels.map((_, i) => i)]);
  }

  // the view in the address: a link opens it again; what this page does not have is passed over
  const VIEW = { grid: () => grids.length, quantity: () => grid().quantities.length, threshold: () => (quantity().below || []).length, panel: () => grid().panels.length };
  function remember() {
    const view = Object.keys(VIEW).filter((name) => state[name] > (name === "threshold" || name === "panel" ? -1 : 0)).map((name) => `${name}=${state[name]}`);
    if (state.statistic !== "median") view.push(`statistic=${state.statistic}`);
    history.replaceState(null, "", view.length ? `#${view.join("&")}` : location.pathname + location.search);
  }
  function recall() {
    const asked = new URLSearchParams(location.hash.slice(1));
    for (const [name, most] of Object.entries(VIEW)) {
      const wanted = /^\d+$/.test(asked.get(name) || "") ? Number(asked.get(name)) : -1;
      if (wanted >= 0 && wanted < most()) state[name] = wanted;
    }
    if (["mean", "lowest", "highest"].includes(asked.get("statistic")) && quantity()[asked.get("statistic")]) state.statistic = asked.get("statistic");
  }

  const change = (id, update) => { if (byId(id)) byId(id).addEventListener("change", (event) => { update(event.target.value); render_controls(); render(); remember(); }); };
  change("grid", (v) => Object.assign(state, { grid: Number(v), quantity: 0, threshold: -1, panel: -1, focus: null, pinned: false }));
  change("value", (v) => Object.assign(state, { quantity: Number(v), threshold: -1, statistic: "median" }));
  change("statistic", (v) => { state.statistic = v; });
  change("threshold", (v) => { state.threshold = Number(v); });
  change("panel", (v) => { state.panel = Number(v); });
  if (byId("as-maps")) byId("as-maps").addEventListener("toggle", () => { for (const map of maps) map.draw(); });
  if (byId("cell-table")) byId("cell-table").addEventListener("toggle", render_table);
  let width = window.innerWidth;
  window.addEventListener("resize", () => { if (window.innerWidth !== width) { width = window.innerWidth; for (const map of maps) map.draw(); } });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { for (const map of maps) map.draw(); });
  if (byId("value")) recall();
  render_controls();
  render();
  document.body.dataset.ready = "yes";
})();
