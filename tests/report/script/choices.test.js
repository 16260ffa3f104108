import assert from "node:assert/strict";
import { test } from "node:test";
import { Choices } from "../../../recovery/report/page/choices.js";
import { grid, templates } from "./grid.js";

const made = () => new Choices([grid(), { ...grid(), name: "second" }], templates);

test("an address brings the choices back, and nothing else", () => {
  const choices = made();
  assert.equal(choices.address(), "");
  choices.choose("value", "seconds");
  choices.choose("sc", "linear");
  choices.choose("x", "d");
  const again = made();
  again.recall(choices.address());
  assert.deepEqual(again.state, choices.state);
  again.recall("value=%3Cimg%3E&x=replicate&sx=even&panel=zzz&grid=9");
  assert.deepEqual(again.state, made().state);
});

test("a coordinate that goes across leaves its place to the one that was there", () => {
  const choices = made();
  choices.choose("x", "d");
  assert.deepEqual([choices.state.x, choices.state.y], ["d", "n"]);
  choices.choose("x", "ensemble");
  assert.deepEqual([choices.state.x, choices.state.y], ["ensemble", "n"]);
});

test("a choice that is no longer offered falls back to the first one that is", () => {
  const choices = made();
  choices.choose("look", "low");
  choices.choose("value", "seconds");
  assert.equal(choices.state.look, "median");
  choices.choose("sx", "log");
  choices.choose("grid", "1");
  assert.equal(choices.grid.name, "second");
  assert.equal(choices.state.sx, null);
});

test("controls offer words, and nothing where there is nothing to choose", () => {
  const choices = made();
  assert.deepEqual(choices.offered("panel"), [
    [null, "all"],
    ["a", "(a) a"],
    ["b", "(b) b"],
  ]);
  assert.deepEqual(choices.offered("sx"), [
    [null, "linear"],
    ["log", "log"],
  ]);
  choices.choose("form", "curves");
  assert.deepEqual(choices.offered("sy"), []);
});
