import type { Command } from "commander";
import { CommandError } from "./command-error.ts";
import {
  describeCommands,
  type CompletedCommand,
  type CompletedOption,
} from "./completed-command.ts";

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

/** For bash 3.2 as well, which macOS has. Words are parted by line breaks: names of files have blanks. */
function toBash(commands: readonly CompletedCommand[]): string {
  const cases = commands.map(({ path, words, options, takesFile }) => {
    const all = [...words, ...options.map(({ flag }) => flag)].join("\n");
    const values = toCases(options, {
      file: "words= files=yes",
      known: (known) => `files= words=${quote(known.join("\n"))}`,
      unknown: "return 0",
    });
    return `  ${quote(path)}) words=${quote(all)} files=${takesFile ? "yes" : ""}\n    case "$before" in\n${values}    esac ;;\n`;
  });
  return `# bash completion of flowhook: eval "$(flowhook completion bash)"
_flowhook() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD - 1]}"
  local path="" next words="" files="" i IFS=$'\\n'
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    next="\${path:+$path }\${COMP_WORDS[i]}"
    case "$next" in
    ${pathsOf(commands).map(quote).join(" | ")}) path="$next" ;;
    esac
  done
  # --option=value is three words.
  if [[ $word == "=" ]]; then word="";
  elif [[ $before == "=" ]]; then before="\${COMP_WORDS[COMP_CWORD - 2]}"; fi
  case "$path" in
${cases.join("")}  esac
  while read -r next; do
    [[ -n $next ]] && COMPREPLY[\${#COMPREPLY[@]}]="$next"
  done <<< "$([[ -n $words ]] && compgen -W "$words" -- "$word"
    [[ -n $files && $word != -* ]] && compgen -f -- "$word")"
  return 0
}
complete -o filenames -F _flowhook flowhook
`;
}

function pathsOf(commands: readonly CompletedCommand[]): string[] {
  return commands.map(({ path }) => path).filter((path) => path !== "");
}

/** What is done after an option that takes a value, for a `case`. */
interface AfterOption {
  readonly file: string;
  readonly known: (values: readonly string[]) => string;
  readonly unknown: string;
}

function toCases(options: readonly CompletedOption[], after: AfterOption): string {
  const taking = options.filter(({ takes }) => takes !== "none");
  return taking
    .map(({ flag, takes, values }) => {
      const known = values.length > 0 ? after.known(values) : after.unknown;
      return `    ${flag}) ${takes === "file" ? after.file : known} ;;\n`;
    })
    .join("");
}

function toZsh(commands: readonly CompletedCommand[]): string {
  const cases = commands.map(({ path, words, summaries, options, takesFile }) => {
    const named = words.map((word) => quote(`${word}:${summaries[word] ?? ""}`));
    const flags = options.map(({ flag, summary }) => quote(`${flag}:${summary}`));
    const files = takesFile ? "\n      _files" : "";
    const values = toCases(options, {
      file: "_files; return",
      known: (known) => `compadd -- ${known.map(quote).join(" ")}; return`,
      unknown: "return",
    });
    return `    ${quote(path)})
      case "$before" in
${values}      esac
      described=(${[...named, ...flags].join(" ")})
      _describe -- flowhook described${files} ;;\n`;
  });
  return `#compdef flowhook
# zsh completion of flowhook: source <(flowhook completion zsh)
_flowhook() {
  local found="" next i before="\${words[CURRENT-1]}"
  local -a described
  for ((i = 2; i < CURRENT; i++)); do
    next="\${found:+$found }\${words[i]}"
    case "$next" in
    ${pathsOf(commands).map(quote).join(" | ")}) found="$next" ;;
    esac
  done
  if [[ "\${words[CURRENT]}" == --*=* ]]; then
    before="\${words[CURRENT]%%=*}"
    compset -P 1 '*='
  fi
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
      ...options.map((option) => `${at} ${toFishOption(option)}`),
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

function toFishOption({ flag, summary, takes, values }: CompletedOption): string {
  const name = flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`;
  const known = values.length > 0 ? ` -a ${quote(values.join(" "))}` : "";
  const value = takes === "none" ? "" : takes === "file" ? " -r -F" : ` -x${known}`;
  return `${name}${value} -d ${quote(summary)}`;
}

/** A word of any of the three shells. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
