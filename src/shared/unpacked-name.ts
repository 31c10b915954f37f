/**
 * Whether a name in DATA_DIR/runtime is one of those that the program gives there: of the folder of
 * a version, or of one that is being written.
 */
export function isUnpackedName(name: string): boolean {
  return /^(\.unpack-.+|\d+\.\d+\.\d+.*-[0-9a-f]{16})$/.test(name);
}
