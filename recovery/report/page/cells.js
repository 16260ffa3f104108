// The details of a grid cell, and the grid cells shown as a table.

export const rounded = (v) => {
  if (v === null || v === undefined) return "none";
  return typeof v === "number" ? String(Number(v.toPrecision(3))) : String(v);
};
export const percent = (v) => `${(100 * v).toFixed(v > 0 && v < 1 ? 1 : 0)} %`;

/** Return [name, text] of each fact about a grid cell. */
export const factsOf = (view, i) => {
  const { grid, choice } = view;
  if (grid.facts) return grid.facts.map(([name, values]) => [name, values[i]]);
  const undecided = choice.undecided?.[i] ?? 0;
  const facts = choice.pair !== undefined ? fractionFacts(view, i, undecided) : numberFacts(view, i);
  const counts = `${grid.ok[i]} finished, ${grid.failed[i]} failed, ${grid.missing[i]} missing, ${undecided} undecided`;
  facts.push(["trials", counts]);
  const kinds = Object.entries(grid.certificates).filter(([, of]) => of[i]);
  if (kinds.length) facts.push(["certificates", kinds.map(([kind, of]) => `${kind} ${of[i]}`).join(", ")]);
  const timing = grid.choices.find((one) => one.key === "seconds")?.columns;
  if (timing?.highest && timing.count[i])
    facts.push(["seconds per trial", `median ${rounded(timing.median[i])}, at most ${rounded(timing.highest[i])}`]);
  return facts;
};

const fractionFacts = (view, i, undecided) => {
  const { grid, choice } = view;
  const [yes, no] = ["yes", "no"].map((of) => view.read(of)(i));
  const [low, high] = view.ends().map((read) => read(i));
  const words = choice.looks[0].label;
  const total = yes + no + undecided;
  let measured = grid.notes.unmeasured;
  if (undecided) {
    const ends = `${percent(yes / total)} to ${percent((yes + undecided) / total)}`;
    measured = `${yes} to ${yes + undecided} of ${total} (${ends})`;
  } else if (total) measured = `${yes} of ${total} (${percent(view.read("value")(i))})`;
  const facts = [[words, measured]];
  if (yes + no) facts.push([`${grid.notes.level} interval`, `${percent(low)} to ${percent(high)}`]);
  if (choice.columns.worst && undecided + grid.failed[i] + grid.missing[i]) {
    const bracket = `${percent(choice.columns.worst[i])}, ${percent(choice.columns.best[i])}`;
    facts.push(["bounds if all others were no, or yes", bracket]);
  }
  return facts;
};

const numberFacts = (view, i) => {
  const { columns, looks } = view.choice;
  const facts = [
    [looks.find(({ of }) => of === "median").label, rounded(view.read("median")(i))],
    ["measured", `${columns.count[i]} trials`],
  ];
  if (columns.mean) {
    facts.push(["mean", rounded(columns.mean[i])]);
    facts.push(["range", `${rounded(columns.lowest[i])} to ${rounded(columns.highest[i])}`]);
  }
  return facts;
};

/** Return the column names and the rows of the grid cells shown. */
export const tableOf = (view) => {
  const { grid, choice } = view;
  const fraction = choice.pair !== undefined;
  const counts = fraction ? ["yes", "no"] : choice.columns.count ? ["count"] : [];
  const of = (values) => (i) => values[i];
  const measured = () => [
    ...view.ends().map((read, k) => [view.look.headings[k], read]),
    ...counts.map((name) => [name, view.read(name)]),
    ["finished", of(grid.ok)],
    ["failed", of(grid.failed)],
    ["missing", of(grid.missing)],
    ["undecided", (i) => choice.undecided?.[i] ?? 0],
  ];
  const columns = [
    ...grid.keys.map((key) => [key.name, (i) => key.values[grid.places[key.name][i]]]),
    [view.look.label, view.read(view.look.of)],
    ...(grid.facts ? grid.facts.slice(1).map(([name, values]) => [name, of(values)]) : measured()),
  ];
  const cells = view.shown.flatMap((panel) => panel.cells);
  return { head: columns.map(([name]) => name), body: cells.map((i) => columns.map(([, read]) => read(i))) };
};

/** Compare two entries of a column for sorting: numbers by size, text alphabetically, missing values last. */
export const compared = (p, q) => {
  if (p === null || q === null) return (p === null) - (q === null);
  return typeof p === "number" && typeof q === "number" ? p - q : String(p).localeCompare(String(q));
};

/** Return an entry of a CSV file, with an apostrophe before text that a spreadsheet would read as a formula. */
export const quoted = (v) => {
  const formula = typeof v === "string" && /^[=+@\t\r-]/.test(v) && Number.isNaN(Number(v));
  const text = `${formula ? "'" : ""}${v ?? ""}`;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

export const asCsv = ({ head, body }) => `${[head, ...body].map((row) => row.map(quoted).join(",")).join("\n")}\n`;

export const asJson = (view) => {
  const { head, body } = tableOf(view);
  const cells = body.map((row) => Object.fromEntries(head.map((name, k) => [name, row[k]])));
  return JSON.stringify({ sweep: view.grid.name, value: view.choice.key, shown: view.look.label, cells });
};

/** Return the commands that repeat the trials of a grid cell; those of failed trials are marked. */
export const replays = (grid, i) => {
  const ids = grid.ids[i] ? grid.ids[i].split(" ") : [];
  const folder = /^[\w./-]+$/.test(grid.path) ? grid.path : `'${grid.path.replaceAll("'", "'\\''")}'`;
  const failed = (id) => (id.endsWith("!") ? "  # failed" : "");
  return ids.map((id) => `recover replay ${folder} ${id.replace("!", "")}${failed(id)}`);
};
