import type { Permission } from "./contract/permission.ts";

interface AdminSection {
  /** The last segment of its path. */
  readonly id: string;
  readonly label: string;
  /** What reading it asks for; null: everybody has login tokens, which the account shows too. */
  readonly needs: Permission | null;
}

/**
 * The sections of the administration, in the order of their links: first what authors of flows use
 * each day. The first one that somebody may see is shown first.
 */
export const ADMIN_SECTIONS = [
  { id: "secrets", label: "Secrets", needs: "secret.write" },
  { id: "settings", label: "Settings", needs: "setting.read" },
  { id: "projects", label: "Projects", needs: "project.read" },
  { id: "bundles", label: "Bundles", needs: "bundle.read" },
  { id: "users", label: "Users", needs: "user.read" },
  { id: "roles", label: "Roles", needs: "role.read" },
  { id: "tokens", label: "Tokens", needs: null },
  { id: "audit", label: "Audit", needs: "audit.read" },
  { id: "configuration", label: "Configuration", needs: "config.read" },
  { id: "system", label: "System", needs: "workspace.read" },
  { id: "import", label: "Import, export", needs: "webhook.read" },
] as const satisfies readonly AdminSection[];
