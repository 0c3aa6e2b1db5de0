import { readdir } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Command } from '../src/framework/command.ts';

export const source = join(import.meta.dirname, '..', 'src');

export interface HandWrittenCommand {
  readonly command: Command;
  /** Relative to src/, with slashes. */
  readonly path: string;
}

/** All hand-written commands: one file each, with the name of the command. */
export async function handWrittenCommands(): Promise<readonly HandWrittenCommand[]> {
  const directory = join(source, 'commands');
  const names = await readdir(directory, { recursive: true });
  const files = names
    .filter((name) => name.endsWith('.ts') && !/[.](?:test|fixture)[.]ts$/.test(name))
    .toSorted();
  return Promise.all(
    files.map(async (name) => {
      const path = join(directory, name);
      const module = (await import(pathToFileURL(path).href)) as { readonly command?: Command };
      if (module.command === undefined) {
        throw new Error(`${path} exports no command. Put shared code beside the folder commands.`);
      }
      const expected = relative(directory, path)
        .replace(/[.]ts$/, '')
        .split(sep)
        .join(' ');
      if (module.command.name !== expected) {
        throw new Error(`${path} defines "${module.command.name}", but its path says "${expected}".`);
      }
      return { command: module.command, path: `./${relative(source, path).split(sep).join('/')}` };
    }),
  );
}

/** A command that is generated from an operation. */
export interface GeneratedCommandEntry {
  readonly name: string;
  readonly summary: string;
  readonly operation: string;
  readonly hidden?: true;
}

export function manifestText(
  handMade: readonly HandWrittenCommand[],
  generated: readonly GeneratedCommandEntry[],
): string {
  const entries = [
    ...handMade.map(({ command, path }) => ({
      name: command.name,
      summary: command.summary,
      hidden: command.hidden,
      load: `() => import('${path}').then((module) => module.command)`,
    })),
    ...generated.map(({ name, summary, operation, hidden }) => ({
      name,
      summary,
      hidden,
      load: `() => generated('${operation}')`,
    })),
  ].toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const lines = entries.flatMap(({ name, summary, hidden, load }) => [
    '  {',
    `    name: ${quoted(name)},`,
    `    summary: ${quoted(summary)},`,
    ...(hidden === true ? ['    hidden: true,'] : []),
    `    load: ${load},`,
    '  },',
  ]);
  const loader = [
    'const generated = async (operation: string): Promise<Command> =>',
    "  (await import('./generated/build.ts')).generatedCommand(operation);",
    '',
  ];
  return [
    '// Written by `npm run cli:generate` from src/commands and the contract. Do not edit.',
    ...(generated.length === 0 ? [] : ["import type { Command } from './framework/command.ts';"]),
    "import type { Manifest } from './framework/manifest.ts';",
    '',
    ...(generated.length === 0 ? [] : loader),
    'export const manifest: Manifest = [',
    ...lines,
    '];',
    '',
  ].join('\n');
}

export function quoted(text: string): string {
  return text.includes("'") ? JSON.stringify(text) : `'${text}'`;
}
