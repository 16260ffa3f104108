// The overview of sweeps: a filter by text, and the order of the rows in each table.

const sections = [...document.querySelectorAll("section")];
const tables = sections.map((section) => [...section.querySelectorAll("tbody tr")]);
const [filter, order, shown] = ["filter", "order", "shown"].map((id) => document.getElementById(id));
const number = (row, name) => Number(row.querySelector("[data-newest]").dataset[name]);

const update = () => {
  const words = filter.value.toLowerCase().split(/\s+/);
  for (const row of tables.flat()) {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
  }
  tables.forEach((rows, i) => {
    const name = order.value;
    const sorted = name ? rows.toSorted((a, b) => number(b, name) - number(a, name)) : rows;
    sections[i].querySelector("tbody").append(...sorted);
    sections[i].hidden = rows.every((row) => row.hidden);
  });
  const all = tables.flat();
  shown.textContent = `${all.filter((row) => !row.hidden).length} of ${all.length} sweeps`;
};

filter.addEventListener("input", update);
order.addEventListener("change", update);
document.getElementById("controls").hidden = false;
update(); // a browser that goes back restores the fields
document.body.dataset.ready = "yes";
