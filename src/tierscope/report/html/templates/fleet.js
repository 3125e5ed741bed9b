"use strict";
const byId = (id) => document.getElementById(id);
function made(name, text, kind) {
  const element = document.createElement(name);
  element.textContent = text ?? "";
  if (kind) element.className = kind;
  return element;
}
const linkTo = (host) => "#host=" + encodeURIComponent(host);
const digits = (value) => (value == null ? "–" : String(Number(value.toPrecision(4))));
const percent = (share) => (share > 0 ? "+" : "") + (100 * share).toFixed(1) + "%";
// A host's value over the median of hosts alike, less 1; null where it has none.
function deviation(fleet, path, host) {
  const value = path.value[host], median = path.median[fleet.group[host]];
  return value == null || !median ? null : value / median - 1;
}
const isWorse = (path, share) => share > 0 === path.lower;
// How dark a deviation is, from 1; 0 where it is no larger than usual.
const levelOf = (fleet, path, share) =>
  share == null || Math.abs(share) < path.unusual ? 0 : fleet.levels.filter((least) => Math.abs(share) >= least).length;

// A host's page. Its place is 1 where no host alike is better.
function place(fleet, path, host) {
  const alike = path.value.filter((value, other) => value != null && fleet.group[other] === fleet.group[host]);
  const better = alike.filter((value) => (path.lower ? value < path.value[host] : value > path.value[host]));
  return better.length + 1 + " of " + alike.length;
}
function rowOf(fleet, path, host, missing) {
  const row = document.createElement("tr"), name = made("th", path.name);
  name.scope = "row";
  row.append(name);
  const share = deviation(fleet, path, host);
  if (path.value[host] == null) {
    const said = missing ? [missing[1], missing[2]].filter(Boolean).join(": ") : "not planned here";
    const cell = made("td", said);
    cell.colSpan = 8;
    row.append(cell);
    return row;
  }
  const ends = path.low[host] == null ? "–" : digits(path.low[host]) + " to " + digits(path.high[host]);
  const level = levelOf(fleet, path, share);
  const kind = level ? (isWorse(path, share) ? " worse level" : " better level") + level : "";
  row.append(
    made("td", digits(path.value[host]), "number"), made("td", ends, "number interval"), made("td", path.unit),
    made("td", digits(path.median[fleet.group[host]]), "number"),
    made("td", share == null ? "–" : percent(share), "number" + kind),
    made("td", place(fleet, path, host), "number"), made("td", digits(path.limit[host]), "number"),
    made("td", path.golden || "–", "number"),
  );
  return row;
}
function showHost(fleet, host) {
  const [name, state, reason, run] = fleet.hosts[host];
  byId("host-name").textContent = name;
  byId("host-about").textContent = [state, fleet.groups[fleet.group[host]], run].filter(Boolean).join(", ");
  const alerts = [];
  if (reason) alerts.push(made("p", reason, "alert bad"));
  const slow = fleet.outliers[name];
  if (slow) {
    const [paths, together, over, causes] = slow;
    const said = together
      ? "A little slower on all paths: " + over + " over all of them."
      : "Slow: " + paths.map(([path, by]) => path + " " + by).join("; ") + ".";
    alerts.push(made("p", said + " Likely cause: " + (causes.join("; ") || "not known") + ".", "alert"));
  }
  byId("host-alerts").replaceChildren(...alerts);
  const rows = fleet.paths.map((path) => rowOf(fleet, path, host, path.missing.find(([other]) => other === host)));
  byId("host-paths").replaceChildren(...rows);
  const settings = fleet.settings.map((one) => [one.name, one.values[one.of[host]]]).filter(([, value]) => value);
  byId("host-settings").replaceChildren(...settings.map(([key, value]) => {
    const line = document.createElement("div");
    line.append(made("dt", key), made("dd", value));
    return line;
  }));
}
function route(fleet, numbers) {
  const host = numbers.get(location.hash);
  const was = byId("host").hidden;
  byId("host").hidden = host === undefined;
  byId("fleet").hidden = host !== undefined;
  if (host !== undefined) {
    showHost(fleet, host);
    scrollTo(0, 0);
    byId("host-name").focus({ preventScroll: true });
  } else if (!was && location.hash.length > 1) {
    byId(location.hash.slice(1))?.scrollIntoView();
  }
}

