/* Sets every formula of a page, which Arithmatex has left as \(…\) or \[…\]. */
for (const place of document.querySelectorAll(".arithmatex")) {
  const text = place.textContent.trim();
  katex.render(text.slice(2, -2), place, {
    displayMode: text.startsWith("\\["),
    throwOnError: false,
  });
}
