import { withDeadline, type Timer } from '../clock/index.ts';
import type { Logger } from '../log/index.ts';

/** A credential that can change while it is in use. */
export interface CredentialSource<T> {
  /** The same object until the credential changes. */
  latest(): Promise<T>;
  /** Reads it again at the next use, because the other side refused it. */
  recheck(): void;
}

/** Also accepts a credential that does not change. */
export function toCredentialSource<T extends object>(
  credential: T | CredentialSource<T>,
): CredentialSource<T> {
  return isSource(credential) ? credential : { latest: async () => credential, recheck: () => undefined };
}

function isSource<T extends object>(credential: T | CredentialSource<T>): credential is CredentialSource<T> {
  return 'latest' in credential;
}

export interface CredentialFilesOptions<T> {
  /** Its name in the log. */
  readonly name: string;
  /** Reads and checks the files. Rejects without their content. */
  readonly read: () => Promise<T>;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  readonly everyMs?: number;
}

const EVERY_MS = 10_000;
/** A network file system might not respond. Requests then continue with the earlier credential. */
const READ_MS = 2_000;

/**
 * A credential in files that an operator may replace at any time. They are checked for changes before a use, at most every ten seconds: nothing
 * runs in between, and files need no events, which mounted secrets do not always send. Rejects if the files cannot be read now; later,
 * the earlier value stays in use until they can, because they are replaced one after the other.
 */
export async function openCredentialFiles<T>(
  options: CredentialFilesOptions<T>,
): Promise<CredentialSource<T>> {
  const { name, read, clock, log, everyMs = EVERY_MS } = options;
  let current = await read();
  let dueMs = clock.monotonicMs() + everyMs;
  let comparing: Promise<void> | null = null;
  /** Continues after its deadline. Another one would occupy a thread of the process too, and there are only four. */
  let reading: Promise<T> | null = null;
  let problem = '';

  function readOnce(): Promise<T> {
    const started = read();
    reading = started;
    const end = (): void => {
      reading = null;
    };
    started.then(end, end);
    return started;
  }

  async function compare(): Promise<void> {
    dueMs = clock.monotonicMs() + everyMs;
    try {
      const found = await withDeadline(clock, 'Reading the files of the credential', READ_MS, readOnce);
      problem = '';
      if (JSON.stringify(found) === JSON.stringify(current)) return;
      current = found;
      log.info({ credential: name }, 'credential reloaded');
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      // Once for each problem: a use every few milliseconds would fill the log.
      if (why !== problem) log.warn({ credential: name, err: error }, 'credential not reloaded');
      problem = why;
    } finally {
      comparing = null;
    }
  }

  return {
    latest: async () => {
      const isDue = clock.monotonicMs() >= dueMs && reading === null;
      if (comparing !== null || isDue) await (comparing ??= compare());
      return current;
    },
    recheck: () => {
      dueMs = Number.NEGATIVE_INFINITY;
    },
  };
}
