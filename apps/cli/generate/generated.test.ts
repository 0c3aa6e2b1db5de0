import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { contract, errorRegistry, operationsOf } from '@millrace/contract';
import { expect, it } from 'vitest';
import { adviceByReason } from '../src/framework/advice.ts';
import type { Command } from '../src/framework/command.ts';
import { findCommand } from '../src/framework/manifest.ts';
import { nounGroups } from '../src/framework/nouns.ts';
import { globalFlags, parseArguments } from '../src/framework/parse.ts';
import { manifest } from '../src/manifest.generated.ts';
import { generatedFiles } from './files.ts';
import { generatedOperations } from './operations.ts';
import { source } from './manifest.ts';
import unreachable from './unreachable.json' with { type: 'json' };

const commands: readonly Command[] = await Promise.all(manifest.map(({ load }) => load()));

it('the generated files are up to date with the commands and the contract (npm run cli:generate)', async () => {
  for (const [path, text] of Object.entries(await generatedFiles())) {
    expect(await readFile(join(source, path), 'utf8'), path).toBe(text);
  }
});

it('every operation of the contract has a command', () => {
  const reached = new Set(commands.flatMap(({ operations }) => operations));
  // Operations of a user without an organisation need a session, and the CLI stores only keys.
  const missing = operationsOf(contract)
    .filter(({ auth }) => auth !== 'person')
    .map(({ id }) => id)
    .filter((id) => !reached.has(id));
  // The list must only shrink: listed operations must have no command.
  expect(missing.toSorted()).toEqual(Object.keys(unreachable).toSorted());
});

it('no flag takes a secret, because shell histories and process lists show command lines', () => {
  const isSecret = /secret|password|token$|api-?key|whsec/i;
  const taken = commands.flatMap(({ name, flags }) =>
    Object.entries(flags)
      .filter(([flag, { type }]) => type !== 'boolean' && isSecret.test(flag))
      .map(([flag]) => `${name} --${flag}`),
  );
  expect(taken).toEqual([]);
});

it('commands name only operations of the contract', () => {
  const known = new Set(operationsOf(contract).map(({ id }) => id));
  const unknown = commands.flatMap(({ operations }) => operations.filter((id) => !known.has(id)));
  expect(unknown).toEqual([]);
});

/** Commands whose output is not the response of an operation. */
const ownShapes: ReadonlySet<string> = new Set([
  ...[
    'admin fleet',
    'budget delete',
    'chat',
    'complete',
    'image',
    'login',
    'logout',
    'me notices',
    'member remove',
  ],
  ...['models', 'profile list', 'profile use', 'speech', 'ssh', 'usage', 'version'],
  ...['volume snapshot delete', 'webhook listen', 'webhook replay'],
]);

it('with --json a command prints the fields of its operation', () => {
  const rows = generatedOperations(new Set(), new Set());
  for (const { name, json, operations } of commands) {
    if (json.kind === 'any' || json.kind === 'none') continue;
    // Without a response body, the command prints only a confirmation.
    if (operations.length > 0 && operations.every((id) => rows[id]?.responseKind === 'nothing')) continue;
    const responses = operations.map((id) => rows[id]?.json.toSorted() ?? []);
    const isContract = responses.some((fields) => fields.join(' ') === json.fields.toSorted().join(' '));
    expect(isContract, `millrace ${name}`).toBe(!ownShapes.has(name));
  }
});

it('choices of a flag equal the values of the contract', () => {
  const rows = generatedOperations(new Set(), new Set());
  let compared = 0;
  for (const { name, flags, operations } of commands) {
    const fields = operations.flatMap((id) => rows[id]?.fields ?? []);
    for (const [flag, own] of Object.entries(flags)) {
      const field = fields.find((each) => each.flag === flag);
      if (!('choices' in own) || own.choices === undefined || field?.choices === undefined) continue;
      compared += 1;
      // All node states start with `node_`, which users need not type.
      const offered = field.choices.map((choice) => choice.replace(/^node_/, ''));
      expect(own.choices.toSorted(), `millrace ${name} --${flag}`).toEqual(offered.toSorted());
    }
  }
  expect(compared).toBeGreaterThan(20);
});

it('no command redefines a global flag', () => {
  const shorts = new Set(
    Object.values(globalFlags).flatMap((flag) => ('short' in flag ? [flag.short as string] : [])),
  );
  for (const { name, flags } of commands) {
    const clashes = Object.entries(flags).filter(
      ([flag, { short }]) => flag in globalFlags || (short !== undefined && shorts.has(short)),
    );
    expect(
      clashes.map(([flag]) => flag),
      name,
    ).toEqual([]);
  }
});

