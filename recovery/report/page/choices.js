// The state of the controls: the options of each control, and the address that restores a state.

import { View } from "./view.js";

const KINDS = { linear: "linear", log: "log", even: "evenly spaced" };

export class Choices {
  constructor(grids, templates) {
    Object.assign(this, { grids, templates, index: 0 });
    this.state = this.start();
  }

  get grid() {
    return this.grids[this.index];
  }

  /** Return the initial state. */
  start() {
    const { choices, x, y, form } = this.grid;
    const [{ base, at, looks }] = choices;
    return { x, y, form, panel: null, value: base, at, look: looks[0].of, sx: null, sy: null, sc: null };
  }

  key(name) {
    return this.grid.keys.find((key) => key.name === name);
  }

  /** Return the coordinates that can be on the y axis when this one is on the x axis. */
  others(name) {
    const key = this.key(name);
    return this.grid.keys.filter((one) => one !== key && one.of !== name && one.name !== key.of);
  }

  view(panel = this.state.panel) {
    return new View(this.grid, { ...this.state, panel }, this.templates);
  }

  /** Return the options [value, text] of a control; an option may depend on the controls before it in `NAMES`. */
  offered(name) {
    const { grid, state } = this;
    const choice = () => grid.choices.find((one) => one.base === state.value && one.at === state.at);
    const kinds = (of) => Object.keys(of).map((kind, k) => [k === 0 ? null : kind, KINDS[kind]]);
    const named = (keys) => keys.map((key) => [key.name, key.label]);
    const panels = () => this.view(null).all.map((panel) => [panel.name, panel.title]);
    const offers = {
      grid: () => this.grids.map((one, k) => [String(k), one.name]),
      value: () => [...new Map(grid.choices.map((one) => [one.base, one.label.split(" ≤ ")[0]]))],
      at: () => {
        const same = grid.choices.filter((one) => one.base === state.value);
        return same.map((one) => [one.at, one.at === null ? "none" : `at most ${one.at}`]);
      },
      look: () => choice().looks.map((look) => [look.of, look.name]),
      form: () => {
        const forms = [
          ["map", grid.keys.length > 1],
          ["curves", !grid.facts],
        ];
        return forms.filter(([, allowed]) => allowed).map(([form]) => [form, form]);
      },
      x: () => named(grid.keys),
      y: () => [...(grid.y === null ? [[null, "none"]] : []), ...named(this.others(state.x))],
      panel: () => (panels().length > 1 ? [[null, "all"], ...panels()] : []),
      sx: () => kinds(this.key(state.x).axes),
      sy: () => (state.y === null || state.form === "curves" ? [] : kinds(this.key(state.y).axes)),
      sc: () => kinds(this.view(null).look.scales),
    };
    return offers[name]();
  }

  choose(name, value) {
    const { state } = this;
    if (name === "grid") {
      this.index = Number(value);
      this.state = this.start();
    } else if (name === "x" && value === state.y) [state.x, state.y] = [state.y, state.x];
    else state[name] = value;
    if (name === "value")
      Object.assign(state, { at: this.grid.choices.find((one) => one.base === value).at, look: null, sc: null });
    if (name === "x" || name === "y") Object.assign(state, { panel: null, sx: null, sy: null });
    this.settle();
  }

  /** Replace every choice that is no longer available by the first available one. */
  settle() {
    for (const name of Choices.NAMES.slice(1)) {
      const values = this.offered(name).map(([value]) => value);
      if (values.length && !values.includes(this.state[name])) this.state[name] = values[0];
      if (name === "x") this.separateAxes();
    }
  }

  /** Move another coordinate to the y axis if both axes have the same one. */
  separateAxes() {
    if (this.state.y === this.state.x) this.state.y = this.others(this.state.x)[0]?.name ?? null;
  }

  /** Return what differs from the initial state as the fragment of an address. */
  address() {
    const usual = this.start();
    const changed = Object.entries(this.state).filter(([name, value]) => value !== usual[name]);
    const entries = changed.map(([name, value]) => [name, value ?? ""]);
    return new URLSearchParams(this.index ? [["grid", String(this.index)], ...entries] : entries).toString();
  }

  /** Restore the state from the fragment of an address; unknown values are ignored. */
  recall(address) {
    const wanted = new URLSearchParams(address);
    if (this.grids[Number(wanted.get("grid"))]) this.index = Number(wanted.get("grid"));
    this.state = this.start();
    for (const name of Choices.NAMES.slice(1)) {
      if (!wanted.has(name)) continue;
      const option = this.offered(name).find(([value]) => (value ?? "") === wanted.get(name));
      if (option) this.state[name] = option[0];
      if (name === "x") this.separateAxes();
    }
    this.settle();
  }
}
Choices.NAMES = ["grid", "value", "at", "look", "form", "x", "y", "panel", "sx", "sy", "sc"];
