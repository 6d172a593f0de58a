// Runs in a copy of a report's page, after axe-core: what keeps people from reading it. `scripts/check-report.sh` puts both
// there, and reads what is sent to the page around it.
"use strict";
addEventListener("load", async () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
  await new Promise((done) => setTimeout(done, 300));
  const complaints = new Set();
  // As on paper, where nothing scrolls: the page's rules for print hold in the window.
  const printed = location.hash === "#print";
  const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]);
  for (const { media } of rules) if (printed && media?.mediaText === "print") media.mediaText = "all";
  const wide = document.documentElement.clientWidth;
  const named = (element) => `${element.tagName}.${[...element.classList].join(".")} "${element.textContent.trim().slice(0, 40)}"`;
  const total = document.documentElement.scrollWidth;
  if (total > wide) complaints.add(`the page is ${total} pixels wide, the window ${wide}`);
  for (const element of document.querySelectorAll("main *, header *, footer *")) {
    const box = element.getBoundingClientRect();
    const scrolls = element.closest(printed ? "svg *" : ".scroll, .links, svg, .skip");
    if (box.width > 0 && box.right > wide + 1 && !scrolls) complaints.add(`cut on the right: ${named(element)}`);
  }
  for (const drawn of document.querySelectorAll(".lines svg, .lanes")) {
    const chart = drawn.getAttribute("aria-label") ?? drawn.querySelector("figcaption").textContent;
    // No name of a lane lies over its bars.
    const labels = [...drawn.querySelectorAll("text, .lane span, .lane svg")]
      .map((text) => ({ text: text.getAttribute("aria-label") ?? text.textContent, box: text.getBoundingClientRect() }))
      .filter(({ box }) => box.width > 0);
    labels.forEach(({ text, box }, index) => {
      if (box.left < -1 || box.right > wide + 1) complaints.add(`the label "${text}" is cut in ${chart}`);
      for (const other of labels.slice(index + 1)) {
        const across = box.left < other.box.right - 1 && other.box.left < box.right - 1;
        const down = box.top < other.box.bottom - 2 && other.box.top < box.bottom - 2;
        if (across && down) complaints.add(`the labels "${text}" and "${other.text}" overlap in ${chart}`);
      }
    });
  }
  for (const links of document.querySelectorAll(".links")) {
    const scrolls = !printed && links.scrollWidth > links.clientWidth + 1;
    if (scrolls && getComputedStyle(links).maskImage === "none") complaints.add("nothing shows that the navigation scrolls");
  }
  // A link leads somewhere, and behind "Data" there is some. Files next to the page are looked for outside the browser.
  for (const link of document.querySelectorAll('a[href^="#"]')) {
    const id = decodeURIComponent(link.hash.slice(1));
    const targets = document.querySelectorAll(`[id="${CSS.escape(id)}"]`).length;
    if (targets !== 1) complaints.add(`${targets} elements have the id of the link #${id} "${link.textContent.trim()}"`);
  }
  for (const data of document.querySelectorAll("details.data")) {
    const chart = data.parentElement.querySelector("figcaption")?.textContent;
    if (!data.querySelector("th")?.textContent || !data.querySelector("td")?.textContent) complaints.add(`no data of ${chart}`);
  }
  // The zoom by keys: what is shown changes, and comes back.
  for (const bar of document.querySelectorAll(".zoom")) {
    const spans = () => [...bar.parentElement.querySelectorAll("rect")].map((rect) => rect.getAttribute("x") + rect.style.display);
    const key = (key) => bar.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    const [whole, name] = [spans().join(), bar.getAttribute("aria-label")];
    key("+");
    if (spans().join() === whole && whole !== "") complaints.add(`${name}: nothing moved`);
    if (!/ to /.test(bar.textContent)) complaints.add(`${name}: the time shown is not said`);
    key("0");
    if (spans().join() !== whole) complaints.add(`${name}: not all is back`);
  }
  const runOnly = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
  const { violations, passes } = await axe.run(document, { runOnly });
  for (const { id, help, nodes } of violations) {
    complaints.add(`${id}: ${help} (${nodes.length} times, such as ${nodes[0].html.slice(0, 200)})`);
  }
  parent.postMessage({ complaints: [...complaints], rules: passes.length, wide }, "*");
});
