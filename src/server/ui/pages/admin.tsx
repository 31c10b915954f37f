/** @jsxRuntime automatic @jsxImportSource hono/jsx */
import type { Permission } from "../../../shared/contract/permission.ts";
import { Page, type Visit } from "../shell.tsx";

/** The sections, in the order of their links; `needs` is what reading asks for. */
const SECTIONS: readonly { id: string; label: string; needs: Permission | null }[] = [
  { id: "users", label: "Users", needs: "user.read" },
  { id: "roles", label: "Roles", needs: "role.read" },
  { id: "projects", label: "Projects", needs: "project.read" },
  { id: "bundles", label: "Bundles", needs: "bundle.read" },
  { id: "settings", label: "Settings", needs: "setting.read" },
  { id: "secrets", label: "Secrets", needs: "secret.write" },
  { id: "tokens", label: "Login tokens", needs: null },
  { id: "audit", label: "Audit", needs: "audit.read" },
  { id: "import", label: "Import and export", needs: "webhook.read" },
];

export function AdminPage({ visit }: { visit: Visit }) {
  const shown = SECTIONS.filter(({ needs }) => needs === null || visit.allowed.includes(needs));
  const section = shown.find(({ id }) => id === visit.params["section"]) ?? shown[0];
  const params = { section: section?.id ?? "" };
  return (
    <Page visit={{ ...visit, params }} title={section?.label ?? "Administration"} module="admin">
      <div class="head">
        <h1>Administration</h1>
      </div>
      <nav class="tabs" aria-label="Administration">
        {shown.map(({ id, label }) => (
          <a
            href={`${visit.prefix}/ui/admin/${id}`}
            {...(id === section?.id ? { "aria-current": "page" as const } : {})}
          >
            {label}
          </a>
        ))}
      </nav>
      <div id="section"></div>
    </Page>
  );
}
