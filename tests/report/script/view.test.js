import assert from "node:assert/strict";
import { test } from "node:test";
import { columnsOf, configured, fill, View } from "../../../recovery/report/page/view.js";
import { grid, templates } from "./grid.js";

const START = {
  x: "n",
  y: "d",
  form: "map",
  panel: null,
  value: "recovered",
  at: null,
  look: "value",
  sx: null,
  sy: null,
  sc: null,
};
const view = (changes = {}, of = grid()) => new View(of, { ...START, ...changes }, templates);
const rows = (spec, panel, layer) => spec.concat[panel].layer[layer]?.data.values;
const spec = (shown) => shown.spec(templates.themes.light, "light", 760);

test("a template takes the parts of its names and keeps its own entries", () => {
  const parts = { size: { width: 3 }, data: { values: [1] } };
  assert.deepEqual(fill({ a: [{ $: "data" }], b: 1, $: "size" }, parts), { a: [{ values: [1] }], b: 1, width: 3 });
  assert.equal(fill(null, parts), null);
});

test("a cell of a refined grid covers the places of values that other slices have", () => {
  const refined = { ...grid(), spans: { start: [0, 1, 0, 1], stop: [2, 2, 1, 2] } };
  const shown = view({}, refined);
  assert.deepEqual(rows(spec(shown), 0, 0)[0], { x: 5, x2: 25, y: 4, y2: 6, v: 1, i: 0 });
  assert.deepEqual(shown.box(1, 0, 0), { x: 5, x2: 25, y: 4, y2: 6 });
  const panel = { cells: [0] };
  assert.deepEqual([shown.cell(panel, 0, 0), shown.cell(panel, 1, 0)], [0, 0]);
});

test("cells without a value are left out, and have the borders of their axis", () => {
  const shown = spec(view());
  assert.deepEqual(rows(shown, 0, 0), [
    { x: 5, x2: 15, y: 4, y2: 6, v: 1, i: 0 },
    { x: 15, x2: 25, y: 4, y2: 6, v: 0.5, i: 1 },
  ]);
  assert.deepEqual(
    rows(shown, 1, 0).map((row) => row.i),
    [3],
  );
  assert.equal(rows(spec(view({ sx: "log" })), 0, 0)[0].x, 7);
});

test("marks stand on their cells, and thresholds only over the report's own value and plane", () => {
  const marks = (changes) => rows(spec(view(changes)), 0, 1);
  assert.deepEqual(marks({}), [
    { x: 20, y: 5, mark: "trials failed (4)" },
    { x: 9, y: 5, mark: "50 %" },
  ]);
  assert.equal(marks({ look: "low" }).length, 1);
  assert.equal(marks({ value: "seconds", look: "median" }).length, 1);
  assert.equal(view().parts({}, "light", 760).shapes, "with");
  assert.equal(view({ look: "low" }).parts({}, "light", 760).shapes, "without");
  assert.equal(view({ look: "low" }).parts({}, "light", 760).stroke, "lines");
});

test("swapped axes turn what was estimated, another plane has panels of its own", () => {
  const turned = view({ x: "d", y: "n" });
  assert.deepEqual(turned.tables(turned.shown[0], 0, {}, 1).half.values, [{ x: 5, x2: 5, y: 8, y2: 12 }]);
  const other = view({ x: "n", y: "ensemble" });
  assert.deepEqual(
    other.all.map((panel) => [panel.title, panel.cells]),
    [["d = 5", [0, 1, 2, 3]]],
  );
  assert.equal(other.cell(other.all[0], 1, 1), 3);
  assert.deepEqual(other.tables(other.all[0], 0, {}, 1).half.values, []);
});

test("a panel of trials that measure nothing says so, and an empty one that it is empty", () => {
  const of = grid();
  of.pairs.of[0] = [0, 1, 2, 2];
  const shown = view({}, of);
  assert.deepEqual(
    shown.all.map((panel) => shown.note(panel)),
    [[], [{ text: "not measured" }]],
  );
  assert.deepEqual(shown.note({ cells: [] }), [{ text: "no trials yet" }]);
});

test("curves run from the left to the right, a series for each value of the other coordinate", () => {
  const of = grid();
  of.places.n = [1, 0, 1, 0];
  const cells = rows(spec(view({ form: "curves" }, of)), 0, 0);
  assert.deepEqual(
    cells.map((row) => [row.x, row.y, row.low, row.high, row.series]),
    [
      [10, 0.5, 0.1, 0.9, "d = 5"],
      [20, 1, 0.4, 1, "d = 5"],
    ],
  );
});

test("a narrow page has one panel beside another no more, and a key of one column", () => {
  const narrow = view().spec(templates.themes.light, "light", 375);
  assert.equal(narrow.config.concat.columns, 1);
  assert.equal(narrow.config.legend.columns, 1);
  assert.equal(configured(templates.themes.light, 760).legend.columns, undefined);
  assert.equal(columnsOf(["a".repeat(200)], 300), 1);
  assert.equal(columnsOf(["d = 5", "d = 10"], 400), 4);
});
