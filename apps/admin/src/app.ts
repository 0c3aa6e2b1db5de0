import {
  backupConfig,
  cellConfig,
  ConfigError,
  fleetConfig,
  loadConfig,
  marketplaceConfig,
  natsNamesConfig,
  postgresAdministratorConfig,
  postgresConfig,
  postgresOwnerConfig,
  type Environment,
} from '@millrace/platform/config';
import { isUnavailable, type DatabaseAccess, type Db } from '@millrace/platform/db';
import { isFault } from '@millrace/platform/fault';
import { createNetGuard } from '@millrace/platform/net';
import { parseFlags, CommandError, UsageError, usageOf, type Command, type CommandIo } from './command.ts';
import { commands as allCommands } from './commands.ts';
import { openDatabase } from './open-database.ts';

export const exitCodes = { ok: 0, refused: 1, usage: 2, unavailable: 69, config: 78 } as const;

/** Runs one command and returns its exit code. Nothing is opened before the arguments are parsed. */
export async function runAdmin(
  words: readonly string[],
  io: CommandIo,
  env?: Environment,
  commands: readonly Command[] = allCommands,
): Promise<number> {
  if (words.length === 0 || words[0] === 'help' || words.some(isHelpFlag)) {
    io.out(
      help(
        commands,
        words.filter((word) => word !== 'help' && !isHelpFlag(word)),
      ),
    );
    return exitCodes.ok;
  }
  const command = findCommand(commands, words);
  if (command === undefined) {
    io.err(
      `There is no command "${words.filter((word) => !word.startsWith('--')).join(' ')}".\n\n${help(commands, [])}`,
    );
    return exitCodes.usage;
  }
  try {
    const flags = await parseFlags(command, words.slice(command.name.split(' ').length), io.prompt);
    await withContext(io, env, (context) => command.run(context, flags));
    return exitCodes.ok;
  } catch (error) {
    return reportError(io, command, error);
  }
}

const isHelpFlag = (word: string): boolean => word === '--help' || word === '-h';

async function withContext(
  io: CommandIo,
  env: Environment | undefined,
  work: (context: Parameters<Command['run']>[0]) => Promise<void>,
): Promise<void> {
  const cell = (): number => loadConfig([cellConfig], env).cell.id;
  const postgres = (): DatabaseAccess => {
    const { url, ca } = loadConfig([postgresConfig], env).postgres;
    return { url, ca };
  };
  let opened: Db | undefined;
  const db = async (): Promise<Db> => (opened ??= await openDatabase(postgres(), cell()));
  try {
    await work({
      ...io,
      // `doctor` also runs with wrong settings.
      get cell() {
        return cell();
      },
      postgres,
      postgresOwner: () => {
        const { url, ca } = loadConfig([postgresOwnerConfig], env).postgresOwner;
        return url === null ? postgres() : { url, ca };
      },
      postgresAdministratorUrl: () =>
        loadConfig([postgresAdministratorConfig], env).postgresAdministrator.url,
      backup: () => loadConfig([backupConfig], env).backup,
      natsPrefix: () => loadConfig([natsNamesConfig], env).natsNames.prefix,
      db,
      fleet: () => {
        const { fleet, marketplace } = loadConfig([fleetConfig, marketplaceConfig], env);
        return { ...fleet, guard: createNetGuard(marketplace) };
      },
    });
  } finally {
    await opened?.close();
  }
}

function reportError(io: CommandIo, command: Command, error: unknown): number {
  if (error instanceof UsageError) {
    io.err(`${error.message}\n\n${usageOf(command)}`);
    return exitCodes.usage;
  }
  if (error instanceof ConfigError) {
    io.err(error.message);
    return exitCodes.config;
  }
  if (error instanceof CommandError) {
    io.err(`${error.message}\n`);
    return exitCodes.refused;
  }
  if (isFault(error)) {
    io.err(`${error.message} ${error.suggestion}\n`);
    return exitCodes.refused;
  }
  const why = error instanceof Error ? error.message : String(error);
  io.err(
    isUnavailable(error)
      ? `The database cannot be reached (${why}).\nCheck that it is running and that MILLRACE_POSTGRES_URL is correct.\n`
      : `millrace-admin ${command.name} failed: ${why}${causeOf(error)}\n`,
  );
  return exitCodes.unavailable;
}

/** The message of PostgreSQL, where our own error only names the consequence. */
function causeOf(error: unknown): string {
  return error instanceof Error && error.cause instanceof Error ? `\n  ${error.cause.message}` : '';
}

function findCommand(commands: readonly Command[], words: readonly string[]): Command | undefined {
  return commands.find((command) => command.name.split(' ').every((word, index) => words[index] === word));
}

function help(commands: readonly Command[], words: readonly string[]): string {
  const command = findCommand(commands, words);
  if (command !== undefined) return usageOf(command);
  const lines = commands.map(({ name, summary }) => `  ${name.padEnd(20)}${summary}`);
  return [
    'millrace-admin: set up and repair an installation through its database, without a key.',
    '',
    ...lines,
    '',
    'See millrace-admin help COMMAND. In the repository, run npm run millrace-admin -- COMMAND.',
    'Set MILLRACE_POSTGRES_URL, for example to postgres://millrace:password@127.0.0.1:5432/millrace',
    '',
  ].join('\n');
}
