// The theme that was chosen in the user interface, or that of the browser.
const chosen = /(?:^|;\s*)flowhook-theme=(light|dark)/.exec(document.cookie)?.[1];
const dark = matchMedia("(prefers-color-scheme: dark)");

function show() {
  const isDark = chosen === undefined ? dark.matches : chosen === "dark";
  document.documentElement.classList.toggle("dark-mode", isDark);
}

dark.addEventListener("change", show);
show();

SwaggerUIBundle({
  url: "./openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
  // Of its themes the one whose colours stand out enough in both looks.
  syntaxHighlight: { theme: "tomorrow-night" },
  onComplete: mend,
});

// Names that its markup lacks; a section with a name is a landmark.
const NAMES = {
  ".information-container section": "About the API",
  ".scheme-container section": "Server and login",
  "section.models": "Schemas",
  "#servers": "Server",
};

function mend() {
  for (const [selector, name] of Object.entries(NAMES))
    document.querySelector(`.swagger-ui ${selector}`)?.setAttribute("aria-label", name);
}
