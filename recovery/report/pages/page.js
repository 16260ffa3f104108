// The page around the charts: what is chosen, the address, the keyboard, the box of a cell, the table, the files.
(async () => {
  const byId = (id) => document.getElementById(id);
  const element = (tag, text, className) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  };
  const unpacked = (id) => {
    const raw = atob(byId(id).textContent), packed = new Uint8Array(raw.length);
    for (let k = 0; k < raw.length; k++) packed[k] = raw.charCodeAt(k);
    return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  };
  const [library, data] = await Promise.all(["library", "data"].map(unpacked));
  document.head.append(element("script", library));
  const content = JSON.parse(data), grids = content.grids;
  spec = content.spec;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const theme = (name) => ({ name, ...spec.themes[name] });
  const short = (v) => (v === null || v === undefined ? "none" : typeof v === "number" ? String(Number(v.toPrecision(3))) : String(v));
  const percent = (v) => `${(100 * v).toFixed(v > 0 && v < 1 ? 1 : 0)} %`;

  // ---- what is chosen, and the address
  const start = (g) => { const c = g.choices[0]; return { x: g.x, y: g.y, form: g.form, panel: null, value: c.base, at: c.at, look: c.looks[0].of, sx: null, sy: null, sc: null }; };
  let index = 0, state = start(grids[0]), view, drawn = null, focus = null, held = false, sorted = [null, 1];
  const grid = () => grids[index];
  const others = (name) => { const key = grid().keys.find((k) => k.name === name); return grid().keys.filter((k) => k !== key && k.of !== name && k.name !== key.of).map((k) => k.name); };
  const CHOICES = { // for every control what it offers, as [value, words], in the order in which one depends on another
    grid: () => grids.map((g, k) => [String(k), g.name]),
    value: () => [...new Map(grid().choices.map((c) => [c.base, c.label.split(" ≤ ")[0]]))],
    at: () => grid().choices.filter((c) => c.base === state.value).map((c) => [c.at, c.at === null ? "none" : `at most ${c.at}`]),
    look: () => grid().choices.find((c) => c.base === state.value && c.at === state.at).looks.map((l) => [l.of, l.of === "value" ? "estimate" : { low: "lower limit", high: "upper limit" }[l.of] || l.of]),
    form: () => [["map", "map"], ["curves", "curves"]].filter(([form]) => (form === "map" ? grid().keys.length > 1 : !grid().ring)),
    x: () => grid().keys.map((key) => [key.name, key.label]),
    y: () => [...(grid().y === null ? [[null, "none"]] : []), ...others(state.x).map((name) => [name, grid().keys.find((key) => key.name === name).label])],
    panel: () => { const all = new View(grid(), { ...state, panel: null }).all; return all.length > 1 ? [[null, "all"], ...all.map((p) => [p.name, p.title])] : []; },
    sx: () => ways(grid().keys.find((key) => key.name === state.x).ways),
    sy: () => (state.y === null || state.form === "curves" ? [] : ways(grid().keys.find((key) => key.name === state.y).ways)),
    sc: () => ways(new View(grid(), { ...state, panel: null }).look.ways),
  };
  const ways = (found) => Object.keys(found).map((kind, k) => [k === 0 ? null : kind, { linear: "linear", log: "log", even: "evenly spaced" }[kind]]);
  const code = (value) => (value === null ? "" : value);

  // every choice that is no longer offered falls back to the first one that is
  function settle() {
    for (const [name, offered] of Object.entries(CHOICES)) {
      if (name === "grid") continue;
      const values = offered().map(([value]) => value);
      if (values.length && !values.includes(state[name])) state[name] = values[0];
      if (name === "x" && state.y === state.x) state.y = others(state.x)[0] ?? null;
    }
  }
  function remember() {
    const usual = start(grid()), entries = Object.entries(state).filter(([name, value]) => value !== usual[name]).map(([name, value]) => [name, code(value)]);
    if (index) entries.unshift(["grid", String(index)]);
    history.replaceState(null, "", entries.length ? `#${new URLSearchParams(entries)}` : location.pathname + location.search);
  }
  function recall() {
    const asked = new URLSearchParams(location.hash.slice(1));
    if (grids[Number(asked.get("grid"))]) { index = Number(asked.get("grid")); state = start(grid()); }
    for (const [name, offered] of Object.entries(CHOICES)) {
      if (name === "grid" || !asked.has(name)) continue;
      const found = offered().find(([value]) => code(value) === asked.get(name));
      if (found) state[name] = found[0];
      if (name === "x" && state.y === state.x) state.y = others(state.x)[0] ?? null;
    }
    settle();
  }
  function controls() {
    for (const [name, offered] of Object.entries(CHOICES)) {
      const select = byId(name), options = offered();
      if (!select) continue;
      select.replaceChildren(...options.map(([value, words]) => { const option = element("option", words); option.value = code(value); return option; }));
      select.value = name === "grid" ? String(index) : code(state[name]);
      select.closest("label").hidden = options.length < 2;
    }
  }
  for (const name of Object.keys(CHOICES)) {
    byId(name)?.addEventListener("change", (event) => {
      const [value] = CHOICES[name]().find(([v]) => code(v) === event.target.value);
      if (name === "grid") { index = Number(value); state = start(grid()); focus = null; held = false; }
      else if (name === "x" && value === state.y) [state.x, state.y] = [state.y, state.x];
      else state[name] = value;
      if (name === "value") Object.assign(state, { at: grid().choices.find((c) => c.base === value).at, look: null, sc: null });
      if (["x", "y"].includes(name)) { Object.assign(state, { panel: null, sx: null, sy: null }); focus = null; }
      settle(); controls(); remember(); draw();
    });
  }

  // ---- the figure
  let turn = 0;
  // expressions are interpreted, for the page's policy lets no text be run
  function embed(target, figure) {
    const { View, compile, expressionInterpreter, parse } = window.vega;
    return new View(parse(compile(figure).spec, {}, { ast: true }), { expr: expressionInterpreter }).initialize(target).runAsync();
  }
  async function draw() {
    const mine = ++turn, stage = byId("maps"), made = new View(grid(), state), look = theme(dark.matches ? "dark" : "light");
    let width = stage.clientWidth, figure, result;
    for (let attempt = 0; attempt < 3; attempt++) { // legends and labels may need more room than was left for them
      const holder = element("div");
      result = await embed(holder, (figure = made.spec(look, width)));
      if (mine !== turn) { result.finalize(); return; }
      stage.replaceChildren(holder);
      const excess = holder.scrollWidth - stage.clientWidth;
      if (excess <= 0 || attempt === 2) break;
      result.finalize();
      width -= excess + 4;
    }
    if (drawn) drawn.finalize();
    drawn = result; view = made;
    Object.assign(stage, { figure: drawn, spec: figure, drawn: mine }); // for the console
    stage.setAttribute("aria-label", `${describe()}: ${made.shown.map((panel) => panel.name || grid().name).join("; ")}. ${made.x.label} across${made.y ? `, ${made.y.label} ${state.form === "map" ? "up" : "as lines"}` : ""}`);
    stage.setAttribute("aria-roledescription", state.form === "map" ? "heat map" : "line chart");
    byId("shown").textContent = grids.length > 1 ? grid().title : "";
    byId("shown").hidden = grids.length === 1;
    if (byId("y-name")) byId("y-name").textContent = state.form === "map" ? "Up" : "Lines";
    byId("about").textContent = about();
    if (focus && (focus.panel >= made.shown.length || focus.ix >= made.x.values.length)) focus = null;
    if (focus) mark();
    detail(); table();
  }
  const describe = () => view.look.label;
  function about() {
    const parts = [];
    if (view.all.length > view.shown.length && state.panel === null) parts.push(`The first ${view.shown.length} of ${view.all.length} panels; choose another under Panel.`);
    if (view.large) parts.push(`${view.shown.reduce((sum, panel) => sum + panel.cells.length, 0)} cells, painted as one picture a panel.`);
    if (view.unmarked) parts.push("Failed, missing and undecided trials are not marked, for there are too many; each cell's box has them.");
    if (grid().ids && state.form === "curves") parts.push(view.choice.pair !== undefined ? "Bars: 95 % intervals." : "Bars: lowest to highest.");
    return parts.join(" ");
  }

  // ---- pointing, by mouse and by keys
  function group(k) { // where a panel's axes start, in the pixels of the figure
    const find = (item) => { for (const mark of item.items || []) for (const inner of mark.items || []) { if (mark.name === `concat_${k}_group`) return inner; if (inner.items) { const deeper = find(inner); if (deeper) return deeper; } } return null; };
    return find({ items: [drawn.scenegraph().root] });
  }
  const scales = (k) => ["x", "y"].map((axis) => drawn.scale(`concat_${k}_${axis}`));
  function pointed(event) {
    const canvas = drawn.container().querySelector("canvas"), box = canvas.getBoundingClientRect(), [ox, oy] = drawn.origin();
    for (let k = 0; k < view.shown.length; k++) {
      const at = group(k), [x, y] = scales(k), px = event.clientX - box.left - ox - at.x, py = event.clientY - box.top - oy - at.y;
      if (px < 0 || py < 0 || px > at.width || py > at.height) continue;
      if (state.form === "curves") return nearest(k, x, y, px, py);
      const find = (way, v) => { let i = 0; while (i < way.edges.length - 2 && way.edges[i + 1] < v) i++; return i; };
      return { panel: k, ix: find(view.across, x.invert(px)), iy: find(view.up, y.invert(py)) };
    }
    return null;
  }
  function nearest(k, x, y, px, py) {
    let best = null, least = Infinity;
    const read = view.read(view.look.of);
    for (const i of view.shown[k].cells) {
      const v = read(i), ix = grid().places[state.x][i];
      if (v === null) continue;
      const far = Math.hypot(x(view.across.at[ix]) - px, (y(v) - py) / 3);
      if (far < least) [best, least] = [{ panel: k, ix, iy: state.y === null ? 0 : grid().places[state.y][i] }, far];
    }
    return best;
  }
  function select(found) { if (found) { focus = found; mark(); detail(); } }
  function mark() {
    if (!drawn) return;
    for (let k = 0; k < view.shown.length; k++) {
      const rows = here(k).values;
      if (focus && focus.panel === k) {
        const { ix, iy } = focus, i = view.cell(view.shown[k], ix, iy), read = view.read(view.look.of);
        if (state.form === "map") rows.push({ x: view.across.edges[ix], x2: view.across.edges[ix + 1], y: view.up.edges[iy], y2: view.up.edges[iy + 1] });
        else if (i !== undefined && read(i) !== null) rows.push({ x: view.across.at[ix], y: read(i) });
      }
      drawn.data(`here${k}`, rows);
    }
    drawn.runAsync();
  }
  const maps = byId("maps");
  maps.addEventListener("pointermove", (event) => { if (!held && drawn) select(pointed(event)); });
  maps.addEventListener("click", (event) => { held = false; const found = drawn && pointed(event); if (found) { held = true; select(found); } });
  maps.addEventListener("focus", () => { if (!focus) select({ panel: 0, ix: 0, iy: 0 }); });
  maps.addEventListener("keydown", (event) => {
    const here = focus || { panel: 0, ix: 0, iy: 0 }, across = view.x.values.length - 1, up = view.y ? view.y.values.length - 1 : 0, last = view.shown.length - 1;
    const keep = (v, most) => Math.min(most, Math.max(0, v));
    const moves = {
      ArrowLeft: { ix: keep(here.ix - 1, across) }, ArrowRight: { ix: keep(here.ix + 1, across) }, ArrowUp: { iy: keep(here.iy + 1, up) }, ArrowDown: { iy: keep(here.iy - 1, up) },
      Home: { ix: 0 }, End: { ix: across }, PageDown: { panel: keep(here.panel + 1, last) }, PageUp: { panel: keep(here.panel - 1, last) },
    };
    if (event.key === "Escape") { held = false; detail(); }
    if (event.key === "Enter") { held = !held; detail(); }
    if (!moves[event.key]) return;
    event.preventDefault();
    select({ ...here, ...moves[event.key] });
  });

  // ---- the box of a cell
  function facts(i) {
    const g = grid(), { choice, look } = view, rows = [], undecided = choice.undecided ? choice.undecided[i] : 0;
    if (g.facts) return g.facts.map(([name, values]) => [name, values[i]]);
    if (choice.pair !== undefined) {
      const [yes, no] = ["yes", "no"].map((of) => view.read(of)(i)), [low, high] = view.ends().map((read) => read(i)), words = choice.looks[0].label;
      if (yes + no) rows.push([words, `${yes} of ${yes + no} (${percent(view.read("value")(i))})`], ["95 % interval", `${percent(low)} to ${percent(high)}`]);
      else rows.push([words, "not measured"]);
      if (choice.columns.worst && undecided + g.failed[i] + g.missing[i]) rows.push(["if the rest were all no, all yes", `${percent(choice.columns.worst[i])}, ${percent(choice.columns.best[i])}`]);
    } else {
      rows.push([`median ${choice.label}`, short(view.read("median")(i))], ["measured", `${choice.columns.count[i]} trials`]);
      if (choice.columns.mean) rows.push(["mean", short(choice.columns.mean[i])], ["range", `${short(choice.columns.lowest[i])} to ${short(choice.columns.highest[i])}`]);
    }
    rows.push(["trials", `${g.ok[i]} finished, ${g.failed[i]} failed, ${g.missing[i]} missing, ${undecided} undecided`]);
    const kinds = Object.entries(g.certificates).filter(([, counts]) => counts[i]).map(([kind, counts]) => `${kind} ${counts[i]}`);
    if (kinds.length) rows.push(["certificates", kinds.join(", ")]);
    const timing = g.choices.find((c) => c.key === "seconds");
    if (timing && timing.columns.highest && timing.columns.count[i]) rows.push(["seconds a trial", `${short(timing.columns.median[i])}, at most ${short(timing.columns.highest[i])}`]);
    return rows;
  }
  function detail() {
    const box = byId("detail"), g = grid();
    box.replaceChildren();
    box.classList.toggle("idle", !focus);
    if (!focus) { box.append(element("p", "Point at a cell, or move to the figure with the Tab key and use the arrow keys.")); return; }
    const { panel, ix, iy } = focus, there = view.shown[panel], i = view.cell(there, ix, iy);
    const where = [view.x.words[ix], ...(view.y ? [view.y.words[iy]] : []), ...(there.name ? [there.name] : [])];
    box.append(element("h3", where.join(", ")));
    if (i === undefined) { box.append(element("p", "No trials here.")); return; }
    const list = element("dl");
    for (const [name, text] of facts(i)) list.append(element("dt", name), element("dd", text));
    box.append(list);
    const ids = g.ids[i] ? g.ids[i].split(" ") : [];
    if (ids.length) {
      const folder = /^[\w./-]+$/.test(g.path) ? g.path : `'${g.path.replaceAll("'", "'\\''")}'`;
      const pre = element("pre", ids.map((id) => `recover replay ${folder} ${id.replace("!", "")}${id.endsWith("!") ? "  # failed" : ""}`).join("\n"));
      pre.tabIndex = 0; pre.setAttribute("aria-label", "commands that run these trials again");
      box.append(pre);
    }
    if (held) box.append(element("p", "Held. Click a cell for another, Escape to let go.", "soft"));
  }

  // ---- the cells shown, as a table and as files
  const MOST_ROWS = 2000;
  const after = (p, q) => (p === null) - (q === null) || (typeof p === "number" && typeof q === "number" ? p - q : String(p).localeCompare(String(q)));
  function rows() {
    const g = grid(), ends = view.ends(), count = view.choice.pair !== undefined ? ["yes", "no"] : view.choice.columns.count ? ["count"] : [];
    const some = (values) => values || (() => null);
    const columns = [
      ...g.keys.map((key) => [key.name, (i) => key.values[g.places[key.name][i]]]), [view.look.label, view.read(view.look.of)],
      ...(g.facts ? g.facts.slice(1).map(([name, values]) => [name, (i) => values[i]]) : [[view.choice.pair !== undefined ? "95 % low" : "lowest", ends[0]], [view.choice.pair !== undefined ? "95 % high" : "highest", ends[1]],
        ...count.map((of) => [of, view.read(of)]), ...["ok", "failed", "missing"].map((of) => [of === "ok" ? "finished" : of, (i) => g[of][i]]), ["undecided", (i) => (view.choice.undecided ? view.choice.undecided[i] : 0)]]),
    ];
    return { head: columns.map(([name]) => name), body: view.shown.flatMap((panel) => panel.cells.map((i) => columns.map(([, read]) => some(read)(i)))) };
  }
  function table() {
    const body = byId("cells");
    if (!body || !byId("cell-table").open) { body?.replaceChildren(); return; }
    const { head, body: all } = rows(), [by, way] = sorted;
    if (by !== null && by < head.length) all.sort((a, b) => way * after(a[by], b[by]));
    byId("cells-head").replaceChildren(...head.map((name, k) => {
      const cell = element("th"), button = element("button", name);
      cell.scope = "col";
      cell.setAttribute("aria-sort", k === by ? (way > 0 ? "ascending" : "descending") : "none");
      button.addEventListener("click", () => { sorted = [k, k === by ? -way : 1]; table(); byId("cells-head").children[k].firstChild.focus(); });
      cell.append(button);
      return cell;
    }));
    byId("cells-note").textContent = all.length > MOST_ROWS ? `The first ${MOST_ROWS} of ${all.length} cells; the files have all.` : "";
    body.replaceChildren(...all.slice(0, MOST_ROWS).map((row) => { const line = element("tr"); line.append(...row.map((v) => element("td", typeof v === "number" ? short(v) : v === null ? "" : String(v)))); return line; }));
  }
  const quoted = (v) => (v === null || v === undefined ? "" : /[",\n\r]/.test(String(v)) ? `"${String(v).replaceAll('"', '""')}"` : String(v));
  const FILES = {
    csv: () => { const { head, body } = rows(); return new Blob([[head, ...body].map((row) => row.map(quoted).join(",")).join("\n") + "\n"], { type: "text/csv" }); },
    json: () => { const { head, body } = rows(); return new Blob([JSON.stringify({ sweep: grid().name, value: view.choice.key, shown: view.look.label, cells: body.map((row) => Object.fromEntries(head.map((name, k) => [name, row[k]]))) })], { type: "application/json" }); },
    svg: async () => new Blob([await picture("toSVG")], { type: "image/svg+xml" }),
    png: async () => { const canvas = await picture("toCanvas", 2); return new Promise((done) => canvas.toBlob(done)); },
  };
  // a file's figure is on white ground, with the title
  async function picture(as, ...more) {
    const made = await embed(element("div"), view.spec(theme("light"), 900, grid().title));
    try { return await made[as](...more); } finally { made.finalize(); }
  }
  for (const [kind, make] of Object.entries(FILES)) {
    byId(`save-${kind}`)?.addEventListener("click", async () => {
      const link = element("a");
      link.href = URL.createObjectURL(await make());
      link.download = `${grid().name}-${view.choice.key}`.replace(/[^\w.-]+/g, "_") + `.${kind}`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    });
  }

  // ---- other charts of the report
  const embedded = [];
  async function charts() {
    while (embedded.length) embedded.pop().finalize();
    for (const holder of document.querySelectorAll("[data-chart]")) {
      const look = theme(dark.matches ? "dark" : "light"), chart = content.charts[Number(holder.dataset.chart)], room = holder.clientWidth;
      const words = chart.layer.flatMap((layer) => layer.encoding.color?.scale?.domain ?? []), key = { columns: columnsOf(words, room), labelLimit: room - 100 };
      const filled = fill(chart, { colours: { range: look.lines }, ink: { stroke: look.ink }, key });
      embedded.push(await embed(holder, { ...filled, config: configured(look, room < 400 ? 0 : 640), width: Math.max(180, room - 70), height: 210 }));
    }
  }

  byId("cell-table")?.addEventListener("toggle", table);
  let width = window.innerWidth, waiting;
  const again = () => { clearTimeout(waiting); waiting = setTimeout(() => { draw(); charts(); }, 100); };
  window.addEventListener("resize", () => { if (window.innerWidth !== width) { width = window.innerWidth; again(); } });
  window.addEventListener("hashchange", () => { state = start(grid()); recall(); controls(); draw(); });
  dark.addEventListener("change", again);
  if (byId("value")) recall();
  controls();
  await draw();
  document.body.dataset.ready = "yes";
  requestAnimationFrame(() => setTimeout(charts)); // they stand below: the figure is painted first
})();
