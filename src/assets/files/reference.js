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
});
