import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

/** Programs get no settings and no secrets of this process. */
const environment = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C.UTF-8',
} as const;

export interface ProgramOptions {
  /** Sent to stdin, where other users of the machine cannot read it. */
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Runs it as this user. Only root can. */
  readonly user?: { readonly uid: number; readonly gid: number };
  /** An open file for stdout, instead of the result. */
  readonly outputFile?: number;
}

export class ProgramError extends Error {
  /** Null if a signal ended the program. */
  readonly exitCode: number | null;

  constructor(program: string, exitCode: number | null, output: string) {
    super(`${program} failed${output === '' ? '' : `: ${output}`}`);
    this.name = 'ProgramError';
    this.exitCode = exitCode;
  }
}

/** Returns the stdout of a program. A failed program is an error with its stderr. */
export async function runProgram(
  program: string,
  args: readonly string[],
  { input = '', env = {}, user, outputFile }: ProgramOptions = {},
): Promise<string> {
  const child = spawn(program, args, {
    cwd: '/',
    env: { ...environment, ...env },
    stdio: ['pipe', outputFile ?? 'pipe', 'pipe'],
    ...user,
  });
  const { stdin, stdout, stderr } = child;
  // A program that ends before it has read its input reports the reason in its exit code.
  stdin?.on('error', () => undefined);
  stdin?.end(input);
  const [, out, problem, [exitCode]] = await Promise.all([
    once(child, 'spawn'),
    stdout === null ? '' : text(stdout),
    stderr === null ? '' : text(stderr),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  if (exitCode !== 0) throw new ProgramError(program, exitCode, problem.trim());
  return out;
}