// The search by name.
const MOST_FOUND = 40;
function search(fleet) {
  const text = byId("find").value.trim().toLowerCase();
  const found = text ? fleet.hosts.filter(([name]) => name.toLowerCase().includes(text)) : [];
  byId("found-count").textContent = !text ? "" : found.length > MOST_FOUND
    ? found.length + " hosts, the first " + MOST_FOUND + " below" : found.length + " found";
  byId("found").replaceChildren(...found.slice(0, MOST_FOUND).map(([name, state]) => {
    const item = document.createElement("li"), link = made("a", name);
    link.href = linkTo(name);
    item.append(link, state === "measured" ? (fleet.outliers[name] ? " (slow)" : "") : " (" + state + ")");
    return item;
  }));
  return found;
}

// The map of all hosts: a column a host, a row a path.
const ROW = 14, TINTS = [0.3, 0.5, 0.75, 0.9, 1];
function placesOf(fleet) {
  if (byId("map-order").value === "far") return fleet.order;
  const keys = ["rack", "switch"].map((name) => fleet.settings.find((one) => one.name === name)).filter(Boolean);
  const places = fleet.hosts.map((_, number) => number);
  const compare = (a, b) => fleet.group[a] - fleet.group[b] || keys.reduce((so, one) =>
    so || one.values[one.of[a]].localeCompare(one.values[one.of[b]], "en", { numeric: true }), 0) || a - b;
  return places.sort(compare);
}
function drawMap(fleet, paths) {
  const canvas = byId("map"), order = placesOf(fleet);
  const step = Math.max(1, Math.min(16, Math.floor(880 / order.length)));
  canvas.width = step * order.length;
  canvas.height = ROW * paths.length;
  const style = getComputedStyle(document.documentElement), context = canvas.getContext("2d");
  const colour = (name, tint) => "rgb(" + style.getPropertyValue(name).trim() + " / " + tint + ")";
  const tints = ["--worse", "--better"].map((name) => TINTS.map((tint) => colour(name, tint)));
  const none = style.getPropertyValue("--grid");
  paths.forEach((path, row) => order.forEach((host, column) => {
    const share = deviation(fleet, path, host);
    const level = levelOf(fleet, path, share);
    if (share != null && !level) return;
    context.fillStyle = share == null ? none : tints[isWorse(path, share) ? 0 : 1][level - 1];
    context.fillRect(column * step, row * ROW, step, ROW - 1);
  }));
  return (event) => {
    const box = canvas.getBoundingClientRect();
    const host = order[Math.floor(((event.clientX - box.left) / box.width) * order.length)];
    return [host, paths[Math.floor(((event.clientY - box.top) / box.height) * paths.length)]];
  };
}
function startMap(fleet) {
  if (!byId("map")) return;
  const paths = fleet.paths.filter((path) => path.value.some((value) => value != null));
  byId("map-rows").replaceChildren(...paths.map((path) => made("li", path.name)));
  let at = drawMap(fleet, paths);
  const again = () => { at = drawMap(fleet, paths); };
  byId("map-order").addEventListener("change", again);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  byId("map").addEventListener("pointermove", (event) => {
    const [host, path] = at(event);
    if (host === undefined || !path) return;
    const share = deviation(fleet, path, host);
    const said = share == null ? "no figure" : digits(path.value[host]) + " " + path.unit + ", " + percent(share);
    byId("map").dataset.tip = fleet.hosts[host][0] + ", " + path.name + ": " + said;
  });
  byId("map").addEventListener("click", (event) => {
    const [host] = at(event);
    if (host !== undefined) location.hash = linkTo(fleet.hosts[host][0]);
  });
}

async function start() {
  const fleet = await linesOf("fleet");
  const numbers = new Map(fleet.hosts.map(([name], number) => [linkTo(name), number]));
  addEventListener("hashchange", () => route(fleet, numbers));
  byId("find").addEventListener("input", () => search(fleet));
  byId("find").addEventListener("keydown", (event) => {
    const [first] = event.key === "Enter" ? search(fleet) : [];
    if (first) location.hash = linkTo(first[0]);
  });
  startMap(fleet);
  route(fleet, numbers);
  document.documentElement.dataset.ready = "yes";
}
start();
