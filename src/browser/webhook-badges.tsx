import type { Webhook } from "./resources.ts";
import { Badge, EnabledBadge } from "./status.tsx";

/** The state of a webhook: whether it is enabled, and whether it is in development. */
export function WebhookBadges({ webhook }: { webhook: Webhook }) {
  const { is_enabled, is_productive } = webhook;
  return (
    <span class="badges">
      <EnabledBadge isEnabled={is_enabled} />
      {is_productive ? null : <Badge label="Development" state="busy" />}
    </span>
  );
}
