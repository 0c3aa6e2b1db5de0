import type { Command, Flag, Flags } from './command.ts';
import { exitCodeMeanings } from './exit-codes.ts';
import { commandsUnder, type Manifest } from './manifest.ts';
import { nounGroups, nounSummary } from './nouns.ts';
import { globalFlags, placeholder } from './parse.ts';
import { wrap } from './text.ts';

const WIDTH = 100;

const section = (title: string, lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [] : [title, ...lines, ''];

/** Two columns: a term and its wrapped explanation. */
function definitionList(rows: readonly (readonly [string, string])[], most = 30): readonly string[] {
  const width = Math.min(most, Math.max(0, ...rows.map(([term]) => term.length)));
  return rows.flatMap(([term, text]) => {
    const lines = wrap(text, WIDTH - width - 4);
    const indent = ' '.repeat(width + 4);
    const [first = '', ...more] = lines;
    const head =
      term.length > width
        ? [`  ${term}`, `${indent}${first}`]
        : [`  ${term.padEnd(width)}  ${first}`.trimEnd()];
    return [...head, ...more.map((line) => `${indent}${line}`)];
  });
}

function flagTerm(name: string, flag: Flag): string {
  const short = flag.short === undefined ? '' : `-${flag.short}, `;
  return flag.type === 'boolean' ? `${short}--${name}` : `${short}--${name} ${flag.value}`;
}

function flagText(flag: Flag): string {
  const notes = [
    ...('choices' in flag && flag.choices !== undefined ? [flag.choices.join(', ')] : []),
    ...('default' in flag && flag.default !== undefined ? [`default ${String(flag.default)}`] : []),
    ...(flag.type === 'list' ? ['may be repeated'] : []),
    ...('required' in flag && flag.required === true ? ['required'] : []),
  ];
  return notes.length === 0 ? flag.describe : `${flag.describe} (${notes.join('; ')})`;
}

function flagRows(flags: Flags): readonly (readonly [string, string])[] {
  return Object.entries(flags).map(([name, flag]) => [flagTerm(name, flag), flagText(flag)]);
}

export function usageLine(command: Command): string {
  const positionals = command.positionals.map((positional) => {
    const shown = `${placeholder(positional)}${positional.many === true ? '...' : ''}`;
    return positional.optional === true ? `[${shown}]` : shown;
  });
  const needed = Object.entries(command.flags)
    .filter(([, flag]) => 'required' in flag && flag.required === true)
    .map(([name, flag]) => flagTerm(name, flag).replace(/^-., /, ''));
  const hasMore = Object.keys(command.flags).length > needed.length;
  return ['millrace', command.name, ...positionals, ...needed, ...(hasMore ? ['[flags]'] : [])]
    .concat(command.rest === undefined ? [] : [`[-- ${command.rest}]`])
    .join(' ');
}

function jsonLines(command: Command): readonly string[] {
  const { json } = command;
  switch (json.kind) {
    case 'none':
      return [];
    case 'any':
      return ['  The response of the API, unchanged.'];
    case 'list':
    case 'record':
    case 'lines': {
      const form = {
        list: 'An array of objects with',
        record: 'An object with',
        lines: 'One object per line with',
      }[json.kind];
      return wrap(`${form} ${json.fields.join(', ')}.`, WIDTH - 2).map((line) => `  ${line}`);
    }
  }
}

export function commandHelp(command: Command): string {
  const examples = Object.entries(command.examples).flatMap(([line, about]) => [`  # ${about}`, `  ${line}`]);
  return [
    `${command.summary}.`,
    '',
    ...(command.description === undefined ? [] : [...wrap(command.description, WIDTH), '']),
    ...section('Usage', [`  ${usageLine(command)}`]),
    ...section(
      'Arguments',
      definitionList(
        command.positionals.map((each) => [
          placeholder(each),
          each.choices === undefined ? each.describe : `${each.describe} (${each.choices.join(', ')})`,
        ]),
      ),
    ),
    ...section('Flags', definitionList(flagRows(command.flags))),
    ...section('Examples', examples),
    ...section('With --json', jsonLines(command)),
    'Flags of every command: millrace help flags',
    '',
  ].join('\n');
}

export function nounHelp(manifest: Manifest, noun: string): string {
  const all = commandsUnder(manifest, noun).filter(({ hidden }) => hidden !== true);
  const own = manifest.find(({ name }) => name === noun);
  const rows = [...(own === undefined ? [] : [own]), ...all].map(
    ({ name, summary }) => [name, summary] as const,
  );
  return [
    `${nounSummary(noun) ?? own?.summary ?? `Commands of ${noun}`}.`,
    '',
    ...section('Commands', definitionList(rows, 44)),
    `More about a command: millrace ${rows[0]?.[0] ?? noun} --help`,
    '',
  ].join('\n');
}

export function rootHelp(): string {
  return [
    'Rent GPUs, run models, and see what they cost.',
    '',
    ...section('Usage', ['  millrace COMMAND [flags]']),
    ...nounGroups.flatMap(({ title, nouns }) => section(title, definitionList(Object.entries(nouns), 16))),
    ...section('Get started', [
      '  millrace login                     # sign in and save an API key',
      '  millrace offers                    # what you can rent now, with prices',
      '  millrace rental create --help      # every command has help with examples',
    ]),
    'More: millrace help flags, millrace help environment, millrace help exit-codes',
    '',
  ].join('\n');
}

/** Help pages that belong to no command. */
export const helpTopics: Readonly<Record<string, () => string>> = {
  flags: () =>
    [
      'Flags of every command.',
      '',
      ...section('Flags', definitionList(flagRows(globalFlags))),
      'Put them before or after the name of the command.',
      '',
    ].join('\n'),
  environment: () =>
    [
      'Environment variables. They override the profile; flags override them.',
      '',
      ...section(
        'Variables',
        definitionList([
          ['MILLRACE_API_KEY', 'the API key; no login needed'],
          ['MILLRACE_API_URL', 'the address of the API'],
          ['MILLRACE_INFERENCE_URL', 'the address of the inference gateway, if it differs'],
          ['MILLRACE_PROFILE', 'the profile to use'],
          ['MILLRACE_WEBHOOK_SECRET', 'the secret with which `millrace webhook listen` signs'],
          ['NO_COLOR', 'any value disables colours'],
        ]),
      ),
      'The key of a profile is sent only to the address of that profile.',
      '',
    ].join('\n'),
  'exit-codes': () =>
    [
      'Exit codes for scripts.',
      '',
      ...section(
        'Exit codes',
        definitionList(exitCodeMeanings.map(({ code, meaning }) => [String(code), meaning] as const)),
      ),
      'millrace ssh exits with the exit code of ssh.',
      '',
    ].join('\n'),
};
