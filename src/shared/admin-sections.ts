import type { Permission } from "./contract/permission.ts";

interface AdminSection {
  /** The last segment of its path. */
  readonly id: string;
  readonly label: string;
  /** What reading it asks for; null: everybody has login tokens, which the account shows too. */
  readonly needs: Permission | null;
}

/** The sections of the administration, in the order of their links. */
export const ADMIN_SECTIONS = [
  { id: "users", label: "Users", needs: "user.read" },
  { id: "roles", label: "Roles", needs: "role.read" },
  { id: "projects", label: "Projects", needs: "project.read" },
  { id: "bundles", label: "Bundles", needs: "bundle.read" },
  { id: "settings", label: "Settings", needs: "setting.read" },
  { id: "secrets", label: "Secrets", needs: "secret.write" },
  { id: "tokens", label: "Login tokens", needs: null },
  { id: "audit", label: "Audit", needs: "audit.read" },
  { id: "configuration", label: "Configuration", needs: "config.read" },
  { id: "system", label: "System", needs: "workspace.read" },
  { id: "import", label: "Import and export", needs: "webhook.read" },
] as const satisfies readonly AdminSection[];
