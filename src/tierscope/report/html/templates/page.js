"use strict";
// The page's data: each run's CSV, one string a line, heading first.
async function linesOf(run) {
  const text = JSON.parse(document.getElementById(run + "-data").textContent);
  const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}
// Ranges such as "1-3,7"; none asks for all lines.
function chosen(lines, ranges) {
  if (!ranges) return lines;
  const picked = [lines[0]];
  for (const range of ranges.split(",")) {
    const [first, last] = range.split("-").map(Number);
    picked.push(...lines.slice(first, (last ?? first) + 1));
  }
  return picked;
}
async function save(button) {
  const text = chosen(await linesOf(button.dataset.run), button.dataset.rows).join("\r\n") + "\r\n";
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = button.dataset.name + ".csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
for (const button of document.querySelectorAll("button.csv")) {
  button.addEventListener("click", () => save(button));
}
// The value under the pointer, or under a finger.
const tip = document.getElementById("tip");
function show(event) {
  const mark = event.target.closest("[data-tip]");
  tip.hidden = !mark;
  if (!mark) return;
  tip.textContent = mark.dataset.tip;
  const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
  const above = event.clientY - tip.offsetHeight - 12;
  tip.style.left = Math.max(8, left) + "px";
  tip.style.top = (above > 8 ? above : event.clientY + 18) + "px";
}
document.addEventListener("pointermove", show);
document.addEventListener("pointerdown", show);
