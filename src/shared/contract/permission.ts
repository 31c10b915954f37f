/** Every permission that a role can have, besides `*` and `<resource>.*`. */
export const PERMISSIONS = [
  "webhook.read",
  "webhook.write",
  "webhook.authenticate",
  "execution.read",
  "execution.start",
  "execution.cancel",
  "flow.read",
  "flow.reload",
  "project.read",
  "project.write",
  "bundle.read",
  "role.read",
  "role.write",
  "user.read",
  "user.write",
  "setting.read",
  "setting.write",
  "secret.use",
  "secret.write",
  "audit.read",
  "config.read",
  "workspace.read",
] as const;

export type Permission = (typeof PERMISSIONS)[number];

/** One line of a role. */
export interface Grant {
  /** A permission, `<resource>.*`, or `*`. */
  readonly permission: string;
  /** The only project it holds for; null: everywhere. */
  readonly project_id: string | null;
}
