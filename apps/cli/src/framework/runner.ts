import { styleText } from 'node:util';
import type { ClientSettings, Millrace } from '../sdk.ts';
import type { Command } from './command.ts';
import type { Context, Io, Paint, System } from './context.ts';
import { describeError, renderError } from './describe-error.ts';
import { CancelledError, NotLoggedInError, UsageError } from './errors.ts';
import { exitCodes } from './exit-codes.ts';
import { commandHelp, helpTopics, nounHelp, rootHelp } from './help.ts';
import { commandsUnder, findCommand, findNoun, type Manifest } from './manifest.ts';
import {
  closestMatch,
  parseGlobals,
  parseArguments,
  splitArguments,
  type GlobalValues,
  type ParsedArguments,
} from './parse.ts';
import { chooseProfile, readProfiles, type Profile } from './profiles.ts';
import { safeLines, safePainted, safeText } from './text.ts';

/** Loads the SDK, which help and completions do not need. */
export type ClientLoader = () => Promise<(settings: ClientSettings) => Millrace>;

export interface Cli {
  readonly manifest: Manifest;
  readonly loadClient: ClientLoader;
}

/** Runs one command line and returns its exit code. Never throws. */
export async function runCommandLine(cli: Cli, system: System, words: readonly string[]): Promise<number> {
  const { before, after } = splitArguments(words);
  // Errors of parsing also need colours and --debug, so they are read before parsing.
  const early = {
    debug: words.includes('--debug'),
    io: ioOf(system, words.includes('--no-color')),
  };
  let command: Command | undefined;
  let profile: Profile | undefined;
  let hasSentChange = false;
  const fetch: System['fetch'] = async (input, init) => {
    hasSentChange ||= methodOf(input, init) !== 'GET';
    return system.fetch(input, init);
  };
  try {
    const help = printHelp(cli.manifest, before, after, system);
    if (help !== undefined) {
      system.io.out(await help);
      return exitCodes.ok;
    }
    const found = findCommand(cli.manifest, after);
    if (found === undefined) throw unknownCommand(cli.manifest, after);
    command = await found.entry.load();
    const parsed = parseArguments(command, found.words, before);
    if (parsed.globals.help) {
      system.io.out(commandHelp(command));
      return exitCodes.ok;
    }
    profile = await resolveProfile(system, parsed.globals);
    await run(cli, { ...system, fetch }, { command, parsed, profile });
    return exitCodes.ok;
  } catch (error) {
    const interrupted = system.signal.aborted;
    const described = describeError(error, { command, profile, interrupted, hasSentChange });
    if (described.silent !== true) {
      const isCancelled = described.exitCode === exitCodes.cancelled;
      early.io.err(
        isCancelled
          ? `${described.what}\n`
          : renderError(described, (text) => early.io.paintErr('red', text)),
      );
    }
    if (early.debug) early.io.err(`${safeLines(debugText(error))}\n`);
    return described.exitCode;
  }
}

async function run(
  cli: Cli,
  system: System,
  {
    command,
    parsed,
    profile,
  }: { readonly command: Command; readonly parsed: ParsedArguments; readonly profile: Profile },
): Promise<void> {
  const createClient = command.offline === true ? clientUnavailable : await cli.loadClient();
  const { manifest } = cli;
  const context = createContext(system, { globals: parsed.globals, profile, createClient, manifest });
  await command.run(context, parsed.input);
}

function clientUnavailable(): never {
  throw new Error('This command is marked as offline, but it calls the API.');
}

async function resolveProfile(system: System, globals: GlobalValues): Promise<Profile> {
  const store = await readProfiles(system.files, system);
  return chooseProfile(store, system.env, globals);
}

/** Help and version, which need neither profile nor network; undefined if the arguments name a command. */
function printHelp(
  manifest: Manifest,
  before: readonly string[],
  after: readonly string[],
  system: System,
): Promise<string> | undefined {
  const globals = parseGlobals(before);
  if (globals.version) return Promise.resolve(`millrace ${system.version}\n`);
  const [first] = after;
  if (first === 'help')
    return helpFor(
      manifest,
      after.slice(1).filter((word) => !word.startsWith('-')),
    );
  if (first === undefined) return helpFor(manifest, []);
  const found = findCommand(manifest, after);
  if (globals.help) return helpFor(manifest, after);
  if (found !== undefined) return undefined;
  const noun = findNoun(manifest, after);
  const rest = noun === undefined ? after : after.slice(noun.split(' ').length);
  // A noun alone or with --help shows its help.
  if (noun !== undefined && rest.every((word) => word.startsWith('-'))) return helpFor(manifest, [noun]);
  return undefined;
}

