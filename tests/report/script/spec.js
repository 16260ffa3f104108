// Reads {grid, templates, state} and writes the specification that the page makes of it, 760 pixels wide on white ground.
import { readFileSync } from "node:fs";
import { Choices } from "../../../recovery/report/page/choices.js";

const { grid, templates, state } = JSON.parse(readFileSync(0, "utf8"));
const choices = new Choices([grid], templates);
Object.assign(choices.state, state);
choices.settle();
globalThis.devicePixelRatio = 1;
process.stdout.write(JSON.stringify(choices.view().spec(templates.themes.light, "light", 760)));
