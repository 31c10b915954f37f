import type { Command } from "commander";
import { CommandError } from "./command-error.ts";
import { describeCommands, type CompletedCommand } from "./completed-command.ts";

/** Scripts for shells, made from the command table: nothing is started at a press of Tab. */

const SHELLS: Readonly<Record<string, (commands: readonly CompletedCommand[]) => string>> = {
  bash: toBash,
  zsh: toZsh,
  fish: toFish,
};

/** @throws CommandError (usage) for another shell */
export function printCompletion(program: Command, shell: string): void {
  const print = SHELLS[shell];
  if (print === undefined)
    throw new CommandError(
      `Found "${shell}", expected one of ${Object.keys(SHELLS).join(", ")}`,
      2,
    );
  process.stdout.write(print(describeCommands(program)));
}

function toBash(commands: readonly CompletedCommand[]): string {
  const cases = commands.map(({ path, words, options, takesFile }) => {
    const all = [...words, ...options.map(({ flag }) => flag)].join(" ");
    return `  ${quote(path)}) words=${quote(all)} files=${takesFile ? "yes" : ""} ;;\n`;
  });
  return `# bash completion of flowhook: source <(flowhook completion bash)
_flowhook() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD - 1]}"
  local path="" next words="" files="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    next="\${path:+$path }\${COMP_WORDS[i]}"
    case "$next" in
    ${pathsOf(commands).map(quote).join(" | ")}) path="$next" ;;
    esac
  done
  case "$path" in
${cases.join("")}  esac
  COMPREPLY=()
  case "$before" in
  ${flagsOf(commands, "file")}) files=yes words="" ;;
  ${flagsOf(commands, "value")}) return ;;
  esac
  [[ -n $words ]] && COMPREPLY=($(compgen -W "$words" -- "$word"))
  [[ -n $files && $word != -* ]] && COMPREPLY+=($(compgen -f -- "$word"))
  return 0
}
complete -o filenames -F _flowhook flowhook
`;
}

function pathsOf(commands: readonly CompletedCommand[]): string[] {
  return commands.map(({ path }) => path).filter((path) => path !== "");
}

/** A pattern of a `case`. */
function flagsOf(commands: readonly CompletedCommand[], takes: "file" | "value"): string {
  const found = commands.flatMap(({ options }) => options.filter((one) => one.takes === takes));
  const flags = [...new Set(found.map(({ flag }) => flag))];
  return flags.join(" | ");
}

function toZsh(commands: readonly CompletedCommand[]): string {
  const cases = commands.map(({ path, words, summaries, options, takesFile }) => {
    const named = words.map((word) => quote(`${word}:${summaries[word] ?? ""}`));
    const flags = options.map(({ flag, summary }) => quote(`${flag}:${summary}`));
    const files = takesFile ? "\n      _files" : "";
    return `    ${quote(path)})
      described=(${[...named, ...flags].join(" ")})
      _describe -- flowhook described${files} ;;\n`;
  });
  return `#compdef flowhook
# zsh completion of flowhook: source <(flowhook completion zsh)
_flowhook() {
  local found="" next i
  local -a described
  for ((i = 2; i < CURRENT; i++)); do
    next="\${found:+$found }\${words[i]}"
    case "$next" in
    ${pathsOf(commands).map(quote).join(" | ")}) found="$next" ;;
    esac
  done
  case "\${words[CURRENT-1]}" in
  ${flagsOf(commands, "file")}) _files; return ;;
  ${flagsOf(commands, "value")}) return ;;
  esac
  case "$found" in
${cases.join("")}  esac
}
if [ "$funcstack[1]" = "_flowhook" ]; then _flowhook "$@"; else compdef _flowhook flowhook; fi
`;
}

function toFish(commands: readonly CompletedCommand[]): string {
  const lines = commands.flatMap(({ path, words, summaries, options, takesFile }) => {
    const at = `complete -c flowhook -n ${quote(`__flowhook_at ${path === "" ? "''" : quote(path)}`)}`;
    return [
      ...words.map((word) => `${at} -a ${quote(word)} -d ${quote(summaries[word] ?? "")}`),
      ...options.map(({ flag, summary, takes }) => {
        const value = takes === "none" ? "" : takes === "file" ? " -r -F" : " -x";
        const name = flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`;
        return `${at} ${name}${value} -d ${quote(summary)}`;
      }),
      ...(takesFile ? [`${at} -F`] : []),
    ];
  });
  return `# fish completion of flowhook: flowhook completion fish | source
function __flowhook_at
  set -l found ''
  for word in (commandline -opc)[2..-1]
    set -l next (string trim "$found $word")
    contains -- "$next" ${pathsOf(commands).map(quote).join(" ")}; and set found "$next"
  end
  test "$found" = "$argv[1]"
end
complete -c flowhook -f
${lines.join("\n")}
`;
}

/** A word of any of the three shells. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
