import { startProcess, type TestDatabase, type TestProcess } from '@millrace/testing';

/** A program that can be killed and is started again at the same place. */
export interface SupervisedProcess {
  readonly name: string;
  readonly readyUrl: string;
  /** Of the process of the moment; null while there is none. */
  pid(): number | null;
  /** kill -9. */
  kill(): Promise<void>;
  /** As an operator does: it may finish what it has begun. Answers its exit code. */
  stop(graceMs?: number): Promise<number | null>;
  start(): Promise<void>;
  /** SIGSTOP: it stands still and does not know it. */
  freeze(): void;
  thaw(): void;
  output(): string;
}

export interface ProgramOptions {
  readonly name: string;
  readonly entry: string;
  readonly readyUrl: string;
  readonly env: Readonly<Record<string, string>>;
}

export function supervise({ name, entry, readyUrl, env }: ProgramOptions): SupervisedProcess {
  let running: TestProcess | null = null;
  let output = '';
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
    pid: () => running?.pid ?? null,
    output: () => output + (running?.output() ?? ''),
    kill: async () => {
      await end((victim) => victim.crash());
    },
    stop: (graceMs) => end((victim) => victim.stop(graceMs)),
    freeze: () => running?.freeze(),
    thaw: () => running?.thaw(),
    start: async () => {
      running ??= await startProcess({ name, entry, env, readyUrl });
    },
  };
}

export type ReadRows = <Row>(text: string) => Promise<Row[]>;

/** Reads behind the application's back. */
export function createRowReader(database: TestDatabase): ReadRows {
  return async <Row>(text: string): Promise<Row[]> => {
    return (await database.query(text)).rows as Row[];
  };
}
