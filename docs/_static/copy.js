// A button on each box of code. What is copied can be pasted and run: no prompt, and no line of output.
"use strict";

function commandsOf(box) {
  const lines = box.textContent.replace(/\n$/, "").split("\n");
  const prompted = lines.filter((line) => /^(\$|>>>|\.\.\.) /.test(line));
  // a box without a prompt is copied whole
  return (prompted.length ? prompted : lines)
    .map((line) => (prompted.length ? line.replace(/^(\$|>>>|\.\.\.) /, "") : line))
    .join("\n");
}

function addButton(box) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.setAttribute("aria-live", "polite");
  button.addEventListener("click", () => {
    navigator.clipboard.writeText(commandsOf(box)).then(
      () => { button.textContent = "Copied"; },
      () => { button.textContent = "Select and copy"; }
    ).finally(() => setTimeout(() => { button.textContent = "Copy"; }, 1500));
  });
  box.parentElement.classList.add("copied");
  box.parentElement.append(button);
}

// Output is read, not copied; what scrolls is within reach of the keyboard.
document.querySelectorAll("div.highlight-python pre, div.highlight-console pre, div.highlight-toml pre, div.highlight-yaml pre, div.highlight-bash pre")
  .forEach(addButton);
document.querySelectorAll("div.highlight-text pre").forEach((box) => {
  // commands without their output
  if (/^(shiftmetrics|pip) /.test(box.textContent)) addButton(box);
});
document.querySelectorAll(".table-wrapper").forEach((box) => {
  box.tabIndex = 0;
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", "Table");
});
for (const [part, name] of [[".sidebar-drawer", "Site"], [".toc-drawer", "This page"]]) {
  document.querySelectorAll(part).forEach((box) => box.setAttribute("aria-label", name));
}
