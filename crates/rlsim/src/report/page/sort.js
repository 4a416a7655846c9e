// Sorts the table of clients by the column whose heading is pressed; again, the other way round. Ties keep their order.
"use strict";
document.querySelectorAll("table.sortable").forEach((table) => {
  const headings = Array.from(table.tHead.rows[0].cells);
  headings.forEach((heading, column) => {
    heading.querySelector("button").addEventListener("click", () => {
      const descending = heading.getAttribute("aria-sort") !== "descending";
      const numeric = column > 0;
      const value = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
      const compare = numeric
        ? (a, b) => (BigInt(value(a)) < BigInt(value(b)) ? -1 : BigInt(value(a)) > BigInt(value(b)) ? 1 : 0)
        : (a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0);
      const rows = Array.from(table.tBodies[0].rows);
      rows.sort((a, b) => (descending ? compare(b, a) : compare(a, b)));
      table.tBodies[0].append(...rows);
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
    });
  });
});
