import type { Command } from './command.ts';

/** What is known of a command without loading it: enough for the lists of help and for completions. */
export interface ManifestEntry {
  readonly name: string;
  readonly summary: string;
  readonly hidden?: true;
  readonly load: () => Promise<Command>;
}

export type Manifest = readonly ManifestEntry[];

export interface FoundCommand {
  readonly entry: ManifestEntry;
  /** The words after the command's name. */
  readonly words: readonly string[];
}

/** Names that people type out of habit. */
const aliases: Readonly<Record<string, string>> = { ls: 'list', rm: 'delete' };

/** The command whose name is the longest beginning of the words; `ls` is understood as `list`. */
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

/** The commands below a noun, for its help: `rental`, `admin node`. */
export function commandsUnder(manifest: Manifest, noun: string): Manifest {
  return manifest.filter(({ name }) => name.startsWith(`${noun} `));
}

/** The longest beginning of the words below which there are commands. */
export function findNoun(manifest: Manifest, words: readonly string[]): string | undefined {
  for (let length = Math.min(3, words.length); length > 0; length -= 1) {
    const noun = words.slice(0, length).join(' ');
    if (commandsUnder(manifest, noun).length > 0) return noun;
  }
  return undefined;
}
