import { releaseOfTests, startProcess, type TestDatabase, type TestProcess } from '@millrace/testing';

/** A process that can be killed and started again on the same ports. */
export interface SupervisedProcess {
  readonly name: string;
  readonly readyUrl: string;
  /** The environment of its next start. */
  env(): Readonly<Record<string, string>>;
  /** Null while the process is not running. */
  pid(): number | null;
  /** kill -9. */
  kill(): Promise<void>;
  /** Graceful stop. Returns the exit code. */
  stop(graceMs?: number): Promise<number | null>;
  /** Changes of the environment also apply to later starts. */
  start(changes?: Readonly<Record<string, string>>): Promise<void>;
  /** Later starts are of this release: a folder of `npm run release -- server`, or null for the sources. */
  useRelease(folder: string | null): void;
  /** SIGSTOP. */
  freeze(): void;
  thaw(): void;
  output(): string;
}

export interface ProgramOptions {
  readonly name: string;
  readonly entry: string;
  readonly readyUrl: string;
  readonly env: Readonly<Record<string, string>>;
  /** As `useRelease`. Default: the programs that all tests start. */
  readonly releaseFolder?: string | null;
}

export function supervise({
  name,
  entry,
  readyUrl,
  env,
  releaseFolder = releaseOfTests,
}: ProgramOptions): SupervisedProcess {
  let running: TestProcess | null = null;
  let release = releaseFolder;
  let output = '';
  let current = env;
  const end = async <T>(how: (victim: TestProcess) => Promise<T>): Promise<T | null> => {
    const victim = running;
    running = null;
    if (victim === null) return null;
    const result = await how(victim);
    output = (output + victim.output()).slice(-200_000);
    return result;
  };
  return {
    name,
    readyUrl,
    env: () => current,
    pid: () => running?.pid ?? null,
    output: () => output + (running?.output() ?? ''),
    kill: async () => {
      await end((victim) => victim.crash());
    },
    stop: (graceMs) => end((victim) => victim.stop(graceMs)),
    freeze: () => running?.freeze(),
    thaw: () => running?.thaw(),
    start: async (changes = {}) => {
      current = { ...current, ...changes };
      running ??= await startProcess({ name, entry, env: current, readyUrl, releaseFolder: release });
    },
    useRelease: (folder) => {
      release = folder;
    },
  };
}

export type ReadRows = <Row>(text: string) => Promise<Row[]>;

/** Reads the database directly. */
export function createRowReader(database: TestDatabase): ReadRows {
  return async <Row>(text: string): Promise<Row[]> => {
    return (await database.query(text)).rows as Row[];
  };
}

/** The errors that a process has logged. */
export function errorLines({ name, output }: Pick<SupervisedProcess, 'name' | 'output'>): string[] {
  return output()
    .split('\n')
    .filter((line) => /"level":"(error|fatal)"/.test(line))
    .map((line) => `${name} logged ${line.slice(0, 400)}`);
}
