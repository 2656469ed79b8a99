// The page's data, and small helpers that the other scripts share.

/** What report.py packed into an element: JSON, compressed with gzip, in base64. */
async function unpacked(element) {
  const bytes = Uint8Array.from(atob(element.textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

/** An element with properties and children. Texts become text nodes, so that no name of a file is read as HTML. */
function make(tag, properties = {}, ...children) {
  const { attributes = {}, ...others } = properties;
  const made = Object.assign(document.createElement(tag), others);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const unique = (values) => [...new Set(values)];

/** A number in at most so many digits, with all digits before the point; other values as they are. */
function written(value, digits = 4) {
  if (value === null || value === undefined) return "";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value)) return String(value);
  if (value !== 0 && Math.abs(value) < 1e-3) return value.toExponential(digits - 2);
  return Math.abs(value) >= 10 ** digits ? value.toFixed(0) : String(Number(value.toPrecision(digits)));
}

/** Says something for a moment, to screen readers as well. */
function say(text) {
  const place = document.getElementById("status");
  place.textContent = text;
  setTimeout(() => { if (place.textContent === text) place.textContent = ""; }, 4000);
}
