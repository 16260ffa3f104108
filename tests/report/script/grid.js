// A grid of four cells in two panels, as Python packs one.
const axis = (kind, at, edges) => ({ kind, at, edges, encoding: { axis: { title: kind }, scale: { type: kind } } });
const key = (name, values, axes) => ({
  name,
  label: name,
  values,
  words: values.map((value) => `${name} = ${value}`),
  axes,
  dot: { size: 12 },
  joined: { opacity: 1 },
  series: { light: { scale: { domain: values.map((v) => `${name} = ${v}`), range: ["red", "blue"] }, legend: {} } },
});
const even = axis("even", [0, 1], [-0.5, 0.5, 1.5]);
const scales = (kinds) => Object.fromEntries(kinds.map((kind) => [kind, { colour: { kind }, height: { kind } }]));
const limits = { ends: ["low", "high"], headings: ["95 % low", "95 % high"], bars: {} };
const quartiles = { ends: ["lower", "upper"], headings: ["lower quartile", "upper quartile"], bars: {} };

export const templates = {
  schema: "s",
  map: {
    title: { $: "title" },
    $: "size",
    layer: ["cells", "points"].map((name) => ({ data: { $: name }, x: { $: "x" } })),
  },
  curves: { title: { $: "title" }, layer: ["cells", "lines"].map((name) => ({ data: { $: name } })) },
  shared: {},
  alone: { kind: "even", at: [0], edges: [-0.5, 0.5], encoding: {} },
  themes: { light: { config: { legend: {} } } },
};

export const grid = () => ({
  name: "drawn",
  title: "Drawn",
  path: "it's here",
  keys: [
    key("n", [10, 20], {
      linear: axis("linear", [10, 20], [5, 15, 25]),
      log: axis("log", [10, 20], [7, 14, 28]),
    }),
    key("d", [5], { linear: axis("linear", [5], [4, 6]) }),
    key("ensemble", ["a", "b"], { even }),
  ],
  plane: ["n", "d"],
  x: "n",
  y: "d",
  form: "map",
  places: { n: [0, 1, 0, 1], d: [0, 0, 0, 0], ensemble: [0, 0, 1, 1] },
  panels: ["a", "b"].map((name) => ({
    title: `(${name}) ${name}`,
    name,
    caption: "50 %: n/d = 3",
    cells: 2,
    half: [{ x: 8, x2: 12, y: 5, y2: 5 }],
    points: [{ x: 9, y: 5, mark: "50 %" }],
    contour: [],
    theory: [],
    band: [],
  })),
  trials: [3, 3, 3, 3],
  ok: [3, 2, 0, 3],
  failed: [0, 1, 3, 0],
  missing: [0, 0, 0, 0],
  choices: [
    {
      key: "recovered",
      base: "recovered",
      at: null,
      label: "recovered",
      pair: 0,
      columns: {},
      undecided: null,
      marks: [],
      shapes: ["without", "with"],
      looks: [
        { of: "value", name: "estimate", label: "fraction recovered", scales: scales(["linear"]), ...limits },
        { of: "low", name: "lower limit", label: "lower", scales: scales(["linear"]), ...limits },
      ],
    },
    {
      key: "seconds",
      base: "seconds",
      at: null,
      label: "seconds",
      columns: { median: [1, 2, null, 4], count: [3, 2, 0, 3] },
      undecided: null,
      marks: [],
      shapes: ["without", "with"],
      looks: [
        { of: "median", name: "median", label: "median seconds", scales: scales(["log", "linear"]), ...quartiles },
      ],
    },
  ],
  pairs: {
    of: [[0, 1, 2, 0]],
    yes: [3, 1, 0],
    no: [0, 1, 0],
    value: [1, 0.5, null],
    low: [0.4, 0.1, null],
    high: [1, 0.9, null],
  },
  marks: [{ label: "trials failed (4)", shape: "M0,0", cells: [1, 2] }],
  unmarked: false,
  lines: [{ x: 10, y: 5, label: "n = 2d" }],
  strokes: { map: { light: { stroke: "lines" } }, curves: { light: {} } },
  alone: { light: { scale: { domain: ["fraction recovered"] }, legend: null } },
  notes: { unmeasured: "not measured", empty: "no trials yet", level: "95 %" },
  certificates: { dual: [3, 0, 0, 1] },
  ids: ["ab cd", "ef!", "", ""],
});
