import type { Context } from '../framework/context.ts';
import { CancelledError, UsageError } from '../framework/errors.ts';

/** The shape of a key, so that a slip of the mouse is noticed before anything is sent. */
const keyPattern = /^mr_(?<mode>live|test)_[A-Za-z0-9_]{8,}$/;

/** The key that the person types or pipes in. It never comes as a flag, where other users of the machine could read it. */
export async function promptForKey(context: Context, fromStdin: boolean): Promise<string> {
  const key = (await readKey(context, fromStdin)).trim();
  if (key === '') throw new UsageError('No key was given.');
  if (!keyPattern.test(key)) {
    throw new UsageError('That is no API key. One begins with mr_live_ or mr_test_.', {
      fix: 'Copy the whole key and try again: millrace login',
    });
  }
  return key;
}

async function readKey(context: Context, fromStdin: boolean): Promise<string> {
  if (fromStdin) return context.files.readStdin();
  if (!context.io.inIsTty) {
    throw new UsageError('Nobody can be asked for the key, for the input is not a terminal.', {
      fix: 'Pipe it in: millrace login --key-stdin < key.txt',
    });
  }
  const typed = await context.prompt.secret('API key (not shown while you type): ');
  if (typed === null) throw new CancelledError();
  return typed;
}

/** Live or test, as the key itself says. */
export function keyMode(key: string): string {
  return keyPattern.exec(key)?.groups?.['mode'] ?? 'unknown';
}

/** A key over plain HTTP can be read on its way; only on the machine itself is there nobody on the way. */
export function isUnencryptedRemoteUrl(apiUrl: string): boolean {
  const { protocol, hostname } = new URL(apiUrl);
  return protocol === 'http:' && !/^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
}
