import { showAudit } from "../admin/audit.ts";
import { showBundles } from "../admin/bundles.ts";
import { showImport } from "../admin/import.ts";
import { showProjects, showSecrets, showSettings } from "../admin/named.ts";
import { showRoles } from "../admin/roles.ts";
import { showTokens } from "../admin/tokens.ts";
import { showUsers } from "../admin/users.ts";
import { need } from "../element.ts";
import { PARAMS } from "../page.ts";
import { start } from "../start.ts";

const SECTIONS: Readonly<Record<string, (place: HTMLElement) => Promise<void>>> = {
  users: showUsers,
  roles: showRoles,
  projects: showProjects,
  bundles: showBundles,
  settings: showSettings,
  secrets: showSecrets,
  tokens: showTokens,
  audit: showAudit,
  import: showImport,
};

start(async () => {
  need(".tabs [aria-current]", HTMLElement).scrollIntoView({ inline: "center", block: "nearest" });
  await SECTIONS[PARAMS["section"] ?? ""]?.(need("#section", HTMLElement));
});
