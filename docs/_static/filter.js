// Filters the rows of the table on the cheat sheet.
document.addEventListener("DOMContentLoaded", () => {
  const field = document.getElementById("filter");
  if (!field) return;
  const rows = Array.from(document.querySelectorAll("#filtered tbody tr"));
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const count = document.getElementById("filter-count");
  const show = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, index) => {
      row.hidden = !words.every((word) => texts[index].includes(word));
      shown += row.hidden ? 0 : 1;
    });
    count.textContent = words.length ? `${shown} of ${rows.length} rows` : "";
  };
  const query = new URLSearchParams(location.search).get("q");
  if (query) field.value = query;
  field.addEventListener("input", show);
  show();
});
