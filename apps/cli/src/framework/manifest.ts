import type { Command } from './command.ts';

/** A command without its code: enough for help lists and completions. */
export interface ManifestEntry {
  readonly name: string;
  readonly summary: string;
  readonly hidden?: true;
  readonly load: () => Promise<Command>;
}

export type Manifest = readonly ManifestEntry[];

export interface FoundCommand {
  readonly entry: ManifestEntry;
  /** The arguments after the name of the command. */
  readonly words: readonly string[];
}

/** Usual short names of other tools. */
const aliases: Readonly<Record<string, string>> = { ls: 'list', rm: 'delete' };

/** The command with the longest name that the arguments start with; `ls` means `list`. */
export function findCommand(manifest: Manifest, words: readonly string[]): FoundCommand | undefined {
  for (let length = Math.min(4, words.length); length > 0; length -= 1) {
    const typed = words.slice(0, length);
    const last = typed.at(-1) ?? '';
    const fullName = [...typed.slice(0, -1), aliases[last] ?? last].join(' ');
    const entry =
      manifest.find(({ name }) => name === typed.join(' ')) ?? manifest.find(({ name }) => name === fullName);
    if (entry !== undefined) return { entry, words: words.slice(length) };
  }
  return undefined;
}

/** The commands of a noun: `rental`, `admin node`. */
export function commandsUnder(manifest: Manifest, noun: string): Manifest {
  return manifest.filter(({ name }) => name.startsWith(`${noun} `));
}

/** The longest noun with commands that the arguments start with. */
export function findNoun(manifest: Manifest, words: readonly string[]): string | undefined {
  for (let length = Math.min(3, words.length); length > 0; length -= 1) {
    const noun = words.slice(0, length).join(' ');
    if (commandsUnder(manifest, noun).length > 0) return noun;
  }
  return undefined;
}
