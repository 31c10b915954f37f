import { PageHead } from "../head.tsx";
import { useEffect, type Child } from "hono/jsx/dom";
import type { Permission } from "../../shared/contract/permission.ts";
import { Audit } from "../admin/audit.tsx";
import { Bundles } from "../admin/bundles.tsx";
import { ConfigurationKeys } from "../admin/configuration.tsx";
import { Import } from "../admin/import.tsx";
import { Projects, Secrets, Settings } from "../admin/named.tsx";
import { Roles } from "../admin/roles.tsx";
import { System } from "../admin/system.tsx";
import { Tokens } from "../admin/tokens.tsx";
import { Users } from "../admin/users.tsx";
import { may, PARAMS, pagePath } from "../page.ts";
import { nameDocument, start } from "../start.tsx";

/** The sections, in the order of their links; `needs` is what reading asks for. */
const SECTIONS: readonly {
  readonly id: string;
  readonly label: string;
  readonly needs: Permission | null;
  readonly Content: () => Child;
}[] = [
  { id: "users", label: "Users", needs: "user.read", Content: Users },
  { id: "roles", label: "Roles", needs: "role.read", Content: Roles },
  { id: "projects", label: "Projects", needs: "project.read", Content: Projects },
  { id: "bundles", label: "Bundles", needs: "bundle.read", Content: Bundles },
  { id: "settings", label: "Settings", needs: "setting.read", Content: Settings },
  { id: "secrets", label: "Secrets", needs: "secret.write", Content: Secrets },
  { id: "tokens", label: "Login tokens", needs: null, Content: Tokens },
  { id: "audit", label: "Audit", needs: "audit.read", Content: Audit },
  {
    id: "configuration",
    label: "Configuration",
    needs: "config.read",
    Content: ConfigurationKeys,
  },
  { id: "system", label: "System", needs: "workspace.read", Content: System },
  { id: "import", label: "Import and export", needs: "webhook.read", Content: Import },
];

start(async () => <AdminPage />);

function AdminPage() {
  const shown = SECTIONS.filter(({ needs }) => needs === null || may(needs));
  const section = shown.find(({ id }) => id === PARAMS["section"]) ?? shown[0];
  useEffect(() => {
    nameDocument(section?.label ?? "Administration");
  }, []);
  return (
    <>
      <PageHead title="Administration" />
      <nav class="tabs" aria-label="Administration">
        {shown.map(({ id, label }) => (
          <a href={pagePath("admin", id)} aria-current={id === section?.id ? "page" : undefined}>
            {label}
          </a>
        ))}
      </nav>
      {section === undefined ? null : <section.Content />}
    </>
  );
}
