import type { Command } from '../framework/command.ts';
import { helpTopics } from '../framework/help.ts';
import { findCommand, type Manifest } from '../framework/manifest.ts';
import { nounSummary } from '../framework/nouns.ts';
import { globalFlags, splitArguments } from '../framework/parse.ts';

export interface Candidate {
  readonly word: string;
  readonly about: string;
}

/** Candidates for the last word, which may be partial. Loads only the typed command; makes no network call. */
export async function completionCandidates(
  manifest: Manifest,
  words: readonly string[],
): Promise<readonly Candidate[]> {
  const typed = words.at(-1) ?? '';
  const { after } = splitArguments(words.slice(0, -1));
  if (after[0] === 'help') return helpCandidates(manifest, after.slice(1)).filter(beginsWith(typed));
  const found = findCommand(manifest, after);
  const command = found === undefined ? undefined : await found.entry.load();
  return [
    ...valuesOfFlag(command, words.at(-2)),
    ...(expectsFlagValue(command, words.at(-2))
      ? []
      : argumentCandidates(manifest, command, { after, typed })),
  ].filter(beginsWith(typed));
}

const beginsWith =
  (typed: string) =>
  ({ word }: Candidate): boolean =>
    word.startsWith(typed);

/** Candidates after `millrace help`: names of commands, and first the help topics. */
function helpCandidates(manifest: Manifest, after: readonly string[]): readonly Candidate[] {
  const topics =
    after.length > 0 ? [] : Object.keys(helpTopics).map((word) => ({ word, about: 'A help topic' }));
  return [...nextWords(manifest, after), ...topics].filter(({ word }) => word !== 'help');
}

function argumentCandidates(
  manifest: Manifest,
  command: Command | undefined,
  { after, typed }: { readonly after: readonly string[]; readonly typed: string },
): readonly Candidate[] {
  if (typed.startsWith('-')) return flagsOf(command);
  const next = nextWords(manifest, after);
  if (command === undefined || next.length > 0) return next;
  const given = after.slice(command.name.split(' ').length).filter((word) => !word.startsWith('-'));
  const position = command.positionals[Math.min(given.length, command.positionals.length - 1)];
  return (position?.choices ?? []).map((word) => ({ word, about: '' }));
}

/** The next words: first nouns, then their commands. */
function nextWords(manifest: Manifest, after: readonly string[]): readonly Candidate[] {
  const prefix = after.length === 0 ? '' : `${after.join(' ')} `;
  const below = manifest.filter(({ name, hidden }) => hidden !== true && `${name} `.startsWith(prefix));
  const words = new Map<string, string>();
  for (const { name, summary } of below) {
    const [word, ...more] = name.slice(prefix.length).split(' ');
    if (word === undefined || word === '' || name.length < prefix.length) continue;
    // A word with several commands gets the summary of its noun.
    if (more.length === 0) words.set(word, summary);
    else if (!words.has(word)) words.set(word, nounSummary(`${prefix}${word}`) ?? '');
  }
  if (prefix === '') words.set('help', 'Help on a command or a topic');
  return [...words].map(([word, about]) => ({ word, about }));
}

function flagsOf(command: Command | undefined): readonly Candidate[] {
  return Object.entries({ ...command?.flags, ...globalFlags }).map(([name, { describe }]) => ({
    word: `--${name}`,
    about: describe,
  }));
}

function flagNamed(command: Command | undefined, word: string | undefined) {
  const all = Object.entries({ ...command?.flags, ...globalFlags });
  return all.find(
    ([name, flag]) => word === `--${name}` || ('short' in flag && word === `-${String(flag.short)}`),
  )?.[1];
}

function expectsFlagValue(command: Command | undefined, before: string | undefined): boolean {
  const flag = flagNamed(command, before);
  return flag !== undefined && flag.type !== 'boolean';
}

function valuesOfFlag(command: Command | undefined, before: string | undefined): readonly Candidate[] {
  const flag = flagNamed(command, before);
  return flag !== undefined && 'choices' in flag && flag.choices !== undefined
    ? flag.choices.map((word) => ({ word, about: '' }))
    : [];
}
