import assert from "node:assert/strict";
import { test } from "node:test";
import {
  asCsv,
  asJson,
  compared,
  factsOf,
  percent,
  replays,
  rounded,
  tableOf,
} from "../../../recovery/report/page/cells.js";
import { Choices } from "../../../recovery/report/page/choices.js";
import { grid, templates } from "./grid.js";

const view = (value) => {
  const choices = new Choices([grid()], templates);
  if (value) choices.choose("value", value);
  return choices.view();
};

test("the details of a cell have its counts, its interval and how its trials ended", () => {
  const facts = Object.fromEntries(factsOf(view(), 1));
  assert.equal(facts["fraction recovered"], "1 of 2 (50.0 %)");
  assert.equal(facts["95 % interval"], "10.0 % to 90.0 %");
  assert.equal(facts.trials, "2 finished, 1 failed, 0 missing, 0 undecided");
  assert.equal(Object.fromEntries(factsOf(view(), 2))["fraction recovered"], "not measured");
  assert.equal(Object.fromEntries(factsOf(view("seconds"), 0))["median seconds"], "1");
  assert.equal(Object.fromEntries(factsOf(view("seconds"), 2))["median seconds"], "none");
});

test("undecided trials leave a range", () => {
  const shown = view();
  shown.choice.undecided = [1, 2, 0, 0];
  const facts = [0, 1].map((i) => Object.fromEntries(factsOf(shown, i))["fraction recovered"]);
  assert.deepEqual(facts, ["3 to 4 of 4 (75.0 % to 100 %)", "1 to 3 of 4 (25.0 % to 75.0 %)"]);
});

test("the table has a row a cell of the panels shown, and files quote what needs it", () => {
  const { head, body } = tableOf(view());
  assert.deepEqual(head.slice(0, 6), ["n", "d", "ensemble", "fraction recovered", "95 % low", "95 % high"]);
  assert.deepEqual(body[1].slice(0, 4), [20, 5, "a", 0.5]);
  assert.equal(asCsv({ head: ["a,b", "c"], body: [['say "hi"', null]] }), '"a,b",c\n"say ""hi""",\n');
  assert.equal(asCsv({ head: ["@a"], body: [["=1+1"], ["-2"], [-2]] }), "'@a\n'=1+1\n-2\n-2\n");
  assert.equal(JSON.parse(asJson(view())).cells[2]["fraction recovered"], null);
});

test("numbers sort by size, text by letters, nothing last", () => {
  assert.deepEqual([10, null, 9, -1].sort(compared), [-1, 9, 10, null]);
  assert.deepEqual(["b", "a"].sort(compared), ["a", "b"]);
});

test("numbers are short, and certainty is said without decimals", () => {
  assert.deepEqual([1234.5, 0, null, "word"].map(rounded), ["1230", "0", "none", "word"]);
  assert.deepEqual([0, 1, 0.999].map(percent), ["0 %", "100 %", "99.9 %"]);
});

test("commands name the folder as a shell reads it, and failed trials are marked", () => {
  assert.deepEqual(replays(grid(), 0), ["recover replay 'it'\\''s here' ab", "recover replay 'it'\\''s here' cd"]);
  assert.deepEqual(replays(grid(), 1), ["recover replay 'it'\\''s here' ef  # failed"]);
  assert.deepEqual(replays(grid(), 3), []);
});
