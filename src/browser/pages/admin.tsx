import { PageHead } from "../head.tsx";
import { useEffect, type Child } from "hono/jsx/dom";
import { ADMIN_SECTIONS } from "../../shared/admin-sections.ts";
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

const CONTENTS: Readonly<Record<(typeof ADMIN_SECTIONS)[number]["id"], () => Child>> = {
  users: Users,
  roles: Roles,
  projects: Projects,
  bundles: Bundles,
  settings: Settings,
  secrets: Secrets,
  tokens: Tokens,
  audit: Audit,
  configuration: ConfigurationKeys,
  system: System,
  import: Import,
};

start(async () => <AdminPage />);

function AdminPage() {
  const shown = ADMIN_SECTIONS.filter(({ needs }) => needs === null || may(needs));
  const wanted = PARAMS["section"] ?? shown[0]?.id;
  const section = shown.find(({ id }) => id === wanted);
  const Content = section === undefined ? Refused : CONTENTS[section.id];
  useEffect(() => {
    nameDocument(section?.label ?? "Administration");
  }, []);
  return (
    <>
      <PageHead title="Administration" />
      <nav class="tabs" aria-label="Administration">
        {shown.map(({ id, label }) => (
          <a href={pagePath("admin", id)} aria-current={id === wanted ? "page" : undefined}>
            {label}
          </a>
        ))}
      </nav>
      <Content />
    </>
  );
}

function Refused() {
  return <p>Your roles do not show this section.</p>;
}