async function helpFor(manifest: Manifest, words: readonly string[]): Promise<string> {
  const topic = words.length === 1 ? helpTopics[words[0] ?? ''] : undefined;
  if (words.length === 0) return rootHelp();
  if (topic !== undefined) return topic();
  const typed = words.join(' ').split(' ');
  const noun = findNoun(manifest, typed);
  const found = findCommand(manifest, typed);
  const isNoun = noun !== undefined && noun.split(' ').length === typed.length;
  if (found !== undefined && found.words.length === 0 && !isNoun)
    return commandHelp(await found.entry.load());
  if (isNoun) {
    const own = found?.words.length === 0 ? `${commandHelp(await found.entry.load())}\n` : '';
    return own + nounHelp(manifest, noun);
  }
  if (found !== undefined) return commandHelp(await found.entry.load());
  throw unknownCommand(manifest, typed);
}

function unknownCommand(manifest: Manifest, words: readonly string[]): UsageError {
  const noun = findNoun(manifest, words);
  const typed = words.filter((word) => !word.startsWith('-'));
  if (noun !== undefined) {
    const known = commandsUnder(manifest, noun).map(({ name }) => name.slice(noun.length + 1));
    const verb = typed[noun.split(' ').length] ?? '';
    const near = closestMatch(verb, known);
    return new UsageError(`There is no command "${noun} ${verb}".`, {
      fix: near === undefined ? `millrace ${noun} --help` : `Did you mean: millrace ${noun} ${near}`,
    });
  }
  const [first = ''] = typed;
  const nouns = [...new Set(manifest.map(({ name }) => name.split(' ')[0] ?? ''))];
  const near = closestMatch(first, nouns);
  return new UsageError(`There is no command "${first}".`, {
    fix: near === undefined ? 'millrace help' : `Did you mean: millrace ${near}`,
  });
}

export function createContext(
  system: System,
  options: {
    readonly globals: GlobalValues;
    readonly profile: Profile;
    readonly createClient: (settings: ClientSettings) => Millrace;
    readonly manifest: Manifest;
  },
): Context {
  const { globals, profile, createClient, manifest } = options;
  const io = ioOf(system, globals.noColor);
  const fetch = globals.debug ? loggingFetch(system.fetch, io) : system.fetch;
  let made: Millrace | undefined;
  const openClient = (): Millrace =>
    (made ??= createClient({
      apiUrl: profile.apiUrl,
      inferenceUrl: profile.inferenceUrl,
      apiKey: profile.apiKey,
      fetch,
      version: system.version,
    }));
  return {
    ...system,
    io,
    fetch,
    clientFor: (account) => createClient({ ...account, fetch, version: system.version }),
    profile,
    manifest,
    debug: globals.debug,
    yes: globals.yes,
    output: { format: globals.format, columns: globals.columns },
    openClient,
    client: () => {
      if (profile.apiKey === undefined) throw new NotLoggedInError(profile);
      return openClient();
    },
    note: (text) => {
      io.err(`${safePainted(text)}\n`);
    },
    confirm: async (question) => {
      if (globals.yes) return;
      if (!io.inIsTty) {
        throw new UsageError(`Cannot ask "${question}" because the input is not a terminal.`, {
          fix: 'Add --yes to confirm.',
        });
      }
      const response = await system.prompt.line(`${safeText(question)} [y/N] `);
      if (!/^(?:y|yes)$/i.test(response?.trim() ?? '')) throw new CancelledError();
    },
  };
}

function ioOf(system: System, noColorFlag: boolean): Io {
  const { outHasColor, errHasColor, ...io } = system.io;
  const isAllowed = !noColorFlag && (system.env['NO_COLOR'] ?? '') === '' && system.env['TERM'] !== 'dumb';
  const color = isAllowed && outHasColor;
  return { ...io, color, paint: createPaint(color), paintErr: createPaint(isAllowed && errHasColor) };
}

function createPaint(color: boolean): Paint {
  return color
    ? (format, text) => styleText(format, text, { validateStream: false })
    : (_format, text) => text;
}

/** Logs requests and response statuses to standard error; never bodies, which may contain secrets. */
function loggingFetch(fetch: System['fetch'], io: Io): System['fetch'] {
  return async (input, init) => {
    const method = methodOf(input, init);
    const url = input instanceof Request ? input.url : String(input);
    const response = await fetch(input, init);
    const requestId = response.headers.get('x-request-id') ?? '';
    const line = safeText(`${method} ${url} -> ${String(response.status)} ${requestId}`.trimEnd());
    io.err(`${io.paintErr('dim', line)}\n`);
    return response;
  };
}

function methodOf(...[input, init]: Parameters<System['fetch']>): string {
  return init?.method ?? (input instanceof Request ? input.method : 'GET');
}

function debugText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? '' : `\nCaused by ${debugText(error.cause)}`;
  return `${error.stack ?? error.message}${cause}`;
}
