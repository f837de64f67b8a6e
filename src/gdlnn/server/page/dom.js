// What the server's page needs beside the cards of the report: counts, bars, files to save.
const counted = (n, one, many = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
const held = (className, svg) => element("div", {class: className}, drawn(svg));

// A bar is an SVG: its width is an attribute, since the policy of the page allows no style.
function bar(share, mark = null) {
  const width = Math.max(0, Math.min(100, 100 * share)).toFixed(1);
  const line = mark == null ? "" : `<path class="mark" d="M${(100 * mark).toFixed(1)} 0V8"/>`;
  return held("bar-holder", `<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" focusable="false">` +
    `<rect class="track" width="100" height="8"/><rect class="filled" width="${width}" height="8"/>${line}</svg>`);
}

function saveAs(name, kind, text) {
  const url = URL.createObjectURL(new Blob([text], {type: kind}));
  element("a", {href: url, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