/** Splits a line like a shell, as far as the examples need it. */
function wordsOf(line: string): readonly string[] {
  const words: string[] = line.match(/"[^"]*"|'[^']*'|[^\s"']+(?:"[^"]*")?/g) ?? [];
  return words.map((word) => word.replace(/^(["'])(.*)\1$/, '$2').replaceAll('"', ''));
}

it('every example can be parsed', () => {
  for (const command of commands) {
    const lines = Object.keys(command.examples);
    expect(lines.length, command.name).toBeGreaterThanOrEqual(2);
    for (const line of lines) {
      const start = line.indexOf('millrace ');
      expect(start, line).toBeGreaterThanOrEqual(0);
      const typed = line.slice(start).split(/ [|>&<]|\)|;/)[0] ?? '';
      const found = findCommand(
        manifest,
        wordsOf(typed)
          .slice(1)
          .filter((word) => word !== '--'),
      );
      expect(found, line).toBeDefined();
      const own = commands.find(({ name }) => name === found?.entry.name);
      if (own === undefined || line.includes('…')) continue;
      expect(
        () => parseArguments(own, wordsOf(typed).slice(1 + own.name.split(' ').length)),
        line,
      ).not.toThrow();
    }
  }
});

/** Lines and code spans of a page that are millrace commands. */
function commandsIn(page: string): readonly string[] {
  const spans = [...page.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);
  const lines = [...page.matchAll(/```sh\n([^]*?)```/g)].flatMap(([, code = '']) => code.split('\n'));
  return [...spans, ...lines]
    .map((code) => /(?:^|[|(] *|npm run )(?<line>millrace [a-z][^|;#)]*)/.exec(code)?.groups?.['line'] ?? '')
    .map(
      (line) =>
        line
          .replace('millrace -- ', 'millrace ')
          .split(/ [<>|\\]/)[0]
          ?.trim() ?? '',
    )
    .filter((line) => line !== '');
}

it('every command in a guide can be parsed', async () => {
  const root = join(source, '../../..');
  const guides = (await readdir(join(root, 'docs/guides'))).map((name) => join(root, 'docs/guides', name));
  const pages = [...guides, join(root, 'README.md'), join(root, 'apps/cli/README.md')];
  for (const page of pages) {
    for (const line of commandsIn(await readFile(page, 'utf8'))) {
      const words = wordsOf(line).slice(1);
      const found = findCommand(manifest, words);
      const isNoun = manifest.some(({ name }) => name.startsWith(`${words[0] ?? ''} `));
      expect(found !== undefined || isNoun || words[0] === 'help', `${page}: ${line}`).toBe(true);
      const own = commands.find(({ name }) => name === found?.entry.name);
      const typed = words.slice(own?.name.split(' ').length);
      // Skip commands that are only named or abbreviated.
      if (own === undefined || typed.length === 0 || line.includes('…') || line.includes('--help')) continue;
      expect(() => parseArguments(own, typed), `${page}: ${line}`).not.toThrow();
    }
  }
});

it('the root help lists the first word of every command, and no other', () => {
  const named = nounGroups.flatMap(({ nouns }) => Object.keys(nouns)).filter((noun) => noun !== 'help');
  const first = manifest.filter(({ hidden }) => hidden !== true).map(({ name }) => name.split(' ')[0] ?? '');
  expect(named.toSorted()).toEqual([...new Set(first)].toSorted());
});

it('every command in an advice exists', () => {
  const lines = [
    ...Object.values(adviceByReason),
    ...commands.flatMap(({ advice }) => Object.values(advice ?? {})),
  ];
  for (const line of lines) {
    for (const [, words = ''] of line.matchAll(/millrace ([a-z][a-z -]*[a-z])/g)) {
      expect(findCommand(manifest, words.split(' ')) ?? words.startsWith('help '), line).toBeTruthy();
    }
  }
});

it('no advice of the CLI names API requests', () => {
  const speaking = Object.entries(errorRegistry)
    .filter(([, { suggestion }]) =>
      /\b(?:GET|POST|PATCH|DELETE) \/|rental-options|[a-z][A-Z][a-z]+\b/.test(suggestion),
    )
    .map(([reason]) => reason);
  // These name a field that is also a flag, or the CLI never shows them.
  const fine = new Set([
    ...['DISCOUNT_NOT_ENTITLED', 'CUSTOM_PORTS_NOT_SUPPORTED_FOR_REGION', 'IP_NOT_ALLOWED', 'INTERNAL'],
    ...['ATTACH_NOT_SUPPORTED', 'VOLUME_NOT_ATTACHED', 'PRICE_EXISTS', 'JOIN_TOKEN_LIMIT_REACHED'],
    ...['WEBHOOK_EVENT_INVALID', 'RATE_LIMITED'],
  ]);
  expect(speaking.filter((reason) => !fine.has(reason) && adviceByReason[reason] === undefined)).toEqual([]);
});
